// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Wrong usage: what was asked cannot be done with any input. main exits with usage_error::code.
#pragma once

#include <stdexcept>

namespace lathcli {

class usage_error : public std::runtime_error {
public:
    static constexpr int code = 105; // CLI11's number for a value that is refused
    using std::runtime_error::runtime_error;
};

} // namespace lathcli
