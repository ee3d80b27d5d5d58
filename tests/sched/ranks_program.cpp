// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Order statistics (P6 of lathwork/index.h): rank, select, count_range and count, while other
// fibers insert and erase. An answer is that of one set, which has every item that was there during
// the whole call and none that was absent during the whole call.
#include "program.hpp"
#include "runtime.h"
#include "inspect.h"

#include <algorithm>
#include <array>
#include <cerrno>

namespace schedtest {

namespace {

constexpr unsigned points = 24;
constexpr std::uint64_t never = ~0ull;

enum class act : std::uint8_t { insert, erase, rank, select, count_range, count, all };
constexpr const char* names[] = {"insert", "erase", "rank", "select", "count_range", "count"};

struct planned {
    act what;
    unsigned key, size;
};

struct made {
    planned call;
    std::uint64_t called, returned;
    std::int64_t result;
    std::uint64_t found;
};

// An item while it is in the index: from some moment of one call to some moment of another.
struct life {
    unsigned key;
    std::uint64_t insert_called, insert_returned, erase_called, erase_returned;
};

class ranks_scenarios : public program {
public:
    const char* name() const override { return "ranks"; }

    unsigned draw(random_source random) override {
        random_ = random;
        config_ = LATH_CONFIG_INIT;
        config_.layout = random_.below(2) ? LATH_POINTS : LATH_RANGES;
        config_.flags = LATH_RANKS;
        if (random_.below(2))
            config_.flags |= LATH_NODE_EACH;
        items_.clear();
        for (unsigned i = 0, n = random_.below(points); i < n; i++)
            items_.push_back(random_.below(points));
        unsigned n = 2 + random_.below(2);
        for (unsigned f = 0; f < plan_.size(); f++) {
            plan_[f].clear();
            for (unsigned i = 0, calls = 1 + random_.below(5); f < n && i < calls; i++) {
                unsigned what = random_.below(2) ? random_.below(2)
                                                 : random_.below(static_cast<unsigned>(act::all));
                plan_[f].push_back(
                    {static_cast<act>(what), random_.below(points), random_.below(points)});
            }
        }
        asks_first_ = random_.below(2);
        return n;
    }

    void build() override {
        index_ = static_cast<lath_index*>(sched_alloc(sizeof(lath_index), 64, 0));
        if (lath_index_init(index_, &config_))
            sched_fail("lath_index_init failed", nullptr, nullptr);
        for (unsigned key : items_) {
            lath_item it{key, 1, key};
            lath_index_insert_item(index_, &it, nullptr);
        }
        if (asks_first_) // all counts are valid then
            lath_index_rank(index_, points);
    }

    void begin() override {
        for (auto& h : history_)
            h.clear();
    }

    void run(unsigned fiber) override {
        for (const planned& p : plan_[fiber]) {
            lath_item it{p.key, 1, p.key};
            made m{p, sched_now(), 0, 0, 0};
            switch (p.what) {
            case act::insert:
                m.result = lath_index_insert_item(index_, &it, nullptr);
                break;
            case act::erase:
                m.result = lath_index_erase_item(index_, p.key, nullptr);
                break;
            case act::rank:
                m.result = lath_index_rank(index_, p.key);
                break;
            case act::select:
                m.result = lath_index_select(index_, p.key, &it);
                m.found = it.key;
                break;
            case act::count_range:
                m.result = lath_index_count_range(index_, p.key, p.key + p.size);
                break;
            default:
                m.result = static_cast<std::int64_t>(lath_index_count(index_));
            }
            m.returned = sched_now();
            history_[fiber].push_back(m);
        }
    }

    std::string check() override {
        char report[200] = "";
        if (lath_index_verify(index_, 6, report, sizeof(report)))
            return std::string("verify: ") + report;
        if (sched_lost_nodes(index_))
            return "nodes handed out but not in the tree";
        gather();
        for (const auto& h : history_)
            for (const made& m : h) {
                checked++;
                if (!possible(m))
                    return std::string(names[static_cast<unsigned>(m.call.what)]) +
                           ": no set of items has this answer";
            }
        lath_index_fini(index_, nullptr, nullptr);
        sched_free(index_);
        if (sched_live_blocks())
            return "blocks of memory that were not freed";
        return "";
    }

    void print(std::FILE* out) const override {
        std::fprintf(out, "layout %d, flags 0x%x%s, before:", config_.layout, config_.flags,
                     asks_first_ ? ", counted" : "");
        for (unsigned key : items_)
            std::fprintf(out, " %u", key);
        std::fputc('\n', out);
        for (unsigned f = 0; f < plan_.size(); f++) {
            for (const planned& p : plan_[f])
                std::fprintf(out, "fiber %u: %s %u, %u\n", f, names[static_cast<unsigned>(p.what)],
                             p.key, p.size);
            for (const made& m : history_[f])
                std::fprintf(out, "  [%llu-%llu] %s %u: %lld, found %llu\n",
                             static_cast<unsigned long long>(m.called),
                             static_cast<unsigned long long>(m.returned),
                             names[static_cast<unsigned>(m.call.what)], m.call.key,
                             static_cast<long long>(m.result),
                             static_cast<unsigned long long>(m.found));
        }
    }

private:
    // The lives of items: the calls on one key that succeeded, in an order in which inserts and
    // erases alternate and no call stands before one that had returned when it began. Of the calls
    // that may come next, the one that returned first comes first. Where several may, each life
    // has the widest limits of them: which one it was is not known.
    void gather() {
        lives_.clear();
        for (unsigned key = 0; key < points; key++) {
            std::vector<const made*> changes;
            for (const auto& h : history_)
                for (const made& m : h)
                    if (m.call.key == key && m.call.what <= act::erase && !m.result)
                        changes.push_back(&m);
            std::sort(changes.begin(), changes.end(),
                      [](const made* a, const made* b) { return a->returned < b->returned; });
            bool there = std::find(items_.begin(), items_.end(), key) != items_.end();
            if (there)
                lives_.push_back({key, 0, 0, never, never});
            for (; !changes.empty(); there = !there) {
                act wanted = there ? act::erase : act::insert;
                std::uint64_t first_return = changes.front()->returned;
                auto next = std::find_if(changes.begin(), changes.end(), [&](const made* m) {
                    return m->call.what == wanted && m->called < first_return;
                });
                if (next == changes.end())
                    sched_fail("inserts and erases of one key do not alternate", nullptr, nullptr);
                std::uint64_t called = (*next)->called, returned = (*next)->returned;
                for (const made* m : changes)
                    if (m->call.what == wanted && m->called < first_return) {
                        called = std::min(called, m->called);
                        returned = std::max(returned, m->returned);
                    }
                if (there) {
                    lives_.back().erase_called = called;
                    lives_.back().erase_returned = returned;
                } else {
                    lives_.push_back({key, called, returned, never, never});
                }
                changes.erase(next);
            }
        }
    }

    struct bounds {
        std::int64_t least, most;
    };

    // How many items of [from, to) a set of that call may have.
    bounds number_of(unsigned from, unsigned to, const made& m) const {
        std::array<bool, points> may{};
        bounds b{0, 0};
        for (const life& l : lives_) {
            if (l.key < from || l.key >= to)
                continue;
            b.least += l.insert_returned < m.called && l.erase_called > m.returned;
            may[l.key] |= l.insert_called < m.returned && l.erase_returned > m.called;
        }
        b.most = std::count(may.begin(), may.end(), true);
        return b;
    }

    bool possible(const made& m) const {
        bounds b{};
        switch (m.call.what) {
        case act::rank:
            b = number_of(0, m.call.key, m);
            break;
        case act::count_range:
            b = number_of(m.call.key, m.call.key + m.call.size + 1, m);
            break;
        case act::count:
            b = number_of(0, points, m);
            break;
        case act::select: {
            if (m.result == -ENOENT)
                return number_of(0, points, m).least <= m.call.key;
            auto at = static_cast<unsigned>(m.found);
            b = number_of(0, at, m);
            return number_of(at, at + 1, m).most == 1 && b.least <= m.call.key &&
                   m.call.key <= b.most;
        }
        default:
            return true;
        }
        return b.least <= m.result && m.result <= b.most;
    }

    random_source random_{};
    lath_config config_ = LATH_CONFIG_INIT;
    bool asks_first_ = false;
    std::vector<unsigned> items_;
    std::array<std::vector<planned>, 3> plan_;
    std::array<std::vector<made>, 3> history_;
    std::vector<life> lives_;
    lath_index* index_ = nullptr;
};

} // namespace

std::unique_ptr<program> ranks_program() { return std::make_unique<ranks_scenarios>(); }

} // namespace schedtest
