/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * cycle.c - does a range that is about to wait close a cycle of owners that wait for each other?
 *
 * All ranges that wait are in a table, locks->waits, under the graph's lock: lists by the owner's
 * hash, in which the ranges of one owner follow each other. A range enters it when its entries are
 * in their buckets, and then follows, from entry to entry, what it waits for, what the owners of
 * these wait for, and so on. The last one of a cycle to enter the table finds it.
 */
#include "lock/lock.h"

/* Bits of hold.mark, of a range that waits, during one search. */
enum {
	REACHED = 1,
	COVERED = 2, /* << i: what blocks own[i] has been looked at, from an entry behind it */
};

/* Returns the link to the first range in the table of this owner, or to the end of its list. Graph
 * locked. */
static struct hold **waits_of(const struct locks *locks, u64 owner)
{
	u64 hash = owner * 0x9e3779b97f4a7c15ull;
	struct hold **link = &locks->waits[hash >> 32 & locks->mask];

	while (*link && (*link)->owner != owner)
		link = &(*link)->next_wait;
	return link;
}

/* Adds the waiting ranges of an owner to the end of the path, unless it has them. Graph locked. */
static void owner_waits(const struct locks *locks, u64 owner, struct hold ***end)
{
	struct hold *w;

	for (w = *waits_of(locks, owner); w && w->owner == owner && !w->mark; w = w->next_wait) {
		w->mark = REACHED;
		w->path = NULL;
		**end = w;
		*end = &w->path;
	}
}

/* Does each entry that blocks e block this one too, which is behind e and blocked by it? */
static bool covers(const struct entry *entry, const struct entry *e)
{
	const struct hold *a = entry->hold, *b = e->hold;

	return a->first <= b->first && b->last <= a->last && a->mode >= b->mode;
}

/* Adds the waiting ranges of the owners that the entry waits for at the end of the path. Returns
 * whether one of these is `owner`. Graph locked. */
static bool follow(const struct locks *locks, const struct entry *entry, u64 owner,
		   struct hold ***end)
{
	const struct entry *e;
	bool found = false;

	bucket_lock(entry->bucket);
	for (e = entry->bucket->first; e && e != entry; e = e->next) {
		if (!blocks(e, entry))
			continue;
		found |= e->hold->owner == owner;
		owner_waits(locks, e->hold->owner, end);
		if (e->hold->mark && covers(entry, e))
			e->hold->mark |= COVERED << (e - e->hold->own);
	}
	bucket_unlock(entry->bucket);
	return found;
}

/*
 * Does the range wait for its own owner, through others? All ranges that wait are in the table, and
 * none leaves it without the graph's lock, which is held. So an owner with a range there does not
 * unlock another one during the search: what is found is true of one moment, its end.
 */
static bool in_cycle(struct locks *locks, struct hold *hold)
{
	struct hold *w, **end = &hold->path;
	bool found = false;

	hold->mark = REACHED;
	hold->path = NULL;
	for (w = hold; w && !found; w = w->path) {
		unsigned int i;

		/* w->blockers may be 0 by now: then its lists have nothing that blocks it. While it
		 * waits by a probe, a range that grew may have come in front of it in its class. */
		for (i = 0; i < w->buckets; i++)
			if (!(w->mark & COVERED << i))
				found |= follow(locks, &w->own[i], hold->owner, &end);
		if (w->probe.bucket)
			found |= follow(locks, &w->probe, hold->owner, &end);
	}
	for (w = hold; w; w = w->path)
		w->mark = 0;
	return found;
}

bool lath_range_wait_begin(struct locks *locks, struct hold *hold)
{
	struct hold **link;
	bool cycle;

	if (!(locks->flags & LATH_RANGE_DEADLOCKS))
		return true;
	lath_spin_lock(&locks->graph);
	link = waits_of(locks, hold->owner);
	hold->next_wait = *link;
	hold->wait_link = link;
	if (*link)
		(*link)->wait_link = &hold->next_wait;
	*link = hold;
	cycle = in_cycle(locks, hold);
	lath_spin_unlock(&locks->graph);
	return !cycle;
}

void lath_range_wait_end(struct locks *locks, struct hold *hold)
{
	if (!(locks->flags & LATH_RANGE_DEADLOCKS))
		return;
	lath_spin_lock(&locks->graph);
	*hold->wait_link = hold->next_wait;
	if (hold->next_wait)
		hold->next_wait->wait_link = hold->wait_link;
	lath_spin_unlock(&locks->graph);
}
