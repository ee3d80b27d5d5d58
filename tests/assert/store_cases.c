/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* store_cases.c - runs, slots, records, keys; a shared store; the lock of a file. */
#include "cases.h"

#include <stdlib.h>
#include <unistd.h>

#include "store/file.h"
#include "store/keys.h"
#include "store/runs.h"
#include "store/shm.h"
#include "store/slab.h"
#include "store/value.h"

static struct lath_store *store;
static struct arena *arena;

static void prepare(enum lath_store_keys keys)
{
	struct lath_store_options options = LATH_STORE_OPTIONS_INIT;

	options.keys = keys;
	NEED(!lath_store_open(&store, "mem:", &options));
	arena = &store->arena;
}

static u64 alloc(u64 size)
{
	u64 place;

	prepare(LATH_STORE_NUMBERS);
	NEED(!arena_alloc(arena, size, &place));
	return place;
}

/* The unit of the slab that a place is in. */
static struct unit *slab_of(u64 place)
{
	struct unit *u = &arena->unit[place >> UNIT_SHIFT];

	return u->kind == UNIT_BODY ? u - u->back : u;
}

static void run_linked_unlocked(void)
{
	u64 place = alloc(SLOT_MAX + 1);

	run_link(arena, (u32)(place >> UNIT_SHIFT), 1);
}

static void run_linked_out_of_bounds(void)
{
	prepare(LATH_STORE_NUMBERS);
	runs_lock(arena);
	run_link(arena, arena->fresh_unit, 1);
}

static void run_freed_twice(void)
{
	u64 place = alloc(SLOT_MAX + 1);

	arena_free(arena, place);
	arena_free(arena, place);
}

static void slab_freed_in_use(void)
{
	u64 place = alloc(64);

	run_free(arena, (u32)(slab_of(place) - arena->unit));
}

static void slot_freed_twice(void)
{
	u64 place = alloc(64);

	arena_free(arena, place);
	arena_free(arena, place);
}

static void slot_freed_from_its_middle(void)
{
	u64 place = alloc(64);

	arena_free(arena, place + 8);
}

static void slot_freed_misaligned(void)
{
	u64 place = alloc(64);

	arena_free(arena, place + 4);
}

static void slots_counted_wrong(void)
{
	u64 place = alloc(64);

	arena_shard(arena)->slots[slab_of(place)->class] = 0;
	arena_free(arena, place);
}

static void slab_linked_and_not_marked(void)
{
	u64 place = alloc(64);

	slab_of(place)->flags = 0; /* still in the list of its class */
	arena_alloc(arena, 64, &place);
}

static void slab_full_in_its_list(void)
{
	u64 place = alloc(64);

	slab_of(place)->used = slab_slots(slab_of(place));
	arena_alloc(arena, 64, &place);
}

static void node_misaligned(void)
{
	prepare(LATH_STORE_NUMBERS);
	arena->base += 8;
	arena_node_alloc(arena, 64, 64);
}

static void shard_out_of_bounds(void)
{
	arena_borrow_shard(SHARDS);
}

static void place_misaligned(void)
{
	place_word(12, WORD_RECORD);
}

/* ---- keys ---- */

static void put_outside_a_call(void)
{
	struct lath_store_key key = lath_key_bytes("a key", 5);
	struct place place;

	prepare(LATH_STORE_BYTES);
	NEED(!lath_store_set(store, key, "1", 1));
	place_find(store, key, &place);
	NEED(place.word);
	place_put(store, &place, place.word);
}

static void nothing_put_where_nothing_is(void)
{
	struct place place;

	prepare(LATH_STORE_NUMBERS);
	place_find(store, lath_key_number(7), &place);
	lath_call_enter();
	place_put(store, &place, 0);
}

static void address_of_no_record(void)
{
	struct lath_store_key key = lath_key_bytes("a key", 5);
	struct place place;

	prepare(LATH_STORE_BYTES);
	place_find(store, key, &place);
	lath_call_enter();
	place_put(store, &place, place_word(64, WORD_BARE));
}

/* ---- a shared store; its name is removed at once ---- */

static struct shm *prepare_shared(void)
{
	struct lath_store_options options = LATH_STORE_OPTIONS_INIT;
	char spec[64];

	options.limit = 64ull << 20;
	snprintf(spec, sizeof(spec), "shm:lathwork-assert-%ld", (long)getpid());
	NEED(!lath_store_open(&store, spec, &options));
	NEED(!lath_store_remove(spec, NULL, 0));
	return shm_of(store);
}

static void retire_outside_the_lock(void)
{
	static struct lath_rcu_head head;

	prepare_shared()->own->rcu.call(&head, NULL);
}

static void retire_by_a_reader(void)
{
	static struct lath_rcu_head head;
	struct shm *shm = prepare_shared();

	NEED(!shm_enter(shm, false));
	shm->own->rcu.call(&head, NULL);
}

static void leave_without_enter(void)
{
	shm_leave(prepare_shared());
}

static void leave_in_a_section(void)
{
	struct shm *shm = prepare_shared();

	NEED(!shm_enter(shm, false));
	shm->own->rcu.read_lock();
	shm_leave(shm);
}

static void record_marked_twice(void)
{
	struct shm *shm = prepare_shared();
	struct place place;

	NEED(!lath_store_set(store, lath_key_number(7), "1", 1));
	NEED(!shm_enter(shm, true));
	place_find(shm_inside(store), lath_key_number(7), &place);
	NEED(place.word);
	record_mark(shm_inside(store), place.word, true);
}

static void recovery_without_need(void)
{
	struct shm *shm = prepare_shared();

	NEED(!shm_enter(shm, false));
	shm_recover(shm->head);
}

static void file_locked_twice(void)
{
	struct store_file file = { .name = "x", .lock = 3 };

	file_lock(&file);
}

const struct assert_case store_cases[] = {
	{ "store: run linked, not locked", run_linked_unlocked, "store/runs.c",
	  "runs_locked(arena)" },
	{ "store: run out of bounds", run_linked_out_of_bounds, "store/runs.c",
	  "len <= arena->fresh_unit - first" },
	{ "store: run freed twice", run_freed_twice, "store/arena.c", "u->kind == UNIT_RUN" },
	{ "store: slab freed in use", slab_freed_in_use, "store/runs.c", "!u->used" },
	{ "store: slot freed twice", slot_freed_twice, "store/slab.c", "slab->used &&" },
	{ "store: slot freed from its middle", slot_freed_from_its_middle, "store/slab.c",
	  "% size" },
	{ "store: slot freed misaligned", slot_freed_misaligned, "store/arena.c", "!(place & 7)" },
	{ "store: slots counted wrong", slots_counted_wrong, "store/slab.c",
	  "slab->used <= shard->slots[slab->class]" },
	{ "store: slab in a list, not marked so", slab_linked_and_not_marked, "store/slab.c",
	  "slab->flags == SLAB_LINKED" },
	{ "store: slab full, with a slot to hand out", slab_full_in_its_list, "store/slab.c",
	  "slab->used < slab_slots(slab)" },
	{ "store: node misaligned", node_misaligned, "store/arena.c", "(align - 1)" },
	{ "store: shard out of bounds", shard_out_of_bounds, "store/slab.c", "number < SHARDS" },
	{ "store: place misaligned", place_misaligned, "store/word.h", "!(place & 7)" },
	{ "store: put outside a call", put_outside_a_call, "sys/thread.h", "lath_self.calls" },
	{ "store: nothing put where nothing is", nothing_put_where_nothing_is, "store/keys.c",
	  "word || place->word" },
	{ "store: address of no record", address_of_no_record, "store/keys.c", "WORD_RECORD" },
	{ "store: retired outside the lock", retire_outside_the_lock, "store/shm_lock.c",
	  "inside &&" },
	{ "store: retired by a reader", retire_by_a_reader, "store/shm_lock.c",
	  "inside->head->dirty" },
	{ "store: left without enter", leave_without_enter, "store/shm_lock.c", "inside == shm" },
	{ "store: left in a section", leave_in_a_section, "store/shm_lock.c",
	  "!shm->own->readers" },
	{ "store: record marked twice", record_marked_twice, "store/value.h", "*marks & bit" },
	{ "store: recovery without need", recovery_without_need, "store/recover.c", "head->dirty" },
	{ "store: file locked twice", file_locked_twice, "store/file_lock.c", "file->lock < 0" },
	{ 0 },
};
