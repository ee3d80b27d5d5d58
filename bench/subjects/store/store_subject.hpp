// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The subjects of table `store`: key-value stores, filled with items 0, 1, 2, ... Item i has a
// 64-bit key made from i; its value is i in decimal digits with a NUL, as in the benchmark of llds.
//
// To add one: a class Map for store_bench_of<> in a file of this directory, its function below, a
// line in subjects.cpp and one in bench/CMakeLists.txt.
#pragma once

#include "harness/random.hpp"
#include "harness/subject.hpp"

#include "lathwork/forrest.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <pthread.h>

namespace lathbench {

// How keys are made. mixed: by a bijection of i. path: as the program of llds does for each item;
// it formats "key<i>", hashes that and formats i.
enum class item_keys { mixed, path };

struct item {
    std::uint64_t key;
    int size;
    char value[28];
};

inline std::uint64_t mixed_key(std::uint64_t i) { return mix_bits(i + golden_ratio); }

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

// The sum of the first characters of the values of items [first, last), which get() must return.
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
    std::uint64_t count = 0, sum = 0; // sum: of keys and of first characters of values
    bool ordered = true;
};

// The timed calls over one store. Several threads may be in set, get, mset and mget at once, each
// with items of its own; every other call runs alone. A call throws contract_broken when the
// structure breaks its contract, and any other exception when it cannot do its work on this
// machine.
class store_bench {
public:
    virtual ~store_bench() = default;
    // Puts items in, not timed. May be faster than set(), but leaves memory as set() would.
    virtual void fill(std::uint64_t first, std::uint64_t last, item_keys keys) {
        set(first, last, keys);
    }
    // Sets items [first, last), one call each.
    virtual void set(std::uint64_t first, std::uint64_t last, item_keys keys) = 0;
    // Gets them, one call each. Returns the sum of the first characters of their values.
    virtual std::uint64_t get(std::uint64_t first, std::uint64_t last, item_keys keys) = 0;
    // Whether there are batched calls; then mset and mget do the same with them.
    virtual bool batched() const { return false; }
    virtual void mset(std::uint64_t, std::uint64_t, item_keys) {}
    virtual std::uint64_t mget(std::uint64_t, std::uint64_t, item_keys) { return 0; }
    virtual bool ordered() const { return true; }
    virtual scan_result scan() { return {}; }
    // Returns the whole value of a key, or an empty string if the key is not there.
    virtual std::string value(std::uint64_t key) = 0;
    // Provides the memory that so many timed sets will take, if the structure has a call for that.
    virtual void prepare(std::uint64_t) {}
};

// For structures without batched calls: a class Map has set(key, value, size), get(key), which
// returns the first character of the value or 0, scan(), value(key) and is_ordered.
template <class Map>
class store_bench_of : public store_bench {
public:
    template <class... A>
    explicit store_bench_of(const A&... arguments) : map(arguments...) {}
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
    bool ordered() const override { return map.is_ordered; }
    std::string value(std::uint64_t key) override { return map.value(key); }
    Map map;
};

// The reader-writer lock in front of structures that have none, as in the benchmark of llds.
class one_lock {
public:
    void read() { pthread_rwlock_rdlock(&lock_); }
    void write() { pthread_rwlock_wrlock(&lock_); }
    void done() { pthread_rwlock_unlock(&lock_); }

private:
    pthread_rwlock_t lock_ = PTHREAD_RWLOCK_INITIALIZER;
};

using store_factory = std::function<std::unique_ptr<store_bench>()>;

// Each is measured in a process of its own (tables/store/worker.hpp).
struct store_subject : subject {
    store_factory make; // empty: not in this build
    std::vector<std::string> environment; // of its process, NAME=VALUE
    // For a library that the environment preloads: a symbol that must be there then, and the
    // package.
    const char* symbol = nullptr;
    const char* package = "";
    bool small_pages = false; // its process gets no huge pages
    bool many_threads = true; // false: one writer only
    std::vector<std::string> arguments; // of lath bench store in its process
};

std::unique_ptr<store_bench> make_lathwork_store();
std::unique_ptr<store_bench> make_lathwork_store_4k();
std::unique_ptr<store_bench> make_lathwork_store_records();
std::unique_ptr<store_bench> make_lathwork_store_shm();
std::unique_ptr<store_bench> make_rbtree_malloc();
std::unique_ptr<store_bench> make_rbtree_arena();
std::unique_ptr<store_bench> make_absl_btree_store();
std::unique_ptr<store_bench> make_flat_hash_store();
std::unique_ptr<store_bench> make_judy_store();
std::unique_ptr<store_bench> make_lmdb_store();
// Those that --vs named (subjects/loaded/store.cpp).
std::vector<store_subject> loaded_store();

// All of them, ours first; they are made once and never change.
const std::vector<store_subject>& store_subjects();

} // namespace lathbench
