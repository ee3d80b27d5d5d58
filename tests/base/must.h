/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * must.h - MUST(condition) for tests that go on after a fault: prints file, line and condition, and
 * counts in `faults`, which the test's main() returns. (must.hpp ends the test.)
 */
#ifndef LATH_TESTS_MUST_H
#define LATH_TESTS_MUST_H

#include <stdio.h>

static unsigned int faults;

#define MUST(condition)                                                                 \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			faults++;                                                       \
		}                                                                       \
	} while (0)

#endif /* LATH_TESTS_MUST_H */
