// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Which process may write the file of a store: second writers, killed ones, readers, children.
#include "file_help.hpp"

#include <cstring>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <vector>

using namespace storetest;

TEST_CASE("a second writer is refused by the first one's name") {
    scratch_dir dir;
    const std::string path = dir.path("s");
    store_ptr first, second;
    REQUIRE(open_file(first, path) == 0);
    REQUIRE(set(first, 1, "first") == 0);
    const std::string busy = path + ": in use by process " + std::to_string(getpid()) + " (s.lock)";
    CHECK(open_file(second, path) == -EBUSY);
    CHECK(reason() == busy);
    CHECK(save(numbers(5), path) == -EBUSY);
    CHECK(reason() == busy);
    CHECK(ended(child([&] { // its own process
              execl("/proc/self/exe", "files", "--test-case=helper: one set", "--no-skip", nullptr);
              return 99;
          })) == 1); // without its variable
    CHECK(has(read_file(dir.path("s.lock")), std::to_string(getpid())));
    CHECK(lath_store_close(first.release()) == 0);
    CHECK(dir.names() == "s");
    REQUIRE(open_file(second, path) == 0);
    CHECK(get(second.get(), 1) == "first");
    CHECK(dir.names() == "s s.lock");
}

namespace {

// This program again, as another process: runs the case of that name on path.
pid_t helper(const std::string& name, const std::string& path, int out = -1) {
    std::string self = "/proc/self/exe", which = "--test-case=helper: " + name, all = "--no-skip",
                variable = "LATH_FILES_PATH=" + path;
    char* args[] = {self.data(), which.data(), all.data(), nullptr};
    std::vector<char*> env{variable.data()};
    for (char** e = environ; *e; ++e)
        env.push_back(*e);
    env.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    if (out >= 0)
        posix_spawn_file_actions_adddup2(&files, out, 9);
    pid_t pid = -1;
    REQUIRE(posix_spawn(&pid, "/proc/self/exe", &files, nullptr, args, env.data()) == 0);
    posix_spawn_file_actions_destroy(&files);
    return pid;
}
std::string helper_path() {
    const char* path = std::getenv("LATH_FILES_PATH");
    if (!path)
        _exit(1);
    return path;
}

} // namespace

TEST_CASE("helper: one set" * doctest::skip()) {
    store_ptr s;
    int ret = open_file(s, helper_path());
    if (ret)
        _exit(ret == -EBUSY ? 2 : 3);
    ret = set(s, 2, "second");
    _exit(ret || lath_store_close(s.release()) ? 3 : 0);
}

TEST_CASE("helper: hold until killed" * doctest::skip()) {
    store_ptr s;
    if (open_file(s, helper_path()) || set(s, 3, "unsaved") || write(9, "x", 1) != 1)
        _exit(3);
    for (;;)
        pause();
}

TEST_CASE("of two processes that set, the second is refused until the first has closed") {
    scratch_dir dir;
    const std::string path = dir.path("s");
    store_ptr s;
    REQUIRE(open_file(s, path) == 0);
    REQUIRE(set(s, 1, "first") == 0);
    CHECK(ended(helper("one set", path)) == 2);
    CHECK(lath_store_sync(s.get()) == 0);
    CHECK(ended(helper("one set", path)) == 2); // a save is not a close
    CHECK(lath_store_close(s.release()) == 0);
    CHECK(ended(helper("one set", path)) == 0);
    CHECK(saved(path, 1) == "first");
    CHECK(saved(path, 2) == "second");
    REQUIRE(open_file(s, path) == 0);
    REQUIRE(set(s, 3, "third") == 0);
    CHECK(lath_store_leave(s.get()) == 0);
    CHECK(ended(helper("one set", path)) == 0);
    CHECK(lath_store_close(s.release()) == 0);
    CHECK(saved(path, 3) == "third");
    CHECK(dir.names() == "s");
}

TEST_CASE("the lock of a process that was killed is taken over") {
    scratch_dir dir;
    const std::string path = dir.path("s");
    pipe_ends ready;
    pid_t pid = helper("hold until killed", path, ready.out);
    REQUIRE(ready.hear());
    store_ptr s;
    CHECK(open_file(s, path) == -EBUSY);
    CHECK(has(reason(), "process " + std::to_string(pid)));
    kill(pid, SIGKILL);
    CHECK(ended(pid) == -SIGKILL);
    CHECK(dir.names() == "s.lock");
    REQUIRE(open_file(s, path) == 0);
    REQUIRE(set(s, 1, "v") == 0);
    CHECK(lath_store_close(s.release()) == 0);
    CHECK(dir.names() == "s");
}

TEST_CASE("the lock file is for those who may use the snapshot") {
    scratch_dir dir;
    const std::string path = dir.path("s");
    REQUIRE(save(numbers(1), path) == 0);
    REQUIRE(chmod(path.c_str(), 0660) == 0);
    if (geteuid() == 0)
        REQUIRE(chown(path.c_str(), 12345, 23456) == 0);
    store_ptr s;
    REQUIRE(open_file(s, path) == 0);
    struct stat st{};
    REQUIRE(stat(dir.path("s.lock").c_str(), &st) == 0);
    CHECK((st.st_mode & 07777) == 0660);
    if (geteuid() == 0)
        CHECK(st.st_uid == 12345);
}

TEST_CASE("a lock file that was removed by hand comes back; a snapshot from elsewhere is not "
          "overwritten") {
    scratch_dir dir;
    const std::string path = dir.path("s");
    store_ptr s, t;
    REQUIRE(open_file(s, path) == 0);
    REQUIRE(set(s, 1, "mine") == 0);
    REQUIRE(unlink(dir.path("s.lock").c_str()) == 0);
    CHECK(lath_store_sync(s.get()) == 0);
    CHECK(dir.names() == "s s.lock");
    REQUIRE(unlink(dir.path("s.lock").c_str()) == 0);
    REQUIRE(open_file(t, path) == 0);
    REQUIRE(set(t, 1, "theirs") == 0);
    REQUIRE(set(s, 2, "mine") == 0);
    CHECK(lath_store_sync(s.get()) == -EBUSY);
    CHECK(lath_store_close(t.release()) == 0);
    CHECK(lath_store_sync(s.get()) == -ESTALE);
    CHECK(has(reason(), path + ": another process has written it"));
    CHECK(save(s, dir.path("rescued")) == 0);
    CHECK(lath_store_close(s.release()) == -ESTALE);
    CHECK(saved(path, 1) == "theirs");
    CHECK(saved(dir.path("rescued"), 2) == "mine");
    CHECK(dir.names() == "rescued s");
}

// ---- readers ----

TEST_CASE("a reader sees what was saved last, beside a writer, and changes nothing") {
    scratch_dir dir;
    const std::string path = dir.path("s");
    store_ptr writer, reader;
    REQUIRE(open_file(writer, path) == 0);
    CHECK(open_file(reader, path, LATH_STORE_READ_ONLY) == -ENOENT);
    CHECK(reason() == path + ": No such file or directory");
    REQUIRE(set(writer, 1, "old") == 0);
    REQUIRE(lath_store_sync(writer.get()) == 0);
    REQUIRE(set(writer, 1, "new") == 0);
    REQUIRE(open_file(reader, path, LATH_STORE_READ_ONLY) == 0);
    CHECK(get(reader.get(), 1) == "old");
    CHECK(dir.names() == "s s.lock");
    lath_store* r = reader.get();
    lath_store_key k = lath_key_number(1);
    lath_store_entry entry{k, "x", 1, 0};
    int result = 0;
    std::int64_t now = 0;
    CHECK(lath_store_set(r, k, "x", 1) == -EROFS);
    CHECK(lath_store_add(r, k, "x", 1) == -EROFS);
    CHECK(lath_store_replace(r, k, "x", 1) == -EROFS);
    CHECK(lath_store_cas(r, k, "old", 3, "x", 1) == -EROFS);
    CHECK(lath_store_append(r, k, "x", 1) == -EROFS);
    CHECK(lath_store_incr(r, k, 1, &now) == -EROFS);
    CHECK(lath_store_expire(r, k, 1) == -EROFS);
    CHECK(lath_store_delete(r, k) == -EROFS);
    CHECK(lath_store_mset(r, 1, &entry, &result) == 0);
    CHECK(result == -EROFS);
    result = 0;
    CHECK(lath_store_mdel(r, 1, &k, &result) == 0);
    CHECK(result == -EROFS);
    CHECK(lath_store_sweep(r) == -EROFS);
    CHECK(lath_store_sync(r) == -EROFS);
    CHECK(lath_store_load(r, path.c_str(), nullptr, nullptr) == -EROFS);
    CHECK(lath_store_compact(r) >= 0);
    CHECK(get(r, 1) == "old");
    CHECK(save(reader, dir.path("copy")) == 0);
    CHECK(saved(dir.path("copy"), 1) == "old");
    CHECK(lath_store_close(reader.release()) == 0);
    CHECK(lath_store_close(writer.release()) == 0);
    CHECK(saved(path, 1) == "new");
    CHECK(dir.names() == "copy s");
}

TEST_CASE("what must exist is not made") {
    scratch_dir dir;
    store_ptr s;
    CHECK(open_file(s, dir.path("s"), LATH_STORE_EXISTING) == -ENOENT);
    CHECK(dir.names().empty());
    REQUIRE(save(numbers(3), dir.path("s")) == 0);
    REQUIRE(open_file(s, dir.path("s"), LATH_STORE_EXISTING) == 0);
    CHECK(set(s, 1, "v") == 0);
    s.reset();
    const std::string name = "lath-files-" + std::to_string(getpid()), spec = "shm:" + name;
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    lath_store* raw = nullptr;
    struct stat st{};
    for (unsigned flags : {LATH_STORE_READ_ONLY, LATH_STORE_EXISTING}) {
        options.flags = flags;
        CHECK(lath_store_open(&raw, spec.c_str(), &options) == -ENOENT);
        CHECK(reason() == spec + ": No such file or directory");
        CHECK(stat(("/dev/shm/" + name).c_str(), &st) != 0);
    }
    options.flags = 0;
    REQUIRE(lath_store_open(&raw, spec.c_str(), &options) == 0);
    store_ptr maker(raw);
    CHECK(set(maker, 1, "v") == 0);
    options.flags = LATH_STORE_READ_ONLY;
    int ret = lath_store_open(&raw, spec.c_str(), &options);
    lath_store_remove(spec.c_str(), nullptr, 0);
    REQUIRE(ret == 0);
    store_ptr reader(raw);
    CHECK(get(reader.get(), 1) == "v");
    CHECK(set(reader, 1, "w") == -EROFS);
    CHECK(lath_store_delete(reader.get(), lath_key_number(1)) == -EROFS);
    CHECK(set(maker, 1, "w") == 0);
    CHECK(get(reader.get(), 1) == "w");
}

TEST_CASE("a shared object of another user is not trusted") {
    if (geteuid() != 0) {
        MESSAGE("needs the superuser");
        return;
    }
    const std::string name = "lath-foreign-" + std::to_string(getpid()), spec = "shm:" + name;
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    lath_store* raw = nullptr;
    REQUIRE(lath_store_open(&raw, spec.c_str(), &options) == 0);
    lath_store_close(raw);
    CHECK(chown(("/dev/shm/" + name).c_str(), 12345, 12345) == 0);
    CHECK(lath_store_open(&raw, spec.c_str(), &options) == -EACCES);
    CHECK(has(reason(), "user 12345"));
    options.flags = LATH_STORE_FOREIGN;
    int ret = lath_store_open(&raw, spec.c_str(), &options);
    lath_store_remove(spec.c_str(), nullptr, 0);
    CHECK(ret == 0);
    if (!ret)
        lath_store_close(raw);
}

// ---- fork ----

TEST_CASE("a child may not write while its parent lives") {
    scratch_dir dir;
    const std::string path = dir.path("s");
    store_ptr s;
    REQUIRE(open_file(s, path) == 0);
    REQUIRE(set(s, 1, "parent") == 0);
    pid_t parent = getpid();
    CHECK(ended(child([&] {
              if (set(s, 1, "child") || get(s.get(), 1) != "child")
                  return 1;
              if (lath_store_sync(s.get()) != -EBUSY)
                  return 2;
              if (!has(reason(), path + ": in use by process " + std::to_string(parent)))
                  return 3;
              return save(s, path) == -EBUSY && save(s, path + "2") == 0 ? 0 : 4;
          })) == 0);
    CHECK(dir.names() == "s.lock s2");
    CHECK(lath_store_sync(s.get()) == 0);
    CHECK(saved(path, 1) == "parent");
    CHECK(saved(dir.path("s2"), 1) == "child");
    // a child that ends takes nothing away
    store_ptr t;
    CHECK(open_file(t, path) == -EBUSY);
}

TEST_CASE("a child goes on when its parent has closed, but not over what it wrote") {
    scratch_dir dir;
    const std::string path = dir.path("s");
    for (bool written : {false, true}) {
        store_ptr s;
        REQUIRE(open_file(s, path) == 0);
        REQUIRE(set(s, 1, "before") == 0);
        REQUIRE(lath_store_sync(s.get()) == 0);
        pipe_ends go;
        pid_t pid = child([&] {
            if (set(s, 2, "child") || !go.hear())
                return 1;
            int ret = lath_store_sync(s.get());
            return ret == (written ? -ESTALE : 0) ? 0 : 2;
        });
        if (written)
            REQUIRE(set(s, 1, "after") == 0);
        CHECK(lath_store_close(s.release()) == 0);
        CHECK(dir.names() == "s");
        go.tell();
        CHECK(ended(pid) == 0);
        CHECK(saved(path, 1) == (written ? "after" : "before"));
        CHECK(saved(path, 2) == "child"); // of the first round
    }
}

TEST_CASE("helper: daemon" * doctest::skip()) {
    store_ptr s;
    int go = 9; // its other end is the test's
    if (open_file(s, helper_path()) || set(s, 1, "before"))
        _exit(3);
    if (daemon(0, 1))
        _exit(4);
    char c = 'x';
    if (read(go, &c, 1) != 1) // until the parent has ended: daemon() does not wait for that
        _exit(5);
    if (set(s, 2, "after") || lath_store_sync(s.get()) || set(s, 3, "last"))
        c = '2';
    if (write(go, &c, 1) != 1 || read(go, &c, 1) != 1)
        _exit(5);
    c = lath_store_close(s.release()) ? '3' : 'x';
    (void)!write(go, &c, 1);
    _exit(0);
}

TEST_CASE("after daemon() the store is the daemon's, and nobody came between") {
    scratch_dir dir;
    const std::string path = dir.path("s");
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    pid_t pid = helper("daemon", path, ends[1]);
    close(ends[1]);
    CHECK(ended(pid) == 0);
    store_ptr s;
    CHECK(open_file(s, path) == -EBUSY);
    char c = 0;
    REQUIRE(write(ends[0], "x", 1) == 1);
    REQUIRE(read(ends[0], &c, 1) == 1);
    CHECK(c == 'x');
    CHECK(saved(path, 1) == "before");
    CHECK(saved(path, 2) == "after");
    CHECK(open_file(s, path) == -EBUSY);
    CHECK(!has(reason(), std::to_string(pid) + " "));
    REQUIRE(write(ends[0], "x", 1) == 1);
    REQUIRE(read(ends[0], &c, 1) == 1);
    CHECK(c == 'x');
    CHECK(saved(path, 3) == "last");
    CHECK(dir.names() == "s");
    close(ends[0]);
}
