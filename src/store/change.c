/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * change.c - one change of one key: find the key's word, let the caller decide, build the new word,
 * put it in the place of the old one by a compare-and-swap. If another thread was first, again.
 */

#include "store/value.h"

/* Returns whether the change writes the old value again, as compaction does: it keeps the
 * version. */
static bool same_content(const struct lath_store_change *change, const struct lath_store_ref *old)
{
	return change->value == old->data && change->size == old->size && !change->tail_size &&
	       change->expires == old->expires;
}

/* Removes the key, which is there. In a call and in the section that the place was found in. 0 |
 * RETRY | -ENOMEM */
static int remove_key(struct lath_store *store, const struct place *place)
{
	int ret;

	LATH_ASSERT(place->word);
	ret = place_put(store, place, 0);
	if (!ret)
		store_count_items(store, -1);
	return ret;
}

/* Gives the key the new value; old: the value that it has, NULL if it has none or that is expired.
 * In a call and in the section that the place was found in. 0 | RETRY | an error */
static int put_value(struct lath_store *store, struct lath_store_key key, const struct place *place,
		     const struct lath_store_change *change, const struct lath_store_ref *old)
{
	u64 word;
	int ret;

	LATH_ASSERT(change->action == LATH_STORE_PUT && (!old || place->word));
	ret = value_build(store, key, change, &word);
	if (ret)
		return ret;
	/* a value that is in its word has the same word each time */
	LATH_ASSERT(word && (word != place->word || !word_has_place(word)));
	/* no reader has seen the record yet, so its version may still be written */
	if (old && old->version && same_content(change, old))
		word_record(store, word)->version = old->version;
	ret = place_put(store, place, word);
	if (ret) {
		/* another thread was first, or there is no memory: no reader has seen it */
		value_drop(store, word);
		return ret;
	}
	record_mark(store, word, true);
	if (!place->word)
		store_count_items(store, 1);
	return 0;
}

/* One attempt, in a call and in a section. 0 | RETRY | an error */
static int try_update(struct lath_store *store, struct lath_store_key key, lath_store_update_fn fn,
		      void *arg)
{
	struct lath_store_change change = { LATH_STORE_KEEP, NULL, 0, NULL, 0, 0 };
	struct lath_store_ref ref;
	struct place place;
	bool there = false;
	int ret;

	lath_call_assert();
	place_find(store, key, &place);
	if (place.word) {
		value_ref(store, place.word, &ref);
		/* to the caller an expired value is none; its word is replaced like any other */
		there = !ref_expired(&ref);
		change.expires = there ? ref.expires : 0;
	}
	ret = fn(arg, there ? &ref : NULL, &change);
	if (ret < 0 || change.action == LATH_STORE_KEEP)
		return min(ret, 0);
	if (change.action == LATH_STORE_REMOVE && !place.word)
		return 0; /* nothing to remove, and nothing changes */
	if (change.action == LATH_STORE_REMOVE)
		ret = remove_key(store, &place);
	else
		ret = put_value(store, key, &place, &change, there ? &ref : NULL);
	if (ret)
		return ret;
	store_changed(store);
	/* after the new record was marked (M3 of shm.h); readers may still look at the old value */
	if (place.word)
		value_retire(store, place.word);
	return 0;
}

int key_update(struct lath_store *store, struct lath_store_key key, lath_store_update_fn fn,
	       void *arg)
{
	unsigned int rounds = 0;
	int ret;

	LATH_ASSERT(!store->backend && !store->read_only);
	LATH_ASSERT(!key_check(store, key));
	for (;;) {
		lath_call_enter();
		lath_reader_enter(store->rcu);
		ret = try_update(store, key, fn, arg);
		lath_reader_exit(store->rcu);
		lath_call_exit();
		if (likely(ret != RETRY))
			break;
		/* another thread's change of the key came first; of many, few try at once */
		lath_crowd_wait(&rounds);
	}
	LATH_ASSERT(ret <= 0);
	/* the index says -ENOMEM in any case: it does not know of the limit */
	return ret == -ENOMEM && arena_is_full(&store->arena) ? -ENOSPC : ret;
}
