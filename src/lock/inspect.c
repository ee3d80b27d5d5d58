/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * inspect.c - which ranges are held and waited for, for debuggers; the invariants, for tests.
 */
#include "lock/lock.h"

void lath_range_each(struct lath_range_locks *l,
		     void (*fn)(void *arg, const struct lath_range_info *info), void *arg)
{
	struct locks *locks = locks_of(l);
	u64 i;

	for (i = 0; i <= locks->mask; i++) {
		struct bucket *bucket = &locks->bucket[i];
		const struct entry *e;

		if (!READ_ONCE(bucket->word))
			continue;
		lath_call_enter();
		bucket_lock(bucket);
		for (e = bucket->first; e; e = e->next) {
			const struct hold *hold = e->hold;
			struct lath_range_info info = { hold->first, hold->last, hold->owner,
							(enum lath_range_mode)hold->mode,
							READ_ONCE(hold->blockers) != 0 };

			if (e == &hold->own[0]) /* once, though it is in two lists */
				fn(arg, &info);
		}
		bucket_unlock(bucket);
		lath_call_exit();
	}
}

/* Is the range in the lists of the granules of its bounds? After it gave up keys it may be in one
 * more. */
static bool listed(const struct locks *locks, const struct hold *hold)
{
	struct bucket *bucket[2];
	unsigned int n = buckets_of(locks, hold, hold->cls, bucket), i, k, found = 0;

	for (i = 0; i < n; i++)
		for (k = 0; k < hold->buckets; k++)
			found += hold->own[k].bucket == bucket[i];
	return found == n;
}

static int verify_bucket(const struct locks *locks, const struct bucket *bucket)
{
	struct entry *const *link = &bucket->first;
	const struct entry *e, *other;

	if (bucket->word != (bucket->first ? (u64)OCCUPIED : 0))
		return 1;
	for (e = bucket->first; e; link = &e->next, e = e->next) {
		if (e->link != link || is_probe(e) || e->bucket != bucket ||
		    !listed(locks, e->hold))
			return 2;
		if (e->hold->blockers)
			return 3;
		for (other = bucket->first; other != e; other = other->next)
			if (other->hold != e->hold && conflicts(other->hold, e->hold))
				return 4;
	}
	return bucket->end == link ? 0 : 2;
}

int lath_range_locks_verify(struct lath_range_locks *l)
{
	const struct locks *locks = locks_of(l);
	int broken = 0;
	u64 i;

	for (i = 0; i <= locks->mask && !broken; i++)
		broken = verify_bucket(locks, &locks->bucket[i]);
	return broken;
}
