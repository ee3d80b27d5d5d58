// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The containers that are built on the index, and the store. Compiled without instrumentation: the
// library has it.
#include "load.hpp"

#include "lathwork/bytes.h"
#include "lathwork/index.h"
#include "lathwork/interval.h"
#include "lathwork/store.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace simulate {

namespace {

void must(int error) {
    if (error) {
        std::fprintf(stderr, "lathwork: error %d\n", error);
        std::abort();
    }
}

// Memory of the machine that a structure has until its end.
template <class T>
class in_machine {
public:
    in_machine() : made_(new(memory(64, sizeof(T))) T{}) {}
    ~in_machine() { give_back(made_); }
    in_machine(const in_machine&) = delete;
    in_machine& operator=(const in_machine&) = delete;
    T* get() const { return made_; }

private:
    T* made_;
};

// An index that counts.
class ranks_structure : public structure {
public:
    ranks_structure() {
        lath_config config = LATH_CONFIG_INIT;
        config.layout = LATH_POINTS;
        config.flags = LATH_RANKS;
        index_ = lath_index_create(&config);
        must(index_ ? 0 : 1);
    }
    ~ranks_structure() override { lath_index_destroy(index_, nullptr, nullptr); }
    ranks_structure(const ranks_structure&) = delete;
    ranks_structure& operator=(const ranks_structure&) = delete;

    void filled() override { lath_index_prepare(index_); }
    bool insert(u64 key, u64 value) override {
        lath_item item{key, 1, value};
        return !lath_index_insert_item(index_, &item, nullptr);
    }
    // its rank too: the counts are up to date then
    bool get(u64 key) override { return lath_index_rank(index_, key) != 0; }
    bool update(u64 key, u64 value) override {
        return !lath_index_replace_item(index_, key, value, nullptr);
    }
    bool erase(u64 key) override { return !lath_index_erase_item(index_, key, nullptr); }

private:
    lath_index* index_;
};

class interval_structure : public structure {
public:
    interval_structure() { must(lath_intervals_init(set_.get(), LATH_HALF_OPEN, nullptr)); }
    ~interval_structure() override { lath_intervals_fini(set_.get(), nullptr, nullptr); }
    interval_structure(const interval_structure&) = delete;
    interval_structure& operator=(const interval_structure&) = delete;

    bool insert(u64 key, u64 value) override {
        lath_interval i{key, key + 4096, value};
        return !lath_intervals_insert(set_.get(), &i);
    }
    bool get(u64 key) override {
        std::array<lath_interval, 4> found;
        return lath_intervals_stab(set_.get(), key, found.data(), found.size());
    }
    // one is put in the place of itself
    bool update(u64 key, u64 value) override { return erase(key) && insert(key, value); }
    bool erase(u64 key) override {
        lath_interval i{key, key + 4096, 5};
        return !lath_intervals_erase(set_.get(), &i);
    }

private:
    in_machine<lath_intervals> set_;
};

// Records of eight bytes, the key in the order of bytes.
class bytes_structure : public structure {
public:
    bytes_structure() {
        const lath_bytes_records records = {key_of, nullptr, 0};
        must(lath_bytes_init(set_.get(), &records, nullptr));
    }
    ~bytes_structure() override { lath_bytes_fini(set_.get(), nullptr, nullptr); }
    bytes_structure(const bytes_structure&) = delete;
    bytes_structure& operator=(const bytes_structure&) = delete;

    bool insert(u64 key, u64) override {
        return !lath_bytes_insert(set_.get(), record(key), nullptr);
    }
    bool get(u64 key) override {
        u64 swapped = __builtin_bswap64(key), value;
        lath_bytes_key k{&swapped, sizeof(swapped), 0};
        return lath_bytes_get(set_.get(), &k, &value);
    }
    bool update(u64 key, u64) override {
        return !lath_bytes_replace(set_.get(), record(key), nullptr);
    }
    bool erase(u64 key) override {
        u64 swapped = __builtin_bswap64(key);
        lath_bytes_key k{&swapped, sizeof(swapped), 0};
        return !lath_bytes_erase(set_.get(), &k, nullptr);
    }

private:
    static void key_of(void*, std::uint64_t value, lath_bytes_key* key) {
        key->data = reinterpret_cast<const void*>(value);
        key->size = sizeof(u64);
    }
    // never freed: a call may look at a record that was replaced
    static u64 record(u64 key) {
        auto* r = static_cast<u64*>(memory(8, sizeof(u64)));
        *r = __builtin_bswap64(key);
        return reinterpret_cast<std::uintptr_t>(r);
    }
    in_machine<lath_bytes> set_;
};

// Numbers as keys and values; an update adds to the number.
class store_structure : public structure {
public:
    store_structure() {
        lath_store_options options = LATH_STORE_OPTIONS_INIT;
        options.keys = LATH_STORE_NUMBERS;
        options.pages = LATH_PAGES_SMALL;
        options.reserve = 64ull << 20;
        must(lath_store_open(&store_, "mem:", &options));
    }
    ~store_structure() override { lath_store_close(store_); }
    store_structure(const store_structure&) = delete;
    store_structure& operator=(const store_structure&) = delete;

    bool insert(u64 key, u64) override {
        return !lath_store_set(store_, lath_key_number(key), "5", 1);
    }
    bool get(u64 key) override {
        std::array<char, 16> value;
        return lath_store_get(store_, lath_key_number(key), value.data(), value.size()) > 0;
    }
    bool update(u64 key, u64 by) override {
        return !lath_store_incr(store_, lath_key_number(key), static_cast<std::int64_t>(by),
                                nullptr);
    }
    bool erase(u64 key) override { return !lath_store_delete(store_, lath_key_number(key)); }

private:
    lath_store* store_ = nullptr;
};

template <class T>
std::unique_ptr<structure> make() {
    return std::make_unique<T>();
}

} // namespace

std::vector<subject> set_subjects() {
    return {
        {"ranks", "lathwork/index.h that counts its keys; a lookup asks for a rank",
         make<ranks_structure>, nullptr, nullptr, nullptr},
        {"intervals", "lathwork/interval.h", make<interval_structure>, nullptr, nullptr, nullptr},
        {"bytes", "lathwork/bytes.h, keys of eight bytes", make<bytes_structure>, nullptr, nullptr,
         nullptr},
        {"store", "lathwork/store.h, numbers; an update adds to one", make<store_structure>,
         nullptr, nullptr, nullptr},
    };
}

} // namespace simulate
