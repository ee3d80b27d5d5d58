// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// O_TMPFILE makes a file that vanishes with its descriptor: nothing is left behind by a kill. Where
// a file system has none, the file has its own name from the start, made with O_EXCL.
#include "base/output.hpp"

#include "base/usage.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <streambuf>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lathcli {

namespace {

std::string name_of(const std::string& path) { return path == "-" ? "standard output" : path; }

std::string directory_of(const std::string& path) {
    auto slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// Where the links lead; the last file need not be there. "": too many links, errno is set.
std::string target_of(std::string path) {
    std::array<char, 4096> text{};
    for (int links = 0; links < 40; ++links) {
        ssize_t n = readlink(path.c_str(), text.data(), text.size());
        if (n < 0)
            return path; // no link, or nothing
        std::string to(text.data(), static_cast<std::size_t>(n));
        path = to.starts_with('/') ? to : directory_of(path).append("/").append(to);
    }
    errno = ELOOP;
    return "";
}

bool same_inode(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool is_standard(const std::string& path, const struct stat& st) {
    struct stat out{};
    return path == "/dev/stdout" || (fstat(STDOUT_FILENO, &out) == 0 && same_inode(st, out));
}

bool stat_of(const std::string& path, int standard, struct stat& st) {
    return path == "-" ? fstat(standard, &st) == 0 : stat(path.c_str(), &st) == 0;
}

// What is at the end of the links may be replaced: sets st (st_nlink 0: nothing is there). 0 or
// errno.
int look_at(const std::string& path, std::string& target, struct stat& st) {
    target = target_of(path);
    if (target.empty())
        return errno;
    if (stat(target.c_str(), &st) != 0) {
        st = {};
        if (errno != ENOENT)
            return errno;
        return target.ends_with('/') ? EISDIR : 0;
    }
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    return access(target.c_str(), W_OK) == 0 ? 0 : errno;
}

} // namespace

output_error::output_error(const std::string& path, int error)
    : output_error(path, std::strerror(error)) {
    broken_pipe = path == "-" && error == EPIPE;
}

output_error::output_error(const std::string& path, const std::string& reason)
    : std::runtime_error("cannot write " + name_of(path) + ": " + reason) {}

void check_standard_output() {
    static int why = 0; // of the first failure
    // std::cout buffers nothing itself. What a write said last may stand in errno still.
    int before = std::ferror(stdout) ? errno : 0;
    if (std::fflush(stdout) != 0 && !why)
        why = errno;
    if (before && !why)
        why = before == ENOSPC || before == EPIPE || before == EBADF || before == EDQUOT ? before
                                                                                         : EIO;
    if (why)
        throw output_error("-", why);
}

void prepare_standard_files() {
    for (int d : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (fcntl(d, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null",
                        d == STDIN_FILENO ? O_WRONLY : O_RDONLY); // the lowest free number: d
    // most answers go out in one piece, and why they do not is known then
    static std::array<char, 1u << 20> buffer;
    if (!isatty(STDOUT_FILENO))
        std::setvbuf(stdout, buffer.data(), _IOFBF, buffer.size());
}

bool same_file(const std::string& one, const std::string& other) {
    struct stat a{}, b{};
    bool here = stat_of(one, STDIN_FILENO, a), there = stat_of(other, STDOUT_FILENO, b);
    if (here || there)
        return here && there && same_inode(a, b);
    std::string x = target_of(one), y = target_of(other);
    auto name = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
    return name(x) == name(y) && stat(directory_of(x).c_str(), &a) == 0 &&
           stat(directory_of(y).c_str(), &b) == 0 && same_inode(a, b);
}

void check_replaceable(const std::string& path) {
    std::string target;
    struct stat st{};
    int error = look_at(path, target, st);
    if (!error && access(directory_of(target).c_str(), W_OK | X_OK) != 0)
        error = errno;
    if (error)
        throw output_error(path, error);
}

void check_distinct(const std::vector<std::pair<std::string, std::string>>& outputs) {
    for (auto a = outputs.begin(); a != outputs.end(); ++a)
        for (auto b = a + 1; b != outputs.end(); ++b) {
            struct stat st{};
            if (a->second.empty() || b->second.empty())
                continue;
            bool special = a->second != "-" && stat(a->second.c_str(), &st) == 0 &&
                           !S_ISREG(st.st_mode) && !is_standard(a->second, st);
            bool both = a->second == b->second ||
                        (a->second != "-" && b->second != "-" && same_file(a->second, b->second));
            if (both && !special)
                throw usage_error(a->first + " and " + b->first + " both write to " +
                                  name_of(a->second));
        }
}

class output::file : private std::streambuf {
public:
    explicit file(const std::string& path) : stream_(this) {
        struct stat st{};
        setp(buffer_.data(), buffer_.data() + buffer_.size());
        bool there = stat(path.c_str(), &st) == 0;
        if (there && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
            open_through(path);
        else if (int number = inherited(path); number >= 0)
            descriptor_ = fcntl(number, F_DUPFD_CLOEXEC, 3);
        else
            open_beside(path);
        if (descriptor_ < 0)
            throw output_error(path, errno);
    }
    ~file() override {
        if (descriptor_ >= 0)
            close(descriptor_);
        if (!temporary_.empty())
            unlink(temporary_.c_str());
    }
    file(const file&) = delete;
    file& operator=(const file&) = delete;

    std::ostream& stream() { return stream_; }

    // 0 or errno.
    int commit() {
        sync();
        if (error_ || target_.empty())
            return error_;
        take_over();
        if (fsync(descriptor_) != 0 || (temporary_.empty() && !give_name()) ||
            rename(temporary_.c_str(), target_.c_str()) != 0)
            return errno;
        temporary_.clear();
        return 0;
    }

private:
    // /dev/fd/N is a file the caller has opened.
    static int inherited(const std::string& path) {
        if (path == "/dev/stderr")
            return STDERR_FILENO;
        for (std::string_view begin : {"/dev/fd/", "/proc/self/fd/"})
            if (path.starts_with(begin))
                return std::atoi(path.c_str() + begin.size());
        return -1;
    }

    void open_through(const std::string& path) {
        descriptor_ = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    }

    void open_beside(const std::string& path) {
        if (int error = look_at(path, target_, was_)) {
            errno = error;
            return;
        }
        directory_ = directory_of(target_);
        if (access("/proc/self/fd", X_OK) == 0)
            descriptor_ = open(directory_.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
        if (descriptor_ >= 0)
            return;
        with_name([&](const char* name) {
            descriptor_ = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
            return descriptor_ >= 0;
        });
    }

    // Tries names beside the target until one is free. Sets temporary_, or errno.
    template <class Make>
    bool with_name(Make make) {
        for (unsigned n = 0;; ++n) {
            std::string name = directory_ + "/.lath-" + std::to_string(getpid()) + "-" +
                               std::to_string(n) + ".part";
            if (make(name.c_str())) {
                temporary_ = name;
                return true;
            }
            if (errno != EEXIST)
                return false;
        }
    }

    bool give_name() {
        std::string self = "/proc/self/fd/" + std::to_string(descriptor_);
        return with_name([&](const char* name) {
            return linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
        });
    }

    // Owner and mode of the file that is replaced, as far as we may.
    void take_over() {
        struct stat mine{};
        if (!was_.st_nlink || fstat(descriptor_, &mine) != 0)
            return;
        if (mine.st_uid != was_.st_uid || mine.st_gid != was_.st_gid)
            (void)!fchown(descriptor_, was_.st_uid, was_.st_gid);
        (void)!fchmod(descriptor_, was_.st_mode & 07777);
    }

    int sync() override {
        for (char* at = pbase(); at < pptr() && !error_;) {
            ssize_t n = write(descriptor_, at, static_cast<std::size_t>(pptr() - at));
            if (n >= 0)
                at += n;
            else if (errno != EINTR)
                error_ = errno;
        }
        setp(buffer_.data(), buffer_.data() + buffer_.size());
        return error_ ? -1 : 0;
    }
    int_type overflow(int_type c) override {
        if (sync() != 0)
            return traits_type::eof();
        if (c != traits_type::eof())
            sputc(traits_type::to_char_type(c));
        return traits_type::not_eof(c);
    }

    std::array<char, 1u << 16> buffer_{};
    int descriptor_ = -1, error_ = 0;
    std::string target_, directory_; // "": written through
    std::string temporary_; // its name until it gets its place
    struct stat was_{};
    std::ostream stream_;
};

output::output(const std::string& path, const std::vector<std::string>& inputs) : path_(path) {
    for (const auto& input : inputs) {
        struct stat st{};
        bool there = stat_of(input, STDIN_FILENO, st);
        if (input.empty() || (there && !S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode)))
            continue;
        if (same_file(input, path))
            throw output_error(path, "it is the same file as the input" +
                                         (input == path ? "" : " " + input));
    }
    struct stat st{};
    if (path == "-" || (stat(path.c_str(), &st) == 0 && is_standard(path, st)))
        path_ = "-";
    else
        file_ = std::make_unique<file>(path);
}

output::~output() = default;
output::output(output&&) noexcept = default;
output& output::operator=(output&&) noexcept = default;

bool output::standard() const { return !file_; }

std::ostream& output::stream() { return file_ ? file_->stream() : std::cout; }

void output::commit() {
    if (!file_)
        return check_standard_output();
    if (int error = file_->commit())
        throw output_error(path_, error);
}

} // namespace lathcli
