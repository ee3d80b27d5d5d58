/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * set.c - a set with snapshots: beginning, end, changes and checks.
 */
#include "set/version/chain.h"
#include "tree/call/config.h"

static void head_key(void *ctx, uint64_t value, struct lath_bytes_key *key)
{
	const struct versions_set *set = ctx;

	set->records.key_of(set->records.ctx, value & ~7ull, key);
}

int lath_versions_init(struct lath_versions *public, const struct lath_versions_records *records,
		       const struct lath_config *config)
{
	struct versions_set *set = versions_of(public);
	struct lath_bytes_records heads = { head_key, set, 0 };
	struct lath_config copy;
	unsigned int i;
	int ret = config_read(&copy, config);

	if (ret || copy.flags & (LATH_RANKS | LATH_SHARED) || !public ||
	    (uintptr_t)public % _Alignof(struct lath_versions))
		return -EINVAL;
	if (!records || !records->key_of || records->offset % 8 ||
	    records->flags & ~(unsigned int)LATH_BYTES_DESCENDING)
		return -EINVAL;
	memset(set, 0, sizeof(*set));
	set->records = *records;
	set->rcu = copy.rcu ? copy.rcu : &lath_rcu_auto;
	set->now = 1;
	lath_spin_init(&set->lock);
	lath_later_init(&set->settle, chain_settle_later);
	for (i = 0; i < LEAVINGS; i++) {
		lath_spin_init(&set->leaving[i].lock);
		set->leaving[i].set = set;
	}
	heads.flags = records->flags;
	return lath_bytes_init(&set->heads, &heads, &copy);
}

static void give_back(void *arg, uint64_t value)
{
	struct versions_set *set = arg;

	/* all else has left */
	LATH_ASSERT((!(value & ERASED) && !version_of(set, value)->older) || lath_retire_ended());
	if (set->records.free)
		set->records.free(set->records.ctx, version_record(value));
}

void lath_versions_fini(struct lath_versions *public)
{
	LATH_NO_CANCEL;
	struct versions_set *set = versions_of(public);

	chain_drain(set);
	LATH_ASSERT(!set->older || lath_retire_ended());
	lath_bytes_fini(&set->heads, give_back, set);
}

/* ---- changes ---- */

/* A change of a key: `value` becomes its head. */
struct versions_change {
	struct lath_bytes_key key;
	u64 value;    /* 0: the key is erased */
	u64 expected; /* what the present record must be; 0: any */
	bool may_add; /* if there is none, and the value is 0: -ENOENT */
	bool may_replace;
	u64 there; /* the record that was there before; 0: none */
};

/* Decide by the head whether the change is made: 0 | -ENOENT | -EEXIST | -EAGAIN. Sets
 * change->there. */
static int change_wanted(struct versions_set *set, struct versions_change *change, u64 head)
{
	/* also gives it its time: it will be below a new head, or the answer is about it */
	change->there = head ? chain_see(set, head, NULL) : 0;
	if (!change->there)
		return change->may_add ? 0 : -ENOENT;
	if (!change->may_replace)
		return -EEXIST;
	if (change->expected && change->there != change->expected)
		return -EAGAIN;
	chain_end_below(set, head);
	return 0;
}

/* The head was put there: give it its time, and judge what was there before. */
static void change_done(struct versions_set *set, const struct versions_change *change)
{
	lath_delay("changed, without a time");
	if (change->value)
		version_time(set, &version_of(set, change->value)->begin);
	else
		version_time(set, &version_of(set, change->there)->end);
	if (change->there)
		chain_replaced(set, change->value, change->there);
	/* what released snapshots had needed must not grow faster than it is judged */
	if (unlikely(READ_ONCE(set->loose)))
		chain_settle(set, 2);
}

/* Make a change. 0 | what change_wanted() or lath_bytes_put() says */
static int make_change(struct versions_set *set, struct versions_change *change)
{
	struct lath_bytes_place place;
	int ret;

	do {
		lath_call_enter();
		lath_reader_enter(set->rcu);
		lath_bytes_find(&set->heads, &change->key, &place);
		lath_delay("key found, not yet changed");
		ret = change_wanted(set, change, place.value);
		/* the record is there already: nothing changes */
		if (!ret && change->value != change->there) {
			if (change->value) {
				struct version *version = version_of(set, change->value);

				version->begin = version->end = version->link = 0;
				version->older = place.value;
			}
			ret = lath_bytes_put(&set->heads, &place,
					     change->value ? change->value : place.value | ERASED);
			if (!ret)
				change_done(set, change);
			else if (ret == -EAGAIN)
				ret = 1; /* the head is another one now */
		}
		lath_reader_exit(set->rcu);
		lath_call_exit();
	} while (ret == 1);
	return ret;
}

/* Make a change that has a record for the key: it is checked first. *there: the record there. */
static int change_record(struct lath_versions *public, void *record,
			 struct versions_change change_of, void **there)
{
	struct versions_set *set = versions_of(public);
	int ret;

	if (unlikely(!record || (uintptr_t)record % 8))
		return -EINVAL;
	change_of.value = (u64)(uintptr_t)record;
	change_of.key = version_key(set, change_of.value);
	if (unlikely(change_of.key.size > LATH_BYTES_SIZE_MAX))
		return -E2BIG;
	ret = make_change(set, &change_of);
	if (there && (!ret || ret == -EEXIST || ret == -EAGAIN))
		*there = version_record(change_of.there);
	return ret;
}

int lath_versions_insert(struct lath_versions *set, void *record, void **there)
{
	void *old;
	int ret = change_record(set, record, (struct versions_change){ .may_add = true }, &old);

	if (ret == -EEXIST && there)
		*there = old;
	return ret;
}

int lath_versions_put(struct lath_versions *set, void *record, void **old)
{
	return change_record(set, record,
			     (struct versions_change){ .may_add = true, .may_replace = true }, old);
}

int lath_versions_replace(struct lath_versions *set, void *record, void **old)
{
	return change_record(set, record, (struct versions_change){ .may_replace = true }, old);
}

int lath_versions_replace_if(struct lath_versions *set, void *expected, void *record, void **there)
{
	if (unlikely(!expected || (uintptr_t)expected % 8))
		return -EINVAL;
	return change_record(set, record,
			     (struct versions_change){ .expected = (u64)(uintptr_t)expected,
						       .may_replace = true },
			     there);
}

int lath_versions_erase(struct lath_versions *public, const struct lath_bytes_key *key, void **old)
{
	struct versions_change erase = { .key = *key, .may_replace = true };
	int ret = make_change(versions_of(public), &erase);

	if (!ret && old)
		*old = version_record(erase.there);
	return ret;
}

int lath_versions_erase_if(struct lath_versions *public, void *expected, void **there)
{
	struct versions_change erase = { .expected = (u64)(uintptr_t)expected,
					 .may_replace = true };
	int ret;

	if (unlikely(!expected || (uintptr_t)expected % 8))
		return -EINVAL;
	erase.key = version_key(versions_of(public), erase.expected);
	ret = make_change(versions_of(public), &erase);
	if (there && (!ret || ret == -EAGAIN))
		*there = version_record(erase.there);
	return ret;
}

/* ---- counts and checks ---- */

void lath_versions_get_stats(struct lath_versions *public, struct lath_versions_stats *stats)
{
	struct versions_set *set = versions_of(public);
	struct lath_bytes_stats heads;

	lath_bytes_get_stats(&set->heads, &heads);
	lath_call_enter();
	lath_spin_lock(&set->lock);
	*stats = (struct lath_versions_stats){
		.keys = heads.items,
		.older = set->older,
		.snapshots = set->active,
		.bytes = heads.bytes + sizeof(*public) - sizeof(set->heads),
	};
	lath_spin_unlock(&set->lock);
	lath_call_exit();
}

/* Check the records of one key: 0 | 41. Adds those that are no live head to *older. */
static int check_chain(struct versions_set *set, u64 head, u64 *older)
{
	u64 value, newer = set->now;

	for (value = head; value; value = version_of(set, value)->older) {
		const struct version *version = version_of(set, value);

		if (value & ERASED) {
			if (!version->end || version->end > newer || version->end < version->begin)
				return 41;
		} else if (value == head && version->end) {
			return 41;
		}
		if (!version->begin || version->begin > newer || version->older & LEFT ||
		    (value != head && (!version->end || version->end > newer)))
			return 41;
		newer = version->begin;
		*older += value != head || value & ERASED;
	}
	return 0;
}

/* Returns the length of a list. */
static u64 list_length(struct versions_set *set, u64 value)
{
	u64 n = 0;

	for (; value; value = version_of(set, value)->link)
		n++;
	return n;
}

/* The part of lath_versions_verify() that no callback may disturb. */
static int versions_verify(struct versions_set *set, char *report, size_t report_size)
{
	struct lath_bytes_cursor cursor;
	struct snapshot *snapshot;
	u64 value, older = 0, listed;
	int ret = lath_bytes_verify(&set->heads, report, report_size);

	if (ret)
		return ret;
	lath_reader_enter(set->rcu);
	lath_bytes_cursor_init(&cursor, &set->heads);
	while (!ret && lath_bytes_cursor_next(&cursor, &value))
		ret = check_chain(set, value, &older);
	lath_reader_exit(set->rcu);
	lath_call_enter();
	lath_spin_lock(&set->lock);
	listed = list_length(set, set->loose);
	for (snapshot = set->newest; snapshot; snapshot = snapshot->older)
		listed += list_length(set, snapshot->held);
	/* those of a key that was erased may have left its chain already, in a list still */
	if (!ret && (listed != set->older || older > listed))
		ret = 42;
	lath_spin_unlock(&set->lock);
	lath_call_exit();
	if (ret && report)
		snprintf(report, report_size, "%s",
			 ret == 41 ? "times of a key's records out of order"
				   : "a record that nobody will free");
	return ret;
}

int lath_versions_verify(struct lath_versions *public, char *report, size_t report_size)
{
	struct versions_set *set = versions_of(public);
	int ret;

	chain_hold(set);
	ret = versions_verify(set, report, report_size);
	chain_go_on(set);
	return ret;
}
