// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Ours, through the public calls alone: the set with snapshots, and the set of byte keys without.
#include "snapshots_subject.hpp"

#include "lathwork/versions.h"

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <system_error>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

struct record {
    union {
        lath_version version;
        lath_rcu_head rcu; // of the set without versions
    };
    u64 number;
    bytes16 key;
};

const record& record_at(u64 value) { return *reinterpret_cast<const record*>(value); }

lath_bytes_key key_of(const bytes16& key) { return {key.data(), key.size(), 0}; }

extern "C" void bench_version_key(void*, u64 value, lath_bytes_key* key) {
    *key = key_of(record_at(value).key);
}

record* new_record(const bytes16& key, u64 number) {
    auto* r = static_cast<record*>(std::malloc(sizeof(record)));
    if (!r)
        throw std::bad_alloc();
    r->key = key;
    r->number = number;
    return r;
}

void check(int error, const char* what) {
    if (error)
        throw std::system_error(-error, std::generic_category(), what);
}

class versions_map : public versioned_map {
public:
    versions_map() {
        lath_versions_records records{bench_version_key, [](void*, void* r) { std::free(r); },
                                      nullptr, offsetof(record, version), 0};
        check(lath_versions_init(&set_, &records, nullptr), "lath_versions_init");
    }
    ~versions_map() override { lath_versions_fini(&set_); }
    versions_map(const versions_map&) = delete;
    versions_map& operator=(const versions_map&) = delete;

    void put(const bytes16& key, u64 number) override {
        check(lath_versions_put(&set_, new_record(key, number), nullptr), "lath_versions_put");
    }
    void take() override { lath_snapshot_take(&set_, &snapshot_); }
    void release() override { lath_snapshot_release(&set_, &snapshot_); }
    u64 get(const bytes16& key, bool at) override {
        lath_bytes_key k = key_of(key);
        void* found;
        return lath_versions_get(&set_, at ? &snapshot_ : nullptr, &k, &found)
                   ? static_cast<record*>(found)->number
                   : 0;
    }
    u64 scan(const bytes16& from, std::size_t most, bool at) override {
        lath_bytes_key k = key_of(from);
        lath_versions_cursor cursor;
        void* found;
        u64 sum = 0;
        lath_versions_cursor_init(&cursor, &set_, at ? &snapshot_ : nullptr);
        int there = lath_versions_cursor_seek(&cursor, &k, &found);
        while (there && most) {
            sum += static_cast<record*>(found)->number;
            if (--most)
                there = lath_versions_cursor_next(&cursor, &found);
        }
        return sum;
    }

private:
    lath_versions set_;
    lath_snapshot snapshot_;
};

class plain_map : public versioned_map {
public:
    plain_map() {
        lath_bytes_records records{bench_version_key, nullptr, 0};
        check(lath_bytes_init(&set_, &records, nullptr), "lath_bytes_init");
    }
    ~plain_map() override {
        lath_rcu_auto.drain();
        lath_bytes_fini(
            &set_, [](void*, u64 value) { std::free(reinterpret_cast<record*>(value)); }, nullptr);
    }
    plain_map(const plain_map&) = delete;
    plain_map& operator=(const plain_map&) = delete;

    void put(const bytes16& key, u64 number) override {
        record* r = new_record(key, number);
        lath_bytes_key k = key_of(r->key);
        lath_bytes_place place;
        int error;
        lath_rcu_auto.read_lock();
        do {
            lath_bytes_find(&set_, &k, &place);
            error = lath_bytes_put(&set_, &place, reinterpret_cast<u64>(r));
        } while (error == -EAGAIN);
        if (!error && place.value)
            lath_rcu_auto.call(&reinterpret_cast<record*>(place.value)->rcu,
                               [](lath_rcu_head* head) { std::free(head); });
        lath_rcu_auto.read_unlock();
        check(error, "lath_bytes_put");
    }
    void take() override {}
    void release() override {}
    u64 get(const bytes16& key, bool) override {
        lath_bytes_key k = key_of(key);
        u64 value;
        return lath_bytes_get(&set_, &k, &value) ? record_at(value).number : 0;
    }
    u64 scan(const bytes16& from, std::size_t most, bool) override {
        lath_bytes_key k = key_of(from);
        lath_bytes_cursor cursor;
        u64 value, sum = 0;
        lath_bytes_cursor_init(&cursor, &set_);
        int there = lath_bytes_cursor_seek(&cursor, &k, &value);
        while (there && most) {
            sum += record_at(value).number;
            if (--most)
                there = lath_bytes_cursor_next(&cursor, &value);
        }
        return sum;
    }

private:
    lath_bytes set_;
};

} // namespace

versioned_subject lathwork_versions() {
    return {{"lathwork", "lathwork/versions.h", ""},
            [] { return std::make_unique<versions_map>(); }};
}

versioned_subject lathwork_without_versions() {
    versioned_subject s{{"lathwork-bytes", "lathwork/bytes.h, without snapshots", ""},
                        [] { return std::make_unique<plain_map>(); }};
    s.snapshots = false;
    return s;
}

} // namespace lathbench
