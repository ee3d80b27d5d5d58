// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// One engine in a process of its own: its malloc, its page size, its resident bytes. The program
// runs itself again with the job in its environment; both talk in lines through two pipes.
#pragma once

#include "subjects/store/store_subject.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace lathbench {

struct store_subject {
    const char* name;
    const char* note;
    make_engine make; // empty: not in this build
    const char* package; // it would take
    std::vector<std::string> environment; // NAME=VALUE
    const char* proof; // a symbol that must be there then, or nullptr
    bool small_pages; // no huge pages for this process
    bool many_threads = true;
    std::vector<std::string> arguments = {}; // of lath bench store
};

struct store_job {
    std::string subject;
    std::uint64_t n, timed, seed;
    item_keys keys;
};

struct phase_figure {
    std::string phase; // "set"
    double cpu, wall; // ns an operation
    bool right;
};

class worker {
public:
    worker(const store_subject& subject, const store_job& job);
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;
    ~worker();

    // Waits for the fill. A reason, when the worker cannot do it.
    std::optional<std::string> ready();
    double bytes_per_item() const { return bytes_; }
    double huge_share() const { return huge_; }
    // One repetition of all phases; empty when the worker ended: why() says why.
    std::vector<phase_figure> run(int threads, bool scan);
    const std::string& why() const { return why_; }

private:
    std::string line();
    static std::string complaint(const std::string& text);

    pid_t pid_ = -1;
    FILE *to_ = nullptr, *from_ = nullptr;
    double bytes_ = 0, huge_ = 0;
    std::string why_;
};

// In a process that worker started: does the job and does not return. Else returns at once.
void serve_if_worker(const std::vector<store_subject>& subjects);

} // namespace lathbench
