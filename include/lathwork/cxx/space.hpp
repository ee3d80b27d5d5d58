// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/space.hpp - space: the allocator of addresses (lathwork/space.h) for C++.
//
//     lathwork::space pool({.low = 4096, .high = 1ull << 40, .unit = 4096});
//     if (auto got = pool.allocate(8192, 8192))
//         use(got->key, got->size);
//     auto buffer = pool.hold(65536);             // freed when it is destroyed
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

#include "lathwork/cxx/hole.hpp"
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

class space {
public:
    using stats_type = lath_space_stats;
    using allocation = allocation_of<space>;
    struct run_source {
        lath_space* of = nullptr;
        int (*next)(lath_space*, std::uint64_t, lath_item*) = nullptr;

        range at(std::uint64_t key) const {
            lath_item run;
            return of && next(of, key, &run) == 0 ? range::sized(run.key, run.size) : range{};
        }
    };
    using run_view = detail::run_view<run_source>;

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
    // As allocate(), from the segments whose bits are set alone.
    hole_result allocate_in(std::uint64_t segments, std::uint64_t size, std::uint64_t align = 0,
                            std::uint64_t cookie = 0) {
        return take(size, lath_space_alloc_in, segments, size, align, cookie);
    }
    // As allocate(), below an address (0: 2^64): for devices that do not reach all.
    hole_result allocate_below(std::uint64_t high, std::uint64_t size, std::uint64_t align = 0,
                               std::uint64_t cookie = 0) {
        return take(size, lath_space_alloc_below, high, size, align, cookie);
    }
    // With limits, a policy and a hint.
    hole_result allocate(const hole_request& want, std::uint64_t cookie = 0) {
        lath_hole_request in = detail::to_c(want);
        return take(want.size, lath_space_alloc_request, &in, cookie);
    }
    // As allocate(); the returned owner frees the range when it is destroyed.
    allocation hold(std::uint64_t size, std::uint64_t align = 0) {
        return {this, allocate(size, align)};
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

    // The allocated and the free runs, in order. Each is read when an iterator reaches it. A run of
    // all 2^64 addresses has size 0, which no view shows.
    run_view runs() const { return run_view({native(), lath_space_next}); }
    run_view free_runs() const { return run_view({native(), lath_space_next_free}); }

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
