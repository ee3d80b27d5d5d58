/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pool.c - memory for nodes.
 *
 * There is one pool per kind of node: chunks from the host or the caller's allocator, cut into
 * nodes. Each chunk has a list of the nodes that came back after their grace period. A node in the
 * pool is dead and keeps its version, so a hint that still points at it finds out.
 *
 * A chunk of pages of which no node is in use may become bare: the host takes its pages back, and
 * its addresses stay the tree's. A thread that looks at a node there, by a finger, a word of the
 * hint table or a descent in no critical section, reads zeros: a dead node, like any node of a
 * pool. When the chunk is used again its nodes begin with a version that none of them has had.
 *
 * In a large tree a thread takes leaves from its stripe, which gets several at once from the pool:
 * threads that split leaves rarely write the same line. A thread that frees several in a row gives
 * those of its stripe back, so a tree that shrinks keeps none.
 *
 * With LATH_NODE_EACH every node is its own allocation, freed after its grace period: for the
 * many small trees of a store, and for memory checkers, which then see every access to a freed
 * node. Hints are off in that mode.
 */
#include "tree/memory/pool.h"

struct chunk {
	struct pool *pool;
	struct chunk *next;  /* in pool->chunks */
	struct chunk *after; /* in pool->room or pool->bare */
	struct chunk **link; /* what leads here in pool->room; NULL: it is not in there */
	char *memory;
	size_t size;
	struct node *free;  /* nodes that came back, linked by `right` */
	u16 capacity, used; /* nodes */
	u16 fresh;	    /* those from this one on have not been used yet, or not since it was
			       bare */
	u8 block : 1;	    /* one block of memory, of which this struct is the first line */
	u8 huge : 1;
	u8 clear : 1;	/* its fresh nodes are zeros, or have been */
	u8 leaving : 1; /* its nodes are being moved away (trim.c): hand out none of them */
};
_Static_assert(sizeof(struct chunk) == 64, "one line");

/* The least chunk of pages. While a pool has less than LATH_CHUNK_BLOCKS, its chunks are blocks of
 * the host's heap, each as large as all before it. Tests build with less. */
#ifndef LATH_CHUNK_MIN
#define LATH_CHUNK_MIN (16ul << 10)
#endif
#define CHUNK_MIN max(LATH_CHUNK_MIN, lath_page_size())
#ifndef LATH_CHUNK_BLOCKS
#define LATH_CHUNK_BLOCKS CHUNK_MIN
#endif
#define CHUNK_MOST (64ul << 10)
/* From this size on a pool takes huge pages unless LATH_SMALL_PAGES forbids it: small pages would
 * miss the TLB at every leaf, and the unused part of a huge page no longer matters. */
#define HUGE_FROM (32ul << 20)

/* A chunk becomes bare if after that there are unused nodes for 1/IDLE of those in use. */
#define IDLE 8

/* A tree becomes large when its leaves take this many bytes. Tests build with less. */
#ifndef LATH_LARGE_FROM
#define LATH_LARGE_FROM (4ul << 20)
#endif
/* Leaves that a stripe takes at once. */
#define SPARES 8
/* A stripe keeps none when this many leaves were freed since it last gave one. */
#define SHRINKING 4

/* The size of the next chunk. It grows with the pool, so that about 1/8 of a small pool may be
 * unused and populating a chunk never stalls an insert for long; what is asked for with interrupts
 * off is found at once. Among nearby sizes it is the one that wastes least after division into
 * nodes. */
static size_t chunk_size(size_t bytes, size_t least, size_t node_size, enum lath_pages kind)
{
	size_t size = CHUNK_MIN, best, n;

	/* a huge page is taken whole: a part of one would be backed by small pages */
	if (kind == PAGES_HUGE)
		return HUGE_PAGE;
	while (size < CHUNK_MOST && (size < least || size * 2 <= bytes / 8))
		size *= 2;
	best = size;
	/* n % node_size is what no node fills; its share is compared without a division, by the
	 * products */
	for (n = size; n > size / 2; n -= lath_page_size())
		if (n % node_size * best < best % node_size * n)
			best = n;
	return best;
}

static const struct lath_allocator *allocator_of(const struct tree *tree)
{
	return unlikely(tree->shared_allocator) ? tree->shared_allocator : &tree->allocator;
}

void *lath_tree_block_alloc(struct tree *tree, size_t size, enum lath_pages kind)
{
	const struct lath_allocator *allocator = allocator_of(tree);

	if (allocator->alloc)
		return allocator->alloc(allocator->ctx, size, 64);
	return nodes_stay(tree) ? lath_pages_alloc(size, kind) : lath_block_alloc(size);
}

void lath_tree_block_free(struct tree *tree, void *block, size_t size)
{
	const struct lath_allocator *allocator = allocator_of(tree);

	if (allocator->alloc)
		allocator->free(allocator->ctx, block, size);
	else if (!nodes_stay(tree))
		lath_block_free(block);
	else
		lath_pages_free(block, size);
}

bool lath_tree_block_discard(struct tree *tree, void *block, size_t size)
{
	/* an allocator of the caller has no call that takes pages and leaves the addresses */
	return !allocator_of(tree)->alloc && lath_pages_discard(block, size);
}

/* The same for what is smaller than a page. */
static void *small_alloc(struct tree *tree, size_t size)
{
	const struct lath_allocator *allocator = allocator_of(tree);

	return allocator->alloc ? allocator->alloc(allocator->ctx, size, 64)
				: lath_block_alloc(size);
}

static void small_free(struct tree *tree, void *block, size_t size)
{
	const struct lath_allocator *allocator = allocator_of(tree);

	if (allocator->alloc)
		allocator->free(allocator->ctx, block, size);
	else
		lath_block_free(block);
}

/* The size of a node whose side column has this (node.h). */
static size_t node_bytes(const struct tree *tree, unsigned int side)
{
	size_t words = NODE_CAP * side_words(side) + (tree->holes ? SIDE_WORDS : 0);

	return (sizeof(struct node) + words * sizeof(u64) + 63) & ~63ul;
}

static size_t stripes_size(const struct tree *tree)
{
	return (tree->stripe_mask + 1ul) * sizeof(struct stripe);
}

static struct stripe *stripes_alloc(struct tree *tree)
{
	struct stripe *stripe = small_alloc(tree, stripes_size(tree));
	unsigned int i;

	if (!stripe)
		return NULL;
	memset(stripe, 0, stripes_size(tree));
	for (i = 0; i <= tree->stripe_mask; i++)
		lath_spin_init_any(&stripe[i].lock, any_context(tree));
	return stripe;
}

u64 lath_stripes_bytes(struct tree *tree)
{
	return all_stripes(tree) ? stripes_size(tree) : 0;
}

bool lath_pools_init(struct tree *tree)
{
	int kind;

	for (kind = 0; kind < POOL_KINDS; kind++) {
		struct pool *pool = &tree->pool[kind];

		memset(pool, 0, sizeof(*pool));
		lath_spin_init_any(&pool->lock, any_context(tree));
		pool->tree = tree;
		pool->node_size = (u32)node_bytes(tree, kind == POOL_LEAF ? tree->leaf_side
									  : tree->inner_side);
	}
	/* changes and searches count themselves there (gap.h), from the first call on */
	if (tree->holes)
		tree->stripe = stripes_alloc(tree);
	return tree->stripe || !tree->holes;
}

static void chunk_free(struct tree *tree, struct chunk *chunk)
{
	/* the struct is the first line of its block: one call frees both */
	if (chunk->block) {
		small_free(tree, chunk, chunk->size);
		return;
	}
	lath_tree_block_free(tree, chunk->memory, chunk->size);
	small_free(tree, chunk, sizeof(*chunk));
}

/* Free all nodes one by one, level by level (LATH_NODE_EACH). */
static void free_nodes(struct tree *tree)
{
	struct node *down = tree->root;

	while (down) {
		struct node *node = down, *right;
		enum pool_kind kind = node_level(node) ? POOL_INNER : POOL_LEAF;

		LATH_ASSERT(!node->low); /* the first one of a level */
		/* read before the node is freed; the loop below goes along the level */
		down = kind == POOL_INNER ? node_child(node, __ffs64(node->live)) : NULL;
		for (; node; node = right) {
			right = node->right;
			lath_node_free(tree, kind, node);
		}
	}
}

void lath_pools_fini(struct tree *tree)
{
	int kind;

	/* else the nodes are parts of chunks */
	if (!nodes_stay(tree))
		free_nodes(tree);
	/* callbacks put nodes back into their pools: before the pools end */
	if (READ_ONCE(tree->retired))
		lath_retire_drain(tree->rcu);
	for (kind = 0; kind < POOL_KINDS; kind++) {
		struct chunk *chunk = tree->pool[kind].chunks, *next;

		for (; chunk; chunk = next) {
			next = chunk->next;
			chunk_free(tree, chunk);
		}
	}
	if (tree->stripe)
		small_free(tree, tree->stripe, stripes_size(tree));
}

/* ---- a chunk, its pool locked ---- */

static struct node *chunk_node(const struct chunk *chunk, u32 i)
{
	LATH_ASSERT(i < chunk->capacity);
	return (struct node *)(void *)(chunk->memory + (size_t)i * chunk->pool->node_size);
}

static bool chunk_bare(const struct chunk *chunk)
{
	return !chunk->used && !chunk->link && !chunk->leaving;
}

static void room_add(struct chunk *chunk)
{
	struct pool *pool = chunk->pool;

	LATH_ASSERT(!chunk->link);
	chunk->after = pool->room;
	if (chunk->after)
		chunk->after->link = &chunk->after;
	chunk->link = &pool->room;
	pool->room = chunk;
}

static void room_remove(struct chunk *chunk)
{
	LATH_ASSERT(chunk->link && *chunk->link == chunk);
	*chunk->link = chunk->after;
	if (chunk->after)
		chunk->after->link = chunk->link;
	chunk->link = NULL;
}

/* Count the chunk's memory, or no longer: it is bare. */
static void chunk_count(struct chunk *chunk, bool bare)
{
	struct pool *pool = chunk->pool;
	/* -1 as an unsigned number: sums wrap, so adding it subtracts */
	u64 sign = bare ? -1ull : 1;

	LATH_ASSERT(!bare || (pool->bytes >= chunk->size && pool->capacity >= chunk->capacity));
	WRITE_ONCE(pool->bytes, pool->bytes + sign * chunk->size);
	pool->capacity += sign * chunk->capacity;
}

/* What one chunk_take() gives: a list of reused nodes (`first`, linked by `right`), and n_fresh
 * nodes in a row, from number `fresh` on, that were never used. They are prepared when the pool is
 * unlocked. */
struct taken {
	struct chunk *chunk;
	struct node *first;
	u32 fresh, n_fresh, n;
	u64 version;
};

/* Take up to n nodes, all that came back or fresh ones. */
static void chunk_take(struct chunk *chunk, u32 n, struct taken *taken)
{
	struct node *node;

	LATH_ASSERT(chunk->used < chunk->capacity && !chunk->leaving);
	taken->chunk = chunk;
	for (; taken->n < n && chunk->free; taken->n++) {
		node = chunk->free;
		chunk->free = node->right;
		WRITE_ONCE(node->right, taken->first);
		taken->first = node;
	}
	/* The fresh ones are only counted off here. The first store to each may cost a page fault:
	 * taken_nodes() writes to them when no thread waits for the lock. */
	taken->fresh = chunk->fresh;
	taken->n_fresh = min(n - taken->n, (u32)(chunk->capacity - chunk->fresh));
	taken->n += taken->n_fresh;
	chunk->fresh = (u16)(chunk->fresh + taken->n_fresh);
	chunk->used = (u16)(chunk->used + taken->n);
	LATH_ASSERT(chunk->fresh <= chunk->capacity && chunk->used <= chunk->fresh);
	if (chunk->used == chunk->capacity)
		room_remove(chunk);
}

/* Returns all taken nodes, linked by `right`. The pool is not locked. */
static struct node *taken_nodes(struct taken *taken)
{
	struct node *node;
	u32 i;

	for (node = taken->first; node; node = node->right)
		WRITE_ONCE(node->chunk, taken->chunk);
	for (i = 0; i < taken->n_fresh; i++) {
		node = chunk_node(taken->chunk, taken->fresh + i);
		/* searches look at entries that are not in use; a memory checker tells */
		if (!taken->chunk->clear)
			memset(node, 0, taken->chunk->pool->node_size);
		WRITE_ONCE(node->lockword, taken->version);
		WRITE_ONCE(node->chunk, taken->chunk);
		WRITE_ONCE(node->right, taken->first);
		taken->first = node;
	}
	return taken->first;
}

/* ---- a pool ---- */

/* Take up to n nodes of one chunk from the pool. Returns the first, or NULL if the pool is empty;
 * the others follow by `right`. *count: how many. */
static struct node *pool_take(struct pool *pool, u32 n, u32 *count)
{
	struct taken taken = { 0 };
	struct chunk *bare;

	lath_spin_lock(&pool->lock);
	bare = pool->bare;
	/* a bare chunk may have given its pages back: only if no other one has room */
	if (!pool->room && bare) {
		pool->bare = bare->after;
		chunk_count(bare, false);
		room_add(bare);
	}
	/* neither a chunk with room nor a bare one: the caller extends the pool */
	if (pool->room) {
		chunk_take(pool->room, n, &taken);
		taken.version = pool->version;
		WRITE_ONCE(pool->nodes, pool->nodes + taken.n);
	}
	lath_spin_unlock(&pool->lock);
	*count = taken.n;
	return taken_nodes(&taken);
}

/* Take a leaf from the stripe, which is filled from the pool if need be; NULL: both are empty. */
static struct node *stripe_take(struct stripe *stripe, struct pool *pool)
{
	struct node *node;
	u32 taken;

	lath_spin_lock(&stripe->lock);
	/* Lock order: the stripe, then its pool. The threads of other stripes wait for the pool's
	 * lock only while SPARES nodes are taken. */
	if (!stripe->spares) {
		stripe->spare = pool_take(pool, SPARES, &taken);
		WRITE_ONCE(stripe->spares, taken);
	}
	node = stripe->spare;
	if (node) {
		stripe->spare = node->right;
		/* the tree grows here: lath_spares_return() begins to count again */
		WRITE_ONCE(stripe->freed, 0);
		WRITE_ONCE(stripe->spares, stripe->spares - 1);
	}
	lath_spin_unlock(&stripe->lock);
	return node;
}

/* Take a node of this kind without asking for more memory; NULL: there is none. */
static struct node *take(struct tree *tree, enum pool_kind kind)
{
	struct stripe *stripe = kind == POOL_LEAF ? stripe_of(tree) : NULL;
	u32 taken;

	return stripe ? stripe_take(stripe, &tree->pool[kind])
		      : pool_take(&tree->pool[kind], 1, &taken);
}

/* The pool is locked, and a node of the chunk came back. If all have, and the pool can do without
 * them, keep other threads from taking them, and return true: the caller lets the host have the
 * pages. */
static bool chunk_leaves(struct chunk *chunk)
{
	struct pool *pool = chunk->pool;
	u64 left = pool->capacity - chunk->capacity;

	LATH_ASSERT(lath_spin_mine(&pool->lock));
	if (chunk->used || chunk->block || !LATH_DISCARDS ||
	    (!chunk->leaving && left < pool->nodes + pool->nodes / IDLE))
		return false;
	/* From here on no thread takes a node of it. The list of free nodes is in its pages, which
	 * will read as zeros, so it is dropped: the nodes are fresh again. */
	if (chunk->link)
		room_remove(chunk);
	chunk->leaving = true;
	chunk->clear = true;
	chunk->free = NULL;
	chunk->fresh = 0;
	return true;
}

/* No node of the chunk is in use, nor can be taken: give its pages to the host. */
static void chunk_discard(struct chunk *chunk)
{
	struct pool *pool = chunk->pool;
	bool bare = lath_tree_block_discard(pool->tree, chunk->memory, chunk->size);

	/* the system call was made without the lock; `leaving` kept the chunk for this thread */
	lath_spin_lock(&pool->lock);
	chunk->leaving = false;
	if (bare) {
		chunk_count(chunk, true);
		chunk->after = pool->bare;
		pool->bare = chunk;
	} else {
		/* the host kept the pages: the chunk serves again, with all its nodes fresh */
		room_add(chunk);
	}
	lath_spin_unlock(&pool->lock);
}

static void pool_give(struct chunk *chunk, struct node *node)
{
	struct pool *pool = chunk->pool;
	bool leaves;

	lath_spin_lock(&pool->lock);
	/* a chunk that was bare begins with this version: no node may repeat one that it had */
	pool->version = max(pool->version, READ_ONCE(node->lockword) & ~(u64)NODE_FLAGS);
	WRITE_ONCE(node->right, chunk->free);
	chunk->free = node;
	chunk->used--;
	WRITE_ONCE(pool->nodes, pool->nodes - 1);
	leaves = chunk_leaves(chunk);
	/* a chunk that leaves (trim.c) keeps its node: no thread may take it again */
	if (!leaves && !chunk->leaving && !chunk->link)
		room_add(chunk);
	lath_spin_unlock(&pool->lock);
	if (leaves)
		chunk_discard(chunk);
}

/* Give the leaves of the stripe back to the pool. */
static void stripe_give(struct stripe *stripe)
{
	struct node *node, *next;

	lath_spin_lock(&stripe->lock);
	node = stripe->spare;
	stripe->spare = NULL;
	WRITE_ONCE(stripe->spares, 0);
	lath_spin_unlock(&stripe->lock);
	/* pool_give() may discard a chunk, a system call: not with the stripe locked */
	for (; node; node = next) {
		next = node->right;
		pool_give(node->chunk, node);
	}
}

/* Leaves in all stripes. */
static u64 spares_of(struct tree *tree)
{
	const struct stripe *stripe = stripes_of(tree);
	u64 sum = 0;
	unsigned int i;

	for (i = 0; stripe && i <= tree->stripe_mask; i++)
		sum += READ_ONCE(stripe[i].spares);
	return sum;
}

/* The tree gets stripes, or goes on without if there is no memory. */
static void become_large(struct tree *tree)
{
	struct stripe *fresh = tree->stripe ? NULL : stripes_alloc(tree);
	struct pool *pool = &tree->pool[POOL_LEAF];

	lath_spin_lock(&pool->lock);
	/* several threads may come here at once: the first one's stripes stay, the others free
	 * theirs */
	if (!tree->stripe) {
		tree->stripe = fresh;
		fresh = NULL;
	}
	if (tree->stripe)
		smp_store_release(&tree->large, true); /* pairs with stripes_of */
	lath_spin_unlock(&pool->lock);
	if (fresh)
		small_free(tree, fresh, stripes_size(tree));
}

/* A chunk of the heap; NULL: no memory. */
static struct chunk *new_block(struct pool *pool, size_t nodes, size_t node_size)
{
	bool heap = !allocator_of(pool->tree)->alloc;
	/* malloc aligns to 16 bytes, and is faster than what aligns to a line */
	size_t size = sizeof(struct chunk) + nodes * node_size + (heap ? 48 : 0);
	struct chunk *chunk = heap ? lath_small_alloc(size) : small_alloc(pool->tree, size);

	if (chunk)
		*chunk = (struct chunk){ .pool = pool,
					 .memory = (char *)(((uintptr_t)(chunk + 1) + 63) & ~63ul),
					 .size = size,
					 .capacity = (u16)nodes,
					 .block = true };
	return chunk;
}

/* A chunk of pages; NULL: no memory. */
static struct chunk *new_pages(struct pool *pool, size_t bytes, enum lath_pages kind)
{
	struct tree *tree = pool->tree;
	/* not all stripes of a large tree need leaves at once */
	size_t least = READ_ONCE(tree->large) ? (tree->stripe_mask + 1ul) * SPARES / 4 : 0;
	size_t size = chunk_size(bytes, least * pool->node_size, pool->node_size, kind);
	struct chunk *chunk = small_alloc(tree, sizeof(*chunk));
	char *memory = chunk ? lath_tree_block_alloc(tree, size, kind) : NULL;

	/* with LATH_HUGE_PAGES the caller gets huge pages or none */
	if (chunk && !memory && size > CHUNK_MIN && !tree->huge) { /* not available in one piece */
		size = CHUNK_MIN;
		kind = PAGES_PRESENT;
		memory = lath_tree_block_alloc(tree, size, kind);
	}
	if (memory)
		*chunk = (struct chunk){ .pool = pool,
					 .memory = memory,
					 .size = size,
					 .capacity = (u16)(size / pool->node_size),
					 .huge = kind == PAGES_HUGE,
					 .clear = !allocator_of(tree)->alloc };
	else if (chunk)
		small_free(tree, chunk, sizeof(*chunk));
	return memory ? chunk : NULL;
}

/* Which pages the next chunk of a tree is made of. The first store to a huge page would stall the
 * call: it is made present ahead of time by the library's thread, and while there is none the chunk
 * is one of small pages. Only a tree whose callers want no such thread, or small pages never, waits
 * for it. */
static enum lath_pages kind_of_pages(const struct tree *tree)
{
	u64 bytes = READ_ONCE(tree->pool[POOL_LEAF].bytes);
	bool ahead;

	if (!tree->huge && (tree->small || bytes < HUGE_FROM / 2))
		return PAGES_PRESENT;
	ahead = tree->rcu != &lath_rcu_auto || lath_pages_ahead();
	return tree->huge || (ahead && bytes >= HUGE_FROM) ? PAGES_HUGE : PAGES_PRESENT;
}

/* Add a chunk; returns false if there is no memory. Two threads may both add one: the second serves
 * later. */
static bool pool_extend(struct pool *pool)
{
	struct tree *tree = pool->tree;
	size_t bytes = READ_ONCE(pool->bytes); /* a hint; others may extend the pool */
	enum lath_pages kind = kind_of_pages(tree);
	size_t as_before = max(bytes / pool->node_size, (size_t)1);
	struct chunk *chunk = kind != PAGES_HUGE && bytes < LATH_CHUNK_BLOCKS
				      ? new_block(pool, as_before, pool->node_size)
				      : new_pages(pool, bytes, kind);

	if (!chunk)
		return false;
	/* the memory was obtained without the lock: the host may take long for it */
	lath_spin_lock(&pool->lock);
	chunk->next = pool->chunks;
	pool->chunks = chunk;
	chunk_count(chunk, false);
	room_add(chunk);
	lath_spin_unlock(&pool->lock);
	if (!READ_ONCE(tree->large) && READ_ONCE(tree->pool[POOL_LEAF].bytes) >= LATH_LARGE_FROM)
		become_large(tree);
	return true;
}

static struct node *node_alloc_each(struct tree *tree, struct pool *pool)
{
	struct node *node = lath_tree_block_alloc(tree, pool->node_size, PAGES_PRESENT);

	if (!node)
		return NULL;
	memset(node, 0, pool->node_size);
	lath_spin_lock(&pool->lock);
	WRITE_ONCE(pool->nodes, pool->nodes + 1);
	WRITE_ONCE(pool->bytes, pool->bytes + pool->node_size);
	lath_spin_unlock(&pool->lock);
	return node;
}

struct node *lath_node_alloc(struct tree *tree, enum pool_kind kind)
{
	struct pool *pool = &tree->pool[kind];
	struct node *node;

	lath_call_enter();
	/* else in a loop: other threads may empty a new chunk before this one takes a node of it */
	if (!nodes_stay(tree))
		node = node_alloc_each(tree, pool);
	else
		while (!(node = take(tree, kind)) && pool_extend(pool))
			;
	lath_call_exit();
	if (unlikely(!node))
		lath_probe(refusal, tree, kind);
	return node;
}

/* The only node of its own chunk, for NODE_FIRST entries. */
static struct node *alloc_small(struct tree *tree)
{
	struct pool *pool = &tree->pool[POOL_LEAF];
	size_t node_size = offsetof(struct node, pair) + NODE_FIRST * sizeof(struct pair);
	struct chunk *chunk = new_block(pool, 1, node_size);
	struct node *node;

	if (!chunk)
		return NULL;
	/* no lock: the tree is not initialised yet, so no other thread knows the pool */
	chunk->used = 1;
	pool->chunks = chunk;
	pool->nodes = 1;
	chunk_count(chunk, false);
	node = chunk_node(chunk, 0);
	memset(node, 0, offsetof(struct node, pair));
	node->chunk = chunk;
	return node;
}

struct node *lath_node_alloc_first(struct tree *tree)
{
	bool small = !tree->leaf_side && nodes_stay(tree) && !tree->huge;
	struct node *node = small ? alloc_small(tree) : lath_node_alloc(tree, POOL_LEAF);

	if (node)
		lath_node_init(node, tree->leaf_level, 0, KEY_MAX, NULL, 0);
	if (node && small)
		node->cap = NODE_FIRST;
	return node;
}

void lath_node_leave(struct tree *tree, enum pool_kind kind)
{
	struct pool *pool = &tree->pool[kind];

	lath_spin_lock(&pool->lock);
	WRITE_ONCE(pool->nodes, pool->nodes - 1);
	lath_spin_unlock(&pool->lock);
}

static void pool_return(struct pool *pool, struct chunk *chunk, struct node *node)
{
	if (chunk) {
		pool_give(chunk, node);
		return;
	}
	lath_spin_lock(&pool->lock);
	WRITE_ONCE(pool->nodes, pool->nodes - 1);
	WRITE_ONCE(pool->bytes, pool->bytes - pool->node_size);
	lath_spin_unlock(&pool->lock);
	lath_tree_block_free(pool->tree, node, pool->node_size);
}

void lath_node_free(struct tree *tree, enum pool_kind kind, struct node *node)
{
	lath_call_enter();
	pool_return(&tree->pool[kind], nodes_stay(tree) ? node->chunk : NULL, node);
	lath_call_exit();
}

static void node_retired(struct lath_rcu_head *head)
{
	struct node *node = container_of(head, struct node, rcu);

	lath_retired();
	lath_call_enter();
	pool_return((struct pool *)(uintptr_t)READ_ONCE(node->pair[0].key),
		    (struct chunk *)(uintptr_t)READ_ONCE(node->pair[0].value), node);
	lath_call_exit();
	lath_retired_end();
}

void lath_node_retire(struct tree *tree, enum pool_kind kind, struct node *node)
{
	struct chunk *chunk = nodes_stay(tree) ? node->chunk : NULL;

	LATH_ASSERT(node_dead(READ_ONCE(node->lockword)) &&
		    !(READ_ONCE(node->lockword) & NODE_LOCKED));
	/* it is read before it is written, so that the line stays shared; lath_pools_fini() waits if it
	 * is set */
	if (!READ_ONCE(tree->retired))
		WRITE_ONCE(tree->retired, true);
	/* where it goes back to; the right link stays for readers that are at the node */
	WRITE_ONCE(node->pair[0].key, (u64)(uintptr_t)&tree->pool[kind]);
	WRITE_ONCE(node->pair[0].value, (u64)(uintptr_t)chunk);
	lath_retire(tree->rcu, &node->rcu, node_retired);
}

void lath_spares_return(struct tree *tree)
{
	struct stripe *stripe = stripe_of(tree);

	if (stripe && READ_ONCE(stripe->spares) && lath_fetch_add(&stripe->freed, 1) >= SHRINKING)
		stripe_give(stripe);
}

/* ---- moving nodes together (trim.c) ---- */

struct node *lath_node_alloc_kept(struct tree *tree, enum pool_kind kind)
{
	return take(tree, kind);
}

/* Let the chunk leave if the others have nodes for all that are in use, *kept of them. If none of
 * its own is, it goes to the list *idle. Pool locked. */
static void choose_chunk(struct chunk *chunk, u64 *kept, struct chunk **idle)
{
	struct pool *pool = chunk->pool;

	LATH_ASSERT(lath_spin_mine(&pool->lock));
	if (chunk->leaving || chunk->block || chunk_bare(chunk) ||
	    *kept < pool->nodes + chunk->capacity)
		return;
	*kept -= chunk->capacity;
	chunk->leaving = true;
	if (chunk->link)
		room_remove(chunk);
	/* the chunk becomes bare when the last of its nodes comes back (pool_give) */
	if (chunk->used)
		return;
	chunk->free = NULL;
	chunk->fresh = 0;
	chunk->after = *idle;
	*idle = chunk;
}

/* What earlier passes left as it was stays. Pool locked. */
static void keep_all(struct pool *pool)
{
	struct chunk *chunk;

	LATH_ASSERT(lath_spin_mine(&pool->lock));
	for (chunk = pool->chunks; chunk; chunk = chunk->next) {
		if (!chunk->leaving || !chunk->used)
			continue;
		chunk->leaving = false;
		if (chunk->used < chunk->capacity)
			room_add(chunk);
	}
}

struct chunk *lath_pool_leave(struct tree *tree, enum pool_kind kind)
{
	struct pool *pool = &tree->pool[kind];
	struct stripe *stripe = stripes_of(tree);
	struct chunk *chunk, *idle = NULL, *after;
	unsigned int eighths, i;
	u64 kept;

	if (!LATH_DISCARDS || !nodes_stay(tree) || allocator_of(tree)->alloc)
		return NULL;
	/* spare leaves count as in use: they would keep their chunks from leaving */
	for (i = 0; stripe && i <= tree->stripe_mask; i++)
		stripe_give(&stripe[i]);
	lath_spin_lock(&pool->lock);
	keep_all(pool);
	kept = pool->capacity;
	/* the emptiest chunks first: fewest nodes have to be moved per page freed */
	for (eighths = 0; eighths < 8; eighths++)
		for (chunk = pool->chunks; chunk; chunk = chunk->next)
			if (chunk->used * 8ull <= chunk->capacity * (u64)eighths)
				choose_chunk(chunk, &kept, &idle);
	chunk = pool->chunks;
	lath_spin_unlock(&pool->lock);
	/* system calls, without the lock; the list is this thread's alone */
	for (; idle; idle = after) {
		after = idle->after;
		chunk_discard(idle);
	}
	return chunk;
}

struct node *lath_chunk_next(struct chunk **chunk, u32 *at)
{
	struct pool *pool = *chunk ? (*chunk)->pool : NULL;
	struct node *node = NULL;

	if (!pool)
		return NULL;
	lath_spin_lock(&pool->lock);
	while (*chunk && !node) {
		/* asked under the lock: when the last node comes back the chunk leaves, with
		 * `fresh` 0, and nothing is to be moved */
		if ((*chunk)->leaving && *at < (*chunk)->fresh) {
			node = chunk_node(*chunk, (*at)++);
		} else {
			*chunk = (*chunk)->next;
			*at = 0;
		}
	}
	lath_spin_unlock(&pool->lock);
	return node;
}

/* ---- counts and reserves ---- */

void lath_pool_stats(struct pool *pool, u64 *bytes, u64 *huge_bytes, u64 *nodes)
{
	const struct chunk *chunk;

	lath_call_enter();
	lath_spin_lock(&pool->lock);
	*bytes += pool->bytes;
	for (chunk = pool->chunks; chunk; chunk = chunk->next)
		*huge_bytes += chunk->huge && !chunk_bare(chunk) ? chunk->size : 0;
	/* the pool counts the spare leaves of the stripes as in use; the tree does not use them */
	*nodes = pool->nodes - (pool == &pool->tree->pool[POOL_LEAF] ? spares_of(pool->tree) : 0);
	lath_spin_unlock(&pool->lock);
	lath_call_exit();
}

void lath_reserve_release(struct tree *tree, struct reserve *reserve)
{
	unsigned int i;

	if (reserve->leaf)
		lath_node_free(tree, POOL_LEAF, reserve->leaf);
	for (i = 0; i < ARRAY_SIZE(reserve->inner); i++)
		if (reserve->inner[i])
			lath_node_free(tree, POOL_INNER, reserve->inner[i]);
	reserve->leaf = reserve->inner[0] = reserve->inner[1] = NULL;
}

struct node *lath_reserve_take_inner(struct tree *tree, struct reserve *reserve)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(reserve->inner); i++) {
		struct node *node = reserve->inner[i];

		if (node) {
			reserve->inner[i] = NULL;
			return node;
		}
	}
	/* a fixed reserve is for callers that must not allocate: they get -EAGAIN */
	return reserve->fixed ? NULL : lath_node_alloc(tree, POOL_INNER);
}
