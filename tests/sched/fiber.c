/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fiber.h"

static bool can_write_fs; /* the processor's instruction is permitted */
static char *stacks, *stacks_end;
static sem_t parked;

/* Saves the callee's registers and the stack of the caller in *from, and goes on where the stack
 * `to` was left. */
void fiber_swap(void **from, void *to);
__asm__(".text\n"
	".type fiber_swap, @function\n"
	"fiber_swap:\n"
	"	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	"
	"push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	"
	"pop %rbp\n"
	"	ret\n"
	".size fiber_swap, . - fiber_swap\n");

static inline __attribute__((always_inline)) void set_thread_pointer(uint64_t pointer)
{
	if (can_write_fs)
		__asm__ volatile("wrfsbase %0" : : "r"(pointer) : "memory");
	else
		syscall(SYS_arch_prctl, ARCH_SET_FS, pointer);
}

__attribute__((noinline)) void fiber_switch(struct fiber_context *from,
					    const struct fiber_context *to)
{
	set_thread_pointer(to->thread_pointer);
	fiber_swap(&from->stack, to->stack);
}

static uint64_t thread_pointer(void)
{
	uint64_t pointer;

	__asm__("mov %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

/* A thread that only lends its thread-local storage. */
static void *park(void *fiber)
{
	((struct fiber_context *)fiber)->thread_pointer = thread_pointer();
	sem_post(&parked);
	for (;;)
		pause();
	return NULL;
}

void fiber_of_thread(struct fiber_context *fiber)
{
	fiber->thread_pointer = thread_pointer();
}

uintptr_t fiber_stacks(unsigned int fibers)
{
	can_write_fs = getauxval(AT_HWCAP2) & 2;
	sem_init(&parked, 0, 0);
	stacks = mmap(NULL, FIBER_STACKS(fibers), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stacks == MAP_FAILED) {
		perror("fibers: stacks");
		exit(2);
	}
	stacks_end = stacks + FIBER_STACKS(fibers);
	return (uintptr_t)stacks;
}

void fiber_make(struct fiber_context *fiber, void (*body)(void))
{
	pthread_attr_t attributes;
	pthread_t thread;
	void **top = (void **)(void *)(stacks + FIBER_STACK);

	pthread_attr_init(&attributes);
	if (stacks == stacks_end ||
	    pthread_attr_setstack(&attributes, stacks + FIBER_STACK, FIBER_STACK) ||
	    pthread_create(&thread, &attributes, park, fiber)) {
		fprintf(stderr, "fibers: cannot create a thread\n");
		exit(2);
	}
	stacks += 2 * FIBER_STACK;
	sem_wait(&parked);
	*--top = NULL;
	*--top = (void *)body; /* returned to, with the stack as after a call */
	memset(top - 6, 0, 6 * sizeof(*top));
	fiber->stack = top - 6;
}
