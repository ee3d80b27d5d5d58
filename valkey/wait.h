/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * wait.h - clients that wait for room in a pool, and timers that end leases.
 *
 * A server calls the retry of a client that waits when the key is signalled as ready, and only if
 * there is a key of that name. Redis 7.0 stops if a retry has effects (replicates) and then says
 * that the client cannot be served; both servers stop if anything is replicated while clients are
 * paused. Hence:
 *
 * - a retry only takes room that is there; if it serves nobody it changes nothing;
 * - leases end in commands and in timers of this file, which a pause postpones;
 * - clients whose key is no longer there are told by that timer, never by the callback that
 *   notices the end of a key: that one may run in the middle of any command.
 *
 * Threads: the server's main thread only.
 */
#ifndef LATH_VALKEY_WAIT_H
#define LATH_VALKEY_WAIT_H

#include "command.h"

/* ms after which a pause of clients is looked at again */
#define PAUSE_STEP 20

/* Prepares for waiting clients when the module is loaded. VK_OK | VK_ERR */
int wait_prepare(struct vk_ctx *ctx);

/* Blocks the client of ctx until its key `name` is signalled and `retry` returns VK_OK, or for ms
 * milliseconds; 0: for ever. Replies if there is no memory. */
int wait_begin(struct vk_ctx *ctx, struct vk_string *name, uint64_t ms, vk_command_fn retry);
/* In a retry: nothing may change now, since clients are paused; arranges for another retry. */
bool wait_is_paused(struct vk_ctx *ctx);
/* A key of this name went, or its value was replaced: the timer looks at it soon. */
void wait_key_ended(const struct vk_string *name);

/* Of pools: replies to a client whose time is over, and to a new one. */
int reply_no_pool(struct vk_ctx *ctx);
int reply_no_room(struct vk_ctx *ctx);
/* Sets the timer of the pool at the key `name` to `due`, ms since 1970, in the place of *id. A
 * pool that is moved to another name gets one when a command comes to it there. */
void wait_lease(struct vk_ctx *ctx, struct vk_string *name, uint64_t due, uint64_t *id);
/* Of pools: ends leases that are over in the key `name`, if it is a pool with this timer, which has
 * ended, and leases end here; sets the next one. */
void pool_end_leases(struct vk_ctx *ctx, struct vk_string *name, uint64_t timer);

#endif /* LATH_VALKEY_WAIT_H */
