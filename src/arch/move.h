/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * move.h - changes to a node's entries, in the fastest form that the processor has.
 *
 *   lath_heads_make(pairs, n, base, shift, head)
 *                                head[i] = (first word of pair i - base) >> shift, which is below
 *                                256, for n of 64 pairs; returns how many are equal to the one
 *                                before. Writes up to 15 bytes more. SSE2
 *   lath_words_up(dst, src, n)   moves n words from src up to dst; the areas overlap
 *   lath_bytes_up(head, i, n)    moves n of 64 bytes up by one, from byte i on; the byte in front
 *                                of the 64 may be read
 *
 * The last two make room for an entry: memmove branches on its size several times, and the
 * processor mispredicts half of these branches. Here one or two branches remain for words and none
 * for bytes. Used if lath_have_avx2.
 */
#ifndef LATH_ARCH_MOVE_H
#define LATH_ARCH_MOVE_H

#include "arch/search.h"

#ifdef LATH_X86_VECTORS
/* Two heads, as words; four, of 32 bits; eight, of 16 bits. */
static __always_inline __m128i lath_two_heads(const __m128i *pair, __m128i base, __m128i shift)
{
	__m128i keys = _mm_unpacklo_epi64(_mm_load_si128(pair), _mm_load_si128(pair + 1));

	return _mm_srl_epi64(_mm_sub_epi64(keys, base), shift);
}

static __always_inline __m128i lath_four_heads(const __m128i *pair, __m128i base, __m128i shift)
{
	__m128 low = _mm_castsi128_ps(lath_two_heads(pair, base, shift));
	__m128 high = _mm_castsi128_ps(lath_two_heads(pair + 2, base, shift));

	return _mm_castps_si128(_mm_shuffle_ps(low, high, _MM_SHUFFLE(2, 0, 2, 0)));
}

static __always_inline __m128i lath_eight_heads(const __m128i *pair, __m128i base, __m128i shift)
{
	return _mm_packs_epi32(lath_four_heads(pair, base, shift),
			       lath_four_heads(pair + 4, base, shift));
}

static inline unsigned int lath_heads_make(const u64 *pairs, unsigned int n, u64 base,
					   unsigned int shift, u8 *head)
{
	__m128i all_base = _mm_set1_epi64x((long long)base), by = _mm_cvtsi32_si128((int)shift), h;
	u64 equal = 0;
	unsigned int i;

	for (i = 0; i < n; i += 16) {
		const __m128i *pair = (const __m128i *)(const void *)pairs + i;

		h = _mm_packus_epi16(lath_eight_heads(pair, all_base, by),
				     lath_eight_heads(pair + 8, all_base, by));
		_mm_storeu_si128((__m128i *)(void *)(head + i), h);
		h = _mm_cmpeq_epi8(h, _mm_slli_si128(h, 1));
		equal |= (u64)((u32)_mm_movemask_epi8(h) & 0xfffe) << i;
		equal |= (u64)(i && head[i] == head[i - 1]) << i;
	}
	return lath_count_bits(equal & lath_ones(n));
}

/* 0, 1, ..., 63 */
#define LATH_EIGHT(n) n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7
static const u8 lath_numbers[64]
	__attribute__((aligned(32))) = { LATH_EIGHT(0),	 LATH_EIGHT(8),	 LATH_EIGHT(16),
					 LATH_EIGHT(24), LATH_EIGHT(32), LATH_EIGHT(40),
					 LATH_EIGHT(48), LATH_EIGHT(56) };

/* The lowest words are read first and written last, over what the loop may have written there.
 * unreached: without AVX2 */
static inline void lath_words_up(u64 *dst, const u64 *src, u64 n)
{
	if (n > 16)
		__asm__ volatile("vmovdqu (%[src]), %%ymm0\n\tvmovdqu 32(%[src]), %%ymm1\n\t"
				 "vmovdqu 64(%[src]), %%ymm2\n\tvmovdqu 96(%[src]), %%ymm3\n"
				 "1:\tvmovdqu -128(%[src],%[n],8), %%ymm4\n\t"
				 "vmovdqu -96(%[src],%[n],8), %%ymm5\n\t"
				 "vmovdqu -64(%[src],%[n],8), %%ymm6\n\t"
				 "vmovdqu -32(%[src],%[n],8), %%ymm7\n\t"
				 "vmovdqu %%ymm4, -128(%[dst],%[n],8)\n\t"
				 "vmovdqu %%ymm5, -96(%[dst],%[n],8)\n\t"
				 "vmovdqu %%ymm6, -64(%[dst],%[n],8)\n\t"
				 "vmovdqu %%ymm7, -32(%[dst],%[n],8)\n\t"
				 "subq $16, %[n]\n\tcmpq $16, %[n]\n\tja 1b\n\t"
				 "vmovdqu %%ymm0, (%[dst])\n\tvmovdqu %%ymm1, 32(%[dst])\n\t"
				 "vmovdqu %%ymm2, 64(%[dst])\n\tvmovdqu %%ymm3, 96(%[dst])\n\t"
				 "vzeroupper"
				 : [n] "+r"(n)
				 : [src] "r"(src), [dst] "r"(dst)
				 : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
				   "xmm6", "xmm7");
	else if (n > 8)
		__asm__ volatile("vmovdqu (%[src]), %%ymm0\n\tvmovdqu 32(%[src]), %%ymm1\n\t"
				 "vmovdqu -64(%[src],%[n],8), %%ymm2\n\t"
				 "vmovdqu -32(%[src],%[n],8), %%ymm3\n\t"
				 "vmovdqu %%ymm2, -64(%[dst],%[n],8)\n\t"
				 "vmovdqu %%ymm3, -32(%[dst],%[n],8)\n\t"
				 "vmovdqu %%ymm0, (%[dst])\n\tvmovdqu %%ymm1, 32(%[dst])\n\t"
				 "vzeroupper"
				 :
				 : [n] "r"(n), [src] "r"(src), [dst] "r"(dst)
				 : "memory", "xmm0", "xmm1", "xmm2", "xmm3");
	else if (n > 3)
		__asm__ volatile("vmovdqu (%[src]), %%ymm0\n\t"
				 "vmovdqu -32(%[src],%[n],8), %%ymm1\n\t"
				 "vmovdqu %%ymm1, -32(%[dst],%[n],8)\n\t"
				 "vmovdqu %%ymm0, (%[dst])\n\tvzeroupper"
				 :
				 : [n] "r"(n), [src] "r"(src), [dst] "r"(dst)
				 : "memory", "xmm0", "xmm1");
	else
		while (n--)
			WRITE_ONCE(dst[n], src[n]);
}

/* unreached: without AVX2 */
static inline void lath_bytes_up(u8 *head, unsigned int i, unsigned int n)
{
	__asm__ volatile("vmovd %[i], %%xmm0\n\tvmovd %[end], %%xmm1\n\t"
			 "vpbroadcastb %%xmm0, %%ymm0\n\tvpbroadcastb %%xmm1, %%ymm1\n\t"
			 "vmovdqa %[low], %%ymm2\n\tvmovdqa %[high], %%ymm3\n\t"
			 "vpcmpgtb %%ymm1, %%ymm2, %%ymm4\n\tvpcmpgtb %%ymm1, %%ymm3, %%ymm5\n\t"
			 "vpcmpgtb %%ymm0, %%ymm2, %%ymm2\n\tvpcmpgtb %%ymm0, %%ymm3, %%ymm3\n\t"
			 "vpandn %%ymm2, %%ymm4, %%ymm2\n\tvpandn %%ymm3, %%ymm5, %%ymm3\n\t"
			 "vmovdqa (%[head]), %%ymm0\n\tvmovdqa 32(%[head]), %%ymm1\n\t"
			 "vpblendvb %%ymm2, -1(%[head]), %%ymm0, %%ymm0\n\t"
			 "vpblendvb %%ymm3, 31(%[head]), %%ymm1, %%ymm1\n\t"
			 "vmovdqa %%ymm0, (%[head])\n\tvmovdqa %%ymm1, 32(%[head])\n\tvzeroupper"
			 :
			 : [head] "r"(head), [i] "r"(i), [end] "r"(i + n),
			   [low] "m"(*(const u8(*)[32])lath_numbers),
			   [high] "m"(*(const u8(*)[32])(lath_numbers + 32))
			 : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5");
}
#endif

#endif /* LATH_ARCH_MOVE_H */
