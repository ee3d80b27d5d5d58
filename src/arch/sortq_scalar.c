/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sortq_scalar.c - the hybrid's block steps in general registers, for the kernel and for processors
 * without the vector forms; and the choice of the form.
 */
#include "arch/sortq_block.h"
#include "arch/sortq_plain.h"

static __always_inline u32 rank(const u64 *sep, u32 n, u64 base, u64 k)
{
	return halve(sep, n, base, k);
}

static __always_inline u32 behind(const u64 *e, u32 lo, u32 hi, u64 base, u64 k)
{
	return lo + halve(e + lo, hi - lo, base, k);
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
	if (isa == LATH_ISA_AVX512 && lath_isa_supported(isa))
		return &lath_block_avx512;
#endif
	/* there is no form with NEON */
	return isa == LATH_ISA_SCALAR || isa == LATH_ISA_NEON ? &lath_block_scalar : NULL;
}
