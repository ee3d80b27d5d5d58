// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The free ranges in two AVL trees of Boost.Intrusive, by address and by size, as Ceph's BlueStore
// keeps them. Written from the descriptions of its options (pull requests 35507 and 41615 of
// ceph/ceph) and of pull request 48640:
//   near fit   the first of up to 100 ranges, from behind the last allocation of that alignment on,
//              that has an aligned place
//   best fit   when none of these has, or no free range has 128 KiB: the shortest range with an
//              aligned place; ranges that are long enough but have none are visited one by one
#include "blocks_subject.hpp"

#include <boost/intrusive/avl_set.hpp>

#include <array>
#include <bit>
#include <iterator>
#include <utility>

namespace lathbench {

namespace {

using u64 = std::uint64_t;
namespace bi = boost::intrusive;

struct by_start;
struct by_size;

struct free_range : bi::avl_set_base_hook<bi::tag<by_start>>,
                    bi::avl_set_base_hook<bi::tag<by_size>> {
    u64 start, size;
};

struct start_of {
    using type = u64;
    u64 operator()(const free_range& r) const { return r.start; }
};
struct size_of {
    using type = std::pair<u64, u64>;
    type operator()(const free_range& r) const { return {r.size, r.start}; }
};

class avl_allocator final : public block_allocator {
public:
    explicit avl_allocator(const block_device& device) {
        for (const auto& run : device.free)
            add(run.first, run.blocks);
    }
    ~avl_allocator() override {
        sizes_.clear();
        starts_.clear_and_dispose([](free_range* r) { delete r; });
    }
    avl_allocator(const avl_allocator&) = delete;
    avl_allocator& operator=(const avl_allocator&) = delete;

    bool alloc(u64 blocks, u64 align, u64& first) override {
        u64& cursor = cursors_[static_cast<std::size_t>(std::countr_zero(align))];
        free_range* found = nullptr;
        if (!sizes_.empty() && sizes_.rbegin()->size >= best_fit_below)
            found = near_fit(cursor, blocks, align);
        if (!found)
            found = best_fit(blocks, align);
        if (!found)
            return false;
        first = place(*found, align);
        cursor = first + blocks;
        cut(*found, first, blocks);
        return true;
    }
    void free(u64 first, u64 blocks) override {
        auto next = starts_.lower_bound(first);
        free_range* below = next == starts_.begin() ? nullptr : &*std::prev(next);
        if (next != starts_.end() && next->start == first + blocks) {
            free_range& above = *next;
            blocks += above.size;
            remove(above);
        }
        if (below && below->start + below->size == first)
            resize(*below, below->size + blocks);
        else
            add(first, blocks);
    }
    u64 room() override {
        u64 sum = 0;
        for (const auto& r : starts_)
            sum += r.size;
        return sum;
    }

private:
    static constexpr u64 best_fit_below = 32; // blocks of 4 KiB
    static constexpr int near_fit_ranges = 100;

    static u64 place(const free_range& r, u64 align) {
        return (r.start + align - 1) & ~(align - 1);
    }
    static bool fits(const free_range& r, u64 blocks, u64 align) {
        return place(r, align) + blocks <= r.start + r.size;
    }
    free_range* near_fit(u64 cursor, u64 blocks, u64 align) {
        auto r = starts_.lower_bound(cursor);
        for (int i = 0; i < near_fit_ranges; i++, ++r) {
            if (r == starts_.end())
                r = starts_.begin();
            if (fits(*r, blocks, align))
                return &*r;
        }
        return nullptr;
    }
    free_range* best_fit(u64 blocks, u64 align) {
        for (auto r = sizes_.lower_bound({blocks, 0}); r != sizes_.end(); ++r)
            if (fits(*r, blocks, align))
                return &*r;
        return nullptr;
    }
    void add(u64 start, u64 size) {
        auto* r = new free_range;
        r->start = start;
        r->size = size;
        starts_.insert(*r);
        sizes_.insert(*r);
    }
    void remove(free_range& r) {
        sizes_.erase(sizes_.iterator_to(r));
        starts_.erase(starts_.iterator_to(r));
        delete &r;
    }
    void resize(free_range& r, u64 size) {
        sizes_.erase(sizes_.iterator_to(r));
        r.size = size;
        sizes_.insert(r);
    }
    void cut(free_range& r, u64 first, u64 blocks) {
        u64 end = r.start + r.size;
        if (first > r.start)
            resize(r, first - r.start);
        else
            remove(r);
        if (end > first + blocks)
            add(first + blocks, end - (first + blocks));
    }

    bi::avl_set<free_range, bi::base_hook<bi::avl_set_base_hook<bi::tag<by_start>>>,
                bi::key_of_value<start_of>>
        starts_;
    bi::avl_set<free_range, bi::base_hook<bi::avl_set_base_hook<bi::tag<by_size>>>,
                bi::key_of_value<size_of>>
        sizes_;
    std::array<u64, 64> cursors_{};
};

} // namespace

blocks_subject avl_blocks() {
    return {{"avl", "free ranges in two AVL trees, near fit, then best fit", ""},
            [](const block_device& d) { return std::make_unique<avl_allocator>(d); }};
}

} // namespace lathbench
