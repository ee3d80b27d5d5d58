/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * host.h - the names of sys.h for WebAssembly, in one thread of a browser: the host of the model
 * checker (tests/genmc/host.h), whose accesses to shared memory are told to the page.
 *
 * A "thread" of the page is a call that begins inside another one, between two of its accesses
 * (play.c). So the inner call ends before the outer one goes on; where the inner one would wait for
 * a lock, the page ends it, and lets it begin again later.
 */
#ifndef LATH_PLAY_HOST_H
#define LATH_PLAY_HOST_H

#include <stdbool.h>
#include <stdint.h>

#define _Static_assert(condition, text) /* pointers have 32 bits here */
#include "../../tests/genmc/host.h"

#undef LATH_HEAD_WORDS /* as in the library */
#define IMPORT(name) __attribute__((import_module("page"), import_name(#name))) extern

/* An access: kind is that of enum access, value what is there after it. */
enum access {
	READS,
	WRITES,
	LOCKS,	/* a compare and exchange that has done it */
	MISSES, /* one that has not */
};
IMPORT(saw) void play_saw(enum access kind, const volatile void *place, u64 value);
IMPORT(wait) void play_wait(void);

extern bool play_told; /* are accesses told? */

#define TELL(kind, place, value) (play_told ? play_saw((kind), (place), (u64)(value)) : (void)0)

#undef READ_ONCE
#define READ_ONCE(x)                                                           \
	({                                                                     \
		__typeof__(x) _read = __atomic_load_n(&(x), __ATOMIC_RELAXED); \
		TELL(READS, &(x), _read);                                      \
		_read;                                                         \
	})
#undef WRITE_ONCE
#define WRITE_ONCE(x, v)                                            \
	do {                                                        \
		__typeof__(x) _written = (v);                       \
		__atomic_store_n(&(x), _written, __ATOMIC_RELAXED); \
		TELL(WRITES, &(x), _written);                       \
	} while (0)
#undef smp_load_acquire
#define smp_load_acquire(p) READ_ONCE(*(p))
#undef smp_store_release
#define smp_store_release(p, v) WRITE_ONCE(*(p), v)

static inline u64 play_exchange(u64 *p, u64 old, u64 new)
{
	u64 was = cmpxchg(p, old, new);

	TELL(was == old ? LOCKS : MISSES, p, *p);
	return was;
}
#define cmpxchg_acquire(p, old, new) play_exchange(p, old, new)

#undef memset
#undef memcpy
#undef memmove
#define memset __builtin_memset
#define memcpy __builtin_memcpy
#define memmove __builtin_memmove

#endif /* LATH_PLAY_HOST_H */
