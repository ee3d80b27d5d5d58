/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sortq_avx2.c - the hybrid's block steps with AVX2: four words per register.
 *
 * AVX2 compares signed words only, so base has its sign bit flipped: word - base is then a distance
 * with its sign bit flipped. It has no minimum of words, but one of doubles, which sort() uses.
 */
#include "arch/sortq_block.h"

#ifdef LATH_ISA_X86
#include <immintrin.h>

#include "arch/sortq_seek.h"

#define SIGN (1ull << 63)

static __always_inline __m256i all(u64 word)
{
	return _mm256_set1_epi64x((long long)word);
}

static __always_inline __m256i load4(const u64 *e)
{
	return _mm256_loadu_si256((const __m256i *)e);
}

static __always_inline void store4(u64 *e, __m256i x)
{
	_mm256_storeu_si256((__m256i *)e, x);
}

static __always_inline u32 bits(__m256i x)
{
	return (u32)_mm256_movemask_pd(_mm256_castsi256_pd(x));
}

/* A mask of those of four words that are farther than k. */
static __always_inline u32 behind4(const u64 *s, __m256i base, __m256i k)
{
	return bits(_mm256_cmpgt_epi64(_mm256_sub_epi64(load4(s), base), k));
}

static __always_inline u32 behind8(const u64 *s, __m256i base, __m256i k)
{
	return behind4(s, base, k) | behind4(s + 4, base, k) << 4;
}

/* Returns how many of n ascending words are at a distance of at most k. May read 7 words past n. */
static __always_inline u32 rank(const u64 *sep, u32 n, u64 base, u64 k)
{
	__m256i b = all(base ^ SIGN), v = all(k ^ SIGN);
	u32 at = narrow(sep, &n, 8, base, k);

	return at + (u32)__builtin_ctz(behind8(sep + at, b, v) | ~0u << n);
}

static __always_inline u32 behind(const u64 *e, u32 lo, u32 hi, u64 base, u64 k)
{
	return lo + rank(e + lo, hi - lo, base, k);
}

/* Every eighth of up to 64 ascending words, as distances; those from n on are the greatest. */
struct eighths {
	__m256i end[2];
};

static __always_inline struct eighths eighths(const u64 *e, u32 n, u64 base)
{
	const __m256i at = _mm256_set_epi64x(31, 23, 15, 7), b = all(base ^ SIGN);
	struct eighths x;
	u32 i;

#pragma GCC unroll 2
	for (i = 0; i < 2; i++) {
		__m256i used = _mm256_cmpgt_epi64(all(n), _mm256_add_epi64(at, all(32 * i)));

		x.end[i] = _mm256_mask_i64gather_epi64(all(base - 1), (const long long *)e + 32 * i,
						       at, used, 8);
		x.end[i] = _mm256_sub_epi64(x.end[i], b);
	}
	return x;
}

/* Returns how many of e[0..n) are at a distance of at most k: searches every eighth word, then the
 * eight between two of them. */
static __always_inline u32 rank_by_eighths(const struct eighths *x, const u64 *e, u32 n,
					   __m256i base, __m256i k)
{
	u32 p = 8 * (u32)__builtin_ctz(bits(_mm256_cmpgt_epi64(x->end[0], k)) |
				       bits(_mm256_cmpgt_epi64(x->end[1], k)) << 4 | 1u << 8);

	return min(p + (u32)__builtin_ctz(behind8(e + p, base, k) | 1u << 8), n);
}

static void find(const struct lath_blocks *b, const u64 *entries, u32 n, u64 *places)
{
	const struct lath_page *page = b->only;
	u64 base = b->gate.base;
	__m256i v = all(base ^ SIGN);
	struct eighths ends;
	u32 i, d, m;

	if (!page || n < 3) {
		for (i = 0; i < n; i++)
			places[i] = descend(b, (entries[i] | LATH_TAG_MASK) - base);
		return;
	}
	d = page->lo + 1;
	m = page->hi - d;
	ends = eighths(page->sep + d, m, base);
	for (i = 0; i < n; i++) {
		__m256i k = _mm256_sub_epi64(all(entries[i] | LATH_TAG_MASK), v);
		u32 slot = page->lo + rank_by_eighths(&ends, page->sep + d, m, v, k);

		places[i] = LATH_PLACE(page->id[slot], 0, slot);
	}
}

/* ---- sort: a network of minima and maxima */

/*
 * A key is the sector of the distance above the index in the order of arrival, in the mantissa of a
 * double between 1 and 2: such doubles are in the order of their bits.
 */
#define INDEX_BITS 5
#define INDEX_MASK (LATH_SORTQ_FRESH - 1)
#define ONE 0x3ff0000000000000ull
#define TWO 0x4000000000000000ull
_Static_assert(LATH_SORTQ_SECTOR_BITS + INDEX_BITS <= 52, "a key is a mantissa");
_Static_assert(LATH_SORTQ_FRESH == 1 << INDEX_BITS, "sort32");

static __always_inline void order(__m256d *a, __m256d *b)
{
	__m256d low = _mm256_min_pd(*a, *b);

	*b = _mm256_max_pd(*a, *b);
	*a = low;
}

/* Sorts each of the four columns of eight rows. */
static __always_inline void sort_columns(__m256d *x)
{
	order(x, x + 2);
	order(x + 1, x + 3);
	order(x + 4, x + 6);
	order(x + 5, x + 7);
	order(x, x + 4);
	order(x + 1, x + 5);
	order(x + 2, x + 6);
	order(x + 3, x + 7);
	order(x, x + 1);
	order(x + 2, x + 3);
	order(x + 4, x + 5);
	order(x + 6, x + 7);
	order(x + 2, x + 4);
	order(x + 3, x + 5);
	order(x + 1, x + 4);
	order(x + 3, x + 6);
	order(x + 1, x + 2);
	order(x + 3, x + 4);
	order(x + 5, x + 6);
}

static __always_inline void transpose(__m256d *x)
{
	__m256d a = _mm256_unpacklo_pd(x[0], x[1]), b = _mm256_unpackhi_pd(x[0], x[1]),
		c = _mm256_unpacklo_pd(x[2], x[3]), d = _mm256_unpackhi_pd(x[2], x[3]);

	x[0] = _mm256_permute2f128_pd(a, c, 0x20);
	x[1] = _mm256_permute2f128_pd(b, d, 0x20);
	x[2] = _mm256_permute2f128_pd(a, c, 0x31);
	x[3] = _mm256_permute2f128_pd(b, d, 0x31);
}

/* Sorts two registers, each a bitonic sequence of four. */
static __always_inline void merge_within(__m256d *x, __m256d *y)
{
	__m256d a = _mm256_permute2f128_pd(*x, *y, 0x20), b = _mm256_permute2f128_pd(*x, *y, 0x31),
		c;

	order(&a, &b);
	c = _mm256_unpackhi_pd(a, b);
	a = _mm256_unpacklo_pd(a, b);
	order(&a, &c);
	b = _mm256_unpackhi_pd(a, c);
	a = _mm256_unpacklo_pd(a, c);
	*x = _mm256_permute2f128_pd(a, b, 0x20);
	*y = _mm256_permute2f128_pd(a, b, 0x31);
}

static __always_inline __m256d reverse(__m256d x)
{
	return _mm256_permute4x64_pd(x, 0x1b);
}

/* a and b hold keys at the same distance from the middle of two ascending sequences: leaves the
 * lesser ones in a, the greater ones in b. Done for all registers, the lesser keys and the greater
 * ones are two bitonic sequences, b counting from the other end. */
static __always_inline void order_mirrored(__m256d *a, __m256d *b)
{
	__m256d r = reverse(*b);

	*b = _mm256_max_pd(*a, r);
	*a = _mm256_min_pd(*a, r);
}

/* Merges the ascending sequences a, b and c, d to a, b, d, c. */
static __always_inline void merge16(__m256d *a, __m256d *b, __m256d *c, __m256d *d)
{
	order_mirrored(a, d);
	order_mirrored(b, c);
	order(a, b);
	order(d, c);
	merge_within(a, b);
	merge_within(d, c);
}

/* Sorts a bitonic sequence. */
static __always_inline void sort_bitonic16(__m256d *a, __m256d *b, __m256d *c, __m256d *d)
{
	order(a, c);
	order(b, d);
	order(a, b);
	order(c, d);
	merge_within(a, b);
	merge_within(c, d);
}

/* Sorts 32 keys to key[]. */
static __always_inline void sort32(u64 *key, __m256d *x)
{
	static const u8 at[8] = { 0, 4, 5, 1, 3, 7, 6, 2 };
	u32 i;

	sort_columns(x);
	transpose(x);
	transpose(x + 4);
	merge16(x, x + 4, x + 1, x + 5);
	merge16(x + 2, x + 6, x + 3, x + 7);
	order_mirrored(x, x + 3);
	order_mirrored(x + 4, x + 7);
	order_mirrored(x + 5, x + 6);
	order_mirrored(x + 1, x + 2);
	sort_bitonic16(x, x + 4, x + 5, x + 1);
	sort_bitonic16(x + 3, x + 7, x + 6, x + 2);
#pragma GCC unroll 8
	for (i = 0; i < 8; i++)
		_mm256_store_pd((double *)key + 4 * i, x[at[i]]);
}

/* Returns the keys of entries i to i + 3; those from n on are padding, after all entries. */
static __always_inline __m256i keys_of(const u64 *in, u32 i, u32 n, u64 base)
{
	const __m256i at = _mm256_set_epi64x(i + 3, i + 2, i + 1, i);
	__m256i x = _mm256_sub_epi64(load4(in + i), all(base));

	x = _mm256_and_si256(x, all(~LATH_TAG_MASK));
	x = _mm256_srli_epi64(x, LATH_TAG_BITS - INDEX_BITS);
	x = _mm256_or_si256(x, _mm256_or_si256(at, all(ONE)));
	return _mm256_blendv_epi8(all(TWO), x, _mm256_cmpgt_epi64(all(n), at));
}

/* Moves each of up to eight entries to its rank, the number of entries before it. */
static __always_inline void sort8(u64 *out, const u64 *in, u32 n, u64 base)
{
	u64 key[8] __attribute__((aligned(32)));
	__m256i x = keys_of(in, 0, n, base), y = keys_of(in, 4, n, base);
	u32 i;

	store4(key, x);
	store4(key + 4, y);
	for (i = 0; i < n; i++) {
		__m256i k = all(key[i]);

		out[__builtin_popcount(bits(_mm256_cmpgt_epi64(k, x)) |
				       bits(_mm256_cmpgt_epi64(k, y)) << 4)] = in[i];
	}
}

/* Returns the entries in order: `in` if they are seen to be, else `out`. */
static const u64 *sort(u64 *out, const u64 *in, u32 n, u64 base)
{
	u64 key[LATH_SORTQ_FRESH] __attribute__((aligned(32)));
	__m256i x[9];
	__m256d k[8];
	u32 i, rises = 0, pairs = (1u << (n - 1)) - 1;

	if (n <= 8) {
		sort8(out, in, n, base);
		return out;
	}
	x[8] = all(TWO);
#pragma GCC unroll 8
	for (i = 0; i < 8; i++)
		x[i] = keys_of(in, 4 * i, n, base);
#pragma GCC unroll 8
	for (i = 0; i < 8; i++) {
		__m256i next = _mm256_blend_epi32(x[i], x[i + 1], 3);

		next = _mm256_permute4x64_epi64(next, 0x39);
		rises |= bits(_mm256_cmpgt_epi64(next, x[i])) << 4 * i;
	}
	rises &= pairs;
	if (rises == pairs)
		return in;
	if (!rises) {
		for (i = 0; i < n; i++)
			out[n - 1 - i] = in[i];
		return out;
	}
#pragma GCC unroll 8
	for (i = 0; i < 8; i++)
		k[i] = _mm256_castsi256_pd(x[i]);
	sort32(key, k);
	for (i = 0; i < n; i++)
		out[i] = in[key[i] & INDEX_MASK];
	return out;
}

/* ---- merge */

/*
 * For each choice of four words among those of two sequences: the index in its sequence of each
 * word, as two halves for a permutation; the sign bit is set for words of the second sequence.
 */
#define LANE(mask, i)                                                              \
	((mask) >> (i) & 1 ? SECOND(__builtin_popcount((mask) & ((1 << (i)) - 1))) \
			   : FIRST(__builtin_popcount(~(mask) & ((1 << (i)) - 1))))
#define FIRST(index) (2ull * (index) | (2ull * (index) + 1) << 32)
#define SECOND(index) (FIRST(index) | SIGN)
#define ROW(mask) { LANE(mask, 0), LANE(mask, 1), LANE(mask, 2), LANE(mask, 3) }

static const u64 choice[16][4] __attribute__((aligned(32))) = {
	ROW(0), ROW(1), ROW(2),	 ROW(3),  ROW(4),  ROW(5),  ROW(6),  ROW(7),
	ROW(8), ROW(9), ROW(10), ROW(11), ROW(12), ROW(13), ROW(14), ROW(15),
};

/*
 * Marks the words of out that come from s, then takes four words at a time from both inputs, from
 * the end. The run of a stream lies in one gap: two ranks suffice for it.
 */
static void merge(u64 *out, const u64 *e, u32 n, const u64 *s, u32 m, u64 base)
{
	const __m256i b = all(base ^ SIGN), tags = all(LATH_TAG_MASK);
	struct eighths ends = eighths(e, n, base);
	u32 i, end = n + m, first, p;
	u64 low = 0, high = 0, bit, upper;

#define RANK(entry) \
	rank_by_eighths(&ends, e, n, b, _mm256_sub_epi64(_mm256_or_si256(all(entry), tags), b))
	first = RANK(s[0]);
	if (first == RANK(s[m - 1])) {
		bit = (1ull << m) - 1;
		low = first < 64 ? bit << first : 0;
		high = first < 64 ? bit >> 1 >> (63 - first) : bit;
	} else {
		for (i = 0; i < m; i++) {
			p = i + RANK(s[i]);
			bit = 1ull << (p & 63);
			upper = -(u64)(p >> 6);
			low |= bit & ~upper;
			high |= bit & upper;
		}
	}
	first = out == e ? first & ~3u : 0;
	i = (end + 3) & ~3u;
	while (i > first) {
		const __m256i *row;
		u32 mine;
		__m256i x, y;

		i -= 4;
		mine = (i < 64 ? low : high) >> (i & 63) & 15;
		m -= (u32)__builtin_popcount(mine);
		row = (const __m256i *)choice[mine];
		x = _mm256_permutevar8x32_epi32(load4(e + i - m), *row);
		y = _mm256_permutevar8x32_epi32(load4(s + m), *row);
		store4(out + i, _mm256_castpd_si256(_mm256_blendv_pd(_mm256_castsi256_pd(x),
								     _mm256_castsi256_pd(y),
								     _mm256_castsi256_pd(*row))));
	}
#undef RANK
}

/* ---- single entries */

static void put(u64 *e, u32 p, u32 hi, u64 entry)
{
	__m256i x = load4(e + p), next;
	u32 i;

	for (i = p; i < hi; i += 4) {
		next = load4(e + i + 4);
		store4(e + i + 1, x);
		x = next;
	}
	e[p] = entry;
}

static void add(u64 *e, u32 lo, u32 hi, u64 entry, u64 base)
{
	put(e, behind(e, lo, hi, base, (entry | LATH_TAG_MASK) - base), hi, entry);
}

/* Returns a mask of the words of a block that are entry. */
static __always_inline u64 equal(const u64 *e, u64 entry)
{
	const __m256i k = all(entry);
	u64 here = 0;
	u32 i;

#pragma GCC unroll 16
	for (i = 0; i < LATH_BLOCK_CAP; i += 4)
		here |= (u64)bits(_mm256_cmpeq_epi64(load4(e + i), k)) << i;
	return here;
}

static bool cut(u64 *e, struct lath_block_info *info, u64 entry)
{
	u64 here = equal(e, entry) & ~0ull >> (64 - info->hi) & ~0ull << info->lo;
	u32 p, i;

	if (unlikely(!here))
		return false;
	p = (u32)__builtin_ctzll(here);
	info->hi--;
	info->sorted -= p < info->sorted;
	for (i = p; i < info->hi; i += 4)
		store4(e + i, load4(e + i + 1));
	return true;
}

static u32 locate(const u64 *e, u64 entry)
{
	u64 here = equal(e, entry);

	return here ? (u32)__builtin_ctzll(here) : LATH_BLOCK_CAP;
}

const struct lath_block_ops lath_block_avx2 = { "avx2", 384,   sort, find, seek,
						locate, merge, add,  put,  cut };
#else
extern int lath_no_avx2;
#endif
