/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * value.h - a byte string in a 64-bit word: what the module keeps in the library's structures.
 *
 *   ...00  the address of a block of the server's memory: a length and the bytes
 *   ...01  up to seven bytes: their number in bits 2 to 4, the bytes from bit 8 on
 *   ...10  a decimal number below 2^62 in its usual form
 *
 * Equal strings of the last two kinds are equal words. No word is 0. A word that is an address owns
 * its block.
 */
#ifndef LATH_VALKEY_VALUE_H
#define LATH_VALKEY_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "assertion.h"

typedef uint64_t word;

/* A view: valid while the word is owned and `text` lives. */
struct bytes {
	const char *data;
	size_t size;
};

#define VALUE_TEXT 20 /* the longest decimal number, and its end */

enum { VALUE_BLOCK, VALUE_SHORT, VALUE_NUMBER, VALUE_KIND = 3 };

/* The longest string that a word can hold. */
#define VALUE_MAX 0x3fffffffu

/* Makes a word. 0: no memory, or longer than VALUE_MAX. */
word value_make(const char *data, size_t size);
void value_free(word value);
/* text: VALUE_TEXT bytes, for numbers */
struct bytes value_view(const word *value, char *text);
bool value_equal(word value, const char *data, size_t size);
/* Compares as memcmp() does, a shorter string before a longer one that begins with it. */
int compare_bytes(struct bytes a, struct bytes b);
/* Another one in each process: clients cannot choose strings that have the same. */
struct hash {
	uint64_t low, high;
} hash_bytes(struct bytes bytes);
/* Bytes of the server's memory that the word owns. */
size_t value_memory(word value);
static inline bool value_owns(word value)
{
	return (value & VALUE_KIND) == VALUE_BLOCK;
}

/* Parses a decimal number in its usual form: no sign, no leading zero. */
bool number_parse(const char *data, size_t size, uint64_t *number);
/* The same with any number of zeros in front. */
bool number_read(struct bytes text, uint64_t *number);
/* Writes the number without an end. Returns its length. */
size_t number_print(char *text, uint64_t number);
/* Both of a number with or without a minus; VALUE_TEXT + 1 bytes. */
bool signed_read(struct bytes text, int64_t *number);
size_t signed_print(char *text, int64_t number);

/* ---- the server's memory for the library ---- */

struct lath_allocator;
extern const struct lath_allocator server_memory;
/* For blocks that need no more than the server's alignment, 16 bytes: they begin where they were
 * allocated, so defragmentation can move them. Not counted. */
extern const struct lath_allocator server_blocks;
/* Bytes of server_memory that are in use. */
size_t server_memory_held(void);
/* Finds out how the server's allocator aligns; once, before server_memory is used. */
void server_memory_begin(void);

#endif /* LATH_VALKEY_VALUE_H */
