/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sortq_scalar.c - the block steps of the hybrid sort queue in general registers, for the kernel and
 * for processors without the vector forms; and the choice between the forms.
 */
#include "arch/sortq_block.h"

/*
 * Halving without branches on data: the number of steps depends on n alone. The empty asm keeps the
 * compiler from making a branch of the choice, or arithmetic that is slower than a conditional move.
 */
static __always_inline u32 rank(const u64 *sep, u32 n, u64 base, u64 k)
{
	const u64 *at = sep;

	while (n > 1) {
		u32 half = n / 2;

		at = at[half - 1] - base <= k ? at + half : at;
		__asm__("" : "+r"(at));
		n -= half;
	}
	return (u32)(at - sep) + (n && *at - base <= k);
}

static __always_inline u32 behind(const u64 *e, u32 lo, u32 hi, u64 base, u64 k)
{
	return lo + rank(e + lo, hi - lo, base, k);
}

static __always_inline void put(u64 *e, u32 p, u32 hi, u64 entry)
{
	u32 i;

	for (i = hi; i > p; i--) {
		e[i] = e[i - 1];
		barrier(); /* or the compiler calls memmove, which costs more than it moves */
	}
	e[p] = entry;
}

static void split(u64 *e, u64 *to, u32 p, u64 entry)
{
	u32 i, half = LATH_BLOCK_CAP / 2, left = p <= half;

	for (i = 0; i < half; i++)
		to[i] = e[half + i];
	put(left ? e : to, left ? p : p - half, half, entry);
}

static __always_inline void cut(u64 *e, u32 p, u32 hi)
{
	u32 i;

	for (i = p; i + 1 < hi; i++) {
		e[i] = e[i + 1];
		barrier();
	}
}

static __always_inline u32 find(const u64 *e, u64 tag)
{
	u32 m = 0, i;

	for (i = 0; i < LATH_BLOCK_CAP; i++)
		m |= (u32)(!((e[i] ^ tag) & LATH_TAG_MASK)) << i;
	return m;
}

#include "arch/sortq_place.h"

const struct lath_block_ops lath_block_scalar = { "scalar", place, seek, put, cut, split, find };

const struct lath_block_ops *lath_block_ops(unsigned int level)
{
#ifdef LATH_SORTQ_X86
	if (level == 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
		return &lath_block_avx2;
	if (level == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
	    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2"))
		return &lath_block_avx512;
#endif
	return level ? NULL : &lath_block_scalar;
}
