// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The subjects of table `locks`: locks on ranges of keys.
#pragma once

#include "harness/subject.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace lathbench {

// Memory in which a subject keeps what it needs for one held range.
struct range_hold {
    alignas(64) unsigned char memory[192];
    template <class T>
    T& as() {
        static_assert(sizeof(T) <= sizeof(memory));
        return *reinterpret_cast<T*>(memory);
    }
};

// Calls may be made by several threads at once.
class range_locks {
public:
    virtual ~range_locks() = default;
    virtual void lock(range_hold& hold, std::uint64_t first, std::uint64_t last,
                      bool exclusive) = 0;
    virtual void unlock(range_hold& hold) = 0;
};

struct locks_subject : subject {
    std::function<std::unique_ptr<range_locks>()> make;
    bool whole =
        false; // holds exclude each other wherever they are: several of one thread cannot be
};

locks_subject lathwork_locks();
locks_subject linux_range_lock();
locks_subject list_2020();
locks_subject striped_rwlocks();
locks_subject one_rwlock();

// All of them, ours first; they are made once and never change.
const std::vector<locks_subject>& locks_subjects();

} // namespace lathbench
