/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * engines.c - the engines other than the hybrid behind the interface of struct lath_engine.
 *
 * The sweep's number lies above the sector in their keys, so that a request behind the head has a
 * greater key than one before it. The node of a list or tree lies in lath_request.node; the skip
 * list's towers are too large for it and lie in the queue's memory, one per request of the pool.
 */
#include "queue/avl.h"
#include "queue/queue.h"
#include "queue/rbtree.h"
#include "queue/skip_list.h"

static int no_verify(struct sortq *q)
{
	(void)q;
	return 0;
}

/* ---- the sorted list, and the FIFO: the same list, filled at its end */

static size_t list_memsize(u32 requests)
{
	(void)requests;
	return sizeof(struct lath_sorted_list);
}

static void list_init(struct sortq *q, u32 requests)
{
	(void)requests;
	lath_list_init(q->state);
}

static void list_insert(struct sortq *q, struct lath_request *rq, u64 key)
{
	struct lath_list_node *node = &node_of(rq)->list;

	node->key = key;
	lath_list_insert(q->state, node);
}

static void fifo_insert(struct sortq *q, struct lath_request *rq, u64 key)
{
	struct lath_sorted_list *list = q->state;
	struct lath_list_node *node = &node_of(rq)->list;

	node->key = key;
	lath_list_insert_after(list, node, list->last);
}

static void list_remove(struct sortq *q, struct lath_request *rq)
{
	lath_list_remove(q->state, &node_of(rq)->list);
}

static struct lath_request *list_first(struct sortq *q)
{
	return request_at(((struct lath_sorted_list *)q->state)->first);
}

static struct lath_request *list_last(struct sortq *q)
{
	return request_at(((struct lath_sorted_list *)q->state)->last);
}

static struct lath_request *list_pop(struct sortq *q)
{
	struct lath_sorted_list *list = q->state;
	struct lath_list_node *first = list->first;

	lath_list_remove(list, first);
	return request_at(first);
}

static u64 list_key(struct sortq *q, struct lath_request *rq)
{
	(void)q;
	return node_of(rq)->list.key;
}

static struct lath_request *list_next(struct sortq *q, struct lath_request *rq)
{
	(void)q;
	return request_at(node_of(rq)->list.next);
}

static struct lath_request *list_prev(struct sortq *q, struct lath_request *rq)
{
	(void)q;
	return request_at(node_of(rq)->list.prev);
}

static struct lath_request *list_ceiling(struct sortq *q, u64 key)
{
	return request_at(lath_list_ceiling(q->state, key));
}

/* ---- the red-black tree and the AVL tree */

static size_t tree_memsize(u32 requests)
{
	(void)requests;
	return sizeof(struct lath_bst);
}

static void tree_init(struct sortq *q, u32 requests)
{
	(void)requests;
	bst_init(q->state);
}

static u64 tree_key(struct sortq *q, struct lath_request *rq)
{
	(void)q;
	return node_of(rq)->bst.key;
}

static struct lath_request *tree_first(struct sortq *q)
{
	return request_at(((struct lath_bst *)q->state)->end[0]);
}

static struct lath_request *tree_last(struct sortq *q)
{
	return request_at(((struct lath_bst *)q->state)->end[1]);
}

static struct lath_request *tree_next(struct sortq *q, struct lath_request *rq)
{
	(void)q;
	return request_at(bst_step(&node_of(rq)->bst, 1));
}

static struct lath_request *tree_prev(struct sortq *q, struct lath_request *rq)
{
	(void)q;
	return request_at(bst_step(&node_of(rq)->bst, 0));
}

static struct lath_request *tree_ceiling(struct sortq *q, u64 key)
{
	return request_at(bst_ceiling(q->state, key));
}

static void rbtree_insert(struct sortq *q, struct lath_request *rq, u64 key)
{
	struct lath_bst_node *node = &node_of(rq)->bst;

	node->key = key;
	lath_rb_insert(q->state, node);
}

static void rbtree_remove(struct sortq *q, struct lath_request *rq)
{
	lath_rb_remove(q->state, &node_of(rq)->bst);
}

static struct lath_request *rbtree_pop(struct sortq *q)
{
	struct lath_bst *tree = q->state;
	struct lath_bst_node *first = tree->end[0];

	lath_rb_remove(tree, first);
	return request_at(first);
}

static int rbtree_verify(struct sortq *q)
{
	return lath_rb_verify(q->state);
}

static void avl_insert(struct sortq *q, struct lath_request *rq, u64 key)
{
	struct lath_bst_node *node = &node_of(rq)->bst;

	node->key = key;
	lath_avl_insert(q->state, node);
}

static void avl_remove(struct sortq *q, struct lath_request *rq)
{
	lath_avl_remove(q->state, &node_of(rq)->bst);
}

static struct lath_request *avl_pop(struct sortq *q)
{
	struct lath_bst *tree = q->state;
	struct lath_bst_node *first = tree->end[0];

	lath_avl_remove(tree, first);
	return request_at(first);
}

static int avl_verify(struct sortq *q)
{
	return lath_avl_verify(q->state);
}

/* ---- the Fibonacci heap */

static size_t fib_memsize(u32 requests)
{
	(void)requests;
	return sizeof(struct lath_fib_heap);
}

static void fib_init(struct sortq *q, u32 requests)
{
	(void)requests;
	lath_fib_init(q->state);
}

static void fib_insert(struct sortq *q, struct lath_request *rq, u64 key)
{
	struct lath_fib_node *node = &node_of(rq)->fib;

	node->key = key;
	lath_fib_insert(q->state, node);
}

static void fib_remove(struct sortq *q, struct lath_request *rq)
{
	lath_fib_remove(q->state, &node_of(rq)->fib);
}

static struct lath_request *fib_first(struct sortq *q)
{
	return request_at(((struct lath_fib_heap *)q->state)->least);
}

static struct lath_request *fib_pop(struct sortq *q)
{
	return request_at(lath_fib_pop(q->state));
}

static u64 fib_key(struct sortq *q, struct lath_request *rq)
{
	(void)q;
	return node_of(rq)->fib.key;
}

/* ---- the skip list: its header, then a tower per tag */

struct skip_state {
	struct lath_skip_list list;
	struct lath_skip_node node[];
};

static size_t skip_memsize(u32 requests)
{
	return sizeof(struct skip_state) + requests * sizeof(struct lath_skip_node);
}

static struct lath_skip_list *skip_list_of(struct sortq *q)
{
	return &((struct skip_state *)q->state)->list;
}

static struct lath_skip_node *tower_of(struct sortq *q, const struct lath_request *rq)
{
	return &((struct skip_state *)q->state)->node[rq->tag];
}

static struct lath_request *of_tower(struct sortq *q, const struct lath_skip_node *node)
{
	return node ? request_of(q, (u64)(node - ((struct skip_state *)q->state)->node)) : NULL;
}

static void skip_init(struct sortq *q, u32 requests)
{
	(void)requests;
	lath_skip_init(skip_list_of(q));
}

static void skip_insert(struct sortq *q, struct lath_request *rq, u64 key)
{
	tower_of(q, rq)->key = key;
	lath_skip_insert(skip_list_of(q), tower_of(q, rq));
}

static u64 skip_key(struct sortq *q, struct lath_request *rq)
{
	return tower_of(q, rq)->key;
}

static void skip_remove(struct sortq *q, struct lath_request *rq)
{
	lath_skip_remove(skip_list_of(q), tower_of(q, rq));
}

static struct lath_request *skip_first(struct sortq *q)
{
	return of_tower(q, skip_list_of(q)->head.next[0]);
}

static struct lath_request *skip_last(struct sortq *q)
{
	return of_tower(q, skip_list_of(q)->last);
}

static struct lath_request *skip_pop(struct sortq *q)
{
	struct lath_skip_list *list = skip_list_of(q);
	struct lath_skip_node *first = list->head.next[0];

	lath_skip_remove(list, first);
	return of_tower(q, first);
}

static struct lath_request *skip_next(struct sortq *q, struct lath_request *rq)
{
	return of_tower(q, tower_of(q, rq)->next[0]);
}

static struct lath_request *skip_prev(struct sortq *q, struct lath_request *rq)
{
	return of_tower(q, tower_of(q, rq)->prev);
}

static struct lath_request *skip_ceiling(struct sortq *q, u64 key)
{
	return of_tower(q, lath_skip_ceiling(skip_list_of(q), key));
}

static const struct lath_engine list_engine = {
	"list",	  list_memsize, list_init, list_insert, list_remove,  list_first, list_pop,
	list_key, list_last,	list_next, list_prev,	list_ceiling, no_verify,
};
static const struct lath_engine rbtree_engine = {
	"rbtree", tree_memsize, tree_init, rbtree_insert, rbtree_remove, tree_first,	rbtree_pop,
	tree_key, tree_last,	tree_next, tree_prev,	  tree_ceiling,	 rbtree_verify,
};
static const struct lath_engine avl_engine = {
	"avl",	  tree_memsize, tree_init, avl_insert, avl_remove,   tree_first, avl_pop,
	tree_key, tree_last,	tree_next, tree_prev,  tree_ceiling, avl_verify,
};
static const struct lath_engine skip_engine = {
	"skiplist", skip_memsize, skip_init, skip_insert, skip_remove,	skip_first, skip_pop,
	skip_key,   skip_last,	  skip_next, skip_prev,	  skip_ceiling, no_verify,
};
static const struct lath_engine fib_engine = {
	"fibheap", fib_memsize, fib_init, fib_insert, fib_remove, fib_first, fib_pop,
	fib_key,   NULL,	NULL,	  NULL,	      NULL,	  no_verify,
};
static const struct lath_engine fifo_engine = {
	"fifo",	  list_memsize, list_init, fifo_insert, list_remove, list_first, list_pop,
	list_key, NULL,		NULL,	   NULL,	NULL,	     no_verify,
};

const struct lath_engine *const lath_engines[LATH_SORTQ_ENGINES] = {
	[LATH_SORTQ_LIST] = &list_engine,   [LATH_SORTQ_RBTREE] = &rbtree_engine,
	[LATH_SORTQ_AVL] = &avl_engine,	    [LATH_SORTQ_SKIPLIST] = &skip_engine,
	[LATH_SORTQ_FIBHEAP] = &fib_engine, [LATH_SORTQ_FIFO] = &fifo_engine,
};
