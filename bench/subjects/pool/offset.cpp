// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Mooncake Store's pool: an OffsetAllocator with a lock per segment (offset_segment.hpp), and a
// strategy that chooses the segment. Written from the descriptions in RFC 3965 and pull requests
// 1577 and 4000 of kvcache-ai/Mooncake:
//   random      segments in turn, from a random one on
//   free ratio  six of them, that with the most free space first; then the others
//   best fit    that whose largest free range is the shortest that serves; then the others
#include "pool_subject.hpp"

#include "harness/random.hpp"
#include "subjects/lock.hpp"
#include "offset_segment.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

namespace lathbench {

namespace {

using u64 = std::uint64_t;
using u32 = std::uint32_t;

enum class strategy { random, free_ratio, best_fit };

// Lock: of a segment. Outer: around all of them.
template <class Lock, class Outer>
class offset_pool final : public pool_allocator {
public:
    offset_pool(const pool_shape& shape, strategy how) : shape_(shape), how_(how) {
        for (auto& s : segments_)
            s = std::make_unique<locked>(static_cast<u32>(shape.segment));
    }
    bool put(pool_object& object, u64& random) override {
        std::lock_guard all(outer_);
        auto size = static_cast<u32>(object.size);
        for (u32 i : order(offset_segment::rounded(size), random)) {
            locked& s = *segments_[i];
            std::lock_guard hold(s.lock);
            u32 offset;
            if (!s.segment.take(size, offset, object.node))
                continue;
            object.at = i * shape_.stride() + offset;
            object.charged = offset_segment::rounded(size);
            return true;
        }
        return false;
    }
    void remove(const pool_object& object) override {
        std::lock_guard all(outer_);
        locked& s = *segments_[object.at / shape_.stride()];
        std::lock_guard hold(s.lock);
        s.segment.give(object.node);
    }
    u64 used() override {
        u64 sum = 0;
        for (const auto& s : segments_)
            sum += shape_.segment - s->segment.free();
        return sum;
    }

private:
    static constexpr std::size_t count = pool_shape::segments, sample = 6;
    struct alignas(64) locked {
        explicit locked(u32 size) : segment(size) {}
        Lock lock;
        offset_segment segment;
    };
    using indices = std::array<u32, count>;

    indices order(u32 size, u64& random) {
        indices all;
        u32 first = next_random(random) % count;
        for (u32 i = 0; i < count; i++)
            all[i] = (first + i) % count;
        if (how_ == strategy::random)
            return all;
        std::array<std::pair<u32, u32>, count> ranked; // rank, index; the least rank first
        std::size_t n = how_ == strategy::free_ratio ? sample : count;
        for (std::size_t i = 0; i < n; i++)
            ranked[i] = {rank(all[i], size), all[i]};
        std::stable_sort(ranked.begin(), ranked.begin() + static_cast<long>(n),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        for (std::size_t i = 0; i < n; i++)
            all[i] = ranked[i].second;
        return all;
    }
    u32 rank(u32 i, u32 size) {
        std::lock_guard hold(segments_[i]->lock);
        const offset_segment& s = segments_[i]->segment;
        if (how_ == strategy::free_ratio)
            return ~s.free();
        return s.largest() >= size ? s.largest() : ~u32{0};
    }

    pool_shape shape_;
    strategy how_;
    [[no_unique_address]] Outer outer_;
    std::array<std::unique_ptr<locked>, count> segments_;
};

template <class Lock, class Outer>
pool_subject with(const char* name, const char* note, strategy how) {
    return {{name, note, ""}, [how](const pool_shape& shape) {
                return std::make_unique<offset_pool<Lock, Outer>>(shape, how);
            }};
}

} // namespace

std::vector<pool_subject> offset_pool_subjects() {
    return {
        with<spin_lock, no_lock>("offset-random", "bins, a lock per segment, any segment",
                                 strategy::random),
        with<spin_lock, no_lock>("offset-ratio", "bins, a lock per segment, the emptiest of six",
                                 strategy::free_ratio),
        with<spin_lock, no_lock>("offset-best", "bins, a lock per segment, the tightest of all",
                                 strategy::best_fit),
        with<no_lock, std::mutex>("offset-mutex", "offset-best, one mutex", strategy::best_fit),
    };
}

} // namespace lathbench
