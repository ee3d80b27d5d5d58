// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// One bit per block (page_bitmap.hpp). A search goes on behind the last place that was found for
// that alignment and then begins at the start.
#include "blocks_subject.hpp"

#include "subjects/iova/page_bitmap.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

class bitmap_allocator final : public block_allocator {
public:
    explicit bitmap_allocator(const block_device& device)
        : end_(device.blocks), taken_(device.blocks) {
        taken_.set(0, end_, true);
        for (const auto& run : device.free)
            taken_.set(run.first, run.blocks, false);
    }
    bool alloc(u64 blocks, u64 align, u64& first) override {
        u64& hint = hints_[static_cast<std::size_t>(std::countr_zero(align))];
        if (!taken_.find_clear(hint, end_, blocks, align, first) &&
            !taken_.find_clear(0, std::min(end_, hint + blocks + align), blocks, align, first))
            return false;
        taken_.set(first, blocks, true);
        hint = first + blocks;
        return true;
    }
    void free(u64 first, u64 blocks) override { taken_.set(first, blocks, false); }
    u64 room() override {
        u64 sum = 0;
        for (u64 at = 0; at < end_;) {
            u64 begin = taken_.next(at, end_, false);
            at = taken_.next(begin, end_, true);
            sum += at - begin;
        }
        return sum;
    }

private:
    u64 end_;
    page_bitmap taken_;
    std::array<u64, 64> hints_{};
};

} // namespace

blocks_subject bitmap_blocks() {
    return {{"bitmap", "a bit per block, one level", ""},
            [](const block_device& d) { return std::make_unique<bitmap_allocator>(d); }};
}

} // namespace lathbench
