/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include <inttypes.h>
#include <lathwork/skiplist.h>
#include <stdio.h>

int main(void)
{
	struct lath_skiplist list;
	struct lath_item item = { .key = 10, .size = 20, .value = 7 };

	if (lath_skiplist_init(&list, NULL) || lath_skiplist_insert_item(&list, &item, NULL))
		return 1;
	if (lath_skiplist_lookup_item(&list, 15, &item) == 0)
		printf("15 is in [%" PRIu64 ", %" PRIu64 ") -> %" PRIu64 "\n", item.key, item.key + item.size,
		       item.value);
	lath_skiplist_fini(&list, NULL, NULL);
	return 0;
}
