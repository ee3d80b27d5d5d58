// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The free ranges in two B-trees, best fit (best_fit.hpp), as in the btree allocators of Ceph's
// BlueStore (pull request 41828 of ceph/ceph).
#include "blocks_subject.hpp"

#include "subjects/iova/best_fit.hpp"

namespace lathbench {

namespace {

using u64 = std::uint64_t;

class absl_allocator final : public block_allocator {
public:
    explicit absl_allocator(const block_device& device) {
        for (const auto& run : device.free)
            ranges_.give(run.first, run.blocks, 1);
    }
    bool alloc(u64 blocks, u64 align, u64& first) override {
        return ranges_.take(blocks, align, first);
    }
    void free(u64 first, u64 blocks) override { ranges_.give(first, blocks, 1); }
    u64 room() override { return 0 - ranges_.used(); }

private:
    best_fit_part ranges_{0, 0};
};

} // namespace

blocks_subject absl_blocks() {
    return {{"absl-btree", "free ranges in two B-trees, best fit", ""},
            [](const block_device& d) { return std::make_unique<absl_allocator>(d); }};
}

} // namespace lathbench
