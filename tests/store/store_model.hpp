// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// store_model.hpp - which stores are tested, and with which keys and values; what should be in one;
// a call on it (store_calls.hpp).
#pragma once

#include "model.hpp"

#include "base/calls.hpp"

#include "lathwork/store.h"

#include <string>
#include <vector>

namespace calls {

constexpr word far_off = word{1} << 50; // a time of expiry; 1 and 2 have passed
constexpr std::int64_t seen_by_update = 16; // actions of a function

enum class place : std::uint8_t { mem, file, shm, dev };

struct stored {
    std::string key, value;
    word expires = 0;

    bool operator==(const stored&) const = default;
};

struct store_setup : any_setup {
    place where = place::mem;
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    unsigned universe = 24, length = 0;
    word numbers = 0; // of calls
    std::vector<std::string> known; // together: all keys, in order

    store_setup() { options.pages = LATH_PAGES_SMALL, options.reserve = 64ull << 20; }
    explicit store_setup(source& from) : store_setup() {
        static constexpr unsigned universes[] = {40, 100, 500, 3000};
        const unsigned first = from.byte(), form = first % 128;
        next = first < 128 ? nullptr : "fill";
        const bool spec = storetest::elsewhere().starts_with("dev:");
        where = spec ? place::dev : static_cast<place>(form % 3);
        options.keys = form / 3 % 3 == 2 && !spec ? LATH_STORE_BYTES : LATH_STORE_NUMBERS;
        options.flags = form / 3 % 3 == 1 ? unsigned{LATH_STORE_VERSIONS} : 0u;
        options.reserve = 256ull << 20;
        universe = from.pick(universes);
    }
    // Keys many of which agree in their first bytes, and values of which some are records.
    void share(source& from) {
        static constexpr const char* texts[] = {
            "a",          "b",          "bb",         "common1",    "common10",   "common11",
            "common12",   "common13",   "common14",   "common15",   "common16",   "common17",
            "common18",   "common2",    "common3",    "commonlon1", "commonlon2", "commonlon3",
            "commonlon4", "commonlon5", "commonlon6", "commonlon7", "commonlon8", "z"};
        together = true;
        const std::string_view spec = storetest::elsewhere();
        where = spec == "shm:" ? place::shm : spec.starts_with("dev:") ? place::dev : place::mem;
        options.keys = from.below(2) && where != place::dev ? LATH_STORE_BYTES : LATH_STORE_NUMBERS;
        options.flags = from.one_in(4) ? unsigned{LATH_STORE_VERSIONS} : 0u;
        length = from.below(3);
        for (unsigned i = 0, n = 4 + from.below(21); i < n; i++)
            known.push_back(bytes() ? texts[i] : storetest::number_text(i));
    }

    bool bytes() const { return options.keys == LATH_STORE_BYTES; }
    bool versions() const {
        return bytes() || options.flags & LATH_STORE_VERSIONS || where == place::shm;
    }
    // Three bytes at a time.
    struct numbers_of {
        source& from;
        word operator()() const {
            const word low = from.byte(), middle = from.byte();
            return low | middle << 8 | static_cast<word>(from.byte()) << 16;
        }
    };
    std::string key(source& from) const {
        if (together)
            return known[from.below(static_cast<unsigned>(known.size()))];
        numbers_of random{from};
        return storetest::key_maker(options.keys, universe)(random);
    }
    // Of threads no two are the same.
    std::string value(source& from) {
        // clang-format off
        static constexpr const char* texts[] = {
            "", "0", "-1", "12", "-12", "007", "x", "1x", "9223372036854775807",
            "-9223372036854775808", "9223372036854775808", "99999999999999999999",
            "18446744073709551616", "-", "+1", " 1"};
        // clang-format on
        if (together) {
            const std::string digits = std::to_string(10000 + ++numbers).substr(1);
            const bool more = length == 2 || (length == 1 && numbers % 2);
            return digits + std::string(more ? 40 : 0, static_cast<char>('a' + numbers % 26));
        }
        numbers_of random{from};
        if (from.one_in(4))
            return std::string(from.pick(texts)) + std::string(from.one_in(4), '\0');
        return storetest::make_value(random);
    }
};

struct store_model {
    std::vector<stored> items; // in order
    std::vector<std::string> gone; // expired, and perhaps not removed

    bool operator==(const store_model& other) const { return items == other.items; }
    std::size_t hash() const {
        std::size_t h = items.size();
        for (const stored& it : items)
            h = (h ^ std::hash<std::string>()(it.value)) * 0x9e3779b97f4a7c15u;
        return h ^ h >> 29;
    }
    std::size_t place(const std::string& key) const {
        return static_cast<std::size_t>(
            std::lower_bound(items.begin(), items.end(), key,
                             [](const stored& it, const std::string& k) { return it.key < k; }) -
            items.begin());
    }
    stored* find(const std::string& key) {
        const std::size_t i = place(key);
        return i < items.size() && items[i].key == key ? &items[i] : nullptr;
    }
    void drop(const std::string& key) {
        std::erase_if(items, [&](const stored& it) { return it.key == key; });
    }
    void put(const std::string& key, const std::string& value, word expires) {
        drop(key);
        std::erase(gone, key);
        if (expires && expires < far_off)
            gone.push_back(key);
        else
            items.insert(items.begin() + static_cast<std::ptrdiff_t>(place(key)),
                         {key, value, expires});
    }
    // Is this a number of entries, those that have expired counted or not?
    bool counts(std::int64_t n, std::size_t visible) const {
        return n >= static_cast<std::int64_t>(visible) &&
               n <= static_cast<std::int64_t>(visible + gone.size());
    }
};

struct store_call {
    store_call() = default;
    explicit store_call(const store_setup& setup) : of(&setup) {}

    const store_setup* of = nullptr;
    unsigned kind = 0, how = 0, many = 0;
    std::string key, value, other; // other: a value that is expected, a tail, another key
    word number = 0; // a time of expiry, a version
    std::int64_t by = 0;
    std::vector<stored> batch;
    std::int64_t ret = 0, now = 0;
    bool found = false;
    std::string got;
    std::vector<stored> items;
    std::vector<std::int64_t> rets;
    word called = 0, returned = 0;

    // A value of 2^40 bytes or more. (The kernel has another limit.)
    bool large() const { return !of->together && of->where != place::dev && how % 64 == 63; }
    std::size_t size() const {
        return !large() ? value.size() : how % 128 == 127 ? ~std::size_t{0} : std::size_t{1} << 40;
    }
};

inline void print(std::FILE* out, const store_call& c) {
    auto hex = [&](const char* name, const std::string& text) {
        std::fprintf(out, " %s ", name);
        for (std::size_t i = 0; i < text.size() && i < 24; i++)
            std::fprintf(out, text[i] > ' ' && text[i] < 127 ? "%c" : "\\%02x",
                         static_cast<unsigned char>(text[i]));
        std::fprintf(out, "(%zu)", text.size());
    };
    hex("key", c.key), hex("value", c.value), hex("other", c.other);
    std::fprintf(out, " how %u number %llu by %lld: %lld, %lld %s", c.how,
                 static_cast<unsigned long long>(c.number), static_cast<long long>(c.by),
                 static_cast<long long>(c.ret), static_cast<long long>(c.now),
                 c.found ? "found" : "");
    hex("", c.got);
    std::fprintf(out, ", %zu items [%llu, %llu]\n", c.items.size(),
                 static_cast<unsigned long long>(c.called),
                 static_cast<unsigned long long>(c.returned));
}
inline void print(std::FILE* out, const store_setup& s) {
    static constexpr const char* names[] = {"mem:", "file:", "shm:", "dev:"};
    std::fprintf(out, "  %s %s, flags 0x%x, %u keys, length %u\n",
                 names[static_cast<unsigned>(s.where)], s.bytes() ? "bytes" : "numbers",
                 s.options.flags, s.together ? static_cast<unsigned>(s.known.size()) : s.universe,
                 s.length);
}

} // namespace calls
