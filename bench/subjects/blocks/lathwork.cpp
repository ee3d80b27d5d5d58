// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Ours: an index with holes (lathwork/hole.h) of the runs that are not free, or a space
// (lathwork/space.h), in which they are reserved.
#include "blocks_subject.hpp"

#include "lathwork/space.h"

#include <new>
#include <stdexcept>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

class space_blocks final : public block_allocator {
public:
    space_blocks(const block_device& device, unsigned flags, lath_hole_policy policy)
        : policy_(policy), end_(device.blocks) {
        lath_space_config config = LATH_SPACE_CONFIG_INIT;
        config.high = device.blocks;
        config.flags = flags;
        if (lath_space_create(&space_, &config) != 0)
            throw std::bad_alloc();
        u64 at = 0;
        for (const auto& run : device.free) {
            reserve(at, run.first);
            at = run.first + run.blocks;
        }
        reserve(at, device.blocks);
    }
    ~space_blocks() override { lath_space_destroy(space_); }
    space_blocks(const space_blocks&) = delete;
    space_blocks& operator=(const space_blocks&) = delete;

    bool alloc(u64 blocks, u64 align, u64& first) override {
        if (policy_ == LATH_HOLE_FIRST)
            return lath_space_alloc(space_, blocks, align, 0, &first) == 0;
        lath_hole_request want{};
        want.size = blocks;
        want.align = align;
        want.policy = policy_;
        want.hint = next_;
        if (lath_space_alloc_request(space_, &want, 0, &first) != 0)
            return false;
        next_ = first + blocks;
        return true;
    }
    void free(u64 first, u64 blocks) override { lath_space_free(space_, first, blocks); }
    u64 room() override {
        lath_space_stats stats;
        lath_space_trim(space_);
        lath_space_get_stats(space_, &stats);
        bool sound = stats.bad_frees == 0 && lath_space_verify(space_, nullptr, 0) == 0;
        return end_ - stats.allocated - !sound;
    }
    u64 bytes() const override {
        lath_space_stats stats;
        lath_space_get_stats(space_, &stats);
        return stats.bytes;
    }

private:
    void reserve(u64 from, u64 to) {
        if (to > from && lath_space_reserve(space_, from, to - from, 0) != 0)
            throw std::runtime_error("a run of blocks cannot be reserved");
    }

    lath_hole_policy policy_;
    u64 end_, next_ = 0;
    lath_space* space_ = nullptr;
};

blocks_subject with(const char* name, const char* note, unsigned flags, lath_hole_policy policy) {
    return {{name, note, ""}, [=](const block_device& d) {
                return std::make_unique<space_blocks>(d, flags, policy);
            }};
}

} // namespace

std::vector<blocks_subject> lathwork_blocks_subjects() {
    return {with("lathwork", "no arenas, first fit", LATH_SPACE_NO_ARENAS, LATH_HOLE_FIRST),
            with("lathwork-next", "no arenas, behind the last place", LATH_SPACE_NO_ARENAS,
                 LATH_HOLE_NEXT),
            with("lathwork-best", "no arenas, best fit", LATH_SPACE_NO_ARENAS, LATH_HOLE_BEST),
            with("lathwork-arenas", "arenas and magazines, first fit", 0, LATH_HOLE_FIRST)};
}

} // namespace lathbench
