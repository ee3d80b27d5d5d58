// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Bus addresses for devices on lathwork::space: a window is reserved, buffers are aligned
// to their size, a 32-bit device stays below 4 GiB, and a mapping ends with its owner. The program
// checks its own result.
#include <lathwork/cxx/space.hpp>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr std::uint64_t page = 4096, four_gib = std::uint64_t{1} << 32;

void expect(bool holds, const char* what) {
    if (holds)
        return;
    std::fprintf(stderr, "dma_space: not so: %s\n", what);
    std::exit(1);
}

} // namespace

int main() {
    // address 0 means "none"
    lathwork::space space(
        {.low = page, .high = std::uint64_t{1} << 36, .unit = page, .owners = true});
    enum cookie : std::uint64_t { interrupts = 1, network, disk };

    expect(bool(space.reserve(lathwork::range::sized(0xfee00000, 0x100000), interrupts)),
           "the window is free at first");
    auto ring = space.hold({.size = 16 * page,
                            .align = 16 * page,
                            .high = four_gib,
                            .policy = lathwork::placement::last},
                           network);
    expect(ring && ring->last() < four_gib, "a 32-bit device gets an address below 4 GiB");
    std::uint64_t buffer_at = 0, largest = 0;
    {
        auto buffer = space.hold({.size = 2 << 20, .align = 2 << 20, .below = four_gib}, disk);
        expect(buffer && space.owner(buffer->key + 5000)->value == disk, "an address has an owner");
        buffer_at = buffer->key;
        std::printf("disk buffer at %#" PRIx64 "\n", buffer_at);
    }
    expect(!space.owner(buffer_at), "the buffer went with its owner");
    expect(bool(space.free(lathwork::range::sized(ring->key + 8 * page, 8 * page))),
           "half of the ring goes back");
    for (lathwork::range run : space.runs())
        std::printf("%#" PRIx64 " + %#" PRIx64 ": device %" PRIu64 "\n", run.key, run.size,
                    space.owner(run.key)->value);
    for (lathwork::range hole : space.free_runs())
        largest = std::max(largest, hole.size);
    std::printf("largest hole: %" PRIu64 " GiB\n", largest >> 30);
    return 0;
}
