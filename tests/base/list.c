/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "base/list.h"

#include "lathwork/cursor.h"

static uint64_t trim_cursor; /* kept over calls */
struct lath_index list;
struct oracle oracle;
static uint64_t value;
static bool points;

/* What left the list through a callback, in order. */
static struct {
	struct lath_item item[ORACLE_MAX];
	size_t count;
} gone;

uint64_t next_value(void)
{
	return ++value;
}

bool list_full(void)
{
	return oracle.count > ORACLE_MAX - 64;
}

static bool wraps(struct lath_item item)
{
	return !item.size || item.size - 1 > ~0ull - item.key;
}

static bool valid(struct lath_item item)
{
	return !wraps(item) && (!points || item.size == 1);
}

static int insert_preloaded(const struct lath_item *item, struct lath_item *conflict)
{
	struct lath_preload preload = { { NULL } };
	int ret = lath_index_preload(&list, &preload);

	if (ret)
		return ret;
	ret = lath_index_insert_preloaded(&list, item, &preload, conflict);
	if (ret == -EAGAIN) /* one leaf may not have been enough */
		ret = lath_index_insert_item(&list, item, conflict);
	lath_index_preload_release(&list, &preload);
	return ret;
}

/* *ret: what the call said */
static int insert_by_cursor(struct tape *tape, const struct lath_item *item,
			    struct lath_item *conflict, int *ret)
{
	struct lath_cursor cursor;
	int tries = 0;

	lath_cursor_init(&cursor, &list);
	do {
		struct lath_item look, *there;
		uint64_t low, last;

		*ret = lath_cursor_lock(&cursor, item->key, &low, &last);
		if (*ret)
			return 0;
		EXPECT(tape, low <= item->key && item->key <= last);
		there = oracle_floor(&oracle, item->key);
		if (lath_cursor_locked_floor(&cursor, item->key, &look))
			EXPECT(tape, there && oracle_same(there, &look));
		*ret = lath_cursor_insert(&cursor, item, conflict);
	} while (*ret == -EAGAIN && ++tries < 4);
	return 0;
}

int list_insert(struct tape *tape, struct lath_item item, enum insert_how how)
{
	struct lath_item conflict, *there;
	int ret = 0;

	if (list_full())
		return 0;
	if (how == INSERT_ITEM)
		ret = lath_index_insert_item(&list, &item, &conflict);
	else if (how == INSERT_PRELOADED)
		ret = insert_preloaded(&item, &conflict);
	else if (insert_by_cursor(tape, &item, &conflict, &ret))
		return -1;
	if (failed(tape, ret))
		return 0;
	if (!valid(item)) {
		EXPECT(tape, ret == -EINVAL);
	} else if (!oracle_is_free(&oracle, item.key, item.size)) {
		EXPECT(tape, ret == -EEXIST);
		there = oracle_exact(&oracle, conflict.key);
		EXPECT(tape, there && oracle_same(there, &conflict));
		EXPECT(tape,
		       conflict.key <= oracle_last(&item) && oracle_last(&conflict) >= item.key);
	} else {
		EXPECT(tape, ret == 0);
		oracle_insert(&oracle, item);
	}
	return 0;
}

int list_insert_batch(struct tape *tape, size_t n, const struct lath_item *items)
{
	int results[LIST_BATCH];
	size_t i, done, want = 0;

	if (list_full())
		return 0;
	done = lath_index_insert_batch(&list, n, items, results);
	for (i = 0; i < n; i++) {
		if (failed(tape, results[i]))
			continue;
		if (!valid(items[i])) {
			EXPECT(tape, results[i] == -EINVAL);
		} else if (!oracle_is_free(&oracle, items[i].key, items[i].size)) {
			EXPECT(tape, results[i] == -EEXIST);
		} else {
			EXPECT(tape, results[i] == 0);
			oracle_insert(&oracle, items[i]);
			want++;
		}
	}
	EXPECT(tape, done == want);
	return 0;
}

int list_erase(struct tape *tape, uint64_t key, enum erase_how how)
{
	struct lath_item *there =
		how == ERASE_AT ? oracle_overlap(&oracle, key, key) : oracle_exact(&oracle, key);
	struct lath_item old;
	struct lath_cursor cursor;
	int ret;

	if (how == ERASE_ITEM) {
		ret = lath_index_erase_item(&list, key, &old);
	} else if (how == ERASE_AT) {
		ret = lath_index_erase_item_at(&list, key, &old);
	} else if (how == ERASE_IF) {
		ret = lath_index_erase_if(&list, key, value + 1, &old);
		EXPECT(tape, ret == (there ? -EAGAIN : -ENOENT));
		ret = lath_index_erase_sized(&list, key, there ? there->size + 1 : 1, &old);
		EXPECT(tape, ret == (there ? -EAGAIN : -ENOENT));
		if (key & 1)
			ret = lath_index_erase_if(&list, key, there ? there->value : 0, &old);
		else
			ret = lath_index_erase_sized(&list, key, there ? there->size : 1, &old);
	} else {
		lath_cursor_init(&cursor, &list);
		ret = lath_cursor_lock(&cursor, key, NULL, NULL);
		if (failed(tape, ret))
			return 0;
		ret = lath_cursor_erase(&cursor, key, &old);
	}
	EXPECT(tape, ret == (there ? 0 : -ENOENT));
	if (there) {
		EXPECT(tape, oracle_same(there, &old));
		oracle_remove(&oracle, there);
	}
	return 0;
}

int list_erase_batch(struct tape *tape, size_t n, const uint64_t *keys)
{
	int results[LIST_BATCH];
	size_t i, done = lath_index_erase_batch(&list, n, keys, results), want = 0;

	for (i = 0; i < n; i++) {
		struct lath_item *there = oracle_exact(&oracle, keys[i]);

		EXPECT(tape, results[i] == (there ? 0 : -ENOENT));
		if (there)
			oracle_remove(&oracle, there);
		want += !!there;
	}
	EXPECT(tape, done == want);
	return 0;
}

int list_resize(struct tape *tape, struct lath_item to)
{
	struct lath_item *there = oracle_exact(&oracle, to.key);
	int ret = lath_index_resize(&list, to.key, to.size), want = 0;

	if (failed(tape, ret))
		return 0;
	if (wraps(to) || points)
		want = -EINVAL;
	else if (!there)
		want = -ENOENT;
	else if (there + 1 < oracle.item + oracle.count && there[1].key <= oracle_last(&to))
		want = -EEXIST;
	EXPECT(tape, ret == want);
	if (!ret)
		there->size = to.size;
	return 0;
}

int list_split(struct tape *tape, uint64_t at)
{
	struct lath_item *there = oracle_overlap(&oracle, at, at), right;
	int ret, want = !there ? -ENOENT : there->key == at ? -EEXIST : 0;

	if (list_full())
		return 0;
	ret = lath_index_split(&list, at, next_value());
	if (failed(tape, ret))
		return 0;
	EXPECT(tape, ret == want);
	if (!ret) {
		right = (struct lath_item){ at, oracle_last(there) - at + 1, value };
		there->size = at - there->key;
		oracle_insert(&oracle, right);
	}
	return 0;
}

int list_erase_part(struct tape *tape, struct lath_item part)
{
	struct lath_item *there = oracle_overlap(&oracle, part.key, part.key), was, old = { 0 };
	struct lath_item tail;
	int ret, want = 0;

	if (list_full())
		return 0;
	if (there && part.size % 4) /* mostly a part of what is there, with its value */
		part = (struct lath_item){ part.key,
					   1 + part.size % (oracle_last(there) - part.key + 1),
					   there->value };
	ret = lath_index_erase_part(&list, &part, &old);
	if (failed(tape, ret))
		return 0;
	if (wraps(part) || (points && part.size != 1))
		want = -EINVAL;
	else if (!there || oracle_last(there) < oracle_last(&part))
		want = -ENOENT;
	else if (there->value != part.value)
		want = -EAGAIN;
	EXPECT(tape, ret == want);
	if (ret && ret != -EAGAIN)
		return 0;
	was = *there;
	EXPECT(tape, oracle_same(&was, &old));
	if (ret)
		return 0;
	tail = (struct lath_item){ oracle_last(&part) + 1, oracle_last(&was) - oracle_last(&part),
				   was.value };
	if (was.key < part.key)
		there->size = part.key - was.key;
	else
		oracle_remove(&oracle, there);
	if (tail.size)
		oracle_insert(&oracle, tail);
	return 0;
}

static int may_join(void *arg, const struct lath_item *left, const struct lath_item *right)
{
	struct lath_item *asked = arg;

	asked[0] = *left;
	asked[1] = *right;
	return asked[2].value != 0;
}

int list_join(struct tape *tape, uint64_t at, bool allowed)
{
	struct lath_item *right = oracle_exact(&oracle, at), *left, was, old = { 0 };
	struct lath_item asked[3] = { { 0 }, { 0 }, { .value = allowed } };
	int want, ret = lath_index_join(&list, at, may_join, asked, &old);

	left = at ? oracle_overlap(&oracle, at - 1, at - 1) : NULL;
	want = !right || !left ? -ENOENT : allowed ? 0 : -ECANCELED;
	if (points || (right && left && !left->key && oracle_last(right) == ~0ull))
		want = -EINVAL;
	EXPECT(tape, ret == want);
	if (ret && ret != -ECANCELED)
		return 0;
	was = *right;
	EXPECT(tape, oracle_same(left, &asked[0]) && oracle_same(right, &asked[1]));
	if (ret)
		return 0;
	EXPECT(tape, oracle_same(&was, &old));
	left->size += was.size;
	oracle_remove(&oracle, right);
	return 0;
}

static void note_gone(void *arg, const struct lath_item *item)
{
	(void)arg;
	gone.item[gone.count++] = *item;
}

/* Items that left the list must be the oracle's next ones. */
static int take_gone(struct tape *tape)
{
	size_t i;

	for (i = 0; i < gone.count; i++) {
		struct lath_item *there = oracle_exact(&oracle, gone.item[i].key);

		EXPECT(tape, there && oracle_same(there, &gone.item[i]));
		EXPECT(tape, !i || gone.item[i].key > gone.item[i - 1].key);
		oracle_remove(&oracle, there);
	}
	return 0;
}

int list_erase_range(struct tape *tape, struct lath_item range)
{
	int64_t ret;

	gone.count = 0;
	ret = lath_index_erase_range(&list, range.key, range.size, note_gone, NULL);
	if (wraps(range)) {
		EXPECT(tape, ret == -EINVAL);
		return 0;
	}
	EXPECT(tape, ret == (int64_t)gone.count);
	if (take_gone(tape))
		return -1;
	EXPECT(tape, oracle_is_free(&oracle, range.key, range.size));
	return 0;
}

int list_store_range(struct tape *tape, struct lath_item item)
{
	uint64_t last = oracle_last(&item);
	size_t i;
	int ret;

	if (list_full())
		return 0;
	gone.count = 0;
	ret = lath_index_store_range(&list, &item, note_gone, NULL);
	if (failed(tape, ret)) {
		EXPECT(tape, !gone.count);
		return 0;
	}
	EXPECT(tape, ret == (valid(item) ? 0 : -EINVAL));
	if (ret)
		return 0;
	if (take_gone(tape))
		return -1;
	/* what still overlaps sticks out on one side or both */
	for (i = oracle_at(&oracle, item.key); i < oracle.count && oracle.item[i].key <= last; i++)
		EXPECT(tape, oracle.item[i].key < item.key || oracle_last(&oracle.item[i]) > last);
	oracle_cut(&oracle, item.key, last);
	oracle_insert(&oracle, item);
	return 0;
}

int list_trim(struct tape *tape)
{
	uint8_t n = next_byte(tape);

	if (n % 4 == 0)
		trim_cursor = 0;
	lath_index_trim(&list, n / 4, &trim_cursor);
	return 0;
}

int list_verify(struct tape *tape)
{
	static char report[200];

	tape->call = report;
	EXPECT(tape, lath_index_verify(&list, 6, report, sizeof(report)) == 0);
	EXPECT(tape, lath_index_count(&list) == oracle.count);
	return 0;
}

static int play_all(struct tape *tape, int (*begin)(struct tape *tape),
		    int (*play_one)(struct tape *tape))
{
	unsigned int turn = 0;

	if (begin && begin(tape))
		return -1;
	while (tape->at < tape->end) {
		if (play_one(tape))
			return -1;
		if (!(++turn % tape->verify_every) && list_verify(tape))
			return -1;
	}
	return list_verify(tape);
}

static void count_item(void *arg, const struct lath_item *item)
{
	(void)item;
	++*(size_t *)arg;
}

int list_run(struct tape *tape, struct lath_config *config, int (*begin)(struct tape *tape),
	     int (*play_one)(struct tape *tape))
{
	size_t left = 0;
	int ret;

	points = config->layout == LATH_POINTS;
	config->allocator = tape->allocator;
	oracle.count = 0;
	trim_cursor = 0;
	value = 0;
	ret = lath_index_init(&list, config);
	if (failed(tape, ret))
		return 0;
	tape->call = "init";
	EXPECT(tape, ret == 0);
	ret = play_all(tape, begin, play_one);
	lath_index_fini(&list, count_item, &left);
	tape->call = "fini";
	EXPECT(tape, ret || left == oracle.count);
	return ret;
}
