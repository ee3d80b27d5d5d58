/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include <lathwork/index.h>
#include <stdio.h>

int main(void)
{
	struct lath_index index;
	struct lath_item item = { .key = 10, .size = 20, .value = 7 }; /* [10, 30) -> 7 */

	if (lath_index_init(&index, NULL) || lath_index_insert_item(&index, &item, NULL))
		return 1;
	if (!lath_index_lookup_item(&index, 15, &item))
		printf("15 is in [%d, %d) -> %d\n", (int)item.key, (int)(item.key + item.size),
		       (int)item.value);
	lath_index_fini(&index, NULL, NULL);
}
