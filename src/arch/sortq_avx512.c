/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sortq_avx512.c - the hybrid's block steps with AVX-512: a block is eight registers. unreached:
 * without AVX-512
 */
#include "arch/sortq_block.h"

#ifdef LATH_ISA_X86
#include <immintrin.h>

#include "arch/sortq_seek.h"

static __always_inline u32 below8(const u64 *s, __m512i base, __m512i k)
{
	return _mm512_cmple_epu64_mask(_mm512_sub_epi64(_mm512_loadu_si512(s), base), k);
}

static __always_inline u64 all8(const __mmask8 *m)
{
	return _mm512_kunpackd(
		_mm512_kunpackw(_mm512_kunpackb(m[7], m[6]), _mm512_kunpackb(m[5], m[4])),
		_mm512_kunpackw(_mm512_kunpackb(m[3], m[2]), _mm512_kunpackb(m[1], m[0])));
}

/* A mask of those of 64 words that compare so with k. */
#define EACH(compare, x, k)                                                       \
	{ compare(x[0], k), compare(x[1], k), compare(x[2], k), compare(x[3], k), \
	  compare(x[4], k), compare(x[5], k), compare(x[6], k), compare(x[7], k) }

static __always_inline u64 at_most(const __m512i *x, __m512i k)
{
	__mmask8 m[8] = EACH(_mm512_cmple_epu64_mask, x, k);

	return all8(m);
}

static __always_inline u64 equal(const __m512i *x, __m512i k)
{
	__mmask8 m[8] = EACH(_mm512_cmpeq_epu64_mask, x, k);

	return all8(m);
}

static __always_inline void load(__m512i *x, const u64 *e)
{
	u32 i;

#pragma GCC unroll 8
	for (i = 0; i < 8; i++)
		x[i] = _mm512_load_si512(e + 8 * i);
}

static __always_inline void load_rel(__m512i *x, const u64 *e, u64 base)
{
	u32 i;

	load(x, e);
#pragma GCC unroll 8
	for (i = 0; i < 8; i++)
		x[i] = _mm512_sub_epi64(x[i], _mm512_set1_epi64((long long)base));
}

static __always_inline u64 between(u32 lo, u32 hi)
{
	return ~0ull >> (64 - hi) & ~0ull << lo;
}

/* Moves the words in `up` up by one and puts entry at the lowest of them. In registers: a word
 * stored into part of a vector would stall the next load of that vector. */
static __always_inline void move_up(u64 *e, const __m512i *x, u64 up, u64 entry)
{
	u64 one = up & -up;
	u32 i;

#pragma GCC unroll 8
	for (i = 0; i < 8; i++) {
		__m512i before = i ? x[i - 1] : x[0];

		before = _mm512_mask_alignr_epi64(x[i], (__mmask8)(up >> 8 * i), x[i], before, 7);
		_mm512_store_si512(e + 8 * i,
				   _mm512_mask_set1_epi64(before, (__mmask8)(one >> 8 * i),
							  (long long)entry));
	}
}

static __always_inline u32 behind(const u64 *e, u32 lo, u32 hi, u64 base, u64 k)
{
	__m512i x[8];

	load_rel(x, e, base);
	return lo + (u32)__builtin_popcountll(at_most(x, _mm512_set1_epi64((long long)k)) &
					      between(lo, hi));
}

/* Returns how many of n >= 0 ascending words are at a distance of at most k. Reads up to 7 words
 * past n. */
static __always_inline u32 rank(const u64 *sep, u32 n, u64 base, u64 k)
{
	__m512i b = _mm512_set1_epi64((long long)base), v = _mm512_set1_epi64((long long)k);
	u32 at = narrow(sep, &n, 64, base, k);

	for (sep += at; n > 8; n -= 8, sep += 8)
		at += (u32)__builtin_popcount(below8(sep, b, v));
	return at + (u32)__builtin_popcount(_bzhi_u32(below8(sep, b, v), n));
}

static __always_inline u64 find_in_page(const struct lath_page *page, const __m512i *x, u64 k)
{
	u64 live = between(page->lo, page->hi), below = at_most(x, _mm512_set1_epi64((long long)k));
	u32 slot = page->lo +
		   (u32)__builtin_popcountll(below & live & (live - 1)); /* skip the first */

	return LATH_PLACE(page->id[slot], 0, slot);
}

/* Searches every eighth separator, held in a register, then the eight between two of them. */
static void find_in_only(const struct lath_page *page, const u64 *entries, u32 n, u64 base,
			 u64 *places)
{
	const __m512i b = _mm512_set1_epi64((long long)base),
		      each8 = _mm512_set_epi64(63, 55, 47, 39, 31, 23, 15, 7);
	/* the first is not compared, nor are unused ones behind the last */
	u64 low = (2ull << page->lo) - 1, live = ~0ull >> (64 - page->hi);
	u32 low8 = (u32)_pext_u64(low, 0x0080808080808080),
	    live8 = (u32)_pext_u64(live, 0x0080808080808080);
	__m512i ends = _mm512_sub_epi64(_mm512_i64gather_epi64(each8, page->sep, 8), b);
	u32 i;

	for (i = 0; i < n; i++) {
		__m512i k = _mm512_set1_epi64((long long)((entries[i] | LATH_TAG_MASK) - base));
		u32 slot = 8 * (u32)__builtin_popcount((_mm512_cmple_epu64_mask(ends, k) | low8) &
						       live8);
		u32 below = (below8(page->sep + slot, b, k) | (u32)(low >> slot)) &
			    (u32)(live >> slot) & 255;

		slot += (u32)__builtin_popcount(below) - 1;
		places[i] = LATH_PLACE(page->id[slot], 0, slot);
	}
}

static void find(const struct lath_blocks *b, const u64 *entries, u32 n, u64 *places)
{
	const struct lath_page *page = b->only;
	u64 base = b->gate.base;
	__m512i x[8];
	u32 i;

	if (page && n > 4) {
		find_in_only(page, entries, n, base, places);
		return;
	}
	for (i = 0; i < n; i++) {
		u64 k = (entries[i] | LATH_TAG_MASK) - base;

		if (!b->only) {
			u32 t = b->top_lo;

			t += rank(b->top_sep + t + 1, b->top_hi - t - 1, base, k);
			page = &b->page[b->top_id[t]];
		}
		load_rel(x, page->sep, base);
		places[i] = find_in_page(page, x, k);
	}
}

/* The number of n keys, 8 per register, that come before k. */
static __always_inline u32 before32(const __m512i *key, __m512i k)
{
	__mmask16 a = _mm512_kunpackb(_mm512_cmplt_epu64_mask(key[1], k),
				      _mm512_cmplt_epu64_mask(key[0], k));
	__mmask16 b = _mm512_kunpackb(_mm512_cmplt_epu64_mask(key[3], k),
				      _mm512_cmplt_epu64_mask(key[2], k));

	return _mm512_kunpackw(b, a);
}

/* Moves each entry to its rank, the number of entries before it. */
static const u64 *sort(u64 *out, const u64 *in, u32 n, u64 base)
{
	u64 word[LATH_SORTQ_FRESH] __attribute__((aligned(64)));
	__m512i b = _mm512_set1_epi64((long long)base), key[5];
	u32 i, rises = 0, pairs = (1u << (n - 1)) - 1;

	for (i = 0; i < 4; i++) {
		__m512i at = _mm512_add_epi64(_mm512_set1_epi64(8 * i),
					      _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
		__m512i x = _mm512_sub_epi64(_mm512_load_si512(in + 8 * i), b);

		x = _mm512_or_si512(_mm512_andnot_si512(_mm512_set1_epi64(LATH_TAG_MASK), x), at);
		/* padding, after all entries */
		key[i] =
			_mm512_mask_mov_epi64(_mm512_set1_epi64(-1),
					      _mm512_cmplt_epu64_mask(at, _mm512_set1_epi64(n)), x);
		_mm512_store_si512(word + 8 * i, key[i]);
	}
	key[4] = _mm512_set1_epi64(-1);
	for (i = 0; i < 4; i++)
		rises |= (u32)_mm512_cmplt_epu64_mask(key[i],
						      _mm512_alignr_epi64(key[i + 1], key[i], 1))
			 << 8 * i;
	rises &= pairs;
	if (rises == pairs)
		return in;
	if (!rises) {
		for (i = 0; i < n; i++)
			out[n - 1 - i] = in[i];
	} else if (n <= 8) {
		for (i = 0; i < n; i++)
			out[__builtin_popcount(_mm512_cmplt_epu64_mask(
				key[0], _mm512_set1_epi64((long long)word[i])))] = in[i];
	} else {
		for (i = 0; i < n; i++)
			out[__builtin_popcount(
				before32(key, _mm512_set1_epi64((long long)word[i])))] = in[i];
	}
	return out;
}

/* Returns the position of k in e[0..n): searches every eighth word, then one register. */
static __always_inline u32 rank_in_block(const u64 *e, u32 n, __m512i ends, __mmask8 eighths,
					 u64 base, u64 entry)
{
	__m512i k = _mm512_set1_epi64((long long)((entry | LATH_TAG_MASK) - base));
	u32 p = 8 * (u32)__builtin_popcount(_mm512_mask_cmple_epu64_mask(eighths, ends, k));

	return p + (u32)__builtin_popcount(
			   _bzhi_u32(below8(e + p, _mm512_set1_epi64((long long)base), k), n - p));
}

/*
 * Marks the words of out that come from s, then expands both inputs to their places, a register at
 * a time from the end. The run of a stream lies in one gap: two ranks suffice for it.
 */
static void merge(u64 *out, const u64 *e, u32 n, const u64 *s, u32 m, u64 base)
{
	const __m512i b = _mm512_set1_epi64((long long)base),
		      each8 = _mm512_set_epi64(63, 55, 47, 39, 31, 23, 15, 7);
	__mmask8 eighths = (__mmask8)((1u << n / 8) - 1);
	__m512i ends = _mm512_sub_epi64(_mm512_mask_i64gather_epi64(b, eighths, each8, e, 8), b);
	u32 i, end = n + m, p = rank_in_block(e, n, ends, eighths, base, s[0]);
	u64 low = 0, high = 0, bit, upper;

	if (p == rank_in_block(e, n, ends, eighths, base, s[m - 1])) {
		bit = (1ull << m) - 1;
		low = p < 64 ? bit << p : 0;
		high = p < 64 ? bit >> 1 >> (63 - p) : bit;
	} else {
		for (i = 0; i < m; i++) {
			p = i + rank_in_block(e, n, ends, eighths, base, s[i]);
			bit = 1ull << (p & 63);
			upper = -(u64)(p >> 6);
			low |= bit & ~upper;
			high |= bit & upper;
		}
	}
	for (i = (end - 1) & ~7u; i <= end; i -= 8) {
		__mmask8 mine = (__mmask8)((i < 64 ? low : high) >> (i & 63));
		__m512i x, y;

		m -= (u32)__builtin_popcount(mine);
		x = _mm512_loadu_si512(e + i - m);
		y = _mm512_loadu_si512(s + m);
		x = _mm512_maskz_expand_epi64((__mmask8)~mine, x);
		_mm512_storeu_si512(out + i, _mm512_mask_expand_epi64(x, mine, y));
	}
}

static void add(u64 *e, u32 lo, u32 hi, u64 entry, u64 base)
{
	__m512i x[8], y[8];
	u64 up;

	load(x, e);
	load_rel(y, e, base);
	up = ~at_most(y, _mm512_set1_epi64((long long)((entry | LATH_TAG_MASK) - base)));
	move_up(e, x, (up | ~0ull << hi) & ~0ull << lo, entry);
}

static void put(u64 *e, u32 p, u32 hi __maybe_unused, u64 entry)
{
	__m512i x[8];

	load(x, e);
	move_up(e, x, ~0ull << p, entry);
}

static bool cut(u64 *e, struct lath_block_info *info, u64 entry)
{
	__m512i x[8];
	u64 here, down;
	u32 i;

	load(x, e);
	here = equal(x, _mm512_set1_epi64((long long)entry)) & between(info->lo, info->hi);
	if (unlikely(!here))
		return false;
	info->hi--;
	info->sorted -= _tzcnt_u64(here) < info->sorted;
	down = -here;
#pragma GCC unroll 8
	for (i = 0; i < 8; i++) {
		__m512i next = i < 7 ? x[i + 1] : x[7];

		_mm512_store_si512(e + 8 * i,
				   _mm512_mask_alignr_epi64(x[i], (__mmask8)(down >> 8 * i), next,
							    x[i], 1));
	}
	return true;
}

static u32 locate(const u64 *e, u64 entry)
{
	__m512i x[8];

	load(x, e);
	return (u32)_tzcnt_u64(equal(x, _mm512_set1_epi64((long long)entry)));
}

const struct lath_block_ops lath_block_avx512 = { "avx512", 384,   sort, find, seek,
						  locate,   merge, add,	 put,  cut };
#else
extern int lath_no_avx512;
#endif
