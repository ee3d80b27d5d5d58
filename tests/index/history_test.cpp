// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The search for an order of calls (base/calls.hpp) itself: right histories are explained, broken
// ones are not.
#include "index_calls.hpp"

#include <cstdio>

using namespace calls;

namespace {

const index_calls::setup setup{};
int wrong = 0;

range_call made(const char* name, word called, word returned, lath_item arguments, std::int64_t ret,
                lath_item got = {}) {
    range_call c(setup);
    c.kind = kind_of<index_calls>(name);
    c.how = 1;
    c.key = arguments.key;
    c.size = arguments.size;
    c.value = arguments.value;
    c.ret = ret;
    c.got = got;
    c.called = called;
    c.returned = returned;
    if (name == std::string_view("join"))
        c.items = {{4, 3, 9}, got};
    return c;
}

void expect(const char* what, bool right, const std::vector<lath_item>& before,
            const std::vector<range_call>& history) {
    calls::history<index_calls> all;
    for (const range_call& c : history)
        all.add(c);
    if (all.explained({before}, nullptr) != right) {
        std::fprintf(stderr, "history_test: %s: %s\n", what, right ? "not explained" : "explained");
        wrong++;
    }
}

} // namespace

int main() {
    const lath_item nine{4, 3, 9}, at5{5, 0, 0}, at6{6, 0, 0};
    const auto insert = [](word a, word b, lath_item it, std::int64_t ret, lath_item there = {}) {
        return made("insert_item", a, b, it, ret, there);
    };
    const auto look = [](word a, word b, lath_item at, lath_item got) {
        return made("lookup_item", a, b, at, got.size ? 0 : -ENOENT, got);
    };

    expect("nothing", true, {}, {});
    expect("one after the other", true, {},
           {insert(1, 2, nine, 0), look(3, 4, at6, nine),
            made("erase_item", 5, 6, {4, 0, 0}, 0, nine), look(7, 8, at6, {})});
    expect("a lookup beside an insert sees either", true, {},
           {insert(1, 4, nine, 0), look(2, 3, at5, {})});
    expect("a lookup beside an insert sees the other", true, {},
           {insert(1, 4, nine, 0), look(2, 3, at5, nine)});
    expect("a lookup after the insert misses it", false, {},
           {insert(1, 2, nine, 0), look(3, 4, at5, {})});
    expect("a lookup after the erase finds it", false, {nine},
           {made("erase_item", 1, 2, {4, 0, 0}, 0, nine), look(3, 4, at5, nine)});
    expect("two overlapping inserts, both done", false, {},
           {insert(1, 3, nine, 0), insert(2, 4, {6, 2, 8}, 0)});
    expect("two overlapping inserts, none done", false, {},
           {insert(1, 3, nine, -EEXIST, {6, 2, 8}), insert(2, 4, {6, 2, 8}, -EEXIST, nine)});
    expect("two erases of one item", false, {nine},
           {made("erase_item", 1, 3, {4, 0, 0}, 0, nine),
            made("erase_item", 2, 4, {4, 0, 0}, 0, nine)});
    expect("seen, then not, while the insert runs", false, {},
           {insert(1, 9, nine, 0), look(2, 3, at5, nine), look(4, 5, at5, {})});
    expect("a lost replace", false, {nine},
           {made("replace_item", 1, 2, {4, 0, 7}, 0, nine),
            made("replace_item", 3, 4, {4, 0, 8}, 0, nine), look(5, 6, at5, {4, 3, 8})});
    expect("replaced twice", true, {nine},
           {made("replace_item", 1, 4, {4, 0, 7}, 0, {4, 3, 8}),
            made("replace_item", 2, 3, {4, 0, 8}, 0, nine), look(5, 6, at5, {4, 3, 7})});
    expect("the old size after a resize", false, {nine},
           {made("resize", 1, 2, {4, 1, 0}, 0), look(3, 4, at6, nine)});
    expect("resized over an item", false, {nine},
           {insert(1, 2, {8, 1, 5}, 0), made("resize", 3, 4, {4, 6, 0}, 0)});
    expect("resize in the way of an item", true, {nine},
           {insert(1, 2, {8, 1, 5}, 0), made("resize", 3, 4, {4, 6, 0}, -EEXIST)});
    expect("a torn item", false, {nine},
           {made("resize", 1, 4, {4, 1, 0}, 0), look(2, 3, {4, 0, 0}, {4, 2, 9})});
    expect("floor passes an item over", false, {nine},
           {made("floor_item", 1, 2, {10, 0, 0}, -ENOENT)});
    expect("ceiling passes an item over", false, {nine},
           {made("ceiling_item", 1, 2, {2, 0, 0}, -ENOENT)});
    expect("two items become one", true, {nine},
           {insert(1, 2, {7, 2, 5}, 0), made("join", 3, 4, {7, 0, 0}, 0, {7, 2, 5}),
            look(5, 6, {8, 0, 0}, {4, 5, 9})});
    expect("joined over a gap", false, {nine},
           {insert(1, 2, {8, 2, 5}, 0), made("join", 3, 4, {8, 0, 0}, 0, {8, 2, 5})});
    expect("the right item after a join", false, {nine},
           {insert(1, 2, {7, 2, 5}, 0), made("join", 3, 6, {7, 0, 0}, 0, {7, 2, 5}),
            look(7, 8, {7, 0, 0}, {7, 2, 5})});
    if (!wrong)
        std::puts("history_test: 21 histories judged rightly");
    return wrong != 0;
}
