/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A program outside the tree that uses the installed library.
 */
#include <lathwork/config.h>
#include <string.h>

int main(void)
{
	return strcmp(lath_rcu_auto.name, "auto") != 0;
}
