/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * map_commands.c - LATH.MAP.*
 */
#include <errno.h>
#include <string.h>

#include "command.h"
#include "map.h"

struct vk_type *map_type;

/* ---- keys, bounds, options ---- */

static enum map_kind kind_of(const struct opened *opened)
{
	return opened->value ? ((struct map *)opened->value)->kind : MAP_NUMBERS;
}

/* The entry to look up in the map, or to erase. A key that is not there has no kind, and no entry
 * of any. false: it is not a number, and the reply says so */
static bool want_key(struct opened *opened, const struct vk_string *argument, struct map_key *key)
{
	key->string = text_of(argument);
	key->number = 0;
	return !opened->value || kind_of(opened) == MAP_STRINGS ||
	       want_number(opened->ctx, argument, "entry", &key->number);
}

/* The entry to set in the map, or in the new map of numbers if there is none. */
static bool want_new_key(struct opened *opened, const struct vk_string *argument,
			 struct map_key *key)
{
	if (kind_of(opened) == MAP_STRINGS)
		return want_text(opened->ctx, argument, "entry", &key->string);
	return want_number(opened->ctx, argument, "entry", &key->number);
}

/* "-", "+", a number or "(" and a number; with strings "[" or "(" and the string; any of these for
 * a key that is not there. */
static bool want_bound(struct opened *opened, const struct vk_string *argument,
		       struct map_bound *bound)
{
	bool strings = !opened->value || kind_of(opened) == MAP_STRINGS;
	bool numbers = kind_of(opened) == MAP_NUMBERS;
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
	if (numbers &&
	    number_parse(text.data + bound->open, text.size - bound->open, &bound->key.number))
		return true;
	reply_error(opened->ctx,
		    numbers ? "ERR min or max is not a number, '(' and a number, '-' or '+'"
			    : "ERR min or max is not '[' or '(' and a string, '-' or '+'");
	return false;
}

static void reply_key(struct vk_ctx *ctx, enum map_kind kind, const struct map_key *key)
{
	if (kind == MAP_STRINGS)
		vk.ReplyWithStringBuffer(ctx, key->string.data, key->string.size);
	else
		reply_number(ctx, key->number);
}

/* The map to add to; a new one is not yet in the key. NULL: no memory. */
static struct map *map_to_add(const struct opened *opened)
{
	return opened->value ? opened->value : map_create(MAP_NUMBERS, false);
}

/* After map_to_add(): puts a new map into the key, unless nothing could be added. */
static void map_added(struct opened *opened, struct map *map)
{
	if (opened->value || !map)
		return;
	if (!map_size(map)) {
		map_free(map);
		return;
	}
	LATH_ASSERT(opened->key);
	vk.ModuleTypeSetValue(opened->key, map_type, map);
	opened->value = map;
}

/* Removes the key if its map is empty, unless LATH.MAP.CREATE made it. */
static void drop_empty(struct opened *opened)
{
	struct map *map = opened->value;

	LATH_ASSERT(opened->changed);
	if (!map || map_size(map) || map->keep)
		return;
	vk.DeleteKey(opened->key);
	opened->value = NULL;
	vk.NotifyKeyspaceEvent(opened->ctx, VK_NOTIFY_GENERIC, "del", opened->name);
}

/* ---- single entries ---- */

static int create_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	OPENED(opened);
	struct map *map;

	if (argc < 2 || argc > 3)
		return vk.WrongArity(ctx);
	if (argc == 3 && !is_word(argv[2], "STRINGS") && !is_word(argv[2], "NUMBERS"))
		return reply_syntax(ctx);
	if (!open_key(&opened, ctx, argv, VK_READ | VK_WRITE, map_type))
		return VK_OK;
	if (opened.value)
		return reply_error(ctx, "ERR the key exists");
	map = map_create(argc == 3 && is_word(argv[2], "STRINGS") ? MAP_STRINGS : MAP_NUMBERS,
			 true);
	if (!map)
		return reply_no_memory(ctx);
	vk.ModuleTypeSetValue(opened.key, map_type, map);
	opened.value = map;
	changed(&opened, "lath.map.create");
	replicate_verbatim(&opened);
	return vk.ReplyWithSimpleString(ctx, "OK");
}

static int set_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	bool only_new, only_old;
	struct bytes text;
	struct map_key key;
	struct map *map;
	OPENED(opened);
	word there;
	int ret;

	if (argc < 4 || argc > 5)
		return vk.WrongArity(ctx);
	only_new = argc == 5 && is_word(argv[4], "NX");
	only_old = argc == 5 && is_word(argv[4], "XX");
	if (argc == 5 && !only_new && !only_old)
		return reply_syntax(ctx);
	if (!open_key(&opened, ctx, argv, VK_READ | VK_WRITE, map_type))
		return VK_OK;
	if (only_old && !opened.value)
		return vk.ReplyWithNull(ctx);
	if (!want_new_key(&opened, argv[2], &key) || !want_text(ctx, argv[3], "value", &text))
		return VK_OK;
	if ((only_new || only_old) &&
	    (opened.value && map_get(opened.value, &key, &there)) != only_old)
		return vk.ReplyWithNull(ctx);
	map = map_to_add(&opened);
	ret = map ? map_set(map, &key, value_make(text.data, text.size)) : -ENOMEM;
	map_added(&opened, map);
	if (ret < 0)
		return reply_failure(ctx, ret);
	changed(&opened, "lath.map.set");
	replicate_verbatim(&opened);
	return vk.ReplyWithLongLong(ctx, ret);
}

static int get_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	struct map_key key;
	OPENED(opened);
	word value;

	if (argc != 3)
		return vk.WrongArity(ctx);
	if (!open_key(&opened, ctx, argv, VK_READ, map_type) || !want_key(&opened, argv[2], &key))
		return VK_OK;
	if (!opened.value || !map_get(opened.value, &key, &value))
		return vk.ReplyWithNull(ctx);
	reply_value(ctx, value);
	return VK_OK;
}

static int mset_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	long long added = 0;
	struct map_key key;
	struct bytes text;
	struct map *map;
	OPENED(opened);
	int i, ret = 0;

	if (argc < 4 || argc % 2)
		return vk.WrongArity(ctx);
	if (!open_key(&opened, ctx, argv, VK_READ | VK_WRITE, map_type))
		return VK_OK;
	for (i = 2; i < argc; i += 2) /* all or none */
		if (!want_new_key(&opened, argv[i], &key) ||
		    !want_text(ctx, argv[i + 1], "value", &text))
			return VK_OK;
	map = map_to_add(&opened);
	for (i = 2; map && i < argc && ret >= 0; i += 2, added += ret > 0) {
		want_new_key(&opened, argv[i], &key);
		text = text_of(argv[i + 1]);
		ret = map_set(map, &key, value_make(text.data, text.size));
	}
	map_added(&opened, map);
	if (!map || (ret < 0 && i == 4))
		return reply_failure(ctx, map ? ret : -ENOMEM);
	changed(&opened, "lath.map.set");
	if (ret < 0) { /* replicas get what was set: the first pairs */
		replicate(&opened, "LATH.MAP.MSET", "v", argv + 1, (size_t)(i - 3));
		return reply_failure(ctx, ret);
	}
	replicate_verbatim(&opened);
	return vk.ReplyWithLongLong(ctx, added);
}

static int mget_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	struct map_key keys[MAP_BATCH];
	word values[MAP_BATCH] = { 0 };
	OPENED(opened);
	int i, k, some;

	if (argc < 3)
		return vk.WrongArity(ctx);
	if (!open_key(&opened, ctx, argv, VK_READ, map_type))
		return VK_OK;
	for (i = 2; i < argc; i++)
		if (!want_key(&opened, argv[i], &keys[0]))
			return VK_OK;
	vk.ReplyWithArray(ctx, argc - 2);
	for (i = 2; i < argc; i += some) {
		some = argc - i < MAP_BATCH ? argc - i : MAP_BATCH;
		for (k = 0; k < some; k++)
			want_key(&opened, argv[i + k], &keys[k]);
		if (opened.value)
			map_get_batch(opened.value, (size_t)some, keys, values);
		for (k = 0; k < some; k++) {
			if (values[k])
				reply_value(ctx, values[k]);
			else
				vk.ReplyWithNull(ctx);
		}
	}
	return VK_OK;
}

static int del_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	long long erased = 0;
	struct map_key key;
	OPENED(opened);
	int i;

	if (argc < 3)
		return vk.WrongArity(ctx);
	if (!open_key(&opened, ctx, argv, VK_READ | VK_WRITE, map_type))
		return VK_OK;
	for (i = 2; i < argc; i++)
		if (!want_key(&opened, argv[i], &key))
			return VK_OK;
	for (i = 2; opened.value && i < argc; i++) {
		want_key(&opened, argv[i], &key);
		erased += map_erase(opened.value, &key, NULL);
	}
	if (erased) {
		changed(&opened, "lath.map.del");
		drop_empty(&opened);
		replicate_verbatim(&opened);
	}
	return vk.ReplyWithLongLong(ctx, erased);
}

/* A decimal number with or without a minus, in its usual form. */
static bool signed_parse(struct bytes text, int64_t *number)
{
	bool minus = text.size && *text.data == '-';
	uint64_t most = (uint64_t)INT64_MAX + minus, n;

	if (!number_parse(text.data + minus, text.size - minus, &n) || n > most || (minus && !n))
		return false;
	*number = minus ? (int64_t)(0 - n) : (int64_t)n;
	return true;
}

static size_t signed_print(char *text, int64_t number)
{
	if (number >= 0)
		return number_print(text, (uint64_t)number);
	*text = '-';
	return 1 + number_print(text + 1, 0 - (uint64_t)number);
}

static int incr_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	char text[VALUE_TEXT + 1];
	int64_t by = 1, now = 0;
	struct map_key key;
	struct map *map;
	OPENED(opened);
	word value;
	int ret;

	if (argc < 3 || argc > 4)
		return vk.WrongArity(ctx);
	if (!open_key(&opened, ctx, argv, VK_READ | VK_WRITE, map_type) ||
	    !want_new_key(&opened, argv[2], &key))
		return VK_OK;
	if (argc == 4 && !signed_parse(text_of(argv[3]), &by))
		return reply_error(ctx, "ERR value is not an integer or out of range");
	if (opened.value && map_get(opened.value, &key, &value) &&
	    !signed_parse(value_view(&value, text), &now))
		return reply_error(ctx, "ERR value is not an integer or out of range");
	if (__builtin_add_overflow(now, by, &now))
		return reply_error(ctx, "ERR increment or decrement would overflow");
	map = map_to_add(&opened);
	ret = map ? map_set(map, &key, value_make(text, signed_print(text, now))) : -ENOMEM;
	map_added(&opened, map);
	if (ret < 0)
		return reply_failure(ctx, ret);
	changed(&opened, "lath.map.incr");
	replicate_verbatim(&opened);
	return vk.ReplyWithLongLong(ctx, now);
}

static int cas_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	struct bytes expected, text;
	struct map_key key;
	OPENED(opened);
	word value;
	int ret;

	if (argc != 5)
		return vk.WrongArity(ctx);
	if (!open_key(&opened, ctx, argv, VK_READ | VK_WRITE, map_type) ||
	    !want_key(&opened, argv[2], &key) || !want_text(ctx, argv[4], "value", &text))
		return VK_OK;
	expected = text_of(argv[3]);
	if (!opened.value || !map_get(opened.value, &key, &value) ||
	    !value_equal(value, expected.data, expected.size))
		return vk.ReplyWithLongLong(ctx, 0);
	ret = map_set(opened.value, &key, value_make(text.data, text.size));
	if (ret < 0)
		return reply_failure(ctx, ret);
	changed(&opened, "lath.map.set");
	replicate(&opened, "LATH.MAP.SET", "sss", argv[1], argv[2], argv[4]);
	return vk.ReplyWithLongLong(ctx, 1);
}

/* ---- ranges ---- */

/* The beginning of a number's entry in a packed reply, and a whole one with a number for a value.
 */
struct packed_head {
	uint64_t key;
	uint32_t size;
} __attribute__((packed));

struct packed_number {
	struct packed_head head;
	uint64_t value;
} __attribute__((packed));
#define PACKED_NUMBER UINT32_MAX

static void pack_value(struct buffer *out, uint32_t size, struct bytes value)
{
	buffer_add(out, &size, sizeof(size));
	buffer_add(out, value.data, value.size);
}

static void pack_entry(struct buffer *out, enum map_kind kind, const struct map_entry *entry)
{
	bool decimal = (entry->value & VALUE_KIND) == VALUE_NUMBER;
	uint64_t number = entry->value >> 2;
	char text[VALUE_TEXT];
	struct bytes value = { (const char *)&number, sizeof(number) };

	if (!decimal)
		value = value_view(&entry->value, text);
	if (kind == MAP_STRINGS) {
		pack_value(out, (uint32_t)entry->key.string.size, entry->key.string);
		pack_value(out, decimal ? PACKED_NUMBER : (uint32_t)value.size, value);
	} else if (decimal) {
		struct packed_number all = { { entry->key.number, PACKED_NUMBER }, number };

		buffer_add(out, &all, sizeof(all));
	} else {
		struct packed_head head = { entry->key.number, (uint32_t)value.size };

		buffer_add(out, &head, sizeof(head));
		buffer_add(out, value.data, value.size);
	}
}

/* Packs entries of a map of numbers. Runs of those whose values are numbers are added at once. */
static void pack_numbers(struct buffer *out, const uint64_t *keys, const word *values, size_t n)
{
	struct packed_number run[MAP_BATCH];
	size_t i, in_run = 0;

	for (i = 0; i < n; i++) {
		struct map_entry entry = { .key = { .number = keys[i] }, .value = values[i] };

		if ((values[i] & VALUE_KIND) == VALUE_NUMBER) {
			run[in_run++] = (struct packed_number){ { keys[i], PACKED_NUMBER },
								values[i] >> 2 };
			continue;
		}
		buffer_add(out, run, in_run * sizeof(run[0]));
		in_run = 0;
		pack_entry(out, MAP_NUMBERS, &entry);
	}
	buffer_add(out, run, in_run * sizeof(run[0]));
}

static int reply_packed(struct vk_ctx *ctx, struct map_iter *iter)
{
	BUFFER out = { 0 };
	struct map_entry entry;
	const uint64_t *keys;
	const word *values;
	size_t n;

	if (iter->map->kind == MAP_NUMBERS) {
		while ((n = map_next_batch(iter, &keys, &values)))
			pack_numbers(&out, keys, values, n);
	} else {
		while (map_next(iter, &entry))
			pack_entry(&out, MAP_STRINGS, &entry);
	}
	if (out.failed)
		return reply_no_memory(ctx);
	return vk.ReplyWithStringBuffer(ctx, out.data, out.size);
}

/* Entries that are looked at before the reply begins, so that its length need not be filled in
 * later. */
#define AHEAD MAP_BATCH

static void reply_entry(struct vk_ctx *ctx, const struct map_iter *iter,
			const struct map_entry *entry, bool values)
{
	reply_key(ctx, iter->map->kind, &entry->key);
	if (values)
		reply_value(ctx, entry->value);
}

/* Up to iter->most entries of a map of numbers. */
static int reply_numbers(struct vk_ctx *ctx, struct map_iter *iter, bool values)
{
	const uint64_t *keys;
	const word *words;
	uint64_t limit = iter->most;
	long n = 0;
	size_t some, i;
	bool more;

	some = map_next_batch(iter, &keys, &words);
	more = !iter->ended && iter->most;
	vk.ReplyWithArray(ctx, more ? VK_LENGTH_LATER : values ? 2 * (long)some : (long)some);
	for (; some; some = more ? map_next_batch(iter, &keys, &words) : 0) {
		for (i = 0; i < some; i++) {
			reply_number(ctx, keys[i]);
			if (values)
				reply_value(ctx, words[i]);
		}
		n += (long)some;
	}
	LATH_ASSERT((uint64_t)n <= limit);
	if (more)
		vk.ReplySetArrayLength(ctx, values ? 2 * n : n);
	return VK_OK;
}

static int reply_range(struct vk_ctx *ctx, struct map_iter *iter, bool values)
{
	struct map_entry ahead[AHEAD], entry;
	long n = 0, k;
	bool more;

	if (iter->map->kind == MAP_NUMBERS)
		return reply_numbers(ctx, iter, values);
	while (n < AHEAD && map_next(iter, &ahead[n]))
		n++;
	more = n == AHEAD && iter->most;
	vk.ReplyWithArray(ctx, more ? VK_LENGTH_LATER : values ? 2 * n : n);
	for (k = 0; k < n; k++)
		reply_entry(ctx, iter, &ahead[k], values);
	for (; more && map_next(iter, &entry); n++)
		reply_entry(ctx, iter, &entry, values);
	if (more)
		vk.ReplySetArrayLength(ctx, values ? 2 * n : n);
	return VK_OK;
}

struct range_options {
	uint64_t limit;
	bool packed, keys;
};

/* false: the reply says why */
static bool range_options(struct vk_ctx *ctx, struct vk_string **argv, int argc, int i,
			  struct range_options *options)
{
	*options = (struct range_options){ UINT64_MAX, false, false };
	for (; i < argc; i++) {
		if (is_word(argv[i], "LIMIT") && i + 1 < argc) {
			if (!want_number(ctx, argv[++i], "LIMIT", &options->limit))
				return false;
		} else if (is_word(argv[i], "PACKED") && !options->keys) {
			options->packed = true;
		} else if (is_word(argv[i], "KEYS") && !options->packed) {
			options->keys = true;
		} else {
			reply_syntax(ctx);
			return false;
		}
	}
	return true;
}

static int range(struct vk_ctx *ctx, struct vk_string **argv, int argc, bool back)
{
	struct range_options options;
	struct map_bound low, high;
	struct map_iter iter;
	OPENED(opened);

	if (argc < 4)
		return vk.WrongArity(ctx);
	if (!open_key(&opened, ctx, argv, VK_READ, map_type) ||
	    !want_bound(&opened, argv[back ? 3 : 2], &low) ||
	    !want_bound(&opened, argv[back ? 2 : 3], &high) ||
	    !range_options(ctx, argv, argc, 4, &options))
		return VK_OK;
	if (!opened.value)
		return options.packed ? vk.ReplyWithStringBuffer(ctx, "", 0)
				      : vk.ReplyWithArray(ctx, 0);
	map_iter_begin(&iter, opened.value, &low, &high, back);
	iter.most = options.limit;
	return options.packed ? reply_packed(ctx, &iter) : reply_range(ctx, &iter, !options.keys);
}

static int range_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	return range(ctx, argv, argc, false);
}

static int revrange_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	return range(ctx, argv, argc, true);
}

static int count_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	struct map_bound low, high;
	OPENED(opened);

	if (argc != 4)
		return vk.WrongArity(ctx);
	if (!open_key(&opened, ctx, argv, VK_READ, map_type) ||
	    !want_bound(&opened, argv[2], &low) || !want_bound(&opened, argv[3], &high))
		return VK_OK;
	return vk.ReplyWithLongLong(
		ctx, opened.value ? (long long)map_count(opened.value, &low, &high) : 0);
}

static int rank_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	struct map_bound high = { .open = true };
	OPENED(opened);
	uint64_t rank;
	word value;

	if (argc != 3)
		return vk.WrongArity(ctx);
	if (!open_key(&opened, ctx, argv, VK_READ, map_type) ||
	    !want_key(&opened, argv[2], &high.key))
		return VK_OK;
	if (!opened.value || !map_get(opened.value, &high.key, &value))
		return vk.ReplyWithNull(ctx);
	rank = map_count(opened.value, &map_lowest, &high);
	LATH_ASSERT(rank < map_size(opened.value)); /* the entry itself is behind */
	return vk.ReplyWithLongLong(ctx, (long long)rank);
}

static int select_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	struct map_entry entry;
	struct bytes text;
	uint64_t rank;
	OPENED(opened);
	bool back;

	if (argc != 3)
		return vk.WrongArity(ctx);
	if (!open_key(&opened, ctx, argv, VK_READ, map_type))
		return VK_OK;
	text = text_of(argv[2]);
	back = text.size && *text.data == '-'; /* from the end: -1 is the last one */
	if (!number_parse(text.data + back, text.size - back, &rank) || (back && !rank))
		return reply_error(ctx, "ERR value is not an integer or out of range");
	if (back && opened.value)
		rank = map_size(opened.value) - rank;
	if (!opened.value || !map_select(opened.value, rank, &entry))
		return vk.ReplyWithNull(ctx);
	vk.ReplyWithArray(ctx, 2);
	reply_key(ctx, kind_of(&opened), &entry.key);
	reply_value(ctx, entry.value);
	return VK_OK;
}

static int len_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	OPENED(opened);

	if (argc != 2)
		return vk.WrongArity(ctx);
	if (!open_key(&opened, ctx, argv, VK_READ, map_type))
		return VK_OK;
	return vk.ReplyWithLongLong(ctx, opened.value ? (long long)map_size(opened.value) : 0);
}

static int neighbour(struct vk_ctx *ctx, struct vk_string **argv, int argc, bool below)
{
	struct map_bound bound = { 0 };
	struct map_entry entry;
	struct map_iter iter;
	OPENED(opened);

	if (argc != 3)
		return vk.WrongArity(ctx);
	if (!open_key(&opened, ctx, argv, VK_READ, map_type) ||
	    !want_key(&opened, argv[2], &bound.key))
		return VK_OK;
	if (!opened.value)
		return vk.ReplyWithNull(ctx);
	map_iter_begin(&iter, opened.value, below ? &map_lowest : &bound,
		       below ? &bound : &map_highest, below);
	iter.most = 1;
	if (!map_next(&iter, &entry))
		return vk.ReplyWithNull(ctx);
	vk.ReplyWithArray(ctx, 2);
	reply_key(ctx, kind_of(&opened), &entry.key);
	reply_value(ctx, entry.value);
	return VK_OK;
}

static int floor_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	return neighbour(ctx, argv, argc, true);
}

static int ceil_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	return neighbour(ctx, argv, argc, false);
}

/* Erases up to `limit` entries of the range, the first ones in its order; *first, *last: bounds of
 * those erased, as strings of the server. Returns how many. */
static long long erase_range(struct opened *opened, const struct map_bound *low,
			     const struct map_bound *high, bool back, uint64_t limit, bool reply)
{
	struct map *map = opened->value;
	struct vk_string *keys[MAP_BATCH];
	char text[VALUE_TEXT];
	struct map_entry entry;
	struct map_iter iter;
	long long erased = 0;
	size_t n, i;

	do {
		map_iter_begin(&iter, map, low, high, back);
		iter.most = limit;
		for (n = 0; n < MAP_BATCH && map_next(&iter, &entry); n++, limit--) {
			struct bytes key = entry.key.string;

			if (map->kind == MAP_NUMBERS)
				key = (struct bytes){ text, number_print(text, entry.key.number) };
			keys[n] = vk.CreateString(NULL, key.data, key.size);
			if (reply) {
				reply_key(opened->ctx, map->kind, &entry.key);
				reply_value(opened->ctx, entry.value);
			}
		}
		for (i = 0; i < n; i++) {
			struct map_key key = { 0, text_of(keys[i]) };
			int ret;

			number_parse(key.string.data, key.string.size, &key.number);
			ret = map_erase(map, &key, NULL);
			LATH_ASSERT(ret == 1); /* the iterator has just read it */
			erased += ret;
		}
		if (n)
			replicate(opened, "LATH.MAP.DEL", "sv", opened->name, keys, n);
		for (i = 0; i < n; i++)
			vk.FreeString(NULL, keys[i]);
	} while (n == MAP_BATCH);
	if (erased) {
		changed(opened, "lath.map.del");
		drop_empty(opened);
	}
	return erased;
}

static int pop_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	bool back = argc > 2 && is_word(argv[2], "MAX");
	uint64_t count = 1;
	OPENED(opened);
	long long n;

	if (argc < 2 || argc > 4)
		return vk.WrongArity(ctx);
	if (argc > 2 && !back && !is_word(argv[2], "MIN"))
		return reply_syntax(ctx);
	if (argc > 3 && !want_number(ctx, argv[3], "count", &count))
		return VK_OK;
	if (!open_key(&opened, ctx, argv, VK_READ | VK_WRITE, map_type))
		return VK_OK;
	if (!opened.value)
		return vk.ReplyWithArray(ctx, 0);
	vk.ReplyWithArray(ctx, VK_LENGTH_LATER);
	n = erase_range(&opened, &map_lowest, &map_highest, back, count, true);
	vk.ReplySetArrayLength(ctx, 2 * n);
	return VK_OK;
}

static int delrange_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	struct range_options options;
	struct map_bound low, high;
	OPENED(opened);

	if (argc < 4)
		return vk.WrongArity(ctx);
	if (!open_key(&opened, ctx, argv, VK_READ | VK_WRITE, map_type) ||
	    !want_bound(&opened, argv[2], &low) || !want_bound(&opened, argv[3], &high) ||
	    !range_options(ctx, argv, argc, 4, &options))
		return VK_OK;
	if (options.packed || options.keys)
		return reply_syntax(ctx);
	return vk.ReplyWithLongLong(ctx, opened.value ? erase_range(&opened, &low, &high, false,
								    options.limit, false)
						      : 0);
}

/* The bound where a scan goes on: "0" begins, and else the cursor is a mark and the key behind
 * which it goes on. false: it is none of these, and the reply says so */
static bool want_cursor(struct opened *opened, const struct vk_string *argument,
			struct map_bound *low)
{
	struct bytes cursor = text_of(argument);

	*low = map_lowest;
	if (cursor.size == 1 && *cursor.data == '0')
		return true;
	*low = (struct map_bound){ .open = true };
	if (cursor.size && *cursor.data == '(') {
		low->key.string = (struct bytes){ cursor.data + 1, cursor.size - 1 };
		/* a key that is not there has no kind: any cursor is good */
		if (!opened->value || kind_of(opened) == MAP_STRINGS ||
		    number_parse(cursor.data + 1, cursor.size - 1, &low->key.number))
			return true;
	}
	reply_error(opened->ctx, "ERR invalid cursor");
	return false;
}

/* Appends the cursor with which a scan goes on behind `count` entries; "0": nothing is left. */
static void add_cursor(struct buffer *cursor, struct map_iter *ahead, uint64_t count)
{
	struct map_entry entry, last = { 0 };
	char text[VALUE_TEXT];
	struct bytes key;
	uint64_t n;

	for (n = 0; n < count && map_next(ahead, &entry); n++)
		last = entry;
	/* one more is looked at, or the last call of a scan would return nothing */
	if (n < count || !map_next(ahead, &entry)) {
		buffer_add(cursor, "0", 1);
		return;
	}
	key = last.key.string;
	if (ahead->map->kind == MAP_NUMBERS)
		key = (struct bytes){ text, number_print(text, last.key.number) };
	buffer_add(cursor, "(", 1);
	buffer_add(cursor, key.data, key.size);
}

static int scan_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	struct map_iter iter, ahead;
	BUFFER cursor = { 0 };
	struct map_bound low;
	uint64_t count = 10;
	OPENED(opened);

	if (argc != 3 && argc != 5)
		return vk.WrongArity(ctx);
	if (argc == 5 && !is_word(argv[3], "COUNT"))
		return reply_syntax(ctx);
	if (argc == 5 && !want_positive(ctx, argv[4], "COUNT", &count))
		return VK_OK;
	if (!open_key(&opened, ctx, argv, VK_READ, map_type) ||
	    !want_cursor(&opened, argv[2], &low))
		return VK_OK;
	if (!opened.value) {
		vk.ReplyWithArray(ctx, 2);
		vk.ReplyWithStringBuffer(ctx, "0", 1);
		return vk.ReplyWithArray(ctx, 0);
	}
	map_iter_begin(&iter, opened.value, &low, &map_highest, false);
	map_iter_begin(&ahead, opened.value, &low, &map_highest, false);
	iter.most = count;
	add_cursor(&cursor, &ahead, count);
	if (cursor.failed)
		return reply_no_memory(ctx);
	vk.ReplyWithArray(ctx, 2);
	vk.ReplyWithStringBuffer(ctx, cursor.data, cursor.size);
	return reply_range(ctx, &iter, true);
}

/* ---- the list ---- */

const struct command map_commands[] = {
	{ "LATH.MAP.CREATE", create_command, COMMAND_ADD | COMMAND_FAST, "key [(NUMBERS|STRINGS)]",
	  "O(1)", "Makes an empty map that stays when it is empty" },
	{ "LATH.MAP.SET", set_command, COMMAND_ADD | COMMAND_FAST, "key entry value [(NX|XX)]",
	  "O(log N)", "Sets an entry; makes the map if there is none" },
	{ "LATH.MAP.GET", get_command, COMMAND_FAST, "key entry", "O(log N)",
	  "Returns the value of an entry" },
	{ "LATH.MAP.MSET", mset_command, COMMAND_ADD, "key {entry value}...",
	  "O(M log N) for M entries", "Sets several entries" },
	{ "LATH.MAP.MGET", mget_command, COMMAND_READ, "key entry...", "O(M log N) for M entries",
	  "Returns the values of several entries" },
	{ "LATH.MAP.DEL", del_command, COMMAND_CHANGE, "key entry...", "O(M log N) for M entries",
	  "Removes entries" },
	{ "LATH.MAP.INCR", incr_command, COMMAND_ADD | COMMAND_FAST, "key entry [by:integer]",
	  "O(log N)", "Adds to the number that is the value of an entry" },
	{ "LATH.MAP.CAS", cas_command, COMMAND_ADD | COMMAND_FAST, "key entry expected value",
	  "O(log N)", "Sets an entry if its value is the expected one" },
	{ "LATH.MAP.RANGE", range_command, COMMAND_READ,
	  "key min max [LIMIT count:integer] [(KEYS|PACKED)]",
	  "O(log N + M) for M entries returned", "Returns the entries from min to max, in order" },
	{ "LATH.MAP.REVRANGE", revrange_command, COMMAND_READ,
	  "key max min [LIMIT count:integer] [(KEYS|PACKED)]",
	  "O(log N + M) for M entries returned",
	  "Returns the entries from max to min, in reverse order" },
	{ "LATH.MAP.COUNT", count_command, COMMAND_READ, "key min max", "O(log N)",
	  "Counts the entries from min to max" },
	{ "LATH.MAP.RANK", rank_command, COMMAND_READ, "key entry", "O(log N)",
	  "Returns how many entries are before this one" },
	{ "LATH.MAP.SELECT", select_command, COMMAND_READ, "key rank:integer", "O(log N)",
	  "Returns the entry with this rank; -1 is the last one" },
	{ "LATH.MAP.LEN", len_command, COMMAND_FAST, "key", "O(1)",
	  "Returns the number of entries" },
	{ "LATH.MAP.FLOOR", floor_command, COMMAND_FAST, "key entry", "O(log N)",
	  "Returns the last entry that is not above this one" },
	{ "LATH.MAP.CEIL", ceil_command, COMMAND_FAST, "key entry", "O(log N)",
	  "Returns the first entry that is not below this one" },
	{ "LATH.MAP.POP", pop_command, COMMAND_CHANGE, "key [(MIN|MAX)] [count:integer]",
	  "O(M log N) for M entries", "Removes the first or last entries and returns them" },
	{ "LATH.MAP.DELRANGE", delrange_command, COMMAND_CHANGE,
	  "key min max [LIMIT count:integer]", "O(M log N) for M entries removed",
	  "Removes the entries from min to max" },
	{ "LATH.MAP.SCAN", scan_command, COMMAND_READ, "key cursor [COUNT count:integer]",
	  "O(log N + M) for M entries returned",
	  "Returns some entries and the cursor of the next call" },
};
const size_t map_commands_count = sizeof(map_commands) / sizeof(map_commands[0]);
