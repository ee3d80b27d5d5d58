// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The interface between the files of the simulated machine: memory.cpp has the memory, rcu.cpp
// what was retired.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simulate {

// All memory of the structures. Its address is the same in each run: sets of caches depend on it.
constexpr std::uintptr_t arena_base = 0x200000000000, arena_size = 1ul << 30;
void arena_begin();
std::uintptr_t arena_used();
// Returns the address of this many bytes, on their own page.
std::uintptr_t take_pages(std::size_t size);

unsigned allocating_core();
unsigned cores_in_use();

// Frees an object whose grace period has ended. Returns false if there is none.
bool free_retired();
void wake_freeing_core();

} // namespace simulate
