/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * iova_lathwork.ko - a livepatch: I/O addresses of the DMA layer from a lath_space per domain. For
 * kernels as their distribution ships them. doc/kernel.md says how to load it and what it cannot
 * do.
 *
 * Replaced are alloc_iova_fast(), free_iova_fast(), put_iova_domain(), reserve_iova() and
 * alloc_iova(). While the patch goes in, tasks that are not patched yet use the kernel's allocator,
 * so the patched ones do too; when all are (post_patch), a domain gets a space at its next call.
 * What the domain's tree holds by then is taken in the space. Of the kernel's caches these are all
 * addresses that were ever in use: each has its node in the tree. A call of the kernel's allocator
 * that ends after post_patch gives its address back and uses the space.
 *
 * Calls come from any context, so the space has LATH_ANY_CONTEXT. Addresses that a space has given
 * are unknown to the kernel's tree. So the patch cannot be taken back while a domain has a space:
 * its file `enabled` is read-only then.
 */
#include <linux/cpufeature.h>
#include <linux/iova.h>
#include <linux/ktime.h>
#include <linux/livepatch.h>
#include <linux/module.h>
#include <linux/workqueue.h>

#include "iova/counts.h"
#include "iova/space.h"

static unsigned int magazine = 256;
module_param(magazine, uint, 0444);
MODULE_PARM_DESC(magazine,
		 "blocks that a processor keeps of each size, as long as they are not more "
		 "than 32 MiB; 0: no magazines (default: 256)");
static char *allocator = "lathwork";
module_param(allocator, charp, 0444);
MODULE_PARM_DESC(allocator,
		 "lathwork (default), or to count and time the kernel's own: rcache as it "
		 "is, rbtree without its caches");
bool iova_timing;
module_param_named(timing, iova_timing, bool, 0644);
MODULE_PARM_DESC(timing, "measure the time of each call (default: no)");

/* The space of an iova_domain, which livepatch finds by its address. NULL: it could not be made,
 * and the kernel's allocator serves this domain. */
struct domain {
	struct lath_space *space;
	struct lath_space *failed; /* lacks memory; its end may sleep */
	struct work_struct work;
};
#define DOMAIN_ID 0x1a7411f
/* Arenas in reserve: 16 MiB of addresses each. */
#define RESERVE 8

/* All tasks are patched, and lathwork is to serve. */
static bool serving;
/* The kernel's allocator is called without its caches. */
static bool tree_alone;
atomic_t iova_domains = ATOMIC_INIT(0);

static struct klp_patch patch;
static void pin(struct work_struct *work);
static DECLARE_WORK(pin_work, pin);

/* ---- the kernel's own functions ---- */

#define ENDBR64 0xfa1e0ff3u
#define ENDBR64_SEALED 0x001f0f66u

/* Returns where the code of a function begins behind its call of ftrace, which livepatch replaces;
 * NULL: it does not begin as ftrace needs it. */
static void *behind(void *function)
{
	static const u8 nop[5] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	u8 *at = function;
	u32 first = *(u32 *)function;

	if (first == ENDBR64 || first == ENDBR64_SEALED)
		at += 4;
	return *at == 0xe8 || !memcmp(at, nop, sizeof(nop)) ? at + 5 : NULL;
}

static typeof(alloc_iova_fast) *own_alloc_fast;
static typeof(free_iova_fast) *own_free_fast;
static typeof(put_iova_domain) *own_put;
static typeof(reserve_iova) *own_reserve;
static typeof(alloc_iova) *own_alloc;

static bool own_find(void)
{
	own_alloc_fast = behind(alloc_iova_fast);
	own_free_fast = behind(free_iova_fast);
	own_put = behind(put_iova_domain);
	own_reserve = behind(reserve_iova);
	own_alloc = behind(alloc_iova);
	return own_alloc_fast && own_free_fast && own_put && own_reserve && own_alloc;
}

/* ---- a domain's space ---- */

/* What a domain leaves to a process when it begins. */
static void domain_work(struct work_struct *work)
{
	struct domain *domain = container_of(work, struct domain, work);

	/* without memory the calls try themselves */
	if (domain->space)
		lath_space_preload(domain->space, RESERVE);
	lath_space_destroy(domain->failed);
	domain->failed = NULL;
}

/* Makes the space in which all that the domain's tree holds is taken. Called by livepatch for one
 * caller at a time. 0 | -ENOMEM */
static int make_domain(void *obj, void *shadow, void *unused)
{
	struct iova_domain *iovad = obj;
	struct domain *domain = shadow;

	INIT_WORK(&domain->work, domain_work);
	domain->failed = NULL;
	if (iova_space_make(iovad, magazine, &domain->space)) {
		swap(domain->space, domain->failed);
		pr_warn_once("iova_lathwork: no memory for the space of a domain: the kernel's "
			     "allocator serves it\n");
	} else if (atomic_inc_return(&iova_domains) == 1) {
		schedule_work(&pin_work);
	}
	schedule_work(&domain->work);
	return 0;
}

/* Returns the domain's space; NULL: the kernel's allocator serves. make: make it if there is none.
 */
static struct lath_space *space_of(struct iova_domain *iovad, bool make)
{
	struct domain *domain;

	if (!smp_load_acquire(&serving)) /* pairs with post_patch */
		return NULL;
	domain = klp_shadow_get(iovad, DOMAIN_ID);
	if (!domain && make)
		domain = klp_shadow_get_or_alloc(iovad, DOMAIN_ID, sizeof(*domain), GFP_ATOMIC,
						 make_domain, NULL);
	return domain ? domain->space : NULL;
}

/* ---- the replacements ---- */

static u64 now(void)
{
	return READ_ONCE(iova_timing) ? ktime_get_ns() : 0;
}

/* Returns the time since `from`, at least 1; 0: calls are not timed. */
static u64 since(u64 from)
{
	return from ? max(ktime_get_ns() - from, 1ull) : 0;
}

/* The kernel's allocator, counted. Returns the first page, or 0. */
static unsigned long kernel_alloc(struct iova_domain *iovad, unsigned long size,
				  unsigned long limit_pfn, bool flush_rcache)
{
	unsigned long pfn = 0;
	u64 begin = now();
	struct iova *iova;

	this_cpu_inc(iova_counts.kernel);
	if (tree_alone) {
		iova = own_alloc(iovad, size, limit_pfn, true);
		if (iova)
			pfn = iova->pfn_lo;
	} else {
		pfn = own_alloc_fast(iovad, size, limit_pfn, flush_rcache);
	}
	count_alloc(size, !pfn, since(begin));
	return pfn;
}

static void kernel_free(struct iova_domain *iovad, unsigned long pfn, unsigned long size)
{
	u64 begin = now();

	this_cpu_inc(iova_counts.kernel);
	if (tree_alone)
		free_iova(iovad, pfn);
	else
		own_free_fast(iovad, pfn, size);
	count_free(false, since(begin));
}

static unsigned long new_alloc_fast(struct iova_domain *iovad, unsigned long size,
				    unsigned long limit_pfn, bool flush_rcache)
{
	struct lath_space *space = space_of(iovad, true);
	u64 begin = now();
	unsigned long pfn;

	if (!space) {
		pfn = kernel_alloc(iovad, size, limit_pfn, flush_rcache);
		space = space_of(iovad, true);
		if (!space)
			return pfn;
		/* a space was made meanwhile, which may not know of this address */
		if (pfn)
			kernel_free(iovad, pfn, size);
	}
	pfn = iova_space_alloc(space, size, limit_pfn);
	count_alloc(size, !pfn, since(begin));
	return pfn;
}

static void new_free_fast(struct iova_domain *iovad, unsigned long pfn, unsigned long size)
{
	struct lath_space *space = space_of(iovad, true);
	u64 begin = now();
	bool wrong;

	if (!space) {
		kernel_free(iovad, pfn, size);
		return;
	}
	wrong = iova_space_free(space, pfn, size) == -EINVAL;
	WARN_ONCE(wrong, "iova_lathwork: pages %lx+%lx are freed and not allocated", pfn, size);
	count_free(wrong, since(begin));
}

static void new_put(struct iova_domain *iovad)
{
	struct domain *domain = klp_shadow_get(iovad, DOMAIN_ID);
	struct lath_space *space = domain ? domain->space : NULL;

	own_put(iovad);
	if (!domain)
		return;
	if (cancel_work_sync(&domain->work))
		lath_space_destroy(domain->failed);
	klp_shadow_free(iovad, DOMAIN_ID, NULL);
	if (!space)
		return;
	lath_space_destroy(space);
	if (atomic_dec_and_test(&iova_domains))
		schedule_work(&pin_work);
}

static struct iova *new_reserve(struct iova_domain *iovad, unsigned long lo, unsigned long hi)
{
	struct lath_space *space = space_of(iovad, false);

	/* in both: the tree is read when a space is made */
	if (space && iova_space_reserve(space, iovad, lo, hi))
		return NULL;
	return own_reserve(iovad, lo, hi);
}

static struct iova *new_alloc(struct iova_domain *iovad, unsigned long size,
			      unsigned long limit_pfn, bool size_aligned)
{
	/* the tree does not know what the space has given */
	if (space_of(iovad, false)) {
		pr_err_once("iova_lathwork: alloc_iova() is refused in a domain that "
			    "alloc_iova_fast() serves\n");
		return NULL;
	}
	return own_alloc(iovad, size, limit_pfn, size_aligned);
}

/* ---- the patch ---- */

static void post_patch(struct klp_object *obj)
{
	if (strcmp(allocator, "lathwork")) {
		pr_info("iova_lathwork: counts what %s serves\n", allocator);
		return;
	}
	smp_store_release(&serving, true); /* pairs with space_of */
	pr_info("iova_lathwork: serves new addresses; %u blocks per magazine\n", magazine);
}

static void pre_unpatch(struct klp_object *obj)
{
	WRITE_ONCE(serving, false);
	/* only if the file was made writable by hand */
	WARN(atomic_read(&iova_domains), "iova_lathwork: taken back while addresses are out");
}

static struct klp_func funcs[] = { { .old_name = "alloc_iova_fast", .new_func = new_alloc_fast },
				   { .old_name = "free_iova_fast", .new_func = new_free_fast },
				   { .old_name = "put_iova_domain", .new_func = new_put },
				   { .old_name = "reserve_iova", .new_func = new_reserve },
				   { .old_name = "alloc_iova", .new_func = new_alloc },
				   {} };
static struct klp_object objs[] = {
	{ .funcs = funcs, .callbacks = { .post_patch = post_patch, .pre_unpatch = pre_unpatch } },
	{}
};
static struct klp_patch patch = { .mod = THIS_MODULE, .objs = objs };

/* Lets /sys/kernel/livepatch/iova_lathwork/enabled be written only while no domain has a space. */
static void pin(struct work_struct *work)
{
	static const struct attribute enabled = { .name = "enabled" };
	umode_t mode = atomic_read(&iova_domains) ? 0444 : 0644;

	if (sysfs_chmod_file(&patch.kobj, &enabled, mode))
		pr_warn("iova_lathwork: cannot change the mode of `enabled`: do not write to it\n");
}

static int __init client_init(void)
{
	int ret;

	tree_alone = !strcmp(allocator, "rbtree");
	if (!tree_alone && strcmp(allocator, "rcache") && strcmp(allocator, "lathwork")) {
		pr_err("iova_lathwork: allocator %s: it is not lathwork, rcache or rbtree\n",
		       allocator);
		return -EINVAL;
	}
	/* the kernel's functions are entered behind their first instructions */
	if (cpu_feature_enabled(X86_FEATURE_IBT)) {
		pr_err("iova_lathwork: the kernel tracks indirect branches: boot with ibt=off\n");
		return -EOPNOTSUPP;
	}
	if (!own_find()) {
		pr_err("iova_lathwork: this kernel's functions do not begin with a call of "
		       "ftrace\n");
		return -EOPNOTSUPP;
	}
	ret = klp_enable_patch(&patch);
	if (ret) {
		pr_err("iova_lathwork: livepatch refuses: %d\n", ret);
		return ret;
	}
	counts_init();
	return 0;
}

static void __exit client_exit(void)
{
	cancel_work_sync(&pin_work);
	counts_fini();
}

module_init(client_init);
module_exit(client_exit);
MODULE_LICENSE("GPL");
MODULE_AUTHOR("The lathwork authors");
MODULE_INFO(livepatch, "Y");
MODULE_DESCRIPTION("I/O addresses from lathwork");
