/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * map_strings.h - an ordered map of byte strings to words.
 *
 * Each entry is a record of the server's memory: a word, and the key. Up to STRINGS_FEW records are
 * in a sorted array. More are in a set of byte keys (lathwork/bytes.h) that counts, and when hardly
 * any are left, in an array again.
 *
 * Threads: as map.h.
 */
#ifndef LATH_VALKEY_MAP_STRINGS_H
#define LATH_VALKEY_MAP_STRINGS_H

#include "map.h"

#define STRINGS_FEW 32
#define STRINGS_HARDLY_ANY 8

struct strings;

/* NULL: no memory */
struct strings *strings_create(void);
/* Ends the map and its values. */
void strings_free(struct strings *strings);
/* Returns the number of records. */
uint64_t strings_count(const struct strings *strings);
/* 1 (*value: borrowed) | 0 */
int strings_get(const struct strings *strings, struct bytes key, word *value);
/* 1: new | 0: replaced, *old owns the old value | -ENOMEM: nothing changed, not even the value's
 * owner */
int strings_set(struct strings *strings, struct bytes key, word value, word *old);
/* 1, *old owns the value | 0 */
int strings_erase(struct strings *strings, struct bytes key, word *old);
/* map_next() of a map of strings. */
int strings_next(struct map_iter *iter, struct map_entry *entry);
/* Returns how many keys are below this one, or with `equal` not above it. O(log n) */
uint64_t strings_rank(const struct strings *strings, struct bytes key, bool equal);
/* map_select() of a map of strings. O(log n) */
int strings_select(const struct strings *strings, uint64_t rank, struct map_entry *entry);
/* map_defragment() of a map of strings: moves records and values, and the array of a few. */
int strings_defragment(struct strings *strings, struct vk_defrag *ctx, uint64_t from);
/* Bytes of the server's memory without those of values. */
size_t strings_memory(const struct strings *strings);

#endif /* LATH_VALKEY_MAP_STRINGS_H */
