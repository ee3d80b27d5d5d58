/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * plugin.c - a plugin with the library in it. Its work leaves behind in the process what the
 * library registers: the end of the thread, the handlers of forks, and the thread that reclaims
 * memory.
 */
#include "lathwork.h"

int plugin_work(void);
int plugin_work(void)
{
	static struct lath_index index;
	struct lath_item item = { 0, 1, 1 };
	int bad = lath_index_init(&index, 0);

	for (; item.key < 3000 && !bad; item.key++)
		bad = lath_index_insert_item(&index, &item, 0);
	while (item.key-- && !bad)
		bad = lath_index_erase_item(&index, item.key, 0);
	if (!bad)
		lath_index_fini(&index, 0, 0);
	return bad;
}
