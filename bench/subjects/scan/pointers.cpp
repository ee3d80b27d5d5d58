// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "queues.hpp"
#include "scan_subject.hpp"

namespace lathbench {

template <class E>
std::vector<scan_subject<E>> scan_pointers() {
    return {
        scan_subject_of<E, element_array<E>>("vector", "the elements, always in memory order"),
        scan_subject_of<E, pointer_vector<E, prefetching::none>>("vector-ptr"),
        scan_subject_of<E, pointer_vector<E, prefetching::near>>("vector-ptr-prefetch",
                                                                 "16 elements ahead"),
        scan_subject_of<E, pointer_vector<E, prefetching::far>>(
            "vector-ptr-far", "32 elements ahead, into the second-level cache", true),
        scan_subject_of<E, circular<E, false>>("circular"),
        scan_subject_of<E, circular<E, true>>("circular-prefetch", "16 elements ahead, pops too"),
        scan_subject_of<E, chunked_fifo<E>>("chunked-fifo", "128 pointers per chunk"),
        scan_subject_of<E, pointer_deque<E>>("deque"),
    };
}

template std::vector<scan_subject<scan_element<1>>> scan_pointers();
template std::vector<scan_subject<scan_element<2>>> scan_pointers();

} // namespace lathbench
