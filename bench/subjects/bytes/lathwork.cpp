// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Ours, through the public calls alone: the set of byte keys, and a store, which copies keys.
#include "bytes_subject.hpp"

#include "lathwork/bytes.h"
#include "lathwork/store.h"

#include <array>
#include <cstring>
#include <new>
#include <stdexcept>
#include <system_error>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

const bench_record& record_of(u64 value) { return *reinterpret_cast<const bench_record*>(value); }

lath_bytes_key key_of(const bench_record& record) { return {record.data, record.size, record.tag}; }

extern "C" void bench_key_of(void*, u64 value, lath_bytes_key* key) {
    *key = key_of(record_of(value));
}

class lathwork_set : public bytes_set {
public:
    lathwork_set() {
        lath_bytes_records records{bench_key_of, nullptr, LATH_BYTES_DESCENDING};
        if (int error = lath_bytes_init(&set_, &records, nullptr))
            throw std::system_error(-error, std::generic_category(), "lath_bytes_init");
    }
    ~lathwork_set() override { lath_bytes_fini(&set_, nullptr, nullptr); }
    lathwork_set(const lathwork_set&) = delete;
    lathwork_set& operator=(const lathwork_set&) = delete;

    void insert(const bench_record& record) override {
        if (lath_bytes_insert(&set_, reinterpret_cast<u64>(&record), nullptr))
            throw std::bad_alloc();
    }
    u64 get(const bench_record& key) override {
        lath_bytes_key k = key_of(key);
        u64 value;
        return lath_bytes_get(&set_, &k, &value) ? record_of(value).value : 0;
    }
    u64 get_batch(const bench_record* const* keys, std::size_t n) override {
        std::array<lath_bytes_key, 64> k{};
        std::array<u64, 64> values;
        u64 sum = 0;
        for (std::size_t i = 0; i < n; i++)
            k[i] = key_of(*keys[i]);
        lath_bytes_get_batch(&set_, n, k.data(), values.data());
        for (std::size_t i = 0; i < n; i++)
            sum += values[i] ? record_of(values[i]).value : 0;
        return sum;
    }
    u64 scan(const bench_record& from, std::size_t most) override {
        lath_bytes_key k = key_of(from);
        lath_bytes_cursor cursor;
        u64 value, sum = 0;
        lath_bytes_cursor_init(&cursor, &set_);
        int there = lath_bytes_cursor_seek(&cursor, &k, &value);
        while (there && most) {
            sum += record_of(value).value;
            if (--most)
                there = lath_bytes_cursor_next(&cursor, &value);
        }
        return sum;
    }
    bool erase(const bench_record& key) override {
        lath_bytes_key k = key_of(key);
        return lath_bytes_erase(&set_, &k, nullptr) == 0;
    }
    u64 bytes() const override {
        lath_bytes_stats stats;
        lath_bytes_get_stats(&set_, &stats);
        return stats.bytes + stats.arrays * 16; // malloc's part
    }

private:
    mutable lath_bytes set_;
};

class store_set : public bytes_set {
public:
    store_set() {
        lath_store_options options = LATH_STORE_OPTIONS_INIT;
        options.keys = LATH_STORE_BYTES;
        if (lath_store_open(&store_, "mem:", &options))
            throw std::runtime_error("lathwork-store: cannot be opened");
    }
    ~store_set() override { lath_store_close(store_); }
    store_set(const store_set&) = delete;
    store_set& operator=(const store_set&) = delete;

    void insert(const bench_record& record) override {
        if (lath_store_set(store_, key(record), &record.value, sizeof(record.value)))
            throw std::bad_alloc();
    }
    u64 get(const bench_record& record) override {
        u64 value = 0;
        lath_store_get(store_, key(record), &value, sizeof(value));
        return value;
    }
    u64 get_batch(const bench_record* const* keys, std::size_t n) override {
        std::array<lath_store_key, 64> k{};
        std::array<lath_store_ref, 64> refs;
        u64 sum = 0;
        for (std::size_t i = 0; i < n; i++)
            k[i] = key(*keys[i]);
        lath_store_read_begin(store_);
        lath_store_mget(store_, n, k.data(), refs.data());
        for (std::size_t i = 0; i < n; i++) {
            u64 value = 0;
            if (refs[i].data)
                std::memcpy(&value, refs[i].data, sizeof(value));
            sum += value;
        }
        lath_store_read_end(store_);
        return sum;
    }
    u64 scan(const bench_record& from, std::size_t most) override {
        lath_store_key at = key(from);
        lath_store_range range{&at, nullptr, nullptr, 0};
        lath_store_iter* iter;
        lath_store_ref ref;
        u64 sum = 0;
        if (lath_store_iter_begin(store_, &range, &iter))
            throw std::bad_alloc();
        while (most-- && lath_store_iter_next(iter, &at, &ref) > 0) {
            u64 value;
            std::memcpy(&value, ref.data, sizeof(value));
            sum += value;
        }
        lath_store_iter_end(iter);
        return sum;
    }
    bool erase(const bench_record& record) override {
        return lath_store_delete(store_, key(record)) == 0;
    }
    u64 bytes() const override {
        lath_store_stats stats;
        lath_store_get_stats(store_, &stats);
        return stats.index_bytes + stats.record_bytes;
    }

private:
    static lath_store_key key(const bench_record& record) {
        return lath_key_bytes(record.data, record.whole);
    }

    lath_store* store_ = nullptr;
};

} // namespace

bytes_subject lathwork_bytes() {
    return {{"lathwork", "", ""}, [](bool) { return std::make_unique<lathwork_set>(); }};
}

bytes_subject lathwork_store_bytes() {
    return {{"lathwork-store", "copies keys and values", ""},
            [](bool) { return std::make_unique<store_set>(); }};
}

} // namespace lathbench
