// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// One thread walks (names and inodes are cheap), then all threads read extents and index them.
#include "extents/scan.hpp"

#include "base/status_line.hpp"
#include "base/stop_on_signal.hpp"
#include "base/text.hpp"
#include "base/usage.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <tuple>

#include <fcntl.h>
#include <fts.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lathcli {

namespace {

constexpr unsigned max_devices = 256; // a key has 8 bits for them

// A link without an end that can be read.
std::string why_no_target(const char* path) {
    struct stat st{};
    return "a symbolic link: " +
           (stat(path, &st) ? std::generic_category().message(errno) : "changed during the scan");
}

class scanner {
public:
    scanner(const scan_options& options, scan_result& result) : opt_(options), out_(result) {}
    void walk();
    void choose_device();
    void read();
    void check_moved();

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
    int volume_of(const std::string& path, const struct stat& st);
    int look_at(const std::string& path, const struct stat& st);
    void enter(const char* path, const struct stat& st);
    void work(share& mine);
    void read_one(std::uint32_t number, share& mine);
    void file_failed(const file_record& file, int error, share& mine);
    void own_addresses(const file_record& file, const device& space);
    void progress(const char* what, std::uint64_t done, std::uint64_t of);
    void complain(const std::string& path, const std::string& why);

    const scan_options& opt_;
    scan_result& out_;
    std::map<dev_t, int> volume_numbers_; // -1: not looked at
    std::optional<unsigned> only_; // the device that opt_.only names
    std::map<std::pair<dev_t, ino_t>, std::uint32_t> inodes_;
    std::set<unsigned> no_fiemap_; // volumes already complained about
    std::mutex say_;
    std::string refusal_; // why a question has no answer; under say_
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

// Open for reading what can be read of it without waiting: a directory, or a regular file.
int open_quietly(const std::string& path, const struct stat& st) {
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
        return -1;
    return open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

// The number of the volume of an st_dev met first here, or -1 if it is not to be looked at.
int scanner::look_at(const std::string& path, const struct stat& st) {
    int fd = open_quietly(path, st);
    auto found = std::make_unique<volume>(fd, st, opt_.logical);
    if (fd >= 0)
        close(fd);
    // Subvolumes of btrfs have their own numbers and lie on the same devices.
    if (!found->identity().empty())
        for (std::size_t i = 0; i < out_.volumes.size(); i++)
            if (out_.volumes[i].what->identity() == found->identity())
                return static_cast<int>(i);
    if (!out_.volumes.empty() && !opt_.all_devices)
        return -1;
    auto first = static_cast<unsigned>(out_.devices.size());
    const auto& more = found->devices();
    if (out_.devices.size() + more.size() > max_devices)
        throw std::runtime_error(path + ": more than 256 devices");
    out_.devices.insert(out_.devices.end(), more.begin(), more.end());
    out_.volumes.push_back({std::move(found), first});
    return static_cast<int>(out_.volumes.size()) - 1;
}

int scanner::volume_of(const std::string& path, const struct stat& st) {
    auto [known, is_new] = volume_numbers_.try_emplace(st.st_dev, -1);
    if (is_new)
        known->second = look_at(path, st);
    return known->second;
}

// A regular file: a new one, or one more name of a known one.
void scanner::enter(const char* path, const struct stat& st) {
    int number = volume_of(path, st);
    if (number < 0) {
        out_.skipped_files["on another file system"]++;
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
    // The file system of the first path is the one to look at.
    struct stat first{};
    if (stat(opt_.paths.front().c_str(), &first) == 0)
        volume_of(opt_.paths.front(), first);
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
            volume_of(entry->fts_path, *entry->fts_statp) < 0) {
            complain(entry->fts_path, "it is on another file system than " + opt_.paths.front() +
                                          "; --all-devices takes it in");
            out_.errors++;
        }
        if (entry->fts_info == FTS_D && volume_of(entry->fts_path, *entry->fts_statp) < 0) {
            out_.skipped_files["directory on another file system"]++;
            fts_set(walker.get(), entry, FTS_SKIP);
            continue;
        }
        visit(entry);
    }
    inodes_.clear();
}

void scanner::file_failed(const file_record& file, int error, share& mine) {
    const device& dev = out_.devices[out_.volumes[file.volume].first];
    if (error == EOPNOTSUPP || error == ENOTTY || error == ENOSYS) {
        mine.skipped["no FIEMAP on " + dev.file_system]++;
        mine.errors++;
        bool first;
        {
            std::scoped_lock lock(say_);
            first = no_fiemap_.insert(file.volume).second;
        }
        if (first)
            complain(file.path, "the file system (" + dev.file_system +
                                    ") does not tell where its files lie: it has no FIEMAP; "
                                    "none of its files is read");
        return;
    }
    std::string why = std::generic_category().message(error);
    if (error == ENOENT) { // deleted since the walk: nothing is missing
        mine.skipped["gone during the scan"]++;
        return;
    }
    mine.skipped[why]++;
    mine.errors++;
    complain(file.path, why);
}

// A question about bytes of a device that an address of this space does not answer: ends the scan.
void scanner::own_addresses(const file_record& file, const device& space) {
    std::scoped_lock lock(say_);
    refusal_ = printable(file.path) + ": the addresses that " + space.file_system +
               " gives are not offsets of a device (" + space.own +
               "), so --at and --overlap cannot be answered; --logical asks for its own addresses";
    failed_ = true;
}

namespace {

void note_told(file_record& file) {
    std::uint64_t expected = UINT64_MAX;
    for (const extent& e : file.extents) {
        file.told_fragments += e.physical != expected;
        expected = e.physical + e.length;
        file.told_bytes += e.length;
    }
    file.told_extents = file.extents.size();
}

} // namespace

void scanner::read_one(std::uint32_t number, share& mine) {
    file_record& file = out_.files[number];
    int fd = open(file.path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ELOOP) // a link that was named as a path
        fd = open(file.path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return file_failed(file, errno, mine);
    const auto& [where, first] = out_.volumes[file.volume];
    int error = read_extents(fd, opt_.sync, file.extents, mine.skips);
    if (!error) {
        note_told(file);
        where->place(fd, first, file.extents, mine.skips);
    }
    close(fd);
    if (error) {
        file.extents.clear();
        return file_failed(file, error, mine);
    }
    if (only_)
        std::erase_if(file.extents, [&](const extent& e) { return e.device != *only_; });
    file.extents.shrink_to_fit();
    if (opt_.asks && !opt_.logical && !file.extents.empty() &&
        !out_.devices[file.extents.front().device].own.empty())
        return own_addresses(file, out_.devices[file.extents.front().device]);
    for (std::uint32_t i = 0; i < file.extents.size() && mine.fatal == 0; i++) {
        const extent& e = file.extents[i];
        mine.fatal = out_.map.add(e.device, e, {number, i}, mine.later);
    }
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
    if (!refusal_.empty())
        throw std::runtime_error(refusal_);
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

// Find the device that --device names, by its path or as another name of the same one.
void scanner::choose_device() {
    if (opt_.only.empty())
        return;
    struct stat wanted{};
    bool is_device = stat(opt_.only.c_str(), &wanted) == 0 && S_ISBLK(wanted.st_mode);
    std::vector<std::string> names;
    for (unsigned i = 0; i < out_.devices.size(); i++) {
        struct stat st{};
        const device& d = out_.devices[i];
        bool same = is_device && stat(d.source.c_str(), &st) == 0 && S_ISBLK(st.st_mode) &&
                    st.st_rdev == wanted.st_rdev;
        if (d.own.empty() && (same || d.source == opt_.only))
            only_ = i;
        if (d.own.empty())
            names.push_back(d.source);
    }
    if (!only_)
        throw usage_error("--device: no file of the PATHs lies on '" + printable(opt_.only) +
                          "'; their devices: " + (names.empty() ? "none" : join(names)));
}

// Chunks of btrfs that were moved while files were read: some answers name former places.
void scanner::check_moved() {
    for (const auto& [where, first] : out_.volumes) {
        if (!where->moved())
            continue;
        message("lath extents: " + out_.devices[first].source +
                ": btrfs moved data during the scan (balance, replace): some answers may be those "
                "of before");
        out_.errors++;
    }
}

} // namespace

void scan(const scan_options& options, scan_result& result) {
    auto begin = std::chrono::steady_clock::now();
    scanner s(options, result);
    s.walk();
    if (!stop_asked) {
        s.choose_device();
        s.read();
        s.check_moved();
    }
    result.interrupted = stop_asked;
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

} // namespace lathcli
