/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pool_type.c - what the server does with pools.
 *
 * Saved: the number of ranges; blocks of up to IMAGE_BLOCK ranges in order, with those outside the
 * pool. Of each the distance from the end of the one before, its size, and what it is: bit 0 it is
 * outside, bit 1 it has an owner, bit 2 a lease; then these.
 */
#include "command.h"
#include "image.h"
#include "pool.h"
#include "wait.h"

#define VERSION 1

enum { IS_OUTSIDE = 1, HAS_OWNER = 2, HAS_LEASE = 4 };

static void save(struct vk_io *rdb, void *value)
{
	const struct pool *pool = value;
	uint64_t from = 0, n = 0;
	struct pool_range range;
	struct pool_iter iter;
	IMAGE_OUT(out);
	bool outside;

	vk.SaveUnsigned(rdb, pool_count(pool));
	pool_iter_begin(&iter, pool, 0);
	while (pool_next(&iter, &range, &outside)) {
		image_put_number(&out, range.first - from);
		image_put_number(&out, range.size);
		image_put_number(&out, (outside ? IS_OUTSIDE : 0) |
					       (range.owner.data ? HAS_OWNER : 0) |
					       (range.expires ? HAS_LEASE : 0));
		if (range.owner.data) {
			image_put_number(&out, range.owner.size);
			buffer_add(&out, range.owner.data, range.owner.size);
		}
		if (range.expires)
			image_put_number(&out, range.expires);
		from = range.first + range.size;
		if (++n % IMAGE_BLOCK == 0 || n == pool_count(pool))
			image_flush(rdb, &out);
	}
	LATH_ASSERT(n == pool_count(pool) &&
		    !out.size); /* what was announced, and all of it is written */
}

/* Loads one range. *from: the end of the one before, 0 behind the last number. */
static void load_range(struct image *image, struct pool *pool, uint64_t *from, bool first)
{
	uint64_t ahead = image_number(image), size = image_number(image), is = image_number(image);
	struct pool_range range = { 0 };
	struct pool_range there;

	image->bad =
		image->bad || (!first && !*from) || is > 7 || (is & IS_OUTSIDE && is != IS_OUTSIDE);
	if (is & HAS_OWNER)
		range.owner = image_bytes(image);
	if (is & HAS_LEASE)
		range.expires = image_number(image);
	if (image->bad || __builtin_add_overflow(*from, ahead, &range.first) ||
	    !pool_span(range.first, size) || (is & HAS_LEASE && !range.expires) ||
	    range.expires > POOL_LEASE_MOST) {
		image->bad = true;
		return;
	}
	range.size = size;
	*from = range.first + size;
	if (is & IS_OUTSIDE)
		image->bad = pool_exclude(pool, range.first, size);
	else
		image->bad = (range.owner.data && pool_owner(pool, range.owner, &there)) ||
			     pool_reserve(pool, &range);
}

static void *load(struct vk_io *rdb, int version)
{
	IMAGE(image);
	uint64_t count, from = 0, i;
	struct pool *pool = NULL;

	if (version != VERSION)
		return NULL;
	count = image_plain(&image, rdb);
	if (!image.bad)
		pool = pool_empty();
	image.bad = image.bad || !pool;
	for (i = 0; !image.bad && i < count; i++)
		if (i % IMAGE_BLOCK || image_block(&image, rdb))
			load_range(&image, pool, &from, !i);
	/* a pool has numbers, and at most 2^64 - 1 of them */
	image.bad = image.bad || !pool->outside || !pool->capacity;
	if (image_end(&image, "a pool")) {
		LATH_ASSERT(pool_count(pool) == count);
		return pool;
	}
	if (pool)
		pool_free(pool);
	return NULL;
}

static void emit_span(struct vk_io *aof, const char *command, struct vk_string *key, uint64_t first,
		      uint64_t size)
{
	char texts[2][VALUE_TEXT];

	vk.EmitAOF(aof, command, "sbb", key, texts[0], number_print(texts[0], first), texts[1],
		   number_print(texts[1], size));
}

/* Emits CREATE and ADD: the numbers between the ranges that are outside. */
static void rewrite_spans(struct vk_io *aof, struct vk_string *key, const struct pool *pool)
{
	const char *command = "LATH.POOL.CREATE";
	struct pool_range range = { 0 };
	struct pool_iter iter;
	uint64_t begin = 0;
	bool outside;

	pool_iter_begin(&iter, pool, 0);
	while (pool_next(&iter, &range, &outside)) {
		if (outside && range.first > begin) {
			emit_span(aof, command, key, begin, range.first - begin);
			command = "LATH.POOL.ADD";
		}
		begin = outside ? range.first + range.size : begin;
	}
	if (range.first + range.size || begin) /* the last numbers are in the pool */
		emit_span(aof, command, key, begin, 0 - begin);
}

static void rewrite_range(struct vk_io *aof, struct vk_string *key, const struct pool_range *range)
{
	struct vk_string *words[RANGE_WORDS];
	size_t n = pool_words(range, words);

	vk.EmitAOF(aof, "LATH.POOL.RESERVE", "sv", key, words, n);
	words_free(words, n);
}

static void rewrite(struct vk_io *aof, struct vk_string *key, void *value)
{
	const struct pool *pool = value;
	struct pool_range range;
	struct pool_iter iter;
	uint64_t n = 0;
	bool outside;

	rewrite_spans(aof, key, pool);
	pool_iter_begin(&iter, pool, 0);
	for (; pool_next(&iter, &range, &outside); n++)
		if (!outside)
			rewrite_range(aof, key, &range);
	LATH_ASSERT(n == pool_count(pool));
}

static void digest(struct vk_digest *out, void *value)
{
	const struct pool *pool = value;
	struct pool_range range;
	struct pool_iter iter;
	uint64_t n = 0;
	bool outside;

	pool_iter_begin(&iter, pool, 0);
	for (; pool_next(&iter, &range, &outside); n++) {
		vk.DigestAddLongLong(out, (long long)range.first);
		vk.DigestAddLongLong(out, (long long)range.size);
		vk.DigestAddLongLong(out, outside);
		if (range.owner.data)
			vk.DigestAddStringBuffer(out, range.owner.data, range.owner.size);
		vk.DigestAddLongLong(out, (long long)range.expires);
		vk.DigestEndSequence(out);
	}
	LATH_ASSERT(n == pool_count(pool));
}

static int defragment(struct vk_defrag *ctx, struct vk_string *name, void **value)
{
	uint64_t from = defrag_begin(ctx);

	(void)name;
	if (!from)
		*value = defrag_block(ctx, *value);
	return pool_defragment(*value, ctx, from);
}

/* A key of this name went or is replaced, whatever becomes of the pool. */
static void unlinked(struct vk_string *key, const void *value)
{
	(void)value;
	wait_key_ended(key);
}

TYPE_METHODS(pool_methods, pool, .unlink = unlinked);
