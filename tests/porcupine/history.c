/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * history.c - records what threads call and get, for check: `history STRUCTURE SEED HISTORIES`.
 *
 * Written from the public headers alone. STRUCTURE is index, bytes, store, space or locks. In each
 * history three threads make twelve calls each on few keys of one new structure. Prints "H", then a
 * line per call: thread, time of the call, time of the return (ns), call, three arguments, result,
 * and what came out (value or key). Exit code 1: no memory.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/random.h"
#include "lathwork/bytes.h"
#include "lathwork/index.h"
#include "lathwork/range_lock.h"
#include "lathwork/space.h"
#include "lathwork/store.h"

#define THREADS 3
#define CALLS 12
#define KEYS 6
#define UNITS 8

enum call { ADD, ERASE, REPLACE, CAS, GET, SET, INCR, ALLOC, FREE, TRY, LOCK, UNLOCK };
static const char *const names[] = { "add",  "erase", "replace", "cas", "get",	"set",
				     "incr", "alloc", "free",	 "try", "lock", "unlock" };

struct event {
	uint64_t from, to;
	enum call call;
	uint64_t a, b, c; /* key, value, expected; of locks key, size, mode */
	int64_t ret;
	uint64_t out;
};

struct thread {
	unsigned int number;
	uint64_t random;
	unsigned int calls;
	struct event event[CALLS + 1];
};

static void (*make)(struct thread *thread, struct event *event);
static unsigned int ready; /* threads that wait for the others to begin */

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A new value, which no other call of the history puts there. */
static uint64_t fresh(const struct thread *thread, const struct event *event)
{
	return 1 + thread->number * CALLS + (uint64_t)(event - thread->event);
}

static void draw_event(struct thread *thread, struct event *event, const enum call *calls,
		       unsigned int n)
{
	event->call = calls[draw(&thread->random, n)];
	event->a = draw(&thread->random, KEYS);
	event->b = fresh(thread, event);
	event->c = 1 + draw(&thread->random, THREADS * CALLS);
}

/* ---- index ---- */

static struct lath_index points;

static void call_index(struct thread *thread, struct event *e)
{
	static const enum call calls[] = { ADD, ADD, ERASE, REPLACE, CAS, GET, GET };
	struct lath_item item = { 0, 0, 0 };

	draw_event(thread, e, calls, 7);
	e->from = now();
	if (e->call == ADD) {
		struct lath_item added = { e->a, 1, e->b };

		e->ret = lath_index_insert_item(&points, &added, &item);
	} else if (e->call == ERASE) {
		e->ret = lath_index_erase_item(&points, e->a, &item);
	} else if (e->call == REPLACE) {
		e->ret = lath_index_replace_item(&points, e->a, e->b, &item);
	} else if (e->call == CAS) {
		e->ret = lath_index_replace_if(&points, e->a, e->c, e->b, &item);
	} else {
		e->ret = lath_index_lookup_item(&points, e->a, &item);
	}
	e->to = now();
	e->out = item.value;
}

/* ---- byte keys ---- */

struct record {
	char key[12];
	uint64_t key_number, value;
};

static struct lath_bytes records;
static struct record record[KEYS][THREADS * CALLS + 1];

static void text_of(void *ctx, uint64_t value, struct lath_bytes_key *key)
{
	const struct record *r = (const struct record *)(uintptr_t)value;

	(void)ctx;
	key->data = r->key;
	key->size = strlen(r->key);
}

static uint64_t value_of(uint64_t word)
{
	return word ? ((const struct record *)(uintptr_t)word)->value : 0;
}

static void call_bytes(struct thread *thread, struct event *e)
{
	static const enum call calls[] = { ADD, ADD, ERASE, REPLACE, CAS, GET, GET };
	struct lath_bytes_key key = { 0 };
	uint64_t out = 0, word;

	draw_event(thread, e, calls, 7);
	word = (uint64_t)(uintptr_t)&record[e->a][e->b];
	key.data = record[e->a][0].key;
	key.size = strlen(record[e->a][0].key);
	e->from = now();
	if (e->call == ADD)
		e->ret = lath_bytes_insert(&records, word, &out);
	else if (e->call == ERASE)
		e->ret = lath_bytes_erase(&records, &key, &out);
	else if (e->call == REPLACE)
		e->ret = lath_bytes_replace(&records, word, &out);
	else if (e->call == CAS)
		e->ret = lath_bytes_replace_if(&records, (uint64_t)(uintptr_t)&record[e->a][e->c],
					       word, &out);
	else
		e->ret = lath_bytes_get(&records, &key, &out) ? 0 : -ENOENT;
	e->to = now();
	e->out = value_of(out);
}

/* ---- store: values are decimal numbers ---- */

static struct lath_store *store;

static void call_store(struct thread *thread, struct event *e)
{
	static const enum call calls[] = { ADD, SET, ERASE, CAS, INCR, GET, GET };
	char key_text[8], text[24], expected[24];
	struct lath_store_key key;
	int64_t n = 0;

	draw_event(thread, e, calls, 7);
	snprintf(key_text, sizeof(key_text), "k%d", (int)e->a);
	snprintf(text, sizeof(text), "%d", (int)e->b);
	snprintf(expected, sizeof(expected), "%d", (int)e->c);
	key = lath_key_bytes(key_text, strlen(key_text));
	e->from = now();
	if (e->call == ADD) {
		e->ret = lath_store_add(store, key, text, strlen(text));
	} else if (e->call == SET) {
		e->ret = lath_store_set(store, key, text, strlen(text));
	} else if (e->call == ERASE) {
		e->ret = lath_store_delete(store, key);
	} else if (e->call == CAS) {
		e->ret = lath_store_cas(store, key, expected, strlen(expected), text, strlen(text));
	} else if (e->call == INCR) {
		e->ret = lath_store_incr(store, key, 1000, &n);
	} else {
		n = lath_store_get(store, key, text, sizeof(text) - 1);
		e->ret = n < 0 ? n : 0;
		text[n < 0 ? 0 : n] = 0;
		n = n < 0 ? 0 : atoll(text);
	}
	e->to = now();
	e->out = (uint64_t)n;
}

/* ---- space ---- */

static struct lath_space *space;
static __thread uint64_t mine[CALLS];
static __thread unsigned int have;

static void call_space(struct thread *thread, struct event *e)
{
	uint64_t key = 0;

	e->call = have && draw(&thread->random, 2) ? FREE : ALLOC;
	if (e->call == FREE)
		e->a = mine[--have];
	e->from = now();
	e->ret = e->call == ALLOC ? lath_space_alloc(space, 1, 0, 1, &key)
				  : lath_space_free(space, e->a, 1);
	e->to = now();
	e->out = key;
	if (e->call == ALLOC && !e->ret)
		mine[have++] = key;
}

/* ---- range locks ---- */

static struct lath_range_locks locks;
static __thread struct lath_range_hold hold;
static __thread struct event held;

static void call_locks(struct thread *thread, struct event *e)
{
	e->call = have ? UNLOCK : draw(&thread->random, 3) ? TRY : LOCK;
	e->a = have ? held.a : draw(&thread->random, UNITS - 2);
	e->b = have ? held.b : 1 + draw(&thread->random, 3);
	e->c = have ? held.c : draw(&thread->random, 2);
	e->from = now();
	if (e->call == UNLOCK)
		lath_range_unlock(&locks, &hold);
	else if (e->call == TRY)
		e->ret = lath_range_trylock(&locks, &hold, e->a, e->b,
					    e->c ? LATH_SHARED_RANGE : LATH_EXCLUSIVE_RANGE);
	else
		e->ret = lath_range_lock(&locks, &hold, e->a, e->b,
					 e->c ? LATH_SHARED_RANGE : LATH_EXCLUSIVE_RANGE);
	e->to = now();
	have = e->call != UNLOCK && !e->ret;
	held = *e;
}

/* ---- one history ---- */

static void *run(void *arg)
{
	struct thread *thread = arg;
	unsigned int i;

	have = 0;
	__atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < THREADS)
		sched_yield();
	for (i = 0; i < CALLS || (make == call_locks && have); i++) /* at last without a lock */
		make(thread, &thread->event[i]);
	thread->calls = i;
	return NULL;
}

static int begin(const char *structure)
{
	struct lath_bytes_records of = { text_of, NULL, 0 };
	struct lath_space_config in = LATH_SPACE_CONFIG_INIT;
	struct lath_store_options options = LATH_STORE_OPTIONS_INIT;
	struct lath_config config = LATH_CONFIG_INIT;

	if (!strcmp(structure, "index")) {
		make = call_index;
		config.layout = LATH_POINTS;
		return lath_index_init(&points, &config);
	}
	if (!strcmp(structure, "bytes")) {
		make = call_bytes;
		return lath_bytes_init(&records, &of, NULL);
	}
	if (!strcmp(structure, "store")) {
		make = call_store;
		options.keys = LATH_STORE_BYTES;
		return lath_store_open(&store, "mem:", &options);
	}
	if (!strcmp(structure, "space")) {
		make = call_space;
		in.high = UNITS;
		in.flags = LATH_SPACE_NO_MAGAZINES;
		return lath_space_create(&space, &in);
	}
	make = call_locks;
	return strcmp(structure, "locks") != 0 ? -EINVAL : lath_range_locks_init(&locks, NULL);
}

static void end(void)
{
	if (make == call_index)
		lath_index_fini(&points, NULL, NULL);
	else if (make == call_bytes)
		lath_bytes_fini(&records, NULL, NULL);
	else if (make == call_store)
		lath_store_close(store);
	else if (make == call_space)
		lath_space_destroy(space);
	else
		lath_range_locks_fini(&locks);
}

static void print(const struct thread *threads)
{
	unsigned int i, j;

	puts("H");
	for (i = 0; i < THREADS; i++)
		for (j = 0; j < threads[i].calls; j++) {
			const struct event *e = &threads[i].event[j];

			printf("%u %" PRIu64 " %" PRIu64 " %s %" PRIu64 " %" PRIu64 " %" PRIu64
			       " %" PRId64 " %" PRIu64 "\n",
			       i, e->from, e->to, names[e->call], e->a, e->b, e->c, e->ret, e->out);
		}
}

int main(int argc, char **argv)
{
	static struct thread threads[THREADS];
	pthread_t id[THREADS];
	unsigned long n, histories = argc == 4 ? strtoul(argv[3], NULL, 0) : 0;
	uint64_t i, j, seed = argc == 4 ? strtoull(argv[2], NULL, 0) : 0;

	if (argc != 4) {
		fputs("usage: history index|bytes|store|space|locks SEED HISTORIES\n", stderr);
		return 2;
	}
	for (i = 0; i < KEYS; i++)
		for (j = 0; j <= THREADS * CALLS; j++) {
			/* keys that begin with the same eight bytes */
			snprintf(record[i][j].key, sizeof(record[i][j].key), "prefix..%d", (int)i);
			record[i][j].value = j;
		}
	for (n = 0; n < histories; n++) {
		if (begin(argv[1])) {
			fprintf(stderr, "history: %s: cannot make one\n", argv[1]);
			return 1;
		}
		memset(threads, 0, sizeof(threads));
		ready = 0;
		for (i = 0; i < THREADS; i++) {
			threads[i].number = (unsigned int)i;
			threads[i].random = (seed * 1000003u + n) * 31u + i;
			if (pthread_create(&id[i], NULL, run, &threads[i]))
				return 1;
		}
		for (i = 0; i < THREADS; i++)
			pthread_join(id[i], NULL);
		print(threads);
		end();
	}
	return 0;
}
