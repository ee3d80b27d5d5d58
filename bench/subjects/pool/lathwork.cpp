// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Ours: one space (lathwork/space.h) for all segments, in which the gaps between them are reserved.
// Small objects go into arenas, or to the lowest place; large ones into the shortest hole.
#include "pool_subject.hpp"

#include "lathwork/space.h"

#include <new>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

constexpr u64 unit = 256; // bytes
constexpr u64 most_small = 65536;

class space_pool final : public pool_allocator {
public:
    space_pool(const pool_shape& shape, unsigned flags)
        : plain_(flags & LATH_SPACE_NO_ARENAS), gaps_(shape.segments * shape.gap) {
        lath_space_config config = LATH_SPACE_CONFIG_INIT;
        config.high = shape.segments * shape.stride();
        config.unit = unit;
        config.flags = flags;
        if (lath_space_create(&space_, &config) != 0)
            throw std::bad_alloc();
        for (u64 i = 0; i < shape.segments; i++)
            if (lath_space_reserve(space_, i * shape.stride() + shape.segment, shape.gap, 0) != 0)
                throw std::bad_alloc();
    }
    ~space_pool() override { lath_space_destroy(space_); }
    space_pool(const space_pool&) = delete;
    space_pool& operator=(const space_pool&) = delete;

    bool put(pool_object& object, u64&) override {
        object.charged = (object.size + unit - 1) & ~(unit - 1);
        if (object.size <= most_small && !plain_)
            return lath_space_alloc(space_, object.charged, 0, 0, &object.at) == 0;
        lath_hole_request want{};
        want.size = object.charged;
        want.policy = object.size <= most_small ? LATH_HOLE_FIRST : LATH_HOLE_BEST;
        return lath_space_alloc_request(space_, &want, 0, &object.at) == 0;
    }
    void remove(const pool_object& object) override {
        lath_space_free(space_, object.at, object.charged);
    }
    u64 used() override {
        lath_space_stats stats;
        lath_space_trim(space_);
        lath_space_get_stats(space_, &stats);
        bool sound =
            stats.cached == 0 && stats.bad_frees == 0 && lath_space_verify(space_, nullptr, 0) == 0;
        return stats.allocated - gaps_ + !sound;
    }

private:
    bool plain_;
    u64 gaps_;
    lath_space* space_ = nullptr;
};

pool_subject with_flags(const char* name, const char* note, unsigned flags) {
    return {{name, note, ""},
            [flags](const pool_shape& s) { return std::make_unique<space_pool>(s, flags); }};
}

} // namespace

std::vector<pool_subject> lathwork_pool_subjects() {
    return {with_flags("lathwork", "", 0),
            with_flags("lathwork-plain", "neither magazines nor arenas", LATH_SPACE_NO_ARENAS)};
}

} // namespace lathbench
