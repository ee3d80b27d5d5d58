/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sweep.c - removal of expired entries.
 */
#include "store/backend.h"
#include "store/iter.h"
#include "store/value.h"

static int decide_sweep(void *arg, const struct lath_store_ref *old,
			struct lath_store_change *change)
{
	*(bool *)arg = !old;
	if (!old)
		change->action = LATH_STORE_REMOVE;
	return 0;
}

int64_t lath_store_sweep(struct lath_store *store)
{
	struct lath_store_iter *iter;
	struct lath_store_key key;
	struct lath_store_ref ref;
	int64_t gone = 0;
	u64 word = 0;
	int ret;

	if (store->read_only)
		return -EROFS;
	if (store->backend)
		return store->backend->sweep ? store->backend->sweep(store) : -EOPNOTSUPP;
	ret = lath_store_iter_begin(store, NULL, &iter);
	if (ret)
		return ret;
	/* an update looks again: what was written since stays */
	while ((ret = iter_next_word(iter, &key, &word)) > 0) {
		bool expired;

		value_ref(store, word, &ref);
		if (!ref_expired(&ref))
			continue;
		ret = lath_store_update(store, key, decide_sweep, &expired);
		if (ret)
			break;
		gone += expired;
	}
	lath_store_iter_end(iter);
	lath_fetch_add(&store->expired, (u64)gone);
	return ret < 0 ? ret : gone;
}
