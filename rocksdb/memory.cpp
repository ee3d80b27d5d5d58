// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// memory.cpp - see memory.hpp.
#include "memory.hpp"

#include <algorithm>

namespace lath_rocksdb {

namespace {

// The first slab is small: there are memtables with few entries, or none.
constexpr size_t least_slab = 1024, largest_slab = 2048;

// Up to this many bytes neighbours are merged more often: there are few to sort, and the memtable
// is full the earlier the more of them lie idle.
constexpr size_t small = size_t{1} << 20;

// Most blocks are small, so they are in units of 8 bytes. Larger ones are in units of 16, and of
// 64, so that they serve for each other.
size_t rounded(size_t size) {
    const size_t to = size <= 64 ? 8 : size <= 1024 ? 16 : 64;
    return (size + to - 1) & ~(to - 1);
}

size_t padding(const char* at, size_t align) {
    return -reinterpret_cast<uintptr_t>(at) & (align - 1);
}

} // namespace

// The list of blocks of this size, and up to that of the next list: each is large enough for all
// sizes that are rounded to this one.
size_t memory::list_of(size_t size) {
    const size_t list = size < 64     ? size / 8
                        : size < 1024 ? 8 + (size - 64) / 16
                                      : 68 + (size - 1024) / 64;
    return std::min(list, lists - 1);
}

thread_local bool memory::grown;

// Memory of the arena. Throws what the arena throws. How much memory is worth a grace period: a
// 32nd of what there is, so that there are some hundred in the life of a large memtable.
char* memory::fetch(size_t size) {
    char* block =
        left_arena_ ? heap_.emplace_back(new char[size]).get() : arena_->AllocateAligned(size);
    taken_.store(taken() + size, std::memory_order_relaxed);
    if (taken() > limit_) {
        grown = true;
        limit_ = taken() + std::max(taken() / 32, size_t{1024});
    }
    return block;
}

// Keep memory that no block is in for blocks to come.
void memory::keep(char* begin, size_t size) {
    if (size < sizeof(spare))
        return;
    spare** list = &free_[list_of(size)];
    *list = new (begin) spare{*list, size};
}

// Take a spare block that has room for `size` bytes, the smallest one if it is small. NULL: there
// is none.
memory::spare* memory::find(size_t size, size_t align) {
    for (size_t i = list_of(size); i < lists; i++)
        for (spare** link = &free_[i]; *link; link = &(*link)->next)
            if ((*link)->size >= size + padding(reinterpret_cast<char*>(*link), align)) {
                spare* found = *link;
                *link = found->next;
                return found;
            }
    return nullptr;
}

// Make one of spare blocks that are neighbours: buckets that have become too small for their keys
// are of no use for larger ones.
void memory::merge() {
    std::vector<spare*> blocks;
    for (spare*& list : free_)
        for (; list; list = list->next)
            blocks.push_back(list);
    std::sort(blocks.begin(), blocks.end());
    for (size_t i = 0, next; i < blocks.size(); i = next) {
        char* const begin = reinterpret_cast<char*>(blocks[i]);
        size_t size = blocks[i]->size;
        for (next = i + 1;
             next < blocks.size() && reinterpret_cast<char*>(blocks[next]) == begin + size; next++)
            size += blocks[next]->size;
        keep(begin, size);
    }
    given_ = 0;
}

// A block of the current slab, or of a new one.
char* memory::cut(size_t size, size_t align) {
    size_t pad = padding(at_, align);
    if (left_ < pad + size) {
        if (given_ > taken() / (taken() < small ? 16 : 4))
            merge();
        const size_t slab = std::clamp(rounded(taken() / 8), least_slab, largest_slab);
        spare* found = find(size, align);
        if (!found && size + align > slab / 2) { // beside the slab
            // What is aligned to more than the arena's blocks loses some to that, once for
            // several blocks of a size that is asked for often.
            const size_t more = align - arena_align;
            const size_t n = align > 16 ? std::clamp(taken() / 32 / size, size_t{1}, size_t{8}) : 1;
            char* block = fetch(n * size + more);
            pad = padding(block, align);
            keep(block, pad);
            block += pad;
            for (size_t i = 1; i < n; i++)
                keep(block + i * size, size);
            keep(block + n * size, more - pad);
            return block;
        }
        const size_t got = found ? found->size : slab;
        char* begin = found ? reinterpret_cast<char*>(found) : fetch(slab);
        keep(at_, left_);
        at_ = begin;
        left_ = got;
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
    if (list_of(size) < lists - 1) {
        spare*& list = free_[list_of(size)];
        if (list && !padding(reinterpret_cast<char*>(list), align)) {
            spare* found = list;
            list = found->next;
            return found;
        }
    }
    return cut(size, align);
}

void memory::give(void* block, size_t size) {
    std::lock_guard<std::mutex> lock(mutex_);
    size = rounded(size);
    given_ += size;
    keep(static_cast<char*>(block), size);
}

void memory::leave_arena() {
    std::lock_guard<std::mutex> lock(mutex_);
    left_arena_ = true;
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
