/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * random.h - random numbers, in both hosts: the same for the same state on every machine.
 */
#ifndef LATH_TESTS_RANDOM_H
#define LATH_TESTS_RANDOM_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdint.h>
#endif

/* 31 bits, at the cost of a multiplication: the multiplier is Knuth's. */
static inline uint64_t random_number(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

/* A number below `below`, 0 below 0. */
static inline uint64_t draw(uint64_t *state, uint64_t below)
{
	uint64_t number = random_number(state);

	return below ? number % below : 0;
}

/* All 64 bits: splitmix64 (Steele, Lea and Flood 2014). */
static inline uint64_t random_word(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

#endif /* LATH_TESTS_RANDOM_H */
