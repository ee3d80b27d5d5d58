// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Order statistics (P6 of lathwork/index.h): rank, select, count_range and count, while other
// fibers insert and erase. An answer is that of one set, which has every item that was there during
// the whole call and none that was absent during the whole call.
#include "calls_program.hpp"
#include "inspect.h"

#include "index/index_calls.hpp"

using namespace calls;

namespace schedtest {

namespace {

constexpr unsigned points = 24;
constexpr word never = ~word{0};
constexpr const char* names[] = {"insert_item", "erase_item",  "rank",
                                 "select",      "count_range", "count"};

// An item while it is in the index: from some moment of one call to some moment of another.
struct life {
    word key, insert_called, insert_returned, erase_called, erase_returned;
};

class ranks_program_ : public calls_program<index_calls> {
public:
    const char* name() const override { return "ranks"; }

private:
    void draw_setup(source&) override {}

    call planned(source& from, unsigned what) {
        call c(setup_);
        c.kind = kind_of<index_calls>(names[what]);
        c.key = c.value = from.below(points);
        c.size = 1;
        c.how = from.below(points); // of select
        c.other = c.key + c.how; // of count_range
        return c;
    }

    unsigned draw_case(source& from) override {
        setup_.together = setup_.ranks = true;
        setup_.keys = {0, 1, points};
        setup_.points = from.below(2);
        setup_.config.layout = setup_.points ? LATH_POINTS : LATH_RANGES;
        setup_.config.flags = LATH_RANKS | (from.below(2) ? LATH_NODE_EACH : 0);
        for (unsigned i = 0, n = from.below(points); i < n; i++)
            loaded_.push_back(planned(from, 0));
        if (from.below(2)) // all counts are valid then
            loaded_.push_back(planned(from, 2));
        const unsigned fibers = 2 + from.below(2);
        for (unsigned f = 0; f < fibers; f++)
            for (unsigned i = 0, n = 1 + from.below(5); i < n; i++)
                plan_[f].push_back(planned(from, from.below(from.below(2) ? 2 : 6)));
        return fibers;
    }

    std::string check_more(const calls::history<index_calls>& history) override {
        if (sched_lost_nodes(it_->set()))
            return "nodes handed out but not in the tree";
        gather(history.calls());
        for (const auto& made : made_)
            for (const call& c : made) {
                checked++;
                if (!possible(c))
                    return std::string(kind_at<index_calls>(c).name) +
                           ": no set of items has this answer";
            }
        return "";
    }

    static bool is(const call& c, const char* name) {
        return kind_at<index_calls>(c).name == std::string_view(name);
    }

    // The lives of items: the calls on one key that succeeded, in an order in which inserts and
    // erases alternate and no call stands before one that had returned when it began. Of the calls
    // that may come next, the one that returned first comes first. Where several may, each life
    // has the widest limits of them: which one it was is not known.
    void gather(const std::vector<call>& history) {
        lives_.clear();
        for (unsigned key = 0; key < points; key++) {
            std::vector<const call*> changes;
            for (const call& c : history)
                if (c.key == key && !c.ret)
                    changes.push_back(&c);
            std::sort(changes.begin(), changes.end(),
                      [](const call* a, const call* b) { return a->returned < b->returned; });
            bool there = before_.exact(key);
            if (there)
                lives_.push_back({key, 0, 0, never, never});
            for (; !changes.empty(); there = !there) {
                const char* wanted = names[there];
                word first_return = changes.front()->returned;
                auto next = std::find_if(changes.begin(), changes.end(), [&](const call* c) {
                    return is(*c, wanted) && c->called < first_return;
                });
                if (next == changes.end())
                    sched_fail("inserts and erases of one key do not alternate", nullptr, nullptr);
                word called = (*next)->called, returned = (*next)->returned;
                for (const call* c : changes)
                    if (is(*c, wanted) && c->called < first_return) {
                        called = std::min(called, c->called);
                        returned = std::max(returned, c->returned);
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
        bool has(std::int64_t n) const { return least <= n && n <= most; }
    };

    // How many items of [from, to) a set of that call may have.
    bounds number_of(word from, word to, const call& c) const {
        std::array<bool, points> may{};
        bounds b{0, 0};
        for (const life& l : lives_) {
            if (l.key < from || l.key >= to)
                continue;
            b.least += l.insert_returned < c.called && l.erase_called > c.returned;
            may[l.key] |= l.insert_called < c.returned && l.erase_returned > c.called;
        }
        b.most = std::count(may.begin(), may.end(), true);
        return b;
    }

    bool possible(const call& c) const {
        if (is(c, "rank"))
            return number_of(0, c.key, c).has(c.ret);
        if (is(c, "count_range"))
            return number_of(c.key, c.other + 1, c).has(c.ret);
        if (is(c, "count"))
            return number_of(0, points, c).has(c.ret);
        if (is(c, "select") && c.ret == -ENOENT)
            return number_of(0, points, c).least <= c.how;
        if (is(c, "select"))
            return number_of(c.got.key, c.got.key + 1, c).most == 1 &&
                   number_of(0, c.got.key, c).has(c.how);
        return true;
    }

    std::vector<life> lives_;
};

} // namespace

std::unique_ptr<program> ranks_program() { return std::make_unique<ranks_program_>(); }

} // namespace schedtest
