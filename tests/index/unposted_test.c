/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* unposted_test.c - leaves whose separators found no memory get them once there is some again. */
#include <errno.h>
#include <stdio.h>

#include "lathwork/index.h"
#include "base/failing.h"

#define KEYS 30000u

static int insert_key(struct lath_index *list, uint64_t i)
{
	struct lath_item item = { i * 0x9e3779b97f4a7c15ull, 1, i };

	return lath_index_insert_item(list, &item, NULL);
}

int main(void)
{
	struct failing failing = { 0 };
	struct lath_allocator allocator = { failing_alloc, failing_free, &failing };
	struct lath_config config = { .size = sizeof(config),
				      .flags = LATH_NODE_EACH,
				      .allocator = &allocator };
	struct lath_index_stats before, after;
	struct lath_index list;
	char text[200] = "";
	uint64_t i;

	if (lath_index_init(&list, &config))
		return 1;
	for (i = 1; i <= KEYS; i++) {
		int ret;

		do { /* the one that gets memory for its leaf gets no more than that */
			failing.fail_at = failing.calls + 2;
			failing.from_then_on = true;
			ret = insert_key(&list, i);
		} while (ret == -ENOMEM);
		if (ret)
			return 1;
	}
	lath_index_get_stats(&list, &before);
	failing.fail_at = 0;
	for (; i <= 3 * KEYS; i++)
		if (insert_key(&list, i))
			return 1;
	lath_index_get_stats(&list, &after);
	if (before.no_downlink < 3 || after.no_downlink ||
	    lath_index_verify(&list, 5, text, sizeof(text))) {
		fprintf(stderr, "unposted_test: unposted without memory %llu, with it %llu; %s\n",
			(unsigned long long)before.no_downlink,
			(unsigned long long)after.no_downlink, text);
		return 1;
	}
	lath_index_fini(&list, NULL, NULL);
	printf("unposted_test: %llu nodes posted when memory came back\n",
	       (unsigned long long)before.no_downlink);
	return failing.outstanding ? 1 : 0;
}
