// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Files of a test's own, gone when it is: also when it fails, is killed or runs out of time.
#pragma once

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <system_error>
#include <unistd.h>

extern char** environ;

// What begins with this path goes when this process, and every child it only forked, is gone: a
// shell waits for that.
inline void remove_at_end(std::string path) {
    int ends[2];
    posix_spawn_file_actions_t files;
    posix_spawnattr_t own_session;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&own_session);
    posix_spawnattr_setflags(&own_session, POSIX_SPAWN_SETSID);
    std::string shell = "sh", option = "-c", script = R"(read -r _; rm -rf -- "$0"*)";
    char* args[] = {shell.data(), option.data(), script.data(), path.data(), nullptr};
    if (pipe2(ends, O_CLOEXEC) || posix_spawn_file_actions_adddup2(&files, ends[0], 0) ||
        posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0) ||
        posix_spawn_file_actions_adddup2(&files, 1, 2) ||
        posix_spawnp(nullptr, "sh", &files, &own_session, args, environ))
        throw std::runtime_error("no shell to remove " + path);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&own_session);
    close(ends[0]);
}

// A directory. In memory where that can be: file systems on disks write a truncated file out at
// once.
class scratch_dir {
public:
    scratch_dir() : dir_(all() + "/" + std::to_string(++count_)) {
        std::filesystem::create_directory(dir_);
    }
    ~scratch_dir() {
        std::error_code ignored;
        std::filesystem::remove_all(dir_, ignored);
    }
    scratch_dir(const scratch_dir&) = delete;
    scratch_dir& operator=(const scratch_dir&) = delete;
    std::string path(const char* name) const { return (dir_ / name).string(); }
    // All that is in it, in order, a space between two.
    std::string names() const {
        std::set<std::string> all;
        for (const auto& entry : std::filesystem::directory_iterator(dir_))
            all.insert(entry.path().filename().string());
        std::string text;
        for (const auto& name : all)
            text += (text.empty() ? "" : " ") + name;
        return text;
    }

private:
    static std::string make() {
        const char* set = std::getenv("TMPDIR");
        for (std::string place : {set ? set : "", "/dev/shm", "/tmp"}) {
            std::string name = place + "/lath-store-XXXXXX";
            if (!place.empty() && mkdtemp(name.data())) {
                remove_at_end(name);
                return name;
            }
        }
        throw std::runtime_error("no directory for temporary files");
    }
    static const std::string& all() {
        static const std::string dir = make();
        return dir;
    }

    static inline int count_ = 0;
    std::filesystem::path dir_;
};
