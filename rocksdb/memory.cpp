// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// memory.cpp - see memory.hpp.
#include "memory.hpp"

#include <algorithm>

namespace lath_rocksdb {

namespace {

// The first slab is small: there are memtables with few entries, or none.
constexpr size_t least_slab = 1024, largest_slab = 16384;

size_t rounded(size_t size) { return (size + 15) & ~size_t{15}; }

size_t padding(const char* at, size_t align) {
    return -reinterpret_cast<uintptr_t>(at) & (align - 1);
}

} // namespace

// Throws what the arena throws.
char* memory::from_arena(size_t size) {
    char* block = arena_->AllocateAligned(size);
    taken_ += size;
    return block;
}

// Keep memory that no block is in for blocks to come.
void memory::keep(char* begin, size_t size) {
    spare** list = size <= small_most ? &free_[size / unit] : &large_;
    if (size < sizeof(spare))
        return;
    *list = new (begin) spare{*list, size};
}

// A block of the current slab, or of a new one.
char* memory::cut(size_t size, size_t align) {
    size_t pad = padding(at_, align);
    if (left_ < pad + size) {
        size_t slab = std::clamp(rounded(taken_ / 8), least_slab, largest_slab);
        if (size + align > slab / 2) { // as it is, beside the slab
            char* block = from_arena(size + align - unit);
            return block + padding(block, align);
        }
        char* begin = from_arena(slab);
        keep(at_, left_);
        at_ = begin;
        left_ = slab;
        pad = padding(at_, align);
    }
    keep(at_, pad);
    char* block = at_ + pad;
    at_ += pad + size;
    left_ -= pad + size;
    return block;
}

void* memory::take(size_t size, size_t align) {
    std::lock_guard<std::mutex> lock(mutex_);
    size = rounded(size);
    for (spare** link = size <= small_most ? &free_[size / unit] : &large_; *link;
         link = &(*link)->next) {
        spare* found = *link;
        if (found->size == size && !padding(reinterpret_cast<char*>(found), align)) {
            *link = found->next;
            return found;
        }
    }
    return cut(size, align);
}

void memory::give(void* block, size_t size) {
    std::lock_guard<std::mutex> lock(mutex_);
    size = rounded(size);
    char* begin = static_cast<char*>(block);
    if (size > left_ && size > small_most) { // the better slab
        std::swap(at_, begin);
        std::swap(left_, size);
    }
    keep(begin, size);
}

lath_allocator memory::allocator() {
    return {
        [](void* ctx, size_t size, size_t align) -> void* {
            try {
                return static_cast<memory*>(ctx)->take(size, align);
            } catch (...) {
                return nullptr;
            }
        },
        [](void* ctx, void* block, size_t size) { static_cast<memory*>(ctx)->give(block, size); },
        this};
}

} // namespace lath_rocksdb
