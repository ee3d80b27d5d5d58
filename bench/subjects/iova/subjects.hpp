// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Where each file of subjects hands them over; subjects.cpp puts them together.
#pragma once

#include "iova_subject.hpp"

namespace lathbench {

std::vector<iova_subject> lathwork_iova();
std::vector<iova_subject> linux_iova_subjects();
iova_subject bitmap_iova();
iova_subject buddy_iova();
iova_subject icl_iova();
iova_subject absl_iova();

} // namespace lathbench
