/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * chain.c - the records of one key: what a snapshot sees of them, and how they leave.
 *
 * A record that leaves is marked first, by LEFT in its `older`, so that this link does not change
 * any more. Then the link that leads to it is set to what it says. If that link is marked itself,
 * or has changed, all records of the key that are marked are taken out, from the head on. (After
 * Harris 2001, Michael 2002.)
 */
#include "set/version/chain.h"

/* Returns the record below this one, with ERASED; 0: none. */
static u64 chain_below(const struct version *version)
{
	return smp_load_acquire(&version->older) & ~(LEFT | CUT); /* pairs with chain_sweep */
}

u64 chain_see(struct versions_set *set, u64 head, const struct snapshot *at)
{
	struct version *version = version_of(set, head);
	u64 value = head, end;

	if (!at) { /* a snapshot taken later shows it: it must have its time */
		version_time(set, head & ERASED ? &version->end : &version->begin);
		return head & ERASED ? 0 : head;
	}
	for (;;) {
		/* 0: it is the head, or the head has just replaced it, later than the snapshot */
		end = value & ERASED ? version_time(set, &version->end) : READ_ONCE(version->end);
		if (end && end <= at->time)
			return 0;
		if (version_time(set, &version->begin) <= at->time)
			return value & ~ERASED;
		value = chain_below(version);
		if (!value)
			return 0;
		version = version_of(set, value);
	}
}

void chain_end_below(struct versions_set *set, u64 head)
{
	u64 below = chain_below(version_of(set, head));

	if (below && !READ_ONCE(version_of(set, below)->end))
		WRITE_ONCE(version_of(set, below)->end,
			   version_time(set, &version_of(set, head)->begin));
}

/* ---- records that left ---- */

static void leaving_free(struct lath_rcu_head *head)
{
	struct leaving *leaving = container_of(head, struct leaving, rcu);
	struct versions_set *set = leaving->set;
	u64 value, next;

	lath_retired();
	lath_call_enter();
	/* nobody else changes it unless it is 0 */
	LATH_ASSERT(leaving->waiting);
	for (value = leaving->waiting; value; value = next) {
		next = version_of(set, value)->link;
		if (set->records.free)
			set->records.free(set->records.ctx, version_record(value));
	}
	lath_spin_lock(&leaving->lock);
	next = leaving->left;
	leaving->left = 0;
	leaving->waiting = next; /* 0: the set may end now (chain_drain) */
	lath_spin_unlock(&leaving->lock);
	if (next)
		lath_retire(set->rcu, &leaving->rcu, leaving_free);
	lath_call_exit();
	lath_retired_end();
}

/* Free a record that no link leads to, after a grace period. */
static void leave(struct versions_set *set, u64 value)
{
	struct leaving *leaving = &set->leaving[lath_stripe() % LEAVINGS];
	bool begin;

	lath_spin_lock(&leaving->lock);
	begin = !leaving->waiting;
	version_of(set, value)->link = begin ? 0 : leaving->left;
	if (begin)
		leaving->waiting = value & ~ERASED;
	else
		leaving->left = value & ~ERASED;
	lath_spin_unlock(&leaving->lock);
	if (begin)
		lath_retire(set->rcu, &leaving->rcu, leaving_free);
}

/* ---- out of the chain ---- */

/* Mark a record as leaving. With `all` those below it leave with it: no snapshot needs them. */
static void chain_mark(struct versions_set *set, u64 value, bool all)
{
	u64 *link = &version_of(set, value)->older, older = READ_ONCE(*link), seen;

	for (;; older = seen) {
		LATH_ASSERT(!(older & LEFT)); /* N3: one thread lets it leave */
		seen = cmpxchg(link, older, (all ? 0 : older) | LEFT);
		if (seen == older)
			break;
	}
	lath_delay("marked, still in the chain");
}

/* Take all records out of the chain of a key that are marked, and not before this time. */
static void chain_sweep(struct versions_set *set, const struct lath_bytes_key *key, u64 begin)
{
	u64 head, *link, value, next;

again:
	if (!lath_bytes_get(&set->heads, key, &head))
		return;
	link = &version_of(set, head)->older;
	value = smp_load_acquire(link); /* pairs with chain_sweep */
	if (value & LEFT) {
		/* A live head is not marked: a new one was put in front of it. Of an erased key
		 * several threads may be here, of which one erases it. */
		if (head & ERASED)
			lath_bytes_erase_if(&set->heads, head, NULL);
		goto again;
	}
	while (value) {
		struct version *version = version_of(set, value);

		if (READ_ONCE(version->begin) < begin)
			return;
		next = smp_load_acquire(&version->older); /* pairs with chain_sweep */
		lath_delay("link read, not yet cut");
		if (!(next & LEFT)) {
			link = &version->older;
		} else if (cmpxchg(link, value, next & ~(LEFT | CUT)) != value) {
			lath_delay("a chain has changed");
			goto again;
		} else {
			lath_fetch_or(&version->older, CUT);
		}
		value = next & ~(LEFT | CUT);
	}
}

/* ---- judging ---- */

/* Returns whether the key of a record that was erased has no newer one. */
static bool is_head(struct versions_set *set, u64 value)
{
	struct lath_bytes_key key = version_key(set, value);
	u64 head;

	return lath_bytes_get(&set->heads, &key, &head) && head == value;
}

/* As snapshot_keep(), of an erased head: for the first record from there on that a snapshot shows.
 * What is above that one leaves soon, so it is mostly the first or the second. */
static bool head_keep(struct versions_set *set, u64 head)
{
	u64 last = version_time(set, &version_of(set, head)->end), value, end;
	struct version *version;

	for (value = head; value; value = chain_below(version)) {
		version = version_of(set, value);
		end = READ_ONCE(version->end); /* 0: the head has just replaced it */
		if (snapshot_keep(set, head, version_time(set, &version->begin), end ? end : last))
			return true;
	}
	return false;
}

/* Keep a record, with ERASED if it was erased, or mark it and add it to the list *gone. */
static void chain_judge(struct versions_set *set, u64 value, u64 *gone)
{
	struct version *version = version_of(set, value);
	bool head = value & ERASED && is_head(set, value);

	if (head ? head_keep(set, value)
		 : snapshot_keep(set, value, version_time(set, &version->begin),
				 version_time(set, &version->end)))
		return;
	version->link = *gone;
	*gone = value;
	/* If it is the head, no snapshot needs what is below: a new head shall not lead there. */
	chain_mark(set, value, head);
}

/* Take the records of a list out of their chains, and let them leave. One way down the chain of a
 * key takes out all of them. */
static void chain_clean(struct versions_set *set, u64 gone)
{
	u64 value, next;

	for (value = gone; value; value = version_of(set, value)->link) {
		struct lath_bytes_key key;

		if (READ_ONCE(version_of(set, value)->older) & CUT)
			continue;
		key = version_key(set, value);
		chain_sweep(set, &key, 0);
	}
	for (value = gone; value; value = next) {
		next = version_of(set, value)->link;
		leave(set, value);
	}
}

void chain_replaced(struct versions_set *set, u64 newer, u64 older)
{
	struct version *now, *was = version_of(set, older);
	u64 begin = version_time(set, &was->begin), gone = 0;

	if (!newer) {
		chain_judge(set, older | ERASED, &gone);
		chain_clean(set, gone);
		return;
	}
	now = version_of(set, newer);
	WRITE_ONCE(was->end, version_time(set, &now->begin)); /* N1: those in lists have it */
	if (snapshot_keep(set, older, begin, READ_ONCE(was->end)))
		return;
	/* mostly it is the only one below */
	if (READ_ONCE(was->older) || cmpxchg(&now->older, older, 0) != older) {
		struct lath_bytes_key key = version_key(set, older);

		chain_mark(set, older, false);
		chain_sweep(set, &key, begin);
	}
	leave(set, older);
}

bool chain_settle(struct versions_set *set, unsigned int most)
{
	u64 value, gone = 0;

	for (; most && READ_ONCE(set->loose) && (value = snapshot_loose(set)); most--)
		chain_judge(set, value, &gone);
	chain_clean(set, gone);
	return !most;
}

/* ---- release ---- */

void chain_settle_later(struct lath_later *later)
{
	struct versions_set *set = container_of(later, struct versions_set, settle);
	bool more;

	lath_call_enter();
	lath_spin_lock(&set->lock);
	set->judging = !set->verifying;
	lath_spin_unlock(&set->lock);
	if (set->judging) {
		lath_reader_enter(set->rcu);
		chain_settle(set, 1024);
		lath_reader_exit(set->rcu);
	}
	lath_spin_lock(&set->lock);
	set->judging = false;
	more = set->loose;
	set->scheduled = more;
	lath_spin_unlock(&set->lock);
	if (more)
		lath_later_call(set->rcu, &set->settle);
	lath_call_exit();
}

void lath_snapshot_release(struct lath_versions *public, struct lath_snapshot *snapshot)
{
	struct versions_set *set = versions_of(public);
	struct snapshot *s = (struct snapshot *)(void *)snapshot;
	bool begin;

	lath_call_enter();
	lath_spin_lock(&set->lock);
	if (s->newer)
		s->newer->older = s->older;
	else
		set->newest = s->older;
	if (s->older)
		s->older->newer = s->newer;
	if (set->finger == s)
		set->finger = s->older ? s->older : s->newer;
	WRITE_ONCE(set->active, set->active - 1);
	if (s->held) {
		version_of(set, s->last)->link = set->loose;
		WRITE_ONCE(set->loose, s->held);
	}
	begin = set->loose && !set->scheduled;
	if (begin)
		set->scheduled = true;
	lath_spin_unlock(&set->lock);
	if (begin)
		lath_later_call(set->rcu, &set->settle);
	lath_call_exit();
}

void chain_hold(struct versions_set *set)
{
	bool judging;

	lath_call_enter();
	lath_spin_lock(&set->lock);
	set->verifying++;
	judging = set->judging;
	lath_spin_unlock(&set->lock);
	lath_call_exit();
	if (!judging)
		return;
	/* wait for the end of the call: the next one sees that it shall not */
	lath_retire_drain(set->rcu);
	lath_later_end(&set->settle);
}

void chain_go_on(struct versions_set *set)
{
	lath_call_enter();
	lath_spin_lock(&set->lock);
	set->verifying--;
	lath_spin_unlock(&set->lock);
	lath_call_exit();
}

/* Returns whether records wait to be judged or freed. */
static bool chain_waits(struct versions_set *set)
{
	unsigned int i;
	bool waits;

	lath_call_enter();
	lath_spin_lock(&set->lock);
	waits = set->scheduled;
	lath_spin_unlock(&set->lock);
	for (i = 0; i < LEAVINGS; i++) {
		lath_spin_lock(&set->leaving[i].lock);
		waits = waits || set->leaving[i].waiting;
		lath_spin_unlock(&set->leaving[i].lock);
	}
	lath_call_exit();
	return waits;
}

void chain_drain(struct versions_set *set)
{
	LATH_ASSERT(!set->active);
	/* the call that judges comes before the callbacks that free */
	while (!lath_retire_ended() && chain_waits(set)) {
		lath_retire_drain(set->rcu);
		lath_later_end(&set->settle);
	}
	lath_later_end(&set->settle);
}
