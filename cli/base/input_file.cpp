// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "base/input_file.hpp"

#include "base/stop_on_signal.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lathcli {

namespace {

[[noreturn]] void cannot_read(const std::string& path, int error) {
    std::string name = path == "-" ? "standard input" : path;
    throw std::runtime_error("cannot read " + name + ": " + std::strerror(error));
}

} // namespace

input_file::input_file(const std::string& path)
    : path_(path), descriptor_(path == "-" ? STDIN_FILENO
                                           : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)) {
    if (descriptor_ < 0 && !(errno == EINTR && stop_asked))
        cannot_read(path_, errno);
}

input_file::~input_file() {
    if (descriptor_ > STDIN_FILENO)
        close(descriptor_);
}

std::size_t input_file::read(char* to, std::size_t n) {
    pollfd both[] = {{descriptor_, POLLIN, 0}, {stop_descriptor(), POLLIN, 0}};
    // a program that feeds us line by line waits for the answers to its last lines
    if (descriptor_ == STDIN_FILENO && poll(both, 2, 0) == 0)
        std::fflush(stdout);
    while (!stop_asked) {
        if (poll(both, 2, -1) < 0 && errno != EINTR)
            cannot_read(path_, errno);
        if (stop_asked || !both[0].revents)
            continue;
        ssize_t got = ::read(descriptor_, to, n);
        if (got >= 0)
            return static_cast<std::size_t>(got);
        if (errno != EINTR && errno != EAGAIN)
            cannot_read(path_, errno);
    }
    return 0;
}

std::uint64_t input_file::size() const {
    struct stat st{};
    return fstat(descriptor_, &st) == 0 && S_ISREG(st.st_mode)
               ? static_cast<std::uint64_t>(st.st_size)
               : 0;
}

bool line_reader::next(std::string& line) {
    bool there = take(line);
    if (!std::exchange(begun_, true) && there && line.starts_with(byte_order_mark))
        line.erase(0, byte_order_mark.size());
    return there;
}

bool line_reader::take(std::string& line) {
    for (std::size_t seen = at_;;) {
        if (auto end = buffer_.find('\n', seen); end != std::string::npos) {
            line.assign(buffer_, at_, end - at_);
            at_ = end + 1;
            return true;
        }
        buffer_.erase(0, at_);
        at_ = 0;
        seen = buffer_.size();
        constexpr std::size_t piece = 1u << 16;
        buffer_.resize(seen + piece);
        std::size_t got = file_.read(buffer_.data() + seen, piece);
        buffer_.resize(seen + got);
        if (got)
            continue;
        line = std::move(buffer_);
        buffer_.clear();
        return !line.empty() && !stop_asked; // half a line is not obeyed
    }
}

std::ifstream open_stream(const std::string& path) {
    errno = 0;
    std::ifstream in(path, std::ios::binary);
    if (in)
        in.peek(); // a directory can be opened, and not read
    if (!in.is_open() || in.bad())
        cannot_read(path, errno);
    std::string start(byte_order_mark.size(), '\0');
    in.read(start.data(), static_cast<std::streamsize>(start.size()));
    auto n = in.gcount();
    in.clear();
    for (; start != byte_order_mark && n > 0; n--)
        in.unget();
    return in;
}

} // namespace lathcli
