/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lath_rcu_single: no thread, callbacks in steps, readers and ends on other threads.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lathwork/index.h"
#include "sys/sys.h"

#undef NDEBUG
#include <assert.h>
#define MUST(condition) assert(condition)

#ifdef LATH_FEW_STEPS
#define STEPS 3000
#else
#define STEPS 60000
#endif

static const struct lath_rcu *const rcu = &lath_rcu_single;

struct object {
	struct lath_rcu_head head;
	u64 number, again; /* equal while it lives */
};

static u64 freed;

static void end_object(struct lath_rcu_head *head)
{
	struct object *object = container_of(head, struct object, head);

	lath_retired();
	WRITE_ONCE(object->number, 0); /* a reader that still looks sees it */
	free(object);
	freed++;
	lath_retired_end();
}

static struct object *make_object(u64 number)
{
	struct object *object = malloc(sizeof(*object));

	MUST(object);
	object->number = object->again = number;
	return object;
}

/* Threads of the process. */
static int threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	int n = 0;

	MUST(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

static void steps_wait_for_sections(void)
{
	size_t i;

	freed = 0;
	MUST(lath_rcu_single_step(100) == 0);
	for (i = 0; i < 10; i++)
		rcu->call(&make_object(1)->head, end_object);
	MUST(freed == 0);
	MUST(lath_rcu_single_step(4) == 4 && freed == 4);
	rcu->call(&make_object(1)->head, end_object); /* waits for its own grace period */
	MUST(lath_rcu_single_step(100) == 6 && lath_rcu_single_step(100) == 1 && freed == 11);
	MUST(lath_rcu_single_step(100) == 0);
	rcu->read_lock();
	rcu->call(&make_object(1)->head, end_object); /* in a section */
	rcu->read_unlock();
	rcu->drain();
	MUST(freed == 12);
}

/* ---- readers on other threads ---- */

static struct object *shown;
static int state;

static void *hold(void *unused)
{
	struct object *object;

	(void)unused;
	rcu->read_lock();
	object = __atomic_load_n(&shown, __ATOMIC_ACQUIRE);
	__atomic_store_n(&state, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != 2)
		sched_yield();
	MUST(READ_ONCE(object->number) == 7);
	rcu->read_unlock();
	return NULL;
}

static void a_reader_delays_steps(void)
{
	struct object *old;
	pthread_t reader;
	int i;

	freed = 0;
	shown = make_object(7);
	state = 0;
	MUST(!pthread_create(&reader, NULL, hold, NULL));
	while (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != 1)
		sched_yield();
	old = shown;
	__atomic_store_n(&shown, NULL, __ATOMIC_RELEASE);
	rcu->call(&old->head, end_object);
	for (i = 0; i < 100; i++)
		MUST(lath_rcu_single_step(100) == 0);
	__atomic_store_n(&state, 2, __ATOMIC_RELEASE);
	pthread_join(reader, NULL);
	MUST(lath_rcu_single_step(100) == 1 && freed == 1);
}

static unsigned int looking; /* readers that have looked once */

static void *look(void *unused)
{
	u64 looks = 0;

	(void)unused;
	while (!__atomic_load_n(&state, __ATOMIC_ACQUIRE)) {
		struct object *object;

		rcu->read_lock();
		object = __atomic_load_n(&shown, __ATOMIC_ACQUIRE);
		MUST(READ_ONCE(object->number) == READ_ONCE(object->again));
		rcu->read_unlock();
		if (!looks++)
			__atomic_fetch_add(&looking, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void readers_see_living_objects(void)
{
	pthread_t reader[3];
	u64 i;

	freed = 0;
	shown = make_object(1);
	state = 0;
	for (i = 0; i < 3; i++)
		MUST(!pthread_create(&reader[i], NULL, look, NULL));
	while (__atomic_load_n(&looking, __ATOMIC_ACQUIRE) != 3)
		sched_yield();
	for (i = 2; i < STEPS; i++) {
		struct object *old = shown;

		__atomic_store_n(&shown, make_object(i), __ATOMIC_RELEASE);
		rcu->call(&old->head, end_object);
		lath_rcu_single_step(8);
	}
	__atomic_store_n(&state, 1, __ATOMIC_RELEASE);
	for (i = 0; i < 3; i++)
		pthread_join(reader[i], NULL);
	while (lath_rcu_single_step(64))
		;
	MUST(freed == STEPS - 2);
	free(shown);
}

/* ---- indexes, ended on other threads ---- */

static void *end_index(void *index)
{
	lath_index_destroy(index, NULL, NULL);
	return NULL;
}

static struct lath_index *busy_index(void)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_index *index;
	u64 i;

	config.layout = LATH_POINTS;
	config.flags = LATH_NODE_EACH;
	config.rcu = rcu;
	index = lath_index_create(&config);
	MUST(index);
	for (i = 0; i < 4000; i++) {
		struct lath_item item = { i * 77 % 4001, 1, i };

		MUST(!lath_index_insert_item(index, &item, NULL));
		if (i % 16 == 0)
			lath_rcu_single_step(1);
	}
	for (i = 0; i < 3900; i++)
		MUST(!lath_index_erase_item(index, i * 77 % 4001, NULL));
	MUST(lath_index_count(index) == 100);
	return index;
}

static void ends_on_other_threads(void)
{
	pthread_t lazy[4];
	int i;

	for (i = 0; i < 4; i++) {
		struct lath_index *index = busy_index();

		MUST(!pthread_create(&lazy[i], NULL, end_index, index));
	}
	end_index(busy_index());
	for (i = 0; i < 4; i++)
		pthread_join(lazy[i], NULL);
}

static void children_go_on(void)
{
	struct lath_index *index = busy_index();
	pid_t child = fork();
	int status;

	MUST(child >= 0);
	if (!child) {
		alarm(100);
		MUST(lath_index_count(index) == 100);
		lath_rcu_single_step(1);
		end_index(busy_index());
		end_index(index);
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
	end_index(index);
}

static void *nothing(void *unused)
{
	return unused;
}

int main(void)
{
	pthread_t first; /* ThreadSanitizer makes another one along with it */
	int before;

	MUST(!pthread_create(&first, NULL, nothing, NULL));
	pthread_join(first, NULL);
	before = threads();
	steps_wait_for_sections();
	children_go_on();
	a_reader_delays_steps();
	readers_see_living_objects();
	ends_on_other_threads();
	MUST(threads() == before);
	return 0;
}
