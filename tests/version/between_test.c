/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * between_test.c - calls on a set with snapshots between the steps of another call.
 *
 * The set is built with its delay points: where a change has found its key, where its record is the
 * head and has no time yet, where that time is read, where a record that leaves is marked and still
 * in its chain, and where the link to it is read, the hook does what another thread might do there.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/must.h"
#include "lathwork/versions.h"

#define FOUND "key found, not yet changed"
#define CHANGED "changed, without a time"
#define GIVING "time read, not yet given"
#define LINKED "link read, not yet cut"
#define MARKED "marked, still in the chain"

extern void (*lath_delay_hook)(const char *point);

static struct record {
	struct lath_version version;
	char key[8];
	unsigned int returned; /* how often it was handed back */
} r[8], more[16];	       /* those of r have one key, those of `more` others */

static struct lath_versions set;
static struct lath_snapshot one, two, three;
static const struct lath_bytes_key key = { "key", 3, 0 };
static const char *where; /* the point at which the hook does something; NULL: no more */
static void (*hook)(void);

static void key_of(void *ctx, uint64_t value, struct lath_bytes_key *of)
{
	const struct record *record = (const struct record *)(uintptr_t)value;

	(void)ctx;
	*of = key;
	if (*record->key)
		*of = (struct lath_bytes_key){ record->key, 1, 0 };
}

static void give_back(void *ctx, void *record)
{
	struct record *back = record;

	(void)ctx;
	/* who comes here afterwards sees neither its time nor what is below it */
	memset(&back->version, 0, sizeof(back->version));
	back->returned++;
}

/* What a snapshot shows, NULL: the present. */
static void *shown(const struct lath_snapshot *at)
{
	void *found;

	return lath_versions_get(&set, at, &key, &found) ? found : NULL;
}

static void disturb(const char *point)
{
	if (!where || strcmp(point, where) != 0)
		return;
	where = NULL;
	hook();
}

static void begin_in(const struct lath_rcu *rcu, void (*what)(void))
{
	struct lath_config config = LATH_CONFIG_INIT;
	struct lath_versions_records records = { key_of, give_back, NULL,
						 offsetof(struct record, version), 0 };

	memset(r, 0, sizeof(r));
	memset(more, 0, sizeof(more));
	config.rcu = rcu;
	MUST(!lath_versions_init(&set, &records, &config));
	where = NULL;
	hook = what;
	lath_delay_hook = disturb;
}

static void begin(void (*what)(void))
{
	begin_in(&lath_rcu_single, what); /* callbacks run when the test says so */
}

/* The end: nothing is held, and the records up to `last` were handed back once, each. */
static void end(unsigned int last)
{
	unsigned int i;

	MUST(!where); /* the hook has run */
	for (i = 0; i < 4; i++)
		lath_rcu_single.drain();
	MUST(!lath_versions_verify(&set, NULL, 0));
	for (i = 0; i <= last; i++)
		MUST(r[i].returned == 1);
	lath_versions_fini(&set);
}

/* ---- a key is erased while what a snapshot had needed is still in its chain ---- */

static void take_and_put(void)
{
	lath_snapshot_take(&set, &two);
	MUST(!lath_versions_insert(&set, &r[2], NULL));
}

static void put_more(unsigned int from)
{
	unsigned int i;

	for (i = 0; i < 8; i++) {
		more[from + i].key[0] = (char)('A' + i);
		MUST(!lath_versions_put(&set, &more[from + i], NULL));
	}
}

static void erase_over_rest(void)
{
	begin(take_and_put);
	MUST(!lath_versions_put(&set, &r[0], NULL));
	put_more(0);
	lath_snapshot_take(&set, &one);
	MUST(!lath_versions_put(&set, &r[1], NULL)); /* the snapshot shows r[0] */
	put_more(8);
	/* r[0] waits to be judged, behind the others: a change judges two */
	lath_snapshot_release(&set, &one);
	where = MARKED;
	MUST(!lath_versions_erase(&set, &key, NULL));
	/* the key was erased when the second snapshot was taken, and has r[2] now */
	MUST(!shown(&two));
	MUST(shown(NULL) == &r[2]);
	lath_snapshot_release(&set, &two);
	end(1);
}

/* ---- a snapshot is taken while a record has no time ---- */

static void take_and_look(void)
{
	lath_snapshot_take(&set, &one);
	MUST(shown(&one) == &r[0]);
	MUST(shown(NULL) == &r[1]);
}

static void look_and_take(void)
{
	MUST(shown(NULL) == &r[1]);
	lath_snapshot_take(&set, &one);
	MUST(shown(&one) == &r[1]);
}

static void put_beside_take(void (*what)(void), unsigned int wanted)
{
	begin(what);
	MUST(!lath_versions_put(&set, &r[0], NULL));
	where = CHANGED;
	MUST(!lath_versions_put(&set, &r[1], NULL));
	MUST(shown(&one) == &r[wanted]);
	MUST(!lath_versions_put(&set, &r[2], NULL));
	MUST(shown(&one) == &r[wanted]);
	lath_snapshot_release(&set, &one);
	end(1);
}

static void take_and_miss(void)
{
	MUST(!shown(NULL));
	lath_snapshot_take(&set, &one);
	MUST(!shown(&one));
}

static void take_and_see(void)
{
	lath_snapshot_take(&set, &one);
	MUST(shown(&one) == &r[0]);
}

static void erase_beside_take(void (*what)(void), unsigned int shows)
{
	begin(what);
	MUST(!lath_versions_put(&set, &r[0], NULL));
	where = CHANGED;
	MUST(!lath_versions_erase(&set, &key, NULL));
	MUST(!shown(NULL));
	MUST(shown(&one) == (shows ? &r[0] : NULL));
	lath_snapshot_release(&set, &one);
	end(0);
}

/* ---- the key changes after it was found ---- */

static struct record *other;

static void put_other(void)
{
	MUST(!lath_versions_put(&set, other, NULL));
}

static void erase_it(void)
{
	MUST(!lath_versions_erase(&set, &key, NULL));
}

static void change_after_find(void)
{
	void *there = NULL;

	begin(put_other);
	other = &r[7];
	where = FOUND;
	MUST(lath_versions_insert(&set, &r[0], &there) == -EEXIST && there == &r[7]);
	where = FOUND;
	hook = erase_it;
	MUST(lath_versions_replace(&set, &r[0], &there) == -ENOENT);
	MUST(!lath_versions_put(&set, &r[0], &there) && !there);
	where = FOUND;
	hook = put_other;
	other = &r[6];
	MUST(lath_versions_erase_if(&set, &r[0], &there) == -EAGAIN && there == &r[6]);
	where = FOUND;
	hook = erase_it;
	MUST(lath_versions_erase(&set, &key, NULL) == -ENOENT);
	end(0);
}

/* ---- two records leave one chain ---- */

static void replace_again(void)
{
	MUST(!lath_versions_put(&set, &r[4], NULL));
	MUST(!lath_versions_put(&set, &r[5], NULL));
}

static void leave_together(void)
{
	begin(replace_again);
	MUST(!lath_versions_put(&set, &r[0], NULL));
	lath_snapshot_take(&set, &one);
	MUST(!lath_versions_put(&set, &r[1], NULL));
	MUST(!lath_versions_put(&set, &r[2], NULL)); /* r[1] leaves the middle of the chain */
	where = MARKED;
	MUST(!lath_versions_put(&set, &r[3],
				NULL)); /* r[2] leaves; r[4] and r[5] come in the meantime */
	MUST(shown(&one) == &r[0]);
	MUST(shown(NULL) == &r[5]);
	MUST(!lath_versions_verify(&set, NULL, 0));
	lath_snapshot_release(&set, &one);
	end(4);
}

/* ---- a record that ends when a snapshot is taken ---- */

/* The second snapshot shows what came at its own time, so it needs nothing of before: that goes
 * back when the first one is released, not when the second is. */
static void needed_by_one(void)
{
	unsigned int i;

	begin(NULL);
	MUST(!lath_versions_put(&set, &r[0], NULL));
	lath_snapshot_take(&set, &one);
	MUST(!lath_versions_put(&set, &r[1], NULL));
	lath_snapshot_take(&set, &two);
	MUST(shown(&one) == &r[0] && shown(&two) == &r[1]);
	lath_snapshot_release(&set, &one);
	put_more(0); /* changes judge what was held */
	for (i = 0; i < 4; i++)
		lath_rcu_single.drain();
	MUST(r[0].returned == 1 && !r[1].returned);
	lath_snapshot_release(&set, &two);
	end(0);
}

/* ---- a record leaves while the one above it does ---- */

/* A grace period of which the test says when it is over. */
static struct lath_rcu_head *retired;

static void retire(struct lath_rcu_head *head, void (*func)(struct lath_rcu_head *head))
{
	head->func = func;
	head->next = retired;
	retired = head;
}

static void no_wait(void)
{
}

static void period_end(void)
{
	while (retired) {
		struct lath_rcu_head *head = retired;

		retired = head->next;
		head->func(head);
	}
}

static const struct lath_rcu manual = { .name = "manual",
					.call = retire,
					.synchronize = no_wait,
					.drain = period_end };

static pthread_t aside;
static __thread bool is_aside;
static sem_t reached, go_on;

/* The other thread waits where its record is marked. */
static void wait_marked(const char *point)
{
	if (!is_aside) {
		disturb(point);
		return;
	}
	if (strcmp(point, MARKED) != 0)
		return;
	is_aside = false;
	sem_post(&reached);
	sem_wait(&go_on);
}

static void *put_aside(void *arg)
{
	is_aside = true;
	MUST(!lath_versions_put(&set, &r[4], NULL));
	return arg;
}

static void begin_aside(void)
{
	MUST(!pthread_create(&aside, NULL, put_aside, NULL));
	sem_wait(&reached);
}

/* The link to r[2] is in r[3], and cannot be cut there any more when r[3] leaves too: then r[2] has
 * to be cut from what is above, before its memory may go back. A reader that begins now waits for
 * no grace period. */
static void leave_beside_head(void)
{
	begin_in(&manual, begin_aside);
	sem_init(&reached, 0, 0);
	sem_init(&go_on, 0, 0);
	lath_delay_hook = wait_marked;
	MUST(!lath_versions_put(&set, &r[0], NULL));
	lath_snapshot_take(&set, &one);
	MUST(!lath_versions_put(&set, &r[1], NULL));
	MUST(!lath_versions_put(&set, &r[2], NULL));
	where = LINKED;
	MUST(!lath_versions_put(&set, &r[3], NULL)); /* r[2] leaves, and r[3] before it has */
	period_end();
	MUST(r[2].returned == 1 && !r[3].returned);
	MUST(shown(&one) == &r[0]);
	MUST(shown(NULL) == &r[4]);
	sem_post(&go_on);
	MUST(!pthread_join(aside, NULL));
	MUST(!where);
	lath_snapshot_release(&set, &one);
	period_end();
	MUST(!lath_versions_verify(&set, NULL, 0));
	lath_versions_fini(&set);
	MUST(r[3].returned == 1 && r[4].returned == 1);
}

/* ---- a record is judged by the time of a head that has none yet ---- */

static void take_third(void)
{
	lath_snapshot_take(&set, &three);
	MUST(!shown(&three)); /* which gives the head its time, behind the snapshot's */
}

static void judge_now(void)
{
	where = GIVING;
	hook = take_third;
	period_end();
}

/* r[1], which was erased, hides r[0] from a snapshot that is taken while r[1] is judged. */
static void judge_beside_take(void)
{
	begin_in(&manual, judge_now);
	MUST(!lath_versions_put(&set, &r[0], NULL));
	lath_snapshot_take(&set, &one);
	MUST(!lath_versions_put(&set, &r[1], NULL));
	lath_snapshot_take(&set, &two);
	MUST(!lath_versions_erase(&set, &key, NULL));
	lath_snapshot_release(&set, &two);
	where = CHANGED;
	MUST(!lath_versions_put(&set, &r[2], NULL));
	MUST(!where);
	MUST(!shown(&three));
	MUST(shown(&one) == &r[0] && shown(NULL) == &r[2]);
	lath_snapshot_release(&set, &one);
	lath_snapshot_release(&set, &three);
	period_end();
	MUST(!lath_versions_verify(&set, NULL, 0));
	lath_versions_fini(&set);
	MUST(r[0].returned == 1 && r[1].returned == 1);
}

int main(void)
{
	erase_over_rest();
	needed_by_one();
	put_beside_take(take_and_look, 0);
	put_beside_take(look_and_take, 1);
	erase_beside_take(take_and_see, 1);
	erase_beside_take(take_and_miss, 0);
	change_after_find();
	leave_together();
	leave_beside_head();
	judge_beside_take();
	printf("%u faults\n", faults);
	return faults != 0;
}
