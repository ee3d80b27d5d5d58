/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * dev_map.c - lookups in the kernel's store through a mapping.
 *
 * The walk is the index's own (walk.h), with every link taken to its place in the mapping on the way. After the
 * store was cleared the memory under a walk may hold anything, so a link must lead to where a node fits,
 * and a walk has so many steps; else it ends in `nowhere`, a leaf that covers all keys. A value is copied
 * between two looks at its leaf: the kernel takes an entry out of its leaf before it uses the bytes again.
 */
struct node;
static struct node *place_of(const struct node *link);
#define LATH_LINK(link) place_of(link)
/* a reader of garbage must not wait for it */
#define node_wait map_node_wait
#include "store/dev_map.h"
#include "index/tree/peek.h"
#include "index/tree/descend.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define STEPS 4096
#define TRIES 8
/* as lists of more than some pages have it */
#define GUESS_FROM 2

/* What place_of needs of the walk the thread is in. */
static __thread struct {
	uintptr_t at;
	u64 base;
	u64 last; /* offset of a node */
	unsigned int steps;
} walk_in __attribute__((tls_model("initial-exec")));

static struct node nowhere = { .last = KEY_MAX };

static inline struct node *place_of(const struct node *link)
{
	u64 offset = (uintptr_t)link - walk_in.base;

	if (unlikely(offset > walk_in.last || offset % 64 || !walk_in.steps))
		return &nowhere;
	walk_in.steps--;
	return (struct node *)(walk_in.at + offset);
}

u64 map_node_wait(struct node *node)
{
	u64 word = NODE_LOCKED;

	for (; word & NODE_LOCKED && walk_in.steps; walk_in.steps--) {
		cpu_relax();
		word = smp_load_acquire(&node->word); /* pairs with node_unlock */
	}
	return word & NODE_LOCKED ? NODE_DEAD : word;
}

/* ---- one key ---- */

struct hit {
	struct node *leaf;
	u64 word;
	u64 turn;
	const struct llds_shown *entry;
};

/* Is all that was read since it was found true? */
static inline bool hit_valid(const struct store_map *map, const struct hit *hit)
{
	return node_valid(hit->leaf, hit->word) && likely(READ_ONCE(map->head->turn) == hit->turn);
}

static inline const struct llds_shown *entry_of(const struct store_map *map, u64 value)
{
	u64 offset = value - map->base;

	if (unlikely(offset > map->size - sizeof(struct llds_shown) || offset % 8))
		return NULL;
	return (const struct llds_shown *)(map->at + offset);
}

/* 0 | -ENOENT | -EAGAIN */
static inline int find(const struct store_map *map, u64 key, struct hit *hit)
{
	struct tree list;
	u64 value = 0;
	long i;

	hit->leaf = NULL;
	hit->turn = smp_load_acquire(&map->head->turn); /* pairs with llds_map_replace */
	if (unlikely(hit->turn & 1))
		return -EAGAIN;
	walk_in.at = map->at;
	walk_in.base = map->base;
	walk_in.last = map->size - sizeof(struct node);
	walk_in.steps = STEPS;
	list.root = (struct node *)(uintptr_t)READ_ONCE(map->head->root);
	list.guess_from = GUESS_FROM;
	list.loose = false;
	list.restarts = 0;
	hit->leaf = descend(&list, key, &hit->word, WALK_TO_READ);
	i = node_find(hit->leaf, key);
	if (i >= 0)
		value = node_value(hit->leaf, (unsigned int)i);
	if (unlikely(!hit_valid(map, hit)) || unlikely(hit->leaf == &nowhere))
		return -EAGAIN;
	if (i < 0)
		return -ENOENT;
	hit->entry = entry_of(map, value);
	return likely(hit->entry) ? 0 : -EAGAIN;
}

static u64 now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (u64)t.tv_sec * 1000 + (u64)t.tv_nsec / 1000000;
}

/* 0 | -ERANGE | -ENOENT | -EAGAIN */
static inline int copy_out(const struct store_map *map, const struct hit *hit, struct llds_get *get)
{
	const struct llds_shown *entry = hit->entry;
	u32 size = READ_ONCE(entry->size);
	u64 version = READ_ONCE(entry->version), expires = READ_ONCE(entry->expires);
	u64 room = map->size - sizeof(*entry) - ((uintptr_t)entry - map->at);

	if (unlikely(size > LLDS_VALUE_MAX || size > room))
		return -EAGAIN;
	if (min(size, get->room))
		memcpy((void *)(uintptr_t)get->value, entry->data, min(size, get->room));
	if (unlikely(!hit_valid(map, hit)))
		return -EAGAIN;
	if (unlikely(expires) && expires <= now())
		return -ENOENT;
	get->size = size;
	get->version = version;
	get->expires = expires;
	return size > get->room ? -ERANGE : 0;
}

int store_map_get(struct store_map *map, struct llds_get *get)
{
	unsigned int try;

	for (try = 0; try < TRIES; try++) {
		struct hit hit;
		int ret = find(map, get->key, &hit);

		if (likely(!ret))
			ret = copy_out(map, &hit, get);
		if (likely(ret != -EAGAIN))
			return ret;
		if (hit.leaf == &nowhere) /* a try like this is long */
			break;
	}
	lath_fetch_add(&map->falls, 1);
	return -EAGAIN;
}

/* ---- many ---- */

void store_map_mget(struct store_map *map, unsigned int n, struct llds_get *get)
{
	struct hit hit[STORE_MAP_GROUP];
	unsigned int i;

	for (i = 0; i < n; i++) {
		get[i].error = find(map, get[i].key, &hit[i]);
		if (likely(!get[i].error))
			prefetch((const char *)hit[i].entry);
	}
	for (i = 0; i < n; i++) {
		if (likely(!get[i].error))
			get[i].error = copy_out(map, &hit[i], &get[i]);
		if (unlikely(get[i].error == -EAGAIN))
			get[i].error = store_map_get(map, &get[i]);
	}
}

/* ---- the mapping ---- */

bool store_map_open(struct store_map *map, int fd)
{
	struct llds_map there = { 0 };
	void *at = MAP_FAILED;

	if (ioctl(fd, LLDS_MAP, &there))
		return false;
	if (there.layout == LATH_PEEK_LAYOUT)
		at = mmap(NULL, there.size, PROT_READ, MAP_SHARED | MAP_NORESERVE, there.fd, 0);
	close(there.fd);
	if (at == MAP_FAILED)
		return false;
	map->at = (uintptr_t)at;
	map->base = there.base;
	map->size = there.size;
	map->head = (const struct llds_head *)(map->at + there.head);
	map->falls = 0;
	return true;
}

void store_map_close(struct store_map *map)
{
	munmap((void *)map->at, map->size);
}
