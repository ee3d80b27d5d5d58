/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* sys_cases.c - locks, calls (C1, C2 of sys/thread.h), read-side sections, threads, memory. */
#include "cases.h"

#include <stdlib.h>
#include <unistd.h>

#include "lathwork/config.h"
#include "sys/sys.h"

static struct lath_spinlock lock;

static void lock_outside_a_call(void)
{
	lath_spin_lock(&lock);
}

static void trylock_outside_a_call(void)
{
	lath_spin_trylock(&lock);
}

static void lock_twice(void)
{
	lath_call_enter();
	lath_spin_lock(&lock);
	lath_spin_lock(&lock);
}

static void unlock_twice(void)
{
	lath_call_enter();
	lath_spin_lock(&lock);
	lath_spin_unlock(&lock);
	lath_spin_unlock(&lock);
}

static void unlock_of_another_thread(void)
{
	lock.held = lath_stripe() + 1;
	lath_spin_unlock(&lock);
}

static void call_ends_twice(void)
{
	lath_call_enter();
	lath_call_exit();
	lath_call_exit();
}

static void wait_in_a_call(void)
{
	lath_call_enter();
	lath_rcu_auto.synchronize();
}

static void wait_in_a_section(void)
{
	lath_rcu_auto.read_lock();
	lath_rcu_auto.drain();
}

static void section_ends_twice(void)
{
	lath_rcu_auto.read_lock();
	lath_rcu_auto.read_unlock();
	lath_rcu_auto.read_unlock();
}

static void turn_unlocked_twice(void)
{
	struct lath_turn turn;

	lath_turn_init(&turn);
	lath_turn_lock(&turn);
	lath_turn_unlock(&turn);
	lath_turn_unlock(&turn);
}

static void left_by_its_flavour(void)
{
	lath_reader_exit(&lath_rcu_auto);
}

static void retired_without_a_function(void)
{
	static struct lath_rcu_head head;

	lath_retire(&lath_rcu_auto, &head, NULL);
}

static void queued_without_a_function(void)
{
	static struct lath_rcu_head head;

	lath_rcu_single.call(&head, NULL);
}

static void sections_before_the_first(void)
{
	lath_section_before(1);
}

static void look_of_no_call(void)
{
	lath_call_look();
}

static void record_out_of_the_registry(void)
{
	static struct lath_thread *other;

	lath_thread_register();
	lath_self.link = &other;
	lath_thread_unregister();
}

static void record_twice_in_the_registry(void)
{
	lath_thread_register();
	lath_self.registered = false;
	lath_thread_register();
}

static void child_of_no_fork(void)
{
	lath_rcu_after_fork();
}

static void fork_within_a_fork(void)
{
	lath_thread_register();
	lath_self.forking = true;
	fork();
}

static void drained_by_a_callback(void)
{
	static struct lath_turn turn;

	lath_self.reclaiming = &turn;
	lath_rcu_auto.drain();
}

static void numbered_twice(void)
{
	lath_stripe();
	lath_number_thread();
}

static void huge_pages_odd(void)
{
	lath_pages_alloc(5000, true);
}

static void no_pages_freed(void)
{
	lath_pages_free(NULL, 4096);
}

static void discarded_misaligned(void)
{
	char *pages = lath_pages_alloc(8192, false);

	NEED(pages);
	lath_pages_discard(pages + 64, 4096);
}

static void block_of_no_size(void)
{
	lath_block_alloc(0);
}

static void malloc_alignment_of_24(void)
{
	struct lath_malloc over = { .alloc = malloc, .free = free };
	struct lath_allocator allocator = lath_malloc_allocator(&over);

	allocator.alloc(allocator.ctx, 64, 24);
}

static void malloc_freed_larger(void)
{
	struct lath_malloc over = { .alloc = malloc, .free = free };
	struct lath_allocator allocator = lath_malloc_allocator(&over);
	void *block = allocator.alloc(allocator.ctx, 64, 64);

	NEED(block);
	allocator.free(allocator.ctx, block, 4096);
}

const struct assert_case sys_cases[] = {
	{ "sys: lock outside a call", lock_outside_a_call, "sys/thread.h", "lath_self.calls" },
	{ "sys: trylock outside a call", trylock_outside_a_call, "sys/thread.h",
	  "lath_self.calls" },
	{ "sys: lock twice", lock_twice, "sys/user.h", "!lath_spin_mine(lock)" },
	{ "sys: unlock twice", unlock_twice, "sys/user.h", "lath_spin_mine(lock)" },
	{ "sys: unlock of another thread", unlock_of_another_thread, "sys/user.h",
	  "lath_spin_mine(lock)" },
	{ "sys: call ends twice", call_ends_twice, "sys/thread.h", "lath_self.calls" },
	{ "sys: wait in a call", wait_in_a_call, "sys/thread.h", "!lath_self.calls" },
	{ "sys: wait in a section", wait_in_a_section, "sys/thread.h", "!lath_self.nesting" },
	{ "sys: section ends twice", section_ends_twice, "sys/rcu.c", "lath_self.nesting" },
	{ "sys: turn unlocked twice", turn_unlocked_twice, "sys/thread.h", "lath_turn_held(turn)" },
	{ "sys: section left twice by its flavour", left_by_its_flavour, "sys/user.h",
	  "lath_reader_inside(rcu)" },
	{ "sys: retired without a function", retired_without_a_function, "sys/user.h",
	  "head && func" },
	{ "sys: queued without a function", queued_without_a_function, "sys/rcu.c", "func" },
	{ "sys: sections before the first period", sections_before_the_first, "sys/thread.c",
	  "period > 1" },
	{ "sys: look of no call", look_of_no_call, "sys/thread.c", "self->calls == 1" },
	{ "sys: record out of the registry", record_out_of_the_registry, "sys/thread.c",
	  "*self->link == self" },
	{ "sys: record twice in the registry", record_twice_in_the_registry, "sys/thread.c",
	  "registry != self" },
	{ "sys: child of no fork", child_of_no_fork, "sys/rcu.c", "lath_self.forking" },
	{ "sys: fork within a fork", fork_within_a_fork, "sys/thread.c", "!self->forking" },
	{ "sys: drained by a callback", drained_by_a_callback, "sys/rcu.c",
	  "!lath_self.reclaiming" },
	{ "sys: thread numbered twice", numbered_twice, "sys/user.c", "!lath_thread_number" },
	{ "sys: huge pages of an odd size", huge_pages_odd, "sys/user.c", "size % 4096" },
	{ "sys: no pages freed", no_pages_freed, "sys/user.c", "pages && size" },
	{ "sys: pages discarded, misaligned", discarded_misaligned, "sys/user.c",
	  "(uintptr_t)pages % 4096" },
	{ "sys: block of no size", block_of_no_size, "sys/user.c", "size" },
	{ "sys: malloc: alignment of 24", malloc_alignment_of_24, "sys/malloc.c",
	  "!(align & (align - 1))" },
	{ "sys: malloc: freed as a larger one", malloc_freed_larger, "sys/malloc.c",
	  "head.size > size" },
	{ 0 },
};
