/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * entry.h - the keys of a map's entries as clients write and read them.
 *
 * A map of strings keeps them as they are. In all others a key is a number of 64 bits, the code,
 * whose order is that of the keys:
 *
 *   NUMBERS  0 to 2^64 - 1: itself
 *   SIGNED   -2^63 to 2^63 - 1: with the sign bit inverted
 *   FLOATS   doubles without NaN: with the sign bit inverted, or all bits of a negative one. -0 is
 * 0.
 */
#ifndef LATH_VALKEY_ENTRY_H
#define LATH_VALKEY_ENTRY_H

#include "command.h"
#include "map.h"

/* The word of each kind in commands. */
extern const char *const map_kind_names[MAP_KINDS];
/* Is it the word of a kind? */
bool entry_kind(const struct vk_string *string, enum map_kind *kind);

#define ENTRY_TEXT 32

/* Parses a key of a kind other than MAP_STRINGS. NUMBERS and SIGNED: in their usual form, without
 * '+' and leading zeros; FLOATS: as strtod() has them, without hexadecimal ones and those that are
 * too large for a double or too small, at most 120 bytes. */
bool entry_parse(enum map_kind kind, struct bytes text, uint64_t *code);
/* Is this a code that entry_parse() gives? Of FLOATS not all numbers are one. */
bool entry_valid(enum map_kind kind, uint64_t code);
/* Writes a key without an end, into ENTRY_TEXT bytes; of FLOATS the shortest text that is read as
 * the same double. Returns its length. */
size_t entry_print(enum map_kind kind, char *text, uint64_t code);
/* The key as a number of the machine: unsigned, signed, or the bits of a double. */
uint64_t entry_raw(enum map_kind kind, uint64_t code);
/* What is wrong with a text that entry_parse() refuses. */
const char *entry_error(enum map_kind kind);

/* Does the text match a pattern as KEYS and SCAN take it: `?`, `*`, `[a-z]`, `[^a]`, `\` before a
 * character that stands for itself? Its time is the product of both lengths at most. */
bool entry_matches(struct bytes pattern, struct bytes text);

#endif /* LATH_VALKEY_ENTRY_H */
