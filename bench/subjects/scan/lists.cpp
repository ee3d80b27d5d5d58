// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "queues.hpp"
#include "scan_subject.hpp"

namespace lathbench {

template <class E>
std::vector<scan_subject<E>> scan_lists() {
    return {
        scan_subject_of<E, boost_list<E>>("boost-list"),
        scan_subject_of<E, boost_slist<E>>("boost-slist"),
        scan_subject_of<E, seed_split_list<E, 16>>("split-list-seed", "F = 16, no prefetching"),
        scan_subject_of<E, seed_split_list<E, 5>>("split-list-seed-f5",
                                                  "F = 5: one division per step", true),
        scan_subject_of<E, seed_split_list<E, 17>>("split-list-seed-f17",
                                                   "F = 17: one division per step", true),
    };
}

template std::vector<scan_subject<scan_element<1>>> scan_lists();
template std::vector<scan_subject<scan_element<2>>> scan_lists();

} // namespace lathbench
