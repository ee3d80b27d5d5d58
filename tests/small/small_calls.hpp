// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// small_calls.hpp - a small container (lathwork/small.h) described once (base/calls.hpp): the calls
// of all containers of ranges, and its own. Limits change on the way, so that it is a block, an
// index of single nodes or one of chunks.
#pragma once

#include "index/ranges_calls.hpp"

#include "lathwork/small.h"

#include <cstdlib>

namespace calls {

struct small_api {
#define SMALL_CALL(name) static constexpr auto name = lath_small_##name;
    SMALL_CALL(insert_item)
    SMALL_CALL(erase_item)
    SMALL_CALL(replace_item)
    SMALL_CALL(resize)
    SMALL_CALL(split)
    SMALL_CALL(get)
    SMALL_CALL(lookup_item)
    SMALL_CALL(ceiling_item)
    SMALL_CALL(get_batch)
    SMALL_CALL(count_range)
    SMALL_CALL(select)
    SMALL_CALL(count)
    SMALL_CALL(find_hole)
    SMALL_CALL(insert_hole)
    SMALL_CALL(hole_stats)
#undef SMALL_CALL
};

class small_calls {
public:
    using model = ranges;
    using domain = range_setup;
    using call = range_call;

    struct setup : range_setup {
        unsigned limit = 0;
        word each = 0;
        bool blocks = false; // memory of the caller's for the blocks alone

        setup() = default;
        explicit setup(source& from) {
            const unsigned what = from.byte();
            ranks = what % 3 == 0;
            points = what % 3 == 1 || (ranks && what / 3 % 2);
            holes = what % 3 == 2;
            const unsigned at = from.below(std::size(domains));
            keys = domains[at];
            edge = at == domain_of_edges ? 75 : 2;
            limit = from.one_in(2) ? LATH_SMALL_MOST : from.below(LATH_SMALL_MOST + 1);
            each = from.byte();
            blocks = from.one_in(4);
            memory = from.one_in(2);
            scan = batch = 40;
            any_width = true;
        }
    };

    static const std::vector<described<small_calls>> kinds;

    small_calls(const setup& how, const host& where) : below_(where.allocator) {
        kind_.limit = how.limit;
        kind_.each = how.each;
        kind_.index.layout = how.points ? LATH_POINTS : LATH_RANGES;
        kind_.index.flags = (how.ranks ? LATH_RANKS : 0) | (how.holes ? LATH_HOLES : 0);
        memory_ = {alloc, free, this};
        (how.blocks ? kind_.blocks : kind_.index.allocator) = &memory_;
        failed_ = lath_small_init(&set_, &kind_);
    }
    small_calls(const small_calls&) = delete;
    small_calls& operator=(const small_calls&) = delete;

    bool failed() const { return failed_ || held_; }
    lath_small* set() { return &set_; }
    void see(const call&) const {}

    std::string verify(bool) {
        char report[200] = "";
        const std::size_t bytes = lath_small_bytes(&set_);
        if (lath_small_verify(&set_, report, sizeof(report)))
            return report;
        if (lath_small_index(&set_))
            return bytes > sizeof(lath_index) && lath_small_value_bytes(&set_) == 8
                       ? ""
                       : "the bytes of an index";
        return bytes == held_ && held_ % 8 == 0 ? "" : "the bytes of a block";
    }
    void contents(model& m) {
        lath_item at{};
        m.items.clear();
        while (!lath_small_ceiling_item(&set_, at.key, &at)) {
            m.items.push_back(at);
            if (oracle_last(&at) == last_key)
                return;
            at.key = oracle_last(&at) + 1;
        }
    }
    bool end(const model* m) {
        std::vector<lath_item> gone;
        lath_small_fini(
            &set_,
            [](void* arg, const lath_item* item) {
                static_cast<std::vector<lath_item>*>(arg)->push_back(*item);
            },
            &gone);
        return gone == m->items && !held_ && !lath_small_bytes(&set_);
    }

    lath_small_kind* of_kind() { return &kind_; }

    // The block and the struct move. Returns the number of blocks.
    unsigned move() {
        moved_ = 0;
        lath_small_move(
            &set_,
            [](void* arg, void* block, std::size_t size) {
                auto* it = static_cast<small_calls*>(arg);
                it->moved_++;
                void* to = alloc(it, size, 8);
                if (!to)
                    return block;
                std::memcpy(to, block, size);
                std::memset(block, 0xa5, size);
                free(it, block, size);
                return to;
            },
            this);
        const lath_small elsewhere = set_;
        std::memset(&set_, 0x55, sizeof(set_));
        set_ = elsewhere;
        return moved_;
    }

private:
    static void* alloc(void* arg, std::size_t size, std::size_t align) {
        auto* it = static_cast<small_calls*>(arg);
        void* block = it->below_ ? it->below_->alloc(it->below_->ctx, size, align)
                                 : std::aligned_alloc(64, (size + 63) / 64 * 64);
        if (block) // reclamation frees in its own thread
            __atomic_fetch_add(&it->held_, size, __ATOMIC_RELAXED);
        return block;
    }
    static void free(void* arg, void* block, std::size_t size) {
        auto* it = static_cast<small_calls*>(arg);
        __atomic_fetch_sub(&it->held_, size, __ATOMIC_RELAXED);
        it->below_ ? it->below_->free(it->below_->ctx, block, size) : std::free(block);
    }

    const lath_allocator* below_;
    lath_allocator memory_{};
    lath_small_kind kind_ = LATH_SMALL_KIND_INIT;
    lath_small set_{};
    std::size_t held_ = 0;
    unsigned moved_ = 0;
    int failed_ = 0;
};

// In a block a new value or a larger size may need memory, and nothing else does.
inline void small_replace(small_calls& it, range_call& c) {
    const bool fits = c.value >> 8 * (lath_small_value_bytes(it.set()) % 8) == 0 ||
                      lath_small_value_bytes(it.set()) == 8;
    c.ret = lath_small_replace_item(it.set(), c.key, c.value, c.old());
    if (c.ret == -ENOMEM && (fits || lath_small_index(it.set())))
        c.ret = -EFAULT;
}

inline void small_resize(small_calls& it, range_call& c) {
    lath_item there{};
    const bool grows = !lath_small_lookup_item(it.set(), c.key, &there) && c.size > there.size;
    c.ret = lath_small_resize(it.set(), c.key, c.size);
    if (c.ret == -ENOMEM && !grows)
        c.ret = -EFAULT;
}

// A scan has keys and values, or goes back.
inline void small_scan(small_calls& it, range_call& c) {
    std::vector<lath_item> items(c.size + 1);
    std::vector<word> keys(c.size + 1), values(c.size + 1);
    c.next = 1;
    c.how = c.how % 2 ? 3 : 1;
    if (c.how == 3) {
        const std::size_t n =
            lath_small_scan_back(it.set(), c.key, c.other, items.data(), c.size, &c.next);
        c.items.assign(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(n));
        return;
    }
    const std::size_t n = lath_small_scan_values(it.set(), c.key, c.other, keys.data(),
                                                 values.data(), c.size, &c.next);
    for (std::size_t i = 0; i < n; i++)
        c.items.push_back({keys[i], 0, values[i]});
}

inline std::vector<described<small_calls>> small_kinds() {
    using C = small_calls;
    auto all = range_changes<C, small_api>();
    for (const auto& part :
         {range_looks<C, small_api>(), range_counts<C, small_api>(), range_holes<C, small_api>()})
        all.insert(all.end(), part.begin(), part.end());
    // clang-format off
    all.insert(all.end(), {
        {"scan_values, scan_back", 14, effect::apart, {}, nullptr, draw_scan, small_scan,
         scan_agrees},
        {"set_limit", 3, effect::alone, {EINVAL}, nullptr, draw_key,
         [](C& it, range_call& c) { c.ret = lath_small_set_limit(it.of_kind(), c.how % 80); },
         [](ranges&, const range_call& c) {
             return c.ret == (c.how % 80 > LATH_SMALL_MOST ? -EINVAL : 0);
         }},
        {"move, index, bytes, value_bytes, verify", 5, effect::alone, {}, nullptr, nullptr,
         [](C& it, range_call& c) {
             c.other = !lath_small_index(it.set());
             c.ret = it.move();
         },
         [](ranges& m, const range_call& c) { return c.ret == (c.other && !m.items.empty()); }},
    });
    // clang-format on
    for (auto& kind : all)
        if (kind.name == std::string_view("replace_item"))
            kind.make = small_replace, kind.errors.push_back(ENOMEM);
        else if (kind.name == std::string_view("resize"))
            kind.make = small_resize;
    return all;
}

inline const std::vector<described<small_calls>> small_calls::kinds = small_kinds();

} // namespace calls
