// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// recorder.hpp - what the calls of each fiber on a few keys returned, and whether some order of
// them explains it (base/calls.hpp). For programs that make their calls themselves.
#pragma once

#include "runtime.h"

#include "base/calls.hpp"

#include <array>
#include <cstdio>

namespace schedtest {

enum class op : unsigned { insert, erase, replace, erase_if, replace_if, store, value };

struct key_call {
    unsigned kind, key, number, expected;
    std::int64_t ret;
    unsigned got; // of value: the number that is there, or 0
    std::uint64_t called, returned;
};

// The number that is at each key; 0: none.
struct keys {
    static constexpr unsigned most = 24;
    std::array<unsigned, most> at{};

    bool operator==(const keys&) const = default;
    std::size_t hash() const {
        std::size_t h = 0;
        for (unsigned number : at)
            h = (h ^ number) * 0x9e3779b97f4a7c15u;
        return h ^ h >> 29;
    }
    std::uint64_t count() const {
        return most - static_cast<std::uint64_t>(std::count(at.begin(), at.end(), 0u));
    }
    // Returns whether a single thread gets this result, and plays the call.
    static bool play(keys& now, const key_call& c) {
        unsigned& there = now.at[c.key];
        const auto what = static_cast<op>(c.kind);
        const bool conditional = what == op::erase_if || what == op::replace_if;
        if (what == op::value)
            return c.got == there;
        std::int64_t want = what == op::store                    ? 0
                            : !there                             ? -ENOENT
                            : conditional && there != c.expected ? -EAGAIN
                                                                 : 0;
        if (what == op::insert)
            want = there ? -EEXIST : 0;
        if (c.ret == want && !want)
            there = what == op::erase || what == op::erase_if ? 0 : c.number;
        return c.ret == want;
    }
};

// What history (base/calls.hpp) wants to know of them.
struct keyed {
    using domain = int;
    using setup = int;
    using model = keys;
    using call = key_call;
    static const std::vector<calls::described<keyed>> kinds;
};
inline const std::vector<calls::described<keyed>> keyed::kinds = [] {
    std::vector<calls::described<keyed>> all;
    for (const char* name :
         {"insert", "erase", "replace", "erase_if", "replace_if", "store", "value"})
        all.push_back({name,
                       1,
                       calls::effect::once,
                       {ENOENT, EEXIST, EAGAIN},
                       nullptr,
                       nullptr,
                       nullptr,
                       keys::play});
    return all;
}();

class recorder {
public:
    keys before; // the structure when the calls begin

    void begin() {
        for (auto& made : made_)
            made.clear();
    }

    // Adds a call that returns now, unless it found no memory or room, which changes nothing.
    void note(unsigned fiber, op what, unsigned key, unsigned number, std::uint64_t called, int ret,
              unsigned got = 0, unsigned expected = 0) {
        if (ret != -ENOMEM && ret != -ENOSPC)
            made_[fiber].push_back({static_cast<unsigned>(what), key, number, expected, ret, got,
                                    called, sched_now()});
    }

    // The call added last returned at this time.
    void returned(unsigned fiber, std::uint64_t time) { made_[fiber].back().returned = time; }

    // Returns whether an order of the calls explains what they returned and left. Adds their number
    // to `checked`.
    bool explained(const keys& after, std::uint64_t& checked) const {
        calls::history<keyed> all;
        for (const auto& made : made_)
            for (const key_call& c : made)
                all.add(c);
        checked += all.calls().size();
        return all.explained(before, &after);
    }

    void print(std::FILE* out, unsigned fiber) const {
        for (const key_call& c : made_[fiber])
            std::fprintf(out, "  [%llu-%llu] %s key %u number %u expected %u: %lld, %u\n",
                         static_cast<unsigned long long>(c.called),
                         static_cast<unsigned long long>(c.returned), keyed::kinds[c.kind].name,
                         c.key, c.number, c.expected, static_cast<long long>(c.ret), c.got);
    }

private:
    std::array<std::vector<key_call>, 3> made_;
};

} // namespace schedtest
