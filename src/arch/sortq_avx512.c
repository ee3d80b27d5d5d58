/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sortq_avx512.c - the block steps of the hybrid sort queue with AVX-512: a block is two registers.
 */
#include "arch/sortq_block.h"

#ifdef LATH_SORTQ_X86
#include <immintrin.h>

static __always_inline u32 below8(const u64 *s, __m512i base, __m512i k)
{
	return _mm512_cmple_epu64_mask(_mm512_sub_epi64(_mm512_loadu_si512(s), base), k);
}

/* May read up to 15 words past n: pages and the top are padded. */
static __always_inline u32 rank(const u64 *sep, u32 n, u64 base, u64 k)
{
	__m512i b = _mm512_set1_epi64((long long)base), v = _mm512_set1_epi64((long long)k);
	u32 at = 0, m;

	while (n > 64) {
		u32 half = n / 2;

		at += half & -(u32)(sep[at + half - 1] - base <= k);
		n -= half;
	}
	for (sep += at; n > 16; n -= 16, sep += 16) {
		m = below8(sep, b, v) | below8(sep + 8, b, v) << 8;
		at += (u32)__builtin_popcount(m);
	}
	m = below8(sep, b, v) | below8(sep + 8, b, v) << 8;
	return at + (u32)__builtin_popcount(m & ((1u << n) - 1));
}

static __always_inline u32 at_most(const u64 *e, u64 base, u64 k)
{
	__m512i b = _mm512_set1_epi64((long long)base), v = _mm512_set1_epi64((long long)k);

	return below8(e, b, v) | below8(e + 8, b, v) << 8;
}

static __always_inline u32 behind(const u64 *e, u32 lo, u32 hi, u64 base, u64 k)
{
	return lo + (u32)__builtin_popcount(at_most(e, base, k) & ((1u << hi) - (1u << lo)));
}

static __always_inline void put(u64 *e, u32 p, u32 hi __maybe_unused, u64 entry)
{
	__m512i x0 = _mm512_load_si512(e), x1 = _mm512_load_si512(e + 8);
	__m512i v = _mm512_set1_epi64((long long)entry);
	__m512i s0 = _mm512_alignr_epi64(x0, x0, 7), s1 = _mm512_alignr_epi64(x1, x0, 7);
	u32 one = 1u << p, up = -2u << p;

	x0 = _mm512_mask_mov_epi64(x0, (__mmask8)up, s0);
	x1 = _mm512_mask_mov_epi64(x1, (__mmask8)(up >> 8), s1);
	_mm512_store_si512(e, _mm512_mask_mov_epi64(x0, (__mmask8)one, v));
	_mm512_store_si512(e + 8, _mm512_mask_mov_epi64(x1, (__mmask8)(one >> 8), v));
}

static void split(u64 *e, u64 *to, u32 p, u64 entry)
{
	__m512i x1 = _mm512_load_si512(e + 8);

	put(e, p, LATH_BLOCK_CAP, entry);
	_mm512_store_si512(to, p <= 8 ? x1 : _mm512_load_si512(e + 8));
	/* what fell over the end: the last of the old ones, or entry itself */
	x1 = _mm512_alignr_epi64(x1, x1, 7);
	_mm512_store_si512(to + 8, p == LATH_BLOCK_CAP ? _mm512_set1_epi64((long long)entry) : x1);
}

static __always_inline void cut(u64 *e, u32 p, u32 hi __maybe_unused)
{
	__m512i x0 = _mm512_load_si512(e), x1 = _mm512_load_si512(e + 8);
	__m512i s0 = _mm512_alignr_epi64(x1, x0, 1), s1 = _mm512_alignr_epi64(x1, x1, 1);
	u32 down = -1u << p;

	_mm512_store_si512(e, _mm512_mask_mov_epi64(x0, (__mmask8)down, s0));
	_mm512_store_si512(e + 8, _mm512_mask_mov_epi64(x1, (__mmask8)(down >> 8), s1));
}

static __always_inline u32 find(const u64 *e, u64 tag)
{
	__m512i mask = _mm512_set1_epi64((long long)LATH_TAG_MASK), v = _mm512_set1_epi64((long long)tag);
	__m512i x0 = _mm512_and_si512(_mm512_load_si512(e), mask);
	__m512i x1 = _mm512_and_si512(_mm512_load_si512(e + 8), mask);

	return _mm512_cmpeq_epi64_mask(x0, v) | (u32)_mm512_cmpeq_epi64_mask(x1, v) << 8;
}

#include "arch/sortq_place.h"

const struct lath_block_ops lath_block_avx512 = { "avx512", place, seek, put, cut, split, find };
#else
extern int lath_no_avx512;
#endif
