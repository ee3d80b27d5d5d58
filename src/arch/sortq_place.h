/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sortq_place.h - the descent, written once. The including file supplies, inlined, for its
 * instruction set:
 *
 *   rank(sep, n, base, k)   how many of n ascending separators have sep - base <= k
 *   behind(e, lo, hi, base, k)   the index behind those of e[lo..hi) with e - base <= k
 *   put(e, p, hi, entry), cut(e, p, hi), find(e, tag)     as in struct lath_block_ops
 */
struct spot {
	const struct lath_page *page;
	u32 id, p, d, hi;
};

/* Kept apart until the end: id and hi are known long before p, and the processor goes on with them. */
static __always_inline struct spot descend(const struct lath_blocks *b, u64 base, u64 k)
{
	const struct lath_page *page = b->only;
	const struct lath_block_info *info;
	struct spot s;
	u32 t, n;

	if (unlikely(!page)) {
		t = b->top_lo;
		t += rank(b->top_sep + t + 1, b->top_hi - t - 1, base, k);
		page = &b->page[b->top_id[t]];
	}
	s.d = page->lo;
	n = page->hi - s.d;
	if (likely(n > 1))
		s.d += rank(page->sep + s.d + 1, n - 1, base, k);
	s.page = page;
	s.id = page->id[s.d];
	info = &b->info[s.id];
	s.hi = info->hi;
	s.p = behind(b->block[s.id].e, info->lo, s.hi, base, k);
	return s;
}

static u64 seek(const struct lath_blocks *b, u64 key)
{
	struct spot s = descend(b, b->base, key - b->base);

	return LATH_PLACE(s.id, s.p, s.d);
}

static u64 place(struct lath_blocks *b, u64 entry)
{
	struct spot s = descend(b, b->base, (entry | LATH_TAG_MASK) - b->base);
	struct lath_block_info *info = &b->info[s.id];
	u64 *e = b->block[s.id].e, w = LATH_PLACE(s.id, s.p, s.d);

	if (unlikely(s.hi == LATH_BLOCK_CAP))
		return w | LATH_PLACE_FULL;
	if (unlikely(s.p == info->lo && s.p)) { /* room below: no need to move */
		info->lo = info->at = (u8)(s.p - 1);
		e[s.p - 1] = entry;
		w |= LATH_PLACE_LOW;
	} else {
		w |= (u64)((u32)(s.p == s.hi) & (u32)(info->at + 1u == s.p)) << LATH_PLACE_STREAM_BIT;
		put(e, s.p, s.hi, entry);
		info->hi = (u8)(s.hi + 1);
		info->at = (u8)s.p;
	}
	return w;
}
