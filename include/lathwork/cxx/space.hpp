// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/space.hpp - space: the allocator of addresses (lathwork/space.h) for C++.
//
//     lathwork::space pool({.low = 4096, .high = 1ull << 40, .unit = 4096});
//     if (auto got = pool.allocate(8192, 8192))
//         use(got->key, got->size);
//     auto buffer = pool.hold({.size = 65536, .below = 1ull << 32}); // freed when it is destroyed
//     for (lathwork::range run : pool.runs())     // what is allocated; free_runs(): what is not
//         show(run.key, run.size);
//
// Threads, costs and meanings as in lathwork/space.h. Construction, destruction, move, load and
// verify exclude all other calls.
//
// Errors: calls return 0 or a negative errno, and throw nothing. A space that got no memory, or
// that was moved from, converts to false and returns -ENOMEM.
#ifndef LATHWORK_CXX_SPACE_HPP
#define LATHWORK_CXX_SPACE_HPP

#include "lathwork/cxx/detail/container.hpp"
#include "lathwork/space.h"

#include <istream>
#include <memory>
#include <ostream>
#include <string>

namespace lathwork {

// The fields of lath_space_config by name.
struct space_options {
    std::uint64_t low = 0, high = 0; // addresses of [low, high); high 0 is 2^64
    std::uint64_t unit = 1; // a power of two; all ranges are multiples of it
    std::uint64_t below = 0; // prefer addresses below this one; 0: no
    bool arenas = true; // false: every range is an item of the index
    bool magazines = true; // false: frees take effect at once, and wrong ones are refused
    bool owners = false; // owner() works for every range
    bool spread = false; // try segments with more free addresses first
    bool fill = false; // large ranges fill one segment after the other
    const lath_rcu* rcu = nullptr;
    const lath_allocator* allocator = nullptr;
};

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

// A range, or why there is none: -ENOSPC | -EINVAL | -ENOMEM.
struct hole_result : result {
    range where{};
    const range& operator*() const { return where; }
    const range* operator->() const { return &where; }
};

// The runs of a space. Each is read when an iterator reaches it. A run of all 2^64 addresses has
// size 0, which no view shows.
class run_view : public std::ranges::view_interface<run_view> {
    using next_run = int (*)(lath_space*, std::uint64_t, lath_item*);

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
                detail::step_beyond_the_end();
            const std::uint64_t next = run_.end();
            run_ = next ? at(next) : range{};
            return *this;
        }
        iterator operator++(int) { return detail::step_after(*this); }
        friend bool operator==(const iterator& a, const iterator& b) { return a.run_ == b.run_; }
        // Whether a shows a run before that of b; the one of b may have changed.
        friend bool operator<(const iterator& a, const iterator& b) {
            return a.run_.size && (!b.run_.size || a.run_.key < b.run_.key);
        }

    private:
        friend run_view;
        iterator(lath_space* of, next_run next) : of_(of), next_(next), run_(at(0)) {}
        range at(std::uint64_t key) const {
            lath_item run;
            return of_ && next_(of_, key, &run) == 0 ? range::sized(run.key, run.size) : range{};
        }
        lath_space* of_ = nullptr;
        next_run next_ = nullptr;
        range run_{}; // of size 0: the end
    };

    run_view() = default;
    run_view(lath_space* of, next_run next) : of_(of), next_(next) {}
    iterator begin() const { return {of_, next_}; }
    iterator end() const { return {}; }

private:
    lath_space* of_ = nullptr;
    next_run next_ = nullptr;
};

class space {
public:
    using stats_type = lath_space_stats;
    using run_view = lathwork::run_view;
    // Owns one allocation; empty if there is none, see error().
    class allocation {
    public:
        allocation() = default;
        allocation(allocation&& other) noexcept
            : from_(std::exchange(other.from_, nullptr)), got_(other.got_) {}
        allocation& operator=(allocation&& other) noexcept {
            std::swap(from_, other.from_);
            std::swap(got_, other.got_);
            return *this;
        }
        ~allocation() {
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
        friend space;
        allocation(space* from, hole_result got) : from_(got ? from : nullptr), got_(got) {}
        space* from_ = nullptr;
        hole_result got_{{-ENOENT}, {}};
    };

    explicit space(const space_options& how) {
        lath_space_config in = LATH_SPACE_CONFIG_INIT;
        in.low = how.low;
        in.high = how.high;
        in.unit = how.unit;
        in.below = how.below;
        auto flag = [&](bool wanted, unsigned int bit) { in.flags |= wanted ? bit : 0; };
        flag(!how.arenas, LATH_SPACE_NO_ARENAS);
        flag(!how.magazines, LATH_SPACE_NO_MAGAZINES);
        flag(how.owners, LATH_SPACE_OWNERS);
        flag(how.spread, LATH_SPACE_SPREAD);
        flag(how.fill, LATH_SPACE_FILL);
        in.rcu = how.rcu;
        in.allocator = how.allocator;
        lath_space* made = nullptr;
        int error = lath_space_create(&made, &in);
        space_.reset(made);
        why_not_ = error ? error : -ENOMEM;
    }

    explicit operator bool() const { return space_ != nullptr; }
    // Why there is no space: 0 | -EINVAL (limits, unit) | -ENOMEM
    int error() const { return space_ ? 0 : why_not_; }
    lath_space* native() const { return space_.get(); }

    // Takes `size` addresses at a multiple of align (0: the unit). Errors: -ENOSPC | -EINVAL |
    // -ENOMEM
    hole_result allocate(std::uint64_t size, std::uint64_t align = 0, std::uint64_t cookie = 0) {
        return take(size, lath_space_alloc, size, align, cookie);
    }
    // With limits, a policy and a hint.
    hole_result allocate(const hole_request& want, std::uint64_t cookie = 0) {
        const lath_hole_request in{.size = want.size,
                                   .align = want.align,
                                   .low = want.low,
                                   .high = want.high,
                                   .below = want.below,
                                   .hint = want.hint,
                                   .policy = static_cast<lath_hole_policy>(want.policy)};
        return take(want.size, lath_space_alloc_request, &in, cookie);
    }
    // As allocate(); the returned owner frees the range when it is destroyed.
    allocation hold(const hole_request& want, std::uint64_t cookie = 0) {
        return {this, allocate(want, cookie)};
    }

    // Takes exactly this range: 0 | -EBUSY (a part is taken) | -EINVAL | -ENOSPC (the segment is
    // drained, or at its limit) | -ENOMEM
    result reserve(range where, std::uint64_t cookie = 0) {
        return {space_ ? lath_space_reserve(native(), where.key, where.size, cookie) : -ENOMEM};
    }
    // Frees, once: a second free of a block may be taken, and give it to two owners (space.h). Of
    // adjacent allocations, or a part of one: 0 | -EINVAL (a part is not allocated) | -ENOMEM
    result free(range where) {
        return {space_ ? lath_space_free(native(), where.key, where.size) : -ENOMEM};
    }
    // The allocation that contains this address, with its cookie.
    std::optional<entry<std::uint64_t>> owner(std::uint64_t address) const {
        lath_item item;
        if (!space_ || lath_space_owner(native(), address, &item) != 0)
            return std::nullopt;
        return entry<std::uint64_t>{range::sized(item.key, item.size), item.value};
    }

    // The allocated and the free runs, in order.
    run_view runs() const { return {native(), lath_space_next}; }
    run_view free_runs() const { return {native(), lath_space_next_free}; }

    // The number of the new segment, or a negative errno: -EEXIST | -ENOSPC | -EINVAL | -ENOMEM. What
    // else is done with segments are C calls on native().
    int add_segment(range where, std::uint64_t limit = 0) {
        return space_ ? lath_space_add_segment(native(), where.key, where.size, limit) : -ENOMEM;
    }

    // Writes what is allocated: 0 | -EIO (the stream failed) | -ENOMEM. Throws what the stream
    // does.
    result save(std::ostream& to) const {
        auto put = [&](const void* data, std::size_t size) {
            to.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
            return to ? 0 : -EIO;
        };
        detail::guarded write(put, -EIO);
        int error = space_ ? lath_space_save(native(), write, &write) : -ENOMEM;
        write.rethrow();
        return {error};
    }
    // Allocates what was saved, in an empty space: 0 | -EBUSY | -EBADMSG | -EINVAL | -EIO |
    // -ENOMEM. why: a sentence on what is wrong.
    result load(std::istream& from, std::uint64_t cookie = 0, std::string* why = nullptr) {
        auto get = [&](void* data, std::size_t size) -> std::int64_t {
            from.read(static_cast<char*>(data), static_cast<std::streamsize>(size));
            return from.bad() ? -EIO : from.gcount();
        };
        detail::guarded read(get, -EIO);
        char report[200] = "";
        int error = space_ ? lath_space_load(native(), read, &read, cookie, report, sizeof report)
                           : -ENOMEM;
        read.rethrow();
        if (why)
            *why = report;
        return {error};
    }

    stats_type stats() const {
        stats_type s{};
        if (space_)
            lath_space_get_stats(native(), &s);
        return s;
    }
    // 0, or the number of a broken rule.
    int verify() const { return space_ ? lath_space_verify(native(), nullptr, 0) : 0; }

private:
    hole_result take(std::uint64_t size, auto call, auto... args) {
        hole_result out{{-ENOMEM}, range::sized(0, size)};
        if (space_)
            out.error = call(native(), args..., &out.where.key);
        return out;
    }

    struct end {
        void operator()(lath_space* gone) const {
            detail::uncancelled here;
            lath_space_destroy(gone);
        }
    };
    std::unique_ptr<lath_space, end> space_;
    int why_not_;
};

} // namespace lathwork

#endif // LATHWORK_CXX_SPACE_HPP
