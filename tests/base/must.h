/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * must.h - for tests that go on after a fault: MUST(condition) prints file, line and condition, and
 * counts in `faults`, which the test's main() returns. (must.hpp ends the test.)
 */
#ifndef LATH_TESTS_MUST_H
#define LATH_TESTS_MUST_H

#include <stdio.h>

static unsigned long faults;

/* A sentence on a fault; threads may call it at once. */
#define FAULT(...)                                                \
	do {                                                      \
		fprintf(stderr, __FILE__ ": " __VA_ARGS__);       \
		__atomic_fetch_add(&faults, 1, __ATOMIC_RELAXED); \
	} while (0)

#define MUST(condition)                                          \
	do {                                                     \
		if (!(condition))                                \
			FAULT("%d: %s\n", __LINE__, #condition); \
	} while (0)

#endif /* LATH_TESTS_MUST_H */
