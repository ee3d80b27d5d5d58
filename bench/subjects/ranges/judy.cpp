// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// JudyL: a 256-way trie with compressed nodes. Single-threaded; it has no extents.
#include "map_bench.hpp"

#include <Judy.h>

namespace lathbench {

namespace {

template <class Lock>
class judy_index {
public:
    ~judy_index() { JudyLFreeArray(&root_, nullptr); }
    bool insert(u64 key, u64 value) {
        guard g(lock_);
        auto* cell = reinterpret_cast<Word_t*>(JudyLIns(&root_, key, nullptr));
        if (*cell)
            return false;   // value_of() is never 0
        *cell = value;
        return true;
    }

    bool get(u64 key, u64& value) {
        guard g(lock_);
        auto* cell = reinterpret_cast<Word_t*>(JudyLGet(root_, key, nullptr));
        if (!cell)
            return false;
        value = *cell;
        return true;
    }

    bool update(u64 key, u64 value) {
        guard g(lock_);
        auto* cell = reinterpret_cast<Word_t*>(JudyLGet(root_, key, nullptr));
        if (!cell)
            return false;
        *cell = value;
        return true;
    }

    bool erase(u64 key) {
        guard g(lock_);
        return JudyLDel(&root_, key, nullptr) == 1;
    }

    bool floor(u64 point, u64& key, u64& value) {
        guard g(lock_);
        Word_t at = point;
        auto* cell = reinterpret_cast<Word_t*>(JudyLLast(root_, &at, nullptr));
        if (!cell)
            return false;
        key = at;
        value = *cell;
        return true;
    }

    void scan(u64 from, std::size_t length, tally& t) {
        guard g(lock_);
        Word_t at = from;
        auto* cell = reinterpret_cast<Word_t*>(JudyLFirst(root_, &at, nullptr));
        while (cell && length--) {
            t.add(at, *cell);
            cell = reinterpret_cast<Word_t*>(JudyLNext(root_, &at, nullptr));
        }
    }

private:
    Pvoid_t root_ = nullptr;
    [[no_unique_address]] Lock lock_;
};

} // namespace

range_subject judy_subject() {
    range_subject s;
    s.name = "judy";
    s.map = make_map<judy_index<no_lock>, judy_index<spin_lock>>;
    return s;
}

} // namespace lathbench
