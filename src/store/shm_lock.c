/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * shm_lock.c - the lock of a shared store, and the RCU flavour of the inner store: all its sections
 * are those of the thread that holds the lock.
 */
#include "store/retire.h"
#include "store/shm.h"
#include "store/slab.h"

static LATH_TLS struct shm *inside;
static LATH_TLS unsigned int own_shard;

bool shm_held(const struct shm *shm)
{
	return inside == shm;
}

void shm_reclaim(struct shm *shm)
{
	struct lath_rcu_head *head;

	LATH_ASSERT(shm_held(shm) && !shm->own->readers);
	while ((head = shm->own->retired)) {
		shm->own->retired = head->next;
		head->func(head);
	}
}

int shm_enter(struct shm *shm, bool write)
{
	struct shm_head *head = shm->head;
	int ret;

	if (inside == shm) /* a callback of update calls the store */
		return -EDEADLK;
	ret = pthread_mutex_lock(&head->lock);
	if (unlikely(ret == EOWNERDEAD))
		ret = pthread_mutex_consistent(&head->lock); /* `dirty` tells whether the dead
								process left a change incomplete */
	if (unlikely(ret))
		return -ret;
	lath_call_enter(); /* not before: another process may hold the lock for long */
	inside = shm;
	own_shard = arena_borrow_shard(0);
	shm->own->readers = 0; /* it may be another thread's, if this process was forked from it */
	shm->own->retired = NULL;
	if (unlikely(head->dirty)) {
		ret = shm_recover(head);
		arena_flush(&head->store.arena);
		shm_reclaim(shm);
		if (ret) {
			arena_borrow_shard(own_shard);
			inside = NULL;
			lath_call_exit();
			pthread_mutex_unlock(&head->lock);
			return ret;
		}
		/* after all that was rebuilt; read under the lock */
		smp_store_release(&head->dirty, 0);
	}
	/* set before anything changes: if this process dies, the next one repairs */
	LATH_ASSERT(!head->dirty && !shm->own->readers);
	if (write)
		WRITE_ONCE(head->dirty, 1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return 0;
}

void shm_leave(struct shm *shm)
{
	LATH_ASSERT(inside == shm && !shm->own->readers);
	lath_call_assert();
	if (shm->head->dirty) { /* a change: what it retired is freed before others come */
		arena_flush(&shm->head->store.arena);
		shm_reclaim(shm);
		/* after the change; read under the lock */
		smp_store_release(&shm->head->dirty, 0);
	}
	arena_borrow_shard(own_shard);
	inside = NULL;
	lath_call_exit();
	pthread_mutex_unlock(&shm->head->lock);
}

/* ---- the RCU flavour of the inner store: all sections are the lock holder's ---- */

static void reader_enter(void)
{
	LATH_ASSERT(inside);
	inside->own->readers++;
}

static void reclaim_if_alone(void)
{
	LATH_ASSERT(inside);
	if (!inside->own->readers)
		shm_reclaim(inside);
}

static void reader_exit(void)
{
	LATH_ASSERT(inside && inside->own->readers);
	inside->own->readers--;
	reclaim_if_alone();
}

static void retire(struct lath_rcu_head *head, void (*func)(struct lath_rcu_head *head))
{
	LATH_ASSERT(inside && inside->head->dirty); /* M4: only a call that writes retires */
	LATH_ASSERT(func);
	head->func = func;
	head->next = inside->own->retired;
	inside->own->retired = head;
	reclaim_if_alone();
}

void shm_flavour(struct shm_own *own)
{
	own->rcu = (struct lath_rcu){
		.name = "shm",
		.read_lock = reader_enter,
		.read_unlock = reader_exit,
		.call = retire,
		.synchronize = reclaim_if_alone,
		.drain = reclaim_if_alone,
	};
}
