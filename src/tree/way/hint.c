/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * hint.c - making and correcting the hint table.
 */
#include "tree/way/hint.h"
#include "tree/memory/pool.h"

#ifndef __KERNEL__
/* Searches that must have been misled, at least, before the table is made anew. */
#ifndef LATH_HINT_MISSES
#define LATH_HINT_MISSES 256
#endif
/* A thread counts them in groups of this many. */
#define MISSES_COUNTED (LATH_HINT_MISSES < 32 ? 1 : 32)

unsigned int lath_hint_least = LATH_HINT_MISSES > 1 ? 32 : 1;

/* Target steps per leaf: the root block has between ROOT_STEPS / 2 and ROOT_STEPS, because the
 * length of a step is a power of two; lower blocks likewise with BLOCK_STEPS. */
#define ROOT_STEPS 3
#define BLOCK_STEPS 2
/* The first block has at least half as many steps, if keys lie far apart; and 1/MARGIN more behind
 * the last leaf, for keys that will come there. */
#define ROOT_LEAST 64
#define MARGIN 8
/* Words and leaves that one call passes, at most, when it makes a part of the table: some
 * microseconds. */
#ifndef LATH_HINT_SLICE
#define LATH_HINT_SLICE (LATH_HINT_MISSES < 32 ? 4 : 128)
#endif
#define SLICE LATH_HINT_SLICE
/* Words that one correction writes on each side. */
#define WORDS_NEAR 8
/* Moves to the right from the leaf that the table leads to, before the search begins at the root.
 */
#define MOVES 4

/* ---- words ---- */

/* Words of array number n, counted from 1. */
static u64 words_in(unsigned int n)
{
	return n ? 1ull << (HINT_FIRST + n - 1) : 0;
}

static size_t array_bytes(unsigned int n)
{
	return words_in(n) * sizeof(u64);
}

/* Words of the last array. */
static u64 capacity(const struct hint *hint)
{
	return words_in(READ_ONCE(hint->arrays));
}

/* Words of it that have memory. */
static u64 in_memory(const struct hint *hint)
{
	u64 touched = READ_ONCE(hint->touched);

	return touched ? touched : capacity(hint);
}

/* Let the host have the memory of array n's words, which read as 0, no leaf, until they are written
 * again. Returns whether it takes it. */
static bool discard(struct tree *tree, const struct hint *hint, unsigned int n)
{
	return lath_tree_block_discard(tree, hint->memory[n - 1], array_bytes(n));
}

/* The same for all arrays but the last. Under tree->hint_lock. */
static void discard_before(struct tree *tree, struct hint *hint)
{
	unsigned int n;
	u64 kept = 0;

	for (n = 1; hint->kept && n < hint->arrays; n++)
		if (hint->memory[n - 1] && !discard(tree, hint, n))
			kept += words_in(n);
	WRITE_ONCE(hint->kept, kept);
}

/* A leaf and its fence keys. */
struct leaf_at {
	u64 low, last;
	const struct node *leaf;
};

/* `keys` keys in 1/256 of a step of 2^shift keys. */
static u64 parts(u64 keys, unsigned int shift)
{
	return shift < HINT_PARTS ? min(keys, 1ull << (63 - HINT_PARTS)) << (HINT_PARTS - shift)
				  : keys >> (shift - HINT_PARTS);
}

/* The word of a leaf for step number `step` of 2^shift keys, counted from key 0; 0: its address
 * does not fit. */
static u64 word_of(const struct tree *tree, const struct leaf_at *f, u64 step, unsigned int shift)
{
	s64 begin = (s64)((f->low >> shift) - step);
	u64 dense;

	LATH_ASSERT(shift < 64 && f->low <= f->last);
	if ((u64)(uintptr_t)f->leaf >> (HINT_LEAF + 6))
		return 0;
	begin = max(begin, (s64)-HINT_ORIGIN);
	begin = min(begin, (s64)HINT_ORIGIN) * (1 << HINT_PARTS) + (s64)hint_part(f->low, shift);
	begin = max(begin, (s64)-HINT_ORIGIN) + HINT_ORIGIN;
	begin = min(begin, (s64)HINT_PLACE_MAX);
	dense = ((u64)tree->leaf_fill << HINT_DENSE) / (parts(f->last - f->low, shift) | 1);
	dense = min(dense, (u64)HINT_DENSE_MAX);
	dense = max(dense, (u64)1);
	return (u64)(uintptr_t)f->leaf >> 6 << 1 | dense << (1 + HINT_LEAF) |
	       (u64)begin << HINT_PLACE;
}

static void put_word(u64 *at, u64 word)
{
	if (READ_ONCE(*at) != word) /* other threads cache the line */
		WRITE_ONCE(*at, word);
}

/* ---- corrections ---- */

/* Point the word of step number `step` at the leaf, if it covers the step's end. Returns whether it
 * does. */
static bool correct(const struct tree *tree, u64 *at, const struct leaf_at *f, u64 step,
		    unsigned int shift)
{
	u64 end = (step << shift) + lath_ones(shift);

	if (f->low > end || f->last < end || hint_is_block(READ_ONCE(*at)))
		return false;
	put_word(at, word_of(tree, f, step, shift));
	return true;
}

static void count_miss(struct tree *tree)
{
	u64 misses;

	if (++lath_fingers.misses < MISSES_COUNTED)
		return;
	lath_fingers.misses = 0;
	misses = lath_fetch_add(&tree->hint_misses, MISSES_COUNTED) + MISSES_COUNTED;
	if (misses >= READ_ONCE(tree->hint_limit) && !lath_spin_held(&tree->hint_lock) &&
	    !(READ_ONCE(tree->hint_due) & HINT_MAKE))
		WRITE_ONCE(tree->hint_due, READ_ONCE(tree->hint_due) | HINT_MAKE);
}

void lath_hint_learn(struct tree *tree, u64 key, const struct node *leaf, u64 low, u64 last)
{
	const struct leaf_at f = { low, last, leaf };
	const struct hint *hint = hint_of(tree);
	struct hint_step at;
	u64 step, i, n;

	count_miss(tree);
	if (!hint)
		return;
	hint_seek(hint, key, &at);
	if (!at.within)
		return;
	step = key >> at.shift;
	i = at.i;
	correct(tree, &at.word[i], &f, step, at.shift);
	for (n = 1; n <= WORDS_NEAR && i - n > at.first; n++)
		if (!correct(tree, &at.word[i - n], &f, step - n, at.shift))
			break;
	for (n = 1; n <= WORDS_NEAR && i + n < at.last; n++)
		if (!correct(tree, &at.word[i + n], &f, step + n, at.shift))
			break;
}

/* Key lies before `leaf`: is the leaf before it the right one? Returns as hint_find. */
static struct node *find_before(struct tree *tree, u64 key, u64 *lockword)
{
	const struct hint *hint = hint_of(tree);
	struct hint_step at;
	struct node *leaf;

	if (!hint)
		return NULL;
	hint_seek(hint, key, &at);
	leaf = at.i > at.first ? hint_leaf(hint_before(&at)) : NULL;
	return leaf && node_holds(leaf, key, lockword) ? leaf : NULL;
}

struct node *lath_hint_find_near(struct tree *tree, u64 key, struct node *leaf, u64 *lockword)
{
	unsigned int moves;

	if (key < READ_ONCE(leaf->low))
		return find_before(tree, key, lockword);
	for (moves = 0; moves < MOVES; moves++) {
		struct node *right = leaf_right(leaf);
		u64 low, last;

		if (!node_sound(*lockword) || !right || !node_valid(leaf, *lockword))
			return NULL;
		lath_delay("hint: a leaf to the right");
		leaf = right;
		if (!node_holds(leaf, key, lockword))
			continue;
		low = READ_ONCE(leaf->low);
		last = READ_ONCE(leaf->last);
		if (node_valid(leaf, *lockword))
			lath_hint_learn(tree, key, leaf, low, last);
		return leaf;
	}
	return NULL;
}

/* ---- a walk over the leaves, by the nodes above them ---- */

struct walk {
	struct node *parent;
	unsigned int k, n; /* child k of n is the current leaf */
	u64 last;	   /* of the parent */
	u64 low[NODE_CAP];
	const struct node *child[NODE_CAP];
};

/* Read the children of a node of level 1. Returns false if it is being changed. */
static bool walk_into(struct walk *w, struct node *parent)
{
	u64 lockword = node_read(parent), live = READ_ONCE(parent->live);

	w->parent = parent;
	w->k = 0;
	w->last = READ_ONCE(parent->last);
	for (w->n = 0; live; live &= live - 1) {
		unsigned int i = __ffs64(live) % NODE_CAP;

		w->low[w->n] = node_key(parent, i);
		w->child[w->n++] = node_child(parent, i);
	}
	return w->n && node_sound(lockword) && node_valid(parent, lockword);
}

static struct leaf_at walk_leaf(const struct walk *w)
{
	return (struct leaf_at){ w->low[w->k], w->k + 1 < w->n ? w->low[w->k + 1] - 1 : w->last,
				 w->child[w->k] };
}

/* Go to the leaf that covers key. Returns false if there is no level above the leaves. */
static bool walk_to(struct walk *w, struct tree *tree, u64 key, struct leaf_at *f)
{
	struct node *parent;
	u64 lockword;

	do {
		parent = lath_level_find(tree, key, 1, &lockword);
		if (!parent)
			return false;
	} while (!walk_into(w, parent));
	while (w->k + 1 < w->n && w->low[w->k + 1] <= key)
		w->k++;
	*f = walk_leaf(w);
	return true;
}

/* Go to the next leaf whose keys lie behind *f, the current one. Returns false at the end. */
static bool walk_next(struct walk *w, struct leaf_at *f)
{
	u64 low = f->low;

	LATH_ASSERT(w->k < w->n && w->n <= NODE_CAP);
	do {
		if (++w->k >= w->n) {
			struct node *right = w->parent;

			do
				right = READ_ONCE(right->right);
			while (right && !walk_into(w, right));
			if (!right)
				return false;
		}
		*f = walk_leaf(w);
	} while (f->low <= low);
	return true;
}

/* ---- making, under tree->hint_lock ---- */

/* Words [first, last]. Word first + i, for 0 < i, stands for step number skip + i - 1. */
struct block {
	u64 first, last, skip;
	unsigned int shift;
};

/* A block whose words are being written. */
struct level {
	struct block b;
	u64 i;		       /* the next word */
	struct leaf_at before; /* the leaf before the current one */
	u64 final;	       /* where the last leaf of the block begins */
};

/* How far the table has been made. A pass goes over the leaves from left to right and writes the
 * words of the first block; when several leaves lie in one step it counts them, goes back to the
 * first of them, and writes the words of a block for them in the same way. */
struct making {
	struct tree *tree;
	struct hint *hint;
	u64 *word;	  /* the array that is written */
	struct walk *w;	  /* of the slice */
	struct leaf_at f; /* the current leaf */
	bool running;	  /* a pass has begun */
	bool more;	  /* there is a leaf behind the current one */
	u64 room, left;	  /* words there are, and those of them not yet taken */
	u64 want;	  /* words that it would have liked */
	enum { NEW_LEAF, COUNT_LEAVES, WRITE_WORDS } phase;
	struct leaf_at first; /* the first leaf of the step, while they are counted */
	u64 leaves;
	unsigned int depth;
	struct level level[HINT_DEPTH + 1]; /* from the first block down */
	/* the next array, while the library's thread makes its pages present */
	struct lath_rcu_head rcu;
	char *coming;
	unsigned int coming_number;
	size_t touched; /* bytes of it */
	bool ending;
};

/* The table's memory: the struct that searches read, and how far it has been made. */
#define TABLE_BYTES (sizeof(struct hint) + sizeof(struct making))

static struct making *making_of(struct hint *hint)
{
	return (struct making *)(hint + 1);
}

static void next_leaf(struct making *m)
{
	m->more = walk_next(m->w, &m->f);
}

/* The word of the step that key lies in. */
static u64 word_at(const struct block *b, u64 key)
{
	s64 step = (s64)((key >> b->shift) - b->skip);

	return step < 0 ? b->first : min(b->first + 1 + (u64)step, b->last);
}

/* The first word whose step the current leaf does not cover to the end. */
static u64 end_of_leaf(const struct making *m, const struct level *l)
{
	return m->f.low >= l->final || m->f.last == KEY_MAX || !m->more
		       ? l->b.last + 1
		       : word_at(&l->b, m->f.last + 1);
}

/* Choose a block for leaves that begin at the keys `low` to `high`, all in one step of 2^above
 * keys. Returns its word, or 0: there is no room. */
static u64 new_block(struct making *m, u64 low, u64 high, u64 leaves, unsigned int above,
		     struct block *b)
{
	u64 in = lath_ones(above), words;
	unsigned int log = 2;

	LATH_ASSERT(low >> above == high >> above && leaves);
	/* Within the step, keys differ only in their lower bits. */
	low &= in;
	high &= in;
	b->shift = 0;
	/* Double the steps until the block has no more than the target, and the word that leads to
	 * it can say how many of the step's keys it leaves out in front. */
	while ((high >> b->shift) - (low >> b->shift) >= leaves * BLOCK_STEPS ||
	       low >> b->shift > HINT_SKIP_MAX)
		b->shift++;
	words = (high >> b->shift) - (low >> b->shift) + 3;
	while (1ull << log < words)
		log++;
	words = 1ull << log;
	m->want += words;
	/* No room: made again when there is memory. Steps as long as the one above: a block would
	 * tell no more than the word that would lead to it. */
	if (words > m->left || b->shift >= above)
		return 0;
	LATH_ASSERT(!(m->hint->used % 4)); /* the word of a block has its first word / 4 */
	m->left -= words;
	b->first = m->hint->used;
	b->last = b->first + words - 1;
	m->hint->used += words;
	return 1 | (u64)log << 1 | (u64)b->shift << HINT_BLOCK_SHIFT |
	       b->first / 4 << HINT_BLOCK_FIRST | (low >> b->shift) << HINT_BLOCK_SKIP;
}

/* Begin to write the words of a block. The current leaf is the first that begins within; when the
 * block is complete it is the one that begins at `final`. */
static void level_begin(struct making *m, unsigned int depth, const struct block *b,
			const struct leaf_at *before, u64 final)
{
	m->level[depth] = (struct level){ *b, b->first + 1, *before, final };
	m->depth = depth;
	m->phase = NEW_LEAF;
	/* The first word is for the keys in front of the block's first step: the leaf before has
	 * them. */
	put_word(&m->word[b->first], word_of(m->tree, before, b->skip - 1, b->shift));
}

/* The leaves of the step of the next word have been counted, and the current one covers its end:
 * make a block for them, unless there is no room. */
static void divide(struct making *m)
{
	struct level *l = &m->level[m->depth];
	u64 step = l->b.skip + (l->i - l->b.first) - 1, final = m->f.low, word = 0;
	struct block below;

	LATH_ASSERT(l->i >= l->b.first && l->i <= l->b.last && m->depth <= HINT_DEPTH);
	if (m->depth < HINT_DEPTH && l->i < l->b.last && m->first.low >> l->b.shift == step &&
	    final >> l->b.shift == step)
		word = new_block(m, m->first.low, final, m->leaves, l->b.shift, &below);
	/* Without a block the word names the leaf at the step's end, from which a search in an
	 * earlier leaf of the step has to go left: it descends instead. */
	m->phase = WRITE_WORDS;
	put_word(&m->word[l->i++], word ? word : word_of(m->tree, &m->f, step, l->b.shift));
	if (!word)
		return;
	/* walk the leaves of the step a second time, now to fill the block with them */
	below.skip = m->first.low >> below.shift;
	m->more = walk_to(m->w, m->tree, m->first.low, &m->f);
	level_begin(m, m->depth + 1, &below, &l->before, final);
}

/* Write words of the deepest block as far as the current leaf goes. Returns false when the table is
 * complete. */
static bool write_words(struct making *m, unsigned int *budget)
{
	struct level *l = &m->level[m->depth];
	u64 end = end_of_leaf(m, l);

	for (; l->i < end && *budget; l->i++, --*budget)
		put_word(&m->word[l->i],
			 word_of(m->tree, &m->f, l->b.skip + (l->i - l->b.first) - 1, l->b.shift));
	if (l->i < end)
		return true;
	if (l->i > l->b.last) /* the block above goes on, with this leaf */
		return m->depth-- > 0;
	l->before = m->f;
	next_leaf(m);
	m->phase = NEW_LEAF;
	return true;
}

/* Go on with a pass: at most SLICE words or leaves. Returns false when it is complete. */
static bool go_on(struct making *m)
{
	unsigned int budget = SLICE;

	while (budget) {
		struct level *l = &m->level[m->depth];

		budget--;
		if (m->phase == WRITE_WORDS) {
			if (!write_words(m, &budget))
				return false;
		} else if (end_of_leaf(m, l) > l->i) { /* the leaf covers the end of the step */
			if (m->phase == COUNT_LEAVES)
				divide(m);
			else
				m->phase = WRITE_WORDS;
		} else if (m->phase == NEW_LEAF) {
			m->phase = COUNT_LEAVES;
			m->first = m->f;
			m->leaves = 1;
		} else {
			next_leaf(m);
			m->leaves++;
		}
	}
	return true;
}

/* Choose the root block for `leaves` leaves; `low` and `high` are the first keys of the second and
 * the last leaf. */
static struct block first_block(struct making *m, u64 low, u64 high, u64 leaves)
{
	u64 most = max(leaves * ROOT_STEPS, (u64)ROOT_LEAST), steps, words;
	struct block b = { .first = 0, .shift = 1 }; /* hint_first(): steps have two keys */

	while ((high >> b.shift) - (low >> b.shift) >= most)
		b.shift++;
	for (;; b.shift++) {
		steps = (high >> b.shift) - (low >> b.shift) + 1;
		words = (steps + steps / MARGIN + 2 + 3) & ~3ull;
		m->want += m->want ? 0 : words;
		if (words <= m->left)
			break;
	}
	b.skip = low >> b.shift;
	b.last = words - 1;
	m->hint->used = words;
	m->left -= words;
	return b;
}

/* Begin a pass. Returns false if there is only one leaf, or the walk met a change. */
static bool pass_begin(struct making *m)
{
	struct tree *tree = m->tree;
	struct leaf_at before;
	struct block b;
	u64 lockword, high;
	struct node *last = lath_level_find(tree, KEY_MAX, 1, &lockword);

	if (!last || !walk_into(m->w, last))
		return false;
	high = m->w->low[m->w->n - 1];
	if (!walk_to(m->w, tree, 0, &m->f))
		return false;
	before = m->f;
	next_leaf(m);
	if (!m->more || high < m->f.low)
		return false;
	m->room = m->left = capacity(m->hint);
	m->word = m->hint->memory[m->hint->arrays - 1];
	/* Searches descend while the words that they would read change. One that still reads the old
	 * table is led to a wrong leaf at worst: it compares the leaf's fence keys. */
	if (m->word == m->hint->word)
		WRITE_ONCE(tree->hint, NULL);
	m->hint->leaves = READ_ONCE(tree->pool[POOL_LEAF].nodes);
	b = first_block(m, m->f.low, high, m->hint->leaves);
	level_begin(m, 0, &b, &before, high);
	return true;
}

/* The pass is complete, or could not begin: let searches use the table. */
static void publish(struct making *m, bool made)
{
	struct tree *tree = m->tree;
	const struct block *b = &m->level[0].b;
	struct hint *hint = m->hint;

	WRITE_ONCE(hint->want, m->want);
	if (hint->touched)
		WRITE_ONCE(hint->touched, max(hint->touched, hint->used));
	if (made) {
		WRITE_ONCE(hint->word, m->word);
		WRITE_ONCE(hint->skip, b->skip);
		WRITE_ONCE(hint->shift, b->shift);
		WRITE_ONCE(hint->scale, 1ull << (64 - b->shift));
		/* pairs with hint_begin, hint_first */
		smp_store_release(&hint->steps, b->last - 1);
		smp_store_release(&tree->hint, hint); /* pairs with hint_of */
		if (m->word == hint->memory[hint->arrays - 1])
			discard_before(tree, hint);
	}
	WRITE_ONCE(tree->hint_misses, 0);
	/* as many misled searches cost as much as a pass */
	WRITE_ONCE(tree->hint_limit, max((u64)hint->leaves, (u64)LATH_HINT_MISSES));
	m->running = false;
}

/* Make a part of the table. Returns true when it is complete, or cannot be made. */
static bool make_some(struct tree *tree, struct hint *hint)
{
	struct making *m = making_of(hint);
	bool begun, more;
	struct walk walk;

	LATH_ASSERT(lath_spin_mine(&tree->hint_lock));
	lath_reader_enter(tree->rcu);
	m->w = &walk;
	if (!m->running) {
		m->tree = tree;
		m->hint = hint;
		m->want = 0;
		begun = pass_begin(m);
	} else { /* the node that the walk was in may have been freed since */
		begun = walk_to(m->w, tree, m->f.low, &m->f);
	}
	m->running = begun;
	more = begun && go_on(m);
	lath_reader_exit(tree->rcu);
	if (!more)
		publish(m, begun);
	return !more;
}

/* ---- memory: only from calls that may allocate, with no lock held but tree->hint_lock, which
 * other threads only try ---- */

/* Returns zeroed memory, or NULL. */
static void *zeroed_memory(struct tree *tree, size_t size, enum lath_pages kind)
{
	void *at = lath_tree_block_alloc(tree, size, kind);

	if (at && tree->allocator.alloc)
		memset(at, 0, size);
	return at;
}

/* Allocate the table without words, unless another thread has. */
static void allocate_table(struct tree *tree)
{
	struct hint *fresh = zeroed_memory(tree, TABLE_BYTES, PAGES_PRESENT);

	if (!fresh)
		return;
	if (lath_spin_trylock(&tree->hint_lock)) {
		if (!tree->hint_made) {
			smp_store_release(&tree->hint_made, fresh); /* pairs with lath_hint_bytes */
			fresh = NULL;
		}
		lath_spin_unlock(&tree->hint_lock);
	}
	if (fresh)
		lath_tree_block_free(tree, fresh, TABLE_BYTES);
}

/* Make one page of the next array present, and hand the rest to another callback: fork() waits for
 * one of them at most. Run by the library's thread. */
static void touch(struct lath_rcu_head *head)
{
	struct making *m = container_of(head, struct making, rcu);
	size_t size = array_bytes(m->coming_number), at = m->touched;

	lath_retired();
	WRITE_ONCE(m->coming[at], 0);
	smp_store_release(&m->touched, at + HUGE_PAGE); /* pairs with next_array */
	if (at + HUGE_PAGE < size && !READ_ONCE(m->ending))
		lath_retire(m->tree->rcu, &m->rcu, touch);
	lath_retired_end();
}

/* Returns memory for array *n, or another number's that was asked for before; NULL: there is none,
 * or not yet (m->coming). Under tree->hint_lock. Huge pages, whose first store takes long, are made
 * present by the library's thread (touch) where the tree uses it. `now`: the caller would rather
 * wait for them. */
static void *next_array(struct tree *tree, struct hint *hint, unsigned int *n, bool now)
{
	struct making *m = making_of(hint);
	size_t size = array_bytes(*n);
	void *memory;

	if (!m->coming) {
		if (size < HUGE_PAGE || !huge_ahead(tree))
			return zeroed_memory(tree, size, PAGES_LATER);
		m->coming = zeroed_memory(tree, size, PAGES_HUGE);
		memory = m->coming;
		if (now || !memory) {
			m->coming = NULL;
			return memory;
		}
		m->tree = tree;
		m->hint = hint;
		m->coming_number = *n;
		WRITE_ONCE(m->touched, 0);
		lath_retire(tree->rcu, &m->rcu, touch);
	}
	*n = m->coming_number;
	if (smp_load_acquire(&m->touched) < array_bytes(*n)) /* pairs with touch */
		return NULL;
	memory = m->coming;
	m->coming = NULL;
	return memory;
}

/* Get an array of this many words, or a shorter one. Returns false if there is no memory, or not
 * yet, or another thread maintains the table. */
static bool add_array(struct tree *tree, struct hint *hint, u64 words, bool now)
{
	unsigned int n = 1;
	u64 *fresh = NULL;

	if (!lath_spin_trylock(&tree->hint_lock))
		return false;
	while (n < HINT_ARRAYS && words_in(n) < words)
		n++;
	if (n > hint->arrays)
		do
			fresh = next_array(tree, hint, &n, now);
		while (!fresh && !making_of(hint)->coming && --n > hint->arrays);
	if (fresh) {
		WRITE_ONCE(hint->kept, hint->kept + in_memory(hint));
		hint->memory[n - 1] = fresh;
		WRITE_ONCE(hint->arrays, n);
		WRITE_ONCE(hint->touched, 0);
	}
	lath_spin_unlock(&tree->hint_lock);
	return fresh;
}

/* Words that the table would like to have. */
static u64 wanted(const struct tree *tree, const struct hint *hint)
{
	u64 most = READ_ONCE(tree->pool[POOL_LEAF].nodes) * ROOT_STEPS + ROOT_LEAST;

	return max(READ_ONCE(hint->want), most + most / MARGIN + 8);
}

/* Get memory for them. Returns true if the table should be made because of that. */
static bool allocate(struct tree *tree, bool now)
{
	struct hint *hint;
	bool missing;
	u64 words;

	if (!smp_load_acquire(&tree->hint_made)) /* pairs with allocate_table */
		allocate_table(tree);
	hint = smp_load_acquire(&tree->hint_made); /* pairs with allocate_table */
	if (!hint)
		return false;
	missing = !capacity(hint) || capacity(hint) < READ_ONCE(hint->want);
	words = wanted(tree, hint);
	if (capacity(hint) < words)
		add_array(tree, hint, words, now);
	return missing && capacity(hint) >= READ_ONCE(hint->want);
}

/* ---- when ---- */

/* now: memory for the table may take long. */
static void maintain(struct tree *tree, bool may_allocate, bool now)
{
	u32 due = READ_ONCE(tree->hint_due), left = may_allocate ? 0 : due & HINT_ALLOCATE;
	struct hint *hint;

	/* another thread was first, or is at it */
	if (left == due || lath_spin_held(&tree->hint_lock))
		return;
	lath_call_enter();
	if (may_allocate && due & HINT_ALLOCATE && allocate(tree, now))
		due |= HINT_MAKE;
	if (due & HINT_MAKE && lath_spin_trylock(&tree->hint_lock)) {
		hint = tree->hint_made;
		if (hint && hint->arrays) {
			if (!make_some(tree, hint))
				left |= HINT_MAKE;
			else if (hint->want > making_of(hint)->room)
				left |= hint->want > capacity(hint) ? HINT_ALLOCATE : HINT_MAKE;
		}
		WRITE_ONCE(tree->hint_due, left);
		lath_spin_unlock(&tree->hint_lock);
	} else if (!(due & HINT_MAKE)) {
		WRITE_ONCE(tree->hint_due, left);
	}
	lath_call_exit();
}

void lath_hint_maintain(struct tree *tree, bool may_allocate)
{
	maintain(tree, may_allocate, false);
}

void lath_hint_build(struct tree *tree)
{
	unsigned int tries;

	lath_hint_consider(tree);
	if (!READ_ONCE(tree->hint_made) && !READ_ONCE(tree->hint_due))
		return;
	for (tries = 0; tries < 4; tries++) {
		WRITE_ONCE(tree->hint_due, HINT_MAKE | HINT_ALLOCATE);
		do
			maintain(tree, true, true);
		while (READ_ONCE(tree->hint_due) & HINT_MAKE);
		if (!READ_ONCE(tree->hint_due)) /* there was room */
			return;
	}
}

/* Too small a tree for a table. */
static bool small_tree(const struct tree *tree)
{
	const struct pool *leaves = &tree->pool[POOL_LEAF];

	return READ_ONCE(leaves->bytes) < (u64)lath_hint_least * leaves->node_size;
}

/* Let the host have the memory of all words. Under tree->hint_lock. */
static void discard_words(struct tree *tree, struct hint *hint)
{
	WRITE_ONCE(tree->hint, NULL);
	making_of(hint)->running = false;
	discard_before(tree, hint);
	WRITE_ONCE(hint->want, 0);
	WRITE_ONCE(hint->touched, hint->arrays && discard(tree, hint, hint->arrays));
	WRITE_ONCE(tree->hint_limit,
		   0); /* do not count misled searches; see lath_hint_consider() */
}

void lath_hint_trim(struct tree *tree)
{
	u64 most = (READ_ONCE(tree->pool[POOL_LEAF].nodes) * ROOT_STEPS + ROOT_LEAST) * 4;
	struct hint *hint;

	lath_call_enter();
	if (lath_spin_trylock(&tree->hint_lock)) {
		hint = tree->hint_made;
		if (hint && in_memory(hint) > most) {
			discard_words(tree, hint);
			if (!small_tree(tree))
				WRITE_ONCE(tree->hint_due, READ_ONCE(tree->hint_due) | HINT_MAKE);
		}
		lath_spin_unlock(&tree->hint_lock);
	}
	lath_call_exit();
}

u64 lath_hint_bytes(const struct tree *tree)
{
	const struct hint *hint =
		smp_load_acquire(&tree->hint_made); /* pairs with allocate_table */

	return hint ? TABLE_BYTES + (in_memory(hint) + READ_ONCE(hint->kept)) * sizeof(u64) : 0;
}

void lath_hint_fini(struct tree *tree)
{
	struct hint *hint = tree->hint_made;
	unsigned int i;

	if (!hint)
		return;
	if (making_of(hint)->coming) {
		WRITE_ONCE(making_of(hint)->ending, true);
		lath_retire_drain(tree->rcu);
		lath_tree_block_free(tree, making_of(hint)->coming,
				     array_bytes(making_of(hint)->coming_number));
	}
	for (i = 0; i < hint->arrays; i++)
		if (hint->memory[i])
			lath_tree_block_free(tree, hint->memory[i], array_bytes(i + 1));
	lath_tree_block_free(tree, hint, TABLE_BYTES);
}

void lath_hint_consider(struct tree *tree)
{
	const struct hint *hint = READ_ONCE(tree->hint_made);
	u32 due = READ_ONCE(tree->hint_due), wish = 0;

	if (!nodes_stay(tree) || tree->shared_allocator || small_tree(tree))
		return;
	if (!hint)
		wish = HINT_MAKE | HINT_ALLOCATE;
	else if (capacity(hint) < wanted(tree, hint))
		wish = HINT_ALLOCATE;
	if (hint && !READ_ONCE(tree->hint_limit)) /* its words were discarded */
		wish |= HINT_MAKE;
	/* while the lock is held nothing comes of it, and every call would try */
	if (wish & ~due && !lath_spin_held(&tree->hint_lock))
		WRITE_ONCE(tree->hint_due, (u8)(due | wish));
}
#endif
