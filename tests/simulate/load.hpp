// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The structures and loads of `simulate` and of `measure`, which runs the same on this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"

namespace simulate {

using u64 = std::uint64_t;

// The same numbers for the same seed, on every machine.
struct random_source {
    u64 s;
    u64 next() { return random_word(&s); }
    u64 below(u64 n) { return static_cast<u64>(static_cast<unsigned __int128>(next()) * n >> 64); }
};

// Memory that the cores share.
void* memory(std::size_t align, std::size_t size);
void give_back(void* block);

// What a load calls. A structure has those of its loads; several threads may be in them at once.
class structure {
public:
    virtual ~structure() = default;
    // Each thread calls this before its first call.
    virtual void enter() {}
    // Called once, when it has been filled.
    virtual void filled() {}
    virtual bool insert(u64, u64) { return false; } // key, value
    virtual bool get(u64) { return false; }
    virtual bool update(u64, u64) { return false; } // key, value
    virtual bool erase(u64) { return false; }
    virtual bool insert_range(u64, u64) { return false; } // [key, key + size)
    virtual bool find(u64) { return false; } // a range that covers the point
    virtual bool take(u64) { return false; } // erases it
    virtual bool alloc(u64&) { return false; } // a page
    virtual void release(u64) {}
    virtual void hold(u64, u64) {} // locks [key, key + size) and unlocks it
    // Regions of an address space: of a page; [page, page + pages) over what is there; where there
    // is room, by this worker; out.
    virtual bool query(u64) { return false; }
    virtual void map(u64, u64) {}
    virtual u64 alloc_region(u64, unsigned) { return 0; } // pages, worker; returns the first one
    virtual void unmap(u64, u64) {}
    virtual void step(unsigned) {} // of what has no keys; the number of the core
    virtual std::string line_name(std::uintptr_t) { return "memory"; }
};

struct subject {
    const char* name;
    const char* about;
    std::unique_ptr<structure> (*points)(); // lookups, inserts, mixed; nullptr: cannot
    std::unique_ptr<structure> (*ranges)();
    std::unique_ptr<structure> (*iova)();
    std::unique_ptr<structure> (*steps)();
    std::unique_ptr<structure> (*locks)() = nullptr;
    std::unique_ptr<structure> (*regions)() = nullptr;
};
// Those that are built, ours first.
const std::vector<subject>& subjects();
std::vector<subject> linux_subjects(), absl_subjects(), known_subjects();
subject lathwork_subject(), btree_subject();

// Adds one to a word that all threads share. Returns what it was.
u64 take_number(u64& from);

// A thread or a core of a load.
struct worker {
    random_source random;
    unsigned number = 0;
    u64* shared = nullptr; // one word for all, 0 at first
    double reach = 0; // of `hot`: the 100th root of the number of keys + 1, less 1
    std::vector<u64> own; // what it put in and will take out
};

struct load {
    const char* name;
    const char* about;
    std::unique_ptr<structure> (*subject::*make)();
    void (*fill)(structure& s, u64 items);
    void (*call)(structure& s, worker& w, u64 items);
    bool grows; // the structure grows with each call
};
const std::vector<load>& loads();

} // namespace simulate
