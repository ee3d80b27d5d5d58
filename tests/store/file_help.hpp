// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// For tests of a store's files: contents, sentences, other processes.
#pragma once

#include "model.hpp"
#include "scratch.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace storetest {

inline std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}
inline void write_file(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}
inline std::string reason() { return lath_store_reason(); }
inline bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

inline store_ptr numbers(std::uint64_t n) {
    store_ptr s = open_store(LATH_STORE_OPTIONS_INIT, "mem:");
    REQUIRE(s);
    for (std::uint64_t i = 0; i < n; ++i)
        REQUIRE(lath_store_set(s.get(), lath_key_number(i * 7919), "some value of 20 b", 18) == 0);
    return s;
}
inline int save(const store_ptr& s, const std::string& path) {
    return lath_store_save(s.get(), path.c_str(), nullptr, nullptr);
}
// How many entries a snapshot has; a negative errno.
inline std::int64_t entries(const std::string& path) {
    store_ptr s = open_store(LATH_STORE_OPTIONS_INIT, "mem:");
    int ret = lath_store_load(s.get(), path.c_str(), nullptr, nullptr);
    return ret ? ret : lath_store_count(s.get(), nullptr);
}

inline int open_file(store_ptr& s, const std::string& path, unsigned flags = 0) {
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    options.flags = flags;
    lath_store* raw = nullptr;
    int ret = lath_store_open(&raw, ("file:" + path).c_str(), &options);
    s.reset(ret ? nullptr : raw);
    return ret;
}
inline int set(const store_ptr& s, std::uint64_t key, const std::string& value) {
    return lath_store_set(s.get(), lath_key_number(key), value.data(), value.size());
}
inline std::string get(lath_store* s, std::uint64_t key) {
    char value[64];
    auto n = lath_store_get(s, lath_key_number(key), value, sizeof value);
    return n < 0 ? "-" : std::string(value, static_cast<std::size_t>(n));
}
// What the file has for a key.
inline std::string saved(const std::string& path, std::uint64_t key) {
    store_ptr s;
    return open_file(s, path, LATH_STORE_READ_ONLY) ? reason() : get(s.get(), key);
}

// A child that only forked: body's result is its exit code.
template <class Body>
pid_t child(Body body) {
    pid_t pid = fork();
    if (pid == 0)
        _exit(body());
    return pid;
}
inline int ended(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

struct pipe_ends {
    int in = -1, out = -1;
    pipe_ends() {
        int ends[2];
        REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
        in = ends[0];
        out = ends[1];
    }
    pipe_ends(const pipe_ends&) = delete;
    pipe_ends& operator=(const pipe_ends&) = delete;
    ~pipe_ends() {
        close(in);
        close(out);
    }
    void tell() const { (void)!write(out, "x", 1); }
    bool hear() const {
        char c;
        return read(in, &c, 1) == 1;
    }
};

} // namespace storetest
