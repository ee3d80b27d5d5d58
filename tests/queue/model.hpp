// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The sort queue as one would write it without thinking of speed: the oracle of the tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

struct model_request {
    std::uint64_t sector;
    std::uint32_t sectors;
};

class sort_model {
public:
    sort_model(bool lowest, bool fifo, std::vector<model_request>& requests)
        : lowest_(lowest), fifo_(fifo), requests_(requests) {}

    void insert(std::uint32_t tag) {
        ages_.push_back(tag);
        if (waiting_.empty())
            enter(tag);
        else
            waiting_.back().push_back(tag);
    }

    void barrier() {
        if (!ages_.empty() && (waiting_.empty() || !waiting_.back().empty()))
            waiting_.emplace_back();
    }

    void remove(std::uint32_t tag) {
        std::erase(ages_, tag);
        leave(tag);
        for (auto& group : waiting_)
            std::erase(group, tag);
        forget_spent_barriers();
    }

        // -1: empty
    std::int64_t first() {
        refill();
        return order_.empty() ? -1 : static_cast<std::int64_t>(order_.begin()->second);
    }

    std::int64_t dispatch() {
        std::int64_t tag = first();
        if (tag < 0)
            return -1;
        if (!lowest_) {
            sweep_ = order_.begin()->first >> 44;
            head_ = requests_[static_cast<std::size_t>(tag)].sector;
        }
        order_.erase(order_.begin());
        std::erase(ages_, static_cast<std::uint32_t>(tag));
        forget_spent_barriers();
        return tag;
    }

    void set_head(std::uint64_t sector) {
        std::vector<std::uint32_t> all;
        for (auto [key, tag] : order_)
            all.push_back(tag);
        order_.clear();
        head_ = sector;
        for (auto tag : all)
            enter(tag);
    }

    // A front merge: the request is where its new sector belongs, and keeps its age. Among arrivals
    // it keeps its place.
    void move(std::uint32_t tag, std::uint64_t sector) {
        auto at = find(tag);
        if (!fifo_ && at != order_.end())
            order_.erase(at);
        auto& r = requests_[tag];
        r.sectors += static_cast<std::uint32_t>(r.sector - sector);
        r.sector = sector;
        if (!fifo_ && at_rest(tag))
            enter(tag);
    }

    std::int64_t first_from(std::uint64_t sector) {
        refill();
        std::int64_t best = -1;
        for (auto [key, tag] : order_) {
            const auto& r = requests_[tag];
            if (r.sector >= sector &&
                (best < 0 || r.sector < requests_[static_cast<std::size_t>(best)].sector))
                best = tag;
        }
        return best;
    }

    bool parked(std::uint32_t tag) const {
        for (const auto& group : waiting_)
            if (std::find(group.begin(), group.end(), tag) != group.end())
                return true;
        return false;
    }

    bool barrier_pending() const { return !waiting_.empty(); }
    std::int64_t oldest() const {
        return ages_.empty() ? -1 : static_cast<std::int64_t>(ages_.front());
    }
    std::size_t count() const { return ages_.size(); }
    std::uint64_t head() const { return head_; }
    const std::vector<std::uint32_t>& ages() const { return ages_; }
    const std::multimap<std::uint64_t, std::uint32_t>& order() const { return order_; }

private:
    using iterator = std::multimap<std::uint64_t, std::uint32_t>::iterator;

    void enter(std::uint32_t tag) {
        std::uint64_t sector = requests_[tag].sector;
        std::uint64_t sweep = sweep_ + (sector < head_ ? 1 : 0);
        order_.emplace(fifo_ ? arrivals_++ : (sweep << 44) + sector, tag);
    }
    iterator find(std::uint32_t tag) {
        return std::find_if(order_.begin(), order_.end(),
                            [&](const auto& e) { return e.second == tag; });
    }
    void leave(std::uint32_t tag) {
        auto at = find(tag);
        if (at != order_.end())
            order_.erase(at);
    }
    bool at_rest(std::uint32_t tag) const { return !parked(tag); }
    // A barrier holds while something from before it is queued.
    void forget_spent_barriers() {
        if (ages_.empty())
            waiting_.clear();
    }
    void refill() {
        while (order_.empty() && !waiting_.empty()) {
            for (auto tag : waiting_.front())
                enter(tag);
            waiting_.erase(waiting_.begin());
        }
    }

    bool lowest_, fifo_;
    std::vector<model_request>& requests_;
    std::multimap<std::uint64_t, std::uint32_t> order_;
    std::vector<std::vector<std::uint32_t>> waiting_; // groups behind barriers
    std::vector<std::uint32_t> ages_;
    std::uint64_t head_ = 0, sweep_ = 0, arrivals_ = 0;
};
