/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Locks on ranges of a file in a set of intervals.
 */
#include <lathwork/interval.h>

#include <stdint.h>
#include <stdio.h>

static struct lath_intervals holds;

static int hold_add(uint64_t first, uint64_t last, int owner)
{
	struct lath_interval hold = { first, last, owner };

	return lath_intervals_insert(&holds, &hold);
}

static void hold_drop(uint64_t first, uint64_t last, int owner)
{
	struct lath_interval hold = { first, last, owner };

	lath_intervals_erase(&holds, &hold);
}

/* Returns how many there are; *owners is the sum of their numbers. */
static int hold_count(uint64_t first, uint64_t last, int *owners)
{
	struct lath_interval_iter iter;
	struct lath_interval hold;
	int n = 0;

	*owners = 0;
	lath_interval_iter_overlap(&iter, &holds, first, last);
	while (lath_interval_next(&iter, &hold)) {
		*owners += (int)hold.value;
		n++;
	}
	return n;
}

static void print(uint64_t first, uint64_t last)
{
	int owners, n = hold_count(first, last, &owners);

	printf("%d to %d: %d, sum of owners %d\n", (int)first, (int)last, n, owners);
}

int main(void)
{
	if (lath_intervals_init(&holds, LATH_CLOSED, NULL))
		return 1;
	if (hold_add(0, 4095, 1) || hold_add(1024, 2047, 2) || hold_add(2000, 9000, 3))
		return 1;
	print(1500, 1500);
	print(2000, 2047);
	print(9001, 9999);
	hold_drop(1024, 2047, 2);
	print(1500, 1500);
	hold_drop(0, 4095, 1);
	hold_drop(2000, 9000, 3);
	print(0, 9999);
	lath_intervals_fini(&holds, NULL, NULL);
	return 0;
}
