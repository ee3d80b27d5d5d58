// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "companions.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <spawn.h>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace lathcli {

namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
    std::error_code none;
    return fs::is_regular_file(path, none) && access(path.c_str(), X_OK) == 0;
}

std::vector<fs::path> search_path() {
    std::vector<fs::path> where;
    std::error_code none;
    if (fs::path self = fs::read_symlink("/proc/self/exe", none); !none) {
        where.push_back(self.parent_path());
        where.push_back((self.parent_path() / LATH_LIBEXEC_DIR).lexically_normal());
    }
    if (const char* path = std::getenv("PATH")) {
        std::istringstream in(path);
        for (std::string dir; std::getline(in, dir, ':');)
            where.emplace_back(dir.empty() ? "." : dir);
    }
    return where;
}

} // namespace

const companion* find_companion(const std::string& command) {
    for (const companion& each : companions)
        if (command == each.command)
            return &each;
    return nullptr;
}

std::string path_of(const companion& each) {
    for (const fs::path& dir : search_path())
        if (is_program(dir / each.program))
            return dir / each.program;
    return {};
}

std::string describe(const companion& each) {
    std::string text = each.summary;
    if (path_of(each).empty())
        text += std::string(" (not installed: ") + each.program + ")";
    return text;
}

void replace_by_companion(const companion& each, char** arguments) {
    std::string path = path_of(each);
    if (path.empty())
        throw std::runtime_error(std::string(each.command) + ": the program " + each.program +
                                 " is not installed; " + each.origin);
    std::vector<char*> words = {path.data()};
    while (*arguments)
        words.push_back(*arguments++);
    words.push_back(nullptr);
    execv(path.c_str(), words.data());
    throw std::runtime_error(path + ": " + std::strerror(errno));
}

std::string self_description(const std::string& path) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        throw std::runtime_error(path + ": " + std::strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::string program = path, option = "--describe";
    char* words[] = {program.data(), option.data(), nullptr};
    pid_t child = 0;
    int error = posix_spawn(&child, path.c_str(), &actions, nullptr, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    std::string text;
    if (std::FILE* in = error ? nullptr : fdopen(ends[0], "r")) {
        std::array<char, 4096> block;
        while (std::size_t got = std::fread(block.data(), 1, block.size(), in))
            text.append(block.data(), got);
        std::fclose(in);
    } else {
        error = error ? error : errno;
        close(ends[0]);
    }
    if (error)
        throw std::runtime_error(path + ": " + std::strerror(error));
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (status != 0)
        throw std::runtime_error(path +
                                 " does not describe its options: is it of another version?");
    return text;
}

} // namespace lathcli
