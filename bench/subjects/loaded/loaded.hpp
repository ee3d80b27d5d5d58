// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Subjects from shared objects: --vs, include/lathwork/bench_subject.h. The other files of this
// directory put them into the list of subjects of one table each.
#pragma once

#include "lathwork/bench_subject.h"

#include "harness/subject.hpp"

#include <string>
#include <vector>

namespace lathbench {

// Loads the shared object and checks its subject. Throws std::runtime_error that names the file and
// what is wrong with it. To be called before the first list of subjects is made.
void load_subject(const std::string& path);

// All that were loaded; they stay loaded to the end of the process.
const std::vector<const lath_bench_subject*>& loaded_subjects();

inline subject describe(const lath_bench_subject& loaded) {
    return {loaded.name, loaded.note ? loaded.note : "", ""};
}

// Throws contract_broken for the subject of that name.
[[noreturn]] void fail_loaded(const char* name, const char* what);

// One structure, which the functions of a group create and destroy.
template <class Group>
class loaded_structure {
public:
    template <class... A>
    loaded_structure(const char* name, const Group& group, A... arguments)
        : group_(&group), structure_(group.create(arguments...)) {
        if (!structure_)
            fail_loaded(name, "create() returned NULL");
    }
    ~loaded_structure() { group_->destroy(structure_); }
    loaded_structure(const loaded_structure&) = delete;
    loaded_structure& operator=(const loaded_structure&) = delete;
    operator void*() const { return structure_; }

private:
    const Group* group_;
    void* structure_;
};

} // namespace lathbench
