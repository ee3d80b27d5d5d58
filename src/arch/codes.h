/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * codes.h - columns of 15-bit codes, four per word, the first in the lowest bits. The top bit of
 * each lane is 0, so that a whole word is compared by one subtraction.
 *
 *   lath_codes_max(a, b)                    the larger of each pair of two words
 *   lath_codes_min(a, b)                    the smaller
 *   lath_codes_at_least(column, n, least)   a mask: which codes of n words are at least `least`
 *   lath_codes_most(column, n, keep)        the largest code among the lanes that are set in keep[]
 *
 * n is at most 16. The last but one may read while another thread writes; the last one may not.
 */
#ifndef LATH_ARCH_CODES_H
#define LATH_ARCH_CODES_H

#include "arch/search.h"

#define LATH_CODES(x) ((x) * 0x0001000100010001ull)

static inline u64 lath_codes_max(u64 a, u64 b)
{
	u64 tops = ((a | LATH_CODES(0x8000)) - b) & LATH_CODES(0x8000);
	u64 larger = tops | (tops - (tops >> 15));

	return (a & larger) | (b & ~larger);
}

static inline u64 lath_codes_min(u64 a, u64 b)
{
	return a ^ b ^ lath_codes_max(a, b);
}

static inline u64 lath_codes_at_least(const u64 *column, unsigned int n, unsigned int least)
{
	u64 mask = 0;
	unsigned int w;

#if defined(LATH_X86_VECTORS) && !LATH_CHECKED
	if (n == 16) {
		const __m128i *v = (const __m128i *)column;
		__m128i less = _mm_set1_epi16((short)(least - 1));

		for (w = 0; w < 4; w++) {
			__m128i a = _mm_cmpgt_epi16(_mm_load_si128(v + 2 * w), less);
			__m128i b = _mm_cmpgt_epi16(_mm_load_si128(v + 2 * w + 1), less);

			mask |= (u64)(u32)_mm_movemask_epi8(_mm_packs_epi16(a, b)) << 16 * w;
		}
		return mask;
	}
#endif
	for (w = 0; w < n; w++) {
		u64 tops = ((READ_ONCE(column[w]) | LATH_CODES(0x8000)) - LATH_CODES((u64)least)) &
			   LATH_CODES(0x8000);

		/* gather the four top bits in the highest four bits */
		mask |= (tops >> 15) * 0x1000200040008000ull >> 60 << 4 * w;
	}
	return mask;
}

static inline unsigned int lath_codes_most(const u64 *column, unsigned int n, const u64 *keep)
{
	u64 codes = 0;
	unsigned int w;

#ifdef LATH_X86_VECTORS
	if (n == 16) {
		const __m128i *v = (const __m128i *)column, *k = (const __m128i *)keep;
		__m128i most = _mm_and_si128(_mm_load_si128(v), _mm_loadu_si128(k));

		for (w = 1; w < 8; w++)
			most = _mm_max_epi16(most, _mm_and_si128(_mm_load_si128(v + w),
								 _mm_loadu_si128(k + w)));
		codes = lath_codes_max((u64)_mm_cvtsi128_si64(most),
				       (u64)_mm_cvtsi128_si64(_mm_unpackhi_epi64(most, most)));
		n = 0;
	}
#endif
	for (w = 0; w < n; w++)
		codes = lath_codes_max(codes, READ_ONCE(column[w]) & keep[w]);
	codes = lath_codes_max(codes, codes >> 32);
	return (unsigned int)lath_codes_max(codes, codes >> 16) & 0xffff;
}

#endif /* LATH_ARCH_CODES_H */
