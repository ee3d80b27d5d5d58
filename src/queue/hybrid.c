/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * hybrid.c - the default engine: sorted blocks of one-word entries (arch/sortq_block.h).
 *
 * insert   adds the entry to the fresh ones. When there are 32 (8 in large queues), or when a call
 *          needs the order, they are settled.
 * settle   sorts the fresh entries and merges them into the blocks in runs. In deep queues it
 *          appends each to its block instead, as a late entry; a block's late entries are sorted
 *          when a call needs the block's order.
 * pop      takes the next entry of the window, or one of a few fresh entries that come before it;
 *          the head moves to the popped entry.
 * remove   with notes: adds the entry to the removed ones, which the next settle() cuts out of
 *          their blocks. Without notes: searches for the sector, then among its entries.
 */
#include "queue/queue.h"

/* up to this many fresh entries pop() compares one by one */
#define FEW_FRESH 8
/* neighbouring blocks with no more entries than this together are joined */
#define JOIN (LATH_BLOCK_CAP / 2)

static inline u64 rel(const struct lath_blocks *b, u64 entry)
{
	return entry - b->gate.base;
}

static inline u64 position(u64 entry)
{
	return entry & ~LATH_TAG_MASK;
}

void lath_hybrid_init(struct sortq *q, void *memory)
{
	q->b.gate.base = 0;
	q->b.sweep_mask = q->flags & LATH_SORTQ_LOWEST ? 0 : ~LATH_TAG_MASK;
	lath_blocks_init(&q->b, q->requests_max, memory);
}

static inline u32 live(const struct lath_blocks *b, u32 id)
{
	return b->info[id].hi - b->info[id].lo;
}

static inline void set_live(struct lath_block_info *info, u32 lo, u32 hi)
{
	LATH_ASSERT(lo < hi && hi <= LATH_BLOCK_CAP);
	info->lo = (u8)lo;
	info->hi = info->sorted = (u8)hi;
}

/* Copies n words, eight at a time: may write LATH_PAD - 1 words past the end. */
static __always_inline void copy(u64 *to, const u64 *from, u32 n)
{
	u32 i;

	for (i = 0; i < n; i += 8)
		memcpy(to + i, from + i, 8 * sizeof(u64));
}

/* Sorts a block's late entries and merges them with the others. */
static noinline void sort_late(struct lath_blocks *b, u32 id)
{
	u64 late[LATH_SORTQ_FRESH + LATH_PAD] __attribute__((aligned(64))),
		out[LATH_SORTQ_FRESH + LATH_PAD];
	struct lath_block_info *info = &b->info[id];
	u64 *e = b->block[id].e;
	u32 n = info->hi - info->sorted;

	LATH_ASSERT(n && n <= LATH_SORTQ_FRESH && info->hi <= LATH_BLOCK_CAP);
	copy(late, e + info->sorted, n);
	b->ops->merge(e + info->lo, e + info->lo, info->sorted - info->lo,
		      b->ops->sort(out, late, n, b->gate.base), n, b->gate.base);
	info->sorted = info->hi;
}

static inline void tidy(struct lath_blocks *b, u32 id)
{
	if (b->info[id].sorted != b->info[id].hi)
		sort_late(b, id);
}

static void tidy_all(struct lath_blocks *b)
{
	u32 id;

	for (id = b->first ? b->first : LATH_NONE; id != LATH_NONE; id = b->info[id].next)
		tidy(b, id);
}

/* Notes for the requests of e[0..n) that block `id` holds them: a hint for removal. */
static void tell(struct sortq *q, u32 id, const u64 *e, u32 n)
{
	u32 i;

	if (!q->notes)
		return;
	for (i = 0; i < n; i++)
		note_of(q, e[i] & LATH_TAG_MASK)->block = id;
}

static void tell_all(struct sortq *q, u32 id)
{
	tell(q, id, q->b.block[id].e + q->b.info[id].lo, live(&q->b, id));
}

/* Joins block `id` with the next one; both fit in one block. */
static void join_next(struct sortq *q, u32 id)
{
	struct lath_blocks *b = &q->b;
	struct lath_block_info *a = &b->info[id], *c = &b->info[a->next];
	u64 *e = b->block[id].e;
	u32 n = live(b, id), m = c->hi - c->lo, next = a->next;

	LATH_ASSERT(a->next != LATH_NONE && n + m <= LATH_BLOCK_CAP);
	tidy(b, id);
	tidy(b, next);
	memmove(e, e + a->lo, n * sizeof(u64));
	memcpy(e + n, b->block[next].e + c->lo, m * sizeof(u64));
	set_live(a, 0, n + m);
	lath_blocks_drop(b, next);
	tell_all(q, id);
}

static inline bool short_of_room(const struct lath_blocks *b)
{
	return b->free_block == LATH_NONE || b->free_page == LATH_NONE;
}

/* Without a free block or page: joins all neighbours that fit in one block. O(n), see blocks.c. */
static void squeeze(struct sortq *q)
{
	struct lath_blocks *b = &q->b;
	u32 id;

	for (id = b->first; id != LATH_NONE; id = b->info[id].next) {
		while (b->info[id].next != LATH_NONE &&
		       live(b, id) + live(b, b->info[id].next) <= LATH_BLOCK_CAP)
			join_next(q, id);
	}
	tidy_all(b);
	lath_blocks_rebuild(b);
	LATH_ASSERT(!short_of_room(b)); /* the pool has no more requests than joined blocks hold */
}

/* Copies e[0..n), the upper part of block `id`, to a new block behind it. Returns the new block. */
static u32 split_off(struct sortq *q, u32 id, u32 slot, const u64 *e, u32 n)
{
	struct lath_blocks *b = &q->b;
	u32 right = lath_blocks_add(b, id, slot, position(e[0]));

	LATH_ASSERT(n && n <= LATH_BLOCK_CAP);
	copy(b->block[right].e, e, n);
	set_live(&b->info[right], 0, n);
	tell_all(q, right);
	return right;
}

/* s[0..m) belong behind all entries of block `id`: appends as many as fit, or, if it is full, puts
 * them in a new block. Returns how many it placed. */
static u32 append_run(struct sortq *q, u32 id, u32 slot, const u64 *s, u32 m)
{
	struct lath_blocks *b = &q->b;
	struct lath_block_info *info = &b->info[id];
	u32 hi = info->hi;

	LATH_ASSERT(m && info->sorted == info->hi);
	LATH_ASSERT(rel(b, s[0] | LATH_TAG_MASK) >= rel(b, b->block[id].e[hi - 1]));
	if (hi == LATH_BLOCK_CAP) {
		id = lath_blocks_add(b, id, slot, position(s[0]));
		info = &b->info[id];
		hi = 0;
	}
	m = min(m, LATH_BLOCK_CAP - hi);
	copy(b->block[id].e + hi, s, m);
	info->hi = info->sorted = (u8)(hi + m);
	tell(q, id, s, m);
	return m;
}

/* Merges s[0..m) into block `id` when they do not fit behind its last entry: moves the block's
 * entries down to its start, or splits it into two halves. */
static noinline void merge_apart(struct sortq *q, u32 id, u32 slot, const u64 *s, u32 m)
{
	u64 out[LATH_BLOCK_CAP + LATH_SORTQ_FRESH + LATH_PAD] __attribute__((aligned(64)));
	struct lath_blocks *b = &q->b;
	struct lath_block_info *info = &b->info[id];
	u32 n = live(b, id) + m, half = n;

	LATH_ASSERT(m && n <= LATH_BLOCK_CAP + LATH_SORTQ_FRESH && info->sorted == info->hi);
	b->ops->merge(out, b->block[id].e + info->lo, n - m, s, m, b->gate.base);
	tell(q, id, s, m);
	if (n > LATH_BLOCK_CAP) {
		half = n / 2;
		split_off(q, id, slot, out + half, n - half);
	}
	copy(b->block[id].e, out, half);
	set_live(info, 0, half);
}

/* Merges s[0..m), which are sorted and belong to block `id`. Returns how many it placed. Needs a
 * free block and a free page. */
static u32 place_run(struct sortq *q, u32 id, u32 slot, const u64 *s, u32 m)
{
	struct lath_blocks *b = &q->b;
	struct lath_block_info *info = &b->info[id];
	u64 *e = b->block[id].e;

	LATH_ASSERT(m && b->free_block != LATH_NONE && b->free_page != LATH_NONE);
	tidy(b, id);
	if (rel(b, s[0] | LATH_TAG_MASK) >= rel(b, e[info->hi - 1]))
		return append_run(q, id, slot, s, m);
	if (unlikely(info->hi + m > LATH_BLOCK_CAP)) {
		merge_apart(q, id, slot, s, m);
		return m;
	}
	if (m == 1)
		b->ops->add(e, info->lo, info->hi, s[0], b->gate.base);
	else
		b->ops->merge(e + info->lo, e + info->lo, info->hi - info->lo, s, m, b->gate.base);
	info->hi += (u8)m;
	info->sorted = info->hi;
	LATH_ASSERT(info->hi <= LATH_BLOCK_CAP);
	tell(q, id, s, m);
	return m;
}

/* Returns how many of s[0..n) belong to block `id`; the first one does. */
static inline u32 run_length(const struct lath_blocks *b, u32 id, u32 slot, const u64 *s, u32 n)
{
	const struct lath_page *page = &b->page[b->info[id].page];
	u32 m = 1;
	u64 end;

	LATH_ASSERT(n && slot < page->hi && page->id[slot] == id);
	if (id == b->last)
		return n;
	if (unlikely(slot + 1 == page->hi))
		return 1; /* the upper bound is in another page */
	end = rel(b, page->sep[slot + 1]);
	while (m < n && rel(b, s[m]) < end)
		m++;
	return m;
}

/* Places s[0..n), sorted, in few blocks: one search per run. */
static void place_runs(struct sortq *q, const u64 *s, u32 n)
{
	struct lath_blocks *b = &q->b;
	u32 i = 0, id, slot;
	u64 w;

	while (i < n) {
		if (unlikely(short_of_room(b)))
			squeeze(q);
		id = b->last;
		tidy(b, id);
		if (rel(b, s[i] | LATH_TAG_MASK) >= rel(b, b->block[id].e[b->info[id].hi - 1])) {
			i += append_run(q, id, b->page[b->info[id].page].hi - 1, s + i, n - i);
			continue;
		}
		slot = b->page[b->info[id].page].lo;
		if (b->first != b->last) {
			b->ops->find(b, s + i, 1, &w);
			id = LATH_PLACE_BLOCK(w);
			slot = LATH_PLACE_SLOT(w);
		}
		i += place_run(q, id, slot, s + i, run_length(b, id, slot, s + i, n - i));
	}
}

/* Makes room at the top of a full block: moves its entries down, or splits off the upper half. */
static noinline void make_room(struct sortq *q, u32 id, u32 slot)
{
	struct lath_blocks *b = &q->b;
	struct lath_block_info *info = &b->info[id];
	u64 *e = b->block[id].e;
	u32 n = live(b, id), half = n > LATH_BLOCK_CAP * 3 / 4 ? n / 2 : n;

	LATH_ASSERT(info->hi == LATH_BLOCK_CAP);
	tidy(b, id);
	memmove(e, e + info->lo, n * sizeof(u64));
	if (half < n)
		split_off(q, id, slot, e + half, n - half);
	set_live(info, 0, half);
}

/*
 * Places s[0..n) in many blocks: appends each entry to its block as a late one. This writes one
 * cache line of the block; all its late entries are later sorted and merged at once.
 */
static void place_late(struct sortq *q, const u64 *s, u32 n)
{
	struct lath_blocks *b = &q->b;
	u64 w[LATH_SORTQ_FRESH];
	u32 i = 0, m, id, free_block;

	while (i < n) {
		if (unlikely(short_of_room(b)))
			squeeze(q);
		b->ops->find(b, s + i, n - i, w + i);
		if (q->far) {
			for (m = i; m < n; m++)
				prefetch(&b->info[LATH_PLACE_BLOCK(w[m])]);
			for (m = i; m < n; m++)
				prefetchw(b->block[LATH_PLACE_BLOCK(w[m])].e +
					  b->info[LATH_PLACE_BLOCK(w[m])].hi);
		}
		/* until a split invalidates the places found */
		for (free_block = b->free_block; i < n && free_block == b->free_block; i++) {
			struct lath_block_info *info;

			id = LATH_PLACE_BLOCK(w[i]);
			info = &b->info[id];
			if (unlikely(info->hi == LATH_BLOCK_CAP)) {
				make_room(q, id, LATH_PLACE_SLOT(w[i]));
				if (free_block != b->free_block)
					break;
			}
			LATH_ASSERT(info->hi < LATH_BLOCK_CAP && live(b, id));
			b->block[id].e[info->hi++] = s[i];
			if (q->notes)
				note_of(q, s[i] & LATH_TAG_MASK)->block = id;
			if (unlikely(info->hi - info->sorted == LATH_SORTQ_FRESH))
				sort_late(b, id);
		}
	}
}

/* Returns whether all fresh entries come behind all entries in blocks. */
static bool all_behind(const struct lath_blocks *b)
{
	const struct lath_block_info *info = &b->info[b->last];
	u64 end = rel(b, b->block[b->last].e[info->hi - 1]);
	u32 i = 0;

	if (info->sorted != info->hi)
		return false;
	while (i < b->gate.fresh_count && rel(b, b->gate.fresh[i] | LATH_TAG_MASK) >= end)
		i++;
	return i == b->gate.fresh_count;
}

/* Moves all fresh entries into blocks. There is at least one. */
static void merge_fresh(struct sortq *q)
{
	struct lath_blocks *b = &q->b;
	u64 out[LATH_SORTQ_FRESH + LATH_PAD];
	const u64 *s;
	u32 n = b->gate.fresh_count, id;
	bool late;

	LATH_ASSERT(n && n <= b->gate.fresh_cap && b->gate.next == b->opened);
	b->count += n;
	LATH_ASSERT(b->count <= q->requests_max); /* a request is queued once */
	late = b->count > b->ops->few && b->first && !all_behind(b);
	b->gate.fresh_count = 0;
	if (late) {
		place_late(q, b->gate.fresh, n);
		return;
	}
	s = n > 1 ? b->ops->sort(out, b->gate.fresh, n, b->gate.base) : b->gate.fresh;
	if (!b->first) {
		id = lath_blocks_first(b);
		copy(b->block[id].e, s, n);
		set_live(&b->info[id], 0, n);
		tell_all(q, id);
	} else {
		place_runs(q, s, n);
	}
}

/* Subtracts the entries that left through the window from the counts, and sets base to the head. */
static void count_gone(struct lath_blocks *b)
{
	u32 gone = (u32)(b->gate.next - b->opened);

	if (!gone)
		return;
	LATH_ASSERT(gone <= live(b, b->first) && gone <= b->count);
	b->gate.base = b->gate.next[-1] & b->sweep_mask;
	b->count -= gone;
	b->info[b->first].lo += (u8)gone;
	b->opened = b->gate.next;
}

static void close_window(struct lath_blocks *b)
{
	count_gone(b);
	if (b->opened != b->gate.fresh && b->info[b->first].lo == b->info[b->first].hi)
		lath_blocks_drop_first(b);
	b->gate.next = b->opened = b->gate.fresh;
	b->gate.limit = 0;
}

static void cut_entry(struct sortq *q, u32 id, u64 entry)
{
	struct lath_blocks *b = &q->b;
	struct lath_block_info *info = &b->info[id];
	u32 n;

	LATH_ASSERT(id < b->blocks && live(b, id));
	b->ops->cut(b->block[id].e, info, entry);
	n = live(b, id);
	if (!n)
		lath_blocks_drop(b, id);
	else if (n >= JOIN)
		return;
	else if (info->next != LATH_NONE && n + live(b, info->next) <= JOIN)
		join_next(q, id);
	else if (info->prev != LATH_NONE && n + live(b, info->prev) <= JOIN)
		join_next(q, info->prev);
}

/* Cuts the removed entries out of their blocks. Runs before the fresh entries are merged: a removed
 * request may have been inserted again, and its note names its old block until then. */
static void cut_removed(struct sortq *q)
{
	u32 i;

	LATH_ASSERT(q->removed_count <= LATH_REMOVED_CAP);
	for (i = 0; i < q->removed_count; i++)
		cut_entry(q, note_of(q, q->removed[i] & LATH_TAG_MASK)->block, q->removed[i]);
	q->removed_count = 0;
}

/* Brings all entries into blocks and all counts up to date; closes the window. */
static noinline void settle(struct sortq *q)
{
	close_window(&q->b);
	if (q->removed_count)
		cut_removed(q);
	if (q->b.gate.fresh_count)
		merge_fresh(q);
	LATH_ASSERT(!q->b.gate.fresh_count && !q->removed_count);
}

/* Settles all entries and opens the window on the first block. Returns false if there are none. */
noinline bool lath_hybrid_open(struct sortq *q)
{
	struct lath_blocks *b = &q->b;

	settle(q);
	if (!b->first)
		return false;
	LATH_ASSERT(live(b, b->first)); /* an empty block is dropped */
	tidy(b, b->first);
	b->gate.next = b->opened = b->block[b->first].e + b->info[b->first].lo;
	b->block[b->first].e[b->info[b->first].hi] = b->gate.base - 1; /* the greatest distance */
	b->gate.limit = ~0ull;
	return true;
}

/* Inserts rq at a place that lath_hybrid_seek() found; the queue has not changed. Returns 0. */
int lath_hybrid_insert_at(struct sortq *q, u64 place, struct lath_request *rq)
{
	struct lath_blocks *b = &q->b;
	u32 id = LATH_PLACE_BLOCK(place), p = LATH_PLACE_INDEX(place);
	struct lath_block_info *info = &b->info[id];
	u64 entry[1 + LATH_PAD] = { entry_of(rq) };

	LATH_ASSERT(!b->gate.fresh_count && !q->removed_count); /* as the seek left it */
	LATH_ASSERT(b->gate.next == b->opened && p >= info->lo && p <= info->hi);
	if (unlikely(!b->first || (info->hi == LATH_BLOCK_CAP && short_of_room(b)))) {
		lath_sortq_gather(public_of(q), rq);
		return 0;
	}
	b->count++;
	if (q->notes)
		note_of(q, rq->tag)->block = id;
	if (p == info->lo && p) {
		b->block[id].e[--info->lo] = entry[0];
	} else if (likely(info->hi < LATH_BLOCK_CAP)) {
		b->ops->put(b->block[id].e, p, info->hi, entry[0]);
		info->sorted = ++info->hi;
	} else {
		place_run(q, id, LATH_PLACE_SLOT(place), entry, 1);
	}
	return 0;
}

struct lath_request *lath_hybrid_first(struct sortq *q)
{
	return lath_window_has_next(&q->b) || lath_hybrid_open(q) ? request_of(q, *q->b.gate.next)
								  : NULL;
}

/* Removes and returns fresh[at]; the others stay in order of arrival. */
static inline u64 take_fresh(struct lath_sortq_gate *gate, u32 at)
{
	u64 entry = gate->fresh[at];
	u32 i;

	LATH_ASSERT(at < gate->fresh_count && gate->fresh_count <= FEW_FRESH);
	for (i = 0; i < FEW_FRESH; i++)
		gate->fresh[i] = gate->fresh[i + (i >= at)];
	gate->fresh_count--;
	return entry;
}

/*
 * Pops from an open window when one of at most FEW_FRESH fresh entries may come before its next
 * entry, without sorting them: finds the two nearest by distance and, among equals, by arrival.
 * NULL if the window is closed or empty, or if there are too many fresh or any removed entries.
 */
static struct lath_request *pop_few(struct sortq *q)
{
	struct lath_blocks *b = &q->b;
	struct lath_sortq_gate *gate = &b->gate;
	u64 first = ~0ull, second = ~0ull, further, key, entry;
	u64 *end = b->block[b->first].e + b->info[b->first].hi;
	u32 i;

	if (b->opened == gate->fresh || gate->next == end || gate->fresh_count > FEW_FRESH ||
	    q->removed_count)
		return NULL;
	count_gone(b);
	for (i = 0; i < FEW_FRESH; i++) {
		key = i < gate->fresh_count ? rel(b, position(gate->fresh[i])) | i : ~0ull;
		further = max(first, key);
		first = min(first, key);
		second = min(second, further);
	}
	if (rel(b, *gate->next) < (first | LATH_TAG_MASK)) {
		entry = *gate->next++;
		key = first;
	} else {
		entry = take_fresh(gate, first & LATH_TAG_MASK);
		first = position(entry) & b->sweep_mask;
		key = second == ~0ull ? second : second - (first - gate->base);
		gate->base = first;
	}
	gate->limit = key | LATH_TAG_MASK;
	*end = gate->base - 1;
	return request_of(q, entry);
}

struct lath_request *lath_hybrid_pop(struct sortq *q)
{
	struct lath_request *rq;

	if (!lath_window_has_next(&q->b)) {
		rq = pop_few(q);
		if (rq)
			return rq;
		if (!lath_hybrid_open(q))
			return NULL;
	}
	return request_of(q, *q->b.gate.next++);
}

size_t lath_hybrid_pop_batch(struct sortq *q, struct lath_request **out, size_t n)
{
	struct lath_blocks *b = &q->b;
	size_t done = 0;

	while (done < n && (lath_window_has_next(b) || lath_hybrid_open(q))) {
		u64 *e = b->gate.next, limit = b->gate.limit;
		const u64 *at, *end = b->block[b->first].e + b->info[b->first].hi;

		if (unlikely(q->far)) {
			/* and three more for the next call */
			for (at = e; at < min(e + (n - done) + 3, end); at++)
				prefetch(request_of(q, *at));
		}
		do {
			out[done++] = request_of(q, *e++);
		} while (done < n && rel(b, *e) < limit);
		b->gate.next = e;
	}
	return done;
}

u64 lath_hybrid_seek(struct sortq *q, u64 key)
{
	u64 place;

	settle(q);
	LATH_ASSERT(q->b.first);
	place = q->b.ops->seek(&q->b, key);
	if (unlikely(q->b.info[LATH_PLACE_BLOCK(place)].sorted !=
		     q->b.info[LATH_PLACE_BLOCK(place)].hi)) {
		sort_late(&q->b, LATH_PLACE_BLOCK(place));
		place = q->b.ops->seek(&q->b, key);
	}
	return place;
}

/* Returns the place of rq: in the block that its note names, or by a search among the entries of
 * its sector. LATH_NO_SLOT: rq is not in this queue. */
u64 lath_hybrid_place_of(struct sortq *q, const struct lath_request *rq)
{
	struct lath_blocks *b = &q->b;
	u64 entry = entry_of(rq), w;
	u32 id = LATH_NONE, p, slot;

	settle(q);
	if (q->notes)
		id = note_of(q, rq->tag)->block;
	if (likely(id < b->blocks)) {
		tidy(b, id);
		p = b->ops->locate(b->block[id].e, entry);
		if (likely(p >= b->info[id].lo && p < b->info[id].hi))
			return LATH_PLACE(id, p, 0);
	}
	if (unlikely(!b->first))
		return LATH_NO_SLOT;
	/* the smallest key has no predecessor to search for */
	w = position(entry) == b->gate.base ? LATH_PLACE(b->first, b->info[b->first].lo, 0)
					    : lath_hybrid_seek(q, position(entry) - 1);
	id = LATH_PLACE_BLOCK(w);
	p = LATH_PLACE_INDEX(w);
	slot = LATH_PLACE_SLOT(w);
	for (;;) {
		tidy(b, id);
		for (; p < b->info[id].hi; p++) {
			if (b->block[id].e[p] == entry)
				return LATH_PLACE(id, p, slot);
			if (position(b->block[id].e[p]) != position(entry))
				return LATH_NO_SLOT;
		}
		id = b->info[id].next;
		if (id == LATH_NONE)
			return LATH_NO_SLOT;
		p = b->info[id].lo;
		slot = 0; /* unknown; no caller uses it */
	}
}

/* Returns whether a note tells the block of an entry: fresh entries are in none yet. */
static bool knows_block(const struct sortq *q, u64 entry)
{
	const struct lath_sortq_gate *gate = &q->b.gate;
	u32 i = 0;

	while (i < gate->fresh_count && gate->fresh[i] != entry)
		i++;
	return q->notes && i == gate->fresh_count;
}

int lath_hybrid_remove(struct sortq *q, struct lath_request *rq)
{
	struct lath_blocks *b = &q->b;
	u64 entry = entry_of(rq), place;

	LATH_ASSERT(rq->tag < q->requests_max && request_of(q, entry) == rq);
	if (unlikely(!knows_block(q, entry))) {
		place = lath_hybrid_place_of(q, rq);
		if (unlikely(place == LATH_NO_SLOT))
			return -ENOENT;
		LATH_ASSERT(b->count);
		b->count--;
		cut_entry(q, LATH_PLACE_BLOCK(place), entry);
		return 0;
	}
	if (unlikely(q->removed_count == LATH_REMOVED_CAP))
		settle(q);
	lath_hybrid_note_removal(q, entry);
	return 0;
}

bool lath_hybrid_move(struct sortq *q, struct lath_request *rq, u64 sector)
{
	struct lath_blocks *b = &q->b;
	u64 place = lath_hybrid_place_of(q, rq), moved = sector << LATH_TAG_BITS | rq->tag;
	u32 id = LATH_PLACE_BLOCK(place), p = LATH_PLACE_INDEX(place);
	u64 *e;

	if (unlikely(place == LATH_NO_SLOT))
		return false;
	e = b->block[id].e;
	/* it must not pass the entry before it or the head, or leave its block */
	if (moved != e[p] && (p == b->info[id].lo || rel(b, moved) > rel(b, e[p]) ||
			      rel(b, position(moved)) < rel(b, position(e[p - 1]))))
		return false;
	e[p] = moved;
	return true;
}

struct lath_request *lath_hybrid_before(struct sortq *q, u64 place)
{
	struct lath_blocks *b = &q->b;
	u32 id = LATH_PLACE_BLOCK(place), p = LATH_PLACE_INDEX(place);

	LATH_ASSERT(id < b->blocks && p >= b->info[id].lo && p <= b->info[id].hi);
	if (p == b->info[id].lo) {
		id = b->info[id].prev;
		if (id == LATH_NONE)
			return NULL;
		tidy(b, id);
		p = b->info[id].hi;
	}
	return request_of(q, b->block[id].e[p - 1]);
}

struct lath_request *lath_hybrid_behind(struct sortq *q, u64 place)
{
	struct lath_blocks *b = &q->b;
	u32 id = LATH_PLACE_BLOCK(place), p = LATH_PLACE_INDEX(place);

	LATH_ASSERT(id < b->blocks && p >= b->info[id].lo && p <= b->info[id].hi);
	if (p == b->info[id].hi) {
		id = b->info[id].next;
		if (id == LATH_NONE)
			return NULL;
		tidy(b, id);
		p = b->info[id].lo;
	}
	return request_of(q, b->block[id].e[p]);
}

u64 lath_hybrid_head(const struct sortq *q)
{
	const struct lath_blocks *b = &q->b;

	return (b->gate.next != b->opened ? b->gate.next[-1] & b->sweep_mask : b->gate.base) >>
	       LATH_TAG_BITS;
}

/* Returns the block whose first entry is the first one at or after the new head; splits a block if
 * that entry lies inside one. */
static u32 block_at_head(struct sortq *q, u64 sector)
{
	struct lath_blocks *b = &q->b;
	u64 w = lath_hybrid_seek(q, (sector << LATH_TAG_BITS) - 1);
	u32 id = LATH_PLACE_BLOCK(w), p = LATH_PLACE_INDEX(w), right;

	if (p == b->info[id].lo)
		return id;
	if (p == b->info[id].hi)
		return b->info[id].next == LATH_NONE ? b->first : b->info[id].next;
	right = split_off(q, id, LATH_PLACE_SLOT(w), b->block[id].e + p, b->info[id].hi - p);
	set_live(&b->info[id], b->info[id].lo, p);
	return right;
}

/* Rotates the chain of blocks so that it begins at the new head, and rebuilds the directory.
 * O(n/32). */
void lath_hybrid_set_head(struct sortq *q, u64 sector)
{
	struct lath_blocks *b = &q->b;
	u64 base = sector << LATH_TAG_BITS;
	u32 id;

	settle(q);
	if (b->first && base != b->gate.base) {
		if (short_of_room(b))
			squeeze(q);
		id = block_at_head(q, sector);
		if (id != b->first) {
			b->info[b->last].next = b->first;
			b->info[b->first].prev = b->last;
			b->last = b->info[id].prev;
			b->first = id;
			b->info[id].prev = b->info[b->last].next = LATH_NONE;
		}
		LATH_ASSERT(b->info[b->first].prev == LATH_NONE &&
			    b->info[b->last].next == LATH_NONE);
		tidy_all(b);
		b->gate.base = base;
		lath_blocks_rebuild(b);
	}
	b->gate.base = base;
}

static bool mark(struct lath_request *rq, bool value)
{
	bool was = rq->where;

	rq->where = value;
	return was;
}

/* Sets `where` of all queued requests to value. Returns whether one of them was not 0 before. */
static bool mark_all(struct sortq *q, bool value)
{
	const struct lath_blocks *b = &q->b;
	bool was = false;
	u32 id, i;

	for (i = 0; i < b->gate.fresh_count; i++)
		was |= mark(request_of(q, b->gate.fresh[i]), value);
	for (id = b->first ? b->first : LATH_NONE; id != LATH_NONE; id = b->info[id].next) {
		for (i = b->info[id].lo; i < b->info[id].hi; i++)
			was |= mark(request_of(q, b->block[id].e[i]), value);
	}
	return was;
}

int lath_hybrid_verify(struct sortq *q)
{
	const struct lath_blocks *b = &q->b;
	u32 id, i, n = 0;
	u64 last = 0;
	bool twice;

	for (i = 0; i < b->gate.fresh_count; i++) {
		if (entry_of(request_of(q, b->gate.fresh[i])) != b->gate.fresh[i])
			return 3;
	}
	close_window(&q->b);
	cut_removed(q);
	tidy_all(&q->b);
	for (id = b->first ? b->first : LATH_NONE; id != LATH_NONE; id = b->info[id].next) {
		for (i = b->info[id].lo; i < b->info[id].hi; i++) {
			u64 entry = b->block[id].e[i], at = rel(b, position(entry));
			const struct lath_request *rq = request_of(q, entry);

			if (n && at < last)
				return 1;
			if (entry_of(rq) != entry)
				return 3;
			last = at;
			n++;
		}
	}
	if (n != b->count)
		return 4;
	twice = mark_all(q, true);
	mark_all(q, false);
	return twice ? 6 : lath_blocks_verify(b);
}
