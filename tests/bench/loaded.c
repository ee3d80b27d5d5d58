/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * loaded.c - the plainest structures for the tables scan, sort and iova behind bench_subject.h.
 * BREAK, a number, makes one of them wrong (loaded_test.py).
 */
#if BREAK == 12
#define lath_bench_loaded another_name
#endif
#include <lathwork/bench_subject.h>
#include <stdlib.h>
#include <string.h>

struct link {
	struct link *next;
	uint64_t key;
};
_Static_assert(sizeof(struct link) <= LATH_BENCH_HOOK, "a link fits");

struct list {
	struct link *first, **last;
};

static void *list_create(void)
{
	struct list *l = malloc(sizeof(*l));

	if (l) {
		l->first = NULL;
		l->last = &l->first;
	}
	return l;
}

static void push_back(void *s, void *object)
{
	struct list *l = s;
	struct link *o = object;

	o->next = NULL;
	*l->last = o;
	l->last = &o->next;
}

static void push_front(void *s, void *object)
{
	struct list *l = s;
	struct link *o = object;

	o->next = l->first;
	if (!o->next)
		l->last = &o->next;
	l->first = o;
}

static void *pop_front(void *s)
{
	struct list *l = s;
	struct link *o = l->first;

	if (!o || BREAK == 1)
		return NULL;
	l->first = o->next;
	if (!o->next)
		l->last = &l->first;
	return o;
}

static void scan(void *s, void (*each)(void *context, void *object), void *context)
{
	struct list *l = s;
	struct link *o;

	for (o = l->first; o; o = o->next)
		each(context, o);
	if (BREAK == 2 && l->first)
		each(context, l->first);
}

static const struct lath_bench_queue queue = { list_create, free,      push_back,
					       push_front,  pop_front, scan };

/* --- sorter: a sorted list ------------------------------------------------------------------- */

static void *sorter_create(uint32_t most)
{
	(void)most;
	return BREAK == 3 ? NULL : calloc(1, sizeof(struct link *));
}

static void sorter_push(void *s, void *request, uint64_t key)
{
	struct link *r = request, **at = s;

	while (*at && (BREAK == 4 ? (*at)->key >> 30 < key >> 30 : (*at)->key < key))
		at = &(*at)->next;
	r->key = key;
	r->next = *at;
	*at = r;
}

static void *sorter_pop(void *s)
{
	struct link **first = s, *r = *first;

	if (BREAK == 5)
		return s;
	if (r)
		*first = r->next;
	return r;
}

static const struct lath_bench_sorter sorter = { sorter_create, free, sorter_push, sorter_pop };

/* --- holes: a byte a page, first fit
 * ----------------------------------------------------------- */

struct pages {
	uint64_t first, n, hint;
	unsigned char used[];
};

static void *holes_create(uint64_t first, uint64_t end)
{
	struct pages *p = calloc(1, sizeof(*p) + (end - first));

	if (p) {
		p->first = first;
		p->n = end - first;
	}
	return p;
}

static int alloc_from(struct pages *p, uint64_t from, uint64_t pages, uint64_t align, uint64_t *at)
{
	uint64_t i;

	for (;;) {
		from = ((p->first + from + align - 1) & ~(align - 1)) - p->first;
		if (from + pages > p->n)
			return 0;
		for (i = 0; i < pages && !p->used[from + i]; i++)
			;
		if (i == pages)
			break;
		from += i + 1;
	}
	if (BREAK != 6)
		memset(p->used + from, 1, pages);
	p->hint = from + pages;
	*at = p->first + from;
	return 1;
}

static int holes_alloc(void *s, uint64_t pages, uint64_t align, uint64_t *at)
{
	struct pages *p = s;

	if (BREAK == 6)
		p->hint = 0;
	return alloc_from(p, p->hint, pages, align, at) || alloc_from(p, 0, pages, align, at);
}

static void holes_free(void *s, uint64_t at, uint64_t pages)
{
	struct pages *p = s;

	memset(p->used + (at - p->first), 0, pages);
}

static const struct lath_bench_holes holes = { holes_create, free, holes_alloc, holes_free, 0 };

/* --- store: a sorted array that grows
 * ---------------------------------------------------------- */

struct entry {
	uint64_t key;
	unsigned char size;
	char value[31];
};

struct entries {
	size_t count, room;
	struct entry *entry;
};

static void *store_create(void)
{
	return calloc(1, sizeof(struct entries));
}

static void store_destroy(void *s)
{
	free(((struct entries *)s)->entry);
	free(s);
}

/* where the first key >= this one stands */
static size_t store_rank(const struct entries *e, uint64_t key)
{
	size_t low = 0, high = e->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (e->entry[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int store_set(void *s, uint64_t key, const void *value, size_t size)
{
	struct entries *e = s;
	size_t i = store_rank(e, key);

	if (i == e->count || e->entry[i].key != key) {
		if (e->count == e->room) {
			struct entry *more = realloc(e->entry, (2 * e->room + 64) * sizeof(*more));

			if (!more)
				return -1;
			e->entry = more;
			e->room = 2 * e->room + 64;
		}
		memmove(e->entry + i + 1, e->entry + i, (e->count++ - i) * sizeof(*e->entry));
		e->entry[i].key = key;
	}
	e->entry[i].size = (unsigned char)size;
	memcpy(e->entry[i].value, value, size);
	if (BREAK == 14)
		e->entry[i].value[0] = '0';
	return BREAK == 15 || (BREAK == 16 && e->count > 2000); /* 16: what is timed */
}

static int store_get(void *s, uint64_t key, void *value, size_t room)
{
	struct entries *e = s;
	size_t i = store_rank(e, key);

	if (i == e->count || e->entry[i].key != key)
		return -1;
	memcpy(value, e->entry[i].value, e->entry[i].size < room ? e->entry[i].size : room);
	return e->entry[i].size;
}

static void store_scan(void *s,
		       void (*each)(void *context, uint64_t key, const void *value, size_t size),
		       void *context)
{
	struct entries *e = s;
	size_t i;

	for (i = 0; i < e->count; i++)
		each(context, e->entry[i].key, e->entry[i].value, e->entry[i].size);
}

static const struct lath_bench_store store = { store_create, store_destroy, store_set,
					       store_get,    store_scan,    0 };

/* --- map: what is lost shows ------------------------------------------------------------------ */

static int forgetful_insert(void *s, uint64_t key, uint64_t value)
{
	(void)s, (void)key, (void)value;
	return 0;
}

static int forgetful_find(void *s, uint64_t key, uint64_t *value)
{
	(void)s, (void)key, (void)value;
	return 0;
}

static int forgetful_update(void *s, uint64_t key, uint64_t value)
{
	(void)s, (void)key, (void)value;
	return 0;
}

static const struct lath_bench_map map = {
	.create = list_create,
	.destroy = free,
	.insert = forgetful_insert,
	.get = BREAK == 8 ? NULL : forgetful_find,
	.update = forgetful_update,
};

LATH_BENCH_EXPORT const struct lath_bench_subject lath_bench_loaded = {
	.abi = BREAK == 9 ? 99 : LATH_BENCH_ABI,
	.size = BREAK == 10 ? 8 : sizeof(struct lath_bench_subject),
	.name = BREAK == 11 ? "lathwork" : "plain",
	.queue = BREAK == 13 ? NULL : &queue,
	.sorter = BREAK == 13 ? NULL : &sorter,
	.holes = BREAK == 13 ? NULL : &holes,
	.store = BREAK == 13 ? NULL : &store,
	.map = BREAK == 7 || BREAK == 8 ? &map : NULL,
};
