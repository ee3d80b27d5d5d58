/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * arena.c - the bitmap of one arena (arena.h).
 *
 * In order: grades of words and of runs of whole words; the bounds `most`; marking units taken or
 * free, which keeps both up to date; searches; the calls.
 */
#include "sys/sys.h"

#include "space/source/arena.h"

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

/* Returns a mask of the multiples of 2^order where runs of n ones begin, 0 < n <= 2^order <= 64. */
static inline u64 run_starts(u64 word, u64 n, unsigned int order)
{
	u64 first = multiples[order], last = first << ((1u << order) - 1);

	word |= ~(lath_ones((unsigned int)n) * first); /* what follows the n bits does not matter */
	/* 1 is carried to the last bit of a block if all others are set */
	return (((word & ~last) + first) & word & last) >> ((1u << order) - 1);
}

/* Returns the number of ones from the lowest bit of the word on. */
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
		/* a block of twice the size begins where two are side by side, the first aligned */
		u64 next = *starts & (*starts >> (1u << c)) & multiples[c + 1];

		if (!next)
			break;
		*starts = next;
		c++;
	}
	return c;
}

/* The grade of a word of an arena that is not dense: that of its longest aligned run of ones. */
static u8 word_grade(u64 word)
{
	u64 starts, longest;
	unsigned int c;

	if (!word)
		return 0;
	/* the most frequent word: free from some unit on, as searches from below leave it */
	if (!(~word & (~word + 1)))
		return (u8)(1 + 16 * __fls64(64 - fls64(~word)));
	c = largest_block(word, &starts);
	longest = 1ull << c;
	/* a block at an even place, whose neighbour is free in part: the run goes on into that */
	if (c)
		for (starts &= multiples[c + 1]; starts; starts &= starts - 1)
			longest = max(longest, (u64)ones(word >> __ffs64(starts)));
	return grade_of_run(longest);
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
	/* double the length while such runs exist */
	for (starts[0] = word; i < 5; i++) {
		next = starts[i] & (starts[i] >> (1u << i));
		if (!next)
			break;
		starts[i + 1] = next;
	}
	/* then add the halves again, from the largest on, where the run goes on for that long */
	word = starts[i];
	for (longest = 1u << i; i--;) {
		next = word & (starts[i] >> longest); /* 2^i more */
		if (next) {
			word = next;
			longest += 1u << i;
		}
	}
	return grade_of_run(longest);
}

/* Returns the grade of a word of this arena. */
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
	/* as in word_grade(), by words: the run ends within the word behind its whole ones */
	for (starts &= c < 6 ? multiples[c + 1] : 0; starts; starts &= starts - 1) {
		unsigned int from = __ffs64(starts), n = ones(arena->whole >> from);
		u64 units = 64ull * n + (from + n < ARENA_WORDS ? ones(arena->map[from + n]) : 0);

		longest = max(longest, units);
	}
	return grade_of_run(longest);
}

/* Returns the grade of the best run in whole words [from, end) and what follows them; word `end` is
 * not whole, if there is one. */
static inline u8 run_grade(const struct arena *arena, unsigned int from, unsigned int end)
{
	/* Split [from, end) at `middle`, its most aligned word. Left of it the aligned blocks are
	 * the binary digits of middle - from, right of it those of end - middle. 2^c is the largest
	 * block; `at`, the first multiple of 2^(c + 1), is where a longer run may begin. All is
	 * moved up by one arena, so that from - 1 is not negative. */
	unsigned int a = from + ARENA_WORDS, b = end + ARENA_WORDS,
		     middle = b & (~0u << __fls64((a - 1) ^ b)),
		     c = (unsigned int)__fls64((b - middle) | (middle - a)),
		     at = (a + ((2u << c) - 1)) & (~0u << (c + 1));
	u64 longest = 64ull << c;

	LATH_ASSERT(from < end && end <= ARENA_WORDS);
	/* another block of 2^c begins at `at`, so from there the run goes on to the end */
	if (at + (1u << c) <= b)
		longest = 64ull * (b - at) + (end < ARENA_WORDS ? ones(arena->map[end]) : 0);
	return grade_of_run(longest);
}

/* Returns the exact grade of the arena, which arena->shown is not below. */
static u8 arena_grade(const struct arena *arena)
{
	unsigned int i;
	u8 best = 0;

	/* a run of one whole word is longer than any within a word */
	if (arena->whole)
		return whole_grade(arena, arena->whole);
	for (i = 0; i < ARENA_WORDS; i++)
		best = max(best, arena->grade[i]);
	return best;
}

/* Sets word i of the bitmap and its grade. The arena is locked. */
static inline void set_word(struct arena *arena, unsigned int i, u64 word)
{
	LATH_ASSERT(lath_spin_mine(&arena->lock) && i < ARENA_WORDS);
	arena->map[i] = word;
	arena->grade[i] = grade_of(arena, word);
}

/* Publishes a grade for searches without the lock. The arena is locked. */
static void show(struct arena *arena, u8 shown)
{
	LATH_ASSERT(lath_spin_mine(&arena->lock));
	LATH_ASSERT(!shown == !arena->free && (arena->free == ARENA_UNITS) == !~arena->whole);
	/* a store of the same value would take the cache line from all who read it */
	if (*arena->shown != shown)
		WRITE_ONCE(*arena->shown, shown);
}

/* A run of units, in words [first, last], has been freed: shows at least the grade of the best run
 * that has one of them. The arena is locked. */
static void show_freed(struct arena *arena, unsigned int first, unsigned int last)
{
	/* the whole words among them are one run, else there may be one just in front of them */
	u64 whole = arena->whole,
	    words = whole & (~0ull << (first - (first > 0))) & (~0ull >> (63 - last));
	u8 best = max(*arena->shown, arena->grade[first]);

	LATH_ASSERT(lath_spin_mine(&arena->lock));
	best = max(best, arena->grade[last]);
	if (words) { /* the run of whole words around them may have grown at both ends */
		unsigned int at = (unsigned int)__fls64(words),
			     from = fls64(~whole & lath_ones(at)), end = at + ones(whole >> at);

		best = max(best, run_grade(arena, from, end));
	}
	show(arena, best);
}

/* The units of [first, end) are a free run now: raises the bounds that it exceeds. The arena is
 * locked. */
static void raise_most(struct arena *arena, u64 first, u64 end)
{
	unsigned int k;

	LATH_ASSERT(lath_spin_mine(&arena->lock));
	LATH_ASSERT(first < end && end <= ARENA_UNITS);
	for (k = 0; k < ARENA_ORDERS; k++) {
		u64 at = (first + ((1ull << k) - 1)) & ~((1ull << k) - 1);

		/* the run has no multiple of 2^k, hence none of a higher power */
		if (at >= end)
			break;
		if (arena->most[k] < end - at)
			WRITE_ONCE(arena->most[k], (u16)(end - at));
	}
}

/* A search found no run longer than `units` at a multiple of 2^order: lowers the bounds. The arena
 * is locked. */
static void lower_most(struct arena *arena, unsigned int order, u64 units)
{
	unsigned int k;

	LATH_ASSERT(lath_spin_mine(&arena->lock) && units <= ARENA_UNITS);
	/* what holds for 2^order holds for its multiples; bounds do not rise with k */
	for (k = order; k < ARENA_ORDERS && arena->most[k] > units; k++)
		WRITE_ONCE(arena->most[k], (u16)units);
}

/* Sets *first and *end to the bounds of the free run that contains a free unit. */
static void run_around(const struct arena *arena, u64 unit, u64 *first, u64 *end)
{
	unsigned int i = (unsigned int)(unit / 64), j = i;
	u64 below = ~arena->map[i] & lath_ones(unit % 64),
	    above = ~arena->map[i] & ~lath_ones(unit % 64);

	LATH_ASSERT(arena->map[i] >> unit % 64 & 1);
	/* the nearest taken unit on each side: in this word, else in the next that has one */
	while (!below && i)
		below = ~arena->map[--i];
	while (!above && ++j < ARENA_WORDS)
		above = ~arena->map[j];
	*first = below ? 64ull * i + fls64(below) : 0;
	*end = above ? 64ull * j + __ffs64(above) : ARENA_UNITS;
}

void lath_arena_open(struct arena *arena, u64 block)
{
	unsigned int i;

	LATH_ASSERT(lath_spin_mine(&arena->lock) && arena->block == NO_BLOCK && block != NO_BLOCK);
	raise_most(arena, 0, ARENA_UNITS);
	arena->free = ARENA_UNITS;
	arena->whole = ~0ull;
	for (i = 0; i < ARENA_WORDS; i++)
		set_word(arena, i, ~0ull);
	WRITE_ONCE(arena->block, block);
	show(arena, arena_grade(arena));
}

/* The words of a run of units, and which bits of the first and of the last word are in it. If they
 * are one word, head and tail are the same. */
struct span {
	unsigned int first, last;
	u64 head, tail;
};

/* Returns the words of [unit, unit + n). */
static inline struct span span_of(u64 unit, u64 n)
{
	u64 last = unit + n - 1;
	struct span s = { (unsigned int)(unit / 64), (unsigned int)(last / 64), ~0ull << unit % 64,
			  ~0ull >> (63 - last % 64) };

	LATH_ASSERT(n && n <= ARENA_UNITS && unit <= ARENA_UNITS - n);
	if (s.first == s.last)
		s.head = s.tail &= s.head;
	return s;
}

/* Returns the bits of word i, which is behind the first one and is not the last one, that are in
 * the run. The two words behind the first one are processed in any case, also if the run ends
 * before them: most runs have at most four words, and a processor cannot predict how many. */
static inline u64 middle(struct span s, unsigned int i)
{
	return i < s.last ? ~0ull : 0;
}

/* Returns whether the units are all taken (`taken`), or all free. The arena is locked. */
static inline bool all_are(const struct arena *arena, struct span s, bool taken)
{
	u64 differ = taken ? 0 : ~0ull, other;
	unsigned int i;

	other = ((arena->map[s.first] ^ differ) & s.head) |
		((arena->map[s.last] ^ differ) & s.tail);
	/* may lie behind the last word: the spare ones are there */
	other |= (arena->map[s.first + 1] ^ differ) & middle(s, s.first + 1);
	other |= (arena->map[s.first + 2] ^ differ) & middle(s, s.first + 2);
	for (i = s.first + 3; i < s.last; i++)
		other |= arena->map[i] ^ differ;
	return !other;
}

/* Sets word i to the opposite if it is between the first and the last one. */
static __always_inline void flip_middle(struct arena *arena, struct span s, unsigned int i)
{
	arena->map[i] ^= middle(s, i);
	arena->grade[i] ^= middle(s, i) & WHOLE_GRADE;
}

/* Sets the words of units that are all free, or all taken (`free`), to the opposite. The arena is
 * locked. */
static __always_inline void flip(struct arena *arena, struct span s, bool free)
{
	unsigned int i;

	LATH_ASSERT(lath_spin_mine(&arena->lock) && all_are(arena, s, free));
	set_word(arena, s.first, arena->map[s.first] ^ s.head);
	if (s.last == s.first) /* head and tail are one: it would be flipped back */
		return;
	/* words between the ends change from none to all, so their grades need no look */
	flip_middle(arena, s, s.first + 1);
	flip_middle(arena, s, s.first + 2);
	for (i = s.first + 3; i < s.last; i++)
		flip_middle(arena, s, i);
	set_word(arena, s.last, arena->map[s.last] ^ s.tail);
}

/* Marks n free units taken. The arena is locked. */
static __always_inline void mark_taken(struct arena *arena, u64 unit, u64 n)
{
	struct span s = span_of(unit, n);

	arena->free -= n;
	LATH_ASSERT(arena->free <= ARENA_UNITS);
	arena->whole &= ~((~0ull << s.first) & (~0ull >> (63 - s.last)));
	flip(arena, s, false);
	/* else `shown` stays above the grade: a search that it misleads lowers it */
	if (!arena->free)
		show(arena, 0);
}

/* Marks n taken units free. The arena is locked. */
static void mark_free(struct arena *arena, u64 n, struct span s)
{
	arena->free += n;
	LATH_ASSERT(arena->free <= ARENA_UNITS);
	flip(arena, s, true);
	/* the words between are whole now; the first and the last one perhaps */
	arena->whole |= (~0ull << s.first << 1) & ((1ull << s.last) - 1);
	arena->whole |= (u64) !~arena->map[s.first] << s.first;
	arena->whole |= (u64) !~arena->map[s.last] << s.last;
	show_freed(arena, s.first, s.last);
}

bool lath_arena_reserve(struct arena *arena, u64 unit, u64 n)
{
	LATH_ASSERT(lath_spin_mine(&arena->lock));
	if (!all_are(arena, span_of(unit, n), false))
		return false;
	mark_taken(arena, unit, n);
	return true;
}

bool lath_arena_takes(struct arena *arena, u64 unit, u64 n)
{
	LATH_ASSERT(lath_spin_mine(&arena->lock));
	return all_are(arena, span_of(unit, n), true);
}

bool lath_arena_free_units(struct arena *arena, u64 unit, u64 n)
{
	struct span s = span_of(unit, n);
	u64 first, end;

	LATH_ASSERT(lath_spin_mine(&arena->lock));
	if (!all_are(arena, s, true))
		return false;
	mark_free(arena, n, s);
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

	LATH_ASSERT(more);
	if (unit % 64 + more < 64)
		return unit + more;
	for (i++; i < ARENA_WORDS && !~arena->map[i]; i++)
		;
	return 64 * i + (i < ARENA_WORDS ? ones(arena->map[i]) : 0);
}

u64 lath_block_within(u64 n, u64 align)
{
	u64 whole = n / align;

	LATH_ASSERT(n && align && !(align & (align - 1)));
	/* from `whole` multiples of align in a row, 2^k are a naturally aligned block in any case
	 * if whole >= 2^(k + 1) - 1; a run shorter than align begins at one: it has its own size */
	return whole ? align << (fls64(whole + 1) - 2) : 1ull << (fls64(n) - 1);
}

/* Where units may be taken: n at a multiple of align within [first, last]. */
struct place {
	u64 n, align, first, last;
};

/* If the free run [from, end) serves the place, sets *unit. Returns whether it does; *most rises to
 * what it has from a multiple of align on. */
static inline bool run_serves(const struct place *p, u64 from, u64 end, u64 *unit, u64 *most)
{
	LATH_ASSERT(from < end && end <= ARENA_UNITS);
	*unit = (max(from, p->first) + (p->align - 1)) & ~(p->align - 1);
	end = min(end, p->last + 1);
	if (*unit >= end)
		return false;
	*most = max(*most, end - *unit);
	return end - *unit >= p->n;
}

/* A run of n >= align units contains an aligned block, so only runs with such a block are looked
 * at. Results as those of place_within(). *longest: no run, wherever it begins, is longer. */
static bool place_in_runs(const struct arena *arena, const struct place *p, u64 *unit, u64 *most,
			  u64 *longest)
{
	u64 block = min(lath_block_within(p->n, p->align), 64ull), seen = 0,
	    words = ~lath_bytes_match(arena->grade, grade_needed(block)).lt;

	/* what a run without such a block has at most, from a multiple of align on, and at all */
	*most = (block > p->align ? 2 * block - p->align : block) - 1;
	*longest = 2 * block - 2;
	/* word by word, each run once: `seen` is where the last one ended */
	for (words &= ~lath_ones((unsigned int)(p->first / 64)); words; words &= words - 1) {
		unsigned int i = __ffs64(words);
		u64 starts = run_starts(arena->map[i], block, log2_up(block)), from;

		for (;;) {
			if (seen > 64ull * i) /* the end of the last run */
				starts &= ~lath_ones((unsigned int)min(seen - 64ull * i, 64ull));
			if (!starts)
				break;
			run_around(arena, 64ull * i + __ffs64(starts), &from, &seen);
			*longest = max(*longest, seen - from);
			if (run_serves(p, from, seen, unit, most))
				return true;
		}
	}
	return false;
}

/* As place_in_runs(), for n < align: looks at the multiples of align. */
static bool place_on_grid(const struct arena *arena, const struct place *p, u64 *unit, u64 *most)
{
	u64 grid = multiples[min(log2_up(p->align), 6u)], words = 0, starts;
	unsigned int i, step = max((unsigned int)(p->align / 64), 1u);

	*most = 0;
	/* the words with a free unit at a multiple of align; above 64 units some have none */
	for (i = 0; i < ARENA_WORDS; i += step)
		words |= (u64) !!(arena->map[i] & grid) << i;
	for (words &= ~lath_ones((unsigned int)(p->first / 64)); words; words &= words - 1) {
		i = __ffs64(words);
		for (starts = arena->map[i] & grid; starts; starts &= starts - 1) {
			u64 from = 64ull * i + __ffs64(starts);

			if (run_serves(p, from, run_end(arena, from), unit, most))
				return true;
		}
	}
	return false;
}

/* Sets *unit to the first n free units at a multiple of align within [first, last]. Returns false
 * if there are none; no run from a multiple of align is then longer than *most, if the limits are
 * those of the arena, and none at all is longer than *longest. */
static bool place_within(const struct arena *arena, const struct place *p, u64 *unit, u64 *most,
			 u64 *longest)
{
	*longest = ARENA_UNITS;
	return p->n < p->align ? place_on_grid(arena, p, unit, most)
			       : place_in_runs(arena, p, unit, most, longest);
}

bool lath_arena_alloc_within(struct arena *arena, u64 n, u64 align, u64 first, u64 last, u64 *unit)
{
	struct place place = { n, align, first, last };
	unsigned int order = log2_up(align);
	u64 most, longest;

	LATH_ASSERT(lath_spin_mine(&arena->lock));
	LATH_ASSERT(!(align & (align - 1)) && order < ARENA_ORDERS && last < ARENA_UNITS);
	LATH_ASSERT(n && first <= last);
	/* a search before this one has shown that there is none */
	if (n > arena->most[order])
		return false;
	if (place_within(arena, &place, unit, &most, &longest)) {
		LATH_ASSERT(!(*unit & (align - 1)) && *unit >= first && *unit + n - 1 <= last);
		mark_taken(arena, *unit, n);
		return true;
	}
	/* what was found holds for the arena only if the limits were its own */
	if (!first && last == ARENA_UNITS - 1) {
		lower_most(arena, 0, longest);
		lower_most(arena, order, most);
	}
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

		/* with a rest, the run ends before its alignment does: next < ARENA_WORDS */
		if (!rest || ones(arena->map[next]) >= rest) {
			*unit = 64ull * from;
			return true;
		}
	}
	return false;
}

/* Finds n <= 64 free units within one word, where an arena of this kind may place them. Returns
 * whether there are any. */
static bool find_in_word(const struct arena *arena, u64 n, u64 *unit)
{
	int i = find_word(arena, grade_needed(n));
	u64 starts;

	LATH_ASSERT(n <= 64);
	if (i < 0)
		return false;
	/* a dense arena has runs at any place, and its grades speak of those */
	starts = arena->dense ? any_starts(arena->map[i], (unsigned int)n)
			      : run_starts(arena->map[i], n, log2_up(n));
	if (!starts)
		return false;
	*unit = 64ull * (unsigned int)i + __ffs64(starts);
	return true;
}

bool lath_arena_alloc_units(struct arena *arena, u64 n, u64 block, u64 *unit)
{
	LATH_ASSERT(lath_spin_mine(&arena->lock) && n && n <= block && block <= ARENA_UNITS);
	if (block > 64 ? find_words(arena, block, unit) : find_in_word(arena, block, unit)) {
		mark_taken(arena, *unit, n);
		return true;
	}
	/* `shown` was too high: correct it, or the next search comes here for nothing, too */
	show(arena, arena_grade(arena));
	return false;
}

unsigned int lath_arena_alloc_blocks(struct arena *arena, unsigned int order, unsigned int most,
				     u64 *unit)
{
	unsigned int n = 0;
	u64 size = 1ull << order;

	LATH_ASSERT(lath_spin_mine(&arena->lock) && order <= 6);
	LATH_ASSERT(!arena->dense || !order);
	while (n < most) {
		int i = find_word(arena, grade_needed(size));
		u64 word, starts;

		if (i < 0)
			break;
		/* all that the word has, so that its grade is made once */
		word = arena->map[i];
		for (starts = run_starts(word, size, order); starts && n < most;
		     starts &= starts - 1) {
			unsigned int at = __ffs64(starts);

			unit[n++] = 64ull * (unsigned int)i + at;
			word &= ~(lath_ones((unsigned int)size) << at);
		}
		set_word(arena, (unsigned int)i, word);
		arena->whole &= ~(1ull << i);
	}
	arena->free -= n << order;
	LATH_ASSERT(arena->free <= ARENA_UNITS);
	/* the search found no more, so the exact grade is known to be lower than needed */
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
			continue; /* taken */
		end = run_end(arena, unit);
		for (k = 0; k < ARENA_ORDERS && !(unit & ((1ull << k) - 1)); k++)
			if (arena->most[k] < end - unit)
				return false;
	}
	return true;
}

bool lath_arena_sound(const struct arena *arena)
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
