// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What goes in and what comes out are equal: entries added, deleted and evicted by several threads,
// memory after all of them have gone; and a snapshot has no blocks of another.
#include <doctest/doctest.h>

#include "model.hpp"
#include "scratch.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

extern "C" bool (*lath_store_refuse)(void);

using namespace storetest;

namespace {

constexpr unsigned threads = 3;
#ifdef LATH_FEW_STEPS
constexpr unsigned few = 8;
#else
constexpr unsigned few = 1;
#endif

lath_store_stats stats(lath_store* s) {
    lath_store_stats st;
    REQUIRE(lath_store_get_stats(s, &st) == 0);
    return st;
}

// Adds, replaces and deletes by several threads. Returns how many more were added than deleted.
std::int64_t churn(lath_store* s, lath_store_keys kind, unsigned universe, unsigned steps) {
    std::atomic<std::int64_t> balance{0};
    std::vector<std::thread> all;
    for (unsigned t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            std::mt19937_64 random(t + 1);
            key_maker keys(kind, universe);
            model m{kind, {}};
            for (unsigned i = 0; i < steps; ++i) {
                std::string k = keys(random), v(random() % 3000, 'v');
                switch (random() % 4) {
                case 0:
                case 1:
                    balance += lath_store_add(s, m.key(k), v.data(), v.size()) == 0;
                    break;
                case 2:
                    lath_store_replace(s, m.key(k), v.data(), v.size());
                    break;
                default:
                    balance -= lath_store_delete(s, m.key(k)) == 0;
                }
            }
        });
    for (auto& thread : all)
        thread.join();
    return balance;
}

std::string saved(lath_store_keys kind, char fill, const std::string& path) {
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    options.keys = kind;
    auto s = open_store(options, here());
    model m{kind, {}};
    std::string v(1000, fill);
    for (std::uint64_t i = 0; i < 1000; ++i)
        REQUIRE(lath_store_set(s.get(), m.key(number_text(i)), v.data(), v.size()) == 0);
    REQUIRE(lath_store_save(s.get(), path.c_str(), nullptr, nullptr) == 0);
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

TEST_CASE("beside writers, what was added is there, deleted or evicted") {
    for (auto kind : {LATH_STORE_NUMBERS, LATH_STORE_BYTES})
        for (unsigned flags : {0u, static_cast<unsigned>(LATH_STORE_VERSIONS)}) {
            lath_store_options options = LATH_STORE_OPTIONS_INIT;
            options.keys = kind;
            options.limit = 16 << 20;
            options.flags = LATH_STORE_EVICT | (kind == LATH_STORE_NUMBERS ? flags : 0);
            auto s = open_store(options);
            REQUIRE(s);
            std::int64_t balance = churn(s.get(), kind, 60000, 25000 / few);
            auto st = stats(s.get());
            CHECK((st.evicted > 100 || few > 1));
            CHECK(static_cast<std::int64_t>(st.items + st.evicted) == balance);
            CHECK(lath_store_count(s.get(), nullptr) == static_cast<std::int64_t>(st.items));
        }
}

TEST_CASE("replaced values that wait for readers cost no entry") {
    for (auto kind : {LATH_STORE_NUMBERS, LATH_STORE_BYTES}) {
        lath_store_options options = LATH_STORE_OPTIONS_INIT;
        options.keys = kind;
        options.limit = 16 << 20;
        options.flags = LATH_STORE_EVICT;
        auto s = open_store(options);
        REQUIRE(s);
        model m{kind, {}};
        std::string v(100000, 'v');
        for (std::uint64_t i = 0; i < 5000 / few; ++i)
            REQUIRE(lath_store_set(s.get(), m.key(number_text(i % 10)), v.data(), v.size()) == 0);
        CHECK(stats(s.get()).evicted == 0);
        CHECK(stats(s.get()).items == 10);
    }
}

TEST_CASE("all deleted and compacted, no record is left") {
    for (auto kind : {LATH_STORE_NUMBERS, LATH_STORE_BYTES}) {
        lath_store_options options = LATH_STORE_OPTIONS_INIT;
        options.keys = kind;
        auto s = open_store(options);
        REQUIRE(s);
        std::int64_t balance = churn(s.get(), kind, 3000, 10000 / few);
        CHECK(lath_store_count(s.get(), nullptr) == balance);
        model m{kind, {}};
        std::mt19937_64 random(1);
        for (lath_store_key key; balance; --balance) {
            lath_store_iter* iter = nullptr;
            lath_store_ref ref;
            REQUIRE(lath_store_iter_begin(s.get(), nullptr, &iter) == 0);
            REQUIRE(lath_store_iter_next(iter, &key, &ref) == 1);
            std::string text = m.text(key);
            lath_store_iter_end(iter);
            REQUIRE(lath_store_delete(s.get(), m.key(text)) == 0);
        }
        for (int i = 0; i < 100 && stats(s.get()).pending_bytes; ++i)
            REQUIRE(lath_store_compact(s.get()) >= 0);
        auto st = stats(s.get());
        CHECK(st.items == 0);
        CHECK(st.record_bytes == 0);
        CHECK(st.pending_bytes == 0);
        CHECK(st.lost_bytes == 0);
    }
}

TEST_CASE("compaction that gets no memory moves nothing, and its slabs serve as before") {
    constexpr std::uint64_t count = 1500;
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    options.reserve = 64 << 20;
    auto s = open_store(options, here());
    REQUIRE(s);
    auto add = [&](std::uint64_t from, std::uint64_t to, char c) {
        for (std::uint64_t i = from; i < to; ++i) {
            int ret = lath_store_add(s.get(), lath_key_number(i), std::string(900, c).data(), 900);
            REQUIRE((ret == 0 || ret == -EEXIST));
        }
    };
    add(0, count, 'a');
    for (std::uint64_t i = 0; i < count; ++i)
        if (i % 4)
            REQUIRE(lath_store_delete(s.get(), lath_key_number(i)) == 0);
    lath_rcu_auto.drain();
    lath_store_refuse = [] { return true; };
    CHECK(lath_store_compact(s.get()) >= 0);
    lath_store_refuse = nullptr;
    add(0, count, 'b'); // the slabs are full
    REQUIRE(lath_store_compact(s.get()) >= 0);
    add(count, 2 * count, 'c');
    for (std::uint64_t i = 0; i < 2 * count; ++i) {
        std::string v(1000, ' ');
        REQUIRE(lath_store_get(s.get(), lath_key_number(i), v.data(), 1000) == 900);
        v.resize(900);
        REQUIRE(v == std::string(900, i >= count ? 'c' : i % 4 ? 'b' : 'a'));
    }
}

TEST_CASE("a block of another snapshot, whole by its own checksums, is refused") {
    scratch_dir dir;
    for (auto kind : {LATH_STORE_NUMBERS, LATH_STORE_BYTES}) {
        std::string one = saved(kind, 'a', dir.path("a")), other = saved(kind, 'b', dir.path("b"));
        REQUIRE(one.size() == other.size());
        std::size_t blocks = 0;
        for (std::size_t at = 64, n = 1; n && at + 32 <= one.size(); at += 32 + n) {
            std::memcpy(&n, one.data() + at, sizeof n);
            if (!n)
                break;
            std::string spliced = one;
            spliced.replace(at, 32 + n, other, at, 32 + n);
            std::ofstream(dir.path("c"), std::ios::binary | std::ios::trunc) << spliced;
            lath_store_options options = LATH_STORE_OPTIONS_INIT;
            options.keys = kind;
            auto s = open_store(options, here());
            CHECK(lath_store_load(s.get(), dir.path("c").c_str(), nullptr, nullptr) == -EBADMSG);
            CHECK(lath_store_count(s.get(), nullptr) == 0);
            ++blocks;
        }
        CHECK(blocks > 2);
    }
}
