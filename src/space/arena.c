/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * arena.c - the bitmap of one arena (arena.h).
 */
#include "sys/sys.h"

#include "space/arena.h"

/* [i]: a mask of the multiples of 2^i below 64 */
static const u64 multiples[7] = {
	~0ull,
	0x5555555555555555ull,
	0x1111111111111111ull,
	0x0101010101010101ull,
	0x0001000100010001ull,
	0x0000000100000001ull,
	1,
};

/* the grade of a word with all units free */
#define WHOLE_GRADE (1 + 16 * 6)

static u8 grade(u64 n, u64 round)
{
	unsigned int c = log2_up(n);
	u64 half;

	if (!c)
		return 1;
	half = 1ull << (c - 1);
	return (u8)(1 + 16 * (c - 1) + (((n - half) * 16 + (round ? half - 1 : 0)) >> (c - 1)));
}

u8 grade_needed(u64 n)
{
	return grade(n, 1);
}

/* Returns a mask of the multiples of 2^order where runs of n ones begin, 0 < n <= 2^order <= 64. */
static inline u64 run_starts(u64 word, u64 n, unsigned int order)
{
	u64 first = multiples[order], last = first << ((1u << order) - 1);

	word |= ~(lath_ones((unsigned int)n) * first); /* what follows the n bits does not matter */
	/* 1 is carried to the last bit of a block if all others are set */
	return (((word & ~last) + first) & word & last) >> ((1u << order) - 1);
}

static inline unsigned int ones(u64 word)
{
	return ~word ? __ffs64(~word) : 64;
}

/* Returns the largest c for which `word`, not 0, has an aligned block of 2^c ones, and where such
 * blocks begin. */
static unsigned int largest_block(u64 word, u64 *starts)
{
	unsigned int c = 0;

	*starts = word;
	while (c < 6) {
		u64 next = *starts & (*starts >> (1u << c)) & multiples[c + 1];

		if (!next)
			break;
		*starts = next;
		c++;
	}
	return c;
}

static u8 word_grade(u64 word)
{
	u64 starts, longest;
	unsigned int c;

	if (!word)
		return 0;
	if (!(~word &
	      (~word + 1))) /* free from some unit to the end: after a take from a free word */
		return (u8)(1 + 16 * __fls64(64 - fls64(~word)));
	c = largest_block(word, &starts);
	longest = 1ull << c;
	if (c) /* blocks whose larger block is free in part behind them */
		for (starts &= multiples[c + 1]; starts; starts &= starts - 1)
			longest = max(longest, (u64)ones(word >> __ffs64(starts)));
	return grade(longest, 0);
}

/* Returns a mask of the bits of the word where n ones begin, 0 < n <= 64. */
static inline u64 any_starts(u64 word, unsigned int n)
{
	unsigned int have = 1, more;

	for (; have < n; have += more) {
		more = min(have, n - have);
		word &= word >> more;
	}
	return word;
}

/* The grade of a word of a dense arena: that of its longest run of ones. */
static u8 dense_grade(u64 word)
{
	u64 starts[6], next; /* [i]: where 2^i ones begin */
	unsigned int i = 0, longest;

	if (!word || !~word)
		return word ? WHOLE_GRADE : 0;
	for (starts[0] = word; i < 5; i++) {
		next = starts[i] & (starts[i] >> (1u << i));
		if (!next)
			break;
		starts[i + 1] = next;
	}
	word = starts[i];
	for (longest = 1u << i; i--;) {
		next = word & (starts[i] >> longest); /* 2^i more */
		if (next) {
			word = next;
			longest += 1u << i;
		}
	}
	return grade(longest, 0);
}

static u8 grade_of(const struct arena *arena, u64 word)
{
	return arena->dense ? dense_grade(word) : word_grade(word);
}

/* Returns the grade of the best run that begins with one of these whole words. */
static u8 whole_grade(const struct arena *arena, u64 words)
{
	u64 starts, longest;
	unsigned int c = largest_block(words, &starts);

	longest = 64ull << c;
	for (starts &= c < 6 ? multiples[c + 1] : 0; starts; starts &= starts - 1) {
		unsigned int from = __ffs64(starts), n = ones(arena->whole >> from);
		u64 units = 64ull * n + (from + n < ARENA_WORDS ? ones(arena->map[from + n]) : 0);

		longest = max(longest, units);
	}
	return grade(longest, 0);
}

static u8 arena_grade(const struct arena *arena)
{
	unsigned int i;
	u8 best = 0;

	if (arena->whole)
		return whole_grade(arena, arena->whole);
	for (i = 0; i < ARENA_WORDS; i++)
		best = max(best, arena->grade[i]);
	return best;
}

/* Sets word i of the bitmap and its grade. */
static inline void set_word(struct arena *arena, unsigned int i, u64 word)
{
	arena->map[i] = word;
	arena->grade[i] = grade_of(arena, word);
	arena->whole = (arena->whole & ~(1ull << i)) | (u64) !~word << i;
}

static void show(struct arena *arena, u8 shown)
{
	LATH_ASSERT(!shown == !arena->free && (arena->free == ARENA_UNITS) == !~arena->whole);
	if (*arena->shown != shown)
		WRITE_ONCE(*arena->shown, shown);
}

/* Units of words [first, last] have been freed: shows at least the grade of the best run that has
 * one of them. */
static void show_freed(struct arena *arena, unsigned int first, unsigned int last)
{
	/* the words in front of them, up to one that is not whole, and those behind them */
	unsigned int from = fls64(~arena->whole & lath_ones(first)), i,
		     end = max(last + (unsigned int)ones(arena->whole >> last), last + 1);
	u64 words = arena->whole & lath_ones(end) & ~lath_ones(from);
	u8 best = *arena->shown;

	LATH_ASSERT(lath_spin_mine(&arena->lock));
	if (!words) {
		for (i = first; i <= last; i++)
			best = max(best, arena->grade[i]);
	} else if (grade(min(64u * (end - from) + 63, (unsigned int)ARENA_UNITS), 0) > best) {
		best = max(best, whole_grade(arena, words));
	}
	show(arena, best);
}

/* The units of [first, end) are a free run now: raises the bounds that it exceeds. */
static void raise_most(struct arena *arena, u64 first, u64 end)
{
	unsigned int k;

	LATH_ASSERT(first < end && end <= ARENA_UNITS);
	for (k = 0; k < ARENA_ORDERS; k++) {
		u64 at = (first + ((1ull << k) - 1)) & ~((1ull << k) - 1);

		if (at >= end)
			break;
		if (arena->most[k] < end - at)
			WRITE_ONCE(arena->most[k], (u16)(end - at));
	}
}

/* A search found no run longer than `units` at a multiple of 2^order: lowers the bounds. */
static void lower_most(struct arena *arena, unsigned int order, u64 units)
{
	unsigned int k;

	for (k = order; k < ARENA_ORDERS && arena->most[k] > units; k++)
		WRITE_ONCE(arena->most[k], (u16)units);
}

/* Sets *first and *end to the bounds of the free run that contains a free unit. */
static void run_around(const struct arena *arena, u64 unit, u64 *first, u64 *end)
{
	unsigned int i = (unsigned int)(unit / 64), j = i;
	u64 below = ~arena->map[i] & lath_ones(unit % 64),
	    above = ~arena->map[i] & ~lath_ones(unit % 64);

	while (!below && i)
		below = ~arena->map[--i];
	while (!above && ++j < ARENA_WORDS)
		above = ~arena->map[j];
	*first = below ? 64ull * i + fls64(below) : 0;
	*end = above ? 64ull * j + __ffs64(above) : ARENA_UNITS;
}

void arena_open(struct arena *arena, u64 block)
{
	unsigned int i;

	LATH_ASSERT(lath_spin_mine(&arena->lock) && arena->block == NO_BLOCK && block != NO_BLOCK);
	raise_most(arena, 0, ARENA_UNITS);
	arena->free = ARENA_UNITS;
	for (i = 0; i < ARENA_WORDS; i++)
		set_word(arena, i, ~0ull);
	WRITE_ONCE(arena->block, block);
	show(arena, arena_grade(arena));
}

/* Returns the bits of the units of [unit, unit + n) that are in the same word as `unit`. */
static inline u64 bits_of(u64 unit, u64 n)
{
	unsigned int at = (unsigned int)(unit % 64);

	return lath_ones((unsigned int)min(n, 64ull - at)) << at;
}

/* Returns whether n units are all taken (`taken`), or all free. */
static bool all_are(struct arena *arena, u64 unit, u64 n, bool taken)
{
	u64 end = unit + n, differ = taken ? 0 : ~0ull, other = 0;

	LATH_ASSERT(lath_spin_mine(&arena->lock));
	LATH_ASSERT(n && n <= ARENA_UNITS && unit <= ARENA_UNITS - n);
	for (; unit < end; unit = (unit | 63) + 1)
		other |= (arena->map[unit / 64] ^ differ) & bits_of(unit, end - unit);
	return !other;
}

/* Takes n free units, or frees n taken ones. */
static void flip(struct arena *arena, u64 unit, u64 n, bool free)
{
	u64 end = unit + n, at;

	LATH_ASSERT(all_are(arena, unit, n, free));
	arena->free += free ? n : -n;
	LATH_ASSERT(arena->free <= ARENA_UNITS);
	for (at = unit; at < end; at = (at | 63) + 1)
		set_word(arena, (unsigned int)(at / 64),
			 arena->map[at / 64] ^ bits_of(at, end - at));
	if (free)
		show_freed(arena, (unsigned int)(unit / 64), (unsigned int)((end - 1) / 64));
	else if (!arena->free)
		show(arena, 0);
}

bool arena_take_at(struct arena *arena, u64 unit, u64 n)
{
	if (!all_are(arena, unit, n, false))
		return false;
	flip(arena, unit, n, false);
	return true;
}

bool arena_give(struct arena *arena, u64 unit, u64 n)
{
	u64 first, end;

	if (!all_are(arena, unit, n, true))
		return false;
	flip(arena, unit, n, true);
	if (arena->most[ARENA_ORDERS - 1] < ARENA_UNITS) { /* otherwise no bound can rise */
		run_around(arena, unit, &first, &end);
		raise_most(arena, first, end);
	}
	return true;
}

/* Returns the end of the free run that contains this free unit. */
static u64 run_end(const struct arena *arena, u64 unit)
{
	u64 i = unit / 64, more = ones(arena->map[i] >> unit % 64);

	if (unit % 64 + more < 64)
		return unit + more;
	for (i++; i < ARENA_WORDS && !~arena->map[i]; i++)
		;
	return 64 * i + (i < ARENA_WORDS ? ones(arena->map[i]) : 0);
}

u64 block_within(u64 n, u64 align)
{
	u64 whole = n / align;

	return whole ? align << (fls64(whole + 1) - 2) : 1ull << (fls64(n) - 1);
}

/* Sets *unit to the first n free units at a multiple of align within [first, last]. Returns false
 * if there are none; no run from a multiple of align is then longer than *most, if the limits are
 * those of the arena. A run of n units contains an aligned block that begins in its first word or
 * the next one, so only words whose grade allows such a block, and those before them, are read. */
static bool place_within(const struct arena *arena, u64 n, u64 align, u64 first, u64 last,
			 u64 *unit, u64 *most)
{
	u64 block = min(block_within(n, align), 64ull), grid = multiples[min(log2_up(align), 6u)];
	u64 words = ~lath_bytes_match(arena->grade, grade_needed(block)).lt;

	*most = (block > align ? 2 * block - align : block) - 1;
	words |= words >> 1;
	words &= multiples[log2_up(max(align / 64, 1ull))] & ~lath_ones((unsigned int)(first / 64));
	for (; words; words &= words - 1) {
		u64 i = __ffs64(words), starts = arena->map[i] & grid, at, end;

		if (64 * i < first)
			starts &= ~lath_ones((unsigned int)(first % 64));
		while (starts) {
			at = 64 * i + __ffs64(starts);
			if (at > last)
				return false;
			end = min(run_end(arena, at), last + 1);
			if (end - at >= n) {
				*unit = at;
				return true;
			}
			*most = max(*most, end - at);
			if (end >= 64 * i + 64)
				break;
			starts &= ~lath_ones((unsigned int)(end % 64));
		}
	}
	return false;
}

bool arena_take_within(struct arena *arena, u64 n, u64 align, u64 first, u64 last, u64 *unit)
{
	unsigned int order = log2_up(align);
	u64 most;

	LATH_ASSERT(lath_spin_mine(&arena->lock));
	LATH_ASSERT(!(align & (align - 1)) && order < ARENA_ORDERS && last < ARENA_UNITS);
	if (n > arena->most[order])
		return false;
	if (place_within(arena, n, align, first, last, unit, &most)) {
		LATH_ASSERT(!(*unit & (align - 1)) && *unit >= first && *unit + n - 1 <= last);
		flip(arena, *unit, n, false);
		return true;
	}
	if (!first && last == ARENA_UNITS - 1)
		lower_most(arena, order, most);
	return false;
}

/* Returns a word that serves this grade: one with exactly this grade, else the first with a higher
 * one. */
static int find_word(const struct arena *arena, u8 need)
{
	struct lath_match m = lath_bytes_match(arena->grade, need);
	u64 good = m.eq ? m.eq : ~m.lt;

	return good ? (int)__ffs64(good) : -1;
}

/* Finds n > 64 free units at a multiple of n rounded up to a power of two. Returns whether there
 * are any. */
static bool find_words(const struct arena *arena, u64 n, u64 *unit)
{
	u64 starts = run_starts(arena->whole, n / 64, log2_up(n) - 6), rest = n % 64;

	for (; starts; starts &= starts - 1) {
		unsigned int from = __ffs64(starts), next = from + (unsigned int)(n / 64);

		/* with a rest, the run does not reach the end of its alignment: next < ARENA_WORDS
		 */
		if (!rest || ones(arena->map[next]) >= rest) {
			*unit = 64ull * from;
			return true;
		}
	}
	return false;
}

/* The same within one word, n <= 64. */
static bool find_in_word(const struct arena *arena, u64 n, u64 *unit)
{
	int i = find_word(arena, grade_needed(n));
	u64 starts;

	if (i < 0)
		return false;
	starts = arena->dense ? any_starts(arena->map[i], (unsigned int)n)
			      : run_starts(arena->map[i], n, log2_up(n));
	if (!starts)
		return false;
	*unit = 64ull * (unsigned int)i + __ffs64(starts);
	return true;
}

bool arena_take(struct arena *arena, u64 n, u64 block, u64 *unit)
{
	LATH_ASSERT(lath_spin_mine(&arena->lock) && n && n <= block && block <= ARENA_UNITS);
	if (block > 64 ? find_words(arena, block, unit) : find_in_word(arena, block, unit)) {
		flip(arena, *unit, n, false);
		return true;
	}
	show(arena, arena_grade(arena));
	return false;
}

unsigned int arena_take_blocks(struct arena *arena, unsigned int order, unsigned int most,
			       u64 *unit)
{
	unsigned int n = 0;
	u64 size = 1ull << order;

	LATH_ASSERT(lath_spin_mine(&arena->lock) && order <= 6);
	while (n < most) {
		int i = find_word(arena, grade_needed(size));
		u64 word, starts;

		if (i < 0)
			break;
		word = arena->map[i];
		for (starts = run_starts(word, size, order); starts && n < most;
		     starts &= starts - 1) {
			unsigned int at = __ffs64(starts);

			unit[n++] = 64ull * (unsigned int)i + at;
			word &= ~(lath_ones((unsigned int)size) << at);
		}
		set_word(arena, (unsigned int)i, word);
	}
	arena->free -= n << order;
	LATH_ASSERT(arena->free <= ARENA_UNITS);
	if (n < most)
		show(arena, arena_grade(arena));
	else if (!arena->free)
		show(arena, 0);
	return n;
}

/* Returns whether no free run is longer than the bound for where it may begin. */
static bool bounds_hold(const struct arena *arena)
{
	u64 unit, end;
	unsigned int k;

	for (unit = 0; unit < ARENA_UNITS; unit++) {
		if (!(arena->map[unit / 64] >> unit % 64 & 1))
			continue;
		end = run_end(arena, unit);
		for (k = 0; k < ARENA_ORDERS && !(unit & ((1ull << k) - 1)); k++)
			if (arena->most[k] < end - unit)
				return false;
	}
	return true;
}

bool arena_sound(const struct arena *arena)
{
	u64 free = 0, whole = 0;
	unsigned int i;

	for (i = 0; i < ARENA_WORDS; i++) {
		free += hweight64(arena->map[i]);
		whole |= (u64) !~arena->map[i] << i;
		if (arena->grade[i] != grade_of(arena, arena->map[i]))
			return false;
	}
	return free == arena->free && whole == arena->whole && bounds_hold(arena) &&
	       *arena->shown >= arena_grade(arena) && !*arena->shown == !arena->free;
}
