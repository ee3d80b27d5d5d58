// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "lathwork/cxx/store.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <string>
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
    s.append("b", "4");
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
