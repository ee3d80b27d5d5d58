/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * grow.c - room for a full leaf.
 *
 * A full leaf first gives entries to its right neighbours (as in the B*-tree, Knuth vol. 3, 6.2.4):
 * only when GROUP leaves are full together, one more leaf joins them, so that random inserts leave
 * leaves about 86 % full instead of 69 %. Entries only ever move to the right: then the low fence of
 * a leaf only falls, and no walk can land too far right. Appending at the end leaves full leaves.
 *
 * Separators are posted afterwards, one level at a time, with no lock held below. Until then, and
 * for ever if memory for an inner node is missing, the new node is reached from its left neighbour.
 */
#include "skiplist/list.h"

/* Leaves that fill up together before one is added. More: fuller leaves, dearer splits. */
#define GROUP 3
/* Free entries each leaf must gain for a share to be worth it. */
#define SHARE_ROOM (LEAF_CAP / 16 > 2 ? LEAF_CAP / 16 : 2)

void reserve_release(struct skiplist *list, struct reserve *reserve)
{
	if (reserve->leaf)
		node_free(list, POOL_LEAF, reserve->leaf);
	reserve->leaf = NULL;
}

/* ---- separators ---- */

/* The level under `level` has more than one node and nothing above it: put a root there. */
static bool add_root(struct skiplist *list, unsigned int level)
{
	struct node *node = node_alloc(list, POOL_INNER);
	struct node *root;

	if (!node)
		return false;
	lath_spin_lock(&list->root_lock);
	root = READ_ONCE(list->root);
	if (node_level(root) < level) {
		inner_init(node_inner(node), level, 0, KEY_MAX, NULL);
		inner_insert(node_inner(node), 0, 0, root);
		node_open(node);
		smp_store_release(&list->root, node); /* pairs with the load in walk.c descend */
		node = NULL;
	}
	lath_spin_unlock(&list->root_lock);
	if (node)
		node_free(list, POOL_INNER, node);
	return true;
}

/* Split a full, locked inner node in favour of key and insert (low, child). Unlocks it. */
static void inner_split(struct inner *inner, struct inner *right, u64 low, struct node *child)
{
	unsigned int n = inner->count, at = inner_slot(inner, low);
	/* appends leave full nodes behind */
	unsigned int moved = !inner->node.right && at == n - 1 ? 1 : n / 2;
	struct inner *target;

	inner_init(right, inner->level, 0, inner->node.last, inner->node.right);
	inner_move_up(inner, right, moved);
	WRITE_ONCE(right->node.low, right->sep[0]);
	WRITE_ONCE(inner->node.last, right->sep[0] - 1);
	WRITE_ONCE(inner->node.right, &right->node);
	target = low >= right->node.low ? right : inner;
	inner_insert(target, inner_slot(target, low) + 1, low, child);
	node_open(&right->node);
	lath_delay("inner split, separator not yet posted");
	node_unlock(&inner->node);
}

/*
 * Let the level above know where node begins: lower its separator if it is there, add it if it is
 * `fresh`. A separator may stay too high (the walk then moves right), never become too low.
 */
static void post(struct skiplist *list, struct node *node, unsigned int level, bool fresh)
{
	struct node *spare = NULL;

	for (;;) {
		u64 low = READ_ONCE(node->low);
		struct node *up = lock_level(list, low, level);
		struct inner *inner;
		unsigned int i;
		int j;

		if (!up) {
			if (!fresh || !add_root(list, level))
				break;
			continue;
		}
		inner = node_inner(up);
		low = READ_ONCE(node->low);
		if (low < inner->node.low) { /* it fell meanwhile, past this node */
			node_unlock_clean(up);
			continue;
		}
		i = inner_slot(inner, low);
		j = inner_find(inner, i, node);
		if (j > 0 && inner->sep[j - 1] < low && inner->sep[j] > low) {
			WRITE_ONCE(inner->sep[j], low);
			node_unlock(up);
			break;
		}
		if (j >= 0 || !fresh || inner->sep[i] == low) {
			node_unlock_clean(up);
			break;
		}
		if (inner->count < INNER_CAP) {
			inner_insert(inner, i + 1, low, node);
			node_unlock(up);
			break;
		}
		if (spare) {
			inner_split(inner, node_inner(spare), low, node);
			node = spare;
			spare = NULL;
			level++;
			continue;
		}
		node_unlock_clean(up);
		spare = node_alloc(list, POOL_INNER);
		if (!spare)
			break;
	}
	if (spare)
		node_free(list, POOL_INNER, spare);
}

void post_low(struct skiplist *list, struct node *node)
{
	post(list, node, 1, false);
}

/* ---- leaves ---- */

/* Entries [0, n) of the group's counts, evened out, moving to the right only. */
static void even_out(struct leaf **leaf, unsigned int n, bool ranges)
{
	unsigned int total = 0, i, share, rest, above, want;
	bool moved;

	for (i = 0; i < n; i++) {
		leaf_compact(leaf[i], ranges);
		total += leaf[i]->used;
	}
	share = total / n;
	rest = total % n;
	do {
		moved = false;
		above = 0;
		for (i = n - 1; i > 0; i--) {
			unsigned int room = LEAF_CAP - leaf[i]->used;
			unsigned int m = min(room, (unsigned int)leaf[i - 1]->used);

			above += leaf[i]->used;
			want = share * (n - i) + min(rest, n - i); /* the odd ones go right */
			if (above >= want)
				continue;
			m = min(m, want - above);
			if (!m)
				continue;
			leaf_move_up(leaf[i - 1], leaf[i], m, ranges);
			WRITE_ONCE(leaf[i]->node.low, leaf_key(leaf[i], 0));
			WRITE_ONCE(leaf[i - 1]->node.last, leaf_key(leaf[i], 0) - 1);
			above += m;
			moved = true;
		}
	} while (moved);
	for (i = 0; i < n; i++)
		leaf_rescale(leaf[i]);
}

/* Link the fresh leaf behind the last of the group. */
static void link_leaf(struct leaf *left, struct leaf *fresh, u64 low)
{
	leaf_init(fresh, low, left->node.last, left->node.right, left->shift);
	WRITE_ONCE(left->node.right, &fresh->node);
}

/* The new key goes behind everything: begin a new leaf there and leave this one full. */
static void append_leaf(struct skiplist *list, struct leaf *leaf, struct leaf *fresh, u64 key)
{
	link_leaf(leaf, fresh, key);
	WRITE_ONCE(leaf->node.last, key - 1);
	node_open(&fresh->node);
	lath_delay("leaf appended, separator not yet posted");
	node_unlock(&leaf->node);
	lath_fetch_add(&list->splits, 1);
	post(list, &fresh->node, 1, true);
}

static bool appends(const struct leaf *leaf, u64 key, bool ranges)
{
	return !leaf->node.right && leaf_end(leaf, fls64(leaf->live) - 1, ranges) < key;
}

int leaf_grow(struct skiplist *list, struct leaf *leaf, u64 key, struct reserve *reserve)
{
	struct leaf *group[GROUP + 1] = { leaf };
	unsigned int n = 1, total = leaf_count(leaf), i;
	struct leaf *fresh = NULL;
	bool append = appends(leaf, key, list->ranges);

	while (!append && n < GROUP && total + n * SHARE_ROOM > n * LEAF_CAP) {
		struct node *right = lock_right(&group[n - 1]->node);

		if (!right)
			break;
		if (right->word & NODE_VOID) {
			node_unlock_clean(right);
			break;
		}
		group[n] = node_leaf(right);
		total += leaf_count(group[n++]);
	}
	if (append || total + n * SHARE_ROOM > n * LEAF_CAP) {
		if (!reserve->leaf) {
			unlock_clean_through(leaf, group[n - 1]);
			if (reserve->fixed)
				return -EAGAIN;
			reserve->leaf = node_alloc(list, POOL_LEAF);
			return reserve->leaf ? 0 : -ENOMEM;
		}
		fresh = node_leaf(reserve->leaf);
		reserve->leaf = NULL;
	}
	if (append) {
		append_leaf(list, leaf, fresh, key);
		return 0;
	}
	if (fresh) {
		link_leaf(group[n - 1], fresh, group[n - 1]->node.last);
		group[n++] = fresh;
	}
	even_out(group, n, list->ranges);
	if (fresh)
		node_open(&fresh->node);
	lath_delay("leaves evened out, separators not yet posted");
	for (i = fresh ? n - 1 : n; i-- > 0;)
		node_unlock(&group[i]->node);
	lath_fetch_add(fresh ? &list->splits : &list->shares, 1);
	for (i = 1; i < n; i++)
		post(list, &group[i]->node, 1, group[i] == fresh);
	return 0;
}
