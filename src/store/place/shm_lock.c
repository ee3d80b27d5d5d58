/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * shm_lock.c - the lock of a shared store, and the RCU flavour of the inner store: all its sections
 * are those of the thread that holds the lock. Rebuilds a store from its marked records after a
 * process has died in it (shm.h).
 *
 *   1. the arena of records: slabs and runs with marked records stay, all between them becomes free
 *      runs
 *   2. the arena of the index: becomes empty; its blocks stay committed
 *   3. each marked record is inserted into the index; of two records of one key the one with the
 *      lower version is unmarked and freed
 */
#include "store/place/shm.h"

/* ---- repair ---- */

enum shm_fault lath_shm_fault;

/* Returns the first unit of the slab or run that a place belongs to, by the unit table; NO_UNIT: no
 * record can begin there. */
static u32 head_of(const struct arena *arena, u64 place)
{
	u64 first = place >> UNIT_SHIFT;
	const struct unit *u = &arena->unit[first];
	u64 start, size;

	if (first < arena->first_unit || first >= arena->fresh_unit)
		return NO_UNIT;
	/* the table is compared with itself: a mark may be damaged */
	if (u->kind == UNIT_BODY) {
		if (u->back > first - arena->first_unit)
			return NO_UNIT;
		first -= u->back;
		u = &arena->unit[first];
	}
	start = place - (first << UNIT_SHIFT);
	if (u->len > arena->fresh_unit - first)
		return NO_UNIT;
	size = (u64)u->len << UNIT_SHIFT;
	if (u->kind == UNIT_RUN)
		return start ? NO_UNIT : (u32)first;
	if (u->kind != UNIT_SLAB || u->class >= SLAB_CLASSES || start >= size ||
	    start % lath_slab_slot_size(u->class))
		return NO_UNIT;
	return (u32)first;
}

static bool record_fits(const struct lath_store *store, u64 place)
{
	const struct record *record = arena_at(&store->arena, place);
	u64 size = sizeof(*record) + record_value_size(record) + record_key_size(record) +
		   (record->meta & RECORD_EXPIRES ? sizeof(u64) : 0);

	LATH_ASSERT(place_marked(store->mark, place));
	return size <= lath_arena_size(&store->arena, place) &&
	       (store->keys == LATH_STORE_BYTES || record_key_size(record) == sizeof(u64));
}

/* Calls fn with every marked place until it returns other than 0. Returns that, or 0. */
static int each_mark(struct lath_store *store, int (*fn)(struct lath_store *store, u64 place))
{
	u64 blocks = store->arena.reserved / BLOCK, b, i;
	int ret;

	for (b = 0; b < blocks; b++) {
		if (!store->arena.block[b])
			continue;
		/* a block without memory has no marks: its part of them is not read */
		for (i = b * MARKS_A_BLOCK; i < (b + 1) * MARKS_A_BLOCK; i++) {
			u64 marks = store->mark[i];

			for (; marks; marks &= marks - 1) {
				ret = fn(store, i << 9 | (u64)__ffs64(marks) << 3);
				if (ret)
					return ret;
			}
		}
	}
	return 0;
}

static int count_in_head(struct lath_store *store, u64 place)
{
	u32 first = head_of(&store->arena, place);

	if (!first || !record_fits(store, place))
		return -EBADMSG;
	LATH_ASSERT(first >= store->arena.first_unit && first < store->arena.fresh_unit);
	store->arena.unit[first].used++;
	return 0;
}

static int restore_records(struct lath_store *store)
{
	struct arena *arena = &store->arena;
	u32 fresh = arena->fresh_unit, hole = NO_UNIT, i;
	int ret;

	lath_arena_restart(arena, fresh);
	for (i = arena->first_unit; i < fresh; i++)
		arena->unit[i].used = 0;
	ret = each_mark(store, count_in_head);
	if (ret)
		return ret;
	runs_lock(arena);
	for (i = arena->first_unit; i < fresh; i += arena->unit[i].len) {
		if (!arena->unit[i].used) { /* no marked record begins here: a part of a hole */
			hole = hole ? hole : i;
			/* compaction looks at all units for slabs */
			arena->unit[i].kind = UNIT_NONE;
			arena->unit[i].len = 1;
			continue;
		}
		LATH_ASSERT(arena->unit[i].len && arena->unit[i].len <= fresh - i);
		if (hole)
			lath_run_link(arena, hole, i - hole);
		hole = NO_UNIT;
		/* `used` was counted above; the slab counts its slots again */
		if (arena->unit[i].kind == UNIT_SLAB)
			lath_slab_restore(arena, i, store->mark);
		else
			arena->large_bytes += (u64)arena->unit[i].len << UNIT_SHIFT;
	}
	if (hole)
		lath_run_link(arena, hole, fresh - hole);
	runs_unlock(arena);
	return 0;
}

static int restore_index(struct shm_head *head)
{
	const struct shm_own *own = (const void *)((char *)head - SHM_OWN);
	struct lath_store *store = &head->store;
	struct lath_config config = LATH_CONFIG_INIT;

	LATH_ASSERT(store->mark && head->index_id);
	/* whatever state it was in: all of it is made again from the records */
	memset(&store->numbers, 0, sizeof(store->numbers));
	memset(&store->set, 0, sizeof(store->set));
	lath_arena_restart(&store->index, store->index.first_unit);
	store->committed = store->arena.committed + store->index.committed;
	config.rcu = &own->rcu;
	config.flags = LATH_SHARED;
	config.allocator = &own->allocator;
	config.id = head->index_id;
	head->index_id += 1ull << 32; /* a set of byte keys may use as many */
	return lath_keys_init(store, &config, &own->records);
}

static int adopt(struct lath_store *store, u64 at)
{
	u64 word = place_word(at, WORD_RECORD);
	const struct record *record = word_record(store, word);
	struct lath_store_key key = lath_key_bytes(record_key(record), record_key_size(record));
	struct place place;
	u64 old;
	int ret;

	/* in shared memory a record of a number has it as its key */
	if (store->keys == LATH_STORE_NUMBERS) {
		key.data = NULL;
		memcpy(&key.n, record_key(record), sizeof(u64));
	}
	LATH_ASSERT(place_marked(store->mark, at));
	lath_place_find(store, key, &place);
	old = place.word;
	if (old) {
		if (lath_shm_fault == SHM_FAULT_KEEP_BOTH)
			return 0;
		/* M3: a change died between the two marks; of equal versions both have one value */
		if (word_record(store, old)->version >= record->version) {
			lath_value_drop(store, word);
			return 0;
		}
	}
	ret = lath_place_put(store, &place, word);
	if (!ret && old)
		lath_value_drop(store, old);
	else if (!ret)
		lath_keys_count(store, 1);
	return ret;
}

/* Rebuilds the inner store. Lock held, `dirty` set. 0 | -ENOMEM | -EBADMSG; may be called again */
static int recover(struct shm_head *head)
{
	struct lath_store *store = &head->store;
	int ret;

	LATH_ASSERT(head->dirty);
	head->generation++;
	if (lath_shm_fault == SHM_FAULT_CLEAN && head->generation > 1)
		return 0;
	/* the process that held these is dead */
	pthread_mutex_init(&store->evict_lock, NULL);
	lath_turn_init(&store->compact_turn);
	store->hand_number = store->hand_size = 0;
	/* no limit in the meantime: the index may become a little larger than it was */
	store->arena.limit = store->index.limit = 0;
	ret = lath_shm_fault == SHM_FAULT_OLD_SLABS ? 0 : restore_records(store);
	if (!ret)
		ret = restore_index(head);
	if (!ret)
		ret = each_mark(store, adopt);
	store->arena.limit = store->index.limit = head->limit;
	return ret;
}

/* ---- the lock ---- */

static LATH_TLS struct shm *inside;
static LATH_TLS unsigned int own_shard;

/* Runs the callbacks of what was retired. Lock held, no section open. */
static void reclaim(struct shm *shm)
{
	struct lath_rcu_head *head;

	LATH_ASSERT(inside == shm && !shm->own->readers);
	while ((head = shm->own->retired)) {
		shm->own->retired = head->next;
		head->func(head);
	}
}

int lath_shm_enter(struct shm *shm, bool write)
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
	own_shard = lath_arena_borrow_shard(0);
	shm->own->readers = 0; /* it may be another thread's, if this process was forked from it */
	shm->own->retired = NULL;
	if (unlikely(head->dirty)) {
		ret = recover(head);
		lath_arena_flush(&head->store.arena);
		reclaim(shm);
		if (ret) {
			lath_arena_borrow_shard(own_shard);
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

void lath_shm_leave(struct shm *shm)
{
	LATH_ASSERT(inside == shm && !shm->own->readers);
	lath_call_assert();
	if (shm->head->dirty) { /* a change: what it retired is freed before others come */
		lath_arena_flush(&shm->head->store.arena);
		reclaim(shm);
		/* after the change; read under the lock */
		smp_store_release(&shm->head->dirty, 0);
	}
	lath_arena_borrow_shard(own_shard);
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
		reclaim(inside);
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

void lath_shm_flavour(struct shm_own *own)
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
