// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The subjects of table `registrations`: caches of registered memory, as RDMA libraries keep them.
//
// To add one: its function below, in subjects.cpp.
#pragma once

#include "harness/subject.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace lathbench {

// A registered range of memory. While refs is not 0 it stays registered.
struct alignas(64) region {
    std::uint64_t key = 0, size = 0; // multiples of 4096
    std::atomic<std::uint32_t> refs{0};
};

// Each call may be made by several threads at once.
class registration_cache {
public:
    virtual ~registration_cache() = default;
    virtual void insert(region& of) = 0;
    // The region that covers the address, with a reference; nullptr: it is not registered.
    virtual region* get(std::uint64_t address) = 0;
    // Gives a reference back.
    virtual void put(region& of) { of.refs.fetch_sub(1, std::memory_order_release); }
};

struct registration_subject : subject {
    std::function<std::unique_ptr<registration_cache>()> make;
};

const std::vector<registration_subject>& registration_subjects();

} // namespace lathbench
