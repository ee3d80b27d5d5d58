/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* tape_fuzz.c - the tape under libFuzzer: bytes chosen for coverage, compared with the oracle. */
#include <stdlib.h>

#include "base/tape.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct tape tape = { .at = bytes, .end = bytes + size, .verify_every = 64 };

	if (tape_run(&tape))
		abort();
	return 0;
}
