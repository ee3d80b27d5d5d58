/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tape.h - a tape of bytes, run as calls on a structure and on a plain oracle, and compared.
 *
 * A structure brings tape_plan and tape_run (index/tape.c, holes/tape.c, space/tape.c). Three hosts
 * run them: random tapes (tape_model.c), tapes with a failing allocation (tape_oom.c), tapes chosen
 * by coverage (tape_fuzz.c).
 */
#ifndef LATH_TESTS_TAPE_H
#define LATH_TESTS_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lathwork/config.h"

struct tape_options {
	const struct lath_allocator *allocator;
	bool may_fail; /* -ENOMEM is an answer; nothing may have changed then */
	unsigned int verify_every;
};

struct tape_plan {
	unsigned int tapes, size; /* random ones, bytes each; LATH_LONG=1: a hundred times more */
	unsigned int failing_tapes, failing_size; /* with a failing allocation; LATH_LONG=1: 200 */
	/* Set the first bytes, which choose the kind of the structure: every kind in turn, for i =
	 * 0, 1, 2... */
	void (*begin)(uint8_t *bytes, unsigned long i, bool failing);
};

extern const struct tape_plan tape_plan;

/* 0, or -1 with what differed on stderr. */
int tape_run(const uint8_t *bytes, size_t size, const struct tape_options *options);

/* Random bytes for tape i. */
static inline void tape_make(uint8_t *bytes, size_t size, uint64_t seed)
{
	size_t i;

	for (i = 0; i < size; i++) {
		uint64_t z = seed += 0x9e3779b97f4a7c15ull; /* splitmix64 */

		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
		z = (z ^ z >> 27) * 0x94d049bb133111ebull;
		bytes[i] = (uint8_t)(z ^ z >> 31);
	}
}

#define TAPE_MOST 12000 /* bytes */

/* In a function that plays one call of its `tape`: that is its name, and this is how. */
#define PLAY(name, expression)       \
	do {                         \
		tape->call = name;   \
		return (expression); \
	} while (0)

#endif /* LATH_TESTS_TAPE_H */
