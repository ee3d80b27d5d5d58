// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// range_map, point_map and range_set: each call, ownership, concepts.
#include "checks.hpp"
#include "lathwork/cxx/index.hpp"
#include "lathwork/cxx/point_map.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace lathwork;

namespace {

using number_map = range_map<std::uint64_t>;
using text_map = range_map<std::string>;
using number_points = point_map<std::uint64_t, std::uint64_t>;

static_assert(stored_directly<int*> && stored_directly<double> && !stored_directly<std::string>);
static_assert(std::ranges::bidirectional_range<const number_map>);
static_assert(std::ranges::bidirectional_range<const text_map>);
static_assert(std::ranges::bidirectional_range<const range_set>);
static_assert(std::ranges::bidirectional_range<const number_points>);
static_assert(std::ranges::bidirectional_range<const point_map<std::uint64_t, std::string>>);
static_assert(std::ranges::common_range<number_map>);
static_assert(std::ranges::view<number_map::view> && std::ranges::borrowed_range<number_map::view>);
static_assert(std::bidirectional_iterator<text_map::iterator>);
static_assert(std::is_nothrow_move_constructible_v<number_map>);
static_assert(std::is_copy_constructible_v<number_map>);

// Counts the living.
struct counted {
    static inline std::atomic<int> alive = 0;
    std::array<int, 8> payload{};
    explicit counted(int v) { payload.fill(v), ++alive; }
    counted(const counted& o) : payload(o.payload) { ++alive; }
    ~counted() { --alive; }
};

struct counting_allocator {
    std::atomic<std::int64_t> bytes = 0;
    std::atomic<std::int64_t> calls = 0;
    std::int64_t fail_from = INT64_MAX; // calls beyond this many answer nullptr
    lath_allocator hooks{take, give, this};

    static void* take(void* ctx, std::size_t size, std::size_t align) {
        auto* self = static_cast<counting_allocator*>(ctx);
        if (++self->calls > self->fail_from)
            return nullptr;
        self->bytes += static_cast<std::int64_t>(size);
        return std::aligned_alloc(align, (size + align - 1) / align * align);
    }
    static void give(void* ctx, void* block, std::size_t size) {
        static_cast<counting_allocator*>(ctx)->bytes -= static_cast<std::int64_t>(size);
        std::free(block);
    }
};

std::vector<std::uint64_t> keys_of(auto&& items) {
    std::vector<std::uint64_t> keys;
    for (auto [where, value] : items)
        keys.push_back(where.key);
    return keys;
}

std::vector<std::uint64_t> points_of(auto&& items) {
    std::vector<std::uint64_t> keys;
    for (auto [key, value] : items)
        keys.push_back(key);
    return keys;
}

} // namespace

TEST_CASE("range") {
    CHECK(range::between(10, 30) == range::sized(10, 20));
    CHECK(range::between(30, 10).size == 0);
    CHECK(range::between(10, 0) == range::sized(10, UINT64_MAX - 9)); // up to the last key
    CHECK(range::between(0, 0).size == 0);
    CHECK(range::sized(10, 20).first() == 10);
    CHECK(range::sized(10, 20).end() == 30);
    CHECK(range::sized(10, 20).last() == 29);
    CHECK(range::sized(UINT64_MAX, 1).last() == UINT64_MAX);
    CHECK(range::sized(10, 20).contains(29));
    CHECK_FALSE(range::sized(10, 20).contains(30));
    CHECK(range::sized(10, 20).overlaps(range::sized(0, 11)));
    CHECK_FALSE(range::sized(10, 20).overlaps(range::sized(0, 10)));
}

TEST_CASE("range_map of numbers") {
    number_map m;
    REQUIRE(m);
    CHECK(m.empty());
    CHECK(m.begin() == m.end());
    CHECK(m.insert(range::sized(10, 20), 1));
    CHECK(m.insert(range::sized(40, 5), 2));
    CHECK(m.insert(range::sized(UINT64_MAX, 1), 3));
    CHECK(m.size() == 3);
    auto taken = m.insert(range::sized(25, 10), 4);
    CHECK(taken.error == -EEXIST);
    CHECK(taken.there == range::sized(10, 20));
    CHECK(m.insert(range::sized(5, 0), 4).error == -EINVAL);
    CHECK(m.insert(range::sized(UINT64_MAX, 2), 4).error == -EINVAL);

    CHECK(m.find(29) == 1);
    CHECK(m.find(UINT64_MAX) == 3);
    CHECK_FALSE(m.find(30));
    CHECK(m.contains(44));
    CHECK_FALSE(m.contains(45));
    CHECK(m.find_entry(41)->where == range::sized(40, 5));
    CHECK(m.floor(39)->where.key == 10);
    CHECK_FALSE(m.floor(9));
    CHECK(m.ceiling(11)->value == 2);
    CHECK(m.first()->where.key == 10);
    CHECK(m.last()->where.key == UINT64_MAX);
    CHECK(m.visit(12, [](range where, std::uint64_t v) {
        CHECK(where.size == 20);
        CHECK(v == 1);
    }));
    CHECK_FALSE(m.visit(2, [](range, std::uint64_t) {}));

    CHECK(keys_of(m) == std::vector<std::uint64_t>{10, 40, UINT64_MAX});
    CHECK(keys_of(m | std::views::reverse) == std::vector<std::uint64_t>{UINT64_MAX, 40, 10});
    CHECK(keys_of(m.overlapping(29, 41)) == std::vector<std::uint64_t>{10, 40});
    CHECK(keys_of(m.overlapping(29, 41) | std::views::reverse) ==
          std::vector<std::uint64_t>{40, 10});
    CHECK(m.overlapping(30, 40).empty());
    CHECK(m.overlapping(30, 30).empty());
    CHECK(m.begin()->value == 1);

    CHECK(m.replace(40, 7).error == 0);
    CHECK(m.replace(41, 7).error == -ENOENT);
    CHECK(m.find(40) == 7);
    CHECK(m.resize(40, 8).error == 0);
    CHECK(m.find(47) == 7);
    CHECK(m.split(44, 8).error == 0);
    CHECK(m.split(44, 8).error == -EEXIST);
    CHECK(m.split(5, 8).error == -ENOENT);
    CHECK(m.find(43) == 7);
    CHECK(m.find(44) == 8);
    CHECK(m.insert_or_assign(20, 20 + 25, 9).error == 0);
    CHECK(keys_of(m) == std::vector<std::uint64_t>{10, 20, 45, UINT64_MAX});
    CHECK(m.find(45) == 8);
    CHECK_FALSE(m.remove_starting(11));
    CHECK(m.remove_covering(11).value_or(0) == 1);
    CHECK(*m.remove_starting(20) == 9);
    CHECK(m.remove_overlapping(range::sized(0, UINT64_MAX)) == 1);
    CHECK(m.remove_overlapping(range()) == 0);
    m.clear();
    CHECK(m.empty());
}

TEST_CASE("range_map: two ranges become one") {
    range_map<std::string> m;
    auto alike = [](const std::string& left, const std::string& right) { return left == right; };
    CHECK(m.join(10, alike).error == -ENOENT);
    REQUIRE(m.insert(range::sized(0, 10), "red"));
    REQUIRE(m.insert(range::sized(10, 10), "red"));
    REQUIRE(m.insert(range::sized(20, 10), "blue"));
    REQUIRE(m.insert(range::sized(31, 10), "blue"));
    CHECK(m.join(20, alike).error == -ECANCELED);
    CHECK(m.join(31, alike).error == -ENOENT); // key 30 is between them
    CHECK(m.join(10, alike).error == 0);
    CHECK(m.find_entry(15)->where == range::sized(0, 20));
    CHECK(m.size() == 3);
    number_map numbers;
    REQUIRE(numbers.insert(range::sized(0, 10), 1));
    REQUIRE(numbers.insert(range::sized(10, 10), 3));
    CHECK(numbers.join(10, [](auto left, auto right) { return left + 2 == right; }).error == 0);
    CHECK(numbers.find_entry(19)->where == range::sized(0, 20));
}

TEST_CASE("iterators from a key, and erase where one is") {
    range_map<int> m;
    for (int i = 0; i < 100; i++)
        REQUIRE(m.insert(range::sized(static_cast<std::uint64_t>(i) * 10, 5), i));
    CHECK(m.lower_bound(0)->value == 0);
    CHECK(m.lower_bound(51)->value == 6);
    CHECK(m.upper_bound(60)->value == 7);
    CHECK(m.upper_bound(990) == m.end());
    for (std::uint64_t key : {0, 4, 5, 9, 10, 994, 995}) {
        auto [from, to] = m.equal_range(key);
        CHECK(static_cast<std::uint64_t>(std::ranges::distance(from, to)) == m.count(key));
        CHECK((from == to || from->where.contains(key)));
    }
    for (auto at = m.lower_bound(500); at != m.end();)
        at = at->value % 2 ? m.erase(at) : std::ranges::next(at);
    CHECK(m.size() == 75);
    range_set s;
    REQUIRE(s.insert(range::sized(7, 3)));
    CHECK(s.erase(s.begin()) == s.end());
    CHECK(s.empty());
}

TEST_CASE("point_map of numbers") {
    number_points m;
    REQUIRE(m);
    CHECK(m.empty());
    CHECK(m.lower_bound(0) == m.end());
    CHECK(m.insert(10, 1));
    CHECK(m.insert(0, 0));
    CHECK(m.insert(UINT64_MAX, 3));
    auto taken = m.insert(10, 4);
    CHECK(taken.error == -EEXIST);
    CHECK(m.at(10) == 1);
    CHECK_FALSE(m.find(11));
    CHECK(m.contains(UINT64_MAX));
    auto assigned = m.insert_or_assign(10, 5);
    CHECK(assigned);
    CHECK_FALSE(assigned.second);
    CHECK(*assigned.old == 1);
    CHECK(m.insert_or_assign(20, 2).second);
    CHECK(m.at(10) == 5);
    CHECK(*m.replace(10, 1).old == 5);
    CHECK(m.replace(11, 1).error == -ENOENT);
    CHECK(m.visit(20, [](std::uint64_t v) { CHECK(v == 2); }));
    CHECK_FALSE(m.visit(21, [](std::uint64_t) {}));

    CHECK(points_of(m) == std::vector<std::uint64_t>{0, 10, 20, UINT64_MAX});
    CHECK(points_of(m | std::views::reverse) == std::vector<std::uint64_t>{UINT64_MAX, 20, 10, 0});
    CHECK(points_of(m.within(10, 20)) == std::vector<std::uint64_t>{10});
    CHECK(points_of(m.within(11, UINT64_MAX)) == std::vector<std::uint64_t>{20});
    CHECK(m.within(10, 10).empty());
    CHECK(m.lower_bound(10)->first == 10);
    CHECK(m.upper_bound(10)->first == 20);
    CHECK(std::ranges::prev(m.upper_bound(10))->first == 10);
    CHECK(m.upper_bound(UINT64_MAX) == m.end());
    CHECK(m.lower_bound(UINT64_MAX)->second == 3);
    CHECK(m.floor(19)->first == 10);
    CHECK(m.ceiling(11)->second == 2);
    CHECK(m.first()->first == 0);
    CHECK(m.last()->first == UINT64_MAX);

    CHECK_FALSE(m.erase(11));
    CHECK(m.erase(10));
    CHECK(m.erase_range(0, 20) == 1);
    CHECK(m.size() == 2);
    CHECK(m.verify() == 0);
    m.clear();
    CHECK(m.empty());
}

TEST_CASE("point_map: batches") {
    number_points m;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> in;
    std::vector<std::uint64_t> keys;
    for (std::uint64_t i = 0; i < 1000; i++) {
        in.push_back({i * 3, i});
        keys.push_back(i * 3);
    }
    in.push_back({3, 0});
    std::vector<int> codes(in.size(), 99);
    CHECK(m.insert_batch(in, codes) == 1000);
    CHECK(codes.back() == -EEXIST);
    std::vector<std::optional<std::uint64_t>> out(keys.size());
    CHECK(m.find_batch(keys, out) == 1000);
    for (std::uint64_t i = 0; i < 1000; i++)
        CHECK(out[i] == i);
    number_points moved = std::move(m);
    CHECK(m.empty());
    CHECK(m.lower_bound(0) == m.end());
    CHECK(m.within(0, 10).empty());
}

TEST_CASE("point_map: boxed values live as long as they must and no longer") {
    counted::alive = 0;
    counting_allocator memory;
    config how = default_config();
    how.allocator = &memory.hooks;
    {
        point_map<std::uint64_t, counted> m(how);
        for (int i = 0; i < 100; i++)
            CHECK(m.insert_or_assign(static_cast<std::uint64_t>(i % 50), counted(i)).second ==
                  (i < 50));
        CHECK(m.insert(7, counted(0)).error == -EEXIST);
        CHECK(m.find(7)->second.payload[0] == 57);
        CHECK(m.erase(8));
        CHECK(m.erase_range(10, 15) == 5);
        int sum = 0;
        for (auto [key, value] : m.within(0, 10))
            sum += value.payload[0];
        CHECK(sum == 545 - 58);
        m.drain();
        CHECK(counted::alive == 44);
        memory.fail_from = memory.calls;
        CHECK(m.insert_or_assign(7, counted(1)).error == -ENOMEM);
        CHECK(m.find(7)->second.payload[0] == 57);
    }
    CHECK(counted::alive == 0);
    CHECK(memory.bytes == 0);
}

TEST_CASE("point_map: insert_or_assign by several threads loses no value") {
    point_map<std::uint64_t, counted> m;
    counted::alive = 0;
    std::atomic<int> inserted = 0, erased = 0, bad = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; t++)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 4000; i++) {
                std::uint64_t key = static_cast<std::uint64_t>(i * (t + 1)) % 16;
                if (i % 3 == 0) {
                    erased += m.erase(key).has_value();
                } else {
                    auto done = m.insert_or_assign(key, counted(i));
                    inserted += done.second;
                    bad += !done;
                }
            }
        });
    for (auto& t : threads)
        t.join();
    CHECK(bad == 0);
    CHECK(m.size() == static_cast<std::uint64_t>(inserted - erased));
    m.drain();
    CHECK(counted::alive == static_cast<int>(m.size()));
}

TEST_CASE("small values keep their bits") {
    struct pair16 {
        std::int16_t a, b;
    };
    range_map<pair16> m;
    CHECK(m.insert(range::sized(1, 1), {-1, 2}));
    CHECK(m.find(1)->a == -1);
    range_map<double> d;
    CHECK(d.insert(range::sized(1, 1), -0.5));
    CHECK(d.find(1) == -0.5);
}

TEST_CASE("boxed values live as long as they must and no longer") {
    counted::alive = 0;
    {
        range_map<counted> m;
        for (int i = 0; i < 100; i++)
            CHECK(m.insert(range::sized(static_cast<std::uint64_t>(i) * 10, 10), counted(i)));
        CHECK(counted::alive == 100);
        CHECK(m.insert(range::sized(5, 1), counted(0)).error == -EEXIST);
        CHECK(counted::alive == 100);
        CHECK(m.find(55)->payload[7] == 5);
        CHECK(m.replace(50, counted(500)).error == 0);
        CHECK(m.replace(51, counted(500)).error == -ENOENT);
        CHECK(m.split(55, counted(55)).error == 0);
        CHECK(m.find(54)->payload[0] == 500);
        CHECK(m.find(55)->payload[0] == 55);
        CHECK(m.remove_starting(0));
        CHECK(m.remove_covering(15));
        CHECK(m.remove_overlapping(range::sized(20, 15)) == 2);
        CHECK(m.size() == 97);
        int sum = 0;
        for (auto [where, value] : m)
            sum += value.payload[0];
        CHECK(sum == 4950 - 1 - 2 - 3 - 5 + 500 + 55);
        m.drain();
        CHECK(counted::alive == 97);
    }
    CHECK(counted::alive == 0);
}

TEST_CASE("values that only move") {
    range_map<std::unique_ptr<int>> m;
    CHECK(m.insert(range::sized(1, 1), std::make_unique<int>(5)));
    int seen = 0;
    CHECK(m.visit(1, [&](range, const std::unique_ptr<int>& p) { seen = *p; }));
    CHECK(seen == 5);
    m.clear();
    CHECK(m.empty());
}

TEST_CASE_TEMPLATE("moving", Map, number_map, range_map<counted>) {
    counted::alive = 0;
    auto value = [](int v) {
        if constexpr (std::is_same_v<Map, number_map>)
            return static_cast<std::uint64_t>(v);
        else
            return counted(v);
    };
    {
        Map a;
        CHECK(a.insert(range::sized(1, 1), value(1)));
        Map b = std::move(a);
        CHECK(a.empty());
        CHECK(a.begin() == a.end());
        CHECK(a.replace(1, value(1)).error == -ENOENT);
        CHECK(a.split(1, value(1)).error == -ENOENT);
        CHECK_FALSE(a.find(1));
        CHECK_FALSE(a.remove_starting(1));
        CHECK_FALSE(a.first());
        CHECK(a.remove_overlapping(range::sized(0, 5)) == 0);
        CHECK(a.overlapping(0, 5).empty());
        CHECK(b.contains(1));
        Map c;
        CHECK(c.insert(range::sized(2, 1), value(2)));
        c = std::move(b);
        CHECK(c.contains(1));
        CHECK_FALSE(c.contains(2));
        Map& self = c;
        c = std::move(self);
        CHECK(c.contains(1));
        CHECK(b.insert(range::sized(5, 1), value(1))); // as an empty one
        a = std::move(c);
        CHECK((a.size() == 1 && b.size() == 1));
    }
    CHECK(counted::alive == 0);
}

TEST_CASE("ranks") {
    config how = default_config();
    how.flags = LATH_RANKS;
    point_map<std::uint64_t, std::string> names(how);
    range_map<std::uint64_t> sizes(how);
    for (std::uint64_t i = 0; i < 5000; i++) {
        CHECK(names.insert(i * 3, std::to_string(i)));
        CHECK(sizes.insert(range::sized(i * 10, 5), i));
    }
    CHECK(names.rank(0) == 0);
    CHECK(names.rank(300) == 100);
    CHECK(names.rank(301) == 101);
    CHECK(names.select(4999)->second == "4999");
    CHECK(!names.select(5000));
    CHECK(sizes.remove_overlapping(range::sized(0, 1000)) == 100);
    CHECK(sizes.select(0)->where == range::sized(1000, 5));
    CHECK(sizes.rank(UINT64_MAX) == 4900);
    CHECK(sizes.size() == 4900);
    point_map<std::uint64_t, std::string> moved = std::move(names);
    CHECK(moved.rank(UINT64_MAX) == 5000);
    CHECK(names.rank(1) == 0); // NOLINT(bugprone-use-after-move): empty
    range_set plain;
    CHECK(plain.rank(1) == -EINVAL);
    CHECK(!plain.select(0));
}

TEST_CASE("range_set") {
    range_set s;
    CHECK(s.insert(range::sized(10, 10)));
    CHECK(s.insert(range::sized(19, 2)).there == range::sized(10, 10));
    CHECK(s.find_entry(19)->where == range::sized(10, 10));
    CHECK(s.split(15).error == 0);
    CHECK(s.find_entry(19)->where == range::sized(15, 5));
    CHECK(s.insert_or_assign(12, 12 + 5).error == 0);
    std::vector<range> all;
    for (const auto& [where, none] : s)
        all.push_back(where);
    CHECK(all == std::vector<range>{range::sized(10, 2), range::sized(12, 5), range::sized(17, 3)});
    CHECK(s.remove_starting(12));
    CHECK(s.remove_covering(11));
    CHECK(s.floor(100)->where == range::sized(17, 3));
    range_set t = std::move(s);
    CHECK(t.remove_overlapping(range::sized(0, 100)) == 1);
    t.clear();
    s = range_set();
    CHECK(s);
}

TEST_CASE("a caller's allocator") {
    counting_allocator memory;
    config how = default_config();
    how.allocator = &memory.hooks;
    {
        range_map<std::string> m(how);
        REQUIRE(m);
        CHECK(m.insert(range::sized(1, 2), "one"));
        CHECK(m.find(2) == "one");
        CHECK(memory.bytes > 0);
        memory.fail_from = memory.calls;
        CHECK(m.insert(range::sized(10, 1), "ten").error == -ENOMEM);
        CHECK(m.replace(1, "uno").error == -ENOMEM);
        CHECK(m.split(2, "two").error == -ENOMEM);
        CHECK(m.find(1) == "one");
        CHECK(m.remove_starting(1)); // erasing never allocates
    }
    CHECK(memory.bytes == 0);
    memory.fail_from = 0;
    range_set none(how);
    CHECK(none.insert(range::sized(1, 1)).error == -ENOMEM);
}

TEST_CASE("a configuration that is refused is not taken for want of memory") {
    config how = default_config();
    how.flags = ~0u;
    range_map<std::string> m(how);
    CHECK(!m);
    CHECK(m.resize(1, 2).error == -EINVAL);
    CHECK(m.insert(range::sized(1, 1), "one").error == -EINVAL);
    CHECK(point_map<std::uint64_t, std::string>(how).insert_or_assign(1, "one").error == -EINVAL);
    range_set s(how);
    CHECK(s.insert(range::sized(1, 1)).error == -EINVAL);
    CHECK(s.split(2).error == -EINVAL);
    range_set moved = std::move(s);
    CHECK(moved.insert(range::sized(1, 1)).error == -EINVAL);
}

// Returns whether fn ends its process by abort().
template <typename Fn>
bool aborts(Fn fn) {
    pid_t child = fork();
    if (!child) {
        std::freopen("/dev/null", "w", stderr);
        std::signal(SIGABRT, SIG_DFL); // the framework's would report it
        alarm(20);
        fn();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

TEST_CASE("to wait for readers within a section stops the program") {
    config how = default_config();
    how.rcu = &lath_rcu_single; // ThreadSanitizer lets no child start a thread
    point_map<int, std::string> texts({{1, "one"}}, how);
    CHECK(aborts([&] {
        read_section inside(texts);
        texts.erase(1);
        texts.drain();
    }));
    CHECK(aborts([] {
        read_section inside;
        lath_rcu_auto.synchronize();
    }));
}

TEST_CASE("a step beyond the end stops the program") {
    range_map<int> ranges{{range::between(1, 2), 1}};
    point_map<int, int> points{{1, 10}, {2, 20}};
    CHECK(aborts([&] { (void)++ranges.end(); }));
    CHECK(aborts([&] { (void)++points.end(); }));
    CHECK(std::prev(ranges.end())->value == 1);
    CHECK(std::prev(points.end(), 2) == points.begin());
    auto at = points.end();
    std::advance(at, -1);
    CHECK(at->first == 2);
    CHECK(std::next(points.begin()) == at);
    CHECK(std::distance(points.begin(), points.end()) == 2);
}

TEST_CASE("readers beside a writer never see a dead value") {
    text_map m;
    const std::string low(40, 'a'), high(40, 'b');
    std::atomic<bool> stop = false;
    std::atomic<int> bad = 0;
    for (std::uint64_t k = 0; k < 64; k++)
        CHECK(m.insert(range::sized(k * 4, 4), low));
    std::thread reader([&] {
        for (std::uint64_t i = 0; !stop; i++) {
            auto v = m.find(i % 256);
            bad += v && *v != low && *v != high;
            if (i % 64 == 0)
                for (auto [where, value] : m)
                    bad += value != low && value != high;
        }
    });
    for (int i = 0; i < 20000; i++) {
        std::uint64_t key = static_cast<std::uint64_t>(i * 7 % 64) * 4;
        if (i % 3 == 0)
            m.replace(key, high);
        else if (m.remove_starting(key))
            CHECK(m.insert(range::sized(key, 4), low));
    }
    stop = true;
    reader.join();
    CHECK(bad == 0);
    CHECK(m.size() == 64);
}
