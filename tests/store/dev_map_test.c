/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Lookups through a mapping without a kernel: one half of this program owns a list in shared memory and plays
 * the kernel, with entries used again at once; the other half sees that memory read-only, elsewhere.
 * The kernel's side is tested by tests/kernel/llds_map.c.
 */
#define _GNU_SOURCE /* memfd_create */
#include <assert.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "index/tree/peek.h"
#include "store/dev_map.h"

#define MEMORY (64ul << 20)
#define SLOTS 2000u
#define SLOT 512u
#define KEYS 300u

static char *memory; /* head, slots, nodes */
static int memory_fd, refuse;
static struct llds_head *head;
static struct lath_index list;
static u64 memory_end, free_slots[SLOTS], slots_free, version;
static pthread_mutex_t slot_lock = PTHREAD_MUTEX_INITIALIZER;

int ioctl(int fd, unsigned long request, ...)
{
	struct llds_map *map;
	va_list args;

	(void)fd;
	assert(request == LLDS_MAP);
	va_start(args, request);
	map = va_arg(args, struct llds_map *);
	va_end(args);
	map->base = (uintptr_t)memory;
	map->size = MEMORY;
	map->head = 0;
	map->layout = LATH_PEEK_LAYOUT + (refuse == 2);
	map->fd = dup(memory_fd);
	errno = EPERM;
	return refuse == 1 ? (close(map->fd), -1) : 0;
}

/* ---- the owner ---- */

static void *node_memory(void *ctx, size_t size, size_t align)
{
	u64 at = lath_fetch_add(&memory_end, (size + align - 1) / align * align);

	(void)ctx;
	return at + size <= MEMORY ? memory + at : NULL;
}

static void node_memory_free(void *ctx, void *block, size_t size)
{
	(void)ctx;
	memset(block, 0x5b, size); /* whoever is still there reads anything */
}

static void list_begin(void)
{
	const struct lath_allocator allocator = { node_memory, node_memory_free, NULL };
	struct lath_config config = LATH_CONFIG_INIT;

	config.layout = LATH_POINTS;
	config.allocator = &allocator;
	memory_end = 4096 + SLOTS * SLOT;
	assert(!lath_index_init(&list, &config));
}

static struct llds_shown *slot_take(void)
{
	u64 at;

	pthread_mutex_lock(&slot_lock);
	at = free_slots[--slots_free];
	pthread_mutex_unlock(&slot_lock);
	return (struct llds_shown *)(void *)(memory + at);
}

/* The next one to be used again. */
static void slot_give(u64 slot)
{
	pthread_mutex_lock(&slot_lock);
	free_slots[slots_free++] = slot - (uintptr_t)memory;
	pthread_mutex_unlock(&slot_lock);
}

static u32 next(u32 *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* key, count, and bytes that follow from them */
static u32 prove(u8 *data, u64 key, u64 count)
{
	u32 state = (u32)(key * 31 + count), size = next(&state) % (SLOT - 48), i;

	memcpy(data, &key, 8);
	memcpy(data + 8, &count, 8);
	for (i = 16; i < 16 + size; i++)
		data[i] = (u8)next(&state);
	return 16 + size;
}

static u64 set(u64 key, u64 count, u64 expires)
{
	struct llds_shown *entry = slot_take();
	struct lath_item item = { key, 1, (uintptr_t)entry };
	u64 old, v = lath_fetch_add(&version, 1) + 1;

	entry->version = v;
	entry->expires = expires;
	entry->size = prove(entry->data, key, count);
	if (lath_index_get(&list, key, &old)) { /* each key has one writer */
		assert(!lath_index_replace_if(&list, key, old, item.value, NULL));
		slot_give(old);
	} else {
		assert(!lath_index_insert_item(&list, &item, NULL));
	}
	if (READ_ONCE(head->root) != lath_peek_root(&list))
		WRITE_ONCE(head->root, lath_peek_root(&list));
	return v;
}

static void delete(u64 key)
{
	u64 old;

	if (lath_index_get(&list, key, &old)) {
		assert(!lath_index_erase_if(&list, key, old, NULL));
		slot_give(old);
	}
}

static void give_item(void *arg, const struct lath_item *item)
{
	(void)arg;
	slot_give(item->value);
}

/* Where the kernel builds a new list beside the old one, here it takes its place. */
static void clear(void)
{
	WRITE_ONCE(head->turn, head->turn + 1);
	smp_wmb(); /* pairs with the barrier before the reader looks at it again */
	lath_index_fini(&list, give_item, NULL);
	list_begin();
	WRITE_ONCE(head->root, lath_peek_root(&list));
	smp_store_release(&head->turn, head->turn + 1); /* pairs with the load in dev_map.c */
}

static void begin(void)
{
	u64 i;

	memset(memory, 0, 4096);
	head = (struct llds_head *)(void *)memory;
	for (i = 0; i < SLOTS; i++)
		free_slots[i] = 4096 + i * SLOT;
	slots_free = SLOTS;
	list_begin();
	head->root = lath_peek_root(&list);
}

/* ---- tests ---- */

static int get(struct store_map *map, u64 key, void *value, u32 room, struct llds_get *g)
{
	*g = (struct llds_get){ .key = key, .value = (uintptr_t)value, .room = room };
	return store_map_get(map, g);
}

static void answers(void)
{
	struct llds_get g, group[STORE_MAP_GROUP];
	struct store_map map;
	u8 out[SLOT], want[SLOT];
	u64 k, v;
	u32 size, i;

	for (refuse = 1; refuse < 3; refuse++)
		assert(!store_map_open(&map, 0));
	refuse = 0;
	assert(store_map_open(&map, 0));
	assert(get(&map, 0, NULL, 0, &g) == -ENOENT && get(&map, KEY_MAX, NULL, 0, &g) == -ENOENT);
	for (k = 0; k < KEYS; k++) {
		v = set(k * k, k, 0);
		size = prove(want, k * k, k);
		assert(!get(&map, k * k, out, sizeof(out), &g));
		assert(g.size == size && g.version == v && !g.expires && !memcmp(out, want, size));
		out[size - 1] ^= 1;
		want[size - 1] = out[size - 1];
		assert(get(&map, k * k, out, size - 1, &g) == -ERANGE && g.size == size);
		assert(!memcmp(out, want, size));
		assert(get(&map, k * k + 1, NULL, 0, &g) == (k ? -ENOENT : -ENOENT));
	}
	for (i = 0; i < STORE_MAP_GROUP; i++)
		group[i] = (struct llds_get){ .key = i };
	store_map_mget(&map, STORE_MAP_GROUP, group);
	for (i = 0; i < STORE_MAP_GROUP; i++) {
		for (k = 0; k * k < i;)
			k++;
		assert(group[i].error == (k * k == i ? -ERANGE : -ENOENT));
	}
	set(7, 1, 1);
	assert(get(&map, 7, out, sizeof(out), &g) == -ENOENT); /* has expired */
	set(7, 1, ~0ull);
	assert(!get(&map, 7, out, sizeof(out), &g) && g.expires == ~0ull);
	delete (7);
	assert(get(&map, 7, out, sizeof(out), &g) == -ENOENT);
	v = map.falls;
	head->turn++; /* being cleared */
	assert(get(&map, 4, out, sizeof(out), &g) == -EAGAIN && map.falls == v + 1);
	head->turn++;
	assert(!get(&map, 4, out, sizeof(out), &g));
	clear();
	assert(get(&map, 4, out, sizeof(out), &g) == -ENOENT);
	store_map_close(&map);
}

/* Whatever the memory holds: an answer, and no access beside it. */
static void garbage(u32 rounds)
{
	static const u64 words[] = { 0, 1, 2, 3, 4, 8, 64, KEY_MAX };
	struct store_map map;
	struct llds_get g;
	u32 state = 5, i, j;
	u8 out[SLOT];
	u64 k;

	assert(store_map_open(&map, 0));
	for (i = 0; i < rounds; i++) {
		if (i % 256 == 0) {
			for (k = 0; k < KEYS; k++)
				set(k * k, k, 0);
		}
		for (j = next(&state) % 8; j--;) {
			u64 end = next(&state) % 4 ? memory_end : MEMORY, at = next(&state) % (end / 8) * 8;
			u64 word = next(&state) % 2 ? words[next(&state) % ARRAY_SIZE(words)]
						    : (uintptr_t)memory + next(&state) % (MEMORY / 64) * 64;

			if (next(&state) % 2) /* nodes rather than slots */
				at = 4096 + SLOTS * SLOT + next(&state) % 8192 * 8;
			memcpy(memory + at, &word, 8);
		}
		for (j = 0; j < 8; j++) {
			int ret = get(&map, (u64)next(&state) % KEYS * (next(&state) % KEYS), out,
				      sizeof(out), &g);

			assert(!ret || ret == -ENOENT || ret == -EAGAIN || ret == -ERANGE);
		}
		if (i % 256 == 255) { /* the list is no longer one */
			memset(memory, 0, memory_end);
			begin();
		}
	}
	store_map_close(&map);
	begin();
}

/* ---- readers beside writers ---- */

static struct store_map shared;
static u64 stop, found, wrong, cleared;
static pthread_rwlock_t clearing = PTHREAD_RWLOCK_INITIALIZER; /* between writers */

static void *write_keys(void *arg)
{
	u64 number = (uintptr_t)arg, count;
	u32 state = (u32)number + 9;
	u8 out[SLOT];

	for (count = 1; !READ_ONCE(stop); count++) {
		u64 key = next(&state) % KEYS / 2 * 2 + number, v;
		u32 what = next(&state) % 8192;
		struct llds_get g;

		if (!what) {
			pthread_rwlock_wrlock(&clearing);
			clear();
			lath_fetch_add(&cleared, 1);
			pthread_rwlock_unlock(&clearing);
			continue;
		}
		pthread_rwlock_rdlock(&clearing);
		if (what < 2000) {
			delete (key);
			if (!get(&shared, key, out, sizeof(out), &g))
				lath_fetch_add(&wrong, 1);
		} else {
			int ret;

			v = set(key, count, 0);
			ret = get(&shared, key, out, sizeof(out), &g);
			if (ret != -EAGAIN && (ret || g.version != v))
				lath_fetch_add(&wrong, 1);
		}
		pthread_rwlock_unlock(&clearing);
	}
	return NULL;
}

static void check(const struct llds_get *g, u64 *seen)
{
	u8 want[SLOT];
	u64 key, count;
	const u8 *got = (const u8 *)(uintptr_t)g->value;

	memcpy(&key, got, 8);
	memcpy(&count, got + 8, 8);
	if (key != g->key || prove(want, key, count) != g->size || memcmp(want, got, g->size) ||
	    count < seen[key])
		lath_fetch_add(&wrong, 1);
	seen[key] = count;
}

static void *read_keys(void *arg)
{
	u32 state = (u32)(uintptr_t)arg * 77 + 1, i, n;
	u64 seen[KEYS] = { 0 }, hits = 0;
	struct llds_get g[8];
	u8 out[8][SLOT];

	while (!READ_ONCE(stop)) {
		n = next(&state) % 2 ? 1 : 8;
		for (i = 0; i < n; i++)
			g[i] = (struct llds_get){ .key = next(&state) % KEYS,
						  .value = (uintptr_t)out[i],
						  .room = SLOT };
		if (n == 1)
			g->error = store_map_get(&shared, g);
		else
			store_map_mget(&shared, n, g);
		for (i = 0; i < n; i++) {
			if (!g[i].error)
				check(&g[i], seen);
			hits += !g[i].error;
		}
	}
	lath_fetch_add(&found, hits);
	return NULL;
}

static void race(unsigned int ms)
{
	pthread_t thread[4];
	uintptr_t i;

	assert(store_map_open(&shared, 0));
	for (i = 0; i < 4; i++)
		assert(!pthread_create(&thread[i], NULL, i < 2 ? write_keys : read_keys, (void *)i));
	usleep(ms * 1000);
	WRITE_ONCE(stop, 1);
	for (i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	printf("found %llu, cleared %llu, wrong %llu, asked the kernel %llu\n", (unsigned long long)found,
	       (unsigned long long)cleared, (unsigned long long)wrong, (unsigned long long)shared.falls);
	assert(found && !wrong);
	store_map_close(&shared);
}

int main(void)
{
	memory_fd = memfd_create("store", MFD_CLOEXEC);
	assert(memory_fd >= 0 && !ftruncate(memory_fd, MEMORY));
	memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd, 0);
	assert(memory != MAP_FAILED);
	begin();
	answers();
	garbage(getenv("LATH_LONG") ? 1000000 : 20000);
	race(getenv("LATH_LONG") ? 20000 : 1000);
	return 0;
}
