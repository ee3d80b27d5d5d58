// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Shared stores and processes: who may attach and who may not; several processes at once; processes
// that are killed at random moments, whose reported calls must be there, whole.
#include "model.hpp"
#include "base/must.hpp"
#include "scratch.hpp"
#include "shm_inside.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <fcntl.h>
#include <functional>
#include <signal.h>
#include <spawn.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

extern "C" bool (*lath_store_refuse)(void);

using namespace storetest;

// Whether the file system of the objects is full (the linker's --wrap).
static bool no_room;

extern "C" {
int __real_fallocate(int fd, int mode, off_t from, off_t size);
int __wrap_fallocate(int fd, int mode, off_t from, off_t size) {
    if (!no_room || mode)
        return __real_fallocate(fd, mode, from, size);
    errno = ENOSPC;
    return -1;
}
}

namespace {

// A name that is free at the beginning and at the end.
class name {
public:
    name() : text_(all() + std::to_string(++count_)) {}
    name(const name&) = delete;
    name& operator=(const name&) = delete;
    ~name() { shm_unlink(path().c_str()); }
    std::string spec() const { return "shm:" + text_; }
    std::string path() const { return "/" + text_; }

private:
    static const std::string& all() {
        static const std::string text = [] {
            std::string mine = "lath-shm-" + std::to_string(getpid()) + "-";
            remove_at_end("/dev/shm/" + mine);
            return mine;
        }();
        return text;
    }

    static inline int count_ = 0;
    std::string text_;
};

lath_store_options with(lath_store_keys keys, std::uint64_t limit = 32 << 20) {
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    options.keys = keys;
    options.limit = limit;
    return options;
}

store_ptr attach(const std::string& spec, const lath_store_options& options) {
    lath_store* s = nullptr;
    char why[600] = "";
    auto o = options;
    o.why = why;
    o.why_size = sizeof why;
    if (int ret = lath_store_open(&s, spec.c_str(), &o))
        die(spec + ": " + why + " (" + std::to_string(ret) + ")");
    return store_ptr(s);
}

void refused(const std::string& spec, const lath_store_options& options, int error,
             const char* word) {
    lath_store* s = nullptr;
    char why[600] = "";
    auto o = options;
    o.why = why;
    o.why_size = sizeof why;
    int ret = lath_store_open(&s, spec.c_str(), &o);
    if (ret != error || !std::strstr(why, word))
        die(spec + ": " + std::to_string(ret) + ", " + why + "; wanted " + std::to_string(error) +
            ", " + word);
}

const std::string gone = "(no such key)";

int set(lath_store* s, lath_store_key key, const std::string& v) {
    return lath_store_set(s, key, v.data(), v.size());
}

std::string get(lath_store* s, lath_store_key key) {
    static std::string v(200000, '\0'); // made once: a sanitizer maps and unmaps it
    std::int64_t n = lath_store_get(s, key, v.data(), v.size());
    return n < 0 ? gone : v.substr(0, static_cast<std::size_t>(n));
}

void whole(lath_store* s) {
    char why[200] = "";
    if (shm_inside_verify(s, why, sizeof why))
        die(why);
}

template <class Fn>
int in_child(const Fn& fn) {
    pid_t pid = fork();
    if (!pid) {
        fn();
        _exit(0);
    }
    int status = 0;
    MUST(waitpid(pid, &status, 0) == pid);
    return status;
}

// ---- one process ----

void stays_until_removed() {
    name n;
    auto options = with(LATH_STORE_NUMBERS);
    {
        auto a = attach(n.spec(), options), b = attach(n.spec(), options);
        MUST(set(a.get(), lath_key_number(1), "one") == 0);
        MUST(get(b.get(), lath_key_number(1)) == "one");
    }
    auto a = attach(n.spec(), options);
    MUST(get(a.get(), lath_key_number(1)) == "one");
    MUST(lath_store_remove(n.spec().c_str(), nullptr, 0) == 0);
    MUST(lath_store_remove(n.spec().c_str(), nullptr, 0) == -ENOENT);
    MUST(set(a.get(), lath_key_number(2), "two") == 0);
    auto c = attach(n.spec(), options); // another one of that name
    MUST(get(c.get(), lath_key_number(1)) == gone);
    MUST(get(a.get(), lath_key_number(2)) == "two");
    MUST(shm_inside_address(a.get()) != shm_inside_address(c.get()));
}

std::string object_of(const name& n) { return "/dev/shm" + n.path(); }

void write_at(const name& n, off_t at, const void* data, std::size_t size) {
    int fd = shm_open(n.path().c_str(), O_RDWR | O_CREAT, 0600);
    MUST(fd >= 0 && pwrite(fd, data, size, at) == static_cast<ssize_t>(size));
    close(fd);
}

void what_is_refused() {
    auto numbers = with(LATH_STORE_NUMBERS), strings = with(LATH_STORE_BYTES);
    for (const char* bad : {"shm:", "shm:a/b", "shm:.", "shm:..", "shm:a\nb"})
        refused(bad, numbers, -EINVAL, "a name");
    refused("shm:" + std::string(300, 'x'), numbers, -EINVAL, "a name");
    {
        name n;
        auto options = numbers;
        options.pages = LATH_PAGES_HUGETLB;
        refused(n.spec(), options, -EOPNOTSUPP, "hugetlb");
        options = numbers;
        const lath_rcu own = lath_rcu_auto;
        options.rcu = &own;
        refused(n.spec(), options, -EOPNOTSUPP, "RCU");
        options = numbers;
        options.prefault = 64 << 20;
        refused(n.spec(), options, -ENOSPC, "prefault");
        MUST(access(object_of(n).c_str(), F_OK)); // nothing is left of it
    }
    {
        name n;
        attach(n.spec(), numbers);
        refused(n.spec(), strings, -EINVAL, "a store of numbers");
        struct stat st;
        MUST(!stat(object_of(n).c_str(), &st) && (st.st_mode & 0777) == 0600);
        std::uint32_t ours = 0, version = 77;
        std::ifstream(object_of(n)).seekg(8).read(reinterpret_cast<char*>(&ours), sizeof ours);
        write_at(n, 8, &version, sizeof version);
        refused(n.spec(), numbers, -EBADMSG, "version 77");
        write_at(n, 8, &ours, sizeof ours);
        attach(n.spec(), numbers);
        write_at(n, 12, &version, sizeof version);
        refused(n.spec(), numbers, -EBADMSG, "another build");
    }
    {
        name n;
        attach(n.spec(), numbers);
        MUST(truncate(object_of(n).c_str(), 1 << 20) == 0);
        refused(n.spec(), numbers, -EBADMSG, "truncated");
        MUST(truncate(object_of(n).c_str(), 20) == 0);
        refused(n.spec(), numbers, -EBADMSG, "truncated");
    }
    {
        name n;
        write_at(n, 0, "something of somebody else's", 28);
        refused(n.spec(), numbers, -EBADMSG, "not a store");
        char why[200] = "";
        MUST(lath_store_remove(n.spec().c_str(), why, sizeof why) == -EBADMSG);
        MUST(std::strstr(why, "not a store"));
    }
}

// Root may do everything: nobody tries in its place.
void without_permission() {
    name n;
    auto options = with(LATH_STORE_NUMBERS);
    auto s = attach(n.spec(), options);
    MUST(set(s.get(), lath_key_number(1), "one") == 0);
    if (geteuid())
        MUST(chmod(object_of(n).c_str(), 0) == 0);
    int status = in_child([&] {
        if (!geteuid())
            MUST(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
        refused(n.spec(), options, -EACCES, "denied");
        if (!access("/dev/shm", W_OK))
            MUST(lath_store_remove(n.spec().c_str(), nullptr, 0) == -EACCES);
    });
    MUST(WIFEXITED(status) && !WEXITSTATUS(status));
    MUST(chmod(object_of(n).c_str(), 0600) == 0);
    MUST(get(attach(n.spec(), options).get(), lath_key_number(1)) == "one");
}

// A small /dev/shm, of a process that has its own mounts. False: that is not allowed here.
bool small_shm(const char* size) {
    return !unshare(CLONE_NEWNS) && !mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) &&
           !mount("tmpfs", "/dev/shm", "tmpfs", 0, size);
}

std::string value_of(std::uint64_t key) { return std::to_string(key) + std::string(1000, 'v'); }

void in_a_full_file_system(lath_store_keys kind) {
    name n, other;
    auto s = attach(n.spec(), with(kind, 256 << 20));
    auto key = [&](std::uint64_t i, std::string& text) {
        text = std::to_string(i);
        return kind == LATH_STORE_NUMBERS ? lath_key_number(i)
                                          : lath_key_bytes(text.data(), text.size());
    };
    std::string text;
    std::uint64_t count = 0;
    int ret = 0;
    while (!(ret = set(s.get(), key(count, text), value_of(count))))
        ++count;
    MUST(ret == -ENOMEM && count > 1000);
    MUST(get(s.get(), key(count, text)) == gone);
    whole(s.get());
    refused(other.spec(), with(kind), -ENOMEM, "");
    MUST(access(object_of(other).c_str(), F_OK) && errno == ENOENT);
    for (std::uint64_t i = 0; i < count; ++i)
        MUST(get(s.get(), key(i, text)) == value_of(i));
    for (std::uint64_t i = 0; i < count; i += 2)
        MUST(lath_store_delete(s.get(), key(i, text)) == 0);
    for (std::uint64_t i = 0; i < count / 4; ++i)
        MUST(set(s.get(), key(2 * i, text), value_of(i)) == 0);
    for (std::uint64_t i = 1; i < count; i += 2)
        MUST(get(s.get(), key(i, text)) == value_of(i));
    whole(s.get());
}

void a_full_file_system() {
    int status = in_child([] {
        if (!small_shm("size=24m"))
            _exit(77);
        in_a_full_file_system(LATH_STORE_NUMBERS);
        in_a_full_file_system(LATH_STORE_BYTES);
    });
    MUST(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        std::printf("a full /dev/shm: left out, no mounts of one's own here\n");
    else
        MUST(!WEXITSTATUS(status));
}

// The same said by the kernel alone, without mounts.
void no_room_for_more() {
    for (auto kind : {LATH_STORE_NUMBERS, LATH_STORE_BYTES}) {
        name n, other;
        auto s = attach(n.spec(), with(kind));
        auto put = [&](int i) {
            std::string text = std::to_string(i);
            return set(s.get(),
                       kind == LATH_STORE_NUMBERS ? lath_key_number(static_cast<std::uint64_t>(i))
                                                  : lath_key_bytes(text.data(), text.size()),
                       value_of(static_cast<std::uint64_t>(i)));
        };
        int i = 0, ret = 0;
        no_room = true;
        while (!(ret = put(i)))
            ++i;
        refused(other.spec(), with(kind), -ENOMEM, "");
        no_room = false;
        MUST(ret == -ENOMEM && i < 20000);
        whole(s.get());
        for (int more = 0; more < 5000; ++more)
            MUST(!put(i + more));
        whole(s.get());
    }
}

void its_addresses_are_taken() {
    name n;
    auto options = with(LATH_STORE_NUMBERS);
    void* address = nullptr;
    {
        auto s = attach(n.spec(), options);
        address = shm_inside_address(s.get());
    }
    void* mine =
        mmap(address, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    MUST(mine == address);
    char range[40];
    std::snprintf(range, sizeof range, "0x%llx",
                  static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(address)) -
                      (2 << 20));
    refused(n.spec(), options, -EADDRINUSE, range);
    munmap(mine, 4096);
    attach(n.spec(), options);
}

// Whoever made it died: at once, with the size only, in the middle.
void a_dead_maker() {
    for (int i = 0; i < 3; ++i) {
        name n;
        write_at(n, 0, "lathnew", 8);
        if (i == 0)
            MUST(truncate(object_of(n).c_str(), 0) == 0);
        if (i == 2) {
            std::string garbage(1 << 20, '\x55');
            write_at(n, 8, garbage.data(), garbage.size());
        }
        auto s = attach(n.spec(), with(LATH_STORE_BYTES));
        MUST(set(s.get(), lath_key_bytes("k", 1), "v") == 0);
        whole(s.get());
    }
}

int call_the_store(void* arg, const lath_store_ref*, lath_store_change*) {
    return set(static_cast<lath_store*>(arg), lath_key_number(1), "x");
}

void a_callback_that_calls_the_store() {
    name n;
    auto s = attach(n.spec(), with(LATH_STORE_NUMBERS));
    MUST(lath_store_update(s.get(), lath_key_number(1), call_the_store, s.get()) == -EDEADLK);
    MUST(set(s.get(), lath_key_number(1), "y") == 0);
}

int die_inside(void*, const lath_store_ref*, lath_store_change*) {
    kill(getpid(), SIGKILL);
    return 0;
}

// A full store, its writer dead: recovery needs no room it does not have.
void death_in_a_full_store() {
    name n;
    auto s = attach(n.spec(), with(LATH_STORE_NUMBERS, 8 << 20));
    std::uint64_t items = 0;
    int ret = 0;
    while (!(ret = set(s.get(), lath_key_number(items), std::string(700, 'v'))))
        ++items;
    MUST(ret == -ENOSPC && items > 5000);
    for (int i = 0; i < 3; ++i) {
        auto before = shm_inside_generation(s.get());
        int status =
            in_child([&] { lath_store_update(s.get(), lath_key_number(3), die_inside, nullptr); });
        MUST(WIFSIGNALED(status));
        MUST(lath_store_count(s.get(), nullptr) == static_cast<std::int64_t>(items));
        MUST(shm_inside_generation(s.get()) == before + 1);
        whole(s.get());
        MUST(get(s.get(), lath_key_number(items - 1)) == std::string(700, 'v'));
    }
    MUST(lath_store_delete(s.get(), lath_key_number(0)) == 0);
    MUST(set(s.get(), lath_key_number(0), std::string(700, 'w')) == 0);
}

// What recovery finds free in slabs that were full once is used again.
void recovered_room_is_used() {
    name n;
    auto s = attach(n.spec(), with(LATH_STORE_NUMBERS, 64 << 20));
    auto committed = [&] {
        lath_store_stats st;
        MUST(!lath_store_get_stats(s.get(), &st));
        return st.committed;
    };
    constexpr std::uint64_t items = 30000;
    for (std::uint64_t i = 0; i < items; ++i)
        MUST(!set(s.get(), lath_key_number(i), std::string(700, 'v')));
    for (std::uint64_t i = 0; i < items; i += 2)
        MUST(!lath_store_delete(s.get(), lath_key_number(i)));
    int status =
        in_child([&] { lath_store_update(s.get(), lath_key_number(3), die_inside, nullptr); });
    MUST(WIFSIGNALED(status));
    MUST(lath_store_count(s.get(), nullptr) == items / 2);
    auto before = committed();
    for (std::uint64_t i = 0; i < items; i += 2)
        MUST(!set(s.get(), lath_key_number(i), std::string(700, 'w')));
    MUST(committed() <= before + (2 << 20));
    whole(s.get());
}

// While memory is refused recovery says so, and is done when there is some.
void recovery_without_memory() {
    name n;
    auto s = attach(n.spec(), with(LATH_STORE_BYTES));
    for (int i = 0; i < 100; ++i) {
        std::string k = "key" + std::to_string(i);
        MUST(set(s.get(), lath_key_bytes(k.data(), k.size()), k) == 0);
    }
    in_child([&] { lath_store_update(s.get(), lath_key_bytes("x", 1), die_inside, nullptr); });
    lath_store_refuse = [] { return true; };
    MUST(lath_store_get(s.get(), lath_key_bytes("key7", 4), nullptr, 0) == -ENOMEM);
    MUST(lath_store_count(s.get(), nullptr) == -ENOMEM);
    lath_store_refuse = nullptr;
    MUST(get(s.get(), lath_key_bytes("key7", 4)) == "key7");
    MUST(lath_store_count(s.get(), nullptr) == 100);
    whole(s.get());
}

// ---- several processes ----

struct ledger {
    struct line {
        std::uint64_t started, done, pad[6];
    } of[8];
};

struct work {
    lath_store_keys kind;
    unsigned who;
    std::uint64_t seed;
    model m;

    work(lath_store_keys k, unsigned w, std::uint64_t s) : kind(k), who(w), seed(s), m{k, {}} {}

    std::string key(std::mt19937_64& random) const {
        if (kind == LATH_STORE_NUMBERS)
            return number_text(random() % 150 << 8 | who);
        key_maker keys(kind, 250); // of all processes between one another
        return keys(random) + static_cast<char>('A' + who);
    }

    // Call number i, on s (or nowhere), and what it makes of the keys it touches.
    std::map<std::string, std::string> call(std::uint64_t i, lath_store* s) {
        std::mt19937_64 random(seed * 1000003 + i);
        std::string k = key(random), v = make_value(random);
        v.resize(std::min<std::size_t>(v.size(), 3000));
        std::map<std::string, std::string> now;
        auto there = m.map.find(k);
        std::string old = there == m.map.end() ? "" : there->second;
        auto id = m.key(k);
        int ret = 0;
        switch (random() % 8) {
        case 0:
            now[k] = gone;
            if (s)
                lath_store_delete(s, id);
            break;
        case 1:
            if (old.size() > 5000)
                old.clear();
            now[k] = old + v;
            if (s)
                ret =
                    old.empty() ? set(s, id, v) : lath_store_append(s, id, v.data(), v.size()) < 0;
            break;
        case 2: {
            std::vector<std::string> names(1 + random() % 30), values(names.size());
            std::vector<lath_store_entry> entries;
            for (std::size_t j = 0; j < names.size(); ++j) {
                names[j] = key(random);
                values[j] = now.count(names[j]) ? now[names[j]] : std::to_string(random());
                now[names[j]] = values[j];
            }
            entries.reserve(names.size());
            for (std::size_t j = 0; j < names.size(); ++j)
                entries.push_back({m.key(names[j]), values[j].data(), values[j].size(), 0});
            if (s)
                ret = lath_store_mset(s, names.size(), entries.data(), nullptr) != names.size();
            break;
        }
        case 3:
            if (random() % 4 == 0 && s)
                ret = lath_store_compact(s) < 0;
            break;
        default:
            now[k] = v;
            if (s)
                ret = set(s, id, v);
        }
        if (ret)
            _exit(7);
        return now;
    }
    void apply(const std::map<std::string, std::string>& now) {
        for (const auto& [k, v] : now)
            if (v == gone)
                m.map.erase(k);
            else
                m.map[k] = v;
    }
};

// The program again, as its own process: attaches and goes on where the ledger says.
int worker(char** argv) {
    auto kind = static_cast<lath_store_keys>(std::atoi(argv[2]));
    work w(kind, static_cast<unsigned>(std::atoi(argv[3])),
           static_cast<std::uint64_t>(std::atoll(argv[4])));
    auto* book = static_cast<ledger*>(
        mmap(nullptr, sizeof(ledger), PROT_READ | PROT_WRITE, MAP_SHARED, std::atoi(argv[5]), 0));
    auto until = static_cast<std::uint64_t>(std::atoll(argv[6]));
    auto s = attach(argv[1], with(kind));
    auto& line = book->of[w.who];
    // what is in the store of ours is where the model begins
    lath_store_iter* iter = nullptr;
    lath_store_key key;
    lath_store_ref ref;
    MUST(lath_store_iter_begin(s.get(), nullptr, &iter) == 0);
    while (lath_store_iter_next(iter, &key, &ref) == 1) {
        std::string k = w.m.text(key);
        if (kind == LATH_STORE_NUMBERS ? (key.n & 255) == w.who
                                       : !k.empty() && k.back() == static_cast<char>('A' + w.who))
            w.m.map[k] = view(ref);
    }
    lath_store_iter_end(iter);
    for (std::uint64_t i = line.done; i < until; ++i) {
        __atomic_store_n(&line.started, i + 1, __ATOMIC_SEQ_CST);
        w.apply(w.call(i, s.get()));
        __atomic_store_n(&line.done, i + 1, __ATOMIC_SEQ_CST);
        if (i % 4 == 0) // who lets go and asks again at once is often first
            usleep(100);
        if (kind == LATH_STORE_NUMBERS && i % 16 == 0) {
            std::int64_t now = 0; // one counter of all
            lath_store_incr(s.get(), lath_key_number(~std::uint64_t{0}), 1, &now);
        }
    }
    return 0;
}

pid_t start(const std::string& spec, const work& w, int fd, std::uint64_t until) {
    std::vector<std::string> words = {"shm_test",
                                      spec,
                                      std::to_string(w.kind),
                                      std::to_string(w.who),
                                      std::to_string(w.seed),
                                      std::to_string(fd),
                                      std::to_string(until)};
    std::vector<char*> args;
    args.reserve(words.size() + 1);
    for (auto& word : words)
        args.push_back(word.data());
    args.push_back(nullptr);
    pid_t pid = 0;
    MUST(posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, args.data(), environ) == 0);
    return pid;
}

// It ended by this signal, or had done all its work.
void end(pid_t pid, int signal) {
    int status = 0;
    kill(pid, signal);
    MUST(waitpid(pid, &status, 0) == pid);
    MUST(status == signal || status == 0);
}

// The model up to what was reported; the call that was cut off: each of its keys as before or as
// after.
void settle(lath_store* s, work& w, std::uint64_t& known, ledger::line& line) {
    for (; known < line.done; ++known)
        w.apply(w.call(known, nullptr));
    if (line.started > line.done) {
        for (const auto& [k, v] : w.call(known, nullptr)) {
            auto there = w.m.map.find(k);
            std::string old = there == w.m.map.end() ? gone : there->second,
                        now = get(s, w.m.key(k));
            if (now != old && now != v)
                die("call " + std::to_string(known) + " of " + std::to_string(w.who) + ": '" +
                    now.substr(0, 40) + "', before '" + old.substr(0, 40) + "', after '" +
                    v.substr(0, 40) + "'");
            w.apply({{k, now}});
        }
        line.done = ++known;
    }
    for (const auto& [k, v] : w.m.map)
        if (std::string now = get(s, w.m.key(k)); now != v)
            die("call " + std::to_string(known) + " of " + std::to_string(w.who) +
                " was reported and is lost: " + std::to_string(v.size()) + " bytes, now " +
                now.substr(0, 40));
}

void compare_all(lath_store* s, const std::vector<work>& all) {
    std::map<std::string, std::string> want;
    for (const auto& w : all)
        want.insert(w.m.map.begin(), w.m.map.end());
    lath_store_iter* iter = nullptr;
    lath_store_key key;
    lath_store_ref ref;
    MUST(lath_store_iter_begin(s, nullptr, &iter) == 0);
    while (lath_store_iter_next(iter, &key, &ref) == 1) {
        if (!key.data && key.n == ~std::uint64_t{0})
            continue;
        auto there = want.find(all[0].m.text(key));
        MUST(there != want.end() && there->second == view(ref));
        want.erase(there);
    }
    lath_store_iter_end(iter);
    MUST(want.empty());
    whole(s);
}

// kills == 0: they work to their end. Else each has so many calls a life that it seldom comes to
// its end, and that following them here takes no longer than making them.
void processes(lath_store_keys kind, unsigned count, int kills) {
    name n;
    auto s = attach(n.spec(), with(kind));
    int fd = memfd_create("ledger", 0);
    MUST(fd >= 0 && !ftruncate(fd, sizeof(ledger)));
    auto* book = static_cast<ledger*>(
        mmap(nullptr, sizeof(ledger), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    const std::uint64_t calls_a_life = kills ? 2000 : 4000;
    std::vector<work> all;
    std::vector<pid_t> pids;
    std::vector<std::uint64_t> known(count);
    std::mt19937_64 random(kills ? 5 : 6);
    auto generation = shm_inside_generation(s.get());
    all.reserve(count);
    pids.reserve(count);
    for (unsigned i = 0; i < count; ++i) {
        all.emplace_back(kind, i, random() % 1000000);
        pids.push_back(start(n.spec(), all[i], fd, calls_a_life));
    }
    for (int k = 0; k < kills; ++k) {
        auto i = static_cast<unsigned>(random() % count);
        usleep(static_cast<useconds_t>(1000 + random() % 12000));
        end(pids[i], SIGKILL);
        whole(s.get());
        settle(s.get(), all[i], known[i], book->of[i]);
        pids[i] = start(n.spec(), all[i], fd, known[i] + calls_a_life);
    }
    for (pid_t pid : pids)
        end(pid, kills ? SIGKILL : 0);
    std::uint64_t calls = 0;
    for (unsigned i = 0; i < count; ++i) {
        settle(s.get(), all[i], known[i], book->of[i]);
        calls += known[i];
    }
    compare_all(s.get(), all);
    if (!kills && kind == LATH_STORE_NUMBERS)
        MUST(get(s.get(), lath_key_number(~std::uint64_t{0})) ==
             std::to_string(count * (calls_a_life / 16)));
    std::printf("%u processes, %d kills: %llu calls, %llu recoveries\n", count, kills,
                static_cast<unsigned long long>(calls),
                static_cast<unsigned long long>(shm_inside_generation(s.get()) - generation));
    munmap(book, sizeof(ledger));
    close(fd);
}

// A child that only forked goes on with its parent's handle, threads beside it or not.
void forks() {
    name n;
    auto s = attach(n.spec(), with(LATH_STORE_NUMBERS));
    std::thread beside([&] {
        for (int i = 0; i < 20000; ++i)
            lath_store_incr(s.get(), lath_key_number(1), 1, nullptr);
    });
    for (int i = 0; i < 30; ++i) {
        int status = in_child([&] {
            for (int j = 0; j < 100; ++j)
                if (lath_store_incr(s.get(), lath_key_number(1), 1, nullptr))
                    _exit(1);
        });
        MUST(WIFEXITED(status) && !WEXITSTATUS(status));
    }
    beside.join();
    MUST(get(s.get(), lath_key_number(1)) == "23000");
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 7)
        return worker(argv);
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    bool many = std::getenv("LATH_LONG") != nullptr;
    stays_until_removed();
    what_is_refused();
    without_permission();
    a_full_file_system();
    no_room_for_more();
    its_addresses_are_taken();
    a_dead_maker();
    a_callback_that_calls_the_store();
    death_in_a_full_store();
    recovered_room_is_used();
    recovery_without_memory();
    forks();
    for (auto kind : {LATH_STORE_NUMBERS, LATH_STORE_BYTES}) {
        processes(kind, 4, 0);
        processes(kind, 3, many ? 3000 : 100 / LATH_PART);
    }
    return 0;
}
