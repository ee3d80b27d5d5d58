// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The named peer of table `sort`: the kernel's own red-black tree.
#include "driver.hpp"

#ifdef LATH_PEER_LINUX
#include "linux_sort.h"
#endif

namespace lathbench {

#ifdef LATH_PEER_LINUX

namespace {

class plain_tree {
public:
    using request = linux_item;
    static void set_key(request* r, std::uint64_t key) { r->key = key; }
    static std::uint64_t touch(const request* r) { return r->key; }
    plain_tree(const sort_plan&, request*, std::uint32_t) {}
    void push(request* r) { linux_sort_push(&queue_, r); }
    request* pop() { return linux_sort_pop(&queue_); }

private:
    linux_queue queue_{};
};

class hinted_tree {
public:
    using request = linux_item;
    static void set_key(request* r, std::uint64_t key) { r->key = key; }
    static std::uint64_t touch(const request* r) { return r->key; }
    hinted_tree(const sort_plan&, request*, std::uint32_t) {}
    void push(request* r) { linux_sort_push_hint(&queue_, r); }
    request* pop() { return linux_sort_pop_hint(&queue_); }

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

void add_linux_sort(std::vector<sort_subject>& list) {
    list.push_back({"linux-rbtree",
                    "with cached least node; in path/ with hash of ends and FIFO",
                    {},
                    run_sort<plain_tree>,
                    run_path<elevator>});
    list.push_back(
        {"linux-rbtree-hint", "greatest node looked at first", {}, run_sort<hinted_tree>, {}});
}

#else

void add_linux_sort(std::vector<sort_subject>& list) {
    list.push_back({"linux-rbtree", "", LATH_PEER_LINUX_WHY, {}, {}});
    list.push_back({"linux-rbtree-hint", "", LATH_PEER_LINUX_WHY, {}, {}});
}

#endif

} // namespace lathbench
