/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The range index against an oracle: a table of who owns each of 4,096 points. One random tape
 * a layout; the structure is verified on the way.
 */
#include "base/random.h"
#include "base/unit.h"
#include "lathwork/index.h"

#define POINTS 4096
#define CALLS 60000

int range_unit(void);

struct model {
	struct lath_index list;
	u16 owner[POINTS]; /* 1 + the start of the range there, or 0 */
	u16 size[POINTS];  /* of the range that starts here, or 0 */
	u64 count;
	u64 random;
	bool points;
};

static int try_insert(struct model *m, u32 key, u32 size)
{
	struct lath_item item = { key, size, key * 7ull + 1 }, there = { 0, 0, 0 };
	u32 at, first = 0;
	int ret = lath_index_insert_item(&m->list, &item, &there);

	for (at = key; at < key + size && !first; at++)
		first = m->owner[at];
	if (first) {
		CHECK(ret == -EEXIST);
		CHECK(there.key < key + size && key < there.key + there.size);
		CHECK(m->size[there.key] == there.size);
		return 0;
	}
	CHECK(ret == 0);
	for (at = key; at < key + size; at++)
		m->owner[at] = (u16)(key + 1);
	m->size[key] = (u16)size;
	m->count++;
	return 0;
}

static int try_erase(struct model *m, u32 point)
{
	struct lath_item old;
	u32 at, key = m->owner[point];
	int ret = lath_index_erase_item_at(&m->list, point, &old);

	if (!key) {
		CHECK(ret == -ENOENT);
		return 0;
	}
	key--;
	CHECK(ret == 0 && old.key == key && old.size == m->size[key] &&
	      old.value == key * 7ull + 1);
	for (at = key; at < key + m->size[key]; at++)
		m->owner[at] = 0;
	m->size[key] = 0;
	m->count--;
	return 0;
}

static int try_reads(struct model *m, u32 point)
{
	struct lath_item found;
	u64 value;
	u32 at, key = m->owner[point];
	int ret = lath_index_lookup_item(&m->list, point, &found);

	CHECK(ret == (key ? 0 : -ENOENT));
	CHECK(ret || (found.key == key - 1 && found.size == m->size[key - 1]));
	CHECK(lath_index_get(&m->list, point, &value) == !!key);
	CHECK(!key || value == (key - 1) * 7ull + 1);
	for (at = point; at < POINTS && !m->size[at]; at++)
		;
	ret = lath_index_ceiling_item(&m->list, point, &found);
	CHECK(at < POINTS ? ret == 0 && found.key == at : ret == -ENOENT);
	for (at = point + 1; at && !m->size[at - 1]; at--)
		;
	ret = lath_index_floor_item(&m->list, point, &found);
	CHECK(at ? ret == 0 && found.key == at - 1 : ret == -ENOENT);
	return 0;
}

static int tape(struct model *m)
{
	char report[128];
	u32 i, key, size;
	int line;

	for (i = 0; i < CALLS; i++) {
		/* long stretches of filling and of emptying: nodes split, then merge */
		bool fill = i % 20000 < 10000 ? draw(&m->random, 8) != 0 : draw(&m->random, 8) == 0;

		key = draw(&m->random, POINTS - 16);
		size = m->points ? 1 : 1 + draw(&m->random, 1u << draw(&m->random, 5));
		line = fill ? try_insert(m, key, size) : try_erase(m, key);
		if (!line)
			line = try_reads(m, draw(&m->random, POINTS));
		if (line)
			return line;
		if (i % 2000 == 0) {
			CHECK(lath_index_verify(&m->list, 5, report, sizeof(report)) == 0);
			CHECK(lath_index_count(&m->list) == m->count);
			unit_breathe();
		}
	}
	return 0;
}

static int refusals(struct model *m)
{
	struct lath_item none = { 1, 0, 0 }, wraps = { ~0ull - 1, 3, 0 };

	CHECK(lath_index_insert_item(&m->list, &none, NULL) == -EINVAL);
	CHECK(lath_index_insert_item(&m->list, &wraps, NULL) == -EINVAL);
	return 0;
}

static int run(struct model *m, enum lath_layout layout)
{
	struct lath_config config = LATH_CONFIG_INIT;
	int line;

	config.layout = layout;
	m->points = layout == LATH_POINTS;
	m->random = 1 + (u64)layout;
	CHECK(lath_index_init(&m->list, &config) == 0);
	line = refusals(m);
	if (!line)
		line = tape(m);
	lath_index_fini(&m->list, NULL, NULL);
	return line;
}

int range_unit(void)
{
	static const enum lath_layout layouts[] = { LATH_RANGES, LATH_POINTS };
	int line = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(layouts) && !line; i++) {
		struct model *m = unit_alloc(sizeof(*m) + 64);
		/* calloc aligns to 16 */
		struct model *aligned = (struct model *)(((uintptr_t)m + 63) & ~(uintptr_t)63);

		CHECK(m);
		line = run(aligned, layouts[i]);
		unit_free(m);
	}
	return line;
}
