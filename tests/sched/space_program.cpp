// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A space without arenas (lathwork/space.h): fibers free parts of allocations, each key once, and
// allocate. Each free of what is allocated returns 0, and at the end the space has what the fibers
// have.
#include "program.hpp"
#include "runtime.h"

#include "lathwork/space.h"

#include <algorithm>
#include <array>
#include <cerrno>

namespace schedtest {

namespace {

constexpr std::uint64_t low = 64, units = 64;

struct planned {
    std::uint64_t key, size; // size 0: allocates `key` units, and frees them
};

class space_scenarios : public program {
public:
    const char* name() const override { return "space"; }

    unsigned draw(random_source random) override {
        config_ = LATH_SPACE_CONFIG_INIT;
        config_.low = low;
        config_.high = low + 2 * units;
        config_.flags = LATH_SPACE_NO_ARENAS | LATH_SPACE_NO_MAGAZINES;
        unsigned fibers = 2 + random.below(2);
        for (auto& plan : plan_)
            plan.clear();
        blocks_.clear();
        left_ = 0;
        for (std::uint64_t key = low, end; key < low + units; key = end) {
            end = std::min(key + 2 + random.below(12), low + units);
            blocks_.push_back({key, end - key});
        }
        // parts of one block or of several, each freed by one of the fibers, or kept
        for (std::uint64_t key = low, end; key < low + units; key = end) {
            end = std::min(key + 1 + random.below(random.below(4) ? 6 : 24), low + units);
            unsigned fiber = random.below(fibers + 1);
            if (fiber < fibers && plan_[fiber].size() < 3)
                plan_[fiber].push_back({key, end - key});
            else
                left_ += end - key;
        }
        for (unsigned f = 0; f < fibers; f++) {
            if (random.below(2))
                plan_[f].push_back({1 + random.below(4), 0});
            for (std::size_t i = plan_[f].size(); i > 1; i--)
                std::swap(plan_[f][i - 1], plan_[f][random.below(static_cast<unsigned>(i))]);
        }
        return fibers;
    }

    void build() override {
        if (lath_space_create(&space_, &config_))
            sched_fail("lath_space_create failed", nullptr, nullptr);
        for (const planned& b : blocks_)
            if (lath_space_reserve(space_, b.key, b.size, 0))
                sched_fail("lath_space_reserve failed", nullptr, nullptr);
    }

    void begin() override { refused_ = 0; }

    void run(unsigned fiber) override {
        for (const planned& p : plan_[fiber]) {
            std::uint64_t key = p.key, size = p.size;
            int result = size ? 0 : lath_space_alloc(space_, size = p.key, 1, 0, &key);
            if (!result)
                result = lath_space_free(space_, key, size);
            else if (result == -ENOSPC || result == -ENOMEM)
                continue;
            if (result == -ENOMEM && p.size) // a part of it may be free
                refused_ += p.size;
            else if (result)
                sched_fail("a call of a space has a result that it cannot have", nullptr, nullptr);
            checked++;
        }
    }

    std::string check() override {
        char report[200] = "";
        lath_space_stats stats;
        lath_space_get_stats(space_, &stats);
        if (lath_space_verify(space_, report, sizeof(report)))
            return std::string("verify: ") + report;
        if (stats.allocated < left_ || stats.allocated > left_ + refused_)
            return std::to_string(stats.allocated) + " units are allocated, not " +
                   std::to_string(left_);
        lath_space_destroy(space_);
        return sched_live_blocks() ? "blocks of memory that were not freed" : "";
    }

    void print(std::FILE* out) const override {
        for (const planned& b : blocks_)
            std::fprintf(out, "allocated [%llu, %llu)\n", static_cast<unsigned long long>(b.key),
                         static_cast<unsigned long long>(b.key + b.size));
        for (unsigned f = 0; f < plan_.size(); f++)
            for (const planned& p : plan_[f])
                std::fprintf(out, "fiber %u: %s [%llu, %llu)\n", f, p.size ? "free" : "alloc, free",
                             static_cast<unsigned long long>(p.size ? p.key : 0),
                             static_cast<unsigned long long>(p.key + p.size));
    }

private:
    lath_space_config config_ = LATH_SPACE_CONFIG_INIT;
    std::vector<planned> blocks_;
    std::array<std::vector<planned>, 3> plan_;
    std::uint64_t left_ = 0, refused_ = 0; // units that stay, and that may
    lath_space* space_ = nullptr;
};

} // namespace

std::unique_ptr<program> space_program() { return std::make_unique<space_scenarios>(); }

} // namespace schedtest
