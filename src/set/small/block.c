/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * block.c - changes of a block.
 *
 * An insert writes a new block. An erase, and a size and a value that need no more room, are
 * written over the old one: no column moves up and none gets wider, so each word is read before
 * anything is written to its place. Then the block is exchanged for a smaller one, if there is
 * memory for it.
 */
#include "set/small/block.h"

/* A block as it is to be after a change. */
struct shape {
	u64 base;
	unsigned int count, key_width, size_width, value_width;
};

/* The change of one entry: it comes, it goes, or it gets another size and value. */
struct change {
	enum { COMES, GOES, CHANGES } how;
	unsigned int i;
	struct lath_item item;
};

static struct shape shape_of(const struct small *small)
{
	return (struct shape){ small->count ? block_base(small) : 0, (unsigned int)small->count,
			       (unsigned int)small->key_width, (unsigned int)small->size_width,
			       (unsigned int)small->value_width };
}

/* Returns the words of memory that a block of this shape takes. */
static unsigned int words_of(const struct shape *shape)
{
	unsigned int entry = shape->key_width + shape->size_width + shape->value_width;

	return shape->count ? (BASE + shape->count * entry + 7) / 8 : 0;
}

/* ---- memory ---- */

static const struct lath_allocator *memory_of(const struct small *small)
{
	const struct lath_small_kind *kind = small->kind;

	return kind->blocks ? kind->blocks : kind->index.allocator;
}

static void *allocate(const struct small *small, unsigned int words)
{
	const struct lath_allocator *from = memory_of(small);

	return from ? from->alloc(from->ctx, 8ul * words, 8) : lath_small_alloc(8ul * words);
}

void lath_small_block_free(struct small *small)
{
	const struct lath_allocator *to = memory_of(small);

	LATH_ASSERT(is_block(small) && !small->body == !small->room);
	if (small->body && to)
		to->free(to->ctx, small->body, 8ul * small->room);
	else if (small->body)
		lath_block_free(small->body);
	small->body = NULL;
	small->room = 0;
}

/* ---- writing ---- */

/* Write an entry of `width` bytes to `at`, in pieces that overlap. Returns its end. Nothing is
 * read: a word that was stored in parts a moment ago is not there to be loaded for some cycles. */
static __always_inline u8 *write_entry(u8 *at, unsigned int width, u64 word)
{
	u64 ordered = little_endian(word);
	const u8 *bytes = (const u8 *)&ordered;

	LATH_ASSERT(width_of(word) <= width);
	if (width >= 4) {
		memcpy(at, bytes, 4);
		memcpy(at + width - 4, bytes + width - 4, 4);
	} else if (width >= 2) {
		memcpy(at, bytes, 2);
		at[width - 1] = bytes[width - 1];
	} else if (width) {
		at[0] = bytes[0];
	}
	return at + width;
}

/* Write n entries with `add` added to each. Returns the end of the last one. */
static u8 *write_entries(u8 *at, unsigned int width, const u8 *from, unsigned int from_width,
			 u64 add, unsigned int n)
{
	unsigned int i;

	if (!n || !width)
		return at;
	if (width == from_width && !add) {
		memmove(at, from, n * width);
		return at + n * width;
	}
	for (i = 0; i < n; i++)
		at = write_entry(at, width, column_get(from, from_width, i) + add);
	return at;
}

/* Write a column of the block `small` after a change that gives the changed entry this word.
 * Returns its end. */
static u8 *write_column(u8 *at, unsigned int width, const struct small *small, const u8 *from,
			unsigned int from_width, u64 add, const struct change *change, u64 word)
{
	unsigned int behind = change->i + (change->how != COMES);

	at = write_entries(at, width, from, from_width, add, change->i);
	if (change->how != GOES)
		at = write_entry(at, width, word);
	return write_entries(at, width, from + behind * from_width, from_width, add,
			     (unsigned int)small->count - behind);
}

/* Write the block after a change to `block`, which may be the block itself unless an entry comes or
 * a column gets wider. */
static void write_block(const struct small *small, const struct shape *to, u8 *block,
			const struct change *change)
{
	const struct shape from = shape_of(small);
	/* an empty block has no columns to read */
	const u8 *keys = (small->body ? (u8 *)small->body : block) + BASE;
	const u8 *sizes = keys + from.count * from.key_width;
	const u8 *values = sizes + from.count * from.size_width;
	u64 base = little_endian(to->base);
	u8 *at = block + BASE;

	LATH_ASSERT(block != small->body ||
		    (change->how != COMES && to->key_width <= from.key_width &&
		     to->size_width <= from.size_width && to->value_width <= from.value_width));
	memcpy(block, &base, BASE);
	at = write_column(at, to->key_width, small, keys, from.key_width, from.base - to->base,
			  change, change->item.key - to->base);
	at = write_column(at, to->size_width, small, sizes, from.size_width, 0, change,
			  change->item.size - 1);
	at = write_column(at, to->value_width, small, values, from.value_width, 0, change,
			  change->item.value);
	LATH_ASSERT((size_t)(at - block) <= 8ul * words_of(to));
}

/* Describe the block at once: parts of a word that are stored one by one are slow to load. */
static void set_block(struct small *small, void *block, unsigned int room,
		      const struct shape *shape)
{
	*small = (struct small){ .body = block,
				 .kind = small->kind,
				 .count = shape->count,
				 .key_width = shape->key_width & 15,
				 .size_width = shape->size_width & 15,
				 .value_width = shape->value_width & 15,
				 .room = room & 255 };
}

/* Make the change in a new block: 0 | -ENOMEM */
static int change_in_new(struct small *small, const struct shape *to, const struct change *change)
{
	unsigned int words = words_of(to);
	u8 *block = allocate(small, words);

	if (!block)
		return -ENOMEM;
	write_block(small, to, block, change);
	lath_small_block_free(small);
	set_block(small, block, words, to);
	return 0;
}

/* Make the change in the block itself; then give back what it does not need any more. */
static void change_in_place(struct small *small, const struct shape *to,
			    const struct change *change)
{
	unsigned int words = words_of(to);
	void *block;

	write_block(small, to, small->body, change);
	LATH_ASSERT(words && words <= small->room);
	set_block(small, small->body, (unsigned int)small->room, to);
	if (words == small->room)
		return;
	block = allocate(small, words);
	/* without memory for a smaller block it keeps the room */
	if (!block)
		return;
	memcpy(block, small->body, 8ul * words);
	lath_small_block_free(small);
	set_block(small, block, words, to);
}

/* ---- changes ---- */

bool lath_small_block_conflicts(const struct small *small, const struct lath_item *item,
				struct lath_item *conflict)
{
	unsigned int i = block_find(small, item->key);

	if (i && block_last(small, i - 1) >= item->key)
		i--;
	else if (i == small->count || block_key(small, i) - item->key >= item->size)
		return false;
	if (conflict)
		block_item(small, i, conflict);
	return true;
}

/* Insert an item, whether or not it overlaps the one before it: 0 | -ENOMEM */
static int insert_entry(struct small *small, const struct lath_item *item)
{
	struct change change = { COMES, block_find(small, item->key), *item };
	struct shape to = shape_of(small);
	u64 highest = item->key;

	LATH_ASSERT(item->size && small->count < LATH_SMALL_MOST);
	if (change.i < small->count)
		highest = block_key(small, (unsigned int)small->count - 1);
	to.base = change.i ? to.base : item->key;
	to.count++;
	to.key_width = width_of(highest - to.base);
	to.size_width = max(to.size_width, width_of(item->size - 1));
	to.value_width = max(to.value_width, width_of(item->value));
	return change_in_new(small, &to, &change);
}

int lath_small_block_insert(struct small *small, const struct lath_item *item)
{
	LATH_ASSERT(!lath_small_block_conflicts(small, item, NULL));
	return insert_entry(small, item);
}

/* Returns the width that a column needs without its entry i. */
static unsigned int width_without(const struct small *small, const u8 *column, unsigned int width,
				  unsigned int i)
{
	unsigned int k;
	u64 all = 0;

	if (width_of(column_get(column, width, i)) < width)
		return width; /* another entry needs it */
	for (k = 0; k < small->count; k++)
		all |= k == i ? 0 : column_get(column, width, k);
	return width_of(all);
}

void lath_small_block_erase(struct small *small, unsigned int i)
{
	struct change change = { .how = GOES, .i = i };
	unsigned int last = (unsigned int)small->count - 1;
	struct shape to = shape_of(small);
	u64 highest;

	LATH_ASSERT(i < small->count);
	if (!last) {
		lath_small_block_free(small);
		set_block(small, NULL, 0, &(struct shape){ 0 });
		return;
	}
	highest = block_key(small, i < last ? last : last - 1);
	to.base = i ? to.base : block_key(small, 1);
	to.count--;
	to.key_width = width_of(highest - to.base);
	to.size_width = width_without(small, size_column(small), to.size_width, i);
	to.value_width = width_without(small, value_column(small), to.value_width, i);
	change_in_place(small, &to, &change);
}

int lath_small_block_change(struct small *small, unsigned int i, u64 size, u64 value)
{
	struct change change = { CHANGES, i, { block_key(small, i), size, value } };
	u8 *sizes = (u8 *)(uintptr_t)size_column(small), *values;
	struct shape to = shape_of(small);

	LATH_ASSERT(size);
	values = (u8 *)(uintptr_t)value_column(small);
	to.size_width = max(width_of(size - 1), width_without(small, sizes, to.size_width, i));
	to.value_width = max(width_of(value), width_without(small, values, to.value_width, i));
	if (to.size_width > small->size_width || to.value_width > small->value_width)
		return change_in_new(small, &to, &change);
	if (to.size_width < small->size_width || to.value_width < small->value_width) {
		change_in_place(small, &to, &change);
		return 0;
	}
	write_entry(sizes + i * to.size_width, to.size_width, size - 1);
	write_entry(values + i * to.value_width, to.value_width, value);
	return 0;
}

int lath_small_block_split(struct small *small, unsigned int i, u64 at, u64 value)
{
	struct lath_item item, right;
	int ret;

	block_item(small, i, &item);
	LATH_ASSERT(at > item.key && at - item.key < item.size);
	right = (struct lath_item){ at, item.size - (at - item.key), value };
	ret = insert_entry(small, &right);
	if (ret)
		return ret;
	ret = lath_small_block_change(small, i, at - item.key, item.value);
	LATH_ASSERT(!ret); /* a smaller size needs no memory */
	return ret;
}

/* ---- checks ---- */

static int found(int number, const char *what, unsigned int i, char *report, size_t report_size)
{
	if (report)
		snprintf(report, report_size, "%s: entry %u of the block", what, i);
	return number;
}

int lath_small_block_verify(const struct small *small, char *report, size_t report_size)
{
	const struct shape shape = shape_of(small);
	unsigned int i, n = shape.count;
	u64 sizes = 0, values = 0;
	struct lath_item item;
	u64 end = 0;

	if (n > LATH_SMALL_MOST || small->room < words_of(&shape) || !small->body != !n)
		return found(3, "too small a block", n, report, report_size);
	for (i = 0; i < n; i++) {
		block_item(small, i, &item);
		/* end is 0 behind the last key too */
		if (item.key < end || (i && !end) || !item.size ||
		    item.size - 1 > LAST_KEY - item.key || (!i && item.key != shape.base) ||
		    (small->kind->index.layout == LATH_POINTS && item.size != 1))
			return found(2, "out of order", i, report, report_size);
		end = item.key + item.size;
		sizes |= item.size - 1;
		values |= item.value;
	}
	if (n && (shape.key_width != width_of(item.key - shape.base) ||
		  shape.size_width != width_of(sizes) || shape.value_width != width_of(values)))
		return found(1, "a column of another width than its entries need", n, report,
			     report_size);
	return 0;
}
