/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sortq_block.h - memory of the hybrid sort queue, and the few steps worth writing once per
 * instruction set.
 *
 *   top    sep|id   one (separator, page) pair per page, in order      only above ~700 requests
 *   page   sep|id   up to 64 (separator, block) pairs
 *   block  e[16]    entries in order, the live ones in [lo, hi)
 *
 * An entry is one word, sector << 20 | tag. Entries are ordered by their distance from the head,
 * (entry - base) as an unsigned number with base = head << 20: circular, so a one-way sweep never
 * ends and needs no second queue. A search key has all tag bits set: it comes after its equals.
 *
 * What wins here is fixed work: at 128 requests a tree spends its time in mispredicted branches, not
 * in cache misses. So a whole block is compared, shifted in registers and stored, whatever the
 * position; dead entries are masked out, never branched around.
 */
#ifndef LATH_ARCH_SORTQ_BLOCK_H
#define LATH_ARCH_SORTQ_BLOCK_H

#include "sys/sys.h"

#define LATH_TAG_BITS 20 /* a million requests, 2^44 sectors = 8 PiB of 512 bytes */
#define LATH_TAG_MASK ((1ull << LATH_TAG_BITS) - 1)
#define LATH_BLOCK_CAP 16 /* two AVX-512 registers; 32 and 64 are slower on random data */
#define LATH_PAGE_CAP 64

struct lath_block {
	u64 e[LATH_BLOCK_CAP];
} __attribute__((aligned(64)));

struct lath_block_info {
	u8 lo, hi; /* live entries */
	u8 at;	   /* index of the entry inserted last */
	u8 spare;
	u32 page;
	u32 prev, next; /* blocks in order; LATH_NONE at the ends */
};

struct lath_page {
	u64 sep[LATH_PAGE_CAP]; /* not after any entry of the block; the very first is not looked at */
	u32 id[LATH_PAGE_CAP];
	u64 pad[16]; /* vector loads may run over the end */
	u32 lo, hi;  /* live pairs */
	u32 next_free;
} __attribute__((aligned(64)));

#define LATH_NONE (~0u)

/* the kernel has these words too */
#ifndef noinline
#define noinline __attribute__((noinline))
#endif
#ifndef __maybe_unused
#define __maybe_unused __attribute__((unused))
#endif
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

struct lath_block_ops;

struct lath_blocks {
	u64 base;
	u64 sweep_mask; /* ~LATH_TAG_MASK, or 0: the head stays at 0 */
	struct lath_block *block;
	struct lath_block_info *info;
	u32 first, last; /* blocks; 0, the sentinel, when there are no requests */
	u32 finger;	 /* block that got an append last; 0 for none */
	u32 count;
	u64 finger_end;	 /* separator of the block after it */
	u64 finger_open; /* ~0 when there is none after it */
	u64 low_sep;	 /* separator of `low` */
	u32 low;	 /* block that grew downwards last; 0 for none */
	const struct lath_block_ops *ops;
	struct lath_page *page;
	struct lath_page *only; /* the page, while there is but one */
	u64 *top_sep;
	u32 *top_id;
	u32 top_lo, top_hi, top_cap;
	u32 free_block, free_page; /* chains */
	u32 blocks, pages;	   /* allotted */
};

/*
 * Where an entry belongs. The word is passed in a register: block id in bits 0-31, index in the block
 * in 32-39, index in its page in 40-47, flags.
 */
#define LATH_PLACE_FULL (1ull << 63) /* nothing was inserted */
#define LATH_PLACE_STREAM_BIT 62     /* the second append in a row to its block */
#define LATH_PLACE_STREAM (1ull << LATH_PLACE_STREAM_BIT)
#define LATH_PLACE_LOW (1ull << 61) /* the block grew downwards */
#define LATH_PLACE(id, p, d) ((u64)(id) | (u64)(p) << 32 | (u64)(d) << 40)
#define LATH_PLACE_BLOCK(w) ((u32)(w))
#define LATH_PLACE_INDEX(w) ((u32)((w) >> 32) & 255)
#define LATH_PLACE_SLOT(w) ((u32)((w) >> 40) & 255)

struct lath_block_ops {
	const char *name;
	/* insert entry behind its equals */
	u64 (*place)(struct lath_blocks *b, u64 entry);
	/* the place behind every entry whose distance from base is <= key - base */
	u64 (*seek)(const struct lath_blocks *b, u64 key);
	/* e[p..hi) up by one, entry to e[p] */
	void (*put)(u64 *e, u32 p, u32 hi, u64 entry);
	/* e[p+1..hi) down by one */
	void (*cut)(u64 *e, u32 p, u32 hi);
	/* e is full: its upper half moves to the block `to`, and entry goes to index p of the whole; to the
	 * left part if p <= 8. e has 9 or 8 entries then, `to` 8 or 9. */
	void (*split)(u64 *e, u64 *to, u32 p, u64 entry);
	/* bit i: the tag of e[i] is `tag` */
	u32 (*find)(const u64 *e, u64 tag);
};

extern const struct lath_block_ops lath_block_scalar;
#if defined(__x86_64__) && !defined(__KERNEL__) && !defined(LATH_SCALAR)
#define LATH_SORTQ_X86 1
extern const struct lath_block_ops lath_block_avx2;
extern const struct lath_block_ops lath_block_avx512;
#endif

/* 0 scalar, 1 AVX2, 2 AVX-512; NULL when the processor or the build has it not. */
const struct lath_block_ops *lath_block_ops(unsigned int level);

#endif /* LATH_ARCH_SORTQ_BLOCK_H */
