/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* wait_cases.c - clients that wait: their list, the timer, what a server is asked for. */
#include <string.h>

#include "assert_cases.h"
#include "stub.h"
#include "wait.h"

static struct vk_ctx *const some_ctx = (struct vk_ctx *)(uintptr_t)8;
static struct vk_blocked *const some_client = (struct vk_blocked *)(uintptr_t)8;
static void (*gone)(struct vk_ctx *ctx, void *waiter);
static void *waiting;

static long long stub_clock(void)
{
	return 1000;
}

static struct vk_ctx *stub_detached(struct vk_ctx *ctx)
{
	return ctx;
}

static int stub_subscribe(struct vk_ctx *ctx, struct vk_event event, vk_event_fn run)
{
	(void)ctx;
	(void)event;
	(void)run;
	return VK_OK;
}

static struct vk_string *stub_create(struct vk_ctx *ctx, const char *data, size_t size)
{
	(void)ctx;
	(void)size;
	return (struct vk_string *)(uintptr_t)data;
}

static int stub_db(struct vk_ctx *ctx)
{
	(void)ctx;
	return 0;
}

static uint64_t stub_timer(struct vk_ctx *ctx, long long ms, vk_timer_fn run, void *data)
{
	(void)ctx;
	(void)ms;
	(void)run;
	(void)data;
	return 7;
}

static int stub_no_timer(struct vk_ctx *ctx, uint64_t timer, void **data)
{
	(void)ctx;
	(void)timer;
	(void)data;
	return VK_ERR;
}

static struct vk_blocked *stub_block(struct vk_ctx *ctx, vk_command_fn retry, vk_command_fn timeout,
				     void (*free_data)(struct vk_ctx *, void *), long long ms,
				     struct vk_string **names, int n, void *data)
{
	(void)ctx;
	(void)retry;
	(void)timeout;
	(void)ms;
	(void)names;
	(void)n;
	gone = free_data;
	waiting = data;
	return some_client;
}

static struct vk_blocked *stub_block_none(struct vk_ctx *ctx, vk_command_fn retry,
					  vk_command_fn timeout,
					  void (*free_data)(struct vk_ctx *, void *), long long ms,
					  struct vk_string **names, int n, void *data)
{
	stub_block(ctx, retry, timeout, free_data, ms, names, n, data);
	return NULL;
}

static void *stub_waiting(struct vk_ctx *ctx)
{
	(void)ctx;
	return waiting;
}

static void prepare_to_wait(bool prepare)
{
	stub_begin();
	vk.Milliseconds = stub_clock;
	vk.GetDetachedThreadSafeContext = stub_detached;
	vk.SubscribeToServerEvent = stub_subscribe;
	vk.CreateString = stub_create;
	vk.GetSelectedDb = stub_db;
	vk.CreateTimer = stub_timer;
	vk.StopTimer = stub_no_timer;
	vk.BlockClientOnKeys = stub_block;
	vk.GetBlockedClientPrivateData = stub_waiting;
	NEED(!prepare || !wait_prepare(some_ctx));
}

static void block_one(uint64_t due)
{
	static char name[] = "pool";

	NEED(wait_begin(some_ctx, (struct vk_string *)(void *)name, 0, due, NULL) == VK_OK);
}

static void waits_before_it_is_prepared(void)
{
	prepare_to_wait(false);
	block_one(2000);
}

static void blocks_no_client(void)
{
	prepare_to_wait(true);
	vk.BlockClientOnKeys = stub_block_none;
	block_one(2000);
}

static void timer_that_is_not_set(void)
{
	prepare_to_wait(true);
	block_one(2000);
	block_one(1500); /* earlier: the timer is set anew */
}

static void retry_of_nobody(void)
{
	prepare_to_wait(true);
	wait_until(some_ctx, 2000);
}

static void gone_out_of_the_list(void)
{
	void *copy[16] = { NULL };

	prepare_to_wait(true);
	block_one(2000);
	memcpy(copy, waiting, 2 * sizeof(void *)); /* its neighbours */
	gone(some_ctx, copy);
}

const struct assert_case wait_cases[] = {
	{ "wait: before it is prepared", waits_before_it_is_prepared, "valkey/wait.c", "own" },
	{ "wait: no client blocked", blocks_no_client, "valkey/wait.c", "waiter->client" },
	{ "wait: timer that is not set", timer_that_is_not_set, "valkey/wait.c",
	  "stopped == VK_OK" },
	{ "wait: retry of nobody", retry_of_nobody, "valkey/wait.c", "waiter && *waiter->link" },
	{ "wait: gone out of the list", gone_out_of_the_list, "valkey/wait.c",
	  "*waiter->link == waiter" },
	{ 0 },
};

const struct assert_case *const assert_tables[] = { valkey_cases, wait_cases, NULL };
