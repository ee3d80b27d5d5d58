/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * broken.h - for tests that break a structure and mend it: verify must see each.
 */
#ifndef LATH_TESTS_BROKEN_H
#define LATH_TESTS_BROKEN_H

#include <stdio.h>
#include <stdlib.h>

/* Another value for a while: `seen` then, `mended` after it. */
#define BROKEN(place, value, seen, mended)            \
	do {                                          \
		__typeof__(place) _old = (place);     \
		(place) = (__typeof__(place))(value); \
		seen;                                 \
		(place) = _old;                       \
		mended;                               \
	} while (0)

static inline void expect_line(int got, int wanted, int line)
{
	if (got == wanted)
		return;
	fprintf(stderr, "line %d: %d expected, got %d\n", line, wanted, got);
	abort();
}

/* The same for a verify that returns `wanted` then, and 0 after it. */
#define BROKEN_INT(verify, wanted, place, value)                    \
	BROKEN(place, value, expect_line(verify, wanted, __LINE__), \
	       expect_line(verify, 0, __LINE__))

#endif /* LATH_TESTS_BROKEN_H */
