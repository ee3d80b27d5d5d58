// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Two heaps that none of the libraries has in this form: a pairing heap of embedded nodes and a
// radix heap.
#include "driver.hpp"

#include <bit>
#include <utility>

namespace lathbench {

namespace {

struct alignas(64) pairing_item {
    std::uint64_t key;
    pairing_item *child, *next, *prev; // prev: the sibling before, or the parent of a first child
    char data[256 - 32];
};

// The two-pass pairing heap of Fredman, Sedgewick, Sleator and Tarjan (1986): a push melds the item
// with the root; a pop melds the root's children in pairs from left to right, then the pairs from
// right to left.
class pairing_heap : public keyed_queue<pairing_item> {
public:
    using keyed_queue::keyed_queue;

    void push(request* r) {
        r->child = r->next = r->prev = nullptr;
        root_ = root_ ? meld(root_, r) : r;
    }
    request* pop() {
        request* first = root_;
        root_ = join(first->child);
        return first;
    }

private:
    static request* meld(request* a, request* b) {
        if (b->key < a->key)
            std::swap(a, b);
        b->next = a->child;
        b->prev = a;
        if (a->child)
            a->child->prev = b;
        a->child = b;
        return a;
    }
    static request* join(request* c) {
        request *pairs = nullptr, *root = nullptr;
        while (c) {
            request *a = c, *b = a->next;
            c = b ? b->next : nullptr;
            if (b)
                a = meld(a, b);
            a->next = pairs;
            pairs = a;
        }
        while (pairs) {
            request* next = pairs->next;
            root = root ? meld(root, pairs) : pairs;
            pairs = next;
        }
        if (root)
            root->next = root->prev = nullptr;
        return root;
    }
    request* root_ = nullptr;
};

struct alignas(64) radix_item {
    std::uint64_t key;
    radix_item* next;
    char data[256 - 16];
};

// The radix heap of Ahuja, Mehlhorn, Orlin and Tarjan (1990): bucket i holds the keys whose highest
// bit that differs from the key popped last is bit i - 1. If bucket 0 is empty, a pop distributes
// the items of the lowest bucket that is not empty. No key may be below the last one popped.
class radix_heap : public keyed_queue<radix_item> {
public:
    using keyed_queue::keyed_queue;

    void push(request* r) {
        auto i = static_cast<std::size_t>(std::bit_width(r->key ^ last_));
        r->next = first_[i];
        first_[i] = r;
        if (i)
            used_ |= std::uint64_t{1} << (i - 1);
    }
    request* pop() {
        if (!first_[0])
            deal();
        request* r = first_[0];
        first_[0] = r->next;
        return r;
    }

private:
    void deal() {
        auto i = static_cast<std::size_t>(std::countr_zero(used_)) + 1;
        request* chain = std::exchange(first_[i], nullptr);
        used_ &= used_ - 1;
        last_ = chain->key;
        for (request* r = chain->next; r; r = r->next)
            last_ = std::min(last_, r->key);
        while (chain)
            push(std::exchange(chain, chain->next));
    }
    request* first_[65] = {};
    std::uint64_t used_ = 0; // bit i: bucket i + 1 is not empty
    std::uint64_t last_ = 0;
};

} // namespace

std::vector<sort_subject> heap_sort() {
    auto radix = sort_subject_of<radix_heap>("radix-heap", "one-way sweep only");
    radix.monotone = true;
    return {sort_subject_of<pairing_heap>("pairing-heap", "embedded nodes, two passes"), radix};
}

} // namespace lathbench
