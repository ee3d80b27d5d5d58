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
	return refuse(ctx, "ERR the last number is below the first");
}

#define INTERVAL_COMMAND(name, mode, least, most) \
	COMMAND(static, name, least, most, open_key(opened, ctx, argv, mode, interval_type))

INTERVAL_COMMAND(add, TO_WRITE, 5, ANY_NUMBER)
{
	uint64_t first, last;
	struct intervals *set;
	long long added = 0;
	struct bytes value;
	int i, ret = 0;

	if ((argc - 2) % 3)
		return vk.WrongArity(ctx);
	for (i = 2; i < argc; i += 3) /* all or none */
		if (!want_ends(ctx, argv + i, &first, &last) ||
		    !want_text(ctx, argv[i + 2], "value", &value))
			return VK_OK;
	set = opened->value ? opened->value : intervals_create();
	for (i = 2; set && i < argc && ret >= 0; i += 3, added += ret > 0) {
		want_ends(ctx, argv + i, &first, &last);
		ret = intervals_add(set, first, last, text_of(argv[i + 2]));
	}
	if (!opened->value && added) {
		vk.ModuleTypeSetValue(opened->key, interval_type, set);
		opened->value = set;
	} else if (!opened->value && set) {
		intervals_free(set);
	}
	if (added) {
		changed(opened, "lath.interval.add");
		replicate(opened, "LATH.INTERVAL.ADD", "v", argv + 1,
			  (size_t)(ret < 0 ? i - 4 : i - 1)); /* what was added */
	}
	if (!set || ret < 0)
		return reply_failure(ctx, set ? ret : -ENOMEM);
	return vk.ReplyWithLongLong(ctx, added);
}

INTERVAL_COMMAND(addnx, TO_WRITE, 5, 5)
{
	struct intervals_iter iter;
	struct found there;
	uint64_t first, last;

	if (!want_ends(ctx, argv + 2, &first, &last))
		return VK_OK;
	if (opened->value) {
		intervals_begin(&iter, opened->value, overlapping(first, last), 0, 1);
		if (intervals_next(&iter, &there))
			return vk.ReplyWithLongLong(ctx, 0);
	}
	return add_opened(ctx, opened, argv, argc);
}

INTERVAL_COMMAND(rem, TO_WRITE, 5, ANY_NUMBER)
{
	uint64_t first, last;
	long long removed = 0;
	int i;

	if ((argc - 2) % 3)
		return vk.WrongArity(ctx);
	for (i = 2; i < argc; i += 3)
		if (!want_ends(ctx, argv + i, &first, &last))
			return VK_OK;
	for (i = 2; opened->value && i < argc; i += 3) {
		want_ends(ctx, argv + i, &first, &last);
		removed += intervals_remove(opened->value, first, last, text_of(argv[i + 2]));
	}
	if (removed) {
		changed(opened, "lath.interval.rem");
		if (!((struct intervals *)opened->value)->count)
			end_key(opened);
		replicate_call(opened, "LATH.INTERVAL.REM", argv, argc);
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
	struct intervals_iter iter;
	struct found found;
	uint64_t n = 0;

	if (!set || !limit)
		return vk.ReplyWithArray(ctx, 0);
	vk.ReplyWithArray(ctx, VK_LENGTH_LATER);
	intervals_begin(&iter, set, window, offset, limit);
	for (; n < limit && intervals_next(&iter, &found); n++)
		reply_interval(ctx, &found);
	vk.ReplySetArrayLength(ctx, (long)n);
	return VK_OK;
}

/* `ends` arguments say which intervals, then come [LIMIT [offset] count]. */
static int search(struct opened *opened, struct vk_string **argv, int argc, int ends,
		  struct window (*window)(uint64_t first, uint64_t last))
{
	uint64_t first, last, offset = 0, limit = UINT64_MAX;
	struct vk_ctx *ctx = opened->ctx;
	int i = 2 + ends;

	if (ends == 2 ? !want_ends(ctx, argv + 2, &first, &last) : !want_end(ctx, argv[2], &first))
		return VK_OK;
	if (i < argc) {
		if (!is_word(argv[i], "LIMIT"))
			return reply_error(ctx, SYNTAX);
		if (!want_limit(ctx, argv, argc, &i, &offset, &limit))
			return VK_OK;
		if (i + 1 < argc)
			return reply_error(ctx, SYNTAX);
	}
	return reply_search(ctx, opened->value, window(first, ends == 2 ? last : first), offset,
			    limit);
}

INTERVAL_COMMAND(stab, TO_READ, 3, ANY_NUMBER)
{
	return search(opened, argv, argc, 1, overlapping);
}

INTERVAL_COMMAND(overlaps, TO_READ, 4, ANY_NUMBER)
{
	return search(opened, argv, argc, 2, overlapping);
}

INTERVAL_COMMAND(within, TO_READ, 4, ANY_NUMBER)
{
	return search(opened, argv, argc, 2, within);
}

INTERVAL_COMMAND(contains, TO_READ, 4, ANY_NUMBER)
{
	return search(opened, argv, argc, 2, covering_all);
}

INTERVAL_COMMAND(count, TO_READ, 4, 4)
{
	uint64_t first, last;

	if (!want_ends(ctx, argv + 2, &first, &last))
		return VK_OK;
	if (!opened->value)
		return vk.ReplyWithLongLong(ctx, 0);
	return vk.ReplyWithLongLong(ctx, (long long)intervals_count(opened->value, first, last));
}

INTERVAL_COMMAND(nearest, TO_READ, 3, 3)
{
	char text[VALUE_TEXT];
	struct found found;
	uint64_t point;

	if (!want_end(ctx, argv[2], &point))
		return VK_OK;
	if (!opened->value || !intervals_nearest(opened->value, point, &found, text))
		return vk.ReplyWithNull(ctx);
	reply_interval(ctx, &found);
	return VK_OK;
}

INTERVAL_COMMAND(len, TO_READ, 2, 2)
{
	return vk.ReplyWithLongLong(
		ctx, opened->value ? (long long)((struct intervals *)opened->value)->count : 0);
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
