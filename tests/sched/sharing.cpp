// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// sharing - how often does a call of the index write a cache line that other threads use?
//
// 64 fibers make calls on one index, a thousand each in turns of ten; a thread's lines that no
// other one touches do not count. The line that most calls write bounds how far a load can scale:
// each such call has to take it from another core. This counts, it does not measure times.
#include "inspect.h"
#include "program.hpp"
#include "runtime.h"

#include "lathwork/hole.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

using namespace schedtest;

namespace {

constexpr unsigned fibers = 64, turns = 100, calls_per_turn = 10;
constexpr unsigned calls_in_all = fibers * turns * calls_per_turn;
constexpr std::uint64_t stride = 1u << 20;

struct line {
    std::uint64_t users = 0; // fibers that have touched it
    unsigned calls = 0; // that wrote it
};

lath_index* list;
unsigned n_items;
std::unordered_map<std::uintptr_t, line> lines;
std::unordered_set<std::uintptr_t> written; // by the present call
std::array<random_source, fibers> randoms;

void on_access(std::uintptr_t address, std::size_t size, bool write) {
    int self = sched_self();
    if (self < 0 || self >= static_cast<int>(fibers))
        return;
    for (std::uintptr_t at = address / 64; at <= (address + size - 1) / 64; at++) {
        line& l = lines[at];
        l.users |= std::uint64_t{1} << self;
        if (write && written.insert(at).second)
            l.calls++;
    }
}

struct load {
    const char* name;
    unsigned flags;
    bool lookups; // no call may write a line of others
    void (*call)(random_source& random);
};

std::uint64_t some_key(random_source& random) { return random.below(n_items) * stride; }

void insert(random_source& random) {
    lath_item it{some_key(random) + 1 + random.below(stride - 2), 1, 1};
    lath_index_insert_item(list, &it, nullptr);
}

void look_up(random_source& random) {
    lath_item it;
    lath_index_lookup_item(list, some_key(random), &it);
}

void mixed(random_source& random) {
    if (random.below(2))
        return look_up(random);
    if (random.below(2))
        return insert(random);
    lath_index_erase_item(list, some_key(random), nullptr);
}

void ranges(random_source& random) {
    lath_item it{some_key(random) + 1 + random.below(stride / 2), 1 + random.below(4096), 1};
    if (random.below(2))
        lath_index_insert_item(list, &it, nullptr);
    else
        lath_index_erase_item_at(list, it.key, nullptr);
}

void pages(random_source& random) {
    lath_hole_request want{};
    std::uint64_t key;
    want.size = 4096;
    want.align = 4096;
    want.policy = LATH_HOLE_FIRST;
    if (random.below(2))
        lath_index_insert_hole(list, &want, 1, &key);
    else
        lath_index_erase_item(list, some_key(random), nullptr);
}

constexpr std::array<load, 5> loads = {{{"lookups", 0, true, look_up},
                                        {"uniform inserts", 0, false, insert},
                                        {"half lookups, a quarter erases", 0, false, mixed},
                                        {"ranges in and out", 0, false, ranges},
                                        {"pages of 4 KiB by hole", LATH_HOLES, false, pages}}};

const load* current;
unsigned turn;

void body(void*, unsigned fiber) {
    for (unsigned i = 0; i < calls_per_turn; i++) {
        written.clear();
        current->call(randoms[fiber]);
    }
}

void fill(const load& l) {
    lath_config config = LATH_CONFIG_INIT;
    config.flags = l.flags;
    sched_heap_clear();
    list = static_cast<lath_index*>(sched_alloc(sizeof(lath_index), 64, 0));
    if (lath_index_init(list, &config))
        sched_fail("lath_index_init failed", nullptr, nullptr);
    std::vector<unsigned> order(n_items);
    for (unsigned i = 0; i < n_items; i++)
        order[i] = i;
    random_source random{5};
    for (unsigned i = n_items - 1; i > 0; i--)
        std::swap(order[i], order[random.below(i + 1)]);
    for (unsigned i : order) {
        lath_item it{i * stride, 4096, 1};
        lath_index_insert_item(list, &it, nullptr);
    }
    lath_index_prepare(list);
}

// Returns whether the load is as it has to be.
bool run(const load& l) {
    std::array<int, fibers> priority;
    std::array<char, 100> name{};
    current = &l;
    fill(l);
    lines.clear();
    sched_heap_keep();
    for (unsigned i = 0; i < fibers; i++) {
        priority[i] = static_cast<int>(fibers - i);
        randoms[i] = {i + 100};
    }
    sched_plan plan{fibers, priority.data(), 0, nullptr, 0};
    sched_heap_restore();
    for (turn = 0; turn < turns; turn++) {
        if (turn == 1) // what a thread does once does not count
            for (auto& [at, line] : lines)
                line.calls = 0;
        sched_run(&plan, body, nullptr);
    }
    std::uintptr_t hottest = 0;
    unsigned most = 0;
    std::uint64_t shared = 0;
    for (auto& [at, line] : lines) {
        if (!(line.users & (line.users - 1)))
            continue;
        shared += line.calls;
        if (line.calls > most) {
            most = line.calls;
            hottest = at;
        }
    }
    sched_name_line(list, hottest * 64, name.data(), name.size());
    unsigned counted = calls_in_all / turns * (turns - 1);
    std::printf("%-32s %10.3f %10s %s\n", l.name, static_cast<double>(shared) / counted,
                most ? ("1 in " + std::to_string(counted / most)).c_str() : "none",
                most ? name.data() : "");
    return !l.lookups || !shared;
}

} // namespace

int main(int argc, char** argv) {
    unsigned wrong = 0;
    n_items = argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 200000;
    if (n_items < 1000) {
        std::fprintf(stderr, "usage: sharing [ITEMS, at least 1000]\n");
        return 2;
    }
    sched_init(fibers);
    sched_on_access = on_access;
    std::printf("%u items, %u threads\n%-32s %10s %10s %s\n", n_items, fibers, "load", "lines/call",
                "hottest", "which is");
    for (const load& l : loads)
        wrong += !run(l);
    std::printf("%zu passed, %u failed\n", loads.size() - wrong, wrong);
    return wrong != 0;
}
