/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * engines.c - the rivals of the hybrid behind the same interface.
 *
 * Each takes the sweep as a number above the sector in its key, so that a request behind the head
 * simply has a greater key. A skip list's towers are too tall for the hook: they lie in the queue's
 * own memory, one per request of the pool.
 */
#include "queue/queue.h"

#define RQ(call, member)                                                              \
	({                                                                            \
		__auto_type _node = (call);                                           \
		_node ? container_of(_node, struct lath_request, node.member) : NULL; \
	})
#define STATE(q, type) ((type *)(q)->state)

/* One function each, where the engine's own differ in the names alone. */
#define INIT(name, type, call)                                 \
	static size_t name##_memsize(u32 requests)             \
	{                                                      \
		(void)requests;                                \
		return sizeof(type);                           \
	}                                                      \
	static void name##_init(struct sortq *q, u32 requests) \
	{                                                      \
		(void)requests;                                \
		call(STATE(q, type));                          \
	}
#define INSERT(name, type, member, call)                                             \
	static void name##_insert(struct sortq *q, struct lath_request *rq, u64 key) \
	{                                                                            \
		rq->node.member.key = key;                                           \
		call(STATE(q, type), &rq->node.member);                              \
	}                                                                            \
	static u64 name##_key(struct sortq *q, const struct lath_request *rq)        \
	{                                                                            \
		(void)q;                                                             \
		return rq->node.member.key;                                          \
	}
#define REMOVE(name, type, member, call)                                    \
	static void name##_remove(struct sortq *q, struct lath_request *rq) \
	{                                                                   \
		call(STATE(q, type), &rq->node.member);                     \
	}
#define END(name, type, member, end, call)                        \
	static struct lath_request *name##_##end(struct sortq *q) \
	{                                                         \
		return RQ(call(STATE(q, type)), member);          \
	}
#define STEP(name, member, dir, call)                                                      \
	static struct lath_request *name##_##dir(struct sortq *q, struct lath_request *rq) \
	{                                                                                  \
		(void)q;                                                                   \
		return RQ(call(&rq->node.member), member);                                 \
	}
#define CEILING(name, type, member, call)                                    \
	static struct lath_request *name##_ceiling(struct sortq *q, u64 key) \
	{                                                                    \
		return RQ(call(STATE(q, type), key), member);                \
	}
#define POP_FIRST(name, type, member, first, remove)                         \
	static struct lath_request *name##_pop(struct sortq *q)              \
	{                                                                    \
		struct lath_request *rq = RQ(first(STATE(q, type)), member); \
		remove(STATE(q, type), &rq->node.member);                    \
		return rq;                                                   \
	}
#define VERIFY(name, type, call)                  \
	static int name##_verify(struct sortq *q) \
	{                                         \
		return call(STATE(q, type));      \
	}

/* sorted list, and the FIFO that is the same list filled at its end */
static inline struct lath_list_node *list_first_of(struct lath_sorted_list *list)
{
	return list->first;
}

static inline struct lath_list_node *list_last_of(struct lath_sorted_list *list)
{
	return list->last;
}

static inline struct lath_list_node *list_next_of(struct lath_list_node *node)
{
	return node->next;
}

static inline struct lath_list_node *list_prev_of(struct lath_list_node *node)
{
	return node->prev;
}

INIT(list, struct lath_sorted_list, lath_list_init)
INSERT(list, struct lath_sorted_list, list, lath_list_insert)
REMOVE(list, struct lath_sorted_list, list, lath_list_remove)
END(list, struct lath_sorted_list, list, first, list_first_of)
END(list, struct lath_sorted_list, list, last, list_last_of)
STEP(list, list, next, list_next_of)
STEP(list, list, prev, list_prev_of)
CEILING(list, struct lath_sorted_list, list, lath_list_ceiling)
POP_FIRST(list, struct lath_sorted_list, list, list_first_of, lath_list_remove)

static void fifo_insert(struct sortq *q, struct lath_request *rq, u64 key)
{
	struct lath_sorted_list *list = q->state;

	rq->node.list.key = key;
	lath_list_insert_after(list, &rq->node.list, list->last);
}

static int no_verify(struct sortq *q)
{
	(void)q;
	return 0;
}

INIT(rbtree, struct lath_rb_tree, lath_rb_init)
INSERT(rbtree, struct lath_rb_tree, rb, lath_rb_insert)
REMOVE(rbtree, struct lath_rb_tree, rb, lath_rb_remove)
END(rbtree, struct lath_rb_tree, rb, first, lath_rb_first)
END(rbtree, struct lath_rb_tree, rb, last, lath_rb_last)
STEP(rbtree, rb, next, lath_rb_next)
STEP(rbtree, rb, prev, lath_rb_prev)
CEILING(rbtree, struct lath_rb_tree, rb, lath_rb_ceiling)
POP_FIRST(rbtree, struct lath_rb_tree, rb, lath_rb_first, lath_rb_remove)
VERIFY(rbtree, struct lath_rb_tree, lath_rb_verify)

INIT(avl, struct lath_avl_tree, lath_avl_init)
INSERT(avl, struct lath_avl_tree, avl, lath_avl_insert)
REMOVE(avl, struct lath_avl_tree, avl, lath_avl_remove)
END(avl, struct lath_avl_tree, avl, first, lath_avl_first)
END(avl, struct lath_avl_tree, avl, last, lath_avl_last)
STEP(avl, avl, next, lath_avl_next)
STEP(avl, avl, prev, lath_avl_prev)
CEILING(avl, struct lath_avl_tree, avl, lath_avl_ceiling)
POP_FIRST(avl, struct lath_avl_tree, avl, lath_avl_first, lath_avl_remove)
VERIFY(avl, struct lath_avl_tree, lath_avl_verify)

INIT(fib, struct lath_fib_heap, lath_fib_init)
INSERT(fib, struct lath_fib_heap, fib, lath_fib_insert)
REMOVE(fib, struct lath_fib_heap, fib, lath_fib_remove)
END(fib, struct lath_fib_heap, fib, first, lath_fib_first)
END(fib, struct lath_fib_heap, fib, pop, lath_fib_pop)

INIT(pairing, struct lath_pairing_heap, lath_pairing_init)
INSERT(pairing, struct lath_pairing_heap, pairing, lath_pairing_insert)
REMOVE(pairing, struct lath_pairing_heap, pairing, lath_pairing_remove)
END(pairing, struct lath_pairing_heap, pairing, first, lath_pairing_first)
END(pairing, struct lath_pairing_heap, pairing, pop, lath_pairing_pop)

INIT(radix, struct lath_radix_heap, lath_radix_init)
INSERT(radix, struct lath_radix_heap, radix, lath_radix_insert)
REMOVE(radix, struct lath_radix_heap, radix, lath_radix_remove)
END(radix, struct lath_radix_heap, radix, first, lath_radix_first)
END(radix, struct lath_radix_heap, radix, pop, lath_radix_pop)

/* skip list: the queue's header, then a tower per tag */
struct skip_state {
	struct lath_skip_queue queue;
	struct lath_skip_node node[];
};

static size_t skip_memsize(u32 requests)
{
	return sizeof(struct skip_state) + requests * sizeof(struct lath_skip_node);
}

static void skip_init(struct sortq *q, u32 requests)
{
	(void)requests;
	lath_skip_init(&STATE(q, struct skip_state)->queue);
}

static struct lath_request *of_tower(struct sortq *q, struct lath_skip_node *node)
{
	return node ? request_of(q, (u64)(node - STATE(q, struct skip_state)->node)) : NULL;
}

static struct lath_skip_node *tower_of(struct sortq *q, const struct lath_request *rq)
{
	return &STATE(q, struct skip_state)->node[rq->tag];
}

static void skip_insert(struct sortq *q, struct lath_request *rq, u64 key)
{
	tower_of(q, rq)->key = key;
	lath_skip_insert(&STATE(q, struct skip_state)->queue, tower_of(q, rq));
}

static u64 skip_key(struct sortq *q, const struct lath_request *rq)
{
	return tower_of(q, rq)->key;
}

static void skip_remove(struct sortq *q, struct lath_request *rq)
{
	lath_skip_remove(&STATE(q, struct skip_state)->queue, tower_of(q, rq));
}

static struct lath_request *skip_first(struct sortq *q)
{
	return of_tower(q, lath_skip_first(&STATE(q, struct skip_state)->queue));
}

static struct lath_request *skip_pop(struct sortq *q)
{
	struct lath_skip_queue *queue = &STATE(q, struct skip_state)->queue;
	struct lath_skip_node *node = lath_skip_first(queue);

	lath_skip_remove(queue, node);
	return of_tower(q, node);
}

static struct lath_request *skip_last(struct sortq *q)
{
	return of_tower(q, lath_skip_last(&STATE(q, struct skip_state)->queue));
}

static struct lath_request *skip_next(struct sortq *q, struct lath_request *rq)
{
	return of_tower(q, lath_skip_next(tower_of(q, rq)));
}

static struct lath_request *skip_prev(struct sortq *q, struct lath_request *rq)
{
	return of_tower(q, lath_skip_prev(tower_of(q, rq)));
}

static struct lath_request *skip_ceiling(struct sortq *q, u64 key)
{
	return of_tower(q, lath_skip_ceiling(&STATE(q, struct skip_state)->queue, key));
}

#define HEAP(text, name)                                                                                   \
	{ text,	      name##_memsize, name##_init, name##_insert, name##_remove, name##_first, name##_pop, \
	  name##_key, NULL,	      NULL,	   NULL,	  NULL,		 no_verify }
#define ORDERED(text, name, verify)                                                                         \
	{ text,	      name##_memsize, name##_init, name##_insert, name##_remove,  name##_first, name##_pop, \
	  name##_key, name##_last,    name##_next, name##_prev,	  name##_ceiling, verify }

static const struct lath_engine list_engine = ORDERED("list", list, no_verify);
static const struct lath_engine rbtree_engine = ORDERED("rbtree", rbtree, rbtree_verify);
static const struct lath_engine avl_engine = ORDERED("avl", avl, avl_verify);
static const struct lath_engine skip_engine = ORDERED("skiplist", skip, no_verify);
static const struct lath_engine fib_engine = HEAP("fibheap", fib);
static const struct lath_engine pairing_engine = HEAP("pairing", pairing);
static const struct lath_engine radix_engine = HEAP("radix", radix);
static const struct lath_engine fifo_engine = { "fifo",	    list_memsize, list_init, fifo_insert, list_remove,
						list_first, list_pop,	  list_key,  NULL,	  NULL,
						NULL,	    NULL,	  no_verify };

const struct lath_engine *const lath_engines[LATH_SORTQ_ENGINES] = {
	[LATH_SORTQ_LIST] = &list_engine,   [LATH_SORTQ_RBTREE] = &rbtree_engine,
	[LATH_SORTQ_AVL] = &avl_engine,	    [LATH_SORTQ_SKIPLIST] = &skip_engine,
	[LATH_SORTQ_FIBHEAP] = &fib_engine, [LATH_SORTQ_PAIRING] = &pairing_engine,
	[LATH_SORTQ_RADIX] = &radix_engine, [LATH_SORTQ_FIFO] = &fifo_engine,
};
