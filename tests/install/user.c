/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A program outside the tree that uses the installed library.
 */
#include <lathwork/index.h>
#include <lathwork/store.h>
#include <string.h>

int main(void)
{
	struct lath_item item = { .key = 10, .size = 20, .value = 7 };
	struct lath_index list;
	int wrong;

	if (lath_index_init(&list, NULL))
		return 1;
	wrong = lath_index_insert_item(&list, &item, NULL) ||
		lath_index_lookup_item(&list, 15, &item) || item.value != 7 ||
		strcmp(lath_rcu_auto.name, "auto") != 0;
	lath_index_fini(&list, NULL, NULL);
	return wrong;
}
