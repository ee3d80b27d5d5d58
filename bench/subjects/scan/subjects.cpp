// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The list of subjects.
#include "scan_subject.hpp"

namespace lathbench {

template <class E>
const std::vector<scan_subject<E>>& scan_subjects() {
    static const auto list = [] {
        auto all = scan_ours<E>();
        for (const auto& more : {scan_pointers<E>(), scan_lists<E>()})
            all.insert(all.end(), more.begin(), more.end());
        return all;
    }();
    return list;
}

template const std::vector<scan_subject<scan_element<1>>>& scan_subjects();
template const std::vector<scan_subject<scan_element<2>>>& scan_subjects();

} // namespace lathbench
