// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// index_program.hpp - scenarios of calls on one index (index_program.cpp), and the calls
// themselves, each recorded as the checker knows it (index_calls.cpp).
#pragma once

#include "inspect.h"
#include "program.hpp"
#include "runtime.h"

#include "base/checker.hpp"
#include "lathwork/cursor.h"
#include "lathwork/hole.h"
#include "lathwork/index.h"

#include <array>

namespace schedtest {

constexpr std::uint64_t window = 1u << 20; // point p is the key window + p

enum class act : std::uint8_t {
    insert,
    insert_preloaded,
    insert_batch,
    insert_cursor,
    erase,
    erase_at,
    erase_if,
    erase_batch,
    erase_cursor,
    erase_part,
    erase_range,
    replace,
    replace_if,
    resize,
    split,
    join,
    store,
    take,
    hole,
    lookup,
    lookup_rcu,
    lookup_batch,
    lookup_pin,
    get,
    get_batch,
    overlap,
    floor,
    ceiling,
    first,
    last,
    walk,
    scan,
    scan_values,
    scan_back,
    clone,
    trim,
    prepare,
    prefetch,
    count,
    hole_stats,
    all
};

const char* name_of(act what);

// A call with its arguments; each kind of call uses some of them.
struct planned {
    act what;
    unsigned key, size, value, other, last, align, policy;
};

// The answer of lath_index_count(), and the times at which it was called and returned.
struct counted {
    std::uint64_t called, returned, items;
};

// The calls of one fiber: what is planned, and what came of it.
struct fiber_calls {
    std::vector<planned> plan;
    std::vector<lin::call> history;
    std::vector<counted> counts;
};

// Makes one call on an index and records it. `points`: number of points that are in use.
class caller {
public:
    caller(lath_index* index, fiber_calls& mine, unsigned points)
        : index_(index), mine_(mine), points_(points) {}
    void run();

private:
    void make(const planned& p);
    void insert(const planned& p);
    void insert_cursor(const planned& p);
    void batch(const planned& p);
    void erase(const planned& p);
    void erase_range(const planned& p);
    void change(const planned& p);
    void find_hole(const planned& p);
    void look_up(const planned& p);
    void find(const planned& p);
    void walk(const planned& p);
    void scan(const planned& p);
    void clone(const planned& p);
    void count();
    void other(const planned& p);
    void note(lin::op what, const planned& p, std::uint64_t called, int ret, const lath_item* got);
    void note_items(std::uint64_t called, std::uint64_t returned, unsigned from, unsigned to,
                    const lath_item* items, std::size_t n);
    lin::item seen(const lath_item& it) const;

    lath_index* index_;
    fiber_calls& mine_;
    unsigned points_;
};

} // namespace schedtest
