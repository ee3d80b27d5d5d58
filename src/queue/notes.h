/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * notes.h - what a queue with ages or merges keeps per request: its place in the order of arrival,
 * and its start and end in two hash tables. Included by sortq.c alone.
 */
#ifndef LATH_QUEUE_NOTES_H
#define LATH_QUEUE_NOTES_H

#include "queue/queue.h"

/* no request ends at this sector */
#define NO_END (~0ull)

/* ---- ages: a ring of notes in order of arrival */

/*
 * Returns whether the request is in the ring, i.e. in the queue: age_add() makes the note before it
 * name it as `newer`, age_remove() undoes that. The first comparison is for the oldest request: it
 * does not wait for the load of the request's own note.
 */
static inline bool age_known(const struct sortq *q, u32 tag)
{
	return q->notes->newer == tag + 1 || q->notes[note_of(q, tag)->older].newer == tag + 1;
}

static inline void age_add(struct sortq *q, u32 tag)
{
	struct lath_note *n = q->notes;
	u32 i = tag + 1;

	LATH_ASSERT(tag < q->requests_max && !age_known(q, tag));
	n[i].older = n->older;
	n[i].newer = 0;
	n[n->older].newer = i;
	n->older = i;
}

static inline void age_remove(struct sortq *q, u32 tag)
{
	struct lath_note *n = q->notes, *note = note_of(q, tag);

	LATH_ASSERT(tag < q->requests_max && age_known(q, tag));
	n[note->older].newer = note->newer;
	n[note->newer].older = note->older;
}

/* ---- edges: requests hashed by the sectors where they start and end: lookups need no search */

static inline u32 *edge_head(const struct sortq *q, int side, u64 sector)
{
	return &q->edges[side][(sector * 0x9e3779b97f4a7c15ull) >> q->edges_shift];
}

static inline void edge_add(struct sortq *q, int side, u64 sector, u32 tag)
{
	u32 *head = edge_head(q, side, sector);
	struct lath_note *note = note_of(q, tag);

	note->next[side] = *head;
	note->prev[side] = 0;
	q->notes[*head].prev[side] = tag + 1;
	*head = tag + 1;
}

static inline void edge_remove(struct sortq *q, int side, u64 sector, u32 tag)
{
	struct lath_note *note = note_of(q, tag);
	u32 prev = note->prev[side], next = note->next[side];

	LATH_ASSERT((prev ? q->notes[prev].next[side] : *edge_head(q, side, sector)) == tag + 1);
	*(prev ? &q->notes[prev].next[side] : edge_head(q, side, sector)) = next;
	q->notes[next].prev[side] = prev;
}

static inline u64 edge_of(const struct sortq *q, int side, const struct lath_request *rq)
{
	return rq->sector + (side == END ? note_of(q, rq->tag)->sectors : 0);
}

static inline struct lath_request *edge_find(const struct sortq *q, int side, u64 sector)
{
	u32 i;

	for (i = *edge_head(q, side, sector); i; i = q->notes[i].next[side]) {
		struct lath_request *rq = request_of(q, i - 1);

		if (edge_of(q, side, rq) == sector)
			return rq;
	}
	return NULL;
}

/* rq was inserted or grew: keeps its end in grown_end instead of a chain, since it will probably
 * grow again, and puts the previous such end into its chain. */
static void grow(struct sortq *q, struct lath_request *rq)
{
	if (q->grown_end != NO_END)
		edge_add(q, END, q->grown_end, q->grown);
	q->grown = rq->tag;
	q->grown_end = rq->sector + rq->sectors;
}

static inline void edges_remove(struct sortq *q, u64 entry)
{
	u32 tag = entry & LATH_TAG_MASK;
	u64 sector = entry >> LATH_TAG_BITS;

	edge_remove(q, START, sector, tag);
	if (unlikely(tag == q->grown))
		q->grown_end = NO_END;
	else
		edge_remove(q, END, sector + note_of(q, tag)->sectors, tag);
}

/* Removes the dispatched requests from the edges. Runs before a lookup, and before an insert, which
 * may be of one of them. */
static noinline void see_off_all(struct sortq *q)
{
	u32 i;

	for (i = 0; i < q->departure_count; i++)
		edges_remove(q, q->departure[i]);
	q->departure_count = 0;
}

static inline void see_off(struct sortq *q)
{
	if (unlikely(q->departure_count))
		see_off_all(q);
}

/* An entry leaves the queue: removes it from the ring of ages, and defers its removal from the
 * edges to the next submission, which has more time than the interrupt that dispatches. */
static inline void depart(struct sortq *q, u64 entry)
{
	if (!q->notes)
		return;
	age_remove(q, entry & LATH_TAG_MASK);
	if (!q->edges[START])
		return;
	if (unlikely(q->departure_count == LATH_DEPARTURES))
		see_off_all(q);
	q->departure[q->departure_count++] = entry;
}

static inline void arrive(struct sortq *q, struct lath_request *rq)
{
	if (!q->notes)
		return;
	see_off(q);
	age_add(q, rq->tag);
	if (q->edges[START]) {
		note_of(q, rq->tag)->sectors = rq->sectors;
		edge_add(q, START, rq->sector, rq->tag);
		grow(q, rq);
	}
}

#endif /* LATH_QUEUE_NOTES_H */
