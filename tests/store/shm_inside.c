/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "shm_inside.h"

#include "store/place/shm.h"
#include "store/kv/kv.h"

#include <stdio.h>
#include <linux/futex.h>

static size_t region(struct shm_region *r, void *at, size_t size)
{
	r->at = at;
	r->size = size;
	return 1;
}

static size_t arena_regions(struct arena *arena, struct shm_region *r)
{
	u64 first = (u64)arena->first_unit << UNIT_SHIFT,
	    fresh = (u64)arena->fresh_unit << UNIT_SHIFT;
	size_t n = region(r, &arena->unit[arena->first_unit], 4096);

	/* some units more: what an operation may come to use */
	return n + region(r + n, arena->base + first, fresh - first + 16 * UNIT);
}

size_t shm_inside_regions(struct lath_store *store, struct shm_region *r)
{
	struct shm_head *head = shm_of(store)->head;
	struct lath_store *in = &head->store;
	size_t n = region(r, head, sizeof(*head));

	n += region(r + n, in->arena.block, 2 * in->arena.reserved / BLOCK);
	n += arena_regions(&in->arena, r + n);
	n += arena_regions(&in->index, r + n);
	n += region(r + n, &in->mark[in->arena.first_unit * UNIT / 512], 32768);
	return n;
}

void shm_inside_owner_died(struct lath_store *store, uint64_t index_id)
{
	struct shm_head *head = shm_of(store)->head;

	/* what the kernel does when a thread ends */
	if (head->lock.__data.__lock & FUTEX_TID_MASK)
		head->lock.__data.__lock = FUTEX_OWNER_DIED;
	head->index_id = index_id | 1ull << 63;
}

uint64_t shm_inside_generation(struct lath_store *store)
{
	return shm_of(store)->head->generation;
}

int shm_inside_dirty(struct lath_store *store)
{
	return shm_of(store)->head->dirty;
}

void *shm_inside_address(struct lath_store *store)
{
	return shm_of(store)->head;
}

void shm_inside_fault(int fault)
{
	lath_shm_fault = (enum shm_fault)fault;
}

struct census {
	struct lath_store *store;
	u64 records, bytes, unmarked;
};

static void count_word(struct census *c, u64 word)
{
	c->bytes += lath_arena_size(&c->store->arena, word_place(word));
	c->records++;
	c->unmarked += !place_marked(c->store->mark, word_place(word));
}

static void count_words(struct census *c)
{
	struct lath_bytes_cursor cursor;
	struct lath_item items[16];
	u64 next = 0, value;
	size_t n, i;

	lath_bytes_cursor_init(&cursor, &c->store->set);
	while (c->store->keys == LATH_STORE_BYTES && lath_bytes_cursor_next(&cursor, &value))
		count_word(c, lath_address_word(c->store, value));
	if (c->store->keys == LATH_STORE_BYTES)
		return;
	do {
		n = lath_index_scan(&c->store->numbers, next, ~0ull, items, ARRAY_SIZE(items),
				    &next);
		for (i = 0; i < n; i++)
			count_word(c, items[i].value);
	} while (n == ARRAY_SIZE(items) && next);
}

static u64 count_marks(const struct lath_store *store)
{
	u64 i, n = 0;

	for (i = 0; i < store->arena.reserved / 512; i++)
		if (store->arena.block[i / MARKS_A_BLOCK])
			n += (u64)__builtin_popcountll(store->mark[i]);
	return n;
}

static int verify(struct lath_store *in, char *why, size_t why_size)
{
	struct census c = { .store = in };
	struct lath_store_stats stats = { 0 };
	u64 marks;

	if (in->keys == LATH_STORE_BYTES ? lath_bytes_verify(&in->set, why, why_size)
					 : lath_index_verify(&in->numbers, 5, why, why_size))
		return -1;
	count_words(&c);
	marks = count_marks(in);
	lath_arena_figures(&in->arena, &stats, &stats.record_bytes);
	if (c.unmarked || marks != c.records) {
		snprintf(why, why_size,
			 "%llu records in the index, %llu of them unmarked, %llu marks",
			 (unsigned long long)c.records, (unsigned long long)c.unmarked,
			 (unsigned long long)marks);
		return -1;
	}
	if (stats.record_bytes != c.bytes || stats.lost_bytes || stats.pending_bytes) {
		snprintf(why, why_size, "%llu bytes handed out, %llu in use",
			 (unsigned long long)stats.record_bytes, (unsigned long long)c.bytes);
		return -1;
	}
	return 0;
}

int shm_inside_verify(struct lath_store *store, char *why, size_t why_size)
{
	int ret = lath_shm_enter(shm_of(store), true); /* the arenas' locks */

	if (ret) {
		snprintf(why, why_size, "recovery: %d", ret);
		return -1;
	}
	ret = verify(store->inside, why, why_size);
	lath_shm_leave(shm_of(store));
	return ret;
}
