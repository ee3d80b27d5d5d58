/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * context_unit.c - LATH_ANY_CONTEXT: in user space it is accepted and of no effect. In the kernel a
 * timer's interrupts call an index and a space in the middle of the calls that the task makes on
 * the same processor. A lock that is held with interrupts on stops the test: the interrupt waits
 * for it.
 */
#include "base/unit.h"
#include "lathwork/hole.h"
#include "lathwork/space.h"

#define RING 512 /* ranges that a caller holds */
#define LOW 4096ull
#define HIGH (1ull << 20)

int context_unit(void);

/* What a caller has allocated: the oldest is freed before the next one is allocated there. */
struct caller {
	struct lath_index *index;
	struct lath_space *space;
	u64 hole[RING], key[RING]; /* 0: none */
	u32 calls;
	u32 wrong; /* results that no call may have */
	u32 above; /* holes behind the one that was freed just before */
};

static u64 size_of(u32 call)
{
	return 1ull << call % 10; /* up to 512: the last one is in no magazine */
}

/* Frees and allocates one hole of the index and one range of the space. */
static void step(struct caller *c)
{
	u32 at = c->calls % RING;
	u64 size = size_of(at), freed = c->hole[at];
	struct lath_hole_request want = { .size = 3, .align = 1, .low = LOW, .high = HIGH };
	int ret;

	c->calls++;
	if (c->hole[at] && lath_index_erase_item(c->index, c->hole[at], NULL))
		c->wrong++;
	if (c->key[at] && lath_space_free(c->space, c->key[at], size))
		c->wrong++;
	c->hole[at] = c->key[at] = 0;
	ret = lath_index_insert_hole(c->index, &want, 7, &c->hole[at]);
	c->wrong += ret && ret != -ENOMEM;
	c->above += freed && c->hole[at] > freed;
	ret = lath_space_alloc(c->space, size, size, 0, &c->key[at]);
	c->wrong += ret && ret != -ENOMEM;
}

static void free_all(struct caller *c)
{
	u32 at;

	for (at = 0; at < RING; at++) {
		if (c->hole[at] && lath_index_erase_item(c->index, c->hole[at], NULL))
			c->wrong++;
		if (c->key[at] && lath_space_free(c->space, c->key[at], size_of(at)))
			c->wrong++;
		c->hole[at] = c->key[at] = 0;
	}
}

#ifdef __KERNEL__
#include <linux/hrtimer.h>

#define PERIOD 30000 /* ns */
#define TICKS 3000
#define ROUNDS 300000

struct ticker {
	struct hrtimer timer;
	struct caller caller;
	u32 ticks, hard;
};

static enum hrtimer_restart tick(struct hrtimer *timer)
{
	struct ticker *t = container_of(timer, struct ticker, timer);

	t->hard += in_hardirq() != 0;
	step(&t->caller);
	WRITE_ONCE(t->ticks, t->ticks + 1);
	hrtimer_forward_now(timer, ns_to_ktime(PERIOD));
	return HRTIMER_RESTART;
}

/* The task's calls, interrupted by those of a timer on the same processor. */
static int interrupted(struct caller *task)
{
	struct ticker *t = unit_alloc(sizeof(*t));
	u32 round;
	int line = 0;

	CHECK(t);
	t->caller.index = task->index;
	t->caller.space = task->space;
	migrate_disable();
	lath_timer_setup(&t->timer, tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer_start(&t->timer, ns_to_ktime(PERIOD), HRTIMER_MODE_REL_PINNED_HARD);
	/* a timer of a slow clock ticks less often: what it did is enough then */
	for (round = 0; round < ROUNDS && READ_ONCE(t->ticks) < TICKS; round++) {
		step(task);
		if (irqs_disabled())
			line = __LINE__;
		cond_resched();
	}
	hrtimer_cancel(&t->timer);
	migrate_enable();
	if (!t->hard || t->hard != t->ticks || t->caller.wrong)
		line = __LINE__;
	free_all(&t->caller);
	unit_free(t);
	return line;
}

/* The same calls with interrupts off: they are off afterwards. */
static int switched_off(struct caller *task)
{
	unsigned long flags;
	bool off = true;
	int i;

	task->above = 0;
	local_irq_save(flags);
	for (i = 0; i < 2 * RING; i++) {
		step(task);
		off &= irqs_disabled();
	}
	local_irq_restore(flags);
	CHECK(off && !irqs_disabled());
	CHECK(!task->above); /* the lowest hole, whatever a search remembers */
	return 0;
}

/* Flags that may sleep are refused; a reserve is filled by a task. */
static int refused(struct lath_space *space)
{
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;
	struct lath_config plain = LATH_CONFIG_INIT;
	struct lath_space *none = NULL;

	config.flags = plain.flags = LATH_ANY_CONTEXT;
	config.gfp = plain.gfp = GFP_KERNEL;
	CHECK(lath_space_create(&none, &config) == -EINVAL && !none);
	CHECK(!lath_index_create(&plain));
	CHECK(!lath_space_preload(space, 3));
	return 0;
}
#else
static int interrupted(struct caller *task)
{
	u32 i;

	for (i = 0; i < 4 * RING; i++)
		step(task);
	CHECK(!task->above);
	return 0;
}

static int switched_off(struct caller *task)
{
	return interrupted(task);
}

static int refused(struct lath_space *space)
{
	(void)space;
	return 0;
}
#endif

static int run(struct caller *task)
{
	struct lath_space_config config = LATH_SPACE_CONFIG_INIT;
	struct lath_config holes = LATH_CONFIG_INIT;
	struct lath_space_stats stats;
	char report[128];
	int line;

	config.low = LOW;
	config.high = HIGH;
	config.flags = LATH_ANY_CONTEXT;
	holes.flags = LATH_HOLES | LATH_ANY_CONTEXT;
	CHECK(!lath_space_create(&task->space, &config));
	task->index = lath_index_create(&holes);
	CHECK(task->index);
	line = refused(task->space);
	if (!line)
		line = interrupted(task);
	if (!line)
		line = switched_off(task);
	free_all(task);
	CHECK(!line);
	CHECK(!task->wrong && task->calls > RING);
	lath_space_trim(task->space);
	lath_space_get_stats(task->space, &stats);
	CHECK(!stats.allocated && !stats.bad_frees);
	CHECK(!lath_space_verify(task->space, report, sizeof(report)));
	CHECK(!lath_index_count(task->index));
	CHECK(!lath_index_verify(task->index, 2, report, sizeof(report)));
	return 0;
}

int context_unit(void)
{
	struct caller *task = unit_alloc(sizeof(*task));
	int line;

	CHECK(task);
	line = run(task);
	lath_space_destroy(task->space);
	if (task->index)
		lath_index_destroy(task->index, NULL, NULL);
	unit_free(task);
	return line;
}
