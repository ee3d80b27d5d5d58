/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Included before everything else in what is compiled for the simulated machine: that machine sees
 * what the compiler does not report. */
#ifndef LATH_TESTS_SIMULATE_REDIRECT_H
#define LATH_TESTS_SIMULATE_REDIRECT_H

#include <stddef.h>
#ifdef LATH_SIMULATE_MEMORY /* peers, which use the host's names */
#include <sched.h>
#include <stdlib.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif
void simulate_prefetch(const void *address, int write);
void simulate_pause(void);
int simulate_short_waits(void);
void simulate_pages(size_t size);
void lath_pause(unsigned int ns);
unsigned int lath_processors(void);
int simulate_yield(void);
void *simulate_malloc(size_t size);
void *simulate_aligned_alloc(size_t align, size_t size);
void simulate_free(void *block);
#ifdef __cplusplus
}
#endif

#define SIMULATE_PREFETCH(address, write, ...) simulate_prefetch(address, write)
#define __builtin_prefetch(...) SIMULATE_PREFETCH(__VA_ARGS__, 0, 0)
#define __builtin_ia32_pause() simulate_pause()
#ifdef LATH_SIMULATE_MEMORY
#define sched_yield() simulate_yield()
#define malloc(size) simulate_malloc(size)
#define aligned_alloc(align, size) simulate_aligned_alloc(align, size)
#define free(block) simulate_free(block)
#define urcu_memb_call_rcu simulate_call_rcu
#endif

#endif /* LATH_TESTS_SIMULATE_REDIRECT_H */
