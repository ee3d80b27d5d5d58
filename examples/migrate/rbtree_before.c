/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Memory areas in Linux's red-black tree: no two overlap, and an address finds its area.
 */
#include <linux/rbtree.h>

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct area {
	struct rb_node node;
	uint64_t start, size;
	const char *name;
};

static struct rb_root areas = RB_ROOT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int area_insert(struct area *area)
{
	struct rb_node **link = &areas.rb_node, *parent = NULL;
	int ret = 0;

	pthread_mutex_lock(&lock);
	while (*link) {
		struct area *there = rb_entry(*link, struct area, node);

		parent = *link;
		if (area->start + area->size <= there->start) {
			link = &parent->rb_left;
		} else if (area->start >= there->start + there->size) {
			link = &parent->rb_right;
		} else {
			ret = -EEXIST;
			goto out;
		}
	}
	rb_link_node(&area->node, parent, link);
	rb_insert_color(&area->node, &areas);
out:
	pthread_mutex_unlock(&lock);
	return ret;
}

static struct area *area_find(uint64_t address)
{
	struct rb_node *node = areas.rb_node;

	while (node) {
		struct area *area = rb_entry(node, struct area, node);

		if (address < area->start)
			node = node->rb_left;
		else if (address >= area->start + area->size)
			node = node->rb_right;
		else
			return area;
	}
	return NULL;
}

static void area_print(uint64_t address)
{
	struct area *area;

	pthread_mutex_lock(&lock);
	area = area_find(address);
	printf("%d: %s\n", (int)address, area ? area->name : "none");
	pthread_mutex_unlock(&lock);
}

static void area_remove(uint64_t address)
{
	struct area *area;

	pthread_mutex_lock(&lock);
	area = area_find(address);
	if (area)
		rb_erase(&area->node, &areas);
	pthread_mutex_unlock(&lock);
	free(area);
}

static int add(uint64_t start, uint64_t size, const char *name)
{
	struct area *area = malloc(sizeof(*area));
	int ret;

	if (!area)
		return -ENOMEM;
	area->start = start;
	area->size = size;
	area->name = name;
	ret = area_insert(area);
	if (ret)
		free(area);
	return ret;
}

int main(void)
{
	if (add(4096, 8192, "text") || add(16384, 4096, "data") || add(20480, 65536, "heap"))
		return 1;
	printf("overlap: %s\n", add(12000, 8192, "stack") == -EEXIST ? "refused" : "taken");
	area_print(12287);
	area_print(12288);
	area_print(20480);
	area_remove(17000);
	area_print(17000);
	area_remove(5000);
	area_remove(30000);
	return 0;
}
