/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bucket.c - sorted arrays of records whose keys share the slices of all layers above.
 *
 * A writer changes a bucket in place, under its lock, with an odd version. A bucket without room is
 * copied into a larger one; the copy takes its place if the version is still the same. Readers take
 * no lock: what they found counts if the version did not change. A value that they read was always
 * that of a record of this bucket, so they may look at its key before they know. What a bucket
 * held when it was left for good was true then, hence during the call of each reader in it.
 */
#include "index/bytes/print.h"

static size_t bucket_size(u32 room, u32 kept)
{
	return sizeof(struct bucket) + (print_words(room) + kept + room * 2) * sizeof(u64);
}

/* ---- memory ---- */

struct bucket *bucket_new(struct bytes_set *set, u32 count, u64 base)
{
	u32 more = count / 4, most = max(count, BUCKET_MAX), room = min(count + more, most);
	u32 kept = base <= BASE_MAX ? (u32)(base + 7) / 8 : 0;
	struct bucket *bucket = bytes_alloc(set, bucket_size(room, kept), true);

	if (!bucket)
		return NULL;
	memset(bucket, 0, sizeof(*bucket) + print_words(room) * sizeof(u64));
	bucket->kept = (u16)kept;
	bucket->set = set;
	lath_spin_init(&bucket->lock);
	bucket->room = (u16)room;
	return bucket;
}

void bucket_drop(struct bucket *bucket)
{
	bytes_free(bucket->set, bucket, bucket_size(bucket->room, bucket->kept));
}

static void bucket_retired(struct lath_rcu_head *head)
{
	lath_retired();
	lath_call_enter();
	bucket_drop(container_of(head, struct bucket, rcu));
	lath_call_exit();
	lath_retired_end();
}

void bucket_retire(struct bucket *bucket)
{
	if (!READ_ONCE(bucket->set->retired))
		WRITE_ONCE(bucket->set->retired, true);
	lath_retire(bucket->set->rcu, &bucket->rcu, bucket_retired);
}

/* ---- versions ---- */

u32 bucket_read(struct bucket *bucket)
{
	unsigned int rounds = 0;
	u32 version;

	/* pairs with change_end */
	while ((version = smp_load_acquire(&bucket->version)) & 1)
		lath_spin_wait(&rounds);
	return version;
}

bool bucket_same(struct bucket *bucket, u32 version)
{
	smp_rmb(); /* pairs with change_begin */
	return READ_ONCE(bucket->version) == version;
}

static void change_begin(struct bucket *bucket)
{
	LATH_ASSERT(lath_spin_mine(&bucket->lock) && !bucket->gone && !(bucket->version & 1));
	WRITE_ONCE(bucket->version, bucket->version + 1);
	smp_wmb(); /* pairs with bucket_same */
}

static void change_end(struct bucket *bucket)
{
	smp_store_release(&bucket->version, bucket->version + 1); /* pairs with bucket_read */
}

/* ---- searching ---- */

/* The slice of a key in the bucket. */
static u64 slice_in(const struct bucket *bucket, const struct want *want)
{
	return bucket->tags ? slice_of(want, TAG) : bytes_at(want, bucket->offset);
}

/* The first slice that is not below `slice`. The lines of the first three probes are prefetched
 * together. */
static u32 first_slice(struct bucket *bucket, u32 used, u64 slice)
{
	u32 low = 0, i;

	for (i = 1; used > 24 && i < 8; i++)
		prefetch(bucket_slice(bucket, used * i / 8));
	while (used) {
		u32 half = used / 2;
		bool right = READ_ONCE(*bucket_slice(bucket, low + half)) < slice;

		low = right ? low + half + 1 : low;
		used = right ? used - half - 1 : half;
	}
	return low;
}

static struct want key_at(struct bytes_set *set, struct bucket *bucket, u32 i)
{
	return key_of(set, READ_ONCE(*bucket_value(bucket, i)));
}

/* Returns whether the bucket has a copy of its base. */
static bool base_kept(const struct bucket *bucket)
{
	return bucket->offset <= bucket->kept * STEP;
}

/* The base of the bucket: its copy, or the begin of the key of record i. */
static const u8 *base_of(struct bytes_set *set, struct bucket *bucket, u32 i)
{
	return base_kept(bucket) ? bucket_base(bucket) : key_at(set, bucket, i).data;
}

/* How the key compares with what the bucket's records agree in: 0, or it is before (-1) or behind
 * (1) all of them. Looks at record i if there is no copy of that. */
static int compare_base(struct bytes_set *set, struct bucket *bucket, u32 i,
			const struct want *want)
{
	const u8 *data = base_of(set, bucket, i);
	struct want begin = { data, bucket->offset, want->order, false };
	u64 most = min(want->size, begin.size);
	int c = most ? memcmp(want->data, data, most) : 0;

	if (bucket->tags || c || want->size < begin.size)
		return bytes_compare(want, &begin);
	return 0;
}

/* Prefetch the records of [low, end), or those of the first three probes of a search in there. */
static void prefetch_records(struct bucket *bucket, u32 low, u32 end)
{
	u32 n = end - low, i;

	for (i = 0; i < min(n, 8u); i++)
		prefetch((const void *)(uintptr_t)READ_ONCE(
			*bucket_value(bucket, low + (n > 8 ? n * i / 8 : i))));
}

/* The entries that have a slice: [*low, returned end), or where they would be. If there are
 * several, their records are prefetched. */
static u32 equal_slices(struct bucket *bucket, u32 used, u64 slice, u32 *low)
{
	u32 end;

	*low = end = first_slice(bucket, used, slice);
	while (end < used && end < *low + 4 && READ_ONCE(*bucket_slice(bucket, end)) == slice)
		end++;
	if (end == *low + 4)
		end = slice == ~0ull ? used : first_slice(bucket, used, slice + 1);
	if (end > *low + 1)
		prefetch_records(bucket, *low, end);
	return end;
}

struct spot bucket_seek(struct bytes_set *set, struct bucket *bucket, const struct want *want)
{
	u32 used = bucket_used(bucket), end;
	u64 slice = slice_in(bucket, want);
	struct spot spot = { 0, false, false };
	struct want key;
	int c;

	end = equal_slices(bucket, used, slice, &spot.i);
	c = compare_base(set, bucket, min(spot.i, used - 1), want);
	if (c)
		return (struct spot){ c < 0 ? 0 : used, false, true };
	while (spot.i < end) { /* equal slices: compare keys */
		u32 middle = (spot.i + end) / 2;

		key = key_at(set, bucket, middle);
		c = bytes_compare(want, &key);
		if (!c) {
			spot.i = middle;
			spot.equal = true;
			break;
		}
		if (c < 0)
			end = middle;
		else
			spot.i = middle + 1;
	}
	return spot;
}

/* Returns whether entry i is the record with this key, or the one that is expected to have it. */
static bool is_entry(struct bytes_set *set, struct bucket *bucket, u32 i, const struct want *want,
		     u64 slice, u64 expected)
{
	u64 value = READ_ONCE(*bucket_value(bucket, i));
	struct want key;

	if (expected)
		return value == expected;
	if (READ_ONCE(*bucket_slice(bucket, i)) != slice)
		return false;
	key = key_of(set, value);
	return bytes_equal(want, &key);
}

/* Find the record with this key, or with `expected` that one without a look at keys, among `used`:
 * by its tag, since all are different, or by its print. Returns its entry, or `used`. */
static u32 find_entry(struct bytes_set *set, struct bucket *bucket, u32 used,
		      const struct want *want, u64 expected)
{
	u64 slice = slice_in(bucket, want), print, match;
	u32 from, i;

	if (bucket->tags) {
		i = first_slice(bucket, used, slice);
		lath_delay("bucket searched, record not yet read");
		return i < used && is_entry(set, bucket, i, want, slice, expected) ? i : used;
	}
	lath_delay("bucket searched, record not yet read");
	print = print_of(want, bucket->offset);
	for (from = 0; from < used; from += 64) {
		match = print_match(bucket_prints(bucket), from, used, print);
		for (; match; match &= match - 1) {
			i = from + __ffs64(match);
			if (is_entry(set, bucket, i, want, slice, expected))
				return i;
		}
	}
	return used;
}

u64 bucket_get(struct bytes_set *set, struct bucket *bucket, const struct want *want)
{
	u32 version, used, i;
	u64 value;

	/* the lines of prints, with that of the version */
	prefetch((const char *)bucket + 64);
	prefetch((const char *)bucket + 128);
	do {
		version = bucket_read(bucket);
		used = bucket_used(bucket);
		i = find_entry(set, bucket, used, want, 0);
		value = i < used ? READ_ONCE(*bucket_value(bucket, i)) : 0;
	} while (unlikely(!bucket_same(bucket, version)));
	return value;
}

/* ---- filling ---- */

void bucket_sort_out(struct bytes_set *set, struct bucket *bucket)
{
	struct want first = key_at(set, bucket, 0), last = key_at(set, bucket, bucket->used - 1u);
	u32 i;

	bucket->offset = (u32)bytes_common(&first, &last);
	bucket->tags = first.size == last.size && bucket->offset == first.size;
	if (bucket->offset && base_kept(bucket))
		memcpy(bucket_base(bucket), first.data, bucket->offset);
	memset(bucket_prints(bucket), 0, print_words(bucket->room) * sizeof(u64));
	for (i = 0; i < bucket->used; i++) {
		struct want key = key_at(set, bucket, i);

		*bucket_slice(bucket, i) = slice_in(bucket, &key);
		bucket_prints(bucket)[i / 8] |= print_of(&key, bucket->offset) << i % 8 * 8;
	}
}

static void move_words(u64 *to, const u64 *from, u32 n)
{
	u32 i;

	if (to <= from)
		for (i = 0; i < n; i++)
			WRITE_ONCE(to[i], READ_ONCE(from[i]));
	else
		for (i = n; i--;)
			WRITE_ONCE(to[i], READ_ONCE(from[i]));
}

/* Move the slices and values of n entries from position i of one bucket to position to_i of
 * another, or of the same one. */
static void move_entries(struct bucket *to, u32 to_i, struct bucket *from, u32 i, u32 n)
{
	move_words(bucket_slice(to, to_i), bucket_slice(from, i), n);
	move_words(bucket_value(to, to_i), bucket_value(from, i), n);
}

/* Fill in entry i, in front of which `used` others were; its place is free. */
static void put_entry(struct bucket *bucket, u32 used, u32 i, const struct want *want, u64 value)
{
	print_insert(bucket_prints(bucket), used, i, print_of(want, bucket->offset));
	WRITE_ONCE(*bucket_slice(bucket, i), slice_in(bucket, want));
	WRITE_ONCE(*bucket_value(bucket, i), value);
}

int bucket_insert(struct bytes_set *set, const struct place *place, const struct want *want,
		  u64 value, u64 *there)
{
	struct bucket *bucket = bucket_of(place->word);
	struct spot spot;
	int ret = 0;

	lath_spin_lock(&bucket->lock);
	if (bucket->gone) {
		ret = LOOK_AGAIN;
		goto out;
	}
	spot = bucket_seek(set, bucket, want);
	if (spot.equal) {
		*there = *bucket_value(bucket, spot.i);
		ret = -EEXIST;
	} else if (spot.other || bucket->used == bucket->room) {
		ret = -ENOSPC;
	} else {
		change_begin(bucket);
		move_entries(bucket, spot.i + 1, bucket, spot.i, bucket->used - spot.i);
		put_entry(bucket, bucket->used, spot.i, want, value);
		/* pairs with bucket_used */
		smp_store_release(&bucket->used, (u16)(bucket->used + 1));
		change_end(bucket);
	}
out:
	lath_spin_unlock(&bucket->lock);
	return ret;
}

/* ---- replacing a bucket ---- */

/* Copy the bucket with the record added. NULL: *ret is -ENOMEM, LOOK_AGAIN or -EEXIST (*there). */
static struct bucket *copy_with(struct bytes_set *set, struct bucket *bucket, u32 version,
				const struct want *want, u64 value, int *ret, u64 *there)
{
	u32 used = bucket_used(bucket), i;
	struct bucket *copy = bucket_new(set, used + 1, bucket->offset);
	struct spot spot;

	*ret = -ENOMEM;
	if (!copy)
		return NULL;
	copy->offset = bucket->offset;
	copy->tags = bucket->tags;
	if (copy->kept)
		memcpy(bucket_base(copy), base_of(set, bucket, 0), copy->offset);
	for (i = 0; i < print_words(used); i++)
		bucket_prints(copy)[i] = READ_ONCE(bucket_prints(bucket)[i]);
	spot = bucket_seek(set, bucket, want);
	if (spot.i > used) /* it is being changed */
		spot.i = used;
	move_entries(copy, 0, bucket, 0, spot.i);
	move_entries(copy, spot.i + 1, bucket, spot.i, used - spot.i);
	put_entry(copy, used, spot.i, want, value);
	copy->used = (u16)(used + 1);
	if (spot.equal)
		*there = READ_ONCE(*bucket_value(bucket, spot.i));
	*ret = !bucket_same(bucket, version) ? LOOK_AGAIN : spot.equal ? -EEXIST : 0;
	if (*ret) {
		bucket_drop(copy);
		return NULL;
	}
	if (spot.other)
		bucket_sort_out(set, copy);
	return copy;
}

/* Make a bucket of two records. NULL: *ret is -ENOMEM or -EEXIST. */
static struct bucket *bucket_of_two(struct bytes_set *set, u64 word, const struct want *want,
				    u64 value, int *ret)
{
	struct want key = key_of(set, word);
	int c = bytes_compare(want, &key);
	struct bucket *bucket;

	*ret = c ? -ENOMEM : -EEXIST;
	bucket = c ? bucket_new(set, 2, bytes_common(want, &key)) : NULL;
	if (!bucket)
		return NULL;
	bucket->used = 2;
	*bucket_value(bucket, c > 0) = value;
	*bucket_value(bucket, c < 0) = word;
	bucket_sort_out(set, bucket);
	*ret = 0;
	return bucket;
}

/* Put a word in the place of a record, or of a bucket if that still has this version. 0 |
 * LOOK_AGAIN */
static int take_place(const struct place *place, u32 version, u64 word)
{
	struct bucket *bucket = bucket_of(place->word);
	int ret;

	if (!READ_ONCE(place->layer->forked))
		WRITE_ONCE(place->layer->forked, 1);
	if (form_of(place->word) == FORM_RECORD)
		return lath_index_replace_if(&place->layer->index, place->slice, place->word, word,
					     NULL)
			       ? LOOK_AGAIN
			       : 0;
	lath_spin_lock(&bucket->lock);
	ret = bucket->gone || bucket->version != version ? LOOK_AGAIN : 0;
	if (!ret) {
		bucket->gone = true;
		ret = lath_index_replace_if(&place->layer->index, place->slice, place->word, word,
					    NULL);
		LATH_ASSERT(!ret); /* only the holder of its lock replaces a bucket */
	}
	lath_spin_unlock(&bucket->lock);
	if (!ret)
		bucket_retire(bucket);
	return ret;
}

int bucket_extend(struct bytes_set *set, const struct place *place, const struct want *want,
		  u64 value, u64 *there)
{
	struct layer *layer = NULL;
	struct bucket *bucket;
	u32 version = 0;
	int ret;

	if (form_of(place->word) == FORM_RECORD) {
		*there = place->word;
		bucket = bucket_of_two(set, place->word, want, value, &ret);
	} else {
		version = bucket_read(bucket_of(place->word));
		bucket = copy_with(set, bucket_of(place->word), version, want, value, &ret, there);
	}
	if (!bucket)
		return ret;
	if (bucket->used > BUCKET_MAX)
		ret = layer_of_bucket(set, bucket, &layer);
	lath_delay("bucket copied, not yet replaced");
	if (!ret)
		ret = take_place(place, version,
				 layer ? (u64)(uintptr_t)layer | FORM_LAYER : bucket_word(bucket));
	if (layer || ret)
		bucket_drop(bucket);
	if (layer && ret)
		layer_drop(set, layer);
	else if (layer)
		layer_add(set, layer);
	return ret;
}

/* ---- changing and erasing ---- */

/* Take entry i out of a locked bucket. If one is left, it takes the bucket's place. Returns whether
 * it did. */
static bool take_out(const struct place *place, struct bucket *bucket, u32 i)
{
	change_begin(bucket);
	print_erase(bucket_prints(bucket), bucket->used, i);
	move_entries(bucket, i, bucket, i + 1, bucket->used - i - 1u);
	WRITE_ONCE(bucket->used, (u16)(bucket->used - 1));
	change_end(bucket);
	if (bucket->used > 1)
		return false;
	bucket->gone = true;
	/* cannot fail: only the holder of its lock replaces a bucket */
	return !lath_index_replace_if(&place->layer->index, place->slice, place->word,
				      *bucket_value(bucket, 0), NULL);
}

int bucket_change(struct bytes_set *set, const struct place *place, const struct want *want,
		  u64 expected, u64 value, u64 *there)
{
	struct bucket *bucket = bucket_of(place->word);
	bool left = false;
	int ret = LOOK_AGAIN;
	u32 i, used;

	lath_spin_lock(&bucket->lock);
	if (bucket->gone)
		goto out;
	used = i = bucket->used;
	if (expected)
		i = find_entry(set, bucket, used, want, expected);
	if (i == used)
		i = find_entry(set, bucket, used, want, 0);
	ret = -ENOENT;
	if (i == used)
		goto out;
	*there = *bucket_value(bucket, i);
	ret = expected && expected != *there ? -EAGAIN : 0;
	if (ret)
		goto out;
	if (value) {
		change_begin(bucket);
		WRITE_ONCE(*bucket_value(bucket, i), value);
		change_end(bucket);
	} else {
		left = take_out(place, bucket, i);
	}
out:
	lath_spin_unlock(&bucket->lock);
	if (left)
		bucket_retire(bucket);
	return ret;
}

/* ---- checks ---- */

bool bucket_true(struct bytes_set *set, struct bucket *bucket, const struct place *place)
{
	struct want first = key_at(set, bucket, 0), before = first;
	u32 i;

	if (bucket->gone || bucket->version & 1 || bucket->used < 2 || bucket->used > bucket->room)
		return false;
	if (bucket->offset > first.size ||
	    (bucket->offset && base_kept(bucket) &&
	     memcmp(bucket_base(bucket), first.data, bucket->offset)))
		return false;
	for (i = 0; i < bucket->used; i++) {
		struct want key = key_at(set, bucket, i);
		u64 slice = slice_in(bucket, &key);
		u64 fork = bytes_fork(&first, &key);

		if (*bucket_slice(bucket, i) != slice || (i && bytes_compare(&before, &key) >= 0))
			return false;
		if (print_get(bucket_prints(bucket), i) != print_of(&key, bucket->offset))
			return false;
		if (bucket->tags ? fork != TAG
				 : key.size < bucket->offset ||
					   memcmp(key.data, first.data, bucket->offset))
			return false;
		if (!layer_holds(place->layer, &key) ||
		    slice_of(&key, place->layer->rank) != place->slice)
			return false;
		before = key;
	}
	return true;
}
