/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tape.h - a tape of bytes, run as calls on a structure and on a plain oracle, and compared.
 *
 * A structure brings tape_plan and tape_run, by its description (calls.hpp) or itself
 * (space/tape.c). Four hosts run them: random tapes (tape_model.c), tapes with a failing allocation
 * (tape_oom.c), tapes under each form of the vector code (tape_isa.c), tapes chosen by coverage
 * (tape_fuzz.c). One tape runs at a time, so that the structure and its oracle may be static.
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
	/* Add to a message on stderr what the structure was used for, or NULL. */
	void (*describe)(void);
	/* After all random tapes: 0 if each error that calls name has occurred, or NULL. list: prints
	 * them, and returns 0. */
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

static inline uint64_t next_number(struct tape *tape)
{
	uint64_t low = next_byte(tape);

	return low | (uint64_t)next_byte(tape) << 8;
}

/* Play the whole tape: each `call` plays one of its calls; `check` compares all, now and then and
 * at the end. 0 | what one of them returned. */
static inline int tape_play(struct tape *tape, int (*call)(struct tape *tape),
			    int (*check)(struct tape *tape))
{
	unsigned int calls = 0;
	int ret = 0;

	while (!ret && tape->at < tape->end) {
		ret = call(tape);
		if (!ret && ++calls % tape->verify_every == 0)
			ret = check(tape);
	}
	tape->call = "check";
	return ret ? ret : check(tape);
}

/* Did the call run out of memory where it may? Then it changed nothing, and there is nothing to
 * compare. */
static inline bool failed(const struct tape *tape, int ret)
{
	return ret == -ENOMEM && tape->may_fail;
}

static inline int tape_differs(const struct tape *tape, const char *what, const char *file,
			       int line)
{
	fprintf(stderr, "tape: %s: not so: %s (%s:%d)\n", tape->call, what, file, line);
	if (tape_plan.describe)
		tape_plan.describe();
	return -1;
}

#define EXPECT(tape, condition)                                                    \
	do {                                                                       \
		if (!(condition))                                                  \
			return tape_differs(tape, #condition, __FILE__, __LINE__); \
	} while (0)

/* Random bytes for tape i. */
static inline void tape_make(uint8_t *bytes, size_t size, uint64_t seed)
{
	size_t i;

	for (i = 0; i < size; i++)
		bytes[i] = (uint8_t)random_word(&seed);
}

#define TAPE_MOST 12000 /* bytes */

/* In a function that plays one call of its `tape`: its name, and the expression that plays it. */
#define PLAY(name, expression)       \
	do {                         \
		tape->call = name;   \
		return (expression); \
	} while (0)

/* The same if `op` is below this number. */
#define PLAY_BELOW(end, name, expression)       \
	do {                                    \
		if (op < (end))                 \
			PLAY(name, expression); \
	} while (0)

#endif /* LATH_TESTS_TAPE_H */
