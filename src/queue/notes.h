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
 * name it as `newer`, age_unlink() undoes that. The first comparison is for the oldest request: it
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

/* Takes note i, which follows note `older`, out of the ring. */
static inline void age_unlink(struct sortq *q, u32 i, u32 older)
{
	struct lath_note *n = q->notes;
	u32 newer = n[i].newer;

	LATH_ASSERT(i && i <= q->requests_max && n[i].older == older && n[older].newer == i);
	n[older].newer = newer;
	n[newer].older = older;
}

/* ---- edges: requests hashed by the sectors where they start and end: lookups need no search. Each
 * note knows the word that names it, in a table or in another note: it leaves its chain without a
 * hash and without a branch. */

static inline u32 *edge_head(const struct sortq *q, int side, u64 sector)
{
	return &q->edges[side][(sector * 0x9e3779b97f4a7c15ull) >> q->edges_shift];
}

/* The tables of edges lie behind the notes: all words that name a note are numbered from there. */
static inline u32 *edge_words(const struct sortq *q)
{
	return (u32 *)q->notes;
}

static inline void edge_add(struct sortq *q, int side, u64 sector, u32 tag)
{
	u32 *words = edge_words(q), *head = edge_head(q, side, sector), next = *head;
	struct lath_note *note = note_of(q, tag);

	LATH_ASSERT(next <= q->requests_max && next != tag + 1); /* not in the chain yet */
	note->next[side] = next;
	note->named_by[side] = (u32)(head - words);
	q->notes[next].named_by[side] = (u32)(&note->next[side] - words);
	*head = tag + 1;
}

static inline void edge_remove(struct sortq *q, int side, u32 tag)
{
	struct lath_note *note = note_of(q, tag);
	u32 word = note->named_by[side], next = note->next[side];

	LATH_ASSERT(edge_words(q)[word] == tag + 1);
	edge_words(q)[word] = next;
	q->notes[next].named_by[side] = word;
}

static inline struct lath_request *edge_find(const struct sortq *q, int side, u64 sector)
{
	u32 i;

	for (i = *edge_head(q, side, sector); i; i = q->notes[i].next[side]) {
		struct lath_request *rq = request_of(q, i - 1);

		LATH_ASSERT(i <= q->requests_max);
		if (rq->sector + (side == END ? q->notes[i].sectors : 0) == sector)
			return rq;
	}
	return NULL;
}

/* rq was inserted or grew: keeps its end in grown_end instead of a chain, since it will probably
 * grow again, and puts the previous such end into its chain. */
static __always_inline void grow(struct sortq *q, struct lath_request *rq)
{
	LATH_ASSERT(q->grown_end == NO_END || q->grown != rq->tag);
	if (q->grown_end != NO_END)
		edge_add(q, END, q->grown_end, q->grown);
	q->grown = rq->tag;
	q->grown_end = rq->sector + rq->sectors;
}

static inline void edges_remove(struct sortq *q, u32 tag)
{
	edge_remove(q, START, tag);
	if (unlikely(tag == q->grown))
		q->grown_end = NO_END;
	else
		edge_remove(q, END, tag);
}

/* Removes the dispatched requests from the edges. Runs before a lookup, and before an insert, which
 * may be of one of them. */
static noinline void see_off_all(struct sortq *q)
{
	u32 i;

	LATH_ASSERT(q->departure_count <= LATH_DEPARTURES);
	for (i = 0; i < q->departure_count; i++)
		edges_remove(q, q->departure[i]);
	q->departure_count = 0;
}

static inline void see_off(struct sortq *q)
{
	if (unlikely(q->departure_count))
		see_off_all(q);
}

/* Defers the removal of a request from the edges to the next submission, which has more time than
 * the interrupt that dispatches. */
static inline void depart_edges(struct sortq *q, u32 tag)
{
	if (!q->edges[START])
		return;
	if (unlikely(q->departure_count == LATH_DEPARTURES))
		see_off_all(q);
	q->departure[q->departure_count++] = tag;
}

/* A request leaves the queue. */
static inline void depart(struct sortq *q, u32 tag)
{
	if (!q->notes)
		return;
	age_unlink(q, tag + 1, note_of(q, tag)->older);
	depart_edges(q, tag);
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
