// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Ours with LATH_RANKS, and without, to see what an insert pays for it.
#include "ranks_subject.hpp"

#include "lathwork/index.h"

#include <new>
#include <system_error>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

class lathwork_set : public ranked_set {
public:
    explicit lathwork_set(unsigned int flags) {
        lath_config config = LATH_CONFIG_INIT;
        config.layout = LATH_POINTS;
        config.flags = flags;
        if (int error = lath_index_init(&index_, &config))
            throw std::system_error(-error, std::generic_category(), "lath_index_init");
    }
    ~lathwork_set() override { lath_index_fini(&index_, nullptr, nullptr); }
    lathwork_set(const lathwork_set&) = delete;
    lathwork_set& operator=(const lathwork_set&) = delete;

    void insert(u64 key) override {
        lath_item item{key, 1, key};
        if (lath_index_insert_item(&index_, &item, nullptr))
            throw std::bad_alloc();
    }
    u64 rank(u64 key) override { return static_cast<u64>(lath_index_rank(&index_, key)); }
    u64 select(u64 rank) override {
        lath_item found;
        return lath_index_select(&index_, rank, &found) == 0 ? found.key : ~u64{0};
    }
    u64 count(u64 from, u64 last) override {
        return static_cast<u64>(lath_index_count_range(&index_, from, last));
    }
    u64 bytes() const override {
        lath_index_stats stats;
        lath_index_get_stats(&index_, &stats);
        return stats.bytes;
    }

private:
    mutable lath_index index_;
};

} // namespace

ranked_subject lathwork_ranks() {
    return {{"lathwork", "", ""}, [](bool) { return std::make_unique<lathwork_set>(LATH_RANKS); }};
}

ranked_subject lathwork_without_ranks() {
    return {{"lathwork-plain", "without LATH_RANKS: inserts alone", ""},
            [](bool) { return std::make_unique<lathwork_set>(0); },
            false};
}

} // namespace lathbench
