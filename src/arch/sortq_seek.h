/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sortq_seek.h - the search of the directory, once for all instruction sets. The including file
 * defines:
 *
 *   rank(sep, n, base, k)        returns how many of n ascending words have word - base <= k
 *   behind(e, lo, hi, base, k)   returns the index behind those of e[lo..hi) with e - base <= k
 */
static __always_inline u32 rank(const u64 *sep, u32 n, u64 base, u64 k);
static __always_inline u32 behind(const u64 *e, u32 lo, u32 hi, u64 base, u64 k);

/*
 * Halves *n ascending words until `few` are left. Returns how many precede these. The number of
 * steps depends on *n alone; the mask keeps compilers from generating a branch.
 */
static __always_inline u32 narrow(const u64 *sep, u32 *n, u32 few, u64 base, u64 k)
{
	u32 at = 0;

	while (*n > few) {
		u32 half = *n / 2, go = -(u32)(sep[at + half - 1] - base <= k);

		__asm__("" : "+r"(go));
		at += half & go;
		*n -= half;
	}
	return at;
}

static __always_inline u64 descend(const struct lath_blocks *b, u64 k)
{
	const struct lath_page *page = b->only;
	u32 d, n;

	if (unlikely(!page)) {
		u32 t = b->top_lo;

		t += rank(b->top_sep + t + 1, b->top_hi - t - 1, b->gate.base, k);
		page = &b->page[b->top_id[t]];
	}
	d = page->lo;
	n = page->hi - d;
	if (likely(n > 1))
		d += rank(page->sep + d + 1, n - 1, b->gate.base, k);
	return LATH_PLACE(page->id[d], 0, d);
}

static u64 seek(const struct lath_blocks *b, u64 key)
{
	u64 w = descend(b, key - b->gate.base);
	u32 id = LATH_PLACE_BLOCK(w);
	const struct lath_block_info *info = &b->info[id];

	return w | (u64)behind(b->block[id].e, info->lo, info->hi, b->gate.base, key - b->gate.base)
			   << 32;
}
