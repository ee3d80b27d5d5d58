/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * abi.c - the functions that code compiled with -fsanitize=thread calls: each access to memory goes
 * to the scheduler first (runtime.h).
 */
#include <string.h>

#include "runtime.h"

#define PC __builtin_return_address(0)

#define ACCESS(name, size, how)                 \
	void __tsan_##name##size(void *p);      \
	void __tsan_##name##size(void *p)       \
	{                                       \
		sched_access(p, size, how, PC); \
	}
#define PLAIN(size)                              \
	ACCESS(read, size, SCHED_READ)           \
	ACCESS(write, size, SCHED_WRITE)         \
	ACCESS(unaligned_read, size, SCHED_READ) \
	ACCESS(unaligned_write, size, SCHED_WRITE)

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void __tsan_init(void);
void __tsan_func_entry(void *pc);
void __tsan_func_exit(void);
void __tsan_read_range(void *p, size_t size);
void __tsan_write_range(void *p, size_t size);
void __tsan_vptr_update(void **p, void *value);
void __tsan_vptr_read(void **p);

void __tsan_init(void)
{
}

void __tsan_func_entry(void *pc)
{
	(void)pc;
}

void __tsan_func_exit(void)
{
}

/* Word by word: others may run between two words. */
static void range(const void *p, size_t size, enum sched_kind kind, const void *pc)
{
	size_t i, n;

	for (i = 0; i < size; i += n) {
		n = 8 - (((uintptr_t)p + i) & 7);
		if (n > size - i)
			n = size - i;
		sched_access((const char *)p + i, n, kind, pc);
	}
}

void __tsan_read_range(void *p, size_t size)
{
	range(p, size, SCHED_READ, PC);
}

void __tsan_write_range(void *p, size_t size)
{
	range(p, size, SCHED_WRITE, PC);
}

void __tsan_vptr_update(void **p, void *value)
{
	(void)value;
	sched_access(p, 8, SCHED_WRITE, PC);
}

void __tsan_vptr_read(void **p)
{
	sched_access(p, 8, SCHED_READ, PC);
}

/* clang calls these for the functions of <string.h>. */
void *__tsan_memcpy(void *to, const void *from, size_t size);
void *__tsan_memmove(void *to, const void *from, size_t size);
void *__tsan_memset(void *to, int value, size_t size);

void *__tsan_memcpy(void *to, const void *from, size_t size)
{
	range(from, size, SCHED_READ, PC);
	range(to, size, SCHED_WRITE, PC);
	return memcpy(to, from, size);
}

void *__tsan_memmove(void *to, const void *from, size_t size)
{
	range(from, size, SCHED_READ, PC);
	range(to, size, SCHED_WRITE, PC);
	return memmove(to, from, size);
}

void *__tsan_memset(void *to, int value, size_t size)
{
	range(to, size, SCHED_WRITE, PC);
	return memset(to, value, size);
}

#define ATOMIC_UPDATE(bits, name, op)                                                    \
	a##bits __tsan_atomic##bits##_##name(volatile a##bits *p, a##bits v, int order); \
	a##bits __tsan_atomic##bits##_##name(volatile a##bits *p, a##bits v, int order)  \
	{                                                                                \
		a##bits old;                                                             \
                                                                                         \
		(void)order;                                                             \
		sched_access(p, sizeof(*p), SCHED_UPDATE, PC);                           \
		old = *p;                                                                \
		*p = (a##bits)(op);                                                      \
		return old;                                                              \
	}

/* Sequentially consistent, since one thread runs all fibers. */
#define ATOMIC(bits)                                                                              \
	typedef int##bits##_t a##bits;                                                            \
	a##bits __tsan_atomic##bits##_load(const volatile a##bits *p, int order);                 \
	void __tsan_atomic##bits##_store(volatile a##bits *p, a##bits v, int order);              \
	a##bits __tsan_atomic##bits##_load(const volatile a##bits *p, int order)                  \
	{                                                                                         \
		(void)order;                                                                      \
		sched_access(p, sizeof(*p), SCHED_READ, PC);                                      \
		return *p;                                                                        \
	}                                                                                         \
	void __tsan_atomic##bits##_store(volatile a##bits *p, a##bits v, int order)               \
	{                                                                                         \
		(void)order;                                                                      \
		sched_access(p, sizeof(*p),                                                       \
			     order == __ATOMIC_SEQ_CST ? SCHED_UPDATE : SCHED_WRITE, PC);         \
		*p = v;                                                                           \
	}                                                                                         \
	ATOMIC_UPDATE(bits, exchange, v)                                                          \
	ATOMIC_UPDATE(bits, fetch_add, (uint##bits##_t)old + (uint##bits##_t)v)                   \
	ATOMIC_UPDATE(bits, fetch_sub, (uint##bits##_t)old - (uint##bits##_t)v)                   \
	ATOMIC_UPDATE(bits, fetch_and, old &v)                                                    \
	ATOMIC_UPDATE(bits, fetch_or, old | v)                                                    \
	ATOMIC_UPDATE(bits, fetch_xor, old ^ v)                                                   \
	ATOMIC_UPDATE(bits, fetch_nand, ~(old & v))                                               \
	a##bits __tsan_atomic##bits##_compare_exchange_val(volatile a##bits *p, a##bits expected, \
							   a##bits v, int order, int failed);     \
	int __tsan_atomic##bits##_compare_exchange_strong(volatile a##bits *p, a##bits *expected, \
							  a##bits v, int order, int failed);      \
	int __tsan_atomic##bits##_compare_exchange_weak(volatile a##bits *p, a##bits *expected,   \
							a##bits v, int order, int failed);        \
	a##bits __tsan_atomic##bits##_compare_exchange_val(volatile a##bits *p, a##bits expected, \
							   a##bits v, int order, int failed)      \
	{                                                                                         \
		a##bits old;                                                                      \
                                                                                                  \
		(void)order, (void)failed;                                                        \
		sched_access(p, sizeof(*p), SCHED_UPDATE, PC);                                    \
		old = *p;                                                                         \
		if (old == expected)                                                              \
			*p = v;                                                                   \
		return old;                                                                       \
	}                                                                                         \
	int __tsan_atomic##bits##_compare_exchange_strong(volatile a##bits *p, a##bits *expected, \
							  a##bits v, int order, int failed)       \
	{                                                                                         \
		a##bits old;                                                                      \
                                                                                                  \
		(void)order, (void)failed;                                                        \
		sched_access(p, sizeof(*p), SCHED_UPDATE, PC);                                    \
		old = *p;                                                                         \
		if (old == *expected) {                                                           \
			*p = v;                                                                   \
			return 1;                                                                 \
		}                                                                                 \
		*expected = old;                                                                  \
		return 0;                                                                         \
	}                                                                                         \
	int __tsan_atomic##bits##_compare_exchange_weak(volatile a##bits *p, a##bits *expected,   \
							a##bits v, int order, int failed)         \
	{                                                                                         \
		return __tsan_atomic##bits##_compare_exchange_strong(p, expected, v, order,       \
								     failed);                     \
	}

ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_signal_fence(int order);

void __tsan_atomic_thread_fence(int order)
{
	(void)order;
	sched_fence();
}

void __tsan_atomic_signal_fence(int order)
{
	(void)order;
}
