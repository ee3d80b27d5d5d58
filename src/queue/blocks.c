/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * blocks.c - the blocks of the hybrid and the directory over them (arch/sortq_block.h has the
 * picture).
 *
 * A separator is a lower bound of its block. It stays when entries leave, so dispatch writes the
 * directory only to drop a block. The directory's first separator is never compared: an entry
 * before all others goes to the first block.
 *
 * There are n/24 + 8 blocks. Removal joins blocks that together fill half of one, so they suffice
 * except for adversarial patterns. When none is free, hybrid.c joins all neighbours that fit in one
 * block; then at most 2n/65 + 1 are in use. When no page is free, the directory is rebuilt.
 */
#include "queue/queue.h"

/* pairs per page of a rebuilt directory: leaves room on both sides of a split */
#define PAGE_FILL 48
#define TOP_PAD 16

static u32 blocks_for(u32 requests)
{
	return requests / 24 + 8;
}

static u32 pages_for(u32 blocks)
{
	return blocks / 24 + 4;
}

size_t lath_blocks_memsize(u32 requests)
{
	u32 blocks = blocks_for(requests), pages = pages_for(blocks);
	size_t bytes = blocks * (sizeof(struct lath_block) + sizeof(struct lath_block_info));

	bytes += pages * sizeof(struct lath_page);
	bytes += (2 * pages + TOP_PAD) * (sizeof(u64) + sizeof(u32));
	return (bytes + 3 * 63) & ~(size_t)63;
}

static void free_block(struct lath_blocks *b, u32 id)
{
	LATH_ASSERT(id && id < b->blocks && id != b->free_block);
	/* a stale hint must find no entry here */
	b->info[id].lo = b->info[id].hi = b->info[id].sorted = 0;
	b->info[id].next = b->free_block;
	b->free_block = id;
}

static void free_page(struct lath_blocks *b, u32 page)
{
	LATH_ASSERT(page < b->pages && page != b->free_page);
	b->page[page].next_free = b->free_page;
	b->free_page = page;
}

void lath_blocks_init(struct lath_blocks *b, u32 requests, void *memory)
{
	char *at = memory;
	u32 i;

	LATH_ASSERT(!((uintptr_t)memory % 64));
	b->blocks = blocks_for(requests);
	b->pages = pages_for(b->blocks);
	b->top_cap = 2 * b->pages;
	memset(memory, 0, lath_blocks_memsize(requests));
	b->block = (struct lath_block *)at;
	at += b->blocks * sizeof(struct lath_block);
	b->page = (struct lath_page *)at;
	at += b->pages * sizeof(struct lath_page);
	b->top_sep = (u64 *)at;
	at += (b->top_cap + TOP_PAD) * sizeof(u64);
	b->info = (struct lath_block_info *)at;
	at += b->blocks * sizeof(struct lath_block_info);
	b->top_id = (u32 *)at;
	b->free_block = b->free_page = LATH_NONE;
	for (i = b->blocks; --i;)
		free_block(b, i);
	for (i = b->pages; i--;)
		free_page(b, i);
	b->first = b->last = 0;
	b->top_lo = b->top_hi = 0;
	b->only = NULL;
}

static u32 take_block(struct lath_blocks *b)
{
	u32 id = b->free_block;

	LATH_ASSERT(id != LATH_NONE && b->info[id].lo == b->info[id].hi);
	b->free_block = b->info[id].next;
	return id;
}

/* Updates b->only. To be called after each change of the top. */
static void note_only(struct lath_blocks *b)
{
	b->only = b->top_hi - b->top_lo == 1 ? &b->page[b->top_id[b->top_lo]] : NULL;
}

/* Inserts a page with its separator at index i of the top. Returns its index, which may differ from
 * i. */
static u32 top_insert(struct lath_blocks *b, u32 i, u64 separator)
{
	u32 page = b->free_page, n;

	if (b->top_hi == b->top_cap) {
		n = b->top_hi - b->top_lo;
		memmove(b->top_sep, b->top_sep + b->top_lo, n * sizeof(u64));
		memmove(b->top_id, b->top_id + b->top_lo, n * sizeof(u32));
		i -= b->top_lo;
		b->top_lo = 0;
		b->top_hi = n;
	}
	LATH_ASSERT(i >= b->top_lo && i <= b->top_hi && b->top_hi < b->top_cap);
	n = b->top_hi++ - i;
	memmove(b->top_sep + i + 1, b->top_sep + i, n * sizeof(u64));
	memmove(b->top_id + i + 1, b->top_id + i, n * sizeof(u32));
	LATH_ASSERT(page != LATH_NONE);
	b->free_page = b->page[page].next_free;
	b->page[page].lo = b->page[page].hi = 0;
	b->top_sep[i] = separator;
	b->top_id[i] = page;
	note_only(b);
	return i;
}

static u32 top_index(const struct lath_blocks *b, u32 page)
{
	u32 i = b->top_lo;

	while (b->top_id[i] != page) {
		i++;
		LATH_ASSERT(i < b->top_hi);
	}
	return i;
}

static u32 page_slot(const struct lath_blocks *b, u32 id)
{
	const struct lath_page *page = &b->page[b->info[id].page];
	u32 i = page->lo;

	while (page->id[i] != id) {
		i++;
		LATH_ASSERT(i < page->hi);
	}
	return i;
}

static void page_remove(struct lath_blocks *b, u32 page_id, u32 slot)
{
	struct lath_page *page = &b->page[page_id];
	u32 n, i;

	LATH_ASSERT(slot >= page->lo && slot < page->hi);
	if (slot == page->lo) {
		page->lo++;
	} else {
		n = page->hi-- - slot - 1;
		memmove(page->sep + slot, page->sep + slot + 1, n * sizeof(u64));
		memmove(page->id + slot, page->id + slot + 1, n * sizeof(u32));
	}
	if (slot >= page->lo && page->lo != page->hi)
		return;
	i = top_index(b, page_id);
	if (page->lo != page->hi) {
		/* the block before, in another page, may hold entries of this range: raise the
		 * bound */
		b->top_sep[i] = page->sep[page->lo];
		return;
	}
	if (i == b->top_lo) {
		b->top_lo++;
	} else {
		n = b->top_hi-- - i - 1;
		memmove(b->top_sep + i, b->top_sep + i + 1, n * sizeof(u64));
		memmove(b->top_id + i, b->top_id + i + 1, n * sizeof(u32));
	}
	if (b->top_lo == b->top_hi)
		b->top_lo = b->top_hi = 0;
	note_only(b);
	free_page(b, page_id);
}

/* Splits a full page to make room for a pair at *slot. Returns the page that has the slot now. */
static u32 page_split(struct lath_blocks *b, u32 page_id, u32 *slot, u64 separator)
{
	struct lath_page *page = &b->page[page_id], *right;
	u32 half, n, i;

	LATH_ASSERT(page->hi == LATH_PAGE_CAP && *slot <= LATH_PAGE_CAP);
	if (page->lo) {
		n = page->hi - page->lo;
		memmove(page->sep, page->sep + page->lo, n * sizeof(u64));
		memmove(page->id, page->id + page->lo, n * sizeof(u32));
		*slot -= page->lo;
		page->lo = 0;
		page->hi = n;
		return page_id;
	}
	/* at the end, where a stream grows: leave the full page full */
	half = *slot == LATH_PAGE_CAP ? LATH_PAGE_CAP : LATH_PAGE_CAP / 2;
	n = LATH_PAGE_CAP - half;
	i = top_insert(b, top_index(b, page_id) + 1, n ? page->sep[half] : separator);
	right = &b->page[b->top_id[i]];
	memcpy(right->sep, page->sep + half, n * sizeof(u64));
	memcpy(right->id, page->id + half, n * sizeof(u32));
	page->hi = half;
	right->hi = n;
	for (i = 0; i < n; i++)
		b->info[right->id[i]].page = (u32)(right - b->page);
	if (n && *slot <= half)
		return page_id;
	*slot -= half;
	return (u32)(right - b->page);
}

static void page_insert(struct lath_blocks *b, u32 page_id, u32 slot, u64 separator, u32 id)
{
	struct lath_page *page = &b->page[page_id];
	u32 i;

	if (page->hi == LATH_PAGE_CAP) {
		page_id = page_split(b, page_id, &slot, separator);
		page = &b->page[page_id];
	}
	LATH_ASSERT(slot >= page->lo && slot <= page->hi && page->hi < LATH_PAGE_CAP);
	for (i = page->hi++; i > slot; i--) {
		page->sep[i] = page->sep[i - 1];
		page->id[i] = page->id[i - 1];
		barrier(); /* a dozen pairs: cheaper than a call to memmove */
	}
	page->sep[slot] = separator;
	page->id[slot] = id;
	b->info[id].page = page_id;
}

/* Needs a free block, and a free page in case the page splits. */
u32 lath_blocks_add(struct lath_blocks *b, u32 beside, u32 slot, u64 separator)
{
	u32 id = take_block(b);
	struct lath_block_info *info = &b->info[id], *near = &b->info[beside];

	LATH_ASSERT(beside < b->blocks && b->page[near->page].id[slot] == beside);
	page_insert(b, near->page, slot + 1, separator, id);
	info->next = near->next;
	info->prev = beside;
	near->next = id;
	*(info->next == LATH_NONE ? &b->last : &b->info[info->next].prev) = id;
	return id;
}

u32 lath_blocks_first(struct lath_blocks *b)
{
	u32 id = take_block(b), page = b->top_id[top_insert(b, b->top_lo, 0)];

	LATH_ASSERT(!b->first && !b->last && b->top_hi - b->top_lo == 1);
	b->page[page].id[0] = id;
	b->page[page].sep[0] = 0;
	b->page[page].hi = 1;
	b->info[id].page = page;
	b->info[id].prev = b->info[id].next = LATH_NONE;
	b->first = b->last = id;
	return id;
}

void lath_blocks_drop(struct lath_blocks *b, u32 id)
{
	struct lath_block_info *info = &b->info[id];

	LATH_ASSERT(id < b->blocks && b->first);
	page_remove(b, info->page, page_slot(b, id));
	*(info->prev == LATH_NONE ? &b->first : &b->info[info->prev].next) = info->next;
	*(info->next == LATH_NONE ? &b->last : &b->info[info->next].prev) = info->prev;
	if (b->first == LATH_NONE)
		b->first = b->last = 0;
	free_block(b, id);
}

/* Drops the first block, which is empty: the common case, without a search of the directory. */
void lath_blocks_drop_first(struct lath_blocks *b)
{
	u32 id = b->first, next = b->info[id].next, page_id = b->top_id[b->top_lo];
	struct lath_page *page = &b->page[page_id];

	LATH_ASSERT(page->id[page->lo] == id && b->info[id].lo == b->info[id].hi);
	if (unlikely(++page->lo == page->hi)) {
		free_page(b, page_id);
		if (++b->top_lo == b->top_hi)
			b->top_lo = b->top_hi = 0;
		note_only(b);
	}
	free_block(b, id);
	if (likely(next != LATH_NONE)) {
		b->info[next].prev = LATH_NONE;
		b->first = next;
	} else {
		b->first = b->last = 0;
	}
}

/* Rebuilds the directory from the chain of blocks. */
void lath_blocks_rebuild(struct lath_blocks *b)
{
	struct lath_page *page = NULL;
	u32 i, id;

	for (i = b->top_lo; i < b->top_hi; i++)
		free_page(b, b->top_id[i]);
	b->top_lo = b->top_hi = 0;
	if (!b->first)
		return;
	for (id = b->first; id != LATH_NONE; id = b->info[id].next) {
		u64 separator = b->block[id].e[b->info[id].lo] & ~LATH_TAG_MASK;

		LATH_ASSERT(b->info[id].lo < b->info[id].sorted); /* its first entry is sorted */
		if (!page || page->hi == PAGE_FILL)
			page = &b->page[b->top_id[top_insert(b, b->top_hi, separator)]];
		page->sep[page->hi] = separator;
		page->id[page->hi++] = id;
		b->info[id].page = (u32)(page - b->page);
	}
}

/* Returns whether the separator is a lower bound of block `id` and an upper bound of the one
 * before. */
static bool separates(const struct lath_blocks *b, u32 id, u64 separator)
{
	const struct lath_block_info *info = &b->info[id], *before;
	u64 bound = separator - b->gate.base;

	if (info->prev == LATH_NONE)
		return true;
	before = &b->info[info->prev];
	return b->block[id].e[info->lo] - b->gate.base >= bound &&
	       (b->block[info->prev].e[before->hi - 1] & ~LATH_TAG_MASK) - b->gate.base <= bound;
}

/* Checks S2, S5, and that no block is empty. Returns 0 or the number of the broken invariant. */
int lath_blocks_verify(const struct lath_blocks *b)
{
	u32 id = b->first ? b->first : LATH_NONE, prev = LATH_NONE, t, i;

	for (t = b->top_lo; t < b->top_hi; t++) {
		const struct lath_page *page = &b->page[b->top_id[t]];

		if (page->lo >= page->hi || page->hi > LATH_PAGE_CAP)
			return 5;
		for (i = page->lo; i < page->hi; i++) {
			const struct lath_block_info *info = &b->info[id];

			if (id == LATH_NONE || page->id[i] != id || info->prev != prev ||
			    info->page != b->top_id[t])
				return 5;
			if (info->lo >= info->hi || info->hi > LATH_BLOCK_CAP)
				return 4;
			if (!separates(b, id, i == page->lo ? b->top_sep[t] : page->sep[i]))
				return 2;
			prev = id;
			id = info->next;
		}
	}
	return id == LATH_NONE && b->last == (prev == LATH_NONE ? 0 : prev) ? 0 : 5;
}
