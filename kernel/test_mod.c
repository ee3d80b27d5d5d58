/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork_test.ko - the unit tests (NAME_unit.c below tests) in the kernel, on lathwork.ko: as a
 * KUnit suite if the kernel has KUnit. Otherwise they run when the module is loaded, and loading
 * fails if a test fails. Kbuild makes the list of tests from the directories.
 *
 * wrong_order=1 locks inner nodes while a leaf is locked, against doc/locking.md, wrong_order=2 a
 * mutex before a range and behind it: lockdep must report either.
 */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "lathwork/cursor.h"
#include "lathwork/range_lock.h"

#define UNIT(name) int name(void);
LATH_UNITS
#undef UNIT

static int wrong_order;
module_param(wrong_order, int, 0444);
MODULE_PARM_DESC(wrong_order,
		 "take locks in the wrong order and nothing else: 1 nodes, 2 a range and a mutex");

static int take_wrong_order(void)
{
	struct lath_item item = { .size = 1 };
	struct lath_index *held = lath_index_create(NULL), *grows = lath_index_create(NULL);
	struct lath_cursor cursor;
	int ret = -ENOMEM;

	if (!held || !grows)
		goto out;
	for (; item.key < 10000;
	     item.key++) /* the right order, inner node before leaf: merges use it */
		lath_index_insert_item(grows, &item, NULL);
	lath_index_erase_range(grows, 0, 10000, NULL, NULL);
	lath_cursor_init(&cursor, held);
	ret = lath_cursor_lock(&cursor, 0, NULL, NULL);
	if (ret)
		goto out;
	for (; item.key < 20000; item.key++)
		lath_index_insert_item(grows, &item, NULL);
	lath_cursor_unlock(&cursor);
out:
	if (held)
		lath_index_destroy(held, NULL, NULL);
	if (grows)
		lath_index_destroy(grows, NULL, NULL);
	return ret;
}

static DEFINE_MUTEX(wrong_mutex);

static int take_range_in_wrong_order(void)
{
	struct lath_range_locks *locks = kzalloc(sizeof(*locks), GFP_KERNEL);
	struct lath_range_hold hold;
	int ret = locks ? lath_range_locks_init(locks, NULL) : -ENOMEM;

	if (ret)
		goto out;
	mutex_lock(&wrong_mutex);
	ret = lath_range_lock(locks, &hold, 0, 16, LATH_SHARED_RANGE);
	if (!ret)
		lath_range_unlock(locks, &hold);
	mutex_unlock(&wrong_mutex);
	if (!ret)
		ret = lath_range_lock(locks, &hold, 32, 16, LATH_EXCLUSIVE_RANGE);
	if (!ret) {
		mutex_lock(&wrong_mutex);
		mutex_unlock(&wrong_mutex);
		lath_range_unlock(locks, &hold);
	}
	lath_range_locks_fini(locks);
out:
	kfree(locks);
	return ret;
}

#if IS_ENABLED(CONFIG_KUNIT)
#include <kunit/test.h>

#define UNIT(name)                                                             \
	static void name##_case(struct kunit *test)                            \
	{                                                                      \
		int line = name();                                             \
		KUNIT_EXPECT_EQ_MSG(test, line, 0, #name ": line %d\n", line); \
	}
LATH_UNITS
#undef UNIT

static void lath_suite_exit(struct kunit *test)
{
	rcu_barrier();
}

static struct kunit_case lath_cases[] = {
#define UNIT(name) KUNIT_CASE(name##_case),
	LATH_UNITS{}
#undef UNIT
};

static struct kunit_suite lath_suite = {
	.name = "lathwork",
	.exit = lath_suite_exit,
	.test_cases = lath_cases,
};
kunit_test_suite(lath_suite);

static int run_units(void)
{
	return 0; /* KUnit runs them */
}

#else

static const struct {
	const char *name;
	int (*run)(void);
} units[] = {
#define UNIT(name) { #name, name },
	LATH_UNITS
#undef UNIT
};

static int run_units(void)
{
	unsigned int failed = 0, i;
	int line;

	for (i = 0; i < ARRAY_SIZE(units); i++) {
		line = units[i].run();
		if (line) {
			pr_err("lathwork_test: %s: FAIL at line %d\n", units[i].name, line);
			failed++;
		} else {
			pr_info("lathwork_test: %s: pass\n", units[i].name);
		}
		cond_resched();
	}
	return failed ? -EINVAL : 0;
}
#endif

static int __init lath_test_init(void)
{
	switch (wrong_order) {
	case 0:
		return run_units();
	case 1:
		return take_wrong_order();
	default:
		return take_range_in_wrong_order();
	}
}

static void __exit lath_test_exit(void)
{
	rcu_barrier();
}

module_init(lath_test_init);
module_exit(lath_test_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_AUTHOR("The lathwork authors");
MODULE_DESCRIPTION("Unit tests of lathwork");
