/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/cursor.h - a position in an index: iteration in both directions, and the locked leaf.
 *
 * Iteration. A cursor is at an item, or nowhere. It may be moved while other threads write:
 * each step returns the neighbour as it is at that moment. The step needs no search if no thread
 * has changed the leaf; otherwise it searches by key. A cursor is not in a read-side critical
 * section between calls, and the item it returns is a copy. In slot mode the caller protects the
 * object that the copy points to by its own section.
 *
 *     struct lath_cursor cursor;
 *     struct lath_item item;
 *
 *     lath_cursor_init(&cursor, index);
 *     for (int ok = lath_cursor_seek(&cursor, 100, &item); ok;
 *          ok = lath_cursor_next(&cursor, &item))
 *             use(&item);
 *
 * The locked leaf. File systems need to search and insert in two steps: lock the leaf that covers a
 * key, look at the neighbours, decide, insert or erase, unlock. Until then no other thread changes
 * the keys [low, last] that lath_cursor_lock reports. Between lock and unlock the thread must make
 * no other call on the same index: it would deadlock. In the kernel preemption is disabled
 * in the meantime.
 *
 *     ret = lath_cursor_lock(&cursor, key, NULL, NULL);
 *     if (!ret) {
 *             if (lath_cursor_locked_floor(&cursor, key, &item) && may_not(&item))
 *                     lath_cursor_unlock(&cursor);
 *             else
 *                     ret = lath_cursor_insert(&cursor, &new_item, &conflict);
 *     }
 *
 * A cursor belongs to one thread. It holds no resources while its leaf is not locked. No call may
 * be made in a signal handler, and a thread must not be cancelled while its cursor has a leaf
 * locked.
 */
#ifndef LATHWORK_CURSOR_H
#define LATHWORK_CURSOR_H

#include "lathwork/index.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lath_cursor {
	struct lath_index *index;
	void *leaf;
	uint64_t lockword;
	uint64_t key; /* of the item the cursor is at */
	int entry;    /* in the leaf; -1: the cursor stands nowhere */
	int locked;
	struct lath_preload preload;
};

LATH_API void lath_cursor_init(struct lath_cursor *cursor, struct lath_index *index);

/* Move to the first item with key >= `key` / the last one with key <= `key` / the item after /
 * before the one the cursor is at. Return 1 (*item is set) or 0: there is none, and the cursor
 * stays. If it stands nowhere, next moves to the first item and prev to the last one. */
LATH_API int lath_cursor_seek(struct lath_cursor *cursor, uint64_t key, struct lath_item *item);
LATH_API int lath_cursor_seek_floor(struct lath_cursor *cursor, uint64_t key,
				    struct lath_item *item);
LATH_API int lath_cursor_next(struct lath_cursor *cursor, struct lath_item *item);
LATH_API int lath_cursor_prev(struct lath_cursor *cursor, struct lath_item *item);

/* Locks the leaf that covers key; *low, *last (may be NULL): the keys it covers. Allocates before
 * what an insert may need. 0 | -ENOMEM (not locked) | -EINVAL: this cursor holds a leaf. On success
 * the thread is in a read-side critical section until the call that unlocks. */
LATH_API int lath_cursor_lock(struct lath_cursor *cursor, uint64_t key, uint64_t *low,
			      uint64_t *last);
/* Find the last item with key <= `key` in the locked leaf. Returns 1, or 0: there is none in this
 * leaf, or no leaf is locked. */
LATH_API int lath_cursor_locked_floor(const struct lath_cursor *cursor, uint64_t key,
				      struct lath_item *item);
/* Inserts an item that begins in the locked leaf; unlocks in any case. 0 | -EEXIST (*conflict) |
 * -EINVAL: no leaf is locked, or not a range that begins in this leaf | -EAGAIN: the leaf was full
 * and now has room; lock and decide again */
LATH_API int lath_cursor_insert(struct lath_cursor *cursor, const struct lath_item *item,
				struct lath_item *conflict);
/* Erases the item of the locked leaf that starts at key; unlocks in any case. 0 (*old) | -ENOENT |
 * -EINVAL: no leaf is locked */
LATH_API int lath_cursor_erase(struct lath_cursor *cursor, uint64_t key, struct lath_item *old);
/* Unlocks the leaf, if one is locked. */
LATH_API void lath_cursor_unlock(struct lath_cursor *cursor);

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_CURSOR_H */
