/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * map_args.h - arguments, keys and replies that the commands of maps share.
 *
 * An absent key has no kind. Commands that read it accept arguments of every kind, and find no
 * entries.
 */
#ifndef LATH_VALKEY_MAP_ARGS_H
#define LATH_VALKEY_MAP_ARGS_H

#include "entry.h"

/* Of a key that is not there: MAP_NUMBERS. */
static inline enum map_kind kind_of(const struct opened *opened)
{
	return opened->value ? (enum map_kind)((struct map *)opened->value)->kind : MAP_NUMBERS;
}

/* The functions want_...() return false if the argument is not as they say, and the reply says so.
 */

/* The kind of the map that a write adds to: that of the map that is there, or the named
 * one, or NUMBERS. `name` may be NULL. false also: a map of another kind is there */
bool want_kind(struct opened *opened, const struct vk_string *name, enum map_kind *kind);
/* The entry to look up in the map, or to erase. */
bool want_key(struct opened *opened, const struct vk_string *argument, struct map_key *key);
/* The entry to set in a map of this kind. */
bool want_new_key(struct opened *opened, enum map_kind kind, const struct vk_string *argument,
		  struct map_key *key);
/* "-", "+", a number or "(" and a number; with strings "[" or "(" and the string. */
bool want_bound(struct opened *opened, const struct vk_string *argument, struct map_bound *bound);

void reply_key(struct vk_ctx *ctx, enum map_kind kind, const struct map_key *key);
/* A key and its value. */
int reply_entry(struct vk_ctx *ctx, enum map_kind kind, const struct map_entry *entry);

/* The map to add to; a new one is not yet in the key. NULL: no memory. */
struct map *map_to_add(const struct opened *opened, enum map_kind kind);
/* After map_to_add(): puts a new map into the key, unless nothing could be added. Returns whether
 * replicas need the kind to do the same. */
bool map_added(struct opened *opened, struct map *map);
/* replicate_call() without the argument `kind`, 0: with all: the last release knows none there. */
void replicate_write(struct opened *opened, const char *name, struct vk_string **argv, int argc,
		     int kind);
/* Removes the key if its map is empty, unless LATH.MAP.CREATE made it. */
void drop_empty(struct opened *opened);

#define MAP_COMMAND(linkage, name, mode, least, most) \
	COMMAND(linkage, name, least, most, open_key(opened, ctx, argv, mode, map_type))

/* map_range.c */
typedef int map_command(struct vk_ctx *ctx, struct vk_string **argv, int argc);
map_command map_range_command, map_revrange_command, map_rangebyrank_command, map_count_command,
	map_rank_command, map_select_command, map_scan_command;

#endif /* LATH_VALKEY_MAP_ARGS_H */
