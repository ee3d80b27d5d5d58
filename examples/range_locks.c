/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A block of a file is read, changed and written in several calls, while its range is held. */
#include <lathwork/range_lock.h>
#include <stdio.h>

int main(void)
{
	struct lath_range_locks locks;
	struct lath_range_hold hold, other;
	int ret;

	if (lath_range_locks_init(&locks, NULL))
		return 1;
	lath_range_lock(&locks, &hold, 4096, 8192, LATH_EXCLUSIVE_RANGE); /* to 12288 */
	ret = lath_range_trylock(&locks, &other, 8192, 1, LATH_SHARED_RANGE);
	printf("8192 is %s\n", ret ? "held" : "free");
	lath_range_unlock(&locks, &hold);
	ret = lath_range_trylock(&locks, &other, 8192, 1, LATH_SHARED_RANGE);
	printf("8192 is %s\n", ret ? "held" : "free");
	lath_range_unlock(&locks, &other);
	lath_range_locks_fini(&locks);
	return 0;
}
