/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * iova_bench.ko - allocators of I/O addresses side by side in the kernel.
 *
 *     insmod iova_bench.ko subject=space fill=50 pages=32 threads=2 ops=100000 check=1
 *
 * One thread allocates until `fill` percent of the pages up to `limit` are taken, in requests of
 * `pages` pages (0: mixed, 1 to 256 pages, each power of two equally often, half of them one to
 * seven eighths of it). Then each thread does `ops` times: free one at random, allocate another.
 * shared=1: threads free what others have allocated. burst=N: N frees, then N allocations, as the
 * flush queue of the DMA layer frees. check=1: a bitmap shows that no page is given twice; then the
 * subjects that measure the harness cannot run.
 *
 * The result is a line in the kernel's log; "in" is how much was taken when filling ended, with
 * fill=100 at the first refusal. Loading fails if a check does.
 */
#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/vmalloc.h>

#include "iova/subjects.h"

#define MOST_THREADS 16
#define MOST_BURST 256
#define BATCH 64 /* calls that are timed together */

static char *subject = "space";
module_param(subject, charp, 0444);
MODULE_PARM_DESC(subject, "rcache, rbtree, space, arenas, holes, maple, genalloc, nothing, irqs");
static unsigned int fill = 10, pages = 32, threads = 1, ops = 100000, burst = 1;
module_param(fill, uint, 0444);
MODULE_PARM_DESC(fill, "percent of the pages that are taken first (10)");
module_param(pages, uint, 0444);
MODULE_PARM_DESC(pages, "pages of a request; 0: 1 to 256 at random (32)");
module_param(threads, uint, 0444);
MODULE_PARM_DESC(threads, "threads (1)");
module_param(ops, uint, 0444);
MODULE_PARM_DESC(ops, "pairs of free and allocation of each thread (100000)");
module_param(burst, uint, 0444);
MODULE_PARM_DESC(burst, "frees, then as many allocations (1)");
static bool shared, check;
module_param(shared, bool, 0444);
MODULE_PARM_DESC(shared, "threads free what others have allocated (no)");
module_param(check, bool, 0444);
MODULE_PARM_DESC(check, "a bitmap shows that no page is given twice (no)");
static unsigned long limit = 0xfffff;
module_param(limit, ulong, 0444);
MODULE_PARM_DESC(limit, "the last page (0xfffff: 32-bit addresses)");
module_param_named(magazine, subject_magazine, uint, 0444);
MODULE_PARM_DESC(magazine, "blocks that a processor keeps of each size; 0: as usual");

static const struct subject *is;
static unsigned long *map; /* check: a bit per page that is taken */
/* An allocation per word: first page << 12 | pages; 0: none. */
static u64 *held;
static unsigned long nheld, filled; /* allocations; per mille of the pages */
static atomic_t refused, wrong, ready;
static DECLARE_COMPLETION(start);
static DECLARE_COMPLETION(done);

struct worker {
	u64 *ns; /* per batch */
	unsigned long batches;
	unsigned int number;
	u64 begin, end;
	unsigned long at[MOST_BURST];
};
static struct worker workers[MOST_THREADS];

static unsigned long draw_pages(struct rnd_state *rnd)
{
	u32 r = prandom_u32_state(rnd);
	unsigned long n = 1ul << r % 9;

	if (pages)
		return pages;
	return r & 0x10000 ? max(1ul, n / 8 * (1 + (r >> 17) % 7)) : n;
}

/* Sets the bits of pages that are taken, or clears those of pages that are freed; counts those that
 * were so before. */
static void mark(unsigned long page, unsigned long n, bool set)
{
	for (; check && n; n--, page++)
		if (set ? test_and_set_bit(page, map) : !test_and_clear_bit(page, map))
			atomic_inc(&wrong);
}

/* Allocates. Returns the allocation, or 0. */
static u64 take(struct rnd_state *rnd)
{
	unsigned long n = draw_pages(rnd), page = is->alloc(n);

	if (!page)
		return 0;
	if (page < FIRST_PAGE || page + n - 1 > limit || page & (roundup_pow_of_two(n) - 1)) {
		atomic_inc(&wrong);
		return 0;
	}
	mark(page, n, true);
	return (u64)page << 12 | n;
}

static void give(u64 old)
{
	if (!old)
		return;
	mark(old >> 12, old & 0xfff, false);
	is->free(old >> 12, old & 0xfff);
}

/* Frees `burst` of the held allocations at random, from `from` to from + n - 1, and allocates as
 * many in their places. */
static void pairs(struct rnd_state *rnd, unsigned long *at, unsigned long from, unsigned long n)
{
	unsigned long i;
	u64 new;

	for (i = 0; i < burst; i++) {
		at[i] = from + (unsigned long)(((u64)prandom_u32_state(rnd) * n) >> 32);
		give(xchg(&held[at[i]], 0));
	}
	for (i = 0; i < burst; i++) {
		new = take(rnd);
		if (new)
			give(xchg(&held[at[i]], new));
		else
			atomic_inc(&refused);
	}
}

static int work(void *arg)
{
	struct worker *w = arg;
	unsigned long share = nheld / threads, b, i;
	unsigned long from = shared ? 0 : share * w->number, n = shared ? nheld : share;
	struct rnd_state rnd;
	u64 t;

	prandom_seed_state(&rnd, 77 + w->number);
	atomic_inc(&ready);
	wait_for_completion(&start);
	w->begin = ktime_get_ns();
	for (b = 0; b < w->batches; b++) {
		t = ktime_get_ns();
		for (i = 0; i < BATCH; i += burst)
			pairs(&rnd, w->at, from, n);
		w->ns[b] = div_u64(ktime_get_ns() - t, (u32)i);
		cond_resched();
	}
	w->end = ktime_get_ns();
	if (atomic_dec_and_test(&ready))
		complete(&done);
	return 0;
}

static int by_ns(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* Allocates until `fill` percent are taken. Returns the time of an allocation in ns. */
static u64 fill_up(unsigned long total)
{
	unsigned long taken = 0, most = nheld;
	struct rnd_state rnd;
	u64 t = ktime_get_ns(), got;

	prandom_seed_state(&rnd, 7);
	for (nheld = 0; nheld < most && taken < total / 100 * fill; nheld++) {
		got = take(&rnd);
		if (!got)
			break;
		held[nheld] = got;
		taken += got & 0xfff;
		if (!(nheld & 255))
			cond_resched();
	}
	filled = taken * 1000 / total;
	return div64_u64(ktime_get_ns() - t, max(nheld, 1ul));
}

/* Runs the threads; their times go to `all`. 0 | -errno */
static int run_threads(u64 *all, unsigned long batches)
{
	unsigned int i;

	for (i = 0; i < threads; i++) {
		struct task_struct *task;

		workers[i] =
			(struct worker){ .ns = all + i * batches, .batches = batches, .number = i };
		task = kthread_create(work, &workers[i], "iova_bench/%u", i);
		if (IS_ERR(task)) {
			threads = i; /* those that were made run, and are few */
			break;
		}
		kthread_bind(task, i % num_online_cpus());
		wake_up_process(task);
	}
	while (atomic_read(&ready) < threads)
		schedule_timeout_uninterruptible(1);
	complete_all(&start);
	if (threads)
		wait_for_completion(&done);
	schedule_timeout_uninterruptible(2); /* they leave this module's code */
	return threads ? 0 : -ENOMEM;
}

static void report(u64 *all, unsigned long n, u64 fill_ns)
{
	u64 begin = U64_MAX, end = 0;
	unsigned int i;

	for (i = 0; i < threads; i++) {
		begin = min(begin, workers[i].begin);
		end = max(end, workers[i].end);
	}
	sort(all, n, sizeof(u64), by_ns, NULL);
	pr_info("iova_bench: %s fill %u pages %u threads %u shared %d burst %u: held %lu in "
		"%lu/1000 fill_ns %llu pair_ns %llu p10 %llu p99 %llu pairs/ms %llu refused %d\n",
		is->name, fill, pages, threads, shared, burst, nheld, filled, fill_ns, all[n / 2],
		all[n / 10], all[n * 99 / 100],
		div64_u64((u64)n * roundup(BATCH, burst) * 1000000, max(end - begin, 1ull)),
		atomic_read(&refused));
}

/* Frees all. Returns whether all checks passed. */
static bool finish(void)
{
	struct lath_space_stats stats = { 0 };
	unsigned long i;
	bool good;

	for (i = 0; i < nheld; i++) {
		give(held[i]);
		if (!(i & 255))
			cond_resched();
	}
	if (subject_space) {
		lath_space_trim(subject_space); /* wrong frees that magazines hold come out */
		lath_space_get_stats(subject_space, &stats);
	}
	good = !atomic_read(&wrong) && !atomic_read(&subject_refused) && !stats.bad_frees &&
	       !stats.allocated && (!check || bitmap_empty(map, limit + 1));
	if (check || !good)
		pr_info("iova_bench: %s: check %s: %d pages wrong, %d frees refused, %llu bad, "
			"%llu left\n",
			is->name, good ? "passed" : "FAILED", atomic_read(&wrong),
			atomic_read(&subject_refused), stats.bad_frees, stats.allocated);
	return good;
}

/* Allocates what a run needs, runs, reports. 0 | -errno */
static int measure(void)
{
	unsigned long total = limit + 1 - FIRST_PAGE, batches = ops / roundup(BATCH, burst);
	u64 *all = vzalloc(array3_size(batches, threads, sizeof(u64))), fill_ns;
	int ret = -ENOMEM;

	nheld = total / 100 * fill / (pages ? pages : 32) * 2 + 1024;
	held = vzalloc(array_size(nheld, sizeof(u64)));
	map = check ? vzalloc(BITS_TO_LONGS(limit + 1) * sizeof(long)) : NULL;
	if (all && held && (map || !check)) {
		fill_ns = fill_up(total);
		ret = nheld >= threads ? run_threads(all, batches) : -ENOSPC;
		if (!ret)
			report(all, batches * threads, fill_ns);
		if (!finish())
			ret = -EIO;
	}
	vfree(all);
	vfree(held);
	vfree(map);
	return ret;
}

static int __init bench_init(void)
{
	unsigned int i;
	int ret;

	for (i = 0; i < subject_count; i++)
		if (!strcmp(subject, subjects[i].name))
			is = &subjects[i];
	if (!is || threads < 1 || threads > MOST_THREADS || !ops || pages > 256 || fill > 100 ||
	    burst < 1 || burst > MOST_BURST || limit < 2 * FIRST_PAGE ||
	    ops < roundup(BATCH, burst)) {
		pr_err("iova_bench: subject %s or one of threads, ops, pages, fill, burst, limit "
		       "is out of range\n",
		       subject);
		return -EINVAL;
	}
	ret = is->begin(limit);
	if (ret)
		return ret;
	ret = measure();
	is->end();
	return ret;
}

static void __exit bench_exit(void)
{
	rcu_barrier();
}

module_init(bench_init);
module_exit(bench_exit);
MODULE_LICENSE("GPL");
MODULE_AUTHOR("The lathwork authors");
MODULE_DESCRIPTION("Allocators of I/O addresses, side by side");
