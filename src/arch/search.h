/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * search.h - the two searches inside a node, in whatever the processor does best.
 *
 *   lath_heads_match(head, h)     which of 64 bytes are below h, which equal h: two 64-bit masks
 *   lath_keys_rank(key, n, k)     how many of n ascending keys are <= k
 *
 * Nodes are searched while writers change them: any answer is allowed then, since the caller
 * checks the node's version afterwards; reading past the arrays is not. Three forms: AVX-512
 * (taken at run time where the processor has it; inline assembly on registers 16 and up, which
 * need no vzeroupper and which a compiler without -mavx512f never uses), SSE2 (every x86-64) and
 * portable C (the kernel, other processors, checked builds, -DLATH_SCALAR).
 */
#ifndef LATH_ARCH_SEARCH_H
#define LATH_ARCH_SEARCH_H

#include "sys/sys.h"

struct lath_match {
	u64 lt; /* bit i: head[i] < h */
	u64 eq; /* bit i: head[i] == h */
};

#if defined(__x86_64__) && !defined(__KERNEL__) && !defined(LATH_SCALAR) && !LATH_CHECKED
#define LATH_X86_VECTORS 1
#include <emmintrin.h>
/* set once by a constructor in search.c */
extern bool lath_have_avx512;
#endif

/*
 * Portable heads: 8 bytes a word. For bytes a, b: the carry-free difference (a | 0x80) - (b & 0x7f)
 * has its top bit set where the low seven bits of a are >= those of b; the top bits decide first.
 */
#define LATH_BYTES(x) (0x0101010101010101ull * (x))

static inline u64 lath_bytes_ge(u64 a, u64 b)
{
	u64 low = (a | LATH_BYTES(0x80)) - (b & LATH_BYTES(0x7f));

	return ((a & ~b) | (~(a ^ b) & low)) & LATH_BYTES(0x80);
}

/* top bits of eight bytes -> eight bits */
static inline u64 lath_bytes_mask(u64 tops)
{
	return ((tops >> 7) * 0x0102040810204080ull) >> 56;
}

static inline struct lath_match lath_heads_match_c(const u8 *head, u8 h)
{
	struct lath_match m = { 0, 0 };
	u64 want = LATH_BYTES(h);
	unsigned int i;

	for (i = 0; i < 8; i++) {
		u64 x = READ_ONCE(((const u64 *)head)[i]);
		u64 ge = lath_bytes_ge(x, want), le = lath_bytes_ge(want, x);

		m.lt |= lath_bytes_mask(ge ^ LATH_BYTES(0x80)) << (8 * i);
		m.eq |= lath_bytes_mask(ge & le) << (8 * i);
	}
	return m;
}

/* Branch-free halving: always the same number of steps for one n. */
static inline unsigned int lath_keys_rank_c(const u64 *key, unsigned int n, u64 k)
{
	unsigned int base = 0;

	while (n > 1) {
		unsigned int half = n / 2;

		base += half & -(unsigned int)(READ_ONCE(key[base + half - 1]) <= k);
		n -= half;
	}
	return base + (n && READ_ONCE(key[base]) <= k);
}

#ifdef LATH_X86_VECTORS
static inline struct lath_match lath_heads_match_sse2(const u8 *head, u8 h)
{
	const __m128i *v = (const __m128i *)head;
	__m128i want = _mm_set1_epi8((char)h);
	struct lath_match m = { 0, 0 };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		__m128i x = _mm_load_si128(v + i);
		u64 eq = (u32)_mm_movemask_epi8(_mm_cmpeq_epi8(x, want));
		u64 ge = (u32)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(x, want), x));

		m.eq |= eq << (16 * i);
		m.lt |= (ge ^ 0xffff) << (16 * i);
	}
	return m;
}

#ifdef __AVX512F__
#define LATH_AVX512_CLOBBERS "cc", "xmm16", "xmm17", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define LATH_AVX512_CLOBBERS "cc"
#endif

static inline struct lath_match lath_heads_match_avx512(const u8 *head, u8 h)
{
	struct lath_match m;

	__asm__("vpbroadcastb %k[h], %%zmm16\n\t"
		"vmovdqa64 (%[head]), %%zmm17\n\t"
		"vpcmpub $1, %%zmm16, %%zmm17, %%k1\n\t"
		"vpcmpeqb %%zmm16, %%zmm17, %%k2\n\t"
		"kmovq %%k1, %[lt]\n\t"
		"kmovq %%k2, %[eq]"
		: [lt] "=r"(m.lt), [eq] "=r"(m.eq)
		: [head] "r"(head), [h] "r"((u32)h), "m"(*(const u8(*)[64])head)
		: LATH_AVX512_CLOBBERS);
	return m;
}

/* 64 keys; those past n are ~0 and count only for k == ~0 (the caller bounds the answer by n) */
static inline unsigned int lath_keys_rank_avx512(const u64 *key, u64 k)
{
	u64 a, b, c, d;

	__asm__("vpbroadcastq %[k], %%zmm16\n\t"
		"vpcmpuq $5, (%[key]), %%zmm16, %%k1\n\t"
		"vpcmpuq $5, 64(%[key]), %%zmm16, %%k2\n\t"
		"vpcmpuq $5, 128(%[key]), %%zmm16, %%k3\n\t"
		"vpcmpuq $5, 192(%[key]), %%zmm16, %%k4\n\t"
		"kunpckbw %%k1, %%k2, %%k1\n\t"
		"kunpckbw %%k3, %%k4, %%k3\n\t"
		"vpcmpuq $5, 256(%[key]), %%zmm16, %%k5\n\t"
		"vpcmpuq $5, 320(%[key]), %%zmm16, %%k6\n\t"
		"vpcmpuq $5, 384(%[key]), %%zmm16, %%k7\n\t"
		"vpcmpuq $5, 448(%[key]), %%zmm16, %%k2\n\t"
		"kunpckbw %%k5, %%k6, %%k5\n\t"
		"kunpckbw %%k7, %%k2, %%k7\n\t"
		"kmovd %%k1, %k[a]\n\t"
		"kmovd %%k3, %k[b]\n\t"
		"kmovd %%k5, %k[c]\n\t"
		"kmovd %%k7, %k[d]"
		: [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c), [d] "=&r"(d)
		: [key] "r"(key), [k] "r"(k), "m"(*(const u64(*)[64])key)
		: LATH_AVX512_CLOBBERS);
	return hweight64(a | b << 16 | c << 32 | d << 48);
}
#endif

static inline struct lath_match lath_heads_match(const u8 *head, u8 h)
{
#ifdef LATH_X86_VECTORS
	if (likely(lath_have_avx512))
		return lath_heads_match_avx512(head, h);
	return lath_heads_match_sse2(head, h);
#else
	return lath_heads_match_c(head, h);
#endif
}

#endif /* LATH_ARCH_SEARCH_H */
