/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * entry_moved_test.c - reads, and erases, whose leaf changes for good while they are in it. The
 * index is built with its delay points: when a call has its leaf and not yet searched it, or has
 * found its entry and not yet copied it or locked the leaf, the hook moves the entry, as another
 * thread might: one position up, one down, or into another leaf. No item that the call is about
 * changes, so it must return what it returns undisturbed. (read_retry_test.c changes versions
 * alone: a read that does not look at them again passes there.)
 */
#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "tree/way/locate.h"

#include "lathwork/cursor.h"
#include "lathwork/index.h"

#define ITEMS 3000u
#define STEP 16u
#define FAR (8 * STEP) /* from the key: no read looks so far */
#define MANY 60

enum move { UP, DOWN, AWAY, MOVES };

static struct lath_index list;
static const char *where; /* the point that is watched */
static int armed;	  /* fires the n-th time; 0: not */
static enum move move;
static u64 about; /* the key that is read */
static u64 made[MANY];
static unsigned int n_made, fired;
static bool ranges;

static void make(u64 key)
{
	struct lath_item item = { key, ranges ? 2 : 1, 7 };

	if (!lath_index_insert_item(&list, &item, NULL))
		made[n_made++] = key;
}

static void disturb(const char *point)
{
	unsigned int i;

	if (!armed || strcmp(point, where) != 0 || --armed)
		return;
	fired++;
	switch (move) {
	case UP: /* an entry to the left of it is new */
		make(about - FAR + STEP / 2 + 2);
		break;
	case DOWN: /* one is erased at the left, and the next new one at the right takes its place
		    */
		lath_index_erase_item(&list, about - FAR, NULL);
		make(about + FAR + STEP / 2 + 2);
		break;
	default: /* the leaf has no room for all that are new */
		for (i = 0; i < MANY; i++)
			make(about - FAR - i % 8 * STEP - STEP / 2 + i / 8);
	}
}

/* As it was. */
static void restore(void)
{
	struct lath_item item = { about - FAR, ranges ? STEP / 2 : 1, (about - FAR) / STEP };

	while (n_made)
		assert(!lath_index_erase_item(&list, made[--n_made], NULL));
	if (move == DOWN)
		assert(lath_index_insert_item(&list, &item, NULL) != -ENOMEM);
}

struct answer {
	s64 ret;
	struct lath_item item[4];
};

static void by_cursor(u64 key, bool back, struct answer *a)
{
	struct lath_cursor cursor;
	int ok;

	lath_cursor_init(&cursor, &list);
	ok = back ? lath_cursor_seek_floor(&cursor, key, &a->item[0])
		  : lath_cursor_seek(&cursor, key, &a->item[0]);
	for (; ok && ++a->ret < 4;)
		ok = back ? lath_cursor_prev(&cursor, &a->item[a->ret])
			  : lath_cursor_next(&cursor, &a->item[a->ret]);
}

#define CALLS 12

static void call(unsigned int kind, u64 key, struct answer *a)
{
	u64 points[4] = { key, key + STEP, key + 2 * STEP, key + 3 * STEP }, keys[4] = { 0 },
	    values[4] = { 0 };
	uint8_t hits[4];
	unsigned int i;

	memset(a, 0, sizeof(*a));
	switch (kind) {
	case 0:
		a->ret = lath_index_lookup_item(&list, key, a->item);
		break;
	case 1:
		a->ret = lath_index_overlap_item(&list, key, STEP, a->item);
		break;
	case 2:
		a->ret = lath_index_ceiling_item(&list, key, a->item);
		break;
	case 3:
		a->ret = lath_index_floor_item(&list, key, a->item);
		break;
	case 4:
		a->ret = lath_index_get(&list, key, &a->item[0].value);
		break;
	case 5:
		a->ret = (s64)lath_index_get_batch(&list, 4, points, values, hits);
		break;
	case 6:
		a->ret = (s64)lath_index_scan(&list, key, key + 3 * STEP, a->item, 4, NULL);
		break;
	case 7:
		a->ret = (s64)lath_index_scan_values(&list, key, key + 3 * STEP, keys, values, 4,
						     NULL);
		break;
	case 8:
		a->ret = (s64)lath_index_scan_back(&list, key, key - 3 * STEP, a->item, 4, NULL);
		break;
	case 9:
	case 10:
		by_cursor(key, kind == 10, a);
		break;
	default:
		a->ret = lath_index_erase_item(&list, key, a->item);
		assert(!lath_index_insert_item(&list, a->item, NULL));
	}
	for (i = 0; i < 4 && (kind == 5 || kind == 7); i++) {
		a->item[i].key = keys[i];
		a->item[i].value = values[i];
	}
}

static void begin(void)
{
	struct lath_config config = LATH_CONFIG_INIT;
	u64 i;

	config.layout = ranges ? LATH_RANGES : LATH_POINTS;
	assert(!lath_index_init(&list, &config));
	for (i = 0; i < ITEMS; i++) {
		struct lath_item item = { i * STEP, ranges ? STEP / 2 : 1, i };

		assert(!lath_index_insert_item(&list, &item, NULL));
	}
}

/* Each call of this kind, disturbed at its first or second item. The leaves are full; a new entry
 * moves others of its leaf and of those at the right: so the keys descend, and the first ones of a
 * leaf are moved by an insert into the leaf at the left. */
static void check(unsigned int kind, const char *point, int at, bool must_fire)
{
	struct answer plain, moved;
	unsigned int before;
	u64 i;

	where = point;
	for (move = UP; move < MOVES; move++) {
		begin();
		before = fired;
		for (i = ITEMS - 40; i > 40; i -= 7) {
			about = i * STEP;
			call(kind, about, &plain);
			armed = at;
			call(kind, about, &moved);
			armed = 0;
			assert(!memcmp(&plain, &moved, sizeof(plain)));
			restore();
		}
		assert(fired > before + ITEMS / 7 / 2 || !must_fire);
		assert(!lath_index_verify(&list, 5, NULL, 0));
		lath_index_fini(&list, NULL, NULL);
	}
}

int main(void)
{
	unsigned int kind;

	lath_delay_hook = disturb;
	for (kind = 0; kind < 2 * CALLS; kind++) {
		unsigned int of = kind / 2;

		ranges = kind % 2;
		/* batches, and scans of some leaves, have their own ways to the first one */
		check(of, "located, not yet searched", 1, of && (of < 5 || of > 7));
		check(of, "found, not yet copied", 1, true);
		if (of > 4 && of < 11)
			check(of, "found, not yet copied", 2, true);
	}
	lath_delay_hook = NULL;
	return 0;
}
