// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "load.hpp"

#include "queue_lock.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace simulate {

namespace {

constexpr u64 stride = 1u << 20;

std::vector<u64> shuffled(u64 items) {
    std::vector<u64> order(items);
    random_source random{5};
    for (u64 i = 0; i < items; i++)
        order[i] = i;
    for (u64 i = items - 1; i > 0; i--)
        std::swap(order[i], order[random.below(i + 1)]);
    return order;
}

void fill_points(structure& s, u64 items) {
    for (u64 i : shuffled(items))
        s.insert((i + 1) * stride, 5);
}

void fill_ranges(structure& s, u64 items) {
    for (u64 i : shuffled(items))
        s.insert_range((i + 1) * stride, 4096);
}

void fill_pages(structure& s, u64 items) {
    u64 at;
    for (u64 i = 0; i < items; i++)
        s.alloc(at);
}

void fill_nothing(structure&, u64) {}

u64 some_key(worker& w, u64 items) { return (w.random.below(items) + 1) * stride; }

void look_up(structure& s, worker& w, u64 items) { s.get(some_key(w, items)); }

u64 new_key(worker& w, u64 items) { return some_key(w, items) + 1 + w.random.below(stride / 2); }

void insert(structure& s, worker& w, u64 items) { s.insert(new_key(w, items), 5); }

// Puts in or takes out, so that a worker has about 64.
template <class Put, class Take>
void put_or_take(worker& w, Put&& put, Take&& take) {
    if (w.random.below(128) >= w.own.size()) {
        u64 key;
        if (put(key))
            w.own.push_back(key);
        return;
    }
    std::swap(w.own[w.random.below(w.own.size())], w.own.back());
    take(w.own.back());
    w.own.pop_back();
}

// Time stamps: the next key of all threads.
void append(structure& s, worker& w, u64 items) {
    s.insert((items + 1 + take_number(*w.shared)) * stride, 5);
}

double square(double x) { return x * x; }

// Half updates, half lookups, of which few keys have most: zipf with exponent .99, by the
// distribution function of a continuous one. Frequent keys are anywhere in the order.
void hot(structure& s, worker& w, u64 items) {
    if (w.reach == 0)
        w.reach = std::pow(static_cast<double>(items) + 1, 0.01) - 1;
    double u = static_cast<double>(w.random.next() >> 11) / 0x1p53;
    double x4 = square(square(1 + u * w.reach)), x32 = square(square(square(x4)));
    u64 rank = std::min(items - 1, static_cast<u64>(square(x32) * x32 * x4 - 1)); // to the 100th
    u64 key = (rank * 0x9e3779b1u % items + 1) * stride;
    if (w.random.below(2))
        s.get(key);
    else
        s.update(key, 5);
}

void one_key(structure& s, worker&, u64 items) { s.update((items / 2 + 1) * stride, 5); }

// Each thread its own key, all in one leaf.
void one_leaf(structure& s, worker& w, u64 items) {
    s.update((items / 2 + 1 + w.number % 32) * stride, 5);
}

void mixed(structure& s, worker& w, u64 items) {
    if (w.random.below(2))
        return look_up(s, w, items);
    put_or_take(
        w, [&](u64& key) { return s.insert(key = new_key(w, items), 5); },
        [&](u64 key) { s.erase(key); });
}

void ranges(structure& s, worker& w, u64 items) {
    if (w.random.below(2)) {
        s.find(some_key(w, items) + w.random.below(4096));
        return;
    }
    put_or_take(
        w,
        [&](u64& key) {
            key = some_key(w, items) + 4096 + w.random.below(stride / 2);
            return s.insert_range(key, 1 + w.random.below(4096));
        },
        [&](u64 key) { s.take(key); });
}

void pages(structure& s, worker& w, u64) {
    put_or_take(w, [&](u64& key) { return s.alloc(key); }, [&](u64 key) { s.release(key); });
}

// Each has 4,096 pages of its own, 16 MiB, of which it locks 16.
void lock_apart(structure& s, worker& w, u64) {
    s.hold((u64{w.number} << 20) + w.random.below(4096 - 16), 16);
}

// An address space with one region of 1 to 16 pages for 32 pages, as in table address-space. Each
// worker maps in one of 64 parts.
constexpr u64 first_page = u64{1} << 30, spread = 32, parts = 64, most_pages = 16;

void fill_regions(structure& s, u64 items) {
    for (u64 i : shuffled(items))
        s.map(first_page + i * spread, 1 + i % most_pages);
}

void query(structure& s, worker& w, u64 items) {
    s.query(first_page + w.random.below(items * spread));
}

void map_over(structure& s, worker& w, u64 items) {
    u64 part = std::max(items * spread / parts, 2 * most_pages);
    s.map(first_page + w.number % parts * part + w.random.below(part - most_pages),
          1 + w.random.below(most_pages));
}

void alloc_regions(structure& s, worker& w, u64) {
    put_or_take(
        w,
        [&](u64& key) {
            u64 pages = 1 + w.random.below(most_pages);
            key = s.alloc_region(pages, w.number) * 32 + pages;
            return key >= 32;
        },
        [&](u64 key) { s.unmap(key / 32, key % 32); });
}

void step(structure& s, worker& w, u64) { s.step(w.number); }

} // namespace

const std::vector<load>& loads() {
    static const std::vector<load> all = {
        {"lookups", "random keys that are there", &subject::points, fill_points, look_up, false},
        {"inserts", "random new keys", &subject::points, fill_points, insert, true},
        {"tail", "keys in order, from one counter", &subject::points, fill_points, append, true},
        {"hot", "half updates, half lookups, zipf .99", &subject::points, fill_points, hot, false},
        {"one-key", "all update one key", &subject::points, fill_points, one_key, false},
        {"one-leaf", "each updates its own key, all in one leaf", &subject::points, fill_points,
         one_leaf, false},
        {"mixed", "half lookups, a quarter inserts, a quarter erases", &subject::points,
         fill_points, mixed, false},
        {"ranges", "half lookups of a point; ranges of up to 4 KiB put in and taken out",
         &subject::ranges, fill_ranges, ranges, false},
        {"iova", "pages of 4 KiB allocated and freed", &subject::iova, fill_pages, pages, false},
        {"locks", "each locks and unlocks ranges in its own part", &subject::locks, fill_nothing,
         lock_apart, false},
        {"query", "the region of a page", &subject::regions, fill_regions, query, false},
        {"alloc", "regions where there is room, and out again", &subject::regions, fill_regions,
         alloc_regions, false},
        {"map", "regions over what is there, each in its own part", &subject::regions, fill_regions,
         map_over, false},
        {"steps", "what has no keys", &subject::steps, fill_nothing, step, false},
    };
    return all;
}

const std::vector<subject>& subjects() {
    static const std::vector<subject> all = [] {
        std::vector<subject> v = {lathwork_subject()};
        for (const auto& more : {linux_subjects(), absl_subjects()})
            v.insert(v.end(), more.begin(), more.end());
        v.push_back(btree_subject());
        for (const subject& s : known_subjects())
            v.push_back(s);
        return v;
    }();
    return all;
}

} // namespace simulate

// Four per thread: hand over hand takes two.
bench_spin_place* bench_spin_own() {
    static thread_local bench_spin_place* own = nullptr;
    if (!own) {
        own = static_cast<bench_spin_place*>(simulate::memory(64, 4 * sizeof(bench_spin_place)));
        for (unsigned i = 0; i < 4; i++)
            own[i] = {};
    }
    unsigned i = 0;
    while (own[i].used)
        i++;
    return own + i;
}
