// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What the peers of table `ranks` share: a lock if there are several threads, and their memory.
#pragma once

#include "ranks_subject.hpp"

#include "harness/memory.hpp"
#include "subjects/lock.hpp"

#include <algorithm>

namespace lathbench {

// Tree: insert(key), rank(key), select(rank).
template <class Tree, class Lock>
class locked_set : public ranked_set {
    using u64 = std::uint64_t;

public:
    void insert(u64 key) override {
        guard hold(lock_);
        tree_.insert(key);
    }
    u64 rank(u64 key) override {
        guard hold(lock_);
        return tree_.rank(key);
    }
    u64 select(u64 rank) override {
        guard hold(lock_);
        return tree_.select(rank);
    }
    u64 count(u64 from, u64 last) override {
        guard hold(lock_);
        return tree_.rank(last + 1) - tree_.rank(from);
    }
    u64 bytes() const override { return std::max(heap_bytes(), before_) - before_; }

private:
    u64 before_ = heap_bytes();
    Lock lock_;
    Tree tree_;
};

template <class Tree>
std::unique_ptr<ranked_set> make_locked_set(bool locked) {
    if (locked)
        return std::make_unique<locked_set<Tree, spin_lock>>();
    return std::make_unique<locked_set<Tree, no_lock>>();
}

} // namespace lathbench
