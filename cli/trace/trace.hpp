// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Block IO traces, read as a stream: one event at a time, whatever the format.
//
//   fio2, fio3   fio's iolog, version 2 (no times) and 3 (microseconds)
//   blktrace     the kernel's binary records, either byte order
//   blkparse     their text form, default layout
//   msr          MSR-Cambridge CSV: times of 100 ns, offsets and sizes in bytes
//   spc          SPC: ASU, LBA, bytes, opcode, seconds
//
// Memory is bounded by the longest line allowed, not by the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lathcli::trace {

enum class format { fio2, fio3, blktrace, blkparse, msr, spc };

// "fio2", ...
const char* name_of(format f);

struct event {
    std::uint64_t time_ns = 0; // since the first event; 0 without times
    std::uint64_t sector = 0; // of 512 bytes
    std::uint32_t sectors = 0;
    std::uint32_t device = 0; // disk or ASU, numbered as they appear; files of an iolog share one
    bool write = false;
    friend bool operator==(const event&, const event&) = default;
};

// Sectors stay below this, lengths at or below the other.
inline constexpr std::uint64_t sector_limit = std::uint64_t{1} << 44;
inline constexpr std::uint64_t length_limit = std::uint64_t{1} << 31; // bytes

// "FILE:LINE: what is wrong", or "FILE: byte N: ..." in binary traces.
class bad_input : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Where the bytes come from.
class byte_source {
public:
    virtual ~byte_source() = default;
    // up to n bytes; 0 at the end; throws std::runtime_error that names the input, stopped after a
    // signal
    virtual std::size_t read(char* to, std::size_t n) = 0;
};

std::unique_ptr<byte_source> open_file(const std::string& path); // "-" is standard input
std::unique_ptr<byte_source> from_memory(std::string_view bytes);

// A window over a source: peek at the start, take lines or blocks.
class input {
public:
    static constexpr std::size_t window = 1u << 16;

    input(std::string name, std::unique_ptr<byte_source> source);
    const std::string& name() const { return name_; }
    // Up to n bytes from here, not taken; fewer only at the end.
    std::string_view peek(std::size_t n);
    void skip(std::size_t n); // at most what peek() showed
    // The next line without its end; false at the end of the input. Sets too_long() and gives the
    // start of a line that does not fit in the window.
    bool line(std::string_view& text);
    bool too_long() const { return too_long_; }
    std::uint64_t line_number() const { return line_number_; }
    std::uint64_t offset() const { return offset_; }
    bool has_nul() const { return has_nul_; } // in the last line

private:
    void fill(std::size_t n);
    std::string name_;
    std::unique_ptr<byte_source> source_;
    std::unique_ptr<char[]> buffer_;
    std::size_t from_ = 0, to_ = 0;
    std::uint64_t line_number_ = 0, offset_ = 0;
    bool ended_ = false, too_long_ = false, has_nul_ = false;
};

struct reader_options {
    bool skip_bad = false;
    bool drop_doubles = false; // an event equal to the one before it but for its time
};

// One format. next() gives events until it returns false; a bad line or record throws bad_input,
// after which next() may be called again and goes on behind it (not in binary traces, which have no
// lines).
class reader {
public:
    struct counters {
        std::uint64_t events = 0, bad = 0, doubles = 0, other = 0; // other: not IO, or not arrivals
    };

    virtual ~reader() = default;
    bool next(event& e);
    format kind() const { return kind_; }
    const counters& counts() const { return counts_; }
    const std::string& last_error() const { return last_error_; }
    bool has_times() const { return kind_ != format::fio2; }

protected:
    reader(format kind, input in, const reader_options& options);
    // What one line or record was.
    enum class found { event, nothing, end };
    virtual found step(event& e) = 0;
    virtual bool resumes() const { return true; }
    [[noreturn]] void complain(const std::string& what) const;
    std::uint32_t device_number(std::string_view name);
    // Checked: bytes to sectors, the start rounded down, the end up.
    void place(event& e, std::uint64_t offset, std::uint64_t bytes) const;
    // Nanoseconds since the first event; earlier ones count as that.
    std::uint64_t since_first(std::uint64_t ns);

    input in_;

private:
    bool take(event& e);
    format kind_;
    reader_options options_;
    counters counts_;
    std::string last_error_;
    std::map<std::string, std::uint32_t, std::less<>> devices_;
    std::uint64_t first_ns_ = 0;
    bool seen_first_ = false, dropped_ = false;
    event last_;
};

// Looks at the start of the input. Throws bad_input when it is none of the formats.
format detect(input& in);
std::unique_ptr<reader> open(input in, const reader_options& options);
std::unique_ptr<reader> open_as(format kind, input in, const reader_options& options);

} // namespace lathcli::trace
