// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Requests inserted twice, taken out of a queue that does not hold them, or merged there: every
// engine refuses them and stays as it was. Of second inserts the hybrid tells with
// LATH_SORTQ_CHECKED, or its verify.
#include "lathwork/cxx/sortq.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace {

struct free_memory {
    void operator()(void* p) const { std::free(p); }
};

constexpr std::uint32_t count = 200;

class fixture {
public:
    fixture(lath_sortq_engine engine, unsigned flags) : requests(count) {
        REQUIRE(lath_request_pool_init(&pool_, requests.data(), sizeof(lath_request), count) == 0);
        for (auto* queue : {&q, &other}) {
            lath_sortq_config config = LATH_SORTQ_CONFIG_INIT;
            config.engine = engine;
            config.flags = flags;
            auto& memory = queue == &q ? memory_ : other_memory_;
            memory.reset(std::aligned_alloc(64, lath_sortq_memsize(&config, &pool_)));
            REQUIRE(lath_sortq_init(queue, &config, &pool_, memory.get()) == 0);
        }
        for (auto& r : requests) {
            r.sector = r.tag * 977 % 1000 * 8;
            r.sectors = 4;
        }
    }

    // Takes everything out: each of the requests once.
    void expect_drained(std::uint32_t n) {
        CHECK(lath_sortq_count(&q) == n);
        CHECK(lath_sortq_verify(&q) == 0);
        std::vector<int> seen(count);
        while (lath_request* r = lath_sortq_dispatch(&q)) {
            REQUIRE(++seen[r->tag] == 1);
            n--;
        }
        CHECK(n == 0);
        CHECK(lath_sortq_count(&q) == 0);
    }

    std::vector<lath_request> requests;
    lath_sortq q{}, other{};

private:
    lath_request_pool pool_{};
    std::unique_ptr<void, free_memory> memory_, other_memory_;
};

bool looks(lath_sortq_engine engine, unsigned flags) {
    return engine != LATH_SORTQ_HYBRID || flags & LATH_SORTQ_CHECKED;
}

// body(engine, flags) for every engine with and without what keeps more than the order
template <class Body>
void each_engine(Body body) {
    for (auto engine : {LATH_SORTQ_HYBRID, LATH_SORTQ_FIFO})
        for (unsigned bits = 0; bits < 16; bits++) {
            unsigned flags = bits;
            CAPTURE(lath_sortq_engine_name(engine));
            CAPTURE(flags);
            body(engine, flags);
        }
}

} // namespace

TEST_CASE("a request that is not queued is not removed") {
    each_engine([](lath_sortq_engine engine, unsigned flags) {
        fixture f(engine, flags);
        CHECK(lath_sortq_remove(&f.q, &f.requests[0]) == -ENOENT); // nothing is
        for (std::uint32_t i = 0; i < 150; i++)
            REQUIRE(lath_sortq_insert(&f.q, &f.requests[i]) == 0);
        CHECK(lath_sortq_remove(&f.q, &f.requests[170]) == -ENOENT); // never was
        lath_request* gone = lath_sortq_dispatch(&f.q);
        CHECK(lath_sortq_remove(&f.q, gone) == -ENOENT); // dispatched
        bool merges = flags & LATH_SORTQ_MERGES;
        bool told = merges && looks(engine, flags);
        if (told)
            CHECK(lath_sortq_back_merged(&f.q, gone) == -ENOENT);
        CHECK(lath_sortq_front_merged(&f.q, gone, 0) == -ENOENT);
        lath_sortq_merge found;
        lath_sortq_lookup(&f.q, 1, 2, 0, &found); // takes what was dispatched out of the tables
        if (told)
            CHECK(lath_sortq_back_merged(&f.q, gone) == -ENOENT);
        CHECK(lath_sortq_remove(&f.q, lath_sortq_first(&f.q)) == 0);
        lath_request* out[20];
        REQUIRE(lath_sortq_dispatch_batch(&f.q, out, 20) == 20);
        for (auto* r : out)
            CHECK(lath_sortq_remove(&f.q, r) == -ENOENT);
        lath_request* cancelled = lath_sortq_first(&f.q);
        CHECK(lath_sortq_remove(&f.q, cancelled) == 0);
        CHECK(lath_sortq_remove(&f.q, cancelled) == -ENOENT);
        CHECK(lath_sortq_next(&f.q, cancelled) == nullptr);
        CHECK(lath_sortq_prev(&f.q, cancelled) == nullptr);
        f.expect_drained(127);
    });
}

TEST_CASE("a queued request is not inserted again") {
    each_engine([](lath_sortq_engine engine, unsigned flags) {
        if (!looks(engine, flags))
            return;
        fixture f(engine, flags);
        for (std::uint32_t i = 0; i < 150; i++) {
            REQUIRE(lath_sortq_insert(&f.q, &f.requests[i]) == 0);
            CHECK(lath_sortq_insert(&f.q, &f.requests[i / 2]) == -EEXIST);
        }
        lath_sortq_merge found;
        lath_sortq_lookup(&f.q, f.requests[9].sector, f.requests[9].sector + 4, 0, &found);
        CHECK(lath_sortq_insert_at(&f.q, &found, &f.requests[9]) == -EEXIST);
        lath_request* flush[] = {&f.requests[150], &f.requests[151], &f.requests[3],
                                 &f.requests[152]};
        CHECK(lath_sortq_insert_batch(&f.q, flush, 4) == 2);
        // dispatched or removed, it may come again
        lath_request* r = lath_sortq_dispatch(&f.q);
        CHECK(lath_sortq_insert(&f.q, r) == 0);
        CHECK(lath_sortq_remove(&f.q, r) == 0);
        CHECK(lath_sortq_insert(&f.q, r) == 0);
        f.expect_drained(152);
    });
}

TEST_CASE("verify of the plain hybrid sees a request inserted twice") {
    for (std::uint32_t again : {3u, 149u}) {
        fixture f(LATH_SORTQ_HYBRID, 0);
        for (std::uint32_t i = 0; i < 150; i++)
            REQUIRE(lath_sortq_insert(&f.q, &f.requests[i]) == 0);
        CHECK(lath_sortq_verify(&f.q) == 0);
        lath_sortq_insert(&f.q, &f.requests[again]);
        CHECK(lath_sortq_verify(&f.q) == 6);
        lath_sortq_first(&f.q); // all into blocks
        CHECK(lath_sortq_verify(&f.q) != 0);
    }
}

TEST_CASE("a request of another queue over the same pool is refused") {
    each_engine([](lath_sortq_engine engine, unsigned flags) {
        fixture f(engine, flags);
        for (std::uint32_t i = 0; i < count; i++)
            REQUIRE(lath_sortq_insert(i % 2 ? &f.other : &f.q, &f.requests[i]) == 0);
        if (engine != LATH_SORTQ_HYBRID)
            CHECK(lath_sortq_insert(&f.q, &f.requests[1]) == -EEXIST);
        CHECK(lath_sortq_remove(&f.q, &f.requests[1]) == -ENOENT);
        bool merges = flags & LATH_SORTQ_MERGES;
        if (merges && looks(engine, flags))
            CHECK(lath_sortq_back_merged(&f.q, &f.requests[1]) == -ENOENT);
        CHECK(lath_sortq_front_merged(&f.q, &f.requests[1], 0) == -ENOENT);
        CHECK(lath_sortq_next(&f.q, &f.requests[1]) == nullptr);
        CHECK(lath_sortq_remove(&f.other, &f.requests[1]) == 0);
        CHECK(lath_sortq_insert(&f.q, &f.requests[1]) == 0);
        CHECK(lath_sortq_verify(&f.other) == 0);
        CHECK(lath_sortq_count(&f.other) == count / 2 - 1);
        f.expect_drained(count / 2 + 1);
    });
}

TEST_CASE("requests behind a barrier are queued, too") {
    each_engine([](lath_sortq_engine engine, unsigned flags) {
        fixture f(engine, flags);
        REQUIRE(lath_sortq_insert(&f.q, &f.requests[0]) == 0);
        lath_sortq_barrier(&f.q);
        REQUIRE(lath_sortq_insert(&f.q, &f.requests[1]) == 0);
        REQUIRE(lath_sortq_insert(&f.q, &f.requests[2]) == 0);
        if (looks(engine, flags))
            CHECK(lath_sortq_insert(&f.q, &f.requests[1]) == -EEXIST);
        CHECK(lath_sortq_remove(&f.other, &f.requests[1]) == -ENOENT);
        CHECK(lath_sortq_remove(&f.q, &f.requests[1]) == 0);
        CHECK(lath_sortq_remove(&f.q, &f.requests[1]) == -ENOENT);
        CHECK(lath_sortq_dispatch(&f.q) == &f.requests[0]);
        CHECK(lath_sortq_first(&f.q) == &f.requests[2]); // past the barrier now
        if (looks(engine, flags))
            CHECK(lath_sortq_insert(&f.q, &f.requests[2]) == -EEXIST);
        f.expect_drained(1);
    });
}

TEST_CASE("a new head leaves requests queued") {
    each_engine([](lath_sortq_engine engine, unsigned flags) {
        fixture f(engine, flags);
        for (auto& r : f.requests)
            REQUIRE(lath_sortq_insert(&f.q, &r) == 0);
        CHECK(lath_sortq_set_head(&f.q, 4000) == (flags & LATH_SORTQ_LOWEST ? -EINVAL : 0));
        if (looks(engine, flags))
            CHECK(lath_sortq_insert(&f.q, &f.requests[7]) == -EEXIST);
        CHECK(lath_sortq_remove(&f.q, &f.requests[7]) == 0);
        CHECK(lath_sortq_remove(&f.q, &f.requests[7]) == -ENOENT);
        f.expect_drained(count - 1);
    });
}

TEST_CASE("sectors out of range are refused") {
    each_engine([](lath_sortq_engine engine, unsigned flags) {
        fixture f(engine, flags);
        f.requests[0].sector = 1ull << LATH_SORTQ_SECTOR_BITS;
        if (looks(engine, flags))
            CHECK(lath_sortq_insert(&f.q, &f.requests[0]) == -EINVAL);
        f.requests[0].sector--;
        CHECK(lath_sortq_insert(&f.q, &f.requests[0]) == 0);
        CHECK(lath_sortq_front_merged(&f.q, &f.requests[0], 1ull << 50) == -EINVAL);
        f.expect_drained(1);
    });
}

TEST_CASE("the wrapper says what was refused") {
    struct request {
        int number;
        lathwork::sort_hook hook;
    };
    std::vector<request> items(80);
    lathwork::sort_queue<request, &request::hook> q(
        items, {LATH_SORTQ_HYBRID, LATH_SORTQ_MERGES | LATH_SORTQ_CHECKED});
    std::vector<request*> flush;
    for (auto& r : items) {
        r.hook.sector = 8000 + r.hook.tag * 8;
        r.hook.sectors = 4;
        flush.push_back(&r);
    }
    CHECK(q.insert(items[70]));
    CHECK_FALSE(q.insert(items[70]));
    CHECK(q.insert_batch(flush) == 70);
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
