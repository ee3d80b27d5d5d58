/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * merge.c - merging sparse and half-dead nodes with their siblings.
 *
 * What is erased is often inserted again soon (the 2013 test pops 128 neighbours and puts them
 * back), so a leaf that became sparse is only remembered. It is looked at again SPARSE_RING such
 * events later. If it is still sparse, it is merged with a sibling under the same parent: parent,
 * left and right node are locked, the right one dies, and its downlink leaves the parent in the
 * same locked section. So a descent that meets the DEAD node and starts again does not meet it a
 * second time.
 */
#include "tree/step/step.h"
#include "tree/watch/change.h"
#include "tree/step/leaf.h"
#include "tree/way/locate.h"
#include "tree/memory/pool.h"

/* Children of a parent that may become one less. */
#define ROW 6
/* Entries of a node after a merge, at most: of one that became sparse; of one in a tree that is
 * trimmed or grows elsewhere. */
#define FILL_SPARSE (NODE_CAP - NODE_CAP / 4)
#define FILL_DENSE (NODE_CAP - NODE_CAP / 8)
/* Leaves that are looked at for each that is added, at most. */
#define THIN_STEPS 64
/* Children that are looked at while their parent is locked. */
#define RUN 16

/* Move everything from the right to the left one of two locked siblings, and mark the right one
 * DEAD. Either may be half-dead. */
static void merge_nodes(struct tree *tree, struct node *left, struct node *right)
{
	bool left_half_dead = node_half_dead(left), right_half_dead = node_half_dead(right);
	unsigned int side = node_level(left) ? tree->inner_side : tree->leaf_side;

	LATH_ASSERT(node_is_locked(left) && node_is_locked(right) && left->right == right);
	/* a merge of empty nodes moves nothing: only fences and links change */
	if (node_count(right)) {
		lath_node_compact(left, side);
		lath_node_compact(right, side);
		lath_node_move_down(left, right, right->used, side);
		lath_node_reindex(left);
	}
	/* a half-dead node covers no keys: its fences are not taken over */
	if (!right_half_dead)
		WRITE_ONCE(left->last, right->last);
	if (!right_half_dead && left_half_dead) {
		WRITE_ONCE(left->low, min(left->low, right->low));
		WRITE_ONCE(left->lockword, READ_ONCE(left->lockword) & ~(u64)NODE_HALF_DEAD);
	}
	WRITE_ONCE(left->right, right->right);
	change_keys(left, right);
	node_kill(right);
}

bool lath_absorb_right(struct tree *tree, struct node *left)
{
	struct node *right = READ_ONCE(left->right);

	LATH_ASSERT(node_is_locked(left));
	/* without a lock: most often there is nothing to absorb */
	if (!right || !READ_ONCE(right->no_downlink) || !node_half_dead(right))
		return false;
	node_lock(right);
	if (!node_half_dead(right) || !lath_fetch_clear(&right->no_downlink)) {
		node_unlock_clean(right);
		return false;
	}
	LATH_ASSERT(!right->live && right == left->right);
	WRITE_ONCE(left->right, right->right);
	/* however left is unlocked, it has changed */
	WRITE_ONCE(left->lockword, READ_ONCE(left->lockword) + NODE_VERSION);
	node_kill(right);
	node_unlock(right);
	lath_probe(merge, tree, right->low);
	lath_node_retire(tree, POOL_LEAF, right);
	lath_fetch_add(&counts_of(tree)->merges, 1);
	return true;
}

/* Absorb what can be of the half-dead leaves right of `leaf`, up to the next one that covers keys.
 */
static void absorb_run(struct tree *tree, struct node *leaf)
{
	do {
		node_lock(leaf);
		while (!node_dead(READ_ONCE(leaf->lockword)) && lath_absorb_right(tree, leaf))
			;
		node_unlock_clean(leaf);
		leaf = leaf_right(leaf);
	} while (leaf && node_half_dead(leaf));
}

/* Erase the downlinks of half-dead leaves with separators of [key, last] in the parent that covers
 * `at`, but for the parent's first one. Returns the last key of the parent, or KEY_MAX if there is
 * none. */
static u64 drop_downlinks(struct tree *tree, u64 at, u64 key, u64 last)
{
	struct node *up = lath_level_lock(tree, at, 1);
	u64 live, ret;
	bool any = false;

	if (!up)
		return KEY_MAX;
	ret = up->last;
	/* the first one stays: its separator is the parent's low fence, which must lead
	 * somewhere */
	for (live = up->live & (up->live - 1); live; live &= live - 1) {
		unsigned int i = __ffs64(live);
		struct node *child = node_child(up, i);

		LATH_ASSERT(!node_level(child));
		if (node_key(up, i) >= key && node_key(up, i) <= last && node_half_dead(child)) {
			node_erase(up, i);
			change_separator(tree, up, node_key(up, i));
			/* alive until this is claimed: its downlink was here, under the lock */
			WRITE_ONCE(child->no_downlink, 1);
			any = true;
		}
	}
	/* descents through the parent begin again only if it has changed */
	node_unlock_as(up, any);
	return ret;
}

/* A merge under way. */
struct merging {
	struct tree *tree;
	struct node *up;   /* the parent, locked */
	unsigned int fill; /* entries that a node may have afterwards */
	unsigned int row;  /* children that may become one less, at most */
	u64 first, last;   /* fence keys of what was merged */
	bool edge;	   /* the parent's last entry left it or has another separator */
	bool changed;	   /* the parent */
};

/* Adjacent children of m->up, from left to right. */
struct row {
	struct node *node[ROW];
	unsigned int at[ROW]; /* their entries */
	unsigned int n;
	unsigned int entries; /* of all of them */
};

/* Do the entries of row->n nodes fit into row->n - 1, each filled to m->fill? The last node has
 * `last` entries. If one of a pair is nearly empty (no entries, or one child), the other may be
 * filled completely. */
static bool row_fits(const struct merging *m, const struct row *row, unsigned int last)
{
	unsigned int least = node_level(m->up) > 1;

	LATH_ASSERT(row->n >= 2 && last <= row->entries);
	if (row->n == 2 && min(last, row->entries - last) <= least)
		return row->entries <= NODE_CAP;
	return row->entries <= (row->n - 1) * m->fill;
}

/* Choose a row of children from entry i on that may become one less, by what they have now. */
static bool choose_row(const struct merging *m, int i, struct row *row)
{
	row->n = row->entries = 0;
	for (; i >= 0 && row->n < m->row; i = node_after(m->up, i)) {
		struct node *child = node_child(m->up, (unsigned int)i);
		unsigned int count = node_count(child);

		row->node[row->n] = child;
		row->at[row->n++] = (unsigned int)i;
		row->entries += count;
		if (row->n > 1 && row_fits(m, row, count))
			return true;
	}
	return false;
}

static void unlock_row(const struct row *row, unsigned int n, bool changed)
{
	while (n--)
		node_unlock_as(row->node[n], changed);
}

/* Lock the chosen children. Returns false, with none locked, if they are not neighbours, or do not
 * fit any more. */
static bool lock_row(const struct merging *m, struct row *row)
{
	unsigned int i, count = 0;
	bool whole = true;

	LATH_ASSERT(node_is_locked(m->up) && row->n <= ROW);
	row->entries = 0;
	for (i = 0; i < row->n; i++) {
		struct node *node = row->node[i], *left = i ? row->node[i - 1] : NULL;

		/* a half-dead leaf between the two has no downlink, so it is in no row */
		while (left && lath_absorb_right(m->tree, left))
			;
		if (left && left->right != node) /* a node without a downlink is between them */
			break;
		node_lock(node);
		count = node_count(node);
		row->entries += count;
		whole &= !node_half_dead(node) && node->last >= node_key(m->up, row->at[i]);
	}
	if (i == row->n && row_fits(m, row, count) && (whole || row->n == 2))
		return true;
	unlock_row(row, i, false);
	return false;
}

/* Move entries to the right, so that those of the first two nodes fit into one. */
static void give_row_right(const struct merging *m, const struct row *row)
{
	unsigned int share = row->entries / (row->n - 1), right = 0, i, n;

	for (i = 0; i < row->n; i++)
		lath_node_compact(row->node[i], m->tree->leaf_side);
	for (i = row->n - 1; i > 1; i--) {
		struct node *to = row->node[i], *from = row->node[i - 1];
		unsigned int want = share * (row->n - i);

		right += to->used;
		n = right < want ? min(want - right, (unsigned int)(NODE_CAP - to->used)) : 0;
		n = min(n, (unsigned int)from->used);
		if (n)
			give_right(from, to, n, m->tree->leaf_side);
		right += n;
	}
	for (i = 1; i < row->n; i++)
		lath_node_reindex(row->node[i]);
}

/* Does an entry of the locked inner node, which covers it, have this separator? */
static bool separator_taken(const struct node *inner, u64 separator)
{
	int i = (int)inner_slot(inner, separator);

	LATH_ASSERT(i >= 0);
	return node_key(inner, (unsigned int)i) == separator;
}

/* Set the separators of the row's nodes from number `from` on to their low fences, which may have
 * fallen. */
static void lower_separators(const struct merging *m, const struct row *row, unsigned int from)
{
	u64 moved = 0, was[ROW];
	unsigned int i;

	LATH_ASSERT(node_is_locked(m->up) && from >= 1 && from <= row->n);
	/* Erase all outdated separators before any new one is inserted: a new one may equal an old
	 * one to its right. */
	for (i = from; i < row->n; i++) {
		was[i] = node_key(m->up, row->at[i]);
		if (was[i] == row->node[i]->low)
			continue;
		node_erase(m->up, row->at[i]);
		moved |= 1ull << i;
	}
	for (i = from; i < row->n; i++) {
		u64 low = row->node[i]->low;

		/* It may also equal one further left, which is too high; then the old one is kept,
		 * and a descent moves right once more. */
		if (moved >> i & 1)
			lath_inner_insert(m->up, separator_taken(m->up, low) ? was[i] : low,
					  row->node[i], m->tree->inner_side);
	}
}

/* Merge the locked row: its second node dies, or there was no room for its entries after all.
 * Unlocks. Returns the dead node or NULL. */
static struct node *merge_row(struct merging *m, const struct row *row)
{
	struct node *left = row->node[0], *right = row->node[1], *end = row->node[row->n - 1];
	u64 key = node_key(m->up, row->at[0]);
	unsigned int i;
	bool dies;

	LATH_ASSERT(node_is_locked(m->up) && row->n >= 2);
	LATH_ASSERT(node_is_locked(left) && node_is_locked(right) && node_is_locked(end));
	m->changed = true;
	/* Nodes right of the pair take what the pair has too much of. */
	if (row->n > 2)
		give_row_right(m, row);
	dies = node_count(left) + node_count(right) <= NODE_CAP;
	m->edge |= node_after(m->up, (int)row->at[row->n - 1]) < 0;
	/* else the nodes at the right took too little; what was moved stays where it is */
	if (dies) {
		merge_nodes(m->tree, left, right);
		node_erase(m->up, row->at[1]);
	}
	/* First the nodes, then the parent's entries, which are measured by them. The dead one is
	 * neither. */
	for (i = 0; i < row->n; i++)
		if (i != 1 || !dies)
			change_node(m->tree, row->node[i]);
	for (i = 0; i < row->n; i++)
		if (i != 1 || !dies)
			change_child(m->tree, m->up, row->at[i]);
	/* the entry's own key too: a half-dead node's fences may lie elsewhere */
	m->first = min(m->first, key);
	m->first = min(m->first, left->low);
	m->last = max(m->last, key);
	m->last = max(m->last, left->last);
	m->last = max(m->last, end->last);
	lower_separators(m, row, dies ? 2 : 1);
	lath_delay("merged, locks still held");
	unlock_row(row, row->n, true);
	return dies ? right : NULL;
}

/* Merge children of m->up from entry i on. Returns the dead node, or NULL: they are no neighbours,
 * or too full. */
static struct node *merge_children(struct merging *m, int i)
{
	struct row row;

	if (!choose_row(m, i, &row) || !lock_row(m, &row))
		return NULL;
	return merge_row(m, &row);
}

static bool child_empty(const struct node *up, int i)
{
	return !READ_ONCE(node_child(up, (unsigned int)i)->live);
}

/* Merge the child that covers key with siblings. Returns the dead node or NULL; *more: one of two
 * neighbours was empty, so there may be another like it. */
static struct node *merge_one(struct merging *m, u64 key, bool *more)
{
	int at = (int)inner_slot(m->up, key), i = at, next;
	struct node *dead = NULL;
	unsigned int n;

	for (n = 0; n < m->row && i >= 0 && !dead; n++, i = node_before(m->up, i)) {
		next = node_after(m->up, i);
		*more = next >= 0 && (child_empty(m->up, next) || child_empty(m->up, i));
		dead = merge_children(m, i);
	}
	return dead;
}

struct merge_result {
	bool merged;
	bool dense;  /* in: leave nodes as full as possible */
	bool more;   /* there may be another one to merge */
	bool sparse; /* the parent has few entries now */
	bool alone;  /* the parent has one child, which is half-dead */
	u64 last;    /* the last key of the parent */
};

/* The node of this level that ends at `last` lost its last entry. That may have kept the first
 * child of its right sibling, which begins further left, from moving the boundary there: try again.
 */
static void retry_boundary(struct tree *tree, u64 last, unsigned int level)
{
	struct node *right, *child;
	u64 lockword, low;

	LATH_ASSERT(level);
	if (last == KEY_MAX) /* it ends the level */
		return;
	right = lath_level_find(tree, last + 1, level, &lockword);
	if (!right) /* the level went, with its root */
		return;
	child = node_child(right, __ffs64(READ_ONCE(right->live) | 1ull << (NODE_CAP - 1)));
	low = READ_ONCE(right->low);
	if (node_valid(right, lockword) && READ_ONCE(child->low) < low)
		lath_post_low(tree, child);
}

/* Begin to merge nodes of this level under the parent that covers key; m.up is NULL if the level
 * has none. */
static struct merging merging_begin(struct tree *tree, u64 key, unsigned int level, bool dense)
{
	struct merging m = { .tree = tree, .first = KEY_MAX };

	/* dense leaves would soon be split again, each alone */
	m.fill = dense && (level || !halves(tree)) ? FILL_DENSE : FILL_SPARSE;
	m.row = dense && !level && !halves(tree) ? ROW : 2;
	m.up = lath_level_lock(tree, key, level + 1);
	if (m.up)
		change_begin(tree);
	return m;
}

/* Unlock the parent, whose last key is `last`, and tell the levels above. */
static void merging_end(const struct merging *m, unsigned int level, u64 last)
{
	if (m->changed) {
		node_unlock(m->up);
		change_levels(m->tree, m->first, m->last, level + 1, level + 1, true);
		if (m->edge)
			retry_boundary(m->tree, last, level + 1);
	} else {
		node_unlock_clean(m->up);
	}
	change_end(m->tree);
}

static void retire_merged(struct tree *tree, unsigned int level, struct node *dead)
{
	lath_probe(merge, tree, dead->low);
	lath_node_retire(tree, level ? POOL_INNER : POOL_LEAF, dead);
	lath_fetch_add(&counts_of(tree)->merges, 1);
	if (!level)
		lath_spares_return(tree);
}

/* Let the root's only child take its place. Returns whether it did. */
static bool lower_root(struct tree *tree)
{
	struct node *root, *child;
	bool lowers;

	lath_spin_lock(&tree->root_lock);
	root = READ_ONCE(tree->root);
	/* root_lock keeps the root from being replaced (add_root); the node's own lock keeps its
	 * entries */
	lowers = node_level(root) && node_count(root) == 1 &&
		 node_trylock(root, READ_ONCE(root->lockword) & ~(u64)NODE_LOCKED);
	if (lowers) {
		child = node_child(root, __ffs64(root->live | 1ull << 63));
		/* others of its level may have no downlink yet: then a parent is wanted soon */
		lowers = node_count(root) == 1 && !root->right && !node_half_dead(child) &&
			 !READ_ONCE(child->right);
		if (lowers) {
			LATH_ASSERT(!READ_ONCE(child->low)); /* no descent arrives too far right */
			/* pairs with the load in descend; before the old one is dead */
			smp_store_release(&tree->root, child);
			node_kill(root);
			node_unlock(root);
		} else {
			node_unlock_clean(root);
		}
	}
	lath_spin_unlock(&tree->root_lock);
	if (lowers)
		lath_node_retire(tree, POOL_INNER, root);
	return lowers;
}

void lath_merge_roots(struct tree *tree)
{
	while (lower_root(tree))
		;
}

/* Merge the node of this level that covers key with siblings. Returns false if the level has no
 * parents. */
static bool merge_step(struct tree *tree, u64 key, unsigned int level, struct merge_result *result)
{
	struct merging m = merging_begin(tree, key, level, result->dense);
	struct node *dead;

	if (!m.up)
		return false;
	result->last = m.up->last;
	dead = merge_one(&m, key, &result->more);
	result->merged = dead;
	result->sparse = node_sparse(node_count(m.up));
	result->alone = !level && node_count(m.up) == 1 &&
			node_half_dead(node_child(m.up, __ffs64(m.up->live)));
	merging_end(&m, level, result->last);
	if (dead)
		retire_merged(tree, level, dead);
	return true;
}

/* Merge the node of this level that covers key with its siblings. Returns false if none was merged;
 * *result: of the last attempt. */
static bool merge_level(struct tree *tree, u64 key, unsigned int level, struct merge_result *result)
{
	bool any = false;

	do {
		if (!merge_step(tree, key, level, result)) {
			if (level)
				lath_merge_roots(tree);
			result->sparse = result->alone = false;
			break;
		}
		any |= result->merged;
	} while (result->merged && result->more);
	return any;
}

/* Merge the leaf that covers key with its siblings; then its parent if that has become sparse, and
 * so on. Returns the last key of the leaf's parent. */
static u64 merge_at(struct tree *tree, u64 key, bool dense)
{
	struct merge_result result = { .last = KEY_MAX, .dense = dense }, again = result;
	unsigned int level, below;
	u64 last = KEY_MAX;

	for (level = 0;; level++) {
		bool any = merge_level(tree, key, level, &result);

		if (!level)
			last = result.last;
		/* the children of two parents are siblings now */
		for (below = level; any && below--;)
			merge_level(tree, key, below, &again);
		/* a parent with one half-dead child is merged too, though nothing below it was */
		if (!(any || result.alone) || !result.sparse)
			return last;
	}
}

void lath_merge_half_dead(struct tree *tree, struct node *first, u64 key, u64 end, u64 to)
{
	u64 last, at, lockword;

	for (at = key; (last = drop_downlinks(tree, at, key, to)) < end; at = last + 1)
		;
	/* the leaf before it absorbs it: that is the one that covers the key before */
	if (node_half_dead(first) && key)
		first = locate(tree, key - 1, FOR_READ, &lockword);
	absorb_run(tree, first);
	for (;;) {
		last = merge_at(tree, key, false);
		if (last >= end)
			return;
		key = last + 1;
	}
}

void lath_merge_later(struct tree *tree, u64 key)
{
	struct merge_notes *notes = notes_of(tree);
	u64 turn = lath_fetch_add(&notes->turn, 1);
	u64 *slot = &notes->sparse[turn % SPARSE_RING];
	u64 earlier = READ_ONCE(*slot), lockword;
	struct node *leaf;

	LATH_ASSERT(lath_reader_inside(tree->rcu));
	WRITE_ONCE(*slot, key);
	if (turn < SPARSE_RING) /* the ring was not full: the slot held nothing */
		return;
	/* Inserts may have filled the leaf since, or a merge has taken it. */
	leaf = locate(tree, earlier, FOR_READ, &lockword);
	if (node_sparse(node_count(leaf)))
		merge_at(tree, earlier, false);
}

/* Merge the parent of the leaf that covers key with its siblings, and so on upwards. */
static void merge_parents(struct tree *tree, u64 key)
{
	struct merge_result result = { .dense = true };
	unsigned int level, below;
	bool any = true;

	for (level = 1; any; level++) {
		any = merge_level(tree, key, level, &result);
		for (below = level; any && below--;)
			merge_level(tree, key, below, &result);
	}
}

/* Merge children of the locked m->up from the one that covers *key on, looking at *steps and at RUN
 * at most. Returns the number of dead ones, which the caller retires; *key: where to go on. */
static unsigned int merge_run(struct merging *m, u64 *key, size_t *steps, struct node **dead)
{
	int i = (int)inner_slot(m->up, *key);
	unsigned int n = 0, looked;

	LATH_ASSERT(node_is_locked(m->up));
	for (looked = 0; looked < RUN && *steps && i >= 0; looked++, --*steps) {
		u64 separator = node_key(m->up, (unsigned int)i);

		dead[n] = merge_children(m, i);
		if (dead[n]) { /* and the other entries may have moved */
			n++;
			i = (int)inner_slot(m->up, separator);
		} else {
			i = node_after(m->up, i);
		}
	}
	/* 0 means the end: the rest of the leaf at key 0 is as good */
	*key = i >= 0 ? max(node_key(m->up, (unsigned int)i), (u64)1) : m->up->last + 1;
	return n;
}

unsigned int lath_merge_dense(struct tree *tree, u64 *key, size_t *steps)
{
	struct merging m = merging_begin(tree, *key, 0, true);
	struct node *dead[RUN];
	unsigned int n, i;
	u64 last;

	if (!m.up) {
		*steps = *key = 0;
		return 0;
	}
	last = m.up->last;
	n = merge_run(&m, key, steps, dead);
	merging_end(&m, 0, last);
	for (i = 0; i < n; i++)
		retire_merged(tree, 0, dead[i]);
	if (*key > last || !*key)
		merge_parents(tree, last);
	return n;
}

void lath_merge_thin(struct tree *tree)
{
	struct merge_notes *notes = notes_of(tree);
	u64 thin = READ_ONCE(notes->thin), key = READ_ONCE(notes->thin_key);
	size_t steps = min(thin, (u64)THIN_STEPS);

	if (!steps || halves(tree))
		return;
	/* another thread may write the same count: it is a rough measure of work to do */
	WRITE_ONCE(notes->thin, thin - steps);
	while (steps)
		lath_merge_dense(tree, &key, &steps);
	WRITE_ONCE(notes->thin_key, key);
}
