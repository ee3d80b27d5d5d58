/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* tables.c - the tables of the library's parts. */
#include "cases.h"

#include <stddef.h>

const struct assert_case *const assert_tables[] = { sys_cases,	 index_cases, set_cases,
						    space_cases, store_cases, queue_cases,
						    lock_cases,	 NULL };
