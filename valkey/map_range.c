/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * map_range.c - LATH.MAP.*: commands that read ranges, by keys and by ranks.
 */
#include <string.h>

#include "map_args.h"

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
	uint64_t number = entry->value >> 2, raw = entry_raw(kind, entry->key.number);
	char text[VALUE_TEXT];
	struct bytes value = { (const char *)&number, sizeof(number) };

	if (!decimal)
		value = value_view(&entry->value, text);
	if (kind == MAP_STRINGS) {
		pack_value(out, (uint32_t)entry->key.string.size, entry->key.string);
		pack_value(out, decimal ? PACKED_NUMBER : (uint32_t)value.size, value);
	} else if (decimal) {
		struct packed_number all = { { raw, PACKED_NUMBER }, number };

		buffer_add(out, &all, sizeof(all));
	} else {
		struct packed_head head = { raw, (uint32_t)value.size };

		buffer_add(out, &head, sizeof(head));
		buffer_add(out, value.data, value.size);
	}
}

/* Packs entries of a map whose keys have codes. Runs of those whose values are numbers are added at
 * once. */
static void pack_numbers(struct buffer *out, enum map_kind kind, const uint64_t *keys,
			 const word *values, size_t n)
{
	struct packed_number run[MAP_BATCH];
	size_t i, in_run = 0;

	for (i = 0; i < n; i++) {
		struct map_entry entry = { .key = { .number = keys[i] }, .value = values[i] };

		if ((values[i] & VALUE_KIND) == VALUE_NUMBER) {
			run[in_run++] =
				(struct packed_number){ { entry_raw(kind, keys[i]), PACKED_NUMBER },
							values[i] >> 2 };
			continue;
		}
		buffer_add(out, run, in_run * sizeof(run[0]));
		in_run = 0;
		pack_entry(out, kind, &entry);
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

	if (iter->map->kind != MAP_STRINGS) {
		while ((n = map_next_batch(iter, &keys, &values)))
			pack_numbers(&out, iter->map->kind, keys, values, n);
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

static void reply_one(struct vk_ctx *ctx, const struct map_iter *iter,
		      const struct map_entry *entry, bool values)
{
	reply_key(ctx, iter->map->kind, &entry->key);
	if (values)
		reply_value(ctx, entry->value);
}

static int reply_range(struct vk_ctx *ctx, struct map_iter *iter, bool values)
{
	struct map_entry ahead[AHEAD], entry;
	long n = 0, k;
	bool more;

	while (n < AHEAD && map_next(iter, &ahead[n]))
		n++;
	more = n == AHEAD && iter->most;
	vk.ReplyWithArray(ctx, more ? VK_LENGTH_LATER : values ? 2 * n : n);
	for (k = 0; k < n; k++)
		reply_one(ctx, iter, &ahead[k], values);
	for (; more && map_next(iter, &entry); n++)
		reply_one(ctx, iter, &entry, values);
	if (more)
		vk.ReplySetArrayLength(ctx, values ? 2 * n : n);
	return VK_OK;
}

struct range_options {
	uint64_t offset, limit;
	bool packed, keys, back;
};

/* What follows the bounds, or with `ranks` the ranks. false: the reply says why */
static bool range_options(struct vk_ctx *ctx, struct vk_string **argv, int argc, bool ranks,
			  struct range_options *options)
{
	int i;

	*options = (struct range_options){ .limit = UINT64_MAX };
	for (i = 4; i < argc; i++) {
		if (is_word(argv[i], "LIMIT") && !ranks) {
			if (!want_limit(ctx, argv, argc, &i, &options->offset, &options->limit))
				return false;
		} else if (is_word(argv[i], "REV") && ranks) {
			options->back = true;
		} else if (is_word(argv[i], "PACKED") && !options->keys) {
			options->packed = true;
		} else if (is_word(argv[i], "KEYS") && !options->packed) {
			options->keys = true;
		} else
			return refuse(ctx, SYNTAX);
	}
	return true;
}

static int reply_nothing(struct vk_ctx *ctx, const struct range_options *options)
{
	return options->packed ? vk.ReplyWithStringBuffer(ctx, "", 0) : vk.ReplyWithArray(ctx, 0);
}

/* Replies with the entries of a range behind the first options->offset of them. Those are not read:
 * the range begins at a rank. */
static int reply_bounds(struct vk_ctx *ctx, const struct map *map, struct map_bound low,
			struct map_bound high, const struct range_options *options)
{
	struct map_bound *from = options->back ? &high : &low;
	struct map_entry entry;
	struct map_iter iter;

	if (options->offset) {
		uint64_t n = map_count(map, &low, &high);
		uint64_t behind = map_count(map, &low, &map_highest);
		uint64_t first =
			map_size(map) - behind; /* the rank of the first entry of the range */

		if (options->offset >= n ||
		    !map_select(map,
				options->back ? first + n - 1 - options->offset
					      : first + options->offset,
				&entry))
			return reply_nothing(ctx, options);
		*from = (struct map_bound){ .key = entry.key };
	}
	map_iter_begin(&iter, map, &low, &high, options->back);
	iter.most = options->limit;
	return options->packed ? reply_packed(ctx, &iter) : reply_range(ctx, &iter, !options->keys);
}

static int range(struct opened *opened, struct vk_string **argv, int argc, bool back)
{
	struct range_options options;
	struct map_bound low, high;

	if (!want_bound(opened, argv[back ? 3 : 2], &low) ||
	    !want_bound(opened, argv[back ? 2 : 3], &high) ||
	    !range_options(opened->ctx, argv, argc, false, &options))
		return VK_OK;
	options.back = back;
	return opened->value ? reply_bounds(opened->ctx, opened->value, low, high, &options)
			     : reply_nothing(opened->ctx, &options);
}

MAP_COMMAND(extern, map_range, TO_READ, 4, ANY_NUMBER)
{
	return range(opened, argv, argc, false);
}

MAP_COMMAND(extern, map_revrange, TO_READ, 4, ANY_NUMBER)
{
	return range(opened, argv, argc, true);
}

/* ---- ranks ---- */

/* A rank from the beginning, or a negative one from the end; behind any map where it is beyond what
 * int64_t has. false: it is none, and the reply says so */
static bool want_rank(struct vk_ctx *ctx, const struct vk_string *argument, int64_t *rank)
{
	struct bytes text = text_of(argument);
	bool back = text.size && *text.data == '-';
	uint64_t n;

	text.data += back;
	text.size -= back;
	if (!number_read(text, &n) || (back && !n))
		return refuse(ctx, "ERR value is not an integer or out of range");
	n = n <= INT64_MAX ? n : INT64_MAX;
	*rank = back ? -(int64_t)n : (int64_t)n;
	return true;
}

MAP_COMMAND(extern, map_rangebyrank, TO_READ, 4, ANY_NUMBER)
{
	struct range_options options;
	struct map_entry entry;
	int64_t first, last, n;

	if (!want_rank(ctx, argv[2], &first) || !want_rank(ctx, argv[3], &last) ||
	    !range_options(ctx, argv, argc, true, &options))
		return VK_OK;
	n = opened->value ? (int64_t)map_size(opened->value) : 0;
	first = first < 0 ? first + n : first;
	last = last < 0 ? last + n : last;
	first = first < 0 ? 0 : first;
	last = last < n ? last : n - 1;
	if (first > last ||
	    !map_select(opened->value, (uint64_t)(options.back ? n - 1 - first : first), &entry))
		return reply_nothing(ctx, &options);
	options.limit = (uint64_t)(last - first) + 1;
	return reply_bounds(ctx, opened->value,
			    options.back ? map_lowest : (struct map_bound){ .key = entry.key },
			    options.back ? (struct map_bound){ .key = entry.key } : map_highest,
			    &options);
}

MAP_COMMAND(extern, map_count, TO_READ, 4, 4)
{
	struct map_bound low, high;

	if (!want_bound(opened, argv[2], &low) || !want_bound(opened, argv[3], &high))
		return VK_OK;
	return vk.ReplyWithLongLong(
		ctx, opened->value ? (long long)map_count(opened->value, &low, &high) : 0);
}

MAP_COMMAND(extern, map_rank, TO_READ, 3, 4)
{
	struct map_bound high = { .open = true };
	uint64_t rank;
	word value;
	bool back = argc == 4 && is_word(argv[3], "REV");

	if (argc == 4 && !back)
		return reply_error(ctx, SYNTAX);
	if (!want_key(opened, argv[2], &high.key))
		return VK_OK;
	if (!opened->value || !map_get(opened->value, &high.key, &value))
		return vk.ReplyWithNull(ctx);
	rank = map_count(opened->value, &map_lowest, &high);
	LATH_ASSERT(rank < map_size(opened->value)); /* the entry itself is behind */
	if (back)
		rank = map_size(opened->value) - 1 - rank;
	return vk.ReplyWithLongLong(ctx, (long long)rank);
}

MAP_COMMAND(extern, map_select, TO_READ, 3, 3)
{
	struct map_entry entry;
	int64_t rank;

	if (!want_rank(ctx, argv[2], &rank))
		return VK_OK;
	if (rank < 0 && opened->value) /* from the end: -1 is the last one */
		rank += (int64_t)map_size(opened->value);
	if (rank < 0 || !opened->value || !map_select(opened->value, (uint64_t)rank, &entry))
		return vk.ReplyWithNull(ctx);
	vk.ReplyWithArray(ctx, 2);
	return reply_entry(ctx, kind_of(opened), &entry);
}

/* ---- scans ---- */

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
		    entry_parse(kind_of(opened), low->key.string, &low->key.number))
			return true;
	}
	return refuse(opened->ctx, "ERR invalid cursor");
}

/* Appends the cursor with which a scan goes on behind `count` entries; "0": nothing is left. */
static void add_cursor(struct buffer *cursor, struct map_iter *ahead, uint64_t count)
{
	struct map_entry entry, last = { 0 };
	char text[ENTRY_TEXT];
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
	if (ahead->map->kind != MAP_STRINGS)
		key = (struct bytes){ text, entry_print(ahead->map->kind, text, last.key.number) };
	buffer_add(cursor, "(", 1);
	buffer_add(cursor, key.data, key.size);
}

struct scan_options {
	struct bytes pattern; /* data NULL: all entries match */
	uint64_t count;
};

/* false: the reply says why */
static bool scan_options(struct vk_ctx *ctx, struct vk_string **argv, int argc,
			 struct scan_options *options)
{
	int i;

	*options = (struct scan_options){ { NULL, 0 }, 10 };
	for (i = 3; i + 1 < argc; i += 2) {
		if (is_word(argv[i], "MATCH")) {
			options->pattern = text_of(argv[i + 1]);
		} else if (!is_word(argv[i], "COUNT")) {
			break;
		} else if (!want_positive(ctx, argv[i + 1], "COUNT", &options->count)) {
			return false;
		}
	}
	if (i == argc)
		return true;
	return refuse(ctx, SYNTAX);
}

/* The part of a pattern that stands for itself, with which all that matches begins. */
static struct bytes literal(struct bytes pattern)
{
	size_t n = 0;

	while (n < pattern.size && !memchr("*?[\\", pattern.data[n], 4))
		n++;
	return (struct bytes){ pattern.data, n };
}

/* Strings that match begin with the literal part of the pattern, so the others are not looked at:
 * moves *low there, and makes *high the end of these strings, whose bytes go into `end`. */
static void narrow(struct bytes pattern, struct map_bound *low, struct map_bound *high,
		   struct buffer *end)
{
	struct bytes begin = literal(pattern);
	size_t n = begin.size;

	if (!n)
		return;
	if (low->infinite || compare_bytes(low->key.string, begin) < 0)
		*low = (struct map_bound){ .key = { 0, begin } };
	while (n && (unsigned char)begin.data[n - 1] == 0xff)
		n--;
	buffer_add(end, begin.data, n);
	if (!n || end->failed) /* no string is behind all of these, or there is no memory: no end */
		return;
	end->data[n - 1]++;
	*high = (struct map_bound){ .key = { 0, { end->data, n } }, .open = true };
}

/* The entries that match, of the next options->count. */
static int reply_matches(struct vk_ctx *ctx, struct map_iter *iter, struct bytes pattern)
{
	enum map_kind kind = iter->map->kind;
	struct map_entry entry;
	char text[ENTRY_TEXT];
	long n = 0;

	vk.ReplyWithArray(ctx, VK_LENGTH_LATER);
	while (map_next(iter, &entry)) {
		struct bytes key = entry.key.string;

		if (kind != MAP_STRINGS)
			key = (struct bytes){ text, entry_print(kind, text, entry.key.number) };
		if (!entry_matches(pattern, key))
			continue;
		reply_entry(ctx, kind, &entry);
		n += 2;
	}
	vk.ReplySetArrayLength(ctx, n);
	return VK_OK;
}

MAP_COMMAND(extern, map_scan, TO_READ, 3, ANY_NUMBER)
{
	struct map_bound low, high = map_highest;
	BUFFER cursor = { 0 }, end = { 0 };
	struct scan_options options;
	struct map_iter iter, ahead;

	if (!scan_options(ctx, argv, argc, &options) || !want_cursor(opened, argv[2], &low))
		return VK_OK;
	if (!opened->value) {
		vk.ReplyWithArray(ctx, 2);
		vk.ReplyWithStringBuffer(ctx, "0", 1);
		return vk.ReplyWithArray(ctx, 0);
	}
	if (kind_of(opened) == MAP_STRINGS)
		narrow(options.pattern, &low, &high, &end);
	map_iter_begin(&iter, opened->value, &low, &high, false);
	map_iter_begin(&ahead, opened->value, &low, &high, false);
	iter.most = options.count;
	add_cursor(&cursor, &ahead, options.count);
	if (cursor.failed)
		return reply_no_memory(ctx);
	vk.ReplyWithArray(ctx, 2);
	vk.ReplyWithStringBuffer(ctx, cursor.data, cursor.size);
	return options.pattern.data ? reply_matches(ctx, &iter, options.pattern)
				    : reply_range(ctx, &iter, true);
}
