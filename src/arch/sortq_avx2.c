/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sortq_avx2.c - the block steps of the hybrid sort queue with AVX2: a block is four registers.
 * AVX2 compares signed words only; with the sign bit flipped in base and key they compare right.
 */
#include "arch/sortq_block.h"

#ifdef LATH_SORTQ_X86
#include <immintrin.h>

#define SIGN (1ull << 63)

static __always_inline u32 below4(const u64 *s, __m256i base, __m256i k)
{
	__m256i x = _mm256_sub_epi64(_mm256_loadu_si256((const __m256i *)s), base);

	return (u32)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(x, k))) ^ 15;
}

static __always_inline u32 below16(const u64 *s, __m256i b, __m256i k)
{
	return below4(s, b, k) | below4(s + 4, b, k) << 4 | below4(s + 8, b, k) << 8 |
	       below4(s + 12, b, k) << 12;
}

/* May read up to 15 words past n: pages and the top are padded. */
static __always_inline u32 rank(const u64 *sep, u32 n, u64 base, u64 k)
{
	__m256i b = _mm256_set1_epi64x((long long)(base ^ SIGN)),
		v = _mm256_set1_epi64x((long long)(k ^ SIGN));
	u32 at = 0;

	while (n > 32) {
		u32 half = n / 2;

		at += half & -(u32)(sep[at + half - 1] - base <= k);
		n -= half;
	}
	for (sep += at; n > 16; n -= 16, sep += 16)
		at += (u32)__builtin_popcount(below16(sep, b, v));
	return at + (u32)__builtin_popcount(below16(sep, b, v) & ((1u << n) - 1));
}

static __always_inline u32 at_most(const u64 *e, u64 base, u64 k)
{
	return below16(e, _mm256_set1_epi64x((long long)(base ^ SIGN)),
		       _mm256_set1_epi64x((long long)(k ^ SIGN)));
}

static __always_inline u32 behind(const u64 *e, u32 lo, u32 hi, u64 base, u64 k)
{
	return lo + (u32)__builtin_popcount(at_most(e, base, k) & ((1u << hi) - (1u << lo)));
}

static __always_inline __m256i index4(u32 from)
{
	return _mm256_add_epi64(_mm256_set1_epi64x(from), _mm256_set_epi64x(3, 2, 1, 0));
}

static __always_inline void put(u64 *e, u32 p, u32 hi __maybe_unused, u64 entry)
{
	__m256i v = _mm256_set1_epi64x((long long)entry), at = _mm256_set1_epi64x(p);
	__m256i last = _mm256_setzero_si256();
	u32 i;

	for (i = 0; i < LATH_BLOCK_CAP; i += 4) {
		__m256i x = _mm256_load_si256((const __m256i *)(e + i)), index = index4(i);
		__m256i turned = _mm256_permute4x64_epi64(x, 0x93); /* 3 0 1 2 */
		__m256i up = _mm256_blend_epi32(turned, last, 3);
		__m256i y = _mm256_blendv_epi8(x, up, _mm256_cmpgt_epi64(index, at));

		y = _mm256_blendv_epi8(y, v, _mm256_cmpeq_epi64(index, at));
		_mm256_store_si256((__m256i *)(e + i), y);
		last = turned;
	}
}

static void split(u64 *e, u64 *to, u32 p, u64 entry)
{
	u32 i, half = LATH_BLOCK_CAP / 2, left = p <= half;

	for (i = 0; i < half; i++)
		to[i] = e[half + i];
	put(left ? e : to, left ? p : p - half, half, entry);
}

static __always_inline void cut(u64 *e, u32 p, u32 hi __maybe_unused)
{
	__m256i at = _mm256_set1_epi64x((long long)p - 1), x = _mm256_load_si256((const __m256i *)e);
	u32 i;

	for (i = 0; i < LATH_BLOCK_CAP; i += 4) {
		__m256i next = x, turned = _mm256_permute4x64_epi64(x, 0x39), down; /* 1 2 3 0 */

		if (i + 4 < LATH_BLOCK_CAP)
			next = _mm256_load_si256((const __m256i *)(e + i + 4));
		down = _mm256_blend_epi32(turned, _mm256_permute4x64_epi64(next, 0), 0xc0);
		down = _mm256_blendv_epi8(x, down, _mm256_cmpgt_epi64(index4(i), at));
		_mm256_store_si256((__m256i *)(e + i), down);
		x = next;
	}
}

static __always_inline u32 find(const u64 *e, u64 tag)
{
	__m256i mask = _mm256_set1_epi64x((long long)LATH_TAG_MASK), v = _mm256_set1_epi64x((long long)tag);
	u32 m = 0, i;

	for (i = 0; i < LATH_BLOCK_CAP; i += 4) {
		__m256i x = _mm256_and_si256(_mm256_load_si256((const __m256i *)(e + i)), mask);

		m |= (u32)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(x, v))) << i;
	}
	return m;
}

#include "arch/sortq_place.h"

const struct lath_block_ops lath_block_avx2 = { "avx2", place, seek, put, cut, split, find };
#else
extern int lath_no_avx2;
#endif
