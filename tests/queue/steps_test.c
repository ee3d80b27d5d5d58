/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * steps_test.c - each inner step of the hybrid, in each form that this processor has, does what its
 * comment in arch/sortq_block.h says: all lengths, equal sectors, a base that wraps around.
 */
#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/sortq_block.h"
#include "base/random.h"

#define WORDS (LATH_BLOCK_CAP + LATH_SORTQ_FRESH + LATH_PAD)

#ifdef LATH_FEW_STEPS
enum { TIMES = 5 };
#else
enum { TIMES = 40 };
#endif

static u64 seed = 1;

static u64 distance(u64 entry, u64 base)
{
	return (entry - base) >> LATH_TAG_BITS;
}

/* An entry at one of `places` sectors behind base, or anywhere. */
static u64 random_entry(u64 base, u64 places)
{
	u64 sector = places ? random_word(&seed) % places : random_word(&seed);

	return base + (sector << LATH_TAG_BITS) + (random_word(&seed) & LATH_TAG_MASK);
}

/* Inserts entry into e[0..n) behind its equals, one step at a time. */
static void insert(u64 *e, u32 n, u64 entry, u64 base)
{
	for (; n && distance(e[n - 1], base) > distance(entry, base); n--)
		e[n] = e[n - 1];
	e[n] = entry;
}

static void sorted(u64 *e, u32 n, u64 base, u64 places)
{
	u32 i;

	for (i = 0; i < n; i++)
		insert(e, i, random_entry(base, places), base);
}

static void garbage(u64 *e, u32 from, u32 to)
{
	for (; from < to; from++)
		e[from] = random_word(&seed);
}

static void same(const u64 *got, const u64 *wanted, u32 n, const char *step, const char *form,
		 u32 m)
{
	if (!memcmp(got, wanted, n * sizeof(u64)))
		return;
	fprintf(stderr, "%s, %s: wrong with %u and %u words\n", form, step, n - m, m);
	abort();
}

/* kind 0: any order; 1: ascending; 2: descending; 3: ascending but for the last */
static void sort(const struct lath_block_ops *ops, u64 base, u64 places, u32 kind)
{
	u64 in[WORDS] __attribute__((aligned(64))), out[WORDS], wanted[WORDS];
	u32 n, i;

	for (n = 2; n <= LATH_SORTQ_FRESH; n++) {
		garbage(in, 0, WORDS);
		sorted(in, n, base, places);
		for (i = 0; kind == 0 && i < n; i++)
			in[i] = random_entry(base, places);
		for (i = 0; kind == 2 && i < n / 2; i++) {
			u64 swap = in[i];

			in[i] = in[n - 1 - i];
			in[n - 1 - i] = swap;
		}
		if (kind == 3)
			in[n - 1] = random_entry(base, places);
		for (i = 0; i < n; i++)
			insert(wanted, i, in[i], base);
		same(ops->sort(out, in, n, base), wanted, n, "sort", ops->name, 0);
	}
}

static void merge(const struct lath_block_ops *ops, u64 base, u64 places, bool in_place, u32 lo)
{
	u64 e[2 * WORDS] __attribute__((aligned(64))), apart[WORDS], s[WORDS], wanted[WORDS];
	u32 n, m, i;

	for (n = 0; n <= LATH_BLOCK_CAP; n++) {
		for (m = 1; m <= LATH_SORTQ_FRESH; m += 1 + random_word(&seed) % 5) {
			u64 *to = in_place ? e + lo : apart;

			garbage(e, 0, 2 * WORDS);
			garbage(s, 0, WORDS);
			sorted(e + lo, n, base, places);
			sorted(s, m, base, places);
			memcpy(wanted, e + lo, n * sizeof(u64));
			for (i = 0; i < m; i++)
				insert(wanted, n + i, s[i], base);
			ops->merge(to, e + lo, n, s, m, base);
			same(to, wanted, n + m, "merge", ops->name, m);
		}
	}
}

static void single(const struct lath_block_ops *ops, u64 base, u64 places)
{
	struct lath_block block;
	u64 wanted[WORDS], entry, *e = block.e;
	u32 lo, hi, p, at;

	for (hi = 1; hi < LATH_BLOCK_CAP; hi++) {
		struct lath_block_info info;

		lo = (u32)random_word(&seed) % hi;
		garbage(e, 0, LATH_BLOCK_CAP + LATH_PAD);
		sorted(e + lo, hi - lo, base, places);
		memcpy(wanted, e, hi * sizeof(u64));
		entry = random_entry(base, places);
		insert(wanted + lo, hi - lo, entry, base);
		ops->add(e, lo, hi, entry, base);
		same(e, wanted, hi + 1, "add", ops->name, 1);

		/* out again */
		info = (struct lath_block_info){ .lo = (u8)lo, .hi = (u8)(hi + 1) };
		p = lo + (u32)random_word(&seed) % (hi + 1 - lo);
		info.sorted = (u8)(lo + (u32)random_word(&seed) % (hi + 2 - lo));
		at = info.sorted;
		entry = e[p] = random_word(&seed);
		wanted[p] = entry;
		assert(ops->locate(e, entry) == p && ops->locate(e, entry + 1) >= LATH_BLOCK_CAP);
		assert(!ops->cut(e, &info, entry + 1) && info.lo == lo && info.hi == hi + 1);
		assert(ops->cut(e, &info, entry) && info.hi - info.lo == (u8)(hi - lo));
		assert(info.sorted - info.lo == (u8)(at - (p < at) - lo));
		memmove(wanted + p, wanted + p + 1, (hi - p) * sizeof(u64));
		same(e + info.lo, wanted + lo, hi - lo, "cut", ops->name, 1);

		p = info.lo + (u32)random_word(&seed) % (hi - lo + 1);
		memcpy(wanted, e, LATH_BLOCK_CAP * sizeof(u64));
		memmove(wanted + p + 1, wanted + p, (info.hi - p) * sizeof(u64));
		wanted[p] = entry;
		ops->put(e, p, info.hi, entry);
		same(e + info.lo, wanted + info.lo, info.hi + 1u - info.lo, "put", ops->name, 1);
	}
}

static void all_steps(const struct lath_block_ops *ops)
{
	static const u64 places[] = { 0, 1, 3, 30, 1000 };
	u32 i, time, kind;

	for (time = 0; time < TIMES; time++) {
		for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			u64 base = (time ? random_word(&seed) : 0) & ~LATH_TAG_MASK;

			for (kind = 0; kind < 4; kind++)
				sort(ops, base, places[i], kind);
			merge(ops, base, places[i], true, (u32)random_word(&seed) % 8);
			merge(ops, base, places[i], false, (u32)random_word(&seed) % 8);
			single(ops, base, places[i]);
		}
	}
}

int main(void)
{
	int isa;

	for (isa = LATH_ISA_SCALAR; isa <= LATH_ISA_NEON; isa++) {
		const struct lath_block_ops *ops = lath_block_ops((enum lath_isa)isa);

		if (!ops)
			continue;
		all_steps(ops);
		printf("%s: done\n", ops->name);
	}
	return 0;
}
