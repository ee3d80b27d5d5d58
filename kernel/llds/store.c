/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * store.c - entries, trees, and changes of one key; room at the limit.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "store.h"

#define SCAN_MAX 16
/* At the limit, while others change the store: how often to look for room. */
#define ROOM_TRIES 4

static struct workqueue_struct *teardown;
static atomic_t stores = ATOMIC_INIT(0);

static void note_expires(struct llds_store *store, u64 expires);
/* Called when a set hits the limit: removes expired entries and waits until retired ones are freed.
 * Returns whether there were any. Sleeps. */
static bool make_room(struct llds_store *store);

static void store_unref(struct llds_store *store)
{
	if (!refcount_dec_and_test(&store->refs))
		return;
	llds_memory_end(store);
	kfree(store);
	atomic_dec(&stores);
}

/* ---- retired entries: freed after a grace period ---- */

static void bury(struct llds_store *store)
{
	if (test_and_set_bit(0, &store->burying))
		return; /* the work that runs takes the new entries too */
	refcount_inc(&store->refs);
	store->waiting = llist_del_all(&store->buried);
	queue_rcu_work(teardown, &store->burial);
}

/* A grace period has passed: no reader can look at the counts of the entries in `waiting` any more.
 * Frees them, and starts another round for the entries retired since. */
static void burial_work(struct work_struct *work)
{
	struct llds_store *store = container_of(to_rcu_work(work), struct llds_store, burial);
	struct llist_node *node, *next;

	for (node = store->waiting; node; node = next) {
		next = node->next;
		llds_entry_free(store, llist_entry(node, struct llds_entry, buried));
		cond_resched();
	}
	store->waiting = llist_del_all(&store->buried);
	if (store->waiting) {
		queue_rcu_work(teardown, &store->burial);
		return;
	}
	clear_bit_unlock(0, &store->burying);
	/* An entry whose retirer saw the bit set is seen by the following load. */
	smp_mb__after_atomic();
	if (!llist_empty(&store->buried))
		bury(store);
	store_unref(store);
}

/* ---- entries ---- */

static u64 now(void)
{
	return ktime_get_real_ns() / NSEC_PER_MSEC;
}

bool llds_entry_seen(const struct llds_entry *entry)
{
	return likely(!entry->expires) || entry->expires > now();
}

static size_t entry_bytes(u32 size)
{
	return max(offsetof(struct llds_entry, data) + size, sizeof(struct llds_entry));
}

struct llds_entry *llds_entry_new(struct llds_store *store, u32 size)
{
	struct llds_entry *entry;
	unsigned int tries = ROOM_TRIES;

	if (size > LLDS_VALUE_MAX)
		return ERR_PTR(-E2BIG);
	do
		entry = llds_memory_new(store, entry_bytes(size));
	while (entry == ERR_PTR(-ENOSPC) && tries-- && make_room(store));
	if (IS_ERR(entry))
		return entry;
	refcount_set(&entry->refs, 1);
	entry->size = size;
	entry->expires = 0;
	return entry;
}

/* Frees an entry that no other thread can see. */
void llds_entry_free(struct llds_store *store, struct llds_entry *entry)
{
	llds_memory_free(store, entry, entry_bytes(entry->size));
}

/* Puts an entry. The last put retires it, because readers may still look at its count. */
void llds_entry_put(struct llds_store *store, struct llds_entry *entry)
{
	if (!refcount_dec_and_test(&entry->refs))
		return;
	llist_add(&entry->buried, &store->buried);
	bury(store);
}

/* Called by tree_new and by preloads only, so it may sleep. The first block of a tree is never
 * refused, so that a full store can be cleared. */
static void *node_memory(void *ctx, size_t size, size_t align)
{
	struct llds_tree *tree = ctx;
	struct llds_store *store = tree->store;
	void *block = llds_pages_new(store, size, !tree->begun);

	tree->begun = true;
	WRITE_ONCE(store->refused, block == ERR_PTR(-ENOSPC));
	if (IS_ERR(block))
		return NULL;
	atomic64_add(size, &store->index_bytes);
	return block;
}

static void node_memory_free(void *ctx, void *block, size_t size)
{
	struct llds_store *store = ((struct llds_tree *)ctx)->store;

	atomic64_sub(size, &store->index_bytes);
	llds_pages_free(store, block, size);
	cond_resched();
}

/* ---- trees and stores ---- */

static void drop_item(void *arg, const struct lath_item *item)
{
	struct llds_entry *entry = (struct llds_entry *)(uintptr_t)item->value;

	/* no reader can see it any more, but a caller may hold it */
	if (refcount_dec_and_test(&entry->refs))
		llds_entry_free(arg, entry);
	cond_resched();
}

/* A grace period after the last put: no reader has the tree any more. Frees it and its entries. */
static void tree_work(struct work_struct *work)
{
	struct llds_tree *tree = container_of(to_rcu_work(work), struct llds_tree, work);

	lath_index_fini(&tree->list, drop_item, tree->store);
	store_unref(tree->store);
	kfree(tree);
}

static void tree_put(struct llds_tree *tree)
{
	if (refcount_dec_and_test(&tree->refs))
		queue_rcu_work(teardown, &tree->work);
}

static struct llds_tree *tree_new(struct llds_store *store)
{
	/* a power of two, so that kmalloc aligns the index in it */
	struct llds_tree *tree = kzalloc(roundup_pow_of_two(sizeof(*tree)), LLDS_GFP);
	const struct lath_allocator allocator = { node_memory, node_memory_free, tree };
	struct lath_config config = LATH_CONFIG_INIT;

	if (!tree)
		return NULL;
	tree->store = store;
	config.layout = LATH_POINTS;
	config.allocator = &allocator;
	if (lath_index_init(&tree->list, &config)) {
		kfree(tree);
		return NULL;
	}
	refcount_inc(&store->refs);
	refcount_set(&tree->refs, 1);
	INIT_RCU_WORK(&tree->work, tree_work);
	return tree;
}

struct llds_store *llds_store_new(u64 limit)
{
	struct llds_store *store = kzalloc(sizeof(*store), LLDS_GFP);
	struct llds_tree *tree;

	if (!store)
		return NULL;
	atomic_inc(&stores);
	store->limit = limit;
	refcount_set(&store->users, 1);
	refcount_set(&store->refs, 1);
	mutex_init(&store->sweep_lock);
	init_llist_head(&store->buried);
	INIT_RCU_WORK(&store->burial, burial_work);
	store->first_expires = ~0ull;
	INIT_LIST_HEAD(&store->link);
	llds_memory_init(store);
	tree = tree_new(store);
	if (!tree) {
		store_unref(store);
		return NULL;
	}
	RCU_INIT_POINTER(store->tree, tree);
	return store;
}

void llds_store_get(struct llds_store *store)
{
	refcount_inc(&store->users);
}

void llds_store_put(struct llds_store *store)
{
	if (!refcount_dec_and_test(&store->users))
		return;
	tree_put(rcu_replace_pointer(store->tree, NULL, true));
	store_unref(store);
}

int llds_clear(struct llds_store *store)
{
	struct llds_tree *fresh = tree_new(store);

	if (!fresh)
		return -ENOMEM;
	tree_put(unrcu_pointer(
		xchg(&store->tree, RCU_INITIALIZER(fresh)))); /* two clears may run concurrently */
	return 0;
}

/* ---- reading ---- */

static struct llds_entry *entry_at(struct llds_tree *tree, u64 key)
{
	u64 value;

	return lath_index_get(&tree->list, key, &value) ? (struct llds_entry *)(uintptr_t)value
							: NULL;
}

struct llds_entry *llds_find(struct llds_store *store, u64 key)
{
	struct llds_entry *entry;

	rcu_read_lock();
	do {
		entry = entry_at(rcu_dereference(store->tree), key);
		if (entry && !llds_entry_seen(entry))
			entry = NULL;
		/* a count of 0: it has left the index meanwhile, look again */
	} while (entry && !refcount_inc_not_zero(&entry->refs));
	rcu_read_unlock();
	return entry;
}

void llds_find_batch(struct llds_store *store, unsigned int n, const u64 *keys,
		     struct llds_entry **found)
{
	u64 value[SCAN_MAX];
	u8 hit[SCAN_MAX];
	unsigned int i;

	rcu_read_lock();
	lath_index_get_batch(&rcu_dereference(store->tree)->list, n, keys, value, hit);
	for (i = 0; i < n; i++) {
		found[i] = hit[i] ? (struct llds_entry *)(uintptr_t)value[i] : NULL;
		if (!found[i])
			continue;
		if (!llds_entry_seen(found[i]))
			found[i] = NULL;
		else if (!refcount_inc_not_zero(&found[i]->refs))
			found[i] = llds_find(store, keys[i]);
	}
	rcu_read_unlock();
}

unsigned int llds_scan(struct llds_store *store, u64 from, u64 last, bool backward,
		       unsigned int max, u64 *keys, struct llds_entry **found, u64 *next,
		       bool *more)
{
	struct lath_item items[SCAN_MAX];
	struct llds_tree *tree;
	unsigned int i, n = 0;
	size_t got;

	max = min_t(unsigned int, max, SCAN_MAX);
	rcu_read_lock();
	tree = rcu_dereference(store->tree);
	if (backward)
		got = lath_index_scan_back(&tree->list, from, last, items, max, next);
	else
		got = lath_index_scan(&tree->list, from, last, items, max, next);
	for (i = 0; i < got; i++) {
		struct llds_entry *entry = (struct llds_entry *)(uintptr_t)items[i].value;

		if (!llds_entry_seen(entry))
			continue;
		if (!refcount_inc_not_zero(&entry->refs)) /* replaced or deleted meanwhile */
			entry = llds_find(store, items[i].key);
		if (!entry)
			continue;
		keys[n] = items[i].key;
		found[n++] = entry;
	}
	rcu_read_unlock();
	*more = got == max;
	if (*more) {
		u64 end = items[got - 1].key;

		*more = backward ? end > last : end < last;
		*next = backward ? end - 1 : end + 1;
	}
	return n;
}

/* ---- changing one key ---- */

/* Returns whether the operation is allowed on the visible entry `old` (NULL: none): 0 | -EEXIST |
 * -ENOENT | -EAGAIN */
static int may_change(const struct llds_op *op, const struct llds_entry *old)
{
	if (op->flags & LLDS_ADD && old)
		return -EEXIST;
	if (!old && (op->flags & (LLDS_REPLACE | LLDS_IF_VERSION) || !op->new))
		return -ENOENT;
	if (op->flags & LLDS_IF_VERSION && old->version != op->version)
		return -EAGAIN;
	return 0;
}

/* A held tree, and nodes for an insert that splits a leaf. */
struct bring {
	struct llds_tree *tree;
	struct lath_preload nodes;
};

static void bring_end(struct bring *bring)
{
	if (!bring->tree)
		return;
	lath_index_preload_release(&bring->tree->list, &bring->nodes);
	tree_put(bring->tree);
	bring->tree = NULL;
}

/* Holds the tree and preloads nodes. Not in a read-side critical section. 0 | -ENOSPC | -ENOMEM */
static int bring_nodes(struct llds_store *store, struct bring *bring)
{
	if (!bring->tree) {
		rcu_read_lock();
		do
			bring->tree = rcu_dereference(store->tree);
		while (!refcount_inc_not_zero(&bring->tree->refs));
		rcu_read_unlock();
	}
	if (!lath_index_preload(&bring->tree->list, &bring->nodes))
		return 0;
	return READ_ONCE(store->refused) ? -ENOSPC : -ENOMEM;
}

#define AGAIN 1 /* another thread has changed the key meanwhile */
#define NODES 2 /* the insert needs preloaded nodes */

static int try_change(struct llds_tree *tree, struct llds_op *op, struct lath_preload *nodes,
		      struct llds_entry **old)
{
	struct lath_item item = { op->key, 1, (uintptr_t)op->new };
	const struct llds_entry *seen;
	int ret;

	*old = entry_at(tree, op->key);
	seen = *old && llds_entry_seen(*old) ? *old : NULL;
	ret = may_change(op, seen);
	if (ret) {
		*old = NULL;
		return ret;
	}
	if (!op->new) {
		ret = lath_index_erase_if(&tree->list, op->key, (uintptr_t)*old, NULL);
		if (!ret)
			atomic64_dec(&tree->items);
		return ret ? AGAIN : 0;
	}
	if (op->flags & LLDS_KEEP_EXPIRES)
		op->new->expires = seen ? seen->expires : 0;
	note_expires(tree->store, op->new->expires);
	op->new_version = op->new->version = atomic64_inc_return(&tree->store->version);
	if (*old)
		return lath_index_replace_if(&tree->list, op->key, (uintptr_t)*old, item.value,
					     NULL)
			       ? AGAIN
			       : 0;
	ret = lath_index_insert_preloaded(&tree->list, &item, nodes, NULL);
	if (!ret)
		atomic64_inc(&tree->items);
	return ret == -EEXIST ? AGAIN : ret == -EAGAIN ? NODES : ret;
}

int llds_change(struct llds_store *store, struct llds_op *op)
{
	struct bring bring = { NULL };
	unsigned int tries = ROOM_TRIES;
	struct llds_entry *old;
	int ret;

	for (;;) {
		struct llds_tree *tree;

		rcu_read_lock();
		tree = rcu_dereference(store->tree);
		if (bring.tree && bring.tree != tree) { /* the store was cleared meanwhile */
			rcu_read_unlock();
			bring_end(&bring);
			continue;
		}
		ret = try_change(tree, op, &bring.nodes, &old);
		rcu_read_unlock();
		if (ret == NODES) {
			ret = bring_nodes(store, &bring) ?: AGAIN;
			if (ret == -ENOSPC && tries-- && make_room(store))
				ret = AGAIN;
		}
		if (ret != AGAIN)
			break;
		cond_resched();
	}
	bring_end(&bring);
	if (ret)
		return ret;
	if (old)
		llds_entry_put(store, old);
	return 0;
}

/* ---- room at the limit ---- */

static void note_expires(struct llds_store *store, u64 expires)
{
	u64 first = READ_ONCE(store->first_expires);

	while (expires && expires < first && !try_cmpxchg64(&store->first_expires, &first, expires))
		;
}

/* Deletes expired entries among the next SCAN_MAX from `from` on. Returns the key to continue from,
 * or 0 at the end. */
static u64 sweep_some(struct llds_store *store, u64 from, bool *found)
{
	struct lath_item items[SCAN_MAX];
	struct llds_entry *dead[SCAN_MAX];
	struct llds_tree *tree;
	unsigned int i, n = 0;
	size_t got;
	u64 next;

	rcu_read_lock();
	tree = rcu_dereference(store->tree);
	got = lath_index_scan(&tree->list, from, ~0ull, items, SCAN_MAX, &next);
	for (i = 0; i < got; i++) {
		struct llds_entry *entry = (struct llds_entry *)(uintptr_t)items[i].value;

		if (llds_entry_seen(entry)) {
			note_expires(store, entry->expires);
		} else if (!lath_index_erase_if(&tree->list, items[i].key, items[i].value, NULL)) {
			atomic64_dec(&tree->items);
			dead[n++] = entry;
		}
	}
	rcu_read_unlock();
	*found |= n;
	while (n)
		llds_entry_put(store, dead[--n]);
	return got == SCAN_MAX ? items[got - 1].key + 1 : 0;
}

static bool sweep(struct llds_store *store)
{
	bool found = false;
	u64 from = 0;

	if (READ_ONCE(store->first_expires) > now() || !mutex_trylock(&store->sweep_lock))
		return false;
	WRITE_ONCE(store->first_expires, ~0ull);
	do {
		cond_resched();
		from = sweep_some(store, from, &found);
	} while (from && !fatal_signal_pending(current));
	if (from)
		note_expires(store, 1);
	mutex_unlock(&store->sweep_lock);
	return found;
}

static bool make_room(struct llds_store *store)
{
	bool found = sweep(store);

	if (!found && !test_bit(0, &store->burying))
		return false;
	/* one round for the entries in `waiting`, one for those retired after it began */
	flush_rcu_work(&store->burial);
	flush_rcu_work(&store->burial);
	return !fatal_signal_pending(current);
}

void llds_fill_stats(struct llds_store *store, struct llds_stats *stats)
{
	rcu_read_lock();
	stats->items = atomic64_read(&rcu_dereference(store->tree)->items);
	rcu_read_unlock();
	stats->bytes = atomic64_read(&store->bytes);
	stats->limit = READ_ONCE(store->limit);
	stats->index_bytes = atomic64_read(&store->index_bytes);
	stats->named = READ_ONCE(store->named);
}

int llds_store_init(void)
{
	teardown = alloc_workqueue("llds", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return teardown ? 0 : -ENOMEM;
}

/* Waits until all closed stores are freed: their works queue each other through RCU. */
void llds_store_exit(void)
{
	while (atomic_read(&stores)) {
		rcu_barrier();
		flush_workqueue(teardown);
	}
	destroy_workqueue(teardown);
}
