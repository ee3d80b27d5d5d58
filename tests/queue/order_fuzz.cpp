// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Any bytes as a tape of calls on the hybrid, in every vector form: order, head, counts and merges
// as the oracle has them.
#include "model.hpp"

#include "lathwork/sortq.h"

#include <cerrno>
#include <cstdlib>
#include <memory>

namespace {

void expect(bool holds) {
    if (!holds)
        std::abort();
}

struct free_memory {
    void operator()(void* p) const { std::free(p); }
};

// Inserts a request, which `look` looks for neighbours of first.
void insert(lath_sortq* queue, lath_request* r, bool look) {
    lath_sortq_merge found{nullptr, nullptr, ~0ull};
    if (look)
        lath_sortq_lookup(queue, r->sector, r->sector + 4, LATH_SORTQ_LOOK_ALL, &found);
    expect(!found.back || found.back->sector + found.back->sectors == r->sector);
    expect(!found.front || found.front->sector == r->sector + 4);
    expect(lath_sortq_insert_at(queue, &found, r) == 0);
}

void play(const std::uint8_t* at, const std::uint8_t* end, lath_simd simd) {
    if (end - at < 2)
        return;
    lath_sortq_config config = LATH_SORTQ_CONFIG_INIT;
    config.simd = simd;
    config.flags = *at++ & 15u;
    std::vector<lath_request> requests(1u + *at++ % 200);
    auto count = static_cast<std::uint32_t>(requests.size());
    lath_request_pool pool{};
    expect(lath_request_pool_init(&pool, requests.data(), sizeof(lath_request), count) == 0);
    std::unique_ptr<void, free_memory> memory(
        std::aligned_alloc(64, lath_sortq_memsize(&config, &pool)));
    lath_sortq queue;
    if (lath_sortq_init(&queue, &config, &pool, memory.get()) != 0)
        return; // no such form here
    std::vector<model_request> mirror(count);
    sort_model model((config.flags & LATH_SORTQ_LOWEST) != 0, false, mirror);
    std::vector<std::uint32_t> free;
    for (std::uint32_t i = 0; i < count; i++)
        free.push_back(i);
    for (; end - at >= 3; at += 3) {
        std::uint64_t sector = (at[1] | at[2] << 8) * 4ull;
        if (at[0] < 160 && !free.empty()) {
            auto& r = requests[free.back()];
            r.sector = sector;
            r.sectors = 4;
            mirror[r.tag] = {sector, 4};
            free.pop_back();
            insert(&queue, &r, at[0] & 1);
            if (config.flags & LATH_SORTQ_CHECKED)
                expect(lath_sortq_insert(&queue, &r) == -EEXIST);
            model.insert(r.tag);
        } else if (at[0] < 200) {
            auto tag = model.dispatch();
            auto* r = lath_sortq_dispatch(&queue);
            expect((r ? static_cast<std::int64_t>(r->tag) : -1) == tag);
            if (r)
                free.push_back(r->tag);
        } else if (at[0] < 230 && model.count()) {
            auto tag = model.ages()[sector % model.count()];
            if (at[0] & 1) {
                expect(lath_sortq_remove(&queue, &requests[tag]) == 0);
                expect(lath_sortq_remove(&queue, &requests[tag]) == -ENOENT);
                model.remove(tag);
                free.push_back(tag);
            } else if (requests[tag].sector >= 4) {
                auto to = requests[tag].sector - 4;
                expect(lath_sortq_front_merged(&queue, &requests[tag], to) == 0);
                model.move(tag, to);
            }
        } else if (at[0] < 240 && !(config.flags & LATH_SORTQ_LOWEST)) {
            expect(lath_sortq_set_head(&queue, sector) == 0);
            model.set_head(sector);
        }
        expect(lath_sortq_count(&queue) == model.count());
        expect(lath_sortq_verify(&queue) == 0);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    for (auto simd : {LATH_SIMD_NONE, LATH_SIMD_AVX2, LATH_SIMD_AVX512})
        play(data, data + size, simd);
    return 0;
}
