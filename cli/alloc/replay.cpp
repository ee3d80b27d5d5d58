// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "alloc/replay.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <new>
#include <stdexcept>
#include <string>

namespace lathcli::alloc {

namespace {

std::uint64_t now_ns() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

} // namespace

void latencies::add(std::uint64_t ns) {
    unsigned log = ns < 16 ? 4 : 63 - static_cast<unsigned>(std::countl_zero(ns));
    counts_[(log - 4) * 16 + (ns >> (log - 4))]++; // 16 .. 31 behind the shift, but for small ones
    count_++;
    max_ = std::max(max_, ns);
}

std::optional<double> latencies::quantile(double part) const {
    if (static_cast<double>(count_) * (1 - part) < 0.9999) // parts of ten are no binary fractions
        return std::nullopt;
    auto wanted = static_cast<std::uint64_t>(part * static_cast<double>(count_));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); i++) {
        seen += counts_[i];
        if (seen <= wanted)
            continue;
        if (i < 32)
            return static_cast<double>(i);
        std::size_t step = i / 16 - 1;
        return std::min(max(), static_cast<double>((i - step * 16) << step));
    }
    return max();
}

void hole_counts::count(const span& hole, std::uint64_t by) {
    std::uint64_t size = hole.last - hole.first + 1; // 0 is 2^64
    histogram_[size ? 63 - static_cast<unsigned>(std::countl_zero(size)) : 63] += by;
    total_ += by;
}

double state::fragmentation() const {
    return free ? 100 * (1 - static_cast<double>(largest) / static_cast<double>(free)) : 0;
}

replayer::replayer(const pool& of, const replay_options& options)
    : options_(options), pool_bytes_(size_of(of)), whole_{of.front().first, of.back().last} {
    lath_config config = LATH_CONFIG_INIT;
    config.flags = LATH_HOLES;
    list_ = lath_index_create(&config);
    if (!list_)
        throw std::bad_alloc();
    for (std::size_t i = 1; i < of.size(); i++) {
        lath_item gap{of[i - 1].last + 1, of[i].first - of[i - 1].last - 1, 0};
        if (lath_index_insert_item(list_, &gap, nullptr) != 0) {
            lath_index_destroy(list_, nullptr, nullptr);
            throw std::bad_alloc();
        }
    }
    hull_ = {std::max(whole_.first, options.limits.first),
             std::min(whole_.last, options.limits.last)};
    for (const span& s : of)
        holes_.add(s);
}

replayer::~replayer() { lath_index_destroy(list_, nullptr, nullptr); }

// `where` was taken out of a hole, or makes one with what is free on both sides of it: `whole` is
// told of that hole, `part` of what is left of it, or was there, on each side.
void replayer::count_holes(const placed& where, hole_change whole, hole_change part) {
    span hole = whole_;
    lath_item item;
    std::uint64_t last = where.key + (where.size - 1);
    if (where.key > whole_.first && lath_index_floor_item(list_, where.key - 1, &item) == 0)
        hole.first = item.key + item.size;
    if (last < whole_.last && lath_index_ceiling_item(list_, last + 1, &item) == 0)
        hole.last = item.key - 1;
    (holes_.*whole)(hole);
    if (hole.first < where.key)
        (holes_.*part)({hole.first, where.key - 1});
    if (last < hole.last)
        (holes_.*part)({last + 1, hole.last});
}

// Takes a range of that size, a multiple of options_.unit, and adds the ns it took to spent. size 0
// in what it returns: there was no room.
replayer::placed replayer::take(std::uint64_t size, std::uint64_t align, std::uint64_t hint,
                                std::uint64_t& spent) {
    lath_hole_request want{};
    want.size = size;
    want.align = align;
    want.low = hull_.first;
    want.high = hull_.last + 1; // 0 is 2^64
    want.below = options_.below;
    want.policy = options_.policy;
    want.hint = hint;
    placed where;
    std::uint64_t begin = now_ns();
    int error = -ENOSPC;
    if (hull_.first <= hull_.last)
        error = lath_index_insert_hole(list_, &want, 1, &where.key);
    spent += now_ns() - begin;
    if (error == -ENOMEM)
        throw std::bad_alloc();
    if (error != 0 && error != -ENOSPC)
        throw std::logic_error("insert_hole: error " + std::to_string(error));
    if (error != 0)
        return {};
    where.size = size;
    used_ += where.size;
    if (options_.history)
        count_holes(where, &hole_counts::remove, &hole_counts::add);
    next_hint_ = where.key + where.size;
    if (options_.policy == LATH_HOLE_NEAR)
        next_hint_ = where.key;
    return where;
}

// Frees what take() returned. Returns the ns it took.
std::uint64_t replayer::give(const placed& where) {
    std::uint64_t begin = now_ns();
    int error = lath_index_erase_item(list_, where.key, nullptr);
    std::uint64_t spent = now_ns() - begin;
    if (error != 0)
        throw std::logic_error("what was allocated at " + std::to_string(where.key) +
                               " is not there any more");
    used_ -= where.size;
    if (options_.history)
        count_holes(where, &hole_counts::add, &hole_counts::remove);
    return spent;
}

replayer::placed replayer::allocate(const operation& o) {
    std::uint64_t mask = options_.unit - 1, spent = 0;
    placed where;
    if (o.size <= UINT64_MAX - mask)
        where = take((o.size + mask) & ~mask, std::max(o.align, options_.unit),
                     o.hint.value_or(next_hint_), spent);
    allocating_.add(spent);
    without_room_ += where.size == 0;
    return where;
}

// Asks for all that is missing; where there is no room for that, for half of it, and so on down to
// a unit. When there is no room for a unit, what it has got is freed again.
replayer::placed replayer::allocate_pieces(const operation& o) {
    const std::uint64_t unit = std::max(o.align, options_.unit), mask = unit - 1;
    std::uint64_t left = o.size <= UINT64_MAX - mask ? (o.size + mask) & ~mask : 0, spent = 0;
    std::uint64_t longest = o.most ? std::max(o.most & ~mask, unit) : left;
    bool room = left != 0;
    pieces_.clear();
    while (left && room) {
        std::uint64_t size = std::min(left, longest);
        placed piece = take(size, unit, o.hint.value_or(next_hint_), spent);
        if (piece.size) {
            pieces_.push_back(piece);
            left -= size;
            continue;
        }
        room = size > unit;
        longest = (size / 2 + mask) & ~mask;
    }
    allocating_.add(spent);
    if (!room) {
        for (const placed& piece : pieces_)
            give(piece);
        pieces_.clear();
        without_room_++;
        return {};
    }
    served_in_pieces_++;
    all_pieces_ += pieces_.size();
    placed all{pieces_[0].key, 0};
    for (const placed& piece : pieces_)
        all.size += piece.size;
    return all;
}

replayer::placed replayer::release(const operation& o) {
    placed where = live_[o.slot];
    live_[o.slot] = {};
    if (where.size)
        freeing_.add(give(where));
    return where;
}

replayer::placed replayer::play(const operation& o) {
    placed where;
    if (o.in_pieces) {
        where = allocate_pieces(o);
    } else {
        if (o.slot >= live_.size())
            live_.resize(o.slot + 1);
        where = o.is_free ? release(o) : live_[o.slot] = allocate(o);
    }
    operations_++;
    if (options_.history && operations_ % every_ == 0)
        remember();
    return where;
}

std::vector<span> replayer::allocated() const {
    std::vector<span> spans;
    lath_item item;
    std::uint64_t from = 0;
    while (lath_index_ceiling_item(list_, from, &item) == 0) {
        if (item.value) // else it is a gap of the pool
            spans.push_back({item.key, item.key + (item.size - 1)});
        from = item.key + item.size;
        if (from == 0)
            break;
    }
    return spans;
}

state replayer::now() const {
    lath_hole_stats stats{};
    // `largest` and `largest_order` are exact however few leaves are read for the rest
    int error = lath_index_hole_stats(list_, whole_.first, whole_.last + 1, 1, &stats);
    if (error != 0)
        throw std::logic_error("hole_stats: error " + std::to_string(error));
    state s;
    s.operations = operations_;
    s.used = used_;
    s.free = pool_bytes_ - used_;
    s.largest = stats.largest;
    s.holes = holes_.total();
    s.largest_order = stats.largest_order < 64 ? static_cast<int>(stats.largest_order) : -1;
    s.without_room = without_room_;
    s.histogram = holes_.histogram();
    return s;
}

void replayer::remember() {
    history_.push_back(now());
    if (history_.size() < most)
        return;
    // half as many, twice as far apart
    for (std::size_t i = 0; 2 * i + 1 < history_.size(); i++)
        history_[i] = history_[2 * i + 1];
    history_.resize(history_.size() / 2);
    every_ *= 2;
}

std::vector<state> replayer::history() const {
    std::vector<state> all = history_;
    if (all.empty() || all.back().operations != operations_)
        all.push_back(now());
    return all;
}

} // namespace lathcli::alloc
