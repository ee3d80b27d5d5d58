/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * api.h - the part of the module interface of Valkey and Redis (7.0 and later) that this module
 * uses.
 *
 * Declarations of our own: names, argument types and numbers are the interface itself, as
 * https://valkey.io/topics/modules-api-ref/ documents it. Both servers export their functions by
 * the names RedisModule_*; a server that lacks one of the optional ones leaves its pointer NULL.
 * `./run test-valkey servers` compares all of it with the headers of Redis 7.0 and 8.0 and
 * Valkey 9.1.
 */
#ifndef LATH_VALKEY_API_H
#define LATH_VALKEY_API_H

#include <stddef.h>
#include <stdint.h>

enum { VK_OK = 0, VK_ERR = 1 };
enum { VK_READ = 1, VK_WRITE = 2 };
enum { VK_KEY_EMPTY = 0, VK_KEY_MODULE = 6 };
enum { VK_NOTIFY_GENERIC = 1 << 2, VK_NOTIFY_MODULE = 1 << 13 };
enum {
	VK_CTX_LUA = 1 << 0,
	VK_CTX_MULTI = 1 << 1,
	VK_CTX_PRIMARY = 1 << 2,
	VK_CTX_CLUSTER = 1 << 5,
	VK_CTX_LOADING = 1 << 13,
	VK_CTX_REPLICATED = 1 << 12, /* also: the command comes with a slot that moves here */
	VK_CTX_DENY_BLOCKING = 1 << 21,
	VK_CTX_RESP3 = 1 << 22,
};
/* What a module can cope with: I/O errors; a load while the old keys are still read; slots that
 * move while they are written (Valkey 9.0); saves on another thread (Valkey 9.2). And that the
 * module says itself which keys it modified: otherwise all that were open for writing count as
 * modified. */
enum {
	VK_OPTION_IO_ERRORS = 1 << 0,
	VK_OPTION_SIGNALS_ITSELF = 1 << 1,
	VK_OPTION_ASYNC_LOAD = 1 << 2,
	VK_OPTION_SLOT_MIGRATION = 1 << 5,
	VK_OPTION_FORKLESS = 1 << 6,
};
enum { VK_LENGTH_LATER = -1, VK_TYPE_METHODS = 4 };
enum { VK_EVENT_FLUSHDB = 2, VK_EVENT_CRON = 8, VK_EVENT_SWAPDB = 11 };
enum { VK_FLUSHDB_END = 1 };
enum { VK_CONFIG_DEFAULT = 0 };

struct vk_ctx;
struct vk_string;
struct vk_key;
struct vk_io;
struct vk_type;
struct vk_command;
struct vk_digest;
struct vk_defrag;
struct vk_info;
struct vk_key_ctx;
struct vk_blocked;

struct vk_event {
	uint64_t id, version;
};

typedef int (*vk_command_fn)(struct vk_ctx *ctx, struct vk_string **argv, int argc);
typedef void (*vk_info_fn)(struct vk_info *info, int crash);
typedef void (*vk_timer_fn)(struct vk_ctx *ctx, void *data);
typedef void (*vk_event_fn)(struct vk_ctx *ctx, struct vk_event event, uint64_t sub, void *data);
typedef long long (*vk_number_get_fn)(const char *name, void *data);
typedef int (*vk_number_set_fn)(const char *name, long long value, void *data,
				struct vk_string **error);

/* A type's functions. `version` says how many of them there are: 4 is Redis 7.0. */
struct vk_type_methods {
	uint64_t version;
	void *(*rdb_load)(struct vk_io *rdb, int version);
	void (*rdb_save)(struct vk_io *rdb, void *value);
	void (*aof_rewrite)(struct vk_io *aof, struct vk_string *key, void *value);
	size_t (*mem_usage)(const void *value);
	void (*digest)(struct vk_digest *digest, void *value);
	void (*free)(void *value);
	int (*aux_load)(struct vk_io *rdb, int version, int when);
	void (*aux_save)(struct vk_io *rdb, int when);
	int aux_save_triggers;
	size_t (*free_effort)(struct vk_string *key, const void *value);
	void (*unlink)(struct vk_string *key, const void *value);
	void *(*copy)(struct vk_string *from, struct vk_string *to, const void *value);
	int (*defrag)(struct vk_defrag *ctx, struct vk_string *key, void **value);
	size_t (*mem_usage2)(struct vk_key_ctx *ctx, const void *value, size_t samples);
	size_t (*free_effort2)(struct vk_key_ctx *ctx, const void *value);
	void (*unlink2)(struct vk_key_ctx *ctx, const void *value);
	void *(*copy2)(struct vk_key_ctx *ctx, const void *value);
};

/* ---- documentation of commands ---- */

enum vk_arg_type {
	VK_ARG_STRING,
	VK_ARG_INTEGER,
	VK_ARG_DOUBLE,
	VK_ARG_KEY,
	VK_ARG_PATTERN,
	VK_ARG_TIME,
	VK_ARG_TOKEN,
	VK_ARG_ONEOF,
	VK_ARG_BLOCK,
};
enum { VK_ARG_OPTIONAL = 1, VK_ARG_MULTIPLE = 2 };

struct vk_arg {
	const char *name;
	enum vk_arg_type type;
	int key_spec;
	const char *token, *summary, *since;
	int flags;
	const char *deprecated_since;
	struct vk_arg *args;
	const char *display; /* from Redis 7.2 on; Valkey reads it whatever size it is told */
};

enum {
	VK_SPEC_READ = 1 << 0,
	VK_SPEC_CHANGE = 1 << 1,
	VK_SPEC_ACCESS = 1 << 4,
	VK_SPEC_UPDATE = 1 << 5,
	VK_SPEC_INSERT = 1 << 6,
	VK_SPEC_DELETE = 1 << 7,
};
enum { VK_BEGIN_INDEX = 2, VK_FIND_RANGE = 2 };

struct vk_key_spec {
	const char *notes;
	uint64_t flags;
	int begin; /* VK_BEGIN_INDEX; 0 ends the array */
	union {
		int position;
		struct {
			const char *word;
			int from;
		} keyword;
	} at;
	int find; /* VK_FIND_RANGE */
	struct {
		int last, step, limit;
	} range;
};

struct vk_history {
	const char *since, *changes;
};

struct vk_command_info_version {
	int version;
	size_t history, key_spec, arg; /* their sizes */
};

struct vk_command_info {
	const struct vk_command_info_version *version;
	const char *summary, *complexity, *since;
	struct vk_history *history;
	const char *tips;
	int arity;
	struct vk_key_spec *key_specs;
	struct vk_arg *args;
};

/* ---- functions ---- */

/* F(result, name, arguments) for each function that both servers have, O for the others */
#define VK_FUNCTIONS(F, O)                                                                    \
	F(void *, Alloc, (size_t))                                                            \
	F(void *, TryAlloc, (size_t))                                                         \
	F(void *, Realloc, (void *, size_t))                                                  \
	F(void, Free, (void *))                                                               \
	F(void, SetModuleAttribs, (struct vk_ctx *, const char *, int, int))                  \
	F(int, IsModuleNameBusy, (const char *))                                              \
	F(int, CreateCommand,                                                                 \
	  (struct vk_ctx *, const char *, vk_command_fn, const char *, int, int, int))        \
	F(struct vk_command *, GetCommand, (struct vk_ctx *, const char *))                   \
	F(int, SetCommandInfo, (struct vk_command *, const struct vk_command_info *))         \
	O(int, SetCommandACLCategories, (struct vk_command *, const char *))                  \
	O(int, AddACLCategory, (struct vk_ctx *, const char *))                               \
	F(int, WrongArity, (struct vk_ctx *))                                                 \
	F(int, ReplyWithLongLong, (struct vk_ctx *, long long))                               \
	F(int, ReplyWithError, (struct vk_ctx *, const char *))                               \
	F(int, ReplyWithSimpleString, (struct vk_ctx *, const char *))                        \
	F(int, ReplyWithArray, (struct vk_ctx *, long))                                       \
	F(int, ReplyWithMap, (struct vk_ctx *, long))                                         \
	F(void, ReplySetArrayLength, (struct vk_ctx *, long))                                 \
	F(int, ReplyWithStringBuffer, (struct vk_ctx *, const char *, size_t))                \
	F(int, ReplyWithNull, (struct vk_ctx *))                                              \
	F(int, ReplyWithDouble, (struct vk_ctx *, double))                                    \
	F(int, ReplyWithBigNumber, (struct vk_ctx *, const char *, size_t))                   \
	F(struct vk_string *, CreateString, (struct vk_ctx *, const char *, size_t))          \
	F(void, FreeString, (struct vk_ctx *, struct vk_string *))                            \
	F(const char *, StringPtrLen, (const struct vk_string *, size_t *))                   \
	F(struct vk_key *, OpenKey, (struct vk_ctx *, struct vk_string *, int))               \
	F(void, CloseKey, (struct vk_key *))                                                  \
	F(int, KeyType, (struct vk_key *))                                                    \
	F(int, DeleteKey, (struct vk_key *))                                                  \
	F(struct vk_type *, CreateDataType,                                                   \
	  (struct vk_ctx *, const char *, int, struct vk_type_methods *))                     \
	F(int, ModuleTypeSetValue, (struct vk_key *, struct vk_type *, void *))               \
	F(struct vk_type *, ModuleTypeGetType, (struct vk_key *))                             \
	F(void *, ModuleTypeGetValue, (struct vk_key *))                                      \
	F(void, SaveUnsigned, (struct vk_io *, uint64_t))                                     \
	F(uint64_t, LoadUnsigned, (struct vk_io *))                                           \
	F(void, SaveStringBuffer, (struct vk_io *, const char *, size_t))                     \
	F(char *, LoadStringBuffer, (struct vk_io *, size_t *))                               \
	F(int, IsIOError, (struct vk_io *))                                                   \
	F(void, Log, (struct vk_ctx *, const char *, const char *, ...))                      \
	F(void, LogIOError, (struct vk_io *, const char *, const char *, ...))                \
	F(void, EmitAOF, (struct vk_io *, const char *, const char *, ...))                   \
	F(void, DigestAddStringBuffer, (struct vk_digest *, const char *, size_t))            \
	F(void, DigestAddLongLong, (struct vk_digest *, long long))                           \
	F(void, DigestEndSequence, (struct vk_digest *))                                      \
	F(int, Replicate, (struct vk_ctx *, const char *, const char *, ...))                 \
	F(int, ReplicateVerbatim, (struct vk_ctx *))                                          \
	F(int, AvoidReplicaTraffic, (void))                                                   \
	F(int, GetContextFlags, (struct vk_ctx *))                                            \
	F(long long, Milliseconds, (void))                                                    \
	F(int, SignalModifiedKey, (struct vk_ctx *, struct vk_string *))                      \
	F(int, NotifyKeyspaceEvent, (struct vk_ctx *, int, const char *, struct vk_string *)) \
	F(void, SetModuleOptions, (struct vk_ctx *, int))                                     \
	O(int, GetModuleOptionsAll, (void))                                                   \
	F(uint64_t, CreateTimer, (struct vk_ctx *, long long, vk_timer_fn, void *))           \
	F(int, StopTimer, (struct vk_ctx *, uint64_t, void **))                               \
	F(struct vk_ctx *, GetDetachedThreadSafeContext, (struct vk_ctx *))                   \
	F(int, GetSelectedDb, (struct vk_ctx *))                                              \
	F(int, SelectDb, (struct vk_ctx *, int))                                              \
	F(int, KeyExists, (struct vk_ctx *, struct vk_string *))                              \
	F(int, SubscribeToServerEvent, (struct vk_ctx *, struct vk_event, vk_event_fn))       \
	F(int, RegisterInfoFunc, (struct vk_ctx *, vk_info_fn))                               \
	F(int, InfoAddSection, (struct vk_info *, const char *))                              \
	F(int, InfoAddFieldULongLong, (struct vk_info *, const char *, unsigned long long))   \
	F(int, InfoAddFieldCString, (struct vk_info *, const char *, const char *))           \
	F(int, RegisterNumericConfig,                                                         \
	  (struct vk_ctx *, const char *, long long, unsigned int, long long, long long,      \
	   vk_number_get_fn, vk_number_set_fn, void *, void *))                               \
	F(int, LoadConfigs, (struct vk_ctx *))                                                \
	F(struct vk_blocked *, BlockClientOnKeys,                                             \
	  (struct vk_ctx *, vk_command_fn, vk_command_fn, void (*)(struct vk_ctx *, void *),  \
	   long long, struct vk_string **, int, void *))                                      \
	F(int, UnblockClient, (struct vk_blocked *, void *))                                  \
	F(void, SignalKeyAsReady, (struct vk_ctx *, struct vk_string *))                      \
	F(void *, GetBlockedClientPrivateData, (struct vk_ctx *))                             \
	F(void *, DefragAlloc, (struct vk_defrag *, void *))                                  \
	F(int, DefragShouldStop, (struct vk_defrag *))                                        \
	F(int, DefragCursorSet, (struct vk_defrag *, unsigned long))                          \
	F(int, DefragCursorGet, (struct vk_defrag *, unsigned long *))

#define VK_MEMBER(result, name, arguments) result(*name) arguments;
/* The server's functions, set when the module is loaded and constant from then on. */
extern struct vk_functions {
	VK_FUNCTIONS(VK_MEMBER, VK_MEMBER)
} vk;
#undef VK_MEMBER

#endif /* LATH_VALKEY_API_H */
