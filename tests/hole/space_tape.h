/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * space_tape.h - run a tape of bytes as calls on a lath_space and on a mark a unit, and compare.
 *
 * The space is nearly full most of the time. A request is refused only when no aligned place in one block of
 * an arena's size is free (without arenas: none at all). Hosts: space_model_test (random tapes, and each allocation
 * failing in turn) and space_fuzz.
 */
#ifndef LATH_TESTS_SPACE_TAPE_H
#define LATH_TESTS_SPACE_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lathwork/space.h"

struct space_tape_options {
	const struct lath_allocator *allocator;
	bool may_fail; /* -ENOMEM is an answer; nothing may have changed then */
};

/* 0, or -1 with what differed on stderr. The first two bytes choose the flags and the space. */
int space_tape_run(const uint8_t *bytes, size_t size, const struct space_tape_options *options);

#endif /* LATH_TESTS_SPACE_TAPE_H */
