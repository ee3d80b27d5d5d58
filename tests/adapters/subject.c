/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * subject.c - the index behind the interface of a concurrency rig (subject.h of the rig: new,
 * free, insert, erase, lookup, next, overlap, hole, scan, check, count): ordered disjoint ranges
 * with a tag each, copied out in the calls.
 *
 * Sources: this file; all of src/tree and src/set/hole; user.c, thread.c, crowd.c, sleep.c, rcu.c
 * and error.c of src/sys; src/arch/isa.c. Flags: -std=gnu11 -Iinclude -iquote src and the rig's
 * directory; -DLATH_NODE_CAP=4 -DLATH_SPARSE_RING=1 -DLATH_HINT_MISSES=1 -DLATH_ASSERTIONS=1, so
 * that splits, merges and reclamation are everywhere. Libraries: -pthread, and -lurcu-memb without
 * SUBJECT_OWN_RCU. Variants:
 *
 *   -DSUBJECT_POOLS     nodes come from pools as they do by default, and fingers and the hint
 *                       table are at work. Without it each node is its own allocation: every
 *                       access to a freed node is seen.
 *   -DSUBJECT_SHARE     full leaves share entries with their siblings, as in an index without
 *                       LATH_HOLES. Without it they are split in halves.
 *   -DSUBJECT_TRIM      each erase is followed by some steps of trimming. With -DSUBJECT_POOLS
 *                       -DLATH_CHUNK_MIN=4096ul -DLATH_CHUNK_BLOCKS=0 nodes are moved as well.
 *   -DSUBJECT_OWN_RCU   lath_rcu_auto, for rigs with real threads. Without it liburcu's membarrier
 *                       flavour, called out of line: a rig with its own scheduler replaces
 *                       urcu_memb_* by its model of RCU.
 *
 * A rig that runs one thread at a time replaces pthread_mutex_lock and its relatives too. A thread
 * that waits there for one that it does not run would wait for ever: so each thread registers with
 * the library in subject_thread_begin(), before it is scheduled, and stays registered until it
 * ends.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lathwork/hole.h"
#include "tree/way/hint.h"
#include "set/hole/lengths.h"
#include "subject.h"

#ifdef SUBJECT_OWN_RCU
#define FLAVOUR lath_rcu_auto
#else
#include <urcu/urcu-memb.h>

/* What glibc allocates for a thread, so that its exit() is noticed, a rig would count as lost. */
int __cxa_thread_atexit_impl(void (*func)(void *), void *arg, void *dso);
int __cxa_thread_atexit_impl(void (*func)(void *), void *arg, void *dso)
{
	(void)func, (void)arg, (void)dso;
	return -1;
}

_Static_assert(sizeof(struct lath_rcu_head) == sizeof(struct rcu_head),
	       "lath_rcu_head has the layout of rcu_head");

static void enter(void)
{
	urcu_memb_read_lock();
}

static void leave(void)
{
	urcu_memb_read_unlock();
}

static void retire(struct lath_rcu_head *head, void (*func)(struct lath_rcu_head *head))
{
	urcu_memb_call_rcu((struct rcu_head *)head, (void (*)(struct rcu_head *))func);
}

static void announce(void)
{
	urcu_memb_register_thread();
}

static void withdraw(void)
{
	urcu_memb_unregister_thread();
}

static const struct lath_rcu memb = {
	.name = "liburcu-memb",
	.read_lock = enter,
	.read_unlock = leave,
	.call = retire,
	.synchronize = urcu_memb_synchronize_rcu,
	.drain = urcu_memb_barrier,
	.register_thread = announce,
	.unregister_thread = withdraw,
};
#define FLAVOUR memb
#endif

struct subject {
	struct lath_index list;
	uint64_t trimmed;
};

subject *subject_new(void)
{
	struct lath_config config = LATH_CONFIG_INIT;
	subject *s;

	lath_hint_least = 1;
	lath_lengths_least = 0;
	config.flags = LATH_HOLES;
#ifndef SUBJECT_POOLS
	config.flags |= LATH_NODE_EACH;
#endif
	config.rcu = &FLAVOUR;
	if (posix_memalign((void **)&s, 64, sizeof(*s)))
		return NULL;
	if (lath_index_init(&s->list, &config)) {
		free(s);
		return NULL;
	}
	s->trimmed = 0;
	return s;
}

void subject_free(subject *s)
{
	lath_index_fini(&s->list, NULL, NULL);
	free(s);
}

void subject_thread_begin(subject *s)
{
	FLAVOUR.register_thread();
	lath_thread_register();
	lath_hint_build((struct tree *)(void *)&s->list);
}

void subject_thread_end(subject *s)
{
	(void)s;
	FLAVOUR.unregister_thread();
}

/* copy out, if there is something to copy */
static int copy(int ret, const struct lath_item *item, subject_item *out)
{
	if (!ret) {
		out->key = item->key;
		out->size = item->size;
		out->val = item->value;
	}
	return ret;
}

int subject_insert(subject *s, uint64_t key, uint64_t size, uint64_t val)
{
	struct lath_item item = { key, size, val };

	return lath_index_insert_item(&s->list, &item, NULL);
}

int subject_erase(subject *s, uint64_t key, subject_item *out)
{
	struct lath_item item;
	int ret = copy(lath_index_erase_item(&s->list, key, &item), &item, out);
#ifdef SUBJECT_TRIM
	uint64_t place = __atomic_load_n(&s->trimmed, __ATOMIC_RELAXED);

	lath_index_trim(&s->list, 3, &place);
	__atomic_store_n(&s->trimmed, place, __ATOMIC_RELAXED);
#endif
	return ret;
}

int subject_lookup(subject *s, uint64_t point, subject_item *out)
{
	struct lath_item item;

	return copy(lath_index_lookup_item(&s->list, point, &item), &item, out);
}

int subject_next(subject *s, uint64_t point, subject_item *out)
{
	struct lath_item item;

	return copy(lath_index_ceiling_item(&s->list, point, &item), &item, out);
}

int subject_overlap(subject *s, uint64_t key, uint64_t size, subject_item *out)
{
	struct lath_item item;

	return copy(lath_index_overlap_item(&s->list, key, size, &item), &item, out);
}

int subject_hole(subject *s, uint64_t lo, uint64_t hi, uint64_t size, uint64_t val, uint64_t *key)
{
	static const enum lath_hole_policy policies[] = { LATH_HOLE_FIRST, LATH_HOLE_LAST,
							  LATH_HOLE_BEST, LATH_HOLE_NEXT,
							  LATH_HOLE_NEAR };
	struct lath_hole_request want = { .size = size, .low = lo, .high = hi, .hint = lo };

	want.policy = policies[val % 5];
	if (lo >= hi) /* an empty window is -EINVAL here and full for the rig */
		return -ENOSPC;
	return lath_index_insert_hole(&s->list, &want, val, key);
}

size_t subject_scan(subject *s, uint64_t lo, uint64_t hi, subject_item *out, size_t max)
{
	struct lath_item items[16];
	size_t n = 0;

	while (n < max && lo < hi) {
		size_t want = max - n < 16 ? max - n : 16, i;
		size_t got = lath_index_scan(&s->list, lo, hi - 1, items, want, &lo);

		for (i = 0; i < got; i++)
			copy(0, &items[i], &out[n++]);
		if (got < want || !lo)
			break;
	}
	return n;
}

int subject_check(subject *s)
{
	char report[200];
	int broken = lath_index_verify(&s->list, 5, report, sizeof(report));

	if (broken)
		fprintf(stderr, "%s\n", report);
	return broken;
}

uint64_t subject_count(subject *s)
{
	return lath_index_count(&s->list);
}
