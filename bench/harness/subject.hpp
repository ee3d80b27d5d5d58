// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A subject is what a table measures: one structure in one configuration. A subject of somebody
// else's that ours is compared with is called a peer.
//
// To add one, if the *_subject.hpp of its table says nothing else: a file beside that one, its
// function in it, a line in subjects/lists.cpp and one in bench/CMakeLists.txt.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace lathbench {

// What every table needs of a subject. Each directory of bench/subjects/ derives a struct from this
// one and adds the functions that its tables call.
struct subject {
    std::string name;
    std::string note; // what differs from the other subjects ("exact keys only"), or empty
    std::string missing; // why it is not in this build ("package libtbb-dev not found"), or empty
};

// Returns the subject of that name. Throws std::logic_error when there is none.
template <class Subject>
const Subject& find_subject(const std::vector<Subject>& all, const std::string& name) {
    for (const auto& s : all)
        if (s.name == name)
            return s;
    throw std::logic_error("no subject " + name);
}

template <class Subject>
std::vector<subject> listed(const std::vector<Subject>& all) {
    return {all.begin(), all.end()};
}

// A subject broke its contract so badly that it cannot be measured any further.
struct contract_broken : std::runtime_error {
    using std::runtime_error::runtime_error;
};

} // namespace lathbench
