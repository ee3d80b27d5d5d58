/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * cases.h - the tables of assert_test.c, one per part of the library. A program of tests is
 * assert_test.c, tables, and a list of them: tables.c for the library, tests/valkey/wait_cases.c
 * for the module for Valkey.
 */
#ifndef TESTS_ASSERT_CASES_H
#define TESTS_ASSERT_CASES_H

struct assert_case {
	const char *name;
	void (*run)(void); /* in its own process: must fail the assertion */
	const char *file;  /* where the assertion is: the end of the path */
	const char *text;  /* a part of its condition */
};

/* A case without a name ends a table. */
extern const struct assert_case sys_cases[], index_cases[], set_cases[], space_cases[],
	store_cases[], queue_cases[], lock_cases[];

/* The tables of this program; NULL ends the list. */
extern const struct assert_case *const assert_tables[];

/* End a case whose preparation failed: exit code 2, with the line. */
#define NEED(what)                                                                               \
	do {                                                                                     \
		if (!(what)) {                                                                   \
			fprintf(stderr, "%s:%d: not prepared: %s\n", __FILE__, __LINE__, #what); \
			exit(2);                                                                 \
		}                                                                                \
	} while (0)

#endif
