// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/sortq.h: every call with each argument that its comment calls invalid, in each engine.
#include "arguments.hpp"

#include "lathwork/sortq.h"

#include <array>
#include <cstdlib>
#include <memory>

namespace {

using u64 = std::uint64_t;
constexpr u64 sectors_end = 1ull << LATH_SORTQ_SECTOR_BITS;

lath_sortq_engine engine_now = LATH_SORTQ_HYBRID;
unsigned flags_now = 0;

struct free_memory {
    void operator()(void* p) const { std::free(p); }
};

// Requests 0 to 9 are queued; 10 to 12 never were; another queue holds 13.
struct queue_fixture {
    queue_fixture() {
        REQUIRE(lath_request_pool_init(&pool, requests.data(), sizeof(lath_request), 16) == 0);
        make(q, memory, engine_now, flags_now);
        make(other, other_memory, engine_now, flags_now);
        for (auto& r : requests) {
            r.sector = 1000 + r.tag * 100;
            r.sectors = 8;
        }
        for (unsigned i = 0; i < 10; ++i)
            REQUIRE(lath_sortq_insert(&q, &requests[i]) == 0);
        REQUIRE(lath_sortq_insert(&other, &requests[13]) == 0);
        lath_sortq_first(&q);
    }
    void make(lath_sortq& queue, std::unique_ptr<void, free_memory>& room, lath_sortq_engine engine,
              unsigned flags) {
        lath_sortq_config config = LATH_SORTQ_CONFIG_INIT;
        config.engine = engine;
        config.flags = flags;
        room.reset(std::aligned_alloc(64, lath_sortq_memsize(&config, &pool)));
        REQUIRE(lath_sortq_init(&queue, &config, &pool, room.get()) == 0);
    }

    // The queue's count and order, and all requests.
    std::vector<u64> state() {
        std::vector<u64> out = {lath_sortq_count(&q), lath_sortq_count(&other),
                                lath_sortq_head(&q)};
        REQUIRE(lath_sortq_verify(&q) == 0);
        REQUIRE(lath_sortq_verify(&other) == 0);
        const auto* first = lath_sortq_first(&q);
        out.push_back(first ? first->tag : ~u64{0});
        for (const auto& r : requests)
            out.insert(out.end(), {r.sector, r.sectors, r.tag});
        out.insert(out.end(), {reinterpret_cast<u64>(pool.base), pool.stride, pool.count});
        return out;
    }

    std::array<lath_request, 16> requests{};
    lath_request_pool pool{};
    lath_sortq q{}, other{};
    std::unique_ptr<void, free_memory> memory, other_memory;
};

using f = queue_fixture;
using R = std::int64_t;

R pool_init(f& t, void* hook, u64 stride, std::uint32_t count) {
    return lath_request_pool_init(&t.pool, hook, stride, count);
}

// Request 11 at this sector.
lath_request at(u64 sector) {
    lath_request r{};
    r.sector = sector;
    r.sectors = 1;
    r.tag = 11;
    return r;
}

lath_sortq_config config(std::size_t size, int engine, unsigned flags, int simd) {
    return {size, static_cast<lath_sortq_engine>(engine), flags, static_cast<lath_simd>(simd)};
}

// The error of init, and that memsize says 0.
R init(f& t, const lath_sortq_config& c) {
    alignas(64) lath_sortq queue;
    CHECK(lath_sortq_memsize(&c, &t.pool) == 0);
    return lath_sortq_init(&queue, &c, &t.pool, t.memory.get());
}

R init_pool(f& t, const lath_request_pool& pool) {
    alignas(64) lath_sortq queue;
    auto copy = pool;
    CHECK(lath_sortq_memsize(nullptr, &pool) == 0);
    return lath_sortq_init(&queue, nullptr, &copy, t.memory.get());
}

constexpr std::size_t whole = sizeof(lath_sortq_config);

// Calls that all engines refuse in the same way.
const std::vector<arguments::row<f>> rows = {
    {"lath_request_pool_init", "no hook", -EINVAL,
     [](f& t) -> R { return pool_init(t, nullptr, sizeof(lath_request), 16); }},
    {"lath_request_pool_init", "misaligned hook", -EINVAL,
     [](f& t) -> R {
         return pool_init(t, reinterpret_cast<char*>(t.requests.data()) + 4, sizeof(lath_request),
                          8);
     }},
    {"lath_request_pool_init", "count 0", -EINVAL,
     [](f& t) -> R { return pool_init(t, t.requests.data(), sizeof(lath_request), 0); }},
    {"lath_request_pool_init", "count above the limit", -EINVAL,
     [](f& t) -> R {
         return pool_init(t, t.requests.data(), sizeof(lath_request), LATH_SORTQ_MAX_REQUESTS + 1);
     }},
    {"lath_request_pool_init", "count 2^32 - 1", -EINVAL,
     [](f& t) -> R { return pool_init(t, t.requests.data(), sizeof(lath_request), ~0u); }},
    {"lath_request_pool_init", "stride 0", -EINVAL,
     [](f& t) -> R { return pool_init(t, t.requests.data(), 0, 16); }},
    {"lath_request_pool_init", "stride below a hook", -EINVAL,
     [](f& t) -> R { return pool_init(t, t.requests.data(), sizeof(lath_request) - 8, 16); }},
    {"lath_request_pool_init", "misaligned stride", -EINVAL,
     [](f& t) -> R { return pool_init(t, t.requests.data(), sizeof(lath_request) + 4, 8); }},
    {"lath_request_pool_init", "the pool passes the last address: stride 2^63", -EINVAL,
     [](f& t) -> R { return pool_init(t, t.requests.data(), 1ull << 63, 3); }},
    {"lath_request_pool_init", "the pool passes the last address: stride 2^64 - 8", -EINVAL,
     [](f& t) -> R { return pool_init(t, t.requests.data(), 0 - u64{8}, 2); }},

    {"lath_sortq_memsize", "no pool", 0,
     [](f&) -> R { return static_cast<R>(lath_sortq_memsize(nullptr, nullptr)); }},
    {"lath_sortq_init", "no queue", -EINVAL,
     [](f& t) -> R { return lath_sortq_init(nullptr, nullptr, &t.pool, t.memory.get()); }},
    {"lath_sortq_init", "misaligned queue", -EINVAL,
     [](f& t) -> R {
         auto* at = reinterpret_cast<lath_sortq*>(reinterpret_cast<char*>(&t.q) + 8);
         return lath_sortq_init(at, nullptr, &t.pool, t.memory.get());
     }},
    {"lath_sortq_init", "no pool", -EINVAL,
     [](f& t) -> R { return lath_sortq_init(&t.other, nullptr, nullptr, t.memory.get()); }},
    {"lath_sortq_init", "no memory", -EINVAL,
     [](f& t) -> R { return lath_sortq_init(&t.other, nullptr, &t.pool, nullptr); }},
    {"lath_sortq_init", "misaligned memory", -EINVAL,
     [](f& t) -> R {
         return lath_sortq_init(&t.other, nullptr, &t.pool,
                                static_cast<char*>(t.memory.get()) + 32);
     }},
    {"lath_sortq_init", "config of size 0", -EINVAL,
     [](f& t) -> R { return init(t, config(0, 0, 0, 0)); }},
    {"lath_sortq_init", "config too small", -EINVAL,
     [](f& t) -> R { return init(t, config(offsetof(lath_sortq_config, simd) - 1, 0, 0, 0)); }},
    {"lath_sortq_init", "config too large", -EINVAL,
     [](f& t) -> R { return init(t, config(whole + 1, 0, 0, 0)); }},
    {"lath_sortq_init", "config of size 2^64 - 1", -EINVAL,
     [](f& t) -> R { return init(t, config(~std::size_t{0}, 0, 0, 0)); }},
    {"lath_sortq_init", "engine behind the last", -EINVAL,
     [](f& t) -> R { return init(t, config(whole, LATH_SORTQ_FIFO + 1, 0, 0)); }},
    {"lath_sortq_init", "engine -1", -EINVAL,
     [](f& t) -> R { return init(t, config(whole, -1, 0, 0)); }},
    {"lath_sortq_init", "unknown flag", -EINVAL,
     [](f& t) -> R { return init(t, config(whole, 0, LATH_SORTQ_CHECKED << 1, 0)); }},
    {"lath_sortq_init", "highest flag", -EINVAL,
     [](f& t) -> R { return init(t, config(whole, 0, 1u << 31, 0)); }},
    {"lath_sortq_init", "simd behind the last", -EINVAL,
     [](f& t) -> R { return init(t, config(whole, 0, 0, LATH_SIMD_AVX512 + 1)); }},
    {"lath_sortq_init", "simd -1", -EINVAL,
     [](f& t) -> R { return init(t, config(whole, 0, 0, -1)); }},
    {"lath_sortq_init", "a pool that was never made", -EINVAL,
     [](f& t) -> R { return init_pool(t, {}); }},
    {"lath_sortq_init", "a pool without requests", -EINVAL,
     [](f& t) -> R { return init_pool(t, {t.pool.base, t.pool.stride, 0}); }},
    {"lath_sortq_init", "a pool above the limit", -EINVAL,
     [](f& t) -> R {
         return init_pool(t, {t.pool.base, t.pool.stride, LATH_SORTQ_MAX_REQUESTS + 1});
     }},
    {"lath_sortq_init", "a pool of 2^32 - 1", -EINVAL,
     [](f& t) -> R { return init_pool(t, {t.pool.base, t.pool.stride, ~0u}); }},
    {"lath_sortq_engine_name", "behind the last", '?',
     [](f&) -> R { return *lath_sortq_engine_name(static_cast<lath_sortq_engine>(7)); }},
    {"lath_sortq_engine_name", "-1", '?',
     [](f&) -> R { return *lath_sortq_engine_name(static_cast<lath_sortq_engine>(-1)); }},

    {"lath_sortq_insert", "sector 2^44", -EINVAL,
     [](f& t) -> R {
         lath_request r = at(sectors_end);
         return lath_sortq_insert(&t.q, &r);
     }},
    {"lath_sortq_insert", "sector 2^64 - 1", -EINVAL,
     [](f& t) -> R {
         lath_request r = at(~u64{0});
         return lath_sortq_insert(&t.q, &r);
     }},
    {"lath_sortq_insert", "queued", -EEXIST,
     [](f& t) -> R { return lath_sortq_insert(&t.q, &t.requests[4]); }},
    {"lath_sortq_insert_batch", "the first is queued", 0,
     [](f& t) -> R {
         lath_request* all[] = {&t.requests[4], &t.requests[11]};
         return static_cast<R>(lath_sortq_insert_batch(&t.q, all, 2));
     }},
    {"lath_sortq_insert_batch", "none", 0,
     [](f& t) -> R { return static_cast<R>(lath_sortq_insert_batch(&t.q, nullptr, 0)); }},
    {"lath_sortq_insert_at", "queued", -EEXIST,
     [](f& t) -> R {
         lath_sortq_merge found;
         lath_sortq_lookup(&t.q, t.requests[4].sector, t.requests[4].sector + 8, 0, &found);
         return lath_sortq_insert_at(&t.q, &found, &t.requests[4]);
     }},
    {"lath_sortq_insert_at", "sector 2^44", -EINVAL,
     [](f& t) -> R {
         lath_request r = at(sectors_end);
         lath_sortq_merge found;
         lath_sortq_lookup(&t.q, sectors_end, sectors_end + 1, 0, &found);
         CHECK(!found.back);
         CHECK(!found.front);
         return lath_sortq_insert_at(&t.q, &found, &r);
     }},
    {"lath_sortq_lookup", "behind all sectors", 0,
     [](f& t) -> R {
         lath_sortq_merge found;
         for (u64 start : {sectors_end + 1000, ~u64{0}, u64{1} << 63, (u64{1} << 63) + 1008})
             for (unsigned flags : {0u, 1u, 2u, 3u}) {
                 lath_sortq_lookup(&t.q, start, start + 8, flags, &found);
                 CHECK(!found.back);
                 CHECK(!found.front);
             }
         return 0;
     }},
    {"lath_sortq_back_merged", "never queued", -ENOENT,
     [](f& t) -> R { return lath_sortq_back_merged(&t.q, &t.requests[11]); }},
    {"lath_sortq_front_merged", "never queued", -ENOENT,
     [](f& t) -> R { return lath_sortq_front_merged(&t.q, &t.requests[11], 1); }},
    {"lath_sortq_front_merged", "in another queue", -ENOENT,
     [](f& t) -> R { return lath_sortq_front_merged(&t.q, &t.requests[13], 1); }},
    {"lath_sortq_front_merged", "above its sector", -EINVAL,
     [](f& t) -> R {
         return lath_sortq_front_merged(&t.q, &t.requests[4], t.requests[4].sector + 1);
     }},
    {"lath_sortq_front_merged", "sector 2^64 - 1", -EINVAL,
     [](f& t) -> R { return lath_sortq_front_merged(&t.q, &t.requests[4], ~u64{0}); }},
    {"lath_sortq_remove", "never queued", -ENOENT,
     [](f& t) -> R { return lath_sortq_remove(&t.q, &t.requests[11]); }},
    {"lath_sortq_remove", "in another queue", -ENOENT,
     [](f& t) -> R { return lath_sortq_remove(&t.q, &t.requests[13]); }},
    {"lath_sortq_dispatch_batch", "none", 0,
     [](f& t) -> R { return static_cast<R>(lath_sortq_dispatch_batch(&t.q, nullptr, 0)); }},
    {"lath_sortq_first_from", "behind all sectors", 0,
     [](f& t) -> R {
         return lath_sortq_first_from(&t.q, sectors_end) || lath_sortq_first_from(&t.q, ~u64{0}) ||
                lath_sortq_first_from(&t.q, u64{1} << 63);
     }},
    {"lath_sortq_first_in_zone", "a zone without sectors", 0,
     [](f& t) -> R {
         return lath_sortq_first_in_zone(&t.q, 1000, 0) ||
                lath_sortq_first_in_zone(&t.q, ~u64{0}, ~u64{0});
     }},
    {"lath_sortq_next", "never queued", 0,
     [](f& t) -> R { return lath_sortq_next(&t.q, &t.requests[11]) != nullptr; }},
    {"lath_sortq_next", "in another queue", 0,
     [](f& t) -> R { return lath_sortq_next(&t.q, &t.requests[13]) != nullptr; }},
    {"lath_sortq_prev", "never queued", 0,
     [](f& t) -> R { return lath_sortq_prev(&t.q, &t.requests[11]) != nullptr; }},
    {"lath_sortq_prev", "in another queue", 0,
     [](f& t) -> R { return lath_sortq_prev(&t.q, &t.requests[13]) != nullptr; }},
    {"lath_sortq_set_head", "sector 2^44", -EINVAL,
     [](f& t) -> R { return lath_sortq_set_head(&t.q, sectors_end); }},
    {"lath_sortq_set_head", "sector 2^64 - 1", -EINVAL,
     [](f& t) -> R { return lath_sortq_set_head(&t.q, ~u64{0}); }},
};

const std::vector<arguments::exempt> exempts = {
    {"lath_sortq_init", "-EOPNOTSUPP", "depends on the processor: sortq_model asks for each form"},
    {"lath_sortq_simd_name", "", "no argument but the queue"},
    {"lath_sortq_settle", "", "for the inline calls"},
    {"lath_sortq_insert_slow", "", "for the inline calls: lath_sortq_insert"},
    {"lath_sortq_dispatch_slow", "", "for the inline calls: lath_sortq_dispatch"},
    {"lath_sortq_gather", "", "for the inline calls"},
    {"lath_sortq_first", "", "no argument but the queue"},
    {"lath_sortq_dispatch", "", "no argument but the queue"},
    {"lath_sortq_head", "", "no argument but the queue"},
    {"lath_sortq_oldest", "", "no argument but the queue"},
    {"lath_sortq_expired", "", "each time is valid"},
    {"lath_sortq_barrier", "", "no argument but the queue"},
    {"lath_sortq_count", "", "no argument but the queue"},
    {"lath_sortq_verify", "", "no argument but the queue"},
};

} // namespace

TEST_CASE("lathwork/sortq.h: each function is in the table") {
    arguments::compare_with_header(LATH_HEADERS "/sortq.h", rows, exempts);
}

TEST_CASE("lathwork/sortq.h: each bad argument is refused and changes nothing") {
    for (auto e : {LATH_SORTQ_HYBRID, LATH_SORTQ_FIFO})
        for (unsigned flags : {0u, 1u, 2u, 3u}) {
            engine_now = e;
            flags_now = LATH_SORTQ_MERGES | (flags & 1 ? LATH_SORTQ_AGES : 0) |
                        (flags & 2 ? LATH_SORTQ_LOWEST : 0);
            if (engine_now == LATH_SORTQ_HYBRID)
                flags_now |= LATH_SORTQ_CHECKED;
            CAPTURE(lath_sortq_engine_name(engine_now));
            CAPTURE(flags_now);
            arguments::make_calls(rows);
        }
}

TEST_CASE("a front merge whose length does not fit is refused") {
    for (auto e : {LATH_SORTQ_HYBRID, LATH_SORTQ_FIFO})
        for (unsigned flags = 0; flags < 16; ++flags) {
            engine_now = e;
            flags_now = flags;
            CAPTURE(lath_sortq_engine_name(engine_now));
            CAPTURE(flags);
            f t;
            auto& r = t.requests[11];
            for (u64 by : {u64{1} << 32, (u64{1} << 32) - 7, u64{1} << 33, sectors_end - 1}) {
                r.sector = sectors_end - 1;
                r.sectors = 8;
                REQUIRE(lath_sortq_insert(&t.q, &r) == 0);
                CHECK(lath_sortq_front_merged(&t.q, &r, r.sector - by) == -EINVAL);
                CHECK(r.sector == sectors_end - 1);
                CHECK(r.sectors == 8);
                CHECK(lath_sortq_verify(&t.q) == 0);
                REQUIRE(lath_sortq_remove(&t.q, &r) == 0);
            }
            REQUIRE(lath_sortq_insert(&t.q, &r) == 0);
            u64 most = (u64{1} << 32) - 1 - 8;
            CHECK(lath_sortq_front_merged(&t.q, &r, r.sector - most) == 0); // just fits
            CHECK(r.sectors == ~0u);
            CHECK(lath_sortq_verify(&t.q) == 0);
        }
}

TEST_CASE("times wrap around, and a zone may end behind 2^64") {
    engine_now = LATH_SORTQ_HYBRID;
    flags_now = LATH_SORTQ_AGES;
    f t;
    auto* oldest = lath_sortq_oldest(&t.q);
    REQUIRE(oldest == &t.requests[0]);
    for (u64 time : {u64{0}, u64{5}, ~u64{0}, u64{1} << 63}) {
        oldest->time = time;
        CHECK(lath_sortq_expired(&t.q, time) == oldest);
        CHECK(lath_sortq_expired(&t.q, time + 1) == oldest);
        CHECK(lath_sortq_expired(&t.q, time + (u64{1} << 63) - 1) == oldest);
        CHECK(lath_sortq_expired(&t.q, time - 1) == nullptr);
        CHECK(lath_sortq_expired(&t.q, time + (u64{1} << 63)) == nullptr);
    }
    CHECK(lath_sortq_first_in_zone(&t.q, 1000, ~u64{0}) == &t.requests[0]);
    CHECK(lath_sortq_first_in_zone(&t.q, 1001, ~u64{0} - 1000) == &t.requests[1]);
    CHECK(lath_sortq_first_in_zone(&t.q, 1001, 99) == nullptr);
    CHECK(lath_sortq_first_in_zone(&t.q, 1001, 100) == &t.requests[1]);
}
