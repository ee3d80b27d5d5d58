// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What `lath extents` answers, as text and as JSON.
#pragma once

#include "extents/scan.hpp"

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace lathcli {

// A place as the user wrote it: a number of bytes or of blocks of the device.
struct place {
    std::string text;
    std::uint64_t number = 0;
    bool blocks = false;
    std::uint64_t bytes(std::uint64_t block_size) const;
};

// A number as base/numbers.hpp reads it; "123b" is block 123. Throws usage_error that names the
// text.
place parse_place(const std::string& text);
// "A-B": from A up to but not including B.
std::pair<place, place> parse_span(const std::string& text);

struct report_options {
    std::vector<place> at;
    std::vector<std::pair<place, place>> overlap;
    std::size_t gaps = 10;
    std::size_t top = 10; // files in the fragmentation table, segments in the shared table
    bool colour = false;
};

// Fragments: runs of extents that lie one after the other on the device.
struct fragmentation {
    std::uint32_t file;
    std::uint64_t extents;
    std::uint64_t fragments;
    std::uint64_t bytes;
};

// All that is derived from a scan, so that text and JSON say the same.
struct answers {
    struct query {
        std::string text; // as asked
        std::vector<segment> found;
    };
    std::vector<query> at, overlap;
    std::vector<gap> gaps;
    std::vector<fragmentation> worst; // most fragments first
    std::vector<segment> shared; // longest first
    std::uint64_t files = 0, extents = 0, fragments = 0, in_one_piece = 0;
    std::uint64_t bytes = 0; // sum over files
    std::uint64_t device_bytes = 0; // bytes of the devices that are owned, all copies
    std::uint64_t shared_segments = 0, shared_bytes = 0;

    // Whether each query found something.
    bool complete() const;
};

answers answer(const scan_result& scan, const report_options& options);
void print_text(std::ostream& out, const scan_result& scan, const answers& a,
                const report_options& options);
// One object: context, extents (sorted by device and offset), summary, and the answers.
void print_json(std::ostream& out, const scan_result& scan, const scan_options& how,
                const answers& a);

} // namespace lathcli
