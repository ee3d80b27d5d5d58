// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Reading: errors name the file, and a signal (stop_on_signal.hpp) ends a read that waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

namespace lathcli {

// What editors and spreadsheets of Windows put in front of a text. All readers of texts pass over
// it.
inline constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

class input_file {
public:
    // "-" is standard input. Throws std::runtime_error "cannot read PATH: REASON", as read() does.
    explicit input_file(const std::string& path);
    ~input_file();
    input_file(const input_file&) = delete;
    input_file& operator=(const input_file&) = delete;

    // Up to n bytes; 0 at the end, and when a signal asked to stop.
    std::size_t read(char* to, std::size_t n);
    std::uint64_t size() const; // of a regular file; else 0

private:
    std::string path_;
    int descriptor_;
};

// Lines without their ends; the last one may have none.
class line_reader {
public:
    explicit line_reader(const std::string& path) : file_(path) {}
    bool next(std::string& line);
    std::uint64_t size() const { return file_.size(); }

private:
    bool take(std::string& line);

    input_file file_;
    std::string buffer_;
    std::size_t at_ = 0;
    bool begun_ = false;
};

// For parsers that want a stream. Throws as input_file does.
std::ifstream open_stream(const std::string& path);

} // namespace lathcli
