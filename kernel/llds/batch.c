/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * batch.c - many keys in one call, and records in key order. A call takes at most LLDS_BATCH_MAX
 * elements and about LLDS_VALUE_MAX bytes, and stops early for a signal; the caller continues
 * behind `done`.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "store.h"

#define AT_ONCE 16

static int batch_check(const struct llds_batch *batch)
{
	if (batch->reserved || !batch->count)
		return -EINVAL;
	return batch->count > LLDS_BATCH_MAX ? -E2BIG : 0;
}

/* Returns 0: continue | 1: a signal, stop here | -EINTR: a signal, and nothing is done yet */
static int batch_pause(const struct llds_batch *batch)
{
	cond_resched();
	if (!signal_pending(current))
		return 0;
	return batch->done ? 1 : -EINTR;
}

struct get_scratch {
	struct llds_get get[AT_ONCE];
	struct llds_entry *found[AT_ONCE];
	u64 keys[AT_ONCE];
};

static u64 answer_gets(struct llds_store *store, struct get_scratch *s, unsigned int n,
		       struct llds_batch *batch)
{
	u64 bytes = 0;
	unsigned int i;

	for (i = 0; i < n; i++) {
		struct llds_get *get = &s->get[i];

		get->error = -ENOENT;
		if (get->reserved)
			get->error = -EINVAL;
		else if (s->found[i])
			get->error = llds_copy_out(s->found[i], get);
		if (s->found[i]) {
			bytes += s->found[i]->size;
			llds_entry_put(store, s->found[i]);
		}
		batch->good += !get->error;
	}
	return bytes;
}

long llds_mget(struct llds_store *store, struct llds_batch *batch)
{
	struct llds_get __user *user = u64_to_user_ptr(batch->elements);
	struct get_scratch *s;
	int ret = batch_check(batch);
	u64 bytes = 0;

	if (ret)
		return ret;
	s = kmalloc(sizeof(*s), LLDS_GFP);
	if (!s)
		return -ENOMEM;
	batch->done = 0;
	batch->good = 0;
	while (batch->done < batch->count && bytes < LLDS_VALUE_MAX) {
		unsigned int n = min_t(u32, AT_ONCE, batch->count - batch->done), i;

		ret = batch_pause(batch);
		if (ret)
			break;
		ret = -EFAULT;
		if (copy_from_user(s->get, user + batch->done, n * sizeof(*user)))
			break;
		for (i = 0; i < n; i++)
			s->keys[i] = s->get[i].key;
		llds_find_batch(store, n, s->keys, s->found);
		bytes += answer_gets(store, s, n, batch);
		if (copy_to_user(user + batch->done, s->get, n * sizeof(*user)))
			break;
		batch->done += n;
		ret = 0;
	}
	kfree(s);
	return ret < 0 ? ret : 0;
}

long llds_mset(struct llds_store *store, struct llds_batch *batch)
{
	struct llds_set __user *user = u64_to_user_ptr(batch->elements);
	int ret = batch_check(batch);
	struct llds_set set;
	u64 bytes = 0;

	if (ret)
		return ret;
	batch->good = 0;
	for (batch->done = 0; batch->done < batch->count && bytes < LLDS_VALUE_MAX;
	     batch->done++, user++) {
		ret = batch->done % AT_ONCE ? 0 : batch_pause(batch);
		if (ret)
			break;
		ret = -EFAULT;
		if (copy_from_user(&set, user, sizeof(set)))
			break;
		set.error = llds_set_one(store, &set);
		bytes += set.size;
		batch->good += !set.error;
		if (copy_to_user(user, &set, sizeof(set)))
			break;
		ret = 0;
	}
	return ret < 0 ? ret : 0;
}

long llds_mdelete(struct llds_store *store, struct llds_batch *batch)
{
	struct llds_delete __user *user = u64_to_user_ptr(batch->elements);
	int ret = batch_check(batch);
	struct llds_delete del;

	if (ret)
		return ret;
	batch->good = 0;
	for (batch->done = 0; batch->done < batch->count; batch->done++, user++) {
		ret = batch->done % AT_ONCE ? 0 : batch_pause(batch);
		if (ret)
			break;
		ret = -EFAULT;
		if (copy_from_user(&del, user, sizeof(del)))
			break;
		del.error = llds_delete_one(store, &del);
		batch->good += !del.error;
		if (put_user(del.error, &user->error))
			break;
		ret = 0;
	}
	return ret < 0 ? ret : 0;
}

/* ---- records in order ---- */

/* Copies a record to the user's buffer. 0 | -EFAULT | 1: no room */
static int put_record(const struct llds_iterate *it, u64 key, const struct llds_entry *entry,
		      u32 room)
{
	struct llds_record record = { key, entry->version, entry->expires, entry->size, 0 };
	u8 __user *to = u64_to_user_ptr(it->buffer) + it->used;
	u32 padding = -entry->size & 7;

	if (sizeof(record) + entry->size + padding > room - it->used)
		return 1;
	if (copy_to_user(to, &record, sizeof(record)) ||
	    copy_to_user(to + sizeof(record), entry->data, entry->size) ||
	    clear_user(to + sizeof(record) + entry->size, padding))
		return -EFAULT;
	return 0;
}

/* Copies the entries of one scan and puts them. 0 | 2: the buffer is full, it->next is the key to
 * continue from | -EFAULT | -ERANGE: no room even for the first record (it->used: the room it
 * needs) */
static int put_records(struct llds_store *store, struct llds_iterate *it, unsigned int n,
		       const u64 *keys, struct llds_entry **found, u32 room)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < n; i++) {
		u32 bytes = sizeof(struct llds_record) + ALIGN(found[i]->size, 8);

		if (!ret)
			ret = put_record(it, keys[i], found[i], room);
		if (!ret) {
			it->used += bytes;
			it->count++;
		} else if (ret == 1) {
			it->next = keys[i];
			it->more = 1;
			ret = 2;
			if (!it->count) {
				it->used = bytes;
				ret = -ERANGE;
			}
		}
		llds_entry_put(store, found[i]);
	}
	return ret;
}

long llds_iterate(struct llds_store *store, struct llds_iterate *it)
{
	/* a larger buffer is not used in one call */
	u32 most = it->count, room = min_t(u32, it->room, LLDS_VALUE_MAX + PAGE_SIZE);
	bool backward = it->flags & LLDS_BACKWARD, more = true;
	struct llds_entry *found[AT_ONCE];
	u64 keys[AT_ONCE], from = it->from;
	unsigned int n;
	int ret = 0;

	if (it->flags & ~LLDS_BACKWARD || it->reserved || !most || it->buffer & 7)
		return -EINVAL;
	if (most > LLDS_BATCH_MAX)
		return -E2BIG;
	it->count = 0;
	it->used = 0;
	it->more = 0;
	it->next = 0;
	while (more && it->count < most && (backward ? from >= it->last : from <= it->last)) {
		cond_resched();
		if (signal_pending(current)) {
			if (!it->count)
				return -EINTR;
			break;
		}
		n = llds_scan(store, from, it->last, backward, most - it->count, keys, found, &from,
			      &more);
		ret = put_records(store, it, n, keys, found, room);
		if (ret)
			return ret < 0 ? ret : 0;
	}
	if (more) {
		it->next = from;
		it->more = backward ? from >= it->last : from <= it->last;
	}
	return 0;
}
