/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sortq_scalar.c - the hybrid's block steps in general registers, for the kernel and for processors
 * without the vector forms; and the choice of the form. Only the ends of loops branch on data, and
 * the sort.
 */
#include "arch/sortq_block.h"
#include "arch/sortq_seek.h"

static __always_inline u32 rank(const u64 *sep, u32 n, u64 base, u64 k)
{
	u32 at = narrow(sep, &n, 1, base, k);

	return at + (n && sep[at] - base <= k);
}

static __always_inline u32 behind(const u64 *e, u32 lo, u32 hi, u64 base, u64 k)
{
	return lo + rank(e + lo, hi - lo, base, k);
}

/* Returns the entries in order if they ascend (`in`) or descend (`out`), as streams do, or NULL. */
static const u64 *sort_stream(u64 *out, const u64 *in, u32 n, u64 base)
{
	u32 i = 1;

	if ((in[0] - base) >> LATH_TAG_BITS <= (in[n - 1] - base) >> LATH_TAG_BITS) {
		while (i < n &&
		       (in[i - 1] - base) >> LATH_TAG_BITS <= (in[i] - base) >> LATH_TAG_BITS)
			i++;
		return i == n ? in : NULL;
	}
	while (i < n && (in[i - 1] - base) >> LATH_TAG_BITS > (in[i] - base) >> LATH_TAG_BITS)
		i++;
	if (i < n)
		return NULL;
	for (i = 0; i < n; i++)
		out[n - 1 - i] = in[i];
	return out;
}

static void put(u64 *e, u32 p, u32 hi, u64 entry)
{
	u32 i;

	for (i = hi; i > p; i--) {
		e[i] = e[i - 1];
		barrier(); /* no call of memmove, which is slower for so few words */
	}
	e[p] = entry;
}

static u32 locate(const u64 *e, u64 entry)
{
	u32 i = 0;

	while (i < LATH_BLOCK_CAP && e[i] != entry)
		i++;
	return i;
}

/* Removes an entry: moves the shorter side into the gap. */
static bool cut(u64 *e, struct lath_block_info *info, u64 entry)
{
	u32 lo = info->lo, hi = info->hi, p = lo;

	while (p < hi && e[p] != entry)
		p++;
	if (p >= hi)
		return false;
	if (p - lo < hi - p) {
		info->lo++;
		info->sorted += p >= info->sorted;
		for (; p > lo; p--) {
			e[p] = e[p - 1];
			barrier();
		}
	} else {
		info->hi--;
		info->sorted -= p < info->sorted;
		for (; p + 1 < hi; p++) {
			e[p] = e[p + 1];
			barrier();
		}
	}
	return true;
}

/* Merges from the end: the later one of the two last entries goes to the end. */
static void merge(u64 *out, const u64 *e, u32 n, const u64 *s, u32 m, u64 base)
{
	u32 first = rank(e, n, base, (s[0] | LATH_TAG_MASK) - base), i;

	if (first == rank(e, n, base, (s[m - 1] | LATH_TAG_MASK) - base)) {
		/* the run of a stream lies in one gap */
		for (i = n; i-- > first;) {
			out[i + m] = e[i];
			barrier();
		}
		n = first;
	}
	while (n > first && m) {
		u64 a = e[n - 1], c = s[m - 1];
		u64 older = a - base > ((c | LATH_TAG_MASK) - base);

		out[n + m - 1] = older ? a : c;
		n -= (u32)older;
		m -= (u32)!older;
	}
	while (m--) {
		out[n + m] = s[m];
		barrier();
	}
	if (out != e) {
		while (n--) {
			out[n] = e[n];
			barrier();
		}
	}
}

static void add(u64 *e, u32 lo, u32 hi, u64 entry, u64 base)
{
	put(e, behind(e, lo, hi, base, (entry | LATH_TAG_MASK) - base), hi, entry);
}

static void find(const struct lath_blocks *b, const u64 *entries, u32 n, u64 *places)
{
	u32 i;

	for (i = 0; i < n; i++)
		places[i] = descend(b, (entries[i] | LATH_TAG_MASK) - b->gate.base);
}

/* Moves each entry to its rank, the number of entries before it. */
static const u64 *sort(u64 *out, const u64 *in, u32 n, u64 base)
{
	u64 key[LATH_SORTQ_FRESH];
	u32 i, j;

	const u64 *stream = sort_stream(out, in, n, base);

	if (stream)
		return stream;
	for (i = 0; i < n; i++)
		key[i] = ((in[i] - base) & ~LATH_TAG_MASK) | i;
	for (; i & 3; i++)
		key[i] = ~0ull;
	for (i = 0; i < n; i += 4) {
		u64 k0 = key[i], k1 = key[i + 1], k2 = key[i + 2], k3 = key[i + 3];
		u32 r0 = 0, r1 = 0, r2 = 0, r3 = 0;

		for (j = 0; j < n; j++) {
			r0 += key[j] < k0;
			r1 += key[j] < k1;
			r2 += key[j] < k2;
			r3 += key[j] < k3;
		}
		out[r0] = in[i];
		out[r1] = in[i + 1];
		out[r2] = in[i + 2];
		out[r3] = in[i + 3];
	}
	return out;
}

const struct lath_block_ops lath_block_scalar = { "scalar", 160,   sort, find, seek,
						  locate,   merge, add,	 put,  cut };

const struct lath_block_ops *lath_block_ops(enum lath_isa isa)
{
#ifdef LATH_ISA_X86
	if (isa == LATH_ISA_AVX2 && lath_isa_supported(isa))
		return &lath_block_avx2;
#endif
	/* there is no form with NEON */
	return isa == LATH_ISA_SCALAR || isa == LATH_ISA_NEON ? &lath_block_scalar : NULL;
}
