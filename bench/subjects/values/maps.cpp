// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Maps of structs and texts: point_map, absl::btree_map, std::map.
#include "values_subject.hpp"

#include "harness/timing.hpp"

#include "lathwork/cxx/point_map.hpp"

#include <absl/container/btree_map.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>

#include <malloc.h>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

template <std::size_t words>
struct record {
    std::array<u64, words> fields{};
};

// A number as a key or a value of each kind, and back.
template <class T>
struct as {
    static T make(u64 n) {
        T it{};
        it.fields.front() = it.fields.back() = n;
        return it;
    }
    static u64 number(const T& it) { return it.fields.back(); }
};
template <>
struct as<u64> {
    static u64 make(u64 n) { return n; }
    static u64 number(u64 n) { return n; }
};
template <>
struct as<std::string> {
    static std::string make(u64 n) {
        char text[24];
        std::snprintf(text, sizeof(text), "%020" PRIu64, n);
        return text;
    }
    static u64 number(const std::string& text) {
        u64 n = 0;
        for (char digit : text)
            n = n * 10 + static_cast<u64>(digit - '0');
        return n;
    }
};

template <class Map>
constexpr bool ours = requires(const Map& map) { map.native(); };

template <class Map>
u64 heap_of([[maybe_unused]] const Map* map) {
    const struct mallinfo2 now = mallinfo2();
    u64 bytes = now.uordblks + now.hblkhd;
    if constexpr (requires(lath_index_stats& s) { lath_index_get_stats(map->native(), &s); }) {
        lath_index_stats stats{};
        if (map)
            lath_index_get_stats(map->native(), &stats);
        bytes += stats.bytes;
    } else if constexpr (ours<Map>) {
        lath_bytes_stats stats{};
        if (map)
            lath_bytes_get_stats(map->native(), &stats);
        bytes += stats.bytes;
    }
    return bytes;
}

template <class Map, class V>
u64 sum_of(const Map& map) {
    u64 sum = 0;
    auto add = [&](const auto& all) {
        for (const auto& [key, value] : all)
            sum += as<V>::number(value);
    };
    if constexpr (ours<Map>) {
        lathwork::read_section inside(map);
        add(map.in(inside));
    } else {
        add(map);
    }
    return sum;
}

template <class Map, class V>
u64 look(const Map& map, const auto& key) {
    const auto found = map.find(key);
    return found == map.end() ? 0 : as<V>::number(found->second);
}

// What 100 entries from each of some keys on have.
template <class Map, class V>
u64 scan(const Map& map, const auto& keys, u64 scans) {
    u64 n = 0;
    for (u64 i = 0; i < scans; i++) {
        unsigned left = 100;
        const auto end = map.end();
        for (auto at = map.lower_bound(keys[i]); left && at != end; ++at, left--)
            n += as<V>::number((*at).second) != 0;
    }
    return n;
}

template <class Map, class K, class V>
measured measure(const std::vector<u64>& numbers) {
    const u64 n = numbers.size(), scans = std::max<u64>(n / 100, 10);
    std::vector<K> keys;
    measured all;
    u64 sum = 0, expected = 0, start;
    keys.reserve(n);
    for (u64 number : numbers) {
        keys.push_back(as<K>::make(number));
        expected += number;
    }
    const u64 with_keys = heap_of<Map>(nullptr);
    auto took = [&](const char* work, u64 entries) {
        const u64 now = cpu_ns();
        all.ns[work] = static_cast<double>(now - start) / static_cast<double>(entries);
        start = cpu_ns();
    };
    {
        Map map;
        start = cpu_ns();
        for (u64 i = 0; i < n; i++)
            map.insert({keys[i], as<V>::make(numbers[i])});
        took("fill", n);
        all.bytes = static_cast<double>(heap_of(&map) - with_keys) / static_cast<double>(n);
        start = cpu_ns();
        for (u64 i = 0; i < n; i++)
            sum += look<Map, V>(map, keys[i * 7919 % n]);
        took("hit", n);
        all.right &= n % 7919 == 0 || sum == expected;
        const u64 seen = scan<Map, V>(map, keys, scans);
        took("scan", std::max<u64>(seen, 1));
        all.right &= seen > 0 && seen <= 100 * scans;
        all.right &= sum_of<Map, V>(map) == expected;
        took("walk", n);
        {
            const Map copy(map);
            took("copy", n);
            all.right &= sum_of<Map, V>(copy) == expected;
        }
        start = cpu_ns();
        for (u64 i = 0; i < n; i += 2) {
            map.erase(keys[i]);
            expected -= numbers[i];
        }
        took("erase", (n + 1) / 2);
        all.right &= sum_of<Map, V>(map) == expected;
        start = cpu_ns();
    }
    took("end", n / 2);
    return all;
}

template <template <class, class> class Map>
kept_subject subject_of(const char* name) {
    return {{name, "", ""},
            {{"8", measure<Map<u64, record<1>>, u64, record<1>>},
             {"16", measure<Map<u64, record<2>>, u64, record<2>>},
             {"32", measure<Map<u64, record<4>>, u64, record<4>>},
             {"64", measure<Map<u64, record<8>>, u64, record<8>>},
             {"text", measure<Map<u64, std::string>, u64, std::string>},
             {"texts", measure<Map<std::string, u64>, std::string, u64>}}};
}

template <class K, class V>
using our_map = lathwork::point_map<K, V>;
template <class K, class V>
using absl_map = absl::btree_map<K, V>;
template <class K, class V>
using std_map = std::map<K, V>;

} // namespace

const std::vector<kept_subject>& kept_subjects() {
    static const std::vector<kept_subject> all{subject_of<our_map>("lathwork"),
                                               subject_of<absl_map>("absl-btree"),
                                               subject_of<std_map>("std-map")};
    return all;
}

} // namespace lathbench
