// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Calls on an intrusive_split_list, chosen by a source of numbers and compared with a std::deque.
// CHECK and FAIL are the includer's.
#pragma once

#include <lathwork/cxx/split_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace splittest {

using lathwork::intrusive_split_list;
using lathwork::split_list_policy;

struct node {
    explicit node(int v) : value(v) {}
    node(const node&) = delete;
    int value;
        // Never read before the list has written it: a wild value would be noticed.
    node* next = reinterpret_cast<node*>(std::uintptr_t{0x5a5a5a5a5a5a5a50});
};

template <class Index>
struct index_policy : split_list_policy {
    using index_type = Index;
        // With 32-bit positions all but the shortest lists count as far.
    static constexpr std::size_t far_size = sizeof(Index) == 4 ? 20 : split_list_policy::far_size;
};

template <unsigned F, class Index = std::size_t>
using tree_of = intrusive_split_list<node, F, &node::next, index_policy<Index>>;

template <unsigned F, class Index, class Random>
class model {
public:
    using list = tree_of<F, Index>;

    model(Random random, Index position) : random_(random), list_(position) {}

    void run(int steps) {
        for (int i = 0; i < steps && ok(); ++i) {
            step();
            compare();
        }
        end();
    }

        // Steps until the source of numbers has no more.
    void run_out() {
        while (random_.more() && ok()) {
            step();
            compare();
        }
        end();
    }

private:
    void end() {
        list_.clear_and_dispose([&](node* n) { disposed_.push_back(n); });
        CHECK(std::equal(disposed_.begin(), disposed_.end(), model_.begin(), model_.end()));
        CHECK(list_.empty());
    }
    bool ok() const { return !failed_; }
    void must(bool right, [[maybe_unused]] const char* what) {
        if (!right) {
            failed_ = true;
            FAIL("F = " << F << ", " << sizeof(Index) << "-byte index: " << what);
        }
    }
    std::size_t below(std::size_t n) { return n ? random_() % n : 0; }
    node* fresh() {
        owned_.push_back(std::make_unique<node>(static_cast<int>(owned_.size())));
        return owned_.back().get();
    }
    bool room(std::size_t n) const { return model_.size() + n <= list::max_size(); }

    void step() {
        switch (below(12)) {
        case 0:
        case 1:
        case 2:
            if (room(1)) {
                model_.push_back(fresh());
                list_.push_back(*model_.back());
            }
            break;
        case 3:
        case 4:
            if (room(1)) {
                model_.push_front(fresh());
                list_.push_front(*model_.front());
            }
            break;
        case 5:
            pop();
            break;
        case 6:
            for (std::size_t n = below(2 * F); n; --n)
                pop();
            break;
        case 7:
            unlink();
            break;
        case 8:
            splice();
            break;
        case 9:
            filter();
            break;
        case 10:
            move();
            break;
        default:
            if (below(20) == 0) {
                list_.clear();
                model_.clear();
            }
        }
    }

    void pop() {
        node* got = list_.empty() ? nullptr : &list_.pop_front();
        must(got == (model_.empty() ? nullptr : model_.front()), "pop_front");
        if (got)
            model_.pop_front();
    }

    void unlink() {
        node stranger(0);
        must(!list_.unlink(stranger), "unlink of a stranger");
        if (model_.empty())
            return;
        std::size_t k = below(model_.size());
        must(list_.unlink(*model_[k]), "unlink");
        must(!list_.unlink(*model_[k]), "unlink twice");
        model_.erase(model_.begin() + static_cast<std::ptrdiff_t>(k));
    }

    void splice() {
        list other(static_cast<Index>(random_()));
        std::deque<node*> added;
        for (std::size_t n = below(3 * F); n && room(added.size() + 1); --n) {
            added.push_back(fresh());
            other.push_back(*added.back());
        }
        if (below(2)) {
            list_.splice_back(other);
            model_.insert(model_.end(), added.begin(), added.end());
        } else {
            list_.splice_front(other);
            model_.insert(model_.begin(), added.begin(), added.end());
        }
        must(other.empty(), "spliced list not empty");
    }

    void filter() {
        int divisor = static_cast<int>(2 + below(7));
        auto chosen = [=](const node& n) { return n.value % divisor == 0; };
        std::vector<const node*> out;
        std::size_t n =
            list_.remove_and_dispose_if(chosen, [&](node* removed) { out.push_back(removed); });
        must(n == out.size(), "number removed");
        std::erase_if(model_, [&](node* m) {
            bool removed = chosen(*m);
            if (removed) {
                must(!out.empty() && out.front() == m, "order of removal");
                out.erase(out.begin());
            }
            return removed;
        });
        must(out.empty(), "removed too many");
    }

    void move() {
        list other(std::move(list_));
        must(list_.empty(), "moved-from list not empty");
        if (below(2)) {
            list_ = std::move(other);
            must(other.empty(), "moved-from list not empty");
        } else {
            swap(list_, other);
        }
    }

    void compare() {
        must(list_.size() == model_.size() && list_.empty() == model_.empty(), "size");
        std::size_t k = 0;
        list_.for_each([&](node& n) {
            must(k < model_.size() && model_[k] == &n, "for_each");
            ++k;
        });
        must(k == model_.size(), "for_each: number of elements");
        k = 0;
        for (const node& n : std::as_const(list_)) {
            must(k < model_.size() && model_[k] == &n, "iterator");
            ++k;
        }
        must(k == model_.size(), "iterator: number of elements");
        if (k)
            must(&list_.front() == model_.front() && &list_.back() == model_.back(), "ends");
    }

    Random random_;
    list list_;
    std::deque<node*> model_;
    std::vector<node*> disposed_;
    std::vector<std::unique_ptr<node>> owned_;
    bool failed_ = false;
};

} // namespace splittest
