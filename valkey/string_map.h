/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * string_map.h - an ordered map of byte strings to words.
 *
 * Layers of indexes, as in Masstree (Mao, Kohler and Morris 2012): the layer of depth d maps bytes
 * 8 d to 8 d + 7 of a key, as a big-endian number, to what has these bytes: one record, a sorted
 * bucket of up to STRINGS_BUCKET records, or the next layer. A key that ends before is continued
 * with zeros; keys of which one is the other and some zeros are told apart in a bucket, which never
 * holds more than nine of them. Buckets of depth STRINGS_DEPTH hold any number: keys of which more
 * than STRINGS_BUCKET agree in their first 256 bytes.
 *
 * Threads: as map.h.
 */
#ifndef LATH_VALKEY_STRING_MAP_H
#define LATH_VALKEY_STRING_MAP_H

#include "map.h"

#define STRINGS_BUCKET 32
#define STRINGS_DEPTH 32

struct strings;

/* NULL: no memory */
struct strings *strings_create(void);
void strings_free(struct strings *strings);
int strings_get(const struct strings *strings, struct bytes key, word *value);
/* 1: new | 0: replaced, *old owns the old value | -ENOMEM: nothing changed, not even the value's
 * owner */
int strings_set(struct strings *strings, struct bytes key, word value, word *old);
/* 1, *old owns the value | 0 */
int strings_erase(struct strings *strings, struct bytes key, word *old);
/* map_next() of a map of strings. */
int strings_next(struct map_iter *iter, struct map_entry *entry);
/* map_defragment() of a map of strings: moves buckets, records and values. */
int strings_defragment(struct strings *strings, struct vk_defrag *ctx, uint64_t from);
/* Bytes of the server's memory without those of values; of layers an estimate. */
size_t strings_memory(const struct strings *strings);

#endif /* LATH_VALKEY_STRING_MAP_H */
