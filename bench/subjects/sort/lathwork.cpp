// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Ours, lathwork/sortq.h: the hybrid in its forms.
#include "driver.hpp"

#include "lathwork/sortq.h"

#include <stdexcept>

namespace lathbench {

namespace {

constexpr std::uint64_t lath_sectors = (std::uint64_t{1} << LATH_SORTQ_SECTOR_BITS) - 1;

struct alignas(64) lath_item {
    lath_request hook;
    std::uint64_t key;
    char data[256 - sizeof(lath_request) - 8];
};

struct released {
    void operator()(void* p) const { std::free(p); }
};

class queue_base {
public:
    using request = lath_item;
    static void set_key(request* r, std::uint64_t key) {
        r->key = key;
        r->hook.sector = key & sector_mask & lath_sectors;
        r->hook.sectors = 8;
    }
    static std::uint64_t key(const request* r) { return r->key; }
    static std::uint64_t touch(const request* r) { return r->hook.sector; }

    queue_base(request* pool, std::uint32_t count, lath_simd simd, unsigned flags) {
        lath_sortq_config config = LATH_SORTQ_CONFIG_INIT;
        config.simd = simd;
        config.flags = flags;
        lath_request_pool_init(&pool_, &pool->hook, sizeof(request), count);
        memory_.reset(std::aligned_alloc(64, lath_sortq_memsize(&config, &pool_)));
        if (!memory_ || lath_sortq_init(&queue_, &config, &pool_, memory_.get()) != 0)
            throw std::runtime_error("cannot make the sort queue");
    }

protected:
    static request* item(lath_request* r) { return reinterpret_cast<request*>(r); }
    lath_request_pool pool_{};
    lath_sortq queue_{};
    std::unique_ptr<void, released> memory_;
};

template <lath_simd Simd>
class single : public queue_base {
public:
    single(const sort_plan& plan, request* pool, std::uint32_t count)
        : queue_base(pool, count, Simd, plan.lowest ? unsigned{LATH_SORTQ_LOWEST} : 0u) {}
    void push(request* r) { lath_sortq_insert(&queue_, &r->hook); }
    request* pop() { return item(lath_sortq_dispatch(&queue_)); }
};

// One call inserts a batch, as when a scheduler's plug list is flushed; one call dispatches as many
// requests as a hardware queue takes.
template <lath_simd Simd>
class batched : public single<Simd> {
public:
    using request = lath_item;
    using single<Simd>::single;
    void push_batch(request** r, std::uint32_t n) {
        // the hook is at the address of the request, so an array of one is an array of the other
        lath_sortq_insert_batch(&this->queue_, reinterpret_cast<lath_request**>(r), n);
    }
    void pop_batch(request** r, std::uint32_t n) {
        lath_sortq_dispatch_batch(&this->queue_, reinterpret_cast<lath_request**>(r), n);
    }
};

template <lath_simd Simd>
class whole_path : public queue_base {
public:
    whole_path(const path_plan&, request* pool, std::uint32_t count)
        : queue_base(pool, count, Simd, LATH_SORTQ_AGES | LATH_SORTQ_MERGES) {}

    bool submit(request* r, std::uint32_t limit) {
        lath_sortq_merge found;
        std::uint64_t start = r->hook.sector, end = start + r->hook.sectors;
        lath_sortq_lookup(&queue_, start, end, 0, &found);
        if (found.back && found.back->sectors + r->hook.sectors > limit) {
            // that request is full, but one in front of which this one fits may not be
            lath_sortq_lookup(&queue_, start, end, LATH_SORTQ_LOOK_FRONT, &found);
        }
        if (found.back) {
            found.back->sectors += r->hook.sectors;
            lath_sortq_back_merged(&queue_, found.back);
            return true;
        }
        if (found.front && found.front->sectors + r->hook.sectors <= limit) {
            lath_sortq_front_merged(&queue_, found.front, start);
            item(found.front)->key = r->key;
            return true;
        }
        lath_sortq_insert_at(&queue_, &found, &r->hook);
        return false;
    }
    request* dispatch() { return item(lath_sortq_dispatch(&queue_)); }
    request* oldest() {
        lath_request* r = lath_sortq_oldest(&queue_);
        lath_sortq_remove(&queue_, r);
        return item(r);
    }
};

bool has(lath_simd simd) {
    lath_item item{};
    lath_request_pool pool{};
    lath_sortq queue;
    lath_sortq_config config = LATH_SORTQ_CONFIG_INIT;
    config.simd = simd;
    lath_request_pool_init(&pool, &item.hook, sizeof(item), 1);
    std::unique_ptr<void, released> memory(
        std::aligned_alloc(64, lath_sortq_memsize(&config, &pool)));
    return lath_sortq_init(&queue, &config, &pool, memory.get()) == 0;
}

template <lath_simd Simd>
sort_subject form(const std::string& name, const std::string& note) {
    if (!has(Simd))
        return {{name, note, "neither this processor nor this build has it"}, {}, {}};
    auto s = sort_subject_of<single<Simd>>(name, note);
    s.path = run_path<whole_path<Simd>>;
    return s;
}

} // namespace

std::vector<sort_subject> lathwork_sort() {
    return {
        form<LATH_SIMD_BEST>("lathwork", "hybrid, the best vector form"),
        sort_subject_of<batched<LATH_SIMD_BEST>>(
            "lathwork-batch", "hybrid, one call for a batch of inserts or dispatches"),
        form<LATH_SIMD_NONE>("lathwork-scalar", "hybrid without vectors, as in the kernel"),
        sort_subject_of<batched<LATH_SIMD_NONE>>("lathwork-scalar-batch", "the same, in batches"),
        form<LATH_SIMD_AVX2>("lathwork-avx2", "hybrid with AVX2"),
    };
}

} // namespace lathbench
