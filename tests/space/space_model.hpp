// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// space_model.hpp - which spaces are tested, what should be in one, and a call on it
// (space_calls.hpp).
#pragma once

#include "base/calls.hpp"
#include "base/ranges.hpp"

#include "lathwork/space.h"

#include <map>
#include <string>

namespace calls {

constexpr word last_key = ~word{0}, arena = 4096, units_of_arenas = 3 * arena + 700;

struct space_setup : any_setup {
    lath_space_config config = LATH_SPACE_CONFIG_INIT;
    word units = 0; // of the first segments; 0: all that there are
    std::vector<word> cuts; // where these end, in units
    bool begun = false; // all of the first segments are there
    unsigned most = 600; // elements of a call with many
    word cookies = 0; // that calls have had so far
    std::vector<lath_item> blocks, parts; // together: what is reserved, and freed by one call each

    space_setup() = default;
    explicit space_setup(source& from) {
        static constexpr word all = units_of_arenas;
        static constexpr word shapes[][4] = {
            // low, unit, units, below
            {0, 1, all, 0},
            {4096, 4096, all, (2 * arena + 50) * 4096},
            {0 - all * 16, 16, all, 0}, // up to the last key
            {3, 1, all, arena}, // arenas fit neither at the beginning nor at the end
            {4095 * 4096, 4096, 1 << 30, 4096 * 4096},
            {0, 1ull << 51, 0, 0}, // all keys
            {0, 1, 0, 0},
            {64, 64, 1, 0},
            {0 - word{64}, 1, 64, 0},
        };
        config.flags = from.byte() % 32;
        const auto& shape = from.pick(shapes);
        const unsigned pieces = 1 + from.byte() % 4, other = from.byte();
        config.low = shape[0], config.unit = shape[1], units = shape[2], config.below = shape[3];
        if (units == all)
            cuts = {arena + 300, 2 * arena, 2 * arena + 900, units};
        else
            cuts = {units / 4, units / 2, units / 2 + units / 4, units};
        cuts.resize(units < 8 ? 1 : pieces);
        cuts.back() = units;
        config.high = config.low + cuts[0] * config.unit;
        config.rcu = other % 4 ? nullptr : &lath_rcu_single;
        memory = other / 4 % 2;
        most = other / 8 % 4 ? 60 : 600;
        next = cuts.size() > 1 ? "add_segment, add_segment" : nullptr;
    }
    // Blocks side by side; and parts of one of them or of several, each of which one call frees.
    void share(source& from) {
        together = true;
        units = 64;
        config.low = 64;
        config.high = config.low + 2 * units;
        config.flags = LATH_SPACE_NO_ARENAS | LATH_SPACE_NO_MAGAZINES;
        const word end = config.low + units;
        for (word key = config.low, n; key < end; key += n) {
            n = std::min<word>(2 + from.below(12), end - key);
            blocks.push_back({key, n, ++cookies});
        }
        for (word key = config.low, n; key < end; key += n) {
            n = std::min<word>(1 + from.below(from.below(4) ? 6 : 24), end - key);
            if (from.below(4))
                parts.insert(parts.begin() + from.below(unsigned(parts.size()) + 1), {key, n, 0});
        }
    }

    bool arenas() const { return !(config.flags & LATH_SPACE_NO_ARENAS); }
    bool magazines() const {
        return arenas() &&
               !(config.flags & (LATH_SPACE_NO_MAGAZINES | LATH_SPACE_OWNERS | LATH_SPACE_SPREAD));
    }
    // Without memory a part of what a magazine held may stay allocated.
    bool loose() const { return memory_ends && magazines(); }
    word key_at(word at) const { return config.low + at * config.unit; }
    word key(source& from) const {
        const word edges[] = {0, 0 - config.unit, last_key, 1ull << 63};
        const unsigned n = from.byte();
        const word at = from.below(65536) % (units ? units + 20 : 65536);
        return n < 4 ? edges[n] : key_at(at) + (n < 8);
    }
    word size(source& from) const {
        const word unit = config.unit;
        if (together)
            return unit * (1 + from.below(4));
        const unsigned n = from.byte();
        if (n < 140)
            return unit * (n % 9 + 1);
        if (n < 230)
            return unit << n % 9;
        if (n < 250)
            return unit * ((n - 229) * 97);
        const word odd[] = {unit * arena,     unit * 5000,      unit << 20, 0,
                            unit + 1,         unit - 1,         last_key,   last_key - 1,
                            0 - unit,         (1ull << 63) + 1, 1ull << 63, 1ull << 62,
                            unit * arena * 4, unit * 1025};
        return from.pick(odd);
    }
    word align(source& from) const {
        const unsigned n = from.byte();
        const word odd[] = {1, 3, 3 * config.unit, last_key, (1ull << 63) + 1, 1ull << 63};
        return together || n % 3 ? 0 : n < 248 ? config.unit << n / 3 % 14 : from.pick(odd);
    }
};

struct space_call {
    space_call() = default;
    explicit space_call(const space_setup& setup) : of(&setup) {}

    const space_setup* of = nullptr;
    unsigned kind = 0, how = 0, number = 0; // number: of a segment
    lath_hole_request want{}; // what an allocation asks for
    word segments = last_key, cookie = 0, pick = 0; // pick: which one of those that are held
    bool marked = false; // the cookie is the one that marks arenas
    bool beside_failed = false; // a reserve that failed ran beside it
    word key = 0, size = 0;
    std::int64_t ret = 0;
    lath_item got{};
    std::vector<lath_item> items; // runs, or results of a call with many
    std::vector<std::int64_t> rets;
    lath_space_segment segment{};
    lath_space_stats stats{};
    word called = 0, returned = 0;

    word last() const { return key + (size - 1); }
    bool whole(word at, word keys) const { return keys && !((at | keys) & (of->config.unit - 1)); }
    bool wraps() const { return size - 1 > last_key - key; }
};

inline void print(std::FILE* out, const space_call& c) {
    auto show = [](word n) { return static_cast<unsigned long long>(n); };
    std::fprintf(
        out,
        " key %#llx size %#llx how %u, segment %u of %#llx; a hole of %#llx align %#llx in "
        "[%#llx, %#llx) below %#llx hint %#llx policy %d: %lld, %#llx+%#llx=%llu, %zu "
        "items [%llu, %llu]\n",
        show(c.key), show(c.size), c.how, c.number, show(c.segments), show(c.want.size),
        show(c.want.align), show(c.want.low), show(c.want.high), show(c.want.below),
        show(c.want.hint), c.want.policy, static_cast<long long>(c.ret), show(c.got.key),
        show(c.got.size), show(c.got.value), c.items.size(), show(c.called), show(c.returned));
}
inline void print(std::FILE* out, const space_setup& s) {
    std::fprintf(out, "  flags %u, keys from %#llx on, %llu times %#llx, %zu segments\n",
                 s.config.flags, static_cast<unsigned long long>(s.config.low),
                 static_cast<unsigned long long>(s.units),
                 static_cast<unsigned long long>(s.config.unit), s.cuts.size());
}

struct space_segment {
    word low, last, limit;
    bool draining;
    bool operator==(const space_segment&) const = default;
};

// The first and the last key of a run.
using key_run = std::pair<word, word>;

class space_model {
public:
    ranges taken;
    std::map<unsigned, space_segment> segments;
    bool more = false; // than what should be may be allocated

    bool operator==(const space_model& other) const {
        if (more != other.more) {
            const space_model &less = more ? other : *this, &all = more ? *this : other;
            for (const key_run& run : less.runs(true))
                if (!all.covered(run.first, run.second))
                    return false;
            return segments == other.segments;
        }
        return segments == other.segments && runs(true) == other.runs(true);
    }
    std::size_t hash() const {
        word h = segments.size();
        for (const key_run& run : runs(true))
            h = (h ^ run.first ^ run.second << 20) * 0x9e3779b97f4a7c15u;
        return h ^ h >> 29;
    }

    // Is each of these keys allocated?
    bool covered(word key, word last) const {
        for (std::size_t i = at(key); i < taken.items.size() && taken.items[i].key <= key; i++) {
            if (oracle_last(&taken.items[i]) >= last)
                return true;
            key = oracle_last(&taken.items[i]) + 1;
        }
        return false;
    }
    // The number of the segment that has all these keys; -1: none.
    int number_of(word key, word last) const {
        for (const auto& [number, it] : segments)
            if (key >= it.low && last <= it.last && key <= last)
                return static_cast<int>(number);
        return -1;
    }
    // Modulo 2^64.
    word used(const space_segment& in) const {
        word keys = 0;
        for (std::size_t i = at(in.low); i < taken.items.size() && taken.items[i].key <= in.last;
             i++)
            keys += taken.items[i].size;
        return keys;
    }
    // Does the segment serve a call of this size?
    bool serves(const space_segment& in, word size) const {
        const word now = in.limit ? used(in) : 0;
        return !in.draining && (!in.limit || (now <= in.limit && size <= in.limit - now));
    }
    // The runs of allocated keys, or of free ones, each within one segment, in order.
    std::vector<key_run> runs(bool allocated) const {
        std::vector<space_segment> in;
        std::vector<key_run> all;
        for (const auto& [number, it] : segments)
            in.push_back(it);
        std::sort(in.begin(), in.end(), [](auto& a, auto& b) { return a.low < b.low; });
        for (const space_segment& it : in)
            runs_of(it, allocated, all);
        return all;
    }

private:
    // The first item that ends at or behind the key.
    std::size_t at(word key) const {
        const oracle all{const_cast<lath_item*>(taken.items.data()), taken.items.size()};
        return oracle_at(&all, key);
    }
    void runs_of(const space_segment& in, bool allocated, std::vector<key_run>& all) const {
        word next = in.low;
        bool begun = false, over = false;
        for (std::size_t i = at(in.low); i < taken.items.size() && taken.items[i].key <= in.last;
             i++) {
            const word key = taken.items[i].key, last = oracle_last(&taken.items[i]);
            if (allocated && begun && key == next)
                all.back().second = last;
            else if (allocated)
                all.emplace_back(key, last);
            else if (key != next)
                all.emplace_back(next, key - 1);
            begun = true;
            over = last == in.last;
            next = last + 1;
        }
        if (!allocated && !over)
            all.emplace_back(next, in.last);
    }
};

} // namespace calls
