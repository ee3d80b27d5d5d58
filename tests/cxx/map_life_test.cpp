// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// point_map and range_map shared by threads: what sections and removed values hold, steps that are
// one, and calls without memory.
#include "checks.hpp"
#include "lathwork/cxx/index.hpp"
#include "lathwork/cxx/point_map.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace lathwork;

namespace {

#ifdef LATH_FEW_STEPS
constexpr int many = 1000;
#else
constexpr int many = 5000;
#endif

// Counts the living, and knows when it is not one of them.
struct counted {
    static inline std::atomic<int> alive = 0;
    int number;
    std::array<int, 8> copies{};
    explicit counted(int n) : number(n) { copies.fill(n), ++alive; }
    counted(const counted& o) : number(o.number), copies(o.copies) { ++alive; }
    counted& operator=(const counted&) = default;
    ~counted() {
        copies.fill(-1);
        --alive;
    }
    bool whole() const { return copies[0] == number && copies[7] == number; }
};

using by_number = point_map<std::uint64_t, counted>;
using by_text = point_map<std::string, counted>;

template <typename Map>
typename Map::key_type key(int i) {
    if constexpr (std::is_same_v<typename Map::key_type, std::string>)
        return "key " + std::to_string(i);
    else
        return static_cast<std::uint64_t>(i);
}

struct failing_allocator {
    std::atomic<std::int64_t> bytes = 0, calls = 0;
    std::int64_t fail_at = -1; // this call answers nullptr
    lath_allocator hooks{take, give, this};

    static void* take(void* ctx, std::size_t size, std::size_t align) {
        auto* self = static_cast<failing_allocator*>(ctx);
        if (self->calls++ == self->fail_at)
            return nullptr;
        self->bytes += static_cast<std::int64_t>(size);
        return std::aligned_alloc(align, (size + align - 1) / align * align);
    }
    static void give(void* ctx, void* block, std::size_t size) {
        static_cast<failing_allocator*>(ctx)->bytes -= static_cast<std::int64_t>(size);
        std::free(block);
    }
};

} // namespace

TEST_CASE_TEMPLATE("what a section has found stays to its end", Map, by_number, by_text) {
    counted::alive = 0;
    Map m;
    CHECK(m.try_emplace(key<Map>(1), 10));
    {
        read_section inside(m);
        const counted* found = m.find(inside, key<Map>(1));
        REQUIRE(found);
        std::thread other([&] {
            CHECK(m.erase(key<Map>(1)));
            CHECK(m.insert(key<Map>(1), counted(20)));
            CHECK(m.insert_or_assign(key<Map>(1), counted(30)).old->number == 20);
        });
        other.join();
        CHECK(found->whole());
        CHECK(found->number == 10);
        CHECK(m.find(inside, key<Map>(1))->number == 30);
        CHECK_FALSE(m.find(inside, key<Map>(2)));
    }
    m.drain();
    CHECK(counted::alive == 1);
}

TEST_CASE_TEMPLATE("a removed value is there until its handle ends", Map, by_number, by_text) {
    counted::alive = 0;
    Map m;
    for (int i = 0; i < 10; i++)
        CHECK(m.try_emplace(key<Map>(i), i));
    {
        auto one = m.erase(key<Map>(1));
        m.drain();
        CHECK(counted::alive == 10);
        CHECK(one->whole());
        auto moved = std::move(one);
        CHECK_FALSE(one);
        CHECK(moved->number == 1);
        counted out = m.erase(key<Map>(2)).take();
        CHECK(out.number == 2);
        auto replaced = m.replace(key<Map>(3), counted(33));
        CHECK(replaced.old->number == 3);
        moved = std::move(replaced.old);
        CHECK(moved->number == 3);
    }
    m.drain();
    CHECK(counted::alive == 8);
    Map other = std::move(m);
    auto last = other.erase(key<Map>(0));
    CHECK(last->whole());
}

TEST_CASE_TEMPLATE("what iterators show stays until they move, also behind the map's end", Map,
                   by_number, by_text) {
    counted::alive = 0;
    typename Map::iterator last;
    {
        Map m;
        for (int i = 0; i < 40; i++)
            CHECK(m.try_emplace(key<Map>(i), i).second);
        auto at = m.find(key<Map>(1));
        const counted& shown = at->second;
        auto copy = at;
        std::thread([&] { CHECK(m.erase_range(key<Map>(0), key<Map>(9)) > 1); }).join();
        m.drain();
        CHECK((shown.whole() && shown.number == 1 && copy->second.number == 1));
        const int left = static_cast<int>(m.size());
        CHECK(counted::alive == left + 1);
        copy = m.end();
        ++at;
        CHECK(counted::alive == left);
        last = m.begin();
    }
    CHECK(counted::alive == 1);
    CHECK(last->second.whole());
    last = {};
    CHECK(counted::alive == 0);
}

// Unless the library's thread has begun to look after them: then a later call does.
TEST_CASE("take() of a value that an iterator shows") {
    point_map<int, std::string> map{{1, "one"}, {2, "two"}};
    auto first = map.find(1), second = map.find(2);
    CHECK(map.erase(1).take() == "one"); // a copy
    CHECK(map.extract(2).mapped() == "two");
    CHECK((first->second == "one" && second->second == "two"));
    point_map<int, std::unique_ptr<int>> movers;
    CHECK(movers.insert(1, std::make_unique<int>(5)));
    auto shown = movers.find(1);
    auto old = movers.erase(1);
    const pid_t child = fork();
    if (child == 0) { // misuse
        std::signal(SIGABRT, SIG_DFL);
        if (std::freopen("/dev/null", "w", stderr))
            old.take();
        _exit(0);
    }
    int status = 0;
    CHECK((child > 0 && waitpid(child, &status, 0) == child));
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
    CHECK(*shown->second == 5);
    ++shown;
    CHECK(*old.take() == 5);
}

TEST_CASE_TEMPLATE("of threads that update one key none is lost", Map,
                   point_map<std::uint64_t, int>, point_map<std::uint64_t, std::string>,
                   point_map<std::string, int>) {
    using V = typename Map::mapped_type;
    constexpr bool numbers = std::is_same_v<V, int>;
    auto up = [](const V& v) {
        if constexpr (numbers)
            return v + 1;
        else
            return std::to_string(std::stoi(v) + 1);
    };
    V one{};
    if constexpr (numbers)
        one = 1;
    else
        one = "1";
    Map m;
    std::atomic<int> bad = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; t++)
        threads.emplace_back([&, by_place = t == 0 && numbers] {
            for (int i = 0; i < many; i++)
                if (!by_place)
                    bad += !m.update(key<Map>(7), up, one);
                else if constexpr (numbers)
                    m[key<Map>(7)] += 1;
        });
    for (auto& t : threads)
        t.join();
    CHECK(bad == 0);
    if constexpr (numbers)
        CHECK(m.at(key<Map>(7)) == 3 * many);
    else
        CHECK(m.at(key<Map>(7)) == std::to_string(3 * many));
}

TEST_CASE_TEMPLATE("readers, writers and iterators see whole values", Map, by_number, by_text) {
    counted::alive = 0;
    {
        Map m;
        std::atomic<bool> stop = false;
        std::atomic<int> bad = 0;
        auto change = [&](unsigned seed) {
            for (int i = 0; i < many; i++) {
                int k = static_cast<int>((static_cast<unsigned>(i) * 7 + seed * 3) % 32);
                switch (i % 5) {
                case 0:
                    m.erase(key<Map>(k));
                    break;
                case 1:
                    m.update(key<Map>(k), [](const counted& c) { return counted(c.number + 1); });
                    break;
                case 2:
                    if (auto old = m.insert_or_assign(key<Map>(k), counted(i)).old)
                        bad += !old->whole();
                    break;
                case 3:
                    m.erase_range(key<Map>(30), key<Map>(31));
                    break;
                default:
                    m.try_emplace(key<Map>(k), i);
                }
            }
        };
        std::thread reader([&] {
            while (!stop) {
                for (const auto& [k, v] : m)
                    bad += !v.whole();
                read_section inside(m);
                for (int k = 0; k < 32; k++)
                    if (const counted* v = m.find(inside, key<Map>(k)))
                        bad += !v->whole();
            }
        });
        std::thread a(change, 1), b(change, 2);
        a.join();
        b.join();
        stop = true;
        reader.join();
        CHECK(bad == 0);
        CHECK(m.verify() == 0);
        m.drain();
        CHECK(counted::alive == static_cast<int>(m.size()));
    }
    CHECK(counted::alive == 0);
}

// Each allocation fails once: the call says so and has changed nothing, or has done all.
TEST_CASE_TEMPLATE("without memory", Map, by_number, by_text) {
    counted::alive = 0;
    std::int64_t failed = 0;
    for (std::int64_t fail_at = 0;; fail_at++) {
        failing_allocator memory;
        memory.fail_at = fail_at;
        config how = default_config();
        how.allocator = &memory.hooks;
        {
            Map m(how);
            std::map<typename Map::key_type, int> model;
            if (m.error()) {
                CHECK(m.error() == -ENOMEM);
                CHECK(m.empty());
            }
            for (int i = 0; i < 300; i++) {
                auto k = key<Map>(i * 7 % 200);
                bool there = model.contains(k);
                result done = i % 3 == 0 ? static_cast<result>(m.try_emplace(k, i))
                              : i % 3 == 1
                                  ? m.update(
                                        k, [&](const counted&) { return counted(i); }, counted(i))
                                  : static_cast<result>(m.insert_or_assign(k, counted(i)));
                if (done)
                    model[k] = i;
                else if (done.error == -EEXIST)
                    CHECK((i % 3 == 0 && there));
                else
                    CHECK(done.error == -ENOMEM);
                failed += done.error == -ENOMEM;
            }
            CHECK(m.size() == model.size());
            for (const auto& [k, number] : model)
                CHECK(m.find(k)->second.number == number);
            for (int i = 0; i < 100; i++)
                CHECK(m.erase(key<Map>(i)).has_value() == model.contains(key<Map>(i)));
            CHECK(m.verify() == 0);
            m.drain();
            CHECK(counted::alive == static_cast<int>(m.size()));
        }
        CHECK(counted::alive == 0);
        CHECK(memory.bytes == 0);
        if (memory.calls <= fail_at)
            break;
        fail_at += fail_at / 16;
    }
    CHECK(failed > 20);
}

TEST_CASE("calls without a result throw when there is no memory") {
    failing_allocator memory;
    config how = default_config();
    how.allocator = &memory.hooks;
    by_text m(how);
    for (int i = 0; i < 8; i++)
        m[key<by_text>(i)] = counted(i);
    memory.fail_at = memory.calls;
    CHECK_THROWS_AS(m["more"] = counted(1), std::bad_alloc);
    CHECK_FALSE(m.contains("more"));
    memory.fail_at = memory.calls + 3;
    CHECK_THROWS_AS(by_text{m}, std::bad_alloc);
    by_text other(how);
    memory.fail_at = memory.calls + 2;
    result merged = other.merge(m); // the rest stays where it was
    CHECK(merged.error == -ENOMEM);
    CHECK(other.size() > 0);
    CHECK(m.size() + other.size() == 8);
    memory.fail_at = -1;
    CHECK(other.merge(m));
    CHECK(other.size() == 8);
    CHECK(m.empty());
}

TEST_CASE("range_map as a map") {
    using map = range_map<std::string>;
    map m{{range::between(10, 20), "a"}, {range::between(30, 40), "b"}};
    CHECK(m.at(15) == "a");
    CHECK_THROWS_AS(m.at(25), std::out_of_range);
    CHECK_THROWS_AS((map{{range::between(1, 5), "a"}, {range::between(4, 6), "b"}}),
                    std::system_error);
    CHECK(m.count(39) == 1);
    CHECK(m.count(40) == 0);
    CHECK(m.try_emplace(40, 50, std::size_t{3}, 'x'));
    CHECK(m.find(45) == "xxx");
    auto refused = m.try_emplace(45, 60, "c");
    CHECK(refused.error == -EEXIST);
    CHECK(refused.there == range::between(40, 50));
    CHECK(m.try_emplace(50, 60, "c"));
    CHECK(m.rbegin()->value == "c");
    CHECK(m.crbegin()->where.end() == 60);
    CHECK((*std::ranges::prev(m.rend())).where.first() == 10);
    auto [from, to] = m.equal_range(30);
    CHECK(from->value == "b");
    CHECK(to->where.first() == 40);

    map copy(m), other;
    CHECK(copy == m);
    CHECK(copy.remove_covering(15));
    CHECK(copy != m);
    other = copy;
    CHECK(other == copy);
    swap(other, m);
    CHECK(other.contains(15));
    CHECK_FALSE(m.contains(15));
    auto node = other.extract(10);
    REQUIRE(node);
    CHECK(node->value == "a");
    CHECK_FALSE(other.extract(10));
    node->where = range::between(100, 110);
    CHECK((m.insert(*node) && m.find(105) == "a"));
    CHECK(m.insert(200, 201, "z"));

    CHECK(m.update(35, [](const std::string& s) { return s + "!"; }));
    CHECK(m.find(30) == "b!");
    CHECK(m.update(25, [](const std::string& s) { return s; }).error == -ENOENT);
    {
        read_section inside(m);
        const std::string* held = m.find(inside, 35);
        REQUIRE(held);
        CHECK(m.replace(30, "new").old.value_or("") == "b!");
        CHECK(*held == "b!");
        CHECK_FALSE(m.find(inside, 25));
    }
    CHECK(m.remove_starting(30).take() == "new");
    CHECK_FALSE(m.remove_starting(31));
    CHECK(m.erase(m.lower_bound(40), m.lower_bound(100)) == m.lower_bound(100));
    CHECK(m.size() == 2);
    CHECK(m.remove_overlapping(0, 106) == 1);
    CHECK(m.erase(m.begin(), m.end()) == m.end());
    CHECK(m.empty());
    range_map<int> numbers;
    CHECK(numbers.insert_or_assign(0, 100, 1));
    CHECK(numbers.insert_or_assign(10, 20, 2));
    CHECK(numbers.size() == 3);
    CHECK(numbers.insert_or_assign(UINT64_MAX - 1, 0, 3)); // up to the last key
    CHECK(numbers.at(UINT64_MAX) == 3);
    read_section inside(numbers);
    CHECK(*numbers.find(inside, 15) == 2);
}

TEST_CASE("point_map: pairs, counters and output as std::map's users write them") {
    point_map<int, int> m;
    CHECK(m.insert(std::make_pair(8, 80)));
    const std::vector<std::pair<int, int>> more = {{9, 90}, {8, 81}};
    for (const auto& entry : more)
        CHECK(m.insert(entry).error == (entry.first == 8 ? -EEXIST : 0));
    CHECK(m.insert({10, 100}));
    CHECK(m.insert(m.extract(9)).inserted);
    CHECK(m[1]++ == 0);
    CHECK(m[1]++ == 1);
    CHECK(m[1]-- == 2);
    CHECK((++m[1] == 2));
    m[8] *= 3;
    m[9] /= 2;
    m[10] %= 7;
    m[10] ^= 1;
    std::ostringstream text;
    text << m[8] << ' ' << m[9] << ' ' << m[10];
    CHECK(text.str() == "240 45 3");

    point_map<std::string, std::unique_ptr<int>> owners;
    CHECK(owners.insert(std::make_pair("k", std::make_unique<int>(7))));
    CHECK(owners.visit("k", [](const std::unique_ptr<int>& p) { CHECK(*p == 7); }));
    point_map<std::string, std::string> texts{{"a", "b"}};
    text << texts["a"];
    CHECK(text.str() == "240 45 3b");
}

TEST_CASE("point_map: of several threads that count by ++ none is lost") {
    point_map<int, int> m;
    std::array<std::vector<int>, 3> seen;
    std::vector<std::thread> threads;
    for (auto& mine : seen)
        threads.emplace_back([&] {
            for (int i = 0; i < many / 4; i++) {
                mine.push_back(m[1]++);
                if (i % 8 == 0)
                    m[2]++;
            }
        });
    for (auto& t : threads)
        t.join();
    std::vector<bool> once(static_cast<std::size_t>(many / 4 * 3));
    for (const auto& mine : seen)
        for (int n : mine) {
            CHECK_FALSE(once.at(static_cast<std::size_t>(n)));
            once[static_cast<std::size_t>(n)] = true;
        }
    CHECK(m.at(1) == many / 4 * 3);
}

TEST_CASE("range_map: updates by threads are not lost") {
    range_map<int> numbers;
    range_map<std::string> texts;
    CHECK(numbers.insert(0, 10, 0));
    CHECK(texts.insert(0, 10, "0"));
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; t++)
        threads.emplace_back([&] {
            for (int i = 0; i < many / 4; i++) {
                numbers.update(5, [](int n) { return n + 1; });
                texts.update(5,
                             [](const std::string& s) { return std::to_string(std::stoi(s) + 1); });
            }
        });
    for (auto& t : threads)
        t.join();
    CHECK(numbers.find(0) == 3 * (many / 4));
    CHECK(texts.find(0) == std::to_string(3 * (many / 4)));
}
