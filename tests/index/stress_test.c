/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * stress_test.c - threads on one list, each sure of its own items.
 *
 * Writer w owns the keys with key / STEP % WRITERS == w: neighbours belong to different threads, so
 * they meet in every leaf, but each knows exactly what its own items must look like. Slots are
 * freed through RCU; readers check a mark in each slot they find. Run it under ASan and TSan.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "base/random.h"
#include "lathwork/cursor.h"
#include "sys/sys.h"

#define WRITERS 3
#define READERS 2
#define STEP 16
#define KEYS 3000 /* a writer */
#define ALIVE 0x600d51075107600dull

struct thing {
	struct lath_rcu_head rcu;
	uint64_t mark;
	struct lath_slot slot;
};

static struct lath_index list;
static unsigned long rounds;
static int writers_left;

static struct thing *thing_of(struct lath_slot *slot)
{
	return (struct thing *)(void *)((char *)slot - offsetof(struct thing, slot));
}

static void thing_free(struct lath_rcu_head *head)
{
	struct thing *thing = (struct thing *)(void *)((char *)head - offsetof(struct thing, rcu));

	lath_retired();
	memset(thing, 0xdd, sizeof(*thing));
	free(thing);
	lath_retired_end();
}

static uint64_t key_of(unsigned int writer, unsigned int n)
{
	return ((uint64_t)n * WRITERS + writer) * STEP;
}

static void write_one(unsigned int writer, unsigned int n, struct thing **own, uint64_t *state)
{
	uint64_t key = key_of(writer, n);
	struct lath_slot *slot;

	if (!own[n]) {
		struct thing *thing = calloc(1, sizeof(*thing));
		int ret;

		if (!thing)
			return;
		thing->mark = ALIVE;
		thing->slot.key = key;
		thing->slot.size = random_number(state) % STEP + 1;
		ret = lath_index_insert(&list, &thing->slot, NULL);
		if (ret) {
			FAULT("insert %llx: %d\n", (unsigned long long)key, ret);
			free(thing);
			return;
		}
		own[n] = thing;
		return;
	}
	slot = lath_index_lookup(&list, key + own[n]->slot.size - 1);
	if (slot != &own[n]->slot)
		FAULT("lookup %llx\n", (unsigned long long)key);
	slot = random_number(state) % 2 ? lath_index_erase(&list, key)
					: lath_index_erase_at(&list, key);
	if (slot != &own[n]->slot)
		FAULT("erase %llx\n", (unsigned long long)key);
	if (lath_index_lookup(&list, key))
		FAULT("%llx is there after its erase\n", (unsigned long long)key);
	lath_rcu_auto.call(&own[n]->rcu, thing_free);
	own[n] = NULL;
}

/* Scattered keys, then stretches that fill and empty whole leaves. */
static void *writer_main(void *arg)
{
	unsigned int writer = (unsigned int)(uintptr_t)arg, n;
	struct thing **own = calloc(KEYS, sizeof(*own));
	uint64_t state = writer + 1;
	unsigned long round, i;

	for (round = 0; own && round < rounds; round++) {
		unsigned int from = (unsigned int)random_number(&state) % KEYS;

		for (i = 0; i < 200; i++)
			write_one(writer, (unsigned int)random_number(&state) % KEYS, own, &state);
		for (i = 0; i < 300; i++)
			write_one(writer, (from + (unsigned int)i) % KEYS, own, &state);
	}
	for (n = 0; own && n < KEYS; n++)
		if (own[n] && writer)
			write_one(writer, n, own, &state);
	/* writer 0 leaves its items to main */
	free(own);
	__atomic_fetch_sub(&writers_left, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void read_some(uint64_t *state)
{
	uint64_t key = random_number(state) % ((uint64_t)KEYS * WRITERS * STEP), next = key,
		 last_end = 0;
	struct lath_item items[40], item;
	struct lath_slot *slot;
	struct lath_cursor cursor;
	size_t n, i;
	int steps = 0;

	lath_rcu_auto.read_lock();
	slot = lath_index_lookup_rcu(&list, key);
	if (slot && (thing_of(slot)->mark != ALIVE || key - slot->key >= slot->size))
		FAULT("lookup %llx found something else\n", (unsigned long long)key);
	slot = lath_index_overlap(&list, key, 3 * STEP);
	if (slot && (thing_of(slot)->mark != ALIVE || slot->key >= key + 3 * STEP ||
		     slot->key + slot->size <= key))
		FAULT("overlap %llx found something else\n", (unsigned long long)key);
	lath_rcu_auto.read_unlock();
	n = lath_index_scan(&list, key, ~0ull, items, 40, &next);
	for (i = 0; i < n; i++) {
		if (items[i].key < key || (i && items[i].key <= last_end))
			FAULT("scan from %llx out of order\n", (unsigned long long)key);
		last_end = items[i].key + items[i].size - 1;
	}
	lath_cursor_init(&cursor, &list);
	for (i = 0; lath_cursor_prev(&cursor, &item) && steps < 20; steps++) {
		if (steps && item.key >= last_end)
			FAULT("cursor back out of order\n");
		last_end = item.key;
	}
}

/* Readers trim too, so that the nodes that they and the writers are at are moved and given back. */
static void *reader_main(void *arg)
{
	uint64_t state = 77 + (uint64_t)(uintptr_t)arg, place = 0;

	while (__atomic_load_n(&writers_left, __ATOMIC_ACQUIRE)) {
		read_some(&state);
		lath_index_trim(&list, random_number(&state) % 8, &place);
	}
	return NULL;
}

static void free_item(void *arg, const struct lath_item *item)
{
	++*(unsigned long *)arg;
	free(thing_of(lath_item_slot(item)));
}

int main(void)
{
	struct lath_config config = LATH_CONFIG_INIT;
	pthread_t thread[WRITERS + READERS];
	unsigned long left = 0, count;
	char report[200] = "";
	int pass, i, broken;

	rounds = getenv("LATH_LONG") ? 20000 : 15;
	for (pass = 0; pass < 2; pass++) {
		struct lath_index_stats stats;

		config.flags = pass ? LATH_NODE_EACH : 0;
		if (lath_index_init(&list, &config))
			return 1;
		writers_left = WRITERS;
		for (i = 0; i < WRITERS + READERS; i++)
			if (pthread_create(&thread[i], NULL,
					   i < WRITERS ? writer_main : reader_main,
					   (void *)(uintptr_t)i))
				return 1;
		for (i = 0; i < WRITERS + READERS; i++)
			pthread_join(thread[i], NULL);
		broken = lath_index_verify(&list, 5, report, sizeof(report));
		if (broken)
			FAULT("invariant %s\n", report);
		lath_index_get_stats(&list, &stats);
		count = lath_index_count(&list);
		lath_index_fini(&list, free_item, &left);
		if (left != count)
			FAULT("fini saw %lu of %lu items\n", left, count);
		left = 0;
		printf("stress_test: %s: %llu splits, %llu merges, %llu restarts, %llu lock "
		       "falls\n",
		       pass ? "a block a node" : "pools", (unsigned long long)stats.splits,
		       (unsigned long long)stats.merges, (unsigned long long)stats.restarts,
		       (unsigned long long)stats.lock_falls);
	}
	lath_rcu_auto.drain();
	return faults ? 1 : 0;
}
