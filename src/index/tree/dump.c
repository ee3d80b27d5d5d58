/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * dump.c - the tree as text, or as a graph for dot(1). For a tree that no thread is changing.
 */
#include "index/tree/tree.h"

struct dump {
	struct tree *tree;
	bool dot;
	void (*write)(void *arg, const char *text);
	void *arg;
};

#define U(x) ((unsigned long long)(x))

/* One line of at most this many characters. */
#define LINE 200

#define PRINT(dump, ...)                                   \
	do {                                               \
		char line[LINE];                           \
		snprintf(line, sizeof(line), __VA_ARGS__); \
		(dump)->write((dump)->arg, line);          \
	} while (0)

static void dump_entries(const struct dump *dump, const struct node *node)
{
	u64 live = node->live;

	for (; live; live &= live - 1) {
		struct lath_item item;

		item_of(node, __ffs64(live), dump->tree->ranges, &item);
		PRINT(dump, "    [%llx, +%llx) -> %llx\n", U(item.key), U(item.size),
		      U(item.value));
	}
}

static void dump_links(const struct dump *dump, const struct node *node)
{
	u64 live = node_level(node) ? node->live : 0;

	for (; live; live &= live - 1)
		PRINT(dump, "  n%llx -> n%llx;\n", U((uintptr_t)node),
		      U((uintptr_t)node_child(node, __ffs64(live))));
	if (node->right)
		PRINT(dump, "  n%llx -> n%llx [style=dashed, constraint=false];\n",
		      U((uintptr_t)node), U((uintptr_t)node->right));
}

static void dump_node(const struct dump *dump, const struct node *node)
{
	const char *state = node->lockword & NODE_HALF_DEAD ? " half-dead" : "";

	if (dump->dot) {
		PRINT(dump,
		      "  n%llx [shape=box, label=\"L%u%s\\n[%llx, %llx]\\n%u of %u, shift %u\"];\n",
		      U((uintptr_t)node), node_level(node), state, U(node->low), U(node->last),
		      node_count(node), node->used, node->shift);
		dump_links(dump, node);
		return;
	}
	PRINT(dump,
	      "level %u%s [%llx, %llx] %u entries, %u used, base %llx, shift %u, version %llu\n",
	      node_level(node), state, U(node->low), U(node->last), node_count(node), node->used,
	      U(node->base), node->shift, U(node->lockword / NODE_VERSION));
	if (!node_level(node))
		dump_entries(dump, node);
}

void lath_index_dump(struct lath_index *index, enum lath_dump_format format,
		     void (*write)(void *arg, const char *text), void *arg)
{
	struct dump dump = { tree_of(index), format == LATH_DUMP_DOT, write, arg };
	const struct node *level = dump.tree->root, *node;

	if (dump.dot)
		write(arg, "digraph lathwork {\n");
	while (level) {
		for (node = level; node; node = node->right)
			dump_node(&dump, node);
		level = node_level(level) ? node_child(level, __ffs64(level->live)) : NULL;
	}
	if (dump.dot)
		write(arg, "}\n");
}
