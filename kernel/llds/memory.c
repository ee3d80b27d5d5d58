/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * memory.c - the memory of a store, counted against its limit.
 *
 *   nodes of the index          pages, as the index asks for them
 *   entries up to 2,048 bytes   objects of a few sizes; a page holds objects of one size
 *            up to 32 KiB       pages of their own
 *            above              vmalloc
 *
 * Pages are zeroed when they are allocated. A page of objects is freed with its last object.
 */
#include <linux/kmemleak.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "store.h"

#define PAGES_MAX (PAGE_SIZE << PAGE_ALLOC_COSTLY_ORDER)
#define FREE_BYTE 0x6b

/* multiples of 8; the larger ones waste little of a page */
static const u16 class_bytes[LLDS_CLASSES] = { 32,  40,	 48,  56,   64,	  80,  96,  112,
					       128, 160, 192, 224,  256,  320, 384, 448,
					       576, 672, 816, 1024, 1360, 2048 };

static int charge(struct llds_store *store, u64 bytes, bool always)
{
	if (atomic64_add_return(bytes, &store->bytes) <= READ_ONCE(store->limit) || always)
		return 0;
	atomic64_sub(bytes, &store->bytes);
	return -ENOSPC;
}

static void uncharge(struct llds_store *store, u64 bytes)
{
	atomic64_sub(bytes, &store->bytes);
}

/* ---- pages ---- */

void *llds_pages_new(struct llds_store *store, size_t size, bool always)
{
	gfp_t gfp = LLDS_GFP | __GFP_ZERO;
	void *pages;

	if (charge(store, size, always))
		return ERR_PTR(-ENOSPC);
	if (size > PAGES_MAX)
		gfp |= __GFP_NORETRY; /* on failure the index asks for less */
	pages = alloc_pages_exact(size, gfp);
	if (!pages) {
		uncharge(store, size);
		return ERR_PTR(-ENOMEM);
	}
	return pages;
}

void llds_pages_free(struct llds_store *store, void *pages, size_t size)
{
	free_pages_exact(pages, size);
	uncharge(store, size);
}

/* ---- objects ---- */

/* The state of a page of objects, kept in its struct page's private word. Objects are numbered from
 * 1; 0: none. */
union objects_of {
	unsigned long word;
	struct {
		u16 used;
		u16 free;  /* the first free object; its first bytes hold the number of the next one
			    */
		u16 fresh; /* objects that have been handed out at least once */
	};
};

static unsigned int class_of(size_t bytes)
{
	unsigned int c = 0;

	while (class_bytes[c] < bytes)
		c++;
	return c;
}

/* Takes an object from a page that has a free one. The class's lock is held. */
static void *take_object(struct page *page, unsigned int bytes)
{
	union objects_of o = { page_private(page) };
	char *objects = page_address(page), *object;

	if (o.free) {
		object = objects + (o.free - 1) * bytes;
		o.free = *(u16 *)object;
		if (IS_ENABLED(CONFIG_KASAN)) /* KASAN does not track these objects */
			WARN_ONCE(memchr_inv(object + sizeof(u16), FREE_BYTE, bytes - sizeof(u16)),
				  "llds: a free object was written to\n");
	} else {
		object = objects + o.fresh++ * bytes;
	}
	if (++o.used == PAGE_SIZE / bytes)
		list_del_init(&page->lru);
	set_page_private(page, o.word);
	return object;
}

static void *object_new(struct llds_store *store, unsigned int c)
{
	struct llds_class *class = &store->class[c];
	void *object, *fresh = NULL;
	struct page *page;

	spin_lock(&class->lock);
	page = list_first_entry_or_null(&class->partial, struct page, lru);
	if (!page) {
		spin_unlock(&class->lock);
		fresh = llds_pages_new(store, PAGE_SIZE, false);
		if (IS_ERR(fresh))
			return fresh;
		page = virt_to_page(fresh);
		set_page_private(page, 0);
		spin_lock(&class->lock);
		list_add(&page->lru, &class->partial);
	}
	object = take_object(page, class_bytes[c]);
	spin_unlock(&class->lock);
	return object;
}

static void object_free(struct llds_store *store, void *object, unsigned int c)
{
	struct llds_class *class = &store->class[c];
	struct page *page = virt_to_page(object);
	unsigned int bytes = class_bytes[c];
	union objects_of o;

	if (IS_ENABLED(CONFIG_KASAN))
		memset(object, FREE_BYTE, bytes);
	spin_lock(&class->lock);
	o.word = page_private(page);
	if (o.used == PAGE_SIZE / bytes)
		list_add(&page->lru, &class->partial);
	*(u16 *)object = o.free;
	o.free = offset_in_page(object) / bytes + 1;
	if (!--o.used)
		list_del_init(&page->lru);
	set_page_private(page, o.used ? o.word : 0);
	spin_unlock(&class->lock);
	if (!o.used)
		llds_pages_free(store, page_address(page), PAGE_SIZE);
}

/* ---- entries ---- */

void *llds_memory_new(struct llds_store *store, size_t bytes)
{
	size_t pages = PAGE_ALIGN(bytes);
	void *p;

	if (bytes <= class_bytes[LLDS_CLASSES - 1])
		return object_new(store, class_of(bytes));
	if (pages <= PAGES_MAX)
		return llds_pages_new(store, pages, false);
	if (charge(store, pages, false))
		return ERR_PTR(-ENOSPC);
	p = __vmalloc(bytes, LLDS_GFP);
	if (!p) {
		uncharge(store, pages);
		return ERR_PTR(-ENOMEM);
	}
	kmemleak_not_leak(p); /* only index nodes point to it, and kmemleak does not scan them */
	return p;
}

void llds_memory_free(struct llds_store *store, void *p, size_t bytes)
{
	size_t pages = PAGE_ALIGN(bytes);

	if (bytes <= class_bytes[LLDS_CLASSES - 1]) {
		object_free(store, p, class_of(bytes));
	} else if (pages <= PAGES_MAX) {
		llds_pages_free(store, p, pages);
	} else {
		vfree(p);
		uncharge(store, pages);
	}
}

void llds_memory_init(struct llds_store *store)
{
	unsigned int c;

	for (c = 0; c < LLDS_CLASSES; c++) {
		spin_lock_init(&store->class[c].lock);
		INIT_LIST_HEAD(&store->class[c].partial);
	}
}

void llds_memory_end(struct llds_store *store)
{
	WARN_ONCE(atomic64_read(&store->bytes), "llds: a store ended and has memory\n");
}
