/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * snapshot.h - times, and what snapshots need.
 */
#ifndef LATH_VERSION_SNAPSHOT_H
#define LATH_VERSION_SNAPSHOT_H

#include "set/version/version.h"

/* Give a time to what has none. Returns the time, which is not changed any more. */
u64 version_give_time(struct versions_set *set, u64 *time);

/* Returns the `begin` of a record that was found in the set, or the `end` of one that was found
 * ERASED. In a section. */
static inline u64 version_time(struct versions_set *set, u64 *time)
{
	/* pairs with version_give_time */
	u64 known = smp_load_acquire(time);

	return likely(known) ? known : version_give_time(set, time);
}

/* If a snapshot is held whose time is in [from, to): put the record into the list of the newest
 * such, and return true. Both times were got by version_time(). In a call. */
bool snapshot_keep(struct versions_set *set, u64 value, u64 from, u64 to);

/* Take a record off the list of those that no snapshot has any more, as it was put there. 0: there
 * is none. In a call. */
u64 snapshot_loose(struct versions_set *set);

#endif /* LATH_VERSION_SNAPSHOT_H */
