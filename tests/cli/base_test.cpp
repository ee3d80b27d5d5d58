// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Numbers, words and files as every command reads and writes them.
#include "base/numbers.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "base/usage.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace lathcli;

TEST_CASE("numbers") {
    for (auto [text, n] : {std::pair<const char*, std::uint64_t>{"0", 0},
                           {"18446744073709551615", UINT64_MAX},
                           {"0xffffffffffffffff", UINT64_MAX},
                           {"0X10", 16},
                           {"4K", 4096},
                           {"4Ki", 4096},
                           {"4KiB", 4096},
                           {"15E", 15ull << 60},
                           {"1e6", 1000000},
                           {"1.25e2", 125},
                           {"1.50e1", 15},
                           {"0e99", 0},
                           {"1e+3", 1000}}) {
        CAPTURE(text);
        CHECK(parse_number(text) == n);
    }
    for (const char* text : {"",
                             "-1",
                             "+1",
                             " 1",
                             "1 ",
                             "1.5",
                             "1.25e1",
                             ".5e1",
                             "1.e1",
                             "1e",
                             "e1",
                             "1e20",
                             "1e-1",
                             "16E",
                             "K",
                             "1k",
                             "1KB",
                             "1Kib",
                             "0x",
                             "0xg",
                             "18446744073709551616",
                             "99999999999999999999",
                             "1e6K",
                             "nan"}) {
        CAPTURE(text);
        CHECK(!parse_number(text));
    }
    CHECK(number_of("--n", "8", 1, 8) == 8);
    CHECK_THROWS_WITH_AS(number_of("--n", "9", 1, 8),
                         doctest::Contains("--n: '9' is too large: at most 8"), usage_error);
    CHECK(parse_digits<std::int64_t>("-9223372036854775808") == INT64_MIN);
    CHECK(!parse_digits<std::uint64_t>("1e3"));
}

TEST_CASE("text") {
    CHECK(is_utf8("a\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80"));
    for (const char* bytes :
         {"\xff", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80"})
        CHECK(!is_utf8(bytes));
    CHECK(printable("a\t\\\x1b\xc3\xbc\xff") == "a\\t\\\\\\x1b\xc3\xbc\\xff");
    CHECK(to_hex("\x01\xff") == "01ff");
    CHECK(nearest("hybird", {"fifo", "hybrid"}) == "hybrid");
    CHECK(nearest("ext", {"alloc", "extents"}) == "extents");
    CHECK(!nearest("frobnicate", {"alloc", "extents"}));
}

TEST_CASE("files") {
    namespace fs = std::filesystem;
    std::string name = fs::temp_directory_path() / "lath-base-XXXXXX";
    REQUIRE(mkdtemp(name.data()));
    fs::path here = name;
    auto content = [](const fs::path& path) {
        std::ifstream in(path);
        return std::string(std::istreambuf_iterator<char>(in), {});
    };
    std::ofstream(here / "old") << "before";
    fs::create_symlink("old", here / "link");
    fs::create_symlink("later", here / "dangling");
    fs::create_symlink("loop", here / "loop");

    CHECK(same_file(here / "old", here / "link"));
    CHECK(same_file(here / "later", here / "dangling"));
    CHECK(!same_file(here / "old", here / "dangling"));
    CHECK_THROWS_AS(output(here / "link", {here / "old"}), output_error);
    CHECK_THROWS_AS(output(here / "dangling", {here / "later"}), output_error);
    for (fs::path path : {here, here / "none" / "x", here / "loop"})
        CHECK_THROWS_WITH_AS(output(path.string()), doctest::Contains(path.c_str()), output_error);

    {
        output dropped(here / "old");
        dropped.stream() << std::string(1u << 20, 'x') << std::flush;
    }
    CHECK(content(here / "old") == "before");
    for (const char* path : {"link", "dangling"}) {
        output kept(here / path);
        kept.stream() << "after " << path;
        kept.commit();
        CHECK(fs::is_symlink(here / path));
    }
    CHECK(content(here / "old") == "after link");
    CHECK(content(here / "later") == "after dangling");
    output full("/dev/full");
    full.stream() << "x";
    CHECK_THROWS_WITH_AS(full.commit(), doctest::Contains("cannot write /dev/full: No space left"),
                         output_error);
    CHECK(std::distance(fs::directory_iterator(here), fs::directory_iterator()) == 5);
    fs::remove_all(here);
}
