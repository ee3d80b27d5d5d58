// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "block.hpp"

#include "harness/timing.hpp"

#include <algorithm>
#include <malloc.h>

namespace lathbench {

namespace {

// Up to this size everything stays in the caches, and the fill is repeated as a whole.
constexpr std::uint64_t small_size = 200000;
constexpr std::size_t slices_per_sample = 4;

} // namespace

map_block::map_block(session& s, std::string kind, std::uint64_t n, int threads,
                     std::vector<std::string> names)
    : session_(s), n_(n), threads_(threads), names_(std::move(names)), kind_(std::move(kind)) {
    std::uint64_t wanted = s.opt().quick() ? 20000 : 200000;
    operations_ = std::max<std::uint64_t>(std::min(wanted, n / 8), 1);
}

std::string map_block::case_name(const std::string& name) const {
    std::string full = name + (kind_.empty() ? "" : "/" + kind_) + "/" + std::to_string(n_);
    return threads_ == 1 ? full : full + "/" + std::to_string(threads_);
}

void map_block::record(const std::string& name, const std::string& subject, double value,
                       bool right, const char* metric, const char* unit) {
    session_.sample({case_name(name), n_, threads_, metric, unit}, subject, value, right);
}

void map_block::show(const std::string& name, int rep, const std::string& subject) {
    session_.progress("index: " + case_name(name) + ", sample " + std::to_string(rep + 1) + ", " +
                      subject);
}

std::uint64_t map_block::part_of(std::uint64_t i, std::uint64_t total) const {
    auto t = static_cast<std::uint64_t>(threads_);
    std::uint64_t part = i * t / total;
    while (part + 1 < t && total * (part + 1) / t <= i)
        part++;
    return part;
}

double map_block::timed(filled_map& c, std::size_t total,
                        const std::function<void(std::size_t, std::size_t, int)>& work) {
    auto t = static_cast<std::size_t>(threads_);
    auto times = run_threads(
        threads_,
        [&](int i) {
            auto id = static_cast<std::size_t>(i);
            work(total * id / t, total * (id + 1) / t, i);
        },
        [&](int) { c.map->enter(); }, [&](int) { c.map->leave(); });
    auto ns = static_cast<double>(threads_ == 1 ? times.cpu[0] : times.span);
    return ns / static_cast<double>(total);
}

filled_map map_block::make(const std::string& name) {
    filled_map c;
    c.name = name;
    c.map = find_subject(range_subjects(), name).map(threads_ > 1);
    c.can = c.map->abilities();
    return c;
}

std::vector<std::string> map_block::with_ability(const std::string& name,
                                                 bool map_abilities::* ability, const char* why) {
    std::vector<std::string> able;
    for (const auto& subject : names_) {
        if (make(subject).can.*ability)
            able.push_back(subject);
        else
            session_.not_available(case_name(name), subject, why);
    }
    return able;
}

// ---- filling ----

void map_block::fill(const std::vector<phase>& phases, const std::vector<std::string>& names,
                     bool measure_bytes) {
    bool bytes = measure_bytes && threads_ == 1;
    maps_.clear();
    if (n_ <= small_size)
        fill_anew(phases, names, bytes);
    else
        fill_in_lockstep(phases, names, bytes);
    if (!session_.stopped() && bytes)
        for (const auto& c : maps_)
            record_bytes(c);
}

void map_block::fill_anew(const std::vector<phase>& phases, const std::vector<std::string>& names,
                          bool bytes) {
    std::map<std::string, std::uint64_t> taken;
    for (const auto& p : phases)
        p.prepare(0, 1);
    session_.each_interleaved(session_.reps(), names, [&](const std::string& subject, int rep) {
        std::erase_if(maps_, [&](const filled_map& c) { return c.name == subject; });
        malloc_trim(0);
        filled_map c = make(subject);
        std::uint64_t before = c.map->memory();
        for (const auto& p : phases) {
            show(p.name, rep, subject);
            std::uint64_t done = 0;
            double ns = p.work(c, done) / static_cast<double>(p.operations);
            record(p.name, subject, ns, done == p.changes);
        }
        // later ones get memory that the process kept
        if (bytes && rep == 0)
            taken[subject] = c.map->memory() - before;
        c.bytes = taken[subject];
        c.live = {0, n_};
        maps_.push_back(std::move(c));
    });
}

void map_block::fill_in_lockstep(const std::vector<phase>& phases,
                                 const std::vector<std::string>& names, bool bytes) {
    auto reps = static_cast<std::size_t>(session_.reps());
    std::size_t slices = reps * slices_per_sample;
    malloc_trim(0);
    for (const auto& subject : names)
        maps_.push_back(make(subject));
    for (const auto& p : phases) {
        struct progress_of {
            std::vector<double> ns;
            std::uint64_t done = 0;
        };
        std::vector<progress_of> progress(maps_.size(), {std::vector<double>(reps), 0});
        for (std::size_t s = 0; s < slices && !session_.stopped(); s++) {
            p.prepare(s, slices);
            for (std::size_t i = 0; i < maps_.size(); i++) {
                std::size_t at = (i + s) % maps_.size();
                filled_map& c = maps_[at];
                show(p.name, static_cast<int>(s % reps), c.name);
                std::uint64_t before = bytes ? c.map->memory() : 0;
                progress[at].ns[s % reps] += p.work(c, progress[at].done);
                c.bytes += bytes ? c.map->memory() - before : 0;
            }
        }
        if (session_.stopped())
            return;
        for (std::size_t i = 0; i < maps_.size(); i++)
            for (double ns : progress[i].ns)
                record(p.name, maps_[i].name,
                       ns * static_cast<double>(reps) / static_cast<double>(p.operations),
                       progress[i].done == p.changes);
    }
    for (auto& c : maps_)
        c.live = {0, n_};
}

// Thread t inserts a part of them that is from part t of all keys.
std::vector<std::uint64_t> map_block::slice_keys(const key_function& key, std::size_t s,
                                                 std::size_t slices) const {
    std::vector<std::uint64_t> keys;
    auto t = static_cast<std::uint64_t>(threads_);
    std::uint64_t from = n_ * s / slices, to = n_ * (s + 1) / slices;
    for (std::uint64_t part = 0; part < t; part++) {
        std::uint64_t base = n_ * part / t, size = n_ * (part + 1) / t - base;
        std::uint64_t first = base + size * from / n_, last = base + size * to / n_;
        for (std::uint64_t i = first; i < last; i++)
            keys.push_back(key(i));
    }
    return keys;
}

phase map_block::insert_phase(const std::string& name, change_call insert, key_function key) {
    auto keys = std::make_shared<std::vector<std::uint64_t>>();
    auto prepare = [this, keys, key = std::move(key)](std::size_t s, std::size_t slices) {
        *keys = slice_keys(key, s, slices);
    };
    auto work = [this, keys, insert](filled_map& c, std::uint64_t& done) {
        return change_keys(c, insert, *keys, done) * static_cast<double>(keys->size());
    };
    return {name, n_, n_, prepare, work};
}

double map_block::change_keys(filled_map& c, change_call call,
                              const std::vector<std::uint64_t>& keys, std::uint64_t& changed) {
    std::vector<std::uint64_t> done(static_cast<std::size_t>(threads_));
    double ns = timed(c, keys.size(), [&](std::size_t from, std::size_t to, int i) {
        done[static_cast<std::size_t>(i)] = ((*c.map).*call)(keys.data() + from, to - from);
    });
    for (auto d : done)
        changed += d;
    return ns;
}

// If there are fewer bytes than the keys have, the map took memory that the process held
// before, which no counter shows.
void map_block::record_bytes(const filled_map& c) {
    if (c.bytes < n_ * sizeof(std::uint64_t))
        session_.not_available(case_name("bytes"), c.name, "its allocator kept memory from before");
    else
        record("bytes", c.name, static_cast<double>(c.bytes) / static_cast<double>(n_), true,
               "bytes", "B");
}

// ---- cases on the filled maps ----

// Each does all cases in a row with its memory in the caches, like the map of a program that uses
// no other.
void map_block::repetition(int rep) {
    for (std::size_t i = 0; i < maps_.size() && !session_.stopped(); i++) {
        turn_ = &maps_[(i + static_cast<std::size_t>(rep)) % maps_.size()];
        warm_up(*turn_, rep);
        cases(rep);
    }
}

bool map_block::able(const std::string& name, bool map_abilities::* ability, const char* why) {
    if (!wants(name))
        return false;
    for (const auto& c : maps_)
        if (!(c.can.*ability))
            session_.not_available(case_name(name), c.name, why);
    return true;
}

void map_block::each(const std::string& name, int rep, const std::function<void(filled_map&)>& body,
                     bool map_abilities::* ability) {
    if (!wants(name))
        return;
    if (session_.stopped() || (ability && !(turn_->can.*ability)))
        return;
    show(name, rep, turn_->name);
    body(*turn_);
}

double map_block::look_up(filled_map& c, const key_stream& s, lookup_call call,
                          std::vector<tally>& got) {
    got.assign(static_cast<std::size_t>(threads_), {});
    return timed(c, s.keys.size(), [&](std::size_t from, std::size_t to, int i) {
        got[static_cast<std::size_t>(i)] = ((*c.map).*call)(s.keys.data() + from, to - from);
    });
}

bool map_block::all_found(const key_stream& s, const std::vector<tally>& got, bool after) {
    bool right = true;
    for (std::size_t i = 0; i < got.size(); i++) {
        std::size_t from = s.keys.size() * i / got.size(),
                    to = s.keys.size() * (i + 1) / got.size();
        std::uint64_t keys = s.sum(from, to) - (after ? to - from : 0);
        right = right && got[i].entries == to - from && got[i].keys == keys && got[i].pairs_fit();
    }
    return right;
}

bool map_block::none_found(const std::vector<tally>& got) {
    return std::all_of(got.begin(), got.end(), [](const tally& t) { return t == tally{}; });
}

double map_block::run_steps(filled_map& c, const std::vector<step>& steps, tally& read,
                            std::uint64_t& done) {
    std::vector<tally> got(static_cast<std::size_t>(threads_));
    std::vector<std::uint64_t> changed(got.size());
    double ns = timed(c, steps.size(), [&](std::size_t from, std::size_t to, int i) {
        auto id = static_cast<std::size_t>(i);
        got[id] = c.map->mix(steps.data() + from, to - from, changed[id]);
    });
    read = sum(got);
    done = 0;
    for (auto n : changed)
        done += n;
    return ns;
}

void map_block::scan_hundred(filled_map& c, const key_stream& s, const ordered_oracle& oracle) {
    constexpr std::size_t length = 100;
    tally expected, got;
    for (auto from : s.keys)
        add(expected, oracle.scan(from, length));
    std::vector<tally> parts(static_cast<std::size_t>(threads_));
    double ns = timed(c, s.keys.size(), [&](std::size_t from, std::size_t to, int i) {
        parts[static_cast<std::size_t>(i)] = c.map->scan(s.keys.data() + from, to - from, length);
    });
    got = sum(parts);
    record("scan100", c.name, ns, got == expected);
}

void map_block::audit(filled_map& c, const key_stream& s, bool there) {
    tally found;
    timed(c, 1, [&](std::size_t, std::size_t to, int) {
        if (to)
            found = c.map->lookup(s.keys.data(), s.keys.size());
    });
    if (there && (found.entries != s.keys.size() || !found.pairs_fit()))
        session_.wrong(c.name, case_name("audit") + ": live keys are missing");
    if (!there && found.entries)
        session_.wrong(c.name, case_name("audit") + ": erased keys are still there");
}

void map_block::add(tally& to, const tally& more) {
    to.entries += more.entries;
    to.keys += more.keys;
    to.values += more.values;
}

tally map_block::sum(const std::vector<tally>& parts) {
    tally total;
    for (const auto& p : parts)
        add(total, p);
    return total;
}

} // namespace lathbench
