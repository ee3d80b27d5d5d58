// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What the table `values` measures: maps of structs and texts, each from its first insert to its
// end.
#pragma once

#include "harness/subject.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lathbench {

struct measured {
    std::map<std::string, double> ns; // per entry
    double bytes = 0;
    bool right = true;
};

struct kept_subject : subject {
    // By the kind of values (tables/values.cpp): measures a map of these numbers.
    std::map<std::string, measured (*)(const std::vector<std::uint64_t>&)> by_kind;
};

const std::vector<kept_subject>& kept_subjects();

} // namespace lathbench
