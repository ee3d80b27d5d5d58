// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Edges: what is refused and with which words, limits and eviction, expiry, versions, keys made to
// hurt.
#include "model.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

using namespace storetest;

namespace {

lath_store_options with(lath_store_keys keys) {
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    options.keys = keys;
    return options;
}

int set(lath_store* s, lath_store_key key, const std::string& v) {
    return lath_store_set(s, key, v.data(), v.size());
}
lath_store_key bytes(const std::string& s) { return lath_key_bytes(s.data(), s.size()); }

std::string get(lath_store* s, lath_store_key key) {
    static std::string v(1 << 20, '\0'); // made once: a sanitizer maps and unmaps it
    std::int64_t n = lath_store_get(s, key, v.data(), v.size());
    return n < 0 ? "-" : v.substr(0, static_cast<std::size_t>(n));
}

lath_store_stats stats(lath_store* s) {
    lath_store_stats st;
    REQUIRE(lath_store_get_stats(s, &st) == 0);
    REQUIRE(lath_store_get_pages(s, &st) == 0);
    return st;
}

// Bytes of address space that the process has.
long addresses() {
    long pages = 0;
    std::FILE* statm = std::fopen("/proc/self/statm", "r");
    REQUIRE((statm && std::fscanf(statm, "%ld", &pages) == 1));
    std::fclose(statm);
    return pages * sysconf(_SC_PAGESIZE);
}

} // namespace

TEST_CASE("what cannot be opened is refused in words") {
    struct {
        const char* spec;
        int error;
        const char* word;
    } const wrong[] = {
        {"shm:a/b", -EINVAL, "'/'"},
        {"shm:", -EINVAL, "a name"},
        {"dev:/dev/llds", -ENODEV, "/dev/llds"},
        {"file:", -EINVAL, "path"},
        {"file:/no/such/dir/", -ENOENT, "/no/such/dir/: No such file"},
        {"file:/no/such/dir/s", -ENOENT, "/no/such/dir/s: No such file"},
        {"file:/", -EINVAL, "/: a directory, not a regular file"},
        {"file:/dev", -EINVAL, "/dev: a directory, not a regular file"},
        {"file:/dev/null", -EINVAL, "/dev/null: a character device, not a regular file"},
        {"redis://x", -EINVAL, "redis://x"},
    };
    for (const auto& w : wrong) {
        char why[200] = "";
        auto options = with(LATH_STORE_NUMBERS);
        options.why = why;
        options.why_size = sizeof why;
        lath_store* s = nullptr;
        int ret = lath_store_open(&s, w.spec, &options);
        CAPTURE(w.spec);
        CAPTURE(why);
        CHECK(ret == w.error);
        CHECK(std::strstr(why, w.word));
        CHECK(std::string(why) == lath_store_reason());
    }
    auto options = with(LATH_STORE_NUMBERS);
    options.limit = 1;
    CHECK(!open_store(options));
    options.limit = 0;
    options.flags = LATH_STORE_EVICT;
    CHECK(!open_store(options));
    options.flags = 1u << 30;
    CHECK(!open_store(options));
    options.flags = 0;
    options.numa = "everywhere";
    CHECK(!open_store(options));
    options.numa = nullptr;
    options.limit = 8 << 20;
    options.prefault = 64 << 20;
    char why[200] = "";
    options.why = why;
    options.why_size = sizeof why;
    CHECK(!open_store(options, "mem:"));
    CHECK(std::strstr(why, "prefault"));
    options.limit = 0;
    options.reserve = ~std::uint64_t{0} >> 1;
    options.prefault = 0;
    CHECK(open_store(options, "mem:")); // less is taken, as much as there is
}

TEST_CASE("memory policies are taken or refused in words") {
    char why[200] = "";
    auto options = with(LATH_STORE_NUMBERS);
    options.why = why;
    options.why_size = sizeof why;
    for (const char* good : {"local", "interleave", "interleave:0", "bind:0"}) {
        options.numa = good;
        auto s = open_store(options, "mem:");
        CAPTURE(good);
        CAPTURE(why);
        if (!s) // a machine without memory policies
            CHECK((std::strstr(why, "no NUMA policy") ||
                   std::strstr(why, "Operation not permitted")));
        else
            CHECK(set(s.get(), lath_key_number(1), "v") == 0);
    }
    options.reserve = std::uint64_t{1} << 30;
    long before = addresses();
    for (const char* bad : {"bind:4000", "bind:x", "interleave:0-", "interleaved", "bind"}) {
        options.numa = bad;
        why[0] = '\0';
        CAPTURE(bad);
        CHECK(!open_store(options, "mem:"));
        CHECK(std::strstr(why, "numa"));
    }
    CHECK(addresses() - before < 1l << 30);
}

TEST_CASE("a store takes the addresses that there are, or names what needs fewer") {
    rlimit before{};
    char why[200] = "";
    auto options = with(LATH_STORE_BYTES);
    options.why = why;
    options.why_size = sizeof why;
    REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
    for (rlim_t more : {200ul << 20, 20ul << 20}) {
        rlimit tight = before;
        tight.rlim_cur = static_cast<rlim_t>(addresses()) + more;
        REQUIRE(setrlimit(RLIMIT_AS, &tight) == 0);
        auto s = open_store(options, "mem:");
        int ret = s ? set(s.get(), bytes("a"), "b") : -ENOMEM;
        REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
        CAPTURE(more);
        CHECK(ret == (more > 100ul << 20 ? 0 : -ENOMEM));
        CHECK((s || std::strstr(why, "--limit")));
    }
}

TEST_CASE("every kind of pages holds the same") {
    for (auto pages : {LATH_PAGES_HUGE, LATH_PAGES_HUGETLB, LATH_PAGES_SMALL}) {
        auto options = with(LATH_STORE_NUMBERS);
        options.pages = pages;
        auto s = open_store(options, "mem:");
        REQUIRE(s);
        std::string v(5000, 'p');
        for (std::uint64_t i = 0; i < 2000; ++i)
            REQUIRE(set(s.get(), lath_key_number(i), v) == 0);
        CHECK(get(s.get(), lath_key_number(1999)) == v);
        auto st = stats(s.get());
        CHECK(st.resident >= 2000 * 5000);
        if (pages == LATH_PAGES_SMALL)
            CHECK(st.huge == 0);
    }
}

namespace {

// Values of 0 to 18 bytes, each with every last byte and some others before it: each form that a
// word of the index has, and those values that look like another form.
std::vector<std::string> short_values() {
    std::vector<std::string> all;
    for (std::size_t size = 0; size <= 18; ++size)
        for (int last = 0; last < (size ? 256 : 1); ++last)
            for (char fill : {'\0', '\xff', '7', 'q', '\1'}) {
                std::string v(size, fill);
                if (size)
                    v.back() = static_cast<char>(last);
                all.push_back(v);
                if (size > 8) {
                    v[7] = static_cast<char>(last);
                    all.push_back(v);
                }
            }
    return all;
}

} // namespace

TEST_CASE("short values of any bytes come back as they are") {
    auto s = open_store(with(LATH_STORE_NUMBERS), here());
    auto values = short_values();
    std::uint64_t n = values.size();
    for (std::uint64_t i = 0; i < n; ++i) {
        lath_store_entry entry = {lath_key_number(i), values[i].data(), values[i].size(), 0};
        if (i % 2)
            REQUIRE(lath_store_mset(s.get(), 1, &entry, nullptr) == 1);
        else
            REQUIRE(set(s.get(), lath_key_number(i), values[i]) == 0);
    }
    auto check = [&](auto& wanted) {
        std::vector<std::uint64_t> keys(n);
        std::vector<lath_store_ref> refs(n), scanned(n);
        std::iota(keys.begin(), keys.end(), std::uint64_t{0});
        lath_store_read_begin(s.get());
        REQUIRE(lath_store_mget_numbers(s.get(), n, keys.data(), refs.data()) == n);
        std::uint64_t next = 0;
        REQUIRE(lath_store_scan_numbers(s.get(), 0, n - 1, keys.data(), scanned.data(), n, &next) ==
                n);
        std::uint64_t wrong = 0;
        for (std::uint64_t i = 0; i < n; ++i) {
            wrong += keys[i] != i;
            for (const auto* ref : {&refs[i], &scanned[i]})
                wrong += std::string(static_cast<const char*>(ref->data), ref->size) != wanted[i];
            wrong += get(s.get(), lath_key_number(i)) != wanted[i];
        }
        lath_store_read_end(s.get());
        CHECK(wrong == 0);
    };
    check(values);
    // from each to the next one, if it is still what it was
    auto turned = values;
    std::rotate(turned.begin(), turned.begin() + 1, turned.end());
    for (std::uint64_t i = 0; i < n; ++i) {
        int other = turned[i] == values[i] ? 0 : -EAGAIN;
        REQUIRE(lath_store_cas(s.get(), lath_key_number(i), turned[i].data(), turned[i].size(), "x",
                               1) == other);
        if (!other)
            REQUIRE(set(s.get(), lath_key_number(i), values[i]) == 0);
        REQUIRE(lath_store_cas(s.get(), lath_key_number(i), values[i].data(), values[i].size(),
                               turned[i].data(), turned[i].size()) == 0);
    }
    check(turned);
    for (std::uint64_t i = 0; i < n; ++i)
        REQUIRE(lath_store_append(s.get(), lath_key_number(i), "\xf0", 1) ==
                static_cast<std::int64_t>(turned[i].size()) + 1);
    for (auto& v : turned)
        v += '\xf0';
    check(turned);
    for (std::uint64_t i = 0; i < n; ++i)
        REQUIRE(lath_store_delete(s.get(), lath_key_number(i)) == 0);
    CHECK(lath_store_count(s.get(), nullptr) == 0);
}

TEST_CASE("a program compiled with a shorter options struct gets the defaults") {
    auto options = with(LATH_STORE_BYTES);
    options.size = offsetof(lath_store_options, pages);
    options.limit = 1; // beyond what that program knew
    CHECK(open_store(options));
}

TEST_CASE("a limit holds, and deleting makes room again") {
    for (auto kind : {LATH_STORE_NUMBERS, LATH_STORE_BYTES}) {
        auto options = with(kind);
        options.limit = 16 << 20;
        auto s = open_store(options);
        REQUIRE(s);
        auto key = [&](std::uint64_t i, std::string& text) {
            text = "key" + std::to_string(i);
            return kind == LATH_STORE_NUMBERS ? lath_key_number(i) : bytes(text);
        };
        std::string v(1000, 'v'), t;
        std::uint64_t n = 0;
        int ret = 0;
        while (n < 100000 && !(ret = set(s.get(), key(n, t), v)))
            ++n;
        CHECK(ret == -ENOSPC);
        CHECK(n > 8000);
        CHECK(stats(s.get()).committed <= options.limit);
        CHECK(get(s.get(), key(n, t)) == "-");
        CHECK(get(s.get(), key(n - 1, t)) == v);
        for (std::uint64_t i = 0; i < n / 2; ++i)
            REQUIRE(lath_store_delete(s.get(), key(i, t)) == 0);
        std::uint64_t again = 0;
        while (again < n && !set(s.get(), key(n + again, t), v))
            ++again;
        CHECK(again > n / 3);
        // one key written over and over lives on what readers give back
        for (int i = 0; i < 3000; ++i)
            if (set(s.get(), key(n - 1, t), v + std::to_string(i % 10)) == 0)
                v.back() = 'w';
        CHECK(stats(s.get()).committed <= options.limit);
    }
}

// How many values of this size are taken until one is refused; all are deleted then.
std::uint64_t room(lath_store* s, std::size_t size) {
    const std::string v(size, 'r');
    std::uint64_t n = 0;
    while (n < 100000 && set(s, lath_key_number(n), v) == 0)
        ++n;
    for (std::uint64_t i = 0; i < n; ++i)
        REQUIRE(lath_store_delete(s, lath_key_number(i)) == 0);
    REQUIRE(lath_store_compact(s) >= 0);
    return n;
}

TEST_CASE("what is refused takes no room, whichever call is refused") {
    std::mt19937_64 random(7);
    auto below = [&](std::uint64_t n) { return random() % n; };
    for (int round = 0; round < 6 / LATH_PART; ++round) {
        auto options = with(LATH_STORE_NUMBERS);
        options.limit = (8 + 4 * below(3)) << 20;
        auto s = open_store(options);
        REQUIRE(s);
        const std::size_t size = 100 + below(8000);
        const std::uint64_t before = room(s.get(), size);
        std::uint64_t refused = 0;
        for (int i = 0; i < 3000; ++i) {
            const lath_store_key key = lath_key_number(below(4000));
            const std::string v(below(4) ? 1 + below(20000) : (1 + below(12)) << 20, 'x');
            int ret = 0;
            switch (below(5)) {
            case 0:
                ret = lath_store_add(s.get(), key, v.data(), v.size());
                break;
            case 1:
                ret = static_cast<int>(lath_store_append(s.get(), key, v.data(), v.size()));
                break;
            case 2: {
                lath_store_entry entries[] = {{key, v.data(), v.size(), 0},
                                              {lath_key_number(5000), v.data(), v.size(), 0}};
                int results[2] = {0, 0};
                lath_store_mset(s.get(), 2, entries, results);
                ret = results[1];
                break;
            }
            case 3:
                lath_store_delete(s.get(), key);
                break;
            default:
                ret = set(s.get(), key, v);
            }
            const bool expected =
                ret >= 0 || ret == -ENOSPC || ret == -EEXIST || ret == -EINVAL || ret == -EFBIG;
            CHECK_MESSAGE(expected, ret);
            refused += ret == -ENOSPC;
        }
        CHECK(refused > 100);
        for (std::uint64_t i = 0; i <= 5000; ++i)
            lath_store_delete(s.get(), lath_key_number(i));
        REQUIRE(lath_store_compact(s.get()) >= 0);
        const std::uint64_t after = room(s.get(), size);
        CHECK_MESSAGE(after >= before - before / 20, before, " before, ", after, " after");
    }
}

TEST_CASE("a store evicts what was written first, of what lies together") {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        std::mt19937_64 random(seed);
        auto options = with(LATH_STORE_NUMBERS);
        options.limit = 16 << 20;
        const std::string v(1000, 'v');
        std::uint64_t all = 0;
        {
            auto s = open_store(options);
            all = room(s.get(), v.size()) * 9 / 10;
        }
        options.flags = LATH_STORE_EVICT | LATH_STORE_VERSIONS;
        auto s = open_store(options);
        REQUIRE(s);
        std::vector<std::uint64_t> kept;
        for (std::uint64_t i = 0; i < all; ++i) {
            REQUIRE(set(s.get(), lath_key_number(i), v) == 0);
            if (random() % 8 == 0)
                kept.push_back(i);
        }
        for (std::uint64_t k : kept) // of 16 neighbours about two: the four oldest are evicted
            REQUIRE(set(s.get(), lath_key_number(k), v) == 0);
        for (std::uint64_t i = all; i < all + all / 2; ++i)
            REQUIRE(set(s.get(), lath_key_number(i), v) == 0);
        std::size_t there = 0;
        for (std::uint64_t k : kept)
            there += get(s.get(), lath_key_number(k)) == v;
        CHECK(stats(s.get()).evicted > all / 4);
        CHECK_MESSAGE(there >= kept.size() - kept.size() / 50, there, " of ", kept.size());
    }
}

TEST_CASE("a store that evicts takes everything and stays below its limit") {
    for (auto kind : {LATH_STORE_NUMBERS, LATH_STORE_BYTES}) {
        auto options = with(kind);
        options.limit = 16 << 20;
        options.flags = LATH_STORE_EVICT;
        auto s = open_store(options);
        REQUIRE(s);
        constexpr std::uint64_t n = 30000;
        for (std::uint64_t i = 0; i < n; ++i) {
            std::string text = "user:" + std::to_string(i * 7919 % n), v(500 + i % 700, 'v');
            lath_store_key k = kind == LATH_STORE_NUMBERS ? lath_key_number(i) : bytes(text);
            REQUIRE(set(s.get(), k, v) == 0);
            REQUIRE(get(s.get(), k) == v);
        }
        auto st = stats(s.get());
        CHECK(st.committed <= options.limit);
        CHECK(st.evicted > n / 4);
        CHECK(st.items + st.evicted == n);
        CHECK(st.items > 3000);
    }
}

TEST_CASE("a value above the limit is refused, and nothing is evicted for it") {
    for (auto kind : {LATH_STORE_NUMBERS, LATH_STORE_BYTES}) {
        auto options = with(kind);
        options.limit = 16 << 20;
        options.flags = LATH_STORE_EVICT;
        auto s = open_store(options);
        REQUIRE(s);
        auto key = [&](std::uint64_t i) {
            static std::string text;
            text = "user:" + std::to_string(i);
            return kind == LATH_STORE_NUMBERS ? lath_key_number(i) : bytes(text);
        };
        const std::string large((16 << 20) + 1, 'x'), small(100, 's');
        for (std::uint64_t i = 0; i < 1000; ++i)
            REQUIRE(set(s.get(), key(i), small) == 0);
        CHECK(set(s.get(), key(5000), large) == -ENOSPC);
        CHECK(set(s.get(), key(7), large) == -ENOSPC); // of a key that is there
        CHECK(lath_store_add(s.get(), key(5000), large.data(), large.size()) == -ENOSPC);
        CHECK(lath_store_append(s.get(), key(8), large.data(), large.size()) == -ENOSPC);
        lath_store_entry entries[] = {{key(1), small.data(), small.size(), 0},
                                      {key(1), large.data(), large.size(), 0}};
        int results[2] = {1, 1};
        lath_store_mset(s.get(), 2, entries, results);
        CHECK(results[1] == -ENOSPC);
        CHECK(stats(s.get()).evicted == 0);
        CHECK(stats(s.get()).items == 1000);
        CHECK(get(s.get(), key(7)) == small);
    }
}

TEST_CASE("compaction gives memory back and keeps everything") {
    auto s = open_store(with(LATH_STORE_BYTES));
    std::string v(300, 'v');
    for (int i = 0; i < 40000; ++i)
        REQUIRE(set(s.get(), bytes("key" + std::to_string(i)), v) == 0);
    for (int i = 0; i < 40000; ++i)
        if (i % 16)
            REQUIRE(lath_store_delete(s.get(), bytes("key" + std::to_string(i))) == 0);
    auto before = stats(s.get());
    std::int64_t given = 0;
    for (int i = 0; i < 3; ++i)
        given += lath_store_compact(s.get());
    auto after = stats(s.get());
    CHECK(given >= 4 << 20);
    CHECK(after.committed <= before.committed / 2);
    CHECK(after.items == 2500);
    for (int i = 0; i < 40000; i += 16)
        REQUIRE(get(s.get(), bytes("key" + std::to_string(i))) == v);
}

TEST_CASE("keys made to agree cost bounded memory and time") {
    auto s = open_store(with(LATH_STORE_BYTES));
    SUBCASE("in 60000 bytes") {
        std::string stem(60000, 'x');
        for (int i = 0; i < 200; ++i)
            REQUIRE(set(s.get(), bytes(stem + std::to_string(i)), "v") == 0);
        CHECK(stats(s.get()).index_bytes < 1 << 20);
        CHECK(stats(s.get()).layers <= 2);
        CHECK(lath_store_count(s.get(), nullptr) == 200);
    }
    SUBCASE("in fewer and fewer bytes, a layer each") {
        std::string stem(7 * 600, 'x');
        for (int i = 0; i < 40; ++i)
            REQUIRE(set(s.get(), bytes(stem + std::to_string(i)), "v") == 0);
        for (std::size_t i = 599; i > 0; --i) {
            REQUIRE(set(s.get(), bytes(stem.substr(0, i * 7) + "y"), "v") == 0);
            REQUIRE(get(s.get(), bytes(stem.substr(0, i * 7) + "y")) == "v");
        }
        CHECK(lath_store_count(s.get(), nullptr) == 639);
        CHECK(stats(s.get()).index_bytes < 600 * 8192);
    }
    SUBCASE("in many short pieces") {
        for (int i = 0; i < 100000; ++i)
            REQUIRE(set(s.get(), bytes("session:" + std::to_string(1000000 + i)), "v") == 0);
        auto st = stats(s.get());
        CHECK((st.index_bytes + st.record_bytes) / st.items < 120);
    }
}

TEST_CASE("prefault takes memory at once, within the limit") {
    auto options = with(LATH_STORE_NUMBERS);
    options.limit = 64 << 20;
    auto s = open_store(options);
    REQUIRE(s);
    if (std::getenv("LATH_STORE_SPEC")) { // not this process's memory alone
        CHECK(lath_store_prefault(s.get(), 1) == -EOPNOTSUPP);
        return;
    }
    auto before = stats(s.get());
    CHECK(lath_store_prefault(s.get(), 0) == 0);
    CHECK(lath_store_prefault(s.get(), 20 << 20) == 0);
    auto after = stats(s.get());
    CHECK(after.committed >= before.committed + (20 << 20));
    CHECK(after.resident >= before.resident + (20 << 20));
    CHECK(lath_store_prefault(s.get(), 64 << 20) == -ENOSPC);
    CHECK(stats(s.get()).committed == after.committed);
    for (std::uint64_t i = 0; i < 100000; ++i)
        REQUIRE(set(s.get(), lath_key_number(i), "v") == 0);
    CHECK(stats(s.get()).committed == after.committed);
}

TEST_CASE("figures fit one another") {
    auto options = with(LATH_STORE_NUMBERS);
    options.prefault = 8 << 20;
    auto s = open_store(options);
    REQUIRE(s);
    std::string v(100, 'v');
    for (std::uint64_t i = 0; i < 20000; ++i)
        REQUIRE(set(s.get(), lath_key_number(i), v) == 0);
    auto st = stats(s.get());
    CHECK(st.items == 20000);
    CHECK(st.record_bytes >= 20000 * 100);
    CHECK(st.record_bytes < 20000 * 112 + (1 << 20));
    CHECK(st.index_bytes >= 20000 * 18);
    CHECK(st.committed >= st.index_bytes + st.record_bytes);
    CHECK(st.committed == st.index_bytes + st.record_bytes + st.free_bytes);
    CHECK(st.resident > 8 << 20);
    CHECK(st.huge <= st.resident);
}
