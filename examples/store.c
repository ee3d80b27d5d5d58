/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A counter, a batch, a walk and a snapshot.
 */
#include <inttypes.h>
#include <lathwork/store.h>
#include <stdio.h>
#include <string.h>

static struct lath_store_key word(const char *text)
{
	return lath_key_bytes(text, strlen(text));
}

int main(void)
{
	struct lath_store_options options = LATH_STORE_OPTIONS_INIT;
	struct lath_store_key prefix = word("fruit/"), key;
	struct lath_store_range range = { NULL, NULL, &prefix, 0 };
	struct lath_store_entry entries[] = {
		{ word("fruit/plum"), "blue", 4, 0 },
		{ word("fruit/apple"), "red", 3, 0 },
		{ word("root/beet"), "purple", 6, 0 },
	};
	struct lath_store_iter *iter;
	struct lath_store_ref value;
	struct lath_store *store;
	int64_t seen = 0;

	options.keys = LATH_STORE_BYTES;
	if (lath_store_open(&store, "mem:", &options))
		return 1;
	if (lath_store_mset(store, 3, entries, NULL) != 3)
		return 1;
	if (lath_store_iter_begin(store, &range, &iter))
		return 1;
	while (lath_store_iter_next(iter, &key, &value) == 1) {
		printf("%.*s is %.*s\n", (int)key.n, (const char *)key.data, (int)value.size,
		       (const char *)value.data);
		lath_store_incr(store, word("seen"), 1, &seen);
	}
	lath_store_iter_end(iter);
	printf("%" PRId64 " fruits\n", seen);
	return lath_store_close(store) || seen != 2;
}
