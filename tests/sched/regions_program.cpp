// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// An index of regions that knows its holes, and range locks around steps of several calls on it, as
// in examples/address_space.c. Who holds a page finds in it what the last holder who changed it
// left, as long as he holds it; a lookup without a lock finds what the page had at some moment of
// the call. Room that is looked for is nobody else's.
#include "program.hpp"
#include "runtime.h"
#include "inspect.h"

#include "lathwork/hole.h"
#include "lathwork/index.h"
#include "lathwork/range_lock.h"

#include <algorithm>
#include <array>
#include <cerrno>

namespace schedtest {

namespace {

constexpr unsigned pages = 40, top = 72; // room is looked for in [pages, top)
constexpr std::uint64_t leaving = 1; // the value of pages that are being unmapped
constexpr std::uint64_t never = ~0ull;

enum class act : std::uint8_t { map, unmap, protect, fault, query, alloc, all };
constexpr const char* names[] = {"map", "unmap", "protect", "fault", "query", "alloc"};

struct planned {
    act what;
    unsigned first, size;
    std::uint64_t value;
};

struct found {
    unsigned call, page;
    std::uint64_t value;
};

// From some moment of one call to some moment of another a page has this value; 0: none.
struct period {
    std::uint64_t value, called, ended;
};

class regions_scenarios : public program {
public:
    const char* name() const override { return "regions"; }

    unsigned draw(random_source random) override {
        random_ = random;
        config_ = LATH_CONFIG_INIT;
        config_.layout = LATH_RANGES;
        config_.flags = random_.below(4) ? LATH_HOLES : 0;
        locks_config_ = LATH_RANGE_CONFIG_INIT;
        locks_config_.buckets = 1u << random_.below(5);
        locks_config_.usual = random_.below(2) ? 4 : 0;
        items_.clear();
        for (unsigned page = 0; page < pages;) {
            unsigned size = 1 + random_.below(5);
            if (random_.below(4))
                items_.push_back(
                    {page, std::min(size, pages - page), leaving + 1 + random_.below(3)});
            page += size;
        }
        unsigned n = 2 + random_.below(2);
        for (unsigned f = 0; f < plan_.size(); f++) {
            plan_[f].clear();
            for (unsigned i = 0, calls = 1 + random_.below(4); f < n && i < calls; i++)
                plan_[f].push_back(draw_call());
        }
        return n;
    }

    void build() override {
        index_ = static_cast<lath_index*>(sched_alloc(sizeof(lath_index), 64, 0));
        locks_ = static_cast<lath_range_locks*>(sched_alloc(sizeof(lath_range_locks), 64, 0));
        for (auto& hold : holds_)
            hold = static_cast<lath_range_hold*>(sched_alloc(sizeof(lath_range_hold), 8, 0x5a));
        if (lath_index_init(index_, &config_) || lath_range_locks_init(locks_, &locks_config_))
            sched_fail("init failed", nullptr, nullptr);
        for (const lath_item& it : items_)
            lath_index_insert_item(index_, &it, nullptr);
    }

    void begin() override {
        for (auto& h : history_)
            h.clear();
        taken_.fill(false);
        for (auto& p : periods_)
            p.assign(1, {0, 0, never});
        for (const lath_item& it : items_)
            for (std::uint64_t page = it.key; page < it.key + it.size; page++)
                periods_[page].back().value = it.value;
    }

    void run(unsigned fiber) override {
        for (unsigned call = 0; call < plan_[fiber].size(); call++) {
            const planned& p = plan_[fiber][call];
            switch (p.what) {
            case act::query:
                query(fiber, call);
                break;
            case act::alloc:
                alloc(p);
                break;
            case act::fault:
                fault(fiber, call);
                break;
            default:
                change(fiber, p);
            }
        }
    }

    std::string check() override {
        char report[200] = "";
        if (lath_index_verify(index_, 5, report, sizeof(report)))
            return std::string("verify: ") + report;
        if (lath_range_locks_verify(locks_))
            return "range locks: an invariant is broken";
        for (unsigned page = 0; page < pages; page++)
            if (value_of(page) != periods_[page].back().value)
                return "page " + std::to_string(page) + " has not its last value";
        if (sched_lost_nodes(index_))
            return "nodes handed out but not in the tree";
        lath_range_locks_fini(locks_);
        lath_index_fini(index_, nullptr, nullptr);
        sched_free(locks_);
        sched_free(index_);
        for (auto& hold : holds_)
            sched_free(hold);
        if (sched_live_blocks())
            return "blocks of memory that were not freed";
        return "";
    }

    void print(std::FILE* out) const override {
        std::fprintf(out, "flags 0x%x, %u buckets, usual %llu, before:", config_.flags,
                     locks_config_.buckets, static_cast<unsigned long long>(locks_config_.usual));
        for (const lath_item& it : items_)
            std::fprintf(out, " [%llu, %llu] %llu", static_cast<unsigned long long>(it.key),
                         static_cast<unsigned long long>(it.key + it.size - 1),
                         static_cast<unsigned long long>(it.value));
        std::fputc('\n', out);
        for (unsigned f = 0; f < plan_.size(); f++) {
            for (const planned& p : plan_[f])
                std::fprintf(out, "fiber %u: %s [%u, %u] %llu\n", f,
                             names[static_cast<unsigned>(p.what)], p.first, p.first + p.size - 1,
                             static_cast<unsigned long long>(p.value));
            for (const found& h : history_[f])
                std::fprintf(out, "  call %u: page %u has %llu\n", h.call, h.page,
                             static_cast<unsigned long long>(h.value));
        }
    }

private:
    planned draw_call() {
        unsigned size = random_.one_in(4) ? 1 + random_.below(20) : 1 + random_.below(4);
        return {static_cast<act>(random_.below(static_cast<unsigned>(act::all))),
                random_.below(pages - size), size, leaving + 1 + random_.below(3)};
    }

    std::uint64_t value_of(unsigned page) {
        std::uint64_t value;
        return lath_index_get(index_, page, &value) && value != leaving ? value : 0;
    }

    static int equal(void*, const lath_item* left, const lath_item* right) {
        return left->value == right->value;
    }

    // All pages of a range that is held have what their last holder left.
    void check_held(const planned& p) {
        for (unsigned page = p.first; page < p.first + p.size; page++)
            if (value_of(page) != periods_[page].back().value)
                sched_fail("a page that is held was changed", index_, nullptr);
        checked++;
    }

    void lock(unsigned fiber, const planned& p, lath_range_mode mode) {
        if (lath_range_lock(locks_, holds_[fiber], p.first, p.size, mode))
            sched_fail("lath_range_lock failed", nullptr, nullptr);
    }

    // map, unmap or protect.
    void change(unsigned fiber, const planned& p) {
        std::uint64_t value = p.what == act::unmap ? 0 : p.value;
        lath_item it{p.first, p.size, value ? value : leaving};
        lock(fiber, p, LATH_EXCLUSIVE_RANGE);
        check_held(p);
        for (unsigned page = p.first; page < p.first + p.size; page++)
            periods_[page].push_back({value, sched_now(), never});
        int ret = lath_index_store_range(index_, &it, nullptr, nullptr);
        if (ret && ret != -ENOMEM)
            sched_fail("store_range failed", index_, nullptr);
        if (!ret && !value && lath_index_erase_item(index_, p.first, nullptr))
            sched_fail("the region in the range's place is gone", index_, nullptr);
        for (unsigned page = p.first; page < p.first + p.size; page++)
            if (ret) // nothing was changed
                periods_[page].pop_back();
            else
                (periods_[page].end() - 2)->ended = sched_now();
        if (!ret && p.what == act::protect) {
            lath_index_join(index_, p.first, equal, nullptr, nullptr);
            lath_index_join(index_, p.first + p.size, equal, nullptr, nullptr);
        }
        check_held(p);
        lath_range_unlock(locks_, holds_[fiber]);
    }

    void fault(unsigned fiber, unsigned call) {
        planned p = plan_[fiber][call];
        lock(fiber, p, LATH_SHARED_RANGE);
        check_held(p);
        sched_point();
        check_held(p);
        history_[fiber].push_back({call, p.first, periods_[p.first].back().value});
        lath_range_unlock(locks_, holds_[fiber]);
    }

    void query(unsigned fiber, unsigned call) {
        unsigned page = plan_[fiber][call].first;
        std::uint64_t called = sched_now(), value = value_of(page), returned = sched_now();
        history_[fiber].push_back({call, page, value});
        bool had = std::any_of(periods_[page].begin(), periods_[page].end(), [&](const period& p) {
            return p.value == value && p.called <= returned && p.ended >= called;
        });
        if (!had)
            sched_fail("a lookup found what the page did not have", index_, nullptr);
        checked++;
    }

    // Takes room that nobody else has, and gives it back.
    void alloc(const planned& p) {
        if (!(config_.flags & LATH_HOLES))
            return;
        lath_hole_request want{};
        want.size = p.size;
        want.low = pages;
        want.high = top;
        want.policy = p.first % 2 ? LATH_HOLE_LAST : LATH_HOLE_FIRST;
        std::uint64_t first;
        if (lath_index_insert_hole(index_, &want, p.value, &first))
            return; // full, or no memory
        if (first < pages || first + p.size > top)
            sched_fail("room outside of what was asked for", index_, nullptr);
        for (std::uint64_t page = first; page < first + p.size; page++) {
            if (taken_[page])
                sched_fail("room that another one has", index_, nullptr);
            taken_[page] = true;
        }
        sched_point();
        for (std::uint64_t page = first; page < first + p.size; page++)
            taken_[page] = false;
        if (lath_index_erase_item(index_, first, nullptr))
            sched_fail("what was taken is gone", index_, nullptr);
        checked++;
    }

    random_source random_{};
    lath_config config_ = LATH_CONFIG_INIT;
    lath_range_config locks_config_ = LATH_RANGE_CONFIG_INIT;
    std::vector<lath_item> items_;
    std::array<std::vector<planned>, 3> plan_;
    std::array<std::vector<found>, 3> history_;
    std::array<std::vector<period>, pages> periods_;
    std::array<bool, top> taken_{};
    std::array<lath_range_hold*, 3> holds_{};
    lath_index* index_ = nullptr;
    lath_range_locks* locks_ = nullptr;
};

} // namespace

std::unique_ptr<program> regions_program() { return std::make_unique<regions_scenarios>(); }

} // namespace schedtest
