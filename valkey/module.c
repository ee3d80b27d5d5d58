/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * module.c - liblathwork-valkey.so as a server loads it: types, commands, configuration, INFO.
 */
#include <string.h>

#include "command.h"
#include "index.h"
#include "lathwork/error.h"
#include "wait.h"

struct vk_functions vk;

/* Of what replicas and append-only files get. 1: 0.1 and 0.2.0; 2: kinds in the write that makes a
 * map. It changes with what the release before does not know; files have a version per type. */
#define COMMAND_DIALECT 2

/* Retired nodes that one turn of the server's clock frees at most. */
#define CRON_STEP 1000

static void cron(struct vk_ctx *ctx, struct vk_event event, uint64_t sub, void *data)
{
	(void)ctx;
	(void)event;
	(void)sub;
	(void)data;
	lath_rcu_single_step(CRON_STEP);
}

static void info(struct vk_info *out, int crash)
{
	(void)crash;
	vk.InfoAddSection(out, ""); /* the module's name alone */
	vk.InfoAddFieldCString(out, "version", lath_version());
	vk.InfoAddFieldULongLong(out, "command_dialect", COMMAND_DIALECT);
	vk.InfoAddFieldCString(out, "acl_categories", vk.SetCommandACLCategories ? "set" : "none");
	vk.InfoAddFieldULongLong(out, "packed_entries", packed_entries);
	vk.InfoAddFieldULongLong(out, "index_bytes", server_memory_held());
	vk.InfoAddFieldULongLong(out, "ranges_allocated", pool_counts.allocated);
	vk.InfoAddFieldULongLong(out, "ranges_refused", pool_counts.refused);
	vk.InfoAddFieldULongLong(out, "leases_ended", pool_counts.leases_ended);
}

static long long get_packed(const char *name, void *data)
{
	(void)name;
	(void)data;
	return packed_entries;
}

static int set_packed(const char *name, long long value, void *data, struct vk_string **error)
{
	(void)name;
	(void)data;
	(void)error;
	LATH_ASSERT(value >= 0 && value <= PACKED_MOST); /* the limits that were registered */
	set_packed_entries((unsigned int)value);
	return VK_OK;
}

/* The first word of a context is the address of the function that finds functions. */
static int find_functions(struct vk_ctx *ctx)
{
	int (*get)(const char *name, void *function);
	int missing = 0;

	memcpy(&get, ctx, sizeof(get));
#define NEEDED(result, name, arguments) missing |= get("RedisModule_" #name, &vk.name);
#define OPTIONAL(result, name, arguments)        \
	if (get("RedisModule_" #name, &vk.name)) \
		vk.name = NULL;
	VK_FUNCTIONS(NEEDED, OPTIONAL)
#undef NEEDED
#undef OPTIONAL
	return missing;
}

static struct vk_type *make_type(struct vk_ctx *ctx, const char *name,
				 struct vk_type_methods *methods)
{
	return vk.CreateDataType(ctx, name, 1, methods);
}

/* What the module can cope with, of what this server knows. */
static int options(void)
{
	/* Redis 7.0 cannot be asked */
	int known = VK_OPTION_IO_ERRORS | VK_OPTION_ASYNC_LOAD | VK_OPTION_SIGNALS_ITSELF;

	if (vk.GetModuleOptionsAll)
		known = vk.GetModuleOptionsAll();
	return known & (VK_OPTION_IO_ERRORS | VK_OPTION_ASYNC_LOAD | VK_OPTION_SIGNALS_ITSELF |
			VK_OPTION_SLOT_MIGRATION | VK_OPTION_FORKLESS);
}

/* Redis 7.0 has no call that puts a module's commands into access categories. The module is of use
 * there all the same, so it is loaded, and says what that means for rights. */
static void warn_of_categories(struct vk_ctx *ctx)
{
	if (vk.SetCommandACLCategories)
		return;
	vk.Log(ctx, "warning",
	       "this server cannot put commands of modules into ACL categories: -@write does not "
	       "take LATH.* commands away, +@read does not grant them, and there is no @lathwork. "
	       "For users that only read use %%R~ key patterns, which cover LATH.* commands");
}

/* Called by the server. VK_OK | VK_ERR: the module is not loaded */
int RedisModule_OnLoad(struct vk_ctx *ctx, struct vk_string **argv, int argc);

__attribute__((visibility("default"))) int RedisModule_OnLoad(struct vk_ctx *ctx,
							      struct vk_string **argv, int argc)
{
	(void)argv;
	(void)argc;
	if (find_functions(ctx) || vk.IsModuleNameBusy("lathwork"))
		return VK_ERR;
	vk.SetModuleAttribs(
		ctx, "lathwork",
		LATH_VERSION_MAJOR * 10000 + LATH_VERSION_MINOR * 100 + LATH_VERSION_PATCH, 1);
	server_memory_begin();
	map_type = make_type(ctx, "lathwkmap", &map_methods);
	pool_type = make_type(ctx, "lathwkrng", &pool_methods);
	interval_type = make_type(ctx, "lathwkivl", &interval_methods);
	if (!map_type || !pool_type || !interval_type)
		return VK_ERR;
	if (vk.AddACLCategory)
		vk.AddACLCategory(ctx, "lathwork");
	if (commands_register(ctx, map_commands, map_commands_count) ||
	    commands_register(ctx, pool_commands, pool_commands_count) ||
	    commands_register(ctx, interval_commands, interval_commands_count))
		return VK_ERR;
	if (vk.RegisterNumericConfig(ctx, "packed-entries", PACKED_MOST, VK_CONFIG_DEFAULT, 0,
				     PACKED_MOST, get_packed, set_packed, NULL, NULL) ||
	    vk.LoadConfigs(ctx) || vk.RegisterInfoFunc(ctx, info) ||
	    vk.SubscribeToServerEvent(ctx, (struct vk_event){ VK_EVENT_CRON, 1 }, cron) ||
	    wait_prepare(ctx))
		return VK_ERR;
	vk.SetModuleOptions(ctx, options());
	warn_of_categories(ctx);
	return VK_OK;
}
