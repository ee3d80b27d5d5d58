// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The free ranges of all segments in two B-trees (best_fit.hpp): best fit in the whole pool.
#include "pool_subject.hpp"

#include "subjects/iova/best_fit.hpp"
#include "subjects/lock.hpp"

namespace lathbench {

namespace {

using u64 = std::uint64_t;

class absl_pool_allocator final : public pool_allocator {
public:
    explicit absl_pool_allocator(const pool_shape& shape) : all_(shape.segments * shape.segment) {
        for (u64 i = 0; i < shape.segments; i++)
            ranges_.give(i * shape.stride(), shape.segment, 1);
    }
    bool put(pool_object& object, u64&) override {
        guard g(lock_);
        object.charged = object.size;
        return ranges_.take(object.size, 1, object.at);
    }
    void remove(const pool_object& object) override {
        guard g(lock_);
        ranges_.give(object.at, object.size, 1);
    }
    u64 used() override { return ranges_.used() + all_; }

private:
    u64 all_;
    best_fit_part ranges_{0, 0};
    spin_lock lock_;
};

} // namespace

pool_subject absl_pool() {
    return {{"absl-btree", "free ranges of all segments in two B-trees, best fit, one lock", ""},
            [](const pool_shape& s) { return std::make_unique<absl_pool_allocator>(s); }};
}

} // namespace lathbench
