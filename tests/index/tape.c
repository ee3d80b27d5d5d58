/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tape.c - see tape.h. The oracle is an array of items in key order, searched from the front.
 */
#include "base/tape.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lathwork/cursor.h"

#define MODEL_MAX 4096

struct model {
	struct lath_item item[MODEL_MAX];
	size_t count;
};

struct tape {
	const uint8_t *at, *end;
	const struct tape_options *options;
	struct lath_index list;
	struct model model;
	struct lath_cursor cursor;
	bool ranges;
	unsigned int shape;
	uint64_t serial;
	const char *call;
};

/* What left the list through a callback, in order. */
struct gone {
	struct lath_item item[MODEL_MAX];
	size_t count;
};

#define EXPECT(tape, condition)                                                             \
	do {                                                                                \
		if (!(condition)) {                                                         \
			fprintf(stderr, "tape: %s: not so: %s (tape.c:%d)\n", (tape)->call, \
				#condition, __LINE__);                                      \
			return -1;                                                          \
		}                                                                           \
	} while (0)

static uint8_t next_byte(struct tape *tape)
{
	return tape->at < tape->end ? *tape->at++ : 0;
}

static uint64_t next_number(struct tape *tape)
{
	uint64_t low = next_byte(tape);

	return low | (uint64_t)next_byte(tape) << 8;
}

/* Small dense keys, pages, clusters far apart, the top of the key space, anything. */
static uint64_t next_key(struct tape *tape)
{
	uint64_t n = next_number(tape);

	switch (tape->shape) {
	case 0:
		return n % 512;
	case 1:
		return n * 4096;
	case 2:
		return (n % 7) << 60 | n / 7 % 128;
	case 3:
		return ~0ull - n % 512;
	default:
		return n << 48 | n * 0x9e3779b97f4a7c15ull >> 16;
	}
}

static uint64_t next_size(struct tape *tape)
{
	uint64_t n = next_byte(tape);

	if (!tape->ranges)
		return n == 255 ? 0 : 1;
	if (n < 200)
		return tape->shape == 1 ? (n % 3 + 1) * 4096 : n % 6;
	if (n < 250)
		return n;
	return tape->shape == 1 ? 4096ull * 600 : 5000ull << (n - 250);
}

static bool valid(const struct tape *tape, uint64_t key, uint64_t size)
{
	return size && size - 1 <= ~0ull - key && (tape->ranges || size == 1);
}

static uint64_t last_of(const struct lath_item *item)
{
	return item->key + (item->size - 1);
}

static bool same(const struct lath_item *a, const struct lath_item *b)
{
	return a->key == b->key && a->size == b->size && a->value == b->value;
}

/* ---- the model ---- */

/* index of the first item that ends at or behind key */
static size_t model_at(const struct model *model, uint64_t key)
{
	size_t i = 0;

	while (i < model->count && last_of(&model->item[i]) < key)
		i++;
	return i;
}

static struct lath_item *model_overlap(struct model *model, uint64_t key, uint64_t last)
{
	size_t i = model_at(model, key);

	return i < model->count && model->item[i].key <= last ? &model->item[i] : NULL;
}

static struct lath_item *model_exact(struct model *model, uint64_t key)
{
	struct lath_item *item = model_overlap(model, key, key);

	return item && item->key == key ? item : NULL;
}

static struct lath_item *model_ceiling(struct model *model, uint64_t key)
{
	size_t i = 0;

	while (i < model->count && model->item[i].key < key)
		i++;
	return i < model->count ? &model->item[i] : NULL;
}

static struct lath_item *model_floor(struct model *model, uint64_t key)
{
	size_t i = model->count;

	while (i > 0 && model->item[i - 1].key > key)
		i--;
	return i ? &model->item[i - 1] : NULL;
}

static void model_insert(struct model *model, struct lath_item item)
{
	size_t i = model_at(model, item.key);

	memmove(&model->item[i + 1], &model->item[i], (model->count - i) * sizeof(item));
	model->item[i] = item;
	model->count++;
}

static void model_remove(struct model *model, struct lath_item *item)
{
	size_t i = (size_t)(item - model->item);

	memmove(item, item + 1, (--model->count - i) * sizeof(*item));
}

/* ---- one call each ---- */

/* Did the call run out of memory where it may? Then it changed nothing, and there is nothing to
 * compare. */
static bool failed(const struct tape *tape, int ret)
{
	return ret == -ENOMEM && tape->options->may_fail;
}

static void note_gone(void *arg, const struct lath_item *item)
{
	struct gone *gone = arg;

	gone->item[gone->count++] = *item;
}

static int play_insert(struct tape *tape, int how)
{
	struct lath_item item = { next_key(tape), next_size(tape), ++tape->serial }, conflict;
	const struct lath_item *there = NULL;
	int ret;

	if (tape->model.count > MODEL_MAX - 8)
		return 0;
	if (valid(tape, item.key, item.size))
		there = model_overlap(&tape->model, item.key, last_of(&item));
	if (how == 0) {
		ret = lath_index_insert_item(&tape->list, &item, &conflict);
	} else if (how == 1) {
		struct lath_preload preload = { { NULL } };

		ret = lath_index_preload(&tape->list, &preload);
		if (!ret) {
			ret = lath_index_insert_preloaded(&tape->list, &item, &preload, &conflict);
			if (ret == -EAGAIN) /* one leaf may not have been enough */
				ret = lath_index_insert_item(&tape->list, &item, &conflict);
			lath_index_preload_release(&tape->list, &preload);
		}
	} else {
		struct lath_cursor cursor;
		int tries = 0;

		lath_cursor_init(&cursor, &tape->list);
		do {
			struct lath_item look, *model;
			uint64_t low, last;

			ret = lath_cursor_lock(&cursor, item.key, &low, &last);
			if (ret)
				break;
			EXPECT(tape, low <= item.key && item.key <= last);
			model = model_floor(&tape->model, item.key);
			if (lath_cursor_locked_floor(&cursor, item.key, &look))
				EXPECT(tape, model && same(model, &look));
			model = model_ceiling(&tape->model, item.key);
			if (lath_cursor_locked_ceiling(&cursor, item.key, &look))
				EXPECT(tape, model && same(model, &look));
			ret = lath_cursor_insert(&cursor, &item, &conflict);
		} while (ret == -EAGAIN && ++tries < 4);
	}
	if (failed(tape, ret))
		return 0;
	if (!valid(tape, item.key, item.size)) {
		EXPECT(tape, ret == -EINVAL);
	} else if (there) {
		EXPECT(tape, ret == -EEXIST);
		there = model_exact(&tape->model, conflict.key);
		EXPECT(tape, there && same(there, &conflict));
		EXPECT(tape, conflict.key <= last_of(&item) && last_of(&conflict) >= item.key);
	} else {
		EXPECT(tape, ret == 0);
		model_insert(&tape->model, item);
	}
	return 0;
}

static int play_erase(struct tape *tape, int how)
{
	uint64_t key = next_key(tape);
	struct lath_item *there =
		how == 1 ? model_overlap(&tape->model, key, key) : model_exact(&tape->model, key);
	struct lath_item old;
	int ret;

	if (how == 0) {
		ret = lath_index_erase_item(&tape->list, key, &old);
	} else if (how == 1) {
		ret = lath_index_erase_item_at(&tape->list, key, &old);
	} else {
		struct lath_cursor cursor;

		lath_cursor_init(&cursor, &tape->list);
		ret = lath_cursor_lock(&cursor, key, NULL, NULL);
		if (failed(tape, ret))
			return 0;
		ret = lath_cursor_erase(&cursor, key, &old);
	}
	EXPECT(tape, ret == (there ? 0 : -ENOENT));
	if (there) {
		EXPECT(tape, same(there, &old));
		model_remove(&tape->model, there);
	}
	return 0;
}

static int play_reads(struct tape *tape)
{
	uint64_t key = next_key(tape), size = next_size(tape), value;
	struct lath_item found, *there = model_overlap(&tape->model, key, key);
	int ret = lath_index_lookup_item(&tape->list, key, &found);

	EXPECT(tape, ret == (there ? 0 : -ENOENT) && (ret || same(there, &found)));
	ret = lath_index_get(&tape->list, key, &value);
	EXPECT(tape, ret == !!there && (!ret || value == there->value));
	there = model_ceiling(&tape->model, key);
	ret = lath_index_ceiling_item(&tape->list, key, &found);
	EXPECT(tape, ret == (there ? 0 : -ENOENT) && (ret || same(there, &found)));
	there = model_floor(&tape->model, key);
	ret = lath_index_floor_item(&tape->list, key, &found);
	EXPECT(tape, ret == (there ? 0 : -ENOENT) && (ret || same(there, &found)));
	ret = lath_index_overlap_item(&tape->list, key, size, &found);
	if (!size || size - 1 > ~0ull - key) {
		EXPECT(tape, ret == -EINVAL);
		return 0;
	}
	there = model_overlap(&tape->model, key, key + size - 1);
	EXPECT(tape, ret == (there ? 0 : -ENOENT) && (ret || same(there, &found)));
	return 0;
}

static int play_replace(struct tape *tape)
{
	uint64_t key = next_key(tape), value = ++tape->serial;
	struct lath_item *there = model_exact(&tape->model, key), old;
	int ret = lath_index_replace_item(&tape->list, key, value, &old);

	EXPECT(tape, ret == (there ? 0 : -ENOENT) && (ret || same(there, &old)));
	if (there)
		there->value = value;
	return 0;
}

static int play_resize(struct tape *tape)
{
	uint64_t key = next_key(tape), size = next_size(tape);
	struct lath_item *there = model_exact(&tape->model, key);
	int ret = lath_index_resize(&tape->list, key, size), want = 0;

	if (failed(tape, ret))
		return 0;
	if (!valid(tape, key, size) || !tape->ranges)
		want = -EINVAL;
	else if (!there)
		want = -ENOENT;
	else if (there + 1 < tape->model.item + tape->model.count && there[1].key <= key + size - 1)
		want = -EEXIST;
	EXPECT(tape, ret == want);
	if (!ret)
		there->size = size;
	return 0;
}

static int play_split(struct tape *tape)
{
	uint64_t at = next_key(tape);
	struct lath_item *there = model_overlap(&tape->model, at, at), right;
	int ret, want = !there ? -ENOENT : there->key == at ? -EEXIST : 0;

	if (tape->model.count > MODEL_MAX - 8)
		return 0;
	ret = lath_index_split(&tape->list, at, ++tape->serial);
	if (failed(tape, ret))
		return 0;
	EXPECT(tape, ret == want);
	if (!ret) {
		right = (struct lath_item){ at, last_of(there) - at + 1, tape->serial };
		there->size = at - there->key;
		model_insert(&tape->model, right);
	}
	return 0;
}

/* Items that left the list must be the model's next ones. */
static int take_gone(struct tape *tape, const struct gone *gone)
{
	size_t i;

	for (i = 0; i < gone->count; i++) {
		struct lath_item *there = model_exact(&tape->model, gone->item[i].key);

		EXPECT(tape, there && same(there, &gone->item[i]));
		EXPECT(tape, !i || gone->item[i].key > gone->item[i - 1].key);
		model_remove(&tape->model, there);
	}
	return 0;
}

static int play_erase_range(struct tape *tape)
{
	uint64_t key = next_key(tape), size = next_size(tape);
	static struct gone gone;
	int64_t ret;

	gone.count = 0;
	ret = lath_index_erase_range(&tape->list, key, size, note_gone, &gone);
	if (!size || size - 1 > ~0ull - key) {
		EXPECT(tape, ret == -EINVAL);
		return 0;
	}
	EXPECT(tape, ret == (int64_t)gone.count);
	if (take_gone(tape, &gone))
		return -1;
	EXPECT(tape, !model_overlap(&tape->model, key, key + size - 1));
	return 0;
}

static int play_store_range(struct tape *tape)
{
	struct lath_item item = { next_key(tape), next_size(tape), ++tape->serial }, *there,
			 right = { 0, 0, 0 };
	static struct gone gone;
	uint64_t last;
	int ret;

	if (tape->model.count > MODEL_MAX - 8)
		return 0;
	gone.count = 0;
	ret = lath_index_store_range(&tape->list, &item, note_gone, &gone);
	if (failed(tape, ret)) {
		EXPECT(tape, !gone.count);
		return 0;
	}
	EXPECT(tape, ret == (valid(tape, item.key, item.size) ? 0 : -EINVAL));
	if (ret)
		return 0;
	last = last_of(&item);
	if (take_gone(tape, &gone))
		return -1;
	/* what still overlaps sticks out on one side or both */
	while ((there = model_overlap(&tape->model, item.key, last))) {
		EXPECT(tape, there->key < item.key || last_of(there) > last);
		if (last_of(there) > last)
			right = (struct lath_item){ last + 1, last_of(there) - last, there->value };
		if (there->key < item.key)
			there->size = item.key - there->key;
		else
			model_remove(&tape->model, there);
	}
	if (right.size)
		model_insert(&tape->model, right);
	model_insert(&tape->model, item);
	return 0;
}

#define BATCH 21

static int play_batch(struct tape *tape)
{
	uint64_t keys[BATCH], values[BATCH];
	struct lath_item items[BATCH], found[BATCH];
	uint8_t hit[BATCH];
	int results[BATCH], kind = next_byte(tape) % 3;
	size_t n = next_byte(tape) % BATCH + 1, i, done, want = 0;

	if (tape->model.count > MODEL_MAX - 2 * BATCH)
		return 0;
	for (i = 0; i < n; i++) {
		keys[i] = next_key(tape);
		items[i] = (struct lath_item){ keys[i], next_size(tape), ++tape->serial };
	}
	if (kind == 0) {
		done = lath_index_lookup_batch(&tape->list, n, keys, found);
		EXPECT(tape, lath_index_get_batch(&tape->list, n, keys, values, hit) == done);
		for (i = 0; i < n; i++) {
			struct lath_item *there = model_overlap(&tape->model, keys[i], keys[i]);

			EXPECT(tape,
			       !!found[i].size == !!there && (!there || same(there, &found[i])));
			EXPECT(tape, hit[i] == !!there && (!there || values[i] == there->value));
			want += !!there;
		}
	} else if (kind == 1) {
		done = lath_index_insert_batch(&tape->list, n, items, results);
		for (i = 0; i < n; i++) {
			if (failed(tape, results[i]))
				continue;
			if (!valid(tape, items[i].key, items[i].size)) {
				EXPECT(tape, results[i] == -EINVAL);
			} else if (model_overlap(&tape->model, items[i].key, last_of(&items[i]))) {
				EXPECT(tape, results[i] == -EEXIST);
			} else {
				EXPECT(tape, results[i] == 0);
				model_insert(&tape->model, items[i]);
				want++;
			}
		}
	} else {
		done = lath_index_erase_batch(&tape->list, n, keys, results);
		for (i = 0; i < n; i++) {
			struct lath_item *there = model_exact(&tape->model, keys[i]);

			EXPECT(tape, results[i] == (there ? 0 : -ENOENT));
			if (there)
				model_remove(&tape->model, there);
			want += !!there;
		}
	}
	EXPECT(tape, done == want);
	return 0;
}

static int play_scan(struct tape *tape)
{
	uint64_t from = next_key(tape), next;
	struct lath_item items[64];
	size_t max = next_byte(tape) % 64 + 1, n, i;
	struct lath_item *there = model_ceiling(&tape->model, from);

	n = lath_index_scan(&tape->list, from, ~0ull, items, max, &next);
	for (i = 0; i < n; i++, there++)
		EXPECT(tape, there && there < tape->model.item + tape->model.count &&
				     same(there, &items[i]));
	EXPECT(tape, n == max || !there || there == tape->model.item + tape->model.count);
	EXPECT(tape, n < max || next == last_of(&items[n - 1]) + 1);
	there = model_floor(&tape->model, from);
	n = lath_index_scan_back(&tape->list, from, 0, items, max, &next);
	for (i = 0; i < n; i++, there--)
		EXPECT(tape, there && there >= tape->model.item && same(there, &items[i]));
	EXPECT(tape, n == max || !there || there < tape->model.item);
	return 0;
}

/* The cursor is kept over other calls: it must go on from its key whatever happened to its leaf. */
static int play_cursor(struct tape *tape)
{
	int kind = next_byte(tape) % 4, ret;
	uint64_t key = tape->cursor.key;
	struct lath_item item, *there;

	if (kind == 0) {
		key = next_key(tape);
		ret = lath_cursor_seek(&tape->cursor, key, &item);
		there = model_ceiling(&tape->model, key);
	} else if (kind == 1) {
		key = next_key(tape);
		ret = lath_cursor_seek_floor(&tape->cursor, key, &item);
		there = model_floor(&tape->model, key);
	} else if (kind == 2) {
		there = tape->cursor.entry < 0 ? model_ceiling(&tape->model, 0)
			: key < ~0ull	       ? model_ceiling(&tape->model, key + 1)
					       : NULL;
		ret = lath_cursor_next(&tape->cursor, &item);
	} else {
		there = tape->cursor.entry < 0 ? model_floor(&tape->model, ~0ull)
			: key		       ? model_floor(&tape->model, key - 1)
					       : NULL;
		ret = lath_cursor_prev(&tape->cursor, &item);
	}
	EXPECT(tape, ret == !!there && (!there || same(there, &item)));
	return 0;
}

static int play_one(struct tape *tape)
{
	uint8_t op = next_byte(tape);

	if (op < 90)
		PLAY("insert", play_insert(tape, 0));
	if (op < 96)
		PLAY("insert_preloaded", play_insert(tape, 1));
	if (op < 102)
		PLAY("cursor_insert", play_insert(tape, 2));
	if (op < 132)
		PLAY("erase", play_erase(tape, 0));
	if (op < 146)
		PLAY("erase_at", play_erase(tape, 1));
	if (op < 150)
		PLAY("cursor_erase", play_erase(tape, 2));
	if (op < 176)
		PLAY("reads", play_reads(tape));
	if (op < 184)
		PLAY("replace", play_replace(tape));
	if (op < 192)
		PLAY("resize", play_resize(tape));
	if (op < 200)
		PLAY("split", play_split(tape));
	if (op < 206)
		PLAY("erase_range", play_erase_range(tape));
	if (op < 216)
		PLAY("store_range", play_store_range(tape));
	if (op < 230)
		PLAY("batch", play_batch(tape));
	if (op < 240)
		PLAY("scan", play_scan(tape));
	PLAY("cursor", play_cursor(tape));
}

static int check(struct tape *tape)
{
	char report[200] = "";

	tape->call = report;
	EXPECT(tape, lath_index_verify(&tape->list, 5, report, sizeof(report)) == 0);
	EXPECT(tape, lath_index_count(&tape->list) == tape->model.count);
	return 0;
}

/* Begin with some sorted items. */
static int load(struct tape *tape)
{
	size_t n = next_byte(tape) * 4u, i, bad = 0;
	uint64_t key = next_key(tape) / 2, step = tape->ranges ? 3 : 1;
	struct lath_item *items = malloc((n + 1) * sizeof(*items));
	int ret;

	if (!items)
		return 0;
	for (i = 0; i < n && key < ~0ull - step; i++, key += step)
		items[i] = (struct lath_item){ key, tape->ranges ? 2 : 1, ++tape->serial };
	n = i;
	tape->call = "load_sorted";
	ret = lath_index_load_sorted(&tape->list, n, items, &bad);
	if (!ret) {
		memcpy(tape->model.item, items, n * sizeof(*items));
		tape->model.count = n;
	}
	free(items);
	EXPECT(tape, ret == 0 || failed(tape, ret));
	return check(tape);
}

static void count_item(void *arg, const struct lath_item *item)
{
	(void)item;
	++*(size_t *)arg;
}

static int play_all(struct tape *tape)
{
	unsigned int turn = 0;

	if (load(tape))
		return -1;
	lath_cursor_init(&tape->cursor, &tape->list);
	while (tape->at < tape->end) {
		if (play_one(tape))
			return -1;
		if (tape->options->verify_every && !(++turn % tape->options->verify_every) &&
		    check(tape))
			return -1;
	}
	return check(tape);
}

static void begin(uint8_t *bytes, unsigned long i, bool failing)
{
	bytes[0] = (uint8_t)i; /* every layout, shape and allocation in turn */
	bytes[1] = (uint8_t)(i / (failing ? 2 : 3));
	bytes[2] = (uint8_t)(failing ? 1 : i / 15); /* one allocation a node: many places to fail */
}

const struct tape_plan tape_plan = { 60, 12000, 6, 3000, begin };

int tape_run(const uint8_t *bytes, size_t size, const struct tape_options *options)
{
	struct tape *tape = aligned_alloc(64, (sizeof(*tape) + 63) & ~(size_t)63);
	struct lath_config config = LATH_CONFIG_INIT;
	size_t left = 0;
	int ret;

	if (!tape)
		return 0;
	memset(tape, 0, sizeof(*tape));
	tape->at = bytes;
	tape->end = bytes + size;
	tape->options = options;
	tape->ranges = next_byte(tape) % 3 != 0;
	tape->shape = next_byte(tape) % 5;
	config.layout = tape->ranges ? LATH_RANGES : LATH_POINTS;
	config.flags = next_byte(tape) % 2 ? LATH_NODE_EACH : 0;
	config.allocator = options->allocator;
	ret = lath_index_init(&tape->list, &config);
	if (!ret) {
		ret = play_all(tape);
		lath_index_fini(&tape->list, count_item, &left);
		if (!ret && left != tape->model.count) {
			fprintf(stderr, "tape: fini saw %zu items of %zu\n", left,
				tape->model.count);
			ret = -1;
		}
	} else if (failed(tape, ret)) {
		ret = 0;
	}
	free(tape);
	return ret;
}
