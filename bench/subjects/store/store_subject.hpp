// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The subjects of table `store`: key-value stores, filled with items 0, 1, 2, ... Item i has a
// 64-bit key and a value, both made from i (item_kind).
//
// To add one: a class Map for store_bench_of<> in a file of this directory, its function below, a
// line in subjects/lists.cpp and one in bench/CMakeLists.txt.
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
// it formats "key<i>" and hashes that, and formats i where values are decimal. drawn: key i of a
// list (tables/index/distributions.hpp).
enum class item_keys { mixed, path, drawn };

// How values are made. decimal: i in decimal digits with a NUL, as in the benchmark of llds.
// binary8, binary16: random bytes. text64: 64 random letters. mixed: one of decimal, binary8,
// binary16 and 1 to 64 letters.
enum class item_values { decimal, binary8, binary16, text64, mixed };

struct item {
    std::uint64_t key;
    int size;
    char value[64];
};

inline std::uint64_t mixed_key(std::uint64_t i) { return mix_bits(i + golden_ratio); }

// Kind of the items of a store: their keys and values.
struct item_kind {
    item_keys keys = item_keys::mixed;
    item_values values = item_values::decimal;
    const std::uint64_t* drawn = nullptr; // the keys, with item_keys::drawn

    std::uint64_t key(std::uint64_t i) const {
        if (keys == item_keys::mixed)
            return mixed_key(i);
        if (keys == item_keys::drawn)
            return drawn[i];
        char text[32];
        int n = std::snprintf(text, sizeof text, "key%llu", static_cast<unsigned long long>(i));
        return ft_MurmurHash64A(text, n, 9);
    }
    void make(std::uint64_t i, item& it) const {
        it.key = key(i);
        it.size = put_value(i, values, it.value);
    }
    // The sum of the first bytes of the values of items [first, last), which get() must return.
    std::uint64_t worth(std::uint64_t first, std::uint64_t last) const;

private:
    static std::uint64_t random_bits(std::uint64_t i, std::uint64_t which) {
        return mix_bits(i * 8 + which + 7 * golden_ratio);
    }
    // Writes a value and returns its size.
    int put_value(std::uint64_t i, item_values which, char* to) const {
        switch (which) {
        case item_values::decimal:
            return put_decimal(i, to);
        case item_values::binary8:
        case item_values::binary16:
            for (unsigned w = 0; w <= (which == item_values::binary16); ++w) {
                std::uint64_t bits = random_bits(i, w);
                std::memcpy(to + 8 * w, &bits, 8);
            }
            return which == item_values::binary16 ? 16 : 8;
        case item_values::text64:
            return put_letters(i, 64, to);
        default:
            break;
        }
        std::uint64_t bits = random_bits(i, 0);
        if (bits % 4 == 3)
            return put_letters(i, 1 + static_cast<int>(bits / 4 % 64), to);
        constexpr item_values kinds[] = {item_values::decimal, item_values::binary8,
                                         item_values::binary16};
        return put_value(i, kinds[bits % 4], to);
    }
    int put_decimal(std::uint64_t i, char* to) const {
        if (keys == item_keys::path)
            return std::snprintf(to, sizeof item::value, "%llu",
                                 static_cast<unsigned long long>(i)) +
                   1;
        char digits[24];
        int n = 0;
        do
            digits[n++] = static_cast<char>('0' + i % 10);
        while (i /= 10);
        for (int j = 0; j < n; ++j)
            to[j] = digits[n - 1 - j];
        to[n] = 0;
        return n + 1;
    }
    // Letters a to p.
    static int put_letters(std::uint64_t i, int n, char* to) {
        for (unsigned w = 0; w < 8; ++w) {
            std::uint64_t letters =
                (random_bits(i, w / 2) >> (w % 2 * 4) & 0x0f0f0f0f0f0f0f0f) + 0x6161616161616161;
            std::memcpy(to + 8 * w, &letters, 8);
        }
        return n;
    }
};

inline std::uint64_t item_kind::worth(std::uint64_t first, std::uint64_t last) const {
    std::uint64_t sum = 0;
    char value[sizeof item::value];
    for (std::uint64_t i = first; i < last; ++i) {
        put_value(i, values, value);
        sum += static_cast<unsigned char>(value[0]);
    }
    return sum;
}

struct scan_result {
    std::uint64_t count = 0, sum = 0; // sum: of keys and of first bytes of values
    bool ordered = true;
};

// The timed calls over one store. Several threads may be in set, get, mset and mget at once, each
// with its own items; every other call runs alone. A call throws contract_broken when the
// structure breaks its contract, and any other exception when it cannot do its work on this
// machine.
class store_bench {
public:
    virtual ~store_bench() = default;
    // Puts items in, not timed. May be faster than set(), but leaves memory as set() would.
    virtual void fill(std::uint64_t first, std::uint64_t last, const item_kind& kind) {
        set(first, last, kind);
    }
    // Sets items [first, last), one call each.
    virtual void set(std::uint64_t first, std::uint64_t last, const item_kind& kind) = 0;
    // Gets them, one call each. Returns the sum of the first bytes of their values.
    virtual std::uint64_t get(std::uint64_t first, std::uint64_t last, const item_kind& kind) = 0;
    // Whether there are batched calls; then mset and mget do the same with them.
    virtual bool batched() const { return false; }
    virtual void mset(std::uint64_t, std::uint64_t, const item_kind&) {}
    virtual std::uint64_t mget(std::uint64_t, std::uint64_t, const item_kind&) { return 0; }
    // Whether there are counters; then incr() adds one to a counter this many times, by one
    // call each, and take_count() removes it and returns its value. Several threads may be in
    // incr at once.
    virtual bool counts() const { return false; }
    virtual void incr(std::uint64_t, std::uint64_t) {}
    virtual std::int64_t take_count(std::uint64_t) { return 0; }
    virtual bool ordered() const { return true; }
    virtual scan_result scan() { return {}; }
    // Returns the whole value of a key, or an empty string if the key is not there. The value
    // that was set has this size, for structures that keep none.
    virtual std::string value(std::uint64_t key, int size) = 0;
    // Provides the memory that this many timed sets will take, if the structure has a call for
    // that.
    virtual void prepare(std::uint64_t) {}
};

// For structures without batched calls: a class Map has set(key, value, size), get(key), which
// returns the first byte of the value or 0, scan(), value(key, size) and is_ordered.
template <class Map>
class store_bench_of : public store_bench {
public:
    template <class... A>
    explicit store_bench_of(const A&... arguments) : map(arguments...) {}
    void set(std::uint64_t first, std::uint64_t last, const item_kind& kind) override {
        item it;
        for (std::uint64_t i = first; i < last; ++i) {
            kind.make(i, it);
            map.set(it.key, it.value, it.size);
        }
    }
    std::uint64_t get(std::uint64_t first, std::uint64_t last, const item_kind& kind) override {
        std::uint64_t sum = 0;
        for (std::uint64_t i = first; i < last; ++i)
            sum += map.get(kind.key(i));
        return sum;
    }
    scan_result scan() override { return map.scan(); }
    bool ordered() const override { return map.is_ordered; }
    std::string value(std::uint64_t key, int size) override { return map.value(key, size); }
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

// Each is measured in its own process (tables/store/worker.hpp).
struct store_subject : subject {
    store_factory make; // empty: not in this build
    std::vector<std::string> environment; // of its process, NAME=VALUE
        // For a library that the environment preloads: a symbol
        // that must be there then, and the package.
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
// All of them, ours first; they are made once and never change.
const std::vector<store_subject>& store_subjects();

} // namespace lathbench
