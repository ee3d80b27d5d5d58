// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Structures from shared objects (--vs; include/lathwork/bench_adapter.h), and where they join the
// tables.
#pragma once

#include "lathwork/bench_adapter.h"

#include "subjects/iova/iova_subject.hpp"
#include "subjects/ranges/range_subject.hpp"
#include "subjects/sort/sort_subject.hpp"
#include "tables/store/worker.hpp"

#include <string>
#include <vector>

namespace lathbench {

// Before the first table is asked for. Throws std::runtime_error naming the file and what is wrong
// with it.
void load_guest(const std::string& path);
const std::vector<const lath_bench_adapter*>& guests();

// For the lists of subjects.
void add_guest_peers(std::vector<peer>& list);
void add_guest_sort(std::vector<sort_subject>& list);
void add_guest_iova(std::vector<iova_subject>& list);
void add_guest_stores(std::vector<store_subject>& list);

// Throws: a structure that breaks its contract in a way that nothing could be measured behind.
[[noreturn]] void guest_broke(const char* name, const char* what);

// The structure itself: made and destroyed through its group.
template <class Group>
class guest_structure {
public:
    template <class... A>
    guest_structure(const lath_bench_adapter& adapter, const Group& group, A... arguments)
        : group_(&group), structure_(group.create(arguments...)) {
        if (!structure_)
            guest_broke(adapter.name, "create() returned NULL");
    }
    ~guest_structure() { group_->destroy(structure_); }
    guest_structure(const guest_structure&) = delete;
    guest_structure& operator=(const guest_structure&) = delete;
    operator void*() const { return structure_; }

private:
    const Group* group_;
    void* structure_;
};

} // namespace lathbench
