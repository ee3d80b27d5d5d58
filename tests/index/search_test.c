/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * search_test.c - every form of the search in a node says what a loop over the heads says.
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
	m = lath_heads_match(head, h);
	assert(m.lt == e.lt && m.eq == e.eq);
	assert(lath_heads_equal(head, h) == e.eq);
	assert(lath_heads_floor(head, h, live, &below_or_at) == (long)fls64(want) - 1);
	assert(below_or_at == want);
}

/* What it calls on a processor without AVX-512. */
static void check_others(const u8 *head, bool ascending, u8 h, struct expected e, u64 live)
{
	bool avx512 = lath_have_avx512;

	lath_have_avx512 = false;
	check_chosen(head, ascending, h, e, live);
	lath_have_avx512 = avx512;
}

static void check(const u8 *head, bool ascending)
{
	u64 live = ((u64)(u32)rand() << 32 | (u32)rand()) & (rand() % 3 ? ~0ull : 0);
	unsigned int h;

	for (h = 0; h < 256; h++) {
		struct expected e = slowly(head, h);

		if (ascending) {
			struct lath_match m = lath_heads_match_c(head, (u8)h);

			assert(m.lt == e.lt && m.eq == e.eq);
		}
		check_chosen(head, ascending, (u8)h, e, live);
		check_others(head, ascending, (u8)h, e, live);
	}
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
	assert(lath_prefix(~0ull) == 64 && lath_prefix(0) == 0 && lath_prefix(7) == 3);
	return 0;
}
