// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// doctest's checks, each as one call: the compiler takes a fifth less time. They do not show
// values.
#ifndef LATH_TEST_CHECKS_HPP
#define LATH_TEST_CHECKS_HPP

#include <doctest/doctest.h>

#undef CHECK
#undef CHECK_FALSE
#undef REQUIRE
#define CHECK(...) DOCTEST_CHECK_UNARY(__VA_ARGS__)
#define CHECK_FALSE(...) DOCTEST_CHECK_UNARY_FALSE(__VA_ARGS__)
#define REQUIRE(...) DOCTEST_REQUIRE_UNARY(__VA_ARGS__)

#endif
