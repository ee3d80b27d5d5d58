// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "workload.hpp"

#include "harness/random.hpp"
#include "harness/timing.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace lathbench {

namespace {

using u64 = std::uint64_t;
using u32 = std::uint32_t;

constexpr u32 steps = 60, ranks = 8, payloads = 3;

// Ten sizes in the octaves of the captured run, as often as there.
constexpr std::array<u32, 31> metadata = {
    256,  256,  256,  256,  256,  344,  344,  344,  344,  456,  456,  640,  640,  640,  1288, 2056,
    2056, 2056, 2056, 2056, 2056, 2608, 2608, 2608, 2608, 2608, 3344, 3344, 3344, 8496, 9896};
constexpr u32 payload_from = 11010048, payload_below = 13002342; // 10.5 and 12.4 MiB

std::vector<u32> bundle(u64& random) {
    std::vector<u32> sizes(metadata.begin(), metadata.end());
    for (u32 i = 0; i < payloads; i++)
        sizes.push_back(kv_payload_size(random));
    for (std::size_t i = sizes.size(); i > 1; i--)
        std::swap(sizes[i - 1], sizes[next_random(random) % i]);
    return sizes;
}

u32 lifetime(u64& random) {
    u32 eighth = next_random(random) % 8;
    return eighth < 2 ? eighth + 1 : 3;
}

} // namespace

u32 kv_metadata_size(u64& random) { return metadata[next_random(random) % metadata.size()]; }

u32 kv_payload_size(u64& random) {
    return payload_from + next_random(random) % (payload_below - payload_from);
}

std::vector<kv_event> kv_trace(u64 seed) {
    std::vector<kv_event> events;
    std::array<std::vector<u32>, 4> leaving; // objects by the step, modulo 4, whose end they see
    u64 random = seed | 1;
    u32 objects = 0;
    for (u32 step = 0; step < steps + 3; step++) {
        for (u32 rank = 0; rank < ranks && step < steps; rank++) {
            for (u32 size : bundle(random)) {
                events.push_back({kv_event::put, objects, size});
                leaving[(step + lifetime(random)) % 4].push_back(objects++);
            }
            events.push_back({kv_event::bundle_done});
        }
        for (u32 object : leaving[step % 4])
            events.push_back({kv_event::remove, object});
        leaving[step % 4].clear();
    }
    return events;
}

bool pool_shadow::claim(const pool_object& o) {
    u64 end = o.at + o.charged, segment = o.at / shape_.stride();
    if (o.charged < o.size || segment >= shape_.segments ||
        end > segment * shape_.stride() + shape_.segment)
        return false;
    std::lock_guard hold(lock_);
    auto next = taken_.lower_bound(o.at);
    bool free = (next == taken_.end() || next->first >= end) &&
                (next == taken_.begin() || std::prev(next)->second <= o.at);
    taken_[o.at] = end;
    return free;
}

void pool_shadow::release(const pool_object& o) {
    std::lock_guard hold(lock_);
    taken_.erase(o.at);
}

double pool_shadow::fragmentation() {
    double sum = 0;
    std::lock_guard hold(lock_);
    for (u64 segment = 0; segment < shape_.segments; segment++) {
        u64 at = segment * shape_.stride(), end = at + shape_.segment, free = 0, longest = 0;
        auto hole = [&](u64 to) {
            free += to - at;
            longest = std::max(longest, to - at);
        };
        for (auto i = taken_.lower_bound(at); i != taken_.end() && i->first < end; ++i) {
            hole(i->first);
            at = i->second;
        }
        hole(end);
        sum += free ? 1 - static_cast<double>(longest) / static_cast<double>(free) : 0;
    }
    return sum / static_cast<double>(shape_.segments);
}

kv_worker::kv_worker(pool_allocator& pool, u32 payload_count, u64 seed)
    : pool_(pool), random_(seed | 1), payloads_(payload_count),
      objects_(payload_count * (1 + metadata.size() / payloads)) {}

void kv_worker::put(std::size_t i, pool_shadow* shadow) {
    pool_object& o = objects_[i];
    o = {};
    o.size = i < payloads_ ? kv_payload_size(random_) : kv_metadata_size(random_);
    if (!pool_.put(o, random_)) {
        failed++;
        o.charged = 0;
        return;
    }
    if (shadow)
        right = shadow->claim(o) && right;
}

void kv_worker::fill() {
    for (std::size_t i = 0; i < objects_.size(); i++)
        put(i, nullptr);
    failed = 0;
}

void kv_worker::run(u64 ms, pool_shadow* shadow) {
    u64 begin = wall_ns();
    while (pairs % 64 != 0 || wall_ns() - begin < ms * 1000000) {
        std::size_t i = next_random(random_) % objects_.size();
        if (objects_[i].charged) {
            if (shadow)
                shadow->release(objects_[i]);
            pool_.remove(objects_[i]);
        }
        put(i, shadow);
        pairs++;
    }
}

void kv_worker::drain() {
    for (const auto& o : objects_)
        if (o.charged)
            pool_.remove(o);
    objects_.clear();
}

void kv_worker::claim_all(pool_shadow& shadow) {
    for (const auto& o : objects_)
        if (o.charged)
            right = shadow.claim(o) && right;
}

} // namespace lathbench
