/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * search.h - the search in a node's bytes, in the fastest form that the processor has.
 *
 *   lath_heads_equal(head, h)        mask of those of 64 ascending bytes that are equal to h
 *   lath_heads_not_below(head, h)    of those that are not below h
 *   lath_bytes_match(bytes, b)       masks of 64 bytes in any order: those below b, those equal
 *   lath_heads_floor(head, h, live)  the last one of the bytes in `live` that is not above h
 *   lath_inner_floor(pivot, n, key)  how many of an inner node's n separators are not above key
 *   lath_count_bits(mask)            how many bits are set
 *
 * A node may change during a search. The result is then arbitrary, and the caller rejects it when
 * it validates the node's version; no form reads outside the node. Forms: AVX2 (chosen at run time,
 * isa.h; inline assembly, volatile, as the compiler may move other assembly in front of the branch
 * that asks for the processor), NEON (arm64, unless LATH_ISA asks for none) and portable C (the
 * kernel, other processors, checked builds, -DLATH_SCALAR).
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

#ifdef __KERNEL__
#define LATH_NO_FLOAT 1
#endif

/* Returns `x < y ? a : b`, computed, for where a branch would be mispredicted. */
static __always_inline u64 lath_if_below(u64 x, u64 y, u64 a, u64 b)
{
#ifdef __x86_64__
	__asm__("cmpq %2, %1\n\tcmovbq %3, %0" : "+r"(b) : "r"(x), "r"(y), "r"(a) : "cc");
	return b;
#else
	return b ^ ((a ^ b) & (0 - (u64)(x < y)));
#endif
}

/* Returns about n * part / whole; less than n for any arguments. */
static inline unsigned int lath_part(u64 part, u64 whole, unsigned int n)
{
#ifdef LATH_NO_FLOAT
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
#if defined(LATH_ISA_ARM64) && !LATH_CHECKED
#define LATH_NEON 1
#include <arm_neon.h>
#endif

static __always_inline unsigned int lath_count_bits(u64 mask)
{
#ifdef LATH_X86_VECTORS
	if (likely(lath_isa_chosen != LATH_ISA_SCALAR)) { /* each of these has popcnt */
		u64 n;

		__asm__ volatile("popcntq %1, %0" : "=r"(n) : "r"(mask) : "cc");
		return (unsigned int)n;
	}
#endif
	return hweight64(mask);
}

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

/* How many words of heads there are. */
#ifndef LATH_HEAD_WORDS
#define LATH_HEAD_WORDS 8
#endif

/* Returns byte i. Checked builds read and write whole words, since a checker of memory models wants
 * each place accessed in one size. */
static __always_inline u8 lath_head_get(const u8 *head, unsigned int i)
{
#if LATH_CHECKED
	return (u8)(READ_ONCE(((const u64 *)head)[i / 8]) >> i % 8 * 8);
#else
	return READ_ONCE(head[i]);
#endif
}

/* Writes byte i. No other thread writes the heads. */
static __always_inline void lath_head_set(u8 *head, unsigned int i, u8 h)
{
#if LATH_CHECKED
	u64 *word = (u64 *)head + i / 8;
	unsigned int shift = i % 8 * 8;

	WRITE_ONCE(*word, (READ_ONCE(*word) & ~(0xffull << shift)) | (u64)h << shift);
#else
	WRITE_ONCE(head[i], h);
#endif
}

/* the first word whose last byte is not below h */
static __always_inline unsigned int lath_heads_word(const u8 *head, unsigned int h)
{
	unsigned int w = 0, i;

#pragma GCC unroll 8
	for (i = 0; i < LATH_HEAD_WORDS - 1; i++)
		w += lath_head_get(head, 8 * i + 7) < h;
	return w;
}

static __always_inline u64 lath_heads_not_below_c(const u8 *head, u8 h)
{
	unsigned int w = lath_heads_word(head, h);
	u64 word = READ_ONCE(((const u64 *)head)[w]);

	return ~lath_ones(8 * w + lath_first_byte(lath_bytes_ge(word, LATH_BYTES(h))));
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
	unsigned int w = lath_heads_word(head, h), next = min(w + 1, LATH_HEAD_WORDS - 1u);

	/* equal ones often continue in the next word: comparing it is cheaper than a branch */
	eq = lath_bytes_equal(READ_ONCE(words[w]), want) << 8 * w;
	more = lath_bytes_equal(READ_ONCE(words[next]), want);
	eq |= more << 8 * next;
	while (unlikely(more >> 7) && next < LATH_HEAD_WORDS - 1) {
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
/* Compares all heads with h, in both halves; the mask goes to a general register. `compare` gets
 * the bytes that it shall find into ymm1 and ymm2; ymm0 has h in each byte. */
#define LATH_AVX2_COMPARE(compare, head, h)                                                        \
	({                                                                                         \
		u64 _mask, _high;                                                                  \
		__asm__ volatile("vmovd %k[h_], %%xmm0\n\tvpbroadcastb %%xmm0, %%ymm0\n\t" compare \
				 "vpmovmskb %%ymm1, %k[mask_]\n\tvpmovmskb %%ymm2, %k[high_]\n\t"  \
				 "shlq $32, %[high_]\n\torq %[high_], %[mask_]\n\tvzeroupper"      \
				 : [mask_] "=&r"(_mask), [high_] "=&r"(_high)                      \
				 : [low_] "m"(*(const u8(*)[32])(head)),                           \
				   [up_] "m"(*(const u8(*)[32])((head) + 32)), [h_] "r"((u32)(h))  \
				 : "cc", "xmm0", "xmm1", "xmm2");                                  \
		_mask;                                                                             \
	})
#define LATH_AVX2_EQUAL "vpcmpeqb %[low_], %%ymm0, %%ymm1\n\tvpcmpeqb %[up_], %%ymm0, %%ymm2\n\t"
/* those that are the larger (vpmaxub), the smaller (vpminub) of themselves and h */
#define LATH_AVX2_BY(op)                                                   \
	op " %[low_], %%ymm0, %%ymm1\n\t" op " %[up_], %%ymm0, %%ymm2\n\t" \
	   "vpcmpeqb %[low_], %%ymm1, %%ymm1\n\tvpcmpeqb %[up_], %%ymm2, %%ymm2\n\t"
#endif

#ifdef LATH_NEON
/* A mask of 64 bytes, each of which is 0 or 255: one bit of each is kept, and neighbours are added
 * until eight of them are one byte. */
static __always_inline u64 lath_neon_mask(uint8x16x4_t x)
{
	const uint8x16_t bits = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201ull));
	uint8x16_t low = vpaddq_u8(vandq_u8(x.val[0], bits), vandq_u8(x.val[1], bits));
	uint8x16_t high = vpaddq_u8(vandq_u8(x.val[2], bits), vandq_u8(x.val[3], bits));

	low = vpaddq_u8(low, high);
	return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(low, low)), 0);
}

/* Compares all heads with h; the mask. compare: vceqq_u8 and similar. */
#define LATH_NEON_COMPARE(compare, head, h)                \
	({                                                 \
		const u8 *_head = (head);                  \
		uint8x16_t _h = vdupq_n_u8(h);             \
		uint8x16x4_t _x = { {                      \
			compare(vld1q_u8(_head), _h),      \
			compare(vld1q_u8(_head + 16), _h), \
			compare(vld1q_u8(_head + 32), _h), \
			compare(vld1q_u8(_head + 48), _h), \
		} };                                       \
		lath_neon_mask(_x);                        \
	})
#endif

/* Masks of 64 bytes in any order. */
static inline struct lath_match lath_bytes_match(const u8 *bytes, u8 b)
{
	struct lath_match m = { 0, 0 };
	unsigned int i;

#ifdef LATH_X86_VECTORS
	if (likely(lath_have_avx2))
		return (struct lath_match){
			~LATH_AVX2_COMPARE(LATH_AVX2_BY("vpmaxub"), bytes, b),
			LATH_AVX2_COMPARE(LATH_AVX2_EQUAL, bytes, b),
		};
#elif defined(LATH_NEON)
	if (likely(lath_have_neon))
		return (struct lath_match){ LATH_NEON_COMPARE(vcltq_u8, bytes, b),
					    LATH_NEON_COMPARE(vceqq_u8, bytes, b) };
#endif
	for (i = 0; i < 64; i++) {
		u8 byte = READ_ONCE(bytes[i]);

		m.lt |= (u64)(byte < b) << i;
		m.eq |= (u64)(byte == b) << i;
	}
	return m;
}

/* Is there a vector form of the search in a leaf? */
static __always_inline bool lath_vectors(void)
{
#ifdef LATH_X86_VECTORS
	return lath_have_avx2;
#elif defined(LATH_NEON)
	return lath_have_neon;
#else
	return false;
#endif
}

/* lath_heads_equal() where there is one. */
static __always_inline u64 lath_heads_equal_vector(const u8 *head, u8 h)
{
#ifdef LATH_X86_VECTORS
	return LATH_AVX2_COMPARE(LATH_AVX2_EQUAL, head, h);
#elif defined(LATH_NEON)
	return LATH_NEON_COMPARE(vceqq_u8, head, h);
#else
	return lath_heads_equal_c(head, h);
#endif
}

static __always_inline u64 lath_heads_equal(const u8 *head, u8 h)
{
	return likely(lath_vectors()) ? lath_heads_equal_vector(head, h)
				      : lath_heads_equal_c(head, h);
}

static __always_inline u64 lath_heads_not_below(const u8 *head, u8 h)
{
#ifdef LATH_X86_VECTORS
	if (likely(lath_have_avx2))
		return LATH_AVX2_COMPARE(LATH_AVX2_BY("vpmaxub"), head, h);
#elif defined(LATH_NEON)
	if (likely(lath_have_neon))
		return LATH_NEON_COMPARE(vcgeq_u8, head, h);
#endif
	return lath_heads_not_below_c(head, h);
}

/* Returns the highest bit of `live` whose head is not above h, or -1. *below_or_at: all such. */
static __always_inline long lath_heads_floor(const u8 *head, u8 h, u64 live, u64 *below_or_at)
{
#ifdef LATH_X86_VECTORS
	if (likely(lath_have_avx2)) {
		*below_or_at = LATH_AVX2_COMPARE(LATH_AVX2_BY("vpminub"), head, h) & live;
		return (long)fls64(*below_or_at) - 1;
	}
#elif defined(LATH_NEON)
	if (likely(lath_have_neon)) {
		*below_or_at = LATH_NEON_COMPARE(vcleq_u8, head, h) & live;
		return (long)fls64(*below_or_at) - 1;
	}
#endif
	return lath_heads_floor_c(head, h, live, below_or_at);
}

/*
 * Inner nodes: 8 pivots, and behind them groups of 8 pairs of words, whose first words ascend. Each
 * pivot is the first word of its group. Returns how many of the first words are not above key, 0 to
 * 64, if this many are there; pairs behind the last one may have any words, and their pivots are
 * the largest number.
 */
static __always_inline unsigned int lath_pivots_floor_c(const u64 *pivot, u64 key)
{
	unsigned int n = 0, i;

#pragma GCC unroll 8
	for (i = 0; i < LATH_HEAD_WORDS; i++)
		n += READ_ONCE(pivot[i]) <= key;
	return n;
}

static __always_inline unsigned int lath_inner_floor_c(const u64 *pivot, unsigned int pairs,
						       u64 key)
{
	unsigned int groups = lath_pivots_floor_c(pivot, key), from, i, n = 8;
	const u64 *pair;
	u64 above;

	if (unlikely(!groups))
		return 0;
	if (pairs < 64) /* the largest key is not below the pivots of groups that are not there */
		groups = min(groups, (pairs + 7) / 8);
	from = (groups - 1) * 8;
	if (pairs < 64)
		n = min(pairs - from, 8u);
	pair = pivot + 8 + 2 * from;
	above = 1ull << n;
#pragma GCC unroll 8
	for (i = 0; i < 8; i++)
		if (i < n)
			above |= (u64)(READ_ONCE(pair[2 * i]) > key) << i;
	return from + __ffs64(above);
}

#ifdef LATH_X86_VECTORS
/* There is no comparison of unsigned words: both sides have their top bits flipped. */
static __always_inline unsigned int lath_inner_floor_avx2(const u64 *pivot, u64 key)
{
	u64 group, above, more;

	__asm__ volatile("vmovq %[key], %%xmm0\n\t"
			 "vmovq %[sign], %%xmm1\n\t"
			 "vpbroadcastq %%xmm0, %%ymm0\n\t"
			 "vpbroadcastq %%xmm1, %%ymm1\n\t"
			 "vpxor %%ymm1, %%ymm0, %%ymm0\n\t"
			 "vpxor (%[pivot]), %%ymm1, %%ymm2\n\t"
			 "vpxor 32(%[pivot]), %%ymm1, %%ymm3\n\t"
			 "vpcmpgtq %%ymm0, %%ymm2, %%ymm2\n\t"
			 "vpcmpgtq %%ymm0, %%ymm3, %%ymm3\n\t"
			 "vmovmskpd %%ymm3, %k[above]\n\t"
			 "vmovmskpd %%ymm2, %k[group]\n\t"
			 "shll $4, %k[above]\n\torl %k[above], %k[group]\n\t"
			 "btsl $8, %k[group]\n\ttzcntl %k[group], %k[group]\n\t"
			 "movl %k[group], %k[more]\n\t"
			 "shlq $7, %[more]\n\t"
			 "leaq -64(%[pivot], %[more]), %[more]\n\t"
			 "vpxor (%[more]), %%ymm1, %%ymm2\n\t"
			 "vpxor 32(%[more]), %%ymm1, %%ymm3\n\t"
			 "vpxor 64(%[more]), %%ymm1, %%ymm4\n\t"
			 "vpxor 96(%[more]), %%ymm1, %%ymm5\n\t"
			 "vpcmpgtq %%ymm0, %%ymm2, %%ymm2\n\t"
			 "vpcmpgtq %%ymm0, %%ymm3, %%ymm3\n\t"
			 "vpcmpgtq %%ymm0, %%ymm4, %%ymm4\n\t"
			 "vpcmpgtq %%ymm0, %%ymm5, %%ymm5\n\t"
			 "vmovmskpd %%ymm3, %k[above]\n\t"
			 "vmovmskpd %%ymm5, %k[more]\n\t"
			 "shll $8, %k[more]\n\torl %k[more], %k[above]\n\t"
			 "shll $4, %k[above]\n\t"
			 "vmovmskpd %%ymm4, %k[more]\n\t"
			 "shll $8, %k[more]\n\torl %k[more], %k[above]\n\t"
			 "vmovmskpd %%ymm2, %k[more]\n\t"
			 "orl %k[more], %k[above]\n\t"
			 "andl $0x5555, %k[above]\n\t"
			 "btsl $16, %k[above]\n\t"
			 "tzcntl %k[above], %k[above]\n\t"
			 "vzeroupper"
			 : [group] "=&r"(group), [above] "=&r"(above), [more] "=&r"(more)
			 : [pivot] "r"(pivot), [key] "r"(key), [sign] "r"(1ull << 63),
			   "m"(*(const u64(*)[136])pivot)
			 : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5");
	return likely(group) ? (unsigned int)(8 * (group - 1) + above / 2) : 0;
}
#endif

#ifdef LATH_NEON
/* Returns the first of eight words that is above key, or 8: the masks of the words are narrowed to
 * a byte each. */
static __always_inline unsigned int lath_neon_above(uint64x2x4_t x, u64 key)
{
	uint64x2_t k = vdupq_n_u64(key);
	uint32x4_t low = vuzp1q_u32(vreinterpretq_u32_u64(vcgtq_u64(x.val[0], k)),
				    vreinterpretq_u32_u64(vcgtq_u64(x.val[1], k)));
	uint32x4_t high = vuzp1q_u32(vreinterpretq_u32_u64(vcgtq_u64(x.val[2], k)),
				     vreinterpretq_u32_u64(vcgtq_u64(x.val[3], k)));
	uint8x8_t bytes =
		vmovn_u16(vuzp1q_u16(vreinterpretq_u16_u32(low), vreinterpretq_u16_u32(high)));

	return lath_first_byte(vget_lane_u64(vreinterpret_u64_u8(bytes), 0));
}

static __always_inline unsigned int lath_inner_floor_neon(const u64 *pivot, u64 key)
{
	uint64x2x4_t pivots = { { vld1q_u64(pivot), vld1q_u64(pivot + 2), vld1q_u64(pivot + 4),
				  vld1q_u64(pivot + 6) } };
	unsigned int group = lath_neon_above(pivots, key);
	const u64 *pair = pivot + 16 * (u64)group - 8;
	uint64x2x4_t first;

	if (unlikely(!group))
		return 0;
	first = (uint64x2x4_t){ { vld2q_u64(pair).val[0], vld2q_u64(pair + 4).val[0],
				  vld2q_u64(pair + 8).val[0], vld2q_u64(pair + 12).val[0] } };
	return 8 * (group - 1) + lath_neon_above(first, key);
}
#endif

static __always_inline unsigned int lath_inner_floor(const u64 *pivot, unsigned int pairs, u64 key)
{
#ifdef LATH_X86_VECTORS
	if (likely(lath_have_avx2) && pairs == 64)
		return lath_inner_floor_avx2(pivot, key);
#elif defined(LATH_NEON)
	if (likely(lath_have_neon) && pairs == 64)
		return lath_inner_floor_neon(pivot, key);
#endif
	return lath_inner_floor_c(pivot, pairs, key);
}

#endif /* LATH_ARCH_SEARCH_H */
