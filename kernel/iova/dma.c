/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * dma_bench.ko - the time of mappings through the DMA API: what the kernel's dma_map_benchmark
 * measures, for kernels that are configured without it, in an address space of which a part is
 * held.
 *
 *     insmod dma_bench.ko fill=50
 *     echo dma_bench >/sys/bus/pci/devices/DEVICE/driver_override
 *     echo DEVICE >/sys/bus/pci/drivers/dma_bench/bind
 *     echo '32 2 6400' >/sys/kernel/debug/dma_bench && cat /sys/kernel/debug/dma_bench
 *
 * While a device is bound its 32-bit space is held to `fill` percent: mappings of 1 to 256 pages,
 * each power of two equally often, twice as often replaced at random as there are. A line PAGES
 * THREADS OPS starts threads, each of which maps a buffer of PAGES pages and unmaps it, OPS
 * times. The file then tells how much is held, and mean, median and 99th percentile of both calls
 * in ns. The device does nothing with the mappings; one without a driver is right.
 */
#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/dma-mapping.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/prandom.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#define MOST_ORDER 8 /* of the pages of a mapping */
#define MOST_THREADS 16
#define MOST_OPS 1000000
#define MOST_HELD (1u << 17)

static unsigned int fill = 50;
module_param(fill, uint, 0444);
MODULE_PARM_DESC(fill, "percent of the 32-bit space that is held, at most 90 (default: 50)");

/* A long-lived mapping. */
struct held {
	dma_addr_t at;
	u32 size; /* 0: none */
};

/* What a run has measured. */
struct result {
	unsigned int pages, threads;
	u64 n, failed, mean[2], median[2], p99[2]; /* of maps and of unmaps, ns */
};

/* The device that is bound, its mappings and the last result: the driver serves one. */
static struct pci_dev *bound;
static struct page *page;
static struct held *held;
static unsigned int nheld, refused;
static u64 bytes;
static struct result last;
static DEFINE_MUTEX(guard); /* of all these */
static struct dentry *file;

struct worker {
	void *buffer;
	size_t size;
	u32 *ns[2];
	u32 ops, failed;
	struct completion done;
};

/* ---- what is held ---- */

static void hold(struct held *h, struct rnd_state *rnd)
{
	size_t size = PAGE_SIZE << prandom_u32_state(rnd) % (MOST_ORDER + 1);

	h->at = dma_map_page(&bound->dev, page, 0, size, DMA_BIDIRECTIONAL);
	h->size = dma_mapping_error(&bound->dev, h->at) ? 0 : (u32)size;
	bytes += h->size;
	refused += !h->size;
}

static void drop(struct held *h)
{
	if (h->size)
		dma_unmap_page(&bound->dev, h->at, h->size, DMA_BIDIRECTIONAL);
	bytes -= h->size;
	h->size = 0;
}

static void drop_all(void)
{
	while (nheld) {
		drop(&held[--nheld]);
		cond_resched();
	}
	vfree(held);
	if (page)
		__free_pages(page, MOST_ORDER);
	held = NULL;
	page = NULL;
}

/* Holds `fill` percent, or what there is until the first refusal. 0 | -ENOMEM */
static int hold_all(void)
{
	u64 want = (1ull << 32) / 100 * fill;
	struct rnd_state rnd;
	unsigned int i;

	bytes = refused = nheld = 0;
	page = alloc_pages(GFP_KERNEL, MOST_ORDER);
	held = vzalloc(array_size(MOST_HELD, sizeof(*held)));
	if (!page || !held)
		return -ENOMEM;
	prandom_seed_state(&rnd, 11);
	while (nheld < MOST_HELD && bytes < want && !refused) {
		hold(&held[nheld++], &rnd);
		cond_resched();
	}
	for (i = 0; i < 2 * nheld; i++) {
		struct held *h = &held[prandom_u32_state(&rnd) % nheld];

		drop(h);
		hold(h, &rnd);
		cond_resched();
	}
	return 0;
}

/* ---- a run ---- */

static int work(void *arg)
{
	struct worker *w = arg;
	u64 begin, mapped, end;
	dma_addr_t at;
	u32 i;

	for (i = 0; i < w->ops; i++) {
		begin = ktime_get_ns();
		at = dma_map_single(&bound->dev, w->buffer, w->size, DMA_BIDIRECTIONAL);
		mapped = ktime_get_ns();
		if (dma_mapping_error(&bound->dev, at)) {
			w->failed++;
			end = mapped;
		} else {
			dma_unmap_single(&bound->dev, at, w->size, DMA_BIDIRECTIONAL);
			end = ktime_get_ns();
		}
		w->ns[0][i] = (u32)min_t(u64, mapped - begin, U32_MAX);
		w->ns[1][i] = (u32)min_t(u64, end - mapped, U32_MAX);
		cond_resched();
	}
	complete(&w->done);
	return 0;
}

static int by_ns(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

static void evaluate(struct result *r, u32 *const ns[2])
{
	unsigned int i;
	u64 sum, j;

	for (i = 0; i < 2; i++) {
		for (sum = j = 0; j < r->n; j++)
			sum += ns[i][j];
		sort(ns[i], r->n, sizeof(u32), by_ns, NULL);
		r->mean[i] = div64_u64(sum, r->n);
		r->median[i] = ns[i][r->n / 2];
		r->p99[i] = ns[i][div_u64(r->n * 99, 100)];
	}
}

/* Starts the workers, whose buffers it allocates, and waits for them. 0 | -ENOMEM: one could not be
 * started, the others have run */
static int run_workers(struct worker *workers, unsigned int threads)
{
	unsigned int i, started = 0;

	for (i = 0; i < threads; i++) {
		struct task_struct *task;

		init_completion(&workers[i].done);
		workers[i].buffer = alloc_pages_exact(workers[i].size, GFP_KERNEL);
		if (!workers[i].buffer)
			break;
		task = kthread_create(work, &workers[i], "dma_bench/%u", i);
		if (IS_ERR(task))
			break;
		kthread_bind(task, cpumask_nth(i % num_online_cpus(), cpu_online_mask));
		wake_up_process(task);
		started++;
	}
	for (i = 0; i < started; i++)
		wait_for_completion(&workers[i].done);
	for (i = 0; i < threads; i++)
		if (workers[i].buffer)
			free_pages_exact(workers[i].buffer, workers[i].size);
	schedule_timeout_uninterruptible(2); /* they leave this module's code */
	return started < threads ? -ENOMEM : 0;
}

/* Runs the threads and evaluates. The guard is held. 0 | -ENOMEM */
static int run(unsigned int pages, unsigned int threads, unsigned int ops)
{
	struct result r = { .pages = pages, .threads = threads, .n = (u64)ops * threads };
	struct worker *workers = kcalloc(threads, sizeof(*workers), GFP_KERNEL);
	u32 *ns[2] = { vzalloc(array_size(r.n, sizeof(u32))),
		       vzalloc(array_size(r.n, sizeof(u32))) };
	int ret = -ENOMEM;
	unsigned int i;

	if (workers && ns[0] && ns[1]) {
		for (i = 0; i < threads; i++)
			workers[i] = (struct worker){ .size = pages * PAGE_SIZE,
						      .ns = { ns[0] + i * ops, ns[1] + i * ops },
						      .ops = ops };
		ret = run_workers(workers, threads);
		for (i = 0; i < threads; i++)
			r.failed += workers[i].failed;
	}
	if (!ret) {
		evaluate(&r, ns);
		last = r;
	}
	vfree(ns[0]);
	vfree(ns[1]);
	kfree(workers);
	return ret;
}

/* ---- the file ---- */

static ssize_t bench_write(struct file *f, const char __user *from, size_t n, loff_t *at)
{
	unsigned int pages, threads, ops;
	char line[48] = "";
	int ret = -ENODEV;

	if (n >= sizeof(line) || copy_from_user(line, from, n))
		return n >= sizeof(line) ? -EINVAL : -EFAULT;
	if (sscanf(line, "%u %u %u", &pages, &threads, &ops) != 3 || !pages ||
	    pages > 1u << MOST_ORDER || !threads || threads > MOST_THREADS || !ops ||
	    ops > MOST_OPS)
		return -EINVAL;
	mutex_lock(&guard);
	if (bound)
		ret = run(pages, threads, ops);
	mutex_unlock(&guard);
	return ret ? ret : (ssize_t)n;
}

static int bench_show(struct seq_file *m, void *unused)
{
	static const char *const call[2] = { "map", "unmap" };
	unsigned int i;

	mutex_lock(&guard);
	seq_printf(m, "dma_bench: held %u in %llu/1000, refused %u\n", nheld, (bytes * 1000) >> 32,
		   refused);
	for (i = 0; i < 2 && last.n; i++)
		seq_printf(m,
			   "dma_bench: pages %u threads %u: %s_ns %llu p50 %llu p99 %llu failed "
			   "%llu\n",
			   last.pages, last.threads, call[i], last.mean[i], last.median[i],
			   last.p99[i], last.failed);
	mutex_unlock(&guard);
	return 0;
}

static int bench_open(struct inode *inode, struct file *f)
{
	return single_open(f, bench_show, NULL);
}

static const struct file_operations bench_fops = {
	.owner = THIS_MODULE,
	.open = bench_open,
	.read = seq_read,
	.write = bench_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/* ---- the driver ---- */

static int bench_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	int ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(32));

	if (ret)
		return ret;
	mutex_lock(&guard);
	if (bound) {
		pr_err("dma_bench: %s: it serves one device, and has %s\n", pci_name(pdev),
		       pci_name(bound));
		ret = -EBUSY;
	} else {
		bound = pdev;
		ret = hold_all();
		if (ret) {
			drop_all();
			bound = NULL;
		}
	}
	mutex_unlock(&guard);
	return ret;
}

static void bench_remove(struct pci_dev *pdev)
{
	mutex_lock(&guard);
	drop_all();
	bound = NULL;
	last.n = 0;
	mutex_unlock(&guard);
}

static struct pci_driver driver = {
	.name = "dma_bench",
	.probe = bench_probe,
	.remove = bench_remove,
};

static int __init bench_init(void)
{
	int ret;

	if (fill > 90) {
		pr_err("dma_bench: fill %u is more than 90 percent\n", fill);
		return -EINVAL;
	}
	ret = pci_register_driver(&driver);
	if (!ret)
		file = debugfs_create_file("dma_bench", 0600, NULL, NULL, &bench_fops);
	return ret;
}

static void __exit bench_exit(void)
{
	debugfs_remove(file);
	pci_unregister_driver(&driver);
}

module_init(bench_init);
module_exit(bench_exit);
MODULE_LICENSE("GPL");
MODULE_AUTHOR("The lathwork authors");
MODULE_DESCRIPTION("Times of mappings through the DMA API");
