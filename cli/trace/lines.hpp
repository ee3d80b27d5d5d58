// SPDX-License-Identifier: MIT OR GPL-2.0-only
#pragma once

#include "trace/trace.hpp"

namespace lathcli::trace {

// Lines through a parse function; blank lines are nothing.
class lines : public reader {
public:
    using reader::reader;

protected:
    found step(event& e) override {
        std::string_view text;
        if (!in_.line(text))
            return found::end;
        if (in_.too_long())
            complain("line too long");
        if (text.find_first_not_of(" \t") == std::string_view::npos)
            return found::nothing;
        return parse(text, e);
    }
    virtual found parse(std::string_view text, event& e) = 0;
};

} // namespace lathcli::trace
