/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include <lathwork/skiplist.h>
#include <stdio.h>

int main(void)
{
	struct lath_skiplist list;
	struct lath_item item = { .key = 10, .size = 20, .value = 7 }; /* [10, 30) -> 7 */

	if (lath_skiplist_init(&list, NULL) || lath_skiplist_insert_item(&list, &item, NULL))
		return 1;
	if (!lath_skiplist_lookup_item(&list, 15, &item))
		printf("15 is in [%d, %d) -> %d\n", (int)item.key, (int)(item.key + item.size),
		       (int)item.value);
	lath_skiplist_fini(&list, NULL, NULL);
}
