// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// libforrest: each case is a defect of the library and module of 2012 by name.
#include "lathwork/forrest.h"
#include "scratch.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CHECKER
#endif
#endif

namespace {

struct free_result {
    void operator()(llds_result_ent* e) const { std::free(e); }
};
using result = std::unique_ptr<llds_result_ent, free_result>;

struct handle {
    FORREST* h = forrest_alloc();
    ~handle() {
        result(forrest_rm_tree(h));
        forrest_cleanup(h);
    }
};

int insert(FORREST* h, std::uint64_t key, const std::string& v) {
    return result(
               forrest_insert_key(h, key, const_cast<char*>(v.data()), static_cast<int>(v.size())))
        ->result;
}

// "-" for a key that is not there
std::string get(FORREST* h, std::uint64_t key) {
    result r(forrest_get_key(h, key));
    std::string v =
        r->val ? std::string(static_cast<char*>(r->val), static_cast<std::size_t>(r->vlen)) : "-";
    std::free(r->val);
    return v;
}

} // namespace

TEST_CASE("a set on an existing key changes the value") {
    handle f;
    REQUIRE(insert(f.h, 1, "first") == SUCCESS);
    REQUIRE(insert(f.h, 1, "second") == SUCCESS);
    CHECK(get(f.h, 1) == "second");
}

TEST_CASE("result and vlen say hit, miss or error") {
    handle f;
    result set(forrest_insert_key(f.h, 7, const_cast<char*>("abc"), 4));
    CHECK(set->result == SUCCESS);
    result hit(forrest_get_key(f.h, 7));
    CHECK(hit->result == SUCCESS);
    CHECK(hit->key == 7);
    CHECK(hit->vlen == 4);
    std::free(hit->val);
    result miss(forrest_get_key(f.h, 8));
    CHECK(miss->result == -ENOENT);
    CHECK(miss->val == nullptr);
    CHECK(miss->vlen == 0);
}

TEST_CASE("values above 4096 bytes come back whole") {
    handle f;
    for (std::size_t size : {4095u, 4096u, 4097u, 65535u, 65536u, 3000000u}) {
        std::string v(size, 'v');
        v.back() = 'e';
        REQUIRE(insert(f.h, size, v) == SUCCESS);
        CHECK(get(f.h, size) == v);
    }
}

TEST_CASE("a string value is terminated when its caller left the NUL out") {
    handle f;
    REQUIRE(insert(f.h, 1, "text") == SUCCESS);
    result r(forrest_get_key(f.h, 1));
    CHECK(std::strcmp(static_cast<char*>(r->val), "text") == 0);
    std::free(r->val);
}

TEST_CASE("a negative length is refused") {
    handle f;
    char c = 'x';
    CHECK(result(forrest_insert_key(f.h, 1, &c, -1))->result == -EINVAL);
    CHECK(result(forrest_insert_key(f.h, 1, &c, INT_MIN))->result == -EINVAL);
    CHECK(result(forrest_insert_key(f.h, 1, nullptr, 3))->result == -EINVAL);
    CHECK(get(f.h, 1) == "-");
    CHECK(insert(f.h, 1, "") == SUCCESS);
    CHECK(get(f.h, 1).empty());
}

TEST_CASE("removing the tree removes all and inserts nothing") {
    handle f;
    for (std::uint64_t k = 0; k < 5000; ++k)
        REQUIRE(insert(f.h, k, std::to_string(k)) == SUCCESS);
    CHECK(result(forrest_rm_tree(f.h))->result == SUCCESS);
    CHECK(get(f.h, 0) == "-"); // the module of 2012 put a key 0 in
    CHECK(get(f.h, 4999) == "-");
}

TEST_CASE("one key can be deleted") {
    handle f;
    REQUIRE(insert(f.h, 1, "a") == SUCCESS);
    REQUIRE(insert(f.h, 2, "b") == SUCCESS);
    CHECK(result(forrest_delete_key(f.h, 1))->result == SUCCESS);
    CHECK(result(forrest_delete_key(f.h, 1))->result == -ENOENT);
    CHECK(get(f.h, 1) == "-");
    CHECK(get(f.h, 2) == "b");
}

TEST_CASE("cleanup takes a valid handle and NULL") {
    FORREST* h = forrest_alloc();
    REQUIRE(h);
    CHECK(forrest_cleanup(h) == nullptr);
    CHECK(forrest_cleanup(nullptr) == nullptr);
    CHECK(result(forrest_get_key(nullptr, 1))->result == -EINVAL);
    CHECK(result(forrest_insert_key(nullptr, 1, nullptr, 0))->result == -EINVAL);
    CHECK(result(forrest_delete_key(nullptr, 1))->result == -EINVAL);
    CHECK(result(forrest_rm_tree(nullptr))->result == -EINVAL);
}

TEST_CASE("entries in memory are there after the last handle") {
    FORREST* h = forrest_alloc();
    REQUIRE(insert(h, 1, "kept") == SUCCESS);
    forrest_cleanup(h);
    handle again;
    CHECK(get(again.h, 1) == "kept");
}

#ifndef CHECKER // needs more addresses than a limit leaves
TEST_CASE("a get without memory for the value says so") {
    handle f;
    REQUIRE(insert(f.h, 1, std::string(64 << 20, 'v')) == SUCCESS);
    long pages = 0;
    std::FILE* statm = std::fopen("/proc/self/statm", "r");
    REQUIRE((statm && std::fscanf(statm, "%ld", &pages) == 1));
    std::fclose(statm);
    rlimit before{}, tight{};
    REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
    tight = before;
    tight.rlim_cur = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE)) + (16 << 20);
    REQUIRE(setrlimit(RLIMIT_AS, &tight) == 0);
    result r(forrest_get_key(f.h, 1));
    REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
    CHECK(r->result == -ENOMEM);
    CHECK(!r->val);
    CHECK(get(f.h, 1).size() == 64 << 20);
}
#endif

TEST_CASE("a store that cannot be opened gives no handle") {
    // only the first handle of a program opens it: ask in a child
    std::string cmd = "FORREST_STORE=shm:a/b " + std::string(std::getenv("FORREST_SELF")) +
                      " --test-case='a set on an existing*' >/dev/null 2>&1";
    CHECK(std::system(cmd.c_str()) != 0);
}

TEST_CASE("helper: two keys" * doctest::skip()) {
    FORREST* h = forrest_alloc();
    if (!h)
        std::exit(2);
    std::string before = get(h, 1), path = std::string(std::getenv("FORREST_STORE")).substr(5);
    insert(h, 1, before + "x");
    bool held = access((path + ".lock").c_str(), F_OK) == 0;
    forrest_cleanup(h);
    bool left = access((path + ".lock").c_str(), F_OK) == 0;
    h = forrest_alloc(); // again
    std::exit(h && held && !left && get(h, 1) == before + "x" && !forrest_cleanup(h) ? 0 : 3);
}

TEST_CASE("a file: is locked while there is a handle, and written with the last one") {
    scratch_dir dir;
    std::string cmd = "FORREST_STORE=file:" + dir.path("s") + " " +
                      std::string(std::getenv("FORREST_SELF")) +
                      " --test-case='helper: two keys' --no-skip >/dev/null 2>&1";
    CHECK(std::system(cmd.c_str()) == 0);
    CHECK(std::system(cmd.c_str()) == 0);
    CHECK(dir.names() == "s");
    std::string nowhere = "FORREST_STORE=file:/no/such/dir/s " + cmd.substr(cmd.find(' '));
    CHECK(WEXITSTATUS(std::system(nowhere.c_str())) == 2);
}

TEST_CASE("a get copies while another thread removes everything") {
    handle f;
    std::string v(500, 'v');
    std::thread remover([&] {
        for (int i = 0; i < 200; ++i) {
            result(forrest_rm_tree(f.h));
            for (std::uint64_t k = 0; k < 20; ++k)
                insert(f.h, k, v);
        }
    });
    std::vector<std::thread> readers;
    for (int t = 0; t < 2; ++t)
        readers.emplace_back([&] {
            FORREST* mine = forrest_alloc(); // one handle a thread, one tree for all
            for (int i = 0; i < 20000; ++i) {
                std::string got = get(mine, static_cast<std::uint64_t>(i % 20));
                if (got != "-" && got != v)
                    std::abort();
            }
            forrest_cleanup(mine);
        });
    remover.join();
    for (auto& t : readers)
        t.join();
}

TEST_CASE("the hash reads unaligned and knows its vectors") {
    // made with a second implementation, of the published description
    struct {
        const char* text;
        unsigned seed;
        std::uint64_t hash;
    } const known[] = {{"", 0, 0x0000000000000000ull},
                       {"a", 9, 0x46be922470df1f1full},
                       {"key1", 9, 0x3dd2f0713e00c495ull},
                       {"key123456789", 9, 0x088c7d0bcc2693b8ull},
                       {"12345678", 1, 0x890060166fadafa0ull},
                       {"The quick brown fox jumps over the lazy dog", 0, 0x5589ca33042a861bull}};
    for (const auto& k : known) {
        CAPTURE(k.text);
        std::string padded = "x" + std::string(k.text);
        int len = static_cast<int>(std::strlen(k.text));
        CHECK(ft_MurmurHash64A(k.text, len, k.seed) == k.hash);
        CHECK(ft_MurmurHash64A(padded.data() + 1, len, k.seed) == k.hash);
    }
    CHECK(ft_MurmurHash64A("", -5, 1) == ft_MurmurHash64A("", 0, 1));
}
