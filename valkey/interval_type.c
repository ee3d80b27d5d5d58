/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * interval_type.c - what the server does with sets of intervals.
 *
 * Saved: their number; blocks of up to IMAGE_BLOCK of them, in the order of the set: the first
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
	struct lath_interval interval;
	IMAGE_OUT(out);
	uint64_t n = 0;

	vk.SaveUnsigned(rdb, set->count);
	intervals_begin(&iter, set, overlapping(0, UINT64_MAX));
	while (intervals_next(&iter, &interval)) {
		image_put_number(&out, interval.first);
		image_put_number(&out, interval.end - interval.first);
		image_put_value(&out, interval.value);
		if (++n % IMAGE_BLOCK == 0 || n == set->count)
			image_flush(rdb, &out);
	}
	LATH_ASSERT(n == set->count &&
		    !out.size); /* what was announced, and all of it is written */
}

static void load_interval(struct image *image, struct intervals *set)
{
	uint64_t first = image_number(image), length = image_number(image), last;
	word value = image_value(image);

	if (__builtin_add_overflow(first, length, &last))
		image->bad = true;
	if (!image->bad)
		image->bad = intervals_add(set, first, last, value) != 1;
	else if (value)
		value_free(value);
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
	struct lath_interval interval;
	char text[VALUE_TEXT];
	size_t n = 0, i;
	uint64_t emitted = 0;
	bool more;

	intervals_begin(&iter, set, overlapping(0, UINT64_MAX));
	do {
		more = intervals_next(&iter, &interval);
		if (more) {
			struct bytes view;

			words[n++] =
				vk.CreateString(NULL, text, number_print(text, interval.first));
			words[n++] = vk.CreateString(NULL, text, number_print(text, interval.end));
			view = value_view(&interval.value, text);
			words[n++] = vk.CreateString(NULL, view.data, view.size);
		}
		if (n == 3 * IMAGE_BLOCK || (n && !more)) {
			vk.EmitAOF(aof, "LATH.INTERVAL.ADD", "sv", key, words, n);
			for (i = 0; i < n; i++)
				vk.FreeString(NULL, words[i]);
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
	struct lath_interval interval;
	char text[VALUE_TEXT];
	uint64_t n = 0;

	intervals_begin(&iter, set, overlapping(0, UINT64_MAX));
	for (; intervals_next(&iter, &interval); n++) {
		struct bytes view = value_view(&interval.value, text);

		vk.DigestAddLongLong(out, (long long)interval.first);
		vk.DigestAddLongLong(out, (long long)interval.end);
		vk.DigestAddStringBuffer(out, view.data, view.size);
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
