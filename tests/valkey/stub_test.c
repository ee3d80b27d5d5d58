/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The module's types under a stub of the server: memory that ends at any allocation, files that end
 * at any read, blocks that move at every step of a defragmentation, saves on another thread (a
 * server that saves without a fork), keys that cannot be opened.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "intervals.h"
#include "lathwork/config.h"
#include "map.h"
#include "pool.h"

#define MUST(condition)                                                                 \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                        \
		}                                                                       \
	} while (0)

struct vk_functions vk;

/* ---- memory ---- */

static long blocks;  /* allocated and not freed */
static long fail_in; /* the allocation that fails: 1 is the next; 0: none */
static bool failed;

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

struct vk_io {
	char *data;
	size_t size, at, room;
	long reads_left; /* -1: any number */
	bool error;
};

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

struct vk_digest {
	uint64_t sequence, all;
};

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

static uint64_t digest_of(const struct vk_type_methods *methods, void *value)
{
	struct vk_digest digest = { 0, 0 };

	methods->digest(&digest, value);
	return digest.all;
}

/* ---- defragmentation: every block moves, every third question stops it ---- */

struct vk_defrag {
	unsigned long cursor;
	bool late; /* the key is large: the server has a cursor for it, and stops the module */
	unsigned int asked, moved;
};

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

static char last_error[200];

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

static void begin(void)
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

/* ---- keys of each type ---- */

static word some_value(uint64_t i)
{
	char text[40];
	int size = snprintf(text, sizeof(text), i % 3 ? "%llu" : "a longer value %llu",
			    (unsigned long long)i);

	return value_make(text, (size_t)size);
}

/* One more entry. 0 | -ENOMEM | -ENOSPC */
static int add_to_map(void *value, uint64_t i)
{
	struct map *map = value;
	char text[40];
	struct map_key key = { i * 0x9e3779b97f4a7c15ull, { text, 0 } };

	key.string.size = (size_t)snprintf(text, sizeof(text), "%s%llu",
					   i % 2 ? "a beginning of many keys " : "",
					   (unsigned long long)(i * 7919 % 100003));
	return map_set(map, &key, some_value(i)) < 0 ? -ENOMEM : 0;
}

static int add_to_pool(void *value, uint64_t i)
{
	struct lath_hole_request want = { .size = i % 9 + 1, .align = 1ull << i % 4 };
	struct pool_range range = { 0 };
	char text[40];

	if (i % 2)
		range.owner =
			(struct bytes){ text, (size_t)snprintf(text, sizeof(text), "owner %llu",
							       (unsigned long long)i) };
	range.expires = i % 3 ? 0 : 1000 + i / 2;
	return pool_take(value, &want, &range);
}

static int add_interval(void *value, uint64_t i)
{
	uint64_t first = i * 0x9e3779b97f4a7c15ull >> 20;
	uint64_t last = i % 9 ? first + (1ull << i % 40) : UINT64_MAX;

	return intervals_add(value, first, last, some_value(i)) < 0 ? -ENOMEM : 0;
}

static void *make_numbers(void)
{
	return map_create(MAP_NUMBERS, false);
}

static void *make_strings(void)
{
	return map_create(MAP_STRINGS, true);
}

static void *make_pool(void)
{
	struct pool *pool = pool_create(100, 1 << 20);

	if (pool && pool_add(pool, 1ull << 40, 1 << 20)) {
		pool_free(pool);
		return NULL;
	}
	return pool;
}

static void *make_intervals(void)
{
	return intervals_create();
}

static const struct kind {
	struct vk_type_methods *methods;
	void *(*make)(void);
	int (*add)(void *value, uint64_t i);
	bool moving; /* defragmentation moves what entries own, in all forms */
} kinds[] = {
	{ &map_methods, make_numbers, add_to_map, true },
	{ &map_methods, make_strings, add_to_map, true },
	{ &pool_methods, make_pool, add_to_pool, true },
	{ &interval_methods, make_intervals, add_interval, false },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void *filled(const struct kind *kind, uint64_t n)
{
	void *value = kind->make();
	uint64_t i;

	MUST(value);
	for (i = 0; i < n; i++)
		MUST(!kind->add(value, i));
	return value;
}

/* ---- tests ---- */

/* Each allocation of each call fails once: the call fails and changes nothing, or succeeds. */
static void memory_ends(const struct kind *kind, uint64_t n)
{
	void *value = filled(kind, 0);
	uint64_t i, before, fails = 0;

	for (i = 0; i < n; i++) {
		long at = 1;

		before = digest_of(kind->methods, value);
		for (;; at++) {
			int ret;

			failed = false;
			fail_in = at;
			ret = kind->add(value, i);
			fail_in = 0;
			fails += failed;
			if (!ret)
				break;
			MUST(failed && ret == -ENOMEM);
			MUST(digest_of(kind->methods, value) == before);
		}
		MUST(digest_of(kind->methods, value) != before); /* it is new */
	}
	MUST(fails > n / 20);
	for (i = 1; i; i++) { /* a copy that cannot be made leaves nothing */
		long held = (lath_rcu_single_step(1000000), blocks);
		void *copy;

		failed = false;
		fail_in = (long)i;
		copy = kind->methods->copy(NULL, NULL, value);
		fail_in = 0;
		if (copy) {
			MUST(digest_of(kind->methods, copy) == digest_of(kind->methods, value));
			kind->methods->free(copy);
			if (!failed)
				break;
		} else {
			MUST(blocks == held);
		}
		i += i / 8;
	}
	kind->methods->free(value);
	lath_rcu_single_step(1000000);
	MUST(!blocks);
}

/* Reads fail one after the other, and then memory does. */
static void files_end(const struct kind *kind, uint64_t n)
{
	void *value = filled(kind, n), *loaded = NULL;
	struct vk_io file = { .reads_left = -1 };
	long held, i;

	kind->methods->rdb_save(&file, value);
	lath_rcu_single_step(1000000);
	held = blocks;
	for (i = 0; !loaded; i++) {
		file.at = 0;
		file.error = false;
		file.reads_left = i;
		loaded = kind->methods->rdb_load(&file, 1);
		MUST(loaded || (file.error && blocks == held));
	}
	MUST(digest_of(kind->methods, loaded) == digest_of(kind->methods, value));
	kind->methods->free(loaded);
	loaded = NULL;
	file.reads_left = -1;
	for (i = 1; !loaded; i += 1 + i / 8) {
		file.at = 0;
		fail_in = i;
		loaded = kind->methods->rdb_load(&file, 1);
		fail_in = 0;
		MUST(loaded || blocks == held);
	}
	kind->methods->free(loaded);
	MUST(!kind->methods->rdb_load(&file, 2)); /* of a later version */
	kind->methods->free(value);
	free(file.data);
	MUST(!blocks);
}

/* Bytes are changed: what is loaded is a key, or nothing is left of it. */
static void files_are_damaged(const struct kind *kind, uint64_t n, unsigned int rounds)
{
	void *value = filled(kind, n), *loaded;
	struct vk_io file = { .reads_left = -1 };
	unsigned int seed = 7, refused = 0, i;
	char *good;
	long held;

	kind->methods->rdb_save(&file, value);
	kind->methods->free(value);
	lath_rcu_single_step(1000000);
	held = blocks;
	good = malloc(file.size);
	MUST(good);
	memcpy(good, file.data, file.size);
	for (i = 0; i < rounds; i++) {
		unsigned int at = (unsigned int)rand_r(&seed) % (unsigned int)file.size;

		file.data[at] = (char)rand_r(&seed);
		file.at = 0;
		file.error = false;
		loaded = kind->methods->rdb_load(&file, 1);
		if (loaded)
			kind->methods->free(loaded);
		refused += !loaded;
		lath_rcu_single_step(1000000);
		MUST(blocks == held);
		file.data[at] = good[at];
	}
	MUST(refused > rounds / 20 && refused < rounds);
	free(good);
	free(file.data);
}

struct saving {
	const struct kind *kind;
	void *value;
	struct vk_io file;
};

static void *save(void *arg)
{
	struct saving *saving = arg;

	saving->kind->methods->rdb_save(&saving->file, saving->value);
	return NULL;
}

static void *end(void *arg)
{
	struct saving *saving = arg;

	saving->kind->methods->free(saving->value);
	return NULL;
}

/* One key is saved on another thread while others change; then it is freed on another thread. */
static void saves_on_another_thread(const struct kind *kind, uint64_t n)
{
	struct saving saving = { kind, filled(kind, n), { .reads_left = -1 } };
	uint64_t digest = digest_of(kind->methods, saving.value), i;
	void *other = filled(kind, 10), *loaded;
	pthread_t thread;

	MUST(!pthread_create(&thread, NULL, save, &saving));
	for (i = 10; i < n; i++) {
		MUST(!kind->add(other, i));
		lath_rcu_single_step(10);
	}
	pthread_join(thread, NULL);
	loaded = kind->methods->rdb_load(&saving.file, 1);
	MUST(loaded && digest_of(kind->methods, loaded) == digest);
	MUST(!pthread_create(&thread, NULL, end, &saving));
	kind->methods->free(loaded);
	for (; i < 2 * n; i++)
		MUST(!kind->add(other, i));
	pthread_join(thread, NULL);
	kind->methods->free(other);
	free(saving.file.data);
	lath_rcu_single_step(1000000);
	MUST(!blocks);
}

/* Owners are found, and leases end: by what points to the records of ranges. */
static void use_pool(struct pool *pool, uint64_t n)
{
	struct pool_range range, there;
	char text[40];
	uint64_t i;

	for (i = 1; i < n; i += 2) {
		struct bytes owner = { text, (size_t)snprintf(text, sizeof(text), "owner %llu",
							      (unsigned long long)i) };

		MUST(pool_owner(pool, owner, &range) && pool_find(pool, range.first, &there));
		MUST(!compare_bytes(owner, there.owner) && range.expires == there.expires);
	}
	for (i = 0; pool_first_lease(pool, &range); i++)
		MUST(pool_find(pool, range.first, &there) && there.expires == range.expires &&
		     !pool_give(pool, range.first));
	MUST(i > n / 4);
}

/* Blocks move, of large keys in steps between which the key changes. What `moving` says moves: the
 * blocks of values, records of ranges, strings. */
static void blocks_move(const struct kind *kind, uint64_t n, bool late)
{
	void *value = filled(kind, n);
	uint64_t digest = digest_of(kind->methods, value), more = n;
	struct vk_defrag ctx = { .late = late };
	unsigned int steps = 1;

	while (kind->methods->defrag(&ctx, NULL, &value)) {
		MUST(late && ctx.cursor && steps < 3 * n);
		if (steps++ % 5 == 0) {
			MUST(!kind->add(value, more++));
			digest = digest_of(kind->methods, value);
		}
		MUST(digest_of(kind->methods, value) == digest);
	}
	MUST(ctx.moved > (kind->moving ? n / 4 : 0));
	MUST(digest_of(kind->methods, value) == digest);
	for (; more < 2 * n; more++)
		MUST(!kind->add(value, more));
	if (kind->methods == &pool_methods)
		use_pool(value, n);
	kind->methods->free(value);
	lath_rcu_single_step(1000000);
	MUST(!blocks && !server_memory_held());
}

/* A server that saves without a fork opens no key for writing that is being saved. Every command
 * that writes says so, and does nothing: the stub has none of the functions that it would need. */
static unsigned int cannot_open(const struct command *commands, size_t n)
{
	static const char *const words[][5] = {
		{ "", "key" },
		{ "", "key", "1" },
		{ "", "key", "1", "2" },
		{ "", "key", "1", "2", "3" },
		{ "", "key", "MIN", "1" },
	};
	unsigned int writing = 0;
	size_t i, k;

	for (i = 0; i < n; i++) {
		if (!(commands[i].flags & (COMMAND_ADD | COMMAND_CHANGE)))
			continue;
		*last_error = 0;
		for (k = 0; k < sizeof(words) / sizeof(words[0]) && !*last_error; k++) {
			int argc = 2;

			while (argc < 5 && words[k][argc])
				argc++;
			commands[i].run(NULL, (struct vk_string **)(uintptr_t)words[k], argc);
		}
		MUST(!strncmp(last_error, "TRYAGAIN", 8));
		writing++;
	}
	return writing;
}

static int stub_arity(struct vk_ctx *ctx)
{
	(void)ctx;
	return VK_OK;
}

static void keys_that_cannot_be_opened(void)
{
	vk.WrongArity = stub_arity;
	MUST(cannot_open(map_commands, map_commands_count) == 8);
	MUST(cannot_open(pool_commands, pool_commands_count) == 7);
	MUST(cannot_open(interval_commands, interval_commands_count) == 3);
}

#ifdef LATH_FEW_STEPS
#define FEW 5
#else
#define FEW 1
#endif

int main(void)
{
	static const unsigned int packed[] = { PACKED_MOST, 3, 0 };
	size_t i, k;

	begin();
	for (k = 0; k < sizeof(packed) / sizeof(packed[0]); k++) {
		packed_entries = packed[k];
		for (i = 0; i < KINDS; i++) {
			memory_ends(&kinds[i], 300 / FEW);
			files_end(&kinds[i], 40);
			files_end(&kinds[i], 1500 / FEW);
			files_are_damaged(&kinds[i], 40, 2000 / FEW);
			saves_on_another_thread(&kinds[i], 5000);
			blocks_move(&kinds[i], 20, false);
			blocks_move(&kinds[i], 300, false);
			blocks_move(&kinds[i], 300, true);
		}
	}
	keys_that_cannot_be_opened();
	return 0;
}
