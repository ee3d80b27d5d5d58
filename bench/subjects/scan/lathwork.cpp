// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "scan_subject.hpp"

#include <lathwork/cxx/split_list.hpp>

namespace lathbench {

namespace {

template <unsigned Lines>
struct lines_policy : lathwork::split_list_policy {
    static constexpr unsigned prefetch_lines = Lines;
};

template <class E, unsigned F, unsigned Lines = E::lines>
class queue {
public:
    bool empty() const { return queue_.empty(); }
    void push_back(E& e) { queue_.push_back(e); }
    void push_front(E& e) { queue_.push_front(e); }
    E& pop_front() { return queue_.pop_front(); }
    template <class Fn>
    [[gnu::always_inline]] void scan(Fn f) const {
        queue_.for_each(f);
    }

private:
    lathwork::run_queue<E, &E::next, F, lines_policy<Lines>> queue_;
};

template <class E, unsigned F>
class by_iterator {
public:
    void push_back(E& e) { list_.push_back(e); }
    template <class Fn>
    void scan(Fn f) const {
        for (const E& e : list_)
            f(e);
    }

private:
    lathwork::intrusive_split_list<E, F, &E::next, lines_policy<E::lines>> list_;
};

} // namespace

template <class E>
std::vector<scan_subject<E>> scan_ours() {
    return {
        scan_subject_of<E, queue<E, 32>>("lathwork", "F = 32, for_each"),
        scan_subject_of<E, by_iterator<E, 32>>("lathwork-iterator", "F = 32, range-for"),
        scan_subject_of<E, queue<E, 32, 0>>("lathwork-hot", "F = 32, without prefetching"),
        scan_subject_of<E, queue<E, 1>>("lathwork-f1", "F = 1", true),
        scan_subject_of<E, queue<E, 2>>("lathwork-f2", "F = 2", true),
        scan_subject_of<E, queue<E, 4>>("lathwork-f4", "F = 4", true),
        scan_subject_of<E, queue<E, 8>>("lathwork-f8", "F = 8", true),
        scan_subject_of<E, queue<E, 16>>("lathwork-f16", "F = 16", true),
        scan_subject_of<E, queue<E, 64>>("lathwork-f64", "F = 64", true),
    };
}

template std::vector<scan_subject<scan_element<1>>> scan_ours();
template std::vector<scan_subject<scan_element<2>>> scan_ours();

} // namespace lathbench
