// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "base/extent_list.hpp"

#include <optional>
#include <stdexcept>

namespace lathcli {

namespace {

// get() would take fractions, negative numbers and numbers beyond 2^64 for others.
std::uint64_t bytes_of(const nlohmann::json& extent, const char* member, const std::string& name) {
    const auto& value = extent.at(member);
    if (!value.is_number_unsigned())
        throw std::runtime_error(name + ": \"" + member +
                                 "\" of an extent is not a number below 2^64");
    return value.get<std::uint64_t>();
}

} // namespace

std::vector<listed_extent> list_extents(const nlohmann::json& document, const std::string& name,
                                        const char* or_called) {
    std::vector<listed_extent> all;
    std::optional<std::uint64_t> device;
    for (const auto& e : document.at("extents")) {
        bool other = or_called && !e.contains("physical");
        auto first = bytes_of(e, other ? or_called : "physical", name);
        auto length = bytes_of(e, "length", name);
        // Offsets of two devices are not addresses of one space.
        auto lies_on = e.contains("device") ? bytes_of(e, "device", name) : 0;
        if (device.value_or(lies_on) != lies_on)
            throw std::runtime_error(name + ": extents of more than one device (lath extents "
                                            "--device takes one)");
        device = lies_on;
        if (length == 0)
            continue;
        if (length - 1 > UINT64_MAX - first)
            throw std::runtime_error(name + ": an extent at " + std::to_string(first) +
                                     " ends beyond 2^64");
        all.push_back({first, length});
    }
    return all;
}

} // namespace lathcli
