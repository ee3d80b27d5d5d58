/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* assert_cases.h - the tables of the module for Valkey. */
#ifndef TESTS_VALKEY_ASSERT_CASES_H
#define TESTS_VALKEY_ASSERT_CASES_H

#include "cases.h"

extern const struct assert_case valkey_cases[], wait_cases[];

#endif
