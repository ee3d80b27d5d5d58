// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Shared stores and death at every point.
//
// steps: a child makes one call under the debugger's single step. Each state that the shared memory
// goes through, at every instruction, is kept; then each is put back as if the child had been
// killed there, and the next call must find what was before the call or what is after it, whole,
// and after it from some state on. The same for a child that recovers. The same with recovery made
// wrong: then it must be noticed.
// kills: children write and are killed (SIGKILL) at random moments; everything they reported is
// there.
#include "model.hpp"
#include "base/must.hpp"
#include "shm_inside.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <optional>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace storetest;

namespace {

#ifdef __OPTIMIZE__
constexpr bool few = false;
#else
constexpr bool few = true; // each is many more instructions
#endif

bool long_run() { return std::getenv("LATH_LONG") != nullptr; }

// A store under a name of this test's, gone when the test is.
store_ptr open_named(lath_store_keys kind, std::uint64_t limit = 8 << 20) {
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    options.keys = kind;
    options.limit = limit;
    auto s = open_store(options, "shm:");
    MUST(s);
    return s;
}

// What is in the store, or why that cannot be said.
struct contents {
    std::map<std::string, std::string> map;
    std::string wrong;
};

contents read_all(lath_store* s, const model& m) {
    contents c;
    char why[200] = "";
    if (shm_inside_verify(s, why, sizeof why)) {
        c.wrong = why;
        return c;
    }
    lath_store_iter* iter = nullptr;
    if (lath_store_iter_begin(s, nullptr, &iter)) {
        c.wrong = "no iterator";
        return c;
    }
    lath_store_key key;
    lath_store_ref ref;
    int ret;
    while ((ret = lath_store_iter_next(iter, &key, &ref)) == 1)
        c.map[m.text(key)] = view(ref);
    lath_store_iter_end(iter);
    lath_store_stats stats;
    if (ret || lath_store_get_stats(s, &stats) || stats.items != c.map.size())
        c.wrong = "items and entries differ";
    for (const auto& [k, v] : c.map) {
        std::string buf(v.size(), '\0');
        if (lath_store_get(s, m.key(k), buf.data(), buf.size()) !=
                static_cast<std::int64_t>(v.size()) ||
            buf != v)
            c.wrong = "a get finds something else than the iterator";
    }
    return c;
}

// Slabs of many sizes come, are filled, and go.
void use(lath_store* s, const model& m) {
    constexpr std::uint64_t from = ~std::uint64_t{0} - 60;
    for (std::uint64_t i = 0; i < 48; ++i) {
        std::string k = number_text(from + i), v(i * i * 2, static_cast<char>('A' + i % 26));
        lath_store_set(s, m.key(k), v.data(), v.size());
    }
    for (std::uint64_t i = 0; i < 48; ++i) {
        std::string k = number_text(from + i), v(i * i * 2, '\0');
        MUST(lath_store_get(s, m.key(k), v.data(), v.size()) ==
             static_cast<std::int64_t>(v.size()));
        MUST(v.find_first_not_of(static_cast<char>('A' + i % 26)) == std::string::npos);
        MUST(lath_store_delete(s, m.key(k)) == 0);
    }
}

// ---- every state of the shared memory while a child makes a call ----

struct word_change {
    std::size_t at;
    std::uint64_t value;
};
struct state {
    std::vector<word_change> changes; // from the state before
    bool reported = false; // the call had returned
};

class image {
public:
    explicit image(lath_store* s) {
        regions_.resize(shm_inside_regions(s, list_.data()));
        for (std::size_t i = 0; i < regions_.size(); ++i)
            regions_[i] = list_[i];
    }
    std::vector<unsigned char> copy() const {
        std::vector<unsigned char> all;
        for (const auto& r : regions_)
            all.insert(all.end(), r.at, r.at + r.size);
        return all;
    }
    void put_back(const std::vector<unsigned char>& all) const {
        const unsigned char* from = all.data();
        for (const auto& r : regions_) {
            std::memcpy(r.at, from, r.size);
            from += r.size;
        }
    }
    // Words that differ from `known`, which follows.
    void update(std::vector<unsigned char>& known, std::vector<word_change>& changes) const {
        std::size_t base = 0;
        for (const auto& r : regions_) {
            for (std::size_t page = 0; page < r.size; page += 4096) {
                std::size_t n = std::min<std::size_t>(4096, r.size - page);
                if (!std::memcmp(r.at + page, &known[base + page], n))
                    continue;
                for (std::size_t i = page; i < page + n; i += 8) {
                    if (!std::memcmp(r.at + i, &known[base + i], 8))
                        continue;
                    word_change c{base + i, 0};
                    std::memcpy(&c.value, r.at + i, 8);
                    std::memcpy(&known[base + i], &c.value, 8);
                    changes.push_back(c);
                }
            }
            base += r.size;
        }
    }

private:
    std::array<shm_region, 16> list_{};
    std::vector<shm_region> regions_;
};

using call = std::function<void(lath_store*)>;

// Empty: this machine lets nobody single-step.
std::vector<state> record(lath_store* s, const image& img, const call& fn) {
    auto* reported = static_cast<volatile int*>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    std::vector<state> states;
    auto known = img.copy();
    pid_t pid = fork();
    if (!pid) {
        if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr))
            _exit(1);
        raise(SIGSTOP);
        fn(s);
        *reported = 1;
        _exit(0);
    }
    int status = 0;
    MUST(waitpid(pid, &status, 0) == pid);
    states.emplace_back();
    while (WIFSTOPPED(status)) {
        if (ptrace(PTRACE_SINGLESTEP, pid, nullptr, nullptr))
            break;
        MUST(waitpid(pid, &status, 0) == pid);
        state next;
        img.update(known, next.changes);
        if (!next.changes.empty())
            states.push_back(std::move(next));
        states.back().reported |= *reported != 0;
        if (*reported)
            break;
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    munmap(const_cast<int*>(reported), 4096);
    return states.size() > 1 ? states : std::vector<state>{};
}

std::uint64_t next_index_id = 1ull << 40;

// fn in its own thread: what threads remember of an index must not be of one that the test
// took back
void apart(const std::function<void()>& fn) { std::thread(fn).join(); }

struct verdict {
    std::size_t states = 0, before = 0, after = 0;
    std::string wrong; // the first thing
};

// Put back each state (or some) of a call that makes `after` of `before`.
verdict judge(lath_store* s, const model& m, const image& img, std::vector<unsigned char> known,
              const std::vector<state>& states, const contents& before, const contents& after,
              std::size_t stride) {
    verdict v;
    bool seen_after = false;
    for (std::size_t i = 0; i < states.size(); ++i) {
        for (const auto& c : states[i].changes)
            std::memcpy(&known[c.at], &c.value, 8);
        // a long copy is many states: of those some
        std::size_t some = states.size() / (long_run() ? 1000 : 100);
        std::size_t step = i + 400 < states.size() ? std::max(stride, some) : stride;
        if (i % step && i + 1 != states.size())
            continue;
        img.put_back(known);
        shm_inside_owner_died(s, next_index_id += 1 << 20);
        contents now;
        apart([&] {
            now = read_all(s, m);
            // and it is a store to go on with
            lath_store_compact(s);
            use(s, m);
            contents later = read_all(s, m);
            if (now.wrong.empty() && (!later.wrong.empty() || later.map != now.map))
                now.wrong = "after compaction: " + later.wrong;
        });
        ++v.states;
        bool is_before = now.map == before.map, is_after = now.map == after.map;
        if (!now.wrong.empty())
            v.wrong = now.wrong;
        else if (!is_before && !is_after)
            v.wrong = "neither what was before nor what is after";
        else if (states[i].reported && !is_after)
            v.wrong = "reported, and lost";
        else if (seen_after && !is_after)
            v.wrong = "was there and is not any more";
        if (!v.wrong.empty()) {
            v.wrong = "state " + std::to_string(i) + " of " + std::to_string(states.size()) + ": " +
                      v.wrong;
            return v;
        }
        seen_after |= is_after && before.map != after.map;
        ++(is_after ? v.after : v.before);
    }
    return v;
}

struct scene {
    const char* name;
    lath_store_keys kind;
    call prepare, change;
};

lath_store_key bytes(const std::string& s) { return lath_key_bytes(s.data(), s.size()); }
void put(lath_store* s, lath_store_key k, const std::string& v) {
    if (lath_store_set(s, k, v.data(), v.size()))
        _exit(9);
}

// What is in the store before the change.
void numbers(lath_store* s) {
    for (std::uint64_t i = 0; i < 40; ++i)
        put(s, lath_key_number(i * 10), std::string(20 + i, 'v'));
}
void many(lath_store* s) { // a full leaf, full slabs: the next one splits and extends
    for (std::uint64_t i = 0; i < 681; ++i)
        put(s, lath_key_number(i * 10), "0123456789012345");
}
void bucket(lath_store* s) {
    for (int i = 0; i < 16; ++i)
        put(s, bytes("prefix:" + std::to_string(i)), "value" + std::to_string(i));
    for (int i = 0; i < 8; ++i)
        put(s, bytes("other" + std::to_string(i)), "v");
}
void layer(lath_store* s) {
    bucket(s);
    for (int i = 0; i < 20; ++i)
        put(s, bytes("a-long-common-prefix:" + std::to_string(i)), "x");
}
void sparse(lath_store* s) { // slabs that compaction empties
    for (std::uint64_t i = 0; i < 120; ++i)
        put(s, lath_key_number(i), std::string(i % 4 ? 700 : 40, static_cast<char>('a' + i % 26)));
    for (std::uint64_t i = 0; i < 120; ++i)
        if (i % 9)
            lath_store_delete(s, lath_key_number(i));
}

std::vector<scene> scenes() {
    auto n = LATH_STORE_NUMBERS;
    auto b = LATH_STORE_BYTES;
    return {
        {"set, new", n, numbers, [](lath_store* s) { put(s, lath_key_number(55), "new"); }},
        {"set, empty slabs", n,
         [](lath_store* s) {
             numbers(s);
             use(s, model{LATH_STORE_NUMBERS, {}});
         },
         [](lath_store* s) { put(s, lath_key_number(55), std::string(200, 'n')); }},
        {"set, again", n, numbers,
         [](lath_store* s) { put(s, lath_key_number(50), std::string(60, 'w')); }},
        {"set, same size", n, numbers,
         [](lath_store* s) { put(s, lath_key_number(50), std::string(25, 'w')); }},
        {"set, large", n, numbers,
         [](lath_store* s) { put(s, lath_key_number(50), std::string(70000, 'w')); }},
        {"set, split", n, many, [](lath_store* s) { put(s, lath_key_number(3333), "splits"); }},
        {"delete", n, numbers, [](lath_store* s) { lath_store_delete(s, lath_key_number(50)); }},
        {"append", n, numbers,
         [](lath_store* s) { lath_store_append(s, lath_key_number(50), "tail", 4); }},
        {"compact", n, sparse, [](lath_store* s) { lath_store_compact(s); }},
        {"expire", n, numbers,
         [](lath_store* s) { lath_store_expire(s, lath_key_number(50), ~0ull >> 1); }},
        {"bytes: set, new", b, bucket, [](lath_store* s) { put(s, bytes("new"), "new"); }},
        {"bytes: set, again", b, bucket, [](lath_store* s) { put(s, bytes("other3"), "again"); }},
        {"bytes: in a bucket", b, bucket,
         [](lath_store* s) { put(s, bytes("prefix:7"), std::string(50, 'w')); }},
        {"bytes: bucket to layer", b, bucket,
         [](lath_store* s) { put(s, bytes("prefix:16"), "seventeenth"); }},
        {"bytes: layer above a layer", b, layer,
         [](lath_store* s) { put(s, bytes("a-long-uncommon"), "parts"); }},
        {"bytes: delete in a bucket", b, bucket,
         [](lath_store* s) { lath_store_delete(s, bytes("prefix:3")); }},
        {"bytes: delete in a layer", b, layer,
         [](lath_store* s) { lath_store_delete(s, bytes("a-long-common-prefix:3")); }},
    };
}

struct prepared {
    store_ptr store;
    model m;
    contents before, after;
    std::vector<unsigned char> start;
    std::vector<state> states;
};

prepared run_scene(const scene& sc, image*& img) {
    prepared p;
    p.m.kind = sc.kind;
    p.store = open_named(sc.kind);
    sc.prepare(p.store.get());
    apart([&] { p.before = read_all(p.store.get(), p.m); });
    MUST(p.before.wrong.empty());
    img = new image(p.store.get());
    p.start = img->copy();
    p.states = record(p.store.get(), *img, sc.change);
    apart([&] { p.after = read_all(p.store.get(), p.m); });
    MUST(p.after.wrong.empty());
    return p;
}

// False: nobody can step here.
bool steps_of(const scene& sc) {
    image* img = nullptr;
    auto p = run_scene(sc, img);
    std::unique_ptr<image> own(img);
    if (p.states.empty())
        return false;
    MUST(p.before.map != p.after.map || !std::strcmp(sc.name, "expire") ||
         !std::strcmp(sc.name, "compact"));
    auto v = judge(p.store.get(), p.m, *img, p.start, p.states, p.before, p.after, few ? 50 : 1);
    if (!v.wrong.empty())
        die(std::string(sc.name) + ": " + v.wrong);
    std::printf("%-28s %5zu states, %5zu as before, %5zu as after\n", sc.name, v.states, v.before,
                v.after);
    return true;
}

// A child dies in the middle of a call; another one recovers and dies at any point of that.
void steps_of_recovery(const scene& sc, std::size_t stride) {
    image* img = nullptr;
    auto p = run_scene(sc, img);
    std::unique_ptr<image> own(img);
    // the first state in which recovery has something to decide
    auto parts = long_run() ? std::vector<double>{0.3, 0.55, 0.8} : std::vector<double>{0.55};
    for (double part : parts) {
        auto middle = static_cast<std::size_t>(static_cast<double>(p.states.size()) * part);
        auto image_then = p.start;
        for (std::size_t i = 0; i <= middle; ++i)
            for (const auto& c : p.states[i].changes)
                std::memcpy(&image_then[c.at], &c.value, 8);
        img->put_back(image_then);
        shm_inside_owner_died(p.store.get(), next_index_id += 1 << 20);
        MUST(shm_inside_dirty(p.store.get()));
        image_then = img->copy();
        auto states = record(p.store.get(), *img, [](lath_store* s) {
            char c;
            lath_store_get(s,
                           lath_store_kind(s) == LATH_STORE_NUMBERS ? lath_key_number(1)
                                                                    : lath_key_bytes("x", 1),
                           &c, 1);
        });
        MUST(!states.empty());
        contents then;
        apart([&] { then = read_all(p.store.get(), p.m); });
        MUST(then.wrong.empty());
        MUST(then.map == p.before.map || then.map == p.after.map);
        auto v = judge(p.store.get(), p.m, *img, image_then, states, then, then, stride);
        if (!v.wrong.empty())
            die(std::string("recovery from ") + sc.name + ": " + v.wrong);
        std::printf("recovery from %-14s %5zu states of %zu\n", sc.name, v.states, states.size());
    }
}

// Recovery made wrong must be noticed by what is above.
void faults_are_noticed() {
    const char* names[] = {"", "does nothing", "believes old slabs", "keeps both of two"};
    for (int fault : {1, 2, 3}) {
        image* img = nullptr;
        auto sc = scenes()[2];
        auto p = run_scene(sc, img);
        std::unique_ptr<image> own(img);
        // such a store may hang or crash its user
        pid_t pid = fork();
        if (!pid) {
            alarm(5);
            shm_inside_fault(fault);
            auto v = judge(p.store.get(), p.m, *img, p.start, p.states, p.before, p.after, 1);
            std::printf("recovery that %s: %s\n", names[fault], v.wrong.c_str());
            std::fflush(stdout);
            _exit(v.wrong.empty() ? 0 : 3);
        }
        int status = 0;
        waitpid(pid, &status, 0);
        MUST(WIFSIGNALED(status) || WEXITSTATUS(status) == 3);
        if (WIFSIGNALED(status))
            std::printf("recovery that %s: %s\n", names[fault], strsignal(WTERMSIG(status)));
        // whole again, so that it can be closed
        img->put_back(p.start);
        shm_inside_owner_died(p.store.get(), next_index_id += 1 << 20);
    }
}

} // namespace

int main(int argc, char** argv) {
    std::string which = argc > 1 ? argv[1] : "";
    bool can = true;
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    for (const auto& sc : scenes())
        if (can && (which.empty() ? !few || std::strcmp(sc.name, "set, large") : which == sc.name))
            can = steps_of(sc);
    if (!can) {
        std::printf("shm_death_test: no single steps on this machine: skipped\n");
        return 0;
    }
    if (which.empty() ? !few : which == "recovery")
        for (int i : {2, 13})
            steps_of_recovery(scenes()[static_cast<std::size_t>(i)], long_run() ? 1 : 7);
    if (which.empty() ? !few : which == "faults")
        faults_are_noticed();
    return 0;
}
