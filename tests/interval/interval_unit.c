/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Intervals against an array: for each of 255 first keys the lengths of four that may begin there.
 * In both hosts.
 */
#include "base/random.h"
#include "base/unit.h"
#include "lathwork/interval.h"

#define FIRSTS 256u
#define EACH 4u
#define CALLS 20000

int interval_unit(void);

struct model {
	struct lath_intervals set;
	u64 length[FIRSTS][EACH]; /* 0: there is none; the value is its place */
	struct lath_interval found[64];
	u64 count, random;
};

static struct lath_interval at(const struct model *m, u32 first, u32 i)
{
	return (struct lath_interval){ first, first + m->length[first][i], i };
}

static int change(struct model *m)
{
	u32 first = 1 + draw(&m->random, FIRSTS - 1), i = draw(&m->random, EACH);
	struct lath_interval interval = at(m, first, i);

	if (m->length[first][i]) {
		CHECK(!lath_intervals_erase(&m->set, &interval));
		CHECK(draw(&m->random, 8) || lath_intervals_erase(&m->set, &interval) == -ENOENT);
		m->length[first][i] = 0;
		m->count--;
		return 0;
	}
	CHECK(lath_intervals_insert(&m->set, &interval) == -EINVAL);
	m->length[first][i] = 1 + draw(&m->random, 1u << draw(&m->random, 10));
	interval = at(m, first, i);
	CHECK(!lath_intervals_insert(&m->set, &interval));
	m->count++;
	return 0;
}

static int search(struct model *m)
{
	u32 point = 1 + draw(&m->random, FIRSTS * 2), to = point + draw(&m->random, 40), first, i;
	u64 covers = 0, meets = 0, inside = 0, nearest = ~0ull;
	struct lath_interval near;
	size_t n, k;
	int ret = lath_intervals_nearest(&m->set, point, &near);

	for (first = 1; first < FIRSTS; first++) {
		for (i = 0; i < EACH; i++) {
			u64 end = first + m->length[first][i], far = 0;

			if (end == first)
				continue;
			covers += first <= point && point < end;
			meets += first < to && point < end && point < to;
			inside += point <= first && end <= to;
			if (first > point)
				far = first - point;
			else if (end <= point)
				far = point - (end - 1);
			nearest = min(nearest, far);
		}
	}
	n = lath_intervals_stab(&m->set, point, m->found, ARRAY_SIZE(m->found));
	CHECK(n == min(covers, (u64)ARRAY_SIZE(m->found)));
	for (k = 0; k < n; k++) {
		CHECK(m->found[k].first <= point && point < m->found[k].end);
		CHECK(at(m, (u32)m->found[k].first, (u32)m->found[k].value).end == m->found[k].end);
	}
	CHECK(lath_intervals_count_overlap(&m->set, point, to) == meets);
	n = lath_intervals_within(&m->set, point, to, m->found, ARRAY_SIZE(m->found));
	CHECK(n == min(inside, (u64)ARRAY_SIZE(m->found)));
	CHECK(ret == (m->count ? 0 : -ENOENT));
	CHECK(ret || near.first <= point + nearest);
	CHECK(ret || near.end - 1 + nearest >= point);
	return 0;
}

static int play(struct model *m)
{
	char report[120];
	int i, ret;

	for (i = 0; i < CALLS; i++) {
		ret = change(m);
		if (!ret && i % 8 == 0)
			ret = search(m);
		if (ret)
			return ret;
		if (i % 4000 == 0) {
			CHECK(!lath_intervals_verify(&m->set, report, sizeof(report)));
			CHECK(lath_intervals_count(&m->set) == m->count);
			unit_breathe();
		}
	}
	return 0;
}

int interval_unit(void)
{
	struct model *m = unit_alloc_aligned(sizeof(*m));
	int ret;

	CHECK(m);
	memset(m, 0, sizeof(*m));
	m->random = 7;
	CHECK(lath_intervals_init(NULL, LATH_HALF_OPEN, NULL) == -EINVAL);
	CHECK(lath_intervals_init(&m->set, (enum lath_bounds)2, NULL) == -EINVAL);
	CHECK(!lath_intervals_init(&m->set, LATH_HALF_OPEN, NULL));
	ret = play(m);
	lath_intervals_fini(&m->set, NULL, NULL);
	unit_free_aligned(m);
	return ret;
}
