// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A directory of a test's own, gone with its files at the end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

class scratch_dir {
public:
    // In memory where that can be: file systems on disks write a truncated file out at once.
    scratch_dir() {
        const char* set = std::getenv("TMPDIR");
        for (std::string place :
             {std::string(set ? set : ""), std::string("/dev/shm"), std::string("/tmp")}) {
            std::string name = place + "/lath-store-XXXXXX";
            if (!place.empty() && mkdtemp(name.data())) {
                dir_ = name;
                return;
            }
        }
        throw std::runtime_error("no directory for temporary files");
    }
    ~scratch_dir() {
        std::error_code ignored;
        std::filesystem::remove_all(dir_, ignored);
    }
    scratch_dir(const scratch_dir&) = delete;
    scratch_dir& operator=(const scratch_dir&) = delete;
    std::string path(const char* name) const { return (dir_ / name).string(); }

private:
    std::filesystem::path dir_;
};
