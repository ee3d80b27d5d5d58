/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * subjects.c - the kernel's allocator of I/O addresses with and without its caches, lathwork's
 * space and index, the maple tree, genalloc; and two that measure the harness.
 */
#include "iova/subjects.h"

#include <linux/genalloc.h>
#include <linux/iova.h>
#include <linux/irqflags.h>
#include <linux/log2.h>
#include <linux/maple_tree.h>
#include <linux/spinlock.h>

#include "lathwork/hole.h"
#include "lathwork/index.h"

struct lath_space *subject_space;
unsigned int subject_magazine;
atomic_t subject_refused = ATOMIC_INIT(0);

static unsigned long last_page;

/* ---- the kernel's ---- */

static struct iova_domain domain;

static int domain_begin(unsigned long limit)
{
	int ret = iova_cache_get();

	if (ret)
		return ret;
	last_page = limit;
	init_iova_domain(&domain, PAGE_SIZE, FIRST_PAGE);
	ret = iova_domain_init_rcaches(&domain);
	if (ret)
		iova_cache_put();
	return ret;
}

static void domain_end(void)
{
	put_iova_domain(&domain);
	iova_cache_put();
}

static unsigned long rcache_alloc(unsigned long n)
{
	return alloc_iova_fast(&domain, n, last_page, true);
}

static void rcache_free(unsigned long page, unsigned long n)
{
	free_iova_fast(&domain, page, n);
}

static unsigned long rbtree_alloc(unsigned long n)
{
	struct iova *iova = alloc_iova(&domain, n, last_page, true);

	return iova ? iova->pfn_lo : 0;
}

static void rbtree_free(unsigned long page, unsigned long n)
{
	free_iova(&domain, page);
}

/* ---- lathwork ---- */

static void space_end(void)
{
	lath_space_destroy(subject_space);
	subject_space = NULL;
}

static int space_begin(unsigned long limit, unsigned int flags, unsigned int burst)
{
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;
	int ret;

	last_page = limit;
	config.low = FIRST_PAGE;
	config.high = (u64)limit + 1;
	config.flags = LATH_ANY_CONTEXT | flags;
	config.burst = burst;
	ret = lath_space_create(&subject_space, &config);
	if (ret)
		return ret;
	ret = lath_space_preload(subject_space, 8);
	if (ret)
		space_end();
	return ret;
}

static int magazines_begin(unsigned long limit)
{
	return space_begin(limit, 0, subject_magazine);
}

static int arenas_begin(unsigned long limit)
{
	return space_begin(limit, LATH_SPACE_NO_MAGAZINES, 0);
}

static unsigned long lath_space_memory_alloc(unsigned long n)
{
	u64 key;

	return lath_space_alloc(subject_space, n, roundup_pow_of_two(n), 0, &key) ? 0 : key;
}

static void lath_space_memory_free(unsigned long page, unsigned long n)
{
	if (lath_space_free(subject_space, page, n))
		atomic_inc(&subject_refused);
}

static struct lath_index *holes;

static int holes_begin(unsigned long limit)
{
	struct lath_config config = LATH_CONFIG_INIT;

	last_page = limit;
	config.flags = LATH_HOLES | LATH_ANY_CONTEXT;
	holes = lath_index_create(&config);
	return holes ? 0 : -ENOMEM;
}

static void holes_end(void)
{
	lath_index_destroy(holes, NULL, NULL);
}

static unsigned long holes_alloc(unsigned long n)
{
	struct lath_hole_request want = { .size = n,
					  .align = roundup_pow_of_two(n),
					  .low = FIRST_PAGE,
					  .high = (u64)last_page + 1 };
	u64 key;

	return lath_index_insert_hole(holes, &want, 1, &key) ? 0 : key;
}

static void holes_free(unsigned long page, unsigned long n)
{
	if (lath_index_erase_item(holes, page, NULL))
		atomic_inc(&subject_refused);
}

/* ---- the maple tree, one lock ---- */

static struct maple_tree maple;
static DEFINE_SPINLOCK(maple_guard);

static int maple_begin(unsigned long limit)
{
	last_page = limit;
	mt_init_flags(&maple, MT_FLAGS_ALLOC_RANGE | MT_FLAGS_LOCK_EXTERN);
	mt_set_external_lock(&maple, &maple_guard);
	return 0;
}

static void maple_end(void)
{
	spin_lock_irq(&maple_guard);
	__mt_destroy(&maple);
	spin_unlock_irq(&maple_guard);
}

/* It knows no alignment: if the run that it finds has no aligned place, look for a longer one. */
static unsigned long maple_find(struct ma_state *mas, unsigned long n)
{
	unsigned long align = roundup_pow_of_two(n), at;

	if (mas_empty_area_rev(mas, FIRST_PAGE, last_page, n))
		return 0;
	at = (mas->last - n + 1) & ~(align - 1);
	if (at >= mas->index)
		return at;
	mas_reset(mas);
	if (mas_empty_area_rev(mas, FIRST_PAGE, last_page, n + align - 1))
		return 0;
	return (mas->last - n + 1) & ~(align - 1);
}

static unsigned long maple_alloc(unsigned long n)
{
	unsigned long flags, at;
	MA_STATE(mas, &maple, 0, 0);

	spin_lock_irqsave(&maple_guard, flags);
	at = maple_find(&mas, n);
	if (at) {
		mas_set_range(&mas, at, at + n - 1);
		if (mas_store_gfp(&mas, xa_mk_value(1), GFP_ATOMIC))
			at = 0;
	}
	spin_unlock_irqrestore(&maple_guard, flags);
	return at;
}

static void maple_free(unsigned long page, unsigned long n)
{
	unsigned long flags;
	MA_STATE(mas, &maple, page, page);

	spin_lock_irqsave(&maple_guard, flags);
	mas_erase(&mas);
	spin_unlock_irqrestore(&maple_guard, flags);
}

/* ---- genalloc, where the kernel has it ---- */

#ifdef CONFIG_GENERIC_ALLOCATOR
static struct gen_pool *pool;

static int pool_begin(unsigned long limit)
{
	unsigned long first = ALIGN(FIRST_PAGE, 4096);
	int ret;

	pool = gen_pool_create(0, -1);
	if (!pool)
		return -ENOMEM;
	gen_pool_set_algo(pool, gen_pool_first_fit_order_align, NULL);
	ret = gen_pool_add(pool, first, limit + 1 - first, -1);
	if (ret)
		gen_pool_destroy(pool);
	return ret;
}

static void pool_end(void)
{
	gen_pool_destroy(pool);
}

static unsigned long pool_alloc(unsigned long n)
{
	return gen_pool_alloc(pool, n);
}

static void pool_free(unsigned long page, unsigned long n)
{
	gen_pool_free(pool, page, n);
}
#endif

/* ---- the harness, and interrupts off and on in each call ---- */

/* Always the same, at a multiple of the longest request. */
#define SAME_PAGE 4096ul

static int none_begin(unsigned long limit)
{
	return 0;
}

static void none_end(void)
{
}

static unsigned long none_alloc(unsigned long n)
{
	return SAME_PAGE;
}

static void none_free(unsigned long page, unsigned long n)
{
}

static unsigned long irqs_alloc(unsigned long n)
{
	unsigned long flags;

	local_irq_save(flags);
	local_irq_restore(flags);
	return SAME_PAGE;
}

static void irqs_free(unsigned long page, unsigned long n)
{
	irqs_alloc(n);
}

const struct subject subjects[] = {
	{ "rcache", domain_begin, domain_end, rcache_alloc, rcache_free },
	{ "rbtree", domain_begin, domain_end, rbtree_alloc, rbtree_free },
	{ "space", magazines_begin, space_end, lath_space_memory_alloc, lath_space_memory_free },
	{ "arenas", arenas_begin, space_end, lath_space_memory_alloc, lath_space_memory_free },
	{ "holes", holes_begin, holes_end, holes_alloc, holes_free },
	{ "maple", maple_begin, maple_end, maple_alloc, maple_free },
#ifdef CONFIG_GENERIC_ALLOCATOR
	{ "genalloc", pool_begin, pool_end, pool_alloc, pool_free },
#endif
	{ "nothing", none_begin, none_end, none_alloc, none_free },
	{ "irqs", none_begin, none_end, irqs_alloc, irqs_free },
};
const unsigned int subject_count = ARRAY_SIZE(subjects);
