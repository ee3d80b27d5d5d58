// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "lathwork/cxx/store.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

using lathwork::byte_store;
using lathwork::number_store;

TEST_CASE("byte_store: calls and their answers") {
    byte_store s;
    CHECK(s.add("a", "1"));
    CHECK(!s.add("a", "2"));
    CHECK(!s.replace("b", "2"));
    s.set("b", "2");
    CHECK(s.get("b") == "2");
    CHECK(!s.get("c"));
    CHECK(!s.compare_exchange("c", "", ""));
    CHECK(!s.compare_exchange("b", "1", "3"));
    CHECK(s.compare_exchange("b", "2", "3"));
    s.set("b", "34");
    CHECK(s.get("b") == "34");
    CHECK(s.increment("b") == 35);
    CHECK(s.contains("b"));
    CHECK(s.expire("b", 1));
    CHECK(!s.contains("b"));
    CHECK(s.erase("a"));
    CHECK(!s.erase("a"));
    CHECK_THROWS_AS(s.set(std::string(70000, 'k'), ""), std::system_error);
    s.set("word", "x");
    CHECK_THROWS_AS(s.increment("word"), std::system_error);
}

TEST_CASE("number_store: batches and ranges") {
    number_store s;
    std::vector<std::string> texts;
    std::vector<std::pair<std::uint64_t, std::string_view>> entries;
    for (std::uint64_t i = 0; i < 1000; ++i)
        texts.push_back(std::to_string(i));
    for (std::uint64_t i = 0; i < 1000; ++i)
        entries.emplace_back(i * 10, texts[i]);
    s.set_all(entries);
    CHECK(s.stats().items == 1000);
    std::uint64_t keys[] = {50, 51, 60};
    auto values = s.get_all(keys);
    CHECK(values[0] == "5");
    CHECK(!values[1]);
    CHECK(values[2] == "6");
    std::uint64_t want = 99;
    for (auto [key, value] : s.range({.from = 45, .to = 1000, .backward = true})) {
        REQUIRE(key == want * 10);
        REQUIRE(value == std::to_string(want));
        --want;
    }
    CHECK(want == 4);
    number_store::section inside(s);
    CHECK(s.visit(50, [](const lath_store_ref& ref) { CHECK(ref.size == 1); }));
}

TEST_CASE("byte_store: prefixes, snapshots, moves") {
    byte_store s;
    for (const char* k : {"b", "ab", "aa", "abc"})
        s.set(k, k);
    std::string all;
    for (auto [key, value] : s.range({.prefix = "ab"}))
        all.append(key).append(",");
    CHECK(all == "ab,abc,");
    std::string path = "cxx_store_test.snapshot";
    s.save(path);
    byte_store t;
    t.load(path);
    CHECK(t.get("abc") == "abc");
    CHECK_THROWS_AS(t.load(path), std::system_error);
    byte_store moved = std::move(t);
    CHECK(moved.contains("b"));
    moved.close();
    std::remove(path.c_str());
    CHECK_THROWS_WITH(byte_store("shm:a/b"), doctest::Contains("a name"));
}

TEST_CASE("update, versions, counts, expiry") {
    byte_store s("mem:", {.versions = true});
    CHECK(s.add("a", "1"));
    std::uint64_t version = 0;
    s.visit("a", [&](const lath_store_ref& ref) { version = ref.version; });
    CHECK(!s.set_if("a", version + 1, "x"));
    CHECK(!s.set_if("none", version, "x"));
    CHECK(s.set_if("a", version, "9"));
    auto twice = [](const lath_store_ref* old, lathwork::change& to) {
        std::string was(static_cast<const char*>(old->data), old->size);
        to.put(was + was);
    };
    s.update("a", twice);
    CHECK(s.get("a") == "99");
    CHECK_THROWS_AS(s.update("a", [](auto*, auto&) { throw std::runtime_error("no"); }),
                    std::runtime_error);
    CHECK_THROWS_AS(s.visit("a", [](auto&) { throw std::runtime_error("no"); }),
                    std::runtime_error);
    CHECK(s.get("a") == "99");
    s.update("b", [](auto* old, lathwork::change& to) {
        if (!old)
            to.put("new");
    });
    s.update("a", [](auto*, lathwork::change& to) { to.remove(); });
    CHECK(!s.contains("a"));
    for (char c = 'c'; c < 'h'; c++)
        s.set(std::string(1, c), "v");
    CHECK(s.count() == 6);
    CHECK(s.count({.from = "d", .to = "f"}) == 2);
    std::uint64_t expires = 1;
    auto look = [&](const lath_store_ref& ref) { expires = ref.expires; };
    CHECK(s.visit("d", look));
    CHECK(expires == 0);
    CHECK(s.expire_after("d", std::chrono::hours(1)));
    CHECK(s.visit("d", look));
    CHECK(expires > lath_store_now());
    CHECK(s.expire("d", 1));
    CHECK(!s.contains("d"));
    CHECK(lath_store_sweep(s.get_handle()) == 1);
}

TEST_CASE("a closed store throws, whatever is asked of it") {
    byte_store s, from;
    s.set("a", "1");
    CHECK(s.is_open());
    s.close();
    byte_store moved = std::move(from);
    CHECK(moved.is_open());
    for (byte_store* closed : {&s, &from}) { // NOLINT(bugprone-use-after-move)
        CHECK(!closed->is_open());
        CHECK(closed->get_handle() == nullptr);
        auto refused = [](auto call) {
            try {
                call();
            } catch (const std::system_error& e) {
                return e.code() == std::errc::bad_file_descriptor;
            }
            return false;
        };
        std::string_view key = "a";
        std::pair<std::string_view, std::string_view> entry("a", "b");
        CHECK(refused([&] { (void)closed->get("a"); }));
        CHECK(refused([&] { closed->contains("a"); }));
        CHECK(refused([&] { (void)closed->get_all({&key, 1}); }));
        CHECK(refused([&] { closed->set("a", "2"); }));
        CHECK(refused([&] { closed->add("a", "2"); }));
        CHECK(refused([&] { closed->replace("a", "2"); }));
        CHECK(refused([&] { closed->erase("a"); }));
        CHECK(refused([&] { closed->compare_exchange("a", "1", "2"); }));
        CHECK(refused([&] { closed->increment("a"); }));
        CHECK(refused([&] { closed->expire("a", 0); }));
        CHECK(refused([&] { closed->set_all({&entry, 1}); }));
        CHECK(refused([&] { (void)closed->range(); }));
        CHECK(refused([&] { (void)closed->stats(); }));
        CHECK(refused([&] { closed->save("nowhere"); }));
        CHECK(refused([&] { closed->load("nowhere"); }));
        CHECK(refused([&] { closed->sync(); }));
        CHECK(refused([&] { byte_store::section inside(*closed); }));
        closed->close();
    }
}

TEST_CASE("errors on files name them") {
    std::string dir = "/tmp/cxx_store_test-XXXXXX";
    REQUIRE(mkdtemp(dir.data()));
    const std::string path = dir + "/s";
    CHECK_THROWS_WITH(byte_store("file:" + dir + "/none/s"),
                      doctest::Contains("none/s: No such file"));
    byte_store s("file:" + path);
    s.set("a", "1");
    CHECK_THROWS_WITH(byte_store("file:" + path), doctest::Contains((path + ": in use").c_str()));
    s.sync();
    {
        byte_store reader("file:" + path, {.read_only = true});
        CHECK(reader.get("a") == "1");
        CHECK_THROWS_AS(reader.set("a", "2"), std::system_error);
    }
    CHECK_THROWS_WITH(s.save(dir), doctest::Contains((dir + ": a directory").c_str()));
    CHECK_THROWS_WITH(s.load(path), doctest::Contains("not empty"));
    s.set("a", "2");
    std::remove((path + ".lock").c_str());
    std::remove(path.c_str());
    rmdir(dir.c_str());
    CHECK_THROWS_WITH(s.close(), doctest::Contains((path + ".lock: No such file").c_str()));
    CHECK(!s.is_open());
    CHECK_THROWS_WITH(byte_store(path, {.existing = true}), doctest::Contains("use mem:"));
}
