// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Guards of ranges: one that waits, and one that does not.
#include <iostream>
#include <lathwork/cxx/range_lock.hpp>

int main() {
    lathwork::range_locks locks;
    lathwork::range_guard mine(locks, 4096, 12288); // [4096, 12288), waits
    lathwork::range_guard also(locks, 0, 16, std::try_to_lock, lathwork::shared_range);
    if (also)
        std::cout << "[0, 16) is shared\n";
}
