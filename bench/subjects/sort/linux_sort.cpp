// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The named peer of table `sort`: the kernel's own red-black tree.
#include "driver.hpp"

#include "linux_sort.h"

namespace lathbench {

namespace {

template <void (*Push)(linux_queue*, linux_item*), linux_item* (*Pop)(linux_queue*)>
class tree : public keyed_queue<linux_item> {
public:
    using keyed_queue::keyed_queue;
    void push(request* r) { Push(&queue_, r); }
    request* pop() { return Pop(&queue_); }

private:
    linux_queue queue_{};
};

class elevator {
public:
    using request = linux_item;
    static void set_key(request* r, std::uint64_t key) {
        r->key = key;
        r->end = key + 8;
    }
    static std::uint64_t key(const request* r) { return r->key; }
    elevator(const path_plan&, request*, std::uint32_t) {}
    bool submit(request* r, std::uint32_t limit) {
        return linux_elevator_submit(&elevator_, r, limit) != 0;
    }
    request* dispatch() { return linux_elevator_dispatch(&elevator_); }
    request* oldest() { return linux_elevator_oldest(&elevator_); }

private:
    linux_elevator elevator_{};
};

} // namespace

std::vector<sort_subject> linux_sort() {
    auto plain = sort_subject_of<tree<linux_sort_push, linux_sort_pop>>(
        "linux-rbtree", "with cached least node; in path/ with hash of ends and FIFO");
    plain.path = run_path<elevator>;
    return {plain, sort_subject_of<tree<linux_sort_push_hint, linux_sort_pop_hint>>(
                       "linux-rbtree-hint", "greatest node looked at first")};
}

} // namespace lathbench
