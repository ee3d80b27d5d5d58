// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Histories of calls of several threads on the keys of a store, in each form that it may have
// (store_calls.hpp, base/calls_threads.hpp); and walks beside writers.
#include "store_calls.hpp"

#include "base/calls_threads.hpp"

#include <doctest/doctest.h>

#include <chrono>

using namespace storetest;

// leaves from which on numbers are led to theirs (src/tree/way/hint.h)
extern "C" unsigned lath_hint_least;

namespace {

[[maybe_unused]] const unsigned led = lath_hint_least = 1;

// Writes beside a key that the threads share, so that its leaf changes, or its bucket, which becomes
// a layer.
void churn(calls::store_calls& it, unsigned, calls::word& random) {
    std::string name = it.of().known[draw(&random, it.of().known.size())];
    if (it.of().bytes())
        name += std::string(draw(&random, 4) * 7, '-') + "n";
    else
        name = number_text(text_number(name) + (calls::word{32} << draw(&random, 40)));
    if (draw(&random, 3))
        lath_store_set(it.store(), it.key(name), "noise that is a record", 22);
    else
        lath_store_delete(it.store(), it.key(name));
}

void forget(calls::store_calls& it, calls::store_model& all) {
    std::erase_if(all.items, [&](const calls::stored& s) {
        const auto& known = it.of().known;
        return std::find(known.begin(), known.end(), s.key) == known.end();
    });
}

} // namespace

TEST_CASE("calls of threads are linearizable") {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::seconds(std::getenv("LATH_LONG") ? 300 : 4);
    calls::word overlapping = 0;
    bool right = true;
    for (unsigned i = 0; right && (i < 8 || std::chrono::steady_clock::now() < end); ++i) {
        calls::source from(i);
        calls::store_setup setup;
        setup.share(from);
        calls::store_calls it(setup, {});
        REQUIRE(!it.failed());
        {
            calls::calls_threads<calls::store_calls> threads(
                it, setup, [](calls::store_setup& own, unsigned id) { own.numbers = id * 3000; },
                {churn, forget}, i);
            while (right && threads.rounds() < 20)
                right = threads.round();
            overlapping += threads.overlapping();
        }
        CAPTURE(i);
        CHECK(right);
        CHECK(it.verify(true).empty());
        CHECK(it.end(nullptr));
    }
    CHECK(overlapping > 0);
}

TEST_CASE("a walk beside writers sees what stays, in order") {
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    bool backward = false;
    SUBCASE("numbers") { options.keys = LATH_STORE_NUMBERS; }
    SUBCASE("bytes") { options.keys = LATH_STORE_BYTES; }
    SUBCASE("bytes, backward") {
        options.keys = LATH_STORE_BYTES;
        backward = true;
    }
    auto store = open_store(options);
    REQUIRE(store);
    model m{options.keys, {}};
    constexpr std::uint64_t n = 3000;
    auto name = [&](std::uint64_t i) {
        return options.keys == LATH_STORE_NUMBERS
                   ? number_text(i)
                   : "prefix" + std::string(i % 5 * 9, 'q') + std::to_string(1000000 + i);
    };
    for (std::uint64_t i = 0; i < n; i += 2) {
        std::string k = name(i), v = "stays " + k + " and is its own record";
        REQUIRE(lath_store_set(store.get(), m.key(k), v.data(), v.size()) == 0);
    }
    std::atomic<bool> stop{false};
    std::vector<std::thread> writers;
    for (unsigned t = 0; t < 2; ++t)
        writers.emplace_back([&, t] {
            std::mt19937 random(t);
            while (!stop.load(std::memory_order_relaxed)) {
                std::string k = name(random() % n);
                bool stays = options.keys == LATH_STORE_NUMBERS ? text_number(k) % 2 == 0
                                                                : (k.back() - '0') % 2 == 0;
                std::string v = "stays " + k + " and is its own record";
                if (stays)
                    lath_store_replace(store.get(), m.key(k), v.data(), v.size());
                else if (random() % 2)
                    lath_store_set(store.get(), m.key(k), v.data(), v.size());
                else
                    lath_store_delete(store.get(), m.key(k));
            }
        });
    std::thread tidy([&] {
        while (!stop.load(std::memory_order_relaxed))
            lath_store_compact(store.get());
    });
    int walks = std::getenv("LATH_LONG") ? 1000 : 10;
    for (int w = 0; w < walks; ++w) {
        lath_store_range range{};
        range.backward = backward;
        lath_store_iter* iter = nullptr;
        REQUIRE(lath_store_iter_begin(store.get(), &range, &iter) == 0);
        lath_store_key key;
        lath_store_ref value;
        std::string last;
        std::uint64_t stayed = 0;
        bool ordered = true, right = true;
        while (lath_store_iter_next(iter, &key, &value) == 1) {
            std::string k = m.text(key);
            ordered = ordered && (last.empty() || (backward ? k < last : last < k));
            right = right && view(value) == "stays " + k + " and is its own record";
            stayed += options.keys == LATH_STORE_NUMBERS ? text_number(k) % 2 == 0
                                                         : (k.back() - '0') % 2 == 0;
            last = k;
        }
        lath_store_iter_end(iter);
        CHECK(ordered);
        CHECK(right);
        CHECK(stayed == n / 2);
    }
    stop = true;
    for (auto& t : writers)
        t.join();
    tidy.join();
}

TEST_CASE("scans of numbers beside writers see what stays, in order, within their bounds") {
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    unsigned shift = 0;
    SUBCASE("near together") { shift = 3; }
    SUBCASE("far apart, up to the last number") { shift = 64 - 14; }
    auto store = open_store(options);
    REQUIRE(store);
    constexpr std::uint64_t n = 1 << 14, step = 32;
    // every number of value k begins with "k "; some are in the index, some are records
    auto text = [](std::uint64_t i, unsigned form) {
        return std::to_string(i) + std::string(form % 3 * 9 + 1, form % 2 ? '-' : ' ');
    };
    auto key = [&](std::uint64_t i) {
        return lath_key_number(i == n - 1 ? ~std::uint64_t{0} >> (shift == 3 ? 40 : 0)
                                          : i << shift);
    };
    auto put = [&](std::uint64_t i, unsigned form) {
        std::string v = text(i, form);
        return lath_store_set(store.get(), key(i), v.data(), v.size());
    };
    for (std::uint64_t i = 0; i < n; ++i)
        if (i % step == 0 || i == n - 1)
            REQUIRE(put(i, 0) == 0);
    int stretches = std::getenv("LATH_LONG") ? 20000 : std::getenv("LATH_STORE_SPEC") ? 50 : 800;
    std::atomic<bool> done{false};
    // stretches come and go: leaves split and merge under the scans
    std::thread writer([&] {
        std::mt19937 random(1);
        for (int k = 0; k < stretches; ++k) {
            std::uint64_t from = random() % (n - 2000), size = random() % 2000;
            bool come = random() % 2;
            unsigned form = static_cast<unsigned>(random());
            for (std::uint64_t i = from; i < from + size; ++i)
                if (come || i % step == 0)
                    put(i, form + static_cast<unsigned>(i));
                else
                    lath_store_delete(store.get(), key(i));
        }
        done = true;
    });
    std::mt19937 random(2);
    std::vector<std::uint64_t> keys(700);
    std::vector<lath_store_ref> refs(700);
    bool ordered = true, right = true, complete = true;
    for (int s = 0; !done; ++s) {
        std::uint64_t first = s % 3 ? random() % n : 0, end = s % 4 ? first + random() % n : n - 1;
        end = std::min(end, n - 1);
        std::uint64_t from = key(first).n, last = key(end).n, next = 0, before = 0, seen = 0;
        bool any = false;
        do {
            std::size_t piece = 1 + random() % 700;
            lath_store_read_begin(store.get());
            std::size_t got = lath_store_scan_numbers(store.get(), from, last, keys.data(),
                                                      refs.data(), piece, &next);
            complete = complete && (got == piece || !next);
            for (std::size_t i = 0; i < got; ++i) {
                std::uint64_t number = keys[i] >= key(n - 1).n ? n - 1 : keys[i] >> shift;
                ordered =
                    ordered && keys[i] >= from && keys[i] <= last && (!any || keys[i] > before);
                std::string v(view(refs[i]));
                right = right && v.substr(0, v.find_first_of(" -")) == std::to_string(number);
                seen += number % step == 0 || number == n - 1;
                before = keys[i];
                any = true;
            }
            lath_store_read_end(store.get());
            from = next;
        } while (next);
        std::uint64_t stay = end / step - (first + step - 1) / step + 1 + (end == n - 1);
        complete = complete && seen == stay;
    }
    writer.join();
    CHECK(ordered);
    CHECK(right);
    CHECK(complete);
}
