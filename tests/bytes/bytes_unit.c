/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Byte keys against an array: keys of up to nine bytes of an alphabet of two, the zero byte and
 * another one, with two tags. In both hosts.
 */
#include "base/random.h"
#include "base/unit.h"
#include "lathwork/bytes.h"

#define LONGEST 9u
#define KEYS ((1u << (LONGEST + 1)) * 2)
#define CALLS 40000

int bytes_unit(void);

/* Number i of all keys. In order of their bytes they are not in order of i. */
struct record {
	u8 data[16];
	u64 size, tag;
};

struct model {
	struct lath_bytes set;
	struct record record[KEYS];
	bool there[KEYS];
	u64 count, random;
};

static void record_key(void *ctx, u64 value, struct lath_bytes_key *key)
{
	const struct record *record = (const struct record *)(uintptr_t)value;

	(void)ctx;
	key->data = record->data;
	key->size = record->size;
	key->tag = record->tag;
}

static void make_records(struct model *m)
{
	u32 i, k;

	for (i = 0; i < KEYS; i++) {
		struct record *record = &m->record[i];
		u32 bits = i / 2 + 1; /* the highest bit says how many follow */

		record->tag = i % 2;
		record->size = (u64)fls64((u64)bits) - 1;
		for (k = 0; k < record->size; k++)
			record->data[k] = bits >> k & 1 ? 0x80 : 0;
	}
}

static int change(struct model *m)
{
	u32 i = draw(&m->random, KEYS - 2);
	u64 value = (u64)(uintptr_t)&m->record[i], other = 0;
	struct lath_bytes_key key;

	record_key(NULL, value, &key);
	CHECK(lath_bytes_get(&m->set, &key, &other) == m->there[i]);
	CHECK(other == (m->there[i] ? value : 0));
	if (m->there[i]) {
		CHECK(draw(&m->random, 8) || lath_bytes_insert(&m->set, value, NULL) == -EEXIST);
		CHECK(!lath_bytes_erase(&m->set, &key, NULL));
		m->count--;
	} else {
		CHECK(draw(&m->random, 8) || lath_bytes_erase(&m->set, &key, NULL) == -ENOENT);
		CHECK(!lath_bytes_insert(&m->set, value, NULL));
		m->count++;
	}
	m->there[i] = !m->there[i];
	return 0;
}

/* Returns how many records are between two neighbours of a cursor: none. */
static int walk(struct model *m, bool back)
{
	struct lath_bytes_cursor cursor;
	u64 value, n = 0;

	lath_bytes_cursor_init(&cursor, &m->set);
	while (back ? lath_bytes_cursor_prev(&cursor, &value)
		    : lath_bytes_cursor_next(&cursor, &value)) {
		CHECK(m->there[(struct record *)(uintptr_t)value - m->record]);
		n++;
	}
	CHECK(n == m->count);
	return 0;
}

static int play(struct model *m)
{
	char report[120];
	int i, ret;

	for (i = 0; i < CALLS; i++) {
		ret = change(m);
		if (!ret && i % 1000 == 0)
			ret = walk(m, i % 2000);
		if (ret)
			return ret;
		if (i % 4000 == 0) {
			CHECK(!lath_bytes_verify(&m->set, report, sizeof(report)));
			CHECK(lath_bytes_count(&m->set) == m->count);
			unit_breathe();
		}
	}
	return 0;
}

/* A bucket whose records agree in more bytes than it copies, then in fewer, and grows: what it
 * copies then is what they agree in. */
struct long_record {
	u8 data[80];
};

static void long_key(void *ctx, u64 value, struct lath_bytes_key *key)
{
	(void)ctx;
	key->data = (const u8 *)(uintptr_t)value;
	key->size = sizeof(struct long_record);
}

static int shorter_base(void)
{
	static struct long_record record[16] __attribute__((aligned(8)));
	struct lath_bytes_records records = { long_key, NULL, 0 };
	static struct lath_bytes set;
	u32 i;

	if (lath_bytes_init(&set, &records, NULL))
		return -1;
	for (i = 0; i < ARRAY_SIZE(record); i++) {
		memset(record[i].data, 'a', sizeof(record[i]));
		record[i].data[i < 2 ? 79 : 20] = (u8)('b' + i);
		if (lath_bytes_insert(&set, (u64)(uintptr_t)&record[i], NULL) ||
		    lath_bytes_verify(&set, NULL, 0))
			return -1;
	}
	lath_bytes_fini(&set, NULL, NULL);
	return 0;
}

int bytes_unit(void)
{
	struct lath_bytes_records records = { record_key, NULL, LATH_BYTES_DESCENDING };
	struct model *m = unit_alloc_aligned(sizeof(*m));
	int ret;

	CHECK(m);
	memset(m, 0, sizeof(*m));
	m->random = 7;
	make_records(m);
	CHECK(lath_bytes_init(NULL, &records, NULL) == -EINVAL);
	CHECK(!lath_bytes_init(&m->set, &records, NULL));
	ret = play(m);
	lath_bytes_fini(&m->set, NULL, NULL);
	unit_free_aligned(m);
	return ret ? ret : shorter_base();
}
