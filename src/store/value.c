/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * value.c - values as words and records.
 *
 * Short values are in the word in the index itself, so that a get touches nothing else: 8 bytes of
 * nearly any kind, or 14 characters of numbers, dates and addresses at 4 bits each.
 */
#include "store/value.h"

#include "store/retire.h"
#include "store/slab.h"

#define EACH_BYTE 0x0101010101010101ull

/* ---- 4 bits per character ---- */

/* Returns the top bit set in each byte that is zero. All bytes are below 0x80. */
static u64 zero_bytes(u64 x)
{
	return ~(x + 0x7f * EACH_BYTE) & 0x80 * EACH_BYTE;
}

/* The low 4 bits of 0..9 and of + , - . / are all different: 0..9 and 11..15. 10 stands for NUL.
 * Converts eight characters at a time: each byte of x holds 4 bits. */
static u64 nibbles_to_text(u64 x)
{
	u64 letters = (x + 6 * EACH_BYTE) >> 4 &
		      EACH_BYTE; /* 1 for 10 and above, whose characters are 0x2., not 0x3. */

	return (x | 0x30 * EACH_BYTE) - (letters << 4) -
	       (zero_bytes(x ^ 10 * EACH_BYTE) >> 7) * 0x2a;
}

/* The inverse. Other characters give a wrong result, which nibbles_to_text() does not convert
 * back. */
static u64 text_to_nibbles(u64 text)
{
	return (text & 0x0f * EACH_BYTE) | (zero_bytes(text & 0x7f * EACH_BYTE) >> 7) * 10;
}

/* Packs eight bytes with 4 bits each into 32 bits. */
static u64 squeeze(u64 x)
{
	x = (x | x >> 4) & 0x00ff00ff00ff00ffull;
	x = (x | x >> 8) & 0x0000ffff0000ffffull;
	return (x | x >> 16) & 0xffffffffull;
}

static bool nibbles_word(const u8 *text, u64 size, u64 *word)
{
	u64 low, high = 0x30 * EACH_BYTE, nibbles;

	memcpy(&low, text, 8);
	memcpy(&high, text + 8, size - 8);
	low = little_endian(low);
	high = little_endian(high);
	nibbles = text_to_nibbles(low);
	if (nibbles_to_text(nibbles) != low)
		return false;
	*word = squeeze(nibbles);
	nibbles = text_to_nibbles(high);
	if (nibbles_to_text(nibbles) != high)
		return false;
	*word |= squeeze(nibbles) << 32 | (WORD_NIBBLES + size - 8) << WORD_TAG_SHIFT;
	return true;
}

/* Makes a word of a value of at most 14 bytes. Returns whether there is a form for it. */
static bool small_word(const u8 *value, u64 size, u64 *word)
{
	u64 bytes = 0;

	if (size > 8)
		return nibbles_word(value, size, word);
	if (size)
		memcpy(&bytes, value, size);
	*word = little_endian(bytes);
	if (size <= INLINE_MAX) {
		*word |= (WORD_INLINE + size) << WORD_TAG_SHIFT;
		return true;
	}
	*word ^= WORD_INVERTED;
	return *word && word_is_raw(*word);
}

/* ---- records ---- */

static void put_parts(u8 *to, const struct lath_store_change *change)
{
	if (change->size)
		memcpy(to, change->value, change->size);
	if (change->tail_size)
		memcpy(to + change->size, change->tail, change->tail_size);
}

static int bare_build(struct lath_store *store, const struct lath_store_change *change, u64 size,
		      u64 *word)
{
	u64 place;
	int ret = arena_alloc(&store->arena, size, &place);

	if (ret)
		return ret;
	put_parts(arena_at(&store->arena, place), change);
	*word = size << 40 | place_word(place, WORD_BARE);
	return 0;
}

static int record_build(struct lath_store *store, struct lath_store_key key,
			const struct lath_store_change *change, u64 size, u64 *word)
{
	u64 key_size = key.data ? key.n : store->mark ? sizeof(u64) : 0, place;
	struct record *record;
	u8 *at;
	int ret;

	if (size >> 40)
		return -E2BIG;
	ret = arena_alloc(&store->arena,
			  sizeof(*record) + (change->expires ? sizeof(u64) : 0) + key_size + size,
			  &place);
	if (ret)
		return ret;
	record = arena_at(&store->arena, place);
	record->version = arena_version(&store->arena);
	record->meta = size | key_size << 40 | (change->expires ? RECORD_EXPIRES : 0);
	at = record->data;
	if (change->expires) {
		memcpy(at, &change->expires, sizeof(u64));
		at += sizeof(u64);
	}
	if (key_size)
		memcpy(at, key.data ? key.data : &key.n, key_size);
	put_parts(at + key_size, change);
	*word = place_word(place, WORD_RECORD);
	return 0;
}

int value_build(struct lath_store *store, struct lath_store_key key,
		const struct lath_store_change *change, u64 *word)
{
	u64 size = change->size + change->tail_size;
	u8 joined[NIBBLES_MAX];

	if (unlikely(size < change->size))
		return -E2BIG;
	if (!store->plain || change->expires)
		return record_build(store, key, change, size, word);
	if (size <= NIBBLES_MAX) {
		const u8 *value = change->value;

		if (change->tail_size) {
			put_parts(joined, change);
			value = joined;
		}
		if (small_word(value, size, word))
			return 0;
	}
	if (size <= BARE_MAX)
		return bare_build(store, change, size, word);
	return record_build(store, key, change, size, word);
}

void value_drop(struct lath_store *store, u64 word)
{
	record_mark(store, word, false);
	if (word_has_place(word))
		arena_free(&store->arena, word_place(word));
}

void value_retire(struct lath_store *store, u64 word)
{
	record_mark(store, word, false);
	if (word_has_place(word))
		arena_retire(&store->arena, word_place(word));
}

void value_ref_record(const struct lath_store *store, u64 word, struct lath_store_ref *ref)
{
	record_ref(word_record(store, word), ref);
}
