// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The textbook's structures with their nodes in the requests: sorted list, red-black tree, AVL
// tree, skip list, Fibonacci heap.
#include "subjects/sort/driver.hpp"

extern "C" {
#include "subjects/sort/classic/avl.h"
#include "subjects/sort/classic/fibheap.h"
#include "subjects/sort/classic/rbtree.h"
#include "subjects/sort/classic/skip_list.h"
#include "subjects/sort/classic/sorted_list.h"
}

namespace lathbench {

namespace {

// The key is the node's.
template <class Node>
struct alignas(64) item : Node {
    char data[256 - sizeof(Node)];
};

template <class Node>
class queue_of {
public:
    using request = item<Node>;
    static void set_key(request* r, std::uint64_t key) { r->key = key; }
    static std::uint64_t touch(const request* r) { return r->key; }

protected:
    static request* at(Node* node) { return static_cast<request*>(node); }
};

class list : public queue_of<lath_list_node> {
public:
    list(const sort_plan&, request*, std::uint32_t) { lath_list_init(&list_); }
    void push(request* r) { lath_list_insert(&list_, r); }
    request* pop() {
        lath_list_node* first = list_.first;
        lath_list_remove(&list_, first);
        return at(first);
    }

private:
    lath_sorted_list list_;
};

template <void (*Insert)(lath_bst*, lath_bst_node*), void (*Remove)(lath_bst*, lath_bst_node*)>
class tree : public queue_of<lath_bst_node> {
public:
    tree(const sort_plan&, request*, std::uint32_t) { bst_init(&tree_); }
    void push(request* r) { Insert(&tree_, r); }
    request* pop() {
        lath_bst_node* first = tree_.end[0];
        Remove(&tree_, first);
        return at(first);
    }

private:
    lath_bst tree_;
};

class skip_list : public queue_of<lath_skip_node> {
public:
    skip_list(const sort_plan&, request*, std::uint32_t) { lath_skip_init(&list_); }
    void push(request* r) { lath_skip_insert(&list_, r); }
    request* pop() {
        lath_skip_node* first = list_.head.next[0];
        lath_skip_remove(&list_, first);
        return at(first);
    }

private:
    lath_skip_list list_;
};

class fibonacci : public queue_of<lath_fib_node> {
public:
    fibonacci(const sort_plan&, request*, std::uint32_t) { lath_fib_init(&heap_); }
    void push(request* r) { lath_fib_insert(&heap_, r); }
    request* pop() { return at(lath_fib_pop(&heap_)); }

private:
    lath_fib_heap heap_;
};

} // namespace

std::vector<sort_subject> classic_sort() {
    auto sorted = sort_subject_of<list>("lathwork-list", "sorted list, inserts from the end");
    sorted.max_depth = 4096;
    return {
        sorted,
        sort_subject_of<tree<lath_rb_insert, lath_rb_remove>>("lathwork-rbtree", "a textbook's"),
        sort_subject_of<tree<lath_avl_insert, lath_avl_remove>>("lathwork-avl", "a textbook's"),
        sort_subject_of<skip_list>("lathwork-skiplist", "a textbook's"),
        sort_subject_of<fibonacci>("lathwork-fibheap", "a textbook's"),
    };
}

} // namespace lathbench
