/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* unreached: for the kernel only */
/*
 * linux.c - what sys.h needs in the kernel besides inline functions: where LATH_ANY_CONTEXT keeps
 * interrupt flags and takes memory, lockdep's view of node locks.
 */
#include <linux/export.h>

#include "sys/sys.h"

DEFINE_PER_CPU(struct lath_irqs, lath_irqs);
EXPORT_PER_CPU_SYMBOL_GPL(lath_irqs);

#ifdef LATH_IRQS_TIMED
#include <linux/moduleparam.h>
#include <linux/timekeeping.h>

static unsigned long irqs_off_ns;
module_param(irqs_off_ns, ulong, 0644);
MODULE_PARM_DESC(irqs_off_ns, "the longest time with interrupts off; writable");

void lath_irqs_begin(unsigned long flags)
{
	if (!irqs_disabled_flags(flags)) /* else they were off before, and not by us */
		__this_cpu_write(lath_irqs.begin, ktime_get_mono_fast_ns());
}
EXPORT_SYMBOL_GPL(lath_irqs_begin);

void lath_irqs_end(unsigned long flags)
{
	unsigned long ns;

	if (irqs_disabled_flags(flags))
		return;
	ns = ktime_get_mono_fast_ns() - __this_cpu_read(lath_irqs.begin);
	if (ns > READ_ONCE(irqs_off_ns)) /* of two processors one may win: good enough */
		WRITE_ONCE(irqs_off_ns, ns);
}
EXPORT_SYMBOL_GPL(lath_irqs_end);
#endif

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

struct classes {
	struct lockdep_map level[LEVELS];
	/* Held while any node is locked. The nodes of a level nest in it, so lockdep counts them as
	 * one entry. */
	struct lockdep_map node;
};
#define CLASSES(suffix, key)                                                 \
	{ {                                                                  \
		  STATIC_LOCKDEP_MAP_INIT("lath_leaf" suffix, &(key)[0]),    \
		  STATIC_LOCKDEP_MAP_INIT("lath_inner_1" suffix, &(key)[1]), \
		  STATIC_LOCKDEP_MAP_INIT("lath_inner_2" suffix, &(key)[2]), \
		  STATIC_LOCKDEP_MAP_INIT("lath_inner_3" suffix, &(key)[3]), \
	  },                                                                 \
	  STATIC_LOCKDEP_MAP_INIT("lath_node" suffix, &(key)[LEVELS]) }
static struct lock_class_key plain_key[LEVELS + 1], any_key[LEVELS + 1];
/* Those of structures with LATH_ANY_CONTEXT are locked in interrupts, the others with interrupts
 * on. */
static struct classes plain = CLASSES("", plain_key), any = CLASSES("_any", any_key);

/* Returns the classes of the structure that this processor's call changes. */
static struct classes *classes(void)
{
	return this_cpu_read(lath_irqs.depth) ? &any : &plain;
}

void lath_word_locked(unsigned int level)
{
	struct classes *of = classes();

	if (!lock_is_held(&of->node))
		lock_acquire(&of->node, 0, 0, 1, 0, NULL, _RET_IP_);
	lock_acquire(&of->level[min_t(unsigned int, level, LEVELS - 1)], 0, 0, 0, 1, &of->node,
		     _RET_IP_);
}

void lath_word_unlocked(unsigned int level)
{
	struct classes *of = classes();
	unsigned int i;

	lock_release(&of->level[min_t(unsigned int, level, LEVELS - 1)], _RET_IP_);
	for (i = 0; i < LEVELS; i++)
		if (lock_is_held(&of->level[i]))
			return;
	lock_release(&of->node, _RET_IP_);
}
#endif
