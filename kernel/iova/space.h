/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* space.h - the I/O addresses of a domain from a lath_space, in pages of the domain. */
#ifndef LATH_IOVA_SPACE_H
#define LATH_IOVA_SPACE_H

#include <linux/iova.h>

#include "lathwork/space.h"

/* Makes a space, in which all is taken that the domain's tree holds. magazine: blocks that a
 * processor keeps of each size; 0: none. Takes the lock of the tree; any context. 0 | -ENOMEM:
 * *space is what the caller has to destroy where it may sleep, or NULL
 */
int iova_space_make(struct iova_domain *iovad, unsigned int magazine, struct lath_space **space);

/* Takes pages lo to hi, parts of which may be taken, out of the space: reservations overlap each
 * other. Any context. 0 | -ENOMEM
 */
int iova_space_reserve(struct lath_space *space, struct iova_domain *iovad, unsigned long lo,
		       unsigned long hi);

/* Returns the first page of `size` pages, at a multiple of that rounded up to a power of two, up
 * to page `limit`; 0: there are none. Any context.
 */
unsigned long iova_space_alloc(struct lath_space *space, unsigned long size, unsigned long limit);

/* Frees what iova_space_alloc() gave. Any context. 0 | -EINVAL: it was not allocated | -ENOMEM */
int iova_space_free(struct lath_space *space, unsigned long pfn, unsigned long size);

#endif /* LATH_IOVA_SPACE_H */
