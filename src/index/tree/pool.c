/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pool.c - memory for nodes.
 *
 * There is one pool per kind of node: chunks from the host or the caller's allocator, cut into
 * nodes, and a list of nodes that came back after their grace period. A node in the pool is DEAD
 * and keeps its version, so a hint that still points at it finds out. With LATH_NODE_EACH every
 * node is an allocation of its own, freed
 * after its grace period: for the many small trees of a store, and for memory checkers, which then
 * see every access to a freed node. Hints are off in that mode.
 */
#include "index/tree/pool.h"

struct chunk {
	struct chunk *next;
	size_t size;
};

#define CHUNK_HEAD 64ul /* nodes begin on a line */
#define CHUNK_MIN (16ul << 10)
#define CHUNK_SMALL (64ul << 10)
#define CHUNK_MAX (2ul << 20)
/* From this size on a pool takes huge pages unless LATH_SMALL_PAGES forbids it: small pages would
 * miss the TLB at every leaf, and the unused part of a huge page no longer matters. */
#define HUGE_FROM (32ul << 20)

#define CHUNK_STEP 4096ul

/* The size of the next chunk. It grows with the pool, so that about 1/128 of the pool (1/8 while it
 * is small) may be unused and populating a chunk never stalls an insert for long. Among nearby
 * sizes it is the one that wastes least after division into nodes. */
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

static const struct lath_allocator *allocator_of(const struct tree *tree)
{
	return unlikely(tree->shared_allocator) ? tree->shared_allocator : &tree->allocator;
}

void *tree_block_alloc(struct tree *tree, size_t size, bool huge)
{
	const struct lath_allocator *allocator = allocator_of(tree);

	if (allocator->alloc)
		return allocator->alloc(allocator->ctx, size, 64);
	return tree->each ? lath_block_alloc(size) : lath_pages_alloc(size, huge);
}

void tree_block_free(struct tree *tree, void *block, size_t size)
{
	const struct lath_allocator *allocator = allocator_of(tree);

	if (allocator->alloc)
		allocator->free(allocator->ctx, block, size);
	else if (tree->each)
		lath_block_free(block);
	else
		lath_pages_free(block, size);
}

/* The size of a node whose side column has `side` words per entry. */
static size_t node_bytes(const struct tree *tree, size_t side)
{
	size_t words = NODE_CAP * side + (tree->holes ? SIDE_WORDS : 0);

	return (sizeof(struct node) + words * sizeof(u64) + 63) & ~63ul;
}

bool pools_init(struct tree *tree)
{
	size_t stripes = GAP_STRIPES * sizeof(struct stripe);
	int kind;

	for (kind = 0; kind < POOL_KINDS; kind++) {
		struct pool *pool = &tree->pool[kind];

		memset(pool, 0, sizeof(*pool));
		lath_spin_init(&pool->lock);
		pool->tree = tree;
		pool->node_size =
			node_bytes(tree, kind == POOL_LEAF ? tree->leaf_side : tree->inner_side);
	}
	if (!tree->holes)
		return true;
	tree->stripe = tree->allocator.alloc
			       ? tree->allocator.alloc(tree->allocator.ctx, stripes, 64)
			       : lath_block_alloc(stripes);
	if (tree->stripe)
		memset(tree->stripe, 0, stripes);
	return tree->stripe;
}

void pools_fini(struct tree *tree)
{
	int kind;

	if (READ_ONCE(tree->retired))
		lath_retire_drain(tree->rcu);
	for (kind = 0; kind < POOL_KINDS; kind++) {
		struct chunk *chunk = tree->pool[kind].chunks, *next;

		for (; chunk; chunk = next) {
			next = chunk->next;
			tree_block_free(tree, chunk, chunk->size);
		}
	}
	if (tree->stripe && tree->allocator.alloc)
		tree->allocator.free(tree->allocator.ctx, tree->stripe,
				     GAP_STRIPES * sizeof(struct stripe));
	else if (tree->stripe)
		lath_block_free(tree->stripe);
}

/* Take a node from the pool; NULL if it is empty. */
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
		WRITE_ONCE(node->lockword, NODE_DEAD);
	}
	if (node)
		WRITE_ONCE(pool->nodes, pool->nodes + 1);
	lath_spin_unlock(&pool->lock);
	return node;
}

static void pool_give(struct pool *pool, struct node *node)
{
	lath_spin_lock(&pool->lock);
	WRITE_ONCE(node->right, pool->free);
	pool->free = node;
	WRITE_ONCE(pool->nodes, pool->nodes - 1);
	lath_spin_unlock(&pool->lock);
}

/* Put the unused rest of the pool's current chunk on the free list. Pool locked. */
static void pool_free_rest(struct pool *pool)
{
	for (; pool->fresh && pool->fresh + pool->node_size <= pool->end;
	     pool->fresh += pool->node_size) {
		struct node *node = (struct node *)(void *)pool->fresh;

		WRITE_ONCE(node->lockword, NODE_DEAD);
		WRITE_ONCE(node->right, pool->free);
		pool->free = node;
	}
}

/* Add a chunk; returns false if there is no memory. Two threads may both add one: the second serves
 * later. */
static bool pool_extend(struct pool *pool)
{
	struct tree *tree = pool->tree;
	size_t bytes = READ_ONCE(pool->bytes); /* a hint; others may extend the pool */
	bool huge =
		tree->huge || (!tree->small && READ_ONCE(tree->pool[POOL_LEAF].bytes) >= HUGE_FROM);
	size_t size = chunk_size(bytes, pool->node_size, huge);
	struct chunk *chunk = tree_block_alloc(tree, size, huge);

	if (!chunk && size > CHUNK_MIN && !tree->huge) { /* not available in one piece */
		size = CHUNK_MIN;
		huge = false;
		chunk = tree_block_alloc(tree, size, huge);
	}
	if (!chunk)
		return false;
	chunk->size = size;
	lath_spin_lock(&pool->lock);
	chunk->next = pool->chunks;
	pool->chunks = chunk;
	WRITE_ONCE(pool->bytes, pool->bytes + size);
	pool->huge_bytes += huge ? size : 0;
	pool_free_rest(pool);
	pool->fresh = (char *)chunk + CHUNK_HEAD;
	pool->end = (char *)chunk + size;
	lath_spin_unlock(&pool->lock);
	return true;
}

static struct node *node_alloc_each(struct tree *tree, struct pool *pool)
{
	struct node *node = tree_block_alloc(tree, pool->node_size, false);

	if (!node)
		return NULL;
	memset(node, 0, pool->node_size);
	node->lockword = NODE_DEAD;
	lath_spin_lock(&pool->lock);
	WRITE_ONCE(pool->nodes, pool->nodes + 1);
	WRITE_ONCE(pool->bytes, pool->bytes + pool->node_size);
	lath_spin_unlock(&pool->lock);
	return node;
}

struct node *node_alloc(struct tree *tree, enum pool_kind kind)
{
	struct pool *pool = &tree->pool[kind];
	struct node *node;

	lath_call_enter();
	if (tree->each)
		node = node_alloc_each(tree, pool);
	else
		while (!(node = pool_take(pool)) && pool_extend(pool))
			;
	lath_call_exit();
	return node;
}

static void pool_return(struct pool *pool, struct node *node)
{
	if (!pool->tree->each) {
		pool_give(pool, node);
		return;
	}
	lath_spin_lock(&pool->lock);
	WRITE_ONCE(pool->nodes, pool->nodes - 1);
	WRITE_ONCE(pool->bytes, pool->bytes - pool->node_size);
	lath_spin_unlock(&pool->lock);
	tree_block_free(pool->tree, node, pool->node_size);
}

void node_free(struct tree *tree, enum pool_kind kind, struct node *node)
{
	lath_call_enter();
	pool_return(&tree->pool[kind], node);
	lath_call_exit();
}

static void node_retired(struct lath_rcu_head *head)
{
	struct node *node = container_of(head, struct node, rcu);

	lath_retired();
	lath_call_enter();
	pool_return((struct pool *)(uintptr_t)READ_ONCE(node->pair[0].key), node);
	lath_call_exit();
	lath_retired_end();
}

void node_retire(struct tree *tree, enum pool_kind kind, struct node *node)
{
	LATH_ASSERT(READ_ONCE(node->lockword) & NODE_DEAD &&
		    !(READ_ONCE(node->lockword) & NODE_LOCKED));
	if (!READ_ONCE(tree->retired))
		WRITE_ONCE(tree->retired, true);
	/* the pool it goes back to; the right link stays for readers that stand on the node */
	WRITE_ONCE(node->pair[0].key, (u64)(uintptr_t)&tree->pool[kind]);
	lath_retire(tree->rcu, &node->rcu, node_retired);
}

void pool_stats(struct pool *pool, u64 *bytes, u64 *huge_bytes, u64 *nodes)
{
	lath_call_enter();
	lath_spin_lock(&pool->lock);
	*bytes += pool->bytes;
	*huge_bytes += pool->huge_bytes;
	*nodes = pool->nodes;
	lath_spin_unlock(&pool->lock);
	lath_call_exit();
}

void reserve_release(struct tree *tree, struct reserve *reserve)
{
	unsigned int i;

	if (reserve->leaf)
		node_free(tree, POOL_LEAF, reserve->leaf);
	for (i = 0; i < ARRAY_SIZE(reserve->inner); i++)
		if (reserve->inner[i])
			node_free(tree, POOL_INNER, reserve->inner[i]);
	reserve->leaf = reserve->inner[0] = reserve->inner[1] = NULL;
}

struct node *reserve_take_inner(struct tree *tree, struct reserve *reserve)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(reserve->inner); i++) {
		struct node *node = reserve->inner[i];

		if (node) {
			reserve->inner[i] = NULL;
			return node;
		}
	}
	return reserve->fixed ? NULL : node_alloc(tree, POOL_INNER);
}
