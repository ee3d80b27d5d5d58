// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/hole.hpp - range_allocator: allocates address ranges of a space (lathwork/hole.h).
//
//     lathwork::range_allocator dma(4096, 1ull << 36); // page 0 is never allocated
//     if (auto got = dma.allocate({.size = 8192, .align = 8192, .below = 1ull << 32}))
//         program(got->key, got->size);
//
//       0    4096                                                     2^36
//            |#### 1 ####|      hole      |## 2 ##|       hole        |
//            begin() ... end(): what is allocated; holes(): what is not
//
// Threads: const members and those that allocate, free and reserve may run concurrently.
// Construction, destruction and move exclude all other calls. Ownership: the caller owns what
// allocate() returned until free(); hold() returns an owner that frees it. Each allocation has a
// cookie, a word of the caller's that owner() finds by an address. Progress and cost: as
// lath_index_insert_hole; free of a whole allocation never allocates.
//
// Errors: calls return 0 or a negative errno, never -EAGAIN, and do not throw. An allocator that
// got no memory is empty, returns -ENOMEM and converts to false.
#ifndef LATHWORK_CXX_HOLE_HPP
#define LATHWORK_CXX_HOLE_HPP

#include "lathwork/cxx/index.hpp"
#include "lathwork/hole.h"

namespace lathwork {

using hole_stats = lath_hole_stats;

enum class placement {
    first = LATH_HOLE_FIRST, // the lowest place
    last = LATH_HOLE_LAST, // the highest
    best = LATH_HOLE_BEST, // in the shortest hole
    next = LATH_HOLE_NEXT, // the lowest from hint on, then from the beginning
    near = LATH_HOLE_NEAR, // the nearest to hint
    exact = LATH_HOLE_EXACT, // at hint or not at all
};

struct hole_request {
    std::uint64_t size = 0;
    std::uint64_t align = 1; // a power of two
    std::uint64_t low = 0, high = 0; // within [low, high), and within the space; high 0: no limit
    std::uint64_t below = 0; // below this address first; 0: no
    std::uint64_t hint = 0;
    placement policy = placement::first;
};

namespace detail {

inline lath_hole_request to_c(const hole_request& want) {
    return {.size = want.size,
            .align = want.align,
            .low = want.low,
            .high = want.high,
            .below = want.below,
            .hint = want.hint,
            .policy = static_cast<lath_hole_policy>(want.policy)};
}

// The ranges of a Source, whose at(key) returns the first that has or is behind a key, or one of
// size 0. Each is read when an iterator reaches it.
template <class Source>
class run_view : public std::ranges::view_interface<run_view<Source>> {
public:
    class iterator {
    public:
        using value_type = range;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::forward_iterator_tag;

        iterator() = default;
        range operator*() const { return run_; }
        iterator& operator++() {
            if (!run_.size)
                step_beyond_the_end();
            std::uint64_t next = run_.key + run_.size;
            run_ = next ? from_.at(next) : range{};
            return *this;
        }
        iterator operator++(int) { return step_after(*this); }
        friend bool operator==(const iterator& a, const iterator& b) { return a.run_ == b.run_; }
        // Whether a shows a run before that of b; the one of b may have changed.
        friend bool operator<(const iterator& a, const iterator& b) {
            return a.run_.size && (!b.run_.size || a.run_.key < b.run_.key);
        }

    private:
        friend run_view;
        explicit iterator(const Source& from) : from_(from), run_(from.at(0)) {}
        Source from_{};
        range run_{}; // of size 0: the end
    };

    run_view() = default;
    explicit run_view(Source from) : from_(from) {}
    iterator begin() const { return iterator(from_); }
    iterator end() const { return {}; }

private:
    Source from_{};
};

} // namespace detail

// A range, or why there is none: -ENOSPC | -EINVAL | -ENOMEM.
struct hole_result : result {
    range where{};
    const range& operator*() const { return where; }
    const range* operator->() const { return &where; }
    range value_or(range other) const { return error == 0 ? where : other; }
};

// Owns one allocation of a Pool; empty if the allocation failed, see error().
template <class Pool>
class allocation_of {
public:
    allocation_of() = default;
    allocation_of(allocation_of&& other) noexcept
        : from_(std::exchange(other.from_, nullptr)), got_(other.got_) {}
    allocation_of& operator=(allocation_of&& other) noexcept {
        std::swap(from_, other.from_);
        std::swap(got_, other.got_);
        return *this;
    }
    ~allocation_of() {
        if (from_)
            from_->free(got_.where);
    }

    explicit operator bool() const { return from_ != nullptr; }
    int error() const { return from_ ? 0 : got_.error; }
    const range& operator*() const { return got_.where; }
    const range* operator->() const { return &got_.where; }
    // Gives up ownership: the caller frees the range.
    range release() {
        from_ = nullptr;
        return got_.where;
    }

private:
    friend Pool;
    allocation_of(Pool* from, hole_result got) : from_(got ? from : nullptr), got_(got) {}
    Pool* from_ = nullptr;
    hole_result got_{{-ENOENT}, {}};
};

class range_allocator {
    using map = range_map<std::uint64_t>;

public:
    using value_type = entry<std::uint64_t>; // the range and its cookie
    using iterator = map::iterator;
    using const_iterator = iterator;
    using allocation = allocation_of<range_allocator>;
    struct hole_source {
        const range_allocator* of = nullptr;

        range at(std::uint64_t key) const {
            if (!of || !*of || key > of->last_ || of->first_ > of->last_)
                return {};
            key = std::max(key, of->first_);
            for (;;) {
                auto item = of->map_.ceiling(key);
                if (!item || item->where.key > key) {
                    std::uint64_t end = item ? item->where.key - 1 : of->last_;
                    return range::sized(key, end - key + 1);
                }
                if (item->where.last() >= of->last_)
                    return {};
                key = item->where.last() + 1;
            }
        }
    };
    using hole_view = detail::run_view<hole_source>;

    // The space [first, end); end 0 is 2^64. In an empty space every allocation fails.
    range_allocator(std::uint64_t first, std::uint64_t end, const config& how = default_config())
        : map_(with_holes(how)), first_(first), last_(end - 1) {}

    explicit operator bool() const { return static_cast<bool>(map_); }
    lath_index* native() const { return map_.native(); }

    // Finds room without allocating it; another thread may take it at once.
    hole_result find(const hole_request& want) const { return ask(want, lath_index_find_hole); }
    // Find room and take it.
    hole_result allocate(const hole_request& want, std::uint64_t cookie = 0) {
        return ask(want, lath_index_insert_hole, cookie);
    }
    hole_result allocate(std::uint64_t size, std::uint64_t align = 1) {
        return allocate(hole_request{.size = size, .align = align});
    }
    // As allocate(); the returned owner frees it when it is destroyed.
    allocation hold(const hole_request& want, std::uint64_t cookie = 0) {
        return {this, allocate(want, cookie)};
    }

    // Frees one allocation or a part of it: 0 | -ENOENT, where is not a part of one allocation
    // | -ENOMEM, a part in the middle (nothing changed). What stays keeps its cookie.
    result free(range where) {
        for (;;) {
            auto there = where.size ? map_.find_entry(where.key) : std::nullopt;
            if (!there)
                return {-ENOENT};
            const lath_item part{where.key, where.size, there->value};
            int error = lath_index_erase_part(native(), &part, nullptr);
            if (error != -EAGAIN) // another allocation there since
                return {error == -EINVAL ? -ENOENT : error};
        }
    }

    // Allocates this range: 0 | -EEXIST: a part of it is taken | -EINVAL: not in the space |
    // -ENOMEM
    result reserve(range where, std::uint64_t cookie = 0) {
        if (where.size == 0 || where.key < first_ || where.key > last_ ||
            where.size - 1 > last_ - where.key)
            return {-EINVAL};
        return map_.insert(where, cookie);
    }

    // Returns the allocation that contains this address.
    std::optional<value_type> owner(std::uint64_t address) const {
        return map_.find_entry(address);
    }
    // The allocated and reserved ranges, in order; iterators as those of range_map.
    iterator begin() const { return map_.begin(); }
    iterator end() const { return map_.end(); }
    std::uint64_t size() const { return map_.size(); }
    bool empty() const { return map_.empty(); }
    // The free ranges, in order.
    hole_view holes() const { return hole_view({this}); }
    // max_leaves: the most leaves to sample for the histogram; 0: all.
    hole_stats stats(std::uint64_t max_leaves = 0) const {
        hole_stats s{};
        if (*this && first_ <= last_)
            lath_index_hole_stats(native(), first_, last_ + 1, max_leaves, &s);
        return s;
    }

    void clear() { map_.clear(); }

private:
    static config with_holes(config how) {
        how.flags |= LATH_HOLES;
        return how;
    }
    hole_result ask(const hole_request& want, auto call, auto... cookie) const {
        lath_hole_request in = detail::to_c(want);
        in.low = std::max(want.low, first_);
        in.high = want.high && want.high - 1 < last_ ? want.high : last_ + 1;
        hole_result out{{-ENOMEM}, range::sized(0, want.size)};
        if (!*this)
            return out;
        if (want.size && (in.low > last_ || (in.high && in.low >= in.high)))
            out.error = want.high && want.low >= want.high ? -EINVAL : -ENOSPC;
        else
            out.error = call(native(), &in, cookie..., &out.where.key);
        return out;
    }

    map map_;
    std::uint64_t first_, last_;
};

} // namespace lathwork

#endif // LATHWORK_CXX_HOLE_HPP
