// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The trees of Boost.Intrusive, whose nodes are in the requests, and the heaps of Boost.Heap, which
// allocate their nodes.
#include "driver.hpp"

#include <boost/heap/d_ary_heap.hpp>
#include <boost/heap/fibonacci_heap.hpp>
#include <boost/heap/pairing_heap.hpp>
#include <boost/intrusive/avltree.hpp>
#include <boost/intrusive/rbtree.hpp>
#include <boost/intrusive/splaytree.hpp>
#include <boost/intrusive/treap_set.hpp>

namespace lathbench {

namespace {

namespace bi = boost::intrusive;
using normal = bi::link_mode<bi::normal_link>;

template <class Hook>
struct alignas(64) item {
    std::uint64_t key;
    Hook hook;
    std::uint64_t priority; // treap only
    char data[256 - 16 - sizeof(Hook)];
    friend bool operator<(const item& a, const item& b) { return a.key < b.key; }
};

template <class Tree>
class intrusive : public keyed_queue<typename Tree::value_type> {
public:
    using request = typename Tree::value_type;
    using keyed_queue<request>::keyed_queue;
    ~intrusive() { tree_.clear(); }
    void push(request* r) { tree_.insert_equal(*r); }
    request* pop() {
        request* r = &*tree_.begin();
        tree_.erase(tree_.begin());
        return r;
    }

protected:
    Tree tree_;
};

using rb_hook = bi::set_member_hook<normal, bi::optimize_size<true>>;
using avl_hook = bi::avl_set_member_hook<normal, bi::optimize_size<true>>;
using bst_hook = bi::bs_set_member_hook<normal>;
template <class Hook>
using member = bi::member_hook<item<Hook>, Hook, &item<Hook>::hook>;
using rb = bi::rbtree<item<rb_hook>, member<rb_hook>, bi::constant_time_size<false>>;
using avl = bi::avltree<item<avl_hook>, member<avl_hook>, bi::constant_time_size<false>>;
using splay = bi::splaytree<item<bst_hook>, member<bst_hook>, bi::constant_time_size<false>>;

struct by_priority {
    bool operator()(const item<bst_hook>& a, const item<bst_hook>& b) const {
        return a.priority < b.priority;
    }
};

class treap : public intrusive<
                  bi::treap_multiset<item<bst_hook>, member<bst_hook>, bi::priority<by_priority>,
                                     bi::constant_time_size<false>>> {
public:
    using intrusive::intrusive;
    void push(request* r) {
        dice_ ^= dice_ << 13;
        dice_ ^= dice_ >> 7;
        dice_ ^= dice_ << 17;
        r->priority = dice_;
        tree_.insert(*r);
    }

private:
    std::uint64_t dice_ = 88172645463325252u;
};

struct no_hook {
    void* words[3];
};

// Ordered so that the entry with the lowest key is on top of a heap.
struct entry {
    std::uint64_t key;
    item<no_hook>* request;
    bool operator<(const entry& o) const { return key > o.key; }
};

template <class Heap>
class allocating : public keyed_queue<item<no_hook>> {
public:
    using keyed_queue::keyed_queue;
    void push(request* r) { heap_.push({r->key, r}); }
    request* pop() {
        request* r = heap_.top().request;
        heap_.pop();
        return r;
    }

private:
    Heap heap_;
};

} // namespace

std::vector<sort_subject> boost_sort() {
    namespace bh = boost::heap;
    return {
        sort_subject_of<intrusive<rb>>("boost-rbtree"),
        sort_subject_of<intrusive<avl>>("boost-avl"),
        sort_subject_of<intrusive<splay>>("boost-splay"),
        sort_subject_of<treap>("boost-treap"),
        sort_subject_of<allocating<bh::fibonacci_heap<entry>>>("boost-fibonacci",
                                                               "allocates nodes"),
        sort_subject_of<allocating<bh::pairing_heap<entry>>>("boost-pairing", "allocates nodes"),
        sort_subject_of<allocating<bh::d_ary_heap<entry, bh::arity<4>>>>("boost-dary4"),
    };
}

} // namespace lathbench
