// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// index_subject.hpp - an index of ranges or points as calls.hpp wants it: how it is made and ended,
// and what is in it. Its calls are in index_calls.hpp.
#pragma once

#include "long_values.hpp"
#include "ranges_calls.hpp"

#include <cstdlib>
#include <new>

extern "C" std::uint64_t lath_lengths_least; // set/hole/lengths.h

namespace calls {

class index_calls : public placed<lath_index> {
public:
    using model = ranges;
    using domain = range_setup;
    using call = range_call;

    struct setup : range_setup {
        lath_config config = LATH_CONFIG_INIT;
        unsigned words = 1; // of a value

        setup() = default;
        // Each layout and kind of nodes, over each domain.
        explicit setup(source& from) {
            const unsigned what = from.byte();
            points = what % 4 == 0;
            ranks = what % 4 == 1;
            holes = what % 4 == 2;
            const unsigned at = from.below(std::size(domains));
            keys = domains[at];
            edge = at == domain_of_edges ? 75 : 2;
            const unsigned flags = from.byte(), more = from.byte();
            config.flags = flags % 2 ? LATH_NODE_EACH : 0;
            config.flags |= more % 8 == 0   ? LATH_HUGE_PAGES
                            : more % 8 == 1 ? LATH_SMALL_PAGES
                            : more % 8 == 2 ? LATH_ANY_CONTEXT
                                            : 0;
            if (more / 8 % 4 == 0)
                config.rcu = &lath_rcu_single;
            memory = more / 32 % 2;
            if (!holes && what / 4 % 2)
                words = 2 + what / 8 % 7;
            lath_lengths_least = flags / 8 % 4 ? 0 : 64;
            next = "load_sorted";
            finish();
        }
        // A few points that several threads use.
        void share(source& from, word low, word unit, unsigned units) {
            together = true;
            keys = {low, unit, units};
            batch = 3;
            scan = 8;
            points = unit == 1 && from.one_in(3);
            config.flags = from.one_in(2) ? LATH_NODE_EACH : 0;
            const unsigned what = from.below(8);
            holes = what < 2 && !points;
            ranks = what == 2;
            if (what >= 4)
                words = what - 2;
            finish();
        }

    private:
        void finish() {
            config.value_size = words * sizeof(word);
            config.layout = points ? LATH_POINTS : LATH_RANGES;
            config.flags |= (ranks ? LATH_RANKS : 0) | (holes ? LATH_HOLES : 0);
        }
    };

    static const std::vector<described<index_calls>> kinds;

    index_calls(const setup& how, const host& where) : placed(where) {
        lath_config config = how.config;
        config.allocator = where.allocator;
        value_words = how.words;
        place([&](lath_index* at) { return lath_index_init(at, &config); });
        if (set_)
            lath_cursor_init(&cursor, set_);
    }

    // What is wrong, or "". without_memory: some change has been refused.
    std::string verify(bool without_memory) {
        char report[200] = "";
        return lath_index_verify(set_, without_memory ? 5 : 6, report, sizeof(report)) ? report
                                                                                       : "";
    }
    void contents(model& m) {
        std::array<lath_item, 64> items;
        word from = 0;
        std::size_t n = items.size();
        for (m.items.clear(); n == items.size() && (from || m.items.empty());) {
            n = index_api::scan(set_, from, last_key, items.data(), items.size(), &from);
            m.items.insert(m.items.end(), items.begin(),
                           items.begin() + static_cast<std::ptrdiff_t>(n));
        }
    }
    // Ends it. Returns whether it gave out all that the model has; nullptr: true.
    bool end(const model* m) {
        std::vector<lath_item> gone;
        index_api::fini(set_, note<lath_item>, &gone);
        leave(set_);
        std::sort(gone.begin(), gone.end(),
                  [](const lath_item& a, const lath_item& b) { return a.key < b.key; });
        return !m || gone == m->items;
    }

    // From now on the allocator has no memory, if it is one that checks; or it has.
    void no_memory(bool none) {
        if (where_.none)
            *where_.none = none;
    }
    // What lies beside the domain that threads share is not theirs.
    static bool beside(const call& c, const lath_item& item) {
        const key_domain& keys = c.of->keys;
        return c.of->together && item.key - keys.low >= keys.units * keys.unit;
    }
    void see(call& c) const {
        if (!c.ret && beside(c, c.got)) {
            c.ret = -ENOENT;
            c.got = {};
        }
    }

    // What is in it when the calls of a history begin: inserts, and erases of some.
    static void draw_loaded(setup& s, source& from, std::vector<call>& loaded);

    // A resize may set the size that is there already.
    static bool may_change(const call& c) {
        return kinds[c.kind].name == std::string_view("resize");
    }
    // Of the model of a history, at most.
    static unsigned most_steps(const setup& s, const call& c);

    lath_cursor cursor{}; // kept over calls
    word trimmed = 0; // likewise
};

} // namespace calls
