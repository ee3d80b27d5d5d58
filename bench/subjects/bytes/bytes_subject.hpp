// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The subjects of table `bytes`: ordered sets of records whose keys are byte strings.
#pragma once

#include "harness/subject.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace lathbench {

// A record of the caller's. Its key is text(); where keys have versions, the last eight bytes of
// it, big-endian, are ~tag, so that for a structure without tags the latest version is first too.
struct bench_record {
    std::uint64_t value, tag;
    std::uint32_t size, whole; // bytes of the key without and with the tag
    char data[1]; // `whole` of them

    std::string_view text() const { return {data, whole}; }
};

// With more than one thread, insert and get may be called by several at once.
class bytes_set {
public:
    virtual ~bytes_set() = default;
    virtual void insert(const bench_record& record) = 0;
    // Return the sum of the values of the record with this key / of it and those behind it, at most
    // `most`.
    virtual std::uint64_t get(const bench_record& key) = 0;
    virtual std::uint64_t scan(const bench_record& from, std::size_t most) = 0;
    // Returns whether it was there.
    virtual bool erase(const bench_record& key) = 0;
    // Memory that it takes beyond the caller's records, with malloc's overhead.
    virtual std::uint64_t bytes() const = 0;
    // The sum of values for some keys at once.
    virtual std::uint64_t get_batch(const bench_record* const* keys, std::size_t n) {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < n; i++)
            sum += get(*keys[i]);
        return sum;
    }
};

struct bytes_subject : subject {
    // locked: several threads will use it
    std::function<std::unique_ptr<bytes_set>(bool locked)> make;
};

bytes_subject lathwork_bytes();
bytes_subject lathwork_store_bytes();
bytes_subject std_map_bytes();
bytes_subject absl_bytes();
bytes_subject absl_view_bytes();

// All of them, ours first; they are made once and never change.
const std::vector<bytes_subject>& bytes_subjects();

} // namespace lathbench
