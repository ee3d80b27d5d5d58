/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * linux.c - what sys.h needs in the kernel besides inline functions: where LATH_ANY_CONTEXT keeps
 * interrupt flags and takes memory, lockdep's view of node locks.
 */
#include <linux/export.h>

#include "sys/sys.h"

DEFINE_PER_CPU(struct lath_irqs, lath_irqs);
EXPORT_PER_CPU_SYMBOL_GPL(lath_irqs);

static void *any_alloc(void *ctx, size_t size, size_t align)
{
	gfp_t gfp = lath_gfp();

	/* a caller that may sleep fills a reserve ahead; the others have chosen their flags */
	if (!gfpflags_allow_blocking(gfp))
		gfp = (__force gfp_t)(uintptr_t)ctx | __GFP_NOWARN;
	/* a power of two is aligned to its size */
	return kmalloc(roundup_pow_of_two(max(size, align)), gfp);
}

static void any_free(void *ctx, void *block, size_t size)
{
	kfree(block);
}

void lath_any_allocator(struct lath_allocator *allocator, gfp_t gfp)
{
	allocator->alloc = any_alloc;
	allocator->free = any_free;
	allocator->ctx = (void *)(uintptr_t)(__force unsigned int)(gfp ? gfp : GFP_ATOMIC);
}

#ifdef CONFIG_DEBUG_LOCK_ALLOC
/* Higher levels share the last class; no index that fits in memory has more levels. */
#define LEVELS 4

static struct lock_class_key key[LEVELS], any_key;
static struct lockdep_map map[LEVELS] = {
	STATIC_LOCKDEP_MAP_INIT("lath_leaf", &key[0]),
	STATIC_LOCKDEP_MAP_INIT("lath_inner_1", &key[1]),
	STATIC_LOCKDEP_MAP_INIT("lath_inner_2", &key[2]),
	STATIC_LOCKDEP_MAP_INIT("lath_inner_3", &key[3]),
};
/* Held while any node is locked. The nodes of a level nest in it, so lockdep counts them as one
 * entry. */
static struct lockdep_map any = STATIC_LOCKDEP_MAP_INIT("lath_node", &any_key);

void lath_word_locked(unsigned int level)
{
	if (!lock_is_held(&any))
		lock_acquire(&any, 0, 0, 1, 0, NULL, _RET_IP_);
	lock_acquire(&map[min_t(unsigned int, level, LEVELS - 1)], 0, 0, 0, 1, &any, _RET_IP_);
}

void lath_word_unlocked(unsigned int level)
{
	unsigned int i;

	lock_release(&map[min_t(unsigned int, level, LEVELS - 1)], _RET_IP_);
	for (i = 0; i < LEVELS; i++)
		if (lock_is_held(&map[i]))
			return;
	lock_release(&any, _RET_IP_);
}
#endif
