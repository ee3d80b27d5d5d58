// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// An index of ranges that knows its holes, and locks on ranges for steps of several calls. Threads
// look for room in an area of 256 MiB each before they look elsewhere, as address spaces for many
// processors do.
#include "regions_subject.hpp"

#include "lathwork/hole.h"
#include "lathwork/index.h"
#include "lathwork/range_lock.h"

#include <atomic>
#include <cstdlib>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

constexpr u64 leaving = 1; // the value of pages that are being unmapped
constexpr u64 usual = 16;
constexpr u64 top = u64{1} << 35, area_pages = 1 << 16;

void must(int error) {
    if (error)
        std::abort();
}

class lathwork_space : public address_space {
public:
    lathwork_space() {
        lath_config config = LATH_CONFIG_INIT;
        config.layout = LATH_RANGES;
        config.flags = LATH_HOLES;
        index_ = lath_index_create(&config);
        must(index_ ? 0 : -1);
        lath_range_config locks = LATH_RANGE_CONFIG_INIT;
        locks.usual = usual;
        must(lath_range_locks_init(&locks_, &locks));
    }
    ~lathwork_space() override {
        lath_range_locks_fini(&locks_);
        lath_index_destroy(index_, nullptr, nullptr);
    }
    lathwork_space(const lathwork_space&) = delete;
    lathwork_space& operator=(const lathwork_space&) = delete;

    void enter() override { area_ = areas_.fetch_add(1, std::memory_order_relaxed) % 64; }
    u64 query(u64 page) override {
        u64 value;
        return lath_index_get(index_, page, &value) ? value - leaving : 0;
    }
    u64 fault(u64 page) override {
        held h(locks_, page, page, LATH_SHARED_RANGE);
        return query(page);
    }
    u64 alloc(u64 pages, u64 access) override {
        lath_hole_request want{};
        want.high = top - area_ * area_pages;
        want.low = want.high - area_pages;
        want.size = pages;
        want.policy = LATH_HOLE_LAST; // as Linux
        u64 first;
        int ret = lath_index_insert_hole(index_, &want, access + leaving, &first);
        if (ret) { // the area is full
            want.low = 1;
            want.high = top;
            ret = lath_index_insert_hole(index_, &want, access + leaving, &first);
        }
        return ret ? 0 : first;
    }
    void map(const region& r) override {
        held h(locks_, r.first, r.last, LATH_EXCLUSIVE_RANGE);
        store(r);
    }
    // The store cuts regions that extend beyond the range, and leaves one region in it, which is
    // erased then.
    void unmap(u64 first, u64 last) override {
        held h(locks_, first, last, LATH_EXCLUSIVE_RANGE);
        if (!lath_index_erase_sized(index_, first, last - first + 1, nullptr))
            return; // one region, whole
        store({first, last, 0});
        must(lath_index_erase_item(index_, first, nullptr));
    }
    void protect(const region& r) override {
        held h(locks_, r.first, r.last, LATH_EXCLUSIVE_RANGE);
        store(r);
        lath_index_join(index_, r.first, equal, nullptr, nullptr);
        lath_index_join(index_, r.last + 1, equal, nullptr, nullptr);
    }

private:
    class held {
    public:
        held(lath_range_locks& locks, u64 first, u64 last, lath_range_mode mode) : locks_(locks) {
            must(lath_range_lock(&locks_, &hold_, first, last - first + 1, mode));
        }
        ~held() { lath_range_unlock(&locks_, &hold_); }
        held(const held&) = delete;
        held& operator=(const held&) = delete;

    private:
        lath_range_locks& locks_;
        lath_range_hold hold_;
    };

    static int equal(void*, const lath_item* left, const lath_item* right) {
        return left->value == right->value;
    }
    void store(const region& r) {
        lath_item item{r.first, r.last - r.first + 1, r.access + leaving};
        must(lath_index_store_range(index_, &item, nullptr, nullptr));
    }

    static inline thread_local u64 area_;
    std::atomic<u64> areas_{0};
    lath_index* index_ = nullptr;
    lath_range_locks locks_;
};

} // namespace

regions_subject lathwork_regions() {
    return {{"lathwork", "index of ranges and range locks", ""},
            [] { return std::make_unique<lathwork_space>(); }};
}

} // namespace lathbench
