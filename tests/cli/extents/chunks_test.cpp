// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// From addresses of btrfs to devices: each profile by hand, and any range as the sum of its bytes.
#include "extents/btrfs.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

using lathcli::btrfs_chunks;

namespace {

constexpr std::uint64_t run = 65536;
constexpr std::uint64_t data = 1, raid0 = 1 << 3, raid1 = 1 << 4, duplicated = 1 << 5,
                        raid10 = 1 << 6, raid5 = 1 << 7, raid6 = 1 << 8, raid1c3 = 1 << 9,
                        raid1c4 = 1 << 10;

// A chunk item with stripes on devices 1, 2, ... at n MiB.
struct item {
    std::uint64_t length = 16 * run, stripe_length = run, type = data;
    std::uint16_t stripes = 1, sub_stripes = 1;

    std::vector<unsigned char> bytes() const {
        std::vector<unsigned char> b;
        auto put = [&](std::uint64_t value, int n) {
            for (int i = 0; i < n; i++)
                b.push_back(static_cast<unsigned char>(value >> 8 * i));
        };
        put(length, 8);
        put(2, 8); // owner
        put(stripe_length, 8);
        put(type, 8);
        put(4096, 4);
        put(4096, 4);
        put(4096, 4);
        put(stripes, 2);
        put(sub_stripes, 2);
        for (std::uint64_t i = 1; i <= stripes; i++) {
            put(i, 8);
            put(i << 20, 8);
            put(0, 8);
            put(0, 8);
        }
        return b;
    }
};

bool put(btrfs_chunks& to, std::uint64_t address, const item& i) {
    auto b = i.bytes();
    return to.add(address, b.data(), b.size());
}

item of(std::uint64_t profile, std::uint16_t stripes, std::uint16_t sub_stripes = 1) {
    item i;
    i.type |= profile;
    i.stripes = stripes;
    i.sub_stripes = sub_stripes;
    return i;
}

// "DEVICE@OFFSET of its stripe" of a byte of the chunk, all copies.
std::string at(const item& i, std::uint64_t offset) {
    btrfs_chunks chunks;
    REQUIRE(put(chunks, 1 << 30, i));
    std::vector<btrfs_chunks::piece> found;
    REQUIRE(chunks.find((1 << 30) + offset, 1, found));
    std::string text;
    for (const auto& p : found)
        text += std::to_string(p.device) + "@" + std::to_string(p.physical - (p.device << 20)) +
                (p.copy ? "c" + std::to_string(p.copy) : "") + " ";
    return text;
}

} // namespace

TEST_CASE("where a byte lies, by profile") {
    CHECK(at(of(0, 1), 5 * run + 7) == "1@327687 ");
    CHECK(at(of(duplicated, 2), 5 * run + 7) == "1@327687c1 2@327687c2 ");
    CHECK(at(of(raid1, 2), run) == "1@65536c1 2@65536c2 ");
    CHECK(at(of(raid1c3, 3), 1) == "1@1c1 2@1c2 3@1c3 ");
    CHECK(at(of(raid1c4, 4), 1) == "1@1c1 2@1c2 3@1c3 4@1c4 ");
    CHECK(at(of(raid0, 3), 0) == "1@0 ");
    CHECK(at(of(raid0, 3), run + 9) == "2@9 ");
    CHECK(at(of(raid0, 3), 4 * run + 9) == "2@65545 ");
    CHECK(at(of(raid0, 1), 4 * run + 9) == "1@262153 ");
    CHECK(at(of(raid10, 4, 2), run + 9) == "3@9c1 4@9c2 ");
    CHECK(at(of(raid10, 4, 2), 2 * run + 9) == "1@65545c1 2@65545c2 ");
    // parity moves: data of row r begin on stripe r
    CHECK(at(of(raid5, 3), 0) == "1@0 ");
    CHECK(at(of(raid5, 3), run) == "2@0 ");
    CHECK(at(of(raid5, 3), 2 * run) == "2@65536 ");
    CHECK(at(of(raid5, 3), 3 * run) == "3@65536 ");
    CHECK(at(of(raid5, 3), 4 * run + 1) == "3@131073 ");
    CHECK(at(of(raid5, 3), 5 * run + 1) == "1@131073 ");
    CHECK(at(of(raid5, 2), run) == "2@65536 ");
    CHECK(at(of(raid6, 4), 3 * run) == "3@65536 ");
    CHECK(at(of(raid6, 3), 2 * run) == "3@131072 ");
}

TEST_CASE("a range is the sum of its bytes") {
    const item profiles[] = {of(0, 1),     of(duplicated, 2), of(raid1, 2), of(raid1c3, 3),
                             of(raid0, 3), of(raid10, 4, 2),  of(raid5, 3), of(raid5, 2),
                             of(raid6, 5), of(raid10, 6, 3),  of(raid0, 1)};
    std::mt19937 random(7);
    for (const auto& profile : profiles) {
        btrfs_chunks chunks;
        REQUIRE(put(chunks, 0, profile)); // two chunks, one behind the other
        REQUIRE(put(chunks, profile.length, profile));
        for (int n = 0; n < 60; n++) {
            std::uint64_t from = random() % (2 * profile.length);
            std::uint64_t length = 1 + random() % (2 * profile.length - from);
            std::vector<btrfs_chunks::piece> whole, byte;
            REQUIRE(chunks.find(from, length, whole));
            std::uint64_t sum = 0;
            for (const auto& p : whole) {
                sum += p.length;
                for (std::uint64_t off : {std::uint64_t{0}, p.length / 2, p.length - 1}) {
                    byte.clear();
                    REQUIRE(chunks.find(from + p.from + off, 1, byte));
                    btrfs_chunks::piece wanted{p.device, p.physical + off, 0, 1, p.copy};
                    bool there = false;
                    for (const auto& b : byte)
                        there = there || b == wanted;
                    CHECK(there);
                }
            }
            CHECK(sum == length * byte.size());
        }
        std::vector<btrfs_chunks::piece> kept(1);
        CHECK(!chunks.find(2 * profile.length - 1, 2, kept)); // beyond the last chunk
        CHECK(kept.size() == 1);
    }
}

TEST_CASE("chunks that make no sense are refused") {
    btrfs_chunks chunks;
    std::vector<btrfs_chunks::piece> found;
    CHECK(!chunks.find(0, 1, found));
    CHECK(!put(chunks, 0, of(0, 2))); // single with two stripes
    CHECK(!put(chunks, 0, of(0, 0)));
    CHECK(!put(chunks, 0, of(raid10, 4, 0)));
    CHECK(!put(chunks, 0, of(raid10, 5, 2)));
    CHECK(!put(chunks, 0, of(raid5, 1)));
    CHECK(!put(chunks, 0, of(raid6, 2)));
    CHECK(!put(chunks, 0, of(raid0 | raid1, 2)));
    CHECK(!put(chunks, 0, of(1 << 11, 1))); // a profile of a later time
    CHECK(!put(chunks, std::uint64_t{1} << 61, of(0, 1)));
    for (auto change : {&item::length, &item::stripe_length})
        for (std::uint64_t value : {std::uint64_t{0}, UINT64_MAX}) {
            item i;
            i.*change = value;
            CHECK(!put(chunks, 0, i));
        }
    auto cut = of(raid0, 3).bytes();
    for (std::size_t size : {cut.size() - 1, cut.size() - 32, std::size_t{47}, std::size_t{0}})
        CHECK(!chunks.add(0, cut.data(), size));
    CHECK(!chunks.find(0, 1, found));
}

TEST_CASE("whether chunks were moved") {
    btrfs_chunks before, same, more, moved;
    for (auto* each : {&before, &same, &more})
        REQUIRE(put(*each, 0, of(duplicated, 2)));
    REQUIRE(put(more, 1 << 20, of(0, 1)));
    REQUIRE(put(moved, 0, of(raid1, 3)));
    CHECK(before.all_in(same));
    CHECK(before.all_in(more)); // a new one is none moved
    CHECK(!more.all_in(before));
    CHECK(!before.all_in(moved));
}
