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

void image_put_text(struct buffer *out, struct bytes text)
{
	uint64_t number;

	if (number_parse(text.data, text.size, &number) && !(number >> 62)) {
		image_put_number(out, number << 1 | 1);
		return;
	}
	image_put_number(out, (uint64_t)text.size << 1);
	buffer_add(out, text.data, text.size);
}

void image_put_value(struct buffer *out, word value)
{
	char text[VALUE_TEXT];

	if ((value & VALUE_KIND) == VALUE_NUMBER)
		image_put_number(out, (value >> 2) << 1 | 1);
	else
		image_put_text(out, value_view(&value, text));
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

static struct bytes take(struct image *image, uint64_t size)
{
	struct bytes bytes = { image->rest.data, size };

	if (image->bad || size > image->rest.size) {
		image->bad = true;
		return (struct bytes){ "", 0 };
	}
	image->rest.data += size;
	image->rest.size -= size;
	return bytes;
}

struct bytes image_bytes(struct image *image)
{
	return take(image, image_number(image));
}

struct bytes image_text(struct image *image, char *text)
{
	uint64_t head = image_number(image);

	if (image->bad || !(head & 1))
		return take(image, head >> 1);
	image->bad = head >> 63;
	return (struct bytes){ text, number_print(text, head >> 1) };
}

word image_value(struct image *image)
{
	char text[VALUE_TEXT];
	struct bytes bytes = image_text(image, text);
	word value = image->bad ? 0 : value_make(bytes.data, bytes.size);

	image->bad = image->bad || !value;
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
