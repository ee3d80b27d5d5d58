/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * play.c - what doc/play.html calls: an index of ranges with summaries of free space, on nodes of
 * eight entries, compiled to WebAssembly by make.py.
 *
 * Keys of the page are below 2^32. Calls return 0 or a negative errno; `thread` is 0 or 1.
 */
#include "lathwork/hole.h"
#include "tree/tree.h"
#include "tree/watch/bound.h"
#include "tree/watch/gap.h"
#include "tree/way/finger.h"

#define EXPORT(name) __attribute__((export_name(#name)))

/* What dump() tells, node by node from the root on; -1 stands for the last key. */
IMPORT(node)
void page_node(const struct node *node, unsigned int level, double low, double last, double room);
IMPORT(entry) void page_entry(double key, double size_or_child, bool live);

bool play_told;
__thread unsigned int genmc_thread;
const struct lath_rcu lath_rcu_auto;

static struct lath_index set;
static struct lath_item answer;
static u64 looked;

/* Memory is handed out once, in lines of 64 bytes, and is zeros. */
extern unsigned char __heap_base[];
static uintptr_t used;

void *lath_block_alloc(size_t size)
{
	uintptr_t at = used ? used : ((uintptr_t)__heap_base + 63) / 64 * 64;

	if (size > __builtin_wasm_memory_size(0) * 65536 - at)
		return NULL;
	used = at + (size + 63) / 64 * 64;
	return (void *)at;
}

/* The host waits with this; the page ends the call. */
void __VERIFIER_assume(bool goes_on)
{
	if (!goes_on)
		play_wait();
}

EXPORT(start) int start(void)
{
	struct lath_config config = LATH_CONFIG_INIT;

	config.layout = LATH_RANGES;
	config.flags = LATH_HOLES | LATH_NODE_EACH;
	return lath_index_init(&set, &config);
}

EXPORT(insert) int insert(unsigned int thread, double key, double size)
{
	struct lath_item item = { (u64)key, (u64)size, 1 };

	genmc_thread = thread;
	return lath_index_insert_item(&set, &item, NULL);
}

EXPORT(erase) int erase(unsigned int thread, double key)
{
	genmc_thread = thread;
	return lath_index_erase_item(&set, (u64)key, &answer);
}

EXPORT(lookup) int lookup(unsigned int thread, double key)
{
	genmc_thread = thread;
	return lath_index_lookup_item(&set, (u64)key, &answer);
}

EXPORT(hole) int hole(unsigned int policy, double size, double align, double high)
{
	struct lath_hole_request want = { .size = (u64)size,
					  .align = (u64)align,
					  .high = (u64)high,
					  .policy = (enum lath_hole_policy)policy };
	struct lath_index_stats before, after;
	u64 key = 0;
	int ret;

	genmc_thread = 0;
	lath_index_get_stats(&set, &before);
	ret = lath_index_insert_hole(&set, &want, 0, &key);
	lath_index_get_stats(&set, &after);
	answer = (struct lath_item){ key, (u64)size, 0 };
	looked = after.hole_nodes - before.hole_nodes;
	return ret;
}

/* Of the last call that succeeded: the item, and the nodes that a search for a hole looked at. */
EXPORT(answer_key) double answer_key(void)
{
	return (double)answer.key;
}

EXPORT(answer_size) double answer_size(void)
{
	return (double)answer.size;
}

EXPORT(answer_looked) double answer_looked(void)
{
	return (double)looked;
}

EXPORT(tell) void tell(bool on)
{
	play_told = on;
}

/* Is the index as its invariants say? */
EXPORT(verify) bool verify(void)
{
	char why[8];

	return lath_index_verify(&set, 6, why, sizeof(why));
}

static double number(u64 value)
{
	return value == KEY_MAX ? -1 : (double)value;
}

EXPORT(dump) void dump(void)
{
	struct tree *tree = tree_of(&set);
	struct node *level = tree->root, *node;
	unsigned int i;

	for (; level; level = node_level(level) ? node_child(level, __ffs64(level->live)) : NULL)
		for (node = level; node; node = node->right) {
			page_node(node, node_level(node), number(node->low), number(node->last),
				  number(gap_code_bound(gap_lane(gap_own(node), 0))));
			for (i = 0; i < node->used; i++)
				page_entry((double)node_key(node, i),
					   node_level(node) ? (double)node_value(node, i)
							    : (double)node_size(node, i),
					   node->live >> i & 1);
		}
}

/* Which field of the node lies at this offset: its number in `fields` of page.html, and times 100
 * the entry, or group of entries. */
EXPORT(field) unsigned int field(unsigned int offset)
{
	unsigned int pairs = offsetof(struct node, pair), sizes = offsetof(struct node, size);

	if (offset < offsetof(struct node, live))
		return offset / sizeof(u64);
	if (offset < offsetof(struct node, head))
		return 4;
	if (offset < pairs)
		return 5;
	if (offset < sizes)
		return 6 + (offset - pairs) % sizeof(struct pair) / sizeof(u64) +
		       (offset - pairs) / sizeof(struct pair) * 100;
	return offset < sizes + NODE_CAP * sizeof(u64)
		       ? 8 + (offset - sizes) / (unsigned int)sizeof(u64) * 100
		       : 9;
}

EXPORT(node_bytes) unsigned int node_bytes(void)
{
	return sizeof(struct node) + NODE_CAP * SIDE_WORDS * sizeof(u64) + 64;
}
