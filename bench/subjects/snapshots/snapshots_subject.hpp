// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The subjects of table `snapshots`: maps from 16 bytes to a number that can be read as they were.
//
// To add one: a file in this directory, its function below, a line in subjects.cpp and one in
// bench/CMakeLists.txt.
#pragma once

#include "harness/subject.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>

namespace lathbench {

using bytes16 = std::array<unsigned char, 16>;

class versioned_map {
public:
    virtual ~versioned_map() = default;
    // Insert the key, or replace its number.
    virtual void put(const bytes16& key, std::uint64_t number) = 0;
    // Take a snapshot, the only one; give it back.
    virtual void take() = 0;
    virtual void release() = 0;
    // The number of a key, now or at the snapshot; 0: it is not there.
    virtual std::uint64_t get(const bytes16& key, bool at) = 0;
    // The sum of the numbers of the key and those behind it, `most` in all.
    virtual std::uint64_t scan(const bytes16& from, std::size_t most, bool at) = 0;
};

struct versioned_subject : subject {
    std::function<std::unique_ptr<versioned_map>()> make;
    bool snapshots = true; // false: it has none, and is there for what it costs without
};

versioned_subject lathwork_versions();
versioned_subject lathwork_without_versions();
versioned_subject std_map_copied();

// All of them, ours first; they are made once and never change.
const std::vector<versioned_subject>& versioned_subjects();

} // namespace lathbench
