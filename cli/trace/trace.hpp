// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Block IO traces, read as a stream: one event at a time, whatever the format.
//
//   fio2, fio3   fio's iolog, version 2 (waits between requests, or no times) and 3 (microseconds)
//   blktrace     the kernel's binary records, either byte order
//   blkparse     their text form, default layout
//
// Memory is bounded by the longest line allowed, not by the file.
#pragma once

#include "trace/input.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathcli::trace {

enum class format { fio2, fio3, blktrace, blkparse };

// "fio2", ...
const char* name_of(format f);

struct event {
    std::uint64_t time_ns = 0; // since the first event; 0 without times
    std::uint64_t sector = 0; // of 512 bytes
    std::uint32_t sectors = 0;
    std::uint32_t device = 0; // disk, numbered as they appear; files of an iolog share one
    bool write = false;
    friend bool operator==(const event&, const event&) = default;
};

// Sectors stay below this, lengths at or below the other.
inline constexpr std::uint64_t sector_limit = std::uint64_t{1} << 44;
inline constexpr std::uint64_t length_limit = std::uint64_t{1} << 40; // bytes

struct reader_options {
    bool skip_bad = false;
    bool drop_doubles = false; // an event equal to the one before it but for its time
};

// Which records of a block trace are the requests.
enum class record_kind { queue, issue, complete };
const char* name_of(record_kind kind); // "queue (Q)"

// One format. next() gives events until it returns false; a bad line or record throws bad_input,
// after which next() may be called again and goes on behind it (not in binary traces, which have no
// lines).
//
// A block trace may have several records of a request: queued, issued, completed. The requests are
// the queue records. A trace without one of these among its first records has requests by its
// issue records, else by its completions; records() tells which.
class reader : public input_reader {
public:
    struct counters {
        std::uint64_t events = 0, bad = 0, doubles = 0, other = 0; // other: not IO, or not arrivals
    };
    // How many records of other kinds may come before the first queue record.
    static constexpr std::size_t most_held = 1u << 16;

    virtual ~reader() = default;
    bool next(event& e);
    format kind() const { return kind_; }
    const counters& counts() const { return counts_; }
    // Whether events have times. Version 2 of fio's iolog has them where it has waits: false may
    // become true.
    virtual bool has_times() const { return true; }
    // Of block traces, once the first event is given.
    std::optional<record_kind> records() const {
        return kind_ >= format::blktrace ? records_ : std::nullopt;
    }

protected:
    reader(format kind, input in, const reader_options& options);
    // What one line or record was. event: a request, of a block trace a queue record.
    enum class found { event, issued, completed, nothing, end };
    static const char* name_of(found kind); // the letter of its record
    // Sets time_ns as it is in the trace.
    virtual found step(event& e) = 0;
    // The next line of a text; false: there is none. One that is too long is a bad one.
    bool next_line(std::string_view& text) {
        bool there = in_.line(text);
        if (there && in_.too_long())
            complain("line too long");
        return there;
    }
    virtual bool resumes() const { return true; }
    std::uint32_t device_number(std::string_view name);
    // Checked: bytes to sectors, the start rounded down, the end up.
    void place(event& e, std::uint64_t offset, std::uint64_t bytes) const;
    void place_sectors(event& e, std::uint64_t sector, std::uint64_t sectors) const;
    // Another trace begins in the same input: its times go on where the last event was.
    void restart() { run_++; }

private:
    struct held {
        event e;
        found kind;
        std::uint64_t run;
    };
    bool take(event& e);
    held next_record();
    bool is_request(const held& h);
    bool choose_without_queue();
    bool chosen(const held& h);
    void deliver(event& e, std::uint64_t run);
    format kind_;
    reader_options options_;
    counters counts_;
    std::map<std::string, std::uint32_t, std::less<>> devices_;
    std::vector<std::optional<std::uint32_t>> shown_devices_; // numbers as events have them
    std::uint32_t devices_shown_ = 0;
    std::deque<held> held_; // until records_ is known, and then until they are given out
    std::optional<record_kind> records_;
    std::uint64_t run_ = 0, run_of_last_ = 0; // of which trace in the input
    std::uint64_t first_ns_ = 0, base_ns_ = 0, last_ns_ = 0;
    bool seen_first_ = false, dropped_ = false;
    event last_;
};

// Looks at this many bytes at the start of the input. Throws bad_input when it is none of the
// formats.
inline constexpr std::size_t detect_bytes = 4096;
format detect(input& in);
std::unique_ptr<reader> open(input in, const reader_options& options);
std::unique_ptr<reader> open_as(format kind, input in, const reader_options& options);

} // namespace lathcli::trace
