/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* space.c - the space of a domain: a segment below 4 GiB and one above. */
#include "iova/space.h"

#include <linux/log2.h>
#include <linux/minmax.h>

/* All pages up to an address of this many bits. */
#define ADDRESS_BITS 52

int iova_space_reserve(struct lath_space *space, struct iova_domain *iovad, unsigned long lo,
		       unsigned long hi)
{
	u64 from = max(lo, iovad->start_pfn), end;
	struct lath_item run;
	int ret;

	for (; from <= hi; from = run.key + run.size) {
		if (lath_space_next_free(space, from, &run) || run.key > hi)
			break;
		end = min(run.key + run.size, hi + 1ull);
		run.size = end - run.key;
		ret = lath_space_reserve(space, run.key, run.size, 1);
		if (ret)
			return ret;
	}
	return 0;
}

/* Takes what the domain's tree holds. 0 | -ENOMEM */
static int take_tree(struct lath_space *space, struct iova_domain *iovad)
{
	unsigned long flags;
	struct rb_node *rb;
	int ret = 0;

	spin_lock_irqsave(&iovad->iova_rbtree_lock, flags);
	for (rb = rb_first(&iovad->rbroot); rb && !ret; rb = rb_next(rb)) {
		struct iova *iova = rb_entry(rb, struct iova, node);

		if (iova != &iovad->anchor)
			ret = iova_space_reserve(space, iovad, iova->pfn_lo, iova->pfn_hi);
	}
	spin_unlock_irqrestore(&iovad->iova_rbtree_lock, flags);
	return ret;
}

int iova_space_make(struct iova_domain *iovad, unsigned int magazine, struct lath_space **space)
{
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;
	u64 high = iovad->dma_32bit_pfn, end = 1ull << (ADDRESS_BITS - iova_shift(iovad));
	int ret;

	config.low = iovad->start_pfn;
	config.high = high;
	config.flags = LATH_ANY_CONTEXT | (magazine ? 0 : LATH_SPACE_NO_MAGAZINES);
	config.burst = magazine;
	*space = NULL;
	ret = lath_space_create(space, &config);
	if (ret)
		return ret;
	ret = lath_space_add_segment(*space, high, end - high, 0);
	return ret < 0 ? ret : take_tree(*space, iovad);
}

/* As the kernel rounds: the callers free the size that they have asked for. */
static unsigned long rounded(unsigned long size)
{
	return size < 32 ? roundup_pow_of_two(size) : size;
}

unsigned long iova_space_alloc(struct lath_space *space, unsigned long size, unsigned long limit)
{
	u64 key, align = roundup_pow_of_two(size);
	int ret = lath_space_alloc_below(space, limit + 1ull, rounded(size), align, 0, &key);

	return ret ? 0 : key;
}

int iova_space_free(struct lath_space *space, unsigned long pfn, unsigned long size)
{
	return lath_space_free(space, pfn, rounded(size));
}
