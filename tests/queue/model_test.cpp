// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Every engine and every vector form against the oracle: long tapes of mixed calls.
#include "model.hpp"

#include "lathwork/sortq.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>

namespace {

enum class shape { spread, narrow, rising, falling, streams, equal, whole };

struct setup {
    lath_sortq_engine engine = LATH_SORTQ_HYBRID;
    lath_simd simd = LATH_SIMD_BEST;
    unsigned flags = LATH_SORTQ_AGES;
    std::uint32_t pool = 256;
    shape how = shape::spread;
    bool barriers = true;
    bool heads = true;
};

struct free_memory {
    void operator()(void* p) const { std::free(p); }
};

class tape {
public:
    tape(const setup& s, std::uint64_t seed)
        : setup_(s), rng_(seed), requests_(s.pool), mirror_(s.pool),
          model_((s.flags & LATH_SORTQ_LOWEST) != 0, s.engine == LATH_SORTQ_FIFO, mirror_) {
        REQUIRE(lath_request_pool_init(&pool_, &requests_[0].hook, sizeof(requests_[0]), s.pool) ==
                0);
        lath_sortq_config config = LATH_SORTQ_CONFIG_INIT;
        config.engine = s.engine;
        config.flags = s.flags;
        config.simd = s.simd;
        memory_.reset(std::aligned_alloc(64, lath_sortq_memsize(&config, &pool_)));
        int rc = lath_sortq_init(&queue_, &config, &pool_, memory_.get());
        supported_ = rc == 0;
        notices_ = s.engine != LATH_SORTQ_HYBRID || (s.flags & LATH_SORTQ_CHECKED) != 0;
        if (!supported_)
            REQUIRE(rc == -95); // EOPNOTSUPP
        for (std::uint32_t i = 0; i < s.pool; i++)
            free_.push_back(i);
        for (auto& p : stream_)
            p = rng_() >> 22;
    }

    bool supported() const { return supported_; }

    void play(int steps) {
        for (int i = 0; i < steps; i++) {
            step();
            if (i % 64 == 0)
                check();
        }
        check();
        while (model_.count())
            dispatch();
        CHECK(lath_sortq_dispatch(&queue_) == nullptr);
        CHECK(lath_sortq_verify(&queue_) == 0);
    }

private:
    struct request {
        std::uint64_t before[3];
        lath_request hook;
        std::uint64_t after[5];
    };

    std::uint64_t below(std::uint64_t n) { return rng_() % n; }
    std::uint32_t tag(const lath_request* r) const { return r->tag; }

    std::uint64_t sector() {
        switch (setup_.how) {
        case shape::spread:
            return below(1u << 20);
        case shape::narrow:
            return 5000 + below(40);
        case shape::rising:
            return (at_ += 8) & ((1ull << 44) - 1);
        case shape::falling:
            return (at_ -= 8) & ((1ull << 43) - 1);
        case shape::streams: {
            auto i = below(4);
            stream_[i] = (stream_[i] + (i == 3 ? -8ull : 8ull)) & ((1ull << 42) - 1);
            return below(8) ? stream_[i] : rng_() >> 22;
        }
        case shape::equal:
            return 77 + below(2);
        case shape::whole:
            return below(16) ? rng_() >> 20 : (below(2) ? (1ull << 44) - 1 : 0);
        }
        return 0;
    }

    std::uint32_t take() {
        auto i = below(free_.size());
        std::uint32_t t = free_[i];
        free_[i] = free_.back();
        free_.pop_back();
        auto& h = requests_[t].hook;
        h.sector = sector();
        h.sectors = 8;
        h.time = clock_++;
        mirror_[t] = {h.sector, h.sectors};
        return t;
    }

    void step() {
                // the depth wanders between empty and full
        if (below(400) == 0)
            target_ = below(setup_.pool + 1);
        bool grow = model_.count() < target_ ? below(4) != 0 : below(4) == 0;
        auto dice = below(100);
        if (dice < 6 && setup_.heads && !(setup_.flags & LATH_SORTQ_LOWEST) && below(4) == 0)
            set_head();
        else if (dice < 12 && model_.count())
            remove();
        else if (dice < 15 && model_.count())
            front_merge();
        else if (dice < 16 && setup_.barriers && below(3) == 0)
            barrier();
        else if (dice < 20)
            look();
        else if (grow)
            insert();
        else
            dispatch();
    }

    void insert() {
        if (free_.empty())
            return;
        auto kind = below(10);
        if (kind < 6) {
            auto t = take();
            CHECK(lath_sortq_insert(&queue_, &requests_[t].hook) == 0);
            if (notices_)
                CHECK(lath_sortq_insert(&queue_, &requests_[t].hook) == -EEXIST);
            model_.insert(t);
        } else if (kind < 9) {
            lookup_and_insert();
        } else {
            std::vector<lath_request*> batch;
            auto n = 1 + below(40);
            while (batch.size() < n && !free_.empty()) {
                auto t = take();
                batch.push_back(&requests_[t].hook);
                model_.insert(t);
            }
            CHECK(lath_sortq_insert_batch(&queue_, batch.data(), batch.size()) == batch.size());
        }
    }

    // What the lookup says must be true, and no neighbour may be missed.
    void lookup_and_insert() {
        auto t = take();
        auto& h = requests_[t].hook;
        lath_sortq_merge found;
        lath_sortq_lookup(&queue_, h.sector, h.sector + h.sectors, LATH_SORTQ_LOOK_ALL, &found);
        if (found.back) {
            CHECK(std::count(model_.ages().begin(), model_.ages().end(), tag(found.back)) == 1);
            CHECK(found.back->sector + found.back->sectors == h.sector);
            if (model_.barrier_pending())
                CHECK(model_.parked(tag(found.back)));
        }
        if (found.front) {
            CHECK(found.front->sector == h.sector + h.sectors);
            CHECK_FALSE(model_.barrier_pending());
        }
        lath_sortq_merge again;
        lath_sortq_lookup(&queue_, h.sector, h.sector + h.sectors, LATH_SORTQ_LOOK_FRONT, &again);
        CHECK(again.back == nullptr);
        CHECK(again.front == found.front);
        CHECK(again.slot == found.slot);
        bool searches = setup_.engine == LATH_SORTQ_HYBRID;
        if (searches && !model_.barrier_pending())
            expect_neighbours(h, found);
        CHECK(lath_sortq_insert_at(&queue_, &found, &h) == 0);
        if (notices_)
            CHECK(lath_sortq_insert_at(&queue_, &found, &h) == -EEXIST);
        model_.insert(t);
    }

    void expect_neighbours(const lath_request& h, const lath_sortq_merge& found) {
                // the neighbours of the start in the circle, ends included
        auto key = [&](std::uint64_t s) { return ((s < model_.head() ? 1ull : 0ull) << 44) + s; };
        std::int64_t before = -1, behind = -1;
        for (auto [k, t] : model_.order()) {
            if (key(mirror_[t].sector) <= key(h.sector))
                before = t;
            else if (behind < 0)
                behind = t;
        }
        bool back = before >= 0 && mirror_[static_cast<std::size_t>(before)].sector +
                                           mirror_[static_cast<std::size_t>(before)].sectors ==
                                       h.sector;
        bool front =
            behind >= 0 && mirror_[static_cast<std::size_t>(behind)].sector == h.sector + h.sectors;
        if (back)
            CHECK(found.back != nullptr);
        if (front)
            CHECK(found.front != nullptr);
        if (found.front) // must not be sent to the next sweep
            CHECK(key(h.sector) <= key(h.sector + h.sectors));
        if (!(setup_.flags & LATH_SORTQ_MERGES))
            CHECK((found.front != nullptr) == front);
    }

    void dispatch() {
        if (below(3)) {
            auto expect = model_.first();
            auto* first = lath_sortq_first(&queue_);
            CHECK((first ? static_cast<std::int64_t>(tag(first)) : -1) == expect);
            auto* r = lath_sortq_dispatch(&queue_);
            CHECK(model_.dispatch() == expect);
            CHECK(r == first);
            if (r)
                free_.push_back(tag(r));
        } else {
            lath_request* out[24];
            auto n = 1 + below(24), got = lath_sortq_dispatch_batch(&queue_, out, n);
            for (std::size_t i = 0; i < n; i++) {
                auto expect = model_.dispatch();
                REQUIRE((i < got) == (expect >= 0));
                if (expect < 0)
                    break;
                CHECK(static_cast<std::int64_t>(tag(out[i])) == expect);
                free_.push_back(tag(out[i]));
            }
        }
        CHECK(lath_sortq_head(&queue_) == (setup_.flags & LATH_SORTQ_LOWEST ? 0 : model_.head()));
    }

    void remove() {
        auto t = model_.ages()[below(model_.count())];
        CHECK(lath_sortq_remove(&queue_, &requests_[t].hook) == 0);
        CHECK(lath_sortq_remove(&queue_, &requests_[t].hook) == -ENOENT);
        model_.remove(t);
        free_.push_back(t);
    }

    void front_merge() {
        auto t = model_.ages()[below(model_.count())];
        auto& h = requests_[t].hook;
        if (h.sector < 64)
            return;
        std::uint64_t to = h.sector - 1 - below(63);
        CHECK(lath_sortq_front_merged(&queue_, &h, to) == 0);
        model_.move(t, to);
        CHECK(h.sector == mirror_[t].sector);
        CHECK(h.sectors == mirror_[t].sectors);
    }

    void set_head() {
        auto to = below(2) ? sector() : model_.head();
        CHECK(lath_sortq_set_head(&queue_, to) == 0);
        model_.set_head(to);
    }

    void barrier() {
        lath_sortq_barrier(&queue_);
        model_.barrier();
    }

    void look() {
        if (setup_.engine == LATH_SORTQ_FIFO) {
            CHECK(lath_sortq_first_from(&queue_, 0) == nullptr);
            return;
        }
        auto from = sector();
        auto expect = model_.first_from(from);
        auto* r = lath_sortq_first_from(&queue_, from);
        CHECK((r ? static_cast<std::int64_t>(tag(r)) : -1) == expect);
        auto size = 1 + below(64);
        auto* z = lath_sortq_first_in_zone(&queue_, from, size);
        CHECK(z == (r && r->sector < from + size ? r : nullptr));
        walk();
    }

    void walk() {
        auto* r = lath_sortq_first(&queue_);
        if (!r)
            return;
        lath_request* prev = nullptr;
        for (auto [key, t] : model_.order()) {
            // tens of millions of them: an assertion of doctest only for one that fails
            if (!r || tag(r) != t || lath_sortq_prev(&queue_, r) != prev) {
                REQUIRE(r != nullptr);
                REQUIRE(tag(r) == t);
                REQUIRE(lath_sortq_prev(&queue_, r) == prev);
            }
            prev = r;
            r = lath_sortq_next(&queue_, r);
        }
        CHECK(r == nullptr);
    }

    void check() {
        REQUIRE(lath_sortq_verify(&queue_) == 0);
        REQUIRE(lath_sortq_count(&queue_) == model_.count());
        if (!(setup_.flags & LATH_SORTQ_AGES))
            return;
        auto* old = lath_sortq_oldest(&queue_);
        REQUIRE((old ? static_cast<std::int64_t>(tag(old)) : -1) == model_.oldest());
        if (old) {
            CHECK(lath_sortq_expired(&queue_, old->time) == old);
            CHECK(lath_sortq_expired(&queue_, old->time - 1) == nullptr);
        }
    }

    setup setup_;
    std::mt19937_64 rng_;
    std::vector<request> requests_;
    std::vector<model_request> mirror_;
    sort_model model_;
    lath_request_pool pool_{};
    lath_sortq queue_{};
    std::unique_ptr<void, free_memory> memory_;
    std::vector<std::uint32_t> free_;
    std::uint64_t at_ = 1u << 30, stream_[4]{}, clock_ = 100, target_ = 40;
    bool supported_ = false;
    bool notices_ = false; // a second insert of a request
};

constexpr shape all_shapes[] = {shape::spread,  shape::narrow, shape::rising, shape::falling,
                                shape::streams, shape::equal,  shape::whole};

constexpr unsigned all_flags[] = {0, LATH_SORTQ_LOWEST, LATH_SORTQ_AGES,
                                  LATH_SORTQ_AGES | LATH_SORTQ_MERGES,
                                  LATH_SORTQ_AGES | LATH_SORTQ_MERGES | LATH_SORTQ_LOWEST};

#if defined(LATH_COVERAGE) || defined(LATH_FEW_STEPS) // fewer reach the same lines
constexpr int step_divisor = 8;
#else
constexpr int step_divisor = 1;
#endif

void play_all(setup s, int steps) {
    for (auto how : all_shapes)
        for (unsigned flags : all_flags) {
            s.how = how;
            s.flags = flags;
            s.barriers = flags != 0;
            INFO("engine " << std::string(lath_sortq_engine_name(s.engine)) << " simd " << s.simd
                           << " flags " << flags << " shape " << static_cast<int>(how));
            tape t(s, 1000u * flags + static_cast<unsigned>(how));
            if (!t.supported()) {
                MESSAGE("skipped: no vector form " << s.simd << " on this processor or build");
                return;
            }
            t.play(steps / step_divisor);
        }
}

} // namespace

TEST_CASE("hybrid, all forms") {
    for (auto simd : {LATH_SIMD_NONE, LATH_SIMD_AVX2, LATH_SIMD_AVX512})
        for (std::uint32_t pool : {1u, 5u, 40u, 300u, 2600u}) {
            setup s;
            s.simd = simd;
            s.pool = pool;
            play_all(s, pool > 1000 ? 6000 : 3000);
        }
}

TEST_CASE("fifo") {
    for (std::uint32_t pool : {1u, 40u, 300u}) {
        setup s;
        s.engine = LATH_SORTQ_FIFO;
        s.pool = pool;
        play_all(s, 2000);
    }
}
