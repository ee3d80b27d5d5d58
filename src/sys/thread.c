/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * thread.c - the registry of threads, and fork().
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/sys.h"

struct lath_crowd lath_crowd;
LATH_TLS struct lath_thread lath_self __attribute__((aligned(64))) = { .stop = 1, .slow = 1 };

u64 lath_generation = 1;
void (*lath_fork_hook)(void);

/* Lock order: fork_lock, registry_lock. The thread that forks holds both across the fork. */
static pthread_mutex_t fork_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct lath_thread *registry;
static u64 left_open = ~0ull; /* the oldest section whose thread has ended in it */
static bool pending;	      /* a thread is about to fork */
static bool membarriers;
static pthread_key_t at_thread_end;
static bool begun; /* there is that key, and the handlers of forks; under registry_lock */

/* unreached: what every host grants is refused */
static void die(const char *what, int err)
{
	fprintf(stderr, "lathwork: %s: %s\n", what, strerror(err));
	abort();
}

int lath_cancel_off(void)
{
	int was = PTHREAD_CANCEL_ENABLE;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
	return was;
}

void lath_cancel_again(const int *was)
{
	pthread_setcancelstate(*was, NULL);
	pthread_testcancel();
}

void lath_turn_lock(struct lath_turn *turn)
{
	unsigned int rounds = 0;

	while (!lath_turn_trylock(turn))
		lath_nap(rounds++);
}

/* The kernel's numbers (membarrier(2)). Not every C library's compiler finds the kernel's headers:
 * musl-gcc does not. */
enum {
	MEMBARRIER_CMD_QUERY = 0,
	MEMBARRIER_CMD_PRIVATE_EXPEDITED = 1 << 3,
	MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED = 1 << 4,
};

static long membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0);
}

/* A sandbox refuses membarrier() from now on. Threads execute fences from their next section and
 * call on. What one that does not know of it yet has stored is visible to all after microseconds,
 * when its processor has emptied its store buffer: this waits a thousand times as long. */
static void lose_membarriers(void)
{
	struct lath_thread *thread;

	pthread_mutex_lock(&registry_lock);
	WRITE_ONCE(membarriers, false);
	for (thread = registry; thread; thread = thread->next) {
		WRITE_ONCE(thread->slow, 1);
		WRITE_ONCE(thread->stop, 1);
	}
	pthread_mutex_unlock(&registry_lock);
	lath_rest(20000000);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void lath_fence_threads(void)
{
	__atomic_thread_fence(
		__ATOMIC_SEQ_CST); /* without membarrier(): pairs with the fences of slow threads */
	if (READ_ONCE(membarriers) && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
		lose_membarriers();
}

/* ---- registry ---- */

/* For assertions: whether a thread holds registry_lock. */
#define registry_locked() (pthread_mutex_trylock(&registry_lock) == EBUSY)

static void link_self(void)
{
	struct lath_thread *self = &lath_self;

	LATH_ASSERT(registry_locked() && registry != self);
	self->next = registry;
	self->link = &registry;
	if (registry)
		registry->link = &self->next;
	registry = self;
}

static void unlink_self(void)
{
	struct lath_thread *self = &lath_self;

	LATH_ASSERT(registry_locked() && *self->link == self);
	*self->link = self->next;
	if (self->next)
		self->next->link = self->link;
}

void lath_thread_unregister(void)
{
	struct lath_thread *self = &lath_self;

	if (!self->registered)
		return;
	/* a fork that waits for calls must not meet a record whose thread has ended */
	pthread_mutex_lock(&registry_lock);
	unlink_self();
	if (self->keeps && self->section && self->section < left_open)
		left_open = self->section;
	pthread_mutex_unlock(&registry_lock);
	self->registered = false;
	WRITE_ONCE(self->slow, 1);
	WRITE_ONCE(self->stop, 1);
}

/* glibc's exit() first calls the destructors of the thread-local objects of the calling thread,
 * then handlers, the last one first. So a handler that such a destructor registers comes before the
 * destructors of all static objects. If it is only the thread that ends, its key's destructor takes
 * the handler back. With other C libraries exit() is not noticed. */
extern int __cxa_thread_atexit_impl(void (*func)(void *), void *arg, void *dso)
	__attribute__((weak));
extern int __cxa_atexit(void (*func)(void *), void *arg, void *dso);
extern void __cxa_finalize(void *dso);
extern void *__dso_handle;

static void exit_begins(void *unused)
{
	(void)unused;
	lath_self.exiting = true;
}

static void thread_or_process_ends(void *self)
{
	__cxa_atexit(exit_begins, NULL, self);
}

/* Destructor of the thread-local key. Other destructors that run later may use the library and
 * register again, or end a section that is still open; then the host calls this again, at most
 * PTHREAD_DESTRUCTOR_ITERATIONS times. A section open at last ends, or stays so for ever. */
static void thread_ends(void *record)
{
	lath_self.ends++;
	if (lath_self.watched)
		__cxa_finalize(record);
	lath_self.exiting = false;
	if (lath_self.ends < PTHREAD_DESTRUCTOR_ITERATIONS && lath_self.nesting &&
	    lath_self.keeps && !pthread_setspecific(at_thread_end, record))
		return;
	lath_thread_unregister();
}

static void before_fork(void);
static void after_fork_in_parent(void);
static void after_fork_in_child(void);

/* Keeps this code where it is when a plugin that has it is closed: the key, the handlers and the
 * worker call it for as long as the process lives. Not with a lock held: dlopen() has one, with
 * which it calls constructors. It is looked up, since the linker warns of a static program that
 * names it; weak, since not every program has a dynamic loader. */
#pragma weak dladdr
#pragma weak dlsym
static void stay_loaded(void)
{
	static bool stays;
	void *(*open)(const char *file, int flags) = NULL;
	Dl_info self;

	if (READ_ONCE(stays))
		return;
	if (dladdr && dlsym)
		*(void **)&open = dlsym(RTLD_DEFAULT, "dlopen");
	if (open && dladdr(&registry, &self))
		open(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	WRITE_ONCE(stays, true);
}

/* Returns 0 or the error of pthread.h. registry_lock held. */
static int begin(void)
{
	long commands = membarrier(MEMBARRIER_CMD_QUERY);
	int err = pthread_key_create(&at_thread_end, thread_ends);

	LATH_ASSERT(registry_locked() && !begun);
	if (err)
		return err;
	err = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
	if (err) {
		pthread_key_delete(at_thread_end);
		return err;
	}
	membarriers = commands > 0 && (commands & MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
		      !membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
	begun = true;
	return 0;
}

int lath_thread_prepare(void)
{
	struct lath_thread *self = &lath_self;
	void *memory;
	int err;

	if (self->registered || self->ends >= PTHREAD_DESTRUCTOR_ITERATIONS)
		return 0;
	stay_loaded();
	/* nor this with a lock held; without memory it would end the process */
	memory = __cxa_thread_atexit_impl && !self->watched ? malloc(4096) : NULL;
	__asm__ volatile("" : "+r"(memory)); /* else the compiler knows that there is some */
	free(memory);
	if (memory)
		self->watched =
			!__cxa_thread_atexit_impl(thread_or_process_ends, self, &__dso_handle);
	pthread_mutex_lock(&registry_lock);
	err = begun ? 0 : begin();
	if (!err)
		err = pthread_setspecific(at_thread_end, self);
	if (!err) {
		self->registered = true;
		link_self();
		/* under the lock: a fork that begins now sets `stop` of this record too */
		WRITE_ONCE(self->slow, !membarriers);
		WRITE_ONCE(self->stop, self->slow || pending);
	}
	pthread_mutex_unlock(&registry_lock);
	return err ? -ENOMEM : 0;
}

void lath_thread_register(void)
{
	if (lath_thread_prepare())
		die("cannot watch a thread", ENOMEM);
}

void lath_rcu_keep_open(void)
{
	lath_self.keeps = true;
}

bool lath_section_before(u64 period)
{
	struct lath_thread *thread;
	bool before;

	LATH_ASSERT(period > 1);
	pthread_mutex_lock(&registry_lock);
	before = left_open < period;
	for (thread = registry; thread && !before; thread = thread->next) {
		u64 section = smp_load_acquire(&thread->section); /* pairs with leave in rcu.c */

		before = section && section < period;
	}
	pthread_mutex_unlock(&registry_lock);
	return before;
}

/* ---- calls and fork ---- */

void lath_call_look(void)
{
	struct lath_thread *self = &lath_self;

	LATH_ASSERT(self->calls == 1);
	for (;;) {
		if (!self->registered) {
			WRITE_ONCE(self->calls, 0);
			lath_thread_register();
			WRITE_ONCE(self->calls, 1);
		}
		__atomic_thread_fence(
			__ATOMIC_SEQ_CST); /* without membarrier(): pairs with lath_fence_threads */
		if (!__atomic_load_n(&pending, __ATOMIC_ACQUIRE) || self->forking)
			return;
		/* out of the call while it waits: the thread that forks waits for calls */
		WRITE_ONCE(self->calls, 0);
		pthread_mutex_lock(&fork_lock);
		pthread_mutex_unlock(&fork_lock);
		WRITE_ONCE(self->calls, 1);
	}
}

u64 lath_thread_ask_id(void)
{
	lath_self.id = (u64)syscall(SYS_gettid);
	return lath_self.id;
}

bool lath_others_in_calls(bool reclaiming)
{
	struct lath_thread *thread;

	pthread_mutex_lock(&registry_lock);
	for (thread = registry; thread; thread = thread->next)
		if (thread != &lath_self && (!reclaiming || READ_ONCE(thread->reclaiming)) &&
		    smp_load_acquire(&thread->calls)) /* pairs with lath_call_exit */
			break;
	pthread_mutex_unlock(&registry_lock);
	return thread;
}

static void set_pending(bool on)
{
	struct lath_thread *thread;

	LATH_ASSERT(registry_locked());
	__atomic_store_n(&pending, on, __ATOMIC_RELEASE);
	for (thread = registry; thread; thread = thread->next)
		WRITE_ONCE(thread->stop, on || thread->slow);
}

static void before_fork(void)
{
	struct lath_thread *self = &lath_self;
	u32 calls = self->calls;
	unsigned int rounds = 0;

	LATH_ASSERT(!self->forking);
	/* not in a call while waiting for fork_lock: of two callbacks that fork at once, neither
	 * waits for the other's call */
	smp_store_release(&self->calls, 0); /* pairs with lath_others_in_calls */
	/* registers here, since under registry_lock another fork handler of the program may make
	 * the first call */
	lath_thread_register();
	pthread_mutex_lock(&fork_lock);
	WRITE_ONCE(self->calls, calls);
	self->forking = true;
	pthread_mutex_lock(&registry_lock);
	set_pending(true);
	pthread_mutex_unlock(&registry_lock);
	lath_fence_threads();
	while (lath_others_in_calls(false))
		lath_nap(rounds++);
	pthread_mutex_lock(&registry_lock);
	if (READ_ONCE(lath_fork_hook))
		lath_fork_hook();
}

static void after_fork(void)
{
	LATH_ASSERT(lath_self.forking);
	set_pending(false);
	lath_self.forking = false;
	pthread_mutex_unlock(&registry_lock);
	pthread_mutex_unlock(&fork_lock);
}

static void after_fork_in_parent(void)
{
	after_fork();
}

/* The records of other threads lie in stacks that are free memory now: empty the registry. */
static void after_fork_in_child(void)
{
	registry = NULL;
	if (lath_self.registered)
		link_self();
	lath_generation++;
	lath_self.id = 0; /* it has another number here */
	/* refused: the thread is the only one, and knows */
	membarriers = membarriers && !membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
	WRITE_ONCE(lath_self.slow, !membarriers);
	lath_crowd.waiting = 0;
	lath_rcu_after_fork();
	after_fork();
}
