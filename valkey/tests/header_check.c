/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * header_check.c - api.h beside the header of a server: compiled, not run. Compile errors are
 * differences.
 *
 *   cc -fsyntax-only -Ivalkey -DHEADER='"redismodule.h"' -DNAME=RedisModule -DCONSTANT=REDISMODULE
 * \ valkey/tests/header_check.c
 */
#include HEADER

#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#define THEIRS(name) PASTE(NAME, name)
#define FUNCTION(name) PASTE(PASTE(NAME, _), name)
#define NUMBER(name) PASTE(PASTE(CONSTANT, _), name)

/* What is opaque has the same tag in both. */
#define vk_ctx THEIRS(Ctx)
#define vk_string THEIRS(String)
#define vk_key THEIRS(Key)
#define vk_io THEIRS(IO)
#define vk_type THEIRS(Type)
#define vk_command THEIRS(Command)
#define vk_digest THEIRS(Digest)
#define vk_defrag THEIRS(DefragCtx)
#define vk_info THEIRS(InfoCtx)
#define vk_key_ctx THEIRS(KeyOptCtx)
#define vk_blocked THEIRS(BlockedClient)
#include "api.h"

/* Where types differ in name only: their structs are compared below. A callback of
 * RegisterNumericConfig that is never given is a plain pointer. */
#define IS(name, other) !__builtin_strcmp(#name, other)
#define MAY_DIFFER(name)                                             \
	(IS(name, "CreateDataType") || IS(name, "SetCommandInfo") || \
	 IS(name, "SubscribeToServerEvent") || IS(name, "RegisterNumericConfig"))
#define SAME(result, name, arguments)                                                    \
	_Static_assert(MAY_DIFFER(name) ||                                               \
			       __builtin_types_compatible_p(__typeof__(vk.name),         \
							    __typeof__(FUNCTION(name))), \
		       "the function " #name);
#ifdef LATER /* a header that has the optional functions */
VK_FUNCTIONS(SAME, SAME)
#else
#define ABSENT(result, name, arguments)
VK_FUNCTIONS(SAME, ABSENT)
#endif

#define EQUAL(ours, theirs) _Static_assert((ours) == (theirs), #ours)
EQUAL(VK_OK, NUMBER(OK));
EQUAL(VK_ERR, NUMBER(ERR));
EQUAL(VK_READ, NUMBER(READ));
EQUAL(VK_WRITE, NUMBER(WRITE));
EQUAL(VK_KEY_EMPTY, NUMBER(KEYTYPE_EMPTY));
EQUAL(VK_KEY_MODULE, NUMBER(KEYTYPE_MODULE));
EQUAL(VK_NOTIFY_GENERIC, NUMBER(NOTIFY_GENERIC));
EQUAL(VK_NOTIFY_MODULE, NUMBER(NOTIFY_MODULE));
EQUAL(VK_CTX_LUA, NUMBER(CTX_FLAGS_LUA));
EQUAL(VK_CTX_MULTI, NUMBER(CTX_FLAGS_MULTI));
#ifdef VALKEYMODULE_CTX_FLAGS_PRIMARY
EQUAL(VK_CTX_PRIMARY, NUMBER(CTX_FLAGS_PRIMARY));
#else
EQUAL(VK_CTX_PRIMARY, NUMBER(CTX_FLAGS_MASTER));
#endif
EQUAL(VK_CTX_CLUSTER, NUMBER(CTX_FLAGS_CLUSTER));
EQUAL(VK_CTX_LOADING, NUMBER(CTX_FLAGS_LOADING));
EQUAL(VK_CTX_REPLICATED, NUMBER(CTX_FLAGS_REPLICATED));
EQUAL(VK_CTX_DENY_BLOCKING, NUMBER(CTX_FLAGS_DENY_BLOCKING));
EQUAL(VK_CTX_RESP3, NUMBER(CTX_FLAGS_RESP3));
EQUAL(VK_OPTION_IO_ERRORS, NUMBER(OPTIONS_HANDLE_IO_ERRORS));
EQUAL(VK_OPTION_SIGNALS_ITSELF, NUMBER(OPTION_NO_IMPLICIT_SIGNAL_MODIFIED));
EQUAL(VK_OPTION_ASYNC_LOAD, NUMBER(OPTIONS_HANDLE_REPL_ASYNC_LOAD));
#ifdef VALKEYMODULE_OPTIONS_HANDLE_ATOMIC_SLOT_MIGRATION
EQUAL(VK_OPTION_SLOT_MIGRATION, NUMBER(OPTIONS_HANDLE_ATOMIC_SLOT_MIGRATION));
#endif
EQUAL(VK_LENGTH_LATER, NUMBER(POSTPONED_LEN));
_Static_assert(VK_TYPE_METHODS <= NUMBER(TYPE_METHOD_VERSION), "the number of a type's functions");
EQUAL(VK_EVENT_FLUSHDB, NUMBER(EVENT_FLUSHDB));
EQUAL(VK_EVENT_CRON, NUMBER(EVENT_CRON_LOOP));
EQUAL(VK_EVENT_SWAPDB, NUMBER(EVENT_SWAPDB));
EQUAL(VK_FLUSHDB_END, NUMBER(SUBEVENT_FLUSHDB_END));
EQUAL(VK_CONFIG_DEFAULT, NUMBER(CONFIG_DEFAULT));
EQUAL((int)VK_ARG_STRING, (int)NUMBER(ARG_TYPE_STRING));
EQUAL((int)VK_ARG_INTEGER, (int)NUMBER(ARG_TYPE_INTEGER));
EQUAL((int)VK_ARG_DOUBLE, (int)NUMBER(ARG_TYPE_DOUBLE));
EQUAL((int)VK_ARG_KEY, (int)NUMBER(ARG_TYPE_KEY));
EQUAL((int)VK_ARG_PATTERN, (int)NUMBER(ARG_TYPE_PATTERN));
EQUAL((int)VK_ARG_TIME, (int)NUMBER(ARG_TYPE_UNIX_TIME));
EQUAL((int)VK_ARG_TOKEN, (int)NUMBER(ARG_TYPE_PURE_TOKEN));
EQUAL((int)VK_ARG_ONEOF, (int)NUMBER(ARG_TYPE_ONEOF));
EQUAL((int)VK_ARG_BLOCK, (int)NUMBER(ARG_TYPE_BLOCK));
EQUAL(VK_ARG_OPTIONAL, NUMBER(CMD_ARG_OPTIONAL));
EQUAL(VK_ARG_MULTIPLE, NUMBER(CMD_ARG_MULTIPLE));
EQUAL(VK_SPEC_READ, NUMBER(CMD_KEY_RO));
EQUAL(VK_SPEC_CHANGE, NUMBER(CMD_KEY_RW));
EQUAL(VK_SPEC_ACCESS, NUMBER(CMD_KEY_ACCESS));
EQUAL(VK_SPEC_UPDATE, NUMBER(CMD_KEY_UPDATE));
EQUAL(VK_SPEC_INSERT, NUMBER(CMD_KEY_INSERT));
EQUAL(VK_SPEC_DELETE, NUMBER(CMD_KEY_DELETE));
EQUAL((int)VK_BEGIN_INDEX, (int)NUMBER(KSPEC_BS_INDEX));
EQUAL((int)VK_FIND_RANGE, (int)NUMBER(KSPEC_FK_RANGE));

#define MEMBER(ours, member, theirs, other)                                                \
	_Static_assert(offsetof(struct ours, member) == offsetof(THEIRS(theirs), other) && \
			       sizeof(((struct ours *)0)->member) ==                       \
				       sizeof(((THEIRS(theirs) *)0)->other),               \
		       #ours "." #member)
MEMBER(vk_event, id, Event, id);
MEMBER(vk_event, version, Event, dataver);
MEMBER(vk_command_info_version, version, CommandInfoVersion, version);
MEMBER(vk_command_info_version, history, CommandInfoVersion, sizeof_historyentry);
MEMBER(vk_command_info_version, key_spec, CommandInfoVersion, sizeof_keyspec);
MEMBER(vk_command_info_version, arg, CommandInfoVersion, sizeof_arg);
MEMBER(vk_command_info, version, CommandInfo, version);
MEMBER(vk_command_info, summary, CommandInfo, summary);
MEMBER(vk_command_info, complexity, CommandInfo, complexity);
MEMBER(vk_command_info, since, CommandInfo, since);
MEMBER(vk_command_info, history, CommandInfo, history);
MEMBER(vk_command_info, tips, CommandInfo, tips);
MEMBER(vk_command_info, arity, CommandInfo, arity);
MEMBER(vk_command_info, key_specs, CommandInfo, key_specs);
MEMBER(vk_command_info, args, CommandInfo, args);
MEMBER(vk_history, since, CommandHistoryEntry, since);
MEMBER(vk_history, changes, CommandHistoryEntry, changes);
EQUAL(sizeof(struct vk_key_spec), sizeof(THEIRS(CommandKeySpec)));
MEMBER(vk_key_spec, notes, CommandKeySpec, notes);
MEMBER(vk_key_spec, flags, CommandKeySpec, flags);
MEMBER(vk_key_spec, begin, CommandKeySpec, begin_search_type);
MEMBER(vk_key_spec, at, CommandKeySpec, bs);
MEMBER(vk_key_spec, at.position, CommandKeySpec, bs.index.pos);
MEMBER(vk_key_spec, find, CommandKeySpec, find_keys_type);
MEMBER(vk_key_spec, range.last, CommandKeySpec, fk.range.lastkey);
MEMBER(vk_key_spec, range.step, CommandKeySpec, fk.range.keystep);
MEMBER(vk_key_spec, range.limit, CommandKeySpec, fk.range.limit);
MEMBER(vk_arg, name, CommandArg, name);
MEMBER(vk_arg, type, CommandArg, type);
MEMBER(vk_arg, key_spec, CommandArg, key_spec_index);
MEMBER(vk_arg, token, CommandArg, token);
MEMBER(vk_arg, summary, CommandArg, summary);
MEMBER(vk_arg, since, CommandArg, since);
MEMBER(vk_arg, flags, CommandArg, flags);
MEMBER(vk_arg, deprecated_since, CommandArg, deprecated_since);
MEMBER(vk_arg, args, CommandArg, subargs);
#ifdef LATER
MEMBER(vk_arg, display, CommandArg, display_text);
#endif
MEMBER(vk_type_methods, version, TypeMethods, version);
MEMBER(vk_type_methods, rdb_load, TypeMethods, rdb_load);
MEMBER(vk_type_methods, rdb_save, TypeMethods, rdb_save);
MEMBER(vk_type_methods, aof_rewrite, TypeMethods, aof_rewrite);
MEMBER(vk_type_methods, mem_usage, TypeMethods, mem_usage);
MEMBER(vk_type_methods, digest, TypeMethods, digest);
MEMBER(vk_type_methods, free, TypeMethods, free);
MEMBER(vk_type_methods, free_effort, TypeMethods, free_effort);
MEMBER(vk_type_methods, unlink, TypeMethods, unlink);
MEMBER(vk_type_methods, copy, TypeMethods, copy);
MEMBER(vk_type_methods, defrag, TypeMethods, defrag);
MEMBER(vk_type_methods, copy2, TypeMethods, copy2);
