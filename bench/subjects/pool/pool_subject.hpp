// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The subjects of table `kvpool`: allocators of objects in the memory of several machines.
//
// The pool has segments of the same size. An object lies in one segment. Its address is
// segment * stride + offset; the end of a segment is not adjacent to the next one.
//
// To add one: a file in this directory, its function below, a line in subjects.cpp and one in
// bench/CMakeLists.txt.
#pragma once

#include "harness/subject.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace lathbench {

struct pool_shape {
    static constexpr std::uint64_t gap = std::uint64_t{1} << 20;
    static constexpr std::uint64_t segments = 8;
    std::uint64_t segment = std::uint64_t{152} << 20; // bytes, a multiple of gap
    std::uint64_t stride() const { return segment + gap; }
};

struct pool_object {
    std::uint64_t size = 0; // bytes, as asked for
    std::uint64_t at = 0, charged = 0; // bytes, as served; charged >= size
    std::uint32_t node = 0; // the allocator's own
};

// Several threads may be in put() and remove() at once.
class pool_allocator {
public:
    virtual ~pool_allocator() = default;
    // Each thread calls these before its first call and after its last. Threads count from 0.
    virtual void enter(int) {}
    virtual void leave(int) {}
    // Finds a place for object.size bytes and fills in the rest. random: state of next_random() of
    // the calling thread. Returns false when there is no room.
    virtual bool put(pool_object& object, std::uint64_t& random) = 0;
    virtual void remove(const pool_object& object) = 0;
    // Returns how many bytes are taken. No other call may run.
    virtual std::uint64_t used() = 0;
};

struct pool_subject : subject {
    std::function<std::unique_ptr<pool_allocator>(const pool_shape&)> make;
};

std::vector<pool_subject> lathwork_pool_subjects();
std::vector<pool_subject> offset_pool_subjects();
// An allocator of table `iova` per segment; a put tries the segments from a random one on.
pool_subject iova_pool_subject(const char* iova_name);
pool_subject absl_pool();

// All of them, ours first; they are made once and never change.
const std::vector<pool_subject>& pool_subjects();

} // namespace lathbench
