// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Values that left a range_map, point_map or interval_map: who destroys them, when, and what their
// destructors may do.
#include "checks.hpp"
#include "lathwork/cxx/index.hpp"
#include "lathwork/cxx/interval.hpp"
#include "lathwork/cxx/point_map.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

using namespace lathwork;

namespace {

// The maps with one way to call them.
template <typename T>
struct in_range_map {
    range_map<T> map;
    int add(std::uint64_t key, T value) { return map.insert(key, key + 1, std::move(value)).error; }
    bool remove(std::uint64_t key, const T& /*value*/) {
        return map.remove_starting(key).has_value();
    }
    void drain() { map.drain(); }
};

template <typename T>
struct in_point_map {
    point_map<std::uint64_t, T> map;
    int add(std::uint64_t key, T value) { return map.insert(key, std::move(value)).error; }
    bool remove(std::uint64_t key, const T& /*value*/) { return map.erase(key).has_value(); }
    void drain() { map.drain(); }
};

template <typename T>
struct in_interval_map {
    interval_map<T> map;
    int add(std::uint64_t key, T value) { return map.insert(key, key + 1, std::move(value)).error; }
    bool remove(std::uint64_t key, const T& value) { return map.erase(key, key + 1, value); }
    void drain() { map.drain(); }
};

struct tag_range {
    template <typename T>
    using in = in_range_map<T>;
};
struct tag_point {
    template <typename T>
    using in = in_point_map<T>;
};
struct tag_interval {
    template <typename T>
    using in = in_interval_map<T>;
};

// Calls a function when it is destroyed; counts the living.
struct last_will {
    static inline std::atomic<int> alive = 0;
    std::function<void()> fn;
    explicit last_will(std::function<void()> f) : fn(std::move(f)) { ++alive; }
    last_will(const last_will&) = delete;
    last_will& operator=(const last_will&) = delete;
    ~last_will() {
        if (fn)
            fn();
        --alive;
    }
};
using will = std::shared_ptr<last_will>;

will nothing_more() { return std::make_shared<last_will>(nullptr); }

// Of the cases that make no threads. ThreadSanitizer has nothing to look for in them: the other
// kinds of build take them all.
#ifdef LATH_FEW_STEPS
constexpr std::uint64_t many = 20000;
#else
constexpr std::uint64_t many = 100000;
#endif

} // namespace

TEST_CASE_TEMPLATE("a map in a map in a map", Tag, tag_range, tag_point, tag_interval) {
    using innermost = typename Tag::template in<will>;
    using inner = typename Tag::template in<std::shared_ptr<innermost>>;
    using outer = typename Tag::template in<std::shared_ptr<inner>>;
    {
        outer all;
        for (std::uint64_t i = 0; i < 20; ++i) {
            auto middle = std::make_shared<inner>();
            for (std::uint64_t j = 0; j < 10; ++j) {
                auto low = std::make_shared<innermost>();
                for (std::uint64_t k = 0; k < 10; ++k) {
                    will w = nothing_more();
                    CHECK(low->add(k, w) == 0);
                    if (k < 5) // some wait for readers when their map ends
                        CHECK(low->remove(k, w));
                }
                CHECK(middle->add(j, low) == 0);
                if (j < 5)
                    CHECK(middle->remove(j, low));
                else
                    low->drain();
            }
            CHECK(all.add(i, middle) == 0);
            if (i < 10)
                CHECK(all.remove(i, middle));
            else
                middle->drain();
        }
        all.drain();
        CHECK(last_will::alive == 10 * 5 * 5);
    }
    CHECK(last_will::alive == 0);
}

TEST_CASE_TEMPLATE("the library's thread destroys what left", Tag, tag_range, tag_point,
                   tag_interval) {
    static std::atomic<std::uint64_t> elsewhere, here;
    static std::mutex lock; // which the removing thread has
    static std::thread::id me;
    struct locks_at_end {
        std::uint64_t id;
        bool living;
        locks_at_end(std::uint64_t i, bool lives) : id(i), living(lives) {}
        locks_at_end(locks_at_end&& o) noexcept
            : id(o.id), living(std::exchange(o.living, false)) {}
        ~locks_at_end() {
            if (!living)
                return;
            std::lock_guard wait(lock);
            ++(std::this_thread::get_id() == me ? here : elsewhere);
        }
        bool operator==(const locks_at_end& o) const { return id == o.id; }
    };
    elsewhere = here = 0;
    me = std::this_thread::get_id();
    {
        typename Tag::template in<locks_at_end> map;
        std::unique_lock hold(lock);
        for (std::uint64_t i = 0; i < many; ++i) {
            CHECK(map.add(i, {i, true}) == 0);
            if (i >= 500)
                CHECK(map.remove(i, {i, false}));
        }
        hold.unlock();
        for (int wait = 0; wait < 10000 && elsewhere < many - 500; wait++)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        CHECK((here == 0 && elsewhere == many - 500));
    }
    CHECK((here == 500 && elsewhere == many - 500));
}

TEST_CASE("a flavour without a thread: a later change destroys what no reader sees") {
    config how = default_config();
    how.rcu = &lath_rcu_single;
    point_map<std::uint64_t, will> map(how);
    CHECK((map.insert(1, nothing_more()) && map.insert(2, nothing_more())));
    CHECK(map.erase(1));
    CHECK(lath_rcu_single_step(SIZE_MAX) == 1);
    CHECK(last_will::alive == 2);
    CHECK(map.erase(2));
    CHECK(last_will::alive == 1);
}

TEST_CASE("a destructor removes from its own map: a long chain") {
    constexpr std::uint64_t n = many;
    {
        range_map<will> map;
        for (std::uint64_t i = 0; i < n; ++i)
            CHECK(map.insert(
                i, i + 1, std::make_shared<last_will>([&map, i] { map.remove_starting(i + 1); })));
        CHECK(map.remove_starting(0));
        while (!map.empty())
            map.drain();
        map.drain();
        CHECK(last_will::alive == 0);
    }
}

TEST_CASE("a destructor looks at its map, inserts and replaces") {
    int seen = 0;
    point_map<std::uint64_t, will> map;
    CHECK(map.insert(1, std::make_shared<last_will>([&] {
                         seen += map.find(2) ? 1 : 0;
                         CHECK(map.insert(3, nothing_more()));
                         CHECK(map.replace(2, nothing_more()).error == 0);
                     })));
    CHECK(map.insert(2, nothing_more()));
    CHECK(map.erase(1));
    map.drain();
    CHECK(seen == 1);
    map.drain();
    CHECK(last_will::alive == 2);
    map.clear();
    CHECK(last_will::alive == 0);
}

TEST_CASE("every call that removes values leaves none behind") {
    range_map<will> map;
    for (std::uint64_t i = 0; i < 100; ++i)
        CHECK(map.insert(range::sized(i * 10, 10), nothing_more()));
    CHECK(map.replace(0, nothing_more()).error == 0);
    CHECK(map.split(5, nothing_more()).error == 0);
    CHECK(map.join(5, [](const will&, const will&) { return true; }).error == 0);
    CHECK(map.remove_starting(10));
    CHECK(map.remove_covering(25));
    CHECK(map.remove_overlapping(range::sized(500, 100)) == 10);
    map.drain();
    CHECK(last_will::alive == 88);
    range_map<will> other = std::move(map);
    CHECK(last_will::alive == 88);
    other.clear();
    CHECK(last_will::alive == 0); // nobody reads beside clear()
    CHECK(other.insert(range::sized(1, 1), nothing_more()));
    other = range_map<will>();
    CHECK(last_will::alive == 0);
    CHECK(other.insert(range::sized(1, 1), nothing_more()));
    std::swap(other, map);
    CHECK(map.size() == 1);
    CHECK(map.remove_starting(1));
    map.drain();
    CHECK(last_will::alive == 0);
}

TEST_CASE("threads remove values that end maps, readers beside them") {
    {
        range_map<std::shared_ptr<range_map<will>>> map;
        std::atomic<bool> stop = false;
        std::thread reader([&] {
            while (!stop)
                for (std::uint64_t i = 0; i < 64; ++i)
                    if (auto inner = map.find(i))
                        (*inner)->find(0);
        });
        std::vector<std::thread> writers;
        for (std::uint64_t t = 0; t < 3; ++t)
            writers.emplace_back([&map, t] {
                for (std::uint64_t i = 0; i < 2000; ++i) {
                    auto inner = std::make_shared<range_map<will>>();
                    inner->insert(range::sized(0, 1), nothing_more());
                    inner->insert(range::sized(1, 1), nothing_more());
                    inner->remove_starting(1);
                    std::uint64_t key = (i * 3 + t) % 64;
                    if (!map.insert(range::sized(key, 1), inner))
                        map.remove_starting(key);
                }
            });
        for (auto& w : writers)
            w.join();
        stop = true;
        reader.join();
    }
    CHECK(last_will::alive == 0);
}
