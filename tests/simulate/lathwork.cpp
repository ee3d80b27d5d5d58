// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Ours. Compiled without instrumentation: the library has it.
#include "load.hpp"

#ifdef LATH_SIMULATED
#include "sched/inspect.h"
#endif

#include "lathwork/hole.h"
#include "lathwork/index.h"
#include "lathwork/range_lock.h"
#include "lathwork/space.h"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace simulate {

namespace {

void must(int error) {
    if (error) {
        std::fprintf(stderr, "lathwork: error %d\n", error);
        std::abort();
    }
}

std::string name_in([[maybe_unused]] lath_index* index, [[maybe_unused]] std::uintptr_t address) {
#ifdef LATH_SIMULATED
    std::array<char, 100> name{};
    sched_name_line(index, address, name.data(), name.size());
    return name.data();
#else
    return "";
#endif
}

class index_structure : public structure {
public:
    explicit index_structure(lath_layout layout) {
        lath_config config = LATH_CONFIG_INIT;
        config.layout = layout;
        index_ = lath_index_create(&config);
        must(index_ ? 0 : 1);
    }
    ~index_structure() override { lath_index_destroy(index_, nullptr, nullptr); }
    index_structure(const index_structure&) = delete;
    index_structure& operator=(const index_structure&) = delete;

    void filled() override { lath_index_prepare(index_); }
    bool insert(u64 key, u64 value) override {
        lath_item item{key, 1, value};
        return !lath_index_insert_item(index_, &item, nullptr);
    }
    bool get(u64 key) override {
        u64 value;
        return lath_index_get(index_, key, &value);
    }
    bool update(u64 key, u64 value) override {
        return !lath_index_replace_item(index_, key, value, nullptr);
    }
    bool erase(u64 key) override { return !lath_index_erase_item(index_, key, nullptr); }
    bool insert_range(u64 key, u64 size) override {
        lath_item item{key, size, 1};
        return !lath_index_insert_item(index_, &item, nullptr);
    }
    bool find(u64 point) override {
        lath_item item;
        return !lath_index_lookup_item(index_, point, &item);
    }
    bool take(u64 point) override { return !lath_index_erase_item_at(index_, point, nullptr); }
    std::string line_name(std::uintptr_t address) override { return name_in(index_, address); }

private:
    lath_index* index_ = nullptr;
};

class space_structure : public structure {
public:
    space_structure() {
        lath_space_config config = LATH_SPACE_CONFIG_INIT;
        config.low = 1;
        config.high = u64{1} << 32;
        must(lath_space_create(&space_, &config));
    }
    ~space_structure() override { lath_space_destroy(space_); }
    space_structure(const space_structure&) = delete;
    space_structure& operator=(const space_structure&) = delete;

    bool alloc(u64& first) override { return !lath_space_alloc(space_, 1, 1, 0, &first); }
    void release(u64 first) override { lath_space_free(space_, first, 1); }

private:
    lath_space* space_ = nullptr;
};

class lock_structure : public structure {
public:
    lock_structure() {
        lath_range_config config = LATH_RANGE_CONFIG_INIT;
        config.usual = 64;
        must(lath_range_locks_init(&locks_, &config));
    }
    ~lock_structure() override {
        lath_range_locks_fini(&locks_);
        give_back(&locks_);
    }
    lock_structure(const lock_structure&) = delete;
    lock_structure& operator=(const lock_structure&) = delete;

    void hold(u64 key, u64 size) override {
        lath_range_hold hold;
        must(lath_range_lock(&locks_, &hold, key, size, LATH_EXCLUSIVE_RANGE));
        lath_range_unlock(&locks_, &hold);
    }

private:
    lath_range_locks& locks_ =
        *static_cast<lath_range_locks*>(memory(64, sizeof(lath_range_locks)));
};

// As bench/subjects/regions/lathwork.cpp.
class region_structure : public structure {
public:
    region_structure() {
        lath_config config = LATH_CONFIG_INIT;
        config.layout = LATH_RANGES;
        config.flags = LATH_HOLES;
        index_ = lath_index_create(&config);
        must(index_ ? 0 : 1);
        lath_range_config locks = LATH_RANGE_CONFIG_INIT;
        locks.usual = 16;
        must(lath_range_locks_init(&locks_, &locks));
    }
    ~region_structure() override {
        lath_range_locks_fini(&locks_);
        give_back(&locks_);
        lath_index_destroy(index_, nullptr, nullptr);
    }
    region_structure(const region_structure&) = delete;
    region_structure& operator=(const region_structure&) = delete;

    void filled() override { lath_index_prepare(index_); }
    bool query(u64 page) override {
        u64 value;
        return lath_index_get(index_, page, &value);
    }
    void map(u64 page, u64 pages) override {
        lath_item item{page, pages, 2};
        lath_range_hold hold;
        must(lath_range_lock(&locks_, &hold, page, pages, LATH_EXCLUSIVE_RANGE));
        must(lath_index_store_range(index_, &item, nullptr, nullptr));
        lath_range_unlock(&locks_, &hold);
    }
    u64 alloc_region(u64 pages, unsigned worker) override {
        lath_hole_request want{};
        u64 first;
        want.high = (u64{1} << 35) - worker % 64 * (1 << 16);
        want.low = want.high - (1 << 16);
        want.size = pages;
        want.policy = LATH_HOLE_LAST;
        must(lath_index_insert_hole(index_, &want, 2, &first));
        return first;
    }
    void unmap(u64 page, u64 pages) override {
        lath_range_hold hold;
        must(lath_range_lock(&locks_, &hold, page, pages, LATH_EXCLUSIVE_RANGE));
        must(lath_index_erase_sized(index_, page, pages, nullptr));
        lath_range_unlock(&locks_, &hold);
    }
    std::string line_name(std::uintptr_t address) override { return name_in(index_, address); }

private:
    lath_index* index_ = nullptr;
    lath_range_locks& locks_ =
        *static_cast<lath_range_locks*>(memory(64, sizeof(lath_range_locks)));
};

std::unique_ptr<structure> points() { return std::make_unique<index_structure>(LATH_POINTS); }
std::unique_ptr<structure> ranges() { return std::make_unique<index_structure>(LATH_RANGES); }
std::unique_ptr<structure> space() { return std::make_unique<space_structure>(); }
std::unique_ptr<structure> locks() { return std::make_unique<lock_structure>(); }
std::unique_ptr<structure> regions() { return std::make_unique<region_structure>(); }

} // namespace

subject lathwork_subject() {
    return {"lathwork", "lathwork/index.h, lathwork/space.h", points, ranges, space, nullptr, locks,
            regions};
}

} // namespace simulate
