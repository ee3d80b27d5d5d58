// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// From the addresses of btrfs to places on its devices.
//
// btrfs cuts its own address space into chunks, and each chunk lies in stripes on one or
// more devices. FIEMAP gives addresses of that space. The chunk tree says where a chunk lies; the
// kernel shows it to CAP_SYS_ADMIN in the initial user namespace.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lathcli {

// How a chunk is laid out: addresses go in runs of stripe_length bytes to `columns` stripes in
// turn, and each run has `copies` of them.
struct btrfs_chunk_layout {
    struct stripe {
        std::uint64_t device; // btrfs's number of it
        std::uint64_t physical;
        friend bool operator==(const stripe&, const stripe&) = default;
    };
    std::uint64_t length = 0, stripe_length = 0;
    unsigned columns = 1, copies = 1;
    bool rotates = false; // parity moves from row to row: raid5, raid6
    std::vector<stripe> stripes; // columns * copies, with parity more
    friend bool operator==(const btrfs_chunk_layout&, const btrfs_chunk_layout&) = default;
};

class btrfs_chunks {
public:
    // Bytes [from, from + length) of what was asked lie on a device.
    struct piece {
        std::uint64_t device, physical, from, length;
        unsigned copy; // from 1; 0: the only one
        friend bool operator==(const piece&, const piece&) = default;
    };

    // Reads the chunk tree of the mounted file system of which fd is a file or directory. Returns 0
    // or an errno: EPERM without the privilege, EINVAL for a chunk that this code does not know.
    int read(int fd);
    // A chunk item as it is in the tree. false: it makes no sense, or its profile is not known.
    bool add(std::uint64_t address, const unsigned char* item, std::size_t size);
    // Appends where the addresses lie, all copies. false: not all of them are in a chunk; then
    // nothing is appended.
    bool find(std::uint64_t address, std::uint64_t length, std::vector<piece>& out) const;
    // Whether each chunk is in the other too and lies there where it lies here.
    bool all_in(const btrfs_chunks& other) const;

private:
    std::map<std::uint64_t, btrfs_chunk_layout> chunks_; // by first address
};

struct btrfs_device {
    std::uint64_t id;
    std::string path; // "" where it is missing
};

// What btrfs says of itself to everyone.
struct btrfs_identity {
    std::array<unsigned char, 16> id{}; // equal in all subvolumes
    std::vector<btrfs_device> devices;
    // Bits of features that change where data lie, and that this code does not know.
    std::uint64_t unknown_features = 0;
};
// Returns 0 or an errno; fd is a file or directory of it.
int read_btrfs_identity(int fd, btrfs_identity& out);

} // namespace lathcli
