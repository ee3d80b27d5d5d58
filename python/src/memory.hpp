// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Memory of indexes: malloc's. A container is made and freed without a system call, as programs may
// have many small ones; chunks of 2 MiB, which large indexes take, are asked to be huge pages.
#pragma once

#include <lathwork/config.h>

#include <sys/mman.h>

#include <cstdlib>

namespace lathpy {

inline void* memory_alloc(void*, size_t size, size_t align) {
    constexpr size_t huge = 2u << 20;

    if (size >= huge)
        align = huge;
    void* block = std::aligned_alloc(align, (size + align - 1) / align * align);
    if (block && size >= huge)
        madvise(block, size, MADV_HUGEPAGE);
    return block;
}

inline void memory_free(void*, void* block, size_t) { std::free(block); }

inline const lath_allocator memory = {memory_alloc, memory_free, nullptr};

inline lath_config index_config() {
    lath_config config = LATH_CONFIG_INIT;

    config.allocator = &memory;
    return config;
}

} // namespace lathpy
