/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * value.c - values as words and records.
 *
 * Short values are in the word in the index itself, so that a get touches nothing else: 8 bytes of
 * nearly any kind, or 14 characters of numbers, dates and addresses at 4 bits each.
 */
#include "store/kv/kv.h"

#define EACH_BYTE 0x0101010101010101ull

/* ---- 4 bits per character ---- */

/* Returns the top bit set in each byte that is zero. All bytes are below 0x80. */
static u64 zero_bytes(u64 x)
{
	LATH_ASSERT(!(x & 0x80 * EACH_BYTE));
	return ~(x + 0x7f * EACH_BYTE) & 0x80 * EACH_BYTE;
}

/* The low 4 bits of 0..9 and of + , - . / are all different: 0..9 and 11..15. 10 stands for NUL.
 * Converts eight characters at a time: each byte gets 4 bits. Other characters give a wrong result,
 * which word_text() does not convert back. */
static u64 text_to_nibbles(u64 text)
{
	return (text & 0x0f * EACH_BYTE) | (zero_bytes(text & 0x7f * EACH_BYTE) >> 7) * 10;
}

/* Packs eight bytes with 4 bits each into 32 bits. */
static u64 squeeze(u64 x)
{
	LATH_ASSERT(!(x & 0xf0 * EACH_BYTE));
	x = (x | x >> 4) & 0x00ff00ff00ff00ffull;
	x = (x | x >> 8) & 0x0000ffff0000ffffull;
	return (x | x >> 16) & 0xffffffffull;
}

static bool nibbles_word(const u8 *text, u64 size, u64 *word)
{
	u64 want[2] = { 0x30 * EACH_BYTE, 0x30 * EACH_BYTE };
	u64 got[2];

	LATH_ASSERT(size > 8 && size <= NIBBLES_MAX);
	memcpy(want, text, size);
	*word = squeeze(text_to_nibbles(little_endian(want[0]))) |
		squeeze(text_to_nibbles(little_endian(want[1]))) << 32 |
		(WORD_NIBBLES + size - 8) << WORD_TAG_SHIFT;
	/* the way back tells whether each character has its own 4 bits */
	word_text(*word, FORMS_NIBBLES, (u8 *)got);
	return got[0] == want[0] && got[1] == want[1];
}

/* Makes a word of a value of at most 14 bytes. Returns whether there is a form for it. */
static bool small_word(const u8 *value, u64 size, u64 *word)
{
	u64 bytes = 0;

	LATH_ASSERT(size <= NIBBLES_MAX);
	if (size > 8)
		return nibbles_word(value, size, word);
	if (size)
		memcpy(&bytes, value, size);
	*word = little_endian(bytes);
	if (size <= INLINE_MAX) {
		*word |= (WORD_INLINE + size) << WORD_TAG_SHIFT;
		return true;
	}
	/* 8 bytes leave no room for a tag: the last one, inverted, must be none */
	*word ^= WORD_INVERTED;
	return *word && word_is_raw(*word);
}

/* ---- records ---- */

static int bare_build(struct lath_store *store, const struct lath_store_change *change, u64 size,
		      u64 *word)
{
	u64 place;
	int ret = lath_arena_alloc(&store->arena, size, &place);

	if (ret)
		return ret;
	LATH_ASSERT(size <= BARE_MAX && size <= lath_arena_size(&store->arena, place));
	change_copy(change, arena_at(&store->arena, place));
	*word = size << 40 | place_word(place, WORD_BARE);
	return 0;
}

static int record_build(struct lath_store *store, struct lath_store_key key,
			const struct lath_store_change *change, u64 size, u64 *word)
{
	u64 key_size = key.data ? key.n : store->number_bytes, place;
	struct record *record;
	u8 *at;
	int ret;

	LATH_ASSERT(key_size <= KEY_BYTES_MAX && change->action == LATH_STORE_PUT);
	if (size >> 40) /* the length has 40 bits of `meta` */
		return -E2BIG;
	if (store->arena.limit && size > store->arena.limit) /* however much is evicted */
		return -EFBIG;
	ret = lath_arena_alloc(
		&store->arena,
		sizeof(*record) + (change->expires ? sizeof(u64) : 0) + key_size + size, &place);
	if (ret)
		return ret;
	record = arena_at(&store->arena, place);
	record->version = lath_arena_version(&store->arena);
	record->meta = size | key_size << 40 | (change->expires ? RECORD_EXPIRES : 0);
	at = record->data;
	if (change->expires) {
		memcpy(at, &change->expires, sizeof(u64));
		at += sizeof(u64);
	}
	/* the key too: for byte keys the set has nothing but the address */
	if (key_size)
		memcpy(at, key.data ? key.data : &key.n, key_size);
	LATH_ASSERT((u64)(at + key_size + size - (u8 *)record) <=
		    lath_arena_size(&store->arena, place));
	change_copy(change, at + key_size);
	*word = place_word(place, WORD_RECORD);
	return 0;
}

int lath_value_build(struct lath_store *store, struct lath_store_key key,
		     const struct lath_store_change *change, u64 *word)
{
	u64 size = change->size + change->tail_size;
	u8 joined[NIBBLES_MAX];

	if (unlikely(size < change->size))
		return -E2BIG;
	/* a version or a time of expiry takes a record */
	if (!store->plain || change->expires)
		return record_build(store, key, change, size, word);
	/* else the shortest form: in the word, bytes behind a place, a record */
	if (size <= NIBBLES_MAX) {
		const u8 *value = change->value;

		if (change->tail_size) {
			change_copy(change, joined);
			value = joined;
		}
		if (small_word(value, size, word))
			return 0;
	}
	if (size <= BARE_MAX)
		return bare_build(store, change, size, word);
	return record_build(store, key, change, size, word);
}

void lath_value_drop(struct lath_store *store, u64 word)
{
	LATH_ASSERT(word);
	record_mark(store, word, false);
	if (word_has_place(word))
		lath_arena_free(&store->arena, word_place(word));
}

void lath_value_retire(struct lath_store *store, u64 word)
{
	LATH_ASSERT(word);
	lath_call_assert();
	record_mark(store, word, false);
	/* readers may look at it until a grace period has passed */
	if (word_has_place(word))
		lath_arena_retire(&store->arena, word_place(word));
}
