/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * soak_test.c - three threads change an index, a set of byte keys and a set of intervals, each with
 * about as many items all the time, and a fourth one reads. Memory must not grow once each of them
 * has been through its keys, and what is retired must be freed soon: each thread retires an object
 * now and then that knows when that was. Prints the memory and the ages, once per tenth of the
 * time. Four seconds; with LATH_LONG ten minutes, or SOAK_SECONDS.
 */
#undef NDEBUG
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"
#include "lathwork/bytes.h"
#include "lathwork/index.h"
#include "lathwork/interval.h"

#define KEYS 20000u
#define PARTS 10
/* An object that waited longer is a fault, on any machine. */
#define AGE_MOST 30.0

static struct lath_index list;
static struct lath_bytes names;
static struct lath_intervals spans;
static struct lath_bytes_key key_of_name[KEYS];
static char name[KEYS][24];
static bool stop;
static unsigned long changed[3]; /* changes made by each writer */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- ages ---- */

struct retired {
	struct lath_rcu_head head;
	double when;
};

static pthread_mutex_t ages_lock = PTHREAD_MUTEX_INITIALIZER;
static double oldest, sum_of_ages;
static unsigned long handed, freed;

static void end_retired(struct lath_rcu_head *head)
{
	struct retired *object = (struct retired *)(void *)head;
	double age = now() - object->when;

	pthread_mutex_lock(&ages_lock);
	oldest = age > oldest ? age : oldest;
	sum_of_ages += age;
	freed++;
	pthread_mutex_unlock(&ages_lock);
	free(object);
}

static void retire_one(void)
{
	struct retired *object = malloc(sizeof(*object));

	assert(object);
	object->when = now();
	__atomic_fetch_add(&handed, 1, __ATOMIC_RELAXED);
	lath_rcu_auto.call(&object->head, end_retired);
}

/* ---- threads: each key is inserted and erased alternately ---- */

static void change_list(uint64_t key)
{
	struct lath_item item = { key * 16, 1 + key % 16, key };

	if (lath_index_erase_item(&list, item.key, NULL))
		assert(!lath_index_insert_item(&list, &item, NULL));
}

static void change_names(uint64_t key)
{
	if (lath_bytes_erase(&names, &key_of_name[key], NULL))
		assert(!lath_bytes_insert(&names, (uintptr_t)&key_of_name[key], NULL));
}

static void change_spans(uint64_t key)
{
	struct lath_interval span = { key / 8, key / 8 + 1 + (key % 8 << key % 5), key };

	if (lath_intervals_erase(&spans, &span))
		assert(!lath_intervals_insert(&spans, &span));
}

static void (*const changes[3])(uint64_t key) = { change_list, change_names, change_spans };

static void *writer(void *arg)
{
	uint64_t state = (uintptr_t)arg, i;

	for (i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		changes[(uintptr_t)arg](draw(&state, KEYS));
		__atomic_store_n(&changed[(uintptr_t)arg], i, __ATOMIC_RELAXED);
		if (i % 256 == 0)
			retire_one();
	}
	return NULL;
}

static void *reader(void *arg)
{
	struct lath_interval found[8];
	struct lath_item items[64];
	uint64_t state = 9;

	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		uint64_t key = draw(&state, KEYS);

		lath_index_scan(&list, key, ~0ull, items, 64, NULL);
		lath_bytes_get(&names, &key_of_name[key], &state);
		lath_intervals_stab(&spans, key / 8, found, 8);
		state = state * 3 + key;
	}
	return NULL;
}

/* ---- memory ---- */

static uint64_t bytes_now(void)
{
	struct lath_intervals_stats of_spans;
	struct lath_bytes_stats of_names;
	struct lath_index_stats of_list;

	lath_index_get_stats(&list, &of_list);
	lath_bytes_get_stats(&names, &of_names);
	lath_intervals_get_stats(&spans, &of_spans);
	return of_list.bytes + of_names.bytes + of_spans.bytes;
}

static void name_of(void *ctx, uint64_t value, struct lath_bytes_key *key)
{
	(void)ctx;
	*key = *(const struct lath_bytes_key *)(uintptr_t)value;
}

static void begin(void)
{
	const struct lath_bytes_records records = { .key_of = name_of };
	uint64_t i, k;

	assert(!lath_index_init(&list, NULL) && !lath_bytes_init(&names, &records, NULL));
	assert(!lath_intervals_init(&spans, LATH_HALF_OPEN, NULL));
	for (i = 0; i < KEYS; i++) {
		snprintf(name[i], sizeof(name[i]), "%lx/%lu", (unsigned long)i % 97,
			 (unsigned long)(i * 7919 % KEYS));
		key_of_name[i] = (struct lath_bytes_key){ name[i], strlen(name[i]), 0 };
		for (k = 0; k < 3 && i % 2; k++)
			changes[k](i);
	}
}

int main(void)
{
	const char *said = getenv("SOAK_SECONDS");
	double seconds = said ? atof(said) : getenv("LATH_LONG") ? 600 : 4;
	pthread_t threads[4];
	uint64_t bytes, most = 0, least = ~0ull;
	unsigned int i;

	begin();
	for (i = 0; i < 4; i++)
		assert(!pthread_create(&threads[i], NULL, i < 3 ? writer : reader,
				       (void *)(uintptr_t)i));
	/* memory grows until each key has come and gone a few times, which takes longer under load */
	for (i = 0; i < 3; i++)
		while (__atomic_load_n(&changed[i], __ATOMIC_RELAXED) < 8ul * KEYS)
			usleep(1000);
	for (i = 1; i <= PARTS; i++) {
		usleep((unsigned int)(seconds / PARTS * 1e6));
		bytes = bytes_now();
		pthread_mutex_lock(&ages_lock);
		printf("%3.0f s: %7llu KiB, %9lu retired objects freed, ages: mean %.2f ms, oldest "
		       "%.1f ms\n",
		       seconds * i / PARTS, (unsigned long long)bytes / 1024, freed,
		       freed ? sum_of_ages / (double)freed * 1e3 : 0, oldest * 1e3);
		pthread_mutex_unlock(&ages_lock);
		fflush(stdout);
		if (i <= PARTS / 2)
			most = bytes > most ? bytes : most;
		else
			least = bytes < least ? bytes : least;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < 4; i++)
		assert(!pthread_join(threads[i], NULL));
	lath_rcu_auto.drain();
	assert(freed == handed && freed && oldest < AGE_MOST);
	/* what the second half has at some time is not more than what the first half ever had */
	assert(least <= most + most / 20);
	assert(!lath_index_verify(&list, 5, NULL, 0) && !lath_bytes_verify(&names, NULL, 0) &&
	       !lath_intervals_verify(&spans, NULL, 0));
	lath_index_fini(&list, NULL, NULL);
	lath_bytes_fini(&names, NULL, NULL);
	lath_intervals_fini(&spans, NULL, NULL);
	return 0;
}
