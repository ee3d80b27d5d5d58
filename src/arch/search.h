/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * search.h - the search in a node's bytes, in the fastest form that the processor has.
 *
 *   lath_heads_match(head, h)        masks of the 64 ascending bytes below h and equal to h
 *   lath_bytes_match(bytes, b)       the same for bytes in any order
 *   lath_heads_equal(head, h)        the second mask alone
 *   lath_heads_floor(head, h, live)  the last one of the bytes in `live` that is not above h
 *   lath_words_floor(word, key)      how many of 8 ascending words are not above key
 *   lath_pairs_floor(pair, n, key)   the same for the first words of n <= 8 pairs of words
 *
 * A node may change during a search. The result is then arbitrary, and the caller rejects it when
 * it validates the node's version; no form reads outside the arrays. Three forms: AVX-512 (chosen
 * at run time, isa.h; inline assembly on registers 16 and up, which need no vzeroupper and which a
 * compiler without -mavx512f never uses), SSE2 (every x86-64) and portable C (the kernel, other
 * processors, checked builds, -DLATH_SCALAR).
 */
#ifndef LATH_ARCH_SEARCH_H
#define LATH_ARCH_SEARCH_H

#include "arch/isa.h"

struct lath_match {
	u64 lt; /* bit i: head[i] < h */
	u64 eq; /* bit i: head[i] == h */
};

/* Returns the number of consecutive set bits from bit 0: of ascending heads, the number below h. */
static inline unsigned int lath_prefix(u64 mask)
{
	return ~mask ? __ffs64(~mask) : 64;
}

/* Returns about n * part / whole; less than n for any arguments. */
static inline unsigned int lath_part(u64 part, u64 whole, unsigned int n)
{
#ifdef __KERNEL__ /* no floating point */
	unsigned int bits = fls64(whole);

	if (bits > 24) {
		part >>= bits - 24;
		whole >>= bits - 24;
	}
	return part <= whole ? (u32)part * n / ((u32)whole + 1) : n - 1;
#else
	float f = (float)(s64)(part >> 1) * (float)n / (float)(s64)(whole >> 1 | 1);

	return f < (float)n ? (unsigned int)f : n - 1;
#endif
}

#if defined(LATH_ISA_X86) && !LATH_CHECKED
#define LATH_X86_VECTORS 1
#include <emmintrin.h>
#endif

/*
 * Portable heads. They ascend, so one of eight words holds the boundary: seven byte compares find
 * the word, and arithmetic on the whole word finds the position in it. For bytes a, b: the
 * carry-free difference (a | 0x80) - (b & 0x7f) has its top bit set if the low seven bits of a are
 * >= those of b; the top bits decide first. Heads that are being changed may not ascend; the masks
 * are then arbitrary.
 */
#define LATH_BYTES(x) (0x0101010101010101ull * (x))

/* sets the top bit of each byte with a >= b */
static inline u64 lath_bytes_ge(u64 a, u64 b)
{
	u64 low = (a | LATH_BYTES(0x80)) - (b & LATH_BYTES(0x7f));

	return ((a & ~b) | (~(a ^ b) & low)) & LATH_BYTES(0x80);
}

/* returns the first byte whose top bit is set, or 8 */
static inline unsigned int lath_first_byte(u64 tops)
{
	return tops ? __ffs64(tops) >> 3 : 8;
}

/* the n lowest bits */
static inline u64 lath_ones(unsigned int n)
{
	return n < 64 ? (1ull << n) - 1 : ~0ull;
}

static inline struct lath_match lath_heads_match_c(const u8 *head, u8 h)
{
	const u64 *words = (const u64 *)head;
	u64 want = LATH_BYTES(h), x, above;
	struct lath_match m;
	unsigned int w = 0, i;

	for (i = 0; i < 7; i++)
		w += READ_ONCE(head[8 * i + 7]) < h;
	x = READ_ONCE(words[w]);
	m.lt = lath_ones(8 * w + lath_first_byte(lath_bytes_ge(x, want)));
	above = lath_bytes_ge(want, x) ^ LATH_BYTES(0x80);
	while (unlikely(!above) && w < 7) { /* equal ones continue behind this word */
		x = READ_ONCE(words[++w]);
		above = lath_bytes_ge(want, x) ^ LATH_BYTES(0x80);
	}
	m.eq = lath_ones(8 * w + lath_first_byte(above)) & ~m.lt;
	return m;
}

/*
 * The two results that a descent needs, each alone: with fewer instructions the processor can begin
 * the next lookup while this one waits for memory.
 */

/* the first word whose last byte is not below h */
static __always_inline unsigned int lath_heads_word(const u8 *head, unsigned int h)
{
	unsigned int w = 0, i;

#pragma GCC unroll 8
	for (i = 0; i < 7; i++)
		w += READ_ONCE(head[8 * i + 7]) < h;
	return w;
}

/* Returns a mask of the bytes equal to h, given as a word of eight h: the carry-free test for zero
 * bytes. */
static __always_inline u64 lath_bytes_equal(u64 x, u64 want)
{
	u64 y = x ^ want, other = ((y & LATH_BYTES(0x7f)) + LATH_BYTES(0x7f)) | y;

	return ((~other & LATH_BYTES(0x80)) >> 7) * 0x0102040810204080ull >> 56;
}

static __always_inline u64 lath_heads_equal_c(const u8 *head, u8 h)
{
	const u64 *words = (const u64 *)head;
	u64 want = LATH_BYTES(h), eq, more;
	unsigned int w = lath_heads_word(head, h), next = w < 7 ? w + 1 : 7;

	/* equal ones often continue in the next word: comparing it is cheaper than a branch */
	eq = lath_bytes_equal(READ_ONCE(words[w]), want) << 8 * w;
	more = lath_bytes_equal(READ_ONCE(words[next]), want);
	eq |= more << 8 * next;
	while (unlikely(more >> 7) && next < 7) {
		more = lath_bytes_equal(READ_ONCE(words[++next]), want);
		eq |= more << 8 * next;
	}
	return eq;
}

static __always_inline long lath_heads_floor_c(const u8 *head, u8 h, u64 live, u64 *below_or_at)
{
	const u64 *words = (const u64 *)head;
	unsigned int w = lath_heads_word(head, h + 1u);
	u64 above = lath_bytes_ge(LATH_BYTES(h), READ_ONCE(words[w])) ^ LATH_BYTES(0x80);

	*below_or_at = lath_ones(8 * w + lath_first_byte(above)) & live;
	return (long)fls64(*below_or_at) - 1;
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

/* Compares all heads with h at once; the mask goes to a general register. */
#define LATH_AVX512_COMPARE(compare, head, h)                                       \
	({                                                                          \
		u64 _mask;                                                          \
		__asm__("vpbroadcastb %k[h_], %%zmm16\n\t" compare                  \
			" %[head_], %%zmm16, %%k1\n\tkmovq %%k1, %[mask_]"          \
			: [mask_] "=r"(_mask)                                       \
			: [head_] "m"(*(const u8(*)[64])(head)), [h_] "r"((u32)(h)) \
			: LATH_AVX512_CLOBBERS);                                    \
		_mask;                                                              \
	})

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

/* The same for 64 bytes in any order. */
static inline struct lath_match lath_bytes_match(const u8 *bytes, u8 b)
{
#ifdef LATH_X86_VECTORS
	return lath_heads_match(bytes, b);
#else
	struct lath_match m = { 0, 0 };
	unsigned int i;

	for (i = 0; i < 64; i++) {
		u8 byte = READ_ONCE(bytes[i]);

		m.lt |= (u64)(byte < b) << i;
		m.eq |= (u64)(byte == b) << i;
	}
	return m;
#endif
}

static __always_inline u64 lath_heads_equal(const u8 *head, u8 h)
{
#ifdef LATH_X86_VECTORS
	if (likely(lath_have_avx512))
		return LATH_AVX512_COMPARE("vpcmpeqb", head, h);
	return lath_heads_match_sse2(head, h).eq;
#else
	return lath_heads_equal_c(head, h);
#endif
}

/* Returns the highest bit of `live` whose head is not above h, or -1. *below_or_at: all such bits.
 */
static __always_inline long lath_heads_floor(const u8 *head, u8 h, u64 live, u64 *below_or_at)
{
#ifdef LATH_X86_VECTORS
	struct lath_match m;

	if (likely(lath_have_avx512)) { /* such a processor has lzcnt, which is faster than bsr */
		long above;

		*below_or_at = LATH_AVX512_COMPARE("vpcmpnltub", head, h) & live;
		__asm__("lzcntq %1, %0" : "=r"(above) : "r"(*below_or_at) : "cc");
		return 63 - above;
	}
	m = lath_heads_match_sse2(head, h);
	*below_or_at = (m.lt | m.eq) & live;
	return (long)fls64(*below_or_at) - 1;
#else
	return lath_heads_floor_c(head, h, live, below_or_at);
#endif
}

/* ---- words: the pivots and separators of an inner node ---- */

static __always_inline unsigned int lath_words_floor_c(const u64 *word, u64 key)
{
	unsigned int n = 0, i;

#pragma GCC unroll 8
	for (i = 0; i < 8; i++)
		n += READ_ONCE(word[i]) <= key;
	return n;
}

/* Pairs behind the last ascending one may have any words. */
static __always_inline unsigned int lath_pairs_floor_c(const u64 *pair, unsigned int n, u64 key)
{
	u64 above = 1ull << n;
	unsigned int i;

#pragma GCC unroll 8
	for (i = 0; i < 8 && i < n; i++)
		above |= (u64)(READ_ONCE(pair[2 * i]) > key) << i;
	return __ffs64(above);
}

#ifdef LATH_X86_VECTORS
static __always_inline unsigned int lath_words_floor_avx512(const u64 *word, u64 key)
{
	u32 above;

	__asm__("vpbroadcastq %[key], %%zmm16\n\t"
		"vpcmpltuq %[word], %%zmm16, %%k1\n\t"
		"kmovb %%k1, %[above]"
		: [above] "=r"(above)
		: [word] "m"(*(const u64(*)[8])word), [key] "r"(key)
		: LATH_AVX512_CLOBBERS);
	return __ffs64(above | 1u << 8);
}

static __always_inline unsigned int lath_pairs_floor_avx512(const u64 *pair, u64 key)
{
	u32 above;

	__asm__("vpbroadcastq %[key], %%zmm16\n\t"
		"vpcmpltuq %[low], %%zmm16, %%k1\n\t"
		"vpcmpltuq %[high], %%zmm16, %%k2\n\t"
		"kunpckbw %%k1, %%k2, %%k1\n\t"
		"kmovw %%k1, %[above]"
		: [above] "=r"(above)
		: [low] "m"(*(const u64(*)[8])pair), [high] "m"(*(const u64(*)[8])(pair + 8)),
		  [key] "r"(key)
		: LATH_AVX512_CLOBBERS);
	return __ffs64((above & 0x5555) | 1u << 16) / 2;
}
#endif

static __always_inline unsigned int lath_words_floor(const u64 *word, u64 key)
{
#ifdef LATH_X86_VECTORS
	if (likely(lath_have_avx512))
		return lath_words_floor_avx512(word, key);
#endif
	return lath_words_floor_c(word, key);
}

static __always_inline unsigned int lath_pairs_floor(const u64 *pair, unsigned int n, u64 key)
{
#ifdef LATH_X86_VECTORS
	if (likely(lath_have_avx512) && __builtin_constant_p(n))
		return lath_pairs_floor_avx512(pair, key);
#endif
	return lath_pairs_floor_c(pair, n, key);
}

#endif /* LATH_ARCH_SEARCH_H */
