// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// One thread walks (names and inodes are cheap), then all threads read extents and index them.
#include "extents/scan.hpp"

#include "base/status_line.hpp"
#include "base/stop_on_signal.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <tuple>

#include <fcntl.h>
#include <fts.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace lathcli {

namespace {

constexpr unsigned max_devices = 256; // a key has 8 bits for them

// The file system and its source as /proc/self/mountinfo tells them.
std::pair<std::string, std::string> mount_of(dev_t id) {
    std::ifstream mounts("/proc/self/mountinfo");
    std::string wanted = std::to_string(major(id)) + ":" + std::to_string(minor(id));
    for (std::string line; std::getline(mounts, line);) {
        std::istringstream words(line);
        std::string number, parent, numbers, word, type, source;
        words >> number >> parent >> numbers;
        if (numbers != wanted)
            continue;
        while (words >> word && word != "-") {
        }
        words >> type >> source;
        return {type, source};
    }
    return {"unknown file system", ""};
}

// A link without an end that can be read.
std::string why_no_target(const char* path) {
    struct stat st{};
    return "a symbolic link: " +
           (stat(path, &st) ? std::generic_category().message(errno) : "changed meanwhile");
}

class scanner {
public:
    scanner(const scan_options& options, scan_result& result) : opt_(options), out_(result) {}
    void walk();
    void read();

private:
    struct share {
        std::vector<extent_map::pending> later;
        std::map<std::string, std::uint64_t> skipped;
        extent_skips skips;
        std::uint64_t errors = 0;
        int fatal = 0;
    };
    void visit(FTSENT* entry);
    void failed(const char* path, const std::string& why);
    int device_of(const std::string& path, const struct stat& st);
    void enter(const char* path, const struct stat& st);
    void work(share& mine);
    void read_one(std::uint32_t number, share& mine);
    void file_failed(const file_record& file, int error, share& mine);
    void progress(const char* what, std::uint64_t done, std::uint64_t of);
    void complain(const std::string& path, const std::string& why);

    const scan_options& opt_;
    scan_result& out_;
    std::map<dev_t, int> device_numbers_; // -1: not looked at
    std::map<std::pair<dev_t, ino_t>, std::uint32_t> inodes_;
    std::set<unsigned> no_fiemap_; // devices already complained about
    std::mutex say_;
    std::atomic<std::uint32_t> next_ = 0;
    std::atomic<bool> failed_ = false;
    status_line line_;
};

void scanner::progress(const char* what, std::uint64_t done, std::uint64_t of) {
    std::scoped_lock lock(say_);
    if (line_.due())
        line_.show(std::string(what) + ": " + std::to_string(done) +
                   (of ? " of " + std::to_string(of) : "") + " files");
}

void scanner::complain(const std::string& path, const std::string& why) {
    message("lath extents: cannot read " + printable(path) + ": " + why);
}

// The number of the device, or -1 if it is not to be looked at.
int scanner::device_of(const std::string& path, const struct stat& st) {
    auto known = device_numbers_.find(st.st_dev);
    if (known != device_numbers_.end())
        return known->second;
    int number = -1;
    if (out_.devices.empty() || opt_.all_devices) {
        if (out_.devices.size() == max_devices)
            throw std::runtime_error(path + ": more than 256 devices");
        auto [type, source] = mount_of(st.st_dev);
        struct statvfs vfs{};
        auto block = static_cast<std::uint64_t>(st.st_blksize);
        if (statvfs(path.c_str(), &vfs) == 0 && vfs.f_bsize)
            block = vfs.f_bsize;
        number = static_cast<int>(out_.devices.size());
        out_.devices.push_back({st.st_dev, type, source, block});
    }
    device_numbers_[st.st_dev] = number;
    return number;
}

// A regular file: a new one, or one more name of a known one.
void scanner::enter(const char* path, const struct stat& st) {
    int number = device_of(path, st);
    if (number < 0) {
        out_.skipped_files["on another device"]++;
        return;
    }
    if (st.st_size == 0 && st.st_blocks == 0) {
        out_.skipped_files["empty"]++;
        return;
    }
    auto [it, is_new] =
        inodes_.try_emplace({st.st_dev, st.st_ino}, static_cast<std::uint32_t>(out_.files.size()));
    if (is_new) {
        if (out_.files.size() == INT32_MAX)
            throw std::runtime_error(std::string(path) + ": more than 2^31 files");
        out_.files.push_back(
            {path, {}, static_cast<unsigned>(number), static_cast<std::uint64_t>(st.st_size), {}});
        return;
    }
    file_record& file = out_.files[it->second];
    if (file.path != path && std::ranges::find(file.links, path) == file.links.end())
        file.links.emplace_back(path);
}

// What the walk should have seen and could not.
void scanner::failed(const char* path, const std::string& why) {
    complain(path, why);
    out_.skipped_files[why]++;
    out_.errors++;
}

void scanner::visit(FTSENT* entry) {
    bool named = entry->fts_level == FTS_ROOTLEVEL;
    switch (entry->fts_info) {
    case FTS_F:
        enter(entry->fts_path, *entry->fts_statp);
        if (out_.files.size() % 1024 == 1)
            progress("looking", out_.files.size(), 0);
        break;
    case FTS_SL:
    case FTS_SLNONE:
        if (named)
            failed(entry->fts_path, why_no_target(entry->fts_path));
        else
            out_.skipped_files["symbolic link"]++;
        break;
    case FTS_DEFAULT:
        if (named)
            failed(entry->fts_path, "neither a regular file nor a directory");
        else
            out_.skipped_files["not a regular file"]++;
        break;
    case FTS_NS:
    case FTS_ERR:
    case FTS_DNR:
        failed(entry->fts_path, std::generic_category().message(entry->fts_errno));
        break;
    default: // directories, before and after
        break;
    }
}

// Links among the paths themselves are followed, those met inside are not.
void scanner::walk() {
    // The device of the first path is the one to look at.
    struct stat first{};
    if (stat(opt_.paths.front().c_str(), &first) == 0)
        device_of(opt_.paths.front(), first);
    std::vector<std::string> paths = opt_.paths;
    std::vector<char*> argv;
    for (auto& path : paths) {
        while (path.size() > 1 && path.back() == '/')
            path.pop_back();
        argv.push_back(path.data());
    }
    argv.push_back(nullptr);
    std::unique_ptr<FTS, int (*)(FTS*)> walker(
        fts_open(argv.data(), FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, nullptr), fts_close);
    if (!walker)
        throw std::system_error(errno, std::generic_category(), opt_.paths.front());
    while (FTSENT* entry = fts_read(walker.get())) {
        if (stop_asked)
            break;
        bool regular = entry->fts_info == FTS_D || entry->fts_info == FTS_F;
        if (regular && entry->fts_level == FTS_ROOTLEVEL &&
            device_of(entry->fts_path, *entry->fts_statp) < 0) {
            complain(entry->fts_path, "it is on another device than " + opt_.paths.front() +
                                          "; --all-devices takes it in");
            out_.errors++;
        }
        if (entry->fts_info == FTS_D && device_of(entry->fts_path, *entry->fts_statp) < 0) {
            out_.skipped_files["directory on another device"]++;
            fts_set(walker.get(), entry, FTS_SKIP);
            continue;
        }
        visit(entry);
    }
    inodes_.clear();
}

void scanner::file_failed(const file_record& file, int error, share& mine) {
    const device& dev = out_.devices[file.device];
    if (error == EOPNOTSUPP || error == ENOTTY || error == ENOSYS) {
        mine.skipped["no FIEMAP on " + dev.file_system]++;
        mine.errors++;
        bool first;
        {
            std::scoped_lock lock(say_);
            first = no_fiemap_.insert(file.device).second;
        }
        if (first)
            complain(file.path, "the file system (" + dev.file_system +
                                    ") does not tell where its files lie: it has no FIEMAP; "
                                    "none of its files is read");
        return;
    }
    std::string why = std::generic_category().message(error);
    if (error == ENOENT) { // deleted since the walk: nothing is missing
        mine.skipped["gone meanwhile"]++;
        return;
    }
    mine.skipped[why]++;
    mine.errors++;
    complain(file.path, why);
}

void scanner::read_one(std::uint32_t number, share& mine) {
    file_record& file = out_.files[number];
    int fd = open(file.path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ELOOP) // a link that was named as a path
        fd = open(file.path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return file_failed(file, errno, mine);
    int error = read_extents(fd, opt_.sync, file.extents, mine.skips);
    close(fd);
    if (error) {
        file.extents.clear();
        return file_failed(file, error, mine);
    }
    file.extents.shrink_to_fit();
    for (std::uint32_t i = 0; i < file.extents.size() && mine.fatal == 0; i++)
        mine.fatal = out_.map.add(file.device, file.extents[i], {number, i}, mine.later);
}

void scanner::work(share& mine) {
    auto total = static_cast<std::uint32_t>(out_.files.size());
    for (;;) {
        std::uint32_t number = next_++;
        if (number >= total || stop_asked || failed_)
            return;
        if (number % 1024 == 0)
            progress("reading", number, total);
        read_one(number, mine);
        if (mine.fatal) {
            failed_ = true;
            return;
        }
    }
}

void scanner::read() {
    std::vector<share> shares(std::max(1u, opt_.threads));
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 1; i < shares.size(); i++)
            threads.emplace_back([this, &mine = shares[i]] { work(mine); });
        work(shares[0]);
    }
    line_.clear();
    std::vector<extent_map::pending> later;
    int fatal = 0;
    for (share& s : shares) {
        fatal = fatal ? fatal : s.fatal;
        later.insert(later.end(), s.later.begin(), s.later.end());
        out_.skipped_extents.add(s.skips);
        out_.errors += s.errors;
        for (const auto& [why, count] : s.skipped)
            out_.skipped_files[why] += count;
    }
    if (!fatal)
        fatal = out_.map.settle(std::move(later));
    if (fatal)
        throw std::runtime_error("the index: " + std::generic_category().message(-fatal));
}

} // namespace

void scan(const scan_options& options, scan_result& result) {
    auto begin = std::chrono::steady_clock::now();
    scanner s(options, result);
    s.walk();
    if (!stop_asked)
        s.read();
    result.interrupted = stop_asked;
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

} // namespace lathcli
