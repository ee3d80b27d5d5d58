/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * broken.h - for tests that break a structure and mend it: verify must see each.
 */
#ifndef LATH_TESTS_BROKEN_H
#define LATH_TESTS_BROKEN_H

/* Another value for a while: `seen` then, `mended` after it. */
#define BROKEN(place, value, seen, mended)            \
	do {                                          \
		__typeof__(place) _old = (place);     \
		(place) = (__typeof__(place))(value); \
		seen;                                 \
		(place) = _old;                       \
		mended;                               \
	} while (0)

#endif /* LATH_TESTS_BROKEN_H */
