// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Ours, and the usual designs: a page table or a balanced tree behind a reader-writer lock.
#include "registrations_subject.hpp"

#include "lathwork/index.h"

#include <array>
#include <map>
#include <new>
#include <system_error>

#include <pthread.h>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

void take(region& r) { r.refs.fetch_add(1, std::memory_order_acq_rel); }

region* region_of(const lath_item* item) {
    return reinterpret_cast<region*>(static_cast<std::uintptr_t>(item->value));
}

int pin(void*, const lath_item* item) {
    take(*region_of(item));
    return 1;
}

void unpin(void*, const lath_item* item) {
    region_of(item)->refs.fetch_sub(1, std::memory_order_release);
}

class lathwork_cache : public registration_cache {
public:
    lathwork_cache() {
        if (int error = lath_index_init(&index_, nullptr))
            throw std::system_error(-error, std::generic_category(), "lath_index_init");
    }
    ~lathwork_cache() override { lath_index_fini(&index_, nullptr, nullptr); }
    lathwork_cache(const lathwork_cache&) = delete;
    lathwork_cache& operator=(const lathwork_cache&) = delete;

    void insert(region& r) override {
        lath_item item{r.key, r.size, reinterpret_cast<std::uintptr_t>(&r)};
        if (int error = lath_index_insert_item(&index_, &item, nullptr))
            throw std::system_error(-error, std::generic_category(), "lath_index_insert_item");
    }
    region* get(u64 address) override {
        static constexpr lath_pin how = {pin, unpin, nullptr};
        lath_item found;
        return lath_index_lookup_pin(&index_, address, &how, &found) ? nullptr : region_of(&found);
    }

protected:
    lath_index index_;
};

// What a lookup costs without a reference; such a region may go at any moment.
class lathwork_lookup : public lathwork_cache {
public:
    region* get(u64 address) override {
        lath_item found;
        return lath_index_lookup_item(&index_, address, &found) ? nullptr : region_of(&found);
    }
    void put(region&) override {}
};

class rwlock {
public:
    rwlock() = default;
    ~rwlock() { pthread_rwlock_destroy(&lock_); }
    rwlock(const rwlock&) = delete;
    rwlock& operator=(const rwlock&) = delete;
    void read() { pthread_rwlock_rdlock(&lock_); }
    void write() { pthread_rwlock_wrlock(&lock_); }
    void unlock() { pthread_rwlock_unlock(&lock_); }

private:
    pthread_rwlock_t lock_ = PTHREAD_RWLOCK_INITIALIZER;
};

// Four levels of 512 entries over pages of 4 KiB, as processors have them.
class page_table : public registration_cache {
public:
    ~page_table() override { drop(root_, 3); }
    void insert(region& r) override {
        lock_.write();
        for (u64 at = r.key; at < r.key + r.size; at += 4096)
            *slot(at, true) = &r;
        lock_.unlock();
    }
    region* get(u64 address) override {
        lock_.read();
        void** entry = slot(address, false);
        auto* found = entry ? static_cast<region*>(*entry) : nullptr;
        if (found)
            take(*found);
        lock_.unlock();
        return found;
    }

private:
    using node = std::array<void*, 512>;

    void** slot(u64 address, bool make) {
        node* at = &root_;
        for (int level = 3; level > 0; level--) {
            void*& below = (*at)[address >> (12 + 9 * level) & 511];
            if (!below) {
                if (!make)
                    return nullptr;
                below = new node();
            }
            at = static_cast<node*>(below);
        }
        return &(*at)[address >> 12 & 511];
    }
    static void drop(node& of, int level) {
        for (void* below : of)
            if (level > 0 && below) {
                drop(*static_cast<node*>(below), level - 1);
                delete static_cast<node*>(below);
            }
    }

    node root_{};
    rwlock lock_;
};

class tree_cache : public registration_cache {
public:
    void insert(region& r) override {
        lock_.write();
        tree_.emplace(r.key, &r);
        lock_.unlock();
    }
    region* get(u64 address) override {
        lock_.read();
        auto after = tree_.upper_bound(address);
        region* found = after == tree_.begin() ? nullptr : std::prev(after)->second;
        if (found && address - found->key >= found->size)
            found = nullptr;
        if (found)
            take(*found);
        lock_.unlock();
        return found;
    }

private:
    std::map<u64, region*> tree_;
    rwlock lock_;
};

template <typename Cache>
registration_subject make(const char* name, const char* note) {
    return {{name, note, ""}, [] { return std::make_unique<Cache>(); }};
}

} // namespace

const std::vector<registration_subject>& registration_subjects() {
    static const std::vector<registration_subject> list = {
        make<lathwork_cache>("lathwork", "lath_index_lookup_pin()"),
        make<lathwork_lookup>("lathwork-lookup", "a plain lookup: no reference is taken"),
        make<page_table>("page-table", "four levels behind a pthread_rwlock_t"),
        make<tree_cache>("std-map", "behind a pthread_rwlock_t"),
    };
    return list;
}

} // namespace lathbench
