/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * hybrid.c - the default engine: sorted blocks of one-word entries (arch/sortq_block.h).
 *
 * insert   finger? append there : one descent that inserts (ops->place) : split where the data ask for it
 * pop      next entry of the first block; the head is the entry popped
 * remove   the request names its block, the tag is found in it by one comparison of the block
 *
 * The finger is the block that got an append last. A stream's next request falls between that block's
 * last entry and the next block's separator, and is appended without a search; a stream at the very
 * end - sequential data - is the same case.
 *
 * A full block splits where the stream in it grows: upwards at the insert point, so that the stream
 * goes on at a block's end; downwards into a block filled from its top; without a stream in the
 * middle. `at`, the index of the insert before, tells.
 */
#include "queue/queue.h"

/* blocks that together have so few entries become one */
#define JOIN (LATH_BLOCK_CAP / 2)
/* a dead prefix worth closing rather than splitting */
#define CLOSE 4

static inline u64 rel(const struct lath_blocks *b, u64 entry)
{
	return entry - b->base;
}

static inline u64 position(u64 entry)
{
	return entry & ~LATH_TAG_MASK;
}

size_t lath_hybrid_memsize(u32 requests)
{
	return lath_blocks_memsize(requests);
}

void lath_hybrid_init(struct sortq *q, void *memory)
{
	q->b.base = 0;
	q->b.sweep_mask = q->flags & LATH_SORTQ_LOWEST ? 0 : ~LATH_TAG_MASK;
	lath_blocks_init(&q->b, q->requests_max, memory);
}

/* Requests of e[lo..hi) of block id learn where they are. */
static void tell(struct sortq *q, u32 id)
{
	const struct lath_block_info *info = &q->b.info[id];
	u32 i;

	for (i = info->lo; i < info->hi; i++)
		request_of(q, q->b.block[id].e[i])->where = id;
}

/* Move e[from..hi) of block id to the empty block `to`, against its end if `top`. */
static void move_tail(struct sortq *q, u32 id, u32 from, u32 to, bool top)
{
	struct lath_block_info *a = &q->b.info[id], *c = &q->b.info[to];
	u32 n = a->hi - from;

	c->lo = (u8)(top ? LATH_BLOCK_CAP - n : 0);
	c->hi = (u8)(c->lo + n);
	c->at = c->lo;
	memcpy(q->b.block[to].e + c->lo, q->b.block[id].e + from, n * sizeof(u64));
	a->hi = (u8)from;
	tell(q, to);
}

/* Join block id with the one behind it. */
static void join_next(struct sortq *q, u32 id)
{
	struct lath_blocks *b = &q->b;
	struct lath_block_info *a = &b->info[id], *c = &b->info[a->next];
	u64 *e = b->block[id].e;
	u32 n = a->hi - a->lo, m = c->hi - c->lo, next = a->next;

	memmove(e, e + a->lo, n * sizeof(u64));
	memcpy(e + n, b->block[next].e + c->lo, m * sizeof(u64));
	a->lo = 0;
	a->hi = (u8)(n + m);
	a->at = a->hi;
	lath_blocks_drop(b, next);
	tell(q, id);
}

static inline u32 live(const struct lath_blocks *b, u32 id)
{
	return b->info[id].hi - b->info[id].lo;
}

/* Out of blocks or pages: join all neighbours that fit in one. O(n), see blocks.c. */
static void squeeze(struct sortq *q)
{
	struct lath_blocks *b = &q->b;
	u32 id;

	for (id = b->first; id != LATH_NONE; id = b->info[id].next) {
		while (b->info[id].next != LATH_NONE &&
		       live(b, id) + live(b, b->info[id].next) <= LATH_BLOCK_CAP)
			join_next(q, id);
	}
	lath_blocks_rebuild(b);
}

static inline bool short_of_room(const struct lath_blocks *b)
{
	return b->free_block == LATH_NONE || b->free_page == LATH_NONE;
}

/* The block has dead room below: move it down. */
static void close_up(struct lath_blocks *b, u32 id)
{
	struct lath_block_info *info = &b->info[id];
	u64 *e = b->block[id].e;

	memmove(e, e + info->lo, live(b, id) * sizeof(u64));
	info->hi -= info->lo;
	info->at = info->at > info->lo ? info->at - info->lo : 0;
	info->lo = 0;
}

/* A stream grows upwards at index p of the full block id: what is behind goes to a block of its own. */
static u32 split_up(struct sortq *q, u32 id, u32 slot, u32 p, u64 entry)
{
	struct lath_blocks *b = &q->b;
	u64 *e = b->block[id].e;
	u32 right;

	if (p == LATH_BLOCK_CAP) {
		id = lath_blocks_add(b, id, slot, false, position(entry));
		b->block[id].e[0] = entry;
		b->info[id].hi = 1;
		return id;
	}
	b->finger_end = position(e[p]);
	b->finger_open = 0;
	right = lath_blocks_add(b, id, slot, false, b->finger_end);
	b->finger = id;
	move_tail(q, id, p, right, false);
	e[p] = entry;
	b->info[id].hi++;
	b->info[id].at = (u8)p;
	return id;
}

/* Block id grew downwards: the next one below it needs no search. Not for the first block of a page, whose
 * separator is in the top. */
static void note_low(struct lath_blocks *b, u32 id)
{
	const struct lath_page *page = &b->page[b->info[id].page];
	u32 slot = page->lo + 1;

	while (slot < page->hi && page->id[slot] != id)
		slot++;
	if (slot < page->hi) {
		b->low = id;
		b->low_sep = page->sep[slot];
	}
}

/* A stream grows downwards at index p: the entries from p on go to the top of a block. */
static u32 split_down(struct sortq *q, u32 id, u32 slot, u32 p, u64 entry)
{
	struct lath_blocks *b = &q->b;
	u64 *e = b->block[id].e, separator;
	u32 to;

	if (p == b->info[id].lo) {
		/* alone in a new block before this one, which is told apart by its first entry */
		to = lath_blocks_add(b, id, slot, true, position(e[p]));
		b->info[to].lo = b->info[to].hi = LATH_BLOCK_CAP;
	} else {
		/* as low as the block before allows: what comes next still belongs to the new block */
		separator = position(e[p - 1]) + LATH_TAG_MASK + 1;
		if (rel(b, separator) > rel(b, entry))
			separator = position(entry);
		to = lath_blocks_add(b, id, slot, false, separator);
		move_tail(q, id, p, to, true);
	}
	b->block[to].e[--b->info[to].lo] = entry;
	b->info[to].at = b->info[to].lo;
	note_low(b, to);
	return to;
}

/* No stream: half and half. Among equals the entry goes behind those on its left. */
static u32 split_even(struct sortq *q, u32 id, u32 slot, u32 p, u64 entry)
{
	struct lath_blocks *b = &q->b;
	const u32 half = LATH_BLOCK_CAP / 2;
	u32 right = lath_blocks_add(b, id, slot, false, position(b->block[id].e[half]));
	bool left = p <= half;

	b->ops->split(b->block[id].e, b->block[right].e, p, entry);
	b->info[id].hi = (u8)(half + left);
	b->info[right].hi = (u8)(half + !left);
	b->info[left ? id : right].at = (u8)(left ? p : p - half);
	tell(q, right);
	return left ? id : right;
}

/* entry belongs at index p of block id, whose hi is at the top. Returns the block it went to. */
static u32 insert_full(struct sortq *q, u32 id, u32 slot, u32 p, u64 entry)
{
	struct lath_blocks *b = &q->b;
	struct lath_block_info *info = &b->info[id];
	u64 *e = b->block[id].e;

	if (info->lo) {
		if (p == info->lo) {
			e[--info->lo] = entry;
			info->at = info->lo;
			note_low(b, id);
			return id;
		}
		p -= info->lo;
		close_up(b, id);
		b->ops->put(e, p, info->hi, entry);
		info->hi++;
		info->at = (u8)p;
		return id;
	}
	if (p && info->at == p - 1)
		return split_up(q, id, slot, p, entry);
	if (info->at == p)
		return split_down(q, id, slot, p, entry);
	return split_even(q, id, slot, p, entry);
}

/* The finger did not hold. */
static noinline u32 insert_entry(struct sortq *q, u64 entry)
{
	struct lath_blocks *b = &q->b;
	u64 w;
	u32 id;

	if (unlikely(!b->first)) {
		lath_blocks_first(b, entry);
		return b->first;
	}
	w = b->ops->place(b, entry);
	id = LATH_PLACE_BLOCK(w);
	if (likely(!(w & LATH_PLACE_FULL))) {
		if (unlikely(w & LATH_PLACE_LOW))
			note_low(b, id);
		else if (unlikely(w & LATH_PLACE_STREAM))
			lath_blocks_set_finger(b, id, LATH_PLACE_SLOT(w));
		return id;
	}
	if (unlikely(short_of_room(b))) {
		squeeze(q);
		return insert_entry(q, entry);
	}
	return insert_full(q, id, LATH_PLACE_SLOT(w), LATH_PLACE_INDEX(w), entry);
}

/* Does entry go right behind the finger's last entry? The block may be full. */
static inline bool at_finger(const struct lath_blocks *b, u32 id, u32 hi, u64 entry)
{
	u64 k = rel(b, entry | LATH_TAG_MASK);

	u64 end = rel(b, b->finger_end) | b->finger_open;

	/* one branch instead of two */
	return (u32)(k >= rel(b, b->block[id].e[hi - 1])) & (u32)(k < end);
}

/* Does entry go right before the first of `low`, and is there room? */
static inline bool below_low(const struct lath_blocks *b, u64 entry)
{
	u32 id = b->low, lo = b->info[id].lo;
	u64 k = rel(b, entry | LATH_TAG_MASK);

	return id && lo && k < rel(b, b->block[id].e[lo]) && k >= rel(b, b->low_sep);
}

void lath_hybrid_insert(struct sortq *q, struct lath_request *rq)
{
	struct lath_blocks *b = &q->b;
	u64 entry = entry_of(rq);
	u32 id = b->finger, hi = b->info[id].hi;

	b->count++;
	if (at_finger(b, id, hi, entry)) {
		if (likely(hi < LATH_BLOCK_CAP)) {
			b->block[id].e[hi] = entry;
			b->info[id].at = (u8)hi;
			b->info[id].hi = (u8)(hi + 1);
			rq->where = id;
			return;
		}
		if (likely(id == b->last && id && !short_of_room(b))) {
			rq->where = lath_blocks_append(b, entry);
			return;
		}
	}
	if (below_low(b, entry)) {
		id = b->low;
		b->info[id].at = --b->info[id].lo;
		b->block[id].e[b->info[id].lo] = entry;
		rq->where = id;
		return;
	}
	rq->where = insert_entry(q, entry);
}

void lath_hybrid_insert_at(struct sortq *q, u64 place, struct lath_request *rq)
{
	struct lath_blocks *b = &q->b;
	u32 id = LATH_PLACE_BLOCK(place), p = LATH_PLACE_INDEX(place), slot = LATH_PLACE_SLOT(place);
	struct lath_block_info *info = &b->info[id];
	u64 entry = entry_of(rq);

	if (unlikely(!b->first || (info->hi == LATH_BLOCK_CAP && short_of_room(b)))) {
		lath_hybrid_insert(q, rq);
		return;
	}
	b->count++;
	if (unlikely(info->hi == LATH_BLOCK_CAP)) {
		if (p == LATH_BLOCK_CAP && id == b->last)
			rq->where = lath_blocks_append(b, entry);
		else
			rq->where = insert_full(q, id, slot, p, entry);
		return;
	}
	rq->where = id;
	if (p == info->lo && p) {
		b->block[id].e[--info->lo] = entry;
		info->at = info->lo;
		return;
	}
	if (p == info->hi)
		lath_blocks_set_finger(b, id, slot);
	b->ops->put(b->block[id].e, p, info->hi, entry);
	info->hi++;
	info->at = (u8)p;
}

/* The block has run empty with this entry. */
static noinline struct lath_request *pop_last(struct sortq *q, u64 entry)
{
	lath_blocks_drop_first(&q->b);
	return request_of(q, entry);
}

struct lath_request *lath_hybrid_pop(struct sortq *q)
{
	struct lath_blocks *b = &q->b;
	u32 id = b->first;
	struct lath_block_info *info = &b->info[id];
	u32 lo = info->lo;
	u64 entry = b->block[id].e[lo];

	if (unlikely(q->far) && lo + 3u < info->hi)
		prefetch(request_of(q, b->block[id].e[lo + 3]));
	b->base = entry & b->sweep_mask;
	b->count--;
	lo++;
	info->lo = (u8)lo;
	if (unlikely(lo == info->hi))
		return pop_last(q, entry);
	return request_of(q, entry);
}

size_t lath_hybrid_pop_batch(struct sortq *q, struct lath_request **out, size_t n)
{
	struct lath_blocks *b = &q->b;
	size_t done = 0;

	n = min(n, (size_t)b->count);
	while (done < n) {
		u32 id = b->first, lo = b->info[id].lo;
		const u64 *e = b->block[id].e + lo;
		u32 take = (u32)min(n - done, (size_t)(b->info[id].hi - lo)), i;

		if (unlikely(q->far)) {
			for (i = 0; i < take; i++)
				prefetch(request_of(q, e[i]));
		}
		for (i = 0; i < take; i++)
			out[done++] = request_of(q, e[i]);
		b->base = e[take - 1] & b->sweep_mask;
		b->info[id].lo = (u8)(lo + take);
		if (lo + take == b->info[id].hi)
			lath_blocks_drop_first(b);
	}
	b->count -= (u32)n;
	return n;
}

static inline u32 index_of(const struct sortq *q, const struct lath_request *rq)
{
	const struct lath_block_info *info = &q->b.info[rq->where];
	u32 found = q->b.ops->find(q->b.block[rq->where].e, rq->tag);

	/* popped entries below lo may carry a tag that came back */
	return __ffs64(found & ((1u << info->hi) - (1u << info->lo)));
}

void lath_hybrid_remove(struct sortq *q, struct lath_request *rq)
{
	struct lath_blocks *b = &q->b;
	u32 id = rq->where, p = index_of(q, rq), n;
	struct lath_block_info *info = &b->info[id];

	rq->where = 0;
	b->count--;
	if (p == info->lo) {
		info->lo++;
	} else {
		b->ops->cut(b->block[id].e, p, info->hi);
		info->hi--;
		info->at -= p < info->at;
	}
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

bool lath_hybrid_move(struct sortq *q, struct lath_request *rq, u64 sector)
{
	struct lath_blocks *b = &q->b;
	u32 id = rq->where, p = index_of(q, rq);
	u64 *e = b->block[id].e, moved = sector << LATH_TAG_BITS | rq->tag;

	/* it may pass neither the entry before it nor the head, nor leave its block */
	if (p == b->info[id].lo || rel(b, moved) > rel(b, e[p]) ||
	    rel(b, position(moved)) < rel(b, position(e[p - 1])))
		return false;
	e[p] = moved;
	return true;
}

struct lath_request *lath_hybrid_before(struct sortq *q, u64 place)
{
	struct lath_blocks *b = &q->b;
	u32 id = LATH_PLACE_BLOCK(place), p = LATH_PLACE_INDEX(place);

	if (p == b->info[id].lo) {
		id = b->info[id].prev;
		if (id == LATH_NONE)
			return NULL;
		p = b->info[id].hi;
	}
	return request_of(q, b->block[id].e[p - 1]);
}

struct lath_request *lath_hybrid_behind(struct sortq *q, u64 place)
{
	struct lath_blocks *b = &q->b;
	u32 id = LATH_PLACE_BLOCK(place), p = LATH_PLACE_INDEX(place);

	if (p == b->info[id].hi) {
		id = b->info[id].next;
		if (id == LATH_NONE)
			return NULL;
		p = b->info[id].lo;
	}
	return request_of(q, b->block[id].e[p]);
}

u64 lath_hybrid_place_of(struct sortq *q, const struct lath_request *rq)
{
	return LATH_PLACE(rq->where, index_of(q, rq), 0);
}

/* The first block whose first entry is the first at or after the new head; it may have to be cut. */
static u32 block_at_head(struct sortq *q, u64 sector)
{
	struct lath_blocks *b = &q->b;
	u64 w = b->ops->seek(b, (sector << LATH_TAG_BITS) - 1);
	u32 id = LATH_PLACE_BLOCK(w), p = LATH_PLACE_INDEX(w), right;

	if (p == b->info[id].lo)
		return id;
	if (p == b->info[id].hi)
		return b->info[id].next == LATH_NONE ? b->first : b->info[id].next;
	right = lath_blocks_add(b, id, LATH_PLACE_SLOT(w), false, position(b->block[id].e[p]));
	move_tail(q, id, p, right, false);
	return right;
}

/* Turn the circle of blocks; the directory is written anew. */
void lath_hybrid_set_head(struct sortq *q, u64 sector)
{
	struct lath_blocks *b = &q->b;
	u64 base = sector << LATH_TAG_BITS;
	u32 id;

	if (b->first && base != b->base) {
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
		b->base = base;
		lath_blocks_rebuild(b);
	}
	b->base = base;
}

int lath_hybrid_verify(struct sortq *q)
{
	const struct lath_blocks *b = &q->b;
	u32 id, i, n = 0, last_tag = 0;
	u64 last = 0;

	for (id = b->first ? b->first : LATH_NONE; id != LATH_NONE; id = b->info[id].next) {
		for (i = b->info[id].lo; i < b->info[id].hi; i++) {
			u64 entry = b->block[id].e[i], at = rel(b, position(entry));
			const struct lath_request *rq = request_of(q, entry);

			if (n && (at < last || (last_tag == rq->tag)))
				return 1;
			if (rq->where != id || entry_of(rq) != entry)
				return 3;
			last = at;
			last_tag = rq->tag;
			n++;
		}
	}
	if (n != b->count)
		return 4;
	return lath_blocks_verify(b);
}
