/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tape.h - a tape of bytes, run as calls on a structure and on a plain oracle, and compared.
 *
 * A structure brings tape_plan and tape_run, by its description (calls.hpp). Four hosts run them:
 * random tapes (tape_model.c), tapes with a failing allocation (tape_oom.c), tapes under each form
 * of the vector code (tape_isa.c), tapes chosen by coverage (tape_fuzz.c).
 */
#ifndef LATH_TESTS_TAPE_H
#define LATH_TESTS_TAPE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/random.h"
#include "lathwork/config.h"

/* A program runs one of this many random tapes: tests/CMakeLists.txt. */
#ifndef LATH_PART
#define LATH_PART 1
#endif

struct tape {
	const uint8_t *at, *end; /* what is left of it */
	const struct lath_allocator *allocator;
	bool may_fail;		   /* -ENOMEM is an answer; nothing may have changed then */
	unsigned int verify_every; /* calls */
	const char *call;	   /* its name, for messages */
};

struct tape_plan {
	unsigned int tapes, size; /* random ones, bytes each; LATH_LONG=1: a hundred times more */
	unsigned int failing_tapes, failing_size; /* with a failing allocation; LATH_LONG=1: 200 */
	/* Set the first bytes, which choose the kind of the structure: every kind in turn, for i =
	 * 0, 1, 2... */
	void (*begin)(uint8_t *bytes, unsigned long i, bool failing);
	/* After all random tapes: 0 if each error that calls name has occurred. list: prints them,
	 * and returns 0. */
	int (*errors)(bool list);
};

#ifdef __cplusplus
extern "C" {
#endif
extern const struct tape_plan tape_plan;

/* 0, or -1 with what differed on stderr. */
int tape_run(struct tape *tape);
#ifdef __cplusplus
}
#endif

/* The next bytes; zeroes behind the end. */
static inline uint8_t next_byte(struct tape *tape)
{
	return tape->at < tape->end ? *tape->at++ : 0;
}

/* Random bytes for tape i. */
static inline void tape_make(uint8_t *bytes, size_t size, uint64_t seed)
{
	size_t i;

	for (i = 0; i < size; i++)
		bytes[i] = (uint8_t)random_word(&seed);
}

#define TAPE_MOST 12000 /* bytes */

#endif /* LATH_TESTS_TAPE_H */
