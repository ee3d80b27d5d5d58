/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bucket.c - sorted arrays of records whose keys share the slices of all layers above.
 *
 * A writer changes a bucket in place, under its lock, with an odd version. A bucket without room is
 * copied into a larger one; the copy takes its place if the version is still the same. Readers take
 * no lock: what they found counts if the version did not change. A value that they read was always
 * that of a record of this bucket, so they may look at its key before they know. A reader
 * that is still in a replaced bucket returns what the bucket held when it was replaced; that moment
 * lies within the reader's call, so the answer is linearizable.
 */
#include "set/bytes/bucket.h"
#include "set/bytes/print.h"

/* ---- memory ---- */

/* Words of the groups of a bucket with this many records at most. */
static u32 words_of(u32 groups, u32 room)
{
	return groups > 1 ? groups * GROUP_WORDS : 1 + room;
}

/* Bytes of memory of a bucket, with what aligns several groups. */
static size_t bucket_size(u32 groups, u32 room, u32 kept)
{
	u32 words = words_of(groups, room) + kept + room;

	return sizeof(struct bucket) + words * sizeof(u64) + 2 * room + (groups > 1 ? 64 - 16 : 0);
}

/* Records that this many groups have room for: with all places taken searches would go far. */
static u32 room_of(u32 groups)
{
	return groups * GROUP_SLOTS - groups / 4;
}

struct bucket *lath_bucket_new(struct bytes_set *set, u32 count, u64 base)
{
	u32 kept = base <= BASE_MAX ? (u32)(base + 7) / 8 : 0, groups = 1, pad = 0;
	u32 most = max(count, BUCKET_MAX), room = min(count + count / (count < 8 ? 4 : 8), most);
	struct bucket *bucket;
	char *block;

	LATH_ASSERT(count >= 2 && count <= BUCKET_MAX + 1); /* one too many: for a layer */
	if (room > GROUP_SLOTS) {
		for (groups = 2; room_of(groups) < room;) /* a number that a word can have */
			groups += groups < 6 ? 1 : 2;
		room = min(room_of(groups), most);
	}
	LATH_ASSERT(room >= count);
	LATH_ASSERT(words_of(groups, room) + kept <= 255); /* `front` is a byte */
	block = lath_bytes_alloc(set, bucket_size(groups, room, kept), 16);
	if (!block)
		return NULL;
	if (groups > 1)
		pad = -((uintptr_t)block + sizeof(*bucket)) % 64;
	bucket = (struct bucket *)(void *)(block + pad);
	memset(bucket, 0, sizeof(*bucket) + words_of(groups, room) * sizeof(u64));
	lath_spin_init(&bucket->lock);
	bucket->set = set;
	bucket->room = (u8)room;
	bucket->groups = (u8)groups;
	bucket->kept = (u8)kept;
	bucket->front = (u8)(words_of(groups, room) + kept);
	bucket->pad = (u8)pad;
	return bucket;
}

void lath_bucket_drop(struct bucket *bucket)
{
	lath_bytes_free(bucket->set, (char *)bucket - bucket->pad,
			bucket_size(bucket->groups, bucket->room, bucket->kept));
}

static void bucket_retired(struct lath_rcu_head *head)
{
	lath_retired();
	lath_call_enter();
	lath_bucket_drop(container_of(head, struct bucket, rcu));
	lath_call_exit();
	lath_retired_end();
}

/* Free a bucket after a grace period. */
static void bucket_retire(struct bucket *bucket)
{
	LATH_ASSERT(bucket->gone); /* never changes back: needs no lock */
	if (!READ_ONCE(bucket->set->retired))
		WRITE_ONCE(bucket->set->retired, true);
	lath_retire(bucket->set->rcu, &bucket->rcu, bucket_retired);
}

/* ---- versions ---- */

u32 lath_bucket_read(struct bucket *bucket)
{
	unsigned int rounds = 0;
	u32 version;

	/* a change is a few stores: wait for its end instead of reading what is rejected then */
	/* pairs with change_end */
	while ((version = smp_load_acquire(&bucket->version)) & 1)
		lath_spin_wait(&rounds);
	return version;
}

bool lath_bucket_same(struct bucket *bucket, u32 version)
{
	LATH_ASSERT(!(version & 1)); /* from lath_bucket_read() */
	smp_rmb();		     /* pairs with change_begin */
	return READ_ONCE(bucket->version) == version;
}

static void change_begin(struct bucket *bucket)
{
	LATH_ASSERT(lath_spin_mine(&bucket->lock) && !bucket->gone && !(bucket->version & 1));
	WRITE_ONCE(bucket->version, bucket->version + 1);
	smp_wmb(); /* pairs with lath_bucket_same */
}

static void change_end(struct bucket *bucket)
{
	LATH_ASSERT(lath_spin_mine(&bucket->lock) && bucket->version & 1);
	smp_store_release(&bucket->version, bucket->version + 1); /* pairs with lath_bucket_read */
}

/* ---- searching ---- */

/* The slice of a key in the bucket. */
static u64 slice_in(const struct bucket *bucket, const struct want *want)
{
	return bucket->tags ? slice_of(want, TAG) : bytes_at(want, bucket->offset);
}

/* The first slice that is not below `slice`. */
static u32 first_slice(struct bucket *bucket, u32 used, u64 slice)
{
	u32 low = 0;

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
		return lath_bytes_compare(want, &begin);
	return 0;
}

/* Prefetch the records of [low, end), or those of the first three probes of a search in there. */
static void prefetch_records(struct bucket *bucket, u32 low, u32 end)
{
	u32 n = end - low, i;

	for (i = 0; i < min(n, 8u); i++)
		prefetch_record(READ_ONCE(*bucket_value(bucket, low + (n > 8 ? n * i / 8 : i))));
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

/* Prefetch a bucket from its groups on, or from its slices on, together with the header. Its size
 * is known from its word, so that all its lines are one cache miss. */
static __always_inline void warm(u64 word, bool groups, bool change)
{
	u32 words = word_groups(word) * GROUP_WORDS, room = room_of(word_groups(word));
	const char *at = (const char *)&word_entry(word)[groups ? 0 : words];
	const char *end = (const char *)&word_entry(word)[words + room] + 2 * room + 64;

	if (change)
		prefetchw(bucket_of(word));
	else
		prefetch(bucket_of(word));
	for (; at < end; at += 64)
		if (change)
			prefetchw(at);
		else
			prefetch(at);
}

void lath_bucket_prefetch_all(u64 word)
{
	warm(word, true, false);
}

void lath_bucket_prefetch_change(u64 word)
{
	warm(word, false, true);
}

struct spot lath_bucket_seek(struct bytes_set *set, struct bucket *bucket, const struct want *want)
{
	u32 used = bucket_used(bucket), end;
	u64 slice = slice_in(bucket, want);
	struct spot spot = { 0, false, false };
	struct want key;
	int c;

	LATH_ASSERT(used && lath_reader_inside(set->rcu));
	end = equal_slices(bucket, used, slice, &spot.i);
	c = compare_base(set, bucket, min(spot.i, used - 1), want);
	/* slices begin behind the base: for a key with another one they say nothing */
	if (c)
		return (struct spot){ c < 0 ? 0 : used, false, true };
	while (spot.i < end) { /* equal slices: compare keys */
		u32 middle = (spot.i + end) / 2;

		key = key_at(set, bucket, middle);
		c = lath_bytes_compare(want, &key);
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
	LATH_ASSERT(spot.i <= used); /* true without lath_bucket_same() as well */
	return spot;
}

/* Find the record with this key, or with `expected` that one without a look at keys. Returns the
 * word of its value, or 0. */
static u32 find_place(struct bytes_set *set, const u64 *entry, u32 groups, u32 hash,
		      const struct want *want, u64 expected)
{
	u32 group = group_of(hash, groups), i;
	struct want key;

	LATH_ASSERT(want || expected);
	LATH_ASSERT((hash & 0xff) > 1); /* prints_equal() */
	for (i = 0; i < groups; i++, group = group_after(group, groups)) {
		u64 prints = smp_load_acquire(&entry[group]); /* pairs with place_insert */
		u64 match = prints_equal(prints, hash & 0xff);

		lath_delay("bucket searched, record not yet read");
		for (; match; match &= match - 1) {
			u32 word = group + 1 + (u32)__ffs64(match) / 8;
			u64 value = READ_ONCE(entry[word]);

			if (expected) {
				if (value == expected)
					return word;
				continue;
			}
			key = key_of(set, value);
			if (likely(bytes_equal(want, &key, 0)))
				return word;
		}
		/* no record went on from this group when it was full */
		if (likely(!(prints & PASSED)))
			break;
	}
	return 0;
}

u64 lath_bucket_get(struct bytes_set *set, const struct place *place, const struct want *want)
{
	const u64 *entry = word_entry(place->word);
	u32 hash = hash_of(want, place->layer), groups = word_groups(place->word), version, word;
	struct bucket *bucket = bucket_of(place->word);
	u64 value;

	LATH_ASSERT(groups == bucket->groups); /* never changes; the word saves its line */
	LATH_ASSERT(lath_reader_inside(set->rcu));
	prefetch(&entry[group_of(hash, groups)]); /* together with the version */
	prefetch(&entry[group_after(group_of(hash, groups), groups)]);
	do {
		version = lath_bucket_read(bucket);
		word = find_place(set, entry, groups, hash, want, 0);
		lath_delay("bucket: place found, record not yet read");
		value = word ? READ_ONCE(entry[word]) : 0;
	} while (unlikely(!lath_bucket_same(bucket, version)));
	return value;
}

void lath_bucket_prefetch(const struct place *place, const struct want *want)
{
	u32 hash = hash_of(want, place->layer), groups = word_groups(place->word);

	prefetch(bucket_of(place->word));
	prefetch(&word_entry(place->word)[group_of(hash, groups)]);
}

void lath_bucket_prefetch_record(const struct place *place, const struct want *want)
{
	const u64 *entry = word_entry(place->word);
	u32 hash = hash_of(want, place->layer);
	u32 group = group_of(hash, word_groups(place->word));
	u64 match = prints_equal(READ_ONCE(entry[group]), hash & 0xff);

	if (match)
		prefetch_record(READ_ONCE(entry[group + 1 + __ffs64(match) / 8]));
}

/* ---- filling ---- */

/* Fill in entry i, which is free. */
static void put_entry(struct bucket *bucket, u32 i, u32 hash, u64 slice, u64 value)
{
	u32 word = place_insert(bucket->entry, bucket->groups, bucket->room, hash, value);

	LATH_ASSERT(i < bucket->room && word < bucket->front);
	WRITE_ONCE(*bucket_slice(bucket, i), slice);
	WRITE_ONCE(*bucket_choice(bucket, i), (u8)(hash >> 8));
	smp_store_release(bucket_order(bucket, i), (u8)word); /* pairs with bucket_value */
}

void lath_bucket_append(struct bytes_set *set, struct bucket *bucket, const struct layer *layer,
			u64 value)
{
	struct want key = key_of(set, value);

	LATH_ASSERT(bucket->used < bucket->room);
	put_entry(bucket, bucket->used++, hash_of(&key, layer), 0, value);
}

void lath_bucket_sort_out(struct bytes_set *set, struct bucket *bucket)
{
	struct want first = key_at(set, bucket, 0), last = key_at(set, bucket, bucket->used - 1u);
	u32 i;

	/* the keys are in order: what the first and the last one agree in, all of them do */
	bucket->offset = (u32)bytes_common(&first, &last);
	bucket->tags = first.size == last.size && bucket->offset == first.size;
	if (bucket->offset && base_kept(bucket))
		memcpy(bucket_base(bucket), first.data, bucket->offset);
	for (i = 0; i < bucket->used; i++) {
		struct want key = key_at(set, bucket, i);

		*bucket_slice(bucket, i) = slice_in(bucket, &key);
		LATH_ASSERT(!i || *bucket_slice(bucket, i - 1) <= *bucket_slice(bucket, i));
	}
}

/* Move n bytes of an array. Readers reject what they read in the meantime; each byte of the order
 * leads to a value. */
static void move_bytes(u8 *to, const u8 *from, u32 n)
{
#if LATH_CHECKED
	u8 copy[2 * BUCKET_MAX];
	u32 i;

	for (i = 0; i < n; i++)
		copy[i] = READ_ONCE(from[i]);
	for (i = 0; i < n; i++)
		WRITE_ONCE(to[i], copy[i]);
#else
	memmove(to, from, n);
#endif
}

/* Move n entries from i on to `to`. */
static void move_entries(struct bucket *bucket, u32 to, u32 i, u32 n)
{
	LATH_ASSERT(bucket->version & 1); /* readers reject what they read in the meantime */
	LATH_ASSERT(max(to, i) + n <= bucket->room);
	move_words(bucket_slice(bucket, to), bucket_slice(bucket, i), n);
	move_bytes(bucket_order(bucket, to), bucket_order(bucket, i), n);
	move_bytes(bucket_choice(bucket, to), bucket_choice(bucket, i), n);
}

int lath_bucket_insert(struct bytes_set *set, const struct place *place, const struct want *want,
		       u64 value, u64 *there)
{
	struct bucket *bucket = bucket_of(place->word);
	struct spot spot;
	u32 hash = hash_of(want, place->layer);
	int ret = 0;

	LATH_ASSERT(lath_reader_inside(set->rcu));
	warm(place->word, true, true);
	lath_spin_lock(&bucket->lock);
	/* the word was read without a lock: another one may have its place by now */
	if (bucket->gone) {
		ret = LOOK_AGAIN;
		goto out;
	}
	spot = lath_bucket_seek(set, bucket, want);
	if (spot.equal) {
		*there = *bucket_value(bucket, spot.i);
		ret = -EEXIST;
	} else if (spot.other || bucket->used == bucket->room) {
		ret = -ENOSPC;
	} else {
		change_begin(bucket);
		move_entries(bucket, spot.i + 1, spot.i, bucket->used - spot.i);
		put_entry(bucket, spot.i, hash, slice_in(bucket, want), value);
		/* pairs with bucket_used */
		smp_store_release(&bucket->used, (u8)(bucket->used + 1));
		change_end(bucket);
	}
out:
	lath_spin_unlock(&bucket->lock);
	return ret;
}

/* ---- replacing a bucket ---- */

/* Copy `used` entries of a bucket to one that has none. Entries from `at` on go one further. What
 * was copied counts if the bucket's version is the same afterwards. */
static void copy_entries(struct bucket *to, struct bucket *from, u32 used, u32 at)
{
	u32 groups = to->groups, room = to->room, i;
	u8 *order = bucket_order(to, 0), *choice = bucket_choice(to, 0);

	LATH_ASSERT(at <= used && used < room && !to->used);
	move_words(bucket_slice(to, 0), bucket_slice(from, 0), at);
	move_words(bucket_slice(to, at + 1), bucket_slice(from, at), used - at);
	move_bytes(choice, bucket_choice(from, 0), at);
	move_bytes(choice + at + 1, bucket_choice(from, at), used - at);
	for (i = 0; i < used; i++) {
		u32 k = i + (i >= at), word = READ_ONCE(*bucket_order(from, i));
		u32 hash = (u32)choice[k] << 8 | (u32)place_print(from->entry, word);

		order[k] = (u8)place_insert(to->entry, groups, room, hash,
					    READ_ONCE(from->entry[word]));
	}
}

struct bucket *lath_bucket_copy_with(struct bytes_set *set, const struct place *place, u32 version,
				     const struct want *want, u64 value, int *ret, u64 *there)
{
	struct bucket *bucket = bucket_of(place->word);
	u32 used = bucket_used(bucket);
	struct bucket *copy = lath_bucket_new(set, used + 1, bucket->offset);
	struct spot spot;

	*ret = -ENOMEM;
	if (!copy)
		return NULL;
	copy->offset = bucket->offset;
	copy->tags = bucket->tags;
	if (copy->kept)
		memcpy(bucket_base(copy), base_of(set, bucket, 0), copy->offset);
	spot = lath_bucket_seek(set, bucket, want);
	/* It is being changed. Go on with a place that the copy has: lath_bucket_same() rejects it. */
	if (spot.i > used)
		spot.i = used;
	copy_entries(copy, bucket, used, spot.i);
	put_entry(copy, spot.i, hash_of(want, place->layer), slice_in(bucket, want), value);
	copy->used = (u8)(used + 1);
	if (spot.equal)
		*there = READ_ONCE(*bucket_value(bucket, spot.i));
	*ret = !lath_bucket_same(bucket, version) ? LOOK_AGAIN : spot.equal ? -EEXIST : 0;
	if (*ret) {
		lath_bucket_drop(copy);
		return NULL;
	}
	/* the key left what the records agreed in: base and slices are those of the larger set */
	if (spot.other)
		lath_bucket_sort_out(set, copy);
	return copy;
}

int lath_bucket_replace(const struct place *place, u32 version, u64 word)
{
	struct bucket *bucket = bucket_of(place->word);
	int ret;

	LATH_ASSERT(word != place->word && form_of(word) != FORM_RECORD);
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

/* ---- changing and erasing ---- */

/* Take the record whose value is in this word out of a locked bucket. If one is left, it takes the
 * bucket's place. Returns whether it did. */
static bool take_out(const struct place *place, struct bucket *bucket, u32 word)
{
	const u8 *order = bucket_order(bucket, 0), *at = memchr(order, (int)word, bucket->used);
	u32 i = (u32)(at - order);
	int ret;

	LATH_ASSERT(at && bucket->used >= 2); /* the order has the word of each record once */
	change_begin(bucket);
	place_erase(bucket->entry, word);
	move_entries(bucket, i, i + 1, bucket->used - i - 1u);
	WRITE_ONCE(bucket->used, (u8)(bucket->used - 1));
	change_end(bucket);
	if (bucket->used > 1)
		return false;
	bucket->gone = true;
	ret = lath_index_replace_if(&place->layer->index, place->slice, place->word,
				    *bucket_value(bucket, 0), NULL);
	LATH_ASSERT(!ret); /* only the holder of its lock replaces a bucket */
	return !ret;
}

int lath_bucket_change(struct bytes_set *set, const struct place *place, const struct want *want,
		       u64 expected, u64 value, u64 *there)
{
	struct bucket *bucket = bucket_of(place->word);
	u32 hash = hash_of(want, place->layer), word = 0;
	bool left = false;
	int ret = LOOK_AGAIN;

	LATH_ASSERT(lath_reader_inside(set->rcu));
	/* an erase moves entries; another value is one store */
	if (!value)
		warm(place->word, false, true);
	prefetchw(&word_entry(place->word)[group_of(hash, word_groups(place->word))]);
	lath_spin_lock(&bucket->lock);
	if (bucket->gone)
		goto out;
	/* by value first, without a look at keys; if it is not there, by key: the caller is told
	 * which record has it */
	if (expected)
		word = find_place(set, bucket->entry, bucket->groups, hash, want, expected);
	if (!word)
		word = find_place(set, bucket->entry, bucket->groups, hash, want, 0);
	ret = -ENOENT;
	if (!word)
		goto out;
	*there = bucket->entry[word];
	ret = expected && expected != *there ? -EAGAIN : 0;
	if (ret)
		goto out;
	if (value) {
		change_begin(bucket);
		WRITE_ONCE(bucket->entry[word], value);
		change_end(bucket);
	} else {
		left = take_out(place, bucket, word);
	}
out:
	lath_spin_unlock(&bucket->lock);
	if (left)
		bucket_retire(bucket);
	return ret;
}

/* ---- checks ---- */

/* Returns whether lookups find the record of entry i. */
static bool is_placed(struct bytes_set *set, struct bucket *bucket, u32 i, u32 hash)
{
	u32 word = *bucket_order(bucket, i);

	return word % GROUP_WORDS && word + bucket->kept < bucket->front &&
	       *bucket_choice(bucket, i) == hash >> 8 &&
	       find_place(set, bucket->entry, bucket->groups, hash, NULL, bucket->entry[word]) ==
		       word;
}

bool lath_bucket_true(struct bytes_set *set, struct bucket *bucket, const struct place *place)
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
		u64 fork = lath_bytes_fork(&first, &key);

		if (*bucket_slice(bucket, i) != slice ||
		    (i && lath_bytes_compare(&before, &key) >= 0))
			return false;
		if (!is_placed(set, bucket, i, hash_of(&key, place->layer)))
			return false;
		if (bucket->tags ? fork != TAG
				 : bucket->offset && (key.size < bucket->offset ||
						      memcmp(key.data, first.data, bucket->offset)))
			return false;
		if (!lath_place_holds(place, &key))
			return false;
		before = key;
	}
	return true;
}
