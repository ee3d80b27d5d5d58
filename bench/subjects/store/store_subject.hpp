// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What table `store` measures: a key-value store filled with items 0, 1, 2, ... Item i has a 64-bit
// key made from i and, as value, i in decimal digits with a NUL, as in the benchmark of llds.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <pthread.h>

#include "lathwork/forrest.h"

namespace lathbench {

// mixed: a bijection of i. path: what the seed's program does for each item: format "key<i>", hash
// it, format i.
enum class item_keys { mixed, path };

struct item {
    std::uint64_t key;
    int size;
    char value[28];
};

inline std::uint64_t mixed_key(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

inline std::uint64_t item_key(std::uint64_t i, item_keys keys) {
    if (keys == item_keys::mixed)
        return mixed_key(i);
    char text[32];
    int n = std::snprintf(text, sizeof text, "key%llu", static_cast<unsigned long long>(i));
    return ft_MurmurHash64A(text, n, 9);
}

inline void make_item(std::uint64_t i, item_keys keys, item& it) {
    it.key = item_key(i, keys);
    if (keys == item_keys::path) {
        it.size =
            std::snprintf(it.value, sizeof it.value, "%llu", static_cast<unsigned long long>(i)) +
            1;
        return;
    }
    char digits[24];
    int n = 0;
    do
        digits[n++] = static_cast<char>('0' + i % 10);
    while (i /= 10);
    for (int j = 0; j < n; ++j)
        it.value[j] = digits[n - 1 - j];
    it.value[n] = 0;
    it.size = n + 1;
}

// What gets of items [first, last) add up to: each is worth the first character of its value.
inline std::uint64_t worth(std::uint64_t first, std::uint64_t last) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = first; i < last; ++i) {
        std::uint64_t d = i;
        while (d >= 10)
            d /= 10;
        sum += '0' + d;
    }
    return sum;
}

struct scan_result {
    std::uint64_t count = 0, sum = 0; // keys and first characters
    bool ordered = true;
};

// An engine that does not keep its contract; other exceptions say that it cannot run here.
struct engine_broken : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class store_engine {
public:
    virtual ~store_engine() = default;
    // Put items in that are not timed. May be faster than set, but leaves the memory as set would.
    virtual void fill(std::uint64_t first, std::uint64_t last, item_keys keys) {
        set(first, last, keys);
    }
    virtual void set(std::uint64_t first, std::uint64_t last, item_keys keys) = 0;
    virtual std::uint64_t get(std::uint64_t first, std::uint64_t last, item_keys keys) = 0;
    virtual bool batched() const { return false; }
    virtual void mset(std::uint64_t, std::uint64_t, item_keys) {}
    virtual std::uint64_t mget(std::uint64_t, std::uint64_t, item_keys) { return 0; }
    virtual bool ordered() const { return true; }
    virtual scan_result scan() { return {}; }
    // The whole value of a key, to verify; empty when it is not there.
    virtual std::string value(std::uint64_t key) = 0;
    // Have the memory at hand that so many timed sets will take, where the engine has a say.
    virtual void prepare(std::uint64_t) {}
};

// Engines that know single keys only: Map::set(key, value, size), Map::get(key) -> first character
// or 0.
template <class Map>
class single_engine : public store_engine {
public:
    void set(std::uint64_t first, std::uint64_t last, item_keys keys) override {
        item it;
        for (std::uint64_t i = first; i < last; ++i) {
            make_item(i, keys, it);
            map.set(it.key, it.value, it.size);
        }
    }
    std::uint64_t get(std::uint64_t first, std::uint64_t last, item_keys keys) override {
        std::uint64_t sum = 0;
        for (std::uint64_t i = first; i < last; ++i)
            sum += map.get(item_key(i, keys));
        return sum;
    }
    scan_result scan() override { return map.scan(); }
    bool ordered() const override { return Map::is_ordered; }
    std::string value(std::uint64_t key) override { return map.value(key); }
    Map map;
};

// One lock around a structure without one of its own, as in the seed's user-space peer.
class one_lock {
public:
    void read() { pthread_rwlock_rdlock(&lock_); }
    void write() { pthread_rwlock_wrlock(&lock_); }
    void done() { pthread_rwlock_unlock(&lock_); }

private:
    pthread_rwlock_t lock_ = PTHREAD_RWLOCK_INITIALIZER;
};

using make_engine = std::function<std::unique_ptr<store_engine>()>;

std::unique_ptr<store_engine> make_lathwork_store();
std::unique_ptr<store_engine> make_lathwork_store_4k();
std::unique_ptr<store_engine> make_lathwork_store_records();
std::unique_ptr<store_engine> make_lathwork_store_shm();
std::unique_ptr<store_engine> make_rbtree_malloc();
std::unique_ptr<store_engine> make_rbtree_arena();
std::unique_ptr<store_engine> make_absl_btree_store();
std::unique_ptr<store_engine> make_flat_hash_store();
std::unique_ptr<store_engine> make_judy_store();
std::unique_ptr<store_engine> make_lmdb_store();

} // namespace lathbench
