/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef TESTS_CXX_WALK_HPP
#define TESTS_CXX_WALK_HPP

#include "checks.hpp"

#include <cstddef>
#include <vector>

// Takes random steps through a view and beyond neither end; a step back from the first entry, which
// stays there, is one of them. `keys`: those that the view has; `key_of` gives that of an iterator.
template <typename View, typename Key, typename Random, typename KeyOf>
void walk_at_random(const View& view, const std::vector<Key>& keys, Random& random, KeyOf key_of) {
    auto at = random() % 2 ? view.begin() : view.end();
    std::size_t place = at == view.begin() ? 0 : keys.size();
    for (int step = 0; step < 40; step++) {
        REQUIRE((at == view.end()) == (place == keys.size()));
        REQUIRE((at == view.begin()) == (place == 0));
        if (place < keys.size())
            REQUIRE(key_of(at) == keys[place]);
        if (place < keys.size() && random() % 2) {
            ++at;
            place++;
        } else {
            --at;
            place -= place > 0;
        }
    }
}

#endif
