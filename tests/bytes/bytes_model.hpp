// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// bytes_model.hpp - which keys a set of byte keys is tested with, what should be in it, and a call
// on it (bytes_calls.hpp).
#pragma once

#include "base/calls.hpp"

#include "lathwork/bytes.h"

#include <string>

namespace calls {

// A key, and the record that has it; 0: none.
struct byte_key {
    std::string text;
    word tag = 0;
    word number = 0;

    bool same(const byte_key& other) const { return text == other.text && tag == other.tag; }
    bool operator==(const byte_key&) const = default;
};

struct bytes_setup : any_setup {
    bool descending = false, ranks = false;
    lath_config config = LATH_CONFIG_INIT;
    // What keys look like: one of some beginnings, then up to `rest` letters.
    std::vector<std::string> begin;
    std::string letters;
    unsigned rest = 0, tags = 1;
    word numbers = 0; // of records so far
    std::vector<byte_key> known; // keys that calls have had; together: all that there are, in order

    bytes_setup() = default;
    explicit bytes_setup(source& from);
    // Keys many of which agree in their first eight or sixteen bytes, so that arrays and further
    // trees are made of them; half of the time several are versions of one key.
    void share(source& from);

    // Is a in front of b?
    bool before(const byte_key& a, const byte_key& b) const {
        if (a.text != b.text)
            return a.text < b.text;
        return descending ? a.tag > b.tag : a.tag < b.tag;
    }
    byte_key fresh(source& from) {
        byte_key key{begin[from.below(static_cast<unsigned>(begin.size()))]};
        for (unsigned n = from.below(rest + 1); n && key.text.size() < 64; n--)
            key.text += letters[from.below(static_cast<unsigned>(letters.size()))];
        key.tag = tags > 1 ? from.below(tags) : 0;
        key.tag = key.tag == 1 && !together ? ~word{0} : key.tag;
        if (known.size() < 4096)
            known.push_back(key);
        return key;
    }
    byte_key old(source& from) {
        if (!together && (known.empty() || from.below(4) == 0))
            return fresh(from);
        return known[from.below(static_cast<unsigned>(known.size()))];
    }
};

// The keys in order, of one setup.
struct byte_keys {
    std::vector<byte_key> items;

    bool operator==(const byte_keys& other) const { return items == other.items; }
    std::size_t hash() const {
        std::size_t h = items.size();
        for (const byte_key& it : items)
            h = (h ^ it.number) * 0x9e3779b97f4a7c15u;
        return h ^ h >> 29;
    }
    // The place of the first one at or behind the key; behind: behind it.
    std::size_t place(const bytes_setup& s, const byte_key& key, bool behind = false) const {
        auto less = [&](const byte_key& a, const byte_key& b) { return s.before(a, b); };
        const auto at = behind ? std::upper_bound(items.begin(), items.end(), key, less)
                               : std::lower_bound(items.begin(), items.end(), key, less);
        return static_cast<std::size_t>(at - items.begin());
    }
    byte_key* exact(const bytes_setup& s, const byte_key& key) {
        const std::size_t i = place(s, key);
        return i < items.size() && items[i].same(key) ? &items[i] : nullptr;
    }
};

enum scan_flags { back = LATH_BYTES_BACK, behind = LATH_BYTES_BEHIND, same = LATH_BYTES_SAME };

struct bytes_call {
    bytes_call() = default;
    explicit bytes_call(const bytes_setup& setup) : of(&setup) {}

    const bytes_setup* of = nullptr;
    unsigned kind = 0, how = 0;
    byte_key key; // and the number of the record that the call brings
    word other = 0; // the number of the record that it expects; the most records; a rank
    std::vector<byte_key> batch;
    std::int64_t ret = 0;
    word got = 0; // the number of a record; 0: none
    std::vector<byte_key> items; // records that a walk shows, in its order
    std::vector<std::int64_t> rets;
    word called = 0, returned = 0;

    bool blind() const { return how % 8 == 7; } // it does not ask for the record
    bool bad() const { return how % 64 == 33; } // it brings a value that no record has
};

inline void print(std::FILE* out, const bytes_call& c) {
    auto show = [](word n) { return static_cast<unsigned long long>(n); };
    std::fprintf(out,
                 " %s/%llu number %llu other %llu how %u: %lld, %llu, %zu items [%llu, %llu]\n",
                 c.key.text.c_str(), show(c.key.tag), show(c.key.number), show(c.other), c.how,
                 static_cast<long long>(c.ret), show(c.got), c.items.size(), show(c.called),
                 show(c.returned));
}
inline void print(std::FILE* out, const bytes_setup& s) {
    std::fprintf(out, "  %s%s, flags 0x%x, keys:", s.descending ? "descending" : "ascending",
                 s.ranks ? ", ranks" : "", s.config.flags);
    for (const byte_key& key : s.together ? s.known : std::vector<byte_key>())
        std::fprintf(out, " %s/%llu", key.text.c_str(), static_cast<unsigned long long>(key.tag));
    std::fputc('\n', out);
}

inline bytes_setup::bytes_setup(source& from) {
    static const std::string common = "a common beginning of forty bytes: 9876_", ff(16, '\xff');
    struct form {
        std::vector<std::string> begin;
        unsigned rest;
        std::string letters;
        unsigned tags;
    };
    static const form forms[] = {
        {{"", "", "a", std::string(7, '\0')}, 20, std::string("\0\0\0a", 4), 2}, // zeros everywhere
        {{"", "12345678", "1234567812345678", common}, 9, "xyz\xff", 1},
        {{common, common + "\0", common.substr(0, 33), common}, 23, "0123456789", 1},
        {{"", "k", "key", ff.substr(0, 8)}, 2, "ab", 65535}, // versions
        {{""}, 8, std::string("\0\1\2\x7f\x80\xfe\xff", 7), 3},
        // the last slices there are, at each depth, and those right before them
        {{"", ff.substr(0, 8), ff, ff.substr(0, 7)},
         26,
         std::string("\xff\xff\xff\xff\xff\xfe\0", 7),
         3},
    };
    const unsigned what = from.byte();
    const form& form = from.pick(forms);
    descending = what / 2 % 2;
    ranks = what / 4 % 2;
    memory = what / 8 % 2;
    config.flags = (what % 2 ? LATH_NODE_EACH : 0) | (ranks ? LATH_RANKS : 0);
    begin = form.begin;
    rest = form.rest;
    letters = form.letters;
    tags = form.tags;
}

inline void bytes_setup::share(source& from) {
    static constexpr const char* beginnings[] = {"", "a", "sameeigh", "sameeighttwoeight",
                                                 "sameeighttwoeighz"};
    const unsigned all = 4 + from.below(21), alike = 1 + from.below(4);
    const bool versions = from.one_in(2);
    together = true;
    ranks = from.one_in(2);
    config.flags = (from.one_in(2) ? LATH_NODE_EACH : 0) | (ranks ? LATH_RANKS : 0);
    while (known.size() < all) {
        byte_key key{beginnings[from.below(alike) + from.below(2)]};
        key.text += static_cast<char>('a' + from.below(versions ? 2 : 26));
        key.tag = versions ? from.below(8) : 0;
        if (std::find(known.begin(), known.end(), key) == known.end())
            known.push_back(key);
    }
    std::sort(known.begin(), known.end(),
              [this](const byte_key& a, const byte_key& b) { return before(a, b); });
}

} // namespace calls
