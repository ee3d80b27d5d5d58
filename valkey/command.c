/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * command.c - keys, arguments and replies of all commands.
 */
#include "command.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "lathwork/config.h"
#include "lathwork/error.h"
#include "lathwork/small.h"

/* Retired nodes that one command frees at most. */
#define STEP 64

bool open_key(struct opened *opened, struct vk_ctx *ctx, struct vk_string **argv, int mode,
	      const struct vk_type *type)
{
	*opened = (struct opened){ .ctx = ctx, .name = argv[1] };
	opened->key = vk.OpenKey(ctx, argv[1], mode);
	if (mode & VK_WRITE) {
		lath_rcu_single_step(STEP);
		if (!opened->key) { /* a server that saves this key on another thread */
			return refuse(ctx, "TRYAGAIN the key is being saved");
		}
	}
	if (!opened->key)
		return true;
	/* The type first: of a key that is there no other question is needed. */
	if (vk.ModuleTypeGetType(opened->key) == type) {
		opened->value = vk.ModuleTypeGetValue(opened->key);
		LATH_ASSERT(opened->value);
		return true;
	}
	if (vk.KeyType(opened->key) == VK_KEY_EMPTY)
		return true;
	vk.ReplyWithError(ctx, "WRONGTYPE Operation against a key holding the wrong kind of value");
	return false;
}

void close_key(struct opened *opened)
{
	/* a change that no replica gets, or a command in the replicas' stream for no change */
	LATH_ASSERT(opened->changed == opened->replicated);
	if (opened->key)
		vk.CloseKey(opened->key);
	opened->key = NULL;
}

void changed(struct opened *opened, const char *event)
{
	LATH_ASSERT(opened->key && opened->value);
	opened->changed = true;
	vk.SignalModifiedKey(opened->ctx, opened->name);
	vk.NotifyKeyspaceEvent(opened->ctx, VK_NOTIFY_MODULE, event, opened->name);
}

void end_key(struct opened *opened)
{
	LATH_ASSERT(opened->changed);
	vk.DeleteKey(opened->key);
	opened->value = NULL;
	vk.NotifyKeyspaceEvent(opened->ctx, VK_NOTIFY_GENERIC, "del", opened->name);
}

void replicate_call(struct opened *opened, const char *name, struct vk_string **argv, int argc)
{
	LATH_ASSERT(opened->changed); /* a command that did nothing leaves no trace */
	opened->replicated = true;
	if (text_of(argv[0]).size == strlen(name))
		vk.ReplicateVerbatim(opened->ctx);
	else
		vk.Replicate(opened->ctx, name, "v", argv + 1, (size_t)argc - 1);
}

struct vk_string *number_string(uint64_t number)
{
	char text[VALUE_TEXT];

	return vk.CreateString(NULL, text, number_print(text, number));
}

void words_free(struct vk_string **words, size_t n)
{
	while (n)
		vk.FreeString(NULL, words[--n]);
}

struct bytes text_of(const struct vk_string *string)
{
	struct bytes text;

	text.data = vk.StringPtrLen(string, &text.size);
	return text;
}

bool refuse(struct vk_ctx *ctx, const char *text)
{
	vk.ReplyWithError(ctx, text);
	return false;
}

static bool refuse_argument(struct vk_ctx *ctx, const char *what, const char *why)
{
	char error[100] = "ERR ";

	strncat(error, what, 40);
	strcat(error, why);
	return refuse(ctx, error);
}

bool want_number(struct vk_ctx *ctx, const struct vk_string *string, const char *what,
		 uint64_t *number)
{
	return number_read(text_of(string), number) ||
	       refuse_argument(ctx, what, " is not a number from 0 to 2^64 - 1");
}

bool want_positive(struct vk_ctx *ctx, const struct vk_string *string, const char *what,
		   uint64_t *number)
{
	return want_number(ctx, string, what, number) &&
	       (*number || refuse_argument(ctx, what, " is 0"));
}

bool want_text(struct vk_ctx *ctx, const struct vk_string *string, const char *what,
	       struct bytes *text)
{
	*text = text_of(string);
	return text->size <= VALUE_MAX ||
	       refuse_argument(ctx, what, " is longer than 2^30 - 1 bytes");
}

bool want_limit(struct vk_ctx *ctx, struct vk_string **argv, int argc, int *i, uint64_t *offset,
		uint64_t *count)
{
	struct bytes next;
	uint64_t number;

	*offset = 0;
	if (*i + 1 == argc)
		return refuse(ctx, SYNTAX);
	next = *i + 2 < argc ? text_of(argv[*i + 2]) : (struct bytes){ NULL, 0 };
	if (number_read(next, &number)) {
		if (!want_number(ctx, argv[*i + 1], "LIMIT", offset))
			return false;
		*count = number;
		*i += 2;
		return true;
	}
	return want_number(ctx, argv[++*i], "LIMIT", count);
}

int infinite_of(struct bytes text)
{
	if (text.size == 3 && !strncasecmp(text.data, "inf", 3))
		return 1;
	if (text.size != 4 || strncasecmp(text.data + 1, "inf", 3))
		return 0;
	return *text.data == '-' ? -1 : *text.data == '+';
}

bool is_word(const struct vk_string *string, const char *expected)
{
	struct bytes text = text_of(string);

	return text.size == strlen(expected) && !strncasecmp(text.data, expected, text.size);
}

int reply_error(struct vk_ctx *ctx, const char *text)
{
	return vk.ReplyWithError(ctx, text);
}

int reply_no_memory(struct vk_ctx *ctx)
{
	return vk.ReplyWithError(ctx, "OOM no memory");
}

int reply_failure(struct vk_ctx *ctx, int error)
{
	char text[200] = "ERR ";

	if (error == -ENOMEM)
		return reply_no_memory(ctx);
	strncat(text, lath_strerror(error), sizeof(text) - 5);
	return vk.ReplyWithError(ctx, text);
}

/* Integers that each double has. */
#define DOUBLE_INTEGERS (1ull << 53)

static bool in_script(struct vk_ctx *ctx)
{
	return vk.GetContextFlags(ctx) & VK_CTX_LUA;
}

void reply_number(struct vk_ctx *ctx, uint64_t number)
{
	char text[VALUE_TEXT];

	if (number >= DOUBLE_INTEGERS && in_script(ctx))
		vk.ReplyWithStringBuffer(ctx, text, number_print(text, number));
	else if (number <= INT64_MAX)
		vk.ReplyWithLongLong(ctx, (long long)number);
	else
		vk.ReplyWithBigNumber(ctx, text, number_print(text, number));
}

int reply_signed(struct vk_ctx *ctx, int64_t number)
{
	char text[VALUE_TEXT + 1];
	uint64_t distance = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;

	if (distance >= DOUBLE_INTEGERS && in_script(ctx))
		return vk.ReplyWithStringBuffer(ctx, text, signed_print(text, number));
	return vk.ReplyWithLongLong(ctx, number);
}

void reply_value(struct vk_ctx *ctx, word value)
{
	char text[VALUE_TEXT];
	struct bytes view = value_view(&value, text);

	vk.ReplyWithStringBuffer(ctx, view.data, view.size);
}

static bool buffer_grow(struct buffer *buffer, size_t size)
{
	size_t room = 4 * (buffer->size + size) + 1024; /* replies grow large or stay small */
	char *more = NULL;

	if (buffer->must)
		more = vk.Alloc(room);
	else if (!buffer->failed)
		more = vk.TryAlloc(room);
	if (!more) {
		buffer->failed = true;
		return false;
	}
	if (buffer->size)
		memcpy(more, buffer->data, buffer->size);
	vk.Free(buffer->data);
	buffer->data = more;
	buffer->room = room;
	return true;
}

void buffer_add(struct buffer *buffer, const void *data, size_t size)
{
	LATH_ASSERT(buffer->size <= buffer->room);
	if (!size || (buffer->room - buffer->size < size && !buffer_grow(buffer, size)))
		return;
	memcpy(buffer->data + buffer->size, data, size);
	buffer->size += size;
}

void buffer_free(struct buffer *buffer)
{
	vk.Free(buffer->data);
	*buffer = (struct buffer){ 0 };
}

void *defrag_block(struct vk_defrag *ctx, void *block)
{
	void *moved = block ? vk.DefragAlloc(ctx, block) : NULL;

	return moved ? moved : block;
}

static void *move_block(void *ctx, void *block, size_t size)
{
	(void)size;
	return defrag_block(ctx, block);
}

void defrag_small(struct vk_defrag *ctx, struct lath_small *small)
{
	lath_small_move(small, move_block, ctx);
}

word defrag_value(struct vk_defrag *ctx, word value)
{
	return value_owns(value) ? (word)(uintptr_t)defrag_block(ctx, (void *)(uintptr_t)value)
				 : value;
}

uint64_t defrag_begin(struct vk_defrag *ctx)
{
	unsigned long cursor = 0;

	return vk.DefragCursorGet(ctx, &cursor) == VK_OK ? cursor : 0;
}

bool defrag_pause(struct vk_defrag *ctx, uint64_t from)
{
	LATH_ASSERT(from); /* a cursor of 0 is a new beginning */
	return vk.DefragShouldStop(ctx) && vk.DefragCursorSet(ctx, from) == VK_OK;
}
