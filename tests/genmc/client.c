/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * client.c - a client of the index for GenMC: up to three threads with one or two calls each.
 *
 * explore.py compiles it with these macros:
 *   LAYOUT           of the index
 *   LOADED           ITEM(key, n, value)...: what the index is loaded with, in order of the keys
 *   SCRIPT           CALL(thread, place, call, key, n, value)...: thread 0 makes its calls before
 *                    the others begin; places count from 0
 *   THREADS          1 to 3
 *   CALLS            of a thread at most: 1 or 2
 *
 * After the threads have ended the results and the contents are compared with those of every order
 * in which the calls could have happened one after another: one of them must agree (P1 of index.h).
 * Scans and erase_range, which take effect leaf by leaf, are checked by themselves (P2), and
 * lath_index_verify() runs at the end.
 *
 * Keys are numbered 0 to 7 and lie 16 apart; a range of n keys covers as many numbers, whole. The
 * contents are eight bytes of a word: of the number at which a range begins its size and value
 * (4 bits each), of others 0. So all of the comparison is arithmetic on registers, which costs
 * GenMC nothing.
 */
#include <pthread.h>
#include <assert.h>

#include "lathwork/hole.h"
#include "tree/tree.h"

#define STEP 16
#define NUMBERS 8

enum call {
	NONE,
	INSERT,
	ERASE,	  /* the one that begins there */
	ERASE_AT, /* the one that covers it */
	PART,	  /* numbers of one item, which has this value */
	LOOKUP,
	GET,
	CEILING,
	FLOOR,
	OVERLAP,
	REPLACE,
	REPLACE_IF, /* value: the new one; n: the expected one */
	RESIZE,
	SPLIT,
	JOIN,
	STORE,
	SCAN,
	ERASE_RANGE,
	HOLE, /* insert_hole of n numbers, by the policies FIRST, */
	LAST,
	BEST,
	FIND, /* find_hole, FIRST */
};

extern __thread unsigned int genmc_thread;

static struct lath_index set;
static u64 results[4][4];

/* ---- the contents as a word ---- */

static u64 at(u64 state, unsigned int key)
{
	return state >> 8 * key & 255;
}

static u64 with(u64 state, unsigned int key, u64 n, u64 value)
{
	return (state & ~(255ull << 8 * key)) | (n << 4 | value) << 8 * key;
}

static u64 without(u64 state, unsigned int key)
{
	return state & ~(255ull << 8 * key);
}

/* The number at which the range that covers `key` begins, plus 1; 0: none does. */
static unsigned int cover(u64 state, unsigned int key)
{
	unsigned int k, found = 0;

	for (k = 0; k <= key; k++)
		if (at(state, k) && k + (at(state, k) >> 4) > key)
			found = k + 1;
	return found;
}

static bool overlaps(u64 state, unsigned int key, unsigned int n)
{
	unsigned int k;
	bool some = cover(state, key);

	for (k = key + 1; k < key + n; k++)
		some |= at(state, k) != 0;
	return some;
}

/* Cut what is there in two at this number, if one range covers it and the one before. */
static u64 cut(u64 state, unsigned int key)
{
	unsigned int k = key < NUMBERS ? cover(state, key) : 0;
	u64 item;

	if (!k || k - 1 == key)
		return state;
	item = at(state, k - 1);
	state = with(state, k - 1, key - (k - 1), item & 15);
	return with(state, key, k - 1 + (item >> 4) - key, item & 15);
}

static u64 erase_numbers(u64 state, unsigned int from, unsigned int n)
{
	unsigned int k;

	for (k = from; k < from + n && k < NUMBERS; k++)
		state = without(state, k);
	return state;
}

/* An item as a result: 1 and key, size and value. */
static u64 shown(u64 state, unsigned int key)
{
	return 1 | key << 4 | at(state, key) << 8;
}

/* apply() for searches for a hole that returned `seen`: that, if it was right, else ~0. */
static u64 apply_hole(u64 *state, enum call call, unsigned int n, unsigned int value, u64 seen)
{
	unsigned int k = (unsigned int)(seen >> 4);
	bool some = false;

	if (seen == ENOSPC) {
		for (k = 0; k + n <= NUMBERS; k++)
			some |= !overlaps(*state, k, n);
		return some ? ~0ull : seen;
	}
	if (k + n > NUMBERS || overlaps(*state, k, n))
		return ~0ull;
	if (call != FIND)
		*state = with(*state, k, n, value);
	return seen;
}

/* apply() for calls that change more than one item, or its size. */
static u64 apply_ranges(u64 *state, enum call call, unsigned int key, unsigned int n,
			unsigned int value)
{
	u64 s = *state, item;
	unsigned int k = cover(s, key), i;

	switch (call) {
	case RESIZE:
		item = at(s, key);
		if (!item)
			return ENOENT;
		if (overlaps(without(s, key), key, n))
			return EEXIST;
		*state = with(s, key, n, item & 15);
		return 0;
	case SPLIT:
		if (!k)
			return ENOENT;
		if (k - 1 == key)
			return EEXIST;
		s = cut(s, key);
		*state = with(s, key, at(s, key) >> 4, value);
		return 0;
	case PART:
		if (!k || key + n > k - 1 + (at(s, k - 1) >> 4))
			return ENOENT;
		if ((at(s, k - 1) & 15) != value)
			return EAGAIN;
		s = cut(cut(s, key), key + n);
		*state = without(s, key);
		return 0;
	case JOIN:
		item = at(s, key);
		k = key ? cover(s, key - 1) : 0;
		if (!item || !k)
			return ENOENT;
		s = without(s, key);
		*state = with(s, k - 1, (at(s, k - 1) >> 4) + (item >> 4), at(s, k - 1) & 15);
		return 0;
	case STORE:
		s = erase_numbers(cut(cut(s, key), key + n), key, n);
		*state = with(s, key, n, value);
		return 0;
	case ERASE_RANGE: /* of one item: then it is one step */
		for (i = key; i < key + n; i++)
			if (cover(s, i))
				s = without(s, cover(s, i) - 1);
		*state = s;
		return 0;
	default:
		return 0;
	}
}

/* Returns what the call returns when the contents are *state, and sets *state to the contents after
 * it. */
static u64 apply(u64 *state, enum call call, unsigned int key, unsigned int n, unsigned int value)
{
	u64 s = *state;
	unsigned int k = cover(s, key), i;

	switch (call) {
	case INSERT:
		if (overlaps(s, key, n))
			return EEXIST;
		*state = with(s, key, n, value);
		return 0;
	case ERASE:
		if (!at(s, key))
			return ENOENT;
		*state = without(s, key);
		return shown(s, key);
	case ERASE_AT:
		if (!k)
			return ENOENT;
		*state = without(s, k - 1);
		return shown(s, k - 1);
	case LOOKUP:
		return k ? shown(s, k - 1) : ENOENT;
	case GET:
		return k ? at(s, k - 1) & 15 : ENOENT;
	case CEILING:
		for (i = key; i < NUMBERS; i++)
			if (at(s, i))
				return shown(s, i);
		return ENOENT;
	case FLOOR:
		for (i = key + 1; i-- > 0;)
			if (at(s, i))
				return shown(s, i);
		return ENOENT;
	case OVERLAP:
		if (k)
			return shown(s, k - 1);
		for (i = key + 1; i < key + n; i++)
			if (at(s, i))
				return shown(s, i);
		return ENOENT;
	case REPLACE:
		if (!at(s, key))
			return ENOENT;
		*state = with(s, key, at(s, key) >> 4, value);
		return shown(s, key);
	case REPLACE_IF:
		if (!at(s, key))
			return ENOENT;
		if ((at(s, key) & 15) != n)
			return EAGAIN;
		*state = with(s, key, at(s, key) >> 4, value);
		return 0;
	default:
		return apply_ranges(state, call, key, n, value);
	}
}

/* ---- the calls ---- */

static u64 of_item(int ret, const struct lath_item *item)
{
	if (ret)
		return (u64)-ret;
	return 1 | item->key / STEP << 4 | (LAYOUT == LATH_POINTS ? 1 : item->size / STEP) << 12 |
	       item->value << 8;
}

static u64 scan(u64 key)
{
	struct lath_item items[NUMBERS];
	size_t n = lath_index_scan(&set, key, (NUMBERS - 1) * STEP, items, NUMBERS, NULL), i;
	u64 seen = 0;

	for (i = 0; i < n; i++) {
		assert(!i || items[i].key > items[i - 1].key);
		seen |= (u64)items[i].value << items[i].key / STEP * 8;
	}
	return seen;
}

#ifdef GENMC_HOLES
static u64 search_hole(enum call call, u64 size, u64 value)
{
	struct lath_hole_request want = { .size = size, .high = NUMBERS * STEP };
	u64 key;
	int ret;

	want.policy = call == LAST   ? LATH_HOLE_LAST
		      : call == BEST ? LATH_HOLE_BEST
				     : LATH_HOLE_FIRST;
	ret = call == FIND ? lath_index_find_hole(&set, &want, &key)
			   : lath_index_insert_hole(&set, &want, value, &key);
	assert(ret || !(key % STEP));
	return ret ? (u64)-ret : 1 | key / STEP << 4;
}
#endif

static u64 make(enum call call, u64 number, u64 n, u64 value)
{
	u64 key = number * STEP, size = LAYOUT == LATH_POINTS ? 1 : n * STEP, got;
	struct lath_item item = { key, size, value };

	switch (call) {
	case INSERT:
		return (u64)-lath_index_insert_item(&set, &item, NULL);
	case ERASE:
		return of_item(lath_index_erase_item(&set, key, &item), &item);
	case LOOKUP:
		return of_item(lath_index_lookup_item(&set, key, &item), &item);
	case GET:
		return lath_index_get(&set, key, &got) ? got : ENOENT;
	case CEILING:
		return of_item(lath_index_ceiling_item(&set, key, &item), &item);
	case FLOOR:
		return of_item(lath_index_floor_item(&set, key, &item), &item);
	case REPLACE:
		value = of_item(lath_index_replace_item(&set, key, value, &item), &item);
		return value;
	case REPLACE_IF:
		return (u64)-lath_index_replace_if(&set, key, n, value, NULL);
	case SCAN:
		return scan(key);
	case ERASE_RANGE:
		lath_index_erase_range(&set, key, LAYOUT == LATH_POINTS ? n * STEP : size, NULL,
				       NULL);
		return 0;
#ifdef RANGES
	case ERASE_AT:
		return of_item(lath_index_erase_item_at(&set, key, &item), &item);
	case OVERLAP:
		return of_item(lath_index_overlap_item(&set, key, size, &item), &item);
	case RESIZE:
		return (u64)-lath_index_resize(&set, key, size);
	case PART:
		return (u64)-lath_index_erase_part(&set, &item, NULL);
	case SPLIT:
		return (u64)-lath_index_split(&set, key, value);
	case JOIN:
		return (u64)-lath_index_join(&set, key, NULL, NULL, NULL);
	case STORE:
		return (u64)-lath_index_store_range(&set, &item, NULL, NULL);
#ifdef GENMC_HOLES
	case HOLE:
	case LAST:
	case BEST:
	case FIND:
		return search_hole(call, size, value);
#endif
#endif
	default:
		return 0;
	}
}

static void run(unsigned int thread)
{
#define CALL(t, place, call, key, n, value) \
	if (thread == (t))                  \
		results[t][place] = make(call, key, n, value);
	SCRIPT
#undef CALL
}

static void *body(void *arg)
{
	genmc_thread = (unsigned int)(uintptr_t)arg;
	run(genmc_thread);
	return NULL;
}

/* ---- the comparison ---- */

/* The result of call (thread, place) that the contents allow; *agrees: whether it is the one seen.
 */
static void replay(unsigned int thread, unsigned int order, u64 *state, bool *agrees)
{
#define CALL(t, place, call, key, n, value)                                                      \
	if (thread == (t) && order == (place)) {                                                 \
		u64 want = (call) >= HOLE ? apply_hole(state, call, n, value, results[t][place]) \
					  : apply(state, call, key, n, value);                   \
		*agrees &= (call) == SCAN || (call) == ERASE_RANGE || want == results[t][place]; \
	}
	SCRIPT
#undef CALL
}

/* The contents when the threads begin. */
static u64 begun(void)
{
	u64 state = 0;
	bool agrees = true;
	unsigned int k;

#define ITEM(key, n, value) state = with(state, key, n, value);
	LOADED
#undef ITEM
	for (k = 0; k < 4; k++)
		replay(0, k, &state, &agrees);
	assert(agrees);
	return state;
}

/* Do the results and the contents agree with these threads' calls in this order? `order`: a digit
 * of two bits per call. */
static bool agrees_with(u64 state, u64 now, unsigned int order)
{
	unsigned int made = 0, i, thread; /* a digit of two bits per thread */
	bool agrees = true;

	for (i = 0; i < THREADS * CALLS; i++, order >>= 2) {
		thread = order & 3;
		if (!thread || thread > THREADS || (made >> 2 * thread & 3) == CALLS)
			return false;
		replay(thread, made >> 2 * thread & 3, &state, &agrees);
		made += 1u << 2 * thread;
	}
	return agrees && state == now;
}

static bool explained(u64 state, u64 now)
{
	unsigned int order;

	for (order = 0; order < 1u << 2 * THREADS * CALLS; order++)
		if (agrees_with(state, now, order))
			return true;
	return false;
}

/* Numbers whose items stay all the time, or come at some time, as bytes of all ones. */
static u64 scan_bytes(bool always)
{
	u64 base = begun(), bytes = 0;
	unsigned int k;

	for (k = 0; k < NUMBERS; k++)
		if (at(base, k))
			bytes |= 255ull << 8 * k;
#define CALL(t, place, call, key, n, value)                          \
	if ((t) && ((call) == INSERT && !always))                    \
		bytes |= 255ull << 8 * (key);                        \
	if ((t) && ((call) == ERASE || (call) == REPLACE) && always) \
		bytes &= ~(255ull << 8 * (key));
	SCRIPT
#undef CALL
	return bytes;
}

/* The contents, read from the leaves. No call runs. */
static u64 contents(void)
{
	struct node *leaf;
	u64 state = 0, live;

	for (leaf = leftmost_leaf(tree_of(&set)); leaf; leaf = leaf_right(leaf))
		for (live = leaf->live; live; live &= live - 1) {
			unsigned int i = __ffs64(live);

			state = with(state, (unsigned int)(node_key(leaf, i) / STEP),
				     LAYOUT == LATH_POINTS ? 1 : node_side(leaf, i) / STEP,
				     node_value(leaf, i));
		}
	return state;
}

static void check(void)
{
	u64 base = begun(), now = contents();
	unsigned int k;

	assert(explained(base, now));
#define CALL(t, place, call, key, n, value)                                      \
	if ((t) && (call) == SCAN) {                                             \
		u64 seen = results[t][place], from = ~0ull << 8 * (key);         \
		for (k = 0; k < NUMBERS; k++) {                                  \
			assert(!at(seen, k) || at(scan_bytes(false) & from, k)); \
			assert(at(seen, k) || !at(scan_bytes(true) & from, k));  \
		}                                                                \
	}
	SCRIPT
#undef CALL
	assert(!lath_index_verify(&set, 0, NULL, 0));
}

int main(void)
{
#define ITEM(key, n, value) { (key) * STEP, LAYOUT == LATH_POINTS ? 1 : (n) * STEP, value },
	struct lath_item loaded[] = { LOADED };
#undef ITEM
	struct lath_config config = LATH_CONFIG_INIT;
	pthread_t thread[THREADS];
	unsigned int i;

	config.layout = LAYOUT;
#ifdef GENMC_HOLES
	config.flags = LATH_HOLES;
#endif
	assert(!lath_index_init(&set, &config));
	if (sizeof(loaded))
		assert(!lath_index_load_sorted(&set, ARRAY_SIZE(loaded), loaded, NULL));
	run(0);
	for (i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, body, (void *)(uintptr_t)(i + 1));
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	check();
	return 0;
}
