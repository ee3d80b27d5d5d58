/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tape.h - run a tape of bytes as calls on a range index and on a sorted array, and compare.
 *
 * One interpreter, three hosts: random tapes (model_test), tapes chosen by coverage (fuzz), tapes with
 * a failing allocation (oom_test).
 */
#ifndef LATH_TESTS_TAPE_H
#define LATH_TESTS_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lathwork/skiplist.h"

struct tape_options {
	const struct lath_allocator *allocator;
	bool may_fail; /* -ENOMEM is an answer; nothing may have changed then */
	unsigned int verify_every;
};

/* 0, or -1 with what differed on stderr. The first bytes choose layout, flags and the shape of keys. */
int tape_run(const uint8_t *bytes, size_t size, const struct tape_options *options);

#endif /* LATH_TESTS_TAPE_H */
