// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A subject of table `store` in its own process, with its own malloc, page size and resident
// bytes. The program executes itself with the job in its environment; the two exchange lines of
// text through two pipes.
#pragma once

#include "subjects/store/store_subject.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace lathbench {

struct store_job {
    std::string subject;
    std::uint64_t n, timed, seed;
    std::uint64_t sets; // items that are set, not counting the first n
    item_keys keys;
    std::string distribution; // of the keys, with item_keys::drawn
    item_values values;
};

struct phase_figure {
    std::string phase; // "set"
    double cpu, wall; // ns per operation
    bool right;
};

class worker {
public:
    worker(const store_subject& subject, const store_job& job);
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;
    ~worker();

    // Waits until the store is filled. Returns the reason if it cannot be filled.
    std::optional<std::string> ready();
    double bytes_per_item() const { return bytes_; }
    double huge_share() const { return huge_; }
    // Runs all phases once, and those that are asked for. Returns nothing if the worker ended;
    // why() says why it did.
    std::vector<phase_figure> run(int threads, bool scan, bool incr);
    const std::string& why() const { return why_; }

private:
    std::string line();
    static std::string complaint(const std::string& text);

    pid_t pid_ = -1;
    FILE *to_ = nullptr, *from_ = nullptr;
    double bytes_ = 0, huge_ = 0;
    std::string why_;
};

// In a process that a worker started, does its job and does not return. Otherwise returns at once.
void serve_if_worker(const std::vector<store_subject>& subjects);

} // namespace lathbench
