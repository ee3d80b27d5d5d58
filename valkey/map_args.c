/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * map_args.c - arguments, keys and replies of the commands of maps.
 */
#include "map_args.h"

#include <string.h>

bool want_kind(struct opened *opened, const struct vk_string *name, enum map_kind *kind)
{
	*kind = kind_of(opened);
	if (!name)
		return true;
	if (!entry_kind(name, kind))
		return refuse(opened->ctx, SYNTAX);
	if (!opened->value || *kind == kind_of(opened))
		return true;
	return refuse(opened->ctx, "ERR the map has entries of another kind");
}

static bool want_code(struct vk_ctx *ctx, enum map_kind kind, struct bytes text, uint64_t *code)
{
	if (entry_parse(kind, text, code))
		return true;
	return refuse(ctx, entry_error(kind));
}

bool want_key(struct opened *opened, const struct vk_string *argument, struct map_key *key)
{
	enum map_kind kind = kind_of(opened);

	key->string = text_of(argument);
	key->number = 0;
	return !opened->value || kind == MAP_STRINGS ||
	       want_code(opened->ctx, kind, key->string, &key->number);
}

bool want_new_key(struct opened *opened, enum map_kind kind, const struct vk_string *argument,
		  struct map_key *key)
{
	if (kind == MAP_STRINGS)
		return want_text(opened->ctx, argument, "entry", &key->string);
	return want_code(opened->ctx, kind, text_of(argument), &key->number);
}

static bool is_number(const struct opened *opened, struct bytes text, uint64_t *code)
{
	if (opened->value)
		return entry_parse(kind_of(opened), text, code);
	return entry_parse(MAP_NUMBERS, text, code) || entry_parse(MAP_FLOATS, text, code);
}

bool want_bound(struct opened *opened, const struct vk_string *argument, struct map_bound *bound)
{
	bool strings = !opened->value || kind_of(opened) == MAP_STRINGS;
	bool numbers = !opened->value || kind_of(opened) != MAP_STRINGS;
	struct bytes text = text_of(argument);

	*bound = (struct map_bound){ 0 };
	if (text.size == 1 && (*text.data == '-' || *text.data == '+')) {
		bound->infinite = *text.data == '-' ? -1 : 1;
		return true;
	}
	bound->open = text.size && *text.data == '(';
	if (strings && (bound->open || (text.size && *text.data == '['))) {
		bound->key.string = (struct bytes){ text.data + 1, text.size - 1 };
		return true;
	}
	text.data += bound->open;
	text.size -= bound->open;
	if (opened->value && numbers && kind_of(opened) != MAP_FLOATS && infinite_of(text)) {
		bound->infinite = infinite_of(text);
		return true;
	}
	if (numbers && is_number(opened, text, &bound->key.number))
		return true;
	reply_error(opened->ctx,
		    numbers ? "ERR min or max is not a number, '(' and a number, '-' or '+'"
			    : "ERR min or max is not '[' or '(' and a string, '-' or '+'");
	return false;
}

/* A double in RESP3, else a string. */
static void reply_float(struct vk_ctx *ctx, uint64_t code)
{
	uint64_t raw = entry_raw(MAP_FLOATS, code);
	char text[ENTRY_TEXT];
	double number;

	memcpy(&number, &raw, sizeof(number));
	if (vk.GetContextFlags(ctx) & VK_CTX_RESP3)
		vk.ReplyWithDouble(ctx, number);
	else
		vk.ReplyWithStringBuffer(ctx, text, entry_print(MAP_FLOATS, text, code));
}

void reply_key(struct vk_ctx *ctx, enum map_kind kind, const struct map_key *key)
{
	switch (kind) {
	case MAP_STRINGS:
		vk.ReplyWithStringBuffer(ctx, key->string.data, key->string.size);
		break;
	case MAP_SIGNED:
		reply_signed(ctx, (int64_t)entry_raw(kind, key->number));
		break;
	case MAP_FLOATS:
		reply_float(ctx, key->number);
		break;
	default:
		reply_number(ctx, key->number);
	}
}

int reply_entry(struct vk_ctx *ctx, enum map_kind kind, const struct map_entry *entry)
{
	reply_key(ctx, kind, &entry->key);
	reply_value(ctx, entry->value);
	return VK_OK;
}

struct map *map_to_add(const struct opened *opened, enum map_kind kind)
{
	return opened->value ? opened->value : map_create(kind, false);
}

bool map_added(struct opened *opened, struct map *map)
{
	if (opened->value || !map)
		return false;
	if (!map_size(map)) {
		map_free(map);
		return false;
	}
	LATH_ASSERT(opened->key);
	vk.ModuleTypeSetValue(opened->key, map_type, map);
	opened->value = map;
	return map->kind != MAP_NUMBERS;
}

void replicate_write(struct opened *opened, const char *name, struct vk_string **argv, int argc,
		     int kind)
{
	if (kind)
		replicate(opened, name, "vv", argv + 1, (size_t)kind - 1, argv + kind + 1,
			  (size_t)(argc - kind) - 1);
	else
		replicate_call(opened, name, argv, argc);
}

void drop_empty(struct opened *opened)
{
	const struct map *map = opened->value;

	if (!map_size(map) && !map->keep)
		end_key(opened);
}
