// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Loaded subjects in table `iova`.
#include "loaded.hpp"

#include "subjects/iova/halves.hpp"

#include <atomic>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

class loaded_part {
public:
    loaded_part(u64 first, u64 end, const lath_bench_subject* loaded)
        : group_(*loaded->holes), s_(loaded->name, group_, first, end) {}

    bool take(u64 pages, u64 align, u64& first) {
        bool found = group_.alloc(s_, pages, align, &first);
        if (found)
            used_.fetch_add(pages, std::memory_order_relaxed);
        return found;
    }
    void give(u64 first, u64 pages, u64) {
        group_.free(s_, first, pages);
        used_.fetch_sub(pages, std::memory_order_relaxed);
    }
    u64 used() const { return used_.load(); }

private:
    const lath_bench_holes& group_;
    loaded_structure<lath_bench_holes> s_;
    std::atomic<u64> used_ = 0;
};

} // namespace

std::vector<iova_subject> loaded_iova() {
    std::vector<iova_subject> list;
    for (const auto* loaded : loaded_subjects()) {
        if (!loaded->holes)
            continue;
        auto make = [loaded](const iova_space& space) -> std::unique_ptr<iova_allocator> {
            if (loaded->holes->flags & LATH_BENCH_CONCURRENT)
                return std::make_unique<iova_halves<loaded_part, no_lock>>(space, loaded);
            return std::make_unique<iova_halves<loaded_part>>(space, loaded);
        };
        list.push_back({describe(*loaded), make});
    }
    return list;
}

} // namespace lathbench
