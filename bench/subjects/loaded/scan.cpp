// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Loaded subjects in table `scan`. An element lends them the memory of the hooks of other lists.
#include "loaded.hpp"

#include "subjects/scan/scan_subject.hpp"

#include <cstddef>

namespace lathbench {

namespace {

template <class E>
class loaded_queue {
public:
    explicit loaded_queue(const lath_bench_subject& s)
        : name_(s.name), group_(*s.queue), s_(name_, group_) {}

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
            fail_loaded(name_, "queue->pop_front() found nothing, though objects are queued");
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

    const char* name_;
    const lath_bench_queue& group_;
    std::size_t size_ = 0;
    loaded_structure<lath_bench_queue> s_;
};

} // namespace

template <class E>
std::vector<scan_subject<E>> loaded_scan() {
    std::vector<scan_subject<E>> list;
    for (const auto* loaded : loaded_subjects())
        if (loaded->queue)
            list.push_back({describe(*loaded), [loaded] {
                                return std::make_unique<scan_bench_of<E, loaded_queue<E>>>(*loaded);
                            }});
    return list;
}

template std::vector<scan_subject<scan_element<1>>> loaded_scan();
template std::vector<scan_subject<scan_element<2>>> loaded_scan();

} // namespace lathbench
