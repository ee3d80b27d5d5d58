// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Snapshots: what was saved comes back; a damaged file never does.
#include "model.hpp"
#include "scratch.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/file.h>
#include <fcntl.h>
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

} // namespace

TEST_CASE("what was saved comes back") {
    scratch_dir dir;
    for (auto kind : {LATH_STORE_NUMBERS, LATH_STORE_BYTES}) {
        for (int n : {0, 1, 200, 5000}) {
            auto s = fresh(kind);
            model m{kind, {}};
            fill(s.get(), m, n, 7);
            REQUIRE(lath_store_save(s.get(), dir.path("s").c_str(), nullptr, nullptr) == 0);
            CHECK(access(dir.path("s.tmp").c_str(), F_OK) != 0);
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

TEST_CASE("a snapshot of the other kind is refused as such") {
    scratch_dir dir;
    auto s = fresh(LATH_STORE_NUMBERS);
    REQUIRE(lath_store_save(s.get(), dir.path("s").c_str(), nullptr, nullptr) == 0);
    auto t = fresh(LATH_STORE_BYTES);
    CHECK(lath_store_load(t.get(), dir.path("s").c_str(), nullptr, nullptr) == -EINVAL);
    CHECK(lath_store_load(t.get(), dir.path("none").c_str(), nullptr, nullptr) == -ENOENT);
    CHECK(lath_store_load(t.get(), dir.path(".").c_str(), nullptr, nullptr) == -EBADMSG);
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
    CHECK(access(dir.path("s.tmp").c_str(), F_OK) != 0);
    CHECK(lath_store_save(s.get(), "/no/such/dir/s", nullptr, nullptr) == -ENOENT);
    CHECK(lath_store_save(s.get(), "/dev/full/s", nullptr, nullptr) == -ENOTDIR);
    int fd = open(dir.path("s.tmp").c_str(), O_CREAT | O_RDWR, 0600); // another save runs
    REQUIRE(flock(fd, LOCK_EX) == 0);
    CHECK(lath_store_save(s.get(), dir.path("s").c_str(), nullptr, nullptr) == -EBUSY);
    CHECK(read_file(dir.path("s")) == "old");
    close(fd);
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
