// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The checker itself: right histories pass, broken ones are refused.
#include "base/checker.hpp"

#include <cstdio>

using namespace lin;

namespace {

int wrong = 0;

void expect(const char* name, bool right, const state& from, const std::vector<call>& history) {
    if (checker{}.linearizable(from, history) != right) {
        std::fprintf(stderr, "checker_test: %s: %s\n", name, right ? "refused" : "let pass");
        wrong++;
    }
}

call insert(std::uint64_t a, std::uint64_t b, unsigned key, unsigned size, unsigned value,
            bool done) {
    return {a, b, op::insert, key, size, value, done, !done, {}};
}
call erase(std::uint64_t a, std::uint64_t b, unsigned key, item old) {
    return {a, b, op::erase, key, 0, 0, old.value != 0, false, old};
}
call replace(std::uint64_t a, std::uint64_t b, unsigned key, unsigned value, item old) {
    return {a, b, op::replace, key, 0, value, old.value != 0, false, old};
}
call resize(std::uint64_t a, std::uint64_t b, unsigned key, unsigned size, bool done, bool exists) {
    return {a, b, op::resize, key, size, 0, done, exists, {}};
}
call join(std::uint64_t a, std::uint64_t b, unsigned key, item got) {
    return {a, b, op::join, key, 0, 0, got.value != 0, false, got};
}
call read(op what, std::uint64_t a, std::uint64_t b, unsigned key, item got, unsigned size = 1) {
    return {a, b, what, key, size, 0, false, false, got};
}

} // namespace

int main() {
    const state empty{};
    state one{};
    put(one, 4, 3, 9);
    const item nine{4, 3, 9};

    expect("nothing", true, empty, {});
    expect("one after the other", true, empty,
           {insert(1, 2, 4, 3, 9, true), read(op::lookup, 3, 4, 6, nine), erase(5, 6, 4, nine),
            read(op::lookup, 7, 8, 6, {})});
    expect("a lookup beside an insert sees either", true, empty,
           {insert(1, 4, 4, 3, 9, true), read(op::lookup, 2, 3, 5, {})});
    expect("a lookup beside an insert sees the other", true, empty,
           {insert(1, 4, 4, 3, 9, true), read(op::lookup, 2, 3, 5, nine)});
    expect("a lookup after the insert misses it", false, empty,
           {insert(1, 2, 4, 3, 9, true), read(op::lookup, 3, 4, 5, {})});
    expect("a lookup after the erase finds it", false, one,
           {erase(1, 2, 4, nine), read(op::lookup, 3, 4, 5, nine)});
    expect("two overlapping inserts, both done", false, empty,
           {insert(1, 3, 4, 3, 9, true), insert(2, 4, 6, 2, 8, true)});
    expect("two overlapping inserts, none done", false, empty,
           {insert(1, 3, 4, 3, 9, false), insert(2, 4, 6, 2, 8, false)});
    expect("two erases of one item", false, one, {erase(1, 3, 4, nine), erase(2, 4, 4, nine)});
    expect("seen, then not, while the insert runs", false, empty,
           {insert(1, 9, 4, 3, 9, true), read(op::lookup, 2, 3, 5, nine),
            read(op::lookup, 4, 5, 5, {})});
    expect("a lost replace", false, one,
           {replace(1, 2, 4, 7, nine), replace(3, 4, 4, 8, nine),
            read(op::lookup, 5, 6, 4, {4, 3, 8})});
    expect("replaced twice", true, one,
           {replace(1, 4, 4, 7, {4, 3, 8}), replace(2, 3, 4, 8, nine),
            read(op::lookup, 5, 6, 4, {4, 3, 7})});
    expect("the old size after a resize", false, one,
           {resize(1, 2, 4, 1, true, false), read(op::overlap, 3, 4, 6, nine, 2)});
    expect("resized over an item", false, one,
           {insert(1, 2, 8, 1, 5, true), resize(3, 4, 4, 6, true, false)});
    expect("resize in the way of an item", true, one,
           {insert(1, 2, 8, 1, 5, true), resize(3, 4, 4, 6, false, true)});
    expect("a torn item", false, one,
           {resize(1, 4, 4, 1, true, false), read(op::lookup, 2, 3, 4, {4, 2, 9})});
    expect("floor passes an item over", false, one, {read(op::floor, 1, 2, 10, {})});
    expect("ceiling passes an item over", false, one, {read(op::ceiling, 1, 2, 2, {})});
    expect("two items become one", true, one,
           {insert(1, 2, 7, 2, 5, true), join(3, 4, 7, {7, 2, 5}),
            read(op::lookup, 5, 6, 8, {4, 5, 9})});
    expect("joined over a gap", false, one,
           {insert(1, 2, 8, 2, 5, true), join(3, 4, 8, {8, 2, 5})});
    expect("the right item after a join", false, one,
           {insert(1, 2, 7, 2, 5, true), join(3, 6, 7, {7, 2, 5}),
            read(op::lookup, 7, 8, 7, {7, 2, 5})});
    if (!wrong)
        std::puts("checker_test: 21 histories judged rightly");
    return wrong != 0;
}
