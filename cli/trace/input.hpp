// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What all readers of traces use, those of block traces and that of allocations: where the bytes
// come from, a window over them, and bad lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lathcli::trace {

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

// A reader's input, the messages that name a place in it, and the last of the bad lines that were
// skipped.
class input_reader {
public:
    const std::string& input_name() const { return in_.name(); }
    const std::string& last_error() const { return last_error_; }

protected:
    input_reader(input in, bool skip_bad);
    ~input_reader() = default;
    virtual std::string where() const; // "FILE:LINE: "
    [[noreturn]] void complain(const std::string& what) const;
    // Whether bad lines are skipped; keeps the message of this one if so.
    bool skips(const bad_input& bad);

    input in_;

private:
    bool skip_bad_;
    std::string last_error_;
};

} // namespace lathcli::trace
