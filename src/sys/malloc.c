/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * malloc.c - a malloc() of the caller's as a struct lath_allocator (lathwork/config.h).
 *
 *   | unused | struct head | the block, aligned
 *   start                  start + what alignment asks for
 */
#include "sys/sys.h"

struct head {
	void *start; /* what the caller's malloc returned */
	size_t size; /* what it was asked for */
};

static void *aligned_alloc_over(void *ctx, size_t size, size_t align)
{
	struct lath_malloc *over = ctx;
	struct head head;
	uintptr_t block;

	LATH_ASSERT(align && !(align & (align - 1)));
	/* the head in front of the block must be aligned too */
	if (align < _Alignof(struct head))
		align = _Alignof(struct head);
	/* a size that would wrap is not memory, as from malloc() */
	if (size > SIZE_MAX - align - sizeof(head))
		return NULL;
	head.size = size + align + sizeof(head);
	head.start = over->alloc(head.size);
	if (!head.start)
		return NULL;
	block = ((uintptr_t)head.start + sizeof(head) + align - 1) & ~(uintptr_t)(align - 1);
	LATH_ASSERT(block + size <= (uintptr_t)head.start + head.size);
	memcpy((char *)block - sizeof(head), &head, sizeof(head));
	lath_fetch_add(&over->bytes, head.size);
	return (void *)block;
}

static void free_over(void *ctx, void *block, size_t size)
{
	struct lath_malloc *over = ctx;
	struct head head;

	(void)size;
	if (!block)
		return;
	memcpy(&head, (char *)block - sizeof(head), sizeof(head));
	LATH_ASSERT(head.start < block && head.size > size);
	lath_fetch_add(&over->bytes, 0 - (u64)head.size);
	over->free(head.start);
}

struct lath_allocator lath_malloc_allocator(struct lath_malloc *over)
{
	return (struct lath_allocator){ aligned_alloc_over, free_over, over };
}

uint64_t lath_malloc_bytes(const struct lath_malloc *over)
{
	return READ_ONCE(over->bytes);
}
