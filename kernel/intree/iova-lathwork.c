/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * iova-lathwork.c - a domain's I/O addresses from a lath_space, if the kernel
 * is booted with iova_lathwork.enable=1.
 */
#include <linux/moduleparam.h>

#include "iova-lathwork.h"
#include "iova-space.h"

static bool enable;
module_param(enable, bool, 0444);
MODULE_PARM_DESC(enable, "I/O addresses come from lathwork (default: no)");

static unsigned int magazine = 256;
module_param(magazine, uint, 0444);
MODULE_PARM_DESC(magazine, "Blocks that a processor keeps of each size (default: 256)");

/* Arenas in reserve, 16 MiB of addresses each. */
#define RESERVE 8

bool iova_lathwork_wanted(void)
{
	return enable;
}

int iova_lathwork_init(struct iova_domain *iovad)
{
	struct lath_space *space;
	int ret = iova_space_make(iovad, magazine, &space);

	if (ret) {
		lath_space_destroy(space);
		return ret;
	}
	/* without memory the calls try themselves */
	lath_space_preload(space, RESERVE);
	iovad->space = space;
	return 0;
}

void iova_lathwork_destroy(struct iova_domain *iovad)
{
	lath_space_destroy(iovad->space);
	iovad->space = NULL;
}

int iova_lathwork_reserve(struct iova_domain *iovad, unsigned long lo, unsigned long hi)
{
	return iova_space_reserve(iovad->space, iovad, lo, hi);
}

unsigned long iova_lathwork_alloc(struct iova_domain *iovad, unsigned long size,
				  unsigned long limit)
{
	return iova_space_alloc(iovad->space, size, limit);
}

void iova_lathwork_free(struct iova_domain *iovad, unsigned long pfn, unsigned long size)
{
	WARN_ON_ONCE(iova_space_free(iovad->space, pfn, size) == -EINVAL);
}
