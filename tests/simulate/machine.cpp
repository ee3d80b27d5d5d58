// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "machine.hpp"

#include "inside.hpp"
#include "redirect.h"
#include "sched/fiber.h"
#include "sched/runtime.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <queue>
#include <sys/mman.h>
#include <unistd.h>

extern "C" char __executable_start, end;

namespace simulate {

namespace {

constexpr ps never = INT64_MAX / 2;
constexpr ps skew = 10000; // a core that hits its own caches may be ahead of others by this
constexpr ps nap = 20000000; // a sleeping core looks again after this
constexpr unsigned near_lines = 32, near_accesses = 24;

unsigned cluster(unsigned core) { return core / cluster_size; }

// Ways of a set, the last used one first.
template <unsigned Sets, unsigned Ways>
struct cache {
    std::array<std::array<std::uint32_t, Ways>, Sets> tag; // number of a line, 0: none
    bool has(std::uint32_t line) {
        auto& set = tag[line % Sets];
        auto at = std::find(set.begin(), set.end(), line);
        if (at == set.end())
            return false;
        std::rotate(set.begin(), at, at + 1);
        return true;
    }
    // Returns the line that goes, or 0.
    std::uint32_t add(std::uint32_t line) {
        auto& set = tag[line % Sets];
        std::uint32_t out = set[Ways - 1];
        std::rotate(set.begin(), set.end() - 1, set.end());
        set[0] = line;
        return out;
    }
};

using first_cache = cache<64, 8>;
using second_cache = cache<2048, 8>;
using shared_cache = cache<8192, 16>;

struct line {
    std::array<std::uint64_t, 3> holders; // cores
    ps busy, kept, waited; // kept: by its owner
    std::uint32_t calls, misses, last_call;
    std::uint16_t owner; // 1 + the one core that may write, or 0
    std::uint16_t sleepers;
    bool shared; // in the shared cache
    bool held_by(unsigned core) const { return holders[core / 64] >> core % 64 & 1; }
    bool held() const { return holders[0] | holders[1] | holders[2]; }
    bool held_far_from(unsigned core) const {
        static_assert(64 % cluster_size == 0);
        std::uint64_t near = ((std::uint64_t{1} << cluster_size) - 1)
                             << core % 64 / cluster_size * cluster_size;
        for (unsigned i = 0; i < holders.size(); i++)
            if (holders[i] & ~(i == core / 64 ? near : 0))
                return true;
        return false;
    }
    void hold(unsigned core) { holders[core / 64] |= std::uint64_t{1} << core % 64; }
    void drop(unsigned core) { holders[core / 64] &= ~(std::uint64_t{1} << core % 64); }
};

struct core {
    fiber_context self;
    ps clock, stores; // when its last store arrives
    ps coming; // when the last prefetch arrives
    std::array<std::pair<std::uint32_t, ps>, 8> prefetched;
    unsigned next_prefetch;
    std::uint64_t accesses, misses, missed_at; // at which access
    std::uint32_t missed_line, turn, call;
    ps missed_start, stalled;
    std::uint32_t polls; // the one line read before the last pause, or 0
    std::uint32_t read; // the one line read since the last pause, or 0
    bool other; // something else was done since then
    std::uint32_t asleep; // the line
    bool idle;
};

struct turn {
    ps clock;
    unsigned core;
    std::uint32_t number; // it is the core's last one
    bool operator>(const turn& o) const {
        return clock != o.clock ? clock > o.clock : core > o.core;
    }
};

costs cost;
bool waits_are_short;
unsigned cores, self, calls_made;
bool running, filling = true;
std::array<core, most_cores + 2> all; // the last but one frees, the last one is the program
first_cache* l1;
second_cache* l2;
shared_cache* l3;
line* lines;
std::uintptr_t private_base, private_size;
std::priority_queue<turn, std::vector<turn>, std::greater<>> turns;
ps lowest; // of the other cores
const std::function<void(unsigned)>* body;
std::uint64_t ended, warm_calls, all_calls;
outcome out;

constexpr unsigned program = most_cores + 1;
constexpr std::uint32_t arena_lines = arena_size / 64, most_of_program = 1u << 20;

std::uintptr_t start_of_program() {
    return reinterpret_cast<std::uintptr_t>(&__executable_start) & ~std::uintptr_t{63};
}

std::uint32_t lines_of_program() {
    auto size = reinterpret_cast<std::uintptr_t>(&end) - start_of_program();
    return std::min(static_cast<std::uint32_t>(size / 64 + 1), most_of_program);
}

std::uint32_t line_of(std::uintptr_t address) {
    if (address - arena_base < arena_size)
        return static_cast<std::uint32_t>((address - arena_base) / 64) + 1;
    if (address - start_of_program() < lines_of_program() * 64ul)
        return arena_lines + 1 + static_cast<std::uint32_t>((address - start_of_program()) / 64);
    return 0;
}

template <class Do>
void for_each_line(Do&& what) {
    for (std::uint32_t i = 1; i <= arena_used() / 64; i++)
        what(lines[i]);
    for (std::uint32_t i = 1; i <= lines_of_program(); i++)
        what(lines[arena_lines + i]);
}

// ---- whose turn it is ----

void queue(unsigned c, ps when) {
    all[c].turn++;
    turns.push({when, c, all[c].turn});
}

void find_lowest() {
    while (!turns.empty() && turns.top().number != all[turns.top().core].turn)
        turns.pop();
    lowest = turns.empty() ? never : turns.top().clock;
}

void go(unsigned to) {
    unsigned from = self;
    if (to == from)
        return;
    self = to;
    fiber_switch(&all[from].self, &all[to].self);
}

// Goes on with the core that has the lowest clock.
void next() {
    find_lowest();
    if (turns.empty()) { // all calls have ended, and nothing is to be freed
        lowest = never;
        go(program);
        return;
    }
    turn t = turns.top();
    turns.pop();
    core& c = all[t.core];
    c.turn++;
    if (c.asleep) {
        lines[c.asleep].sleepers--;
        c.asleep = 0;
    }
    c.clock = std::max(c.clock, t.clock);
    find_lowest();
    go(t.core);
}

void give_way() {
    queue(self, all[self].clock);
    next();
}

void sleep_on(std::uint32_t number) {
    all[self].asleep = number;
    lines[number].sleepers++;
    queue(self, all[self].clock + nap);
    next();
}

void wake(std::uint32_t number, ps when) {
    for (unsigned i = 0; i <= cores && lines[number].sleepers; i++) {
        unsigned c = i < cores ? i : most_cores;
        if (all[c].asleep != number)
            continue;
        all[c].asleep = 0;
        lines[number].sleepers--;
        all[c].clock = std::max(all[c].clock, when);
        queue(c, all[c].clock);
        lowest = std::min(lowest, all[c].clock);
    }
}

// ---- caches ----

void keep_shared(std::uint32_t number) {
    if (lines[number].shared) {
        l3->has(number);
        return;
    }
    lines[number].shared = true;
    if (std::uint32_t gone = l3->add(number))
        lines[gone].shared = false;
}

void keep(std::uint32_t number) {
    l1[self].add(number);
    if (l2[self].has(number))
        return;
    if (std::uint32_t gone = l2[self].add(number)) {
        line& g = lines[gone];
        if (g.held_by(self)) {
            g.drop(self);
            if (g.owner == self + 1)
                g.owner = 0;
            keep_shared(gone);
        }
    }
}

bool near_last_miss(const core& c, std::uint32_t number) {
    return c.accesses - c.missed_at <= near_accesses &&
           number - c.missed_line + near_lines <= 2 * near_lines;
}

// The line is there, with the right to do this.
void hit(core& c, line& l, std::uint32_t number, sched_kind kind) {
    if (c.coming > c.clock)
        for (auto& [n, when] : c.prefetched)
            if (n == number && when > c.clock) {
                c.stalled += when - c.clock;
                c.clock = when;
            }
    if (!l1[self].has(number)) {
        l1[self].add(number);
        l2[self].has(number); // used
        if (kind != SCHED_WRITE && !near_last_miss(c, number)) {
            c.clock += cost.l2;
            c.stalled += cost.l2;
        }
    }
    if (kind == SCHED_UPDATE)
        c.clock = std::max(c.clock, c.stores) + cost.update;
    if (kind != SCHED_READ && l.sleepers)
        wake(number, c.clock);
}

// Gets the line or the right to write it. Returns when it will have come.
ps fetch(core& c, line& l, std::uint32_t number, bool write, ps from) {
    ps start = std::max(from, l.busy), took, busy;
    bool have = l.held_by(self);
    if (l.owner && l.owner != self + 1) {
        took = busy = cluster(l.owner - 1u) == cluster(self) ? cost.line : cost.far;
    } else if (write) {
        line others = l;
        others.drop(self);
        took = busy = others.held_far_from(self) ? cost.far
                      : others.held()            ? cost.line
                      : have                     ? 0
                      : l.shared                 ? cost.l3
                                                 : cost.memory;
    } else {
        took = l.shared || l.held() ? cost.l3 : cost.memory;
        busy = std::min(took, cost.serve);
    }
    l.busy = start + busy;
    l.waited += start + took - from;
    l.misses++;
    c.misses++;
    if (write) {
        l.holders = {};
        l.owner = static_cast<std::uint16_t>(self + 1);
        l.kept = start + took + cost.hold;
    } else {
        l.owner = static_cast<std::uint16_t>(l.held() ? 0 : self + 1);
        keep_shared(number);
    }
    l.hold(self);
    keep(number);
    return start + took;
}

void miss(core& c, line& l, std::uint32_t number, sched_kind kind) {
    ps before = c.clock;
    if (kind == SCHED_READ) {
        bool near = near_last_miss(c, number);
        ps from = near ? std::min(c.missed_start, c.clock) : c.clock;
        ps there = fetch(c, l, number, false, from);
        if (!near)
            c.missed_start = from;
        c.missed_line = number;
        c.missed_at = c.accesses;
        c.clock = std::max(c.clock, there);
    } else if (kind == SCHED_UPDATE) {
        c.clock = fetch(c, l, number, true, std::max(c.clock, c.stores)) + cost.update;
        c.stores = c.clock;
    } else {
        c.stores = std::max(c.stores, fetch(c, l, number, true, c.clock));
        c.clock = std::max(c.clock, c.stores - cost.buffered);
    }
    c.stalled += c.clock - before;
    if (kind != SCHED_READ && l.sleepers)
        wake(number, std::max(c.clock, c.stores));
}

void note_write(core& c, line& l) {
    if (l.last_call != c.call) {
        l.last_call = c.call;
        l.calls++;
    }
}

void touch(std::uint32_t number, sched_kind kind) {
    core& c = all[self];
    line& l = lines[number];
    for (;;) {
        bool mine = l.held_by(self) && (kind == SCHED_READ || l.owner == self + 1);
        if (c.clock > (mine ? lowest + skew : lowest)) {
            give_way();
            continue;
        }
        if (!mine && l.owner && l.owner != self + 1 && c.clock < l.kept) {
            l.waited += l.kept - c.clock;
            c.stalled += l.kept - c.clock;
            c.clock = l.kept;
            continue;
        }
        if (mine)
            hit(c, l, number, kind);
        else
            miss(c, l, number, kind);
        break;
    }
    if (kind != SCHED_READ)
        note_write(c, l);
}

void fiber_body() {
    for (;;) {
        if (self == most_cores) {
            while (free_retired())
                ;
            all[self].idle = true;
            next();
            continue;
        }
        while (ended < all_calls) {
            all[self].call = ++calls_made;
            (*body)(self);
            if (++ended == warm_calls) {
                for (unsigned i = 0; i <= most_cores; i++)
                    all[i].accesses = all[i].misses = 0, all[i].stalled = 0;
                for_each_line([](line& l) { l.calls = l.misses = 0, l.waited = 0; });
                out.time = all[self].clock;
            }
            if (ended == all_calls)
                out.time = all[self].clock - out.time;
        }
        next();
    }
}

void* map(std::size_t size) {
    void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        std::perror("simulate: memory");
        std::exit(2);
    }
    return p;
}

} // namespace

void short_waits(bool yes) { waits_are_short = yes; }

void begin(unsigned n, const costs& c) {
    cost = c;
    cores = n;
    self = program;
    l1 = static_cast<first_cache*>(map(sizeof(first_cache) * (most_cores + 1)));
    l2 = static_cast<second_cache*>(map(sizeof(second_cache) * (most_cores + 1)));
    l3 = static_cast<shared_cache*>(map(sizeof(shared_cache)));
    lines = static_cast<line*>(map(sizeof(line) * (arena_lines + most_of_program + 1ul)));
    private_size = FIBER_STACKS(n + 1);
    private_base = fiber_stacks(n + 1);
    for (unsigned i = 0; i < n; i++)
        fiber_make(&all[i].self, fiber_body);
    fiber_make(&all[most_cores].self, fiber_body);
    fiber_of_thread(&all[program].self);
    all[most_cores].idle = true;
    arena_begin();
}

unsigned allocating_core() { return running ? self : program; }
unsigned cores_in_use() { return cores; }

void wake_freeing_core() {
    core& c = all[most_cores];
    if (!running || !c.idle)
        return;
    c.idle = false;
    c.clock = std::max(c.clock, all[self].clock);
    queue(most_cores, c.clock);
    lowest = std::min(lowest, c.clock);
}

outcome run(const std::function<void(unsigned)>& call, std::uint64_t warm, std::uint64_t calls) {
    body = &call;
    warm_calls = warm;
    all_calls = calls;
    filling = false;
    for (unsigned i = 0; i < cores; i++)
        queue(i, i * 100); // they do not begin at the same moment
    running = true;
    next();
    running = false;
    out.calls = calls - warm;
    for (unsigned i = 0; i < cores; i++) {
        out.accesses += all[i].accesses;
        out.misses += all[i].misses;
        out.stalled += all[i].stalled;
    }
    return out;
}

std::vector<hot_line> hottest(std::size_t n,
                              const std::function<std::string(std::uintptr_t)>& name) {
    std::vector<std::uint32_t> order;
    for_each_line([&](line& l) {
        if (l.waited)
            order.push_back(static_cast<std::uint32_t>(&l - lines));
    });
    n = std::min(n, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n), order.end(),
                      [](std::uint32_t a, std::uint32_t b) {
                          return lines[a].waited != lines[b].waited
                                     ? lines[a].waited > lines[b].waited
                                     : a < b;
                      });
    std::vector<hot_line> result;
    for (std::size_t i = 0; i < n; i++) {
        const line& l = lines[order[i]];
        std::string what = order[i] > arena_lines ? "a variable of the program"
                                                  : name(arena_base + (order[i] - 1) * 64ul);
        result.push_back({what, l.calls, l.misses, l.waited});
    }
    return result;
}

} // namespace simulate

using namespace simulate;

// ---- what the instrumented code and host.c call ----

void sched_access(const volatile void* address, std::size_t size, sched_kind kind, const void*) {
    auto at = reinterpret_cast<std::uintptr_t>(address);
    if (!running) {
        if (std::uint32_t number = lines && filling ? line_of(at) : 0)
            keep_shared(number);
        return;
    }
    core& c = all[self];
    c.accesses++;
    c.clock += cost.access;
    if (at - private_base < private_size)
        return;
    std::uint32_t number = line_of(at), last = line_of(at + size - 1);
    if (!number)
        return;
    touch(number, kind);
    if (last != number)
        touch(last, kind);
    c.other |= kind != SCHED_READ || (c.read && c.read != number);
    c.read = number;
}

void sched_fence(void) {}

void sched_point(void) {}

int sched_self(void) { return running ? static_cast<int>(self) : -1; }

void sched_yield_to_others(void) { simulate_yield(); }

// A core that finds a mutex locked looks again after a while.
void sched_wait(const volatile void*) { simulate_yield(); }
void sched_wake(const volatile void*) {}

void sched_fail(const char* what, const void* address, const void*) {
    std::fprintf(stderr, "simulate: %s (%p)\n", what, address);
    _exit(2);
}

void simulate_prefetch(const void* address, int write) {
    std::uint32_t number = running ? line_of(reinterpret_cast<std::uintptr_t>(address)) : 0;
    if (!number || number >= arena_used() / 64 + 1)
        return;
    core& c = all[self];
    line& l = lines[number];
    while (c.clock > lowest)
        give_way();
    if (l.held_by(self) && (!write || l.owner == self + 1))
        return;
    ps there = fetch(c, l, number, write, c.clock);
    c.prefetched[c.next_prefetch++ % c.prefetched.size()] = {number, there};
    c.coming = std::max(c.coming, there);
    if (write && l.sleepers)
        wake(number, there);
}

void simulate_pause(void) {
    if (!running)
        return;
    core& c = all[self];
    c.clock += cost.pause;
    std::uint32_t number = c.other ? 0 : c.read;
    bool waits = number && c.polls == number && lines[number].held_by(self);
    // pauses in a row are a time in which the core does not look
    c.polls = number;
    c.read = 0;
    c.other = false;
    if (waits)
        sleep_on(number);
}

unsigned lath_processors(void) { return cores; }

void lath_pause(unsigned ns) {
    if (running)
        all[self].clock += ps{ns} * 1000;
}

// The calling core takes this many bytes of the system. src/sys/user.c has the sizes.
void simulate_pages(std::size_t size) {
    constexpr std::size_t area_size = 4 << 20;
    static std::size_t area_left;
    static ps readers_until, writer_until;

    if (!running)
        return;
    while (all[self].clock > lowest) // the address space is locked in order of time
        give_way();
    core& c = all[self];
    ps before = c.clock;
    auto wait_until = [&](ps free) {
        if (c.clock < free)
            c.clock = free + cost.wake;
    };
    if (size > area_size / 4 || size > area_left) {
        area_left = area_size;
        wait_until(std::max(readers_until, writer_until));
        writer_until = c.clock += cost.mapping;
    }
    area_left -= std::min(size, area_left);
    wait_until(writer_until);
    c.clock += static_cast<ps>((size + 4095) / 4096) * cost.page;
    readers_until = std::max(readers_until, c.clock);
    c.stalled += c.clock - before;
}

int simulate_short_waits(void) { return waits_are_short; }

int simulate_yield(void) {
    if (running) {
        all[self].clock += cost.yield;
        give_way();
    }
    return 0;
}
