// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "self.hpp"

#include <filesystem>
#include <link.h>

namespace lathbench {

namespace {

namespace fs = std::filesystem;

// ld-linux-x86-64.so.2, ld-2.31.so, ld-musl-x86_64.so.1
bool is_loader(const fs::path& path) {
    std::string name = path.filename();
    return name.compare(0, 3, "ld-") == 0 && name.find(".so") != std::string::npos;
}

// The directory of libraries if the program was started by the loader of a bundle, else empty.
fs::path bundle_directory() {
    std::error_code none;
    fs::path path = fs::read_symlink("/proc/self/exe", none);
    return is_loader(path) ? path.parent_path() : fs::path();
}

int add_file(dl_phdr_info* info, std::size_t, void* to) {
    auto& files = *static_cast<loaded_files*>(to);
    std::string path = info->dlpi_name;
    if (path.find('/') == std::string::npos) // the program itself, and the kernel's vdso
        return 0;
    files.paths.push_back(path);
    if (is_loader(path))
        files.loader = path;
    return 0;
}

} // namespace

std::string self_path() {
    fs::path libraries = bundle_directory();
    return libraries.empty() ? "/proc/self/exe" : libraries.parent_path() / bundle_program;
}

std::vector<std::string> self_words() {
    fs::path libraries = bundle_directory();
    if (libraries.empty())
        return {bundle_program};
    return {"ld.so", "--library-path", libraries, self_path()};
}

loaded_files loaded_libraries() {
    loaded_files files;
    dl_iterate_phdr(add_file, &files);
    return files;
}

} // namespace lathbench
