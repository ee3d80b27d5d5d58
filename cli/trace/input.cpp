// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "trace/input.hpp"

#include "base/input_file.hpp"
#include "base/stop_on_signal.hpp"

#include <algorithm>
#include <utility>

namespace lathcli::trace {

namespace {

class file_source : public byte_source {
public:
    explicit file_source(const std::string& path) : file_(path) {}
    std::size_t read(char* to, std::size_t n) override {
        std::size_t got = file_.read(to, n);
        if (!got && stop_asked)
            throw stopped(); // what was read so far may end in half a line
        return got;
    }

private:
    input_file file_;
};

class memory_source : public byte_source {
public:
    explicit memory_source(std::string_view bytes) : rest_(bytes) {}
    std::size_t read(char* to, std::size_t n) override {
        n = std::min(n, rest_.size());
        std::copy_n(rest_.data(), n, to);
        rest_.remove_prefix(n);
        return n;
    }

private:
    std::string_view rest_;
};

} // namespace

std::unique_ptr<byte_source> open_file(const std::string& path) {
    return std::make_unique<file_source>(path);
}

std::unique_ptr<byte_source> from_memory(std::string_view bytes) {
    return std::make_unique<memory_source>(bytes);
}

input::input(std::string name, std::unique_ptr<byte_source> source)
    : name_(std::move(name)), source_(std::move(source)),
      buffer_(std::make_unique_for_overwrite<char[]>(window)) {
    if (peek(byte_order_mark.size()) == byte_order_mark)
        skip(byte_order_mark.size());
}

// Move what is left to the front and read until there are n bytes or the input ends.
void input::fill(std::size_t n) {
    std::copy(buffer_.get() + from_, buffer_.get() + to_, buffer_.get());
    to_ -= from_;
    from_ = 0;
    while (!ended_ && to_ < n) {
        std::size_t got = source_->read(buffer_.get() + to_, window - to_);
        to_ += got;
        ended_ = got == 0;
    }
}

std::string_view input::peek(std::size_t n) {
    n = std::min(n, window);
    if (to_ - from_ < n && !ended_)
        fill(n);
    return {buffer_.get() + from_, std::min(n, to_ - from_)};
}

void input::skip(std::size_t n) {
    from_ += n;
    offset_ += n;
}

bool input::line(std::string_view& text) {
    auto all = peek(1);
    if (all.empty())
        return false;
    all = {buffer_.get() + from_, to_ - from_};
    auto end = all.find('\n');
    while (end == std::string_view::npos && !ended_ && all.size() < window) {
        std::size_t seen = all.size();
        fill(seen + 1);
        all = {buffer_.get() + from_, to_ - from_};
        end = all.find('\n', seen);
    }
    line_number_++;
    too_long_ = end == std::string_view::npos && all.size() == window;
    text = all.substr(0, end);
    skip(end == std::string_view::npos ? all.size() : end + 1);
    if (!text.empty() && text.back() == '\r')
        text.remove_suffix(1);
    has_nul_ = text.find('\0') != std::string_view::npos;
    // the rest of an overlong line belongs to it
    for (bool rest = too_long_; rest;) {
        auto more = peek(window);
        auto stop = more.find('\n');
        rest = stop == std::string_view::npos && !more.empty();
        // text stays what it was: report only its number
        skip(stop == std::string_view::npos ? more.size() : stop + 1);
    }
    if (too_long_)
        text = {};
    return true;
}

input_reader::input_reader(input in, bool skip_bad) : in_(std::move(in)), skip_bad_(skip_bad) {}

std::string input_reader::where() const {
    return in_.name() + ":" + std::to_string(in_.line_number()) + ": ";
}

void input_reader::complain(const std::string& what) const { throw bad_input(where() + what); }

bool input_reader::skips(const bad_input& bad) {
    if (skip_bad_)
        last_error_ = bad.what();
    return skip_bad_;
}

} // namespace lathcli::trace
