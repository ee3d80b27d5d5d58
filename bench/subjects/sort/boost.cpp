// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Boost.Intrusive's trees, nodes in the requests; Boost.Heap's heaps, which allocate their nodes.
#include "driver.hpp"

#ifdef LATH_PEER_BOOST
#include <boost/heap/d_ary_heap.hpp>
#include <boost/heap/fibonacci_heap.hpp>
#include <boost/heap/pairing_heap.hpp>
#include <boost/intrusive/avltree.hpp>
#include <boost/intrusive/rbtree.hpp>
#include <boost/intrusive/splaytree.hpp>
#include <boost/intrusive/treap_set.hpp>
#endif

namespace lathbench {

#ifdef LATH_PEER_BOOST

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
class intrusive {
public:
    using request = typename Tree::value_type;
    static void set_key(request* r, std::uint64_t key) { r->key = key; }
    static std::uint64_t touch(const request* r) { return r->key; }
    intrusive(const sort_plan&, request*, std::uint32_t) {}
    ~intrusive() { tree_.clear(); }
    void push(request* r) { tree_.insert_equal(*r); }
    request* pop() {
        request* r = &*tree_.begin();
        tree_.erase(tree_.begin());
        return r;
    }

private:
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

class treap {
public:
    using request = item<bst_hook>;
    static void set_key(request* r, std::uint64_t key) { r->key = key; }
    static std::uint64_t touch(const request* r) { return r->key; }
    treap(const sort_plan&, request*, std::uint32_t) {}
    ~treap() { tree_.clear(); }
    void push(request* r) {
        dice_ ^= dice_ << 13;
        dice_ ^= dice_ >> 7;
        dice_ ^= dice_ << 17;
        r->priority = dice_;
        tree_.insert(*r);
    }
    request* pop() {
        request* r = &*tree_.begin();
        tree_.erase(tree_.begin());
        return r;
    }

private:
    bi::treap_multiset<request, member<bst_hook>, bi::priority<by_priority>,
                       bi::constant_time_size<false>>
        tree_;
    std::uint64_t dice_ = 88172645463325252u;
};

struct no_hook {
    void* words[3];
};

// key and pointer, least key on top
struct entry {
    std::uint64_t key;
    item<no_hook>* request;
    bool operator<(const entry& o) const { return key > o.key; }
};

template <class Heap>
class allocating {
public:
    using request = item<no_hook>;
    static void set_key(request* r, std::uint64_t key) { r->key = key; }
    static std::uint64_t touch(const request* r) { return r->key; }
    allocating(const sort_plan&, request*, std::uint32_t) {}
    void push(request* r) { heap_.push({r->key, r}); }
    request* pop() {
        request* r = heap_.top().request;
        heap_.pop();
        return r;
    }

private:
    Heap heap_;
};

template <class Q>
sort_subject subject_of(const char* name, const char* note) {
    return {name, note, {}, run_sort<Q>, {}};
}

} // namespace

void add_boost_sort(std::vector<sort_subject>& list) {
    namespace bh = boost::heap;
    list.push_back(subject_of<intrusive<rb>>("boost-rbtree", ""));
    list.push_back(subject_of<intrusive<avl>>("boost-avl", ""));
    list.push_back(subject_of<intrusive<splay>>("boost-splay", ""));
    list.push_back(subject_of<treap>("boost-treap", ""));
    list.push_back(
        subject_of<allocating<bh::fibonacci_heap<entry>>>("boost-fibonacci", "allocates nodes"));
    list.push_back(
        subject_of<allocating<bh::pairing_heap<entry>>>("boost-pairing", "allocates nodes"));
    list.push_back(subject_of<allocating<bh::d_ary_heap<entry, bh::arity<4>>>>("boost-dary4", ""));
}

#else

void add_boost_sort(std::vector<sort_subject>& list) {
    for (const char* name : {"boost-rbtree", "boost-avl", "boost-splay", "boost-treap",
                             "boost-fibonacci", "boost-pairing", "boost-dary4"})
        list.push_back({name, "", "package libboost-dev not found", {}, {}});
}

#endif

} // namespace lathbench
