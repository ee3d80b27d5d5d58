// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The objects of table `kvpool`, and who holds what.
//
// Pull request 4000 of kvcache-ai/Mooncake describes a captured run: in each of 60 steps, each of 8
// ranks puts 34 objects: 31 of metadata (256 B to 9896 B, ten sizes) and 3 of payload (10.5 to 12.4
// MiB, any size), which are 99.8 % of the bytes. That is 16,320 puts. Each object is removed one to
// three steps after it was put. The description does not say how many live how long. Here, one of
// eight lives one step, one two, and six three, and objects are removed at the end of a step:
// with that, Mooncake's strategies fail about as often as they did there.
#pragma once

#include "subjects/pool/pool_subject.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace lathbench {

struct kv_event {
    enum kind { put, remove, bundle_done } what;
    std::uint32_t object = 0, size = 0;
};

constexpr std::uint32_t kv_puts = 60 * 8 * 34;

// All events of a run; the sizes and lifetimes come from the seed.
std::vector<kv_event> kv_trace(std::uint64_t seed);

// Sizes of single objects: 31 of 34 are metadata.
std::uint32_t kv_metadata_size(std::uint64_t& random);
std::uint32_t kv_payload_size(std::uint64_t& random);

// Which bytes are taken. Several threads may call at once.
class pool_shadow {
public:
    explicit pool_shadow(const pool_shape& shape) : shape_(shape) {}
    // Returns whether the object lies in one segment and shares no byte with another one.
    bool claim(const pool_object& object);
    void release(const pool_object& object);
    // Returns the mean over the segments of 1 - longest free range / free bytes.
    double fragmentation();

private:
    pool_shape shape_;
    std::mutex lock_;
    std::map<std::uint64_t, std::uint64_t> taken_; // first byte -> end
};

// One thread's objects: a fixed number, one of which is removed and put anew again and again.
class kv_worker {
public:
    kv_worker(pool_allocator& pool, std::uint32_t payloads, std::uint64_t seed);
    void fill();
    // Works until `ms` are over. shadow: checks every object; may be NULL.
    void run(std::uint64_t ms, pool_shadow* shadow);
    void drain();
    void claim_all(pool_shadow& shadow);

    std::uint64_t pairs = 0, failed = 0; // of run()
    bool right = true;

private:
    void put(std::size_t i, pool_shadow* shadow);

    pool_allocator& pool_;
    std::uint64_t random_;
    std::size_t payloads_;
    std::vector<pool_object> objects_; // payloads first; charged 0: not there
};

} // namespace lathbench
