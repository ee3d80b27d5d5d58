// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Files that commands write: opened before the work, so that what cannot be written is refused at
// once; replaced after it as a whole, so that a failure leaves the old content.
#pragma once

#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace lathcli {

// "cannot write PATH: REASON", PATH "-" being standard output.
class output_error : public std::runtime_error {
public:
    output_error(const std::string& path, int error);
    output_error(const std::string& path, const std::string& reason);
    bool broken_pipe = false; // who reads standard output has gone
};

// Throws output_error when something printed to standard output (stdout or std::cout) was not
// taken.
void check_standard_output();
// Before anything is opened or printed. Standard descriptors that are closed are opened, so that no
// file of ours gets their numbers; writing to them still fails.
void prepare_standard_files();

// Whether both paths lead to one file, or would if they were made. Links are followed.
bool same_file(const std::string& one, const std::string& other);

// Throws output_error when no file could be put at path: no such directory, no permission, a
// directory.
void check_replaceable(const std::string& path);

class output {
public:
    // "-" is standard output, as is any path that leads to the same file. A regular file, or none
    // yet, is made anew without a name and gets its place, its owner and its mode by commit();
    // links are followed. Pipes and devices are written as it comes. inputs are paths that must not
    // be the same file; "" is none, "-" is standard input. Throws output_error.
    explicit output(const std::string& path, const std::vector<std::string>& inputs = {});
    ~output();
    output(output&&) noexcept;
    output& operator=(output&&) noexcept;

    bool standard() const;
    std::ostream& stream();
    // All of it is in its place, or output_error is thrown. To be called once; without it nothing
    // has changed.
    void commit();

private:
    class file;
    std::string path_;
    std::unique_ptr<file> file_; // none: standard output
};

// Throws usage_error when two of the options (name, path) name one file; "" is none. Devices and
// pipes may be shared.
void check_distinct(const std::vector<std::pair<std::string, std::string>>& outputs);

} // namespace lathcli
