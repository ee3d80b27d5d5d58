/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * snapshot.c - writing a snapshot to a new file, which then replaces the old one; reading it: once
 * to check it, and a second time into the store.
 *
 * Nothing in the file is trusted: before memory is allocated, every length is compared with what is
 * left of its block, and every block with what is left of the file.
 */
#include "store/place/file.h"
#include "store/memory/reason.h"
#include "store/place/shm.h"
#include "store/kv/value.h"

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

	/* a block more than needed, since the block ends only behind an entry */
	if (want > w->room && !lath_buffer_grow(&w->buf, &w->room, want + SNAPSHOT_BLOCK))
		w->error = -ENOMEM;
	return !w->error;
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
	ret = lath_replace_begin(file, &new);
	if (ret)
		return ret;
	w.fd = new.fd;
	w.last = memory_refused() ? NULL : malloc(KEY_BYTES_MAX);
	ret = w.last ? write_store(store, &w, progress, arg) : -ENOMEM;
	free(w.buf);
	free(w.last);
	if (!ret) {
		ret = lath_replace_commit(file, &new);
		*placed = new.placed;
		return ret;
	}
	lath_replace_abort(file, &new);
	return lath_store_refuse_with(ret, "%s: %s", file->label,
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
		return lath_store_refuse_with(-EBUSY, "%s: another thread is writing it",
					      store->file->label);
	ret = lath_file_own(store->file);
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

	lath_store_reason_begin();
	if (store->read_only)
		return lath_store_refuse_with(-EROFS, "the store was opened to be read only");
	if (!store->file || !READ_ONCE(store->changed))
		return 0;
	WRITE_ONCE(store->changed, 0); /* changes from here on may be missing in the file */
	ret = save_own(store, &placed, NULL, NULL);
	if (ret) /* the next sync tries again */
		WRITE_ONCE(store->changed, 1);
	return ret && !placed ? lath_store_reason_add(ret, "; the changes are not saved") : ret;
}

int lath_store_save(struct lath_store *store, const char *path, lath_store_progress_fn progress,
		    void *arg)
{
	LATH_NO_CANCEL;
	struct store_file file;
	bool placed;
	int ret;

	lath_store_reason_begin();
	if (store->backend && !store->inside)
		return lath_store_refuse_with(-EOPNOTSUPP, "%s: cannot be saved",
					      store->backend->scheme);
	ret = lath_file_resolve(&file, path);
	if (!ret && store->file && lath_file_same(&file.dir_id, &store->file->dir_id) &&
	    !strcmp(file.name, store->file->name)) {
		ret = save_own(store, &placed, progress, arg);
	} else if (!ret) { /* another file: locked for this call alone */
		ret = lath_file_lock(&file);
		if (!ret) {
			ret = save_to(store, &file, &placed, progress, arg);
			lath_file_unlock(&file);
		}
	}
	lath_file_forget(&file);
	return ret;
}

/* ---- reading ---- */

struct reader {
	struct lath_store *store;
	const struct store_file *file;
	int fd;
	bool apply;
	u64 size, at; /* size of the file, and the position in it */
	u8 *buf;
	size_t room;
	u64 blocks, entries, checksum;
	u64 now;     /* entries that have expired by then are not counted in */
	u64 content; /* bytes of the keys and values so far, as a store keeps them */
	u64 all_entries, all_content; /* of the file, known after the first reading */
	/* the previous key; keys ascend through the whole file */
	bool any;
	u64 number;
	u8 *key;
	u64 key_size;
	/* entries of a store of numbers, set in groups */
	struct lath_store_entry group[GROUP];
	unsigned int waiting;
};

static int bad_file(struct reader *r, const char *what)
{
	LATH_ASSERT(r->at <= r->size);
	return lath_store_refuse_with(-EBADMSG, "%s: damaged at byte %llu: %s", r->file->label,
				      (unsigned long long)r->at, what);
}

static int load_failed(struct reader *r, int error)
{
	LATH_ASSERT(error < 0);
	return lath_store_refuse_with(error, "%s: %s", r->file->label,
				      error == -EINTR ? "interrupted" : strerror(-error));
}

/* Refuses a file that needs more than the limit. Its need is estimated from the part that was
 * loaded, if any. */
static int too_large(struct reader *r)
{
	const double mib = 1 << 20;
	double limit = (double)r->store->limit, needed = (double)r->all_content;

	if (r->apply && r->content)
		needed *= max(1.0, (limit + (double)BLOCK) / (double)r->content);

	return lath_store_refuse_with(
		-ENOSPC, "%s: its %llu entries need about %.1f MiB, the limit is %.1f MiB",
		r->file->label, (unsigned long long)r->all_entries, needed / mib, limit / mib);
}

static int read_all(struct reader *r, void *data, u64 size)
{
	u8 *to = data;

	if (size > r->size - r->at)
		return bad_file(r, "the file ends too early");
	LATH_ASSERT(r->fd >= 0);
	while (size) {
		ssize_t n = pread(r->fd, to, size, (off_t)r->at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return load_failed(r, -errno);
		if (!n)
			return bad_file(r, "the file has become shorter");
		to += n;
		size -= (u64)n;
		r->at += (u64)n;
	}
	return 0;
}

/* ---- entries ---- */

struct cursor {
	const u8 *at, *end;
	bool bad;
};

static u64 take_number(struct cursor *c)
{
	u64 n = 0;
	unsigned int shift;

	for (shift = 0; shift < 64 && c->at < c->end; shift += 7) {
		u8 byte = *c->at++;

		/* the tenth byte has one bit left, and nothing behind it */
		if (shift == 63 && byte > 1)
			break;
		n |= (u64)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return n;
	}
	c->bad = true;
	return 0;
}

static const u8 *take_bytes(struct cursor *c, u64 size)
{
	const u8 *bytes = c->at;

	LATH_ASSERT(c->at <= c->end);
	if (c->bad || size > (u64)(c->end - c->at)) {
		c->bad = true;
		return NULL;
	}
	c->at += size;
	return bytes;
}

/* Reads the key of an entry to r->number or r->key. Returns false if it is damaged or not above the
 * previous one. */
static bool take_key(struct reader *r, struct cursor *c, bool first)
{
	const u8 *rest;
	u64 n = take_number(c), size, common;
	int order;

	if (r->store->keys == LATH_STORE_NUMBERS) {
		if (!first) {
			if (c->bad || n >= ~0ull - r->number)
				return false;
			n += r->number + 1;
		}
		if (c->bad || (r->any && n <= r->number))
			return false;
		r->number = n;
		return true;
	}
	size = take_number(c);
	/* no more shared bytes than the key before has, none in the first of a block */
	if (c->bad || n > r->key_size || (first && n) || size > KEY_BYTES_MAX ||
	    n + size > KEY_BYTES_MAX)
		return false;
	rest = take_bytes(c, size);
	if (!rest)
		return false;
	LATH_ASSERT(r->key_size <= KEY_BYTES_MAX);
	/* what both share is equal, so the rest decides the order */
	common = min(r->key_size - n, size);
	order = memcmp(rest, r->key + n, common);
	if (r->any && (order < 0 || (!order && size <= r->key_size - n)))
		return false;
	memcpy(r->key + n, rest, size);
	r->key_size = n + size;
	return true;
}

static int not_put(struct reader *r, int error)
{
	return error == -ENOSPC && r->store->limit ? too_large(r) : load_failed(r, error);
}

static int flush_group(struct reader *r)
{
	int results[GROUP];
	unsigned int i, n = r->waiting;

	LATH_ASSERT(n && n <= GROUP);
	r->waiting = 0;
	if (lath_store_mset(r->store, n, r->group, results) == n)
		return 0;
	for (i = 0; i < n && !results[i]; i++)
		;
	return not_put(r, results[i]);
}

static int give_entry(struct reader *r, struct lath_store_entry *entry)
{
	int ret;

	/* a byte key is in a buffer that the next one overwrites: set it now */
	if (r->store->keys == LATH_STORE_BYTES) {
		entry->key = lath_key_bytes(r->key, r->key_size);
		return lath_store_mset(r->store, 1, entry, &ret) ? 0 : not_put(r, ret);
	}
	entry->key = lath_key_number(r->number);
	LATH_ASSERT(r->apply && r->waiting < GROUP);
	r->group[r->waiting++] = *entry;
	return r->waiting == GROUP ? flush_group(r) : 0;
}

static int take_entries(struct reader *r, const struct snapshot_block *block)
{
	struct cursor c = { r->buf, r->buf + block->bytes, false };
	u64 i;

	LATH_ASSERT(!r->waiting && block->bytes <= r->room);
	for (i = 0; i < block->entries; i++) {
		struct lath_store_entry entry = { { NULL, 0 }, NULL, 0, 0 };
		const u8 *expires = NULL;
		u64 size;
		int ret;

		if (!take_key(r, &c, !i))
			return bad_file(r, "a key");
		r->any = true;
		size = take_number(&c);
		if (size & 1)
			expires = take_bytes(&c, 8);
		entry.size = size >> 1;
		entry.value = take_bytes(&c, entry.size);
		if (c.bad)
			return bad_file(r, "a value");
		if (expires)
			memcpy(&entry.expires, expires, 8);
		if (!entry.expires || entry.expires > r->now)
			r->content += entry.size + (r->store->keys == LATH_STORE_NUMBERS
							    ? sizeof(r->number)
							    : r->key_size);
		/* the first reading only checks and counts */
		if (!r->apply)
			continue;
		ret = give_entry(r, &entry);
		if (ret)
			return ret;
	}
	if (c.at != c.end)
		return bad_file(r, "bytes behind the entries of a block");
	return r->waiting ? flush_group(r)
			  : 0; /* flush before the next block: values are in the buffer */
}

/* ---- blocks ---- */

static int read_block(struct reader *r, struct snapshot_block *block)
{
	int ret = read_all(r, block, sizeof(*block));

	if (ret)
		return ret;
	/* before the length is believed */
	if (block->own_checksum != XXH3_64bits(block, 24))
		return bad_file(r, "the head of a block");
	if (!block->bytes)
		return 0;
	if (block->bytes > r->size - r->at)
		return bad_file(r, "the file ends too early");
	/* not before it is known that the file has this many */
	if (!lath_buffer_grow(&r->buf, &r->room, block->bytes))
		return load_failed(r, -ENOMEM);
	ret = read_all(r, r->buf, block->bytes);
	if (ret)
		return ret;
	if (block->checksum != XXH3_64bits_withSeed(r->buf, block->bytes, r->blocks))
		return bad_file(r, "a block");
	r->checksum = XXH3_64bits_withSeed(&block->checksum, 8, r->checksum);
	return 0;
}

static int read_header(struct reader *r)
{
	struct snapshot_header header;
	int ret = read_all(r, &header, sizeof(header));

	if (ret)
		return ret;
	if (memcmp(header.magic, SNAPSHOT_MAGIC, 8) || header.checksum != XXH3_64bits(&header, 56))
		return lath_store_refuse_with(-EBADMSG, "%s: not a snapshot, or damaged at byte 0",
					      r->file->label);
	if (header.version != SNAPSHOT_VERSION)
		return lath_store_refuse_with(-EINVAL, "%s: a snapshot of version %u",
					      r->file->label, header.version);
	if (header.keys != (u32)r->store->keys)
		return lath_store_refuse_with(-EINVAL, "%s: a snapshot of %s", r->file->label,
					      r->store->keys == LATH_STORE_BYTES ? "numbers"
										 : "byte keys");
	return 0;
}

static int read_file(struct reader *r, lath_store_progress_fn progress, void *arg)
{
	struct snapshot_block block;
	int ret;

	r->at = r->blocks = r->entries = r->checksum = r->content = 0;
	r->any = false;
	r->key_size = 0;
	LATH_ASSERT(!r->waiting);
	ret = read_header(r);
	while (!ret) {
		ret = read_block(r, &block);
		if (ret || !block.bytes)
			break;
		ret = take_entries(r, &block);
		r->blocks++;
		r->entries += block.entries;
		if (!ret && progress && progress(arg, r->apply ? r->entries : 0, r->at))
			ret = load_failed(r, -EINTR);
	}
	if (ret)
		return ret;
	/* the last block has the sums of the file: none is missing or twice there */
	if (block.entries != r->entries || block.checksum != r->checksum)
		return bad_file(r, "the end does not fit what is before it");
	if (r->at != r->size)
		return bad_file(r, "bytes behind the end");
	return 0;
}

static int load_open(struct reader *r, lath_store_progress_fn progress, void *arg)
{
	int ret;

	r->key = memory_refused() ? NULL : malloc(KEY_BYTES_MAX);
	if (!r->key)
		return load_failed(r, -ENOMEM);
	ret = read_file(r, progress, arg);
	if (ret)
		return ret;
	r->all_entries = r->entries;
	r->all_content = r->content;
	/* A file may be thousands of times smaller than its keys, which it has without what they
	 * share: a load that fails does not first fill the store. */
	if (r->store->limit && r->all_content > r->store->limit + BLOCK)
		return too_large(r);
	r->apply = true;
	lath_store_loading(true); /* what does not fit is refused; nothing is evicted */
	ret = read_file(r, progress, arg);
	lath_store_loading(false);
	if (ret && r->store->inside) /* no part of the file remains */
		LOCKED(r->store, true, (lath_keys_clear(r->store->inside), 0));
	else if (ret)
		lath_keys_clear(r->store);
	return ret;
}

int lath_snapshot_load(struct lath_store *store, struct store_file *file,
		       lath_store_progress_fn progress, void *arg)
{
	struct reader *r = memory_refused() ? NULL : calloc(1, sizeof(*r));
	struct stat stat;
	int ret;

	if (!r)
		return lath_store_refuse_with(-ENOMEM, "%s: %s", file->label, strerror(ENOMEM));
	r->store = store;
	r->file = file;
	r->now = lath_store_now();
	/* before it is read: who writes it meanwhile writes another file */
	r->fd = ret = lath_file_open(file, &stat);
	if (ret >= 0) {
		r->size = (u64)stat.st_size;
		file->seen = lath_file_id_of(&stat);
		ret = load_open(r, progress, arg);
		close(r->fd);
	}
	if (!ret && store->keys == LATH_STORE_NUMBERS && !store->backend)
		lath_index_prepare(&store->numbers);
	free(r->buf);
	free(r->key);
	free(r);
	return ret;
}

int lath_store_load(struct lath_store *store, const char *path, lath_store_progress_fn progress,
		    void *arg)
{
	LATH_NO_CANCEL;
	struct store_file file;
	int ret;

	lath_store_reason_begin();
	if (store->read_only)
		return lath_store_refuse_with(-EROFS, "the store was opened to be read only");
	if (store->backend && !store->inside)
		return lath_store_refuse_with(-EOPNOTSUPP,
					      "%s: a snapshot cannot be loaded into it",
					      store->backend->scheme);
	ret = store->inside ? (int)LOCKED(store, false, !lath_keys_none(store->inside))
			    : !lath_keys_none(store);
	if (ret)
		return lath_store_refuse_with(ret > 0 ? -ENOTEMPTY : ret, "%s: %s", path,
					      ret > 0 ? "the store is not empty" : strerror(-ret));
	ret = lath_file_resolve(&file, path);
	if (!ret)
		ret = lath_snapshot_load(store, &file, progress, arg);
	lath_file_forget(&file);
	return ret;
}
