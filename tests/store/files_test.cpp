// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The file of a store: what a save may replace and must keep, and what a failure leaves.
#include "file_help.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <vector>

using namespace storetest;

// ---- calls of the library that can be made to fail (the linker's --wrap) ----

namespace {

struct fault {
    const char* call;
    int after; // this many go well first
    int error; // 0: see the call
    bool for_ever = false;
};
fault planned{"", 0, 0};

// Whether this call is to fail now; errno is set.
bool fails(const char* call) {
    if (std::strcmp(planned.call, call) != 0 || planned.after-- > 0)
        return false;
    if (!planned.for_ever)
        planned.call = "";
    errno = planned.error;
    return true;
}

} // namespace

extern "C" {
ssize_t __real_write(int fd, const void* data, size_t size);
ssize_t __wrap_write(int fd, const void* data, size_t size) {
    if (!fails("write"))
        return __real_write(fd, data, size);
    if (planned.error == SIGKILL) {
        (void)!__real_write(fd, data, size / 2);
        kill(getpid(), SIGKILL);
    }
    if (planned.error) // what a full disk does: a part, then the error
        return size > 1 && planned.for_ever ? __real_write(fd, data, size / 2) : -1;
    return __real_write(fd, data, (size + 2) / 3); // a short one
}
int __real_fsync(int fd);
int __wrap_fsync(int fd) { return fails("fsync") ? -1 : __real_fsync(fd); }
int __real_renameat(int from, const char* old, int to, const char* name);
int __wrap_renameat(int from, const char* old, int to, const char* name) {
    return fails("renameat") ? -1 : __real_renameat(from, old, to, name);
}
int __real_fchown(int fd, uid_t user, gid_t group);
int __wrap_fchown(int fd, uid_t user, gid_t group) {
    return fails("fchown") ? -1 : __real_fchown(fd, user, group);
}
int __real_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode) { return fails("fchmod") ? -1 : __real_fchmod(fd, mode); }
ssize_t __real_pread(int fd, void* data, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void* data, size_t size, off_t at) {
    if (!fails("pread"))
        return __real_pread(fd, data, size, at);
    return planned.error ? -1 : __real_pread(fd, data, (size + 2) / 3, at); // a short one
}
ssize_t __real_pwrite(int fd, const void* data, size_t size, off_t at);
ssize_t __wrap_pwrite(int fd, const void* data, size_t size, off_t at) {
    return fails("pwrite") ? -1 : __real_pwrite(fd, data, size, at);
}
int __real_memfd_create(const char* name, unsigned flags);
int __wrap_memfd_create(const char* name, unsigned flags) {
    return fails("memfd_create") ? -1 : __real_memfd_create(name, flags);
}
}

// ---- what is replaced, and what is not ----

TEST_CASE("a file of somebody's beside the snapshot is left alone") {
    scratch_dir dir;
    write_file(dir.path("s.tmp"), "notes");
    auto s = numbers(10);
    CHECK(save(s, dir.path("s")) == 0);
    CHECK(save(s, dir.path("s")) == 0);
    CHECK(read_file(dir.path("s.tmp")) == "notes");
    CHECK(entries(dir.path("s")) == 10);
    CHECK(dir.names() == "s s.tmp");
}

TEST_CASE("a planted symbolic link leads no save elsewhere") {
    scratch_dir dir;
    write_file(dir.path("victim"), "precious");
    REQUIRE(symlink("victim", dir.path("s.tmp").c_str()) == 0);
    auto s = numbers(10);
    CHECK(save(s, dir.path("s")) == 0);
    CHECK(read_file(dir.path("victim")) == "precious");
    struct stat st{};
    CHECK(lstat(dir.path("s").c_str(), &st) == 0);
    CHECK(S_ISREG(st.st_mode));
    REQUIRE(symlink("victim", dir.path("t.lock").c_str()) == 0);
    CHECK(save(s, dir.path("t")) == -EINVAL);
    CHECK(has(reason(), "t.lock: a symbolic link"));
    REQUIRE(link(dir.path("victim").c_str(), dir.path("u.lock").c_str()) == 0);
    CHECK(save(s, dir.path("u")) == -EINVAL);
    CHECK(has(reason(), "u.lock: not a lock file"));
    write_file(dir.path("v.lock"), "my notes on v");
    CHECK(save(s, dir.path("v")) == -EINVAL);
    CHECK(read_file(dir.path("v.lock")) == "my notes on v");
    CHECK(read_file(dir.path("victim")) == "precious");
    CHECK(dir.names() == "s s.tmp t.lock u.lock v.lock victim");
}

TEST_CASE("a link of another user in a directory for all is not followed") {
    if (geteuid() != 0) {
        MESSAGE("needs the superuser");
        return;
    }
    scratch_dir dir;
    write_file(dir.path("victim"), "precious");
    REQUIRE(mkdir(dir.path("tmp").c_str(), 0755) == 0);
    REQUIRE(chmod(dir.path("tmp").c_str(), 01777) == 0);
    REQUIRE(symlink("../victim", dir.path("tmp/s").c_str()) == 0);
    REQUIRE(lchown(dir.path("tmp/s").c_str(), 12345, 12345) == 0);
    CHECK(save(numbers(1), dir.path("tmp/s")) == -EACCES);
    CHECK(has(reason(), "user 12345"));
    CHECK(read_file(dir.path("victim")) == "precious");
}

TEST_CASE("what is not a regular file is not replaced") {
    scratch_dir dir;
    auto s = numbers(10);
    auto refused = [&](const std::string& path, const std::string& kind, mode_t type) {
        CAPTURE(path);
        CHECK(save(s, path) == -EINVAL);
        CHECK(has(reason(), path + ": " + kind + ", not a regular file"));
        store_ptr t;
        CHECK(open_file(t, path) == -EINVAL);
        CHECK(entries(path) == -EINVAL);
        CHECK(has(reason(), kind));
        struct stat st{};
        REQUIRE(lstat(path.c_str(), &st) == 0);
        CHECK((st.st_mode & S_IFMT) == type);
    };
    REQUIRE(mkfifo(dir.path("fifo").c_str(), 0600) == 0);
    refused(dir.path("fifo"), "a pipe", S_IFIFO);
    REQUIRE(mkdir(dir.path("dir").c_str(), 0700) == 0);
    refused(dir.path("dir"), "a directory", S_IFDIR);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof address.sun_path, "%s", dir.path("socket").c_str());
    REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    refused(dir.path("socket"), "a socket", S_IFSOCK);
    close(fd);
    if (mknod(dir.path("full").c_str(), S_IFCHR | 0600, makedev(1, 7)) == 0)
        refused(dir.path("full"), "a character device", S_IFCHR);
    else
        MESSAGE("no device can be made here: ", std::strerror(errno));
    CHECK(dir.names().find(".lock") == std::string::npos);
    CHECK(save(s, dir.path("dir") + "/") == -EINVAL);
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    CHECK(save(s, "/dev/fd/" + std::to_string(ends[1])) == -EINVAL);
    CHECK(has(reason(), "a pipe, not a regular file"));
    close(ends[0]);
    close(ends[1]);
    CHECK(save(s, dir.path("dir") + "/..") == -EINVAL);
    CHECK(save(s, "") == -EINVAL);
    CHECK(save(s, std::string(5000, 'x')) == -ENAMETOOLONG);
    CHECK(save(s, dir.path("") + std::string(252, 'x')) == -ENAMETOOLONG);
    CHECK(save(s, dir.path("") + std::string(247, 'x')) == -ENAMETOOLONG); // with .tmp-
    CHECK(save(s, dir.path("") + std::string(244, 'x')) == 0);
    CHECK(save(s, dir.path("none/s")) == -ENOENT);
    CHECK(has(reason(), "none/s: No such file or directory"));
}

TEST_CASE("symbolic links are followed and stay") {
    scratch_dir dir;
    REQUIRE(mkdir(dir.path("there").c_str(), 0700) == 0);
    REQUIRE(symlink("there/second", dir.path("first").c_str()) == 0);
    REQUIRE(symlink("s", dir.path("there/second").c_str()) == 0);
    CHECK(save(numbers(10), dir.path("first")) == 0); // what they lead to is not there yet
    CHECK(entries(dir.path("there/s")) == 10);
    {
        store_ptr s, t;
        REQUIRE(open_file(s, dir.path("first")) == 0);
        REQUIRE(set(s, 3, "x") == 0);
        CHECK(open_file(t, dir.path("there/s")) == -EBUSY); // one file, one lock
        CHECK(lath_store_save(s.get(), dir.path("there/s").c_str(), nullptr, nullptr) == 0);
    }
    CHECK(entries(dir.path("there/s")) == 11);
    struct stat st{};
    CHECK((lstat(dir.path("first").c_str(), &st) == 0 && S_ISLNK(st.st_mode)));
    CHECK((lstat(dir.path("there/second").c_str(), &st) == 0 && S_ISLNK(st.st_mode)));
    CHECK(dir.names() == "first there");
    REQUIRE(symlink("loop", dir.path("loop").c_str()) == 0);
    CHECK(save(numbers(1), dir.path("loop")) == -ELOOP);
    REQUIRE(symlink((dir.path("there") + "/s").c_str(), dir.path("absolute").c_str()) == 0);
    CHECK(save(numbers(5), dir.path("absolute")) == 0);
    CHECK(entries(dir.path("there/s")) == 5);
}

TEST_CASE("a link is followed from its own directory, even without standard input") {
    scratch_dir dir;
    REQUIRE(mkdir(dir.path("there").c_str(), 0700) == 0);
    REQUIRE(symlink("there/second", dir.path("first").c_str()) == 0);
    REQUIRE(symlink("s", dir.path("there/second").c_str()) == 0);
    auto s = numbers(10);
    CHECK(ended(child([&] {
              close(0); // the first directory that is opened gets this number
              return -save(s, dir.path("first"));
          })) == 0);
    CHECK(entries(dir.path("there/s")) == 10);
}

TEST_CASE("a save leaves no file open") {
    scratch_dir dir;
    auto s = numbers(10);
    auto open_files = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
    };
    REQUIRE(save(s, dir.path("s")) == 0);
    auto before = open_files();
    for (const char* name : {"s", "t", "u"}) {
        REQUIRE(save(s, dir.path(name)) == 0);
        planned = {"write", 0, EIO};
        REQUIRE(save(s, dir.path(name)) == -EIO);
    }
    CHECK(open_files() == before);
}

TEST_CASE("a store stays with its directory") {
    scratch_dir dir;
    REQUIRE(mkdir(dir.path("a").c_str(), 0700) == 0);
    int before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(chdir(dir.path("a").c_str()) == 0);
    store_ptr s;
    REQUIRE(open_file(s, "s") == 0);
    REQUIRE(chdir("/") == 0);
    REQUIRE(rename(dir.path("a").c_str(), dir.path("b").c_str()) == 0);
    REQUIRE(symlink("/nowhere", dir.path("a").c_str()) == 0);
    REQUIRE(set(s, 1, "v") == 0);
    CHECK(lath_store_sync(s.get()) == 0);
    CHECK(saved(dir.path("b/s"), 1) == "v");
    REQUIRE(fchdir(before) == 0);
    close(before);
}

TEST_CASE("owner, group, mode and attributes of the old file are kept") {
    scratch_dir dir;
    const std::string path = dir.path("s");
    auto s = numbers(10);
    REQUIRE(save(s, path) == 0);
    struct stat st{};
    REQUIRE(stat(path.c_str(), &st) == 0);
    CHECK((st.st_mode & 07777) == 0600); // a new one
    REQUIRE(chmod(path.c_str(), 0640) == 0);
    bool root = geteuid() == 0;
    if (root)
        REQUIRE(chown(path.c_str(), 12345, 23456) == 0);
    bool attribute = setxattr(path.c_str(), "user.note", "mine", 4, 0) == 0;
    if (!attribute)
        MESSAGE("no attributes here: ", std::strerror(errno));
    REQUIRE(save(s, path) == 0);
    REQUIRE(stat(path.c_str(), &st) == 0);
    CHECK((st.st_mode & 07777) == 0640);
    if (root) {
        CHECK(st.st_uid == 12345);
        CHECK(st.st_gid == 23456);
    }
    char note[16];
    if (attribute)
        CHECK(getxattr(path.c_str(), "user.note", note, sizeof note) == 4);

    // rw for user 4711, r for the group, mask rw: version 2; tag, rights, id
    const std::uint16_t list[] = {2,      0,      1,    6, 0xffff, 0xffff, 2,    6,
                                  4711,   0,      4,    4, 0xffff, 0xffff, 0x10, 6,
                                  0xffff, 0xffff, 0x20, 0, 0xffff, 0xffff};
    if (setxattr(path.c_str(), "system.posix_acl_access", list, sizeof list, 0) == 0) {
        char before[64], after[64];
        auto size = getxattr(path.c_str(), "system.posix_acl_access", before, sizeof before);
        REQUIRE(save(s, path) == 0);
        REQUIRE(getxattr(path.c_str(), "system.posix_acl_access", after, sizeof after) == size);
        CHECK(std::memcmp(before, after, static_cast<std::size_t>(size)) == 0);
        REQUIRE(stat(path.c_str(), &st) == 0);
        CHECK((st.st_mode & 0777) == 0660);
        REQUIRE(removexattr(path.c_str(), "system.posix_acl_access") == 0);
    } else {
        MESSAGE("no access control lists here: ", std::strerror(errno));
    }

    // another group gets none of this one's rights
    REQUIRE(chmod(path.c_str(), 0664) == 0);
    planned = {"fchown", 0, EPERM, true};
    CHECK(save(s, path) == 0);
    planned = {"", 0, 0};
    REQUIRE(stat(path.c_str(), &st) == 0);
    CHECK((st.st_mode & 0777) == 0604);
    CHECK(dir.names() == "s");
}

// ---- faults ----

TEST_CASE("short and interrupted writes are continued") {
    scratch_dir dir;
    auto s = numbers(30000);
    REQUIRE(save(s, dir.path("whole")) == 0);
    planned = {"write", 0, 0, true};
    CHECK(save(s, dir.path("s")) == 0);
    planned = {"write", 1, EINTR};
    CHECK(save(s, dir.path("t")) == 0);
    planned = {"fsync", 0, EINTR};
    CHECK(save(s, dir.path("u")) == 0);
    planned = {"", 0, 0};
    for (const char* name : {"s", "t", "u"})
        CHECK(read_file(dir.path(name)) == read_file(dir.path("whole")));
}

TEST_CASE("short and interrupted reads are continued") {
    scratch_dir dir;
    REQUIRE(save(numbers(30000), dir.path("whole")) == 0);
    for (fault how :
         {fault{"pread", 0, 0, true}, fault{"pread", 2, EINTR}, fault{"pread", 2, EIO}}) {
        auto s = numbers(0);
        planned = how;
        int ret = lath_store_load(s.get(), dir.path("whole").c_str(), nullptr, nullptr);
        planned = {"", 0, 0};
        CHECK(ret == (how.error == EIO ? -EIO : 0));
        CHECK(lath_store_items(s.get()) == (ret ? 0 : 30000));
    }
}

TEST_CASE("whatever fails in a save, the old file is there and nothing else is") {
    scratch_dir dir;
    auto s = numbers(30000);
    const std::string path = dir.path("s");
    std::vector<fault> faults;
    for (int i = 0; i < 5; ++i) {
        faults.push_back({"write", i, EIO});
        faults.push_back({"write", i, ENOSPC, true});
    }
    faults.push_back({"write", 1, EFBIG});
    faults.push_back({"write", 1, EDQUOT});
    faults.push_back({"fsync", 0, EIO});
    faults.push_back({"renameat", 0, EIO});
    faults.push_back({"renameat", 0, EXDEV});
    faults.push_back({"fchmod", 1, EIO}); // the first one: of the lock file
    faults.push_back({"pwrite", 0, EIO}); // the lock file
    faults.push_back({"pwrite", 0, ENOSPC});
    for (const auto& f : faults) {
        CAPTURE(f.call);
        CAPTURE(f.after);
        write_file(path, "old");
        planned = f;
        int ret = save(s, path);
        planned = {"", 0, 0};
        CHECK(ret == -f.error);
        CHECK(has(reason(), path));
        CHECK(has(reason(), std::strerror(f.error)));
        CHECK(read_file(path) == "old");
        CHECK(dir.names() == "s");
        unlink(path.c_str());
        if (std::strcmp(f.call, "fchmod") == 0)
            continue; // nothing to be like
        planned = f;
        CHECK(save(s, path) == -f.error);
        planned = {"", 0, 0};
        CHECK(dir.names().empty());
    }
    // after the rename it is the new one, but perhaps not for a machine that loses power
    write_file(path, "old");
    planned = {"fsync", 1, EIO};
    CHECK(save(s, path) == -EIO);
    CHECK(has(reason(), "the new file is in place, but its directory"));
    CHECK(entries(path) == 30000);
    CHECK(dir.names() == "s");
    CHECK(save(s, path) == 0);
}

TEST_CASE("what a failed sync or close says of the changes is so") {
    const std::vector<fault> faults = {
        {"write", 0, ENOSPC}, {"write", 1, EIO},       {"fsync", 0, EIO},
        {"fsync", 0, ENOSPC}, {"renameat", 0, EIO},    {"fsync", 1, EIO},
        {"fsync", 1, ENOSPC}, {"renameat", 0, ENOENT}, {"fsync", 1, EROFS}};
    for (const auto& f : faults) {
        for (bool closes : {false, true}) {
            CAPTURE(f.call);
            CAPTURE(f.after);
            CAPTURE(closes);
            scratch_dir dir;
            const std::string path = dir.path("s");
            store_ptr s;
            REQUIRE(open_file(s, path) == 0);
            REQUIRE(set(s, 1, "one") == 0);
            REQUIRE(lath_store_sync(s.get()) == 0);
            REQUIRE(set(s, 1, "two") == 0);
            planned = f;
            CHECK((closes ? lath_store_close(s.release()) : lath_store_sync(s.get())) == -f.error);
            planned = {"", 0, 0};
            CHECK(has(reason(), std::strerror(f.error)));
            bool is_saved = saved(path, 1) == "two";
            CHECK(is_saved == (std::string(f.call) == "fsync" && f.after == 1));
            lath_store* again = s ? s.get() : nullptr;
            if (again && !is_saved)
                CHECK(lath_store_sync(again) == 0);
            s.reset();
            CHECK(saved(path, 1) == (closes && !is_saved ? "one" : "two"));
        }
    }
    // the sentence itself: a reader in between replaces it
    scratch_dir dir;
    store_ptr s;
    REQUIRE(open_file(s, dir.path("s")) == 0);
    REQUIRE(set(s, 1, "one") == 0);
    planned = {"fsync", 1, EIO};
    CHECK(lath_store_sync(s.get()) == -EIO);
    CHECK(has(reason(), "in place"));
    CHECK_FALSE(has(reason(), "not saved"));
    planned = {"fsync", 0, EIO};
    CHECK(lath_store_sync(s.get()) == -EIO);
    CHECK(has(reason(), "; the changes are not saved"));
    CHECK_FALSE(has(reason(), "in place"));
    planned = {"", 0, 0};
}

TEST_CASE("a store whose file cannot be written says which and why, and can try again") {
    scratch_dir dir;
    store_ptr s;
    planned = {"memfd_create", 0, EMFILE};
    CHECK(open_file(s, dir.path("s")) == -EMFILE);
    planned = {"", 0, 0};
    CHECK(dir.names().empty());
    REQUIRE(open_file(s, dir.path("s")) == 0);
    REQUIRE(set(s, 1, "one") == 0);
    planned = {"write", 0, ENOSPC};
    CHECK(lath_store_sync(s.get()) == -ENOSPC);
    CHECK(reason() == dir.path("s") + ": " + std::strerror(ENOSPC) + "; the changes are not saved");
    CHECK(dir.names() == "s.lock");
    CHECK(lath_store_sync(s.get()) == 0);
    CHECK(saved(dir.path("s"), 1) == "one");
    REQUIRE(set(s, 1, "two") == 0);
    planned = {"fsync", 0, EIO};
    CHECK(lath_store_close(s.release()) == -EIO);
    CHECK(has(reason(), dir.path("s") + ": "));
    CHECK(saved(dir.path("s"), 1) == "one");
    CHECK(dir.names() == "s");
}

TEST_CASE("the file of a save that was killed is removed by the next, and no other") {
    scratch_dir dir;
    const std::string path = dir.path("s");
    auto s = numbers(30000);
    for (const char* old : {"", "old"}) {
        if (*old)
            write_file(path, old);
        pid_t pid = child([&] {
            planned = {"write", 3, SIGKILL};
            return save(s, path);
        });
        CHECK(ended(pid) == -SIGKILL);
        std::string left = dir.names();
        CHECK(has(left, "s.lock"));
        CHECK(has(left, "s.tmp-"));
        CHECK(save(s, path) == 0);
        CHECK(dir.names() == "s");
        unlink(path.c_str());
    }
    REQUIRE(save(s, path) == 0);
    std::string snapshot = read_file(path), expected = "s";
    auto keep = [&](const char* name, const std::string& content) {
        write_file(dir.path(name), content);
    };
    keep("s.tmp-notes1", "notes of mine");
    keep("s.tmp-UPPER1", snapshot);
    keep("s.tmp-abc", snapshot);
    keep("s.tmp-abcdefg", snapshot);
    keep("t.tmp-abcdef", snapshot);
    keep("s.tmp-linked", snapshot);
    REQUIRE(link(dir.path("s.tmp-linked").c_str(), dir.path("other").c_str()) == 0);
    REQUIRE(mkdir(dir.path("s.tmp-folder").c_str(), 0700) == 0);
    REQUIRE(symlink("s", dir.path("s.tmp-symbol").c_str()) == 0);
    keep("s.tmp-locked", snapshot);
    int fd = open(dir.path("s.tmp-locked").c_str(), O_RDONLY | O_CLOEXEC);
    REQUIRE(flock(fd, LOCK_EX) == 0);
    expected = dir.names();
    keep("s.tmp-stale1", snapshot.substr(0, 5));
    keep("s.tmp-stale2", "");
    keep("s.tmp-stale3", snapshot);
    CHECK(save(s, path) == 0);
    CHECK(dir.names() == expected);
    close(fd);
}
