// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The heap and the tree of the standard library, and what is written here: a sorted list, a skip
// list, and a calendar queue, which is the fastest peer on evenly spread data.
#include "driver.hpp"

#include <bit>
#include <map>
#include <queue>

namespace lathbench {

namespace {

struct alignas(64) item {
    std::uint64_t key;
    item *prev, *next;
    char data[256 - 24];
};

struct entry {
    std::uint64_t key;
    item* request;
    bool operator<(const entry& o) const { return key > o.key; }
};

class std_heap : public keyed_queue<item> {
public:
    std_heap(const sort_plan&, request*, std::uint32_t count) {
        std::vector<entry> room;
        room.reserve(count);
        heap_ = std::priority_queue<entry>(std::less<entry>(), std::move(room));
    }
    void push(request* r) { heap_.push({r->key, r}); }
    request* pop() {
        request* r = heap_.top().request;
        heap_.pop();
        return r;
    }

private:
    std::priority_queue<entry> heap_;
};

class std_tree : public keyed_queue<item> {
public:
    using keyed_queue::keyed_queue;
    void push(request* r) { tree_.emplace(r->key, r); }
    request* pop() {
        request* r = tree_.begin()->second;
        tree_.erase(tree_.begin());
        return r;
    }

private:
    std::multimap<std::uint64_t, request*> tree_;
};

// The keys of one queue lie within 2^63 of each other, so that a sweep never ends.
bool before(std::uint64_t a, std::uint64_t b) { return static_cast<std::int64_t>(a - b) < 0; }

// A list in order, whose inserts walk from the end.
class sorted_list : public keyed_queue<item> {
public:
    using keyed_queue::keyed_queue;
    void push(request* r) {
        request* after = last_;
        while (after && before(r->key, after->key))
            after = after->prev;
        r->prev = after;
        r->next = after ? after->next : first_;
        (after ? after->next : first_) = r;
        (r->next ? r->next->prev : last_) = r;
    }
    request* pop() {
        request* r = first_;
        first_ = r->next;
        (first_ ? first_->prev : last_) = nullptr;
        return r;
    }
    const request* first() const { return first_; }

private:
    request *first_ = nullptr, *last_ = nullptr;
};

struct alignas(64) skip_item {
    std::uint64_t key;
    std::array<skip_item*, 8> next;
    std::size_t levels;
    char data[256 - 80];
};

// A skip list (Pugh 1990): a node of one level is on the next one too with probability 1/4.
class skip_list : public keyed_queue<skip_item> {
public:
    using keyed_queue::keyed_queue;
    void push(request* r) {
        dice_ ^= dice_ << 13;
        dice_ ^= dice_ >> 7;
        dice_ ^= dice_ << 17;
        r->levels = 1 + static_cast<std::size_t>(std::countr_zero(dice_ | 1u << 14)) / 2;
        levels_ = std::max(levels_, r->levels);
        request* at = &head_;
        for (std::size_t level = levels_; level-- > 0;) {
            for (request* next; (next = at->next[level]) && !before(r->key, next->key);)
                at = next;
            if (level < r->levels) {
                r->next[level] = at->next[level];
                at->next[level] = r;
            }
        }
    }
    request* pop() {
        request* r = head_.next[0];
        for (std::size_t level = 0; level < r->levels; level++)
            head_.next[level] = r->next[level];
        while (levels_ > 1 && !head_.next[levels_ - 1])
            levels_--;
        return r;
    }

private:
    request head_{};
    std::size_t levels_ = 1;
    std::uint64_t dice_ = 0x9e3779b97f4a7c15;
};

// A calendar queue (Brown 1988): 1024 buckets of equal parts of the device, each a sorted list, and
// a bitmap of those that are not empty. Unlike the others it knows the size of the device. It is
// fast when the buckets are equally full.
class calendar : public keyed_queue<item> {
public:
    using keyed_queue::keyed_queue;

    void push(request* r) {
        buckets_[index(r->key)].push(r);
        used_[index(r->key) / 64] |= 1ull << index(r->key) % 64;
    }

    request* pop() {
        std::uint64_t sweep = at_ >> 48;
        std::size_t from = index(at_);
        for (;; from = 0, sweep++) {
            std::uint64_t word = used_[from / 64] & ~0ull << from % 64;
            for (std::size_t w = from / 64;;) {
                for (; word; word &= word - 1) {
                    std::size_t i = w * 64 + static_cast<std::size_t>(std::countr_zero(word));
                    // behind the head, the first request may belong to the next sweep
                    if (buckets_[i].first()->key >> 48 <= sweep)
                        return take(i);
                }
                if (++w == used_.size())
                    break;
                word = used_[w];
            }
        }
    }

private:
    static constexpr std::size_t count = 1024;
    static std::size_t index(std::uint64_t key) {
        return (key & sector_mask) >> 25 & (count - 1); // 2^35 sectors
    }
    request* take(std::size_t i) {
        request* r = buckets_[i].pop();
        if (!buckets_[i].first())
            used_[i / 64] &= ~(1ull << i % 64);
        at_ = r->key;
        return r;
    }
    std::vector<sorted_list> buckets_{count};
    std::vector<std::uint64_t> used_ = std::vector<std::uint64_t>(count / 64);
    std::uint64_t at_ = 0;
};

} // namespace

std::vector<sort_subject> std_sort() {
    auto buckets = sort_subject_of<calendar>(
        "calendar", "1024 buckets fixed to the device; one-way sweep only");
    buckets.monotone = true;
    buckets.max_depth = 4096;
    auto sorted =
        sort_subject_of<sorted_list>("lathwork-list", "sorted list, inserts from the end");
    sorted.max_depth = 4096;
    return {sorted, sort_subject_of<skip_list>("lathwork-skiplist", "a textbook's"),
            sort_subject_of<std_heap>("std-priority-queue", "binary heap in an array"),
            sort_subject_of<std_tree>("std-multimap", "allocates nodes"), buckets};
}

} // namespace lathbench
