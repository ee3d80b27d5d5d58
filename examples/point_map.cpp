// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The time index of a log on lathwork::point_map: at which byte does the entry of a given time
// begin? A writer adds an entry per block of the log, readers look up times concurrently, and old
// entries go when their blocks are deleted. The program checks its own result.
#include <lathwork/cxx/point_map.hpp>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t block = 4096, blocks = 1000, seconds = 10; // one block each ten seconds

void expect(bool right, const char* what) {
    if (!right) {
        std::fprintf(stderr, "point_map: unexpected: %s\n", what);
        std::exit(1);
    }
}

} // namespace

int main() {
    lathwork::point_map<std::uint64_t, std::uint64_t> offset_at; // by time
    expect(!offset_at.error(), "no memory");

    std::thread reader([&] {
        // The block of a time is the last one that begins at or before it.
        for (std::uint64_t time = 0; time < blocks * seconds; time++)
            if (auto entry = offset_at.floor(time))
                expect(entry->second == entry->first / seconds * block,
                       "offset seen by the reader");
    });
    for (std::uint64_t i = 0; i < blocks; i++)
        expect(offset_at.insert_or_assign(i * seconds, i * block).second, "insert");
    reader.join();

    auto entry = offset_at.floor(1234);
    expect(entry && entry->first == 1230, "the block of second 1234");
    std::printf("second 1234 is in the block at byte %llu\n",
                static_cast<unsigned long long>(entry->second));

    std::uint64_t bytes = 0; // from second 5000 on
    for (auto it = offset_at.lower_bound(5000); it != offset_at.end(); ++it)
        bytes += block;
    expect(bytes == 500 * block, "bytes since second 5000");

    // Delete what is older than an hour before the end, then look up many times at once.
    std::uint64_t gone = offset_at.erase_range(0, blocks * seconds - 3600);
    std::vector<std::uint64_t> times = {10, 6390, 6400, 9990};
    std::vector<std::optional<std::uint64_t>> found(times.size());
    expect(offset_at.find_batch(times, found) == 2, "number of blocks found");
    expect(!found[0] && !found[1] && found[2] == 640 * block && found[3] == 999 * block, "offsets");
    std::printf("%llu blocks deleted, %llu left\n", static_cast<unsigned long long>(gone),
                static_cast<unsigned long long>(offset_at.size()));
    return 0;
}
