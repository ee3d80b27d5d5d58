// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// absl::btree_map behind a queue lock (queue_lock.h).
#include "load.hpp"

#ifdef LATH_SUBJECT_ABSL
#include "bench/subjects/lock.hpp"

#include <absl/container/btree_map.h>
#include <functional>
#include <iterator>
#include <new>
#include <utility>

namespace simulate {

namespace {

template <class T>
struct allocator {
    using value_type = T;
    allocator() = default;
    template <class U>
    allocator(const allocator<U>&) {} // NOLINT(google-explicit-constructor)
    T* allocate(std::size_t n) { return static_cast<T*>(memory(alignof(T), n * sizeof(T))); }
    void deallocate(T* block, std::size_t) { give_back(block); }
    bool operator==(const allocator&) const { return true; }
};

struct range {
    u64 size, value;
};

template <class Value>
struct locked_map {
    alignas(64) lathbench::spin_lock lock;
    absl::btree_map<u64, Value, std::less<>, allocator<std::pair<const u64, Value>>> map;
};

// A map in the memory of the machine.
template <class Value>
locked_map<Value>* new_map() {
    return new (memory(64, sizeof(locked_map<Value>))) locked_map<Value>;
}

class points : public structure {
public:
    bool insert(u64 key, u64 value) override {
        lathbench::guard g(m_->lock);
        return m_->map.emplace(key, value).second;
    }
    bool get(u64 key) override {
        lathbench::guard g(m_->lock);
        return m_->map.find(key) != m_->map.end();
    }
    bool erase(u64 key) override {
        lathbench::guard g(m_->lock);
        return m_->map.erase(key);
    }
    ~points() override { m_->map.clear(); }

private:
    locked_map<u64>* m_ = new_map<u64>();
};

class ranges : public structure {
public:
    bool insert_range(u64 key, u64 size) override {
        lathbench::guard g(m_->lock);
        auto next = m_->map.lower_bound(key);
        if (next != m_->map.end() && next->first - key < size)
            return false;
        if (next != m_->map.begin() && covers(std::prev(next), key))
            return false;
        m_->map.emplace_hint(next, key, range{size, 1});
        return true;
    }
    bool find(u64 point) override {
        lathbench::guard g(m_->lock);
        return look(point) != m_->map.end();
    }
    bool take(u64 point) override {
        lathbench::guard g(m_->lock);
        auto at = look(point);
        if (at == m_->map.end())
            return false;
        m_->map.erase(at);
        return true;
    }
    ~ranges() override { m_->map.clear(); }

private:
    template <class Iterator>
    static bool covers(Iterator at, u64 point) {
        return point - at->first < at->second.size;
    }
    decltype(locked_map<range>::map)::iterator look(u64 point) {
        auto at = m_->map.upper_bound(point);
        if (at == m_->map.begin())
            return m_->map.end();
        --at;
        return covers(at, point) ? at : m_->map.end();
    }
    locked_map<range>* m_ = new_map<range>();
};

template <class Structure>
std::unique_ptr<structure> make() {
    return std::make_unique<Structure>();
}

} // namespace

std::vector<subject> absl_subjects() {
    return {
        {"absl", "absl::btree_map, one queue lock", make<points>, make<ranges>, nullptr, nullptr}};
}

} // namespace simulate

#else

namespace simulate {

std::vector<subject> absl_subjects() { return {}; }

} // namespace simulate

#endif
