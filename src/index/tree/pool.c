/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * memory.c - where nodes come from and where they go.
 *
 * A pool a node kind: chunks from the host or the caller's allocator, cut into nodes, and a list
 * of nodes that came back after their grace period. A node keeps its version while it lies in the
 * pool and is DEAD, so that a finger that still points at it finds out. With LATH_NODE_EACH every
 * node is one allocation, freed at the end of its grace period: no fingers then, but checkers see
 * every access.
 */
#include "index/hint/hint.h"

struct chunk {
	struct chunk *next;
	size_t size;
};

#define CHUNK_HEAD 64ul /* nodes begin on a line */
#define CHUNK_MIN (16ul << 10)
#define CHUNK_SMALL (64ul << 10)
#define CHUNK_MAX (2ul << 20)
/* From here on a pool is given huge pages if nobody minds: small ones would miss the TLB at every leaf, and
 * the half of a huge page that is not yet used is no longer much. */
#define HUGE_FROM (32ul << 20)

/* Inner nodes beyond this (1 MiB) are no longer all in a processor's own cache; tests with small nodes get there too. */
#define GUESS_FROM (NODE_CAP * (16ul << 10))

#define CHUNK_STEP 4096ul

/* Chunks grow with the pool, so that a hundredth of it is unused, of a small one an eighth, and no insert waits long for one
 * to be populated; and of the sizes near that the one that nodes fill best. */
static size_t chunk_size(size_t bytes, size_t node_size, bool huge)
{
	size_t size = CHUNK_MIN, best, n;

	if (huge)
		return CHUNK_MAX;
	while (size < CHUNK_MAX && size * 2 <= (size < CHUNK_SMALL ? bytes / 8 : bytes / 128))
		size *= 2;
	best = size;
	for (n = size; n > size / 2; n -= CHUNK_STEP)
		if ((n - CHUNK_HEAD) % node_size * best < (best - CHUNK_HEAD) % node_size * n)
			best = n;
	return best;
}

static const struct lath_allocator *allocator_of(const struct tree *list)
{
	return unlikely(list->shared) ? list->shared : &list->allocator;
}

void *list_block_alloc(struct tree *list, size_t size, bool huge)
{
	const struct lath_allocator *allocator = allocator_of(list);

	if (allocator->alloc)
		return allocator->alloc(allocator->ctx, size, 64);
	return list->each ? lath_block_alloc(size) : lath_pages_alloc(size, huge);
}

void list_block_free(struct tree *list, void *block, size_t size)
{
	const struct lath_allocator *allocator = allocator_of(list);

	if (allocator->alloc)
		allocator->free(allocator->ctx, block, size);
	else if (list->each)
		lath_block_free(block);
	else
		lath_pages_free(block, size);
}

/* A node whose entries have so many words beside the pairs. */
static size_t node_bytes(const struct tree *list, size_t side)
{
	size_t words = NODE_CAP * side + (list->holes ? GAP_WORDS : 0);

	return (sizeof(struct node) + words * sizeof(u64) + 63) & ~63ul;
}

bool pools_init(struct tree *list)
{
	size_t stripes = GAP_STRIPES * sizeof(struct stripe);
	int kind;

	list->guess_from = 1;
	for (kind = 0; kind < POOL_KINDS; kind++) {
		struct pool *pool = &list->pool[kind];

		memset(pool, 0, sizeof(*pool));
		lath_spin_init(&pool->lock);
		pool->list = list;
		pool->node_size = node_bytes(list, kind == POOL_LEAF ? list->ranges : list->inner_side);
	}
	if (!list->holes)
		return true;
	list->stripe = list->allocator.alloc ? list->allocator.alloc(list->allocator.ctx, stripes, 64)
					     : lath_block_alloc(stripes);
	if (list->stripe)
		memset(list->stripe, 0, stripes);
	return list->stripe;
}

void pools_fini(struct tree *list)
{
	int kind;

	if (READ_ONCE(list->retired))
		lath_retire_drain(list->rcu);
	for (kind = 0; kind < POOL_KINDS; kind++) {
		struct chunk *chunk = list->pool[kind].chunks, *next;

		for (; chunk; chunk = next) {
			next = chunk->next;
			list_block_free(list, chunk, chunk->size);
		}
	}
	if (list->stripe && list->allocator.alloc)
		list->allocator.free(list->allocator.ctx, list->stripe, GAP_STRIPES * sizeof(struct stripe));
	else if (list->stripe)
		lath_block_free(list->stripe);
}

/* A node from what the pool has, or NULL. */
static struct node *pool_take(struct pool *pool)
{
	struct node *node;

	lath_spin_lock(&pool->lock);
	node = pool->free;
	if (node) {
		pool->free = node->right;
	} else if (pool->fresh && pool->fresh + pool->node_size <= pool->end) {
		node = (struct node *)(void *)pool->fresh;
		pool->fresh += pool->node_size;
		WRITE_ONCE(node->word, NODE_DEAD);
	}
	if (node)
		pool->nodes++;
	lath_spin_unlock(&pool->lock);
	return node;
}

static void pool_give(struct pool *pool, struct node *node)
{
	lath_spin_lock(&pool->lock);
	WRITE_ONCE(node->right, pool->free);
	pool->free = node;
	pool->nodes--;
	lath_spin_unlock(&pool->lock);
}

/* Two threads may come here at once and both add a chunk: the second serves later. */
static bool pool_extend(struct pool *pool)
{
	struct tree *list = pool->list;
	size_t bytes = READ_ONCE(pool->bytes); /* a hint; others may extend the pool */
	bool huge = list->huge || (!list->small && READ_ONCE(list->pool[POOL_LEAF].bytes) >= HUGE_FROM);
	size_t size = chunk_size(bytes, pool->node_size, huge);
	struct chunk *chunk = list_block_alloc(list, size, huge);

	if (!chunk && size > CHUNK_MIN && !list->huge) { /* nothing that large in one piece */
		size = CHUNK_MIN;
		huge = false;
		chunk = list_block_alloc(list, size, huge);
	}
	if (!chunk)
		return false;
	chunk->size = size;
	lath_spin_lock(&pool->lock);
	chunk->next = pool->chunks;
	pool->chunks = chunk;
	WRITE_ONCE(pool->bytes, pool->bytes + size);
	pool->huge_bytes += huge ? size : 0;
	/* the rest of the former chunk becomes free nodes, so that nothing is lost */
	for (; pool->fresh && pool->fresh + pool->node_size <= pool->end; pool->fresh += pool->node_size) {
		struct node *node = (struct node *)(void *)pool->fresh;

		WRITE_ONCE(node->word, NODE_DEAD);
		WRITE_ONCE(node->right, pool->free);
		pool->free = node;
	}
	if (pool == &list->pool[POOL_LEAF])
		guide_allow(list, pool->bytes);
	if (pool == &list->pool[POOL_INNER] && pool->bytes > GUESS_FROM)
		WRITE_ONCE(list->guess_from, 2);
	pool->fresh = (char *)chunk + CHUNK_HEAD;
	pool->end = (char *)chunk + size;
	lath_spin_unlock(&pool->lock);
	return true;
}

static struct node *node_alloc_each(struct tree *list, struct pool *pool)
{
	struct node *node = list_block_alloc(list, pool->node_size, false);

	if (!node)
		return NULL;
	memset(node, 0, pool->node_size);
	node->word = NODE_DEAD;
	lath_spin_lock(&pool->lock);
	pool->nodes++;
	WRITE_ONCE(pool->bytes, pool->bytes + pool->node_size);
	lath_spin_unlock(&pool->lock);
	return node;
}

struct node *node_alloc(struct tree *list, enum pool_kind kind)
{
	struct pool *pool = &list->pool[kind];
	struct node *node;

	if (list->each)
		return node_alloc_each(list, pool);
	while (!(node = pool_take(pool)))
		if (!pool_extend(pool))
			return NULL;
	return node;
}

static void pool_return(struct pool *pool, struct node *node)
{
	if (!pool->list->each) {
		pool_give(pool, node);
		return;
	}
	lath_spin_lock(&pool->lock);
	pool->nodes--;
	WRITE_ONCE(pool->bytes, pool->bytes - pool->node_size);
	lath_spin_unlock(&pool->lock);
	list_block_free(pool->list, node, pool->node_size);
}

void node_free(struct tree *list, enum pool_kind kind, struct node *node)
{
	pool_return(&list->pool[kind], node);
}

static void node_retired(struct lath_rcu_head *head)
{
	struct node *node = container_of(head, struct node, rcu);

	lath_retired();
	pool_return((struct pool *)(void *)READ_ONCE(node->right), node);
	lath_retired_end();
}

void node_retire(struct tree *list, enum pool_kind kind, struct node *node)
{
	if (!READ_ONCE(list->retired))
		WRITE_ONCE(list->retired, true);
	/* nobody follows the right link of a DEAD node: it leads the node home */
	WRITE_ONCE(node->right, (struct node *)(void *)&list->pool[kind]);
	lath_retire(list->rcu, &node->rcu, node_retired);
}

void pool_stats(struct pool *pool, u64 *bytes, u64 *huge_bytes, u64 *nodes)
{
	lath_spin_lock(&pool->lock);
	*bytes += pool->bytes;
	*huge_bytes += pool->huge_bytes;
	*nodes = pool->nodes;
	lath_spin_unlock(&pool->lock);
}
