/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * file.c - file:PATH, a store in this process that is read from a snapshot and written to it; save
 * and load of any store.
 */
#include "store/memory/reason.h"
#include "store/place/file.h"
#include "store/place/place.h"

#include <stdlib.h>
#include <unistd.h>

/* Writes the snapshot. The caller holds the file's lock. 0 | -errno with a reason. *placed: whether
 * the new file is in place, which it may be after an error too */
static int save_to(struct lath_store *store, struct store_file *file, bool *placed,
		   lath_store_progress_fn progress, void *arg)
{
	struct replacement new;
	int ret;

	LATH_ASSERT(file->lock.fd >= 0);
	*placed = false;
	ret = lath_replace_begin(file, &new);
	if (ret)
		return ret;
	ret = lath_snapshot_write(store, new.fd, progress, arg);
	if (!ret) {
		ret = lath_replace_commit(file, &new);
		*placed = new.placed;
		return ret;
	}
	lath_replace_abort(file, &new);
	return lath_file_failed(file, "", ret);
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
		return lath_refuse(-EBUSY, "%s: another thread is writing it", store->file->label);
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
		return lath_refuse(-EROFS, "the store was opened to be read only");
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
	if (!store->inside)
		return lath_refuse(-EOPNOTSUPP, "%s: cannot be saved", store->place->scheme);
	ret = lath_file_resolve(&file, path);
	if (!ret && store->file && lath_file_same(&file.dir.id, &store->file->dir.id) &&
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

int lath_store_load(struct lath_store *store, const char *path, lath_store_progress_fn progress,
		    void *arg)
{
	LATH_NO_CANCEL;
	struct store_file file;
	int ret;

	lath_store_reason_begin();
	if (store->read_only)
		return lath_refuse(-EROFS, "the store was opened to be read only");
	if (!store->inside)
		return lath_refuse(-EOPNOTSUPP, "%s: a snapshot cannot be loaded into it",
				   store->place->scheme);
	ret = (int)INSIDE(store, false, !lath_keys_none(store->inside));
	if (ret)
		return lath_refuse(ret > 0 ? -ENOTEMPTY : ret, "%s: %s", path,
				   ret > 0 ? "the store is not empty" : strerror(-ret));
	ret = lath_file_resolve(&file, path);
	if (!ret)
		ret = lath_snapshot_load(store, &file, progress, arg);
	lath_file_forget(&file);
	return ret;
}

/* ---- the place ---- */

/* Unlocks the file of a store and forgets it. */
static void leave_file(struct store_file *file, bool writes)
{
	if (writes)
		lath_file_leave_family(file);
	lath_file_forget(file);
	free(file);
}

/* Reads the file into an empty store, and locks it if the handle may write. 0 | -errno with a
 * reason */
static int read_file(struct lath_store *store, const char *path,
		     const struct lath_store_options *options)
{
	struct store_file *file = memory_refused() ? NULL : malloc(sizeof(*file));
	bool writes = !(options->flags & LATH_STORE_READ_ONLY);
	struct stat stat;
	int ret;

	if (!file)
		return lath_refuse(-ENOMEM, "%s: %s", path, strerror(ENOMEM));
	ret = lath_file_resolve(file, path);
	if (!ret && writes) /* locked before it is read: what is written later must be based on what
			       was read */
		ret = lath_file_lock_family(file);
	/* for a writer it need not exist */
	if (!ret && (!writes || options->flags & LATH_STORE_EXISTING ||
		     lath_file_look(file, &stat) != -ENOENT))
		ret = lath_snapshot_load(store, file, NULL, NULL);
	if (!ret && writes)
		store->file = file;
	else /* the open failed, or this is a reader: it writes nothing back, keeps no descriptor */
		leave_file(file, writes);
	return ret;
}

static int file_open(struct lath_store *store, const char *path,
		     const struct lath_store_options *options)
{
	int ret = lath_here_open(store, path, options);

	if (ret)
		return ret;
	ret = read_file(store, path, options);
	if (ret)
		lath_here_close(store);
	return ret;
}

int lath_store_leave(struct lath_store *store)
{
	LATH_NO_CANCEL;
	int ret = 0;

	lath_store_reason_begin();
	if (store->inside != store)
		return 0;
	/* if the file cannot be written, it is left all the same; the error tells */
	if (!store->read_only)
		ret = lath_store_sync(store);
	/* the lock behind the save: until here no other process may write the file */
	if (store->file)
		leave_file(store->file, true);
	store->file = NULL;
	lath_arena_flush(&store->arena); /* so that close() has nothing to wait for one day */
	return ret;
}

const struct store_place lath_place_file = {
	.scheme = "file",
	.open = file_open,
	.close = lath_here_close,
};
