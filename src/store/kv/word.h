/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* word.h - words, of which an index holds one per key, and records. */
#ifndef LATH_STORE_WORD_H
#define LATH_STORE_WORD_H

#include "lathwork/store.h"
#include "sys/sys.h"

/*
 * The 64-bit word that an index holds for a key. The top byte, the tag, tells its form:
 *
 *   WORD_BARE            bits 0..39: place / 8 of the value's bytes; 40..55: length
 *   WORD_RECORD          bits 0..39: place / 8
 *   WORD_INLINE + n      a value of n < 8 bytes, from bit 0 on
 *   WORD_NIBBLES + n     a value of 8 + n characters, 4 bits each, from bit 0 on
 *   any other tag        a value of 8 bytes, the last of which is inverted
 *
 * A value of 8 bytes is in the word unless its inverted last byte equals one of the 19 tags above:
 * then it is stored as WORD_BARE. The tags are chosen so that text never ends in such a byte, and
 * few numbers do: 0xe9 to 0xfb.
 *
 * No key has the word 0.
 */
enum word_form {
	WORD_BARE = 4,
	WORD_RECORD,
	WORD_INLINE = 8,
	WORD_NIBBLES = 16,
	WORD_FORMS_END = WORD_NIBBLES + 7
};

#define WORD_TAG_SHIFT 56
#define WORD_INVERTED (0xffull << WORD_TAG_SHIFT)
#define INLINE_MAX 7
#define NIBBLES_MAX 14
#define BARE_MAX 65535u

static inline unsigned int word_tag(u64 word)
{
	return (unsigned int)(word >> WORD_TAG_SHIFT);
}

/* Returns whether the word is a value of 8 bytes. */
static inline bool word_is_raw(u64 word)
{
	return (u8)(word_tag(word) - WORD_BARE) >= WORD_FORMS_END - WORD_BARE;
}

static inline bool word_has_place(u64 word)
{
	return word_tag(word) / 4 == WORD_BARE / 4;
}

/* The form of a word that has a place. */
static inline enum word_form word_form(u64 word)
{
	LATH_ASSERT(word_has_place(word));
	return (enum word_form)word_tag(word);
}

static inline u64 word_place(u64 word)
{
	LATH_ASSERT(word_has_place(word));
	return (word & ((1ull << 40) - 1)) << 3;
}

static inline u64 place_word(u64 place, enum word_form form)
{
	LATH_ASSERT(place && !(place & 7) && !(place >> 43));
	return place >> 3 | (u64)form << WORD_TAG_SHIFT;
}

/* A value with its key, version and time of expiry. Complete before its word is published, and
 * constant from then on. */
struct record {
	u64 version;
	u64 meta;  /* bits 0..39 length of the value, 40..55 of the key; 56: has a time of expiry */
	u8 data[]; /* time of expiry (8 bytes) if any, key, value */
};

#define RECORD_EXPIRES (1ull << 56)

static inline u64 record_value_size(const struct record *record)
{
	return record->meta & ((1ull << 40) - 1);
}

static inline u32 record_key_size(const struct record *record)
{
	return record->meta >> 40 & 0xffff;
}

static inline const u8 *record_key(const struct record *record)
{
	return record->data + (record->meta & RECORD_EXPIRES ? sizeof(u64) : 0);
}

/* A vector of 16 bytes. (A typedef, or an attribute behind each name, is more than checkpatch can
 * read.) */
#define BYTES_16(type) __typeof__(type __attribute__((vector_size(16))))

static inline bool word_has_nibbles(u64 word)
{
	return word_tag(word) - WORD_NIBBLES < WORD_FORMS_END - WORD_NIBBLES;
}

/* The forms that words without a place may have, where a caller knows more: any, a value's bytes,
 * or characters of 4 bits. */
enum word_forms { FORMS_ANY, FORMS_BYTES, FORMS_NIBBLES };

/* Expands a word without a place to 16 bytes, and returns the length of the value. No branch
 * decides between the forms: where several occur side by side it would be mispredicted every other
 * time. forms: a constant; FORMS_ANY takes longest. */
static __always_inline u64 word_text(u64 word, enum word_forms forms, unsigned char *text)
{
	u64 raw = forms == FORMS_NIBBLES ? 0 : 0 - (u64)word_is_raw(word);
	u64 nibbles = forms == FORMS_NIBBLES ? ~0ull
		      : forms == FORMS_BYTES ? 0
					     : 0 - (u64)word_has_nibbles(word);
	u64 bytes = (word & ~WORD_INVERTED) | (~word & WORD_INVERTED & raw);
	BYTES_16(u64) x = { little_endian(bytes), 0 };
	BYTES_16(u64) low_halves = { little_endian(0x0f0f0f0f0f0f0f0full), 0 };
	BYTES_16(u64) which = { nibbles, nibbles };
	BYTES_16(signed char) low, high, c;

	LATH_ASSERT(word && !word_has_place(word));
	if (forms == FORMS_BYTES) { /* nothing to expand: the bytes are in the word */
		memcpy(text, &x, 16);
		return (raw & 8) + (word_tag(word) & 7 & ~raw);
	}
	low = (BYTES_16(signed char))(x & low_halves);
	high = (BYTES_16(signed char))(x >> 4 & low_halves);
	c = __builtin_shufflevector(low, high, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7,
				    23);
	/* 0..9 are digits, 10 is NUL, 11 and above are + , - . / */
	low = c != 10;
	high = c > 9;
	c = (c | '0') - (high & 16);
	c = c & low;
	x = ((BYTES_16(u64))c & which) | (x & ~which);
	memcpy(text, &x, 16);
	return ((raw | nibbles) & 8) + (word_tag(word) & 7 & ~raw);
}

static inline void record_ref(const struct record *record, struct lath_store_ref *ref)
{
	LATH_ASSERT(record->version);
	ref->size = record_value_size(record);
	ref->version = record->version;
	ref->expires = 0;
	if (record->meta & RECORD_EXPIRES)
		memcpy(&ref->expires, record->data, sizeof(u64));
	ref->data = record_key(record) + record_key_size(record);
}

#endif /* LATH_STORE_WORD_H */
