// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A subject of table `bytes` from an ordered map of strings.
#pragma once

#include "bytes_subject.hpp"

#include "harness/memory.hpp"
#include "subjects/lock.hpp"

#include <algorithm>

namespace lathbench {

// View is the string_view that the map compares keys with.
template <class Map, class View, class Lock>
class map_bytes : public bytes_set {
    using key_type = typename Map::key_type;

public:
    void insert(const bench_record& record) override {
        guard hold(lock_);
        map_.emplace(key_type(view(record)), record.value);
    }
    std::uint64_t get(const bench_record& key) override {
        guard hold(lock_);
        auto at = map_.find(view(key));
        return at == map_.end() ? 0 : at->second;
    }
    std::uint64_t scan(const bench_record& from, std::size_t most) override {
        guard hold(lock_);
        std::uint64_t sum = 0;
        for (auto at = map_.lower_bound(view(from)); most-- && at != map_.end(); ++at)
            sum += at->second;
        return sum;
    }
    bool erase(const bench_record& key) override {
        guard hold(lock_);
        auto at = map_.find(view(key));
        if (at == map_.end())
            return false;
        map_.erase(at);
        return true;
    }
    std::uint64_t bytes() const override { return std::max(heap_bytes(), before_) - before_; }

private:
    static View view(const bench_record& record) { return View(record.data, record.whole); }

    std::uint64_t before_ = heap_bytes();
    Lock lock_;
    Map map_;
};

template <class Map, class View = std::string_view>
std::unique_ptr<bytes_set> make_map_bytes(bool locked) {
    if (locked)
        return std::make_unique<map_bytes<Map, View, spin_lock>>();
    return std::make_unique<map_bytes<Map, View, no_lock>>();
}

} // namespace lathbench
