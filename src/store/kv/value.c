/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * value.c - values as words and records.
 *
 * Short values are in the word in the index itself, so that a get touches nothing else: 8 bytes of
 * nearly any kind, or 14 characters of numbers, dates and addresses at 4 bits each.
 */
#include "store/kv/value.h"
#include "store/memory/reason.h"

#include <stdlib.h>
#include <time.h>

#define EACH_BYTE 0x0101010101010101ull

/* ---- 4 bits per character ---- */

/* Returns the top bit set in each byte that is zero. All bytes are below 0x80. */
static u64 zero_bytes(u64 x)
{
	LATH_ASSERT(!(x & 0x80 * EACH_BYTE));
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
	LATH_ASSERT(!(x & 0xf0 * EACH_BYTE));
	x = (x | x >> 4) & 0x00ff00ff00ff00ffull;
	x = (x | x >> 8) & 0x0000ffff0000ffffull;
	return (x | x >> 16) & 0xffffffffull;
}

static bool nibbles_word(const u8 *text, u64 size, u64 *word)
{
	u64 low, high = 0x30 * EACH_BYTE, nibbles;

	LATH_ASSERT(size > 8 && size <= NIBBLES_MAX);
	memcpy(&low, text, 8);
	memcpy(&high, text + 8, size - 8);
	low = little_endian(low);
	high = little_endian(high);
	nibbles = text_to_nibbles(low);
	/* the way back tells whether each character has its own 4 bits */
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

static void put_parts(u8 *to, const struct lath_store_change *change)
{
	LATH_ASSERT(change->value || !change->size);
	LATH_ASSERT(change->tail || !change->tail_size);
	if (change->size)
		memcpy(to, change->value, change->size);
	if (change->tail_size)
		memcpy(to + change->size, change->tail, change->tail_size);
}

static int bare_build(struct lath_store *store, const struct lath_store_change *change, u64 size,
		      u64 *word)
{
	u64 place;
	int ret = lath_arena_alloc(&store->arena, size, &place);

	if (ret)
		return ret;
	LATH_ASSERT(size <= BARE_MAX && size <= lath_arena_size(&store->arena, place));
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
	/* the key too: for byte keys the set has nothing but the address; in shared memory a
	 * number is found again by it */
	if (key_size)
		memcpy(at, key.data ? key.data : &key.n, key_size);
	LATH_ASSERT((u64)(at + key_size + size - (u8 *)record) <=
		    lath_arena_size(&store->arena, place));
	put_parts(at + key_size, change);
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

void lath_value_ref_record(const struct lath_store *store, u64 word, struct lath_store_ref *ref)
{
	record_ref(word_record(store, word), ref);
}

/* ---- the time that times of expiry are compared with ---- */

uint64_t lath_store_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (u64)now.tv_sec * 1000 + (u64)now.tv_nsec / 1000000;
}

/* ---- copies ---- */

struct copies {
	struct lath_rcu_head rcu;
	u64 spare; /* aligns the data to 16 bytes, as malloc() does blocks */
	u8 data[];
};

static void copies_free(struct lath_rcu_head *head)
{
	lath_retired();
	free(container_of(head, struct copies, rcu));
	lath_retired_end();
}

/* Returns the room a value needs in the block of copies: none if it fits in its ref. */
static u64 room_of(const struct lath_store_ref *ref)
{
	return ref->data && ref->size > sizeof(ref->small) ? (ref->size + 7) & ~7ull : 0;
}

/* unreached: chance decides whether there is memory */
int lath_refs_copy(struct lath_store_ref *refs, size_t n, struct copies **out)
{
	struct copies *copies;
	u64 size = 0, at = 0;
	size_t i;

	*out = NULL;
	for (i = 0; i < n; i++) {
		u64 room = room_of(&refs[i]);

		size += room;
		if (!room && refs[i].data && refs[i].data != refs[i].small) {
			memcpy(refs[i].small, refs[i].data, refs[i].size);
			refs[i].data = refs[i].small;
		}
	}
	if (!size) /* all values are short: in the refs themselves */
		return 0;
	copies = memory_refused() ? NULL : malloc(sizeof(*copies) + size);
	if (!copies)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		u64 room = room_of(&refs[i]);

		if (!room)
			continue;
		memcpy(copies->data + at, refs[i].data, refs[i].size);
		LATH_ASSERT(room <= size - at);
		refs[i].data = copies->data + at;
		at += room;
	}
	LATH_ASSERT(at == size);
	*out = copies;
	return 0;
}

void lath_copies_keep(struct lath_store *store, struct copies *copies)
{
	LATH_ASSERT(lath_reader_inside(store->rcu) || !copies);
	if (copies) /* retired now, freed when the caller's section has ended */
		lath_retire(store->rcu, &copies->rcu, copies_free);
}
