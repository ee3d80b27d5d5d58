/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* tape_model.c - random tapes against the oracle. tape_model [tapes [seed]] | tape_model --errors */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tape.h"

int main(int argc, char **argv)
{
	unsigned long tapes = argc > 1 ? strtoul(argv[1], NULL, 0) : tape_plan.tapes, i;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	static uint8_t bytes[TAPE_MOST];

	if (argc == 2 && !strcmp(argv[1], "--errors"))
		return tape_plan.errors(true);
	if (getenv("LATH_LONG"))
		tapes *= 100;
	else if (argc == 1)
		tapes /= LATH_PART;
	for (i = 0; i < tapes; i++) {
		struct tape tape = { .at = bytes,
				     .end = bytes + tape_plan.size,
				     .verify_every = 50 };

		tape_make(bytes, tape_plan.size, seed + i);
		tape_plan.begin(bytes, i, false);
		if (tape_run(&tape)) {
			fprintf(stderr, "tape_model: tape %lu with seed %llu failed\n", i,
				(unsigned long long)seed);
			return 1;
		}
	}
	if (tapes >= tape_plan.tapes && tape_plan.errors(false))
		return 1;
	printf("tape_model: %lu tapes of %u bytes\n", tapes, tape_plan.size);
	return 0;
}
