// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Histories of calls on few keys from several threads, each key's history searched for an order
// that a map could have answered so (Wing and Gong 1993, with remembered states); and walks beside
// writers.
#include "model.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <set>
#include <thread>
#include <utility>
#include <vector>

using namespace storetest;

// leaves from which on numbers are led to theirs (src/tree/way/hint.h)
extern "C" unsigned lath_hint_least;

namespace {

[[maybe_unused]] const unsigned led = lath_hint_least = 1;

constexpr std::int64_t absent = -1;

enum class call { get, set, add, replace, remove, cas, incr, mset, mget };

struct event {
    call what;
    std::size_t key;
    std::int64_t value, expected, result; // result: a value, absent, or an error below -1
    std::uint64_t begin, end;
};

// The state after the call, or nothing if it cannot have been answered so.
bool apply(const event& e, std::int64_t& state) {
    bool there = state != absent;
    switch (e.what) {
    case call::get:
    case call::mget:
        return e.result == state;
    case call::set:
    case call::mset:
        state = e.value;
        return e.result == 0;
    case call::add:
        if (there)
            return e.result == -EEXIST;
        state = e.value;
        return e.result == 0;
    case call::replace:
        if (!there)
            return e.result == -ENOENT;
        state = e.value;
        return e.result == 0;
    case call::remove:
        state = absent;
        return e.result == (there ? 0 : -ENOENT);
    case call::cas:
        if (!there)
            return e.result == -ENOENT;
        if (state != e.expected)
            return e.result == -EAGAIN;
        state = e.value;
        return e.result == 0;
    default:
        state = (there ? state : 0) + e.value;
        return e.result == state;
    }
}

class checker {
public:
    explicit checker(std::vector<event> history) : history_(std::move(history)) {}
    bool linearizable() { return search(0, absent); }

private:
    bool search(std::uint64_t done, std::int64_t state) {
        if (done == (1ull << history_.size()) - 1)
            return true;
        if (!seen_.insert({done, state}).second)
            return false;
        std::uint64_t first_end = ~0ull;
        for (std::size_t i = 0; i < history_.size(); ++i)
            if (!(done >> i & 1))
                first_end = std::min(first_end, history_[i].end);
        for (std::size_t i = 0; i < history_.size(); ++i) {
            std::int64_t next = state;
            if (!(done >> i & 1) && history_[i].begin < first_end && apply(history_[i], next) &&
                search(done | 1ull << i, next))
                return true;
        }
        return false;
    }

    std::vector<event> history_;
    std::set<std::pair<std::uint64_t, std::int64_t>> seen_;
};

struct rig {
    lath_store_keys kind;
    unsigned flags;
    std::int64_t base; // added to every value: 10^15 makes records of numbers
};

class player {
public:
    player(const rig& r, lath_store* store, std::atomic<std::uint64_t>& clock, unsigned seed)
        : rig_(r), store_(store), clock_(clock), random_(seed) {}

    std::vector<event> history;

    void play(const std::vector<std::string>& names, int calls) {
        for (int i = 0; i < calls; ++i) {
            event e{};
            e.what = static_cast<call>(random_() % 9);
            e.key = random_() % names.size();
            e.value = e.what == call::incr ? static_cast<std::int64_t>(random_() % 3 + 1)
                                           : rig_.base + static_cast<std::int64_t>(random_() % 4);
            e.expected = rig_.base + static_cast<std::int64_t>(random_() % 4);
            e.begin = clock_.fetch_add(1, std::memory_order_relaxed);
            e.result = run(e, names);
            e.end = clock_.fetch_add(1, std::memory_order_relaxed);
            history.push_back(e);
        }
    }

private:
    static std::int64_t number(const lath_store_ref& ref) {
        return std::stoll(std::string(view(ref)));
    }

    lath_store_key key(const std::string& name) const {
        return rig_.kind == LATH_STORE_NUMBERS ? lath_key_number(text_number(name))
                                               : lath_key_bytes(name.data(), name.size());
    }

    std::int64_t run(const event& e, const std::vector<std::string>& names) {
        lath_store_key k = key(names[e.key]);
        std::string value = std::to_string(e.value), expected = std::to_string(e.expected);
        switch (e.what) {
        case call::get: {
            char buf[32];
            std::int64_t n = lath_store_get(store_, k, buf, sizeof buf);
            return n < 0 ? absent : std::stoll(std::string(buf, static_cast<std::size_t>(n)));
        }
        case call::set:
            return lath_store_set(store_, k, value.data(), value.size());
        case call::add:
            return lath_store_add(store_, k, value.data(), value.size());
        case call::replace:
            return lath_store_replace(store_, k, value.data(), value.size());
        case call::remove:
            return lath_store_delete(store_, k);
        case call::cas:
            return lath_store_cas(store_, k, expected.data(), expected.size(), value.data(),
                                  value.size());
        case call::incr: {
            std::int64_t now = 0;
            int ret = lath_store_incr(store_, k, e.value, &now);
            return ret ? ret : now;
        }
        case call::mset: {
            lath_store_entry entry{k, value.data(), value.size(), 0};
            return lath_store_mset(store_, 1, &entry, nullptr) == 1 ? 0 : -EIO;
        }
        default: {
            lath_store_ref ref;
            lath_store_read_begin(store_);
            std::int64_t n = lath_store_mget(store_, 1, &k, &ref) ? number(ref) : absent;
            lath_store_read_end(store_);
            return n;
        }
        }
    }

    const rig& rig_;
    lath_store* store_;
    std::atomic<std::uint64_t>& clock_;
    std::mt19937 random_;
};

// Keys of a round: side by side in one leaf, or alike in 7, 14 and 21 bytes so that buckets become
// layers.
std::vector<std::string> names_of(lath_store_keys kind, unsigned round) {
    if (kind == LATH_STORE_NUMBERS)
        return {number_text(round * 2ull), number_text(round * 2ull + 1)};
    std::string stem = "commonprefix" + std::to_string(round % 7) + std::string(round % 3 * 7, '-');
    return {stem + std::to_string(round), stem + std::to_string(round) + "x"};
}

// Writes beside the watched keys until `stop`, so that their buckets and leaves change too.
void make_noise(const rig& r, lath_store* store, unsigned rounds, const std::atomic<bool>& stop) {
    std::mt19937 random(99);
    while (!stop.load(std::memory_order_relaxed)) {
        auto names = names_of(r.kind, static_cast<unsigned>(random() % rounds));
        std::string name = names[0] + (r.kind == LATH_STORE_BYTES ? "n" : "");
        if (r.kind == LATH_STORE_NUMBERS)
            name = number_text(text_number(name) + (1ull << 40) * (random() % 2 + 1));
        lath_store_key k = r.kind == LATH_STORE_NUMBERS ? lath_key_number(text_number(name))
                                                        : lath_key_bytes(name.data(), name.size());
        if (random() % 3)
            lath_store_set(store, k, "noise that is a record", 22);
        else
            lath_store_delete(store, k);
    }
}

void check_histories(const rig& r, unsigned rounds) {
    constexpr int threads = 3, calls = 7;
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    options.keys = r.kind;
    options.flags = r.flags;
    auto store = open_store(options);
    REQUIRE(store);
    std::atomic<std::uint64_t> clock{0};
    std::atomic<unsigned> round{0}, ready{0};
    std::atomic<bool> stop{false};
    std::vector<player> players;
    for (unsigned t = 0; t < threads; ++t)
        players.emplace_back(r, store.get(), clock, t + 1);
    std::thread noise([&] { make_noise(r, store.get(), rounds, stop); });
    std::vector<std::thread> running;
    for (int t = 0; t < threads; ++t)
        running.emplace_back([&, t] {
            for (unsigned i = 0; i < rounds; ++i) {
                while (round.load(std::memory_order_acquire) <= i)
                    std::this_thread::yield();
                players[static_cast<std::size_t>(t)].history.clear();
                players[static_cast<std::size_t>(t)].play(names_of(r.kind, i), calls);
                ready.fetch_add(1, std::memory_order_release);
            }
        });
    unsigned wrong = 0;
    for (unsigned i = 0; i < rounds; ++i) {
        ready = 0;
        round.store(i + 1, std::memory_order_release);
        while (ready.load(std::memory_order_acquire) < threads)
            std::this_thread::yield();
        for (std::size_t k = 0; k < 2; ++k) {
            std::vector<event> history;
            for (auto& p : players)
                std::copy_if(p.history.begin(), p.history.end(), std::back_inserter(history),
                             [&](const event& e) { return e.key == k; });
            wrong += !checker(history).linearizable();
        }
    }
    for (auto& t : running)
        t.join();
    stop = true;
    noise.join();
    CHECK(wrong == 0);
}

// a store elsewhere may be an emulated machine's
unsigned rounds() {
    return std::getenv("LATH_LONG") ? 200000 : std::getenv("LATH_STORE_SPEC") ? 150 : 700;
}

} // namespace

TEST_CASE("the checker refuses what no map answers") {
    // a get that ended before the set began saw its value
    CHECK(!checker({{call::get, 0, 0, 0, 5, 0, 1}, {call::set, 0, 5, 0, 0, 2, 3}}).linearizable());
    CHECK(checker({{call::get, 0, 0, 0, 5, 0, 3}, {call::set, 0, 5, 0, 0, 1, 2}}).linearizable());
    // both of two adds succeeded
    CHECK(!checker({{call::add, 0, 5, 0, 0, 0, 3}, {call::add, 0, 6, 0, 0, 1, 2}}).linearizable());
    // an increment was lost
    CHECK(
        !checker({{call::incr, 0, 1, 0, 1, 0, 3}, {call::incr, 0, 1, 0, 1, 1, 2}}).linearizable());
}

TEST_CASE("calls on one key are linearizable") {
    SUBCASE("numbers, values in the index") {
        check_histories({LATH_STORE_NUMBERS, 0, 0}, rounds());
    }
    SUBCASE("numbers, values beside it") {
        check_histories({LATH_STORE_NUMBERS, 0, 1000000000000000}, rounds());
    }
    SUBCASE("numbers with versions") {
        check_histories({LATH_STORE_NUMBERS, LATH_STORE_VERSIONS, 0}, rounds());
    }
    SUBCASE("bytes") { check_histories({LATH_STORE_BYTES, 0, 0}, rounds()); }
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
