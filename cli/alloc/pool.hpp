// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Pools of addresses: from a specification, and what a dump of extents leaves free of it.
#pragma once

#include <cstdint>
#include <istream>
#include <ostream>
#include <string>
#include <vector>

namespace lathcli::alloc {

// [first, last]; both belong to it, so that the end of the address space needs no special number.
struct span {
    std::uint64_t first = 0, last = 0;
    friend bool operator==(const span&, const span&) = default;
};

using pool = std::vector<span>; // disjoint, in order, never adjacent

// "A-B": from A up to, not including, B; "A-": up to 2^64. Throws usage_error naming the text.
span parse_span(const std::string& text);
// Puts spans in order. Throws usage_error that begins with `what` when two overlap.
pool make_pool(std::vector<span> spans, const std::string& what);
// What is left of each span when its edges go inward to multiples of unit (a power of two).
pool trim(const pool& of, std::uint64_t unit);
// of without taken, which may overlap and lie anywhere.
pool without(const pool& of, std::vector<span> taken);

// What the JSON of `lath extents --json` says is taken, in its order. Throws std::runtime_error
// naming it.
struct taken_extents {
    std::vector<span> spans;
    bool logical = false; // addresses are the file system's own, not offsets of a device
};
taken_extents read_extents(const std::string& path);
taken_extents read_extents(const std::string& name, std::istream& in);

// What a dump of BlueStore's allocator says is free, and in which unit the disk is allocated.
// `ceph daemon osd.N bluestore allocator dump block` prints one object; `ceph-bluestore-tool
// free-dump` prints, for each allocator of the disk, a line with its name and a colon, the object
// and a blank line. `allocator` is the one to read; "": the only one there is. Throws
// std::runtime_error naming the file and the extent, usage_error where the choice is missing or
// names none.
struct free_dump {
    pool free, taken; // taken: the rest of the disk
    std::uint64_t unit = 1; // a power of two
};
free_dump read_dump(const std::string& path, const std::string& allocator);
free_dump read_dump(const std::string& name, std::istream& in, const std::string& allocator);

// Writes spans, which may overlap, as runs in order that read_extents() reads.
void write_extents(std::ostream& out, std::vector<span> spans);

// Addresses in the pool. Saturates at 2^64 - 1.
std::uint64_t size_of(const pool& of);

} // namespace lathcli::alloc
