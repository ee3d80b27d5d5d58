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
 * singly and in batches. Then one thread allocates `holes` extents of 1 to 8 pages, from the top of
 * a space that they make 90 % full, and then a number of times frees one at random and allocates
 * another. The rbtree is walked down from its highest extent, as the IOMMU drivers of 2013 did; the
 * maple tree keeps track of gaps. Results: the kernel's log, and /sys/kernel/debug/skiplist_test
 * while the module is loaded.
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
#include "lathwork/hole.h"

#define EXTENT_SIZE 4096
#define POP_TRIES 256
#define POP_MAX 128
#define BATCH 64
#define HOLE_PAGES 8 /* of the largest extent that is allocated; 4.5 on average */
#define HOLE_SPAN 5  /* pages of the space per extent: 90 % full */

enum subject { SKIPLIST_RCU = 1, SKIPLIST_LOCKING, RBTREE, MAPLE, SUBJECTS };

static const char *const names[SUBJECTS] = { NULL, "skiplist-rcu", "skiplist-locking", "rbtree",
					     "maple" };

static int items = 100000;
static int rounds = 100000;
static int threads = 4;
static int benchmark = SKIPLIST_RCU;
static int keys;
static int holes;
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
module_param(holes, int, 0444);
MODULE_PARM_DESC(holes, "extents that are allocated, and freed, afterwards; 0: none");

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

static int index_init(enum lath_layout layout, bool with_holes)
{
	struct lath_config config = LATH_CONFIG_INIT;

	config.layout = layout;
	config.flags = with_holes ? LATH_HOLES : 0;
	if (benchmark <= SKIPLIST_LOCKING)
		return lath_index_init(&list, &config);
	tree = RB_ROOT;
	mt_init_flags(&maple, with_holes ? MT_FLAGS_ALLOC_RANGE : 0);
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

/* Give the extent, whose size is set, the highest place below `high`. The lock is held. */
static int tree_insert_hole(struct extent *new, u64 high)
{
	struct rb_node *rb = rb_last(&tree);

	for (;; rb = rb_prev(rb)) {
		struct extent *e = rb_entry_safe(rb, struct extent, rb);
		u64 low = e ? e->slot.key + e->slot.size : 0;

		if (low + new->slot.size <= high) {
			new->slot.key = high - new->slot.size;
			return tree_insert(new);
		}
		if (!e)
			return -ENOSPC;
		high = min(high, e->slot.key);
	}
}

/* As mmap() searches. 0 | -EBUSY | -ENOMEM */
static int maple_insert_hole(struct extent *new, u64 high)
{
	MA_STATE(mas, &maple, 0, 0);
	int ret;

	mtree_lock(&maple);
	ret = mas_empty_area_rev(&mas, 0, high - 1, new->slot.size);
	if (!ret) {
		new->slot.key = mas.last - new->slot.size + 1;
		mas_set_range(&mas, new->slot.key, mas.last);
		ret = mas_store_gfp(&mas, new, GFP_KERNEL);
	}
	mtree_unlock(&maple);
	return ret;
}

/* Find the highest place below `high` for an extent whose size is set, and insert it there: 0 |
 * -ENOSPC, or the maple tree's -EBUSY | -ENOMEM */
static int index_insert_hole(struct extent *e, u64 high)
{
	struct lath_hole_request want = { .size = e->slot.size,
					  .high = high,
					  .policy = LATH_HOLE_LAST };
	int ret;

	switch (benchmark) {
	case SKIPLIST_RCU:
	case SKIPLIST_LOCKING:
		return lath_index_insert_hole(&list, &want, (u64)(uintptr_t)&e->slot, &e->slot.key);
	case RBTREE:
		spin_lock(&tree_lock);
		ret = tree_insert_hole(e, high);
		spin_unlock(&tree_lock);
		return ret;
	default:
		return maple_insert_hole(e, high);
	}
}

/* ---- the phases ---- */

enum phase {
	FILL,
	CHECK,
	DELETE,
	THREAD,
	RANDOM_INSERT,
	RANDOM_LOOKUP,
	RANDOM_BATCH,
	HOLE_PAIR,
	PHASES
};

static u64 nanoseconds[PHASES];
static atomic64_t thread_time, errors, lookups, hits, pops, victims;
static u64 refused;
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
	ret = index_init(LATH_POINTS, false);
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

/* ---- holes ---- */

/* Allocate an extent of another size; 0: there was no room. */
static void take_hole(struct extent *e, struct rnd_state *state)
{
	u64 high = (u64)holes * HOLE_SPAN * EXTENT_SIZE;
	int ret;

	e->slot.size = (1 + prandom_u32_state(state) % HOLE_PAGES) * EXTENT_SIZE;
	ret = index_insert_hole(e, high);
	if (ret == -ENOSPC || ret == -EBUSY)
		refused++;
	else
		count_error(ret || e->slot.key % EXTENT_SIZE || e->slot.key + e->slot.size > high);
	if (ret)
		e->slot.size = 0;
}

static void give_hole(struct extent *e)
{
	if (e->slot.size)
		count_error(index_erase(e->slot.key) != e);
	e->slot.size = 0;
}

static int hole_phase(void)
{
	struct extent *all = vzalloc(array_size(holes, sizeof(*all)));
	struct rnd_state state;
	u64 start;
	int i, ret;

	if (!all)
		return -ENOMEM;
	ret = index_init(LATH_RANGES, true);
	if (ret)
		goto out;
	prandom_seed_state(&state, 1);
	for (i = 0; i < holes; i++) {
		take_hole(&all[i], &state);
		cond_resched();
	}
	start = ktime_get_ns();
	for (i = 0; i < holes; i++) {
		struct extent *e = &all[prandom_u32_state(&state) % holes];

		give_hole(e);
		take_hole(e, &state);
		if (!(i & 1023))
			cond_resched();
	}
	nanoseconds[HOLE_PAIR] = ktime_get_ns() - start;
	if (benchmark <= SKIPLIST_LOCKING)
		count_error(lath_index_verify(&list, 6, NULL, 0));
	count_error(refused > (u64)holes / 50); /* there is room for most requests */
	for (i = 0; i < holes; i++)
		give_hole(&all[i]);
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
	if (holes)
		seq_printf(m, "holes %d pair_ns %llu refused %llu\n", holes,
			   nanoseconds[HOLE_PAIR] / holes, refused);
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
	if (holes)
		pr_info("skiplist_test: %s holes %d: pair %llu ns, %llu refused\n",
			names[benchmark], holes, nanoseconds[HOLE_PAIR] / holes, refused);
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

	if (items < 2 || rounds < 0 || threads < 1 || threads > 256 || keys < 0 || holes < 0 ||
	    benchmark < 1 || benchmark >= SUBJECTS) {
		pr_err("skiplist_test: items >= 2, rounds >= 0, threads 1..256, keys >= 0, "
		       "holes >= 0, benchmark 1..4\n");
		return -EINVAL;
	}
	extents = KMEM_CACHE(extent, 0);
	if (!extents)
		return -ENOMEM;
	ret = index_init(LATH_RANGES, false);
	if (ret)
		goto no_index;
	ret = run_threads();
	index_fini();
	if (!ret && keys)
		ret = random_phase();
	if (!ret && holes)
		ret = hole_phase();
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
MODULE_AUTHOR("The lathwork authors");
MODULE_DESCRIPTION("The 2013 skiplist module test: skiplist against rbtree and maple tree");
