// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// One line per table while `lath bench` measures: what comes next, rate, time left. On a terminal
// only.
#pragma once

#include "base/status_line.hpp"
#include "harness/noise.hpp"
#include "harness/table.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace lathcli {

class progress_line {
public:
    progress_line(const lathbench::session& s, std::size_t turn, std::size_t of);
    void show(const lathbench::session& s, const std::string& what);
    void done(const lathbench::noise& n); // leaves a last line behind

private:
    std::string head_;
    const lathbench::session& session_;
    double share_at_start_;
    std::uint64_t started_ns_;
    status_line line_;
};

} // namespace lathcli
