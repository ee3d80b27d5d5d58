/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * snapshot.c - times, snapshots, and which records they need.
 */
#include "set/version/snapshot.h"

u64 version_give_time(struct versions_set *set, u64 *time)
{
	u64 now, known;

	/* The record is in the set already, and the time is read behind that: who takes a snapshot
	 * advances the time and then reads the set, so that one of both sees the other. */
	smp_mb();			   /* pairs with lath_snapshot_take */
	now = smp_load_acquire(&set->now); /* pairs with lath_snapshot_take */
	lath_delay("time read, not yet given");
	/* orders before it what the time was read from: snapshot_keep looks at `active` */
	known = cmpxchg(time, 0, now);
	return known ? known : now;
}

/* How many snapshots are passed while the set is locked. */
#define STEPS 256

/* Returns the newest snapshot before this time, or NULL. Locks the set, and leaves it locked. What
 * asks for old times asks for one after the other: the search goes on where the last one ended. */
static struct snapshot *lock_before(struct versions_set *set, u64 to)
{
	unsigned int steps = 0;
	struct snapshot *s;

	lath_spin_lock(&set->lock);
	while (set->newest && set->newest->time >= to) {
		s = set->finger;
		if (s->time >= to && s->older)
			set->finger = s->older;
		else if (s->newer && s->newer->time < to)
			set->finger = s->newer;
		else
			return s->time < to ? s : NULL;
		if (++steps % STEPS == 0) {
			lath_spin_unlock(&set->lock);
			lath_spin_lock(&set->lock);
		}
	}
	return set->newest;
}

bool snapshot_keep(struct versions_set *set, u64 value, u64 from, u64 to)
{
	struct version *version = version_of(set, value);
	struct snapshot *snapshot;

	/* A snapshot before `to` was counted before the time became `to`: it is seen here, unless
	 * it was released. One that comes later is not before `to`. */
	if (from == to || !READ_ONCE(set->active))
		return false;
	snapshot = lock_before(set, to);
	if (snapshot && snapshot->time >= from) {
		if (!snapshot->held)
			snapshot->last = value;
		version->link = snapshot->held;
		snapshot->held = value;
		set->older++;
	} else {
		snapshot = NULL;
	}
	lath_spin_unlock(&set->lock);
	return snapshot;
}

u64 snapshot_loose(struct versions_set *set)
{
	u64 value;

	lath_spin_lock(&set->lock);
	value = set->loose;
	if (value) {
		WRITE_ONCE(set->loose, version_of(set, value)->link);
		set->older--;
	}
	lath_spin_unlock(&set->lock);
	return value;
}

void lath_snapshot_take(struct lath_versions *public, struct lath_snapshot *snapshot)
{
	struct versions_set *set = versions_of(public);
	struct snapshot *s = (struct snapshot *)(void *)snapshot;

	lath_call_enter();
	lath_spin_lock(&set->lock);
	*s = (struct snapshot){ .time = set->now, .older = set->newest };
	LATH_ASSERT(!s->older || s->older->time < s->time);
	if (s->older)
		s->older->newer = s;
	else
		set->finger = s;
	set->newest = s;
	WRITE_ONCE(set->active, set->active + 1);
	smp_store_release(&set->now, s->time + 1); /* pairs with version_give_time */
	lath_spin_unlock(&set->lock);
	lath_call_exit();
	smp_mb(); /* pairs with version_give_time */
}
