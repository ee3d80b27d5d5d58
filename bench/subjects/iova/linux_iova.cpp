// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The allocators of IOMMU addresses that Linux had and has: the red-black tree of 2013 and of 6.1,
// that of 6.1 behind magazines, the one with gaps that was proposed in 2026, and the maple tree.
#include "subjects/ranges/linux_trees.h"
#include "iova_subject.hpp"

#include "linux_iova.h"
#include "subjects/lock.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

class rbtree_allocator final : public iova_allocator {
public:
    rbtree_allocator(const iova_space& space, linux_iova_style style)
        : high_(space.end > space.low_end),
          iova_(linux_iova_new(style, space.first, space.low_end, space.end)) {}
    ~rbtree_allocator() override { linux_iova_free_all(iova_); }
    rbtree_allocator(const rbtree_allocator&) = delete;
    rbtree_allocator& operator=(const rbtree_allocator&) = delete;

    bool alloc(u64 pages, u64 align, u64& first) override {
        return alloc_low(pages, align, first) || alloc_high(pages, align, first);
    }
    bool alloc_low(u64 pages, u64 align, u64& first) {
        return linux_iova_alloc(iova_, pages, align, 1, &first);
    }
    bool alloc_high(u64 pages, u64 align, u64& first) {
        return high_ && linux_iova_alloc(iova_, pages, align, 0, &first);
    }
    void free(u64 first, u64, u64) override { linux_iova_free(iova_, first); }
    u64 used() override { return linux_iova_used(iova_); }

private:
    bool high_;
    linux_iova* iova_;
};

class gaps_allocator final : public iova_allocator {
public:
    explicit gaps_allocator(const iova_space& space)
        : space_(space), gaps_(linux_gaps_new(space.first, space.end)) {}
    ~gaps_allocator() override { linux_gaps_free_all(gaps_); }
    gaps_allocator(const gaps_allocator&) = delete;
    gaps_allocator& operator=(const gaps_allocator&) = delete;

    bool alloc(u64 pages, u64 align, u64& first) override {
        return linux_gaps_alloc(gaps_, space_.low_end, pages, align, &first) ||
               (space_.end > space_.low_end &&
                linux_gaps_alloc(gaps_, space_.end, pages, align, &first));
    }
    void free(u64 first, u64, u64) override { linux_gaps_free(gaps_, first); }
    u64 used() override { return linux_gaps_used(gaps_); }

private:
    iova_space space_;
    linux_gaps* gaps_;
};

// Keeps freed ranges of up to 32 pages, whose sizes are rounded up to a power of two, by order (the
// power): each thread has two magazines of 127 ranges per order, and all threads share a depot of
// up to 32 full magazines per order. A request takes a range below its limit if there is one. When
// the tree has no room at all, all kept ranges go back to it, and it is asked once more. (In the
// kernel the two magazines belong to a CPU.)
class magazine_allocator final : public iova_allocator {
public:
    explicit magazine_allocator(const iova_space& space)
        : low_end_(space.low_end), end_(space.end), tree_(space, LINUX_IOVA_6_1), threads_(1024) {}

    void enter(int thread) override {
        auto& mine = threads_[static_cast<std::size_t>(thread)];
        if (!mine)
            mine = std::make_unique<caches>();
        mine_ = mine.get();
    }

    bool alloc(u64 pages, u64 align, u64& first) override {
        u64 rounded = power_of_two_from(pages);
        if (rounded > largest || align > rounded)
            return tree_.alloc(pages, align, first);
        auto order = static_cast<std::size_t>(std::countr_zero(rounded));
        if (take(order, low_end_, first) || tree_.alloc_low(rounded, rounded, first) ||
            take(order, end_, first) || tree_.alloc_high(rounded, rounded, first))
            return true;
        flush_own();
        flush_depots();
        return tree_.alloc(rounded, rounded, first);
    }

    void free(u64 first, u64 pages, u64 align) override {
        u64 rounded = power_of_two_from(pages);
        if (rounded > largest || align > rounded)
            tree_.free(first, pages, align);
        else
            put(static_cast<std::size_t>(std::countr_zero(rounded)), first);
    }

    u64 used() override {
        for (auto& thread : threads_)
            if (thread) {
                mine_ = thread.get();
                flush_own();
            }
        flush_depots();
        return tree_.used();
    }

private:
    static constexpr u64 largest = 32;
    static constexpr std::size_t orders = 6, magazine_size = 127, depot_size = 32;

    struct magazine {
        std::size_t count = 0;
        std::array<u64, magazine_size> first;
    };
    using pair = std::array<std::unique_ptr<magazine>, 2>;
    struct caches {
        std::array<pair, orders> of;
        caches() {
            for (auto& p : of)
                for (auto& m : p)
                    m = std::make_unique<magazine>();
        }
    };
    struct depot {
        spin_lock lock;
        std::vector<std::unique_ptr<magazine>> full;
    };

    static bool pop(magazine& m, u64 limit, u64& first) {
        for (std::size_t i = m.count; i-- > 0;)
            if (m.first[i] < limit) {
                first = m.first[i];
                m.first[i] = m.first[--m.count];
                return true;
            }
        return false;
    }

    bool take(std::size_t order, u64 limit, u64& first) {
        auto& [loaded, previous] = mine_->of[order];
        if (loaded->count == 0) {
            if (previous->count) {
                std::swap(loaded, previous);
            } else {
                guard g(depots_[order].lock);
                auto& full = depots_[order].full;
                if (!full.empty()) {
                    loaded = std::move(full.back());
                    full.pop_back();
                }
            }
        }
        return pop(*loaded, limit, first);
    }

    void put(std::size_t order, u64 first) {
        auto& [loaded, previous] = mine_->of[order];
        if (loaded->count == magazine_size) {
            if (previous->count < magazine_size) {
                std::swap(loaded, previous);
            } else {
                std::unique_ptr<magazine> out = std::move(loaded);
                loaded = std::make_unique<magazine>();
                {
                    guard g(depots_[order].lock);
                    if (depots_[order].full.size() < depot_size)
                        depots_[order].full.push_back(std::move(out));
                }
                if (out)
                    give_back(*out);
            }
        }
        loaded->first[loaded->count++] = first;
    }

    void give_back(magazine& m) {
        while (m.count)
            tree_.free(m.first[--m.count], 0, 0);
    }
    void flush_own() {
        for (auto& p : mine_->of)
            for (auto& m : p)
                give_back(*m);
    }
    void flush_depots() {
        for (auto& d : depots_) {
            std::vector<std::unique_ptr<magazine>> full;
            {
                guard g(d.lock);
                full.swap(d.full);
            }
            for (auto& m : full)
                give_back(*m);
        }
    }

    u64 low_end_, end_;
    rbtree_allocator tree_;
    std::array<depot, orders> depots_;
    std::vector<std::unique_ptr<caches>> threads_;
    static inline thread_local caches* mine_ = nullptr;
};

// The maple tree finds gaps by size alone. When the place is not aligned, linux_maple_alloc() asks
// again for a gap that is large enough to align in.
class maple_allocator final : public iova_allocator {
public:
    explicit maple_allocator(const iova_space& space) : space_(space), tree_(linux_maple_new(0)) {}
    ~maple_allocator() override {
        linux_maple_enter();
        linux_maple_free(tree_);
        linux_maple_leave();
    }
    maple_allocator(const maple_allocator&) = delete;
    maple_allocator& operator=(const maple_allocator&) = delete;

    void enter(int) override { linux_maple_enter(); }
    void leave(int) override { linux_maple_leave(); }
    bool alloc(u64 pages, u64 align, u64& first) override {
        if (linux_maple_alloc(tree_, space_.first, space_.low_end - 1, pages, align, &first))
            return true;
        return space_.end > space_.low_end &&
               linux_maple_alloc(tree_, space_.low_end, space_.end - 1, pages, align, &first);
    }
    void free(u64 first, u64, u64) override { linux_maple_erase(tree_, first); }
    u64 used() override {
        linux_maple_enter();
        u64 entries = 0;
        linux_maple_scan(
            tree_, 0, SIZE_MAX, [](void* n, u64, u64) { ++*static_cast<u64*>(n); }, &entries);
        linux_maple_leave();
        return entries;
    }
    u64 bytes() const override { return linux_maple_bytes() - nodes_before_; }

private:
    iova_space space_;
    u64 nodes_before_ = linux_maple_bytes();
    linux_maple* tree_;
};

template <class Allocator, auto... Arguments>
std::unique_ptr<iova_allocator> make_iova(const iova_space& space) {
    return std::make_unique<Allocator>(space, Arguments...);
}

} // namespace

std::vector<iova_subject> linux_iova_subjects() {
    return {
        {{"rbtree-2013", "", ""}, make_iova<rbtree_allocator, LINUX_IOVA_2013>},
        {{"rbtree-6.1", "", ""}, make_iova<rbtree_allocator, LINUX_IOVA_6_1>},
        {{"rbtree-rcache", "rbtree-6.1 behind magazines, two per thread and order", ""},
         make_iova<magazine_allocator>},
        {{"rbtree-gaps", "the longest gap of each subtree in its node, proposed in May 2026", ""},
         make_iova<gaps_allocator>},
        {{"maple", "", ""}, make_iova<maple_allocator>},
    };
}

} // namespace lathbench
