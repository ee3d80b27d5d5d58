// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A program that saves over and over is killed at random moments: the snapshot is always whole, and
// never older than the last save it reported.
#include "model.hpp"
#include "scratch.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <signal.h>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr std::uint64_t items = 20000;

// Generation g: every value is g. Reported on standard output when its save returned.
int child(const char* path) {
    lath_store* s = nullptr;
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    if (lath_store_open(&s, "mem:", &options))
        return 1;
    for (std::uint64_t g = 1;; ++g) {
        std::string v = std::to_string(g);
        for (std::uint64_t i = 0; i < items; ++i)
            if (lath_store_set(s, lath_key_number(i * 1000003), v.data(), v.size()))
                return 1;
        if (lath_store_save(s, path, nullptr, nullptr))
            return 1;
        if (write(1, &g, sizeof g) != sizeof g)
            return 0;
    }
}

// The generation in the file; 0: no file; throws when it is not whole.
std::uint64_t generation(const char* path) {
    lath_store* s = nullptr;
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    if (access(path, F_OK))
        return 0;
    if (lath_store_open(&s, "mem:", &options))
        std::exit(1);
    int ret = lath_store_load(s, path, nullptr, nullptr);
    if (ret) {
        std::fprintf(stderr, "the snapshot does not load: %s\n", std::strerror(-ret));
        std::exit(1);
    }
    std::uint64_t g = 0, n = 0;
    lath_store_iter* iter = nullptr;
    lath_store_key key;
    lath_store_ref value;
    if (lath_store_iter_begin(s, nullptr, &iter))
        std::exit(1);
    for (; lath_store_iter_next(iter, &key, &value) == 1; ++n) {
        std::uint64_t v = std::stoull(std::string(storetest::view(value)));
        if (g && v != g) {
            std::fprintf(stderr, "the snapshot is torn: %llu and %llu\n",
                         static_cast<unsigned long long>(g), static_cast<unsigned long long>(v));
            std::exit(1);
        }
        g = v;
    }
    lath_store_iter_end(iter);
    lath_store_close(s);
    if (n != items) {
        std::fprintf(stderr, "the snapshot has %llu items\n", static_cast<unsigned long long>(n));
        std::exit(1);
    }
    return g;
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 3)
        return child(argv[2]);
    scratch_dir dir;
    std::string path = dir.path("s");
    std::mt19937 random(42);
    int rounds = std::getenv("LATH_LONG") ? 1000 : 12, saved = 0;
    for (int r = 0; r < rounds; ++r) {
        unlink(path.c_str());
        int pipes[2];
        if (pipe2(pipes, O_CLOEXEC))
            return 1;
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, pipes[1], 1);
        std::string self = "/proc/self/exe", word = "child";
        char* args[] = {self.data(), word.data(), path.data(), nullptr};
        pid_t pid = 0;
        if (posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, args, environ))
            return 1;
        posix_spawn_file_actions_destroy(&actions);
        close(pipes[1]);
        std::uint64_t reported = 0, g = 0;
        if (r % 4 && read(pipes[0], &g, sizeof g) == sizeof g) // however slow it is, it has saved
            reported = g;
        usleep(static_cast<useconds_t>((r % 4 ? 0 : 20000) + random() % 300000));
        kill(pid, SIGKILL);
        waitpid(pid, nullptr, 0);
        while (read(pipes[0], &g, sizeof g) == sizeof g)
            reported = g;
        close(pipes[0]);
        std::uint64_t found = generation(path.c_str());
        if (found < reported || found > reported + 1) {
            std::fprintf(stderr, "saved %llu, found %llu\n",
                         static_cast<unsigned long long>(reported),
                         static_cast<unsigned long long>(found));
            return 1;
        }
        saved += found > 0;
    }
    std::printf("kill_test: killed %d times, %d times a snapshot was there\n", rounds, saved);
    return saved * 4 >= rounds * 3 ? 0 : 1;
}
