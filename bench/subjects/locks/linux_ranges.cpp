// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "linux_ranges.h"

#include "locks_subject.hpp"

namespace lathbench {

namespace {

class interval_tree : public range_locks {
public:
    ~interval_tree() override { linux_ranges_free(ranges_); }
    void lock(range_hold& hold, std::uint64_t first, std::uint64_t last, bool exclusive) override {
        static_assert(LINUX_RANGE_BYTES <= sizeof(hold.memory));
        linux_ranges_lock(ranges_, hold.memory, first, last, exclusive);
    }
    void unlock(range_hold& hold) override { linux_ranges_unlock(ranges_, hold.memory); }

private:
    linux_ranges* ranges_ = linux_ranges_new();
};

} // namespace

locks_subject linux_range_lock() {
    return {{"interval-tree", "behind one spinlock, as proposed for Linux", ""},
            [] { return std::make_unique<interval_tree>(); }};
}

} // namespace lathbench
