/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * command.h - what all commands share: arguments, keys, replies, and how a command is described.
 */
#ifndef LATH_VALKEY_COMMAND_H
#define LATH_VALKEY_COMMAND_H

#include <limits.h>

#include "api.h"
#include "value.h"

/* ---- the list of commands ---- */

enum command_flags {
	COMMAND_READ = 0,
	COMMAND_CHANGE = 1 << 0, /* replaces or removes what is there */
	COMMAND_ADD = 1 << 1,	 /* may add: refused when the server is out of memory */
	COMMAND_UPDATE = 1 << 5, /* changes and neither adds nor removes */
	COMMAND_FAST = 1 << 2,	 /* constant or logarithmic time */
	COMMAND_BLOCKS = 1 << 3,
	COMMAND_TELLS =
		1 << 4, /* changes, and replies with what the key held: needs the right to read */
};

struct command {
	const char *
		name; /* with two dots, as replicas and files get it; another has the first one alone */
	vk_command_fn run;
	unsigned int flags;
	const char *usage; /* the arguments as people write them, from which COMMAND DOCS is made:
			      [optional], (one|of|these), WORD, name, name:integer, ... repeats.
			      "": a command without a key */
	const char *complexity, *summary;
};

/* VK_OK | VK_ERR */
int commands_register(struct vk_ctx *ctx, const struct command *commands, size_t n);
/* Replies to HELP: the arguments and the purpose of each command. */
int reply_help(struct vk_ctx *ctx, int argc, const struct command *commands, size_t n);
extern const struct command map_commands[], pool_commands[], interval_commands[];
extern const size_t map_commands_count, pool_commands_count, interval_commands_count;

/* ---- types ---- */

extern struct vk_type *map_type, *pool_type, *interval_type;
extern struct vk_type_methods map_methods, pool_methods, interval_methods;

/* Since the module was loaded, for INFO. */
extern struct pool_counts {
	uint64_t allocated;    /* ranges that ALLOC placed */
	uint64_t refused;      /* answers of ALLOC that there is no room */
	uint64_t leases_ended; /* ranges that were freed because their lease was over */
} pool_counts;

/* ---- keys ---- */

struct opened {
	struct vk_ctx *ctx;
	struct vk_string *name;
	struct vk_key *key; /* NULL: read, and there is none */
	void *value;	    /* NULL: there is none */
	bool changed,
		replicated; /* by changed() and replicate(): both or neither, when it closes */
};

/* Opens the key argv[1] for VK_READ or VK_WRITE. false: it has another type, or cannot be written
 * now, and the reply says so. The key is closed at the end of the scope of OPENED(name). */
bool open_key(struct opened *opened, struct vk_ctx *ctx, struct vk_string **argv, int mode,
	      const struct vk_type *type);
void close_key(struct opened *opened);
#define OPENED(name) __attribute__((cleanup(close_key))) struct opened name = { 0 }
enum { TO_READ = VK_READ, TO_WRITE = VK_READ | VK_WRITE, ANY_NUMBER = INT_MAX };

/* Begins the command `name`, of least to most words: what follows it is run with `opened` while
 * `opens`, an expression of that name, is true. */
#define COMMAND(linkage, name, least, most, opens)                                        \
	static int name##_opened(struct vk_ctx *ctx, struct opened *opened,               \
				 struct vk_string **argv, int argc);                      \
	linkage int name##_command(struct vk_ctx *ctx, struct vk_string **argv, int argc) \
	{                                                                                 \
		OPENED(key);                                                              \
		struct opened *opened = &key;                                             \
                                                                                          \
		if (argc < (least) || argc > (most))                                      \
			return vk.WrongArity(ctx);                                        \
		return opens ? name##_opened(ctx, opened, argv, argc) : VK_OK;            \
	}                                                                                 \
	static int name##_opened(__attribute__((unused)) struct vk_ctx *ctx,              \
				 __attribute__((unused)) struct opened *opened,           \
				 __attribute__((unused)) struct vk_string **argv,         \
				 __attribute__((unused)) int argc)

/* After a change: tells watchers of the key. The caller replicates. */
void changed(struct opened *opened, const char *event);
/* Sends a command of the module's to replicas and the append-only file: a change of this key. */
#define replicate(opened, ...) \
	((opened)->replicated = true, vk.Replicate((opened)->ctx, __VA_ARGS__))
/* Removes a key that a change has left empty. */
void end_key(struct opened *opened);
/* Sends the command that runs, with all its arguments; `name`: with two dots. */
void replicate_call(struct opened *opened, const char *name, struct vk_string **argv, int argc);

/* Strings of the module's own, for commands that it sends. */
struct vk_string *number_string(uint64_t number);
void words_free(struct vk_string **words, size_t n);

/* ---- arguments ---- */

/* Replies with an error. Returns false, which functions want_...() return then. */
bool refuse(struct vk_ctx *ctx, const char *text);
#define SYNTAX "ERR syntax error"

struct bytes text_of(const struct vk_string *string);
/* false: it is none, and the reply says so */
bool want_number(struct vk_ctx *ctx, const struct vk_string *string, const char *what,
		 uint64_t *number);
/* The same of 1 and above. */
bool want_positive(struct vk_ctx *ctx, const struct vk_string *string, const char *what,
		   uint64_t *number);
/* A string to keep, of at most VALUE_MAX bytes. false: it is longer, and the reply says so */
bool want_text(struct vk_ctx *ctx, const struct vk_string *string, const char *what,
	       struct bytes *text);
/* The numbers behind the word LIMIT, which is argv[*i]: [offset] count. Sets *i to the last of
 * them. false: there is none, or it is not a number, and the reply says so */
bool want_limit(struct vk_ctx *ctx, struct vk_string **argv, int argc, int *i, uint64_t *offset,
		uint64_t *count);
/* -1: it is "-inf", 1: "inf" or "+inf", 0 */
int infinite_of(struct bytes text);
/* Compares without regard to upper and lower case. */
bool is_word(const struct vk_string *string, const char *word);

/* ---- replies ---- */

int reply_error(struct vk_ctx *ctx, const char *text);
int reply_no_memory(struct vk_ctx *ctx);
/* Replies to an error of the library (a negative errno) for which the command has no words of its
 * own: none is taken for another. */
int reply_failure(struct vk_ctx *ctx, int error);
/* An integer below 2^63, else a big number, which is a string in RESP2. In a script, whose numbers
 * are doubles, a string from 2^53 on. */
void reply_number(struct vk_ctx *ctx, uint64_t number);
/* An integer; in a script a string if a double cannot hold it. */
int reply_signed(struct vk_ctx *ctx, int64_t number);
void reply_value(struct vk_ctx *ctx, word value);

/* A block that grows; what is appended after a failure is ignored. With `must` there is no failure:
 * without memory the server ends. */
struct buffer {
	char *data;
	size_t size, room;
	bool failed, must;
};

void buffer_add(struct buffer *buffer, const void *data, size_t size);
void buffer_free(struct buffer *buffer);
#define BUFFER __attribute__((cleanup(buffer_free))) struct buffer

/* ---- defragmentation ---- */

/* Moves a block if the server's allocator has a better place for it. Returns where it is now. */
void *defrag_block(struct vk_defrag *ctx, void *block);
/* Likewise for the block of a small container, if it has one. */
struct lath_small;
void defrag_small(struct vk_defrag *ctx, struct lath_small *small);
/* Likewise for the block that a value owns, if it owns one. */
word defrag_value(struct vk_defrag *ctx, word value);
/* Where the last call for this key stopped; 0: this is the first one. */
uint64_t defrag_begin(struct vk_defrag *ctx);
/* Asks whether it is time to stop, and if so, notes where to go on. `from` is not 0. */
bool defrag_pause(struct vk_defrag *ctx, uint64_t from);

#endif /* LATH_VALKEY_COMMAND_H */
