/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork.ko - the library for other modules: the calls of
 * lathwork/{index,cursor,hole,interval,bytes,range_lock,space,sortq}.h. Kbuild includes those
 * headers here and makes the lists of exported calls from them.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>

#define EXPORT(name) EXPORT_SYMBOL_GPL(name);
LATH_EXPORTS
LATH_MORE_EXPORTS
LATH_LAST_EXPORTS
#undef EXPORT

static int __init lathwork_init(void)
{
	return 0;
}

static void __exit lathwork_exit(void)
{
	/* RCU callbacks of retired nodes are code of this module: wait for them */
	rcu_barrier();
}

module_init(lathwork_init);
module_exit(lathwork_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_AUTHOR("The lathwork authors");
MODULE_VERSION(LATH_VERSION);
MODULE_DESCRIPTION("Concurrent ordered index of ranges; sort queue");
