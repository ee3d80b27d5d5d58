/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * assertion.h - LATH_ASSERT for the module.
 *
 * The macro is that of the library's src/sys: with LATH_ASSERTIONS (the kinds `dev`, `asan`,
 * `valkey-asan`) a false condition prints file, line and condition and aborts; without it the
 * condition is compiled and not evaluated, so it must have no effects.
 */
#ifndef LATH_VALKEY_ASSERTION_H
#define LATH_VALKEY_ASSERTION_H

#ifdef LATH_ASSERTIONS
/* Part of the library; ends the process. */
_Noreturn void lath_assert_failed(const char *condition, const char *file, int line);
#define LATH_ASSERT(condition)                                              \
	do {                                                                \
		if (__builtin_expect(!(condition), 0))                      \
			lath_assert_failed(#condition, __FILE__, __LINE__); \
	} while (0)
#else
#define LATH_ASSERT(condition) ((void)sizeof(!(condition)))
#endif

/* Of a function that only assertions call, which a release does not evaluate. */
#define FOR_ASSERTIONS __attribute__((unused))

#endif /* LATH_VALKEY_ASSERTION_H */
