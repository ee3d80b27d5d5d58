/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sortq_avx2.c - the hybrid's block steps with AVX2: search and sort; the others are the scalar
 * ones. AVX2 compares signed words only, so base and key have their sign bit flipped.
 */
#include "arch/sortq_block.h"

#ifdef LATH_ISA_X86
#include <immintrin.h>

#include "arch/sortq_plain.h"

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
	u32 at = narrow(sep, &n, 32, base, k);

	for (sep += at; n > 16; n -= 16, sep += 16)
		at += (u32)__builtin_popcount(below16(sep, b, v));
	return at + (u32)__builtin_popcount(below16(sep, b, v) & ((1u << n) - 1));
}

static __always_inline u32 behind(const u64 *e, u32 lo, u32 hi, u64 base, u64 k)
{
	return lo + rank(e + lo, hi - lo, base, k);
}

static __always_inline u32 before16(const u64 *key, __m256i k)
{
	u32 m = 0, i;

	for (i = 0; i < 16; i += 4) {
		__m256i x = _mm256_cmpgt_epi64(k, _mm256_load_si256((const __m256i *)(key + i)));

		m |= (u32)_mm256_movemask_pd(_mm256_castsi256_pd(x)) << i;
	}
	return m;
}

/* Moves each entry to its rank, the number of entries before it. */
static const u64 *sort(u64 *out, const u64 *in, u32 n, u64 base)
{
	u64 key[LATH_SORTQ_FRESH] __attribute__((aligned(32)));
	u32 i;

	const u64 *stream = sort_stream(out, in, n, base);

	if (stream)
		return stream;
	for (i = 0; i < LATH_SORTQ_FRESH; i++) {
		/* padding, after all entries */
		key[i] = i < n ? (((in[i] - base) & ~LATH_TAG_MASK) | i) ^ SIGN : SIGN - 1;
	}
	for (i = 0; i < n; i++) {
		__m256i k = _mm256_set1_epi64x((long long)key[i]);
		u32 m = before16(key, k);

		if (n > 16)
			m |= before16(key + 16, k) << 16;
		out[__builtin_popcount(m)] = in[i];
	}
	return out;
}

const struct lath_block_ops lath_block_avx2 = { "avx2", 160,   sort, find, seek,
						locate, merge, add,  put,  cut };
#else
extern int lath_no_avx2;
#endif
