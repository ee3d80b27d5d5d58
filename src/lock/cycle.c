/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * cycle.c - does a range that is about to wait close a cycle of owners that wait for each other?
 *
 * All ranges that wait are in a list, locks->waits, under the graph's lock. A range enters it when
 * its entries are in their buckets, and then follows, from entry to entry, what it waits for, what
 * the owners of these wait for, and so on. The last one of a cycle to enter the list finds it.
 */
#include "lock/lock.h"

/* Adds to *path the waiting ranges of an owner, each once. */
static void owner_waits(const struct locks *locks, u64 owner, struct hold **path)
{
	struct hold *w;

	for (w = locks->waits; w; w = w->next_wait)
		if (w->owner == owner && !w->mark) {
			w->mark = 1;
			w->path = *path;
			*path = w;
		}
}

/* Adds to *path the waiting ranges of the owners that the entry waits for. Returns whether one of
 * these is `owner`. Graph locked. */
static bool follow(const struct locks *locks, const struct entry *entry, u64 owner,
		   struct hold **path)
{
	const struct entry *e;
	bool found = false;

	bucket_lock(entry->bucket);
	for (e = entry->bucket->first; e && e != entry; e = e->next) {
		if (!blocks(e, entry))
			continue;
		found |= e->hold->owner == owner;
		owner_waits(locks, e->hold->owner, path);
	}
	bucket_unlock(entry->bucket);
	return found;
}

/*
 * Does the range wait for its own owner, through others? All ranges that wait are in locks->waits,
 * and none leaves it without the graph's lock. So an owner with a range there does not unlock
 * another one during the search: what is found is true of one moment, its end.
 */
static bool in_cycle(struct locks *locks, struct hold *hold)
{
	struct hold *w, *path = hold;
	bool found = false;

	for (w = locks->waits; w; w = w->next_wait)
		w->mark = 0;
	hold->mark = 1;
	hold->path = NULL;
	while (path && !found) {
		unsigned int i;

		w = path;
		path = w->path;
		/* w->blockers may be 0 by now: then its lists have nothing that blocks it. While it
		 * waits by a probe, a range that grew may have come in front of it in its class. */
		for (i = 0; i < w->buckets; i++)
			found |= follow(locks, &w->own[i], hold->owner, &path);
		if (w->probe.bucket)
			found |= follow(locks, &w->probe, hold->owner, &path);
	}
	return found;
}

bool range_wait_begin(struct locks *locks, struct hold *hold)
{
	bool cycle;

	if (!(locks->flags & LATH_RANGE_DEADLOCKS))
		return true;
	lath_spin_lock(&locks->graph);
	hold->next_wait = locks->waits;
	hold->wait_link = &locks->waits;
	if (locks->waits)
		locks->waits->wait_link = &hold->next_wait;
	locks->waits = hold;
	cycle = in_cycle(locks, hold);
	lath_spin_unlock(&locks->graph);
	return !cycle;
}

void range_wait_end(struct locks *locks, struct hold *hold)
{
	if (!(locks->flags & LATH_RANGE_DEADLOCKS))
		return;
	lath_spin_lock(&locks->graph);
	*hold->wait_link = hold->next_wait;
	if (hold->next_wait)
		hold->next_wait->wait_link = hold->wait_link;
	lath_spin_unlock(&locks->graph);
}
