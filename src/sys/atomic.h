/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * atomic.h - the names of sys.h for atomic operations that are the same on every host with C11
 * atomics: user space (user.h), and the host of a model checker (tests/genmc/host.h).
 */
#ifndef LATH_SYS_ATOMIC_H
#define LATH_SYS_ATOMIC_H

#define smp_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
/* Loads a pointer that a release published, of which only what it points to is read behind it. */
#define lath_load_pointer(p) smp_load_acquire(p)
#define smp_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

static inline u64 cmpxchg_acquire(u64 *p, u64 old, u64 new)
{
	__atomic_compare_exchange_n(p, &old, new, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
	return old;
}

/* Orders what comes before and after. */
static inline u64 cmpxchg(u64 *p, u64 old, u64 new)
{
	__atomic_compare_exchange_n(p, &old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return old;
}

static inline u64 lath_fetch_add(u64 *p, u64 n)
{
	return __atomic_fetch_add(p, n, __ATOMIC_RELAXED);
}

/* as lath_fetch_add(), ordered after all stores before it */
static inline u64 lath_fetch_add_release(u64 *p, u64 n)
{
	return __atomic_fetch_add(p, n, __ATOMIC_RELEASE);
}

static inline void lath_fetch_or(u64 *p, u64 bits)
{
	__atomic_fetch_or(p, bits, __ATOMIC_RELAXED);
}

/* Sets *p to `value`. Returns the old value. Orders what comes before and after. */
static inline u32 lath_swap(u32 *p, u32 value)
{
	return __atomic_exchange_n(p, value, __ATOMIC_ACQ_REL);
}

/* Sets *p to 0. Returns the old value. */
static inline u8 lath_fetch_clear(u8 *p)
{
	return __atomic_exchange_n(p, 0, __ATOMIC_RELAXED);
}

#endif /* LATH_SYS_ATOMIC_H */
