// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// fork(): parent and child go on with what they have, whatever other threads were doing. A child
// that does not end within its time was left waiting for a thread that it does not have.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#ifdef LATH_URCU
#include <urcu/urcu-memb.h>
#endif

#include "fork/children.hpp"
#include "lathwork/cursor.h"
#include "lathwork/forrest.h"
#include "lathwork/hole.h"
#include "lathwork/index.h"
#include "lathwork/space.h"
#include "lathwork/store.h"

namespace {

// The default flavour for threads that do not register: the library does it on their first use.
const lath_rcu by_itself = [] {
    lath_rcu rcu = lath_rcu_auto;
    rcu.register_thread = rcu.unregister_thread = nullptr;
    return rcu;
}();

// ---- lists ----

constexpr uint64_t keys = 4000;

void insert_at_cursor(lath_index* list, uint64_t key, const lath_item* item) {
    lath_cursor cursor;

    lath_cursor_init(&cursor, list);
    if (!lath_cursor_lock(&cursor, key, nullptr, nullptr))
        lath_cursor_insert(&cursor, item, nullptr);
}

void change_list(lath_index* list, unsigned who, unsigned turn) {
    uint64_t r = mix(who * 1000003ull + turn), key = r % keys * 16;
    lath_item item = {key, 4, r}, other;
    uint64_t batch[20];
    lath_item items[20];

    for (unsigned i = 0; i < 20; ++i) {
        batch[i] = mix(r + i) % keys * 16;
        items[i] = {batch[i], 4, i};
    }
    switch (r >> 40 & 15) {
    case 0: {
        lath_item wide = {key, 4000, r};
        lath_index_store_range(list, &wide, nullptr, nullptr);
        break;
    }
    case 1:
        lath_index_erase_range(list, key, 2000, nullptr, nullptr);
        break;
    case 2:
        lath_index_resize(list, key, 8);
        break;
    case 3:
        lath_index_split(list, key + 2, r);
        break;
    case 4:
        lath_index_insert_batch(list, 20, items, nullptr);
        break;
    case 5:
        lath_index_erase_batch(list, 20, batch, nullptr);
        break;
    case 6:
        insert_at_cursor(list, key, &item);
        break;
    case 7: {
        lath_hole_request want{};
        want.size = 4;
        want.align = 4;
        lath_index_insert_hole(list, &want, r, &key);
        break;
    }
    case 8: {
        lath_index_stats stats;
        lath_index_get_stats(list, &stats);
        break;
    }
    case 9:
        lath_index_floor_item(list, key, &other);
        break;
    case 10:
        lath_index_ceiling_item(list, key, &other);
        break;
    case 11:
    case 12:
        lath_index_erase_item(list, key, &other);
        break;
    default:
        lath_index_insert_item(list, &item, nullptr);
    }
}

void whole_list(lath_index* list) {
    char text[200] = "";
    if (int rule = lath_index_verify(list, 5, text, sizeof(text)))
        die("rule " + std::to_string(rule) + ": " + text);
}

uint64_t walk_list(lath_index* list) {
    lath_cursor cursor;
    lath_item item;
    uint64_t n = 0;
    lath_cursor_init(&cursor, list);
    while (lath_cursor_next(&cursor, &item))
        n++;
    return n;
}

void use_list(lath_index* list, const lath_rcu* rcu) {
    lath_item item = {1ull << 40, 1, 1}, found;
    whole_list(list);
    MUST(walk_list(list) == lath_index_count(list));
    for (unsigned i = 0; i < 1000; ++i)
        change_list(list, 99, i);
    lath_index_insert_item(list, &item, nullptr);
    MUST(!lath_index_lookup_item(list, item.key, &found) && found.value == 1);
    MUST(!lath_index_erase_item(list, item.key, &found));
    whole_list(list);
    rcu->synchronize();
    rcu->drain();
    lath_index_fini(list, nullptr, nullptr);
}

void list_of_kind(const lath_rcu* rcu, unsigned flags, int forks) {
    enrolled here(rcu);
    lath_index list;
    lath_config config = LATH_CONFIG_INIT;
    config.rcu = rcu;
    config.flags = flags;
    MUST(!lath_index_init(&list, &config));
    {
        crowd writers(8, [&](unsigned who, unsigned turn) {
            static thread_local enrolled me(rcu);
            change_list(&list, who, turn);
        });
        for (int i = 0; i < forks; ++i)
            in_child([&] { use_list(&list, rcu); });
    }
    use_list(&list, rcu);
}

void list() {
    for (const lath_rcu* rcu : {&by_itself, &lath_rcu_auto, &lath_rcu_single})
        for (unsigned flags : {0u, unsigned(LATH_HOLES), unsigned(LATH_HOLES | LATH_NODE_EACH)})
            list_of_kind(rcu, flags, rounds);
}

// ---- stores ----

struct scratch { // a directory that goes when its maker does, not with a child
    std::filesystem::path path;
    pid_t maker = getpid();
    scratch() {
        std::string name = (std::filesystem::temp_directory_path() / "lath-fork-XXXXXX").string();
        MUST(mkdtemp(name.data()));
        path = name;
    }
    ~scratch() {
        if (getpid() == maker)
            std::filesystem::remove_all(path);
    }
    std::string file(const std::string& name) const { return path / name; }
};

lath_store* open_store(const std::string& spec, lath_store_keys kind, unsigned flags = 0,
                       uint64_t limit = 0, const lath_rcu* rcu = nullptr) {
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    lath_store* store = nullptr;
    char why[200] = "";
    options.keys = kind;
    options.flags = flags;
    options.limit = limit;
    options.rcu = rcu;
    options.pages = LATH_PAGES_SMALL; // a write after a fork copies a page
    options.reserve = 1ull << 30;
    options.why = why;
    options.why_size = sizeof(why);
    if (lath_store_open(&store, spec.c_str(), &options))
        die(spec + ": " + why);
    return store;
}

struct key_of {
    char text[40];
    lath_store_key key;
    key_of(lath_store* store, uint64_t n) {
        int size = std::snprintf(text, sizeof(text), "a common beginning %llu",
                                 static_cast<unsigned long long>(n));
        key = lath_store_kind(store) == LATH_STORE_NUMBERS
                  ? lath_key_number(n)
                  : lath_key_bytes(text, static_cast<size_t>(size));
    }
};

void change_store(lath_store* store, unsigned who, unsigned turn) {
    static const char text[3000] = "what it says does not matter";
    uint64_t r = mix(who * 1000003ull + turn), n = r % 5000;
    size_t size = r >> 20 & 1 ? r >> 24 & 31 : r >> 24 & 1023;
    key_of key(store, n), other(store, n + 1);

    switch (r >> 40 & 15) {
    case 0:
    case 1:
    case 2:
        lath_store_delete(store, key.key);
        break;
    case 3: {
        lath_store_entry entries[2] = {{key.key, text, size, 0}, {other.key, text, 3, 0}};
        lath_store_mset(store, 2, entries, nullptr);
        break;
    }
    case 4: {
        lath_store_key two[2] = {key.key, other.key};
        lath_store_mdel(store, 2, two, nullptr);
        break;
    }
    case 5:
        lath_store_append(store, key.key, text, 3);
        break;
    case 6:
        lath_store_expire(store, key.key, 1);
        break;
    case 7: {
        lath_store_iter* iter;
        lath_store_key at;
        lath_store_ref ref;
        if (lath_store_iter_begin(store, nullptr, &iter))
            break;
        for (int i = 0; i < 40 && lath_store_iter_next(iter, &at, &ref) > 0; ++i)
            ;
        lath_store_iter_end(iter);
        break;
    }
    case 8: {
        lath_store_stats stats;
        if (!(r >> 50 & 255))
            lath_store_get_stats(store, &stats);
        break;
    }
    case 9:
        if (!who && !(r >> 50 & 63))
            lath_store_compact(store);
        else if (who == 1 && !(r >> 50 & 63))
            lath_store_sweep(store);
        break;
    default:
        lath_store_set(store, key.key, text, size);
    }
}

uint64_t walk_store(lath_store* store) {
    lath_store_iter* iter;
    lath_store_key key;
    lath_store_ref ref;
    uint64_t n = 0;
    MUST(!lath_store_iter_begin(store, nullptr, &iter));
    while (lath_store_iter_next(iter, &key, &ref) > 0)
        n++;
    lath_store_iter_end(iter);
    return n;
}

uint64_t pending_of(lath_store* store) {
    lath_store_stats stats;
    MUST(!lath_store_get_stats(store, &stats));
    return stats.pending_bytes;
}

void use_store(lath_store* store, const std::string& file, bool alone) {
    char value[3000];
    key_of mine(store, 1ull << 40);

    for (unsigned i = 0; i < 1000; ++i)
        change_store(store, 0, i + 1);
    MUST(!lath_store_set(store, mine.key, "mine", 4));
    MUST(lath_store_get(store, mine.key, value, sizeof(value)) == 4 &&
         !std::memcmp(value, "mine", 4));
    lath_store_sweep(store);
    MUST(!lath_store_save(store, file.c_str(), nullptr, nullptr));
    if (alone) {
        lath_store* copy = open_store("file:" + file, lath_store_kind(store));
        MUST(walk_store(copy) == walk_store(store));
        MUST(!lath_store_close(copy));
    }
    MUST(!lath_store_delete(store, mine.key));
    MUST(lath_store_compact(store) >= 0);
    if (alone)
        MUST(!pending_of(store));
    MUST(!lath_store_close(store));
}

void store_of_kind(const std::string& spec, lath_store_keys kind, unsigned flags, uint64_t limit,
                   const lath_rcu* rcu) {
    enrolled here(rcu ? rcu : &by_itself);
    scratch dir;
    lath_store* store = open_store(spec, kind, flags, limit, rcu);
    bool alone = spec == "mem:";
    {
        crowd writers(8, [&](unsigned who, unsigned turn) { change_store(store, who, turn); });
        for (int i = 0; i < rounds / 2; ++i)
            in_child([&] { use_store(store, dir.file("child"), alone); });
    }
    use_store(store, dir.file("parent"), alone);
}

void store() {
    for (auto kind : {LATH_STORE_NUMBERS, LATH_STORE_BYTES}) {
        store_of_kind("mem:", kind, 0, 0, nullptr);
        store_of_kind("mem:", kind, LATH_STORE_EVICT, 16ull << 20, &lath_rcu_auto);
    }
}

// The child is one process more in a shared store, not the owner of what the parent's threads hold.
void shm() {
#ifdef LATH_FEW_STEPS
    std::puts("skipped: ThreadSanitizer does not follow a shared mapping into a child");
    std::exit(77);
#endif
    for (auto kind : {LATH_STORE_NUMBERS, LATH_STORE_BYTES}) {
        std::string spec = "shm:lath-fork-" + std::to_string(getpid());
        store_of_kind(spec, kind, 0, 64ull << 20, nullptr);
        lath_store_remove(spec.c_str(), nullptr, 0);
    }
}

// ---- space ----

void space() {
    lath_space_config config = LATH_SPACE_CONFIG_INIT;
    lath_space* space;
    config.high = 1ull << 40;
    config.unit = 4096;
    config.flags = 0;
    MUST(!lath_space_create(&space, &config));
    auto change = [&](std::vector<uint64_t>& have, uint64_t r) {
        uint64_t size = 4096ull << (r % 8), key;
        if (r >> 20 & 1 && !have.empty()) {
            lath_space_free(space, have.back() & ~4095ull, 4096ull << (have.back() & 7));
            have.pop_back();
        } else if (!lath_space_alloc(space, size, 0, 0, &key)) {
            have.push_back(key | (r % 8));
        }
        if (!(r >> 30 & 1023)) {
            lath_space_stats stats;
            lath_space_get_stats(space, &stats);
            lath_space_trim(space);
        }
    };
    auto use = [&] {
        std::vector<uint64_t> have;
        char text[200] = "";
        for (unsigned i = 0; i < 20000; ++i)
            change(have, mix(i));
        if (lath_space_verify(space, text, sizeof(text)))
            die(text);
        lath_space_destroy(space);
    };
    {
        crowd writers(8, [&](unsigned who, unsigned turn) {
            static thread_local std::vector<uint64_t> have;
            change(have, mix(who * 1000003ull + turn));
        });
        for (int i = 0; i < rounds; ++i)
            in_child(use);
    }
    use();
}

// ---- inside ----

struct thing {
    lath_rcu_head head;
    std::atomic<int> ran;
};

void thing_ran(lath_rcu_head* head) { reinterpret_cast<thing*>(head)->ran++; }

// What a section protects stays, on both sides of the fork, until the section ends.
void in_section(const lath_rcu* rcu) {
    enrolled here(rcu);
    static thing first, second;
    lath_store* store = open_store("mem:", LATH_STORE_BYTES, 0, 0, rcu);
    key_of key(store, 1), last(store, 2);
    lath_store_iter* iter;
    lath_store_key at;
    lath_store_ref ref;

    first.ran = second.ran = 0;
    MUST(!lath_store_set(store, key.key, "a value that is not a word", 23));
    MUST(!lath_store_set(store, last.key, "another one", 11));
    MUST(!lath_store_iter_begin(store, nullptr, &iter));
    MUST(lath_store_iter_next(iter, &at, &ref) == 1);
    rcu->read_lock();
    rcu->read_lock();
    std::thread(
        [&] { // what is retired now waits for this section, and so does the one who reclaims it
            enrolled me(rcu);
            MUST(!lath_store_delete(store, key.key));
            rcu->call(&first.head, thing_ran);
        })
        .join();
    nap(50);
    auto go_on = [&] {
        nap(30);
        rcu->read_unlock();
        rcu->call(&second.head, thing_ran);
        nap(30);
        MUST(!first.ran && !second.ran);
        MUST(ref.size == 23 && !std::memcmp(ref.data, "a value that is not a word", 23));
        rcu->read_unlock();
        MUST(lath_store_iter_next(iter, &at, &ref) >= 0);
        lath_store_iter_end(iter);
        MUST(soon([&] { return first.ran == 1 && second.ran == 1; }));
        rcu->drain();
        MUST(!lath_store_close(store));
    };
    in_child(go_on);
    char program[] = "true", *args[] = {program, nullptr};
    pid_t pid = 0;
    MUST(!posix_spawnp(&pid, "true", nullptr, nullptr, args, nullptr));
    end_of(pid);
    go_on();
}

void section() {
    in_section(&by_itself);
    in_section(&lath_rcu_auto);
}

// ---- in callbacks ----

pid_t forked;
std::thread::id first_thread;

int decide_and_fork(void* arg, const lath_store_ref*, lath_store_change* change) {
    forked = fork();
    MUST(forked >= 0);
    if (!forked)
        alarm(child_seconds);
    change->action = LATH_STORE_PUT;
    change->value = arg;
    change->size = 3;
    return 0;
}

void fork_at_item(void* arg, const lath_item*) {
    auto* left = static_cast<int*>(arg);
    if ((*left)-- == 1) {
        forked = fork();
        MUST(forked >= 0);
        if (!forked)
            alarm(child_seconds);
    }
}

void leave(lath_rcu_head*) { _exit(0); }

// Called by the thread that drains, or by the library's: then that one goes on in the child.
void fork_when_retired(lath_rcu_head* head) {
    static lath_rcu_head last;
    forked = fork();
    MUST(forked >= 0);
    if (!forked) {
        alarm(child_seconds);
        if (std::this_thread::get_id() != first_thread)
            lath_rcu_auto.call(&last, leave);
    }
    thing_ran(head);
}

// The child ends, the parent looks how it did.
void both_go_on() {
    if (!forked)
        _exit(0);
    end_of(forked);
    forked = -1;
}

void callbacks() {
    static thing retired;
    first_thread = std::this_thread::get_id();
    lath_store* store = open_store("mem:", LATH_STORE_BYTES);
    lath_index list;
    MUST(!lath_index_init(&list, nullptr));
    auto writers = std::make_unique<crowd>(4u, [&](unsigned who, unsigned turn) {
        change_store(store, who + 2, turn);
        change_list(&list, who, turn);
    });
    for (int i = 0; i < 5; ++i) {
        key_of key(store, 1ull << 40);
        lath_item item = {1ull << 40, 5, 1};
        char new_value[] = "new", value[8];
        int left = 1;

        MUST(!lath_store_update(store, key.key, decide_and_fork, new_value));
        MUST(lath_store_get(store, key.key, value, sizeof(value)) == 3);
        if (!forked) {
            lath_store_compact(store);
            MUST(!lath_store_close(store));
        }
        both_go_on();

        MUST(!lath_index_insert_item(&list, &item, nullptr));
        MUST(lath_index_erase_range(&list, item.key, 100, fork_at_item, &left) == 1);
        if (!forked) {
            whole_list(&list);
            lath_index_fini(&list, nullptr, nullptr);
        }
        both_go_on();

        retired.ran = 0; // by the worker, or by the thread that drains
        lath_rcu_auto.call(&retired.head, fork_when_retired);
        if (i % 2)
            lath_rcu_auto.drain();
        MUST(soon([&] { return retired.ran == 1; }));
        if (!forked) {
            thing again{};
            lath_rcu_auto.call(&again.head, thing_ran);
            lath_rcu_auto.drain();
            MUST(again.ran == 1);
        }
        both_go_on();
    }
    writers.reset();
    lath_index_fini(&list, nullptr, nullptr);
    MUST(!lath_store_close(store));
}

// ---- children that go on ----

void write_on(lath_store* store, unsigned turns) {
    static const char text[500] = "x";
    for (unsigned i = 0; i < turns; ++i)
        MUST(!lath_store_set(store, key_of(store, i % 100).key, text, 200 + i % 300));
    MUST(soon([&] { return pending_of(store) < 1 << 20; }));
}

void goes_on() {
    for (auto kind : {LATH_STORE_NUMBERS, LATH_STORE_BYTES}) {
        lath_store* store =
            open_store("mem:", kind, kind == LATH_STORE_NUMBERS ? LATH_STORE_VERSIONS : 0);
        write_on(store, 20000);
        in_child([&] {
            write_on(store, many * 200);
            MUST(!lath_store_close(store));
        });
        write_on(store, 20000);
        MUST(!lath_store_close(store));
    }
}

void descend(lath_store* store, int depth) {
    crowd writers(2, [&](unsigned who, unsigned turn) { change_store(store, who + 2, turn); });
    write_on(store, 2000);
    if (depth)
        in_child([&] {
            write_on(store, 2000);
            descend(store, depth - 1);
            lath_store_compact(store);
            MUST(!lath_store_close(store));
        });
    write_on(store, 2000);
}

void of_fork() {
    lath_store* store = open_store("mem:", LATH_STORE_BYTES);
    descend(store, 4);
    MUST(!lath_store_close(store));
}

// New threads of the child have the stacks of threads that it does not have.
void threads() {
    for (const lath_rcu* rcu : {&by_itself, &lath_rcu_auto}) {
        lath_store* store = open_store("mem:", LATH_STORE_BYTES, 0, 0, rcu);
        enrolled here(rcu);
        auto work = [&](unsigned who, unsigned turn) {
            static thread_local enrolled me(rcu);
            change_store(store, who, turn);
        };
        auto writers = std::make_unique<crowd>(8u, work);
        for (int i = 0; i < rounds / 3; ++i)
            in_child([&] {
                for (int again = 0; again < 2; ++again)
                    crowd others(12, work);
                lath_store_compact(store);
                MUST(!lath_store_close(store));
            });
        writers.reset();
        MUST(!lath_store_close(store));
    }
}

// Several threads fork at a time, some of them in the middle of a call.
void at_once() {
    lath_store* store = open_store("mem:", LATH_STORE_BYTES);
    {
        crowd writers(2, [&](unsigned who, unsigned turn) { change_store(store, who, turn); });
        std::vector<std::thread> forkers;
        for (unsigned t = 0; t < 4; ++t)
            forkers.emplace_back([&, t] {
                for (int i = 0; i < rounds; ++i) {
                    pid_t pid = -1;
                    auto fork_here = [](void* arg, const lath_store_ref*, lath_store_change*) {
                        auto* made = static_cast<pid_t*>(arg);
                        *made = fork();
                        if (!*made)
                            alarm(child_seconds);
                        return 0;
                    };
                    if (t % 2)
                        MUST(!lath_store_update(store, key_of(store, t).key, fork_here, &pid));
                    else
                        fork_here(&pid, nullptr, nullptr);
                    MUST(pid >= 0);
                    if (!pid) {
                        lath_store_compact(store);
                        _exit(lath_store_close(store));
                    }
                    end_of(pid);
                }
            });
        for (auto& t : forkers)
            t.join();
    }
    MUST(!lath_store_close(store));
}

// Waits in a callback until the other thread is in its own, then forks.
int fork_beside_the_other(void* arg, const lath_store_ref*, lath_store_change*) {
    auto* inside = static_cast<std::atomic<int>*>(arg);
    ++*inside;
    MUST(soon([&] { return *inside >= 2; }));
    pid_t pid = fork();
    MUST(pid >= 0);
    if (!pid)
        _exit(0);
    end_of(pid);
    return 0;
}

// Two threads fork, each within a call: neither waits for the end of the other one's.
void both_inside() {
    lath_store* store = open_store("mem:", LATH_STORE_NUMBERS);
    alarm(child_seconds);
    for (int i = 0; i < rounds; ++i) {
        std::atomic<int> inside{0}, done{0};
        auto call = [&](uint64_t key) {
            MUST(!lath_store_update(store, lath_key_number(key), fork_beside_the_other, &inside));
            ++done; // a thread that has ended is missed by the child of the other one
            MUST(soon([&] { return done == 2; }));
        };
        std::thread other(call, 1);
        call(2);
        other.join();
    }
    alarm(0);
    MUST(!lath_store_close(store));
}

long own_pages() {
    long all = 0, here = 0, shared = 0;
    FILE* f = std::fopen("/proc/self/statm", "r");
    MUST(f && std::fscanf(f, "%ld %ld %ld", &all, &here, &shared) == 3);
    std::fclose(f);
    return here - shared;
}

ptrdiff_t entries_of(const char* directory) {
    return std::distance(std::filesystem::directory_iterator(directory), {});
}

void thousand() {
    lath_store* store = open_store("mem:", LATH_STORE_BYTES);
    write_on(store, 20000);
    long before = 0;
    ptrdiff_t tasks = 0, files = 0;
    for (int i = 0; i < many; ++i) {
        if (i == many / 10) { // all that is made once is there
            before = own_pages();
            tasks = entries_of("/proc/self/task");
            files = entries_of("/proc/self/fd");
        }
        for (unsigned n = 0; n < 50; ++n)
            MUST(!lath_store_set(store, key_of(store, n).key, "again and again", 15));
        end_of(fork_child([] {}));
    }
    long grown = (own_pages() - before) * sysconf(_SC_PAGESIZE);
#ifndef CHECKER
    if (grown > 4 << 20)
        die(std::to_string(grown) + " bytes more after all the forks");
#endif
    (void)grown;
    MUST(entries_of("/proc/self/task") == tasks && entries_of("/proc/self/fd") == files);
    MUST(!lath_store_close(store));
}

void a_daemon() {
    scratch dir;
    std::string file = dir.file("db");
    int ends[2];
    MUST(!pipe(ends));
    in_child([&] {
        lath_store* store = open_store("file:" + file, LATH_STORE_BYTES);
        write_on(store, 20000);
        std::vector<char> much(256u << 20, 1); // so that the kernel takes a while to end the parent
        MUST(!daemon(1, 1)); // the parent ends, its child goes on
        alarm(child_seconds);
        MUST(!lath_store_set(store, key_of(store, 7).key, "daemon", 6));
        char said = lath_store_close(store) ? 'n' : 'y';
        MUST(write(ends[1], &said, 1) == 1);
    });
    close(ends[1]);
    char said = 0, value[8];
    if (read(ends[0], &said, 1) != 1 || said != 'y')
        die("the daemon could not close its store");
    close(ends[0]);
    lath_store* store = open_store("file:" + file, LATH_STORE_BYTES);
    MUST(lath_store_get(store, key_of(store, 7).key, value, sizeof(value)) == 6);
    MUST(!lath_store_close(store));
}

// Fork handlers of the program that call the library while it is held up: those it registered
// before the library's first use run after the library's before the fork, and before them
// afterwards.
lath_index* handled;
uint64_t handled_key;

void change_in_handler() {
    lath_item item = {handled_key += 16, 4, 1}, found;
    MUST(!lath_index_insert_item(handled, &item, nullptr));
    MUST(!lath_index_lookup_item(handled, item.key, &found));
}

void handlers() {
    lath_index list;
    handled = &list;
    MUST(!pthread_atfork(change_in_handler, change_in_handler, change_in_handler));
    // the thread that forks has made no call before
    std::thread([&] { MUST(!lath_index_init(&list, nullptr)); }).join();
    alarm(child_seconds);
    for (uint64_t i = 0; i < 10; ++i) {
        in_child([&] {
            MUST(lath_index_count(&list) == 2 * i + 2);
            lath_index_fini(&list, nullptr, nullptr);
        });
        MUST(lath_index_count(&list) == 2 * i + 2);
    }
    alarm(0);
    lath_index_fini(&list, nullptr, nullptr);
}

void forrest_handles() {
    FORREST* first = forrest_alloc();
    MUST(first);
    crowd openers(4, [](unsigned, unsigned) {
        FORREST* handle = forrest_alloc();
        MUST(handle);
        forrest_cleanup(handle);
    });
    for (int i = 0; i < rounds; ++i)
        in_child([] {
            FORREST* handle = forrest_alloc();
            MUST(handle);
            forrest_cleanup(handle);
        });
    forrest_cleanup(first);
}

#if defined(LATH_URCU) && !defined(LATH_FEW_STEPS)
// A flavour of the caller's, at rest when the program forks: the program tells the flavour, and
// nothing else.
const lath_rcu own = {
    "own",
    [] { urcu_memb_read_lock(); },
    [] { urcu_memb_read_unlock(); },
    [](lath_rcu_head* head, void (*func)(lath_rcu_head*)) {
        urcu_memb_call_rcu(reinterpret_cast<rcu_head*>(head),
                           reinterpret_cast<void (*)(rcu_head*)>(func));
    },
    [] { urcu_memb_synchronize_rcu(); },
    [] { urcu_memb_barrier(); },
    [] { urcu_memb_register_thread(); },
    [] { urcu_memb_unregister_thread(); },
};

void own_flavour() {
    lath_index first; // the library's handlers are registered before the flavour's (rule F3)
    MUST(!lath_index_init(&first, nullptr));
    MUST(!pthread_atfork(urcu_memb_call_rcu_before_fork, urcu_memb_call_rcu_after_fork_parent,
                         urcu_memb_call_rcu_after_fork_child));
    for (const lath_rcu* rcu : std::initializer_list<const lath_rcu*>{&own, &lath_rcu_auto}) {
        enrolled here(rcu);
        lath_index list;
        lath_config config = LATH_CONFIG_INIT;
        config.rcu = rcu;
        MUST(!lath_index_init(&list, &config));
        for (unsigned i = 0; i < 5000; ++i)
            change_list(&list, 1, i);
        in_child([&] { use_list(&list, rcu); });
        use_list(&list, rcu);
    }
    lath_index_fini(&first, nullptr, nullptr);
}
#else
void own_flavour() {
#ifdef LATH_URCU
    std::puts("skipped: liburcu is not instrumented");
#else
    std::puts("skipped: LATH_URCU is off");
#endif
    std::exit(77);
}
#endif

// The same in a process whose kernel lacks membarrier().
void no_membarrier() {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        std::puts("skipped: no seccomp filters here");
        std::exit(77);
    }
    MUST(syscall(SYS_membarrier, 0, 0, 0) == -1);
    list_of_kind(&lath_rcu_auto, LATH_HOLES, rounds);
    store_of_kind("mem:", LATH_STORE_BYTES, 0, 0, nullptr);
    section();
    threads();
}

} // namespace

int main(int argc, char** argv) {
    const std::pair<const char*, void (*)()> cases[] = {
        {"list", list},
        {"store", store},
        {"shm", shm},
        {"space", space},
        {"section", section},
        {"callbacks", callbacks},
        {"goes_on", goes_on},
        {"of_fork", of_fork},
        {"threads", threads},
        {"at_once", at_once},
        {"both_inside", both_inside},
        {"thousand", thousand},
        {"daemon", a_daemon},
        {"handlers", handlers},
        {"forrest", forrest_handles},
        {"own_flavour", own_flavour},
        {"no_membarrier", no_membarrier},
    };
    for (auto& [name, run] : cases)
        if (argc == 2 && !std::strcmp(argv[1], name)) {
            run();
            return 0;
        }
    die("which case?");
}
