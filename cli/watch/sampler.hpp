// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The figures of a store that other processes use, read again and again.
#pragma once

#include "lathwork/store.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

namespace lathcli {

// What per-second rates are made of; those of a counter that fell are not known.
struct watch_rates {
    double items, bytes; // their change; negative when the store shrinks
    std::optional<double> evicted, expired;
};

struct watch_sample {
    std::uint64_t time = 0; // ms since 1970
    lath_store_stats figures{};
    std::optional<watch_rates> rates; // none: the first sample

    // Bytes of all entries: of the index and of the records.
    std::uint64_t used() const { return figures.index_bytes + figures.record_bytes; }
};

class store_sampler {
public:
    // spec: shm:NAME or file:PATH, opened to be read only. foreign: as LATH_STORE_FOREIGN. Throws
    // std::runtime_error with the reason.
    store_sampler(std::string spec, bool foreign);
    ~store_sampler() { close(); }
    store_sampler(const store_sampler&) = delete;
    store_sampler& operator=(const store_sampler&) = delete;

    // The figures as they are now. A file that was written anew is read anew. Throws
    // std::runtime_error when the object is gone, was replaced, or is damaged.
    watch_sample take();

private:
    // Distinguishes one object from another, and one content of a file from another.
    struct identity {
        dev_t device;
        ino_t inode;
        off_t size;
        std::int64_t changed; // ns
        bool operator==(const identity&) const = default;
    };

    bool shared() const { return spec_.starts_with("shm:"); }
    // Throws std::runtime_error when there is no object of that name.
    identity identify() const;
    void open();
    void close();

    std::string spec_;
    bool foreign_;
    lath_store* store_ = nullptr;
    identity object_{};
    std::optional<watch_sample> before_;
    std::chrono::steady_clock::time_point taken_;
};

} // namespace lathcli
