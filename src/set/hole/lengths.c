/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lengths.c - keeping and searching the free runs in the order of their lengths.
 */
#include "set/hole/lengths.h"
#include "tree/way/finger.h"
#include "tree/watch/gap.h"
#include "tree/call/call.h"
#include "tree/memory/pool.h"

#ifndef __KERNEL__
u64 lath_lengths_least = 64;

/* A search looks at this many runs that are long enough and yet do not fit, because of their
 * alignment or because they are outside of the limits. Then it takes the shortest run that is so
 * long that it fits with any alignment. */
#define MOST_RUNS 32u

/* Bits of an entry's key that are left for the place of the run's first key. */
#define FIRST_BITS 49
#define PLACES (1ull << FIRST_BITS)
_Static_assert(GAP_CODE_MAX < 1u << (64 - FIRST_BITS), "a code fits above a place");

struct run {
	u64 first;
	u64 last;
};

static const struct watch_calls lengths_calls;

/* The second index of the tree, or NULL. A tree has no other watcher. */
static struct lengths *lengths_of(struct tree *tree)
{
	struct watcher *watcher = watcher_of(tree);

	LATH_ASSERT(!watcher || watcher->calls == &lengths_calls);
	return watcher ? container_of(watcher, struct lengths, watcher) : NULL;
}

/* A thread has one pair of fingers. Calls for the second index leave it to the tree. */
static void restore_fingers(struct fingers kept)
{
	kept.misses = lath_fingers.misses;
	lath_fingers = kept;
}

/* ---- runs, as they are in the tree ---- */

/* The first key of the free run that ends in front of key; key itself: there is none. */
static u64 free_from(struct tree *tree, u64 key)
{
	struct lath_item item;

	if (!key || lath_floor_item(tree, key - 1, &item))
		return 0;
	return min(item.key + item.size - 1, key - 1) + 1;
}

/* The last key of the free run that begins behind key; key itself: there is none. */
static u64 free_to(struct tree *tree, u64 key)
{
	struct lath_item item;

	if (key == KEY_MAX || lath_overlap_item(tree, key + 1, KEY_MAX, &item))
		return KEY_MAX;
	return max(item.key, key + 1) - 1;
}

/* The runs at key: the one it is in, or those in front of and behind the item it is in. Returns
 * their number. */
static unsigned int runs_at(struct tree *tree, u64 key, struct run *run)
{
	struct lath_item item;
	unsigned int n = 0;
	u64 end;

	if (lath_floor_item(tree, key, &item) || key - item.key >= item.size) {
		run[0] = (struct run){ free_from(tree, key), free_to(tree, key) };
		return 1;
	}
	end = item.key + (item.size - 1);
	run[0] = (struct run){ free_from(tree, item.key), item.key - 1 };
	n += run[0].first < item.key;
	run[n] = (struct run){ end + 1, free_to(tree, end) };
	return n + (run[n].last > end);
}

/* ---- entries ---- */

/* The key of a run's entry: runs in the order of their length codes, and then of their places. Two
 * runs of a very wide key space may have the same. */
static u64 entry_key(const struct lengths *lengths, u64 first, u64 last)
{
	u64 place = first > lengths->base ? (first - lengths->base) >> lengths->shift : 0;

	/* The whole key space has the length 0 here, which is 2^64. */
	LATH_ASSERT(first <= last);
	return (u64)gap_code(last - first + 1) << FIRST_BITS | min(place, PLACES - 1);
}

/* The shortest length with this code, less 1. */
static u64 least_of(unsigned int code)
{
	unsigned int k = (code - 1) >> 9;
	u64 digits = 512 | ((code - 1) & 511);

	LATH_ASSERT(code); /* of no run */
	return (k < 9 ? digits >> (9 - k) : digits << (k - 9)) - 1;
}

/* Many runs have changed, and none was filed: the next search has to file all. */
static void lengths_outdated(struct tree *tree)
{
	WRITE_ONCE(lengths_of(tree)->ready, false);
}

static void file_run(struct lengths *lengths, u64 first, u64 last)
{
	struct lath_item entry = { entry_key(lengths, first, last), 1, first }, there;
	struct fingers kept = lath_fingers;
	int ret = lath_index_insert_item(&lengths->runs, &entry, &there);

	/* without all runs it is not asked any more: the summaries still find every hole */
	if (ret == -ENOMEM)
		WRITE_ONCE(lengths->incomplete, true);
	/* two runs with one key: one of them has no entry, so the order is not complete any more */
	else if (ret && there.value != first)
		WRITE_ONCE(lengths->crowded, true);
	restore_fingers(kept);
}

/* Remove the entry of the run [first, last], if there is one. */
static void drop_run(struct lengths *lengths, u64 first, u64 last)
{
	struct fingers kept = lath_fingers;

	lath_index_erase_if(&lengths->runs, entry_key(lengths, first, last), first, NULL);
	restore_fingers(kept);
}

/* File the runs at key, until they are those that were filed; *first is the first one then. */
static void file_at(struct tree *tree, struct lengths *lengths, u64 key, struct run *first)
{
	struct run run[2], filed[2];
	unsigned int n = runs_at(tree, key, run), of = 0, i;

	LATH_ASSERT(lath_reader_inside(tree->rcu));
	/* another thread may have changed the runs before they were filed: then it
	 * found no entries to remove, so look at the runs again */
	while (n != of || memcmp(run, filed, n * sizeof(*run))) {
		for (i = 0; i < n; i++)
			file_run(lengths, run[i].first, run[i].last);
		memcpy(filed, run, n * sizeof(*run));
		of = n;
		lath_delay("runs filed, not yet looked at again");
		n = runs_at(tree, key, run);
	}
	if (n)
		*first = run[0];
}

/*
 * A thread removes the entries of runs that it saw. By then they may be there again, for other
 * threads erase and insert; and runs that begin at the same key and have the same code share an
 * entry. So whoever removes the entry of a run looks afterwards at its first key, and files what is
 * there now.
 */

static void lengths_inserted(struct tree *tree, u64 key, u64 size)
{
	struct lengths *lengths = lengths_of(tree);
	struct run now = { 1, 0 };
	u64 from;

	call_enter(tree);
	/* the item is there already: what was free with it begins where the item before ends */
	from = free_from(tree, key);
	drop_run(lengths, from, free_to(tree, key + (size - 1)));
	file_at(tree, lengths, key, &now);
	/* the run before it is another one than the item's neighbour by now */
	if (from < now.first || from > now.last)
		file_at(tree, lengths, from, &now);
	call_exit(tree);
}

/* Remove the entries of the runs in [key, end]. Returns the first key of the first of them. */
static u64 lengths_storing(struct tree *tree, u64 key, u64 end)
{
	struct lengths *lengths = lengths_of(tree);
	u64 first, from;

	call_enter(tree);
	for (first = from = free_from(tree, key); from <= end;) {
		struct lath_item item = { KEY_MAX, 1, 0 };
		bool more = !lath_overlap_item(tree, from, KEY_MAX, &item);

		if (!more || item.key > from)
			drop_run(lengths, from, more ? item.key - 1 : KEY_MAX);
		from = item.key + item.size; /* 0: nothing is behind the item */
		if (!from)
			break;
	}
	call_exit(tree);
	return first;
}

static void lengths_stored(struct tree *tree, u64 first, bool done)
{
	struct run now;

	/* entries were dropped for a change that did not happen */
	if (!done) {
		lengths_outdated(tree);
		return;
	}
	call_enter(tree);
	file_at(tree, lengths_of(tree), first, &now);
	call_exit(tree);
}

/* The runs that were there when the items were. Returns their number, n + 1 at most. */
static unsigned int runs_between(struct tree *tree, const struct lath_item *items, unsigned int n,
				 struct run *run)
{
	u64 from = free_from(tree, items[0].key), to;
	unsigned int i, found = 0;

	for (i = 0; i < n; i++) {
		LATH_ASSERT(!i || items[i - 1].key < items[i].key);
		if (from < items[i].key)
			run[found++] = (struct run){ from, items[i].key - 1 };
		to = items[i].key + (items[i].size - 1);
		from = to + 1;
	}
	to = free_to(tree, from - 1);
	if (from && to >= from)
		run[found++] = (struct run){ from, to };
	return found;
}

static void lengths_erased(struct tree *tree, const struct lath_item *items, unsigned int n)
{
	struct lengths *lengths = lengths_of(tree);
	struct run run[WATCH_ERASED + 1], now = { 1, 0 };
	unsigned int found, i;

	call_enter(tree);
	found = runs_between(tree, items, n, run);
	for (i = 0; i < found; i++)
		drop_run(lengths, run[i].first, run[i].last);
	file_at(tree, lengths, items[0].key, &now);
	for (i = 0; i < found; i++)
		if (run[i].first < now.first || run[i].first > now.last)
			file_at(tree, lengths, run[i].first, &now);
	call_exit(tree);
}

/* ---- as a watcher ---- */

/* Is each run filed? If not, *missing is one. No thread changes the tree. */
static bool lengths_check(struct tree *tree, struct lath_item *missing)
{
	struct lengths *lengths = lengths_of(tree);
	struct lath_item item, entry;
	bool more = true;
	u64 key = 0;

	if (!lath_lengths_ready(tree))
		return true;
	while (more) {
		u64 last = KEY_MAX;

		lath_reader_enter(tree->rcu);
		more = !lath_overlap_item(tree, key, KEY_MAX, &item);
		lath_reader_exit(tree->rcu);
		if (more)
			last = item.key - 1; /* wraps if key is 0 and the item begins there */
		if ((!more || item.key > key) &&
		    lath_index_lookup_item(&lengths->runs, entry_key(lengths, key, last), &entry)) {
			*missing = (struct lath_item){ key, last - key + 1, 0 };
			return false;
		}
		last = item.key + (item.size - 1);
		more = more && last < KEY_MAX;
		key = last + 1;
	}
	return true;
}

static void unmake(struct tree *tree, struct lengths *lengths)
{
	lath_index_fini(&lengths->runs, NULL, NULL);
	lath_tree_block_free(tree, lengths, sizeof(*lengths));
}

static void lengths_end(struct tree *tree)
{
	unmake(tree, lengths_of(tree));
	tree->watcher = NULL;
}

static u64 lengths_bytes(struct tree *tree)
{
	return sizeof(struct lengths) + lath_tree_bytes(tree_of(&lengths_of(tree)->runs));
}

static const struct watch_calls lengths_calls = {
	.inserted = lengths_inserted,
	.erased = lengths_erased,
	.storing = lengths_storing,
	.stored = lengths_stored,
	.filled = lengths_outdated,
	.bytes = lengths_bytes,
	.check = lengths_check,
	.end = lengths_end,
};

/* ---- making it ---- */

/* Choose how first keys are mapped to places: one to one where no key in use is beyond 2^48, else
 * so that the keys in use may spread 256 times as far. */
static void choose_places(struct tree *tree, struct lengths *lengths)
{
	struct lath_item first = { 0 }, last = { 0 };
	u64 room;

	call_enter(tree);
	lath_overlap_item(tree, 0, KEY_MAX, &first);
	lath_floor_item(tree, KEY_MAX, &last);
	call_exit(tree);
	/* base and shift 0: the place is the key itself */
	if (last.key < PLACES / 2)
		return;
	room = max(last.key - first.key, 1ull << 32);
	room = min(room, 1ull << 55) << 8;
	lengths->base = first.key - min(first.key, room);
	room = last.key - lengths->base + min(room, KEY_MAX - last.key);
	lengths->shift = room < PLACES ? 0 : fls64(room) - FIRST_BITS;
}

/* Returns an empty second index, or NULL. */
static struct lengths *make(struct tree *tree)
{
	struct lengths *lengths = lath_tree_block_alloc(tree, sizeof(*lengths), PAGES_PRESENT);
	struct lath_config config = LATH_CONFIG_INIT;

	if (!lengths)
		return NULL;
	memset(lengths, 0, sizeof(*lengths));
	lengths->watcher.calls = &lengths_calls;
	lath_turn_init(&lengths->filing);
	choose_places(tree, lengths);
	config.layout = LATH_POINTS;
	config.rcu = tree->rcu;
	config.allocator = tree->allocator.alloc ? &tree->allocator : NULL;
	config.flags = tree->flags & LATH_NODE_EACH;
	if (!lath_index_init(&lengths->runs, &config))
		return lengths;
	lath_tree_block_free(tree, lengths, sizeof(*lengths));
	return NULL;
}

/* Returns the second index of the tree, made now if it has none; NULL without memory. */
static struct lengths *obtain(struct tree *tree)
{
	struct lengths *lengths = lengths_of(tree), *fresh;

	if (lengths)
		return lengths;
	fresh = make(tree);
	if (!fresh)
		return lengths_of(tree); /* another thread may have had memory */
	/* from here on changes are told; those that are running are seen by file_all() */
	lath_call_enter();
	lengths = container_of(watcher_register(tree, &fresh->watcher), struct lengths, watcher);
	lath_call_exit();
	if (lengths != fresh) /* another thread was faster */
		unmake(tree, fresh);
	return lengths;
}

/* File all runs of the tree. */
static void file_all(struct tree *tree, struct lengths *lengths)
{
	struct lath_item item;
	bool more = true;
	struct run now;
	u64 key = 0, end;

	while (more) {
		call_enter(tree);
		more = !lath_overlap_item(tree, key, KEY_MAX, &item);
		if (!more || item.key > key) /* a run is in front of the item */
			file_at(tree, lengths, key, &now);
		call_exit(tree);
		end = item.key + (item.size - 1);
		more = more && end < KEY_MAX;
		key = end + 1;
	}
}

bool lath_lengths_ready(struct tree *tree)
{
	struct lengths *lengths = lengths_of(tree);

	/* pairs with lath_lengths_consider */
	return lengths && smp_load_acquire(&lengths->ready) && !READ_ONCE(lengths->incomplete) &&
	       !READ_ONCE(lengths->crowded);
}

void lath_lengths_consider(struct tree *tree, u64 nodes)
{
	struct lengths *lengths;

	/* cheap searches need none; in shared memory its functions would be another process's */
	if (nodes < lath_lengths_least || tree->shared_allocator || lath_lengths_ready(tree))
		return;
	lengths = obtain(tree);
	/* one thread files; the others search by summaries in the meantime */
	if (!lengths || READ_ONCE(lengths->crowded) || !lath_turn_trylock(&lengths->filing))
		return;
	LATH_ASSERT(lath_turn_held(&lengths->filing));
	WRITE_ONCE(lengths->incomplete, false);
	/* a call that changed the tree and saw no second index: the change is visible from here */
	lath_fence_threads();
	file_all(tree, lengths);
	smp_store_release(&lengths->ready, true); /* pairs with lath_lengths_ready */
	lath_turn_unlock(&lengths->filing);
}

/* ---- a search ---- */

struct best {
	const struct lath_hole_request *want;
	u64 low, last; /* the limits */
	bool outside;  /* a run was not inside them */
	bool some;
	u64 room; /* last - first of the run */
	u64 key;
};

/* Consider the free run [first, last], which is inside the limits. */
static void consider_run(struct best *best, u64 first, u64 last)
{
	u64 size = best->want->size, align = best->want->align ? best->want->align - 1 : 0;
	u64 key = (first + align) & ~align, room = last - first;

	LATH_ASSERT(first <= last && first >= best->low && last <= best->last);
	if (key < first || key > last || last - key < size - 1)
		return;
	if (best->some && (room > best->room || (room == best->room && key > best->key)))
		return;
	best->some = true;
	best->room = room;
	best->key = key;
}

/* Consider the runs that reach over a limit, as far as they are inside. */
static void consider_ends(struct tree *tree, struct best *best)
{
	u64 low = best->low, last = best->last, from, to;

	/* the entry of such a run has its whole length, so the order does not find its part */
	if (low && free_from(tree, low) < low) {
		to = free_to(tree, low - 1);
		if (to >= low)
			consider_run(best, low, min(to, last));
	}
	if (last < KEY_MAX && free_to(tree, last) > last) {
		from = free_from(tree, last + 1);
		if (from >= low && from <= last)
			consider_run(best, from, last);
	}
}

/* Is the entry's run still there? If not, correct the entry. */
static bool entry_true(struct tree *tree, struct lengths *lengths, const struct lath_item *entry,
		       struct run *run)
{
	u64 first = entry->value;
	struct run at[2];

	if (runs_at(tree, first, at) && at[0].first == first &&
	    entry->key == entry_key(lengths, first, at[0].last)) {
		*run = at[0];
		return true;
	}
	lath_index_erase_if(&lengths->runs, entry->key, first, NULL);
	/* an entry that was removed may have been another run's by then: file what is there */
	file_at(tree, lengths, first, run);
	return false;
}

/* Consider the run of an entry. Returns true if it is the best of all: none is shorter. */
static bool consider_entry(struct best *best, const struct lath_item *entry, const struct run *run)
{
	if (run->first < best->low || run->last > best->last) {
		best->outside = true;
		return false;
	}
	consider_run(best, run->first, run->last);
	return best->some && best->key >= run->first && best->key <= run->last &&
	       best->room == least_of((unsigned int)(entry->key >> FIRST_BITS));
}

/* Consider at most MOST_RUNS runs in the order of their lengths, from `length` on. Returns true if
 * the best one is known, or that there is none. */
static bool consider_runs(struct tree *tree, struct lengths *lengths, u64 length, struct best *best,
			  u64 *looks)
{
	u64 begin = (u64)gap_code(length) << FIRST_BITS, from = begin;
	unsigned int runs;

	for (runs = 0; runs < MOST_RUNS;) {
		struct lath_item entry;
		struct run run;

		if (lath_index_ceiling_item(&lengths->runs, from, &entry) ||
		    (best->some && entry.key >> FIRST_BITS > gap_code(best->room + 1)))
			return true;
		++*looks;
		if (!entry_true(tree, lengths, &entry, &run)) {
			from = begin;
			continue; /* the entry is gone: not counted */
		}
		runs++;
		if (consider_entry(best, &entry, &run) || entry.key == KEY_MAX)
			return true;
		from = entry.key + 1;
	}
	return false;
}

enum lengths_result lath_lengths_find(struct tree *tree, const struct lath_hole_request *want,
				      u64 low, u64 last, u64 *key, u64 *looks)
{
	u64 size = want->size, align = want->align ? want->align - 1 : 0;
	struct best best = { .want = want, .low = low, .last = last };
	struct lengths *lengths = lengths_of(tree);

	bool done;

	LATH_ASSERT(lengths && low <= last && !(align & (align + 1)));
	/* runs that reach over a limit are not in the order of their lengths inside */
	consider_ends(tree, &best);
	done = consider_runs(tree, lengths, size, &best, looks);
	if (!done && align) /* there are many runs of that size: the sum does not overflow */
		done = consider_runs(tree, lengths, size + align, &best, looks);
	if (!done && best.outside)
		return LENGTHS_OUTSIDE;
	*key = best.key;
	return best.some ? LENGTHS_FOUND : LENGTHS_NONE;
}
#endif
