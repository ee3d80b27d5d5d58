// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// How many items beyond the first one each code has, and sums of that: a treap of weights. The
// index counts codes; with this a rank counts items. Empty as long as no two items have one code.
#pragma once

#include <cstdint>
#include <memory>

namespace lathpy {

class Extras {
public:
    struct Node {
        uint64_t code, weight, sum, order;
        std::unique_ptr<Node> left, right;
    };

    bool empty() const { return !root; }
    const Node* top() const { return root.get(); }
    void clear() { root.reset(); }

    uint64_t total() const { return sum(root); }
    static uint64_t sum(const std::unique_ptr<Node>& node) { return node ? node->sum : 0; }

    // Weight of all codes below `code`. O(log n)
    uint64_t below(uint64_t code) const {
        uint64_t total = 0;

        for (const Node* node = root.get(); node;) {
            if (code <= node->code) {
                node = node->left.get();
            } else {
                total += sum(node->left) + node->weight;
                node = node->right.get();
            }
        }
        return total;
    }

    // Adds to the weight of a code; a code without weight leaves. Throws std::bad_alloc, changed
    // nothing. O(log n)
    void add(uint64_t code, int64_t by) {
        if (by == 0)
            return;
        Node* node = root.get();
        while (node && node->code != code)
            node = code < node->code ? node->left.get() : node->right.get();
        if (!node) {
            auto made = std::make_unique<Node>();
            made->code = code;
            made->weight = made->sum = static_cast<uint64_t>(by);
            made->order = code * 0x9e3779b97f4a7c15ull;
            made->order ^= made->order >> 29;
            insert(root, std::move(made));
        } else if (node->weight + static_cast<uint64_t>(by) == 0) {
            erase(root, code);
        } else {
            change(code, static_cast<uint64_t>(by));
        }
    }

private:
    std::unique_ptr<Node> root;

    static void refresh(Node* node) {
        node->sum = sum(node->left) + node->weight + sum(node->right);
    }

    void change(uint64_t code, uint64_t by) {
        for (Node* node = root.get();;) {
            node->sum += by;
            if (node->code == code) {
                node->weight += by;
                return;
            }
            node = code < node->code ? node->left.get() : node->right.get();
        }
    }

    // Splits into what lies below `code` and the rest.
    static void split(std::unique_ptr<Node> tree, uint64_t code, std::unique_ptr<Node>& low,
                      std::unique_ptr<Node>& high) {
        if (!tree) {
            low.reset();
            high.reset();
        } else if (tree->code < code) {
            std::unique_ptr<Node> right = std::move(tree->right);
            split(std::move(right), code, tree->right, high);
            refresh(tree.get());
            low = std::move(tree);
        } else {
            std::unique_ptr<Node> left = std::move(tree->left);
            split(std::move(left), code, low, tree->left);
            refresh(tree.get());
            high = std::move(tree);
        }
    }

    static std::unique_ptr<Node> join(std::unique_ptr<Node> low, std::unique_ptr<Node> high) {
        if (!low || !high)
            return low ? std::move(low) : std::move(high);
        if (low->order > high->order) {
            low->right = join(std::move(low->right), std::move(high));
            refresh(low.get());
            return low;
        }
        high->left = join(std::move(low), std::move(high->left));
        refresh(high.get());
        return high;
    }

    static void insert(std::unique_ptr<Node>& at, std::unique_ptr<Node> made) {
        if (at && at->order >= made->order) {
            at->sum += made->weight;
            auto& side = made->code < at->code ? at->left : at->right;
            insert(side, std::move(made));
            return;
        }
        std::unique_ptr<Node> tree = std::move(at);
        split(std::move(tree), made->code, made->left, made->right);
        refresh(made.get());
        at = std::move(made);
    }

    static void erase(std::unique_ptr<Node>& at, uint64_t code) {
        if (at->code == code) {
            std::unique_ptr<Node> gone = std::move(at);
            at = join(std::move(gone->left), std::move(gone->right));
            return;
        }
        erase(code < at->code ? at->left : at->right, code);
        refresh(at.get());
    }
};

} // namespace lathpy
