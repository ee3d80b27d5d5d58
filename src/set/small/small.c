/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * small.c - a small container: beginning, changes, the index that a block becomes, end.
 */
#include "set/small/block.h"
#include "tree/call/config.h"

static const struct lath_small_kind plain = LATH_SMALL_KIND_INIT;

/* Returns whether indexes can be made of this kind. They are made later: lath_index_init() must not
 * refuse then. */
static bool sound(const struct lath_small_kind *kind)
{
	struct lath_config config;

	return kind->limit <= LATH_SMALL_MOST && !lath_config_read(&config, &kind->index, false) &&
	       !(config.flags & LATH_SHARED);
}

int lath_small_init(struct lath_small *public, const struct lath_small_kind *kind)
{
	if (!public || (kind && !sound(kind)))
		return -EINVAL;
	*small_of(public) = (struct small){ .kind = kind ? kind : &plain };
	return 0;
}

int lath_small_set_limit(struct lath_small_kind *kind, unsigned int limit)
{
	if (limit > LATH_SMALL_MOST)
		return -EINVAL;
	kind->limit = limit;
	return 0;
}

/* ---- the index ---- */

/* Insert all entries of the block into an empty index: 0 | -ENOMEM */
static int fill(struct lath_index *index, const struct small *block)
{
	struct lath_item item;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < block->count && !ret; i++) {
		block_item(block, i, &item);
		ret = lath_index_insert_item(index, &item, NULL);
	}
	return ret;
}

/* Make an index of this form with all items of the container: 0 | -ENOMEM | -EINVAL: the caller has
 * changed the kind since lath_small_init() */
static int index_init(struct lath_index *index, const struct small *from, enum small_form form)
{
	struct lath_config config;
	int ret = lath_config_read(&config, &from->kind->index, false);

	if (ret)
		return ret;
	if (form == SMALL_NODES)
		config.flags |= LATH_NODE_EACH;
	if (!is_block(from))
		return lath_index_clone(index, from->body, &config);
	ret = lath_index_init(index, &config);
	if (ret)
		return ret;
	ret = fill(index, from);
	if (ret)
		lath_index_fini(index, NULL, NULL);
	return ret;
}

static void lath_index_free(const struct small *small, struct lath_index *index)
{
	const struct lath_allocator *to = small->kind->index.allocator;

	if (to)
		to->free(to->ctx, index, sizeof(*index));
	else
		lath_block_free(index);
}

static void index_destroy(const struct small *small, struct lath_index *index, lath_item_fn each,
			  void *arg)
{
	lath_index_fini(index, each, arg);
	lath_index_free(small, index);
}

/* Returns an index of this form with all items of the container; NULL: no memory. */
static struct lath_index *index_create(const struct small *small, enum small_form form)
{
	const struct lath_allocator *from = small->kind->index.allocator;
	struct lath_index *index = from ? from->alloc(from->ctx, sizeof(*index), 64)
					: lath_block_alloc(sizeof(*index));
	int ret;

	if (!index)
		return NULL;
	ret = index_init(index, small, form);
	LATH_ASSERT(!ret || ret == -ENOMEM); /* sound() has checked the kind */
	if (!ret)
		return index;
	lath_index_free(small, index);
	return NULL;
}

/* Returns the form in which there is room for one more item. */
static enum small_form form_for_one_more(const struct small *small)
{
	if (is_block(small) && small->count < small->kind->limit)
		return SMALL_BLOCK;
	if (small->form != SMALL_CHUNKS && small->count < small->kind->each)
		return SMALL_NODES;
	return SMALL_CHUNKS;
}

/* Bring the container into a larger form: 0 | -ENOMEM */
static int grow(struct small *small, enum small_form form)
{
	struct lath_index *index = index_create(small, form);

	LATH_ASSERT(form > small->form);
	if (!index)
		return -ENOMEM;
	if (is_block(small))
		lath_small_block_free(small);
	else
		index_destroy(small, small->body, NULL, NULL);
	small->body = index;
	small->form = form & 3;
	return 0;
}

/* ---- changes ---- */

/* Returns whether an item overlaps this one, and copies it to *conflict, if that is not NULL. */
static bool conflicts(const struct small *small, const struct lath_item *item,
		      struct lath_item *conflict)
{
	struct lath_item there;

	if (is_block(small))
		return lath_small_block_conflicts(small, item, conflict);
	return !lath_index_overlap_item(small->body, item->key, item->size,
					conflict ? conflict : &there);
}

int lath_small_insert_item(struct lath_small *public, const struct lath_item *item,
			   struct lath_item *conflict)
{
	struct small *small = small_of(public);
	enum small_form form = form_for_one_more(small);
	int ret;

	if (!item->size || item->size - 1 > LAST_KEY - item->key ||
	    (item->size > 1 && small->kind->index.layout == LATH_POINTS))
		return -EINVAL;
	/* an index of the right form looks for itself */
	if ((is_block(small) || form > small->form) && conflicts(small, item, conflict))
		return -EEXIST;
	if (form > small->form && grow(small, form))
		return -ENOMEM;
	if (is_block(small))
		return lath_small_block_insert(small, item);
	ret = lath_index_insert_item(small->body, item, conflict);
	if (!ret)
		small->count++;
	return ret;
}

int lath_small_erase_item(struct lath_small *public, uint64_t key, struct lath_item *old)
{
	struct small *small = small_of(public);
	unsigned int i;
	int ret;

	if (is_block(small)) {
		i = block_find(small, key);
		if (i == small->count || block_key(small, i) != key)
			return -ENOENT;
		if (old)
			block_item(small, i, old);
		lath_small_block_erase(small, i);
		return 0;
	}
	ret = lath_index_erase_item(small->body, key, old);
	LATH_ASSERT(ret || small->count);
	if (!ret)
		small->count--;
	return ret;
}

int lath_small_replace_item(struct lath_small *public, uint64_t key, uint64_t value,
			    struct lath_item *old)
{
	struct small *small = small_of(public);
	struct lath_item before;
	unsigned int i;
	int ret;

	if (!is_block(small))
		return lath_index_replace_item(small->body, key, value, old);
	i = block_find(small, key);
	if (i == small->count || block_key(small, i) != key)
		return -ENOENT;
	block_item(small, i, &before);
	ret = lath_small_block_change(small, i, before.size, value);
	if (!ret && old)
		*old = before;
	return ret;
}

int lath_small_resize(struct lath_small *public, uint64_t key, uint64_t size)
{
	struct small *small = small_of(public);
	unsigned int i;

	if (!is_block(small))
		return lath_index_resize(small->body, key, size);
	if (!size || size - 1 > LAST_KEY - key || small->kind->index.layout == LATH_POINTS)
		return -EINVAL;
	i = block_find(small, key);
	if (i == small->count || block_key(small, i) != key)
		return -ENOENT;
	if (i + 1 < small->count && block_key(small, i + 1) - key < size)
		return -EEXIST;
	return lath_small_block_change(small, i, size, block_value(small, i));
}

int lath_small_split(struct lath_small *public, uint64_t at, uint64_t value)
{
	struct small *small = small_of(public);
	enum small_form form = form_for_one_more(small);
	struct lath_item item;
	int ret = lath_small_lookup_item(public, at, &item);

	if (ret || item.key == at)
		return ret ? ret : -EEXIST;
	if (form > small->form && grow(small, form))
		return -ENOMEM;
	if (is_block(small))
		return lath_small_block_split(small, block_find(small, item.key), at, value);
	ret = lath_index_split(small->body, at, value);
	if (!ret)
		small->count++;
	return ret;
}

int lath_small_insert_hole(struct lath_small *public, const struct lath_hole_request *want,
			   uint64_t value, uint64_t *key)
{
	struct small *small = small_of(public);
	struct lath_item item = { 0, want->size, value };
	int ret;

	/* in an index that need not grow it is one search */
	if (!is_block(small) && form_for_one_more(small) == small->form) {
		ret = lath_index_insert_hole(small->body, want, value, key);
		if (!ret)
			small->count++;
		return ret;
	}
	ret = lath_small_find_hole(public, want, &item.key);
	/* no other call runs between the search and the insert: the place is still free */
	if (!ret && form_for_one_more(small) == SMALL_BLOCK)
		ret = lath_small_block_insert(small, &item);
	else if (!ret)
		ret = lath_small_insert_item(public, &item, NULL);
	if (!ret)
		*key = item.key;
	return ret;
}

/* ---- the block's place, the end ---- */

void lath_small_move(struct lath_small *public, void *(*move)(void *arg, void *block, size_t size),
		     void *arg)
{
	struct small *small = small_of(public);

	if (is_block(small) && small->body)
		small->body = move(arg, small->body, 8ul * small->room);
}

void lath_small_fini(struct lath_small *public, lath_item_fn each, void *arg)
{
	LATH_NO_CANCEL;
	struct small *small = small_of(public);
	struct lath_item item;
	unsigned int i;

	if (is_block(small)) {
		for (i = 0; each && i < small->count; i++) {
			block_item(small, i, &item);
			each(arg, &item);
		}
		lath_small_block_free(small);
	} else {
		index_destroy(small, small->body, each, arg);
	}
	*small = (struct small){ .kind = small->kind };
}
