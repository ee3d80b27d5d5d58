/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Runs one unit test as a program. The kernel module that runs the same tests is
 * kernel/test_mod.c.
 */
#include <stdio.h>

#define NAME_OF(x) #x
#define NAME(x) NAME_OF(x)

int LATH_UNIT(void);

int main(void)
{
	int line = LATH_UNIT();

	if (!line)
		return 0;
	fprintf(stderr, "%s: failed at line %d\n", NAME(LATH_UNIT), line);
	return 1;
}
