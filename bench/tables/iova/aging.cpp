// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "aging.hpp"

#include "subjects/iova/page_bitmap.hpp"
#include "harness/random.hpp"
#include "harness/timing.hpp"

#include <algorithm>
#include <utility>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

constexpr unsigned orders = 10; // 4 KiB to 2 MiB
constexpr unsigned patience = 16; // requests without a place before a range is freed for them

struct held_range {
    u64 first, pages, align;
};

class ager {
public:
    ager(const iova_subject& subject, const aging_options& how, u64 seed)
        : how_(how), space_{1, how.pages, how.pages}, allocator_(subject.make(space_)),
          taken_(how.pages), random_(seed | 1), most_((how.pages - 1) * how.percent / 100) {
        taken_.set(0, space_.first, true);
        allocator_->enter(0);
    }

    aging_result run() {
        aging_result r;
        repeat(how_.requests + how_.requests / 2);
        cut_ = false; // a space that aged less favours the slow allocator: no reason to report it
        failed_ = missed_ = used_sum_ = 0;
        latency_.clear();
        repeat(how_.requests);
        r.latency = std::move(latency_);
        std::sort(r.latency.begin(), r.latency.end());
        auto requests = static_cast<double>(r.latency.size());
        r.failed = 100 * static_cast<double>(failed_) / requests;
        r.missed = 100 * static_cast<double>(missed_) / requests;
        r.used = 100 * static_cast<double>(used_sum_) / requests / static_cast<double>(how_.pages);
        look_at_holes(r);
        r.cut = cut_;
        while (!held_.empty())
            free_one();
        allocator_->leave(0);
        r.right = right_ && allocator_->used() == 0;
        return r;
    }

private:
    void repeat(u64 requests) {
        in_alloc_ = 0;
        for (u64 i = 0; i < requests && !cut_; i++) {
            request();
            cut_ = in_alloc_ > how_.limit_ms * 1000000;
        }
    }

    void request() {
        unsigned order = next_random(random_) % orders;
        u64 top = u64{1} << order, pages = top - next_random(random_) % ((top + 1) / 2);
        u64 align = top;
        if (next_random(random_) % 4 == 0)
            align = u64{1} << (next_random(random_) % orders);
        while (used_ + pages > most_)
            free_one();
        u64 first = 0, begin = wall_ns();
        bool placed = allocator_->alloc(pages, align, first);
        u64 spent = wall_ns() - begin;
        in_alloc_ += spent;
        latency_.push_back(static_cast<float>(spent));
        used_sum_ += used_;
        if (placed)
            take({first, pages, align});
        else
            go_without(pages, align);
    }

    void go_without(u64 pages, u64 align) {
        u64 hole;
        failed_++;
        missed_ += taken_.find_clear(space_.first, space_.end, pages, align, hole);
        if (++in_a_row_ < patience)
            return;
        free_one();
        in_a_row_ = 0;
    }

    void take(const held_range& r) {
        right_ = right_ && (r.first & (r.align - 1)) == 0 && r.first >= space_.first &&
                 r.first + r.pages <= space_.end &&
                 taken_.next(r.first, r.first + r.pages, true) == r.first + r.pages;
        if (!right_)
            return;
        taken_.set(r.first, r.pages, true);
        used_ += r.pages;
        in_a_row_ = 0;
        held_.push_back(r);
    }

    void free_one() {
        std::swap(held_.back(), held_[next_random(random_) % held_.size()]);
        held_range r = held_.back();
        held_.pop_back();
        allocator_->free(r.first, r.pages, r.align);
        taken_.set(r.first, r.pages, false);
        used_ -= r.pages;
    }

    void look_at_holes(aging_result& r) const {
        constexpr u64 block = 16;
        u64 longest = 0, all = 0, usable = 0;
        for (u64 at = space_.first; at < space_.end;) {
            u64 begin = taken_.next(at, space_.end, false),
                end = taken_.next(begin, space_.end, true);
            longest = std::max(longest, end - begin);
            all += end - begin;
            u64 low = (begin + block - 1) / block * block, high = end / block * block;
            if (high > low)
                usable += high - low;
            at = end;
        }
        if (!all)
            return;
        r.fragmentation = 100 - 100 * static_cast<double>(longest) / static_cast<double>(all);
        r.unusable = 100 - 100 * static_cast<double>(usable) / static_cast<double>(all);
    }

    aging_options how_;
    iova_space space_;
    std::unique_ptr<iova_allocator> allocator_;
    page_bitmap taken_;
    u64 random_, most_, used_ = 0, failed_ = 0, missed_ = 0, used_sum_ = 0, in_a_row_ = 0,
                        in_alloc_ = 0;
    std::vector<held_range> held_;
    std::vector<float> latency_;
    bool right_ = true, cut_ = false;
};

} // namespace

aging_result age(const iova_subject& subject, const aging_options& how, u64 seed) {
    return ager(subject, how, seed).run();
}

} // namespace lathbench
