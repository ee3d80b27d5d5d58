/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * assert_cases.c - each class of assertion of the module for Valkey fails when what it states is
 * broken: words and memory, packed forms, counts, records of pools, what commands tell
 * replicas. The server is a stub.
 */
#include <string.h>

#include "assert_cases.h"
#include "block.h"
#include "image.h"
#include "index.h"
#include "intervals.h"
#include "map.h"
#include "pool.h"
#include "stub.h"

#define LONG "a value that has its own block"

static word long_value(void)
{
	word value = value_make(LONG, sizeof(LONG) - 1);

	NEED(value && value_owns(value));
	return value;
}

/* ---- words and memory ---- */

static void view(word value)
{
	char text[VALUE_TEXT];

	stub_begin();
	value_view(&value, text);
}

static void word_of_no_kind(void)
{
	view(VALUE_KIND);
}

static void word_with_stray_bytes(void)
{
	view(VALUE_SHORT | 1 << 2 | 'a' << 8 | 'b' << 16);
}

static void word_of_nothing_freed(void)
{
	value_free(0);
}

static void *try_odd(size_t size)
{
	return (char *)malloc(size + 64) + 1;
}

static void *try_before_a_line(size_t size)
{
	char *block = malloc(size + 128);

	return block + 63 - ((uintptr_t)block & 63);
}

static void block_at_an_odd_address(void)
{
	stub_begin();
	vk.TryAlloc = try_odd;
	long_value();
}

static void memory_of_no_size(void)
{
	stub_begin();
	server_memory.alloc(NULL, 0, 16);
}

static void memory_aligned_to_24(void)
{
	stub_begin();
	server_memory.alloc(NULL, 100, 24);
}

static void no_room_before_a_line(void)
{
	stub_begin();
	vk.TryAlloc = try_before_a_line;
	server_memory.alloc(NULL, 100, 64);
}

static void freed_larger(void)
{
	void *block;

	stub_begin();
	block = server_memory.alloc(NULL, 100, 64);
	NEED(block);
	server_memory.free(NULL, block, 101);
}

static void freed_of_another(void)
{
	char *block;

	stub_begin();
	block = server_memory.alloc(NULL, 200, 64);
	NEED(block);
	server_memory.free(NULL, block + 64, 100);
}

static void block_aligned_to_a_line(void)
{
	stub_begin();
	server_blocks.alloc(NULL, 8, 64);
}

static void begun_in_use(void)
{
	stub_begin();
	NEED(server_memory.alloc(NULL, 100, 64));
	server_memory_begin();
}

static void more_packed_than_the_most(void)
{
	set_packed_entries(PACKED_MOST + 1);
}

/* Says that a container has n items more. */
static void miscount(struct lath_small *small, uint64_t n)
{
	uint64_t count = lath_small_count(small) + n;

	small->opaque[2] += n;
	NEED(lath_small_count(small) == count);
}

/* ---- maps of numbers ---- */

static struct map *map_of(enum map_kind kind, uint64_t n)
{
	struct map *map;
	char text[20];
	uint64_t i;

	stub_begin();
	map = map_create(kind, false);
	NEED(map);
	for (i = 0; i < n; i++) {
		struct map_key key = { 10 * i, { text, 0 } };

		key.string.size = (size_t)snprintf(text, sizeof(text), "key %06u", (unsigned)i);
		NEED(map_set(map, &key, i ? value_make("short", 5) : long_value()) == 1);
	}
	return map;
}

static int set(struct map *map, uint64_t number, const char *string)
{
	struct map_key key = { number, { string, strlen(string) } };

	return map_set(map, &key, value_make("1", 1));
}

static int erase_first(struct map *map)
{
	struct map_key key = { 0, { "key 000000", 10 } };

	return map_erase(map, &key, NULL);
}

static void values_below_zero(void)
{
	struct map *map = map_of(MAP_NUMBERS, 3);

	map->owned = 0;
	erase_first(map);
}

static void values_left(void)
{
	struct map *map = map_of(MAP_NUMBERS, 3);

	map->owned += 8;
	map_free(map);
}

static void copied_to_less(void)
{
	struct map *map = map_of(MAP_NUMBERS, 100);

	map->owned += 8;
	map_copy(map);
}

static void selected_beyond_the_end(void)
{
	struct map *map = map_of(MAP_NUMBERS, 100);
	struct map_entry entry;

	miscount(&map->numbers, 0 - 95ull);
	map_select(map, 5, &entry);
}

/* The block of the map stays; that of a value, asked for next, gets an address of eight bytes. */
static void *move_values(struct vk_defrag *ctx, void *block)
{
	return ctx->moved++ ? (void *)((uintptr_t)block | 1ull << 62) : NULL;
}

static void *no_memory(size_t size)
{
	(void)size;
	return NULL;
}

static void moved_beyond_its_width(void)
{
	struct map *map = map_of(MAP_NUMBERS, 3);
	struct vk_defrag ctx = { 0 };

	vk.DefragAlloc = move_values;
	vk.TryAlloc = no_memory;
	map_defragment(map, &ctx, 0);
}

static void saved_fewer(void)
{
	struct map *map = map_of(MAP_NUMBERS, 100);
	struct vk_io file = { .reads_left = -1 };

	miscount(&map->numbers, 1);
	map_methods.rdb_save(&file, map);
}

static void digest_of_fewer(void)
{
	struct map *map = map_of(MAP_NUMBERS, 100);

	miscount(&map->numbers, 1);
	digest_of(&map_methods, map);
}

/* ---- maps of strings ---- */

/* The key of the i-th record, to be written to. */
static char *key_in(struct map *map, uint64_t i)
{
	struct map_entry entry;

	NEED(map_select(map, i, &entry));
	return (char *)(uintptr_t)entry.key.string.data;
}

static void strings_as_numbers(void)
{
	struct map *map = map_of(MAP_STRINGS, 3);
	const uint64_t *keys;
	const word *values;
	struct map_iter iter;

	map_iter_begin(&iter, map, &map_lowest, &map_highest, false);
	map_next_batch(&iter, &keys, &values);
}

static void more_before_than_there_are(void)
{
	struct map *map = map_of(MAP_STRINGS, 100);
	struct map_bound high = { .key = { 0, { "z", 1 } } };

	((uint64_t *)(void *)map->strings)[2] = 1; /* the number of strings */
	NEED(map_size(map) == 1);
	map_count(map, &map_lowest, &high);
}

static void record_at_an_odd_address(void)
{
	struct map *map = map_of(MAP_STRINGS, 3);

	vk.TryAlloc = try_odd;
	set(map, 0, "another");
}

static void scan_goes_back(void)
{
	struct map *map = map_of(MAP_STRINGS, 3);
	struct map_entry entry;
	struct map_iter iter;

	map_iter_begin(&iter, map, &map_lowest, &map_highest, false);
	NEED(map_next(&iter, &entry));
	key_in(map, 1)[0] = 'a';
	map_next(&iter, &entry);
}

static void record_larger_than_all(void)
{
	struct map *map = map_of(MAP_STRINGS, 1);
	uint32_t size = 1000;

	memcpy(key_in(map, 0) - sizeof(size), &size, sizeof(size));
	map_free(map);
}

/* ---- pools ---- */

static struct pool *pool_of(uint64_t n)
{
	struct lath_hole_request want = { .size = 2 };
	struct pool *pool;
	char text[20];
	uint64_t i;

	stub_begin();
	pool = pool_create(100, 1 << 20);
	NEED(pool);
	for (i = 0; i < n; i++) {
		struct pool_range range = { .owner = { text, 0 }, .expires = 1000 + i };

		range.owner.size = (size_t)snprintf(text, sizeof(text), "owner %06u", (unsigned)i);
		NEED(!pool_take(pool, &want, &range));
	}
	return pool;
}

static void find(struct pool *pool, uint64_t number)
{
	struct pool_range range;

	NEED(!pool_find(pool, number, &range));
}

static void owner_in_no_chain(void)
{
	struct pool *pool = pool_of(3);

	lath_small_fini(&pool->records->owners, NULL, NULL);
	pool_give(pool, 100);
}

static void lease_in_no_table(void)
{
	struct pool *pool = pool_of(3);

	lath_small_fini(&pool->records->leases, NULL, NULL);
	pool_give(pool, 100);
}

static void records_below_zero(void)
{
	struct pool *pool = pool_of(3);

	pool->records->bytes = 0;
	pool_give(pool, 100);
}

static void taken_below_zero(void)
{
	struct pool *pool = pool_of(3);

	pool->taken = 1;
	pool_give(pool, 100);
}

static void record_of_another_size(void)
{
	struct pool *pool = pool_of(3);

	NEED(!lath_small_resize(&pool->ranges, 100, 1));
	find(pool, 100);
}

static void taken_beyond_the_pool(void)
{
	struct pool *pool = pool_of(3);

	pool->taken = 1 << 20;
	pool_exclude(pool, 1000, 1);
}

static void lease_counted_twice(void)
{
	struct pool *pool = pool_of(3);

	miscount(&pool->records->leases, 1);
	pool_copy(pool);
}

/* Two ranges have each other's record. */
static struct pool *crossed(void)
{
	struct pool *pool = pool_of(3);
	struct lath_item first, second;

	NEED(!lath_small_lookup_item(&pool->ranges, 100, &first));
	NEED(!lath_small_lookup_item(&pool->ranges, 102, &second));
	NEED(!lath_small_replace_item(&pool->ranges, 100, second.value, NULL));
	NEED(!lath_small_replace_item(&pool->ranges, 102, first.value, NULL));
	return pool;
}

static void owner_leads_to_another(void)
{
	struct pool *pool = crossed();
	struct pool_range range;

	pool_owner(pool, (struct bytes){ "owner 000000", 12 }, &range);
}

static void lease_leads_to_another(void)
{
	struct pool_range range;

	pool_first_lease(crossed(), &range);
}

static void pool_saved_fewer(void)
{
	struct pool *pool = pool_of(100);
	struct vk_io file = { .reads_left = -1 };

	miscount(&pool->ranges, 1);
	pool_methods.rdb_save(&file, pool);
}

static void pool_digest_of_fewer(void)
{
	struct pool *pool = pool_of(100);

	miscount(&pool->ranges, 1);
	digest_of(&pool_methods, pool);
}

/* ---- sets of intervals ---- */

static struct intervals *intervals_of(uint64_t n)
{
	struct intervals *set;
	uint64_t i;

	stub_begin();
	set = intervals_create();
	NEED(set);
	for (i = 0; i < n; i++)
		NEED(intervals_add(set, i, i + 10, long_value()) == 1);
	return set;
}

static void intervals_out_of_order(void)
{
	struct intervals *set = intervals_of(3);

	((struct lath_interval *)set->body)[0].first = 5;
	((struct lath_interval *)set->body)[0].end = 20;
	digest_of(&interval_methods, set);
}

static void interval_ends_before_it_begins(void)
{
	intervals_add(intervals_of(3), 9, 8, value_make("1", 1));
}

static void intervals_below_zero(void)
{
	struct intervals *set = intervals_of(3);

	set->owned = 8;
	intervals_remove(set, 0, 10, (struct bytes){ LONG, sizeof(LONG) - 1 });
}

static void interval_values_left(void)
{
	struct intervals *set = intervals_of(3);

	set->owned += 8;
	intervals_free(set);
}

static void intervals_copied_to_less(void)
{
	struct intervals *set = intervals_of(100);

	set->owned += 8;
	intervals_copy(set);
}

static void intervals_converted_to_fewer(void)
{
	struct intervals *set = intervals_of(100);

	set->count = INTERVALS_MIDDLE;
	intervals_add(set, 9, 10, value_make("1", 1));
}

static void intervals_saved_fewer(void)
{
	struct intervals *set = intervals_of(100);
	struct vk_io file = { .reads_left = -1 };

	set->count++;
	interval_methods.rdb_save(&file, set);
}

static void intervals_digest_of_fewer(void)
{
	struct intervals *set = intervals_of(100);

	set->count++;
	digest_of(&interval_methods, set);
}

/* ---- commands ---- */

static struct vk_key *const some_key = (struct vk_key *)(uintptr_t)8;

static void change_not_replicated(void)
{
	struct opened opened = { .key = some_key, .changed = true };

	close_key(&opened);
}

static void no_change_replicated(void)
{
	struct opened opened = { .key = some_key };

	replicate_verbatim(&opened);
}

static void change_of_nothing(void)
{
	struct opened opened = { .key = some_key };

	changed(&opened, "lath.map.set");
}

static struct vk_key *open_some(struct vk_ctx *ctx, struct vk_string *name, int mode)
{
	(void)ctx;
	(void)name;
	(void)mode;
	return some_key;
}

static int module_key(struct vk_key *key)
{
	(void)key;
	return VK_KEY_MODULE;
}

static struct vk_type *type_of_map(struct vk_key *key)
{
	(void)key;
	return map_type;
}

static void *no_value(struct vk_key *key)
{
	(void)key;
	return NULL;
}

static void key_without_a_value(void)
{
	struct vk_string *argv[2] = { NULL, NULL };
	struct opened opened;

	stub_begin();
	vk.OpenKey = open_some;
	vk.KeyType = module_key;
	vk.ModuleTypeGetType = type_of_map;
	vk.ModuleTypeGetValue = no_value;
	open_key(&opened, NULL, argv, VK_READ, map_type);
}

static void buffer_beyond_its_room(void)
{
	struct buffer buffer = { .size = 1 };

	buffer_add(&buffer, "a", 1);
}

static void inserted_behind_the_end(void)
{
	char block[2] = "a";

	stub_begin();
	block_insert(block, 1, 2, "b", 1);
}

static void pause_at_the_beginning(void)
{
	struct vk_defrag ctx = { 0 };

	stub_begin();
	defrag_pause(&ctx, 0);
}

const struct assert_case valkey_cases[] = {
	{ "word: of no kind", word_of_no_kind, "valkey/value.c", "well_formed(*value)" },
	{ "word: stray bytes", word_with_stray_bytes, "valkey/value.c", "well_formed(*value)" },
	{ "word: nothing freed", word_of_nothing_freed, "valkey/value.c", "well_formed(value)" },
	{ "word: block at an odd address", block_at_an_odd_address, "valkey/value.c",
	  "(uintptr_t)block & VALUE_KIND" },
	{ "memory: of no size", memory_of_no_size, "valkey/value.c", "size && align" },
	{ "memory: aligned to 24", memory_aligned_to_24, "valkey/value.c", "align & (align - 1)" },
	{ "memory: no room before a line", no_room_before_a_line, "valkey/value.c",
	  "(size_t)(line - block)" },
	{ "memory: freed larger", freed_larger, "valkey/value.c", "size <= server_memory_held()" },
	{ "memory: freed of another", freed_of_another, "valkey/value.c", "<= LINE" },
	{ "memory: begun in use", begun_in_use, "valkey/value.c", "!server_memory_held()" },
	{ "memory: block aligned to a line", block_aligned_to_a_line, "valkey/value.c",
	  "align <= PROMISED" },
	{ "kinds: more packed than the most", more_packed_than_the_most, "valkey/index.c",
	  "entries <= PACKED_MOST" },
	{ "map: values below zero", values_below_zero, "valkey/map.c", "<= map->owned" },
	{ "map: values left", values_left, "valkey/map.c", "!map->owned" },
	{ "map: copied to less", copied_to_less, "valkey/map.c", "copy->owned == map->owned" },
	{ "map: selected beyond the end", selected_beyond_the_end, "valkey/map.c",
	  "rank < map_size(map)" },
	{ "map: moved beyond its width", moved_beyond_its_width, "valkey/map.c", "!ret" },
	{ "map: saved fewer", saved_fewer, "valkey/map_type.c", "!out.size" },
	{ "map: digest of fewer", digest_of_fewer, "valkey/map_type.c", "n == map_size(map)" },
	{ "strings: as numbers", strings_as_numbers, "valkey/map.c", "kind != MAP_STRINGS" },
	{ "strings: more before than there are", more_before_than_there_are, "valkey/map.c",
	  "before <= map_size(map)" },
	{ "strings: record at an odd address", record_at_an_odd_address, "valkey/map_strings.c",
	  "value_of(record) & 3" },
	{ "strings: scan goes back", scan_goes_back, "valkey/map_strings.c", "follows(here" },
	{ "strings: record larger than all", record_larger_than_all, "valkey/map_strings.c",
	  "record_size(record->size) <= strings->bytes" },
	{ "pool: owner in no chain", owner_in_no_chain, "valkey/pool.c", "chain" },
	{ "pool: lease in no table", lease_in_no_table, "valkey/pool.c", "!ret" },
	{ "pool: records below zero", records_below_zero, "valkey/pool.c",
	  "record_size(record) <= in->bytes" },
	{ "pool: taken below zero", taken_below_zero, "valkey/pool.c", "item.size <= pool->taken" },
	{ "pool: record of another size", record_of_another_size, "valkey/pool.c",
	  "record->size == item->size" },
	{ "pool: taken beyond the pool", taken_beyond_the_pool, "valkey/pool.c",
	  "pool->taken <= pool->capacity" },
	{ "pool: lease counted twice", lease_counted_twice, "valkey/pool.c", "same_figures" },
	{ "pool: owner leads to another", owner_leads_to_another, "valkey/pool.c",
	  "agrees(pool, record)" },
	{ "pool: lease leads to another", lease_leads_to_another, "valkey/pool.c",
	  "record->lease == item.key && agrees(pool, record)" },
	{ "pool: saved fewer", pool_saved_fewer, "valkey/pool_type.c", "!out.size" },
	{ "pool: digest of fewer", pool_digest_of_fewer, "valkey/pool_type.c",
	  "n == pool_count(pool)" },
	{ "intervals: out of order", intervals_out_of_order, "valkey/intervals.c",
	  "in_order(block" },
	{ "intervals: ends before it begins", interval_ends_before_it_begins, "valkey/intervals.c",
	  "first <= last" },
	{ "intervals: below zero", intervals_below_zero, "valkey/intervals.c",
	  "value_memory(there.value) <= set->owned" },
	{ "intervals: values left", interval_values_left, "valkey/intervals.c", "!set->owned" },
	{ "intervals: copied to less", intervals_copied_to_less, "valkey/intervals.c",
	  "copy->owned == set->owned" },
	{ "intervals: converted to fewer", intervals_converted_to_fewer, "valkey/intervals.c",
	  "lath_intervals_count(full) == set->count" },
	{ "intervals: saved fewer", intervals_saved_fewer, "valkey/interval_type.c", "!out.size" },
	{ "intervals: digest of fewer", intervals_digest_of_fewer, "valkey/interval_type.c",
	  "n == set->count" },
	{ "command: change not replicated", change_not_replicated, "valkey/command.c",
	  "opened->changed == opened->replicated" },
	{ "command: no change replicated", no_change_replicated, "valkey/command.c",
	  "opened->changed" },
	{ "command: change of nothing", change_of_nothing, "valkey/command.c",
	  "opened->key && opened->value" },
	{ "command: key without a value", key_without_a_value, "valkey/command.c",
	  "opened->value" },
	{ "command: buffer beyond its room", buffer_beyond_its_room, "valkey/command.c",
	  "buffer->size <= buffer->room" },
	{ "block: inserted behind the end", inserted_behind_the_end, "valkey/block.c", "i <= n" },
	{ "command: pause at the beginning", pause_at_the_beginning, "valkey/command.c", "from" },
	{ 0 },
};
