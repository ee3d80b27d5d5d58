/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * block.h - the block of a small container.
 *
 *   base              the lowest key, 8 bytes
 *   keys              count differences from base
 *   sizes             count sizes, less one: of points they take no room
 *   values            count values
 *
 * A column has `width` bytes per entry, 0 to 8, lowest byte first, as few as its largest word
 * needs. An entry is read as the eight bytes that end with it: none of them is in front of the
 * block, as base is there. So nothing behind the block is read.
 */
#ifndef LATH_INDEX_SMALL_BLOCK_H
#define LATH_INDEX_SMALL_BLOCK_H

#include "lathwork/small.h"
#include "sys/sys.h"

#define BASE 8u /* bytes in front of the columns */
#define LAST_KEY (~0ull)

enum small_form { SMALL_BLOCK, SMALL_NODES, SMALL_CHUNKS };

struct small {
	void *body; /* the block, NULL while it is empty; else the index */
	const struct lath_small_kind *kind;
	u64 count : 40;
	u64 form : 2;
	/* of a block */
	u64 key_width : 4;
	u64 size_width : 4;
	u64 value_width : 4;
	u64 room : 8; /* words: the block's size, which may be more than it needs */
};
_Static_assert(sizeof(struct small) <= sizeof(struct lath_small), "fits the public struct");
_Static_assert(1 + 3 * LATH_SMALL_MOST < 256, "room has eight bits");

static inline struct small *small_of(const struct lath_small *small)
{
	return (struct small *)(uintptr_t)small;
}

static inline bool is_block(const struct small *small)
{
	return small->form == SMALL_BLOCK;
}

/* Returns how many bytes a word needs; 0 needs none. */
static inline unsigned int width_of(u64 word)
{
	return (fls64(word) + 7) / 8;
}

/* ---- columns ---- */

/* Returns the entry of `width` bytes that ends at `end`; width is not 0. */
static __always_inline u64 column_read(const u8 *end, unsigned int width)
{
	u64 word;

	memcpy(&word, end - sizeof(word), sizeof(word));
	return little_endian(word) >> (64 - 8 * width);
}

static inline u64 column_get(const u8 *column, unsigned int width, unsigned int i)
{
	return width ? column_read(column + (i + 1) * width, width) : 0;
}

/* Of a block that is not empty. */
static inline const u8 *key_column(const struct small *small)
{
	return (const u8 *)small->body + BASE;
}

static inline const u8 *size_column(const struct small *small)
{
	return key_column(small) + small->count * small->key_width;
}

static inline const u8 *value_column(const struct small *small)
{
	return size_column(small) + small->count * small->size_width;
}

static inline u64 block_base(const struct small *small)
{
	u64 word;

	memcpy(&word, small->body, sizeof(word));
	return little_endian(word);
}

/* A column that is read entry by entry: the next one ends at `end`. A column of no width is read as
 * one word 0, without a branch. */
struct reader {
	const u8 *end;
	unsigned int width, shift;
};

static inline struct reader reader_of(const u8 *column, unsigned int width, unsigned int i)
{
	static const u64 zero;

	if (!width)
		return (struct reader){ (const u8 *)(&zero + 1), 0, 0 };
	return (struct reader){ column + (i + 1) * width, width, 64 - 8 * width };
}

/* Returns the next entry and goes on to the one behind it, or with `up` false in front of it. */
static __always_inline u64 read_next(struct reader *reader, bool up)
{
	u64 word;

	memcpy(&word, reader->end - sizeof(word), sizeof(word));
	reader->end = up ? reader->end + reader->width : reader->end - reader->width;
	return little_endian(word) >> reader->shift;
}

/* ---- entries; the block has entry i ---- */

static inline u64 block_key(const struct small *small, unsigned int i)
{
	LATH_ASSERT(is_block(small) && i < small->count);
	return block_base(small) + column_get(key_column(small), small->key_width, i);
}

static inline u64 block_last(const struct small *small, unsigned int i)
{
	return block_key(small, i) + column_get(size_column(small), small->size_width, i);
}

static inline u64 block_value(const struct small *small, unsigned int i)
{
	LATH_ASSERT(is_block(small) && i < small->count);
	return column_get(value_column(small), small->value_width, i);
}

static inline void block_item(const struct small *small, unsigned int i, struct lath_item *item)
{
	item->key = block_key(small, i);
	item->size = column_get(size_column(small), small->size_width, i) + 1;
	item->value = block_value(small, i);
}

/* Returns the first entry with a key >= `key`, or the number of entries. */
static inline unsigned int block_find(const struct small *small, u64 key)
{
	unsigned int width = small->key_width, n = (unsigned int)small->count, i, below = 0;
	const u8 *end;
	u64 base;

	LATH_ASSERT(is_block(small));
	if (!n)
		return 0;
	base = block_base(small);
	end = key_column(small);
	if (key <= base || !width)
		return key > base;
	/* counted without a branch that depends on the keys */
	for (i = 0; i < n; i++)
		below += column_read(end += width, width) < key - base;
	return below;
}

/* Returns the entry that covers the point, or the number of entries. */
static inline unsigned int block_covering(const struct small *small, u64 point)
{
	unsigned int i = block_find(small, point), n = (unsigned int)small->count;

	if (i < n && block_key(small, i) == point)
		return i;
	return i && block_last(small, i - 1) >= point ? i - 1 : n;
}

/* ---- block.c: changes ---- */

/* Frees the block, if there is one. */
void lath_small_block_free(struct small *small);
/* Returns whether an entry overlaps the item, and copies it to *conflict, if that is not NULL. */
bool lath_small_block_conflicts(const struct small *small, const struct lath_item *item,
				struct lath_item *conflict);
/* Inserts an item that overlaps none: 0 | -ENOMEM. There are fewer than LATH_SMALL_MOST. */
int lath_small_block_insert(struct small *small, const struct lath_item *item);
/* Erases entry i. */
void lath_small_block_erase(struct small *small, unsigned int i);
/* Gives entry i another size and another value: 0 | -ENOMEM, only if one of them needs more bytes
 * than its column has. The caller has seen that the size overlaps nothing. */
int lath_small_block_change(struct small *small, unsigned int i, u64 size, u64 value);
/* Cuts entry i in two; the right part begins at `at`: 0 | -ENOMEM. There are fewer entries than
 * LATH_SMALL_MOST. */
int lath_small_block_split(struct small *small, unsigned int i, u64 at, u64 value);
/* As lath_small_verify(). */
int lath_small_block_verify(const struct small *small, char *report, size_t report_size);

#endif /* LATH_INDEX_SMALL_BLOCK_H */
