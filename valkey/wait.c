/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * wait.c - the list of waiting clients, one timer for all of them, and one for the leases of a pool.
 */
#include "wait.h"

/* The farthest time of the timer, in ms from now: a server counts in microseconds. */
#define TIMER_MOST 3600000
#define NEVER UINT64_MAX

struct waiter {
	struct waiter *next, **link;
	struct vk_blocked *client;
	struct vk_string *name;
	int db;
	bool ended;   /* there is no such key any more: the reply says so */
	uint64_t due; /* when the timer looks at the key: it is gone, or a pause may be over */
};

/* By a hash of the name: a key that ends leads to those that wait for it. */
#define LISTS 1024
static struct waiter *waiters[LISTS];
static struct vk_ctx *own; /* for timers that are set outside of commands */
static uint64_t timer, timer_due = NEVER;

static struct waiter **list_of(const struct vk_string *name)
{
	return &waiters[hash_bytes(text_of(name)).low % LISTS];
}

static uint64_t now(void)
{
	return (uint64_t)vk.Milliseconds();
}

static void look(struct vk_ctx *ctx, void *unused);

/* Has the timer run at `due` at the latest. */
static void set_timer(uint64_t due)
{
	uint64_t time = now();
	int stopped;

	LATH_ASSERT(own); /* wait_prepare() has made it */
	if (due != NEVER && due > time + TIMER_MOST)
		due = time + TIMER_MOST; /* look() sets it again */
	if (due >= timer_due)
		return;
	if (timer_due != NEVER) {
		stopped = vk.StopTimer(own, timer, NULL);
		LATH_ASSERT(stopped == VK_OK); /* it is set, and look() has not run since */
		(void)stopped;
	}
	timer_due = due;
	timer = vk.CreateTimer(own, due > time ? (long long)(due - time) : 0, look, NULL);
}

static void set_due(struct waiter *waiter, uint64_t due)
{
	waiter->due = due;
	set_timer(due);
}

/* Looks at the key of one client: it is gone, or the client is to try again. */
static void look_at(struct vk_ctx *ctx, struct waiter *waiter)
{
	LATH_ASSERT(waiter->client && !waiter->ended); /* timed_out() of an ended one was called */
	waiter->due = NEVER;
	vk.SelectDb(ctx, waiter->db);
	if (vk.KeyExists(ctx, waiter->name)) {
		vk.SignalKeyAsReady(ctx, waiter->name);
	} else {
		waiter->ended = true;
		vk.UnblockClient(waiter->client, NULL); /* calls timed_out() at once */
	}
}

/* The timer. It runs between commands, so what it replicates is sent when it returns. */
static void look(struct vk_ctx *ctx, void *unused)
{
	struct waiter *waiter, *next;
	uint64_t time = now(), due = NEVER;
	bool paused = vk.AvoidReplicaTraffic();
	size_t i;

	(void)unused;
	timer_due = NEVER;
	for (i = 0; i < LISTS; i++)
		for (waiter = waiters[i]; waiter; waiter = next) {
			next = waiter->next;
			if (waiter->due <= time && !paused)
				look_at(ctx, waiter);
			if (waiter->due < due)
				due = waiter->due;
		}
	/* No replica may get anything before the pause is over: its end has no event. */
	if (paused && due < time + PAUSE_STEP)
		due = time + PAUSE_STEP;
	set_timer(due);
}

void wait_key_ended(const struct vk_string *name)
{
	struct bytes ended = text_of(name);
	struct waiter *waiter;

	for (waiter = *list_of(name); waiter; waiter = waiter->next)
		/* A key of that name in another database is looked at for nothing. */
		if (!compare_bytes(text_of(waiter->name), ended))
			set_due(waiter, 0);
}

/* After FLUSHDB, FLUSHALL and SWAPDB, for which servers do not name keys. */
static void databases_changed(struct vk_ctx *ctx, struct vk_event event, uint64_t sub, void *data)
{
	struct waiter *waiter;
	size_t i;

	(void)ctx;
	(void)data;
	if (event.id == VK_EVENT_FLUSHDB && sub != VK_FLUSHDB_END)
		return;
	for (i = 0; i < LISTS; i++)
		for (waiter = waiters[i]; waiter; waiter = waiter->next)
			set_due(waiter, 0);
}

/* The client is answered, timed out, or gone. */
static void end(struct vk_ctx *ctx, void *data)
{
	struct waiter *waiter = data;

	(void)ctx;
	LATH_ASSERT(*waiter->link == waiter &&
		    (!waiter->next || waiter->next->link == &waiter->next));
	*waiter->link = waiter->next;
	if (waiter->next)
		waiter->next->link = waiter->link;
	vk.FreeString(NULL, waiter->name);
	vk.Free(waiter);
}

static int timed_out(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	const struct waiter *waiter = vk.GetBlockedClientPrivateData(ctx);

	(void)argv;
	(void)argc;
	if (!waiter->ended)
		return reply_no_room(ctx);
	/* In a cluster the key may have moved, which a module is not told: a client of a cluster
	 * asks again, and the server redirects it, or says that there is none. */
	if (vk.GetContextFlags(ctx) & VK_CTX_CLUSTER)
		return reply_error(ctx, "TRYAGAIN no such pool here any longer");
	return reply_no_pool(ctx);
}

int wait_begin(struct vk_ctx *ctx, struct vk_string *name, uint64_t ms, vk_command_fn retry)
{
	struct waiter *waiter = vk.TryAlloc(sizeof(*waiter)), **list = list_of(name);
	struct bytes text = text_of(name);

	if (!waiter)
		return reply_no_memory(ctx);
	*waiter = (struct waiter){ .next = *list,
				   .link = list,
				   .name = vk.CreateString(NULL, text.data, text.size),
				   .db = vk.GetSelectedDb(ctx),
				   .due = NEVER };
	if (*list)
		(*list)->link = &waiter->next;
	*list = waiter;
	waiter->client =
		vk.BlockClientOnKeys(ctx, retry, timed_out, end, (long long)ms, &name, 1, waiter);
	LATH_ASSERT(waiter->client); /* alloc_command() blocks no client that must not be */
	return VK_OK;
}

bool wait_is_paused(struct vk_ctx *ctx)
{
	struct waiter *waiter = vk.GetBlockedClientPrivateData(ctx);

	LATH_ASSERT(waiter && *waiter->link == waiter && !waiter->ended);
	if (!vk.AvoidReplicaTraffic())
		return false;
	set_due(waiter, now() + PAUSE_STEP);
	return true;
}

/* ---- leases ---- */

struct lease_timer {
	struct vk_string *name;
	int db;
	uint64_t id;
};

static void lease_timer_end(struct lease_timer *lease)
{
	vk.FreeString(NULL, lease->name);
	vk.Free(lease);
}

static void leases_due(struct vk_ctx *ctx, void *data)
{
	struct lease_timer *lease = data;

	vk.SelectDb(ctx, lease->db);
	pool_end_leases(ctx, lease->name, lease->id);
	lease_timer_end(lease);
}

void wait_lease(struct vk_ctx *ctx, struct vk_string *name, uint64_t due, uint64_t *id)
{
	struct lease_timer *made = vk.TryAlloc(sizeof(*made));
	uint64_t time = now(), ms = due > time ? due - time : 0;
	struct bytes text = text_of(name);
	void *old;

	if (*id && vk.StopTimer(own, *id, &old) == VK_OK)
		lease_timer_end(old);
	*id = 0;
	if (!made)
		return;
	*made = (struct lease_timer){ vk.CreateString(NULL, text.data, text.size),
				      vk.GetSelectedDb(ctx), 0 };
	ms = ms < TIMER_MOST ? ms : TIMER_MOST; /* sooner than due: it is set again */
	made->id = *id = vk.CreateTimer(own, (long long)ms, leases_due, made);
}

int wait_prepare(struct vk_ctx *ctx)
{
	own = vk.GetDetachedThreadSafeContext(ctx);
	if (!own)
		return VK_ERR;
	return vk.SubscribeToServerEvent(ctx, (struct vk_event){ VK_EVENT_FLUSHDB, 1 },
					 databases_changed) ||
	       vk.SubscribeToServerEvent(ctx, (struct vk_event){ VK_EVENT_SWAPDB, 1 },
					 databases_changed);
}
