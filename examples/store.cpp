// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include <iostream>
#include <lathwork/cxx/store.hpp>

int main() {
    lathwork::byte_store store("mem:", {.limit = 64 << 20, .evict = true});
    store.set("apple", "red");
    store.set("apricot", "orange");
    store.set("plum", "blue");
    for (auto [key, value] : store.range({.prefix = "ap"}))
        std::cout << key << " is " << value << '\n';
    std::cout << store.increment("visits", 41) + store.increment("more visits") << " visits\n";
    return store.compare_exchange("plum", "green", "yellow") ? 1 : 0;
}
