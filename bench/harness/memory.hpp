// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What the kernel and the C library say about memory.
#pragma once

#include <cstdint>

namespace lathbench {

std::uint64_t resident_bytes(); // of this process, exact
std::uint64_t huge_page_bytes(); // of these, the bytes that are in pages of 2 MiB and more
std::uint64_t heap_bytes(); // given out by malloc, with its overhead
std::uint64_t available_bytes(); // on this machine

} // namespace lathbench
