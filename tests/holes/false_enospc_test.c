/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * false_enospc_test.c - -ENOSPC is said only when it is true, while other threads free, take and
 * move.
 *
 *   permits   as many permits as slots (slots.h). A thread has one from before it takes a slot
 *             until after it freed it, so during each search one slot at least is free at every
 *             moment, most often one only, and always another one. No search may say -ENOSPC
 *   history   no permits: most requests are refused. When each call began and ended is recorded. A
 *             slot is surely free from when the call that freed it returned until the next one that
 *             takes it is called. If at every moment of a call that said -ENOSPC some slot was
 *             surely free, the answer was wrong; for EXACT, if that slot was
 *
 * The other threads insert and erase fillers: leaves are split and merged all the time, and more so
 * with nodes of four (hole_false_enospc_tiny). Threads wait at delay points now and then.
 * false_enospc_test; LATH_LONG=1: a hundred times more.
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>

#include "base/must.h"
#include "slots.h"

extern void (*lath_delay_hook)(const char *point);

#define THREADS 4u
#define SLOTS 48u

#ifdef LATH_FEW_STEPS
#define CALLS 1000u
#else
#define CALLS 8000u /* of each thread */
#endif

enum kind { TAKE, REFUSED, REFUSED_EXACT, FREE };

/* A call, for the history. */
struct call {
	enum kind kind;
	unsigned int slot;
	uint64_t called, returned;
};

struct worker {
	unsigned int id;
	unsigned int count; /* slots held */
	struct lath_item held[SLOTS];
	struct call *calls; /* NULL: with permits */
	size_t recorded;
	unsigned long taken, refused;
};

static unsigned long steps = CALLS;
static long permits;
static uint64_t clock_now;

static void wait_here(const char *point)
{
	(void)point;
	if (!below(64))
		sched_yield();
	if (!below(4096))
		poll(NULL, 0, 1);
}

static uint64_t tick(void)
{
	return __atomic_fetch_add(&clock_now, 1, __ATOMIC_SEQ_CST);
}

static void record(struct worker *w, enum kind kind, unsigned int slot, uint64_t called)
{
	uint64_t returned = tick();

	if (w->calls)
		w->calls[w->recorded++] = (struct call){ kind, slot, called, returned };
}

static bool get_permit(void)
{
	long left = __atomic_load_n(&permits, __ATOMIC_ACQUIRE);

	while (left > 0)
		if (__atomic_compare_exchange_n(&permits, &left, left - 1, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			return true;
	return false;
}

static void put_permit(void)
{
	__atomic_fetch_add(&permits, 1, __ATOMIC_RELEASE);
}

static void free_one(struct worker *w)
{
	unsigned int i = (unsigned int)below(w->count);
	struct lath_item item = w->held[i];
	uint64_t called = tick();

	w->held[i] = w->held[--w->count];
	if (!slots_free(item.key, item.size))
		FAULT("what was in slot %u is gone\n", slot_of(item.key));
	record(w, FREE, slot_of(item.key), called);
	if (!w->calls)
		put_permit();
}

static void refused(struct worker *w, const struct lath_hole_request *want, uint64_t called)
{
	bool exact = want->policy == LATH_HOLE_EXACT;

	w->refused++;
	record(w, exact ? REFUSED_EXACT : REFUSED, slot_of(want->hint), called);
	if (!w->calls)
		FAULT("no room for policy %d, size %llu, align %llu, hint %llu, below %llu\n",
		      (int)want->policy, (unsigned long long)want->size,
		      (unsigned long long)want->align, (unsigned long long)want->hint,
		      (unsigned long long)want->below);
}

static void take_one(struct worker *w)
{
	unsigned int policy = (unsigned int)below(w->calls ? POLICIES + 1 : POLICIES);
	struct lath_hole_request want =
		slots_request((enum lath_hole_policy)policy, (unsigned int)below(SLOTS));
	bool find = !below(8);
	struct lath_item item = { 0, want.size, 1 };
	uint64_t called;
	int ret;

	if (!w->calls && !get_permit())
		return;
	called = tick();
	ret = find ? lath_index_find_hole(&list, &want, &item.key)
		   : lath_index_insert_hole(&list, &want, item.value, &item.key);
	if (ret == -ENOSPC)
		refused(w, &want, called);
	else if (ret)
		FAULT("a search said %d\n", ret);
	if (ret || find) {
		if (!w->calls)
			put_permit();
		return;
	}
	record(w, TAKE, slot_of(item.key), called);
	if (item.key % STRIDE + item.size > SLOT || item.key % want.align)
		FAULT("%llu is not a place\n", (unsigned long long)item.key);
	w->held[w->count++] = item;
	w->taken++;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	unsigned long i;

	random_state = w->id + 1;
	for (i = 0; i < steps && !__atomic_load_n(&faults, __ATOMIC_RELAXED); i++) {
		if (!below(4)) /* its own fillers */
			slots_churn((unsigned int)below(SLOTS / THREADS) * THREADS + w->id);
		else if (w->count && below(8) < 3)
			free_one(w);
		else if (w->count < SLOTS)
			take_one(w);
	}
	return NULL;
}

/* ---- the history ---- */

/* What happened at a tick. */
struct event {
	const struct call *call;
	bool returned;
};

struct history {
	unsigned int taken[SLOTS];  /* ranges that may be in the slot */
	uint64_t free_since[SLOTS]; /* surely; if none is taken */
	unsigned int surely_free;   /* slots */
	uint64_t last_full,
		last_free;	      /* ticks after which no slot, or some slot, was surely free */
	unsigned long refused, close; /* close: some slot was, for a part of the call */
};

static void judge(struct history *h, const struct call *call, uint64_t now)
{
	h->refused++;
	h->close += h->last_free >= call->called;
	if (call->kind == REFUSED && h->last_full < call->called)
		FAULT("refused, called at %llu, returned at %llu: some slot was free all the "
		      "time\n",
		      (unsigned long long)call->called, (unsigned long long)now);
	if (call->kind == REFUSED_EXACT && !h->taken[call->slot] &&
	    h->free_since[call->slot] <= call->called)
		FAULT("slot %u refused, called at %llu, returned at %llu: free since %llu\n",
		      call->slot, (unsigned long long)call->called, (unsigned long long)now,
		      (unsigned long long)h->free_since[call->slot]);
}

static void play(struct history *h, const struct event *event, uint64_t now)
{
	const struct call *call = event->call;

	if (event->returned && (call->kind == REFUSED || call->kind == REFUSED_EXACT))
		judge(h, call, now);
	if (call->kind == TAKE && !event->returned && !h->taken[call->slot]++)
		h->surely_free--;
	if (call->kind == FREE && event->returned && !--h->taken[call->slot]) {
		h->free_since[call->slot] = now;
		h->surely_free++;
	}
}

static void check_history(const struct worker *workers)
{
	struct event *events = calloc(clock_now, sizeof(*events));
	struct history h = { .surely_free = SLOTS };
	unsigned int t;
	uint64_t now;
	size_t i;

	if (!events)
		exit(1);
	for (t = 0; t < THREADS; t++) {
		for (i = 0; i < workers[t].recorded; i++) {
			const struct call *call = &workers[t].calls[i];

			events[call->called] = (struct event){ call, false };
			events[call->returned] = (struct event){ call, true };
		}
	}
	for (now = 1; now < clock_now; now++) {
		if (events[now].call)
			play(&h, &events[now], now);
		*(h.surely_free ? &h.last_free : &h.last_full) = now;
	}
	printf("false_enospc_test: %lu of %lu refusals while slots were freed\n", h.close,
	       h.refused);
	if (!h.close)
		FAULT("no slot was freed during a refusal: nothing was tested\n");
	free(events);
}

/* ---- */

static void run(bool with_history, unsigned int flags)
{
	struct worker workers[THREADS] = { 0 };
	unsigned long taken = 0, said = 0;
	pthread_t threads[THREADS];
	unsigned int t;

	if (!slots_init(SLOTS, flags))
		exit(1);
	permits = SLOTS;
	clock_now = 1;
	for (t = 0; t < THREADS; t++) {
		workers[t].id = t;
		if (with_history)
			workers[t].calls = calloc(steps, sizeof(struct call));
		if ((with_history && !workers[t].calls) ||
		    pthread_create(&threads[t], NULL, work, &workers[t]))
			exit(1);
	}
	for (t = 0; t < THREADS; t++) {
		pthread_join(threads[t], NULL);
		taken += workers[t].taken;
		said += workers[t].refused;
	}
	printf("false_enospc_test: %s: %lu taken, %lu refused\n",
	       with_history ? "history" : "permits", taken, said);
	if (with_history)
		check_history(workers);
	if (!taken || (with_history && !said) || !slots_sound())
		FAULT("nothing was tested, or an invariant is broken\n");
	for (t = 0; t < THREADS; t++)
		free(workers[t].calls);
	lath_index_fini(&list, NULL, NULL);
}

int main(void)
{
	unsigned int i;

	if (getenv("LATH_LONG"))
		steps *= 50;
	lath_delay_hook = wait_here;
	for (i = 0; i < 2 && !faults; i++) {
		run(false, i ? LATH_NODE_EACH : 0);
		run(true, i ? LATH_NODE_EACH : 0);
	}
	return faults != 0;
}
