// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The formats, each in its own file.
#pragma once

#include "trace/trace.hpp"

namespace lathcli::trace {

bool is_blktrace(std::string_view head);
bool looks_like_blkparse(std::string_view line);

std::unique_ptr<reader> make_fio(format kind, input in, const reader_options& options);
std::unique_ptr<reader> make_blktrace(input in, const reader_options& options);
std::unique_ptr<reader> make_blkparse(input in, const reader_options& options);

} // namespace lathcli::trace
