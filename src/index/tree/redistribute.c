/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * grow.c - room for a full leaf.
 *
 * A full leaf first gives entries to its right neighbours (as in the B*-tree, Knuth vol. 3, 6.2.4):
 * only when SPLIT_GROUP leaves are full together, one more leaf joins them, so that random inserts leave
 * leaves about 87 % full instead of 69 %. Entries only ever move to the right: then the low fence of
 * a leaf only falls, and no walk can land too far right. Streams of ascending keys, at the end or in front of others,
 * leave full leaves.
 *
 * Separators are posted afterwards, one level at a time, with no lock held below. Until then the new
 * node is reached from its left neighbour. If memory for an inner node is missing, that lasts until a leaf
 * near it grows again.
 */
#include "index/holes/gap.h"
#include "index/hint/hint.h"

/* Leaves that fill up together before one is added. More: fuller leaves, dearer splits. */
#define SPLIT_GROUP 4
/* So many inserts in a row, each behind the one before, are a stream: one in 10^14 random leaves looks like one. */
#define STREAM (NODE_CAP / 8 > 2 ? NODE_CAP / 8 : 2)
/* Free entries each leaf must gain for a share to be worth it. */
#define SHARE_ROOM (NODE_CAP / 16 > 2 ? NODE_CAP / 16 : 2)

void reserve_release(struct tree *list, struct reserve *reserve)
{
	unsigned int i;

	if (reserve->leaf)
		node_free(list, POOL_LEAF, reserve->leaf);
	for (i = 0; i < ARRAY_SIZE(reserve->inner); i++)
		if (reserve->inner[i])
			node_free(list, POOL_INNER, reserve->inner[i]);
	reserve->leaf = reserve->inner[0] = reserve->inner[1] = NULL;
}

/* ---- separators ---- */

static void link_unposted(struct node *left, struct node *fresh)
{
	WRITE_ONCE(fresh->unposted, 1);
	WRITE_ONCE(left->right, fresh);
}

static void inner_insert(struct tree *list, struct node *inner, u64 low, struct node *child)
{
	node_insert(inner, node_rank(inner, low), low, 0, (u64)(uintptr_t)child, list->inner_side);
}

/* An inner node: a preloaded one, or a new one. No lock held. */
static struct node *take_inner(struct tree *list, struct reserve *reserve)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(reserve->inner); i++) {
		struct node *node = reserve->inner[i];

		if (node) {
			reserve->inner[i] = NULL;
			return node;
		}
	}
	return reserve->fixed ? NULL : node_alloc(list, POOL_INNER);
}

/* The level under `level` has more than one node and nothing above it: put a root there. */
static bool add_root(struct tree *list, unsigned int level, struct reserve *reserve)
{
	struct node *node = take_inner(list, reserve);
	struct node *root;

	if (!node)
		return false;
	lath_spin_lock(&list->root_lock);
	root = READ_ONCE(list->root);
	if (node_level(root) < level) {
		node_init(node, level, 0, KEY_MAX, NULL, 56);
		inner_insert(list, node, 0, root);
		gap_settle(list, node);
		node_open(node);
		smp_store_release(&list->root, node); /* pairs with the load in walk.c descend */
		node = NULL;
	}
	lath_spin_unlock(&list->root_lock);
	if (node)
		node_free(list, POOL_INNER, node);
	return true;
}

/* So that walks guess well where a key's entry is. */
static void inner_spread(const struct tree *list, struct node *inner)
{
	if (!list->holes) /* gaps would have to move too */
		node_spread(inner, 0);
	node_rescale(inner);
}

/* Split a full, locked inner node in favour of (low, child) and insert it. Unlocks. */
static void inner_split(struct tree *list, struct node *inner, struct node *right, u64 low,
			struct node *child)
{
	/* appends leave full nodes behind */
	bool append = !inner->right && node_key(inner, NODE_CAP - 1) < low;
	struct node *target;
	unsigned int shift = inner->shift;

	node_init(right, inner->level, 0, inner->last, inner->right, shift);
	node_move_up(inner, right, append ? 1 : NODE_CAP / 2, list->inner_side);
	WRITE_ONCE(right->low, node_key(right, 0));
	WRITE_ONCE(inner->last, right->low - 1);
	link_unposted(inner, right);
	if (append) /* what comes will lie as close as what is there */
		node_scale(right, right->low, shift);
	else
		inner_spread(list, right);
	inner_spread(list, inner);
	target = low >= right->low ? right : inner;
	inner_insert(list, target, low, child);
	gap_settle(list, inner);
	gap_settle(list, right);
	node_open(right);
	node_unlock(inner);
	lath_delay("inner split, separator not yet posted");
}

/* Where child stands at entry i or later, or -1. */
static int inner_find(const struct node *inner, int i, const struct node *child)
{
	int j = i;

	while (j >= 0 && node_child(inner, (unsigned int)j) != child)
		j = node_after(inner, j);
	return j;
}

/* True for one of all who want to post this node; it stays alive as long as nobody has. */
static bool take_posting(struct node *node)
{
	return lath_fetch_clear(&node->unposted);
}

/* The separator that stands for node in a locked parent leads to another, whose low fence has fallen past this
 * parent: let it lead to node. The other one, to be posted further left, or NULL: somebody else posted node. */
static struct node *adopt(struct tree *list, struct node *up, unsigned int i, struct node *node)
{
	struct node *other = node_child(up, i);

	if (!take_posting(node))
		return NULL;
	WRITE_ONCE(other->unposted, 1); /* alive, for it is posted and up is locked */
	WRITE_ONCE(up->pair[i].value, (u64)(uintptr_t)node);
	if (list->holes)
		node_forget_gap(up, i);
	return other;
}

/* The separator of node is the first one of the locked up's right neighbour, and node begins in up by now: let the
 * neighbour begin there too, or every walk to what is between ends too far left. Unlocks up if it did; the neighbour,
 * whose low fence has fallen, or NULL. */
static struct node *move_border(struct tree *list, struct node *up, const struct node *node, u64 low)
{
	struct node *right = lock_right(up);

	if (!right)
		return NULL;
	if (node_child(right, __ffs64(right->live)) != node || node_key(up, __fls64(up->live)) >= low) {
		node_unlock_clean(right);
		return NULL;
	}
	if (!(right->live & 1)) /* dead entries in front may have keys from low on */
		node_compact(right, list->inner_side);
	WRITE_ONCE(right->pair[0].key, low);
	WRITE_ONCE(right->head[0], node_head_of(right, low));
	WRITE_ONCE(right->low, low);
	WRITE_ONCE(up->last, low - 1);
	node_unlock(right);
	node_unlock(up);
	return right;
}

/*
 * Let the level above know where node begins: lower its separator if it is there, add it if it has none
 * yet and there is a reserve to draw on. A separator may stay too high (the walk then moves right), never
 * become too low. Inside a reader, so that no node met here is used again meanwhile.
 */
static void post(struct tree *list, struct node *node, unsigned int level, struct reserve *reserve)
{
	struct node *spare = NULL, *next;

	gap_begin(list);
	for (;;) {
		bool fresh = reserve && READ_ONCE(node->unposted);
		u64 low = READ_ONCE(node->low);
		struct node *up = lock_level(list, low, level);
		int i, j;

		if (!up) {
			if (!fresh || !add_root(list, level, reserve))
				break;
			continue;
		}
		low = READ_ONCE(node->low);
		if (low < up->low) { /* it fell meanwhile, past this node */
			node_unlock_clean(up);
			continue;
		}
		i = (int)inner_slot(up, low);
		j = inner_find(up, i, node); /* i >= 0: up covers low */
		if (j < 0 && fresh && node_key(up, (unsigned int)i) == low &&
		    READ_ONCE(node_child(up, (unsigned int)i)->low) < low) {
			struct node *other = adopt(list, up, (unsigned int)i, node);

			node_unlock(up);
			gap_sync_span(list, low, low, level, level);
			if (!other)
				break;
			node = other;
			continue;
		}
		/* the claims of holes would have to move too */
		if (!list->holes && j < 0 && !fresh && node_key(up, (unsigned int)i) != low) {
			next = move_border(list, up, node, low);
			if (next) {
				node = next;
				level++;
				continue;
			}
		}
		if (node_key(up, (unsigned int)i) == low || j == i || (j < 0 && !fresh)) {
			node_unlock_clean(up); /* known well enough */
			break;
		}
		if (j < 0 && node_full(up) && !spare) {
			node_unlock_clean(up);
			spare = take_inner(list, reserve);
			if (!spare)
				break;
			continue;
		}
		if (j >= 0) {
			node_erase(up, (unsigned int)j); /* to come back further left */
		} else if (!take_posting(node)) {
			node_unlock_clean(up);
			break;
		}
		if (node_full(up)) {
			u64 left = up->low;

			inner_split(list, up, spare, low, node);
			gap_sync_span(list, left, low, level, level + 1);
			node = spare;
			spare = NULL;
		} else {
			inner_insert(list, up, low, node);
			node_unlock(up);
			gap_sync_span(list, low ? low - 1 : 0, low, level, level);
			if (!reserve || !READ_ONCE(up->unposted))
				break;
			node = up;
		}
		level++;
	}
	gap_end(list);
	if (spare)
		node_free(list, POOL_INNER, spare);
}

void post_low(struct tree *list, struct node *node)
{
	post(list, node, 1, NULL); /* needs no memory */
}

/* Leaves to the right that found no memory for their separators earlier: some of them now. */
static void post_more(struct tree *list, struct node *leaf, struct reserve *reserve)
{
	unsigned int n;

	for (n = 0; n < 8; n++) {
		u64 word = node_read(leaf);
		struct node *right = READ_ONCE(leaf->right);

		if (!node_valid(leaf, word) || word & NODE_DEAD || !right || !READ_ONCE(right->unposted))
			return;
		post(list, right, 1, reserve);
		leaf = right;
	}
}

/* ---- leaves ---- */

/* Entries [0, n) of the group's counts, evened out, moving to the right only. */
static void even_out(struct node **leaf, unsigned int n, bool ranges, bool loose)
{
	unsigned int total = 0, i, share, rest, above, want;
	bool moved;

	for (i = 0; i < n; i++) {
		node_compact(leaf[i], ranges);
		total += leaf[i]->used;
	}
	share = total / n;
	rest = total % n;
	do {
		moved = false;
		above = 0;
		for (i = n - 1; i > 0; i--) {
			unsigned int room = NODE_CAP - leaf[i]->used;
			unsigned int m = min(room, (unsigned int)leaf[i - 1]->used);

			above += leaf[i]->used;
			want = share * (n - i) + min(rest, n - i); /* the odd ones go right */
			if (above >= want)
				continue;
			m = min(m, want - above);
			if (!m)
				continue;
			node_move_up(leaf[i - 1], leaf[i], m, ranges);
			WRITE_ONCE(leaf[i]->low, node_key(leaf[i], 0));
			WRITE_ONCE(leaf[i - 1]->last, node_key(leaf[i], 0) - 1);
			above += m;
			moved = true;
		}
	} while (moved);
	for (i = 0; i < n; i++) {
		if (loose)
			node_spread(leaf[i], ranges);
		node_rescale(leaf[i]);
	}
}

/* Where a stream goes on in front of other entries, as where each thread fills a region of its own, these go to
 * the fresh leaf: what comes finds room, and then appends. */
static void split_stream(struct node *leaf, struct node *fresh, unsigned int rank, bool ranges)
{
	node_move_up(leaf, fresh, leaf->used - rank, ranges);
	WRITE_ONCE(fresh->low, node_key(fresh, 0));
	WRITE_ONCE(leaf->last, fresh->low - 1);
	node_rescale(leaf);
	node_rescale(fresh);
}

/* Link the fresh leaf behind the last of the group. */
static void link_leaf(struct node *left, struct node *fresh, u64 low)
{
	node_init(fresh, 0, low, left->last, left->right, left->shift);
	link_unposted(left, fresh);
}

/* The new key goes behind all of the leaf: begin a new leaf there and leave this one full. */
static void append_leaf(struct tree *list, struct node *leaf, struct node *fresh, u64 key,
			struct reserve *reserve)
{
	u64 first = leaf->low, last = leaf->last;

	gap_begin(list);
	link_leaf(leaf, fresh, key);
	WRITE_ONCE(leaf->last, key - 1);
	gap_settle(list, leaf); /* an erase on its way to settle it would come to the fresh one */
	gap_settle(list, fresh);
	guide_lead(list, leaf, leaf->low);
	guide_lead(list, fresh, key);
	node_open(fresh);
	node_unlock(leaf);
	lath_delay("leaf appended, separator not yet posted");
	lath_fetch_add(&list->splits, 1);
	post(list, fresh, 1, reserve);
	gap_sync_span(list, first, last, 1, 1);
	gap_end(list);
}

int leaf_grow(struct tree *list, struct node *leaf, u64 key, struct reserve *reserve)
{
	struct node *group[SPLIT_GROUP + 1] = { leaf };
	unsigned int n = 1, total = node_count(leaf), i;
	struct node *fresh = NULL;
	unsigned int rank = node_rank(leaf, key);
	/* at the end of all, or in a stream of ascending keys somewhere before it */
	bool stream = leaf->run >= STREAM && rank == leaf->at + 1u;
	bool append = (stream || !leaf->right) && node_end(leaf, __fls64(leaf->live), list->ranges) < key;
	unsigned int most = list->loose || stream ? 1 : SPLIT_GROUP;
	u64 first, last;

	while (!append && n < most && total + n * SHARE_ROOM > n * NODE_CAP) {
		struct node *right = READ_ONCE(group[n - 1]->right);

		if (!right)
			break;
		node_prefetch(right); /* all of it will be moved */
		node_lock(right);
		if (node_void(right)) {
			node_unlock_clean(right);
			break;
		}
		group[n] = right;
		total += node_count(group[n++]);
	}
	if (append || total + n * SHARE_ROOM > n * NODE_CAP) {
		if (!reserve->leaf) {
			unlock_clean_through(leaf, group[n - 1]);
			if (reserve->fixed)
				return -EAGAIN;
			reserve->leaf = node_alloc(list, POOL_LEAF);
			return reserve->leaf ? 0 : -ENOMEM;
		}
		fresh = reserve->leaf;
		reserve->leaf = NULL;
	}
	if (append) {
		append_leaf(list, leaf, fresh, key, reserve);
		return 0;
	}
	if (fresh) {
		link_leaf(group[n - 1], fresh, group[n - 1]->last);
		group[n++] = fresh;
	}
	gap_begin(list);
	first = leaf->low;
	last = group[n - 1]->last;
	if (stream && rank < leaf->used && node_full(leaf)) /* so there is a fresh one, and none is dead */
		split_stream(leaf, fresh, rank, list->ranges);
	else
		even_out(group, n, list->ranges, list->loose);
	for (i = 0; i < n; i++) {
		gap_settle(list, group[i]);
		guide_lead(list, group[i], group[i]->low);
	}
	if (fresh)
		node_open(fresh);
	for (i = fresh ? n - 1 : n; i-- > 0;)
		node_unlock(group[i]);
	lath_delay("leaves evened out, separators not yet posted");
	if (fresh)
		lath_fetch_add(&list->splits, 1);
	for (i = READ_ONCE(leaf->unposted) ? 0 : 1; i < n; i++)
		post(list, group[i], 1, reserve);
	post_more(list, group[n - 1], reserve);
	gap_sync_span(list, first, last, 1, 1);
	gap_end(list);
	return 0;
}
