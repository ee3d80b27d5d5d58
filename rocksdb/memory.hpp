// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// memory.hpp - memory for an index, taken from the arena of its memtable.
//
// RocksDB counts what is taken from the arena, for the flush of the memtable and in its write
// buffer manager. An arena takes nothing back before its end, so what the index gives back is kept
// here for its next blocks.
#ifndef LATH_ROCKSDB_MEMORY_HPP
#define LATH_ROCKSDB_MEMORY_HPP

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "inside.hpp"
#include "lathwork/config.h"

// Of a thread-local variable: one instruction reads it. musl has no room for such ones in what
// dlopen() loads.
#ifdef __GLIBC__
#define LATH_TLS_MODEL __attribute__((tls_model("initial-exec")))
#else
#define LATH_TLS_MODEL
#endif

namespace lath_rocksdb {

class memory {
public:
    // What an arena aligns to. Alone it aligns to 16, but with several threads in turn blocks
    // follow each other in multiples of 8.
    static constexpr size_t arena_align = 8;

    explicit memory(rocksdb::Allocator* arena) : arena_(arena) {}
    memory(const memory&) = delete;
    memory& operator=(const memory&) = delete;

    lath_allocator allocator();
    // Bytes taken from the arena.
    size_t taken() const { return taken_.load(std::memory_order_relaxed); }
    // From now on what the arena would be asked for comes from the heap, until the end: RocksDB has
    // counted the arena.
    void leave_arena();
    // Has this thread taken so much from an arena since the last time that a grace period pays,
    // after which the blocks that the index has left serve again? Says so once.
    static bool has_grown() {
        if (__builtin_expect(!grown, 1))
            return false;
        grown = false;
        return true;
    }

private:
    struct spare {
        spare* next;
        size_t size;
    };
    // Lists of spare blocks by size; the last one: of larger ones.
    static constexpr size_t lists = 95;

    static size_t list_of(size_t size);
    void* take(size_t size, size_t align);
    void give(void* memory, size_t size);
    char* cut(size_t size, size_t align);
    char* fetch(size_t size);
    spare* find(size_t size, size_t align);
    void merge();
    void keep(char* begin, size_t size);

    LATH_TLS_MODEL static thread_local bool grown;

    rocksdb::Allocator* arena_;
    std::mutex mutex_;
    char* at_ = nullptr; // what is left of the slab that blocks are cut from
    size_t left_ = 0;
    std::atomic<size_t> taken_{0}; // changed under the mutex
    std::array<spare*, lists> free_{};
    size_t given_ = 0; // back, since neighbours were last merged
    size_t limit_ = 0; // of bytes taken: more, and it has grown
    bool left_arena_ = false;
    std::vector<std::unique_ptr<char[]>> heap_;
};

} // namespace lath_rocksdb

#endif // LATH_ROCKSDB_MEMORY_HPP
