/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * dump.c - the tree as JSON. For a tree that no thread is changing.
 */
#include "tree/watch/gap.h"

struct dump {
	struct tree *tree;
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

static void json_entries(const struct dump *dump, const struct node *node)
{
	unsigned int i;

	dump->write(dump->arg, "\"entries\":[");
	/* erased entries too: they take part in searches by heads until an insert takes their
	 * place */
	for (i = 0; i < node->used; i++)
		PRINT(dump, "%s[%llu,%llu,%llu,%u]", i ? "," : "", U(node_key(node, i)),
		      U(node_level(node) ? 0 : node_size(node, i)), U(node_value(node, i)),
		      (unsigned int)(node->live >> i & 1));
	dump->write(dump->arg, "]}\n");
}

static void json_node(const struct dump *dump, struct node *node)
{
	bool pivoted = node_level(node) || node_pivoted(node);
	unsigned int i, n = pivoted ? PIVOTS : node->used;

	PRINT(dump, "{\"node\":%llu,\"right\":%llu,\"level\":%u,\"state\":\"%s\",",
	      U((uintptr_t)node), U((uintptr_t)node->right), node_level(node),
	      node->lockword & NODE_HALF_DEAD ? "half-dead" : "alive");
	PRINT(dump, "\"low\":%llu,\"last\":%llu,\"version\":%llu,\"cap\":%u,\"used\":%u,",
	      U(node->low), U(node->last), U(node->lockword / NODE_VERSION), node->cap, node->used);
	PRINT(dump, "\"shift\":%u,\"base\":%llu,", node->shift, U(node->base));
	if (gap_kept(dump->tree))
		PRINT(dump, "\"room\":%llu,", U(gap_code_bound(gap_lane(gap_own(node), 0))));
	PRINT(dump, "\"%s\":[", pivoted ? "pivots" : "heads");
	for (i = 0; i < n; i++)
		PRINT(dump, "%s%llu", i ? "," : "", pivoted ? U(node->pivot[i]) : U(node->head[i]));
	dump->write(dump->arg, "],");
	json_entries(dump, node);
}

void lath_index_dump(struct lath_index *index, void (*write)(void *arg, const char *text),
		     void *arg)
{
	struct dump dump = { tree_of(index), write, arg };
	struct node *level = dump.tree->root, *node;

	/* level by level, each from its leftmost node to the right */
	while (level) {
		for (node = level; node; node = node->right)
			json_node(&dump, node);
		level = node_level(level) ? node_child(level, __ffs64(level->live)) : NULL;
	}
}
