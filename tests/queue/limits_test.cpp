// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What the sort queue promises besides the order: no memory after init, a bounded insert, room that
// lasts; and the C++ wrapper.
#include "lathwork/cxx/sortq.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <dlfcn.h>

namespace {

std::size_t allocations = 0;

struct request {
    int number;
    lathwork::sort_hook hook;
};
using queue = lathwork::sort_queue<request, &request::hook>;

} // namespace

// Interposed: every way to the heap goes through these.
extern "C" void* malloc(std::size_t n) {
    static auto next = reinterpret_cast<void* (*)(std::size_t)>(dlsym(RTLD_NEXT, "malloc"));
    allocations++;
    return next(n);
}

TEST_CASE("nothing is allocated after init") {
    std::size_t at = allocations;
    std::free(std::malloc(1));
    REQUIRE(allocations > at); // the count counts
    for (auto e : {LATH_SORTQ_HYBRID, LATH_SORTQ_FIFO}) {
        std::vector<request> pool(500);
        queue q(pool, {e, LATH_SORTQ_AGES | LATH_SORTQ_MERGES});
        std::mt19937_64 rng(3);
        std::size_t before = allocations;
        for (int round = 0; round < 30; round++) {
            for (auto& r : pool) {
                r.hook.sector = rng() >> 24;
                r.hook.sectors = 8;
                q.insert_at(q.lookup(r.hook.sector, r.hook.sector + 8), r);
            }
            for (std::size_t i = 0; i < 100; i++)
                q.remove(*q.oldest());
            q.set_head(rng() >> 24);
            q.barrier();
            while (q.dispatch())
                ;
        }
        CHECK(allocations == before);
    }
}

TEST_CASE("the worst single insert at depth 65536") {
    using clock = std::chrono::steady_clock;
    std::vector<request> pool(65536);
    // The same inserts in every round: the least time of each over the rounds is the queue's own,
    // not that of a machine with other work.
    std::vector<double> least(pool.size(), 1e9);
    for (int round = 0; round < 9; round++) {
        queue q(pool);
        std::mt19937_64 rng(7);
        for (std::size_t i = 0; i < pool.size(); i++) {
            pool[i].hook.sector = rng() >> 24;
            auto start = clock::now();
            q.insert(pool[i]);
            std::chrono::duration<double, std::micro> took = clock::now() - start;
            least[i] = std::min(least[i], took.count());
        }
        REQUIRE(q.verify() == 0);
    }
    double worst = *std::max_element(least.begin(), least.end());
    MESSAGE("worst single insert at depth 65536: " << worst << " us");
    CHECK(worst < 100); // measured 1; an O(n) step would take 300
}

// Leave one request in each block and fill up again, so that blocks run short and are joined.
TEST_CASE("room lasts against removals made to waste it") {
    std::vector<request> pool(4096);
    queue q(pool);
    std::mt19937 rng(5);
    std::vector<request*> in;
    std::uint64_t base = 0;
    for (int round = 0; round < 40; round++) {
        for (auto& r : pool)
            if (std::find(in.begin(), in.end(), &r) == in.end()) {
                // descending, ascending and scattered runs split blocks in every way
                base += round % 3 == 0 ? -3ull : round % 3 == 1 ? 3ull : rng() % 1000;
                r.hook.sector = base & 0xffffffffffull;
                q.insert(r);
                in.push_back(&r);
            }
        REQUIRE(q.verify() == 0);
        std::sort(in.begin(), in.end(), [](const request* a, const request* b) {
            return a->hook.sector < b->hook.sector;
        });
        std::vector<request*> left;
        for (std::size_t i = 0; i < in.size(); i++)
            if (i % 9 == static_cast<std::size_t>(round) % 9)
                left.push_back(in[i]);
            else
                q.remove(*in[i]);
        in = left;
        REQUIRE(q.verify() == 0);
        REQUIRE(q.size() == in.size());
    }
}

TEST_CASE("older, shorter configurations are taken") {
    std::array<request, 4> items{};
    lath_request_pool pool{};
    lath_sortq q;
    alignas(64) static char memory[16384];
    REQUIRE(lath_request_pool_init(&pool, &items[0].hook, sizeof(request), 4) == 0);
    lath_sortq_config config = LATH_SORTQ_CONFIG_INIT;
    REQUIRE(lath_sortq_memsize(&config, &pool) <= sizeof(memory));
    for (std::size_t size : {offsetof(lath_sortq_config, simd), sizeof(config)}) {
        config.size = size;
        CHECK(lath_sortq_memsize(&config, &pool) != 0);
        CHECK(lath_sortq_init(&q, &config, &pool, memory) == 0);
    }
    CHECK(lath_sortq_init(&q, nullptr, &pool, memory) == 0);
    CHECK(std::string(lath_sortq_engine_name(static_cast<lath_sortq_engine>(3))) == "?");
    CHECK_THROWS_AS(queue(std::span<request>{}), std::invalid_argument);
}

TEST_CASE("the wrapper: options that cannot be, a merge at the front") {
    std::vector<request> items(8);
    CHECK_THROWS_AS(queue(items, {LATH_SORTQ_HYBRID, 1u << 9}), std::invalid_argument);
    queue q(items, {LATH_SORTQ_HYBRID, LATH_SORTQ_MERGES});
    for (std::size_t i = 0; i < items.size(); i++) {
        items[i].hook.sector = 100 + i * 10;
        items[i].hook.sectors = 4;
        q.insert(items[i]);
    }
    q.merge_front(items[3], 126);
    CHECK(items[3].hook.sector == 126);
    CHECK(items[3].hook.sectors == 8);
    q.merge_front(items[5], 118); // over others: its place changes
    CHECK(q.verify() == 0);
    CHECK(q.lookup(110, 118).front == &items[5]);
    CHECK(q.next(items[1]) == &items[5]);
    CHECK(q.next(items[5]) == &items[2]);
}

TEST_CASE("two queues over one pool, through the wrapper") {
    std::vector<request> items(64);
    auto pool = std::make_shared<queue::pool_type>(items);
    queue reads(pool, {LATH_SORTQ_HYBRID, LATH_SORTQ_MERGES}), writes(pool);
    for (std::size_t i = 0; i < items.size(); i++) {
        items[i].hook.sector = 1000 - i * 10;
        items[i].hook.sectors = 5;
    }
    for (std::size_t i = 0; i < items.size(); i++)
        (i % 2 ? reads : writes).insert(items[i]);
    CHECK(reads.size() == 32);
    CHECK(writes.size() == 32);
    // a request of the other queue ends there: not to be offered
    CHECK(reads.lookup(items[2].hook.sector + 5, 2000).back == nullptr);
    CHECK(reads.lookup(items[3].hook.sector + 5, 2000).back == &items[3]);
    CHECK(writes.first() == &items[62]);
    CHECK(writes.next(items[62]) == &items[60]);
    CHECK(writes.prev(items[60]) == &items[62]);
    CHECK(writes.first_from(995) == &items[0]);
    for (std::size_t i = 0; i < 32; i++)
        CHECK(writes.dispatch() == &items[62 - 2 * i]);
    CHECK(writes.empty());
    CHECK(lath_sortq_head(writes.get()) == 1000);
}
