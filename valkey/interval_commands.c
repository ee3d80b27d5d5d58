/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * interval_commands.c - LATH.INTERVAL.*
 *
 * Intervals are closed: both ends belong to them.
 */
#include <errno.h>

#include "command.h"
#include "intervals.h"

struct vk_type *interval_type;

/* "-" and "-inf" are the lowest number, "+" and "+inf" the highest. */
static bool want_end(struct vk_ctx *ctx, const struct vk_string *argument, uint64_t *number)
{
	struct bytes text = text_of(argument);
	bool lowest = text.size == 1 && *text.data == '-';

	if (lowest || (text.size == 1 && *text.data == '+') || infinite_of(text)) {
		*number = lowest || infinite_of(text) < 0 ? 0 : UINT64_MAX;
		return true;
	}
	return want_number(ctx, argument, "an end", number);
}

static bool want_ends(struct vk_ctx *ctx, struct vk_string **argv, uint64_t *first, uint64_t *last)
{
	if (!want_end(ctx, argv[0], first) || !want_end(ctx, argv[1], last))
		return false;
	if (*first <= *last)
		return true;
	reply_error(ctx, "ERR the last number is below the first");
	return false;
}

/* The set to add to; a new one is not yet in the key. NULL: no memory. */
static struct intervals *set_to_add(const struct opened *opened)
{
	return opened->value ? opened->value : intervals_create();
}

/* After set_to_add(): puts a new set into the key, unless nothing could be added. */
static void set_added(struct opened *opened, struct intervals *set)
{
	if (opened->value || !set)
		return;
	if (!set->count) {
		intervals_free(set);
		return;
	}
	LATH_ASSERT(opened->key);
	vk.ModuleTypeSetValue(opened->key, interval_type, set);
	opened->value = set;
}

static void drop_empty(struct opened *opened)
{
	struct intervals *set = opened->value;

	LATH_ASSERT(opened->changed);
	if (!set || set->count)
		return;
	vk.DeleteKey(opened->key);
	opened->value = NULL;
	vk.NotifyKeyspaceEvent(opened->ctx, VK_NOTIFY_GENERIC, "del", opened->name);
}

static int add_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	uint64_t first, last;
	struct intervals *set;
	long long added = 0;
	struct bytes value;
	OPENED(opened);
	int i, ret = 0;

	if (argc < 5 || (argc - 2) % 3)
		return vk.WrongArity(ctx);
	if (!open_key(&opened, ctx, argv, VK_READ | VK_WRITE, interval_type))
		return VK_OK;
	for (i = 2; i < argc; i += 3) /* all or none */
		if (!want_ends(ctx, argv + i, &first, &last) ||
		    !want_text(ctx, argv[i + 2], "value", &value))
			return VK_OK;
	set = set_to_add(&opened);
	for (i = 2; set && i < argc && ret >= 0; i += 3, added += ret > 0) {
		want_ends(ctx, argv + i, &first, &last);
		ret = intervals_add(set, first, last, text_of(argv[i + 2]));
	}
	set_added(&opened, set);
	if (added) {
		changed(&opened, "lath.interval.add");
		replicate(&opened, "LATH.INTERVAL.ADD", "v", argv + 1,
			  (size_t)(ret < 0 ? i - 4 : i - 1)); /* what was added */
	}
	if (!set || ret < 0)
		return reply_failure(ctx, set ? ret : -ENOMEM);
	return vk.ReplyWithLongLong(ctx, added);
}

static int addnx_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	struct intervals_iter iter;
	struct found there;
	uint64_t first, last;
	struct intervals *set;
	struct bytes value;
	OPENED(opened);
	int ret;

	if (argc != 5)
		return vk.WrongArity(ctx);
	if (!open_key(&opened, ctx, argv, VK_READ | VK_WRITE, interval_type) ||
	    !want_ends(ctx, argv + 2, &first, &last) || !want_text(ctx, argv[4], "value", &value))
		return VK_OK;
	if (opened.value) {
		intervals_begin(&iter, opened.value, overlapping(first, last));
		if (intervals_next(&iter, &there))
			return vk.ReplyWithLongLong(ctx, 0);
	}
	set = set_to_add(&opened);
	ret = set ? intervals_add(set, first, last, value) : -ENOMEM;
	set_added(&opened, set);
	if (ret < 0)
		return reply_failure(ctx, ret);
	changed(&opened, "lath.interval.add");
	replicate(&opened, "LATH.INTERVAL.ADD", "v", argv + 1, (size_t)argc - 1);
	return vk.ReplyWithLongLong(ctx, 1);
}

static int rem_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	uint64_t first, last;
	long long removed = 0;
	OPENED(opened);
	int i;

	if (argc < 5 || (argc - 2) % 3)
		return vk.WrongArity(ctx);
	if (!open_key(&opened, ctx, argv, VK_READ | VK_WRITE, interval_type))
		return VK_OK;
	for (i = 2; i < argc; i += 3)
		if (!want_ends(ctx, argv + i, &first, &last))
			return VK_OK;
	for (i = 2; opened.value && i < argc; i += 3) {
		want_ends(ctx, argv + i, &first, &last);
		removed += intervals_remove(opened.value, first, last, text_of(argv[i + 2]));
	}
	if (removed) {
		changed(&opened, "lath.interval.rem");
		drop_empty(&opened);
		replicate_call(&opened, "LATH.INTERVAL.REM", argv, argc);
	}
	return vk.ReplyWithLongLong(ctx, removed);
}

/* ---- searches ---- */

static void reply_interval(struct vk_ctx *ctx, const struct found *found)
{
	vk.ReplyWithArray(ctx, 3);
	reply_number(ctx, found->first);
	reply_number(ctx, found->last);
	vk.ReplyWithStringBuffer(ctx, found->value.data, found->value.size);
}

/* Replies with what the window shows, in order, from the offset on. */
static int reply_search(struct vk_ctx *ctx, const struct intervals *set, struct window window,
			uint64_t offset, uint64_t limit)
{
	struct intervals_walk walk;
	struct found found;
	uint64_t n = 0;

	if (!set || !limit)
		return vk.ReplyWithArray(ctx, 0);
	vk.ReplyWithArray(ctx, VK_LENGTH_LATER);
	intervals_walk_begin(&walk, set, window, offset, limit);
	for (; n < limit && intervals_walk_next(&walk, &found); n++)
		reply_interval(ctx, &found);
	vk.ReplySetArrayLength(ctx, (long)n);
	return VK_OK;
}

/* `ends` arguments say which intervals, then come [LIMIT [offset] count]. */
static int search(struct vk_ctx *ctx, struct vk_string **argv, int argc, int ends,
		  struct window (*window)(uint64_t first, uint64_t last))
{
	uint64_t first, last, offset = 0, limit = UINT64_MAX;
	OPENED(opened);
	int i = 2 + ends;

	if (argc < i)
		return vk.WrongArity(ctx);
	if (!open_key(&opened, ctx, argv, VK_READ, interval_type) ||
	    (ends == 2 ? !want_ends(ctx, argv + 2, &first, &last)
		       : !want_end(ctx, argv[2], &first)))
		return VK_OK;
	if (i < argc) {
		if (!is_word(argv[i], "LIMIT"))
			return reply_syntax(ctx);
		if (!want_limit(ctx, argv, argc, &i, &offset, &limit))
			return VK_OK;
		if (i + 1 < argc)
			return reply_syntax(ctx);
	}
	return reply_search(ctx, opened.value, window(first, ends == 2 ? last : first), offset,
			    limit);
}

static int stab_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	return search(ctx, argv, argc, 1, overlapping);
}

static int overlaps_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	return search(ctx, argv, argc, 2, overlapping);
}

static int within_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	return search(ctx, argv, argc, 2, within);
}

static int contains_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	return search(ctx, argv, argc, 2, covering_all);
}

static int count_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	uint64_t first, last;
	OPENED(opened);

	if (argc != 4)
		return vk.WrongArity(ctx);
	if (!open_key(&opened, ctx, argv, VK_READ, interval_type) ||
	    !want_ends(ctx, argv + 2, &first, &last))
		return VK_OK;
	if (!opened.value)
		return vk.ReplyWithLongLong(ctx, 0);
	return vk.ReplyWithLongLong(ctx, (long long)intervals_count(opened.value, first, last));
}

static int nearest_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	char text[VALUE_TEXT];
	struct found found;
	uint64_t point;
	OPENED(opened);

	if (argc != 3)
		return vk.WrongArity(ctx);
	if (!open_key(&opened, ctx, argv, VK_READ, interval_type) ||
	    !want_end(ctx, argv[2], &point))
		return VK_OK;
	if (!opened.value || !intervals_nearest(opened.value, point, &found, text))
		return vk.ReplyWithNull(ctx);
	reply_interval(ctx, &found);
	return VK_OK;
}

static int len_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	OPENED(opened);

	if (argc != 2)
		return vk.WrongArity(ctx);
	if (!open_key(&opened, ctx, argv, VK_READ, interval_type))
		return VK_OK;
	return vk.ReplyWithLongLong(
		ctx, opened.value ? (long long)((struct intervals *)opened.value)->count : 0);
}

/* ---- the list ---- */

static int help_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	(void)argv;
	return reply_help(ctx, argc, interval_commands, interval_commands_count);
}

#define PAGE "[LIMIT {[offset:integer] count:integer}]"
#define FOUND "O(log N + M) for M intervals returned or skipped"

const struct command interval_commands[] = {
	{ "LATH.INTERVAL.ADD", add_command, COMMAND_ADD,
	  "key {first:integer last:integer value}...", "O(M log N) for M intervals",
	  "Adds intervals with their values" },
	{ "LATH.INTERVAL.ADDNX", addnx_command, COMMAND_ADD | COMMAND_FAST,
	  "key first:integer last:integer value", "O(log N)",
	  "Adds an interval if none overlaps it" },
	{ "LATH.INTERVAL.REM", rem_command, COMMAND_CHANGE,
	  "key {first:integer last:integer value}...", "O(M log N) for M intervals",
	  "Removes intervals" },
	{ "LATH.INTERVAL.STAB", stab_command, COMMAND_READ, "key point:integer " PAGE, FOUND,
	  "Returns the intervals that contain a number" },
	{ "LATH.INTERVAL.OVERLAPS", overlaps_command, COMMAND_READ,
	  "key first:integer last:integer " PAGE, FOUND,
	  "Returns the intervals that have a number in common with this one" },
	{ "LATH.INTERVAL.WITHIN", within_command, COMMAND_READ,
	  "key first:integer last:integer " PAGE, FOUND,
	  "Returns the intervals that lie in this one" },
	{ "LATH.INTERVAL.CONTAINS", contains_command, COMMAND_READ,
	  "key first:integer last:integer " PAGE, FOUND,
	  "Returns the intervals that contain all of this one" },
	{ "LATH.INTERVAL.COUNT", count_command, COMMAND_READ, "key first:integer last:integer",
	  "O(log N + M) for M intervals counted", "Counts the intervals that overlap this one" },
	{ "LATH.INTERVAL.NEAREST", nearest_command, COMMAND_FAST, "key point:integer", "O(log N)",
	  "Returns an interval that contains a number, or else one of those nearest to it" },
	{ "LATH.INTERVAL.LEN", len_command, COMMAND_FAST, "key", "O(1)",
	  "Returns the number of intervals" },
	{ "LATH.INTERVAL.HELP", help_command, COMMAND_FAST, "", "O(1)", "Describes the commands" },
};
const size_t interval_commands_count = sizeof(interval_commands) / sizeof(interval_commands[0]);
