/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * evict.c - room in a full store: eviction and compaction.
 *
 * Readers write nothing, so it is not known which entry was read last. Eviction visits the keys in
 * turn, like the hand of a clock. Of each window of entries it removes the expired ones and the
 * quarter with the oldest versions; without versions, an arbitrary quarter.
 */
#include "store/kv/kv.h"

#include <stdlib.h>

#define WINDOW 16

struct candidate {
	struct lath_store_key key;
	u64 age; /* 0: expired, the oldest; its version, or a hash of key and word */
	bool removed;
};

static int by_age(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return (x->age > y->age) - (x->age < y->age);
}

/* Reads the next WINDOW entries from the hand on, and moves the hand; at the end it goes to the
 * first key. Returns their number. They are valid until *iter ends. evict_lock held. */
static unsigned int look(struct lath_store *store, struct candidate *window,
			 struct lath_store_iter **iter)
{
	struct lath_store_key from = store->keys == LATH_STORE_NUMBERS
					     ? lath_key_number(store->hand_number)
					     : lath_key_bytes(store->hand, store->hand_size);
	struct lath_store_range range = { &from, NULL, NULL, 0 };
	unsigned int n = 0;

	LATH_ASSERT(pthread_mutex_trylock(&store->evict_lock) == EBUSY);
	*iter = NULL;
	if (lath_kv_iter_begin(store, &range, sizeof(**iter), iter))
		return 0;
	while (n < WINDOW) {
		struct lath_store_ref ref;
		u64 word = 0;

		if (lath_iter_next_word(*iter, &window[n].key, &word) <= 0)
			break;
		value_ref(store, word, &ref);
		window[n].age = ref_expired(&ref) ? 0
				: ref.version
					? ref.version
					: (window[n].key.n ^ word) * 0x9e3779b97f4a7c15ull | 1;
		n++;
	}
	if (n < WINDOW) { /* the end: the hand goes to the first key */
		store->hand_number = 0;
		store->hand_size = 0;
	} else if (store->keys == LATH_STORE_NUMBERS) {
		store->hand_number = window[n - 1].key.n + 1;
	} else {
		store->hand_size = window[n - 1].key.n;
		LATH_ASSERT(store->hand && store->hand_size <= KEY_BYTES_MAX);
		memcpy(store->hand, window[n - 1].key.data, store->hand_size);
	}
	return n;
}

static int decide_evict(void *arg, const struct lath_store_ref *old,
			struct lath_store_change *change)
{
	struct candidate *candidate = arg;

	candidate->removed = false;
	/* it was written since: keep it */
	if (old && old->version && old->version != candidate->age)
		return 0;
	candidate->removed = old || !candidate->age;
	change->action = LATH_STORE_REMOVE;
	return 0;
}

static u64 evict(struct lath_store *store, u64 want)
{
	struct candidate window[WINDOW];
	unsigned int empty = 0;
	u64 gone = 0;

	lath_call_enter();
	pthread_mutex_lock(&store->evict_lock);
	/* twice none in a row: the hand went all the way round */
	while (gone < want && empty < 2) {
		struct lath_store_iter *iter;
		unsigned int n = look(store, window, &iter), take, i;

		empty = n ? 0 : empty + 1;
		qsort(window, n, sizeof(*window), by_age);
		take = (n + 3) / 4;
		for (i = 0; i < n && (i < take || !window[i].age); i++) {
			/* no room is made for it: this is called to make room */
			if (lath_key_update(store, window[i].key, decide_evict, &window[i]) ||
			    !window[i].removed)
				continue;
			lath_fetch_add(window[i].age ? &store->evicted : &store->expired, 1);
			gone++;
		}
		lath_store_iter_end(iter);
	}
	pthread_mutex_unlock(&store->evict_lock);
	lath_call_exit();
	return gone;
}

/* Waits until a grace period frees something, at most half a second: the caller may be in a section
 * itself. Returns whether it did. */
static bool wait_for_readers(struct lath_store *store)
{
	u64 before = READ_ONCE(store->arena.pending);
	unsigned int i;

	lath_arena_flush(&store->arena);
	for (i = 0; before && i < 500; i++) {
		if (READ_ONCE(store->arena.pending) < before)
			return true;
		lath_rest(1000000);
		/* other threads may have retired as much as was freed */
		lath_arena_flush(&store->arena);
	}
	return false;
}

/* ---- compaction ---- */

/* Writes the same value again, which moves it to another slot. */
static int decide_same(void *arg, const struct lath_store_ref *old,
		       struct lath_store_change *change)
{
	(void)arg;
	if (!old)
		return 0;
	change->action = LATH_STORE_PUT;
	change->value = old->data;
	change->size = old->size;
	return 0;
}

/* Empties sparse slabs and returns free blocks to the machine. Returns the number of bytes.
 * compact_turn held. */
static u64 compact(struct lath_store *store)
{
	struct lath_store_iter *iter;
	struct lath_store_key key;
	u64 word = 0;

	LATH_ASSERT(lath_turn_held(&store->compact_turn));
	if (lath_arena_mark_sparse(&store->arena) &&
	    !lath_kv_iter_begin(store, NULL, sizeof(*iter), &iter)) {
		while (lath_iter_next_word(iter, &key, &word) > 0) {
			unsigned int own;
			int ret;

			if (!word_has_place(word) ||
			    !lath_arena_draining(&store->arena, word_place(word)))
				continue;
			/* from a slab of the shard that the record has now, which keeps its */
			own = lath_arena_borrow_shard(
				unit_of(&store->arena, word_place(word))->shard);
			ret = lath_key_update(store, key, decide_same, NULL);
			lath_arena_borrow_shard(own);
			if (ret)
				break;
		}
		lath_store_iter_end(iter);
	}
	/* the slots that records left are retired; they must be free before slabs are looked at */
	wait_for_readers(store);
	lath_arena_unmark(&store->arena);
	return lath_arena_release(&store->arena) + lath_arena_release(&store->index);
}

/* ---- room ---- */

#define ROUNDS 100

bool lath_store_make_room(struct lath_store *store, unsigned int *round)
{
	static __thread bool inside; /* removing from a bucket allocates memory too */
	u64 gone = 0;
	bool waited;

	if (inside || ++*round > ROUNDS)
		return false;
	/* first what needs no decision: memory that waits for readers */
	if (*round == 1 && wait_for_readers(store))
		return true;
	inside = true;
	if (store->flags & LATH_STORE_EVICT && !lath_arena_allowance) /* a load evicts nothing */
		gone = evict(store, 64ull << min(*round, 10u));
	waited = wait_for_readers(store);
	/* free memory may be in slots of other sizes, or in the other arena */
	if (*round % 4 == 2 && lath_turn_trylock(&store->compact_turn)) {
		gone += compact(store);
		lath_turn_unlock(&store->compact_turn);
	}
	inside = false;
	return waited || gone;
}

int64_t lath_kv_compact(struct lath_store *store)
{
	u64 given;

	/* a turn, no mutex: its holder waits for readers, so it is in no call (C2) */
	lath_turn_lock(&store->compact_turn);
	lath_arena_flush(&store->arena);
	lath_retire_drain(store->rcu);
	given = compact(store);
	lath_arena_flush(&store->arena);
	lath_retire_drain(store->rcu);
	given += lath_arena_release(&store->arena) + lath_arena_release(&store->index);
	lath_turn_unlock(&store->compact_turn);
	return (int64_t)given;
}
