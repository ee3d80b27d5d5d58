/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * save.c - writing a snapshot to a new file, which then replaces the old one.
 */
#include "store/engine.h"
#include "store/file.h"
#include "store/reason.h"
#include "store/snapshot.h"

#include <stdlib.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct writer {
	int fd;
	int error;
	u8 *buf;
	size_t size, room;
	u64 entries;
	u64 blocks, all_entries, all_bytes, all_checksum;
	u8 *last; /* the previous key in the block */
	u64 last_size, last_number;
};

static void write_all(struct writer *w, const void *data, size_t size)
{
	const u8 *at = data;

	while (size && !w->error) {
		ssize_t n = write(w->fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) { /* the first error stays; what follows is not written */
			w->error = n ? -errno : -EIO;
			break;
		}
		at += n;
		size -= (size_t)n;
		w->all_bytes += (u64)n;
	}
}

static void write_block(struct writer *w)
{
	struct snapshot_block block = { w->size, w->entries, w->all_checksum, 0 };

	LATH_ASSERT(!w->entries == !w->size);
	if (w->entries) {
		block.checksum = XXH3_64bits_withSeed(w->buf, w->size, w->blocks);
		w->all_checksum = XXH3_64bits_withSeed(&block.checksum, 8, w->all_checksum);
	} else { /* the end: its length is 0, its sums are those of the file */
		block.entries = w->all_entries;
	}
	block.own_checksum = XXH3_64bits(&block, 24);
	write_all(w, &block, sizeof(block));
	write_all(w, w->buf, w->size);
	w->all_entries += w->entries;
	w->blocks++;
	w->size = 0;
	w->entries = 0;
}

static bool room_for(struct writer *w, u64 size)
{
	size_t want = w->size + size + 64;
	u8 *buf;

	if (want <= w->room)
		return true;
	/* a block more than needed, since the block ends only behind an entry */
	want += SNAPSHOT_BLOCK;
	buf = memory_refused() ? NULL : realloc(w->buf, want);
	if (!buf) {
		w->error = -ENOMEM;
		return false;
	}
	w->buf = buf;
	w->room = want;
	return true;
}

static void put_number(struct writer *w, u64 n)
{
	LATH_ASSERT(w->room - w->size >= 10);
	for (; n >= 0x80; n >>= 7)
		w->buf[w->size++] = (u8)(n | 0x80);
	w->buf[w->size++] = (u8)n;
}

static void put_bytes(struct writer *w, const void *data, u64 size)
{
	LATH_ASSERT(size <= w->room - w->size);
	if (size)
		memcpy(w->buf + w->size, data, size);
	w->size += size;
}

static void put_key(struct writer *w, struct lath_store_key key)
{
	const u8 *data = key.data;
	u64 shared = 0;

	if (!data) {
		put_number(w, w->entries ? key.n - w->last_number - 1 : key.n);
		w->last_number = key.n;
		return;
	}
	LATH_ASSERT(key.n <= KEY_BYTES_MAX && w->last);
	if (w->entries) /* the first key of a block is whole: blocks are read one at a time */
		while (shared < min(key.n, w->last_size) && data[shared] == w->last[shared])
			shared++;
	put_number(w, shared);
	put_number(w, key.n - shared);
	put_bytes(w, data + shared, key.n - shared);
	memcpy(w->last, data, key.n);
	w->last_size = key.n;
}

static void put_entry(struct writer *w, struct lath_store_key key,
		      const struct lath_store_ref *value)
{
	if (!room_for(w, (key.data ? key.n : 0) + value->size))
		return;
	put_key(w, key);
	put_number(w, value->size * 2 + !!value->expires);
	if (value->expires)
		put_bytes(w, &value->expires, 8);
	put_bytes(w, value->data, value->size);
	w->entries++;
	/* a block has whole entries, the last of which may make it longer */
	if (w->size >= SNAPSHOT_BLOCK)
		write_block(w);
}

static int write_store(struct lath_store *store, struct writer *w, lath_store_progress_fn progress,
		       void *arg)
{
	struct snapshot_header header = { .version = SNAPSHOT_VERSION, .keys = store->keys };
	struct lath_store_iter *iter;
	struct lath_store_key key;
	struct lath_store_ref value;
	int ret;

	memcpy(header.magic, SNAPSHOT_MAGIC, 8);
	header.checksum = XXH3_64bits(&header, 56);
	write_all(w, &header, sizeof(header));
	ret = lath_store_iter_begin(store, NULL, &iter);
	if (ret)
		return ret;
	while (!w->error && (ret = lath_store_iter_next(iter, &key, &value)) > 0) {
		put_entry(w, key, &value);
		/* at the end of each block */
		if (progress && !w->entries && progress(arg, w->all_entries, w->all_bytes))
			w->error = -EINTR;
	}
	lath_store_iter_end(iter);
	if (!w->error && ret >= 0 && w->entries)
		write_block(w);
	if (!w->error && ret >= 0)
		write_block(w); /* the block that marks the end */
	return w->error ? w->error : min(ret, 0);
}

/* Writes the snapshot. The caller holds the file's lock. 0 | -errno with a reason. *placed: whether
 * the new file is in place, which it may be after an error too */
static int save_to(struct lath_store *store, struct store_file *file, bool *placed,
		   lath_store_progress_fn progress, void *arg)
{
	struct writer w = { .fd = -1 };
	struct replacement new;
	int ret;

	LATH_ASSERT(file->lock >= 0);
	*placed = false;
	ret = replace_begin(file, &new);
	if (ret)
		return ret;
	w.fd = new.fd;
	w.last = memory_refused() ? NULL : malloc(KEY_BYTES_MAX);
	ret = w.last ? write_store(store, &w, progress, arg) : -ENOMEM;
	free(w.buf);
	free(w.last);
	if (!ret) {
		ret = replace_commit(file, &new);
		*placed = new.placed;
		return ret;
	}
	replace_abort(file, &new);
	return store_refuse(ret, "%s: %s", file->label,
			    ret == -EINTR ? "interrupted" : strerror(-ret));
}

/* Saves to the store's own file. One save at a time: otherwise an older state could replace a newer
 * one. After a fork a save of the parent does not count. As save_to() */
static int save_own(struct lath_store *store, bool *placed, lath_store_progress_fn progress,
		    void *arg)
{
	pid_t me = getpid(), other = __atomic_load_n(&store->saving, __ATOMIC_RELAXED);
	int ret;

	LATH_ASSERT(store->file);
	*placed = false;
	/* a save of the parent that was under way at the fork is not this process's */
	if (other == me || !__atomic_compare_exchange_n(&store->saving, &other, me, false,
							__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return store_refuse(-EBUSY, "%s: another thread is writing it", store->file->label);
	ret = file_own(store->file);
	if (!ret)
		ret = save_to(store, store->file, placed, progress, arg);
	__atomic_store_n(&store->saving, 0, __ATOMIC_RELEASE);
	return ret;
}

int lath_store_sync(struct lath_store *store)
{
	LATH_NO_CANCEL;
	bool placed;
	int ret;

	store_reason_begin();
	if (store->read_only)
		return store_refuse(-EROFS, "the store was opened to be read only");
	if (!store->file || !READ_ONCE(store->changed))
		return 0;
	WRITE_ONCE(store->changed, 0); /* changes from here on may be missing in the file */
	ret = save_own(store, &placed, NULL, NULL);
	if (ret) /* the next sync tries again */
		WRITE_ONCE(store->changed, 1);
	return ret && !placed ? store_reason_add(ret, "; the changes are not saved") : ret;
}

int lath_store_save(struct lath_store *store, const char *path, lath_store_progress_fn progress,
		    void *arg)
{
	LATH_NO_CANCEL;
	struct store_file file;
	bool placed;
	int ret;

	store_reason_begin();
	if (store->backend && !store->inside)
		return store_refuse(-EOPNOTSUPP, "%s: cannot be saved", store->backend->scheme);
	ret = file_resolve(&file, path);
	if (!ret && store->file && file_same(&file.dir_id, &store->file->dir_id) &&
	    !strcmp(file.name, store->file->name)) {
		ret = save_own(store, &placed, progress, arg);
	} else if (!ret) { /* another file: locked for this call alone */
		ret = file_lock(&file);
		if (!ret) {
			ret = save_to(store, &file, &placed, progress, arg);
			file_unlock(&file);
		}
	}
	file_forget(&file);
	return ret;
}
