// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The list of subjects, and std::map, of which a snapshot is a copy.
#include "snapshots_subject.hpp"

#include <map>
#include <optional>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

class copied_map : public versioned_map {
public:
    void put(const bytes16& key, u64 number) override { now_[key] = number; }
    void take() override { then_ = now_; }
    void release() override { then_.reset(); }
    u64 get(const bytes16& key, bool at) override {
        const auto& map = at ? *then_ : now_;
        auto found = map.find(key);
        return found == map.end() ? 0 : found->second;
    }
    u64 scan(const bytes16& from, std::size_t most, bool at) override {
        const auto& map = at ? *then_ : now_;
        u64 sum = 0;
        for (auto i = map.lower_bound(from); i != map.end() && most; ++i, most--)
            sum += i->second;
        return sum;
    }

private:
    std::map<bytes16, u64> now_;
    std::optional<std::map<bytes16, u64>> then_;
};

} // namespace

versioned_subject std_map_copied() {
    return {{"std-map-copy", "std::map, copied by each snapshot", ""},
            [] { return std::make_unique<copied_map>(); }};
}

const std::vector<versioned_subject>& versioned_subjects() {
    static const std::vector<versioned_subject> list = {
        lathwork_versions(), lathwork_without_versions(), std_map_copied()};
    return list;
}

} // namespace lathbench
