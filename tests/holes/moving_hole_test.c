/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * moving_hole_test.c - a hole that moves while it is searched for.
 *
 * All slots but one are in use (slots.h), and at no moment is there none: the range in another slot
 * is freed first, and then the free slot is taken. A search that meets neither, because one is
 * behind it and the other was taken before it, must not say -ENOSPC.
 *
 *   between   one thread: the hole moves at one delay point of the search after the other, for all
 *             policies and all pairs of slots, and at several of them
 *   held      the thread that frees stops at a delay point, its change half done, until the search
 *             had its time
 *
 * moving_hole_test; LATH_LONG=1: more rounds.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "slots.h"
#include "tree/watch/gap.h"
#include "set/hole/lengths.h"

extern void (*lath_delay_hook)(const char *point);

#define SLOTS 12u

#ifdef LATH_FEW_STEPS
#define ROUNDS 20u
#else
#define ROUNDS 200u
#endif

static unsigned long searches, moves, faults;

static void fault(const char *what, const struct lath_hole_request *want, int ret)
{
	fprintf(stderr,
		"moving_hole_test: %s: policy %d, size %llu, align %llu, hint %llu, below %llu: "
		"%d\n",
		what, (int)want->policy, (unsigned long long)want->size,
		(unsigned long long)want->align, (unsigned long long)want->hint,
		(unsigned long long)want->below, ret);
	faults++;
}

/* Nothing but the slot is free afterwards, and one range is in each of the others; SLOTS: none is
 * free. */
static void leave_free(unsigned int slot)
{
	struct lath_item item;
	unsigned int s;

	for (s = 0; s < SLOTS; s++) {
		bool there = !lath_index_lookup_item(&list, slot_middle(s), &item);

		if (there && item.size == SLOT && s != slot)
			continue;
		lath_index_erase_range(&list, slot_key(s), SLOT, NULL, NULL);
		item = (struct lath_item){ slot_key(s), SLOT, 1 };
		if (s != slot)
			lath_index_insert_item(&list, &item, NULL);
	}
}

/* ---- between two steps of a search ---- */

static struct {
	bool inside;
	unsigned int free;	/* this slot is */
	unsigned int to;	/* this one will be */
	unsigned int after;	/* delay points are passed over before */
	unsigned int often;	/* the hole moves; from the second time on to any slot */
	unsigned int were_free; /* slots that were free at some moment of the search: a mask */
	bool shrink;		/* slots are freed by making what is in them shorter */
	bool moved;
} plan;

/* Does the only thread hold the lock of a node of this tree? */
static bool holds_lock_in(struct tree *tree)
{
	struct node *first = tree->root, *node;

	for (;;) {
		for (node = first; node; node = READ_ONCE(node->right))
			if (READ_ONCE(node->lockword) & NODE_LOCKED)
				return true;
		if (!node_level(first))
			return false;
		first = node_child(first, __ffs64(READ_ONCE(first->live)));
	}
}

/* Of the list, or of its index of the free runs by length? */
static bool holds_lock(void)
{
	struct watcher *watcher = watcher_of(tree_of(&list));
	struct lengths *lengths = watcher ? container_of(watcher, struct lengths, watcher) : NULL;

	return holds_lock_in(tree_of(&list)) || (lengths && holds_lock_in(tree_of(&lengths->runs)));
}

/* Free the slot, or all but a part of it that is too short for a request. */
static bool give(unsigned int slot)
{
	struct lath_item item;

	if (lath_index_lookup_item(&list, slot_middle(slot), &item))
		return false;
	if (plan.shrink && item.size == SLOT)
		return !lath_index_resize(&list, item.key, 1 + below(SLOT - LEAST));
	return slots_free(item.key, item.size);
}

/* Use the slot, or what is free of it, unless the search took it already. */
static void use(unsigned int slot)
{
	struct lath_item item = { slot_key(slot), SLOT, 1 };

	if (!lath_index_insert_item(&list, &item, NULL))
		return;
	item.size = LEAST;
	item.key += SLOT - LEAST;
	lath_index_insert_item(&list, &item, NULL);
}

static void move_hole(const char *point)
{

	(void)point;
	if (plan.inside || !plan.often)
		return;
	if (plan.after) {
		plan.after--;
		return;
	}
	if (holds_lock())
		return;
	plan.inside = true;
	faults += !give(plan.to);
	plan.were_free |= 1u << plan.to;
	if (!below(4))
		slots_churn((unsigned int)below(SLOTS));
	use(plan.free);
	moves++;
	plan.moved = true;
	plan.often--;
	plan.after = (unsigned int)below(8);
	plan.free = plan.to;
	plan.to = (plan.free + 1 + (unsigned int)below(SLOTS - 1)) % SLOTS;
	plan.inside = false;
}

/* One search, while the hole moves. Returns false if the search ended before it could. */
static bool search_once(enum lath_hole_policy policy, unsigned int from, unsigned int to,
			unsigned int after, unsigned int often)
{
	struct lath_hole_request want = slots_request(policy, 0);
	uint64_t key;
	int ret;

	leave_free(from);
	plan.free = from;
	plan.to = to;
	plan.after = after;
	plan.moved = false;
	plan.often = often;
	plan.were_free = 1u << from;
	plan.shrink = !below(3);
	if (plan.shrink) {
		want.size = LEAST;
		want.align = 1;
	}
	ret = below(2) ? lath_index_find_hole(&list, &want, &key)
		       : lath_index_insert_hole(&list, &want, 1, &key);
	plan.often = 0;
	searches++;
	if (ret)
		fault("a hole that moved was missed", &want, ret);
	else if (key % STRIDE + want.size > SLOT || !(plan.were_free >> slot_of(key) & 1))
		fault("what was found was never free", &want, (int)key);
	return plan.moved;
}

static void between(unsigned int flags)
{
	unsigned int policy, from, to, after, i;

	if (!slots_init(SLOTS, flags)) {
		faults++;
		return;
	}
	random_state = 1;
	lath_delay_hook = move_hole;
	for (policy = 0; policy < POLICIES; policy++)
		for (from = 0; from < SLOTS; from++)
			for (to = 0; to < SLOTS && !faults; to++)
				for (after = 0; to != from && !faults; after++)
					if (!search_once((enum lath_hole_policy)policy, from, to,
							 after, 1))
						break;
	for (i = 0; i < ROUNDS * 100 && !faults; i++) {
		from = (unsigned int)below(SLOTS);
		to = (from + 1 + (unsigned int)below(SLOTS - 1)) % SLOTS;
		slots_churn((unsigned int)below(SLOTS));
		search_once((enum lath_hole_policy)below(POLICIES), from, to,
			    (unsigned int)below(30), 1 + (unsigned int)below(6));
	}
	lath_delay_hook = NULL;
	faults += !slots_sound();
	lath_index_fini(&list, NULL, NULL);
}

/* ---- a change that is not done ---- */

/* A change is begun there and not ended, and no lock is held. */
static const char *const points[] = {
	"erased, summaries not yet raised",
	"summaries raised on one level",
	"summaries copied to one level",
	"leaves changed, separators not yet posted",
	"inner node split, right half not yet posted",
};

static _Thread_local const char *stop_at; /* of the thread that frees */
static atomic_bool stopped, go_on, done;
static struct lath_hole_request asked;
static uint64_t found;
static int answer;

static void stop_here(const char *point)
{
	if (!stop_at || strcmp(point, stop_at))
		return;
	stop_at = NULL;
	stopped = true;
	while (!go_on)
		poll(NULL, 0, 1);
}

struct freeing {
	unsigned int slot;
	const char *point;
	uint64_t seed;
};

static void *free_slot(void *arg)
{
	struct freeing *freeing = arg;
	struct lath_item item;
	unsigned int i;

	random_state = freeing->seed;
	if (lath_index_lookup_item(&list, slot_middle(freeing->slot), &item))
		return NULL;
	stop_at = freeing->point;
	lath_index_erase_item(&list, item.key, NULL);
	for (i = 0; i < 50 && stop_at; i++) /* the slot moves from node to node */
		slots_churn((freeing->slot + SLOTS - (unsigned int)below(3)) % SLOTS);
	stop_at = NULL;
	stopped = true;
	return NULL;
}

static void *search_slot(void *arg)
{
	(void)arg;
	answer = lath_index_find_hole(&list, &asked, &found);
	done = true;
	return NULL;
}

/* All slots are in use, and summaries say so. */
static void leave_none(void)
{
	unsigned int policy;
	uint64_t key;

	leave_free(SLOTS);
	for (policy = 0; policy < POLICIES; policy++) {
		asked = slots_request((enum lath_hole_policy)policy, 0);
		asked.align = 1;
		asked.size = LEAST;
		answer = lath_index_find_hole(&list, &asked, &key);
		if (answer != -ENOSPC)
			fault("no slot is free", &asked, answer);
	}
}

/* Returns whether the search waited. */
static bool held_once(const char *point, uint64_t seed)
{
	struct freeing freeing = { (unsigned int)below(SLOTS), point, seed };
	pthread_t frees, asks;
	unsigned int wait;
	bool waited;

	leave_none();
	stopped = go_on = done = false;
	if (pthread_create(&frees, NULL, free_slot, &freeing))
		exit(1);
	while (!stopped)
		poll(NULL, 0, 1);
	asked = slots_request((enum lath_hole_policy)below(POLICIES), 0);
	if (pthread_create(&asks, NULL, search_slot, NULL))
		exit(1);
	for (wait = 0; wait < 2 && !done; wait++)
		poll(NULL, 0, 1);
	waited = !done;
	go_on = true;
	pthread_join(frees, NULL);
	pthread_join(asks, NULL);
	searches++;
	if (answer || slot_of(found) != freeing.slot)
		fault(point, &asked, answer ? answer : (int)found);
	return waited;
}

static void held(void)
{
	unsigned int p, i, waited;

	if (!slots_init(SLOTS, 0)) {
		faults++;
		return;
	}
	random_state = 2;
	lath_delay_hook = stop_here;
	for (p = 0; p < sizeof(points) / sizeof(points[0]); p++) {
		waited = 0;
		for (i = 0; i < ROUNDS / 8 && !faults; i++)
			waited += held_once(points[p], i);
		printf("moving_hole_test: %u searches waited at \"%s\"\n", waited, points[p]);
	}
	lath_delay_hook = NULL;
	faults += !slots_sound();
	lath_index_fini(&list, NULL, NULL);
}

int main(void)
{
	between(0);
	between(LATH_NODE_EACH);
	held();
	printf("moving_hole_test: %lu searches, a hole moved %lu times, %lu faults\n", searches,
	       moves, faults);
	return faults || moves < searches / 2;
}
