/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* create.c - creates and destroys a space. */
#include "space/segment.h"
#include "space/source/magazine.h"
#include "space/source/set.h"

/* Reads a config that may be of an older version of the library, and so shorter; checks it. 0 |
 * -EINVAL */
static int read_config(struct lath_space_config *to, const struct lath_space_config *from)
{
	const struct lath_space_config defaults = LATH_SPACE_CONFIG_INIT;

	*to = defaults; /* what a shorter config does not have */
	if (from &&
	    (from->size < offsetof(struct lath_space_config, rcu) || from->size > sizeof(*from)))
		return -EINVAL;
	if (from) /* what it has, which may be less than this version knows */
		memcpy(to, from, from->size);
	/* an unknown flag is a feature that this version would leave out silently */
	if (to->flags &
	    ~(unsigned int)(LATH_SPACE_NO_ARENAS | LATH_SPACE_NO_MAGAZINES | LATH_SPACE_OWNERS |
			    LATH_SPACE_SPREAD | LATH_SPACE_FILL | LATH_ANY_CONTEXT))
		return -EINVAL;
	if (!to->unit || to->unit & (to->unit - 1) || to->unit > 1ull << 51 ||
	    (to->low | to->high | to->below) & (to->unit - 1) || to->low > to->high - 1)
		return -EINVAL;
	if (!lath_any_valid(to))
		return -EINVAL;
	/* all keys are preferred, or none: no preference */
	if (to->below <= to->low || to->below - 1 >= to->high - 1)
		to->below = 0;
	return 0;
}

/* The space, and in the kernel, where the processors are counted when it runs, its slots. */
#ifdef __KERNEL__
#define SPACE_SIZE (sizeof(struct lath_space) + SLOTS * sizeof(struct slot *))
#else
#define SPACE_SIZE sizeof(struct lath_space)
#endif

int lath_space_create(struct lath_space **out, const struct lath_space_config *config)
{
	struct lath_space_config cfg;
#ifdef __KERNEL__
	struct lath_allocator any;
#endif
	struct lath_space *space;
	int ret = read_config(&cfg, config);

	if (!ret)
		ret = lath_thread_prepare();
	if (ret)
		return ret;
	/* the block is not counted: the space that has the counter does not exist yet */
#ifdef __KERNEL__
	/* what is made later needs memory wherever it is made */
	if (cfg.flags & LATH_ANY_CONTEXT && !cfg.allocator) {
		lath_any_allocator(&any, cfg.gfp);
		cfg.allocator = &any;
	}
#endif
	space = cfg.allocator ? cfg.allocator->alloc(cfg.allocator->ctx, SPACE_SIZE, 64)
			      : lath_block_alloc(SPACE_SIZE);
	if (!space)
		return -ENOMEM;
	memset(space, 0, SPACE_SIZE);
	space->config = cfg;
	if (cfg.allocator)
		space->allocator = *cfg.allocator;
#ifdef __KERNEL__
	space->slot = (struct slot **)(space + 1);
	magazines_shape(&space->shape, cfg.burst);
#endif
	/* before the first segment is opened, which reads the config */
	space->bytes = SPACE_SIZE;
	space->unit_shift = __ffs64(cfg.unit);
	space->arena_size = cfg.unit * ARENA_UNITS;
	lath_spin_init_any(&space->lock, any_caller(space));
	lath_segment_init(&space->first, 0, any_caller(space));
	lath_segment_open(space, &space->first, cfg.low, cfg.high, 0);
	lath_magazines_choose(space);
	*out = space;
	return 0;
}

/* Frees an index that lath_space_index() made, or NULL. */
static void index_destroy(struct lath_space *space, struct lath_index *index)
{
	if (index)
		lath_index_fini(index, NULL, NULL);
	lath_space_memory_free(space, index, sizeof(*index));
}

void lath_space_destroy(struct lath_space *space)
{
	LATH_NO_CANCEL;
	struct segment *segment, *next;
	struct lath_allocator allocator;
	unsigned int i;

	if (!space)
		return;
	/* arenas before the indexes, which only name them; the first segment is in the space */
	for (segment = &space->first; segment; segment = next) {
		next = segment->next;
		for (i = 0; i < PARTS; i++)
			lath_set_fini(space, &segment->set[i]);
		lath_space_memory_free(space, segment->stripes,
				       STRIPES * sizeof(*segment->stripes));
		if (segment != &space->first)
			lath_space_memory_free(space, segment, sizeof(*segment));
	}
	/* what magazines hold goes with the arenas: no block has its own memory */
	for (i = 0; i < SLOTS; i++)
		lath_space_memory_free(space, space->slot[i], slot_size(space));
	lath_space_memory_free(space, space->recent, RECENT * sizeof(*space->recent));
	index_destroy(space, space->arenas);
	index_destroy(space, space->index);
	LATH_ASSERT(space->bytes == SPACE_SIZE);
	allocator = space->allocator; /* it lies in what is freed next */
	if (allocator.alloc)
		allocator.free(allocator.ctx, space, SPACE_SIZE);
	else
		lath_block_free(space);
}
