/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * chain.h - the records of one key.
 */
#ifndef LATH_VERSION_CHAIN_H
#define LATH_VERSION_CHAIN_H

#include "set/version/snapshot.h"

/* Returns the record that a snapshot, or with at == NULL the present, shows of a key with this
 * head; 0: none. In a section. */
u64 chain_see(struct versions_set *set, u64 head, const struct snapshot *at);

/* The live head will be replaced or erased: give the record below it its end. In a section. */
void chain_end_below(struct versions_set *set, u64 head);

/* `older` was replaced by `newer`, or with newer == 0 erased, by this thread. Both have their
 * times. Keep it for a snapshot, or let it leave. In a call and in a section. */
void chain_replaced(struct versions_set *set, u64 newer, u64 older);

/* Judge at most `most` records that released snapshots had needed. Returns whether there were as
 * many. In a call and in a section. */
bool chain_settle(struct versions_set *set, unsigned int most);
/* Judge some of them, and call it later for the others. */
void chain_settle_later(struct lath_later *later);

/* Keep callbacks from judging records until chain_go_on(). Waits for one that is at work: not in a
 * section. */
void chain_hold(struct versions_set *set);
void chain_go_on(struct versions_set *set);

/* Wait until all records that left were freed. No snapshot is held, no other call is made. */
void chain_drain(struct versions_set *set);

#endif /* LATH_VERSION_CHAIN_H */
