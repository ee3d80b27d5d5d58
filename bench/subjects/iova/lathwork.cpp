// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Ours, lathwork/space.h: as it is, without magazines, and without arenas either.
#include "iova_subject.hpp"

#include "lathwork/space.h"

#include <new>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

class space_allocator final : public iova_allocator {
public:
    space_allocator(const iova_space& space, unsigned flags) {
        lath_space_config config = LATH_SPACE_CONFIG_INIT;
        config.low = space.first;
        config.high = space.end;
        config.below = space.low_end < space.end ? space.low_end : 0;
        config.flags = flags;
        if (lath_space_create(&space_, &config) != 0)
            throw std::bad_alloc();
    }
    ~space_allocator() override { lath_space_destroy(space_); }
    space_allocator(const space_allocator&) = delete;
    space_allocator& operator=(const space_allocator&) = delete;

    bool alloc(u64 pages, u64 align, u64& first) override {
        return lath_space_alloc(space_, pages, align, 0, &first) == 0;
    }
    void free(u64 first, u64 pages, u64) override { lath_space_free(space_, first, pages); }
    u64 used() override {
        lath_space_stats stats;
        lath_space_trim(space_);
        lath_space_get_stats(space_, &stats);
        bool sound =
            stats.cached == 0 && stats.bad_frees == 0 && lath_space_verify(space_, nullptr, 0) == 0;
        return stats.allocated + !sound;
    }
    u64 bytes() const override {
        lath_space_stats stats;
        lath_space_get_stats(space_, &stats);
        return stats.bytes;
    }

private:
    lath_space* space_ = nullptr;
};

iova_subject with_flags(const char* name, const char* note, unsigned flags) {
    return {{name, note, ""},
            [flags](const iova_space& s) { return std::make_unique<space_allocator>(s, flags); }};
}

} // namespace

std::vector<iova_subject> lathwork_iova_subjects() {
    return {with_flags("lathwork", "", 0),
            with_flags("lathwork-arenas", "no magazines", LATH_SPACE_NO_MAGAZINES),
            with_flags("lathwork-plain", "neither magazines nor arenas", LATH_SPACE_NO_ARENAS)};
}

} // namespace lathbench
