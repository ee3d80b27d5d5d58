/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * dev.c - the kernel's store, through the calls of /dev/llds (lathwork/uapi/llds.h).
 *
 * A ref points to a copy in this process, which is valid until the caller's section ends.
 */
#include "store/memory/reason.h"
#include "store/place/place.h"
#include "lathwork/uapi/llds.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Room for a value in the first call; a longer value takes a second one. */
#define FIRST_ROOM 512

/* The device's descriptor is what the store keeps there. */
static int fd_of(const struct lath_store *store)
{
	return (int)(intptr_t)store->place_data;
}

static int dev_call(const struct lath_store *store, unsigned long call, void *arg)
{
	return UNINTERRUPTED(ioctl(fd_of(store), call, arg)) < 0 ? -errno : 0;
}

/* ---- opening ---- */

/* Attaches the store `name`, if there is one, making it if it does not exist; otherwise sets the
 * limit of the private store. 0 | -errno with a reason */
static int dev_prepare(struct lath_store *store, const char *name,
		       const struct lath_store_options *options)
{
	struct llds_attach attach = { .limit = options->limit, .mode = 0600 };
	u64 limit = options->limit;
	__u32 abi = 0;
	int ret = dev_call(store, LLDS_GET_ABI, &abi);

	if (ret || abi != LLDS_ABI)
		return lath_refuse(-ENODEV, "not this version's llds device");
	if (name) {
		if (strlen(name) > LLDS_NAME_MAX)
			return lath_refuse(-EINVAL, "%s: a name has at most %u characters", name,
					   LLDS_NAME_MAX);
		memcpy(attach.name, name, strlen(name));
		if (!(options->flags & (LATH_STORE_READ_ONLY | LATH_STORE_EXISTING)))
			attach.flags = LLDS_CREATE;
		ret = dev_call(store, LLDS_ATTACH, &attach);
		return ret ? lath_refuse(ret, "store %s: %s", name, strerror(-ret)) : 0;
	}
	ret = limit && !(options->flags & LATH_STORE_READ_ONLY)
		      ? dev_call(store, LLDS_SET_LIMIT, &limit)
		      : 0;
	return ret ? lath_refuse(ret, "limit %llu: %s", (unsigned long long)limit, strerror(-ret))
		   : 0;
}

static void dev_close(struct lath_store *store)
{
	close(fd_of(store));
}

static int dev_open(struct lath_store *store, const char *rest,
		    const struct lath_store_options *options)
{
	const char *name = strchr(rest, '#');
	char *path = strndup(*rest && *rest != '#' ? rest : "/dev/llds",
			     *rest && name && name != rest ? (size_t)(name - rest) : (size_t)4096);
	int fd = -1, ret;

	if (!path)
		ret = lath_refuse(-ENOMEM, "no memory");
	else if (options->keys != LATH_STORE_NUMBERS || options->flags & LATH_STORE_EVICT)
		ret = lath_refuse(-EOPNOTSUPP,
				  "the kernel's store has numbers for keys and evicts nothing");
	else if ((fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY)) < 0)
		ret = lath_refuse(errno == ENOENT ? -ENODEV : -errno, "%s: %s", path,
				  strerror(errno));
	else {
		store->place_data = (void *)(intptr_t)fd;
		ret = dev_prepare(store, name ? name + 1 : NULL, options);
		if (ret)
			close(fd);
	}
	free(path);
	return ret;
}

/* ---- reading ---- */

static int64_t dev_get(struct lath_store *store, struct lath_store_key key, void *buf, size_t room)
{
	struct llds_get get = { .key = key.n, .value = (uintptr_t)buf };
	int ret;

	get.room = (u32)min(room, (size_t)LLDS_VALUE_MAX);
	ret = dev_call(store, LLDS_GET, &get);
	return ret && ret != -ERANGE ? ret : (int64_t)get.size;
}

/* Copies the value at data, whose length ref has. 0 | -ENOMEM */
static int ref_fill(struct lath_store *store, const void *data, struct lath_store_ref *ref)
{
	struct copies *copies;
	int ret;

	ref->data = data;
	ret = lath_refs_copy(ref, 1, &copies);
	lath_copies_keep(store, copies);
	return ret;
}

/* Gets the first entry from one key on to another (backward: down to it). 0 (*found, *ref) | -ENOENT |
 * -errno */
static int dev_seek(struct lath_store *store, u64 from, u64 last, bool backward, u64 *found,
		    struct lath_store_ref *ref)
{
	_Alignas(8) u8 first[FIRST_ROOM];
	struct llds_iterate it = { .from = from, .last = last };
	const struct llds_record *record;
	u8 *buffer = first, *more;
	u32 room = sizeof(first);
	int ret;

	for (;;) {
		it.buffer = (uintptr_t)buffer;
		it.room = room;
		it.count = 1;
		it.flags = backward ? LLDS_BACKWARD : 0;
		it.more = 0;
		ret = dev_call(store, LLDS_ITERATE, &it);
		if (!ret && !it.count && it.more) { /* stopped early by a signal */
			it.from = it.next;
			continue;
		}
		if (ret != -ERANGE)
			break;
		room = it.used;
		more = realloc(buffer == first ? NULL : buffer, room);
		ret = -ENOMEM;
		if (!more)
			break;
		buffer = more;
	}
	if (!ret && !it.count)
		ret = -ENOENT;
	if (!ret) {
		record = (const void *)buffer;
		*found = record->key;
		ref->size = record->size;
		ref->version = record->version;
		ref->expires = record->expires;
		ret = ref_fill(store, buffer + sizeof(*record), ref);
	}
	if (buffer != first)
		free(buffer);
	return ret;
}

static int dev_get_ref(struct lath_store *store, struct lath_store_key key,
		       struct lath_store_ref *ref)
{
	return dev_seek(store, key.n, key.n, false, &key.n, ref);
}

static size_t dev_mget(struct lath_store *store, size_t n, const struct lath_store_key *keys,
		       struct lath_store_ref *refs)
{
	struct llds_get get[GROUP];
	u8 data[GROUP][64];
	size_t found = 0, i;
	struct llds_batch batch = { .elements = (uintptr_t)get, .count = (u32)n };
	bool answered;

	LATH_ASSERT(n && n <= GROUP);
	for (i = 0; i < n; i++)
		get[i] = (struct llds_get){ .key = keys[i].n,
					    .value = (uintptr_t)data[i],
					    .room = sizeof(data[i]),
					    .error = -EAGAIN };
	answered = !dev_call(store, LLDS_MGET, &batch);
	for (i = 0; i < n; i++) {
		int ret = keys[i].data ? -EINVAL : answered ? get[i].error : -EAGAIN;

		/* too long for this buffer, or not processed */
		if (ret == -ERANGE || ret == -EAGAIN)
			ret = dev_get_ref(store, keys[i], &refs[i]);
		if (!ret && answered && !get[i].error) {
			refs[i].size = get[i].size;
			refs[i].version = get[i].version;
			refs[i].expires = get[i].expires;
			ret = ref_fill(store, data[i], &refs[i]);
		}
		if (ret)
			refs[i].data = NULL;
		found += !ret;
	}
	return found;
}

/* ---- writing ---- */

/* Makes the change if the value is still the old one. */
static int change_one(struct lath_store *store, u64 key, const struct lath_store_ref *old,
		      const struct lath_store_change *change)
{
	struct llds_delete del = { .key = key, .flags = LLDS_IF_VERSION };
	struct llds_set set = { .key = key,
				.value = (uintptr_t)change->value,
				.expires = change->expires };
	u64 size = change->size + change->tail_size;
	u8 *whole = NULL;
	int ret;

	if (change->action == LATH_STORE_REMOVE) {
		del.version = old ? old->version : 0;
		return old ? dev_call(store, LLDS_DELETE, &del) : 0;
	}
	if (size > LLDS_VALUE_MAX)
		return -E2BIG;
	if (change->tail_size) {
		whole = malloc(size);
		if (!whole)
			return -ENOMEM;
		change_copy(change, whole);
		set.value = (uintptr_t)whole;
	}
	set.size = (u32)size;
	set.flags = old ? LLDS_IF_VERSION : LLDS_ADD;
	set.version = old ? old->version : 0;
	ret = dev_call(store, LLDS_SET, &set);
	free(whole);
	return ret;
}

static int dev_update(struct lath_store *store, struct lath_store_key key, lath_store_update_fn fn,
		      void *arg)
{
	bool again;
	int ret;

	do {
		struct lath_store_change change = { LATH_STORE_KEEP, NULL, 0, NULL, 0, 0 };
		struct lath_store_ref ref, *old;

		again = false;
		lath_reader_enter(store->rcu);
		ret = dev_get_ref(store, key, &ref);
		if (!ret || ret == -ENOENT) {
			old = ret ? NULL : &ref;
			change.expires = old ? ref.expires : 0;
			ret = min(fn(arg, old, &change), 0);
			if (!ret && change.action != LATH_STORE_KEEP) {
				ret = change_one(store, key.n, old, &change);
				/* the value is no longer what fn saw */
				again = ret == -EAGAIN || ret == -EEXIST || ret == -ENOENT;
			}
		}
		lath_reader_exit(store->rcu);
	} while (again);
	return ret;
}

/* Makes a batch call until all elements are processed; others keep their error. */
static void dev_batch(struct lath_store *store, unsigned long call, void *elements, size_t each,
		      size_t n)
{
	size_t i = 0;

	while (i < n) {
		struct llds_batch batch = { .elements = (uintptr_t)elements + i * each,
					    .count = (u32)(n - i) };

		if (dev_call(store, call, &batch) || !batch.done)
			return;
		i += batch.done;
	}
}

static int64_t dev_change(struct lath_store *store, size_t n,
			  const struct lath_store_entry *entries, const struct lath_store_key *keys,
			  int *results)
{
	struct llds_set set[GROUP];
	struct llds_delete del[GROUP];
	int64_t good = 0;
	size_t i;

	/* the kernel refuses an impossible length; flags ~0 make it refuse a byte key */
	for (i = 0; entries && i < n; i++)
		set[i] = (struct llds_set){ .key = entries[i].key.n,
					    .value = (uintptr_t)entries[i].value,
					    .size = (u32)min(entries[i].size,
							     (u64)LLDS_VALUE_MAX + 1),
					    .flags = entries[i].key.data ? ~0u : 0,
					    .expires = entries[i].expires,
					    .error = -ENOMEM };
	for (i = 0; !entries && i < n; i++)
		del[i] = (struct llds_delete){ .key = keys[i].n,
					       .flags = keys[i].data ? ~0u : 0,
					       .error = -ENOMEM };
	if (entries)
		dev_batch(store, LLDS_MSET, set, sizeof(*set), n);
	else
		dev_batch(store, LLDS_MDELETE, del, sizeof(*del), n);
	for (i = 0; i < n; i++) {
		results[i] = entries ? set[i].error : del[i].error;
		good += !results[i];
	}
	return good;
}

/* ---- in order ---- */

/* One entry at a time, each in its own section. */
static int dev_next(struct lath_store_iter *iter, struct lath_store_key *key,
		    struct lath_store_ref *value)
{
	struct lath_store *store = iter->store;
	int ret;

	if (iter->ended)
		return 0;
	LATH_ASSERT(lath_reader_inside(store->rcu));
	/* copies of one call are valid until the section ends */
	lath_reader_exit(store->rcu);
	lath_reader_enter(store->rcu);
	*key = lath_key_number(0);
	ret = dev_seek(store, iter->number, iter->number_end, iter->backward, &key->n, value);
	if (ret)
		return ret == -ENOENT ? 0 : ret;
	lath_iter_pass(iter, *key);
	return 1;
}

static size_t dev_scan(struct lath_store *store, u64 from, u64 last, uint64_t *keys,
		       struct lath_store_ref *refs, size_t max, uint64_t *next)
{
	bool ended = from > last;
	size_t n = 0;

	/* an error ends the scan as the last key does: there is no other way to tell */
	while (n < max && !ended) {
		ended = dev_seek(store, from, last, false, &keys[n], &refs[n]);
		if (ended)
			break;
		ended = keys[n] == last;
		from = keys[n++] + 1;
	}
	*next = ended ? 0 : from;
	return n;
}

static int dev_stats(struct lath_store *store, struct lath_store_stats *stats)
{
	struct llds_stats there;
	int ret = dev_call(store, LLDS_STATS, &there);

	if (ret)
		return ret;
	stats->items = there.items;
	stats->committed = there.bytes;
	stats->index_bytes = there.index_bytes;
	stats->record_bytes = there.bytes - there.index_bytes;
	return 0;
}

const struct store_place lath_place_dev = {
	.scheme = "dev",
	.open = dev_open,
	.close = dev_close,
	.get = dev_get,
	.get_ref = dev_get_ref,
	.mget = dev_mget,
	.scan = dev_scan,
	.update = dev_update,
	.change = dev_change,
	.next = dev_next,
	.stats = dev_stats,
};
