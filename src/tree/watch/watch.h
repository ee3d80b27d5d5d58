/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * watch.h - a watcher is told of every change of which keys of a tree are free.
 *
 * What keeps something about a tree with the help of public calls, as the index of free runs by
 * length does (set/hole/lengths.c), stands above the tree and is not known to it: it registers a
 * struct of functions. A tree has one watcher at most, from the moment it is registered until the
 * tree ends. Calls that were running at that moment may not tell it of their change.
 *
 * No function is called with a lock held, but in `end` and `check`, which exclude other calls.
 */
#ifndef LATH_INDEX_WATCH_H
#define LATH_INDEX_WATCH_H

#include "tree/tree.h"

/* Most items of one `erased`. */
#define WATCH_ERASED 16

struct watch_calls {
	/* [key, key + size) was free and is not any more. */
	void (*inserted)(struct tree *tree, u64 key, u64 size);
	/* The keys of these adjacent items, WATCH_ERASED at most, are free now. */
	void (*erased)(struct tree *tree, const struct lath_item *items, unsigned int n);
	/* A range will be stored over whatever is in [key, end]. What this returns is `first` of
	 * `stored`, which follows when it has been done (`done`), or failed; KEY_MAX: not then. */
	u64 (*storing)(struct tree *tree, u64 key, u64 end);
	void (*stored)(struct tree *tree, u64 first, bool done);
	/* The tree was filled without telling of each item. */
	void (*filled)(struct tree *tree);
	/* Returns the memory that the watcher has obtained, in bytes. */
	u64 (*bytes)(struct tree *tree);
	/* Returns whether what the watcher keeps is true; if not, *wrong are keys of which it is
	 * not. */
	bool (*check)(struct tree *tree, struct lath_item *wrong);
	/* The tree ends: free everything. */
	void (*end)(struct tree *tree);
};

struct watcher {
	const struct watch_calls *calls;
};

/* Returns the tree's watcher, or NULL. */
static inline struct watcher *watcher_of(struct tree *tree)
{
	return smp_load_acquire(&tree->watcher); /* pairs with watcher_register */
}

/* Register the watcher if the tree has none. Returns the tree's watcher: this one, or the one that
 * was there. Takes tree->root_lock, in a call. */
static inline struct watcher *watcher_register(struct tree *tree, struct watcher *watcher)
{
	struct watcher *there;

	LATH_ASSERT(watcher && watcher->calls);
	lath_spin_lock(&tree->root_lock);
	there = tree->watcher;
	if (!there)
		smp_store_release(&tree->watcher, watcher); /* pairs with watcher_of */
	lath_spin_unlock(&tree->root_lock);
	return there ? there : watcher;
}

static inline void watch_inserted(struct tree *tree, u64 key, u64 size)
{
	struct watcher *watcher = watcher_of(tree);

	if (unlikely(watcher))
		watcher->calls->inserted(tree, key, size);
}

static inline void watch_erased(struct tree *tree, const struct lath_item *items, unsigned int n)
{
	struct watcher *watcher = watcher_of(tree);

	LATH_ASSERT(n && n <= WATCH_ERASED);
	if (unlikely(watcher))
		watcher->calls->erased(tree, items, n);
}

static inline u64 watch_storing(struct tree *tree, u64 key, u64 end)
{
	struct watcher *watcher = watcher_of(tree);

	return unlikely(watcher) ? watcher->calls->storing(tree, key, end) : KEY_MAX;
}

/* `first`: what watch_storing() returned. */
static inline void watch_stored(struct tree *tree, u64 first, bool done)
{
	LATH_ASSERT(first == KEY_MAX ||
		    READ_ONCE(tree->watcher)); /* it stays until the tree ends */
	if (unlikely(first != KEY_MAX))
		watcher_of(tree)->calls->stored(tree, first, done);
}

/* The empty tree was filled, by load.c. */
static inline void watch_filled(struct tree *tree)
{
	struct watcher *watcher = watcher_of(tree);

	if (unlikely(watcher))
		watcher->calls->filled(tree);
}

/* Returns the memory that the watcher has obtained, in bytes. */
static inline u64 watch_bytes(struct tree *tree)
{
	struct watcher *watcher = watcher_of(tree);

	return watcher ? watcher->calls->bytes(tree) : 0;
}

#endif /* LATH_INDEX_WATCH_H */
