/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * iova-lathwork.h - what iova.c calls where a domain has a lath_space.
 */
#ifndef IOVA_LATHWORK_H
#define IOVA_LATHWORK_H

#include <linux/iova.h>

#ifdef CONFIG_IOMMU_IOVA_LATHWORK
static inline bool iova_has_space(const struct iova_domain *iovad)
{
	return iovad->space;
}

/* Was a space asked for when the kernel was booted? */
bool iova_lathwork_wanted(void);
/* Gives the domain a space. May sleep. 0 | -ENOMEM */
int iova_lathwork_init(struct iova_domain *iovad);
/* Takes it away, if there is one. May sleep. */
void iova_lathwork_destroy(struct iova_domain *iovad);
/* The rest is for domains with a space, in any context. 0 | -ENOMEM */
int iova_lathwork_reserve(struct iova_domain *iovad, unsigned long lo, unsigned long hi);
/* Returns the first page, or 0. */
unsigned long iova_lathwork_alloc(struct iova_domain *iovad, unsigned long size,
				  unsigned long limit);
void iova_lathwork_free(struct iova_domain *iovad, unsigned long pfn, unsigned long size);
#else
static inline bool iova_has_space(const struct iova_domain *iovad)
{
	return false;
}

static inline bool iova_lathwork_wanted(void)
{
	return false;
}

static inline int iova_lathwork_init(struct iova_domain *iovad)
{
	return 0;
}

static inline void iova_lathwork_destroy(struct iova_domain *iovad)
{
}

static inline int iova_lathwork_reserve(struct iova_domain *iovad, unsigned long lo,
					unsigned long hi)
{
	return 0;
}

static inline unsigned long iova_lathwork_alloc(struct iova_domain *iovad, unsigned long size,
						unsigned long limit)
{
	return 0;
}

static inline void iova_lathwork_free(struct iova_domain *iovad, unsigned long pfn,
				      unsigned long size)
{
}
#endif

#endif /* IOVA_LATHWORK_H */
