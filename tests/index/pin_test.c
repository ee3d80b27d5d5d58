/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pin_test.c - lath_index_lookup_pin() and lath_index_join() while threads erase, free and reuse
 * what the items lead to.
 *
 * The objects are a fixed array and are used again at once, without a grace period: so only a pin
 * that was taken while the item was in the index keeps an object as it is. A reader that holds one
 * looks at all fields; a writer erases, says that the object is GONE, waits for the pins, and gives
 * the object another place. Joiners cut ranges in two and join them again: every key of theirs is
 * covered all the time. pin_test [rounds]
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/must.h"
#include "base/random.h"
#include "lathwork/index.h"

#define OBJECTS 600
#define WRITERS 2
#define READERS 2
#define SIZE 8		     /* keys per object */
#define PLACES 4096	     /* places for objects */
#define GONE (1u << 31)	     /* in refs: no pin is taken any more */
#define COVERED (1ull << 40) /* the joiner's keys begin here */
#define COVERED_SIZE 4096ull

struct object {
	unsigned int refs; /* pins, and GONE */
	uint64_t key, check;
	unsigned int owner;
};

static struct lath_index list;
static struct object objects[OBJECTS];
#ifdef LATH_FEW_STEPS
#define ROUNDS 30000
#else
#define ROUNDS 1000000
#endif

static unsigned long rounds = ROUNDS, hits, refused, undone;
static int writers_left = WRITERS;

static struct object *object_of(const struct lath_item *item)
{
	return (struct object *)(void *)(uintptr_t)item->value;
}

static int pin(void *arg, const struct lath_item *item)
{
	static __thread unsigned int calls;
	struct object *object = object_of(item);

	(void)arg;
	if (!(++calls % 16)) /* time for a writer to use the object for another item */
		usleep(20);
	if (!(__atomic_fetch_add(&object->refs, 1, __ATOMIC_ACQ_REL) & GONE))
		return 1;
	__atomic_fetch_sub(&object->refs, 1, __ATOMIC_RELEASE);
	__atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
	return 0;
}

static void unpin(void *arg, const struct lath_item *item)
{
	if (arg)
		__atomic_fetch_add(&undone, 1, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&object_of(item)->refs, 1, __ATOMIC_RELEASE);
}

static const struct lath_pin how = { pin, unpin, &undone };

static void *reader_main(void *arg)
{
	uint64_t state = (uint64_t)(uintptr_t)arg * 977, value;
	unsigned long mine = 0;
	struct lath_item item;

	while (__atomic_load_n(&writers_left, __ATOMIC_ACQUIRE)) {
		uint64_t point = random_number(&state) % (PLACES * SIZE);
		int ret = lath_index_lookup_pin(&list, point, &how, &item);

		if (!ret) {
			const struct object *object = object_of(&item);

			if (object->key != item.key || point - object->key >= SIZE ||
			    object->check != ~object->key)
				FAULT("%llx was pinned and is another object\n",
				      (unsigned long long)point);
			mine++;
			unpin(NULL, &item);
		} else if (ret != -ENOENT && ret != -EBUSY) {
			FAULT("lookup_pin: %d\n", ret);
		}
		point = COVERED + random_number(&state) % COVERED_SIZE;
		if (!lath_index_get(&list, point, &value) || value != 7)
			FAULT("%llx is not covered\n", (unsigned long long)point);
	}
	__atomic_fetch_add(&hits, mine, __ATOMIC_RELAXED);
	return NULL;
}

/* Give the object, which nobody sees, a free place. */
static void place(struct object *object, uint64_t *state)
{
	struct lath_item item = { 0, SIZE, (uint64_t)(uintptr_t)object };
	int ret;

	do {
		item.key = random_number(state) % PLACES * SIZE;
		object->key = item.key;
		object->check = ~item.key;
		/* refs keeps the pins of readers that will find out that they came too late */
		__atomic_fetch_and(&object->refs, ~GONE, __ATOMIC_RELEASE);
		ret = lath_index_insert_item(&list, &item, NULL);
		if (ret) {
			__atomic_fetch_or(&object->refs, GONE, __ATOMIC_ACQ_REL);
			while (__atomic_load_n(&object->refs, __ATOMIC_ACQUIRE) != GONE)
				sched_yield();
		}
	} while (ret == -EEXIST);
	if (ret)
		FAULT("insert: %d\n", ret);
}

static void *writer_main(void *arg)
{
	unsigned int writer = (unsigned int)(uintptr_t)arg;
	uint64_t state = writer + 5;
	unsigned long round;

	for (round = 0; round < rounds; round++) {
		unsigned int n = (unsigned int)random_number(&state) % (OBJECTS / WRITERS);
		struct object *object = &objects[n * WRITERS + writer];
		uint64_t key = object->key;

		if (lath_index_erase_item(&list, key, NULL))
			FAULT("erase %llx\n", (unsigned long long)key);
		__atomic_fetch_or(&object->refs, GONE, __ATOMIC_ACQ_REL);
		while (__atomic_load_n(&object->refs, __ATOMIC_ACQUIRE) != GONE)
			sched_yield();
		place(object, &state);
	}
	__atomic_fetch_sub(&writers_left, 1, __ATOMIC_RELEASE);
	return NULL;
}

static int equal(void *arg, const struct lath_item *left, const struct lath_item *right)
{
	(void)arg;
	return left->value == right->value;
}

static void *joiner_main(void *arg)
{
	uint64_t state = 99, at;
	int ret;

	(void)arg;
	while (__atomic_load_n(&writers_left, __ATOMIC_ACQUIRE)) {
		at = COVERED + 1 + random_number(&state) % (COVERED_SIZE - 1);
		ret = random_number(&state) % 2 ? lath_index_split(&list, at, 7)
						: lath_index_join(&list, at, equal, NULL, NULL);
		if (ret && ret != -EEXIST && ret != -ENOENT)
			FAULT("split or join: %d\n", ret);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct lath_item covered = { COVERED, COVERED_SIZE, 7 };
	pthread_t thread[WRITERS + READERS + 1];
	uint64_t state = 1;
	unsigned int i;
	char report[200] = "";

	if (argc > 1)
		rounds = strtoul(argv[1], NULL, 0);
	if (lath_index_init(&list, NULL) || lath_index_insert_item(&list, &covered, NULL))
		return 1;
	for (i = 0; i < OBJECTS; i++) {
		objects[i].refs = GONE;
		place(&objects[i], &state);
	}
	for (i = 0; i < WRITERS + READERS + 1; i++)
		if (pthread_create(&thread[i], NULL,
				   i < WRITERS		   ? writer_main
				   : i < WRITERS + READERS ? reader_main
							   : joiner_main,
				   (void *)(uintptr_t)i))
			return 1;
	for (i = 0; i < WRITERS + READERS + 1; i++)
		pthread_join(thread[i], NULL);
	if (lath_index_verify(&list, 6, report, sizeof(report)))
		FAULT("%s\n", report);
	for (i = 0; i < OBJECTS; i++)
		if (objects[i].refs)
			FAULT("object %u has %u references\n", i, objects[i].refs);
	lath_index_fini(&list, NULL, NULL);
	printf("pin_test: %lu pinned, %lu refused, %lu given back\n", hits, refused, undone);
	return faults || !hits;
}
