// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Guests in the table scan. Objects lend them the place of the other lists' hooks.
#pragma once

#include "loaded.hpp"

#include "subjects/scan/scan_subject.hpp"

#include <cstddef>

namespace lathbench {

template <class E>
class guest_queue {
public:
    explicit guest_queue(const lath_bench_adapter& a)
        : adapter_(a), group_(*a.queue), s_(a, group_) {}

    bool empty() const { return size_ == 0; }
    void push_back(E& e) {
        group_.push_back(s_, hook_of(e));
        size_++;
    }
    void push_front(E& e) {
        group_.push_front(s_, hook_of(e));
        size_++;
    }
    E& pop_front() {
        void* hook = group_.pop_front(s_);
        if (!hook)
            guest_broke(adapter_.name,
                        "queue->pop_front() found nothing, though objects are queued");
        size_--;
        return element_of(hook);
    }
    template <class F>
    void scan(F f) const {
        group_.scan(
            s_, [](void* context, void* hook) { (*static_cast<F*>(context))(element_of(hook)); },
            &f);
    }

private:
    static_assert(sizeof(E::next) + sizeof(E::slist_hook) + sizeof(E::list_hook) ==
                  LATH_BENCH_HOOK);
    static void* hook_of(E& e) { return &e.next; }
    static E& element_of(void* hook) {
        return *reinterpret_cast<E*>(static_cast<char*>(hook) -
                                     sizeof(void*)); // behind the table of virtual calls
    }

    const lath_bench_adapter& adapter_;
    const lath_bench_queue& group_;
    std::size_t size_ = 0;
    guest_structure<lath_bench_queue> s_;
};

template <class E>
std::vector<scan_entry<E>> scan_guests() {
    std::vector<scan_entry<E>> entries;
    for (const auto* a : guests())
        if (a->queue)
            entries.push_back({a->name, a->note ? a->note : "", [a] {
                                   return std::make_unique<scan_subject_of<E, guest_queue<E>>>(*a);
                               }});
    return entries;
}

} // namespace lathbench
