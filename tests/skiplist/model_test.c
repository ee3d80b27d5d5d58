/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * model_test.c - random tapes against the oracle. model_test [tapes [seed]]; LATH_LONG=1: a hundred times more.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tape.h"

#define TAPE_SIZE 12000

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
	unsigned long tapes = argc > 1 ? strtoul(argv[1], NULL, 0) : 60, i;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	struct tape_options options = { NULL, false, 50 };
	static uint8_t bytes[TAPE_SIZE];

	if (getenv("LATH_LONG"))
		tapes *= 100;
	for (i = 0; i < tapes; i++) {
		size_t j;

		state = seed + i;
		for (j = 0; j < sizeof(bytes); j++)
			bytes[j] = (uint8_t)random_number();
		bytes[0] = (uint8_t)i; /* every layout, shape and allocation in turn */
		bytes[1] = (uint8_t)(i / 3);
		bytes[2] = (uint8_t)(i / 15);
		if (tape_run(bytes, sizeof(bytes), &options)) {
			fprintf(stderr, "model_test: tape with seed %llu failed\n",
				(unsigned long long)(seed + i));
			return 1;
		}
	}
	printf("model_test: %lu tapes of %d bytes\n", tapes, TAPE_SIZE);
	return 0;
}
