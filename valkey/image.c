/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * image.c - numbers and strings in blocks.
 */
#include "image.h"

#include <string.h>

void image_put_number(struct buffer *out, uint64_t number)
{
	unsigned char bytes[10];
	size_t size = 0;

	for (; number >= 128; number >>= 7)
		bytes[size++] = (unsigned char)(number | 128);
	bytes[size++] = (unsigned char)number;
	buffer_add(out, bytes, size);
}

void image_put_value(struct buffer *out, word value)
{
	char text[VALUE_TEXT];
	struct bytes view;

	if ((value & VALUE_KIND) == VALUE_NUMBER) {
		image_put_number(out, (value >> 2) << 1 | 1);
		return;
	}
	view = value_view(&value, text);
	image_put_number(out, (uint64_t)view.size << 1);
	buffer_add(out, view.data, view.size);
}

void image_flush(struct vk_io *rdb, struct buffer *out)
{
	LATH_ASSERT(!out->failed);
	vk.SaveStringBuffer(rdb, out->data ? out->data : "", out->size);
	out->size = 0;
}

bool image_block(struct image *image, struct vk_io *rdb)
{
	size_t size = 0;

	image->rdb = rdb;
	image->bad = image->bad || image->rest.size;
	vk.Free(image->block);
	image->block = image->bad ? NULL : vk.LoadStringBuffer(rdb, &size);
	image->bad = image->bad || !image->block || vk.IsIOError(rdb);
	image->rest = (struct bytes){ image->block, image->bad ? 0 : size };
	return !image->bad;
}

uint64_t image_plain(struct image *image, struct vk_io *rdb)
{
	uint64_t number = image->bad ? 0 : vk.LoadUnsigned(rdb);

	image->rdb = rdb;
	image->bad = image->bad || vk.IsIOError(rdb);
	return image->bad ? 0 : number;
}

uint64_t image_number(struct image *image)
{
	uint64_t number = 0;
	unsigned int shift;

	for (shift = 0; image->rest.size && shift < 64; shift += 7) {
		uint64_t byte = (unsigned char)*image->rest.data++;

		image->rest.size--;
		if ((byte & 127) << shift >> shift != (byte & 127))
			break;
		number |= (byte & 127) << shift;
		if (byte < 128)
			return number;
	}
	image->bad = true;
	return 0;
}

struct bytes image_bytes(struct image *image)
{
	uint64_t size = image_number(image);
	struct bytes bytes = { image->rest.data, size };

	if (image->bad || size > image->rest.size) {
		image->bad = true;
		return (struct bytes){ "", 0 };
	}
	image->rest.data += size;
	image->rest.size -= size;
	return bytes;
}

word image_value(struct image *image)
{
	uint64_t head = image_number(image), size = head >> 1;
	word value = 0;

	if (image->bad)
		return 0;
	if (head & 1) {
		image->bad = size >> 62;
		return image->bad ? 0 : size << 2 | VALUE_NUMBER;
	}
	if (size <= image->rest.size)
		value = value_make(image->rest.data, size);
	if (!value) {
		image->bad = true;
		return 0;
	}
	image->rest.data += size;
	image->rest.size -= size;
	return value;
}

bool image_end(struct image *image, const char *what)
{
	image->bad = image->bad || image->rest.size;
	vk.Free(image->block);
	image->block = NULL;
	if (image->bad && image->rdb)
		vk.LogIOError(image->rdb, "warning", "lathwork: %s cannot be loaded", what);
	return !image->bad;
}
