/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* store_cases.c - runs, slots, words, records, keys, iterators; a shared store; files. */
#include "cases.h"

#include <stdlib.h>
#include <unistd.h>

#include "store/backend.h"
#include "store/change.h"
#include "store/evict.h"
#include "store/file.h"
#include "store/iter.h"
#include "store/keys.h"
#include "store/pages.h"
#include "store/reason.h"
#include "store/retire.h"
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

/* ---- arenas: runs, slabs, places ---- */

static void runs_unlocked_twice(void)
{
	prepare(LATH_STORE_NUMBERS);
	lath_call_enter();
	runs_unlock(arena);
}

static void free_runs_unlinked(void)
{
	const u64 size = 5 * UNIT;
	u64 place[4];
	unsigned int i;

	prepare(LATH_STORE_NUMBERS);
	for (i = 0; i < 4; i++)
		NEED(!arena_alloc(arena, size, &place[i]));
	arena_free(arena, place[0]);
	arena_free(arena, place[2]); /* the first of the list; the other one follows it */
	arena->unit[place[0] >> UNIT_SHIFT].prev = 7;
	arena_alloc(arena, size, &place[0]);
}

static void committed_too_much(void)
{
	u64 place;

	prepare(LATH_STORE_NUMBERS);
	arena->committed = arena->reserved;
	arena_alloc(arena, 2 * BLOCK, &place);
}

static void committed_odd(void)
{
	prepare(LATH_STORE_NUMBERS);
	store->committed++;
	arena_is_full(arena);
}

static void slot_too_large(void)
{
	u64 place;

	prepare(LATH_STORE_NUMBERS);
	lath_call_enter();
	slot_alloc(arena, SLOT_MAX + 1, &place);
}

static void slots_of_a_run(void)
{
	u64 place = alloc(SLOT_MAX + 1);

	slab_slots(slab_of(place));
}

static void slab_too_fresh(void)
{
	u64 place = alloc(64);

	slab_of(place)->fresh = slab_slots(slab_of(place));
	arena_alloc(arena, 64, &place);
}

static void shard_of_no_place(void)
{
	prepare(LATH_STORE_NUMBERS);
	arena_shard_of(arena, arena->reserved);
}

static void draining_of_no_place(void)
{
	prepare(LATH_STORE_NUMBERS);
	arena_draining(arena, arena->reserved);
}

static void size_of_no_place(void)
{
	prepare(LATH_STORE_NUMBERS);
	arena_size(arena, arena->reserved);
}

static void size_of_a_free_run(void)
{
	u64 place = alloc(SLOT_MAX + 1);

	arena_free(arena, place);
	arena_size(arena, place);
}

static void alignment_of_48(void)
{
	prepare(LATH_STORE_NUMBERS);
	arena_node_alloc(arena, 96, 48);
}

static void node_of_other_memory(void)
{
	char other;

	prepare(LATH_STORE_NUMBERS);
	arena_node_free(arena, &other, 1);
}

static void restart_within_the_table(void)
{
	prepare(LATH_STORE_NUMBERS);
	arena_restart(arena, 0);
}

static void end_while_pending(void)
{
	prepare(LATH_STORE_NUMBERS);
	arena->pending = 8;
	lath_store_close(store);
}

static void batch_of_another_arena(void)
{
	u64 first = alloc(64), second;

	NEED(!arena_alloc(arena, 64, &second));
	lath_call_enter();
	arena_retire(arena, first);
	arena_shard(arena)->batch->arena = &store->index;
	arena_retire(arena, second);
}

static void batch_empty(void)
{
	u64 place = alloc(64);

	lath_call_enter();
	arena_retire(arena, place);
	lath_call_exit();
	arena_shard(arena)->batch->count = 0;
	arena_flush(arena);
}

static void give_back_misaligned(void)
{
	prepare(LATH_STORE_NUMBERS);
	pages_give_back(arena->base + 4096, BLOCK);
}

static void huge_page_misaligned(void)
{
	prepare(LATH_STORE_NUMBERS);
	pages_try_hugetlb(arena->base + 4096);
}

static void nothing_populated(void)
{
	prepare(LATH_STORE_NUMBERS);
	pages_populate(arena->base, 0, false);
}

/* ---- words, records, values ---- */

static void place_of_inline(void)
{
	word_place((u64)WORD_INLINE << WORD_TAG_SHIFT);
}

static void text_of_no_word(void)
{
	struct lath_store_ref ref;

	prepare(LATH_STORE_NUMBERS);
	value_ref(store, 0, &ref);
}

static void record_unversioned(void)
{
	static const struct record none;
	struct lath_store_ref ref;

	record_ref(&none, &ref);
}

static void key_of_no_record(void)
{
	static const struct record none;
	struct lath_bytes_key key;

	store_key_of(NULL, (uintptr_t)&none, &key);
}

static void record_of_bare_bytes(void)
{
	prepare(LATH_STORE_NUMBERS);
	word_record(store, place_word(64, WORD_BARE));
}

static void value_of_no_bytes(void)
{
	const struct lath_store_change change = { LATH_STORE_PUT, NULL, 100, NULL, 0, 0 };
	u64 word;

	prepare(LATH_STORE_NUMBERS);
	value_build(store, lath_key_number(7), &change, &word);
}

static void value_of_a_removal(void)
{
	const struct lath_store_change change = { LATH_STORE_REMOVE, "1", 1, NULL, 0, 0 };
	u64 word;

	prepare(LATH_STORE_BYTES);
	value_build(store, lath_key_bytes("k", 1), &change, &word);
}

static void no_word_dropped(void)
{
	prepare(LATH_STORE_NUMBERS);
	value_drop(store, 0);
}

static void no_word_retired(void)
{
	prepare(LATH_STORE_NUMBERS);
	value_retire(store, 0);
}

static void retired_outside_a_call(void)
{
	prepare(LATH_STORE_NUMBERS);
	value_retire(store, (u64)(WORD_INLINE + 1) << WORD_TAG_SHIFT);
}

/* ---- keys and changes ---- */

static void word_below_the_arena(void)
{
	prepare(LATH_STORE_BYTES);
	address_word(store, 8);
}

static void word_behind_the_arena(void)
{
	prepare(LATH_STORE_BYTES);
	address_word(store, (uintptr_t)arena->base + arena->reserved);
}

static void record_of_a_number(void)
{
	prepare(LATH_STORE_NUMBERS);
	record_find(store, lath_key_number(7));
}

static void word_of_a_byte_key(void)
{
	prepare(LATH_STORE_BYTES);
	word_find(store, lath_key_bytes("k", 1));
}

static void place_of_another_kind(void)
{
	struct place place;

	prepare(LATH_STORE_BYTES);
	place_find(store, lath_key_number(7), &place);
}

static void place_in_no_section(void)
{
	struct place place;

	prepare(LATH_STORE_NUMBERS);
	place_find(store, lath_key_number(7), &place);
}

static void two_keys_counted(void)
{
	prepare(LATH_STORE_BYTES);
	store_count_items(store, 2);
}

static int decide_nothing(void *arg, const struct lath_store_ref *old,
			  struct lath_store_change *change)
{
	(void)old;
	change->action = *(enum lath_store_action *)arg;
	change->value = "1";
	change->size = 1;
	return 0;
}

static void change_read_only(void)
{
	enum lath_store_action keep = LATH_STORE_KEEP;

	prepare(LATH_STORE_NUMBERS);
	store->read_only = true;
	key_update(store, lath_key_number(7), decide_nothing, &keep);
}

static void change_of_another_kind(void)
{
	enum lath_store_action keep = LATH_STORE_KEEP;

	prepare(LATH_STORE_NUMBERS);
	key_update(store, lath_key_bytes("k", 1), decide_nothing, &keep);
}

static void change_unknown(void)
{
	enum lath_store_action unknown = (enum lath_store_action)99;

	prepare(LATH_STORE_NUMBERS);
	lath_store_update(store, lath_key_number(7), decide_nothing, &unknown);
}

static void loading_twice(void)
{
	store_loading(true);
	store_loading(true);
}

static void room_elsewhere(void)
{
	unsigned int round = 0;

	prepare(LATH_STORE_NUMBERS);
	store->backend = &store_shm_backend;
	store_make_room(store, &round);
}

static void no_hand(void)
{
	struct lath_store_options options = LATH_STORE_OPTIONS_INIT;
	unsigned int round = 0;
	char key[8];

	options.keys = LATH_STORE_BYTES;
	options.limit = 64ull << 20;
	options.flags = LATH_STORE_EVICT;
	NEED(!lath_store_open(&store, "mem:", &options));
	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "%d", i);
		NEED(!lath_store_set(store, lath_key_bytes(key, strlen(key)), "1", 1));
	}
	store->hand = NULL;
	store_make_room(store, &round);
}

static void prefault_elsewhere(void)
{
	prepare(LATH_STORE_NUMBERS);
	store->backend = &store_shm_backend;
	store_prefault(store, 1, 1);
}

static struct lath_store_iter *begin(enum lath_store_keys keys)
{
	struct lath_store_iter *iter;

	prepare(keys);
	NEED(!lath_store_iter_begin(store, NULL, &iter));
	return iter;
}

static void iterator_left(void)
{
	struct lath_store_iter *iter = begin(LATH_STORE_NUMBERS);
	struct lath_store_key key;
	u64 word;

	lath_store_read_end(store);
	iter_next_word(iter, &key, &word);
}

static void cursor_left(void)
{
	struct lath_store_iter *iter = begin(LATH_STORE_BYTES);
	struct lath_store_key key;
	u64 word;

	lath_store_read_end(store);
	iter_next_word(iter, &key, &word);
}

static void iterator_ended_out_of_its_section(void)
{
	struct lath_store_iter *iter = begin(LATH_STORE_NUMBERS);

	lath_store_read_end(store);
	lath_store_iter_end(iter);
}

static void words_elsewhere(void)
{
	struct lath_store_iter *iter = begin(LATH_STORE_NUMBERS);
	struct lath_store_key key;
	u64 word;

	store->backend = &store_shm_backend;
	iter_next_word(iter, &key, &word);
}

/* ---- reasons and files ---- */

static void reason_of_no_error(void)
{
	store_refuse(0, "nothing");
}

static void reason_if_silent(void)
{
	store_refuse_if_silent(1, "nothing");
}

static void addition_to_no_reason(void)
{
	store_reason_begin();
	store_reason_add(-1, "more");
}

static void file_without_a_directory(void)
{
	struct store_file file = { .name = "x", .dir = -1 };
	struct stat stat;

	file_look(&file, &stat);
}

static void file_without_a_name(void)
{
	struct store_file file = { .dir = -1, .lock = -1 };

	file_lock(&file);
}

static void replaced_unlocked(void)
{
	struct store_file file = { .name = "x", .dir = -1, .lock = -1 };
	struct replacement new;

	replace_begin(&file, &new);
}

static void abort_of_what_is_placed(void)
{
	struct store_file file = { .name = "x", .dir = -1, .lock = -1 };
	struct replacement new = { .fd = 2, .name = "x.tmp-000000", .placed = true };

	replace_abort(&file, &new);
}

/* ---- places of keys ---- */

static void put_outside_a_call(void)
{
	struct lath_store_key key = lath_key_bytes("a key", 5);
	struct place place;

	prepare(LATH_STORE_BYTES);
	NEED(!lath_store_set(store, key, "1", 1));
	lath_reader_enter(store->rcu);
	place_find(store, key, &place);
	NEED(place.word);
	place_put(store, &place, place.word);
}

static void nothing_put_where_nothing_is(void)
{
	struct place place;

	prepare(LATH_STORE_NUMBERS);
	lath_reader_enter(store->rcu);
	place_find(store, lath_key_number(7), &place);
	lath_call_enter();
	place_put(store, &place, 0);
}

static void address_of_no_record(void)
{
	struct lath_store_key key = lath_key_bytes("a key", 5);
	struct place place;

	prepare(LATH_STORE_BYTES);
	lath_reader_enter(store->rcu);
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

static void shared_of_a_private_one(void)
{
	prepare(LATH_STORE_NUMBERS);
	shm_of(store);
}

static void reclaim_outside_the_lock(void)
{
	shm_reclaim(prepare_shared());
}

static void reclaim_in_a_section(void)
{
	struct shm *shm = prepare_shared();

	NEED(!shm_enter(shm, true));
	shm->own->rcu.read_lock();
	shm_reclaim(shm);
}

static void retire_without_a_function(void)
{
	static struct lath_rcu_head head;
	struct shm *shm = prepare_shared();

	NEED(!shm_enter(shm, true));
	shm->own->rcu.call(&head, NULL);
}

static void detached_twice(void)
{
	static struct shm other = { .handles = 1 };

	prepare_shared();
	shm_detach(&other);
}

static void copies_in_no_section(void)
{
	static const char value[100];
	struct lath_store_ref ref;

	prepare_shared();
	NEED(!lath_store_set(store, lath_key_number(7), value, sizeof(value)));
	lath_store_get_ref(store, lath_key_number(7), &ref);
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
	{ "store: runs unlocked, not locked", runs_unlocked_twice, "store/runs.h",
	  "runs_locked(arena)" },
	{ "store: list of free runs broken", free_runs_unlinked, "store/runs.c",
	  "arena->unit[u->next].prev == first" },
	{ "store: more committed than reserved", committed_too_much, "store/runs.c",
	  "arena->committed <= arena->reserved" },
	{ "store: committed: no whole blocks", committed_odd, "store/runs.c", "more % BLOCK" },
	{ "store: slot too large", slot_too_large, "store/slab.c", "size <= SLOT_MAX" },
	{ "store: slots of a run", slots_of_a_run, "store/slab.c", "slab->kind == UNIT_SLAB" },
	{ "store: slab with more slots than it has", slab_too_fresh, "store/slab.c",
	  "slab->fresh <= slab_slots(slab)" },
	{ "store: shard of no place", shard_of_no_place, "store/slab.c",
	  "place < arena->reserved" },
	{ "store: draining of no place", draining_of_no_place, "store/slab.c",
	  "place < arena->reserved" },
	{ "store: size of no place", size_of_no_place, "store/arena.c", "place < arena->reserved" },
	{ "store: size of a free run", size_of_a_free_run, "store/arena.c",
	  "u->kind == UNIT_RUN || u->kind == UNIT_SLAB" },
	{ "store: alignment no power of two", alignment_of_48, "store/arena.c",
	  "!(align & (align - 1))" },
	{ "store: node of another memory", node_of_other_memory, "store/arena.c",
	  "(char *)block > arena->base" },
	{ "store: restart within the table", restart_within_the_table, "store/arena_init.c",
	  "fresh >= arena->first_unit" },
	{ "store: end with memory that waits", end_while_pending, "store/arena_init.c",
	  "arena->pending" },
	{ "store: batch of another arena", batch_of_another_arena, "store/retire.c",
	  "batch->arena == arena" },
	{ "store: batch without places", batch_empty, "store/retire.c", "batch->count" },
	{ "store: pages given back, misaligned", give_back_misaligned, "store/pages.c",
	  "(uintptr_t)from % BLOCK" },
	{ "store: huge page misaligned", huge_page_misaligned, "store/pages.c",
	  "(uintptr_t)block % BLOCK" },
	{ "store: nothing populated", nothing_populated, "store/pages.c", "size &&" },
	{ "store: place of a word that has none", place_of_inline, "store/word.h",
	  "word_has_place(word)" },
	{ "store: text of no word", text_of_no_word, "store/word.h",
	  "word && !word_has_place(word)" },
	{ "store: record without a version", record_unversioned, "store/word.h",
	  "record->version" },
	{ "store: key of a record without a version", key_of_no_record, "store/keys.c",
	  "record->version" },
	{ "store: record of bare bytes", record_of_bare_bytes, "store/value.h", "WORD_RECORD" },
	{ "store: value of no bytes", value_of_no_bytes, "store/value.c",
	  "change->value || !change->size" },
	{ "store: value of a removal", value_of_a_removal, "store/value.c",
	  "change->action == LATH_STORE_PUT" },
	{ "store: no word dropped", no_word_dropped, "store/value.c", "word" },
	{ "store: no word retired", no_word_retired, "store/value.c", "word" },
	{ "store: retired outside a call", retired_outside_a_call, "sys/thread.h",
	  "lath_self.calls" },
	{ "store: word of an address below the arena", word_below_the_arena, "store/keys.c",
	  "address > (uintptr_t)store->arena.base" },
	{ "store: word of an address behind the arena", word_behind_the_arena, "store/keys.c",
	  "< store->arena.reserved" },
	{ "store: record of a number", record_of_a_number, "store/keys.c",
	  "store->keys == LATH_STORE_BYTES" },
	{ "store: word of a byte key", word_of_a_byte_key, "store/keys.c",
	  "store->keys == LATH_STORE_NUMBERS" },
	{ "store: place of a key of another kind", place_of_another_kind, "store/keys.c",
	  "key_fits(store, key)" },
	{ "store: place found in no section", place_in_no_section, "store/keys.c",
	  "lath_reader_inside(store->rcu)" },
	{ "store: two keys counted at once", two_keys_counted, "store/keys.c", "by == 1" },
	{ "store: change of a store that is read only", change_read_only, "store/change.c",
	  "!store->read_only" },
	{ "store: change of a key of another kind", change_of_another_kind, "store/change.c",
	  "!key_check(store, key)" },
	{ "store: change that is none", change_unknown, "store/change.c",
	  "change->action == LATH_STORE_PUT" },
	{ "store: loading within loading", loading_twice, "store/evict.c", "suspended != on" },
	{ "store: room in a store elsewhere", room_elsewhere, "store/evict.c", "!store->backend" },
	{ "store: no place for the hand", no_hand, "store/evict.c", "store->hand &&" },
	{ "store: prefault of a store elsewhere", prefault_elsewhere, "store/store.c",
	  "!store->backend" },
	{ "store: iterator of numbers out of its section", iterator_left, "store/iter.c",
	  "lath_reader_inside(iter->store->rcu)" },
	{ "store: iterator of byte keys out of its section", cursor_left, "store/iter.c",
	  "lath_reader_inside(iter->store->rcu)" },
	{ "store: iterator ended twice", iterator_ended_out_of_its_section, "store/iter.c",
	  "lath_reader_inside(iter->store->rcu)" },
	{ "store: words of a store elsewhere", words_elsewhere, "store/iter.c",
	  "!iter->store->backend" },
	{ "store: reason of no error", reason_of_no_error, "store/reason.c", "ret < 0" },
	{ "store: reason of no error, if silent", reason_if_silent, "store/reason.c", "ret < 0" },
	{ "store: addition to no reason", addition_to_no_reason, "store/reason.c", "said &&" },
	{ "store: look at a file without a directory", file_without_a_directory, "store/file.c",
	  "file->dir >= 0" },
	{ "store: lock of a file without a name", file_without_a_name, "store/file_lock.c",
	  "size" },
	{ "store: file replaced, not locked", replaced_unlocked, "store/replace.c",
	  "file->lock >= 0" },
	{ "store: replacement given up when it is placed", abort_of_what_is_placed,
	  "store/replace.c", "!new->placed" },
	{ "store: private store taken for a shared one", shared_of_a_private_one, "store/shm.h",
	  "store->backend_data" },
	{ "store: reclaimed outside the lock", reclaim_outside_the_lock, "store/shm_lock.c",
	  "shm_held(shm)" },
	{ "store: reclaimed in a section", reclaim_in_a_section, "store/shm_lock.c",
	  "!shm->own->readers" },
	{ "store: retired without a function", retire_without_a_function, "store/shm_lock.c",
	  "func" },
	{ "store: detached twice", detached_twice, "store/shm_map.c", "*at" },
	{ "store: copies of a caller in no section", copies_in_no_section, "store/shm.c",
	  "lath_reader_inside(store->rcu)" },
	{ 0 },
};
