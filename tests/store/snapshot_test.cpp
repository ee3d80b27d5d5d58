// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Snapshots: what was saved comes back; a damaged file never does.
#include "model.hpp"
#include "scratch.hpp"

#include <doctest/doctest.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

using namespace storetest;

namespace {

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}
void write_file(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

store_ptr fresh(lath_store_keys kind, const char* spec = here()) {
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    options.keys = kind;
    return open_store(options, spec);
}

void fill(lath_store* s, model& m, int n, unsigned seed) {
    std::mt19937_64 random(seed);
    key_maker keys(m.kind, 100000);
    for (int i = 0; i < n; ++i) {
        std::string k = keys(random), v = make_value(random);
        v.resize(std::min<std::size_t>(v.size(), n > 300 ? 100000 : 60));
        REQUIRE(lath_store_set(s, m.key(k), v.data(), v.size()) == 0);
        m.map[k] = v;
    }
}

void expect(lath_store* s, const model& m) {
    lath_store_iter* iter = nullptr;
    lath_store_key key;
    lath_store_ref value;
    REQUIRE(lath_store_iter_begin(s, nullptr, &iter) == 0);
    for (const auto& [k, v] : m.map) {
        REQUIRE(lath_store_iter_next(iter, &key, &value) == 1);
        REQUIRE(m.text(key) == k);
        REQUIRE(view(value) == v);
    }
    CHECK(lath_store_iter_next(iter, &key, &value) == 0);
    lath_store_iter_end(iter);
}

// A snapshot of these entries, whole by all its checksums (src/store/place/file.h has the format).
std::string sealed(lath_store_keys kind, const std::string& entries, std::uint64_t count) {
    auto raw = [](auto n) { return std::string(reinterpret_cast<const char*>(&n), sizeof n); };
    auto closed = [&](const std::string& part) {
        return part + raw(XXH3_64bits(part.data(), part.size()));
    };
    std::uint64_t sum = XXH3_64bits_withSeed(entries.data(), entries.size(), 0),
                  sums = XXH3_64bits_withSeed(&sum, 8, 0);
    return closed("lathsnap" + raw(std::uint32_t{1}) + raw(static_cast<std::uint32_t>(kind)) +
                  std::string(40, '\0')) +
           closed(raw(std::uint64_t{entries.size()}) + raw(count) + raw(sum)) + entries +
           closed(raw(std::uint64_t{0}) + raw(count) + raw(sums));
}

} // namespace

TEST_CASE("what was saved comes back") {
    scratch_dir dir;
    for (auto kind : {LATH_STORE_NUMBERS, LATH_STORE_BYTES}) {
        for (int n : {0, 1, 200, 5000}) {
            auto s = fresh(kind);
            model m{kind, {}};
            fill(s.get(), m, n, 7);
            REQUIRE(lath_store_save(s.get(), dir.path("s").c_str(), nullptr, nullptr) == 0);
            CHECK(dir.names().find('.') == std::string::npos); // neither .lock nor .tmp
            auto t = fresh(kind);
            REQUIRE(lath_store_load(t.get(), dir.path("s").c_str(), nullptr, nullptr) == 0);
            expect(t.get(), m);
            CHECK(lath_store_load(t.get(), dir.path("s").c_str(), nullptr, nullptr) ==
                  (n ? -ENOTEMPTY : 0));
            // the same content makes the same file
            REQUIRE(lath_store_save(t.get(), dir.path("t").c_str(), nullptr, nullptr) == 0);
            CHECK(read_file(dir.path("s")) == read_file(dir.path("t")));
        }
    }
}

TEST_CASE("times of expiry are saved; expired entries are not") {
    scratch_dir dir;
    auto s = fresh(LATH_STORE_NUMBERS);
    std::uint64_t future = lath_store_now() + 100000;
    lath_store_entry entries[] = {{lath_key_number(1), "1", 1, lath_store_now() - 1},
                                  {lath_key_number(2), "2", 1, future}};
    REQUIRE(lath_store_mset(s.get(), 2, entries, nullptr) == 2);
    REQUIRE(lath_store_save(s.get(), dir.path("s").c_str(), nullptr, nullptr) == 0);
    auto t = fresh(LATH_STORE_NUMBERS);
    REQUIRE(lath_store_load(t.get(), dir.path("s").c_str(), nullptr, nullptr) == 0);
    CHECK(lath_store_count(t.get(), nullptr) == 1);
    lath_store_ref ref;
    lath_store_read_begin(t.get());
    CHECK(lath_store_get_ref(t.get(), lath_key_number(2), &ref) == 0);
    CHECK(ref.expires == future);
    lath_store_read_end(t.get());
}

TEST_CASE("every truncation and every changed byte is found, and nothing is left in the store") {
    scratch_dir dir;
    for (auto kind : {LATH_STORE_NUMBERS, LATH_STORE_BYTES}) {
        auto s = fresh(kind);
        model m{kind, {}};
        fill(s.get(), m, 60, 3);
        REQUIRE(lath_store_save(s.get(), dir.path("s").c_str(), nullptr, nullptr) == 0);
        std::string whole = read_file(dir.path("s"));
        auto t = fresh(kind);
        auto load = [&](const std::string& content) {
            write_file(dir.path("t"), content);
            int ret = lath_store_load(t.get(), dir.path("t").c_str(), nullptr, nullptr);
            REQUIRE(lath_store_count(t.get(), nullptr) == 0);
            return ret;
        };
        for (std::size_t n = 0; n < whole.size(); ++n)
            REQUIRE(load(whole.substr(0, n)) == -EBADMSG);
        std::mt19937 random(5);
        for (std::size_t n = 0; n < whole.size(); ++n) {
            std::string bad = whole;
            bad[n] = static_cast<char>(bad[n] ^ (1 + random() % 255));
            REQUIRE(load(bad) == -EBADMSG);
        }
        CHECK(load(whole + "x") == -EBADMSG);
        CHECK(load(whole + whole) == -EBADMSG);
    }
}

TEST_CASE("entries that no save writes are refused, and nothing is left in the store") {
    using namespace std::string_literals;
    scratch_dir dir;
    auto load = [&](lath_store_keys kind, const std::string& entries, std::uint64_t count) {
        write_file(dir.path("s"), sealed(kind, entries, count));
        auto s = fresh(kind);
        int ret = lath_store_load(s.get(), dir.path("s").c_str(), nullptr, nullptr);
        CHECK(lath_store_count(s.get(), nullptr) == (ret ? 0 : static_cast<std::int64_t>(count)));
        return ret;
    };
    const auto n = LATH_STORE_NUMBERS, b = LATH_STORE_BYTES;
    const std::string most(9, '\xff'); // with \1 behind it: 2^64 - 1
    CHECK(load(n, "\7\2v"s + "\0\2w"s, 2) == 0);
    CHECK(load(n, most + "\1\2v", 1) == 0);
    CHECK(load(n, "\7\2v" + most + "\1\2w", 2) == -EBADMSG); // a key above 64 bits
    CHECK(load(n, most + "\2\2v", 1) == -EBADMSG); // a number above 64 bits
    CHECK(load(n, most, 1) == -EBADMSG); // one without an end
    CHECK(load(n, "\7\2v", 2) == -EBADMSG); // fewer entries than are said
    CHECK(load(n, "\7\4v", 1) == -EBADMSG); // a value beyond the block
    CHECK(load(n, "\7\3v", 1) == -EBADMSG); // a time beyond it
    CHECK(load(n, "\7\2vx", 1) == -EBADMSG); // something behind the last
    CHECK(load(b, "\0\2ab\2v"s + "\1\1c\2w", 2) == 0);
    CHECK(load(b, "\1\1a\2v", 1) == -EBADMSG); // shares with nothing
    CHECK(load(b, "\0\2ab\2v"s + "\3\1c\2w", 2) == -EBADMSG); // shares more than there is
    CHECK(load(b, "\0\2ab\2v"s + "\1\1a\2w", 2) == -EBADMSG); // not behind the one before
    CHECK(load(b, "\0\2ab\2v"s + "\1\0\2w"s, 2) == -EBADMSG); // its beginning
    CHECK(load(b, "\0\2ab\2v"s + "\2\0\2w"s, 2) == -EBADMSG); // the same
    CHECK(load(b, "\0\5ab"s, 1) == -EBADMSG); // a key beyond the block
    const std::string longest(65535, 'k');
    CHECK(load(b, "\0\xff\xff\3"s + longest + "\2v", 1) == 0);
    CHECK(load(b, "\0\x80\x80\4"s + longest + "k\2v", 1) == -EBADMSG); // too long
}

// A small file may have large keys: of each only what it does not share with the one before is in
// it.
TEST_CASE("a file whose keys do not fit is refused before anything is put") {
    using namespace std::string_literals;
    scratch_dir dir;
    auto number = [](std::size_t n) {
        std::string bytes;
        for (; n >= 0x80; n >>= 7)
            bytes += static_cast<char>((n & 0x7f) | 0x80);
        return bytes + static_cast<char>(n);
    };
    auto bomb = [&](std::size_t size, unsigned entries) {
        std::string all = number(0) + number(size) + std::string(size - 2, 'k') + "\1\1"s + "\0"s;
        for (unsigned i = 1; i < entries; ++i) {
            bool carries = i % 250 == 0; // two digits of base 250, of which the first shares too
            std::string tail;
            if (carries)
                tail += static_cast<char>(i / 250 + 1);
            tail += static_cast<char>(i % 250 + 1);
            all += number(size - tail.size()) + number(tail.size()) + tail + "\0"s;
        }
        write_file(dir.path("s"), sealed(LATH_STORE_BYTES, all, entries));
        return all.size();
    };
    struct {
        std::size_t size;
        unsigned entries;
        const char* need;
    } const all[] = {{65535, 2000, "125.0 MiB"},   {65535, 200, "12.5 MiB"},
                     {65535, 50000, "3125.0 MiB"}, {1000, 50000, "47.7 MiB"},
                     {5000, 20000, "95.4 MiB"},    {300, 60000, "17.2 MiB"}};
    for (const auto& b : all) {
        CAPTURE(b.size);
        CAPTURE(b.entries);
        CHECK(bomb(b.size, b.entries) < (1u << 20));
        lath_store_options options = LATH_STORE_OPTIONS_INIT;
        options.keys = LATH_STORE_BYTES;
        options.limit = 8 << 20;
        for (unsigned flags : {0u, unsigned{LATH_STORE_EVICT}}) {
            options.flags = flags;
            for (const char* spec : {"mem:", here()}) {
                store_ptr s = open_store(options, spec);
                REQUIRE(s);
                std::uint64_t put = 0;
                auto watch = [](void* most, std::uint64_t items, std::uint64_t) {
                    auto& so_far = *static_cast<std::uint64_t*>(most);
                    so_far = std::max(so_far, items);
                    return 0;
                };
                CHECK(lath_store_load(s.get(), dir.path("s").c_str(), watch, &put) == -ENOSPC);
                CHECK(put == 0);
                CHECK(std::string(lath_store_reason()).find("need about "s + b.need) !=
                      std::string::npos);
                CHECK(lath_store_count(s.get(), nullptr) == 0);
            }
        }
    }
    bomb(1000, 4000); // fits
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    options.keys = LATH_STORE_BYTES;
    options.limit = 8 << 20;
    store_ptr s = open_store(options, "mem:");
    CHECK(lath_store_load(s.get(), dir.path("s").c_str(), nullptr, nullptr) == 0);
    CHECK(lath_store_count(s.get(), nullptr) == 4000);
}

TEST_CASE("a snapshot of the other kind is refused as such") {
    scratch_dir dir;
    auto s = fresh(LATH_STORE_NUMBERS);
    REQUIRE(lath_store_save(s.get(), dir.path("s").c_str(), nullptr, nullptr) == 0);
    auto t = fresh(LATH_STORE_BYTES);
    CHECK(lath_store_load(t.get(), dir.path("s").c_str(), nullptr, nullptr) == -EINVAL);
    CHECK(lath_store_load(t.get(), dir.path("none").c_str(), nullptr, nullptr) == -ENOENT);
    CHECK(lath_store_load(t.get(), dir.path(".").c_str(), nullptr, nullptr) == -EINVAL);
}

TEST_CASE("a save that fails leaves the old file") {
    scratch_dir dir;
    auto s = fresh(LATH_STORE_NUMBERS);
    write_file(dir.path("s"), "old");
    for (std::uint64_t i = 0; i < 100000; ++i)
        REQUIRE(lath_store_set(s.get(), lath_key_number(i), "some value", 10) == 0);
    auto stop = [](void*, std::uint64_t, std::uint64_t) { return 1; };
    CHECK(lath_store_save(s.get(), dir.path("s").c_str(), stop, nullptr) == -EINTR);
    CHECK(read_file(dir.path("s")) == "old");
    CHECK(dir.names() == "s");
    CHECK(lath_store_save(s.get(), "/no/such/dir/s", nullptr, nullptr) == -ENOENT);
    CHECK(lath_store_save(s.get(), "/dev/full/s", nullptr, nullptr) == -ENOTDIR);
    rlimit before{}; // no room for the file
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    rlimit little{300000, before.rlim_max};
    auto* handler = std::signal(SIGXFSZ, SIG_IGN);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &little) == 0);
    int ret = lath_store_save(s.get(), dir.path("s").c_str(), nullptr, nullptr);
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    CHECK(ret == -EFBIG);
    CHECK(read_file(dir.path("s")) == "old");
    CHECK(dir.names() == "s");
    CHECK(lath_store_save(s.get(), dir.path("s").c_str(), nullptr, nullptr) == 0);
}

TEST_CASE("file: is read when opened and written when closed, if something changed") {
    scratch_dir dir;
    std::string spec = "file:" + dir.path("s");
    fresh(LATH_STORE_BYTES, spec.c_str());
    CHECK(access(dir.path("s").c_str(), F_OK) != 0);
    {
        auto s = fresh(LATH_STORE_BYTES, spec.c_str());
        REQUIRE(lath_store_set(s.get(), lath_key_bytes("k", 1), "v", 1) == 0);
    }
    {
        auto s = fresh(LATH_STORE_BYTES, spec.c_str());
        REQUIRE(s);
        CHECK(lath_store_get(s.get(), lath_key_bytes("k", 1), nullptr, 0) == 1);
        unlink(dir.path("s").c_str()); // nothing changed: it is not written again
    }
    CHECK(access(dir.path("s").c_str(), F_OK) != 0);
    write_file(dir.path("s"), "no snapshot");
    CHECK(!fresh(LATH_STORE_BYTES, spec.c_str()));
    CHECK(read_file(dir.path("s")) == "no snapshot");
}
