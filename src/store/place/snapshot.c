/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * snapshot.c - writing a snapshot to a new file, which then replaces the old one; reading it: once
 * to check it, and a second time into the store.
 *
 * Nothing in the file is trusted: before memory is allocated, every length is compared with what is
 * left of its block, and every block with what is left of the file.
 */
#include "store/memory/reason.h"
#include "store/place/file.h"
#include "store/place/place.h"

#include <stdlib.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Makes room for at least `want` bytes in a buffer. Returns whether there is memory. */
static bool grow(u8 **buf, size_t *room, size_t want)
{
	u8 *more;

	if (want <= *room)
		return true;
	more = memory_refused() ? NULL : realloc(*buf, want);
	if (!more)
		return false;
	*buf = more;
	*room = want;
	return true;
}

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
	if (want > w->room && !grow(&w->buf, &w->room, want + SNAPSHOT_BLOCK))
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

int lath_snapshot_write(struct lath_store *store, int fd, lath_store_progress_fn progress,
			void *arg)
{
	struct writer w = { .fd = fd };
	int ret = -ENOMEM;

	w.last = memory_refused() ? NULL : malloc(KEY_BYTES_MAX);
	if (w.last)
		ret = write_store(store, &w, progress, arg);
	free(w.buf);
	free(w.last);
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
	return lath_refuse(-EBADMSG, "%s: damaged at byte %llu: %s", r->file->label,
			   (unsigned long long)r->at, what);
}

/* Refuses a file that needs more than the limit. Its need is estimated from the part that was
 * loaded, if any. */
static int too_large(struct reader *r)
{
	const double mib = 1 << 20;
	double limit = (double)r->store->limit, needed = (double)r->all_content;

	if (r->apply && r->content)
		needed *= max(1.0, (limit + (double)BLOCK) / (double)r->content);
	return lath_refuse(-ENOSPC,
			   "%s: its %llu entries need about %.1f MiB, the limit is %.1f MiB",
			   r->file->label, (unsigned long long)r->all_entries, needed / mib,
			   limit / mib);
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
			return lath_file_failed(r->file, "", -errno);
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
	return error == -ENOSPC && r->store->limit ? too_large(r)
						   : lath_file_failed(r->file, "", error);
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
	if (!grow(&r->buf, &r->room, block->bytes))
		return lath_file_failed(r->file, "", -ENOMEM);
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
		return lath_refuse(-EBADMSG, "%s: not a snapshot, or damaged at byte 0",
				   r->file->label);
	if (header.version != SNAPSHOT_VERSION)
		return lath_refuse(-EINVAL, "%s: a snapshot of version %u", r->file->label,
				   header.version);
	if (header.keys != (u32)r->store->keys)
		return lath_refuse(-EINVAL, "%s: a snapshot of %s", r->file->label,
				   r->store->keys == LATH_STORE_BYTES ? "numbers" : "byte keys");
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
			ret = lath_file_failed(r->file, "", -EINTR);
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
		return lath_file_failed(r->file, "", -ENOMEM);
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
	/* What does not fit is refused; nothing is evicted. One block more than the limit: a store
	 * that was saved when it was full up to the last slot needs that, because growing buckets
	 * leave free slots of other sizes behind. */
	lath_arena_allowance = BLOCK;
	ret = read_file(r, progress, arg);
	lath_arena_allowance = 0;
	if (ret) /* no part of the file remains */
		INSIDE(r->store, true, (lath_keys_clear(r->store->inside), 0));
	return ret;
}

int lath_snapshot_load(struct lath_store *store, struct store_file *file,
		       lath_store_progress_fn progress, void *arg)
{
	struct reader *r = memory_refused() ? NULL : calloc(1, sizeof(*r));
	struct stat stat;
	int ret;

	if (!r)
		return lath_refuse(-ENOMEM, "%s: %s", file->label, strerror(ENOMEM));
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
	if (!ret && store->keys == LATH_STORE_NUMBERS && store->inside == store)
		lath_index_prepare(&store->numbers);
	free(r->buf);
	free(r->key);
	free(r);
	return ret;
}
