/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * skiplist_test.ko - the module test of the 2013 skiplist patches ("Skiplists II: API and
 * benchmarks", LWN, June 2013), with the same parameters and the kernel's own trees for comparison.
 *
 *     insmod skiplist_test.ko items=100000 rounds=100000 threads=4 benchmark=1
 *
 * benchmark: 1 skiplist-rcu, 2 skiplist-locking (a lookup locks its leaf), 3 rbtree under one
 * spinlock, 4 maple tree.
 *
 * The first thread fills in `items` extents of 4096 bytes, in order. Then each thread runs `rounds`
 * rounds. It draws a random number: if it is even, it looks one extent up; if it is divisible by 3,
 * it erases up to 128 of the extents that follow, one by one, and inserts them again one by one.
 * The last thread to finish looks all extents up (check), then erases and frees all, alternately
 * from the front and from the back (delete).
 *
 * At the end one thread inserts `keys` random 64-bit keys into a new index and looks them up,
 * singly and in batches. Results: the kernel's log, and /sys/kernel/debug/skiplist_test while the
 * module is loaded.
 */
#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/maple_tree.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/rbtree.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "lathwork/cursor.h"

#define EXTENT_SIZE 4096
#define POP_TRIES 256
#define POP_MAX 128
#define BATCH 64

enum subject { SKIPLIST_RCU = 1, SKIPLIST_LOCKING, RBTREE, MAPLE, SUBJECTS };

static const char *const names[SUBJECTS] = { NULL, "skiplist-rcu", "skiplist-locking", "rbtree",
					     "maple" };

static int items = 100000;
static int rounds = 100000;
static int threads = 4;
static int benchmark = SKIPLIST_RCU;
static int keys;
module_param(items, int, 0444);
MODULE_PARM_DESC(items, "extents in the index");
module_param(rounds, int, 0444);
MODULE_PARM_DESC(rounds, "rounds of each thread");
module_param(threads, int, 0444);
MODULE_PARM_DESC(threads, "threads that run them");
module_param(benchmark, int, 0444);
MODULE_PARM_DESC(benchmark, "1 skiplist-rcu, 2 skiplist-locking, 3 rbtree, 4 maple");
module_param(keys, int, 0444);
MODULE_PARM_DESC(keys, "random keys inserted and looked up afterwards; 0: none");

struct extent {
	struct lath_slot slot;
	struct rb_node rb;
	struct rcu_head rcu;
};

static struct lath_index list;
static struct rb_root tree = RB_ROOT;
static DEFINE_SPINLOCK(tree_lock);
static struct maple_tree maple;
static struct kmem_cache *extents;

/* ---- one interface for the four structures ---- */

static int index_init(enum lath_layout layout)
{
	struct lath_config config = LATH_CONFIG_INIT;

	config.layout = layout;
	if (benchmark <= SKIPLIST_LOCKING)
		return lath_index_init(&list, &config);
	tree = RB_ROOT;
	mt_init_flags(&maple, 0);
	return 0;
}

/* Frees the structure. It must be empty, or its items are freed elsewhere. */
static void index_fini(void)
{
	if (benchmark <= SKIPLIST_LOCKING)
		lath_index_fini(&list, NULL, NULL);
	else if (benchmark == MAPLE)
		mtree_destroy(&maple);
}

static struct extent *tree_find(u64 point)
{
	struct rb_node *rb = tree.rb_node;

	while (rb) {
		struct extent *e = rb_entry(rb, struct extent, rb);

		if (point < e->slot.key)
			rb = rb->rb_left;
		else if (point - e->slot.key >= e->slot.size)
			rb = rb->rb_right;
		else
			return e;
	}
	return NULL;
}

static int tree_insert(struct extent *new)
{
	struct rb_node **link = &tree.rb_node, *parent = NULL;

	while (*link) {
		struct extent *e = rb_entry(*link, struct extent, rb);

		parent = *link;
		if (new->slot.key + new->slot.size <= e->slot.key)
			link = &parent->rb_left;
		else if (new->slot.key >= e->slot.key + e->slot.size)
			link = &parent->rb_right;
		else
			return -EEXIST;
	}
	rb_link_node(&new->rb, parent, link);
	rb_insert_color(&new->rb, &tree);
	return 0;
}

static int index_insert(struct extent *e)
{
	int ret;

	switch (benchmark) {
	case SKIPLIST_RCU:
	case SKIPLIST_LOCKING:
		return lath_index_insert(&list, &e->slot, NULL);
	case RBTREE:
		spin_lock(&tree_lock);
		ret = tree_insert(e);
		spin_unlock(&tree_lock);
		return ret;
	default:
		return mtree_insert_range(&maple, e->slot.key, e->slot.key + e->slot.size - 1, e,
					  GFP_KERNEL);
	}
}

static struct extent *index_erase(u64 point)
{
	struct lath_slot *slot;
	struct extent *e;

	switch (benchmark) {
	case SKIPLIST_RCU:
	case SKIPLIST_LOCKING:
		slot = lath_index_erase_at(&list, point);
		return slot ? container_of(slot, struct extent, slot) : NULL;
	case RBTREE:
		spin_lock(&tree_lock);
		e = tree_find(point);
		if (e)
			rb_erase(&e->rb, &tree);
		spin_unlock(&tree_lock);
		return e;
	default:
		return mtree_erase(&maple, point);
	}
}

static bool locked_lookup(u64 point)
{
	struct lath_cursor cursor;
	struct lath_item item;
	bool hit;

	lath_cursor_init(&cursor, &list);
	if (lath_cursor_lock(&cursor, point, NULL, NULL))
		return false;
	hit = lath_cursor_locked_floor(&cursor, point, &item) && point - item.key < item.size;
	lath_cursor_unlock(&cursor);
	return hit;
}

/* In this mode the maple tree frees nodes without a grace period: a reader takes its lock too. */
static bool maple_lookup(u64 point)
{
	MA_STATE(mas, &maple, point, point);
	bool hit;

	mtree_lock(&maple);
	hit = mas_walk(&mas);
	mtree_unlock(&maple);
	return hit;
}

static bool index_lookup(u64 point)
{
	u64 value;
	bool hit;

	switch (benchmark) {
	case SKIPLIST_RCU:
		return lath_index_get(&list, point, &value);
	case SKIPLIST_LOCKING:
		return locked_lookup(point);
	case RBTREE:
		spin_lock(&tree_lock);
		hit = tree_find(point);
		spin_unlock(&tree_lock);
		return hit;
	default:
		return maple_lookup(point);
	}
}

/* ---- the phases ---- */

enum phase { FILL, CHECK, DELETE, THREAD, RANDOM_INSERT, RANDOM_LOOKUP, RANDOM_BATCH, PHASES };

static u64 nanoseconds[PHASES];
static atomic64_t thread_time, errors, lookups, hits, pops, victims;
static atomic_t running;
static DECLARE_COMPLETION(filled);
static DECLARE_COMPLETION(finished);

static void count_error(bool wrong)
{
	if (wrong)
		atomic64_inc(&errors);
}

static void fill(void)
{
	u64 start = ktime_get_ns();
	int i;

	for (i = 0; i < items; i++) {
		struct extent *e = kmem_cache_zalloc(extents, GFP_KERNEL);

		if (!e) {
			count_error(true);
			continue;
		}
		e->slot.key = (u64)i * EXTENT_SIZE;
		e->slot.size = EXTENT_SIZE;
		if (index_insert(e)) {
			count_error(true);
			kmem_cache_free(extents, e);
		}
		if (!(i & 1023))
			cond_resched();
	}
	nanoseconds[FILL] = ktime_get_ns() - start;
}

static void pop(u64 key)
{
	struct extent **out = kcalloc(POP_MAX, sizeof(*out), GFP_KERNEL);
	int limit = min(POP_MAX, items / 2), count = 0, i;

	if (!out) {
		count_error(true);
		return;
	}
	for (i = 1; i <= POP_TRIES && count < limit; i++) {
		out[count] = index_erase(key + (u64)i * EXTENT_SIZE);
		if (out[count])
			count++;
	}
	for (i = 0; i < count; i++)
		count_error(index_insert(out[i]));
	kfree(out);
	atomic64_inc(&pops);
	atomic64_add(count, &victims);
}

static void check(void)
{
	u64 start = ktime_get_ns();
	int i;

	for (i = 0; i < items; i++)
		count_error(!index_lookup((u64)i * EXTENT_SIZE + 64));
	nanoseconds[CHECK] = ktime_get_ns() - start;
}

static void take_out(int i)
{
	struct extent *e = index_erase((u64)i * EXTENT_SIZE);

	count_error(!e);
	if (e)
		kmem_cache_free(extents, e);
}

static void delete_all(void)
{
	u64 start = ktime_get_ns();
	int i;

	for (i = 0; i < (items + 1) / 2; i++) {
		take_out(i);
		if (items - 1 - i != i)
			take_out(items - 1 - i);
		if (!(i & 1023))
			cond_resched();
	}
	nanoseconds[DELETE] = ktime_get_ns() - start;
}

static int test_thread(void *arg)
{
	struct rnd_state state;
	u64 start;
	int r;

	if (!arg) {
		fill();
		complete_all(&filled);
	}
	wait_for_completion(&filled);
	prandom_seed_state(&state, 1 + (unsigned long)arg);
	start = ktime_get_ns();
	for (r = 0; r < rounds; r++) {
		u32 op = prandom_u32_state(&state);
		u64 key = (u64)(op % items) * EXTENT_SIZE;

		if (op % 2 == 0) {
			atomic64_inc(&lookups);
			if (index_lookup(key))
				atomic64_inc(&hits);
		}
		if (op % 3 == 0)
			pop(key);
		cond_resched();
	}
	atomic64_add(ktime_get_ns() - start, &thread_time);
	if (atomic_dec_and_test(&running)) {
		check();
		delete_all();
		complete(&finished);
	}
	return 0;
}

/* ---- random keys ---- */

/* splitmix64 by Vigna, without the top bit: the maple tree reserves the last keys */
static u64 random_key(u64 i)
{
	i += 0x9e3779b97f4a7c15ull;
	i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9ull;
	i = (i ^ (i >> 27)) * 0x94d049bb133111ebull;
	return (i ^ (i >> 31)) >> 1;
}

/* in another order than the inserts; the factor is a prime */
static u64 nth_key(u32 i)
{
	return random_key((u64)i * 2654435761u % keys);
}

static void random_lookups(void)
{
	u64 start = ktime_get_ns();
	int i;

	for (i = 0; i < keys; i++)
		count_error(!index_lookup(nth_key(i)));
	nanoseconds[RANDOM_LOOKUP] = ktime_get_ns() - start;
}

static void random_batches(void)
{
	static u64 points[BATCH], values[BATCH];
	static u8 there[BATCH];
	u64 start = ktime_get_ns();
	int i, j, n;

	for (i = 0; i < keys; i += n) {
		n = min(BATCH, keys - i);
		for (j = 0; j < n; j++)
			points[j] = nth_key(i + j);
		count_error(lath_index_get_batch(&list, n, points, values, there) != (size_t)n);
	}
	nanoseconds[RANDOM_BATCH] = ktime_get_ns() - start;
}

static int random_phase(void)
{
	struct extent *all = vzalloc(array_size(keys, sizeof(*all)));
	u64 start;
	int i, ret;

	if (!all)
		return -ENOMEM;
	ret = index_init(LATH_POINTS);
	if (ret)
		goto out;
	for (i = 0; i < keys; i++) {
		all[i].slot.key = random_key(i);
		all[i].slot.size = 1;
	}
	start = ktime_get_ns();
	for (i = 0; i < keys; i++)
		count_error(index_insert(&all[i]));
	nanoseconds[RANDOM_INSERT] = ktime_get_ns() - start;
	cond_resched();
	random_lookups();
	if (benchmark <= SKIPLIST_LOCKING)
		random_batches();
	index_fini();
out:
	vfree(all);
	return ret;
}

/* ---- results ---- */

static int results_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "benchmark %s items %d rounds %d threads %d\n", names[benchmark], items,
		   rounds, threads);
	seq_printf(m, "fill_us %llu check_us %llu delete_us %llu thread_us %llu\n",
		   nanoseconds[FILL] / 1000, nanoseconds[CHECK] / 1000, nanoseconds[DELETE] / 1000,
		   nanoseconds[THREAD] / 1000);
	seq_printf(m, "lookups %lld hits %lld pops %lld victims %lld errors %lld\n",
		   atomic64_read(&lookups), atomic64_read(&hits), atomic64_read(&pops),
		   atomic64_read(&victims), atomic64_read(&errors));
	if (keys)
		seq_printf(m, "keys %d insert_ns %llu lookup_ns %llu batch_ns %llu\n", keys,
			   nanoseconds[RANDOM_INSERT] / keys, nanoseconds[RANDOM_LOOKUP] / keys,
			   nanoseconds[RANDOM_BATCH] / keys);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(results);

static struct dentry *results_file;

static void log_results(void)
{
	pr_info("skiplist_test: %s items %d rounds %d threads %d: fill %llu us check %llu us "
		"delete %llu us "
		"thread %llu us; %lld errors\n",
		names[benchmark], items, rounds, threads, nanoseconds[FILL] / 1000,
		nanoseconds[CHECK] / 1000, nanoseconds[DELETE] / 1000, nanoseconds[THREAD] / 1000,
		atomic64_read(&errors));
	if (keys)
		pr_info("skiplist_test: %s keys %d: insert %llu ns lookup %llu ns batch %llu ns\n",
			names[benchmark], keys, nanoseconds[RANDOM_INSERT] / keys,
			nanoseconds[RANDOM_LOOKUP] / keys, nanoseconds[RANDOM_BATCH] / keys);
}

static int run_threads(void)
{
	struct task_struct **task = kcalloc(threads, sizeof(*task), GFP_KERNEL);
	int i, ret = 0;

	if (!task)
		return -ENOMEM;
	for (i = 0; i < threads && !ret; i++) {
		task[i] = kthread_create(test_thread, (void *)(long)i, "skiplist_test/%d", i);
		ret = PTR_ERR_OR_ZERO(task[i]);
	}
	if (ret) { /* no thread has run */
		for (i -= 2; i >= 0; i--)
			kthread_stop(task[i]);
	} else {
		atomic_set(&running, threads);
		for (i = 0; i < threads; i++)
			wake_up_process(task[i]);
		wait_for_completion(&finished);
		nanoseconds[THREAD] = atomic64_read(&thread_time) / threads;
	}
	kfree(task);
	return ret;
}

static int __init skiplist_test_init(void)
{
	int ret;

	if (items < 2 || rounds < 0 || threads < 1 || threads > 256 || keys < 0 || benchmark < 1 ||
	    benchmark >= SUBJECTS) {
		pr_err("skiplist_test: items >= 2, rounds >= 0, threads 1..256, keys >= 0, "
		       "benchmark 1..4\n");
		return -EINVAL;
	}
	extents = KMEM_CACHE(extent, 0);
	if (!extents)
		return -ENOMEM;
	ret = index_init(LATH_RANGES);
	if (ret)
		goto no_index;
	ret = run_threads();
	index_fini();
	if (!ret && keys)
		ret = random_phase();
	if (!ret && atomic64_read(&errors))
		ret = -EIO;
	if (!ret)
		results_file =
			debugfs_create_file("skiplist_test", 0444, NULL, NULL, &results_fops);
	log_results();
no_index:
	kmem_cache_destroy(extents);
	return ret;
}

static void __exit skiplist_test_exit(void)
{
	debugfs_remove(results_file);
}

module_init(skiplist_test_init);
module_exit(skiplist_test_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("The 2013 skiplist module test: skiplist against rbtree and maple tree");
