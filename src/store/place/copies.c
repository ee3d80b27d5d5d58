/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* copies.c - copies of values that are elsewhere, or that others may change. */
#include "store/memory/reason.h"
#include "store/place/place.h"

#include <stdlib.h>

struct copies {
	struct lath_rcu_head rcu;
	u64 spare; /* aligns the data to 16 bytes, as malloc() does blocks */
	u8 data[];
};

static void copies_free(struct lath_rcu_head *head)
{
	lath_retired();
	free(container_of(head, struct copies, rcu));
	lath_retired_end();
}

/* Returns the room a value needs in the block of copies: none if it fits in its ref. */
static u64 room_of(const struct lath_store_ref *ref)
{
	return ref->data && ref->size > sizeof(ref->small) ? (ref->size + 7) & ~7ull : 0;
}

/* unreached: chance decides whether there is memory */
int lath_refs_copy(struct lath_store_ref *refs, size_t n, struct copies **out)
{
	struct copies *copies;
	u64 size = 0, at = 0;
	size_t i;

	*out = NULL;
	for (i = 0; i < n; i++) {
		u64 room = room_of(&refs[i]);

		size += room;
		if (!room && refs[i].data && refs[i].data != refs[i].small) {
			memcpy(refs[i].small, refs[i].data, refs[i].size);
			refs[i].data = refs[i].small;
		}
	}
	if (!size) /* all values are short: in the refs themselves */
		return 0;
	copies = memory_refused() ? NULL : malloc(sizeof(*copies) + size);
	if (!copies)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		u64 room = room_of(&refs[i]);

		if (!room)
			continue;
		memcpy(copies->data + at, refs[i].data, refs[i].size);
		refs[i].data = copies->data + at;
		at += room;
	}
	LATH_ASSERT(at == size);
	*out = copies;
	return 0;
}

void lath_copies_keep(struct lath_store *store, struct copies *copies)
{
	LATH_ASSERT(lath_reader_inside(store->rcu) || !copies);
	if (copies) /* retired now, freed when the caller's section has ended */
		lath_retire(store->rcu, &copies->rcu, copies_free);
}
