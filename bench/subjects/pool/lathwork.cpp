// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Ours: one space (lathwork/space.h) whose segments are those of the pool. Small objects go into
// arenas. Large ones fill one segment after the other, at its lowest places: when it has no room,
// that with the most free bytes follows. So objects that come together, and leave together, lie
// side by side.
#include "pool_subject.hpp"

#include "lathwork/space.h"

#include <new>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

constexpr u64 unit = 256; // bytes

class space_pool final : public pool_allocator {
public:
    space_pool(const pool_shape& shape, unsigned flags) {
        lath_space_config config = LATH_SPACE_CONFIG_INIT;
        config.high = shape.segment;
        config.unit = unit;
        config.flags = flags | LATH_SPACE_FILL;
        if (lath_space_create(&space_, &config) != 0)
            throw std::bad_alloc();
        for (u64 i = 1; i < shape.segments; i++)
            if (lath_space_add_segment(space_, i * shape.stride(), shape.segment, 0) < 0)
                throw std::bad_alloc();
    }
    ~space_pool() override { lath_space_destroy(space_); }
    space_pool(const space_pool&) = delete;
    space_pool& operator=(const space_pool&) = delete;

    bool put(pool_object& object, u64&) override {
        object.charged = (object.size + unit - 1) & ~(unit - 1);
        return lath_space_alloc(space_, object.charged, 0, 0, &object.at) == 0;
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
        return stats.allocated + !sound;
    }

private:
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
