/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * map_type.c - what the server does with maps: save, load, rewrite, copy, free, defragment.
 *
 * Saved: the kind and whether it stays when empty; the number of entries; blocks of up to
 * IMAGE_BLOCK entries. Of a number its difference from the number behind the key before, both as
 * codes; of a string all of it; then the value.
 */
#include "entry.h"
#include "image.h"
#include "map_strings.h"

#define VERSION 1

/* Bits of the first number. */
enum { FLAG_STRINGS = 1, FLAG_KEEP = 2, FLAG_SIGNED = 4, FLAG_FLOATS = 8 };
static const unsigned char kind_flags[MAP_KINDS] = { 0, FLAG_STRINGS, FLAG_SIGNED, FLAG_FLOATS };

/* false: no map has these flags */
static bool parse_flags(uint64_t flags, enum map_kind *kind)
{
	int i;

	for (i = 0; i < MAP_KINDS; i++)
		if ((flags & ~(uint64_t)FLAG_KEEP) == kind_flags[i]) {
			*kind = (enum map_kind)i;
			return true;
		}
	return false;
}

static void save(struct vk_io *rdb, void *value)
{
	const struct map *map = value;
	IMAGE_OUT(out);
	struct map_entry entry;
	struct map_iter iter;
	uint64_t next = 0, n = 0;

	vk.SaveUnsigned(rdb, kind_flags[map->kind] | (map->keep ? FLAG_KEEP : 0));
	vk.SaveUnsigned(rdb, map_size(map));
	map_iter_begin(&iter, map, &map_lowest, &map_highest, false);
	while (map_next(&iter, &entry)) {
		if (map->kind == MAP_STRINGS) {
			image_put_number(&out, entry.key.string.size);
			buffer_add(&out, entry.key.string.data, entry.key.string.size);
		} else {
			image_put_number(&out, entry.key.number - next);
			next = entry.key.number + 1;
		}
		image_put_value(&out, entry.value);
		if (++n % IMAGE_BLOCK == 0 || n == map_size(map))
			image_flush(rdb, &out);
	}
	LATH_ASSERT(n == map_size(map) &&
		    !out.size); /* what was announced, and all of it is written */
}

/* Loads one entry. `next`: the lowest number that may follow; 0 behind the highest. */
static void load_entry(struct image *image, struct map *map, uint64_t *next, bool first)
{
	struct map_key key = { 0 };
	word value;

	if (map->kind == MAP_STRINGS) {
		key.string = image_bytes(image);
	} else {
		uint64_t ahead = image_number(image);

		image->bad = image->bad || (!first && !*next) ||
			     __builtin_add_overflow(*next, ahead, &key.number) ||
			     !entry_valid(map->kind, key.number);
		*next = key.number + 1;
	}
	value = image_value(image);
	if (!image->bad)
		image->bad = map_set(map, &key, value) != 1;
}

static void *load(struct vk_io *rdb, int version)
{
	IMAGE(image);
	uint64_t flags, count, next = 0, i;
	enum map_kind kind = MAP_NUMBERS;
	struct map *map = NULL;

	if (version != VERSION)
		return NULL;
	flags = image_plain(&image, rdb);
	count = image_plain(&image, rdb);
	image.bad = image.bad || !parse_flags(flags, &kind) || (!count && !(flags & FLAG_KEEP));
	if (!image.bad)
		map = map_create(kind, flags & FLAG_KEEP);
	image.bad = image.bad || !map;
	for (i = 0; !image.bad && i < count; i++)
		if (i % IMAGE_BLOCK || image_block(&image, rdb))
			load_entry(&image, map, &next, !i);
	if (image_end(&image, "a map")) {
		LATH_ASSERT(map_size(map) == count);
		return map;
	}
	if (map)
		map_free(map);
	return NULL;
}

static struct vk_string *string_of(const struct map *map, const struct map_key *key)
{
	char text[ENTRY_TEXT];

	if (map->kind == MAP_STRINGS)
		return vk.CreateString(NULL, key->string.data, key->string.size);
	return vk.CreateString(NULL, text, entry_print(map->kind, text, key->number));
}

static void rewrite(struct vk_io *aof, struct vk_string *key, void *value)
{
	const struct map *map = value;
	struct vk_string *pairs[2 * IMAGE_BLOCK];
	struct map_entry entry;
	struct map_iter iter;
	/* the last release knows no kinds here */
	bool named = map->kind != MAP_NUMBERS && !map->keep;
	char text[VALUE_TEXT];
	size_t n = 0;
	uint64_t emitted = 0;
	bool more;

	if (map->keep)
		vk.EmitAOF(aof, "LATH.MAP.CREATE", "sc", key, map_kind_names[map->kind]);
	map_iter_begin(&iter, map, &map_lowest, &map_highest, false);
	do {
		more = map_next(&iter, &entry);
		if (more) {
			struct bytes view = value_view(&entry.value, text);

			pairs[n++] = string_of(map, &entry.key);
			pairs[n++] = vk.CreateString(NULL, view.data, view.size);
		}
		if (n == 2 * IMAGE_BLOCK || (n && !more)) {
			if (named)
				vk.EmitAOF(aof, "LATH.MAP.MSET", "scv", key,
					   map_kind_names[map->kind], pairs, n);
			else
				vk.EmitAOF(aof, "LATH.MAP.MSET", "sv", key, pairs, n);
			words_free(pairs, n);
			emitted += n / 2;
			n = 0;
		}
	} while (more);
	LATH_ASSERT(emitted == map_size(map));
}

static void digest(struct vk_digest *out, void *value)
{
	const struct map *map = value;
	struct map_entry entry;
	struct map_iter iter;
	char text[VALUE_TEXT];
	uint64_t n = 0;

	map_iter_begin(&iter, map, &map_lowest, &map_highest, false);
	for (; map_next(&iter, &entry); n++) {
		struct bytes view = value_view(&entry.value, text);

		if (map->kind == MAP_STRINGS)
			vk.DigestAddStringBuffer(out, entry.key.string.data, entry.key.string.size);
		else
			vk.DigestAddLongLong(out, (long long)entry.key.number);
		vk.DigestAddStringBuffer(out, view.data, view.size);
		vk.DigestEndSequence(out);
	}
	LATH_ASSERT(n == map_size(map));
}

/* Nodes are left where they are: readers on other threads may be in them. */
static int defragment(struct vk_defrag *ctx, struct vk_string *name, void **value)
{
	uint64_t from = defrag_begin(ctx);

	(void)name;
	if (!from)
		*value = defrag_block(ctx, *value);
	return map_defragment(*value, ctx, from);
}

TYPE_METHODS(map_methods, map, );
