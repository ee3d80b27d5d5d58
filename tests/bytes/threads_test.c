/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * threads_test.c - threads that change and search one set of byte keys (base/mark.h). Many records
 * share beginnings or whole keys, so that arrays grow, become trees and vanish. A walk of a cursor
 * finds all on its way that were there all the time, in order.
 */
#include <stddef.h>

#include "lathwork/bytes.h"

#define MARKED 1200u
#include "base/mark.h"

#define STEPS 60u

static struct lath_bytes set;
static bool ranks; /* the set has LATH_RANKS */

static struct record {
	uint64_t tag;
	uint8_t size;
	char data[40];
} records[MARKED];

static void key_of(void *ctx, uint64_t value, struct lath_bytes_key *key)
{
	const struct record *r = (const struct record *)(uintptr_t)value;

	(void)ctx;
	*key = (struct lath_bytes_key){ r->data, r->size, r->tag };
}

static int compare(const void *left, const void *right)
{
	const struct record *a = left, *b = right;
	int c = memcmp(a->data, b->data, a->size < b->size ? a->size : b->size);

	if (c)
		return c;
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return a->tag < b->tag ? -1 : a->tag > b->tag;
}

/* All records in order of their keys. */
static void make_records(void)
{
	uint64_t state = 3;

	for (unsigned int i = 0; i < MARKED; i++) {
		struct record *r = &records[i];
		int n;

		if (i % 4 == 0) /* alone */
			n = snprintf(r->data, sizeof(r->data), "%08" PRIx64,
				     draw(&state, 1ull << 32));
		else if (i % 4 == 1) /* many with eight bytes in common, and some with the next */
			n = snprintf(r->data, sizeof(r->data), "common__%u", i / 4 * 37 % 1000);
		else if (i % 4 == 2) /* versions */
			n = snprintf(r->data, sizeof(r->data), "versions");
		else /* long, in groups */
			n = snprintf(r->data, sizeof(r->data), "a beginning of thirty %u %u",
				     i / 4 % 5, i);
		r->size = (uint8_t)n;
		r->tag = i;
	}
	qsort(records, MARKED, sizeof(*records), compare);
}

static size_t number_of(uint64_t value)
{
	return (size_t)((const struct record *)(uintptr_t)value - records);
}

static int change(size_t i, bool there)
{
	struct lath_bytes_key key;
	uint64_t was = 0;
	int ret;

	if (there)
		return lath_bytes_insert(&set, (uintptr_t)&records[i], NULL);
	key_of(NULL, (uintptr_t)&records[i], &key);
	ret = lath_bytes_erase(&set, &key, &was);
	return ret || was == (uintptr_t)&records[i] ? ret : -1;
}

/* Records [low, high) were looked for. */
static void judge(const struct view *view, const bool *found, size_t low, size_t high)
{
	for (size_t i = low; i < high; i++)
		if (view->steady[i] && found[i] != view->there[i])
			FAULT("%.*s %" PRIu64 " was %s all the time and %s\n", records[i].size,
			      records[i].data, records[i].tag, view->there[i] ? "there" : "away",
			      found[i] ? "found" : "not found");
}

/* Walk from record `from` on, in one direction. */
static void walk(struct view *view, size_t from, bool back)
{
	size_t low = from, high = from + 1, steps = 0, i;
	struct lath_bytes_cursor cursor;
	bool found[MARKED] = { false };
	struct lath_bytes_key key;
	uint64_t value;
	int there;

	key_of(NULL, (uintptr_t)&records[from], &key);
	lath_bytes_cursor_init(&cursor, &set);
	there = back ? lath_bytes_cursor_seek_floor(&cursor, &key, &value)
		     : lath_bytes_cursor_seek(&cursor, &key, &value);
	for (; there && steps < STEPS; steps++) {
		i = number_of(value);
		if (i >= MARKED || (back ? i >= high : i < low))
			FAULT("out of order\n");
		else
			found[i] = true;
		if (back)
			high = i;
		else
			low = i + 1;
		there = back ? lath_bytes_cursor_prev(&cursor, &value)
			     : lath_bytes_cursor_next(&cursor, &value);
	}
	look_after(view);
	if (back)
		judge(view, found, there ? high : 0, from + 1);
	else
		judge(view, found, from, there ? low : MARKED);
}

static void get(struct view *view, size_t from, size_t n)
{
	bool found[MARKED] = { false };
	struct lath_bytes_key key[8];
	uint64_t value[8] = { 0 };

	for (size_t i = 0; i < n; i++)
		key_of(NULL, (uintptr_t)&records[from + i], &key[i]);
	if (n == 1)
		lath_bytes_get(&set, &key[0], value);
	else
		lath_bytes_get_batch(&set, n, key, value);
	look_after(view);
	for (size_t i = 0; i < n; i++) {
		found[from + i] = value[i] != 0;
		if (value[i] && number_of(value[i]) != from + i)
			FAULT("found another one\n");
	}
	judge(view, found, from, from + n);
}

static void ask(struct view *view, uint64_t *state)
{
	size_t from = draw(state, MARKED), way = draw(state, ranks ? 7 : 4);
	struct lath_bytes_key key;
	uint64_t value = 0;
	int64_t n;

	if (way < 2) {
		walk(view, from, way);
	} else if (way < 4) {
		get(view, from, way == 2 || from + 8 > MARKED ? 1 : 8);
	} else if (way == 6) {
		n = lath_bytes_select(&set, from / 2, &value);
		look_after(view);
		judge_select(view, (int)n, from / 2, number_of(value));
	} else {
		key_of(NULL, (uintptr_t)&records[from], &key);
		n = way == 4 ? lath_bytes_rank(&set, &key, 0) : (int64_t)lath_bytes_count(&set);
		look_after(view);
		judge_count(view, way == 4 ? "rank" : "count", n, 0, way == 4 ? from : MARKED);
	}
}

static void run(int argc, char **argv)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_bytes_records all = { key_of, NULL, 0 };
	char report[200];
	size_t left;

	config.flags = ranks ? LATH_RANKS : 0;
	MUST(!lath_bytes_init(&set, &all, &config));
	left = run_marked(600000, argc, argv);
	if (lath_bytes_verify(&set, report, sizeof(report)))
		FAULT("%s\n", report);
	if (lath_bytes_count(&set) != left)
		FAULT("%zu should be left\n", left);
	lath_bytes_fini(&set, NULL, NULL);
}

int main(int argc, char **argv)
{
	make_records();
	run(argc, argv);
	ranks = true;
	run(argc, argv);
	return judged();
}
