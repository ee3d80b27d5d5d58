/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sortq_place.h - the descent, written once. The including file supplies, inlined, for its
 * instruction set:
 *
 *   rank(sep, n, base, k)   how many of n ascending separators have sep - base <= k
 *   at_most(e, base, k)     bit i: e[i] - base <= k, of 16 entries
 *   put(e, p, entry), cut(e, p), find(e, tag)     as in struct lath_block_ops
 */
static inline u64 descend(const struct lath_blocks *b, u64 base, u64 k)
{
	const struct lath_page *page;
	const struct lath_block_info *info;
	u32 t = b->top_lo, n = b->top_hi - t, d, id, live;

	if (unlikely(n > 1))
		t += rank(b->top_sep + t + 1, n - 1, base, k);
	page = &b->page[b->top_id[t]];
	d = page->lo;
	n = page->hi - d;
	if (likely(n > 1))
		d += rank(page->sep + d + 1, n - 1, base, k);
	id = page->id[d];
	info = &b->info[id];
	live = (1u << info->hi) - (1u << info->lo);
	return LATH_PLACE(id, info->lo + hweight64(at_most(b->block[id].e, base, k) & live), d, info->hi);
}

static u64 seek(const struct lath_blocks *b, u64 key)
{
	return descend(b, b->base, key - b->base);
}

static u64 place(struct lath_blocks *b, u64 entry)
{
	u64 w = descend(b, b->base, (entry | LATH_TAG_MASK) - b->base);
	u32 id = LATH_PLACE_BLOCK(w), p = LATH_PLACE_INDEX(w);
	struct lath_block_info *info = &b->info[id];
	u64 *e = b->block[id].e;

	if (unlikely(info->hi == LATH_BLOCK_CAP))
		return w | LATH_PLACE_FULL;
	if (unlikely(p == info->lo && p)) { /* room below: no need to move */
		info->lo = info->at = (u8)(p - 1);
		e[p - 1] = entry;
		return w;
	}
	put(e, p, entry);
	info->hi++;
	info->at = (u8)p;
	return w;
}
