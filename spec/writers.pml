/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * writers.pml - changes of leaves and separators (redistribute.c, post.c, merge.c, insert.c).
 *
 * An item is one key, except the one that insert_range inserts: it covers CROSSED, the keys RANGE
 * to RANGE_END, and moves as a whole.
 */

/* ---- separators ---- */

/* post.c: tells the parent where n begins; fresh: n has no downlink yet, add one. */
inline post(n, fresh)
{
	lock_up();
	assert(!freed[n]);
#ifdef BUG_SEPARATOR_LOW
	left = (leaf[n].low > 0 -> leaf[n].low - 1 : 0);
#else
	left = leaf[n].low; /* read under the parent's lock; `left` is used as a variable here */
#endif
	d_step {
		inner_slot(left);
		j = i;
		do
		:: j < KEYS && child[j] != n -> j++
		:: else -> break
		od
	};
	if
	:: i == left || j == i -> up_word = up_word & ~LOCKED
#ifndef BUG_POST_UNKNOWN
	:: i != left && j == KEYS && !(fresh) -> up_word = up_word & ~LOCKED
#endif
	:: else ->
		if
		:: j < KEYS -> child[j] = NONE
		:: else
		fi;
#ifdef BUG_SEPARATOR_LOW
		child[left] = n;
#else
		set_child(left, n);
#endif
		unlock_up()
	fi
}

/* ---- redistribution: entries move to the right ---- */

/* Sets `moved` to the highest item of `left`, which begins at key i; to 0 if it is the only
 * item. */
inline highest_item()
{
	d_step {
		i = KEYS - 1;
		do
		:: i > 0 && !(leaf[left].items & BIT(i)) -> i--
		:: else -> break
		od;
		moved = BIT(i);
		if
		:: moved & CROSSED -> moved = CROSSED; i = RANGE
		:: else
		fi;
		if
		:: (leaf[left].items & ~moved) -> skip
		:: else -> moved = 0
		fi
	}
}

/* even_out for two locked leaves: the highest item of the left one moves to the right one, and the
 * fence key with it. */
inline even_out()
{
	leaf[right].items = leaf[right].items | moved;
	leaf[left].items = leaf[left].items & ~moved;
	set_low(right, i);
	leaf[left].last = i - 1
}

/* leaf_make_room without a new leaf: redistributes between the leaf that covers key and its right
 * sibling. */
inline share(key)
{
	lock_leaf(key);
	left = at;
	right = leaf[left].right;
	if
	:: right == NONE -> node_unlock_clean(left)
	:: else ->
		highest_item();
#ifdef BUG_POST_EARLY
		lock_up();
		d_step {
			j = 0;
			do
			:: j < KEYS && child[j] != right -> j++
			:: else -> break
			od
		};
		if
		:: j < KEYS && moved -> child[j] = NONE; child[i] = right
		:: else
		fi;
		unlock_up();
#endif
		node_lock(right);
		if
		:: (leaf[right].word & HALF_DEAD) || !moved ->
			node_unlock_clean(right);
			node_unlock_clean(left)
		:: else ->
#ifdef BUG_ONE_LOCK
			node_unlock_clean(left);
			even_out();
			node_unlock(right);
#else
			even_out();
			node_unlock(right);
			node_unlock(left);
#endif
			post(right, false)
		fi
	fi
}

/* The wrong direction: the lowest item of the right leaf moves to the left one, and low rises. */
inline share_left(key)
{
	lock_leaf(key);
	left = at;
	right = leaf[left].right;
	if
	:: right == NONE -> node_unlock_clean(left)
	:: else ->
		node_lock(right);
		d_step {
			i = leaf[right].low;
			moved = leaf[right].items & BIT(i)
		};
		if
		:: !moved || leaf[right].last == i -> node_unlock_clean(right); node_unlock_clean(left)
		:: else ->
			leaf[left].items = leaf[left].items | moved;
			leaf[right].items = leaf[right].items & ~moved;
			leaf[left].last = i;
			leaf[right].low = i + 1;
			node_unlock(right);
			node_unlock(left);
			lock_up();
			if
			:: child[i] == right -> child[i] = NONE; child[i + 1] = right
			:: else
			fi;
			unlock_up()
		fi
	fi
}

/* leaf_make_room with a new leaf: linked to the right, filled, opened; posted when no leaf is
 * locked. */
inline split(key)
{
	node_alloc(right);
	lock_leaf(key);
	left = at;
	highest_item();
	if
	:: !moved ->
		node_unlock_clean(left);
		freed[right] = 1
	:: else ->
#ifdef BUG_OPENED_EARLY
		node_open(right);
#endif
		leaf[right].low = leaf[left].last;
		leaf[right].last = leaf[left].last;
		leaf[right].right = leaf[left].right;
		leaf[right].items = 0;
		leaf[left].right = right;
		even_out();
#ifndef BUG_OPENED_EARLY
		node_open(right);
#endif
		node_unlock(left);
		post(right, true)
	fi
}

/* ---- merging (merge.c) ---- */

/* merge_children for the children with separators i and j; at: the DEAD one, or NONE. */
inline merge_children()
{
	at = NONE;
	left = child[i];
	right = child[j];
	node_lock(left);
	if
	:: leaf[left].right != right -> node_unlock_clean(left)
	:: else ->
		node_lock(right);
		leaf[left].items = leaf[left].items | leaf[right].items;
		leaf[right].items = 0;
		if
		:: !(leaf[right].word & HALF_DEAD) ->
			leaf[left].last = leaf[right].last;
			if
			:: leaf[left].word & HALF_DEAD ->
				if
				:: leaf[right].low < leaf[left].low -> set_low(left, leaf[right].low)
				:: else
				fi;
				leaf[left].word = leaf[left].word & ~HALF_DEAD
			:: else
			fi
		:: else
		fi;
		leaf[left].right = leaf[right].right;
#ifndef BUG_NOT_DEAD
		leaf[right].word = leaf[right].word | DEAD;
#endif
#if !defined(BUG_SEPARATOR_STAYS) && !defined(BUG_NO_PARENT_LOCK)
		child[j] = NONE;
#endif
		node_unlock(right);
		node_unlock(left);
		at = right
	fi
}

/* merge_at: merges the leaf that covers key with its right sibling under the parent, or else with
 * its left one. */
inline merge_at(key)
{
#ifdef BUG_NO_PARENT_LOCK
	(!(up_word & LOCKED));
#else
	lock_up();
#endif
	d_step {
		inner_slot(key);
		j = i + 1;
		do
		:: j < KEYS && child[j] == NONE -> j++
		:: else -> break
		od;
		if
		:: j == KEYS -> /* none on the right: take the left sibling */
			j = i;
			do
			:: i > 0 -> i--;
				if
				:: child[i] != NONE -> break
				:: else
				fi
			:: else -> break
			od
		:: else
		fi
	};
#ifdef BUG_RETIRE_EARLY
	/* after it was chosen, before it is unlinked: another reader can still reach it */
	up_word = up_word & ~LOCKED;
	if
	:: i != j -> right = child[j]; call_rcu(right)
	:: else
	fi;
	lock_up();
#endif
	if
	:: i == j || child[i] == NONE || child[j] == NONE -> at = NONE
	:: else -> merge_children()
	fi;
#ifdef BUG_NO_PARENT_LOCK
	if
	:: at != NONE ->
		lock_up();
		child[j] = NONE;
		unlock_up()
	:: else
	fi;
#else
	unlock_up(); /* an increased version without a change does no harm */
#endif
#ifndef BUG_RETIRE_EARLY
	if
	:: at != NONE -> node_retire(at)
	:: else
	fi
#endif
}

/* ---- a range across fences (insert.c, fence.c) ---- */

/* insert_across: inserts [RANGE, RANGE_END]; all keys from RANGE on go to the leaf that covers
 * RANGE_END. */
inline insert_range()
{
	lock_leaf(RANGE);
	left = at;
	right = at;
	do
	:: RANGE_END > leaf[right].last || (leaf[right].word & HALF_DEAD) ->
		right = leaf[right].right;
		node_lock(right)
	:: else -> break
	od;
	j = left;
	do
	:: j != right ->
		if
		:: leaf[j].low < RANGE && !(leaf[j].word & HALF_DEAD) -> leaf[j].last = RANGE - 1
#ifdef BUG_HALF_DEAD_FORGOTTEN
		:: else
#else
		:: else -> leaf[j].word = leaf[j].word | HALF_DEAD
#endif
		fi;
		j = leaf[j].right
	:: else -> break
	od;
	if
	:: left != right -> set_low(right, RANGE)
	:: else
	fi;
	leaf[right].items = leaf[right].items | CROSSED;
	moved = (left != right);
	do
	:: left != right -> next = leaf[left].right; node_unlock(left); left = next
	:: else -> break
	od;
	node_unlock(right);
	stored = stored | CROSSED;
	if
	:: moved -> post(right, false)
	:: else
	fi
}
