/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* subjects.h - allocators of I/O addresses that iova_bench.ko measures. */
#ifndef LATH_IOVA_SUBJECTS_H
#define LATH_IOVA_SUBJECTS_H

#include <linux/types.h>

#include "lathwork/space.h"

/* Pages below this one are not given. */
#define FIRST_PAGE 16ul

/* An allocator of pages [FIRST_PAGE, limit], called with interrupts on or off. */
struct subject {
	const char *name;
	/* Begin with the last page that may be given. 0 | -errno */
	int (*begin)(unsigned long limit);
	/* End; all pages are free. */
	void (*end)(void);
	/* Returns the first of n pages, at a multiple of n rounded up to a power of two; 0: none */
	unsigned long (*alloc)(unsigned long n);
	void (*free)(unsigned long page, unsigned long n);
};

extern const struct subject subjects[];
extern const unsigned int subject_count;
/* The space of a subject that has one, or NULL. */
extern struct lath_space *subject_space;
/* Blocks per magazine of the subject `space`. */
extern unsigned int subject_magazine;
/* Frees that a subject refused. */
extern atomic_t subject_refused;

#endif /* LATH_IOVA_SUBJECTS_H */
