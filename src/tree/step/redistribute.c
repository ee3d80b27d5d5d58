/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * redistribute.c - room for a full leaf.
 *
 * A full leaf first gives entries to its right siblings, as in the B*-tree (Knuth vol. 3, 6.2.4).
 * Only when SPLIT_GROUP siblings are full together, they become one more. So random inserts leave
 * leaves about 87 % full instead of 69 %. With LATH_HOLES each full leaf becomes two; a thread that
 * had to wait long for a leaf splits it alone too. Entries only ever move to the right: then the
 * low fence of a leaf only falls, and no descent arrives too far right. Streams of ascending keys,
 * at the end or in front of other keys, leave full leaves.
 *
 * The level above is told afterwards, with no lock held below (post.c).
 */
#include "tree/step/step.h"
#include "tree/watch/change.h"
#include "tree/step/leaf.h"
#include "tree/way/locate.h"

/* So many inserts in a row, each right behind the one before, are a stream; one in 10^14 random
 * leaves looks so. */
#define STREAM (NODE_CAP / 8 > 2 ? NODE_CAP / 8 : 2)
/* Free entries that each leaf must gain for a redistribution without a new leaf to be worth it. */
#define SHARE_ROOM (NODE_CAP / 16 > 2 ? NODE_CAP / 16 : 2)

/* How the leaf gets room. */
enum room {
	ROOM_SHARE,  /* even out with the right siblings, and a new leaf if they are full */
	ROOM_STREAM, /* ascending keys in front of others: the others move to a new leaf */
	ROOM_APPEND, /* ascending keys behind all others: begin a new leaf, leave this one full */
};

/* Adjacent locked leaves. */
struct group {
	struct node *leaf[SPLIT_GROUP + 1];
	unsigned int n;
	unsigned int items;
};

static enum room choose_room(struct node *leaf, u64 key)
{
	bool stream = leaf->run >= STREAM && node_rank(leaf, key) == leaf->at + 1u;
	bool behind = node_end(leaf, __fls64(leaf->live)) < key;

	/* the last leaf of all takes ascending keys more often than not */
	if (behind && (stream || !leaf->right))
		return ROOM_APPEND;
	return stream ? ROOM_STREAM : ROOM_SHARE;
}

/* Leaves that may be in a group before one is added. Where threads crowd, the leaf is split alone:
 * the locks of its siblings would be waited for, and their lines fetched. */
static unsigned int group_limit(const struct tree *tree)
{
	return lath_crowded() ? 1 : tree->group;
}

static bool group_has_room(const struct group *group)
{
	/* with less room the next insert into one of them would move everything again */
	return group->items + group->n * SHARE_ROOM <= group->n * NODE_CAP;
}

/* Lock right siblings until the group has room or is as large as it may be. */
static void lock_group(struct tree *tree, struct group *group, unsigned int limit)
{
	LATH_ASSERT(group->n && limit <= SPLIT_GROUP);
	while (group->n < limit && !group_has_room(group)) {
		struct node *last = group->leaf[group->n - 1], *right;

		while (lath_absorb_right(tree, last))
			;
		right = READ_ONCE(last->right);
		if (!right)
			return;
		node_prefetch(right); /* all of it will be moved */
		node_lock(right);
		/* with a downlink: it could not be absorbed, and covers no keys to give entries to
		 */
		if (node_half_dead(right)) {
			node_unlock_clean(right);
			return;
		}
		group->leaf[group->n++] = right;
		group->items += node_count(right);
	}
}

/* Take the new leaf out of the reserve. If there is none, unlock the group and get one for the next
 * try: *ret as lath_leaf_make_room. */
static struct node *take_leaf(struct tree *tree, struct group *group, struct reserve *reserve,
			      int *ret)
{
	struct node *fresh = reserve->leaf;

	LATH_ASSERT(node_is_locked(group->leaf[0]));
	*ret = 0;
	/* the second try: an earlier one unlocked all, got this node, and began again */
	if (fresh) {
		reserve->leaf = NULL;
		return fresh;
	}
	/* no allocation with locks held: it may wait */
	lath_unlock_clean(group->leaf[0], group->leaf[group->n - 1]);
	if (reserve->fixed) {
		*ret = -EAGAIN;
		return NULL;
	}
	reserve->leaf = lath_node_alloc(tree, POOL_LEAF);
	if (!reserve->leaf)
		*ret = -ENOMEM;
	return NULL;
}

/* One round from right to left: give each leaf what it and those right of it lack. Returns true if
 * anything moved; then another round may find more. */
static bool even_out_round(struct group *group, unsigned int side)
{
	unsigned int share = group->items / group->n, rest = group->items % group->n, right = 0, i;
	bool moved = false;

	for (i = group->n - 1; i > 0; i--) {
		struct node *to = group->leaf[i], *from = group->leaf[i - 1];
		unsigned int want = share * (group->n - i) + min(rest, group->n - i),
			     m; /* odd ones go right */

		right += to->used;
		if (right >= want)
			continue;
		m = min(NODE_CAP - (unsigned int)to->used, (unsigned int)from->used);
		m = min(m, want - right);
		if (!m)
			continue;
		LATH_ASSERT(from->right == to);
		give_right(from, to, m, side);
		right += m;
		moved = true;
	}
	return moved;
}

/* Even out the entries of the group, moving them to the right only. */
static void even_out(const struct tree *tree, struct group *group)
{
	unsigned int side = tree->leaf_side, i;

	group->items = 0;
	for (i = 0; i < group->n; i++) {
		lath_node_compact(group->leaf[i], side);
		group->items += group->leaf[i]->used;
	}
	/* a leaf can give no more than it has: a round may leave some for the next one */
	while (even_out_round(group, side))
		;
	for (i = 0; i < group->n; i++)
		lath_node_reindex(group->leaf[i]);
}

/* A stream goes on in front of other entries, as where each thread fills its own region: these
 * move to the new leaf, and what comes finds room and is appended. */
static void split_stream(struct node *leaf, struct node *fresh, unsigned int rank,
			 unsigned int side)
{
	LATH_ASSERT(rank < leaf->used && !fresh->used);
	give_right(leaf, fresh, leaf->used - rank, side);
	lath_node_reindex(leaf);
	lath_node_reindex(fresh);
}

/* Link a new leaf that begins at `low` right of a locked one. */
static void link_leaf(struct node *left, struct node *fresh, u64 low)
{
	/* a leaf of one key covers none until the keys are evened out */
	LATH_ASSERT(node_is_locked(left) && low >= left->low && low <= left->last);
	lath_node_init(fresh, left->level, low, left->last, left->right, left->shift);
	link_right(left, fresh);
	change_keys(fresh, left);
}

/* Tell what follows changes (change.h) of the leaves, let the new one be found, and unlock from
 * right to left. */
static void publish_group(struct tree *tree, struct group *group, struct node *fresh)
{
	unsigned int i;

	for (i = 0; i < group->n; i++)
		change_node(tree, group->leaf[i]);
	/* it is found only by the link of its left sibling, which is still locked */
	if (fresh)
		node_open(fresh);
	for (i = group->n; i-- > 0;)
		if (group->leaf[i] != fresh)
			node_unlock(group->leaf[i]);
	lath_delay("leaves changed, separators not yet posted");
	if (fresh) {
		lath_fetch_add(&counts_of(tree)->splits, 1);
		lath_probe(split, tree, READ_ONCE(fresh->low));
		lath_hint_consider(tree);
	}
}

/* The new key goes behind all of the leaf: begin a new leaf there, and leave this one full. */
static void append_leaf(struct tree *tree, struct group *group, struct node *fresh, u64 key,
			struct reserve *reserve)
{
	struct node *leaf = group->leaf[0];
	u64 first = leaf->low, last = leaf->last;

	LATH_ASSERT(leaf->live && node_key(leaf, __fls64(leaf->live)) < key);
	change_begin(tree);
	link_leaf(leaf, fresh, key);
	/* no entry moves: the keys behind the last entry are given to the new leaf */
	WRITE_ONCE(leaf->last, key - 1);
	group->leaf[group->n++] = fresh;
	publish_group(tree, group, fresh);
	lath_post(tree, fresh, reserve);
	change_levels(tree, first, last, 1, 1, false);
	change_end(tree);
}

/* Redistribute the entries of the group, with `fresh` as one more leaf unless it is NULL. */
static void share_leaves(struct tree *tree, struct group *group, struct node *fresh, enum room room,
			 u64 key, struct reserve *reserve)
{
	struct node *leaf = group->leaf[0], *end = group->leaf[group->n - 1];
	unsigned int rank = node_rank(leaf, key), i;
	u64 first = leaf->low, last = end->last;

	change_begin(tree);
	if (fresh) {
		link_leaf(end, fresh, last);
		group->leaf[group->n++] = fresh;
	}
	if (fresh && room == ROOM_STREAM && rank < leaf->used && node_full(leaf))
		split_stream(leaf, fresh, rank, tree->leaf_side);
	else
		even_out(tree, group);
	publish_group(tree, group, fresh);
	for (i = READ_ONCE(leaf->no_downlink) ? 0 : 1; i < group->n; i++)
		lath_post(tree, group->leaf[i], reserve);
	lath_post_right(tree, group->leaf[group->n - 1], reserve);
	change_levels(tree, first, last, 1, 1, false);
	change_end(tree);
}

void lath_first_leaf_grow(struct tree *tree, struct node *leaf, struct node *fresh)
{
	LATH_ASSERT(node_is_locked(leaf) && leaf->cap < NODE_CAP && READ_ONCE(tree->root) == leaf);
	lath_node_copy(fresh, leaf, offsetof(struct node, pair) + leaf->cap * sizeof(struct pair));
	WRITE_ONCE(fresh->cap, NODE_CAP);
	node_open(fresh);
	/* pairs with the load in descend; before the old one is dead */
	smp_store_release(&tree->root, fresh);
	node_kill(leaf);
	node_unlock(leaf);
	lath_node_leave(tree, POOL_LEAF);
}

int lath_leaf_make_room(struct tree *tree, struct node *first, struct node *leaf, u64 key,
			struct reserve *reserve)
{
	struct group group = { .leaf = { leaf }, .n = 1, .items = node_count(leaf) };
	struct node *fresh = NULL;
	enum room room;
	int ret;

	lath_unlock_clean_before(first, leaf);
	key = max(key, leaf->low);
	room = choose_room(leaf, key);
	LATH_ASSERT(node_is_locked(leaf) && key >= leaf->low && key <= leaf->last && leaf->live);
	if (unlikely(leaf->cap < NODE_CAP)) {
		fresh = take_leaf(tree, &group, reserve, &ret);
		if (fresh)
			lath_first_leaf_grow(tree, leaf, fresh);
		return ret;
	}
	/* streams give nothing to siblings: these would have to give it back for the next keys */
	if (room == ROOM_SHARE)
		lock_group(tree, &group, group_limit(tree));
	if (room == ROOM_APPEND || !group_has_room(&group)) {
		fresh = take_leaf(tree, &group, reserve, &ret);
		if (!fresh)
			return ret;
	}
	if (room == ROOM_APPEND)
		append_leaf(tree, &group, fresh, key, reserve);
	else
		share_leaves(tree, &group, fresh, room, key, reserve);
	if (fresh)
		lath_merge_thin(tree);
	return 0;
}
