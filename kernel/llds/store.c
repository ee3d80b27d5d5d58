/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * store.c - entries, trees, and changes of one key.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "store.h"

#define SCAN_MAX 16

static struct workqueue_struct *teardown;

/* ---- memory, counted against the store's limit ---- */

static int charge(struct llds_store *store, u64 bytes)
{
	if (atomic64_add_return(bytes, &store->bytes) <= READ_ONCE(store->limit))
		return 0;
	atomic64_sub(bytes, &store->bytes);
	return -ENOSPC;
}

static void uncharge(struct llds_store *store, u64 bytes)
{
	atomic64_sub(bytes, &store->bytes);
}

static size_t entry_cost(u32 size)
{
	size_t bytes = struct_size((struct llds_entry *)NULL, data, size);

	return bytes <= KMALLOC_MAX_CACHE_SIZE ? kmalloc_size_roundup(bytes) : PAGE_ALIGN(bytes);
}

struct llds_entry *llds_entry_new(struct llds_store *store, u32 size)
{
	struct llds_entry *entry;

	if (size > LLDS_VALUE_MAX)
		return ERR_PTR(-E2BIG);
	if (charge(store, entry_cost(size)))
		return ERR_PTR(-ENOSPC);
	entry = kvmalloc(struct_size(entry, data, size), LLDS_GFP);
	if (!entry) {
		uncharge(store, entry_cost(size));
		return ERR_PTR(-ENOMEM);
	}
	refcount_set(&entry->refs, 1);
	entry->size = size;
	entry->expires = 0;
	return entry;
}

/* Nobody else has seen it. */
void llds_entry_free(struct llds_store *store, struct llds_entry *entry)
{
	uncharge(store, entry_cost(entry->size));
	kvfree(entry);
}

/* Sleeps. Readers that look at the count of an entry they have just found may still be there. */
void llds_entry_put(struct llds_entry *entry)
{
	if (refcount_dec_and_test(&entry->refs))
		kvfree_rcu_mightsleep(entry);
}

/* It has left the index. */
static void entry_gone(struct llds_store *store, struct llds_entry *entry)
{
	uncharge(store, entry_cost(entry->size));
	llds_entry_put(entry);
}

bool llds_entry_seen(const struct llds_entry *entry)
{
	return likely(!entry->expires) || entry->expires > ktime_get_real_ns() / NSEC_PER_MSEC;
}

/*
 * Nodes are only asked for by tree_new and preloads: sleeping is allowed. The first block of a tree is
 * not refused, so that a full store can be cleared.
 */
static void *node_memory(void *ctx, size_t size, size_t align)
{
	struct llds_tree *tree = ctx;
	struct llds_store *store = tree->store;
	void *block;

	WRITE_ONCE(store->refused, false);
	if (!tree->begun) {
		tree->begun = true;
		atomic64_add(size, &store->bytes);
	} else if (charge(store, size)) {
		WRITE_ONCE(store->refused, true);
		return NULL;
	}
	block = kvmalloc(size, LLDS_GFP);
	if (block)
		atomic64_add(size, &store->index_bytes);
	else
		uncharge(store, size);
	return block;
}

static void node_memory_free(void *ctx, void *block, size_t size)
{
	struct llds_store *store = ((struct llds_tree *)ctx)->store;

	kvfree(block);
	atomic64_sub(size, &store->index_bytes);
	uncharge(store, size);
	cond_resched();
}

/* ---- trees and stores ---- */

static void store_unref(struct llds_store *store)
{
	if (refcount_dec_and_test(&store->refs))
		kfree(store);
}

static void drop_item(void *arg, const struct lath_item *item)
{
	entry_gone(arg, (struct llds_entry *)(uintptr_t)item->value);
	cond_resched();
}

/* No reader has the tree any more. */
static void tree_work(struct work_struct *work)
{
	struct llds_tree *tree = container_of(to_rcu_work(work), struct llds_tree, work);

	lath_skiplist_fini(&tree->list, drop_item, tree->store);
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
	struct llds_tree *tree = kzalloc(sizeof(*tree), LLDS_GFP);
	const struct lath_allocator allocator = { node_memory, node_memory_free, tree };
	struct lath_config config = LATH_CONFIG_INIT;

	if (!tree)
		return NULL;
	tree->store = store;
	config.layout = LATH_POINTS;
	config.allocator = &allocator;
	if (lath_skiplist_init(&tree->list, &config)) {
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
	store->limit = limit;
	refcount_set(&store->users, 1);
	refcount_set(&store->refs, 1);
	mutex_init(&store->clear_lock);
	INIT_LIST_HEAD(&store->link);
	tree = tree_new(store);
	if (!tree) {
		kfree(store);
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
	struct llds_tree *fresh = tree_new(store), *old;

	if (!fresh)
		return -ENOMEM;
	mutex_lock(&store->clear_lock);
	old = rcu_replace_pointer(store->tree, fresh, lockdep_is_held(&store->clear_lock));
	mutex_unlock(&store->clear_lock);
	tree_put(old);
	return 0;
}

/* ---- reading ---- */

static struct llds_entry *entry_at(struct llds_tree *tree, u64 key)
{
	u64 value;

	return lath_skiplist_get(&tree->list, key, &value) ? (struct llds_entry *)(uintptr_t)value : NULL;
}

struct llds_entry *llds_find(struct llds_store *store, u64 key)
{
	struct llds_entry *entry;

	rcu_read_lock();
	do {
		entry = entry_at(rcu_dereference(store->tree), key);
		if (entry && !llds_entry_seen(entry))
			entry = NULL;
		/* a count of 0: it left the index meanwhile, look again */
	} while (entry && !refcount_inc_not_zero(&entry->refs));
	rcu_read_unlock();
	return entry;
}

void llds_find_batch(struct llds_store *store, unsigned int n, const u64 *keys, struct llds_entry **found)
{
	u64 value[SCAN_MAX];
	u8 hit[SCAN_MAX];
	unsigned int i;

	rcu_read_lock();
	lath_skiplist_get_batch(&rcu_dereference(store->tree)->list, n, keys, value, hit);
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

unsigned int llds_scan(struct llds_store *store, u64 from, u64 last, bool backward, unsigned int max,
		       u64 *keys, struct llds_entry **found, u64 *next, bool *more)
{
	struct lath_item items[SCAN_MAX];
	struct llds_tree *tree;
	unsigned int i, n = 0;
	size_t got;

	max = min_t(unsigned int, max, SCAN_MAX);
	rcu_read_lock();
	tree = rcu_dereference(store->tree);
	if (backward)
		got = lath_skiplist_scan_back(&tree->list, from, last, items, max, next);
	else
		got = lath_skiplist_scan(&tree->list, from, last, items, max, next);
	for (i = 0; i < got; i++) {
		struct llds_entry *entry = (struct llds_entry *)(uintptr_t)items[i].value;

		if (!llds_entry_seen(entry) || !refcount_inc_not_zero(&entry->refs))
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

/* May the key change from what it is? old: what can be seen, or NULL. */
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

/* A tree held, with nodes for an insert that splits. */
struct bring {
	struct llds_tree *tree;
	struct lath_preload nodes;
};

static void bring_end(struct bring *bring)
{
	if (!bring->tree)
		return;
	lath_skiplist_preload_release(&bring->tree->list, &bring->nodes);
	tree_put(bring->tree);
	bring->tree = NULL;
}

/* Not inside a reader. */
static int bring_nodes(struct llds_store *store, struct bring *bring)
{
	if (!bring->tree) {
		rcu_read_lock();
		do
			bring->tree = rcu_dereference(store->tree);
		while (!refcount_inc_not_zero(&bring->tree->refs));
		rcu_read_unlock();
	}
	if (!lath_skiplist_preload(&bring->tree->list, &bring->nodes))
		return 0;
	return READ_ONCE(store->refused) ? -ENOSPC : -ENOMEM;
}

#define AGAIN 1 /* somebody else was faster */
#define NODES 2 /* an insert needs nodes */

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
		ret = lath_skiplist_erase_if(&tree->list, op->key, (uintptr_t)*old, NULL);
		if (!ret)
			atomic64_dec(&tree->items);
		return ret ? AGAIN : 0;
	}
	if (op->flags & LLDS_KEEP_EXPIRES)
		op->new->expires = seen ? seen->expires : 0;
	op->new_version = op->new->version = atomic64_inc_return(&tree->store->version);
	if (*old)
		return lath_skiplist_replace_if(&tree->list, op->key, (uintptr_t)*old, item.value, NULL)
			       ? AGAIN
			       : 0;
	ret = lath_skiplist_insert_preloaded(&tree->list, &item, nodes, NULL);
	if (!ret)
		atomic64_inc(&tree->items);
	return ret == -EEXIST ? AGAIN : ret == -EAGAIN ? NODES : ret;
}

int llds_change(struct llds_store *store, struct llds_op *op)
{
	struct bring bring = { NULL };
	struct llds_entry *old;
	int ret;

	for (;;) {
		struct llds_tree *tree;

		rcu_read_lock();
		tree = rcu_dereference(store->tree);
		if (bring.tree && bring.tree != tree) { /* cleared meanwhile */
			rcu_read_unlock();
			bring_end(&bring);
			continue;
		}
		ret = try_change(tree, op, &bring.nodes, &old);
		rcu_read_unlock();
		if (ret == NODES)
			ret = bring_nodes(store, &bring) ?: AGAIN;
		if (ret != AGAIN)
			break;
		cond_resched();
	}
	bring_end(&bring);
	if (ret)
		return ret;
	if (old)
		entry_gone(store, old);
	return 0;
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

/* Trees of stores that were closed are freed before the module goes. */
void llds_store_exit(void)
{
	rcu_barrier(); /* queue_rcu_work */
	destroy_workqueue(teardown);
}
