/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * last_key_test.c - the last key there is, 2^64 - 1, and byte keys of 255s: every way through a
 * store, in chunks that end there exactly; changes that another thread forces to be made again; a
 * shared store whose repair finds it damaged. At the end all memory has been given back.
 */
#undef NDEBUG
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/place/shm.h"
#include "store/kv/kv.h"

#define LAST (~0ull)
#define MOST 1100u

static struct lath_store *open_store(const char *spec, enum lath_store_keys keys,
				     unsigned int flags)
{
	struct lath_store_options options = LATH_STORE_OPTIONS_INIT;
	struct lath_store *store;
	char name[64];

	options.keys = keys;
	options.flags = flags;
	options.reserve = 64 << 20;
	snprintf(name, sizeof(name), "shm:lath-ends-%ld", (long)getpid());
	assert(!lath_store_open(&store, *spec == 's' ? name : spec, &options));
	if (*spec == 's')
		assert(!lath_store_remove(name, NULL, 0));
	return store;
}

/* Deletes everything: then no record is left. */
static void close_empty(struct lath_store *store)
{
	struct lath_store_stats stats;
	struct lath_store_iter *iter;
	struct lath_store_key key;
	struct lath_store_ref ref;

	assert(!lath_store_iter_begin(store, NULL, &iter));
	while (lath_store_iter_next(iter, &key, &ref) == 1)
		assert(!lath_store_delete(store, key));
	lath_store_iter_end(iter);
	lath_rcu_auto.drain();
	assert(lath_store_compact(store) >= 0);
	lath_rcu_auto.drain();
	assert(!lath_store_get_stats(store, &stats));
	assert(!stats.items && !stats.record_bytes && !stats.pending_bytes && !stats.lost_bytes);
	lath_store_close(store);
}

/* ---- numbers ---- */

static uint64_t walk(struct lath_store *store, const struct lath_store_range *range, uint64_t first)
{
	struct lath_store_iter *iter;
	struct lath_store_key key;
	struct lath_store_ref ref;
	uint64_t n = 0;

	assert(!lath_store_iter_begin(store, range, &iter));
	while (lath_store_iter_next(iter, &key, &ref) == 1) {
		assert(key.n == (range->backward ? first - n : first + n));
		assert(ref.size == 8 && !memcmp(ref.data, &key.n, 8));
		assert(++n <= MOST);
	}
	assert(!lath_store_iter_next(iter, &key, &ref));
	lath_store_iter_end(iter);
	assert(lath_store_count(store, range) == (int64_t)n);
	return n;
}

static uint64_t scan(struct lath_store *store, uint64_t from, uint64_t last, size_t max)
{
	static struct lath_store_ref refs[MOST];
	static uint64_t keys[MOST];
	uint64_t n = 0, next = from;
	size_t m, i;

	lath_store_read_begin(store);
	do {
		m = lath_store_scan_numbers(store, next, last, keys, refs, max, &next);
		for (i = 0; i < m; i++, n++)
			assert(keys[i] == from + n && !memcmp(refs[i].data, &keys[i], 8));
		assert(n <= MOST && (m || !next));
	} while (next);
	lath_store_read_end(store);
	return n;
}

/* The last n keys, and the first n. */
static void numbers(const char *spec, unsigned int flags, uint64_t n)
{
	struct lath_store *store = open_store(spec, LATH_STORE_NUMBERS, flags);
	struct lath_store_key low = lath_key_number(0 - n), last = lath_key_number(LAST),
			      one = lath_key_number(1), end = lath_key_number(n),
			      zero = lath_key_number(0);
	struct lath_store_range range = { &low, NULL, NULL, 0 };
	uint64_t i, key;

	for (i = 0; i < n; i++)
		for (key = 0 - n + i;; key = i) {
			assert(!lath_store_set(store, lath_key_number(key), &key, 8));
			if (key == i)
				break;
		}
	assert(walk(store, &range, 0 - n) == n);
	range.backward = 1;
	assert(walk(store, &range, LAST) == n);
	range.to = &last;
	assert(walk(store, &range, LAST - 1) == n - 1);
	range.backward = 0;
	assert(walk(store, &range, 0 - n) == n - 1);
	range.from = &last;
	assert(!walk(store, &range, 0));
	range.to = NULL;
	assert(walk(store, &range, LAST) == 1);
	range.from = NULL;
	range.to = &end;
	assert(walk(store, &range, 0) == n);
	range.backward = 1;
	assert(walk(store, &range, n - 1) == n);
	range.to = &one;
	assert(walk(store, &range, 0) == 1);
	range.to = &zero;
	assert(!walk(store, &range, 0));
	assert(lath_store_rank(store, zero) == 0 && lath_store_rank(store, one) == 1);
	assert(lath_store_rank(store, last) == (int64_t)(2 * n - 1));

	for (i = 1; i <= n; i += i < 40 ? 1 : n - 40 - i ? 13 : 1) {
		assert(scan(store, 0 - n, LAST, i) == n);
		assert(scan(store, 0 - n, LAST - 1, i) == n - 1);
		assert(scan(store, 0, n - 1, i) == n);
	}
	assert(scan(store, 0 - n, LAST, n) == n && scan(store, 0 - n, LAST, n + 5) == n);
	assert(scan(store, LAST, LAST, 1) == 1 && scan(store, LAST, LAST, 5) == 1);
	assert(!lath_store_delete(store, last) && !scan(store, LAST, LAST, 1));
	close_empty(store);
}

/* ---- byte keys ---- */

/* Keys of 0 to `longest` bytes 255, and some that begin so. */
static void bytes_255(const char *spec, size_t longest)
{
	static unsigned char text[65535], other[65535];
	struct lath_store *store = open_store(spec, LATH_STORE_BYTES, 0);
	size_t sizes[] = { 0, 1, 2, 7, 8, 9, 15, 16, 17, 63, 255, 1000, longest }, i, n = 13;
	struct lath_store_key prefix, key, from;
	struct lath_store_range range = { NULL, NULL, &prefix, 0 };
	struct lath_store_iter *iter;
	struct lath_store_ref ref;
	uint64_t number, next = 7;

	memset(text, 255, sizeof(text));
	memset(other, 255, sizeof(other));
	other[0] = 'a';
	for (i = 0; i < n; i++) {
		assert(!lath_store_set(store, lath_key_bytes(text, sizes[i]), &sizes[i], 8));
		if (sizes[i])
			assert(!lath_store_set(store, lath_key_bytes(other, sizes[i]), &i, 8));
	}
	for (i = 0; i < n; i++) {
		size_t left = n - i;

		prefix = lath_key_bytes(text, sizes[i]);
		assert(lath_store_count(store, &range) == (int64_t)(i ? left : 2 * n - 1));
		assert(lath_store_rank(store, prefix) == (int64_t)(i ? n - 1 + i : 0));
		prefix = lath_key_bytes(other, sizes[i]);
		assert(lath_store_count(store, &range) == (int64_t)(i ? left : 2 * n - 1));
		assert(lath_store_rank(store, prefix) == (int64_t)i);
		range.backward = !range.backward;
	}
	prefix = lath_key_bytes(text, 1);
	for (range.backward = 0; range.backward < 2; range.backward++) {
		assert(!lath_store_iter_begin(store, &range, &iter));
		for (i = 1; i < n; i++) {
			assert(lath_store_iter_next(iter, &key, &ref) == 1);
			assert(key.n == sizes[range.backward ? n - i : i]);
			assert(!memcmp(ref.data, &sizes[range.backward ? n - i : i], 8));
		}
		assert(!lath_store_iter_next(iter, &key, &ref));
		lath_store_iter_end(iter);
	}
	/* from the greatest key on, and up to it */
	from = lath_key_bytes(text, longest);
	range = (struct lath_store_range){ &from, NULL, NULL, 0 };
	assert(lath_store_count(store, &range) == 1);
	range = (struct lath_store_range){ NULL, &from, NULL, 1 };
	assert(lath_store_count(store, &range) == (int64_t)(2 * n - 2));
	/* there are no numbers to go on from */
	assert(!lath_store_scan_numbers(store, 0, LAST, &number, &ref, 1, &next) && !next);
	close_empty(store);
}

/* ---- changes made again ---- */

struct meddler {
	struct lath_store *store;
	struct lath_store_key key;
	unsigned int calls, what;
	enum lath_store_action action;
};

/* Another thread changes the key while the caller's function looks at it. */
static void *meddle(void *arg)
{
	struct meddler *m = arg;

	if (m->what == 0)
		assert(!lath_store_set(m->store, m->key, "of another thread's", 19));
	else if (m->what == 1)
		assert(!lath_store_delete(m->store, m->key));
	else
		assert(!lath_store_set(m->store, m->key, "x", 1));
	return NULL;
}

static int change(void *arg, const struct lath_store_ref *old, struct lath_store_change *to)
{
	struct meddler *m = arg;
	pthread_t thread;

	if (!m->calls++) {
		assert(!pthread_create(&thread, NULL, meddle, m));
		assert(!pthread_join(thread, NULL));
	} else { /* the value that is changed is the other thread's */
		assert(!old == (m->what == 1));
		assert(!old || old->size == (m->what ? 1 : 19));
	}
	to->action = m->action;
	to->value = "a value that is not a word";
	to->size = 23;
	return 0;
}

static void made_again(enum lath_store_keys keys, unsigned int flags)
{
	struct lath_store *store = open_store("mem:", keys, flags);
	unsigned int there, what, action;
	char buf[32];

	for (there = 0; there < 3; there++)
		for (what = 0; what < 3; what++)
			for (action = LATH_STORE_PUT; action <= LATH_STORE_REMOVE; action++) {
				struct meddler m = { .store = store,
						     .what = what,
						     .action = (enum lath_store_action)action };
				int64_t n;

				m.key = keys == LATH_STORE_NUMBERS ? lath_key_number(LAST)
								   : lath_key_bytes("\xff", 1);
				if (there)
					assert(!lath_store_set(store, m.key,
							       "some value that is a record",
							       there == 1 ? 27 : 3));
				if (!there && what == 1)
					continue; /* nothing to delete */
				assert(!lath_store_update(store, m.key, change, &m));
				assert(m.calls == (there || action == LATH_STORE_PUT ? 2u : 1u));
				n = lath_store_get(store, m.key, buf, sizeof(buf));
				if (action == LATH_STORE_PUT)
					assert(n == 23 &&
					       !memcmp(buf, "a value that is not a word", 23));
				else if (m.calls == 2)
					assert(n == -ENOENT);
				if (n >= 0)
					assert(!lath_store_delete(store, m.key));
			}
	close_empty(store);
}

/* ---- a damaged shared store ---- */

static int keep(void *arg, const struct lath_store_ref *old, struct lath_store_change *to)
{
	(void)arg;
	(void)old;
	(void)to;
	return 0;
}

/* The store's last writer has died: the next call repairs. */
static void died(struct lath_store *store)
{
	shm_of(store)->head->dirty = 1;
}

/* Every call says that the store is damaged, and none changes it. */
static void expect_damaged(struct lath_store *store)
{
	struct lath_store_key keys[70];
	struct lath_store_entry entries[70];
	struct lath_store_ref refs[70];
	struct lath_store_stats stats;
	struct lath_store_iter *iter;
	int results[70], i;
	uint64_t numbers[70], next = 3;

	for (i = 0; i < 70; i++) {
		keys[i] = lath_key_number((uint64_t)i);
		entries[i] = (struct lath_store_entry){ keys[i], "y", 1, 0 };
		refs[i].data = "old";
		results[i] = 1;
	}
	assert(lath_store_get(store, keys[0], NULL, 0) == -EBADMSG);
	assert(lath_store_set(store, keys[0], "y", 1) == -EBADMSG);
	assert(lath_store_delete(store, keys[0]) == -EBADMSG);
	assert(lath_store_update(store, keys[0], keep, NULL) == -EBADMSG);
	assert(lath_store_count(store, NULL) == -EBADMSG);
	assert(lath_store_rank(store, keys[1]) == -EBADMSG);
	assert(lath_store_items(store) == -EBADMSG);
	assert(lath_store_sweep(store) == -EBADMSG && lath_store_compact(store) == -EBADMSG);
	assert(lath_store_get_stats(store, &stats) == -EBADMSG);
	assert(lath_store_iter_begin(store, NULL, &iter) == -EBADMSG);
	assert(lath_store_load(store, "/nothing", NULL, NULL) == -EBADMSG);
	assert(!lath_store_mset(store, 70, entries, results));
	for (i = 0; i < 70; i++)
		assert(results[i] == -EBADMSG);
	assert(!lath_store_mset(store, 70, entries, NULL));
	memset(results, 0, sizeof(results));
	assert(!lath_store_mdel(store, 70, keys, results));
	for (i = 0; i < 70; i++)
		assert(results[i] == -EBADMSG);
	assert(!lath_store_mdel(store, 70, keys, NULL));
	lath_store_read_begin(store);
	assert(lath_store_get_ref(store, keys[0], refs) == -EBADMSG);
	assert(!lath_store_mget(store, 70, keys, refs));
	for (i = 0; i < 70; i++)
		assert(!refs[i].data);
	assert(!lath_store_scan_numbers(store, 3, LAST, numbers, refs, 70, &next) && next == 3);
	lath_store_read_end(store);
}

/* What the marks say of units that no record can begin in. */
static void damaged_units(struct lath_store *store, struct lath_store *inside)
{
	u64 word, i;

	for (i = 0; i < 3; i++) {
		struct unit *unit, old;

		assert(lath_index_get(&inside->numbers, LAST, &word));
		unit = &inside->arena.unit[word_place(word) >> UNIT_SHIFT];
		old = *unit;
		if (i == 0)
			unit->len = inside->arena.fresh_unit;
		else if (i == 1)
			unit->kind = UNIT_NONE;
		else
			unit->kind = UNIT_BODY, unit->back = inside->arena.fresh_unit;
		died(store);
		expect_damaged(store);
		*unit = old;
		assert(lath_store_count(store, NULL) == 201);
	}
}

static void damaged(void)
{
	struct lath_store *store = open_store("shm:", LATH_STORE_NUMBERS, 0), *inside;
	static char large[3 << 16];
	u64 places[5], word, i;

	for (i = 0; i < 200; i++)
		assert(!lath_store_set(store, lath_key_number(i), &i, 8));
	assert(!lath_store_set(store, lath_key_number(LAST), large, sizeof(large)));
	inside = store->inside;
	assert(lath_index_get(&inside->numbers, 100, &word));
	places[0] = word_place(word) + 8; /* within a slot */
	assert(lath_index_get(&inside->numbers, LAST, &word));
	places[1] = word_place(word) + 8;    /* in the first unit of a run */
	places[2] = word_place(word) + UNIT; /* in its second one */
	places[3] = ((u64)inside->arena.fresh_unit << UNIT_SHIFT) + 64; /* behind those used */
	places[4] = (u64)inside->arena.fresh_unit << UNIT_SHIFT;
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		u64 *mark = &inside->mark[places[i] >> 9], bit = 1ull << (places[i] >> 3 & 63);

		assert(!(*mark & bit));
		*mark |= bit;
		died(store);
		expect_damaged(store);
		*mark &= ~bit;
		assert(lath_store_count(store, NULL) == 201); /* now the repair ends */
	}
	/* a record longer than its slot; one whose key is not a number */
	for (i = 0; i < 2; i++) {
		struct record *record;
		u64 meta;

		assert(lath_index_get(&inside->numbers, 100, &word));
		record = word_record(inside, word);
		meta = record->meta;
		record->meta = i ? meta + (1ull << 40) : meta + 100000;
		died(store);
		expect_damaged(store);
		record->meta = meta;
		died(store);
		assert(lath_store_count(store, NULL) == 201);
	}
	damaged_units(store, inside);
	close_empty(store);
}

/* A writer has died with the old record of a key still marked, or with an older one: the repair
 * keeps the newest, wherever the two lie. */
static void marked_twice(void)
{
	struct lath_store *store = open_store("shm:", LATH_STORE_NUMBERS, 0), *inside;
	unsigned int i, above = 0;
	u64 word, was, *mark, bit, value;

	for (i = 0; i < 200; i++)
		assert(!lath_store_set(store, lath_key_number(i), "01234567", 8));
	inside = store->inside;
	for (i = 0; i < 8; i++) {
		value = 1000 + i;
		assert(lath_index_get(&inside->numbers, 100, &was));
		assert(!lath_store_set(store, lath_key_number(100), &value, 8));
		assert(lath_index_get(&inside->numbers, 100, &word) && word != was);
		above += word_place(word) > word_place(was);
		mark = &inside->mark[word_place(was) >> 9];
		bit = 1ull << (word_place(was) >> 3 & 63);
		assert(!(*mark & bit));
		*mark |= bit;
		died(store);
		value = 0;
		assert(lath_store_get(store, lath_key_number(100), &value, 8) == 8);
		assert(value == 1000 + i && !(*mark & bit));
		assert(lath_store_count(store, NULL) == 200);
	}
	assert(above && above < i);
	close_empty(store);
}

int main(void)
{
	static const uint64_t sizes[] = { 1, 2, 31, 32, 33, 64, 96, 512, 1056 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		numbers("mem:", 0, sizes[i]);
		numbers("mem:", LATH_STORE_VERSIONS, sizes[i]);
		numbers("shm:", 0, sizes[i]);
	}
	for (i = 0; i < 2; i++) {
		bytes_255(i ? "shm:" : "mem:", 1001);
		bytes_255(i ? "shm:" : "mem:", 65535);
	}
	made_again(LATH_STORE_NUMBERS, 0);
	made_again(LATH_STORE_NUMBERS, LATH_STORE_VERSIONS);
	made_again(LATH_STORE_BYTES, 0);
	damaged();
	marked_twice();
	printf("last_key_test: 2^64 - 1 and keys of 255s\n");
	return 0;
}
