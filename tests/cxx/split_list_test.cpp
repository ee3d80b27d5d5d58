// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// intrusive_split_list and run_queue against std::deque: random operations where the position
// counters wrap around, iterator laws, what a scan's body may do, kinds of elements, no allocation.
#include <lathwork/cxx/split_list.hpp>

#include "checks.hpp"
#include "split_list_model.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <memory>
#include <new>
#include <random>
#include <ranges>
#include <string>
#include <type_traits>
#include <vector>

namespace {

std::size_t allocations;

} // namespace

void* operator new(std::size_t size) {
    ++allocations;
    if (void* p = std::malloc(size))
        return p;
    throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace {

using namespace splittest;

template <unsigned F, class Index>
void against_deque() {
    for (unsigned seed = 0; seed < 30; ++seed) {
        // From 40 before the wrap-around to 40 after it.
        Index position = static_cast<Index>(static_cast<int>(seed * 80 / 29) - 40);
        model<F, Index, std::mt19937>(std::mt19937(seed), position).run(250);
    }
}

struct numbers {
    explicit numbers(int n) {
        for (int i = 0; i < n; ++i)
            nodes.emplace_back(i);
    }
    template <class List>
    void append_to(List& list) {
        for (auto& n : nodes)
            list.push_back(n);
    }
    std::deque<node> nodes;
};

template <class Range>
std::vector<int> values(Range&& range) {
    std::vector<int> v;
    for (const node& n : range)
        v.push_back(n.value);
    return v;
}

std::vector<int> iota(int from, int to) {
    std::vector<int> v;
    for (int i = from; i < to; ++i)
        v.push_back(i);
    return v;
}

} // namespace

TEST_CASE_TEMPLATE("operations agree with std::deque, wrap-around included", Index, std::uint8_t,
                   std::uint16_t, std::uint32_t, std::uint64_t) {
    against_deque<1, Index>();
    against_deque<2, Index>();
    against_deque<4, Index>();
    against_deque<8, Index>();
    against_deque<16, Index>();
    against_deque<32, Index>();
    against_deque<64, Index>();
}

TEST_CASE("push_front on an empty list wraps below zero at once") {
    tree_of<4, std::uint32_t> list;
    numbers some(10);
    for (auto& n : some.nodes)
        list.push_front(n);
    CHECK(list.size() == 10);
    CHECK(list.front().value == 9);
    CHECK(list.back().value == 0);
    auto backwards = iota(0, 10);
    std::ranges::reverse(backwards);
    CHECK(values(list) == backwards);
    for (int i = 9; i >= 0; --i)
        CHECK(list.pop_front().value == i);
    CHECK(list.empty());
}

TEST_CASE("positions pass 2^32 while the queue is in use") {
    tree_of<16, std::uint32_t> list(0xffffffffu - 20);
    numbers some(50);
    some.append_to(list);
    for (int round = 0; round < 500; ++round)
        list.push_back(list.pop_front());
    CHECK(list.size() == 50);
    CHECK(values(list) == iota(0, 50));
}

TEST_CASE("an 8-bit list holds 255 elements and no index wraps wrongly") {
    tree_of<8, std::uint8_t> list(200);
    CHECK(list.max_size() == 255);
    numbers some(255);
    some.append_to(list);
    CHECK(list.size() == 255);
    CHECK(values(list) == iota(0, 255));
}

TEST_CASE("types: iterators, ranges, noexcept, triviality") {
    using list = tree_of<8>;
    static_assert(std::forward_iterator<list::iterator>);
    static_assert(std::forward_iterator<list::const_iterator>);
    static_assert(std::convertible_to<list::iterator, list::const_iterator>);
    static_assert(!std::convertible_to<list::const_iterator, list::iterator>);
    static_assert(std::sized_sentinel_for<std::default_sentinel_t, list::iterator>);
    static_assert(std::ranges::forward_range<list> && std::ranges::forward_range<const list>);
    static_assert(std::ranges::sized_range<const list> && std::ranges::borrowed_range<list>);
    static_assert(std::same_as<std::ranges::range_reference_t<list>, node&>);
    static_assert(std::same_as<std::ranges::range_reference_t<const list>, const node&>);
    static_assert(!std::copy_constructible<list> && !std::is_copy_assignable_v<list>);
    static_assert(std::is_nothrow_move_constructible_v<list>);
    static_assert(std::is_nothrow_move_assignable_v<list>);
    static_assert(std::is_nothrow_swappable_v<list>);
    static_assert(std::is_nothrow_default_constructible_v<list>);
    static_assert(std::is_trivially_destructible_v<list>);
    static_assert(sizeof(list) == (2 * 8 + 2) * sizeof(void*));
    list l;
    node n(1);
    static_assert(noexcept(l.push_back(n)) && noexcept(l.push_front(n)) && noexcept(l.pop_front()));
    static_assert(noexcept(l.unlink(n)) && noexcept(l.splice_back(l)) && noexcept(l.clear()));
    static_assert(noexcept(l.begin()) && noexcept(++l.begin()) && noexcept(l.size()));
    CHECK(l.begin() == l.end());
}

TEST_CASE("iterator laws") {
    for (int n : {0, 1, 7, 8, 9, 40}) {
        tree_of<8> list;
        numbers some(n);
        some.append_to(list);
        using iterator = tree_of<8>::iterator;
        CHECK(iterator() == iterator());
        CHECK(std::ranges::distance(list) == n);
        CHECK(list.end() - list.begin() == n);
        CHECK(list.begin() - list.end() == -n);
        auto a = list.begin();
        auto b = list.begin();
        CHECK(a == b);
        for (int i = 0; i < n; ++i) {
            CHECK(a != list.end());
            CHECK(a->value == i);
            auto old = a++; // multi-pass: old stays where it was
            CHECK(old->value == i);
            CHECK(old == b);
            CHECK(++old == a);
            CHECK(++b == a);
            CHECK((i + 1 == n || &*b == &*a));
            tree_of<8>::const_iterator as_const = a;
            CHECK((as_const == list.end()) == (i + 1 == n));
        }
        CHECK(a == list.end());
        CHECK(a == b);
    }
}

TEST_CASE("std::ranges algorithms and views") {
    tree_of<16> list;
    numbers some(100);
    some.append_to(list);
    auto found = std::ranges::find(list, 77, &node::value);
    REQUIRE(found != list.end());
    CHECK(found->value == 77);
    CHECK(std::ranges::count_if(list, [](const node& n) { return n.value % 3 == 0; }) == 34);
    CHECK(values(list | std::views::filter([](const node& n) { return n.value > 95; })) ==
          iota(96, 100));
    CHECK(values(list | std::views::drop(10) | std::views::take(5)) == iota(10, 15));
    auto common = list | std::views::common;
    CHECK(std::distance(common.begin(), common.end()) == 100);
    std::ranges::for_each(list, [](node& n) { n.value *= 2; });
    CHECK(list.back().value == 198);
}

TEST_CASE("a scan visits what was queued at its start, whatever its body does") {
    for (int n : {1, 5, 8, 9, 30, 64}) {
        numbers some(n), more(3 * n);
        std::vector<int> seen;

        SUBCASE("for_each: push at both ends") {
            tree_of<8> list;
            some.append_to(list);
            std::size_t used = 0;
            list.for_each([&](node& e) {
                seen.push_back(e.value);
                list.push_back(more.nodes[used++]);
                list.push_front(more.nodes[used++]);
            });
            CHECK(list.size() == static_cast<std::size_t>(3 * n));
        }
        SUBCASE("iterator: push at both ends") {
            tree_of<8> list;
            some.append_to(list);
            std::size_t used = 0;
            for (node& e : list) {
                seen.push_back(e.value);
                list.push_back(more.nodes[used++]);
                list.push_front(more.nodes[used++]);
            }
            CHECK(list.size() == static_cast<std::size_t>(3 * n));
        }
        SUBCASE("for_each: pop the current element and queue it again") {
            tree_of<8> list;
            some.append_to(list);
            list.for_each([&](node& e) {
                seen.push_back(e.value);
                CHECK(&list.pop_front() == &e);
                list.push_back(e);
            });
            CHECK(values(list) == iota(0, n));
        }
        SUBCASE("iterator: pop the current element and queue it again") {
            tree_of<8> list;
            some.append_to(list);
            for (node& e : list) {
                seen.push_back(e.value);
                CHECK(&list.pop_front() == &e);
                list.push_back(e);
            }
            CHECK(values(list) == iota(0, n));
        }
        SUBCASE("pop and free the current element") {
            tree_of<8> list;
            for (int i = 0; i < n; ++i)
                list.push_back(*new node(i));
            bool internal = n % 2 == 0;
            auto body = [&](node& e) {
                seen.push_back(e.value);
                CHECK(&list.pop_front() == &e);
                delete &e;
            };
            if (internal) {
                list.for_each(body);
            } else {
                for (node& e : list)
                    body(e);
            }
            CHECK(list.empty());
        }
        SUBCASE("move and splice the list away") {
            tree_of<8> list, other, target;
            some.append_to(list);
            more.append_to(target);
            for (node& e : list) {
                seen.push_back(e.value);
                if (e.value == 0)
                    other = std::move(list);
                if (e.value == 1)
                    target.splice_back(other);
            }
        }
        CHECK(seen == iota(0, n));
    }
}

TEST_CASE("self-move and swap with itself keep the elements") {
    tree_of<4> list;
    numbers some(11);
    some.append_to(list);
    auto& same = list;
    list = std::move(same);
    list.swap(same);
    CHECK(values(list) == iota(0, 11));
}

namespace {

constexpr int constant_evaluation() {
    // A link without a value: reading one that the list has not written is then a compile error.
    struct item {
        constexpr item() noexcept {}
        int value = 0;
        item* next;
    };
    item items[20];
    intrusive_split_list<item, 4, &item::next> list, other;
    for (int i = 0; i < 10; ++i) {
        items[i].value = i;
        list.push_back(items[i]);
    }
    for (int i = 10; i < 20; ++i) {
        items[i].value = i;
        other.push_front(items[i]);
    }
    list.splice_back(other);
    list.unlink(items[3]);
    list.remove_and_dispose_if([](const item& i) { return i.value == 12; }, [](item*) {});
    list.push_back(list.pop_front());
    int sum = 0;
    for (const item& i : list)
        sum += i.value;
    list.for_each([&](const item& i) { sum += i.value; });
    auto moved = std::move(list);
    return sum + static_cast<int>(moved.size()) * 1000;
}
static_assert(constant_evaluation() == 2 * (190 - 15) + 18 * 1000);

constinit intrusive_split_list<node, 16, &node::next> static_list;

struct abstract_task {
    virtual ~abstract_task() = default;
    virtual int run() = 0;
    union { // the link may share its word with what only unqueued tasks need
        abstract_task* next;
        std::uintptr_t group;
    };
};

struct quick final : abstract_task {
    int run() override { return 1; }
};
struct alignas(256) slow final : abstract_task {
    slow() = default;
    slow(slow&&) = delete;
    std::unique_ptr<int> result = std::make_unique<int>(100);
    int run() override { return *result; }
};

struct in_two_lists {
    int value;
    in_two_lists* by_age;
    in_two_lists* by_owner;
};

} // namespace

TEST_CASE("constant initialisation") {
    CHECK(static_list.empty());
    node n(1);
    static_list.push_back(n);
    CHECK(&static_list.pop_front() == &n);
}

TEST_CASE("elements: abstract, not movable, over-aligned, in a union, in two lists") {
    intrusive_split_list<abstract_task, 8, &abstract_task::next> tasks;
    quick q[20];
    slow s[20];
    for (int i = 0; i < 20; ++i) {
        tasks.push_back(q[i]);
        tasks.push_front(s[i]);
    }
    int sum = 0;
    while (!tasks.empty())
        sum += tasks.pop_front().run();
    CHECK(sum == 20 * 101);

    in_two_lists items[10]{};
    intrusive_split_list<in_two_lists, 4, &in_two_lists::by_age> ages;
    intrusive_split_list<in_two_lists, 2, &in_two_lists::by_owner> owners;
    for (int i = 0; i < 10; ++i) {
        items[i].value = i;
        ages.push_back(items[i]);
        owners.push_front(items[i]);
    }
    CHECK(ages.unlink(items[4]));
    CHECK(owners.size() == 10);
    CHECK(ages.size() == 9);
    CHECK(std::ranges::is_sorted(ages, {}, &in_two_lists::value));
    CHECK(std::ranges::is_sorted(owners, std::ranges::greater{}, &in_two_lists::value));
}

TEST_CASE("nothing is allocated") {
    numbers some(1000);
    tree_of<16> list, other;
    std::size_t before = allocations;
    for (auto& n : some.nodes)
        list.push_back(n);
    int sum = 0;
    list.for_each([&](node& n) { sum += n.value; });
    for (node& n : list)
        sum += n.value;
    for (int i = 0; i < 300; ++i)
        other.push_front(list.pop_front());
    list.splice_front(other);
    list.unlink(some.nodes[500]);
    list.remove_and_dispose_if([](const node& n) { return n.value % 2 == 0; }, [](node*) {});
    tree_of<16> moved(std::move(list));
    moved.clear();
    std::size_t after = allocations;
    CHECK(after == before);
    CHECK(sum == 999000);
}

TEST_CASE("run_queue: order, budget, stop, tasks that queue themselves") {
    lathwork::run_queue<node, &node::next, 8> queue;
    numbers some(20);
    for (auto& n : some.nodes)
        queue.push_back(n);
    node urgent(100);
    queue.push_front(urgent);

    std::vector<int> ran;
    CHECK(queue.run([&](node& n) { ran.push_back(n.value); }, 3) == 3);
    CHECK(ran == std::vector<int>{100, 0, 1});
    CHECK(queue.size() == 18);

    // stopped by the body
    CHECK(queue.run([&](node& n) {
        ran.push_back(n.value);
        return n.value != 4;
    }) == 3);
    CHECK(ran.back() == 4);

    // each of the rest runs a second time, after all others
    ran.clear();
    std::size_t turns = queue.run([&](node& n) {
        if (std::ranges::count(ran, n.value) == 0)
            queue.push_back(n);
        ran.push_back(n.value);
    });
    CHECK(turns == 30);
    auto twice = iota(5, 20);
    auto again = twice;
    twice.insert(twice.end(), again.begin(), again.end());
    CHECK(ran == twice);
    CHECK(queue.empty());
    CHECK(queue.run([](node&) {}) == 0);
}

TEST_CASE("run_queue: scan in running order, unlink, splice, a throwing task") {
    lathwork::run_queue<node, &node::next> queue, storm;
    numbers some(100), more(50);
    for (auto& n : some.nodes)
        queue.push_back(n);
    for (auto& n : more.nodes)
        storm.push_back(n);
    CHECK(queue.unlink(some.nodes[50]));
    queue.splice_back(storm);
    std::vector<int> seen;
    std::as_const(queue).for_each([&](const node& n) { seen.push_back(n.value); });
    auto expected = iota(0, 100);
    expected.erase(expected.begin() + 50);
    auto tail = iota(0, 50);
    expected.insert(expected.end(), tail.begin(), tail.end());
    CHECK(seen == expected);

    CHECK_THROWS_AS(queue.run([](node& n) {
        if (n.value == 3)
            throw std::string("task 3");
    }),
                    std::string);
    CHECK(queue.size() == 149 - 4);
    CHECK(queue.pop_front().value == 4);
}
