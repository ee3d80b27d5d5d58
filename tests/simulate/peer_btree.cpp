// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A B+-tree with a lock per node: a call takes the lock of a child before it gives up that of the
// parent, and splits full nodes on its way down. Leaves that become empty stay.
#include "load.hpp"

#include "bench/subjects/lock.hpp"

#include <new>

namespace simulate {

namespace {

constexpr unsigned most = 30;

struct alignas(64) node {
    lathbench::spin_lock lock;
    unsigned count = 0;
    bool leaf = true;
    u64 key[most]; // of an inner node: the least key of each child but the first
    u64 value[most]; // or child
};

node* new_node() { return new (memory(64, sizeof(node))) node; }

node* child(const node* n, unsigned i) { return reinterpret_cast<node*>(n->value[i]); }

// The number of keys of a leaf below `key`.
unsigned place(const node* n, u64 key) {
    unsigned low = 0, high = n->count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (n->key[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// The child that has `key`.
unsigned way(const node* n, u64 key) {
    unsigned low = 1, high = n->count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (n->key[middle] <= key)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

void put(node* n, unsigned at, u64 key, u64 value) {
    for (unsigned i = n->count; i > at; i--) {
        n->key[i] = n->key[i - 1];
        n->value[i] = n->value[i - 1];
    }
    n->key[at] = key;
    n->value[at] = value;
    n->count++;
}

// Moves the upper half of a full node to a new one. Returns it.
node* split(node* n) {
    node* right = new_node();
    right->leaf = n->leaf;
    right->count = most / 2;
    n->count = most - right->count;
    for (unsigned i = 0; i < right->count; i++) {
        right->key[i] = n->key[n->count + i];
        right->value[i] = n->value[n->count + i];
    }
    return right;
}

class btree : public structure {
public:
    bool get(u64 key) override {
        node* leaf = down(key);
        unsigned at = place(leaf, key);
        bool there = at < leaf->count && leaf->key[at] == key;
        leaf->lock.unlock();
        return there;
    }

    bool insert(u64 key, u64 value) override {
        node* n = lock_root();
        if (n->count == most) {
            node *left = new_node(), *right = split(n);
            left->leaf = n->leaf;
            left->count = n->count;
            for (unsigned i = 0; i < n->count; i++) {
                left->key[i] = n->key[i];
                left->value[i] = n->value[i];
            }
            n->leaf = false;
            n->count = 0;
            put(n, 0, 0, reinterpret_cast<u64>(left));
            put(n, 1, right->key[0], reinterpret_cast<u64>(right));
        }
        while (!n->leaf) {
            unsigned at = way(n, key);
            node* next = child(n, at);
            next->lock.lock();
            if (next->count == most) {
                node* right = split(next);
                put(n, at + 1, right->key[0], reinterpret_cast<u64>(right));
                if (key >= right->key[0]) {
                    right->lock.lock();
                    next->lock.unlock();
                    next = right;
                }
            }
            n->lock.unlock();
            n = next;
        }
        unsigned at = place(n, key);
        bool there = at < n->count && n->key[at] == key;
        if (!there)
            put(n, at, key, value);
        n->lock.unlock();
        return !there;
    }

    bool erase(u64 key) override {
        node* leaf = down(key);
        unsigned at = place(leaf, key);
        bool there = at < leaf->count && leaf->key[at] == key;
        if (there) {
            leaf->count--;
            for (unsigned i = at; i < leaf->count; i++) {
                leaf->key[i] = leaf->key[i + 1];
                leaf->value[i] = leaf->value[i + 1];
            }
        }
        leaf->lock.unlock();
        return there;
    }

    ~btree() override { free_all(root_); }

private:
    node* lock_root() {
        root_->lock.lock();
        return root_;
    }
    // The locked leaf of a key.
    node* down(u64 key) {
        node* n = lock_root();
        while (!n->leaf) {
            node* next = child(n, way(n, key));
            next->lock.lock();
            n->lock.unlock();
            n = next;
        }
        return n;
    }
    static void free_all(node* n) {
        for (unsigned i = 0; !n->leaf && i < n->count; i++)
            free_all(child(n, i));
        give_back(n);
    }

    node* root_ = new_node(); // stays the root
};

std::unique_ptr<structure> make() { return std::make_unique<btree>(); }

} // namespace

subject btree_subject() {
    return {"btree-locks", "a B+-tree, one queue lock per node, taken hand over hand",
            make,          nullptr,
            nullptr,       nullptr};
}

} // namespace simulate
