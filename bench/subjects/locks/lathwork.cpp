// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "locks_subject.hpp"

#include "lathwork/range_lock.h"

#include <cstdlib>

namespace lathbench {

namespace {

class lathwork_ranges : public range_locks {
public:
    lathwork_ranges() {
        lath_range_config config = LATH_RANGE_CONFIG_INIT;
        config.usual = 64;
        if (lath_range_locks_init(&locks_, &config))
            std::abort();
    }
    ~lathwork_ranges() override { lath_range_locks_fini(&locks_); }
    void lock(range_hold& hold, std::uint64_t first, std::uint64_t last, bool exclusive) override {
        if (lath_range_lock(&locks_, &hold.as<lath_range_hold>(), first, last - first + 1,
                            exclusive ? LATH_EXCLUSIVE_RANGE : LATH_SHARED_RANGE))
            std::abort();
    }
    void unlock(range_hold& hold) override {
        lath_range_unlock(&locks_, &hold.as<lath_range_hold>());
    }

private:
    lath_range_locks locks_;
};

} // namespace

locks_subject lathwork_locks() {
    return {{"lathwork", "", ""}, [] { return std::make_unique<lathwork_ranges>(); }};
}

} // namespace lathbench
