/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * ranks_unit.c - rank, select and count_range against an array of bits, and their edges. Runs in
 * user space and in the kernel.
 */
#include "base/random.h"
#include "base/unit.h"
#include "lathwork/index.h"

int ranks_unit(void);

#define KEYS 20000u
#define ROUNDS 60

struct model {
	bool there[KEYS];
	u64 random;
};

static struct lath_index *list;

static int put(u64 key)
{
	struct lath_item item = { key, 1, ~key };

	return lath_index_insert_item(list, &item, NULL);
}

/* Insert or erase n keys from `key` on, every `step`. */
static int change(struct model *m, u32 key, u32 n, u32 step, bool there)
{
	for (; n && key < KEYS; n--, key += step) {
		int ret = there ? put(key) : lath_index_erase_item(list, key, NULL);

		CHECK(ret == (m->there[key] != there ? 0 : there ? -EEXIST : -ENOENT));
		m->there[key] = there;
	}
	return 0;
}

/* Every rank at once, and the item that has it. */
static int check_all(const struct model *m, u32 step)
{
	struct lath_item found;
	s64 rank = 0;
	u32 key;

	for (key = 0; key < KEYS; key++) {
		if (key % step == 0)
			CHECK(lath_index_rank(list, key) == rank);
		if (!m->there[key])
			continue;
		if (key % step == 0) {
			CHECK(lath_index_select(list, (u64)rank, &found) == 0);
			CHECK(found.key == key && found.size == 1 && found.value == ~(u64)key);
		}
		rank++;
	}
	CHECK(lath_index_count(list) == (u64)rank);
	CHECK(lath_index_select(list, (u64)rank, &found) == -ENOENT);
	return 0;
}

static int play(struct model *m)
{
	unsigned int round;
	int ret = 0;

	for (round = 0; round < ROUNDS && !ret; round++) {
		u32 first = draw(&m->random, KEYS), last = draw(&m->random, KEYS), key;
		s64 n = 0;

		ret = change(m, first, draw(&m->random, 4000), 1 + draw(&m->random, 7),
			     draw(&m->random, 5) > 1);
		for (key = first; key <= last; key++)
			n += m->there[key];
		CHECK(lath_index_count_range(list, first, last) == n);
		if (!ret && round % 8 == 0)
			ret = check_all(m, 1 + round);
		CHECK(lath_index_verify(list, 6, NULL, 0) == 0);
		unit_breathe();
	}
	return ret ? ret : check_all(m, 1);
}

/* The first and the last key; an index with one leaf, and an empty one. */
static int edges(void)
{
	struct lath_item found;

	CHECK(lath_index_rank(list, 0) == 0 && lath_index_rank(list, ~0ull) == 0);
	CHECK(lath_index_select(list, 0, &found) == -ENOENT && lath_index_count(list) == 0);
	CHECK(lath_index_count_range(list, 0, ~0ull) == 0);
	CHECK(!put(0) && !put(~0ull));
	CHECK(lath_index_rank(list, 0) == 0 && lath_index_rank(list, 1) == 1);
	CHECK(lath_index_rank(list, ~0ull) == 1 && lath_index_count(list) == 2);
	CHECK(lath_index_count_range(list, 0, ~0ull) == 2);
	CHECK(lath_index_count_range(list, 1, ~0ull) == 1);
	CHECK(lath_index_count_range(list, 1, ~0ull - 1) == 0);
	CHECK(lath_index_count_range(list, ~0ull, ~0ull) == 1);
	CHECK(lath_index_count_range(list, 2, 1) == 0);
	CHECK(lath_index_select(list, 1, &found) == 0 && found.key == ~0ull);
	CHECK(lath_index_select(list, ~0ull, &found) == -ENOENT);
	CHECK(!lath_index_erase_item(list, 0, NULL) && !lath_index_erase_item(list, ~0ull, NULL));
	return 0;
}

/* Without the flag the calls say so. */
static int refused(void)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_item found;

	config.flags = LATH_RANKS | LATH_HOLES;
	CHECK(!lath_index_create(&config));
	list = lath_index_create(NULL);
	CHECK(list && !put(1));
	CHECK(lath_index_rank(list, 1) == -EINVAL && lath_index_rank(list, 0) == -EINVAL);
	CHECK(lath_index_count_range(list, 0, 1) == -EINVAL);
	CHECK(lath_index_select(list, 0, &found) == -EINVAL);
	CHECK(lath_index_count(list) == 1);
	lath_index_destroy(list, NULL, NULL);
	return 0;
}

int ranks_unit(void)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct model *m = unit_alloc(sizeof(*m));
	int ret = m ? refused() : __LINE__;

	config.layout = LATH_POINTS;
	config.flags = LATH_RANKS;
	list = ret ? NULL : lath_index_create(&config);
	if (list) {
		m->random = 11;
		ret = edges();
		if (!ret)
			ret = play(m);
		lath_index_destroy(list, NULL, NULL);
	} else if (!ret) {
		ret = __LINE__;
	}
	unit_free(m);
	return ret;
}
