/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "base/oracle.h"

#include <errno.h>
#include <string.h>

size_t oracle_at(const struct oracle *oracle, uint64_t key)
{
	size_t low = 0, high = oracle->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (oracle_last(&oracle->item[middle]) < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Nothing lies in the size keys from key on, which do not wrap. */
static bool is_free(const struct oracle *oracle, uint64_t key, uint64_t size)
{
	size_t i = oracle_at(oracle, key);

	return i == oracle->count || oracle->item[i].key > key + (size - 1);
}

void oracle_insert(struct oracle *oracle, struct lath_item item)
{
	size_t i = oracle_at(oracle, item.key);

	memmove(&oracle->item[i + 1], &oracle->item[i], (oracle->count - i) * sizeof(item));
	oracle->item[i] = item;
	oracle->count++;
}

void oracle_remove(struct oracle *oracle, struct lath_item *item)
{
	struct lath_item *end = &oracle->item[oracle->count--];

	memmove(item, item + 1, (size_t)(end - (item + 1)) * sizeof(*item));
}

/* A hole [first, last]. Call each of [low, last] in order; each returns whether to go on. */
typedef bool (*hole_fn)(void *arg, uint64_t first, uint64_t last);

static void each_hole(const struct oracle *oracle, uint64_t low, uint64_t last, hole_fn each,
		      void *arg)
{
	size_t i = oracle_at(oracle, low);
	uint64_t from = low;

	for (;; i++) {
		const struct lath_item *item = i < oracle->count ? &oracle->item[i] : NULL;

		if (!item || item->key > last) {
			each(arg, from, last);
			return;
		}
		if (item->key > from && !each(arg, from, item->key - 1))
			return;
		if (oracle_last(item) >= last)
			return;
		from = oracle_last(item) + 1;
	}
}

struct search {
	const struct lath_hole_request *want;
	uint64_t align, key, length, distance;
	bool found;
};

static bool lowest_from(const struct search *s, uint64_t first, uint64_t last, uint64_t *key)
{
	uint64_t mask = s->align - 1;

	if (first > ~mask)
		return false; /* no multiple of align above */
	*key = (first + mask) & ~mask;
	return *key <= last && last - *key >= s->want->size - 1;
}

static bool highest_in(const struct search *s, uint64_t first, uint64_t last, uint64_t *key)
{
	if (last - first < s->want->size - 1)
		return false;
	*key = (last - (s->want->size - 1)) & ~(s->align - 1);
	return *key >= first;
}

static void take(struct search *s, uint64_t key)
{
	s->key = key;
	s->found = true;
}

static void take_nearer(struct search *s, uint64_t key)
{
	uint64_t hint = s->want->hint, distance = key > hint ? key - hint : hint - key;

	if (!s->found || distance < s->distance) {
		s->distance = distance;
		take(s, key);
	}
}

/* The two places next to hint, or the one end of the hole that is nearer. */
static void near_in(struct search *s, uint64_t first, uint64_t last)
{
	uint64_t hint = s->want->hint, key, reach;

	if (lowest_from(s, hint > first ? hint : first, last, &key))
		take_nearer(s, key);
	if (hint < first)
		return;
	/* the highest place at or below hint: the range may reach size - 1 keys further */
	reach = ~0ull - hint < s->want->size - 1 ? ~0ull : hint + (s->want->size - 1);
	if (highest_in(s, first, reach < last ? reach : last, &key))
		take_nearer(s, key);
}

static bool look(void *arg, uint64_t first, uint64_t last)
{
	struct search *s = arg;
	uint64_t hint = s->want->hint, key;

	switch (s->want->policy) {
	case LATH_HOLE_LAST:
		if (highest_in(s, first, last, &key))
			take(s, key);
		return true;
	case LATH_HOLE_BEST:
		if (lowest_from(s, first, last, &key) && (!s->found || last - first < s->length)) {
			s->length = last - first;
			take(s, key);
		}
		return true;
	case LATH_HOLE_NEAR:
		near_in(s, first, last);
		return true;
	case LATH_HOLE_EXACT:
		if (hint >= first && hint <= last && last - hint >= s->want->size - 1)
			take(s, hint);
		return true;
	case LATH_HOLE_NEXT:
		if (hint > last || !lowest_from(s, hint > first ? hint : first, last, &key))
			return true;
		take(s, key);
		return false;
	case LATH_HOLE_FIRST:
		break;
	}
	if (lowest_from(s, first, last, &key))
		take(s, key);
	return !s->found;
}

static bool find_between(const struct oracle *oracle, const struct lath_hole_request *want,
			 uint64_t last, uint64_t *key)
{
	struct search s = { want, want->align ? want->align : 1, 0, 0, 0, false };
	struct lath_hole_request from_start = *want;

	each_hole(oracle, want->low, last, look, &s);
	if (!s.found && want->policy == LATH_HOLE_NEXT) {
		from_start.policy = LATH_HOLE_FIRST;
		s.want = &from_start;
		each_hole(oracle, want->low, last, look, &s);
	}
	*key = s.key;
	return s.found;
}

static bool valid(const struct lath_hole_request *want)
{
	if (!want->size || (want->align & (want->align - 1)) ||
	    (want->high && want->low >= want->high))
		return false;
	if (want->policy != LATH_HOLE_EXACT)
		return (unsigned int)want->policy < LATH_HOLE_EXACT;
	return !(want->align && want->hint & (want->align - 1)) && want->hint >= want->low &&
	       want->size - 1 <= want->high - 1 - want->hint &&
	       (!want->high || want->hint < want->high);
}

int oracle_find(const struct oracle *oracle, const struct lath_hole_request *want, uint64_t *key)
{
	uint64_t last = want->high - 1;

	if (!valid(want))
		return -EINVAL;
	if (want->below > want->low && want->below - 1 < last &&
	    find_between(oracle, want, want->below - 1, key))
		return 0;
	return find_between(oracle, want, last, key) ? 0 : -ENOSPC;
}

bool oracle_serves(const struct oracle *oracle, const struct lath_hole_request *want, uint64_t key)
{
	return !(want->align && key & (want->align - 1)) && key >= want->low &&
	       key <= want->high - 1 && want->size - 1 <= want->high - 1 - key &&
	       is_free(oracle, key, want->size);
}

struct lengths {
	uint64_t key, length; /* of the hole that key is in, less 1 */
	uint64_t least;
	size_t long_enough;
};

static bool see_length(void *arg, uint64_t first, uint64_t last)
{
	struct lengths *lengths = arg;

	if (lengths->key >= first && lengths->key <= last)
		lengths->length = last - first;
	lengths->long_enough += last - first >= lengths->least;
	return true;
}

/* The length of the hole that key is in, less 1, as far as it is inside the limits: those of the
 * search below want->below, if it lies there. */
static uint64_t length_at(const struct oracle *oracle, const struct lath_hole_request *want,
			  uint64_t key)
{
	struct lengths lengths = { .key = key };
	bool first = key < want->below && want->below - key >= want->size;

	each_hole(oracle, want->low, (first ? want->below : want->high) - 1, see_length, &lengths);
	return lengths.length;
}

/* With many holes that are long enough, BEST may take any that fits and is not longer than the
 * shortest that fits with any alignment, if there is one. */
static bool accepts_best(const struct oracle *oracle, const struct lath_hole_request *want,
			 uint64_t key)
{
	struct lath_hole_request sure = *want;
	struct lengths lengths = { .least = want->size - 1 };
	uint64_t best;

	each_hole(oracle, 0, ~0ull, see_length, &lengths);
	if (want->align < 2 || lengths.long_enough < 32)
		return false;
	sure.size += want->align - 1;
	sure.align = 1;
	if (!oracle_serves(oracle, want, key) || oracle_find(oracle, want, &best))
		return false;
	if (want->below && best < want->below && want->below - best >= want->size &&
	    (key >= want->below || want->below - key < want->size))
		return false;
	return sure.size < want->align || oracle_find(oracle, &sure, &best) ||
	       length_at(oracle, want, key) <= length_at(oracle, want, best);
}

bool oracle_accepts(const struct oracle *oracle, const struct lath_hole_request *want, uint64_t key)
{
	uint64_t best, mine, others;

	if (oracle_find(oracle, want, &best))
		return false;
	if (key == best)
		return true;
	if (want->policy == LATH_HOLE_BEST)
		return accepts_best(oracle, want, key);
	if (want->policy != LATH_HOLE_NEAR || !oracle_serves(oracle, want, key))
		return false;
	mine = key > want->hint ? key - want->hint : want->hint - key;
	others = best > want->hint ? best - want->hint : want->hint - best;
	return mine == others;
}

static bool add_hole(void *arg, uint64_t first, uint64_t last)
{
	struct oracle_holes *holes = arg;
	uint64_t size = last - first + 1;
	unsigned int order;

	holes->holes++;
	holes->free += size;
	holes->histogram[63 - __builtin_clzll(size)]++;
	if (size > holes->largest)
		holes->largest = size;
	for (order = 64; order--;) {
		uint64_t mask = (1ull << order) - 1, key;

		if (mask > last || first > ~mask)
			continue;
		key = (first + mask) & ~mask;
		if (key > last || last - key < mask)
			continue;
		if (holes->order == 64 || order > holes->order)
			holes->order = order;
		break;
	}
	return true;
}

void oracle_measure(const struct oracle *oracle, uint64_t low, uint64_t high,
		    struct oracle_holes *holes)
{
	memset(holes, 0, sizeof(*holes));
	holes->order = 64;
	each_hole(oracle, low, high - 1, add_hole, holes);
}
