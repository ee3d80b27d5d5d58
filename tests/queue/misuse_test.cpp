// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A request inserted twice into a hybrid that does not look, which verify tells; and what the C++
// wrapper says of what was refused. (sortq_calls.hpp describes what queues refuse.)
#include "lathwork/cxx/sortq.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <span>
#include <vector>

TEST_CASE("verify of the plain hybrid sees a request inserted twice") {
    for (std::uint32_t again : {3u, 149u}) {
        std::vector<lath_request> requests(151); // room for the one that is inserted twice
        lath_request_pool pool{};
        lath_sortq_config config = LATH_SORTQ_CONFIG_INIT;
        lath_sortq q{};
        REQUIRE(lath_request_pool_init(&pool, requests.data(), sizeof(lath_request), 151) == 0);
        void* memory = std::aligned_alloc(64, lath_sortq_memsize(&config, &pool));
        REQUIRE(lath_sortq_init(&q, &config, &pool, memory) == 0);
        for (auto& r : std::span(requests).first(150)) {
            r.sector = r.tag * 977 % 1000 * 8;
            REQUIRE(lath_sortq_insert(&q, &r) == 0);
        }
        CHECK(lath_sortq_verify(&q) == 0);
        lath_sortq_insert(&q, &requests[again]);
        CHECK(lath_sortq_verify(&q) == 6);
        lath_sortq_first(&q); // all into blocks
        CHECK(lath_sortq_verify(&q) != 0);
        std::free(memory);
    }
}

TEST_CASE("the wrapper says what was refused") {
    struct request {
        int number;
        lathwork::sort_hook hook;
    };
    std::vector<request> items(80);
    lathwork::sort_queue<request, &request::hook> q(
        items, {LATH_SORTQ_HYBRID, LATH_SORTQ_MERGES | LATH_SORTQ_CHECKED});
    std::vector<lath_request*> flush;
    for (auto& r : items) {
        r.hook.sector = 8000 + r.hook.tag * 8;
        r.hook.sectors = 4;
        flush.push_back(&r.hook);
    }
    CHECK(q.insert(items[70]));
    CHECK_FALSE(q.insert(items[70]));
    CHECK(lath_sortq_insert_batch(q.get(), flush.data(), flush.size()) == 70);
    CHECK(q.size() == 71);
    CHECK_FALSE(q.insert_at(q.lookup(0, 4), items[3]));
    CHECK_FALSE(q.remove(items[75]));
    CHECK_FALSE(q.merge_back(items[75], 4));
    CHECK(items[75].hook.sectors == 4);
    CHECK_FALSE(q.merge_front(items[75], 0));
    CHECK(q.merge_back(items[3], 4));
    CHECK(q.remove(items[3]));
    CHECK_FALSE(q.remove(items[3]));
    CHECK(q.verify() == 0);
}
