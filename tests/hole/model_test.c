/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * model_test.c - random tapes against the exhaustive hole oracle. model_test [tapes [seed]]; LATH_LONG=1: a hundred times more.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tape.h"

#define TAPE_SIZE 6000

static uint64_t state;

static uint64_t random_number(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15ull; /* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

int main(int argc, char **argv)
{
	unsigned long tapes = argc > 1 ? strtoul(argv[1], NULL, 0) : 70, i;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	struct hole_tape_options options = { NULL, false, 50 };
	static uint8_t bytes[TAPE_SIZE];

	if (getenv("LATH_LONG"))
		tapes *= 100;
	for (i = 0; i < tapes; i++) {
		size_t j;

		state = seed + i;
		for (j = 0; j < sizeof(bytes); j++)
			bytes[j] = (uint8_t)random_number();
		bytes[0] = (uint8_t)i; /* every space with both kinds of memory in turn */
		bytes[1] = (uint8_t)(i / 2);
		if (hole_tape_run(bytes, sizeof(bytes), &options)) {
			fprintf(stderr, "hole model_test: tape with seed %llu failed\n",
				(unsigned long long)(seed + i));
			return 1;
		}
	}
	printf("hole model_test: %lu tapes of %d bytes\n", tapes, TAPE_SIZE);
	return 0;
}
