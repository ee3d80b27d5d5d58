// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// space_calls.hpp - a space (lathwork/space.h) described once (base/calls.hpp). The model is a
// sorted array of what is allocated, with cookies, and the segments. Threads share one without
// arenas.
#pragma once

#include "space_model.hpp"

#include <cstddef>

namespace calls {

class space_calls {
public:
    using model = space_model;
    using domain = space_setup;
    using setup = space_setup;
    using call = space_call;

    static const std::vector<described<space_calls>> kinds;

    space_calls(const setup& how, const host& where) : how_(how), allocator_(where.allocator) {
        lath_space_config config = how.config;
        lath_space_segment first{};
        config.allocator = allocator_;
        if (lath_space_create(&set_, &config))
            set_ = nullptr;
        else if (lath_space_segment_stats(set_, 0, &first) || first.low != config.low ||
                 first.high != config.high || first.keys != keys(first) || first.allocated ||
                 first.limit || first.draining)
            std::abort();
    }

    bool failed() const { return !set_; }
    lath_space* set() { return set_; }
    const lath_allocator* allocator() const { return allocator_; }
    word mark() const { return reinterpret_cast<word>(set_) + 1; }
    static word keys(const lath_space_segment& of) {
        return of.high == of.low ? last_key : of.high - of.low;
    }

    std::string verify(bool) {
        char report[200] = "";
        lath_space_stats stats;
        lath_space_get_stats(set_, &stats);
        if (lath_space_verify(set_, report, sizeof(report)))
            return report;
        return stats.bad_frees && !wrong ? "right frees are counted as bad ones" : "";
    }
    void contents(model& m) {
        read(set_, m);
        m.more = how_.loose();
    }
    static void read(lath_space* set, model& m) {
        lath_space_segment of;
        lath_item run;
        m = model();
        for (unsigned i = 0; i < LATH_SPACE_SEGMENTS; i++)
            if (!lath_space_segment_stats(set, i, &of))
                m.segments[i] = {of.low, of.high - 1, of.limit, of.draining != 0};
        for (word at = 0; !lath_space_next(set, at, &run);) {
            if (run.size)
                m.taken.items.push_back({run.key, run.size, 0});
            else // all 2^64 keys
                m.taken.items = {{0, 1ull << 63, 0}, {1ull << 63, 1ull << 63, 0}};
            at = run.key + run.size;
            if (!at)
                return;
        }
    }
    // Frees all that is held first: then nothing is allocated.
    bool end(const model* m) {
        lath_space_stats stats{};
        int ret = 0;
        for (const lath_item& it : held.items)
            ret = ret ? ret : lath_space_free(set_, it.key, it.size);
        if (m) {
            lath_space_trim(set_);
            lath_space_get_stats(set_, &stats);
        }
        const bool right = how_.memory_ends || (!ret && !stats.allocated && !stats.arenas &&
                                                !stats.ranges && verify(false).empty());
        lath_space_destroy(set_);
        return right || !m;
    }

    static void draw_loaded(setup& s, source& from, std::vector<call>& loaded);
    static unsigned most_steps(const setup& s, const call& c);

    ranges held; // what may be freed; not by threads
    bool wrong = false; // a free was

private:
    const setup& how_;
    const lath_allocator* allocator_;
    lath_space* set_ = nullptr;
};

// ---- arguments ----

inline void draw_alloc(space_setup& s, source& from, space_call& c) {
    const unsigned n = from.byte();
    c.want.size = s.size(from);
    c.want.align = s.align(from);
    c.cookie = ++s.cookies;
    c.marked = !s.together && n == 7;
    c.segments = n % 4 || s.together ? last_key : n / 4;
}
inline void draw_below(space_setup& s, source& from, space_call& c) {
    draw_alloc(s, from, c);
    c.want.high = from.one_in(8) ? 0 : s.key(from);
    c.segments = last_key;
}
inline void draw_request(space_setup& s, source& from, space_call& c) {
    draw_alloc(s, from, c);
    const unsigned n = from.byte();
    c.want.low = s.key(from);
    c.want.high = s.key(from);
    if (n % 64 && c.want.low > c.want.high)
        std::swap(c.want.low, c.want.high);
    if (n % 2)
        c.want.low = 0;
    if (n / 2 % 2)
        c.want.high = 0;
    c.want.policy = static_cast<lath_hole_policy>(n == 255 ? 6 : n / 4 % 6);
    c.want.hint = s.key(from);
    c.want.below = n / 24 % 4 ? 0 : s.key(from);
    if (c.want.policy == LATH_HOLE_EXACT && c.want.align && n % 3)
        c.want.hint &= ~(c.want.align - 1);
    c.segments = last_key;
}
inline void draw_space_key(space_setup& s, source& from, space_call& c) {
    c.how = from.byte();
    c.key = s.key(from);
    c.size = s.size(from);
    c.pick = from.below(65536);
    c.cookie = ++s.cookies;
    c.marked = !s.together && c.how == 200;
}
// A part that no other call frees, as long as there is one.
inline void draw_free(space_setup& s, source& from, space_call& c) {
    draw_space_key(s, from, c);
    if (!s.together)
        return;
    if (s.parts.empty()) {
        c.kind = kind_of<space_calls>("alloc, free");
        draw_alloc(s, from, c);
        return;
    }
    c.key = s.parts.back().key;
    c.size = s.parts.back().size;
    s.parts.pop_back();
}
inline void draw_segment(space_setup& s, source& from, space_call& c) {
    static constexpr unsigned numbers[] = {0, 1, 2, 3, 0, 1, 2, 63, 64, 1u << 31};
    draw_space_key(s, from, c);
    const word limits[] = {0, 0, 1, c.size, c.size * 20, s.config.unit * 4000};
    c.number = s.units ? from.pick(numbers) : 64; // all keys may be allocated
    c.want.size = c.how % 4 ? 0 : from.pick(limits);
    if (c.how % 8 >= 4) // behind the others
        c.key = s.key_at((s.units ? s.units : 1ull << 40) + c.pick) + (c.how % 32 == 31);
}

// ---- what the model says ----

// Is there a place in [low, last] that crosses no boundary of an arena; without arenas: a place?
inline bool has_place(const space_call& c, word align, word low, word last) {
    const word size = c.want.size, block = arena * c.of->config.unit;
    for (unsigned n = 0; n < 40; n++) {
        const word at = (low + (align - 1)) & ~(align - 1);
        if (at < low || at > last || last - at < size - 1)
            return false;
        if (!c.of->arenas() || at / block == (at + (size - 1)) / block)
            return true;
        low = (at / block + 1) * block;
        if (low <= at)
            return false;
    }
    return false;
}
inline bool has_room(const space_model& m, const space_call& c, word align) {
    if (c.of->arenas() && align > arena * c.of->config.unit)
        return false; // arenas do not serve it, and may have all the room there is
    const std::vector<key_run> free = m.runs(false);
    for (const auto& [number, in] : m.segments) {
        if (!(c.segments >> number & 1) || !m.serves(in, c.want.size))
            continue;
        const word low = std::max(in.low, c.want.low), last = std::min(in.last, c.want.high - 1);
        for (const key_run& run : free)
            if (run.first <= last && run.second >= low &&
                has_place(c, align, std::max(run.first, low), std::min(run.second, last)))
                return true;
    }
    return false;
}

// Is the key what the policy says? Without arenas, in one segment.
inline bool is_choice(space_model& m, const space_call& c, word align) {
    const space_segment& in = m.segments.begin()->second;
    lath_hole_request want = c.want;
    if (c.of->arenas() || c.of->together || m.segments.size() > 1 || c.of->config.below ||
        want.below)
        return true;
    want.low = std::max(in.low, want.low);
    want.high = std::min(in.last, want.high - 1) + 1;
    want.align = align;
    oracle now = m.taken.view();
    return oracle_accepts(&now, &want, c.got.key);
}

inline bool alloc_agrees(space_model& m, const space_call& c) {
    const lath_hole_request& want = c.want;
    const word align = std::max(want.align, c.of->config.unit), key = c.got.key,
               last = key + (want.size - 1);
    const bool exact = want.policy == LATH_HOLE_EXACT;
    if (!c.whole(want.low | want.high, want.size) || want.align & (want.align - 1) || c.marked ||
        want.low > want.high - 1 || want.policy > LATH_HOLE_EXACT ||
        (exact &&
         (want.hint & (align - 1) || want.hint < want.low || want.size - 1 > last_key - want.hint ||
          want.hint + (want.size - 1) > want.high - 1)))
        return c.ret == -EINVAL;
    if (c.ret == -ENOSPC) {
        space_call at = c;
        if (exact)
            at.want.low = want.hint, at.want.high = want.hint + want.size;
        return c.of->loose() || c.beside_failed || !has_room(m, at, align);
    }
    const int in = m.number_of(key, last);
    if (c.ret || key & (align - 1) || key < want.low || last < key || last > want.high - 1 ||
        in < 0 || !(c.segments >> in & 1) || !m.taken.is_free(key, want.size) ||
        !m.serves(m.segments[static_cast<unsigned>(in)], want.size))
        return false;
    if (kind_at<space_calls>(c).draw == draw_request && !is_choice(m, c, align))
        return false;
    m.taken.insert({key, want.size, c.cookie});
    return true;
}

inline bool reserve_agrees(space_model& m, const space_call& c) {
    const int in = m.number_of(c.key, c.last());
    if (!c.whole(c.key, c.size) || c.wraps() || c.marked || in < 0)
        return c.ret == -EINVAL;
    if (!m.serves(m.segments[static_cast<unsigned>(in)], c.size))
        return c.ret == -ENOSPC;
    if (!m.taken.is_free(c.key, c.size))
        return c.ret == -EBUSY;
    if (c.ret == -EBUSY)
        return c.of->loose() || c.beside_failed;
    m.taken.insert({c.key, c.size, c.cookie});
    return !c.ret;
}

// A free that fails may have freed a part: c.items.
inline bool free_agrees(space_model& m, const space_call& c) {
    const bool right = c.whole(c.key, c.size) && !c.wraps() && m.number_of(c.key, c.last()) >= 0 &&
                       m.covered(c.key, c.last());
    if (c.ret != (right ? 0 : -EINVAL) && c.ret != -ENOMEM)
        return false;
    if (!c.ret)
        m.taken.cut(c.key, c.last());
    for (const lath_item& gone : c.items)
        m.taken.cut(gone.key, oracle_last(&gone));
    return true;
}
inline bool free_many_agrees(space_model& m, const space_call& c) {
    for (const lath_item& gone : c.items)
        m.taken.cut(gone.key, oracle_last(&gone));
    return !c.ret || c.ret == -ENOMEM;
}

// Of what lies in an arena, which must have owners, a unit or a part is told.
inline bool owner_agrees(space_model& m, const space_call& c) {
    const bool told = !c.of->arenas() || c.of->config.flags & LATH_SPACE_OWNERS;
    const lath_item* there = m.taken.covers(c.key);
    if (!there || c.ret == -ENOENT)
        return c.ret == -ENOENT ? !there || !told : c.of->loose() && !c.ret;
    if (!c.of->arenas())
        return !c.ret && c.got == *there;
    return !c.ret && c.got.value == there->value && c.got.key >= there->key && c.got.key <= c.key &&
           oracle_last(&c.got) >= c.key && oracle_last(&c.got) <= oracle_last(there);
}

inline bool next_agrees(const space_model& m, const space_call& c, bool allocated) {
    const auto all = m.runs(allocated);
    const auto run =
        std::find_if(all.begin(), all.end(), [&](const key_run& it) { return it.second >= c.key; });
    if (run == all.end() || c.of->loose())
        return c.ret == -ENOENT || c.of->loose();
    const word first = std::max(run->first, c.key);
    return !c.ret && c.got == lath_item{first, run->second - first + 1, 0};
}

inline bool add_agrees(space_model& m, const space_call& c) {
    unsigned number = 0;
    bool overlaps = false;
    if (!c.whole(c.key, c.size) || c.wraps())
        return c.ret == -EINVAL;
    for (const auto& [other, it] : m.segments) {
        number += other == number;
        overlaps |= it.low <= c.last() && c.key <= it.last;
    }
    if (overlaps || number == LATH_SPACE_SEGMENTS)
        return (overlaps && c.ret == -EEXIST) ||
               (number == LATH_SPACE_SEGMENTS && c.ret == -ENOSPC);
    m.segments[number] = {c.key, c.last(), c.want.size, false};
    return c.ret == number;
}
inline bool remove_agrees(space_model& m, const space_call& c) {
    const auto there = m.segments.find(c.number);
    if (there == m.segments.end())
        return c.ret == -ENOENT;
    if (!there->second.draining || m.used(there->second) || (c.ret && c.of->loose()))
        return c.ret == -EBUSY;
    m.segments.erase(there);
    return !c.ret;
}
inline bool segment_stats_agree(space_model& m, const space_call& c) {
    const auto there = m.segments.find(c.number);
    const lath_space_segment& is = c.segment;
    if (there == m.segments.end())
        return c.ret == -ENOENT;
    const auto& [low, last, limit, draining] = there->second;
    return !c.ret && is.low == low && is.high == last + 1 && is.limit == limit &&
           is.draining == draining && is.number == c.number && is.keys == space_calls::keys(is) &&
           (is.allocated == m.used(there->second) || c.of->loose());
}
inline bool space_stats_agree(space_model& m, const space_call& c) {
    word used = 0, keys = 0;
    for (const auto& [number, in] : m.segments) {
        used += m.used(in);
        keys += in.last - in.low + 1;
    }
    const bool right = c.stats.allocated == used && (!keys || c.stats.free == keys - used);
    return (right || c.of->loose()) && c.stats.segments == m.segments.size() &&
           c.stats.bytes >= 256 && c.stats.cached + c.stats.arena_free <= c.stats.free;
}

// ---- the calls ----

// Makes an allocation, and holds it.
template <class Call>
void take(space_calls& it, space_call& c, Call call) {
    if (c.marked)
        c.cookie = it.mark();
    c.ret = call(&c.got.key);
    c.got.size = c.want.size;
    if (!c.ret && !c.of->together)
        it.held.insert({c.got.key, c.want.size, c.cookie});
}
inline void alloc(space_calls& it, space_call& c) {
    c.segments = last_key;
    take(it, c, [&](word* key) {
        return lath_space_alloc(it.set(), c.want.size, c.want.align, c.cookie, key);
    });
}
inline void alloc_in(space_calls& it, space_call& c) {
    take(it, c, [&](word* key) {
        return lath_space_alloc_in(it.set(), c.segments, c.want.size, c.want.align, c.cookie, key);
    });
}
inline void alloc_below(space_calls& it, space_call& c) {
    take(it, c, [&](word* key) {
        return lath_space_alloc_below(it.set(), c.want.high, c.want.size, c.want.align, c.cookie,
                                      key);
    });
}
inline void alloc_request(space_calls& it, space_call& c) {
    take(it, c,
         [&](word* key) { return lath_space_alloc_request(it.set(), &c.want, c.cookie, key); });
}

// A key of what is held, or one beside it, most of the time.
inline void aim(space_calls& it, space_call& c) {
    if (c.of->together || c.how % 4 == 0 || it.held.items.empty())
        return;
    const lath_item& there = it.held.items[c.pick % it.held.items.size()];
    c.key = c.how % 8 == 1   ? oracle_last(&there) + 1
            : c.how % 8 == 2 ? there.key - c.size
                             : there.key + c.how / 8 * c.of->config.unit % there.size;
}
inline void reserve(space_calls& it, space_call& c) {
    aim(it, c);
    if (c.marked)
        c.cookie = it.mark();
    c.ret = lath_space_reserve(it.set(), c.key, c.size, c.cookie);
    if (!c.ret && !c.of->together)
        it.held.insert({c.key, c.size, c.cookie});
}

// What is held, as a whole, in part or with what follows it; or any range. With magazines a wrong
// free may be noticed later, and others have the keys then; a free of keys in two segments is not
// described: these two free nothing.
inline void choose_free(space_calls& it, space_call& c) {
    const word unit = c.of->config.unit;
    if (c.how % 32 && !it.held.items.empty()) {
        const std::size_t i = c.pick % it.held.items.size();
        const word last = oracle_last(&it.held.items[i]);
        const word more = c.size;
        c.key = it.held.items[i].key, c.size = it.held.items[i].size;
        if (c.how % 32 < 3 && i + 1 < it.held.items.size()) {
            c.size = oracle_last(&it.held.items[i + 1]) - c.key + 1;
        } else if (c.how % 32 == 3) {
            c.size += more;
        } else if (c.how % 32 < 10) {
            c.key += c.how / 32 * unit % c.size;
            c.size = std::min<word>(last - c.key + 1, unit * (1 + c.pick / 256 % 40));
        }
    }
    if (!c.whole(c.key, c.size) || c.wraps())
        return;
    space_model now;
    now.taken = it.held;
    const bool covered = now.covered(c.key, c.last());
    if (covered
            ? lath_space_segment_of(it.set(), c.key) != lath_space_segment_of(it.set(), c.last())
            : c.of->magazines())
        c.size = 0;
    it.wrong |= !covered;
}
// The parts of a range that a free has freed although it failed.
inline void note_freed(space_calls& it, space_call& c) {
    lath_item run;
    if (!c.whole(c.key, c.size) || c.wraps())
        return;
    for (word at = c.key; !lath_space_next_free(it.set(), at, &run) && run.key <= c.last();) {
        const word last = std::min(oracle_last(&run), c.last());
        c.items.push_back({run.key, last - run.key + 1, 0});
        it.held.cut(run.key, last);
        at = last + 1;
        if (last == c.last())
            return;
    }
}
// Those of the blocks that threads share: each has its own cookie.
inline void note_freed_blocks(space_calls& it, space_call& c) {
    for (const lath_item& block : c.of->blocks) {
        const word first = std::max(block.key, c.key),
                   last = std::min(oracle_last(&block), c.last());
        lath_item there;
        if (first <= last && (c.ret != -ENOMEM || lath_space_owner(it.set(), first, &there) ||
                              there.value != block.value))
            c.items.push_back({first, last - first + 1, 0});
    }
}
inline void free(space_calls& it, space_call& c) {
    if (!c.of->together)
        choose_free(it, c);
    c.ret = lath_space_free(it.set(), c.key, c.size);
    if (c.of->together)
        note_freed_blocks(it, c);
    else if (!c.ret)
        it.held.cut(c.key, c.last());
    else
        note_freed(it, c);
}
inline space_call step_of(const space_call& c, const char* kind, const lath_item& at,
                          std::int64_t ret) {
    space_call step(*c.of);
    step.kind = kind_of<space_calls>(kind);
    step.key = at.key;
    step.size = at.size;
    step.ret = ret;
    return step;
}
inline void free_steps(const space_call& c, std::vector<space_call>& steps) {
    for (const lath_item& gone : c.items)
        steps.push_back(step_of(c, "freed", gone, c.ret == -ENOMEM ? 0 : c.ret));
}

// An allocation that is freed at once.
inline void alloc_free(space_calls& it, space_call& c) {
    alloc(it, c);
    c.rets = {c.ret, c.ret ? 0 : lath_space_free(it.set(), c.got.key, c.want.size)};
    if (!c.ret && !c.of->together)
        it.held.cut(c.got.key, oracle_last(&c.got));
    c.ret = 0;
}
inline void alloc_free_steps(const space_call& c, std::vector<space_call>& steps) {
    steps.push_back(c);
    steps.back().kind = kind_of<space_calls>("alloc");
    steps.back().ret = c.rets[0];
    if (!c.rets[0])
        steps.push_back(step_of(c, "freed", c.got, c.rets[1]));
}

// One request until there is no more room for it.
inline void fill(space_calls& it, space_call& c) {
    while (!c.ret && it.held.items.size() < 4000 && c.items.size() < c.of->most) {
        alloc(it, c);
        c.rets.push_back(c.ret);
        c.items.push_back(c.got);
    }
    c.ret = 0;
}
inline void fill_steps(const space_call& c, std::vector<space_call>& steps) {
    space_call step = c;
    step.kind = kind_of<space_calls>("alloc");
    step.items.clear();
    step.rets.clear();
    for (std::size_t i = 0; i < c.rets.size(); i++) {
        step.got = c.items[i];
        step.ret = c.rets[i];
        steps.push_back(step);
    }
}
inline void free_many(space_calls& it, space_call& c) {
    for (word n = c.pick % c.of->most / 2; n && !c.ret && !it.held.items.empty(); n--) {
        const lath_item at = it.held.items[(c.pick + n * 7) % it.held.items.size()];
        c.key = at.key, c.size = at.size;
        c.ret = lath_space_free(it.set(), at.key, at.size);
        if (c.ret)
            note_freed(it, c);
        else
            it.held.cut(at.key, oracle_last(&at)), c.items.push_back(at);
    }
}

// The rest of the first segments; or as many as there can be, of a unit each.
inline void draw_segments(space_setup& s, source&, space_call& c) {
    c.pick = s.begun;
    s.begun = true;
}
inline void add_segments(space_calls& it, space_call& c) {
    const space_setup& s = *c.of;
    const word n = c.pick ? 66 : s.cuts.size();
    for (word i = 1; i < n; i++) {
        const word from = c.pick ? (s.units ? s.units : 1ull << 40) + 2 * i : s.cuts[i - 1],
                   end = c.pick ? from + 1 : s.cuts[i];
        const lath_item at{s.key_at(from), (end - from) * s.config.unit, 0};
        c.items.push_back(at);
        c.rets.push_back(lath_space_add_segment(it.set(), at.key, at.size, 0));
    }
}
inline void add_steps(const space_call& c, std::vector<space_call>& steps) {
    for (std::size_t i = 0; i < c.items.size(); i++)
        steps.push_back(step_of(c, "add_segment", c.items[i], c.rets[i]));
}

// ---- saved spaces ----

// Where a saved space is read: from `data`, in pieces of `most` bytes, as a pipe does.
struct stream_at {
    std::string data;
    std::size_t at, most;
};
inline std::int64_t read_some(void* arg, void* data, std::size_t size) {
    auto* s = static_cast<stream_at*>(arg);
    size = std::min({size, s->most, s->data.size() - s->at});
    std::memcpy(data, s->data.data() + s->at, size);
    s->at += size;
    return static_cast<std::int64_t>(size);
}
// Up to a size.
inline int write_some(void* arg, const void* data, std::size_t size) {
    auto* s = static_cast<stream_at*>(arg);
    if (size > s->most - s->data.size())
        return -EIO;
    s->data.append(static_cast<const char*>(data), size);
    return 0;
}

enum how_to_load { as_saved, a_byte_changed, cut_short, of_another_unit, less_segments, itself };

// A space with other flags, and with the segments of this one. nullptr: no memory.
inline lath_space* open_other(space_calls& it, const space_call& c) {
    lath_space_config config = c.of->config;
    lath_space_segment of;
    lath_space* other = nullptr;
    int ret = 0;
    config.flags = static_cast<unsigned>(c.pick % 32);
    config.allocator = it.allocator();
    if (c.how % 8 == of_another_unit)
        config.unit = config.unit == 1 ? 2 : config.unit / 2, config.below = 0;
    for (unsigned i = 0; i < LATH_SPACE_SEGMENTS && ret >= 0; i++) {
        if (lath_space_segment_stats(it.set(), i, &of) || (c.how % 8 == less_segments && other))
            continue;
        config.low = of.low & ~(config.unit - 1);
        config.high = (of.high + (config.unit - 1)) & ~(config.unit - 1);
        ret = !other ? lath_space_create(&other, &config)
              : c.how % 8 == of_another_unit
                  ? 0
                  : lath_space_add_segment(other, of.low, of.high - of.low, 0);
    }
    if (ret < 0)
        lath_space_destroy(other), other = nullptr;
    return other;
}

// Loads what was saved into it. -EFAULT: the report, what was read or what is left is wrong.
inline void load(space_call& c, lath_space* into, stream_at& s) {
    const bool other = c.how % 8 != itself;
    const std::size_t size = s.data.size();
    const word cookie = c.marked ? reinterpret_cast<word>(into) + 1 : 9;
    space_model there;
    char report[100] = "";
    if (c.how % 8 == a_byte_changed)
        s.data[c.pick % size] = static_cast<char>(s.data[c.pick % size] ^ (1 | c.how / 8));
    if (c.how % 8 == cut_short)
        s.data.resize(c.pick % size);
    else
        s.data += "what follows";
    c.ret = lath_space_load(into, read_some, &s, cookie, report, sizeof(report));
    if ((*report != 0) != (c.ret == -EBADMSG || (c.ret == -EINVAL && !c.marked)) ||
        (!c.ret && s.at != size))
        c.ret = -EFAULT;
    space_calls::read(into, there);
    c.items = there.taken.items;
    if (!other)
        return;
    if (lath_space_verify(into, nullptr, 0) || (c.ret && !c.items.empty() && !c.of->loose()))
        c.ret = -EFAULT;
    if (!c.ret && !c.items.empty() && lath_space_load(into, read_some, &s, 9, nullptr, 0) != -EBUSY)
        c.ret = -EFAULT;
    for (const lath_item& run : c.items)
        if (lath_space_free(into, run.key, run.size) && !c.of->memory_ends)
            c.ret = -EFAULT;
}
inline void save_load(space_calls& it, space_call& c) {
    stream_at s{"", 0, c.how < 32 ? c.pick % 8192 : 1u << 20};
    c.ret = lath_space_save(it.set(), write_some, &s);
    c.number = c.ret == -EIO; // it takes no more
    if (c.ret) {
        c.ret = c.number ? 0 : c.ret;
        return;
    }
    s.most = 1 + c.pick % 700;
    if (c.how % 8 == itself)
        return load(c, it.set(), s);
    lath_space_stats stats;
    lath_space_get_stats(it.set(), &stats);
    if (!stats.segments) // there is no such space
        return;
    lath_space* other = open_other(it, c);
    c.ret = -ENOMEM;
    if (other)
        load(c, other, s);
    lath_space_destroy(other);
}
inline bool load_agrees(space_model& m, const space_call& c) {
    const unsigned how = c.how % 8;
    space_model there;
    if (c.number || c.of->loose())
        return c.number ? c.how < 32 : c.ret != -EFAULT;
    if (m.segments.empty() && how != itself)
        return !c.ret;
    if (how == a_byte_changed || how == cut_short)
        return c.ret == -EBADMSG;
    if (how == of_another_unit || c.marked)
        return c.ret == -EINVAL;
    if (how == itself && !m.taken.items.empty())
        return c.ret == -EBUSY;
    if (how == less_segments)
        for (const key_run& run : m.runs(true))
            if (m.number_of(run.first, run.second) != static_cast<int>(m.segments.begin()->first))
                return c.ret == -EINVAL;
    there.taken.items = c.items;
    there.segments = m.segments;
    return !c.ret && there == m;
}

// Makes another space, of a config that is refused or not.
inline void create(space_calls& it, space_call& c) {
    constexpr std::size_t size = sizeof(lath_space_config);
    const lath_space_config wrong[] = {
        {0, 0, 0, 1, 0, 0, nullptr, nullptr},
        {offsetof(lath_space_config, rcu) - 1, 0, 0, 1, 0, 0, nullptr, nullptr},
        {size + 1, 0, 0, 1, 0, 0, nullptr, nullptr},
        {size, 0, 0, 0, 0, 0, nullptr, nullptr},
        {size, 0, 0, 3, 0, 0, nullptr, nullptr},
        {size, 0, 0, 1ull << 52, 0, 0, nullptr, nullptr},
        {size, 4, 0, 8, 0, 0, nullptr, nullptr},
        {size, 0, last_key, 8, 0, 0, nullptr, nullptr},
        {size, 0, 0, 8, 5, 0, nullptr, nullptr},
        {size, 8, 8, 8, 0, 0, nullptr, nullptr},
        {size, 16, 8, 8, 0, 0, nullptr, nullptr},
        {size, 0, 0, 1, 0, 32, nullptr, nullptr},
        {size, 0, 0, 1, 0, 1u << 31, nullptr, nullptr},
    };
    lath_space_config config = c.of->config;
    lath_space* other = nullptr;
    if (c.how % 16 < std::size(wrong))
        config = wrong[c.how % 16];
    config.allocator = it.allocator();
    c.ret = lath_space_create(&other, c.how % 16 == 13 ? nullptr : &config);
    if (!c.ret != !!other)
        c.ret = -EFAULT;
    lath_space_destroy(other);
}

// clang-format off
inline const std::vector<described<space_calls>> space_calls::kinds = {
    {"alloc", 60, effect::once, {ENOSPC, EINVAL, ENOMEM}, nullptr, draw_alloc, alloc, alloc_agrees},
    {"alloc_in", 12, effect::once, {ENOSPC, EINVAL, ENOMEM}, nullptr, draw_alloc, alloc_in,
     alloc_agrees},
    {"alloc_below", 12, effect::once, {ENOSPC, EINVAL, ENOMEM}, nullptr, draw_below, alloc_below,
     alloc_agrees},
    {"alloc_request", 16, effect::once, {ENOSPC, EINVAL, ENOMEM}, nullptr, draw_request,
     alloc_request, alloc_agrees},
    {"reserve", 14, effect::once, {EBUSY, EINVAL, ENOSPC, ENOMEM}, nullptr, draw_space_key, reserve,
     reserve_agrees},
    {"free", 80, effect::apart, {EINVAL, ENOMEM}, nullptr, draw_free, free, free_agrees,
     free_steps, true},
    {"freed", 0, effect::once, {}, nullptr, nullptr, nullptr, free_agrees},
    {"alloc, free", 8, effect::apart, {}, nullptr, draw_alloc, alloc_free, nullptr,
     alloc_free_steps},
    {"alloc, alloc", 6, effect::alone, {}, nullptr, draw_alloc, fill, nullptr, fill_steps},
    {"free, free", 6, effect::alone, {ENOMEM}, nullptr, draw_space_key, free_many,
     free_many_agrees},
    {"owner", 8, effect::alone, {ENOENT}, nullptr, draw_space_key,
     [](space_calls& it, space_call& c) {
         aim(it, c);
         c.ret = lath_space_owner(it.set(), c.key, &c.got);
     }, owner_agrees},
    {"trim", 2, effect::none, {}, nullptr, nullptr,
     [](space_calls& it, space_call&) { lath_space_trim(it.set()); }},
    {"next", 8, effect::alone, {ENOENT}, nullptr, draw_space_key,
     [](space_calls& it, space_call& c) {
         aim(it, c);
         c.ret = lath_space_next(it.set(), c.key, &c.got);
     }, [](space_model& m, const space_call& c) { return next_agrees(m, c, true); }},
    {"next_free", 8, effect::alone, {ENOENT}, nullptr, draw_space_key,
     [](space_calls& it, space_call& c) {
         aim(it, c);
         c.ret = lath_space_next_free(it.set(), c.key, &c.got);
     }, [](space_model& m, const space_call& c) { return next_agrees(m, c, false); }},
    {"add_segment", 4, effect::alone, {EEXIST, ENOSPC, EINVAL, ENOMEM}, nullptr, draw_segment,
     [](space_calls& it, space_call& c) {
         c.ret = lath_space_add_segment(it.set(), c.key, c.size, c.want.size);
     }, add_agrees},
    {"add_segment, add_segment", 1, effect::alone, {}, nullptr, draw_segments, add_segments,
     nullptr, add_steps},
    {"limit_segment", 2, effect::alone, {ENOENT}, nullptr, draw_segment,
     [](space_calls& it, space_call& c) {
         c.ret = lath_space_limit_segment(it.set(), c.number, c.want.size);
     },
     [](space_model& m, const space_call& c) {
         const auto there = m.segments.find(c.number);
         if (there != m.segments.end())
             there->second.limit = c.want.size;
         return c.ret == (there == m.segments.end() ? -ENOENT : 0);
     }},
    {"drain_segment", 3, effect::alone, {ENOENT}, nullptr, draw_segment,
     [](space_calls& it, space_call& c) {
         c.ret = lath_space_drain_segment(it.set(), c.number, c.how % 3 == 0);
     },
     [](space_model& m, const space_call& c) {
         const auto there = m.segments.find(c.number);
         if (there != m.segments.end())
             there->second.draining = c.how % 3 == 0;
         return c.ret == (there == m.segments.end() ? -ENOENT : 0);
     }},
    {"remove_segment", 3, effect::alone, {ENOENT, EBUSY}, nullptr, draw_segment,
     [](space_calls& it, space_call& c) {
         c.ret = lath_space_remove_segment(it.set(), c.number);
     }, remove_agrees},
    {"segment_of", 3, effect::alone, {ENOENT}, nullptr, draw_space_key,
     [](space_calls& it, space_call& c) {
         c.ret = lath_space_segment_of(it.set(), c.key);
     },
     [](space_model& m, const space_call& c) {
         const int number = m.number_of(c.key, c.key);
         return c.ret == (number < 0 ? -ENOENT : number);
     }},
    {"segment_stats", 3, effect::alone, {ENOENT}, nullptr, draw_segment,
     [](space_calls& it, space_call& c) {
         c.ret = lath_space_segment_stats(it.set(), c.number, &c.segment);
     }, segment_stats_agree},
    {"get_stats, verify", 4, effect::alone, {}, nullptr, nullptr,
     [](space_calls& it, space_call& c) { lath_space_get_stats(it.set(), &c.stats); },
     space_stats_agree},
    {"save, load", 4, effect::alone, {EBUSY, EBADMSG, EINVAL, ENOMEM}, nullptr, draw_space_key,
     save_load, load_agrees},
    {"create, destroy", 1, effect::alone, {EINVAL, ENOMEM}, nullptr, draw_space_key, create,
     [](space_model&, const space_call& c) {
         return c.ret == (c.how % 16 < 13 ? -EINVAL : 0);
     }},
};
// clang-format on

inline void space_calls::draw_loaded(setup& s, source&, std::vector<call>& loaded) {
    for (const lath_item& block : s.blocks) {
        call& c = loaded.emplace_back(s);
        c.kind = kind_of<space_calls>("reserve");
        c.key = block.key;
        c.size = block.size;
        c.cookie = block.value;
    }
}
inline unsigned space_calls::most_steps(const setup& s, const call& c) {
    if (kinds[c.kind].effect != effect::apart || !c.size)
        return 2;
    unsigned steps = 0;
    for (const lath_item& block : s.blocks)
        steps += block.key <= c.last() && c.key <= oracle_last(&block);
    return steps;
}

} // namespace calls
