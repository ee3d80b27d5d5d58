// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "store_subject.hpp"

#include <absl/container/btree_map.h>
#include <absl/container/flat_hash_map.h>

#include <cstdlib>

namespace lathbench {

namespace {

template <class Map, bool Ordered>
struct absl_map {
    static constexpr bool is_ordered = Ordered;

    void set(std::uint64_t key, const char* value, int size) {
        char* copy = static_cast<char*>(std::malloc(static_cast<std::size_t>(size)));
        std::memcpy(copy, value, static_cast<std::size_t>(size));
        lock.write();
        map.insert({key, copy});
        lock.done();
    }
    std::uint64_t get(std::uint64_t key) {
        lock.read();
        auto it = map.find(key);
        std::uint64_t first = it == map.end() ? 0 : static_cast<unsigned char>(it->second[0]);
        lock.done();
        return first;
    }
    scan_result scan() {
        scan_result r;
        std::uint64_t before = 0;
        for (const auto& [key, value] : map) {
            r.sum += key + static_cast<unsigned char>(value[0]);
            r.ordered &= key >= before;
            before = key;
            ++r.count;
        }
        return r;
    }
    std::string value(std::uint64_t key, int size) {
        auto it = map.find(key);
        return it == map.end() ? "" : std::string(it->second, static_cast<std::size_t>(size));
    }

    Map map;
    one_lock lock;
};

} // namespace

std::unique_ptr<store_bench> make_absl_btree_store() {
    return std::make_unique<
        store_bench_of<absl_map<absl::btree_map<std::uint64_t, char*>, true>>>();
}
std::unique_ptr<store_bench> make_flat_hash_store() {
    return std::make_unique<
        store_bench_of<absl_map<absl::flat_hash_map<std::uint64_t, char*>, false>>>();
}

} // namespace lathbench
