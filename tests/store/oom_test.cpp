// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// For each n: the n-th request for memory is refused, once, and then all from the n-th on. Every
// call does what it should, or says -ENOMEM and has changed nothing, and no record is left behind.
#include "model.hpp"
#include "scratch.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

extern "C" bool (*lath_store_refuse)(void);

using namespace storetest;

namespace {

unsigned long calls, fail_at;
bool and_after;

bool refuse() {
    unsigned long n = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    return n == fail_at || (and_after && n > fail_at);
}

[[noreturn]] void die(const char* what, int line) {
    std::fprintf(stderr, "oom_test:%d: request %lu%s: %s\n", line, fail_at,
                 and_after ? " and all after it" : "", what);
    std::exit(1);
}
#define MUST(x) ((x) ? void() : die(#x, __LINE__))

// On mem:, or on a store in shared memory whose name is gone at once. nullptr: no memory.
lath_store* open_empty(lath_store_keys kind) {
    std::string spec = here();
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    lath_store* s = nullptr;
    options.keys = kind;
    options.reserve = 64 << 20;
    if (spec == "shm:")
        spec += "lath-oom-" + std::to_string(getpid());
    int ret = lath_store_open(&s, spec.c_str(), &options);
    if (spec != "mem:")
        lath_store_remove(spec.c_str(), nullptr, 0);
    MUST(ret == 0 || ret == -ENOMEM);
    return ret ? nullptr : s;
}

void compare(lath_store* s, const model& m) {
    auto* hook = lath_store_refuse;
    lath_store_refuse = nullptr;
    lath_store_iter* iter = nullptr;
    lath_store_key key;
    lath_store_ref value;
    MUST(lath_store_iter_begin(s, nullptr, &iter) == 0);
    for (const auto& [k, v] : m.map) {
        MUST(lath_store_iter_next(iter, &key, &value) == 1);
        MUST(m.text(key) == k && view(value) == v);
    }
    MUST(lath_store_iter_next(iter, &key, &value) == 0);
    lath_store_iter_end(iter);
    lath_store_refuse = hook;
}

// Deletes everything: then no record takes room, but for those that found no memory to wait in.
void close_empty(lath_store* s) {
    auto* hook = lath_store_refuse;
    lath_store_refuse = nullptr;
    lath_store_iter* iter = nullptr;
    lath_store_key key;
    lath_store_ref value;
    lath_store_stats stats;
    MUST(lath_store_iter_begin(s, nullptr, &iter) == 0);
    while (lath_store_iter_next(iter, &key, &value) == 1)
        MUST(lath_store_delete(s, key) == 0);
    lath_store_iter_end(iter);
    lath_rcu_auto.drain();
    MUST(lath_store_compact(s) >= 0);
    lath_rcu_auto.drain();
    MUST(lath_store_get_stats(s, &stats) == 0);
    MUST(!stats.items && !stats.pending_bytes && stats.record_bytes == stats.lost_bytes);
    lath_store_close(s);
    lath_store_refuse = hook;
}

// One change of the store, and of the model if it was not refused.
void change(lath_store* s, model& m, key_maker& keys, std::mt19937_64& random) {
    int ret;
    std::string k = keys(random), v = make_value(random);
    v.resize(std::min<std::size_t>(v.size(), 3000));
    switch (random() % 6) {
    case 0:
        ret = lath_store_delete(s, m.key(k));
        MUST(ret == -ENOMEM || ret == (m.map.count(k) ? 0 : -ENOENT));
        if (!ret)
            m.map.erase(k);
        break;
    case 1: {
        std::int64_t n = lath_store_append(s, m.key(k), v.data(), v.size());
        MUST(n == -ENOMEM || n == static_cast<std::int64_t>(m.map[k].size() + v.size()));
        if (n >= 0)
            m.map[k] += v;
        else if (m.map[k].empty() && lath_store_get(s, m.key(k), nullptr, 0) < 0)
            m.map.erase(k);
        break;
    }
    case 2: {
        std::vector<std::string> names(20), values(20);
        std::vector<lath_store_entry> entries;
        for (std::size_t j = 0; j < names.size(); ++j) {
            names[j] = keys(random);
            values[j] = make_value(random).substr(0, 200);
        }
        for (std::size_t j = 0; j < names.size(); ++j)
            entries.push_back({m.key(names[j]), values[j].data(), values[j].size(), 0});
        int results[20];
        lath_store_mset(s, 20, entries.data(), results);
        for (std::size_t j = 0; j < names.size(); ++j) {
            MUST(results[j] == 0 || results[j] == -ENOMEM);
            if (!results[j])
                m.map[names[j]] = values[j];
        }
        break;
    }
    default:
        ret = lath_store_set(s, m.key(k), v.data(), v.size());
        MUST(ret == 0 || ret == -ENOMEM);
        if (!ret)
            m.map[k] = v;
    }
}

void tape(lath_store_keys kind, const std::string& path) {
    std::mt19937_64 random(11);
    key_maker keys(kind, 150);
    model m{kind, {}};
    lath_store* s = open_empty(kind);
    int ret;
    if (!s)
        return;
    for (int i = 0; i < 400; ++i)
        change(s, m, keys, random);
    compare(s, m);
    std::int64_t n = lath_store_count(s, nullptr);
    MUST(n == -ENOMEM || n == static_cast<std::int64_t>(m.map.size()));
    MUST(lath_store_compact(s) >= 0);
    compare(s, m);
    ret = lath_store_save(s, path.c_str(), nullptr, nullptr);
    MUST(ret == 0 || ret == -ENOMEM);
    close_empty(s);
    s = ret ? nullptr : open_empty(kind);
    if (!s)
        return;
    ret = lath_store_load(s, path.c_str(), nullptr, nullptr);
    MUST(ret == 0 || ret == -ENOMEM);
    compare(s, ret ? model{kind, {}} : m);
    close_empty(s);
}

// Keys that agree in many bytes, then in fewer and fewer: buckets become layers, layers get others
// above them.
void layers() {
    model m{LATH_STORE_BYTES, {}};
    lath_store* s = open_empty(LATH_STORE_BYTES);
    if (!s)
        return;
    auto put = [&](const std::string& k) {
        int ret = lath_store_set(s, m.key(k), k.data(), k.size());
        MUST(ret == 0 || ret == -ENOMEM);
        if (!ret)
            m.map[k] = k;
    };
    std::string stem(100, 'x');
    for (int i = 0; i < 40; ++i)
        put(stem + std::to_string(i % 20) + (i < 20 ? "" : std::string(30, 'y')));
    for (std::size_t n : {13, 9, 5, 1})
        for (int i = 0; i < 20; ++i)
            put(stem.substr(0, n * 7) + std::to_string(i));
    compare(s, m);
    close_empty(s);
}

// Sets alone, up to the first nodes of the index that need memory.
void sets() {
    model m{LATH_STORE_NUMBERS, {}};
    lath_store* s = open_empty(LATH_STORE_NUMBERS);
    if (!s)
        return;
    for (std::uint64_t i = 0; i < 150; ++i) {
        std::string k = number_text(i), v(100, 'v');
        int ret = lath_store_set(s, m.key(k), v.data(), v.size());
        MUST(ret == 0 || ret == -ENOMEM);
        if (!ret)
            m.map[k] = v;
    }
    compare(s, m);
    close_empty(s);
}

// Compaction that gets no memory moves nothing: the slabs that it had chosen serve again as before.
// The hook is not set.
void compact_in_vain() {
    constexpr std::uint64_t count = 1500;
    model m{LATH_STORE_NUMBERS, {}};
    lath_store* s = open_empty(LATH_STORE_NUMBERS);
    auto add = [&](std::uint64_t from, std::uint64_t to, char c) {
        for (std::uint64_t i = from; i < to; ++i) {
            std::string v(900, c);
            if (m.map.emplace(number_text(i), v).second)
                MUST(lath_store_set(s, lath_key_number(i), v.data(), v.size()) == 0);
        }
    };
    MUST(s != nullptr);
    add(0, count, 'a');
    for (std::uint64_t i = 0; i < count; ++i)
        if (i % 4 && m.map.erase(number_text(i)))
            MUST(lath_store_delete(s, lath_key_number(i)) == 0);
    lath_rcu_auto.drain();
    lath_store_refuse = [] { return true; };
    MUST(lath_store_compact(s) >= 0);
    lath_store_refuse = nullptr;
    add(0, count, 'b'); // the slabs are full
    MUST(lath_store_compact(s) >= 0);
    add(count, 2 * count, 'c');
    compare(s, m);
    close_empty(s);
}

// Few requests, so that each one is refused: iterators with their own bounds, and a save.
void bounds(lath_store_keys kind, const std::string& path) {
    model m{kind, {}};
    lath_store* s = open_empty(kind);
    if (!s)
        return;
    for (std::uint64_t i = 0; i < 5; ++i) {
        std::string k = number_text(i);
        int ret = lath_store_set(s, m.key(k), k.data(), k.size());
        MUST(ret == 0 || ret == -ENOMEM);
        if (!ret)
            m.map[k] = k;
    }
    std::string low = number_text(1), high = number_text(3);
    lath_store_key from = m.key(low), to = m.key(high), prefix = lath_key_bytes(low.data(), 0);
    for (int backward : {0, 1}) {
        lath_store_range range{};
        range.from = &from;
        range.to = &to;
        range.prefix = kind == LATH_STORE_BYTES ? &prefix : nullptr;
        range.backward = backward;
        lath_store_iter* iter = nullptr;
        lath_store_key key;
        lath_store_ref value;
        int ret = lath_store_iter_begin(s, &range, &iter);
        MUST(ret == 0 || ret == -ENOMEM);
        if (ret)
            continue;
        std::size_t n = 0;
        while ((ret = lath_store_iter_next(iter, &key, &value)) == 1) {
            std::string k = m.text(key);
            MUST(m.map.count(k) && low <= k && k <= high && ++n);
        }
        MUST(ret == -ENOMEM || (ret == 0 && n <= m.map.size()));
        lath_store_iter_end(iter);
    }
    int ret = lath_store_save(s, path.c_str(), nullptr, nullptr);
    MUST(ret == 0 || ret == -ENOMEM);
    close_empty(s);
}

// Play once with all the memory it wants, then with each request refused, alone and with all that
// follow; from `dense` on in steps. How often it was played with one refused.
template <class Play>
unsigned long sweep(Play play, unsigned long dense) {
    calls = fail_at = 0;
    and_after = false;
    play();
    unsigned long times = 0;
    for (unsigned long n = 1, requests = calls; n <= requests; n += n < dense ? 1 : 23)
        for (bool after : {false, true}) {
            calls = 0;
            fail_at = n;
            and_after = after;
            play();
            ++times;
        }
    return times;
}

} // namespace

int main() {
    scratch_dir dir;
    std::string path = dir.path("s");
#ifdef LATH_FEW_STEPS
    unsigned long sites = 0, dense = 5;
#else
    unsigned long sites = 0, dense = std::getenv("LATH_LONG") ? ~0ul : 40;
#endif
    lath_store_refuse = refuse;
    for (auto kind : {LATH_STORE_NUMBERS, LATH_STORE_BYTES})
        sites += sweep([&] { tape(kind, path); }, dense);
    for (auto kind : {LATH_STORE_NUMBERS, LATH_STORE_BYTES})
        sites += sweep([&] { bounds(kind, path); }, ~0ul);
    sites += sweep(sets, ~0ul);
    sites += sweep(layers, dense < 40 ? dense : ~0ul);
    lath_store_refuse = nullptr;
    compact_in_vain();
    std::printf("oom_test: %lu refusals\n", sites);
    return sites ? 0 : 1;
}
