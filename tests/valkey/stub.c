/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* stub.c - memory, files, digests, defragmentation, keys. */
#include "stub.h"

#include <string.h>

struct vk_functions vk;

/* ---- memory ---- */

long blocks, fail_in;
bool failed;

static void *stub_alloc(size_t size)
{
	void *block = malloc(size);

	MUST(block);
	__atomic_fetch_add(&blocks, 1, __ATOMIC_RELAXED);
	return block;
}

static void *stub_try(size_t size)
{
	if (fail_in && !--fail_in) {
		failed = true;
		return NULL;
	}
	return stub_alloc(size);
}

static void *stub_realloc(void *old, size_t size)
{
	void *block = realloc(old, size);

	MUST(block);
	if (!old)
		__atomic_fetch_add(&blocks, 1, __ATOMIC_RELAXED);
	return block;
}

static void stub_free(void *block)
{
	if (block)
		__atomic_fetch_sub(&blocks, 1, __ATOMIC_RELAXED);
	free(block);
}

/* ---- files ---- */

static void put(struct vk_io *io, const void *data, size_t size)
{
	if (io->room - io->size < size) {
		io->room = 2 * (io->size + size);
		io->data = realloc(io->data, io->room);
		MUST(io->data);
	}
	if (size)
		memcpy(io->data + io->size, data, size);
	io->size += size;
}

static bool get(struct vk_io *io, void *data, size_t size)
{
	if (io->error || io->size - io->at < size)
		io->error = true;
	else
		memcpy(data, io->data + io->at, size);
	io->at += io->error ? 0 : size;
	return !io->error;
}

static bool may_read(struct vk_io *io)
{
	if (!io->reads_left)
		io->error = true;
	else if (io->reads_left > 0)
		io->reads_left--;
	return !io->error;
}

static void stub_save_unsigned(struct vk_io *io, uint64_t value)
{
	put(io, &value, sizeof(value));
}

static uint64_t stub_load_unsigned(struct vk_io *io)
{
	uint64_t value = 0;

	return may_read(io) && get(io, &value, sizeof(value)) ? value : 0;
}

static void stub_save_string(struct vk_io *io, const char *data, size_t size)
{
	stub_save_unsigned(io, size);
	put(io, data, size);
}

static char *stub_load_string(struct vk_io *io, size_t *size)
{
	char *data;

	*size = stub_load_unsigned(io);
	if (io->error || io->size - io->at < *size) {
		io->error = true;
		return NULL;
	}
	data = stub_alloc(*size + 1);
	get(io, data, *size);
	return data;
}

static int stub_io_error(struct vk_io *io)
{
	return io->error;
}

static void stub_log(struct vk_io *io, const char *level, const char *format, ...)
{
	(void)io;
	(void)level;
	(void)format;
}

/* ---- digests ---- */

static void stub_digest_bytes(struct vk_digest *digest, const char *data, size_t size)
{
	while (size--)
		digest->sequence = (digest->sequence ^ (unsigned char)*data++) * 1099511628211ull;
	digest->sequence = (digest->sequence ^ 255) * 1099511628211ull;
}

static void stub_digest_number(struct vk_digest *digest, long long number)
{
	stub_digest_bytes(digest, (const char *)&number, sizeof(number));
}

static void stub_digest_end(struct vk_digest *digest)
{
	digest->all += digest->sequence * 0x9e3779b97f4a7c15ull;
	digest->sequence = 0;
}

uint64_t digest_of(const struct vk_type_methods *methods, void *value)
{
	struct vk_digest digest = { 0, 0 };

	methods->digest(&digest, value);
	return digest.all;
}

/* ---- defragmentation: every block moves, every third question stops it ---- */

/* malloc tells no size: the block becomes larger, and most often that is elsewhere. */
static void *stub_move(struct vk_defrag *ctx, void *block)
{
	void *moved = stub_realloc(block, 4000);

	ctx->moved++;
	return moved == block ? NULL : moved;
}

static int stub_should_stop(struct vk_defrag *ctx)
{
	return ctx->late && ++ctx->asked % 3 == 0;
}

static int stub_cursor_set(struct vk_defrag *ctx, unsigned long cursor)
{
	ctx->cursor = cursor;
	return ctx->late ? VK_OK : VK_ERR;
}

static int stub_cursor_get(struct vk_defrag *ctx, unsigned long *cursor)
{
	*cursor = ctx->cursor;
	return ctx->late ? VK_OK : VK_ERR;
}

/* ---- keys and replies ---- */

char last_error[200];

static struct vk_key *stub_no_key(struct vk_ctx *ctx, struct vk_string *name, int mode)
{
	(void)ctx;
	(void)name;
	(void)mode;
	return NULL;
}

static int stub_error(struct vk_ctx *ctx, const char *text)
{
	(void)ctx;
	snprintf(last_error, sizeof(last_error), "%s", text);
	return VK_OK;
}

static const char *stub_string(const struct vk_string *string, size_t *size)
{
	*size = strlen((const char *)string);
	return (const char *)string;
}

void stub_begin(void)
{
	vk.Alloc = stub_alloc;
	vk.TryAlloc = stub_try;
	vk.Realloc = stub_realloc;
	vk.Free = stub_free;
	vk.SaveUnsigned = stub_save_unsigned;
	vk.LoadUnsigned = stub_load_unsigned;
	vk.SaveStringBuffer = stub_save_string;
	vk.LoadStringBuffer = stub_load_string;
	vk.IsIOError = stub_io_error;
	vk.LogIOError = stub_log;
	vk.DigestAddStringBuffer = stub_digest_bytes;
	vk.DigestAddLongLong = stub_digest_number;
	vk.DigestEndSequence = stub_digest_end;
	vk.DefragAlloc = stub_move;
	vk.DefragShouldStop = stub_should_stop;
	vk.DefragCursorSet = stub_cursor_set;
	vk.DefragCursorGet = stub_cursor_get;
	vk.OpenKey = stub_no_key;
	vk.ReplyWithError = stub_error;
	vk.StringPtrLen = stub_string;
	server_memory_begin();
	MUST(!blocks);
}
