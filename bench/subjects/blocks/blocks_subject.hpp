// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The subjects of table `blocks`: allocators of the blocks of a disk. One thread uses them.
#pragma once

#include "harness/subject.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace lathbench {

struct block_run {
    std::uint64_t first, blocks;
};

struct block_device {
    std::uint64_t blocks = 0;
    std::vector<block_run> free; // in order, never adjacent
};

class block_allocator {
public:
    virtual ~block_allocator() = default;
    // align is a power of two. Returns false when there is no room.
    virtual bool alloc(std::uint64_t blocks, std::uint64_t align, std::uint64_t& first) = 0;
    virtual void free(std::uint64_t first, std::uint64_t blocks) = 0;
    // Returns how many blocks are free.
    virtual std::uint64_t room() = 0;
    // Returns the bytes of memory in use, or 0: malloc() has given them out.
    virtual std::uint64_t bytes() const { return 0; }
};

struct blocks_subject : subject {
    std::function<std::unique_ptr<block_allocator>(const block_device&)> make;
};

std::vector<blocks_subject> lathwork_blocks_subjects();
blocks_subject avl_blocks();
blocks_subject absl_blocks();
blocks_subject bitmap_blocks();

// All of them, ours first; they are made once and never change.
const std::vector<blocks_subject>& blocks_subjects();

} // namespace lathbench
