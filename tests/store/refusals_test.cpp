// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What is asked for and cannot be: snapshots above the limit, more memory than there is.
#include "file_help.hpp"

#include <filesystem>
#include <random>

using namespace storetest;

// src/store/memory is C
extern "C" std::uint64_t lath_pages_available(const char* root);
extern "C" bool (*lath_store_refuse)();

TEST_CASE("a snapshot above the limit is refused whole, with both figures") {
    scratch_dir dir;
    const std::string path = dir.path("s");
    REQUIRE(save(numbers(400000), path) == 0);
    std::string before = read_file(path);
    char why[300] = "";
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    options.limit = 8 << 20;
    options.why = why;
    options.why_size = sizeof why;
    for (unsigned flags : {0u, unsigned{LATH_STORE_EVICT}}) {
        options.flags = flags;
        lath_store* s = nullptr;
        CHECK(lath_store_open(&s, ("file:" + path).c_str(), &options) == -ENOSPC);
        CAPTURE(why);
        CHECK(has(why, path + ": its 400000 entries need about "));
        CHECK(has(why, " MiB, the limit is 8.0 MiB"));
        for (const char* spec : {"mem:", here()}) {
            store_ptr t = open_store(options, spec);
            REQUIRE(t);
            CHECK(lath_store_load(t.get(), path.c_str(), nullptr, nullptr) == -ENOSPC);
            CHECK(has(reason(), "the limit is 8.0 MiB"));
            CHECK(lath_store_count(t.get(), nullptr) == 0);
            lath_store_stats stats;
            REQUIRE(lath_store_get_stats(t.get(), &stats) == 0);
            CHECK(stats.evicted == 0);
            // and eviction is what it was
            if (flags)
                for (std::uint64_t i = 0; i < 9000; ++i)
                    REQUIRE(set(t, i, std::string(1000, 'v')) == 0);
        }
    }
    CHECK(read_file(path) == before);
    CHECK(dir.names() == "s");
}

TEST_CASE("what was saved under a limit loads under it") {
    scratch_dir dir;
    const std::string path = dir.path("s");
#ifdef LATH_FEW_STEPS // one thread: the other kinds take them all
    const std::initializer_list<unsigned> sizes = {4000};
#else
    const std::initializer_list<unsigned> sizes = {20, 4000};
#endif
    for (auto kind : {LATH_STORE_NUMBERS, LATH_STORE_BYTES})
        for (unsigned flags : {0u, unsigned{LATH_STORE_EVICT}, unsigned{LATH_STORE_VERSIONS}})
            for (unsigned largest : sizes) {
                lath_store_options options = LATH_STORE_OPTIONS_INIT;
                options.keys = kind;
                options.flags = flags;
                options.limit = 8 << 20;
                store_ptr s = open_store(options, "mem:");
                REQUIRE(s);
                std::mt19937_64 random(largest + flags);
                int full = 0; // at the limit, and a while longer
                for (int i = 0; full < 20; ++i) {
                    std::string key = number_text(random() % 1000000 * 0x9e3779b97f4a7c15ull);
                    if (kind == LATH_STORE_BYTES)
                        key = "some/prefix/" + std::to_string(text_number(key) % 99999999);
                    std::string value(largest / 2 + random() % largest / 2, 'v');
                    model m{kind, {}};
                    int ret = random() % 5
                                  ? lath_store_set(s.get(), m.key(key), value.data(), value.size())
                                  : lath_store_delete(s.get(), m.key(key));
                    full += ret == -ENOSPC;
                    lath_store_stats stats;
                    if (i % 1024 == 0 && lath_store_get_stats(s.get(), &stats) == 0)
                        full += stats.evicted > 500 ? 20 : 0;
                }
                REQUIRE(save(s, path) == 0);
                std::int64_t n = lath_store_count(s.get(), nullptr);
                s.reset();
                CAPTURE(kind);
                CAPTURE(flags);
                CAPTURE(largest);
                store_ptr t = open_store(options, "mem:");
                CHECK(lath_store_load(t.get(), path.c_str(), nullptr, nullptr) == 0);
                CHECK(lath_store_count(t.get(), nullptr) == n);
                lath_store_stats stats;
                REQUIRE(lath_store_get_stats(t.get(), &stats) == 0);
                CHECK(stats.committed <= options.limit + (2 << 20));
            }
}

TEST_CASE("prefault asks for no more than there is") {
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    lath_store* s = nullptr;
    const std::string name = "shm:lath-prefault-" + std::to_string(getpid());
    for (std::uint64_t bytes : {std::uint64_t{100} << 40, ~std::uint64_t{0}})
        for (const std::string& spec : {std::string("mem:"), name})
            for (std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{64} << 20, bytes}) {
                options.prefault = bytes;
                options.limit = limit;
                int ret = lath_store_open(&s, spec.c_str(), &options);
                CAPTURE(spec);
                CAPTURE(limit);
                if (limit == bytes) // a larger one than fits
                    CHECK((ret == -ENOMEM || ret == -ENOSPC));
                else // shm: has a limit always
                    CHECK(ret == (limit || spec != "mem:" ? -ENOSPC : -ENOMEM));
#ifdef LATH_FEW_STEPS // a sanitizer leaves no room for 100 TiB of addresses, which is told first
                if (limit != bytes)
#endif
                    CHECK(has(reason(), "prefault of " + std::to_string(bytes) + " bytes: "));
                if (spec != "mem:")
                    CHECK(lath_store_remove(name.c_str(), nullptr, 0) == -ENOENT);
            }
    s = nullptr;
    REQUIRE(lath_store_open(&s, "mem:", nullptr) == 0);
    CHECK(lath_store_prefault(s, std::uint64_t{100} << 40) == -ENOMEM);
    CHECK(has(reason(), "available"));
    CHECK(lath_store_prefault(s, 4 << 20) == 0);
    lath_store_close(s);
}

TEST_CASE(
    "of two entries of an mset with one key the later one counts, whichever finds no memory") {
    static int until; // the request that is refused, from 1 on
    static unsigned refused;
    store_ptr s = open_store(LATH_STORE_OPTIONS_INIT, "mem:");
    REQUIRE(s);
    refused = 0;
    lath_store_refuse = [] {
        refused += until == 1;
        return until && !--until;
    };
    for (std::uint64_t i = 0; i < 20000; ++i) {
        lath_store_key key = lath_key_number(i * 0x9e3779b97f4a7c15ull);
        lath_store_entry entries[] = {{key, "1", 1, 0}, {key, "2", 1, 0}};
        int results[2];
        char now = 0;
        until = 1 + static_cast<int>(i % 2);
        CHECK(lath_store_mset(s.get(), 2, entries, results) == 2);
        until = 0;
        CHECK(lath_store_get(s.get(), key, &now, 1) == 1);
        CHECK(now == '2');
    }
    lath_store_refuse = nullptr;
    CHECK(refused > 20);
}

TEST_CASE("what is available is what the machine has and every control group leaves") {
    scratch_dir dir;
    const std::string root = dir.path("");
    auto put = [&](const std::string& name, const std::string& text) {
        std::filesystem::create_directories(std::filesystem::path(root + name).parent_path());
        write_file(root + name, text);
    };
    const std::uint64_t mib = 1 << 20;
    CHECK(lath_pages_available(root.c_str()) == ~std::uint64_t{0});
    put("proc/meminfo", "MemTotal: 9999999 kB\nMemAvailable:   1024000 kB\n");
    CHECK(lath_pages_available(root.c_str()) == 1000 * mib);
    put("proc/self/cgroup", "0::/a/b\n");
    CHECK(lath_pages_available(root.c_str()) == 1000 * mib);
    put("sys/fs/cgroup/a/b/memory.max", "max\n");
    put("sys/fs/cgroup/a/memory.max", std::to_string(500 * mib) + "\n");
    put("sys/fs/cgroup/a/memory.current", std::to_string(100 * mib) + "\n");
    CHECK(lath_pages_available(root.c_str()) == 400 * mib);
    put("sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file " + std::to_string(30 * mib) + "\n");
    CHECK(lath_pages_available(root.c_str()) == 430 * mib);
    put("sys/fs/cgroup/memory.max", std::to_string(50 * mib) + "\n"); // a container's own
    put("sys/fs/cgroup/memory.current", std::to_string(60 * mib) + "\n");
    CHECK(lath_pages_available(root.c_str()) == 0);
    put("proc/self/cgroup", "5:cpu:/x\n4:memory:/c\n");
    put("sys/fs/cgroup/memory/c/memory.limit_in_bytes", std::to_string(300 * mib) + "\n");
    put("sys/fs/cgroup/memory/c/memory.usage_in_bytes", std::to_string(10 * mib) + "\n");
    CHECK(lath_pages_available(root.c_str()) == 290 * mib);
}
