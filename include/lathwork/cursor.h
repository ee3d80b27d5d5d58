/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/cursor.h - a place in a range index: iteration both ways, and the locked leaf.
 *
 * Iteration. A cursor stands on an item (or nowhere). Moving it is safe while others write: every
 * step finds the neighbour as it is at that moment, in the same leaf without searching as long as
 * nobody changed that leaf, else by key. No reader is held between calls; the item a cursor shows is
 * a copy. In slot mode what the copy points to is the caller's to protect (hold a reader around).
 *
 *     struct lath_cursor cursor;
 *     struct lath_item item;
 *
 *     lath_cursor_init(&cursor, list);
 *     for (int ok = lath_cursor_seek(&cursor, 100, &item); ok; ok = lath_cursor_next(&cursor, &item))
 *             use(&item);
 *
 * The locked leaf (search and insert apart, as file systems need it): lock the leaf that covers a key,
 * look at what is next to it, decide, insert or erase, unlock. Nobody else changes the stretch
 * [low, last] that lath_cursor_lock reports until then. Other calls on the same list by the same thread
 * would wait for ever: none between lock and unlock. In the kernel preemption is off meanwhile.
 *
 *     ret = lath_cursor_lock(&cursor, key, NULL, NULL);
 *     if (!ret) {
 *             if (lath_cursor_locked_floor(&cursor, key, &item) && may_not(&item))
 *                     lath_cursor_unlock(&cursor);
 *             else
 *                     ret = lath_cursor_insert(&cursor, &new_item, &conflict);
 *     }
 *
 * A cursor belongs to one thread. It holds no resources while it is not locked.
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
	uint64_t key; /* of the item it stands on */
	int entry;    /* of the leaf, -1 if it stands nowhere */
	int locked;
	struct lath_preload preload;
};

LATH_API void lath_cursor_init(struct lath_cursor *cursor, struct lath_index *list);

/*
 * Move to the first item with key >= `key` / the last with key <= `key` / the one after / before the item
 * it stands on. 1: *item filled | 0: there is none; the cursor stays where it was.
 * A cursor that stands nowhere goes to the first item on next, to the last on prev.
 */
LATH_API int lath_cursor_seek(struct lath_cursor *cursor, uint64_t key, struct lath_item *item);
LATH_API int lath_cursor_seek_floor(struct lath_cursor *cursor, uint64_t key, struct lath_item *item);
LATH_API int lath_cursor_next(struct lath_cursor *cursor, struct lath_item *item);
LATH_API int lath_cursor_prev(struct lath_cursor *cursor, struct lath_item *item);

/*
 * Lock the leaf that covers key; *low, *last (may be NULL): the stretch it covers. Memory for what an
 * insert may need is brought along first: 0 | -ENOMEM. Enters a reader, which unlock leaves.
 */
LATH_API int lath_cursor_lock(struct lath_cursor *cursor, uint64_t key, uint64_t *low, uint64_t *last);
/* In the locked leaf: the last item with key <= `key` / the first with key >= `key`. 1 | 0: not in this leaf */
LATH_API int lath_cursor_locked_floor(const struct lath_cursor *cursor, uint64_t key, struct lath_item *item);
LATH_API int lath_cursor_locked_ceiling(const struct lath_cursor *cursor, uint64_t key,
					struct lath_item *item);
/* Insert an item that begins in the locked leaf, and unlock in any case.
 * 0 | -EEXIST (*conflict) | -EINVAL | -EAGAIN: a leaf had to be made larger first; lock and look again. */
LATH_API int lath_cursor_insert(struct lath_cursor *cursor, const struct lath_item *item,
				struct lath_item *conflict);
/* Erase the item of the locked leaf that starts at key, and unlock in any case. 0 (*old) | -ENOENT */
LATH_API int lath_cursor_erase(struct lath_cursor *cursor, uint64_t key, struct lath_item *old);
LATH_API void lath_cursor_unlock(struct lath_cursor *cursor);

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_CURSOR_H */
