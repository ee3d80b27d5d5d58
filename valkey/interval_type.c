/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * interval_type.c - what the server does with sets of intervals.
 *
 * Saved: their number; blocks of up to IMAGE_BLOCK of them, in any order: the first
 * number, how far the last one is from it, the value.
 */
#include "command.h"
#include "image.h"
#include "intervals.h"

#define VERSION 1

static void save(struct vk_io *rdb, void *value)
{
	const struct intervals *set = value;
	struct intervals_iter iter;
	struct found found;
	IMAGE_OUT(out);
	uint64_t n = 0;

	vk.SaveUnsigned(rdb, set->count);
	intervals_begin(&iter, set, ALL_INTERVALS);
	while (intervals_next(&iter, &found)) {
		image_put_number(&out, found.first);
		image_put_number(&out, found.last - found.first);
		image_put_text(&out, found.value);
		if (++n % IMAGE_BLOCK == 0 || n == set->count)
			image_flush(rdb, &out);
	}
	LATH_ASSERT(n == set->count &&
		    !out.size); /* what was announced, and all of it is written */
}

static void load_interval(struct image *image, struct intervals *set)
{
	uint64_t first = image_number(image), length = image_number(image), last;
	char text[VALUE_TEXT];
	struct bytes value = image_text(image, text);

	image->bad = image->bad || __builtin_add_overflow(first, length, &last) ||
		     intervals_add(set, first, last, value) != 1;
}

static void *load(struct vk_io *rdb, int version)
{
	IMAGE(image);
	struct intervals *set = NULL;
	uint64_t count, i;

	if (version != VERSION)
		return NULL;
	count = image_plain(&image, rdb);
	if (!image.bad)
		set = intervals_create();
	image.bad = image.bad || !set || !count;
	for (i = 0; !image.bad && i < count; i++)
		if (i % IMAGE_BLOCK || image_block(&image, rdb))
			load_interval(&image, set);
	if (image_end(&image, "a set of intervals")) {
		LATH_ASSERT(set->count == count);
		return set;
	}
	if (set)
		intervals_free(set);
	return NULL;
}

static void rewrite(struct vk_io *aof, struct vk_string *key, void *value)
{
	const struct intervals *set = value;
	struct vk_string *words[3 * IMAGE_BLOCK];
	struct intervals_iter iter;
	struct found found;
	size_t n = 0;
	uint64_t emitted = 0;
	bool more;

	intervals_begin(&iter, set, ALL_INTERVALS);
	do {
		more = intervals_next(&iter, &found);
		if (more) {
			words[n++] = number_string(found.first);
			words[n++] = number_string(found.last);
			words[n++] = vk.CreateString(NULL, found.value.data, found.value.size);
		}
		if (n == 3 * IMAGE_BLOCK || (n && !more)) {
			vk.EmitAOF(aof, "LATH.INTERVAL.ADD", "sv", key, words, n);
			words_free(words, n);
			emitted += n / 3;
			n = 0;
		}
	} while (more);
	LATH_ASSERT(emitted == set->count);
}

static void digest(struct vk_digest *out, void *value)
{
	const struct intervals *set = value;
	struct intervals_iter iter;
	struct found found;
	uint64_t n = 0;

	intervals_begin(&iter, set, ALL_INTERVALS);
	for (; intervals_next(&iter, &found); n++) {
		vk.DigestAddLongLong(out, (long long)found.first);
		vk.DigestAddLongLong(out, (long long)found.last);
		vk.DigestAddStringBuffer(out, found.value.data, found.value.size);
		vk.DigestEndSequence(out);
	}
	LATH_ASSERT(n == set->count);
}

static int defragment(struct vk_defrag *ctx, struct vk_string *name, void **value)
{
	(void)name;
	*value = defrag_block(ctx, *value);
	intervals_defragment(*value, ctx);
	return 0;
}

TYPE_METHODS(interval_methods, intervals, );
