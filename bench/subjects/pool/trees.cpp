// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Allocators of table `iova` as pools, one per segment.
#include "pool_subject.hpp"

#include "harness/random.hpp"
#include "subjects/iova/iova_subject.hpp"

#include <array>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

constexpr u64 unit = 256; // bytes; a "page" of the allocators

class iova_pool final : public pool_allocator {
public:
    iova_pool(const pool_shape& shape, const iova_subject& subject) : shape_(shape) {
        iova_space space;
        space.low_end = space.end = space.first + shape.segment / unit;
        for (auto& s : segments_)
            s = subject.make(space);
    }
    // What enter() registers belongs to the thread, not to one allocator.
    void enter(int thread) override { segments_[0]->enter(thread); }
    void leave(int thread) override { segments_[0]->leave(thread); }
    bool put(pool_object& object, u64& random) override {
        u64 pages = (object.size + unit - 1) / unit, first = next_random(random) % count, at;
        for (u64 i = 0; i < count; i++) {
            u64 segment = (first + i) % count;
            if (!segments_[segment]->alloc(pages, 1, at))
                continue;
            object.at = segment * shape_.stride() + (at - iova_space{}.first) * unit;
            object.charged = pages * unit;
            return true;
        }
        return false;
    }
    void remove(const pool_object& object) override {
        u64 segment = object.at / shape_.stride(), offset = object.at % shape_.stride();
        segments_[segment]->free(iova_space{}.first + offset / unit, object.charged / unit, 1);
    }
    u64 used() override {
        u64 sum = 0;
        for (auto& s : segments_)
            sum += s->used() * unit;
        return sum;
    }

private:
    static constexpr u64 count = pool_shape::segments;
    pool_shape shape_;
    std::array<std::unique_ptr<iova_allocator>, count> segments_;
};

} // namespace

pool_subject iova_pool_subject(const char* iova_name) {
    const iova_subject& found = find_subject(iova_subjects(), iova_name);
    if (!found.missing.empty())
        return {{iova_name, "", found.missing}, {}};
    return {{iova_name, "a tree per segment, any segment", ""}, [&found](const pool_shape& shape) {
                return std::make_unique<iova_pool>(shape, found);
            }};
}

} // namespace lathbench
