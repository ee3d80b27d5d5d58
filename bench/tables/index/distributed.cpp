// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Table `index` with --keys: the keys of a distribution, inserted in its own order. Where the keys
// move, all of them move `turns` times before they are looked up.
#include "block.hpp"

#include "distributions.hpp"

#include <algorithm>

namespace lathbench {

namespace {

constexpr unsigned turns = 3;

class distributed_block : public map_block {
public:
    distributed_block(session& s, const std::string& distribution, std::uint64_t n, int threads,
                      std::vector<std::string> names)
        : map_block(s, distribution, n, threads, std::move(names)), distribution_(distribution),
          seed_(s.seed(0)), moves_(distribution_moves(distribution)) {}

    void run() {
        if (!wants_one_of(distributed_cases(distribution_)))
            return;
        auto names = names_;
        if (moves_)
            for (const auto& name : distributed_cases(distribution_))
                if (threads_ == 1 || name != "bytes")
                    names = with_ability(name, &map_abilities::erase, "no safe erase");
        live_ = distribution_keys(distribution_, n_, seed_);
        fill(phases(), names, true);
        if (moves_) {
            key_turn last = distribution_turn(distribution_, n_, seed_, turns);
            live_ = std::move(last.in);
            gone_ = std::move(last.out);
            gone_.resize(std::min<std::size_t>(gone_.size(), operations_));
        }
        oracle_ = ordered_oracle(live_);
        for (bool erasing : {false, true}) {
            erasing_ = erasing;
            for (int rep = 0; rep < session_.reps() && !session_.stopped(); rep++)
                repetition(rep);
        }
        audit_all();
    }

private:
    std::vector<phase> phases() {
        auto key = [&](std::uint64_t i) { return live_[i]; };
        std::vector<phase> all = {insert_phase("insert", &map_bench::insert, key)};
        if (moves_)
            all.push_back(turn_phase());
        return all;
    }

    // All turns as one case: a slice has one list of steps for each turn in which it takes part,
    // since threads may do the steps of a turn in any order.
    phase turn_phase() {
        struct state {
            unsigned number = 0;
            key_turn keys;
            std::vector<std::vector<step>> steps;
        };
        auto now = std::make_shared<state>();
        auto prepare = [this, now](std::size_t s, std::size_t slices) {
            std::uint64_t all = turns * n_, at = all * s / slices, end = all * (s + 1) / slices;
            now->steps.clear();
            while (at < end) {
                auto number = static_cast<unsigned>(at / n_ + 1);
                if (now->number != number) {
                    now->keys = {};
                    now->keys = distribution_turn(distribution_, n_, seed_, number);
                    now->number = number;
                }
                auto& steps = now->steps.emplace_back();
                for (auto stop = std::min(end, number * n_); at < stop; at++) {
                    steps.push_back({now->keys.in[at % n_], op::insert, 0});
                    steps.push_back({now->keys.out[at % n_], op::erase, 0});
                }
            }
        };
        auto work = [this, now](filled_map& c, std::uint64_t& done) {
            double ns = 0;
            for (const auto& steps : now->steps) {
                tally read;
                std::uint64_t changed = 0;
                ns += run_steps(c, steps, read, changed) * static_cast<double>(steps.size());
                done += changed;
            }
            return ns;
        };
        return {"turn", turns * n_, 2 * turns * n_, prepare, work};
    }

    void warm_up(filled_map& c, int rep) override {
        std::vector<tally> got;
        look_up(c, some(5 * operations_, 9, rep), &map_bench::lookup, got);
    }

    // Erases come after all repetitions of the others: a map that keys were erased from is another
    // one than a map that was only filled.
    void cases(int rep) override {
        if (!erasing_)
            reads(rep);
        else if (able("erase", &map_abilities::erase, "no safe erase"))
            each("erase", rep, [&](filled_map& c) { erase(c, rep); }, &map_abilities::erase);
    }

    void reads(int rep) {
        using m = map_bench;
        constexpr auto batches = &map_abilities::lookup_batch;
        hits("lookup", rep, 1, &m::lookup);
        hits("lookup-dep", rep, 2, &m::lookup_dependent);
        misses("miss", rep, 3, &m::lookup);
        if (able("lookup-batch", batches, "no batch of lookups"))
            hits("lookup-batch", rep, 4, &m::lookup_batch, batches);
        if (able("miss-batch", batches, "no batch of lookups"))
            misses("miss-batch", rep, 5, &m::lookup_batch, batches);
        if (able("scan100", &map_abilities::scan, "no scan from a key"))
            each("scan100", rep, [&](filled_map& c) { scan(c, rep); }, &map_abilities::scan);
    }

    std::mt19937_64 random(std::uint64_t purpose, int rep) const {
        return std::mt19937_64(session_.seed(purpose * 1000 + static_cast<std::uint64_t>(rep)));
    }

    // Any of the live keys.
    key_stream some(std::size_t count, std::uint64_t purpose, int rep) const {
        auto source = random(purpose, rep);
        key_stream s;
        for (std::size_t i = 0; i < count; i++)
            s.keys.push_back(live_[source() % n_]);
        return s;
    }

    void hits(const std::string& name, int rep, std::uint64_t purpose, lookup_call call,
              bool map_abilities::* ability = nullptr) {
        each(
            name, rep,
            [&](filled_map& c) {
                key_stream s = some(operations_, purpose, rep);
                std::vector<tally> got;
                double ns = look_up(c, s, call, got);
                record(name, c.name, ns, all_found(s, got));
            },
            ability);
    }

    // Near misses: each is at most 1000 above a key, in the first gap at or after a random one.
    void misses(const std::string& name, int rep, std::uint64_t purpose, lookup_call call,
                bool map_abilities::* ability = nullptr) {
        each(
            name, rep,
            [&](filled_map& c) {
                auto source = random(purpose, rep);
                key_stream s;
                for (std::size_t i = 0; i < operations_; i++) {
                    window gap = oracle_.gap(source() % n_);
                    s.keys.push_back(gap.low +
                                     source() % std::min<std::uint64_t>(gap.size(), 1000));
                }
                std::vector<tally> got;
                double ns = look_up(c, s, call, got);
                record(name, c.name, ns, none_found(got));
            },
            ability);
    }

    void scan(filled_map& c, int rep) {
        scan_hundred(c, some(std::max<std::size_t>(operations_ / operations_per_scan, 1), 6, rep),
                     oracle_);
    }

    // Erases random keys, one of each stretch of the order of insertion, and puts them back.
    void erase(filled_map& c, int rep) {
        auto source = random(7, rep);
        std::vector<std::uint64_t> keys;
        for (std::uint64_t i = 0; i < operations_; i++) {
            std::uint64_t from = n_ * i / operations_, to = n_ * (i + 1) / operations_;
            keys.push_back(live_[from + source() % (to - from)]);
        }
        std::shuffle(keys.begin(), keys.end(), source);
        std::uint64_t erased = 0, inserted = 0;
        double ns = change_keys(c, &map_bench::erase, keys, erased);
        change_keys(c, &map_bench::insert, keys, inserted);
        record("erase", c.name, ns, erased == operations_ && inserted == operations_);
    }

    // Checks after all cases that a sample of the live keys is there, and that of those which moved
    // away is not.
    void audit_all() {
        for (auto& c : maps_) {
            if (session_.stopped())
                return;
            audit(c, some(operations_, 8, 0), true);
            if (moves_)
                audit(c, {gone_}, false);
        }
    }

    std::string distribution_;
    std::uint64_t seed_;
    bool moves_;
    bool erasing_ = false;
    std::vector<std::uint64_t> live_, gone_;
    ordered_oracle oracle_;
};

} // namespace

void run_distributed(session& s, const std::string& distribution, std::uint64_t n, int threads,
                     const std::vector<std::string>& names) {
    distributed_block(s, distribution, n, threads, names).run();
}

std::vector<std::string> distributed_cases(const std::string& distribution) {
    std::vector<std::string> names = {"insert",     "lookup",  "lookup-dep", "miss", "lookup-batch",
                                      "miss-batch", "scan100", "erase",      "bytes"};
    if (distribution_moves(distribution))
        names.insert(names.begin() + 1, "turn");
    return names;
}

} // namespace lathbench
