// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Memory of the simulated machine. Small blocks have free lists per core and size, so that no
// allocator is in the way of scaling; what they cost is part of the cost of an access.
#include "inside.hpp"
#include "load.hpp"
#include "machine.hpp"
#include "redirect.h"
#include "sched/runtime.h"

#include <array>
#include <cstring>
#include <sys/mman.h>
#include <vector>

namespace simulate {

namespace {

constexpr std::size_t small = 1024, step = 16, chunk = 64 << 10, header = 8;
std::uintptr_t used;

struct pool {
    std::array<std::vector<void*>, small / step + 1> free;
    std::uintptr_t at, end;
};
std::array<pool, most_cores + 2> pools;

std::uintptr_t take(std::size_t size) {
    used = (used + 4095) & ~std::uintptr_t{4095};
    std::uintptr_t at = arena_base + used;
    used += size;
    if (used > arena_size)
        sched_fail("the memory of the machine is used up", nullptr, nullptr);
    return at;
}

std::size_t& size_of(void* block) {
    return *reinterpret_cast<std::size_t*>(static_cast<char*>(block) - header);
}

void* allocate(std::size_t size, std::size_t align) {
    pool& p = pools[allocating_core()];
    size = (size + header + step - 1) / step * step - header; // as malloc does
    bool many = size <= small && align <= 64;
    if (many && !p.free[size / step].empty()) {
        void* block = p.free[size / step].back();
        if (!(reinterpret_cast<std::uintptr_t>(block) & (align - 1))) {
            p.free[size / step].pop_back();
            return block;
        }
    }
    std::uintptr_t at;
    if (many) {
        at = (p.at + header + align - 1) & ~(align - 1);
        if (at + size > p.end) {
            p.at = take(chunk);
            p.end = p.at + chunk;
            at = (p.at + header + align - 1) & ~(align - 1);
        }
        p.at = at + size;
    } else {
        at = (take(size + header + align) + header + align - 1) & ~(align - 1);
    }
    void* block = reinterpret_cast<void*>(at);
    size_of(block) = size;
    return block;
}

} // namespace

std::uintptr_t take_pages(std::size_t size) { return take(size); }

void arena_begin() {
    void* p = mmap(reinterpret_cast<void*>(arena_base), arena_size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (p != reinterpret_cast<void*>(arena_base))
        sched_fail("cannot map the memory of the machine", p, nullptr);
}

std::uintptr_t arena_used() { return used; }

void* memory(std::size_t align, std::size_t size) { return allocate(size, align); }
void give_back(void* block) { sched_free(block); }

} // namespace simulate

using namespace simulate;

void* sched_alloc(std::size_t size, std::size_t align, int fill) {
    void* block = allocate(size, align);
    if (fill == 0)
        std::memset(block, 0, size);
    return block;
}

void sched_free(void* block) {
    if (block && size_of(block) <= small)
        pools[allocating_core()].free[size_of(block) / step].push_back(block);
}

void* simulate_malloc(std::size_t size) { return allocate(size, 16); }
void* simulate_aligned_alloc(std::size_t align, std::size_t size) { return allocate(size, align); }
void simulate_free(void* block) { sched_free(block); }
