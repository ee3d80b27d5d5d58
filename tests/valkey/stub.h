/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * stub.h - a stub of the server: memory that ends at any allocation, files that end at any read,
 * blocks that move at every step of a defragmentation, keys that cannot be opened.
 */
#ifndef TESTS_VALKEY_STUB_H
#define TESTS_VALKEY_STUB_H

#include <stdio.h>
#include <stdlib.h>

#include "command.h"

#undef NDEBUG
#include <assert.h>
#define MUST(condition) assert(condition)

/* Sets the functions of `vk` that the module's types need. */
void stub_begin(void);

extern long blocks;  /* allocated and not freed */
extern long fail_in; /* the allocation that fails: 1 is the next; 0: none */
extern bool failed;  /* it did */

extern char last_error[200]; /* the last reply that was an error */

struct vk_io {
	char *data;
	size_t size, at, room;
	long reads_left; /* -1: any number */
	bool error;
};

struct vk_digest {
	uint64_t sequence, all;
};

uint64_t digest_of(const struct vk_type_methods *methods, void *value);

struct vk_defrag {
	unsigned long cursor;
	bool late; /* the key is large: the server has a cursor for it, and stops the module */
	unsigned int asked, moved;
};

#endif
