/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork_test.ko - runs tests/unit inside the kernel while it loads; loading fails if a test
 * does. The list of tests is made by Kbuild from the directory.
 */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#define UNIT(name) int name(void);
LATH_UNITS
#undef UNIT

static const struct {
	const char *name;
	int (*run)(void);
} units[] = {
#define UNIT(name) { #name, name },
	LATH_UNITS
};

static int __init lath_test_init(void)
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

static void __exit lath_test_exit(void)
{
	/* callbacks of nodes still on their way are code of this module */
	rcu_barrier();
}

module_init(lath_test_init);
module_exit(lath_test_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Unit tests of lathwork");
