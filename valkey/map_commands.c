/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * map_commands.c - LATH.MAP.*: single entries, removal, and the list of all.
 */
#include <errno.h>
#include <string.h>

#include "map_args.h"

struct vk_type *map_type;

/* ---- single entries ---- */

MAP_COMMAND(static, create, TO_WRITE, 2, 3)
{
	enum map_kind kind = MAP_NUMBERS;
	struct map *map;

	if (argc == 3 && !entry_kind(argv[2], &kind))
		return reply_error(ctx, SYNTAX);
	if (opened->value)
		return reply_error(ctx, "ERR the key exists");
	map = map_create(kind, true);
	if (!map)
		return reply_no_memory(ctx);
	vk.ModuleTypeSetValue(opened->key, map_type, map);
	opened->value = map;
	changed(opened, "lath.map.create");
	replicate_call(opened, "LATH.MAP.CREATE", argv, argc);
	return vk.ReplyWithSimpleString(ctx, "OK");
}

/* What may follow the value of LATH.MAP.SET. */
struct set_options {
	bool only_new, only_old;
	int kind; /* where it is; 0: none is given */
};

/* false: the reply says why */
static bool set_options(struct vk_ctx *ctx, struct vk_string **argv, int argc,
			struct set_options *options)
{
	enum map_kind kind;
	int i;

	*options = (struct set_options){ false, false, 0 };
	for (i = 4; i < argc; i++) {
		bool condition = options->only_new || options->only_old;

		if (is_word(argv[i], "NX") && !condition) {
			options->only_new = true;
		} else if (is_word(argv[i], "XX") && !condition) {
			options->only_old = true;
		} else if (!options->kind && entry_kind(argv[i], &kind)) {
			options->kind = i;
		} else
			return refuse(ctx, SYNTAX);
	}
	return true;
}

MAP_COMMAND(static, set, TO_WRITE, 4, 6)
{
	struct set_options options;
	enum map_kind kind;
	struct bytes text;
	struct map_key key;
	struct map *map;
	word there;
	bool made;
	int ret;

	if (!set_options(ctx, argv, argc, &options))
		return VK_OK;
	if (options.only_old && !opened->value)
		return vk.ReplyWithNull(ctx);
	if (!want_kind(opened, options.kind ? argv[options.kind] : NULL, &kind) ||
	    !want_new_key(opened, kind, argv[2], &key) || !want_text(ctx, argv[3], "value", &text))
		return VK_OK;
	if ((options.only_new || options.only_old) &&
	    (opened->value && map_get(opened->value, &key, &there)) != options.only_old)
		return vk.ReplyWithNull(ctx);
	map = map_to_add(opened, kind);
	ret = map ? map_set(map, &key, value_make(text.data, text.size)) : -ENOMEM;
	made = map_added(opened, map);
	if (ret < 0)
		return reply_failure(ctx, ret);
	changed(opened, "lath.map.set");
	replicate_write(opened, "LATH.MAP.SET", argv, argc, made ? 0 : options.kind);
	return vk.ReplyWithLongLong(ctx, ret);
}

MAP_COMMAND(static, get, TO_READ, 3, 3)
{
	struct map_key key;
	word value;

	if (!want_key(opened, argv[2], &key))
		return VK_OK;
	if (!opened->value || !map_get(opened->value, &key, &value))
		return vk.ReplyWithNull(ctx);
	reply_value(ctx, value);
	return VK_OK;
}

MAP_COMMAND(static, mset, TO_WRITE, 4, ANY_NUMBER)
{
	int first = argc % 2 ? 3 : 2; /* an odd number of arguments: a kind comes first */
	int i, ret = 0;
	long long added = 0;
	enum map_kind kind;
	struct map_key key;
	struct bytes text;
	struct map *map;
	bool made;

	if (first == 3 && !entry_kind(argv[2], &kind))
		return vk.WrongArity(ctx);
	if (!want_kind(opened, first == 3 ? argv[2] : NULL, &kind))
		return VK_OK;
	for (i = first; i < argc; i += 2) /* all or none */
		if (!want_new_key(opened, kind, argv[i], &key) ||
		    !want_text(ctx, argv[i + 1], "value", &text))
			return VK_OK;
	map = map_to_add(opened, kind);
	for (i = first; map && i < argc && ret >= 0; i += 2, added += ret > 0) {
		want_new_key(opened, kind, argv[i], &key);
		text = text_of(argv[i + 1]);
		ret = map_set(map, &key, value_make(text.data, text.size));
	}
	made = map_added(opened, map);
	if (!map || (ret < 0 && i == first + 2))
		return reply_failure(ctx, map ? ret : -ENOMEM);
	changed(opened, "lath.map.set");
	if (ret < 0) { /* replicas get what was set: the first pairs */
		replicate(opened, "LATH.MAP.MSET", "v", argv + 1, (size_t)(i - 3));
		return reply_failure(ctx, ret);
	}
	replicate_write(opened, "LATH.MAP.MSET", argv, argc, first == 3 && !made ? 2 : 0);
	return vk.ReplyWithLongLong(ctx, added);
}

MAP_COMMAND(static, mget, TO_READ, 3, ANY_NUMBER)
{
	struct map_key keys[MAP_BATCH];
	word values[MAP_BATCH] = { 0 };
	int i, k, some;

	for (i = 2; i < argc; i++)
		if (!want_key(opened, argv[i], &keys[0]))
			return VK_OK;
	vk.ReplyWithArray(ctx, argc - 2);
	for (i = 2; i < argc; i += some) {
		some = argc - i < MAP_BATCH ? argc - i : MAP_BATCH;
		for (k = 0; k < some; k++)
			want_key(opened, argv[i + k], &keys[k]);
		if (opened->value)
			map_get_batch(opened->value, (size_t)some, keys, values);
		for (k = 0; k < some; k++) {
			if (values[k])
				reply_value(ctx, values[k]);
			else
				vk.ReplyWithNull(ctx);
		}
	}
	return VK_OK;
}

MAP_COMMAND(static, del, TO_WRITE, 3, ANY_NUMBER)
{
	long long erased = 0;
	struct map_key key;
	int i;

	for (i = 2; i < argc; i++)
		if (!want_key(opened, argv[i], &key))
			return VK_OK;
	for (i = 2; opened->value && i < argc; i++) {
		want_key(opened, argv[i], &key);
		erased += map_erase(opened->value, &key, NULL);
	}
	if (erased) {
		changed(opened, "lath.map.del");
		drop_empty(opened);
		replicate_call(opened, "LATH.MAP.DEL", argv, argc);
	}
	return vk.ReplyWithLongLong(ctx, erased);
}

MAP_COMMAND(static, incr, TO_WRITE, 3, ANY_NUMBER)
{
	char text[VALUE_TEXT + 1];
	int64_t by = 1, now = 0;
	enum map_kind kind;
	struct map_key key;
	struct map *map;
	word value;
	bool named, made;
	int ret;

	named = argc > 3 && entry_kind(argv[argc - 1], &kind);
	if (argc > 4 + named)
		return vk.WrongArity(ctx);
	if (!want_kind(opened, named ? argv[argc - 1] : NULL, &kind) ||
	    !want_new_key(opened, kind, argv[2], &key))
		return VK_OK;
	if (argc - named == 4 && !signed_read(text_of(argv[3]), &by))
		return reply_error(ctx, "ERR value is not an integer or out of range");
	if (opened->value && map_get(opened->value, &key, &value) &&
	    !signed_read(value_view(&value, text), &now))
		return reply_error(ctx, "ERR value is not an integer or out of range");
	if (__builtin_add_overflow(now, by, &now))
		return reply_error(ctx, "ERR increment or decrement would overflow");
	map = map_to_add(opened, kind);
	ret = map ? map_set(map, &key, value_make(text, signed_print(text, now))) : -ENOMEM;
	made = map_added(opened, map);
	if (ret < 0)
		return reply_failure(ctx, ret);
	changed(opened, "lath.map.incr");
	replicate_write(opened, "LATH.MAP.INCR", argv, argc, named && !made ? argc - 1 : 0);
	return reply_signed(ctx, now);
}

MAP_COMMAND(static, cas, TO_WRITE, 5, 5)
{
	struct bytes expected, text;
	struct map_key key;
	word value;
	int ret;

	if (!want_key(opened, argv[2], &key) || !want_text(ctx, argv[4], "value", &text))
		return VK_OK;
	expected = text_of(argv[3]);
	if (!opened->value || !map_get(opened->value, &key, &value) ||
	    !value_equal(value, expected.data, expected.size))
		return vk.ReplyWithLongLong(ctx, 0);
	ret = map_set(opened->value, &key, value_make(text.data, text.size));
	if (ret < 0)
		return reply_failure(ctx, ret);
	changed(opened, "lath.map.set");
	replicate(opened, "LATH.MAP.SET", "sss", argv[1], argv[2], argv[4]);
	return vk.ReplyWithLongLong(ctx, 1);
}

MAP_COMMAND(static, len, TO_READ, 2, 2)
{
	return vk.ReplyWithLongLong(ctx, opened->value ? (long long)map_size(opened->value) : 0);
}

static int neighbour(struct vk_ctx *ctx, struct opened *opened, struct vk_string **argv, bool below)
{
	struct map_bound bound = { 0 };
	struct map_entry entry;
	struct map_iter iter;

	if (!want_key(opened, argv[2], &bound.key))
		return VK_OK;
	if (!opened->value)
		return vk.ReplyWithNull(ctx);
	map_iter_begin(&iter, opened->value, below ? &map_lowest : &bound,
		       below ? &bound : &map_highest, below);
	iter.most = 1;
	if (!map_next(&iter, &entry))
		return vk.ReplyWithNull(ctx);
	vk.ReplyWithArray(ctx, 2);
	return reply_entry(ctx, kind_of(opened), &entry);
}

MAP_COMMAND(static, floor, TO_READ, 3, 3)
{
	return neighbour(ctx, opened, argv, true);
}

MAP_COMMAND(static, ceil, TO_READ, 3, 3)
{
	return neighbour(ctx, opened, argv, false);
}

/* ---- removal of several ---- */

/* Erases up to `limit` entries of the range, the first ones in its order. Returns how many. */
static long long erase_range(struct opened *opened, const struct map_bound *low,
			     const struct map_bound *high, bool back, uint64_t limit, bool reply)
{
	struct map *map = opened->value;
	struct map_entry some[MAP_BATCH]; /* strings are in the map until they are erased */
	struct map_iter iter;
	long long erased = 0;
	size_t n, i;

	do {
		map_iter_begin(&iter, map, low, high, back);
		iter.most = limit;
		for (n = 0; n < MAP_BATCH && map_next(&iter, &some[n]); n++, limit--)
			if (reply)
				reply_entry(opened->ctx, map->kind, &some[n]);
		for (i = 0; i < n; i++) {
			int ret = map_erase(map, &some[i].key, NULL);

			LATH_ASSERT(ret == 1); /* the iterator has just read it */
			erased += ret;
		}
	} while (n == MAP_BATCH);
	if (erased) {
		changed(opened, "lath.map.del");
		drop_empty(opened);
	}
	return erased;
}

MAP_COMMAND(static, pop, TO_WRITE, 2, 4)
{
	bool back = argc > 2 && is_word(argv[2], "MAX");
	uint64_t count = 1;
	long long n;

	if (argc > 2 && !back && !is_word(argv[2], "MIN"))
		return reply_error(ctx, SYNTAX);
	if (argc > 3 && !want_number(ctx, argv[3], "count", &count))
		return VK_OK;
	if (!opened->value)
		return vk.ReplyWithArray(ctx, 0);
	vk.ReplyWithArray(ctx, VK_LENGTH_LATER);
	n = erase_range(opened, &map_lowest, &map_highest, back, count, true);
	if (n)
		replicate_call(opened, "LATH.MAP.POP", argv, argc);
	vk.ReplySetArrayLength(ctx, 2 * n);
	return VK_OK;
}

MAP_COMMAND(static, delrange, TO_WRITE, 4, 6)
{
	uint64_t limit = UINT64_MAX;
	struct map_bound low, high;
	long long n;

	if (argc == 5)
		return vk.WrongArity(ctx);
	if (argc == 6 && !is_word(argv[4], "LIMIT"))
		return reply_error(ctx, SYNTAX);
	if (!want_bound(opened, argv[2], &low) || !want_bound(opened, argv[3], &high) ||
	    (argc == 6 && !want_number(ctx, argv[5], "LIMIT", &limit)))
		return VK_OK;
	if (!opened->value)
		return vk.ReplyWithLongLong(ctx, 0);
	n = erase_range(opened, &low, &high, false, limit, false);
	if (n)
		replicate_call(opened, "LATH.MAP.DELRANGE", argv, argc);
	return vk.ReplyWithLongLong(ctx, n);
}

/* ---- the list ---- */

static int help_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	(void)argv;
	return reply_help(ctx, argc, map_commands, map_commands_count);
}

#define KIND "[(NUMBERS|SIGNED|FLOATS|STRINGS)]"
#define PAGE "[LIMIT {[offset:integer] count:integer}] [(KEYS|PACKED)]"

const struct command map_commands[] = {
	{ "LATH.MAP.CREATE", create_command, COMMAND_ADD | COMMAND_FAST, "key " KIND, "O(1)",
	  "Makes an empty map that stays when it is empty" },
	{ "LATH.MAP.SET", set_command, COMMAND_ADD | COMMAND_FAST,
	  "key entry value [(NX|XX)] " KIND, "O(log N)",
	  "Sets an entry; makes the map if there is none" },
	{ "LATH.MAP.GET", get_command, COMMAND_FAST, "key entry", "O(log N)",
	  "Returns the value of an entry" },
	{ "LATH.MAP.MSET", mset_command, COMMAND_ADD, "key " KIND " {entry value}...",
	  "O(M log N) for M entries", "Sets several entries" },
	{ "LATH.MAP.MGET", mget_command, COMMAND_READ, "key entry...", "O(M log N) for M entries",
	  "Returns the values of several entries" },
	{ "LATH.MAP.DEL", del_command, COMMAND_CHANGE, "key entry...", "O(M log N) for M entries",
	  "Removes entries" },
	{ "LATH.MAP.INCR", incr_command, COMMAND_ADD | COMMAND_FAST | COMMAND_TELLS,
	  "key entry [by:integer] " KIND, "O(log N)",
	  "Adds to the number that is the value of an entry" },
	{ "LATH.MAP.CAS", cas_command, COMMAND_ADD | COMMAND_FAST | COMMAND_TELLS,
	  "key entry expected value", "O(log N)",
	  "Sets an entry if its value is the expected one" },
	{ "LATH.MAP.RANGE", map_range_command, COMMAND_READ, "key min max " PAGE,
	  "O(log N + M) for M entries returned", "Returns the entries from min to max, in order" },
	{ "LATH.MAP.REVRANGE", map_revrange_command, COMMAND_READ, "key max min " PAGE,
	  "O(log N + M) for M entries returned",
	  "Returns the entries from max to min, in reverse order" },
	{ "LATH.MAP.RANGEBYRANK", map_rangebyrank_command, COMMAND_READ,
	  "key first:integer last:integer [REV] [(KEYS|PACKED)]",
	  "O(log N + M) for M entries returned",
	  "Returns the entries from one rank to another; -1 is the last one" },
	{ "LATH.MAP.COUNT", map_count_command, COMMAND_READ, "key min max", "O(log N)",
	  "Counts the entries from min to max" },
	{ "LATH.MAP.RANK", map_rank_command, COMMAND_READ, "key entry [REV]", "O(log N)",
	  "Returns how many entries are before this one" },
	{ "LATH.MAP.SELECT", map_select_command, COMMAND_READ, "key rank:integer", "O(log N)",
	  "Returns the entry with this rank; -1 is the last one" },
	{ "LATH.MAP.LEN", len_command, COMMAND_FAST, "key", "O(1)",
	  "Returns the number of entries" },
	{ "LATH.MAP.FLOOR", floor_command, COMMAND_FAST, "key entry", "O(log N)",
	  "Returns the last entry that is not above this one" },
	{ "LATH.MAP.CEIL", ceil_command, COMMAND_FAST, "key entry", "O(log N)",
	  "Returns the first entry that is not below this one" },
	{ "LATH.MAP.POP", pop_command, COMMAND_CHANGE | COMMAND_TELLS,
	  "key [(MIN|MAX)] [count:integer]", "O(M log N) for M entries",
	  "Removes the first or last entries and returns them" },
	{ "LATH.MAP.DELRANGE", delrange_command, COMMAND_CHANGE,
	  "key min max [LIMIT count:integer]", "O(M log N) for M entries removed",
	  "Removes the entries from min to max" },
	{ "LATH.MAP.SCAN", map_scan_command, COMMAND_READ,
	  "key cursor [MATCH pattern:pattern] [COUNT count:integer]",
	  "O(log N + M) for M entries returned",
	  "Returns some entries and the cursor of the next call" },
	{ "LATH.MAP.HELP", help_command, COMMAND_FAST, "", "O(1)", "Describes the commands" },
};
const size_t map_commands_count = sizeof(map_commands) / sizeof(map_commands[0]);
