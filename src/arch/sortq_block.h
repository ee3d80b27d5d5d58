/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sortq_block.h - the memory of the hybrid engine, and its steps that have a form per instruction
 * set.
 *
 *   gate   e[32]    entries in order of arrival, not yet sorted: lathwork/sortq.h
 *   top    sep|id   one (separator, page) pair per page, in order      only above ~2500 requests
 *   page   sep|id   up to 64 (separator, block) pairs
 *   block  e[64]    entries, the live ones in [lo, hi), in order up to `sorted`
 *
 * An entry is one word, sector << 20 | tag. Entries are ordered by their distance from the head,
 * (entry - base) as an unsigned number with base = head << 20: circular, so a one-way sweep never
 * ends and needs no second queue. A search key has all tag bits set: it comes after its equals.
 *
 * A block's entries from `sorted` on are late ones, in order of arrival: deep queues append them,
 * which writes one cache line, and sort them when the block is the first, is searched, or is full.
 *
 * The steps have no branches on data: at 128 requests a tree spends its time in mispredicted
 * branches, not in cache misses. 32 arrivals are ranked against each other at once, and a run of
 * sorted arrivals is merged into a block with vector moves whose number depends on counts alone.
 */
#ifndef LATH_ARCH_SORTQ_BLOCK_H
#define LATH_ARCH_SORTQ_BLOCK_H

#include "arch/isa.h"
#include "lathwork/sortq.h"

#define LATH_BLOCK_CAP 64
#define LATH_PAGE_CAP 64
#define LATH_PAD 8 /* words past the end that a vector may read or write */

struct lath_block {
	u64 e[LATH_BLOCK_CAP + LATH_PAD];
} __attribute__((aligned(64)));

struct lath_block_info {
	u8 lo, hi; /* live entries */
	u8 sorted; /* entries before it are in order */
	u32 page;
	u32 prev, next; /* blocks in order; LATH_NONE at the ends */
};

struct lath_page {
	u64 sep[LATH_PAGE_CAP]; /* lower bounds of the blocks; the very first is never compared */
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
	/*
	 * The window: live entries of the first block that may leave one after the other until a
	 * fresh one comes before them. While it is open, the counts, base and the first block's lo
	 * keep their values from when it was opened. Closed: limit = 0, next = opened = fresh.
	 */
	struct lath_sortq_gate gate;
	u64 *opened;
	u32 count;	/* entries in blocks */
	u64 sweep_mask; /* ~LATH_TAG_MASK, or 0: the head stays at 0 */
	const struct lath_block_ops *ops;
	struct lath_block *block;
	struct lath_block_info *info;
	u32 first, last; /* blocks; 0 when there are none */
	struct lath_page *page;
	struct lath_page *only; /* the page, while there is one only */
	u64 *top_sep;
	u32 *top_id;
	u32 top_lo, top_hi, top_cap;
	u32 free_block, free_page; /* heads of chains */
	u32 blocks, pages;	   /* their total numbers */
};

/*
 * The place of an entry, in one word: block id in bits 0-31, index in the block in 32-39, index of
 * the block in its page in 40-47.
 */
#define LATH_PLACE(id, p, d) ((u64)(id) | (u64)(p) << 32 | (u64)(d) << 40)
#define LATH_PLACE_BLOCK(w) ((u32)(w))
#define LATH_PLACE_INDEX(w) ((u32)((w) >> 32) & 255)
#define LATH_PLACE_SLOT(w) ((u32)((w) >> 40) & 255)

struct lath_block_ops {
	const char *name;
	u32 few; /* up to this many entries are merged at once; in larger queues they are late */
	/* sorts n <= LATH_SORTQ_FRESH entries, stably; returns `in` if it is sorted already, else
	 * `out` */
	const u64 *(*sort)(u64 *out, const u64 *in, u32 n, u64 base);
	/* finds the blocks of n entries; the index in the block is not set */
	void (*find)(const struct lath_blocks *b, const u64 *entries, u32 n, u64 *places);
	/* returns the place behind every entry whose distance from base is <= key - base */
	u64 (*seek)(const struct lath_blocks *b, u64 key);
	/* returns the first index of entry in a block, unused words included; >= LATH_BLOCK_CAP:
	 * none */
	u32 (*locate)(const u64 *e, u64 entry);
	/* merges e[0..n) and s[0..m), which is behind equals, to out, which may be e; n <= 64, 0 <
	 * m <= 32 */
	void (*merge)(u64 *out, const u64 *e, u32 n, const u64 *s, u32 m, u64 base);
	/* inserts entry behind its equals in e[lo..hi) */
	void (*add)(u64 *e, u32 lo, u32 hi, u64 entry, u64 base);
	/* moves e[p..hi) up by one and puts entry at e[p] */
	void (*put)(u64 *e, u32 p, u32 hi, u64 entry);
	/* removes entry from a block; false: it is not there */
	bool (*cut)(u64 *e, struct lath_block_info *info, u64 entry);
};

extern const struct lath_block_ops lath_block_scalar;
#ifdef LATH_ISA_X86
extern const struct lath_block_ops lath_block_avx2;
#endif

/* NULL if the processor or the build does not have it. */
const struct lath_block_ops *lath_block_ops(enum lath_isa isa);

#endif /* LATH_ARCH_SORTQ_BLOCK_H */
