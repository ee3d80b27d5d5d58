// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Ours, through the C++ containers: point_map<K, V> and range_map<T>.
#include "map_bench.hpp"
#include "range_bench.hpp"

#include "lathwork/cxx/index.hpp"
#include "lathwork/cxx/point_map.hpp"

#include <array>
#include <optional>
#include <span>

namespace lathbench {

namespace {

class cxx_ranges {
public:
    bool insert(extent* item) { return bool(map_.insert(item->key, item->key + item->size, item)); }
    extent* lookup(u64 point) { return map_.find(point).value_or(nullptr); }
    extent* erase(u64 point) {
        auto gone = map_.remove_covering(point);
        return gone ? *gone : nullptr;
    }

private:
    lathwork::range_map<extent*> map_;
};

class cxx_index {
public:
    bool insert(u64 key, u64 value) { return bool(map_.try_emplace(key, value)); }
    bool get(u64 key, u64& value) {
        const auto found = map_.find(key);
        if (found)
            value = found->second;
        return static_cast<bool>(found);
    }
    bool update(u64 key, u64 value) { return bool(map_.replace(key, value)); }
    bool erase(u64 key) { return bool(map_.erase(key)); }

    bool floor(u64 point, u64& key, u64& value) {
        auto entry = map_.floor(point);
        if (!entry)
            return false;
        key = entry->first;
        value = entry->second;
        return true;
    }

    void scan(u64 from, std::size_t length, tally& t) {
        for (auto it = map_.lower_bound(from); length-- && it != map_.end(); ++it)
            t.add(it->first, it->second);
    }

    void get_batch(const u64* keys, std::size_t n, tally& t) {
        std::array<std::optional<u64>, batch_size> values;
        map_.find_batch(std::span(keys, n), std::span(values).first(n));
        for (std::size_t i = 0; i < n; i++)
            if (values[i])
                t.add(keys[i], *values[i]);
    }

    u64 insert_batch(const u64* keys, std::size_t n) {
        std::array<std::pair<u64, u64>, batch_size> entries;
        for (std::size_t i = 0; i < n; i++)
            entries[i] = {keys[i], value_of(keys[i])};
        return map_.insert_batch(std::span(entries).first(n));
    }

    // nodes are mapped, not malloc'ed
    static u64 memory() { return resident_bytes(); }

private:
    lathwork::point_map<u64, u64> map_;
};

} // namespace

range_subject lathwork_cxx_subject() {
    range_subject s;
    s.name = "lathwork-cxx";
    s.ranges = make_ranges<cxx_ranges>;
    s.map = make_map<cxx_index>;
    return s;
}

} // namespace lathbench
