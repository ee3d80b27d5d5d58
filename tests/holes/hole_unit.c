/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * hole_unit.c - searches for holes against a map of units that is looked through one by one: every
 * policy, every alignment of a space, limits, refusals. Runs in user space and in the kernel.
 */
#include "base/random.h"
#include "base/unit.h"

#include "lathwork/hole.h"

int hole_unit(void);

#define UNITS 2048u
#define LOW 512u /* of the space: the largest alignment */
#define NOWHERE (~0ull)

static struct lath_index *list;
static u8 taken[LOW + UNITS];
static u64 state;

#define below(n) draw(&state, n)

static void mark(u64 key, u64 size, u8 to)
{
	memset(taken + key, to, size);
}

/* The length of the free run that begins at key. */
static u64 run_at(u64 key, u64 high)
{
	u64 end = key;

	while (end < high && !taken[end])
		end++;
	return end - key;
}

/* The first multiple of align in [low, high) where size units are free, or the last one. */
static u64 first_place(u64 size, u64 align, u64 low, u64 high)
{
	u64 key;

	for (key = (low + align - 1) & ~(align - 1); key + size <= high; key += align)
		if (run_at(key, key + size) == size)
			return key;
	return NOWHERE;
}

static u64 last_place(u64 size, u64 align, u64 low, u64 high)
{
	u64 key;

	if (high < low + size)
		return NOWHERE;
	for (key = (high - size) & ~(align - 1); key >= low; key -= align)
		if (run_at(key, key + size) == size)
			return key;
	return NOWHERE;
}

/* The first place in the shortest run that has one. */
static u64 best_place(u64 size, u64 align, u64 low, u64 high)
{
	u64 key, length, place, best = NOWHERE, shortest = NOWHERE;

	for (key = low; key < high; key += length + 1) {
		length = run_at(key, high);
		place = first_place(size, align, key, key + length);
		if (place != NOWHERE && length < shortest) {
			best = place;
			shortest = length;
		}
	}
	return best;
}

static u64 distance(u64 a, u64 b)
{
	return a < b ? b - a : a - b;
}

/* Is key what the policy asks for? */
static bool right_place(const struct lath_hole_request *w, u64 key)
{
	u64 above, under;

	switch (w->policy) {
	case LATH_HOLE_LAST:
		return key == last_place(w->size, w->align, w->low, w->high);
	case LATH_HOLE_BEST:
		return key == best_place(w->size, w->align, w->low, w->high);
	case LATH_HOLE_NEXT:
		above = first_place(w->size, w->align, w->hint, w->high);
		return key ==
		       (above != NOWHERE ? above : first_place(w->size, w->align, w->low, w->high));
	case LATH_HOLE_NEAR:
		above = first_place(w->size, w->align, w->hint, w->high);
		under = last_place(w->size, w->align, w->low, min(w->hint + w->size, w->high));
		if (above == NOWHERE || under == NOWHERE)
			return key == min(above, under);
		return distance(key, w->hint) ==
			       min(distance(above, w->hint), distance(under, w->hint)) &&
		       (key == above || key == under);
	case LATH_HOLE_EXACT:
		return key == (run_at(w->hint, w->hint + w->size) == w->size ? w->hint : NOWHERE);
	default:
		return key == first_place(w->size, w->align, w->low, w->high);
	}
}

/* Ask, compare, and take the place for good unless it is only looked for. */
static int ask(struct lath_hole_request *want, bool take)
{
	u64 key = 0;
	int ret = take ? lath_index_insert_hole(list, want, 7, &key)
		       : lath_index_find_hole(list, want, &key);

	CHECK(ret == 0 || ret == -ENOSPC);
	CHECK(right_place(want, ret ? NOWHERE : key));
	if (take && !ret)
		mark(key, want->size, 1);
	return 0;
}

static struct lath_hole_request some_request(enum lath_hole_policy policy, u64 align)
{
	struct lath_hole_request want = { .size = 1 + below(below(8) ? 16 : 200),
					  .align = align,
					  .low = LOW,
					  .high = LOW + UNITS,
					  .policy = policy };

	if (!below(4))
		want.low += below(UNITS / 2);
	if (!below(4))
		want.high -= below(UNITS / 2);
	want.hint = want.low + below(want.high - want.low);
	if (policy == LATH_HOLE_EXACT) {
		want.hint = (want.low + align - 1) & ~(align - 1);
		want.hint += align * below((want.high - want.hint) / align + 1);
		want.size = min(want.size, want.high - want.hint);
	}
	return want;
}

/* Free one range in two, or any. */
static int free_some(bool all)
{
	struct lath_item item;
	u64 key = LOW;

	while (!lath_index_ceiling_item(list, key, &item) && item.key < LOW + UNITS) {
		key = item.key + item.size;
		if (!all && below(2))
			continue;
		CHECK(lath_index_erase_item(list, item.key, NULL) == 0);
		mark(item.key, item.size, 0);
	}
	return 0;
}

static int sound(void)
{
	return !lath_index_verify(list, 6, NULL, 0);
}

/* Every policy with every alignment, in a space that is filled and freed in parts. */
static int policies_and_alignments(void)
{
	unsigned int policy, round, i;
	int line;
	u64 align;

	for (policy = LATH_HOLE_FIRST; policy <= LATH_HOLE_EXACT; policy++) {
		for (align = 1; align <= UNITS / 4; align *= 2) {
			for (round = 0; round < 4; round++) {
				for (i = 0; i < 40; i++) {
					struct lath_hole_request want =
						some_request((enum lath_hole_policy)policy, align);

					if (!want.size)
						continue;
					line = ask(&want, below(4));
					if (line)
						return line;
				}
				line = free_some(round == 3);
				if (line)
					return line;
				unit_breathe();
			}
			CHECK(sound());
		}
	}
	return lath_index_count(list) == 0 ? 0 : __LINE__;
}

/* Units are taken until there is none; each policy then says so, until one is free. */
static int full_and_not_full(void)
{
	struct lath_hole_request want = { .size = 1, .low = LOW, .high = LOW + UNITS };
	unsigned int policy, i;
	u64 key;

	for (i = 0; i < UNITS; i++)
		CHECK(lath_index_insert_hole(list, &want, i, &key) == 0 && key == LOW + i);
	want.hint = LOW + UNITS / 3;
	for (i = 0; i < 2; i++) {
		for (policy = LATH_HOLE_FIRST; policy <= LATH_HOLE_EXACT; policy++) {
			want.policy = (enum lath_hole_policy)policy;
			CHECK(lath_index_insert_hole(list, &want, 0, &key) == -ENOSPC);
			CHECK(lath_index_find_hole(list, &want, &key) == -ENOSPC);
			CHECK(lath_index_erase_item(list, want.hint, NULL) == 0);
			CHECK(lath_index_find_hole(list, &want, &key) == 0 && key == want.hint);
			CHECK(lath_index_insert_hole(list, &want, 0, &key) == 0 &&
			      key == want.hint);
		}
		want.hint = LOW + UNITS - 1;
	}
	return sound() ? 0 : __LINE__;
}

/* Requests that nothing can serve are told from those that find no room. */
static int refusals(void)
{
	struct lath_hole_request good = { .size = 8, .align = 8, .low = LOW, .high = LOW + UNITS };
	struct lath_hole_request want = good;
	struct lath_index *plain;
	u64 key;

	want.size = 0;
	CHECK(lath_index_find_hole(list, &want, &key) == -EINVAL);
	want = good;
	want.align = 24;
	CHECK(lath_index_find_hole(list, &want, &key) == -EINVAL);
	want = good;
	want.high = want.low;
	CHECK(lath_index_find_hole(list, &want, &key) == -EINVAL);
	want = good;
	want.policy = LATH_HOLE_EXACT;
	want.hint = LOW + 4;
	CHECK(lath_index_find_hole(list, &want, &key) == -EINVAL);
	want.hint = LOW + UNITS - 7;
	CHECK(lath_index_find_hole(list, &want, &key) == -EINVAL);
	want.policy = (enum lath_hole_policy)(LATH_HOLE_EXACT + 1);
	CHECK(lath_index_find_hole(list, &want, &key) == -EINVAL);
	want = good;
	want.size = UNITS + 1;
	CHECK(lath_index_insert_hole(list, &want, 0, &key) == -ENOSPC);
	want.size = UNITS;
	CHECK(lath_index_insert_hole(list, &want, 0, &key) == 0 && key == LOW);
	CHECK(lath_index_insert_hole(list, &good, 0, &key) == -ENOSPC);
	good.low = 0; /* below the limits and above them there is room */
	CHECK(lath_index_insert_hole(list, &good, 0, &key) == 0 && key == 0);
	good.low = LOW;
	good.high = 0;
	CHECK(lath_index_insert_hole(list, &good, 0, &key) == 0 && key == LOW + UNITS);
	plain = lath_index_create(NULL);
	CHECK(plain);
	CHECK(lath_index_find_hole(plain, &good, &key) == -EINVAL);
	lath_index_destroy(plain, NULL, NULL);
	return sound() ? 0 : __LINE__;
}

/* What is below the line comes first, whatever the policy; then all. */
static int below_the_line(void)
{
	struct lath_hole_request want = { .size = 16, .align = 16, .high = 4096, .below = 1024 };
	unsigned int policy, i;
	u64 key;

	for (policy = LATH_HOLE_FIRST; policy <= LATH_HOLE_NEAR; policy++) {
		want.policy = (enum lath_hole_policy)policy;
		want.hint = 2048;
		for (i = 0; i < 1024 / 16; i++)
			CHECK(lath_index_insert_hole(list, &want, i, &key) == 0 && key < 1024);
		CHECK(lath_index_insert_hole(list, &want, i, &key) == 0 && key >= 1024);
		CHECK(sound());
		CHECK(lath_index_erase_range(list, 0, 4096, NULL, NULL) == 1024 / 16 + 1);
	}
	return 0;
}

static int stats_of_what(void)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_hole_stats stats;
	struct lath_index *other = lath_index_create(&config);

	CHECK(other);
	CHECK(lath_index_hole_stats(other, 0, 10, 0, &stats) == -EINVAL); /* without LATH_HOLES */
	lath_index_destroy(other, NULL, NULL);
	CHECK(lath_index_hole_stats(list, 10, 10, 0, &stats) == -EINVAL);
	CHECK(lath_index_hole_stats(list, 11, 10, 0, &stats) == -EINVAL);
	CHECK(!lath_index_hole_stats(list, 10, 11, 0, &stats) && stats.free == 1);
	return 0;
}

int hole_unit(void)
{
	static int (*const cases[])(void) = {
		policies_and_alignments, full_and_not_full, refusals, below_the_line, stats_of_what,
	};
	struct lath_config config = LATH_CONFIG_INIT;
	unsigned int i;
	int line;

	config.flags = LATH_HOLES;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		list = lath_index_create(&config);
		CHECK(list);
		memset(taken, 0, sizeof(taken));
		state = i;
		line = cases[i]();
		if (line)
			return line;
		lath_index_destroy(list, NULL, NULL);
		unit_breathe();
	}
	return 0;
}
