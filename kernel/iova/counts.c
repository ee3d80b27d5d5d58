/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * counts.c - /sys/kernel/debug/iova_lathwork: a line per counter. What is written there sets all of
 * them to 0.
 */
#include "iova/counts.h"

#include <linux/debugfs.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

DEFINE_PER_CPU(struct counts, iova_counts);

static struct dentry *file;

static unsigned int time_class(u64 ns)
{
	unsigned int log = ns < 4 ? 2 : __fls(ns);

	return min_t(unsigned int, COUNT_TIMES - 1, log * 4 + (ns >> (log - 2) & 3));
}

void count_alloc(unsigned long pages, bool failed, u64 ns)
{
	this_cpu_inc(iova_counts.allocs);
	this_cpu_inc(
		iova_counts.orders[min_t(unsigned int, order_base_2(pages), COUNT_ORDERS - 1)]);
	if (failed)
		this_cpu_inc(iova_counts.failed);
	if (ns) {
		this_cpu_add(iova_counts.alloc_ns, ns);
		this_cpu_inc(iova_counts.times[time_class(ns)]);
	}
}

void count_free(bool wrong, u64 ns)
{
	this_cpu_inc(iova_counts.frees);
	if (wrong)
		this_cpu_inc(iova_counts.wrong);
	this_cpu_add(iova_counts.free_ns, ns);
}

/* Adds the counters of a processor. */
static void add(struct counts *sum, const struct counts *counts)
{
	const u64 *from = (const u64 *)counts;
	unsigned int i;

	for (i = 0; i < sizeof(*sum) / sizeof(u64); i++)
		((u64 *)sum)[i] += READ_ONCE(from[i]);
}

/* Returns the time below which `percent` of the timed allocations stayed, in ns. */
static u64 percentile(const struct counts *sum, unsigned int percent)
{
	u64 n = 0, all = 0;
	int i;

	for (i = 0; i < COUNT_TIMES; i++)
		all += sum->times[i];
	for (i = 0; i < COUNT_TIMES - 1; i++) {
		n += sum->times[i];
		if (n * 100 >= all * percent)
			break;
	}
	return all ? (5ull + i % 4) << (i / 4) >> 2 : 0;
}

static int counts_show(struct seq_file *m, void *unused)
{
	struct counts *sum = kzalloc(sizeof(*sum), GFP_KERNEL);
	int i;

	if (!sum)
		return -ENOMEM;
	for (i = 0; i < nr_cpu_ids; i++)
		if (cpu_possible(i))
			add(sum, per_cpu_ptr(&iova_counts, i));
	seq_printf(m, "domains %d\nallocations %llu\nfailed %llu\nfrees %llu\nwrong_frees %llu\n",
		   atomic_read(&iova_domains), sum->allocs, sum->failed, sum->frees, sum->wrong);
	seq_printf(m, "kernel_calls %llu\n", sum->kernel);
	seq_puts(m, "pages_log2");
	for (i = 0; i < COUNT_ORDERS; i++)
		seq_printf(m, " %llu", sum->orders[i]);
	seq_printf(m, "\nallocation_ns %llu p50 %llu p99 %llu\nfree_ns %llu\n",
		   div64_u64(sum->alloc_ns, max(sum->allocs, 1ull)), percentile(sum, 50),
		   percentile(sum, 99), div64_u64(sum->free_ns, max(sum->frees, 1ull)));
	kfree(sum);
	return 0;
}

static int counts_open(struct inode *inode, struct file *f)
{
	return single_open(f, counts_show, NULL);
}

static ssize_t counts_write(struct file *f, const char __user *from, size_t n, loff_t *at)
{
	int cpu;

	for_each_possible_cpu(cpu) memset(per_cpu_ptr(&iova_counts, cpu), 0, sizeof(struct counts));
	return n;
}

static const struct file_operations counts_fops = {
	.owner = THIS_MODULE,
	.open = counts_open,
	.read = seq_read,
	.write = counts_write,
	.llseek = seq_lseek,
	.release = single_release,
};

void counts_init(void)
{
	file = debugfs_create_file("iova_lathwork", 0600, NULL, NULL, &counts_fops);
}

void counts_fini(void)
{
	debugfs_remove(file);
}
