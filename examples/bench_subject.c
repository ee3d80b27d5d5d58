/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bench_subject.c - a treap as a subject of the tables `ranges` and `index`:
 *
 *	cc -shared -fPIC -O2 bench_subject.c $(pkg-config --cflags lathwork) -o treap.so
 *	lath bench ranges index --quick --vs ./treap.so
 */
#include <lathwork/bench_subject.h>
#include <stdlib.h>

struct node {
	struct node *child[2];
	uint64_t key, size, rank;
	union {
		uint64_t value;
		void *item;
	};
};

struct treap {
	struct node *root;
	uint64_t random;
};

static void *treap_create(void)
{
	struct treap *t = calloc(1, sizeof(*t));

	if (t)
		t->random = 1;
	return t;
}

static void free_all(struct node *n)
{
	while (n) {
		struct node *right = n->child[1];

		free_all(n->child[0]);
		free(n);
		n = right;
	}
}

static void treap_destroy(void *s)
{
	free_all(((struct treap *)s)->root);
	free(s);
}

/* the node with the largest key <= at */
static struct node *find_floor(struct treap *t, uint64_t at)
{
	struct node *n = t->root, *best = NULL;

	while (n) {
		if (n->key <= at)
			best = n;
		n = n->child[n->key <= at];
	}
	return best;
}

static struct node *find_over(struct treap *t, uint64_t point)
{
	struct node *n = find_floor(t, point);

	return n && point - n->key < n->size ? n : NULL;
}

/* keys < at go to *low, others to *high */
static void split(struct node *n, uint64_t at, struct node **low, struct node **high)
{
	while (n) {
		if (n->key < at) {
			*low = n;
			low = &n->child[1];
			n = n->child[1];
		} else {
			*high = n;
			high = &n->child[0];
			n = n->child[0];
		}
	}
	*low = *high = NULL;
}

static struct node *add(struct treap *t, uint64_t key, uint64_t size)
{
	struct node *fresh = malloc(sizeof(*fresh)), **at = &t->root;

	if (!fresh)
		return NULL;
	t->random = t->random * 6364136223846793005u + 1442695040888963407u;
	fresh->rank = t->random >> 16;
	fresh->key = key;
	fresh->size = size;
	while (*at && (*at)->rank < fresh->rank)
		at = &(*at)->child[(*at)->key < key];
	split(*at, key, &fresh->child[0], &fresh->child[1]);
	*at = fresh;
	return fresh;
}

static void take_out(struct treap *t, struct node *n)
{
	struct node **at = &t->root, *low = n->child[0], *high = n->child[1];

	while (*at != n)
		at = &(*at)->child[(*at)->key < n->key];
	while (low && high) {
		struct node **next = low->rank < high->rank ? &low : &high;

		*at = *next;
		at = &(*at)->child[next == &low];
		*next = *at;
	}
	*at = low ? low : high;
	free(n);
}

/* --- ranges -------------------------------------------------------------------------------- */

static int ranges_insert(void *s, uint64_t key, uint64_t size, void *item)
{
	struct node *left = find_floor(s, key + size - 1), *fresh;

	if (left && left->key + left->size > key)
		return -1;
	fresh = add(s, key, size);
	if (!fresh)
		return -1;
	fresh->item = item;
	return 0;
}

static void *ranges_lookup(void *s, uint64_t point)
{
	struct node *n = find_over(s, point);

	return n ? n->item : NULL;
}

static void *ranges_erase(void *s, uint64_t point)
{
	struct node *n = find_over(s, point);
	void *item = n ? n->item : NULL;

	if (n)
		take_out(s, n);
	return item;
}

static const struct lath_bench_ranges ranges = {
	.create = treap_create,
	.destroy = treap_destroy,
	.insert = ranges_insert,
	.lookup = ranges_lookup,
	.erase = ranges_erase,
};

/* --- map ----------------------------------------------------------------------------------- */

static int map_insert(void *s, uint64_t key, uint64_t value)
{
	struct node *n = find_over(s, key);

	if (n)
		return -1;
	n = add(s, key, 1);
	if (!n)
		return -1;
	n->value = value;
	return 0;
}

static int map_get(void *s, uint64_t key, uint64_t *value)
{
	struct node *n = find_over(s, key);

	if (n)
		*value = n->value;
	return n != NULL;
}

static int map_update(void *s, uint64_t key, uint64_t value)
{
	struct node *n = find_over(s, key);

	if (n)
		n->value = value;
	return n != NULL;
}

static int map_erase(void *s, uint64_t key)
{
	struct node *n = find_over(s, key);

	if (n)
		take_out(s, n);
	return n != NULL;
}

static int map_floor(void *s, uint64_t at, uint64_t *key, uint64_t *value)
{
	struct node *n = find_floor(s, at);

	if (n) {
		*key = n->key;
		*value = n->value;
	}
	return n != NULL;
}

/* no scan: those cases say so */
static const struct lath_bench_map map = {
	.create = treap_create,
	.destroy = treap_destroy,
	.insert = map_insert,
	.get = map_get,
	.update = map_update,
	.erase = map_erase,
	.floor = map_floor,
};

LATH_BENCH_EXPORT const struct lath_bench_subject lath_bench_loaded = {
	.abi = LATH_BENCH_ABI,
	.size = sizeof(struct lath_bench_subject),
	.name = "treap",
	.note = "the example of bench_subject.h",
	.ranges = &ranges,
	.map = &map,
};
