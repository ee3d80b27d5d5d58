// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "index_program.hpp"

#include <algorithm>

using namespace lin;

namespace schedtest {

namespace {

constexpr unsigned most_recorded = 60; // calls in a history; the checker takes 64

// What a call adds to the history, at most.
unsigned weight(const planned& p, unsigned points_used) {
    switch (p.what) {
    case act::clone:
        return points_used;
    case act::scan:
    case act::scan_values:
    case act::scan_back:
        return 14;
    case act::erase_range:
        return p.size * 7 / 4;
    case act::walk:
        return 4;
    case act::insert_batch:
    case act::erase_batch:
    case act::lookup_batch:
    case act::get_batch:
        return 3;
    default:
        return 1;
    }
}

class index_scenarios : public program {
public:
    const char* name() const override { return "index"; }

    unsigned draw(random_source random) override {
        random_ = random;
        config_ = LATH_CONFIG_INIT;
        value_ = recorded_ = 0;
        for (fiber_calls& f : fibers_)
            f.plan.clear();
        config_.layout = random_.one_in(3) ? LATH_POINTS : LATH_RANGES;
        if (random_.below(2))
            config_.flags |= LATH_NODE_EACH;
        unsigned kind = random_.below(24);
        exhausted_ = kind < 2;
        if (exhausted_)
            return kind ? draw_moved_entry() : draw_inner_merge();
        kind = random_.below(4);
        if (kind == 0 && config_.layout == LATH_RANGES)
            config_.flags |= LATH_HOLES;
        else if (kind == 1)
            config_.flags |= LATH_GAPPED;
        else if (kind == 2 && random_.one_in(2))
            config_.flags |= LATH_RANKS;
        used_ = 8 + random_.below(points - 7);
        draw_items();
        draw_mix();
        unsigned n = 2 + random_.below(2);
        for (unsigned f = 0; f < n; f++)
            for (unsigned i = 0, calls = 1 + random_.below(4); i < calls; i++)
                draw_call(fibers_[f]);
        return n;
    }

    bool exhausted() const override { return exhausted_; }

    void build() override {
        index_ = static_cast<lath_index*>(sched_alloc(sizeof(lath_index), 64, 0));
        if (lath_index_init(index_, &config_))
            sched_fail("lath_index_init failed", nullptr, nullptr);
        for (const lath_item& it : items_)
            lath_index_insert_item(index_, &it, nullptr);
        for (std::uint64_t key : erased_)
            lath_index_erase_item(index_, key, nullptr);
        if (prepared_)
            lath_index_prepare(index_);
        before_ = content();
    }

    void begin() override {
        for (fiber_calls& f : fibers_) {
            f.history.clear();
            f.counts.clear();
        }
    }

    void run(unsigned fiber) override { caller(index_, fibers_[fiber], used_).run(); }

    std::string check() override {
        char report[200] = "";
        if (lath_index_verify(index_, 5, report, sizeof(report)))
            return std::string("verify: ") + report;
        std::int64_t lost = sched_lost_nodes(index_);
        if (lost)
            return "nodes handed out but not in the tree: " + std::to_string(lost);
        std::vector<call> history;
        for (const fiber_calls& f : fibers_)
            history.insert(history.end(), f.history.begin(), f.history.end());
        state after = content();
        checked += history.size();
        for (const fiber_calls& f : fibers_)
            for (const counted& c : f.counts)
                if (std::string wrong = miscounted(c, history); !wrong.empty())
                    return wrong;
        if (!checker_.linearizable(before_, std::move(history), &after))
            return "not linearizable";
        lath_index_fini(index_, nullptr, nullptr);
        sched_free(index_);
        if (sched_live_blocks())
            return "blocks of memory that were not freed: " + std::to_string(sched_live_blocks());
        return "";
    }

    void print(std::FILE* out) const override {
        std::fprintf(out, "layout %d, flags 0x%x, %u points%s\nbefore:", config_.layout,
                     config_.flags, used_, prepared_ ? ", prepared" : "");
        for (unsigned p = 0; p < used_; p++)
            if (starts(before_, p))
                std::fprintf(out, " %u+%u=%u", p, item_at(before_, p).size, value_at(before_, p));
        std::fputc('\n', out);
        for (unsigned f = 0; f < fibers_.size(); f++)
            print_fiber(out, f);
    }

private:
    // A count is a scan (P2): what was there all the time counts once, what was away all the time
    // not at all. What a call that stores over others removes is not known.
    std::string miscounted(const counted& count, const std::vector<call>& history) const {
        std::uint64_t least = 0, most = 0;
        for (unsigned p = 0; p < used_; p++)
            least += starts(before_, p);
        most = least;
        std::uint64_t gone = 0; // perhaps before or while it counts
        bool stores = false;
        for (const call& c : history) {
            bool before = c.returned < count.called, begun = c.called < count.returned;
            switch (c.what) {
            case op::insert:
            case op::take:
            case op::split:
                least += c.done && before;
                most += c.done && begun;
                break;
            case op::erase:
            case op::erase_at:
            case op::erase_if:
            case op::join:
                gone += c.done && begun;
                most -= c.done && before;
                break;
            case op::erase_part: { // it leaves two, none, or one that perhaps begins elsewhere
                unsigned head = c.key - c.got.key, tail = c.got.size - head - c.size;
                bool two = head && tail, none = !head && !tail, moves = !two && !none && !before;
                least += c.done && before && two;
                most += c.done && begun && (two || moves);
                gone += c.done && begun && (none || moves);
                most -= c.done && before && none;
                break;
            }
            case op::store:
                stores |= c.done && begun;
                most += c.done && begun ? 2 : 0; // itself, and what it cuts in two
                break;
            default:
                break;
            }
        }
        if (count.items <= most && (stores || count.items + gone >= least))
            return "";
        return "counted " + std::to_string(count.items) + " items, not " +
               std::to_string(stores ? 0 : least - gone) + " to " + std::to_string(most);
    }

    unsigned point() { return random_.below(used_); }
    unsigned size_at(unsigned key) {
        return config_.layout == LATH_POINTS ? 1 : 1 + random_.below(std::min(4u, used_ - key));
    }

    void draw_items() {
        items_.clear();
        erased_.clear();
        prepared_ = random_.one_in(4);
        unsigned n = random_.below(used_ + 1);
        for (unsigned i = 0; i < n; i++) {
            unsigned key = point();
            items_.push_back({window + key, random_.below(2) ? 1 : size_at(key), ++value_});
        }
        unsigned away = random_.below(2) ? random_.below(n + 1) : 0;
        for (unsigned i = 0; i < away; i++)
            erased_.push_back(items_[random_.below(n)].key);
    }

    // One hole behind an item, searched while an insert in front of the item moves its entry: key
    // and size may be read of two items.
    unsigned draw_moved_entry() {
        config_ = LATH_CONFIG_INIT;
        config_.flags = LATH_HOLES;
        prepared_ = false;
        erased_.clear();
        unsigned wide = 2 + random_.below(3), hole = 1 + random_.below(3);
        unsigned key = wide + random_.below(3), behind = key + 1 + hole;
        used_ = behind + 4;
        items_ = {{window + key, 1, ++value_}, {window + behind, 2, ++value_}};
        planned search{act::hole, key, hole, 0, 0, behind, 1, random_.below(LATH_HOLE_EXACT)};
        planned insert{act::insert, key - wide, wide, ++value_, 1, used_, 1, 0};
        fibers_[0].plan = {search};
        fibers_[1].plan = {insert};
        return 2;
    }

    // Three inner nodes of level 1. An erase_range merges the second one into the first while a
    // search for a hole reads it: an inner node without entries.
    unsigned draw_inner_merge() {
        config_ = LATH_CONFIG_INIT;
        config_.flags = LATH_HOLES;
        prepared_ = false;
        used_ = points;
        items_.clear();
        for (unsigned key = 0; key < points; key++)
            items_.push_back({window + key, 1, ++value_});
        erased_ = {window + 1, window + 3, window + 4, window + 8};
        unsigned low = 8 + random_.below(3);
        planned search{act::hole,        low, 3, 0,
                       random_.below(8), 20,  1, random_.below(LATH_HOLE_EXACT)};
        fibers_[0].plan = {{act::erase_range, 6, 7, 0, 0, used_, 1, 0}};
        fibers_[1].plan = {search};
        return 2;
    }

    bool possible(act what) const {
        switch (what) {
        case act::resize:
        case act::split:
        case act::erase_part:
        case act::join:
        case act::store:
            return config_.layout == LATH_RANGES;
        case act::take:
        case act::hole:
        case act::hole_stats:
            return config_.flags & LATH_HOLES;
        default:
            return true;
        }
    }

    // Each scenario has its own mix of calls.
    void draw_mix() {
        weights_.fill(0);
        sum_ = 0;
        for (unsigned i = 0; i < weights_.size(); i++) {
            act what = static_cast<act>(i);
            bool usual = what == act::insert || what == act::erase;
            bool frequent = config_.flags & LATH_HOLES && (what == act::take || what == act::hole);
            if (possible(what))
                weights_[i] = usual + random_.below(frequent ? 16 : 6) * random_.below(2);
            sum_ += weights_[i];
        }
    }

    void draw_call(fiber_calls& fiber) {
        unsigned x = random_.below(sum_), i = 0;
        while (x >= weights_[i])
            x -= weights_[i++];
        planned p{};
        p.what = static_cast<act>(i);
        p.key = point();
        if (!items_.empty() && random_.below(4)) // a place where something is or was
            p.key = static_cast<unsigned>(
                items_[random_.below(static_cast<unsigned>(items_.size()))].key - window);
        p.size = size_at(p.key);
        p.value = value_ + 1;
        value_ += 3; // a batch takes three
        p.other = 1 + random_.below(value_);
        p.align = 1;
        p.last = used_;
        if (p.what == act::erase_range) // of the wide ones some leave leaves without items
            p.size =
                1 + random_.below(random_.one_in(4) ? used_ - p.key : std::min(8u, used_ - p.key));
        if (p.what == act::take || p.what == act::hole) {
            p.size = 1 + random_.below(3);
            p.key = random_.below(used_ - 3);
            p.last = p.key + p.size + random_.below(used_ - p.key - p.size + 1);
            p.align = 1u << random_.below(3);
            p.policy = random_.below(LATH_HOLE_EXACT);
        } else if (p.what == act::erase_if || p.what == act::replace_if ||
                   p.what == act::erase_part) {
            for (const lath_item& it : items_)
                if (it.key == window + p.key && random_.below(4)) {
                    p.other = static_cast<unsigned>(it.value);
                    if (p.what == act::erase_part) { // of what it has
                        p.key += random_.below(static_cast<unsigned>(it.size));
                        p.size = 1 + random_.below(
                                         static_cast<unsigned>(it.key + it.size - window) - p.key);
                        break;
                    }
                }
        }
        recorded_ += weight(p, used_);
        if (recorded_ <= most_recorded)
            fiber.plan.push_back(p);
    }

    state content() {
        std::array<lath_item, points> items;
        std::size_t n =
            lath_index_scan(index_, 0, ~std::uint64_t{0}, items.data(), items.size(), nullptr);
        state s{};
        for (std::size_t i = 0; i < n; i++)
            put(s, static_cast<unsigned>(items[i].key - window),
                static_cast<unsigned>(items[i].size), static_cast<unsigned>(items[i].value));
        return s;
    }

    void print_fiber(std::FILE* out, unsigned f) const {
        for (const planned& p : fibers_[f].plan)
            std::fprintf(out, "fiber %u: %s key %u size %u value %u other %u last %u align %u\n", f,
                         name_of(p.what), p.key, p.size, p.value, p.other, p.last, p.align);
        for (const call& c : fibers_[f].history)
            std::fprintf(out, "  fiber %u [%llu-%llu] op %d key %u size %u: %s%s got %u+%u=%u\n", f,
                         static_cast<unsigned long long>(c.called),
                         static_cast<unsigned long long>(c.returned), static_cast<int>(c.what),
                         c.key, c.size, c.done ? "done" : "no", c.exists ? " (exists)" : "",
                         c.got.key, c.got.size, c.got.value);
    }

    random_source random_{};
    lath_config config_ = LATH_CONFIG_INIT;
    unsigned used_ = 0, value_ = 0, sum_ = 0, recorded_ = 0;
    bool prepared_ = false, exhausted_ = false;
    std::vector<lath_item> items_;
    std::vector<std::uint64_t> erased_;
    std::array<unsigned, static_cast<std::size_t>(act::all)> weights_{};
    std::array<fiber_calls, 3> fibers_;
    lath_index* index_ = nullptr;
    state before_{};
    checker checker_;
};

} // namespace

std::unique_ptr<program> index_program() { return std::make_unique<index_scenarios>(); }

} // namespace schedtest
