/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * range_bench.ko - an address space that kthreads change at once: lathwork's index with range locks
 * beside the kernel's maple tree behind an rw_semaphore, as mmap_lock is one.
 *
 *     insmod range_bench.ko subject=lathwork threads=2 regions=10000 ops=100000
 *
 * Three loads, one after the other: lock (a range of 16 pages or, beside it, the semaphore for
 * writing, and the pages' counters), query (which region has a page; the semaphore for reading),
 * map (a region of 1 to 16 pages over what is there). A thread works in its own part. At the
 * end the counters must be what was counted, and each page must have what its thread put there
 * last: loading fails if not. Results: the kernel's log.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/maple_tree.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/rwsem.h>
#include <linux/vmalloc.h>

#include "lathwork/index.h"
#include "lathwork/range_lock.h"

#define SPREAD 32 /* pages per region */
#define MOST 16	  /* pages of a region */
#define FIRST (1ul << 20)
#define THREADS 64

static char *subject = "lathwork";
static int threads = 2;
static int regions = 10000;
static int ops = 100000;
module_param(subject, charp, 0444);
MODULE_PARM_DESC(subject, "lathwork or maple");
module_param(threads, int, 0444);
MODULE_PARM_DESC(threads, "threads, at most 64");
module_param(regions, int, 0444);
MODULE_PARM_DESC(regions, "regions of the address space");
module_param(ops, int, 0444);
MODULE_PARM_DESC(ops, "calls of all threads");

enum load { LOCK, QUERY, MAP, LOADS };

static const char *const names[LOADS] = { "lock", "query", "map" };

static bool ours;
static struct lath_index index;
static struct lath_range_locks locks;
static struct maple_tree maple;
static DECLARE_RWSEM(maple_lock);

static u32 *counters;
static u8 *values; /* what each page must have; 0: no region */
static unsigned long part;
static enum load load;
static atomic_t running, failed;
static DECLARE_COMPLETION(begin);
static DECLARE_COMPLETION(finished);

static void count_wrong(bool wrong)
{
	if (wrong)
		atomic_inc(&failed);
}

static void lock_pages(unsigned long page, unsigned int pages)
{
	struct lath_range_hold hold;
	unsigned int i;

	if (ours)
		count_wrong(
			lath_range_lock(&locks, &hold, FIRST + page, pages, LATH_EXCLUSIVE_RANGE));
	else
		down_write(&maple_lock);
	for (i = 0; i < pages; i += 8)
		counters[page + i]++;
	if (ours)
		lath_range_unlock(&locks, &hold);
	else
		up_write(&maple_lock);
}

static u8 query(unsigned long page)
{
	MA_STATE(mas, &maple, FIRST + page, FIRST + page);
	u64 value = 0;

	if (ours)
		return lath_index_get(&index, FIRST + page, &value) ? (u8)value : 0;
	down_read(&maple_lock);
	value = xa_to_value(mas_walk(&mas));
	up_read(&maple_lock);
	return (u8)value;
}

static int map(unsigned long page, unsigned int pages, u8 value)
{
	MA_STATE(mas, &maple, FIRST + page, FIRST + page + pages - 1);
	struct lath_item item = { .key = FIRST + page, .size = pages, .value = value };
	struct lath_range_hold hold;
	int ret;

	if (ours) {
		ret = lath_range_lock(&locks, &hold, item.key, pages, LATH_EXCLUSIVE_RANGE);
		if (ret)
			return ret;
		ret = lath_index_store_range(&index, &item, NULL, NULL);
		lath_range_unlock(&locks, &hold);
		return ret;
	}
	down_write(&maple_lock);
	ret = mas_store_gfp(&mas, xa_mk_value(value), GFP_KERNEL);
	up_write(&maple_lock);
	return ret;
}

static void map_and_note(unsigned long page, unsigned int pages, u8 value)
{
	if (!map(page, pages, value))
		memset(values + page, value, pages);
	else
		count_wrong(true);
}

static int work(void *number)
{
	unsigned long first = (unsigned long)number * part;
	struct rnd_state random;
	int i;

	prandom_seed_state(&random, (u64)(unsigned long)number + 1);
	wait_for_completion(&begin);
	for (i = 0; i < ops / threads; i++) {
		u32 drawn = prandom_u32_state(&random);
		unsigned long page = first + prandom_u32_state(&random) % (part - MOST);

		switch (load) {
		case LOCK:
			lock_pages(page, MOST);
			break;
		case QUERY:
			count_wrong(query(page) != values[page]);
			break;
		default:
			map_and_note(page, 1 + drawn % MOST, (u8)(1 + (drawn >> 8) % 100));
		}
		if (i % 1024 == 1023)
			cond_resched();
	}
	if (atomic_dec_and_test(&running))
		complete(&finished);
	return 0;
}

static int run(void)
{
	u64 start;
	long n;

	reinit_completion(&begin);
	reinit_completion(&finished);
	atomic_set(&running, threads);
	for (n = 0; n < threads; n++) {
		struct task_struct *task = kthread_run(work, (void *)n, "range_bench/%ld", n);

		if (IS_ERR(task)) {
			atomic_sub(threads - (int)n, &running);
			complete_all(&begin);
			if (n)
				wait_for_completion(&finished);
			return (int)PTR_ERR(task);
		}
	}
	start = ktime_get_ns();
	complete_all(&begin);
	wait_for_completion(&finished);
	pr_info("range_bench: %s %s: threads %d, regions %d, %llu ns per call\n", subject,
		names[load], threads, regions, div_u64(ktime_get_ns() - start, (u32)ops));
	return 0;
}

static void check(void)
{
	unsigned long page, pages = part * (unsigned long)threads;
	u64 sum = 0;

	for (page = 0; page < pages; page++) {
		sum += counters[page];
		count_wrong(query(page) != values[page]);
		if (page % 4096 == 4095)
			cond_resched();
	}
	count_wrong(sum != (u64)(ops / threads) * threads * (MOST / 8));
}

static int structure_init(void)
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_range_config usual = LATH_RANGE_CONFIG_INIT;
	int ret;

	if (!ours) {
		mt_init_flags(&maple, MT_FLAGS_LOCK_EXTERN);
		mt_set_external_lock(&maple, &maple_lock);
		return 0;
	}
	config.layout = LATH_RANGES;
	usual.usual = MOST;
	ret = lath_index_init(&index, &config);
	if (ret)
		return ret;
	ret = lath_range_locks_init(&locks, &usual);
	if (ret)
		lath_index_fini(&index, NULL, NULL);
	return ret;
}

static void structure_fini(void)
{
	if (ours) {
		lath_range_locks_fini(&locks);
		lath_index_fini(&index, NULL, NULL);
	} else {
		down_write(&maple_lock);
		__mt_destroy(&maple);
		up_write(&maple_lock);
	}
}

static int __init range_bench_init(void)
{
	unsigned long pages, page;
	int ret;

	ours = !strcmp(subject, "lathwork");
	if ((!ours && strcmp(subject, "maple")) || threads < 1 || threads > THREADS ||
	    ops < threads || regions < threads || regions > 1 << 24) {
		pr_err("range_bench: subject=%s threads=%d regions=%d ops=%d: subject is lathwork "
		       "or maple, threads 1 to %d, regions and ops at least as many, regions at "
		       "most 2^24\n",
		       subject, threads, regions, ops, THREADS);
		return -EINVAL;
	}
	part = (unsigned long)(regions / threads + 1) * SPREAD;
	pages = part * (unsigned long)threads;
	counters = vzalloc(array_size(pages, sizeof(*counters)));
	values = vzalloc(pages);
	ret = counters && values ? structure_init() : -ENOMEM;
	if (ret)
		goto out;
	for (page = 0; page < pages; page += SPREAD)
		map_and_note(page, 1 + (unsigned int)(page / SPREAD) % MOST, 1);
	for (load = LOCK; load < LOADS && !ret; load++)
		ret = run();
	if (!ret)
		check();
	structure_fini();
	if (!ret && atomic_read(&failed)) {
		pr_err("range_bench: %s: FAIL, %d wrong\n", subject, atomic_read(&failed));
		ret = -EIO;
	}
out:
	vfree(counters);
	vfree(values);
	return ret;
}

static void __exit range_bench_exit(void)
{
}

module_init(range_bench_init);
module_exit(range_bench_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_AUTHOR("The lathwork authors");
MODULE_DESCRIPTION("An address space under threads: lathwork and the maple tree");
