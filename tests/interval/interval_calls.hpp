// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// interval_calls.hpp - a set of intervals (lathwork/interval.h) described once (base/calls.hpp).
// The model is a sorted array of them; the order in which a search shows them is the set's own.
#pragma once

#include "base/calls.hpp"

#include "lathwork/interval.h"

#include <array>
#include <cstdlib>
#include <string>
#include <tuple>

inline bool operator==(const lath_interval& a, const lath_interval& b) {
    return a.first == b.first && a.end == b.end && a.value == b.value;
}
inline bool operator<(const lath_interval& a, const lath_interval& b) {
    return std::tie(a.first, a.end, a.value) < std::tie(b.first, b.end, b.value);
}

namespace calls {

struct intervals {
    std::vector<lath_interval> items;

    bool operator==(const intervals&) const = default;
    std::size_t hash() const {
        word h = items.size();
        for (const lath_interval& it : items)
            h = (h ^ it.first ^ it.value << 40) * 0x9e3779b97f4a7c15u;
        return h ^ h >> 29;
    }
    void insert(const lath_interval& it) {
        items.insert(std::upper_bound(items.begin(), items.end(), it), it);
    }
    bool erase(const lath_interval& it) {
        const auto at = std::lower_bound(items.begin(), items.end(), it);
        if (at == items.end() || !(*at == it))
            return false;
        items.erase(at);
        return true;
    }
    bool has(const lath_interval& it) const {
        return std::binary_search(items.begin(), items.end(), it);
    }
};

enum how_to_search { stab, overlap, within, all };

struct interval_setup : any_setup {
    bool closed = false;
    lath_config config = LATH_CONFIG_INIT;
    word low = 0, unit = 1, units = 64; // the first keys
    // Those that calls have had; together: all that there are, each at most once in the set.
    std::vector<lath_interval> known;
    unsigned inserted = 0; // together: which of them are, or shall be

    interval_setup() = default;
    explicit interval_setup(source& from) {
        static constexpr word domains[][3] = {{0, 1, 64},
                                              {0, 1, 2000},
                                              {~word{0} - 999, 1, 1000},
                                              {4096, 4096, 500},
                                              {0, 1ull << 54, 1024}};
        const unsigned what = from.byte();
        closed = what % 2;
        memory = what / 2 % 2;
        config.flags = what / 4 % 2 ? LATH_NODE_EACH : 0;
        config.flags |= what / 8 % 4 == 1 ? LATH_SMALL_PAGES : 0;
        config.flags |= what / 32 % 2 ? LATH_RANKS : 0;
        const auto& domain = from.pick(domains);
        low = domain[0], unit = domain[1], units = domain[2];
    }
    // A few intervals, few of which differ in their first key, so that several of one class of
    // lengths begin there and some are in lists.
    void share(source& from) {
        static constexpr word firsts[] = {100, 0, 101, 130, 5000, UINT64_MAX - 1};
        static constexpr word longer[] = {0, 1, 2, 20, 40, 5000, UINT64_MAX / 2};
        closed = together = true;
        config.flags = (from.one_in(2) ? LATH_NODE_EACH : 0) | (from.one_in(2) ? LATH_RANKS : 0);
        const unsigned keys = 1 + from.below(4), lengths = 1 + from.below(7);
        for (word i = 1, n = 3 + from.below(10); i <= n; i++) {
            const word first = firsts[from.below(keys) + from.below(3)],
                       more = longer[from.below(lengths)];
            known.push_back({first, first + std::min(more, last_key - first), i});
        }
    }

    static constexpr word last_key = ~word{0};
    word key(source& from) { return low + from.below(static_cast<unsigned>(units)) * unit; }
    // Lengths of every class; a few empty ones.
    lath_interval fresh(source& from) {
        const word first = key(from), n = from.byte();
        word span = n < 150 ? n % 8 * unit : n < 254 ? (word{1} << n % 63) + from.byte() : last_key;
        span = std::min(span, last_key - first);
        lath_interval it{first, first + span + !closed, from.below(4)};
        if (n == 253) // empty, unless it begins at 0
            it.end = first - closed;
        if (known.size() < 4096)
            known.push_back(it);
        return it;
    }
    lath_interval old(source& from) {
        return known.empty() ? fresh(from) : known[from.below(static_cast<unsigned>(known.size()))];
    }
};

struct interval_call {
    interval_call() = default;
    explicit interval_call(const interval_setup& setup) : of(&setup) {}

    const interval_setup* of = nullptr;
    unsigned kind = 0, how = 0;
    lath_interval arg{};
    word most = 0;
    std::vector<lath_interval> batch;
    std::int64_t ret = 0;
    std::vector<lath_interval> items; // what a search shows
    std::vector<std::int64_t> rets;
    word called = 0, returned = 0;

    word last(const lath_interval& it) const { return of->closed ? it.end : it.end - 1; }
    bool empty(const lath_interval& it) const { return last(it) < it.first; }
    bool matches(const lath_interval& it) const {
        if (how % 4 == all)
            return true;
        if (how % 4 == stab)
            return it.first <= arg.first && arg.first <= last(it);
        if (empty(arg))
            return false;
        return how % 4 == overlap ? it.first <= last(arg) && arg.first <= last(it)
                                  : arg.first <= it.first && last(it) <= last(arg);
    }
};

inline void print(std::FILE* out, const interval_call& c) {
    auto show = [](word n) { return static_cast<unsigned long long>(n); };
    std::fprintf(out, " [%llu, %llu]=%llu how %u most %llu: %lld, %zu items [%llu, %llu]\n",
                 show(c.arg.first), show(c.arg.end), show(c.arg.value), c.how, show(c.most),
                 static_cast<long long>(c.ret), c.items.size(), show(c.called), show(c.returned));
}
inline void print(std::FILE* out, const interval_setup& s) {
    std::fprintf(out, "  %s, first keys from %llu on, %llu times %llu\n",
                 s.closed ? "closed" : "half open", static_cast<unsigned long long>(s.low),
                 static_cast<unsigned long long>(s.units), static_cast<unsigned long long>(s.unit));
}

class interval_calls : public placed<lath_intervals> {
public:
    using model = intervals;
    using domain = interval_setup;
    using setup = interval_setup;
    using call = interval_call;

    static const std::vector<described<interval_calls>> kinds;

    interval_calls(const setup& how, const host& where) : placed(where) {
        lath_config config = how.config;
        config.allocator = where.allocator;
        place([&](lath_intervals* at) {
            return lath_intervals_init(at, how.closed ? LATH_CLOSED : LATH_HALF_OPEN, &config);
        });
    }

    std::string verify(bool) {
        char report[200] = "";
        return lath_intervals_verify(set_, report, sizeof(report)) ? report : "";
    }
    void contents(model& m) {
        lath_interval_iter iter;
        lath_interval found;
        m.items.clear();
        lath_interval_iter_all(&iter, set_);
        while (lath_interval_next(&iter, &found))
            m.items.push_back(found);
        std::sort(m.items.begin(), m.items.end());
    }
    bool end(const model* m) {
        std::vector<lath_interval> gone;
        lath_intervals_fini(set_, note<lath_interval>, &gone);
        leave(set_);
        std::sort(gone.begin(), gone.end());
        return !m || gone == m->items;
    }
    static void draw_loaded(setup& s, source& from, std::vector<call>& loaded) {
        for (unsigned i = 0; i < s.known.size(); i++)
            if (from.one_in(2)) {
                call c(s);
                c.kind = kind_of<interval_calls>("insert");
                c.arg = s.known[i];
                s.inserted |= 1u << i;
                loaded.push_back(c);
            }
    }
    static unsigned most_steps(const setup& s, const call& c) {
        return kinds[c.kind].effect == effect::apart ? 2 + static_cast<unsigned>(s.known.size())
                                                     : 1;
    }
};

// ---- arguments ----

// Of those that threads share each is inserted once.
inline void draw_insert(interval_setup& s, source& from, interval_call& c) {
    if (!s.together) {
        c.arg = s.fresh(from);
        return;
    }
    unsigned i = from.below(static_cast<unsigned>(s.known.size()));
    for (unsigned n = 0; s.inserted >> i & 1 && n < s.known.size(); n++)
        i = (i + 1) % static_cast<unsigned>(s.known.size());
    c.kind = s.inserted >> i & 1 ? kind_of<interval_calls>("again") : c.kind;
    s.inserted |= 1u << i;
    c.arg = s.known[i];
}
inline void draw_old(interval_setup& s, source& from, interval_call& c) {
    c.arg = s.together || from.below(8) ? s.old(from) : s.fresh(from);
}
inline void draw_search(interval_setup& s, source& from, interval_call& c) {
    c.arg = s.together || from.one_in(4) ? s.old(from) : s.fresh(from);
    c.how = from.byte();
    c.most = s.together || c.how % 16 < 8 ? 4096 : from.below(24);
}

// ---- the calls ----

// By the calls that fill an array, or (how / 4 % 2) an iterator, in pieces.
inline void search(interval_calls& it, interval_call& c) {
    lath_interval_iter iter;
    std::vector<lath_interval> found(c.most + 24);
    const unsigned how = c.how % 4;
    std::size_t n = 0, got = 1;
    if (how != all && c.how / 4 % 2 == 0) {
        n = how == stab ? lath_intervals_stab(it.set(), c.arg.first, found.data(), c.most)
            : how == overlap
                ? lath_intervals_overlap(it.set(), c.arg.first, c.arg.end, found.data(), c.most)
                : lath_intervals_within(it.set(), c.arg.first, c.arg.end, found.data(), c.most);
    } else {
        how == stab      ? lath_interval_iter_stab(&iter, it.set(), c.arg.first)
        : how == overlap ? lath_interval_iter_overlap(&iter, it.set(), c.arg.first, c.arg.end)
        : how == within  ? lath_interval_iter_within(&iter, it.set(), c.arg.first, c.arg.end)
                         : lath_interval_iter_all(&iter, it.set());
        for (word piece = c.how; got && n < c.most; piece = (piece * 7 + 5) % 24) {
            const word most = std::min(piece, c.most - n);
            got = most ? lath_interval_next_batch(&iter, &found[n], most)
                       : static_cast<std::size_t>(lath_interval_next(&iter, &found[n]));
            n += got;
        }
    }
    c.items.assign(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(n));
    std::sort(c.items.begin(), c.items.end());
}

inline bool search_agrees(intervals& m, const interval_call& c) {
    std::vector<lath_interval> want;
    for (const lath_interval& it : m.items)
        if (c.matches(it))
            want.push_back(it);
    if (c.items.size() != std::min<word>(want.size(), c.most))
        return false;
    return std::includes(want.begin(), want.end(), c.items.begin(), c.items.end());
}

// Each interval that matches was there at some moment, or away; who is shown twice was away too.
inline void search_steps(const interval_call& c, std::vector<interval_call>& steps) {
    for (const lath_interval& it : c.of->known) {
        const auto times = std::count(c.items.begin(), c.items.end(), it);
        interval_call step(*c.of);
        step.kind = kind_of<interval_calls>("shows");
        step.arg = it;
        step.ret = times && !c.matches(it) ? 2 : times != 0;
        if (step.ret || c.matches(it))
            steps.push_back(step);
        step.ret = 0;
        if (times > 1)
            steps.push_back(step);
    }
}

// How far the point is from it, doubled; one more: it is behind the point.
inline word distance(const interval_call& c, const lath_interval& it) {
    if (it.first > c.arg.first)
        return it.first - c.arg.first;
    return c.last(it) < c.arg.first ? c.arg.first - c.last(it) : 0;
}

inline bool nearest_agrees(intervals& m, const interval_call& c) {
    if (m.items.empty())
        return c.ret == -ENOENT;
    auto rank = [&](const lath_interval& it) {
        return std::pair(distance(c, it), it.first > c.arg.first);
    };
    const auto best = std::min_element(
        m.items.begin(), m.items.end(),
        [&](const lath_interval& a, const lath_interval& b) { return rank(a) < rank(b); });
    return !c.ret && m.has(c.items[0]) && rank(c.items[0]) == rank(*best);
}

// Several with one first key: most go into a list.
inline void insert_many(interval_calls& it, interval_call& c) {
    lath_interval one = c.arg;
    for (unsigned n = c.how % 32; n; n--, one.value++) {
        if (n % 4 == 0 && !c.empty(one) && c.last(one) < interval_setup::last_key)
            one.end++;
        c.batch.push_back(one);
        c.rets.push_back(lath_intervals_insert(it.set(), &one));
    }
}

inline interval_call step_of(const interval_call& c, const char* kind, const lath_interval& it,
                             std::int64_t ret) {
    interval_call step(*c.of);
    step.kind = kind_of<interval_calls>(kind);
    step.arg = it;
    step.ret = ret;
    return step;
}

// clang-format off
inline const std::vector<described<interval_calls>> interval_calls::kinds = {
    {"insert", 90, effect::once, {EINVAL, ENOMEM}, nullptr, draw_insert,
     [](interval_calls& it, interval_call& c) { c.ret = lath_intervals_insert(it.set(), &c.arg); },
     [](intervals& m, const interval_call& c) {
         if (!c.empty(c.arg))
             m.insert(c.arg);
         return c.ret == (c.empty(c.arg) ? -EINVAL : 0);
     }},
    {"insert, insert", 10, effect::alone, {}, nullptr,
     [](interval_setup& s, source& from, interval_call& c) {
         c.arg = s.fresh(from);
         c.how = from.byte();
     }, insert_many, nullptr,
     [](const interval_call& c, std::vector<interval_call>& steps) {
         for (std::size_t i = 0; i < c.batch.size(); i++)
             steps.push_back(step_of(c, "insert", c.batch[i], c.rets[i]));
     }},
    {"erase", 70, effect::once, {ENOENT}, nullptr, draw_old,
     [](interval_calls& it, interval_call& c) { c.ret = lath_intervals_erase(it.set(), &c.arg); },
     [](intervals& m, const interval_call& c) { return c.ret == (m.erase(c.arg) ? 0 : -ENOENT); }},
    {"again", 0, effect::apart, {}, nullptr, nullptr,
     [](interval_calls& it, interval_call& c) {
         c.rets = {lath_intervals_erase(it.set(), &c.arg)};
         if (!c.rets[0])
             c.rets.push_back(lath_intervals_insert(it.set(), &c.arg));
     }, nullptr,
     [](const interval_call& c, std::vector<interval_call>& steps) {
         for (std::size_t i = 0; i < c.rets.size(); i++)
             steps.push_back(step_of(c, i ? "insert" : "erase", c.arg, c.rets[i]));
     }},
    // a look of a search
    {"shows", 0, effect::once, {}, nullptr, nullptr, nullptr,
     [](intervals& m, const interval_call& c) { return c.ret == m.has(c.arg); }},
    {"stab, overlap, within, interval_iter_stab, interval_iter_overlap, interval_iter_within, "
     "interval_iter_all, interval_next, interval_next_batch", 50, effect::apart, {}, nullptr,
     draw_search, search, search_agrees, search_steps},
    {"count_overlap", 8, effect::alone, {}, nullptr, draw_search,
     [](interval_calls& it, interval_call& c) {
         c.how = overlap;
         c.ret = static_cast<std::int64_t>(
             lath_intervals_count_overlap(it.set(), c.arg.first, c.arg.end));
     },
     [](intervals& m, const interval_call& c) {
         return c.ret == std::count_if(m.items.begin(), m.items.end(),
                                       [&](const lath_interval& it) { return c.matches(it); });
     }},
    {"nearest", 20, effect::alone, {ENOENT}, nullptr,
     [](interval_setup& s, source& from, interval_call& c) {
         c.arg.first = s.key(from) + from.byte() % 3 - 1;
     },
     [](interval_calls& it, interval_call& c) {
         c.items.resize(1);
         c.ret = lath_intervals_nearest(it.set(), c.arg.first, c.items.data());
     }, nearest_agrees},
    {"count", 2, effect::alone, {}, nullptr, nullptr,
     [](interval_calls& it, interval_call& c) {
         c.ret = static_cast<std::int64_t>(lath_intervals_count(it.set()));
     },
     [](intervals& m, const interval_call& c) {
         return static_cast<std::size_t>(c.ret) == m.items.size();
     }},
    {"get_stats, verify", 2, effect::alone, {}, nullptr, nullptr,
     [](interval_calls& it, interval_call& c) {
         lath_intervals_stats stats;
         lath_intervals_get_stats(it.set(), &stats);
         c.ret = static_cast<std::int64_t>(stats.items);
         c.most = stats.bytes >= sizeof(lath_intervals) && stats.listed >= stats.lists;
     },
     [](intervals& m, const interval_call& c) {
         return static_cast<std::size_t>(c.ret) == m.items.size() && c.most;
     }},
    {"clear", 1, effect::alone, {}, nullptr, nullptr,
     [](interval_calls& it, interval_call& c) {
         c.ret = static_cast<std::int64_t>(
             lath_intervals_clear(it.set(), interval_calls::note<lath_interval>, &c.items));
         std::sort(c.items.begin(), c.items.end());
     },
     [](intervals& m, const interval_call& c) {
         const bool right = c.items == m.items && static_cast<std::size_t>(c.ret) == m.items.size();
         m.items.clear();
         return right;
     }},
};
// clang-format on

} // namespace calls
