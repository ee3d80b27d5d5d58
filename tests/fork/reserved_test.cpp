// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A store on reserved huge pages of which none is left, and a child of a fork; either process
// writes.
#include "children.hpp"

#include "lathwork/store.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

namespace {

// How many 2 MiB pages are reserved in the kernel; the superuser may change the number.
int reserved_pages(int wanted = -1) {
    std::fstream file("/proc/sys/vm/nr_hugepages");
    int pages = -1;
    file >> pages;
    if (wanted >= 0) {
        file.seekp(0);
        file << wanted << std::endl;
    }
    return pages;
}

} // namespace

// The kernel kills a child whose page it cannot copy.
int main() {
    constexpr int some = 5, entries = 5000;
    int before = reserved_pages(some);
    if (reserved_pages() != some) {
        reserved_pages(before);
        std::puts("skipped: this process cannot reserve huge pages");
        return 77;
    }
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    options.pages = LATH_PAGES_HUGETLB;
    options.limit = 64 << 20;
    lath_store* store = nullptr;
    char value[1000] = "parent";
    int status = lath_store_open(&store, "mem:", &options);
    for (uint64_t i = 0; !status && i < entries; ++i)
        status = lath_store_set(store, lath_key_number(i), value, sizeof(value));
    for (bool child_writes : {false, true}) {
        int ends[2];
        MUST(!pipe(ends));
        pid_t child = status ? -1 : fork();
        if (!child) {
            close(ends[1]);
            bool right = read(ends[0], value, 1) == 0;
            for (uint64_t i = 0; i < entries; ++i) {
                if (child_writes)
                    right &= !lath_store_set(store, lath_key_number(i), "child", 6);
                right &= lath_store_get(store, lath_key_number(i), value, sizeof(value)) >= 0 &&
                         !std::strcmp(value, child_writes ? "child" : "parent");
            }
            _exit(!right);
        }
        std::strcpy(value, "later");
        for (uint64_t i = 0; !child_writes && !status && i < entries; ++i)
            status = lath_store_set(store, lath_key_number(i), value, sizeof(value));
        close(ends[1]);
        if (child > 0 && waitpid(child, &status, 0) != child)
            status = 1;
        close(ends[0]);
    }
    lath_store_close(store);
    reserved_pages(before);
    MUST(!status);
    return 0;
}
