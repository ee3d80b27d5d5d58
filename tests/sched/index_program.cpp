// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// An index (index/index_calls.hpp) under the scheduler.
#include "calls_program.hpp"
#include "inspect.h"

#include "index/index_calls.hpp"

using namespace calls;

namespace schedtest {

namespace {

constexpr word window = 1u << 20;
constexpr unsigned points = 24;

class index_program_ : public calls_program<index_calls> {
public:
    const char* name() const override { return "index"; }

private:
    void draw_setup(source& from) override {
        setup_.share(from, window, 1, 8 + from.below(points - 7));
    }

    call planned(const char* name, word key, word size, word value) {
        call c(setup_);
        c.kind = kind_of<index_calls>(name);
        c.key = key;
        c.size = size;
        c.value = value;
        return c;
    }

    // One scenario in twelve is worth every schedule with one preemption.
    unsigned draw_case(source& from) override {
        const unsigned what = from.below(24);
        exhausted_ = what < 2;
        if (!exhausted_)
            return 0;
        setup_.together = setup_.holes = true;
        setup_.config.flags = LATH_HOLES | (from.below(2) ? LATH_NODE_EACH : 0);
        setup_.keys = {window, 1, points};
        return what ? draw_moved_entry(from) : draw_inner_merge(from);
    }

    call search(source& from, word low, word high, word size) {
        call c = planned("find_hole", 0, 0, 0);
        c.want.size = size;
        c.want.low = window + low;
        c.want.high = window + high;
        c.want.hint = window + low + from.below(8);
        c.want.policy = static_cast<lath_hole_policy>(from.below(LATH_HOLE_EXACT));
        return c;
    }

    // One hole behind an item, searched while an insert in front of the item moves its entry:
    // key and size may be read of two items.
    unsigned draw_moved_entry(source& from) {
        const unsigned wide = 2 + from.below(3), hole = 1 + from.below(3);
        const unsigned key = wide + from.below(3), behind = key + 1 + hole;
        loaded_ = {planned("insert_item", window + key, 1, 1),
                   planned("insert_item", window + behind, 2, 2)};
        plan_[0] = {search(from, key, behind, hole)};
        plan_[1] = {planned("insert_item", window + key - wide, wide, 3)};
        return 2;
    }

    // Three inner nodes of level 1. An erase_range merges the second one into the first while a
    // search for a hole reads it: an inner node without entries.
    unsigned draw_inner_merge(source& from) {
        for (unsigned key = 0; key < points; key++)
            loaded_.push_back(planned("insert_item", window + key, 1, key + 1));
        for (unsigned key : {1, 3, 4, 8})
            loaded_.push_back(planned("erase_item", window + key, 0, 0));
        plan_[0] = {planned("erase_range", window + 6, 7, 0)};
        plan_[1] = {search(from, 8 + from.below(3), 20, 3)};
        return 2;
    }

    std::string check_more(const calls::history<index_calls>& history) override {
        const std::int64_t lost = sched_lost_nodes(it_->set());
        if (lost)
            return "nodes handed out but not in the tree: " + std::to_string(lost);
        for (const auto& made : made_)
            for (const call& c : made)
                if (kind_at<index_calls>(c).name == std::string_view("count") &&
                    miscounted(c, history.calls()))
                    return "a count of " + std::to_string(c.ret) + " items";
        return "";
    }

    // A count is a scan (P2): what is there all the time counts once, what is away all the time not
    // at all. What a call that stores over others removes is not known.
    bool miscounted(const call& count, const std::vector<call>& history) const {
        auto least = static_cast<std::int64_t>(before_.items.size()), most = least,
             gone = std::int64_t{0};
        bool stores = false;
        for (const call& c : history) {
            const bool before = c.returned < count.called, begun = c.called < count.returned;
            const std::string_view name = kind_at<index_calls>(c).name;
            if (c.ret || !begun)
                continue;
            if (name == "erase_part" && c.blind()) { // of which item is not told
                most++;
                gone++;
            } else if (name == "erase_part") { // it leaves two, none, or one, perhaps elsewhere
                const bool head = c.key != c.got.key, tail = c.last() != oracle_last(&c.got);
                least += before && head && tail;
                most += head != tail ? !before : head ? 1 : -before;
                gone += head != tail ? !before : !head;
            } else if (name == "store_range") {
                stores = true;
                most += 2; // itself, and what it cuts in two
            } else if (name == "join" || name.starts_with("erase") ||
                       name.starts_with("cursor_erase")) {
                gone++;
                most -= before;
            } else if (name == "split" || name.starts_with("insert") ||
                       name.starts_with("cursor_insert")) {
                least += before;
                most++;
            }
        }
        return count.ret > most || (!stores && count.ret < least - gone);
    }
};

} // namespace

std::unique_ptr<program> index_program() { return std::make_unique<index_program_>(); }

} // namespace schedtest
