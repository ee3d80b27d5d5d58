/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lengths.h - the free runs of a tree in the order of their lengths, for LATH_HOLE_BEST.
 *
 * Summaries (gap.h) tell where a run of at least some length is, not where the shortest such run
 * is. So a tree whose searches for the best fit have become expensive keeps a second index of its
 * free runs, as XFS and ZFS do: a tree of points with one entry per run. The key is the run's
 * length code (gap_code) and, below it, where the run begins; the value is its first key.
 *
 * An entry is a hint. Whoever changes which keys are free removes the entries of the runs that were
 * there, then files the runs that are there, and looks again, until it has filed what it sees
 * (file_at). So once all calls have returned each run has its entry. Entries without a run
 * may remain from calls that ran at the same time; a search that meets one removes it. What a
 * search finds is verified in the tree, and what it does not find is searched for by the summaries:
 * a hole is never missed because of an entry.
 *
 * The second index is made by the first search that looks at many nodes, and registers as the
 * tree's watcher (tree/watch/watch.h), so other trees pay one predictable branch per change. There
 * is none in the kernel, where an erase must not allocate, and none in shared memory.
 */
#ifndef LATH_INDEX_LENGTHS_H
#define LATH_INDEX_LENGTHS_H

#include "lathwork/hole.h"
#include "tree/watch/watch.h"

/* What a search by length comes to. NONE: no run fits, or only runs that are long enough and have
 * no aligned place were met. OUTSIDE: only runs outside of the limits were met. */
enum lengths_result { LENGTHS_FOUND, LENGTHS_NONE, LENGTHS_OUTSIDE };

#ifdef __KERNEL__
static inline void lath_lengths_consider(struct tree *tree, u64 nodes)
{
}

static inline bool lath_lengths_ready(struct tree *tree)
{
	return false;
}

static inline enum lengths_result lath_lengths_find(struct tree *tree,
						    const struct lath_hole_request *want, u64 low,
						    u64 last, u64 *key, u64 *looks)
{
	return LENGTHS_OUTSIDE;
}
#else

struct lengths {
	struct watcher watcher;
	struct lath_index runs;
	struct lath_turn filing; /* of the thread that files all runs */
	bool ready;		 /* all runs are filed, but for those that change now */
	bool incomplete;	 /* an entry is missing, for want of memory */
	bool crowded;		 /* two runs have the same place: not used any more */
	u64 base;		 /* a run has the place (its first key - base) >> shift */
	unsigned int shift;
};

/* Nodes that a search for the best fit looks at before its tree gets a second index. Tests set it
 * to 0. */
extern u64 lath_lengths_least;

/* A search for the best fit looked at this many nodes: make the second index if that is worthwhile.
 * Allocates; not in a call. Without memory nothing happens. */
void lath_lengths_consider(struct tree *tree, u64 nodes);
/* May lath_lengths_find be asked? */
bool lath_lengths_ready(struct tree *tree);
/* Find the lowest place of the shortest run in [low, last] that fits; a run that begins or ends
 * outside counts as far as it is inside. *looks grows by the number of runs looked at. If it finds
 * none, there may be one nevertheless. No lock held. */
enum lengths_result lath_lengths_find(struct tree *tree, const struct lath_hole_request *want,
				      u64 low, u64 last, u64 *key, u64 *looks);
#endif

#endif /* LATH_INDEX_LENGTHS_H */
