/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tape.h - run a tape of bytes as calls on a list with holes and on the oracle, and compare.
 *
 * The space is small and stays nearly full. Three hosts: random tapes (model_test), tapes chosen by coverage
 * (fuzz), tapes with a failing allocation (oom_test).
 */
#ifndef LATH_TESTS_HOLE_TAPE_H
#define LATH_TESTS_HOLE_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lathwork/config.h"

struct hole_tape_options {
	const struct lath_allocator *allocator;
	bool may_fail; /* -ENOMEM is an answer; nothing may have changed then */
	unsigned int verify_every;
};

/* 0, or -1 with what differed on stderr. The first two bytes choose the flags and the space. */
int hole_tape_run(const uint8_t *bytes, size_t size, const struct hole_tape_options *options);

#endif /* LATH_TESTS_HOLE_TAPE_H */
