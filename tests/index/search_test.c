/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * search_test.c - every form of the search in a node says what a loop over the heads, or over the
 * separators of an inner node, says.
 */
#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "arch/search.h"

struct expected {
	u64 lt, eq;
};

static struct expected slowly(const u8 *head, unsigned int h)
{
	struct expected e = { 0, 0 };
	unsigned int i;

	for (i = 0; i < 64; i++) {
		e.lt |= (u64)(head[i] < h) << i;
		e.eq |= (u64)(head[i] == h) << i;
	}
	return e;
}

static int by_value(const void *a, const void *b)
{
	return *(const u8 *)a - *(const u8 *)b;
}

/* What the library calls, whichever form that is now. */
static void check_chosen(const u8 *head, bool ascending, u8 h, struct expected e, u64 live)
{
	struct lath_match m = lath_bytes_match(head, h);
	u64 below_or_at = 0, want = (e.lt | e.eq) & live;

	assert(m.lt == e.lt && m.eq == e.eq);
	if (!ascending)
		return;
	assert(lath_heads_equal(head, h) == e.eq && lath_heads_not_below(head, h) == ~e.lt);
	assert(lath_heads_floor(head, h, live, &below_or_at) == (long)fls64(want) - 1);
	assert(below_or_at == want);
}

/* What it calls where there is neither AVX2 nor NEON. */
static void check_others(const u8 *head, bool ascending, u8 h, struct expected e, u64 live)
{
	bool avx2 = lath_have_avx2, neon = lath_have_neon;

	lath_have_avx2 = lath_have_neon = false;
	check_chosen(head, ascending, h, e, live);
	lath_have_avx2 = avx2;
	lath_have_neon = neon;
}

static void check(const u8 *head, bool ascending)
{
	u64 live = ((u64)(u32)rand() << 32 | (u32)rand()) & (rand() % 3 ? ~0ull : 0);
	unsigned int h;

	for (h = 0; h < 256; h++) {
		struct expected e = slowly(head, h);

		assert(!ascending || (lath_heads_not_below_c(head, (u8)h) == ~e.lt &&
				      lath_heads_equal_c(head, (u8)h) == e.eq));
		check_chosen(head, ascending, (u8)h, e, live);
		check_others(head, ascending, (u8)h, e, live);
	}
}

/* ---- inner nodes ---- */

/* Pivots, and pairs behind them, as in a node. */
struct inner {
	u64 pivot[8];
	u64 pair[64][2];
} __attribute__((aligned(64)));

static u64 random_word(void)
{
	return (u64)(u32)rand() << 33 ^ (u64)(u32)rand() << 11 ^ (u64)(u32)rand();
}

static int by_first_word(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* n ascending separators below 2^bits, at the upper end of all numbers if `high`; anything behind
 * them. */
static void fill(struct inner *inner, unsigned int n, unsigned int bits, bool high)
{
	unsigned int i;

	for (i = 0; i < 64; i++) {
		inner->pair[i][0] = random_word() >> (64 - bits);
		if (high)
			inner->pair[i][0] = ~inner->pair[i][0];
		inner->pair[i][1] = random_word();
	}
	qsort(inner->pair, n, sizeof(inner->pair[0]), by_first_word);
	for (i = 0; i < 8; i++)
		inner->pivot[i] = 8 * i < n ? inner->pair[8 * i][0] : ~0ull;
}

static void check_key(const struct inner *inner, unsigned int n, u64 key)
{
	u64 there = lath_ones(n);
	unsigned int want = 0;

	while (want < n && inner->pair[want][0] <= key)
		want++;
	/* what is behind the separators counts or not */
	assert(lath_prefix(lath_ones(lath_inner_floor_c(inner->pivot, 64, key)) & there) == want);
	assert(lath_prefix(lath_ones(lath_inner_floor(inner->pivot, 64, key)) & there) == want);
#ifdef LATH_X86_VECTORS
	if (lath_isa_supported(LATH_ISA_AVX2))
		assert(lath_prefix(lath_ones(lath_inner_floor_avx2(inner->pivot, key)) & there) ==
		       want);
#endif
	if (n <= 12)
		assert(lath_prefix(lath_ones(lath_inner_floor_c(inner->pivot, 12, key)) & there) ==
		       want);
}

static void check_inner(unsigned int round)
{
	unsigned int n = 1 + (unsigned int)rand() % (round % 2 ? 64 : 12), bits = 3 + round % 62, i;
	struct inner inner;

	fill(&inner, n, bits, round % 3 == 0);
	for (i = 0; i < n; i++) {
		check_key(&inner, n, inner.pair[i][0]);
		check_key(&inner, n, inner.pair[i][0] - 1);
		check_key(&inner, n, inner.pair[i][0] + 1);
	}
	check_key(&inner, n, 0);
	check_key(&inner, n, ~0ull);
	check_key(&inner, n, random_word());
}

int main(void)
{
	u8 head[64] __attribute__((aligned(64)));
	unsigned int round, i;

	srand(7);
	for (round = 0; round < 300; round++) {
		unsigned int range = round % 3 ? 256 : 1 + round % 7;

		for (i = 0; i < 64; i++)
			head[i] = (u8)((unsigned int)rand() % range);
		check(head, false);
		qsort(head, 64, 1, by_value);
		check(head, true);
	}
	for (round = 0; round < 3000; round++)
		check_inner(round);
	assert(lath_prefix(~0ull) == 64 && lath_prefix(0) == 0 && lath_prefix(7) == 3);
	return 0;
}
