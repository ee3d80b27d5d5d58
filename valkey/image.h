/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * image.h - keys in RDB files and DUMP payloads: blocks of variable-length numbers and strings.
 *
 * The server stores the version of the format with each key, and a checksum with each payload.
 * Loads trust neither: every number and length is checked, and whoever reads stops at the first
 * thing that no save writes.
 */
#ifndef LATH_VALKEY_IMAGE_H
#define LATH_VALKEY_IMAGE_H

#include "command.h"

/* Entries per block, hence what a load or save holds in memory beside the key. */
#define IMAGE_BLOCK 512

/* A block to save. A server cannot be told that a save failed, and what lacks a part would be a
 * file that does not load: without memory the process ends, as it does where the server itself has
 * none, and the file before stays. */
#define IMAGE_OUT(name) BUFFER name = { .must = true }

void image_put_number(struct buffer *out, uint64_t number);
void image_put_value(struct buffer *out, word value);
void image_put_text(struct buffer *out, struct bytes text);
/* Writes the block and empties it. */
void image_flush(struct vk_io *rdb, struct buffer *out);

/* A block that is being read. */
struct image {
	struct vk_io *rdb;
	char *block;
	struct bytes rest;
	bool bad; /* an I/O error, a damaged block, or no memory */
};

/* Reads the next block; what was left of the last one is an error. Returns !image->bad. */
bool image_block(struct image *image, struct vk_io *rdb);
/* Each returns 0 or nothing if the image is bad, or gets bad. */
uint64_t image_number(struct image *image);
struct bytes image_bytes(struct image *image);
word image_value(struct image *image);
/* The same as a string, in the block or in `text`, which has VALUE_TEXT bytes. */
struct bytes image_text(struct image *image, char *text);
/* A number beside the blocks. */
uint64_t image_plain(struct image *image, struct vk_io *rdb);
/* Ends the reading. false: the image was bad, or its last block holds more; logs that. */
bool image_end(struct image *image, const char *what);
#define IMAGE(name) struct image name = { 0 }

/* The methods of a type, of its load, save, rewrite, digest and defragment in this file and of the
 * calls whose names begin with `name`; further ones behind it. */
#define TYPE_METHODS(methods, name, ...)                                                   \
	static void *copy(struct vk_string *from, struct vk_string *to, const void *value) \
	{                                                                                  \
		(void)from;                                                                \
		(void)to;                                                                  \
		return name##_copy(value);                                                 \
	}                                                                                  \
	static size_t memory(const void *value)                                            \
	{                                                                                  \
		return name##_memory(value);                                               \
	}                                                                                  \
	static size_t effort(struct vk_string *key, const void *value)                     \
	{                                                                                  \
		(void)key;                                                                 \
		return name##_effort(value);                                               \
	}                                                                                  \
	static void end(void *value)                                                       \
	{                                                                                  \
		name##_free(value);                                                        \
	}                                                                                  \
	struct vk_type_methods methods = { .version = VK_TYPE_METHODS,                     \
					   .rdb_load = load,                               \
					   .rdb_save = save,                               \
					   .aof_rewrite = rewrite,                         \
					   .mem_usage = memory,                            \
					   .digest = digest,                               \
					   .free = end,                                    \
					   .free_effort = effort,                          \
					   .copy = copy,                                   \
					   .defrag = defragment,                           \
					   __VA_ARGS__ }

#endif /* LATH_VALKEY_IMAGE_H */
