// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The heap and the tree of the standard library, and a calendar queue, which is the fastest peer on
// evenly spread data.
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

// A calendar queue (Brown 1988): 1024 buckets of equal parts of the device, each a sorted list, and
// a bitmap of those that are not empty. Unlike the others it knows the size of the device. It is
// fast when the buckets are equally full.
class calendar : public keyed_queue<item> {
public:
    using keyed_queue::keyed_queue;

    void push(request* r) {
        bucket& b = buckets_[index(r->key)];
        request* after = b.last;
        while (after && after->key > r->key)
            after = after->prev;
        r->prev = after;
        r->next = after ? after->next : b.first;
        (after ? after->next : b.first) = r;
        (r->next ? r->next->prev : b.last) = r;
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
                    if (buckets_[i].first->key >> 48 <= sweep)
                        return take(i);
                }
                if (++w == used_.size())
                    break;
                word = used_[w];
            }
        }
    }

private:
    struct bucket {
        request *first = nullptr, *last = nullptr;
    };
    static constexpr std::size_t count = 1024;
    static std::size_t index(std::uint64_t key) {
        return (key & sector_mask) >> 25 & (count - 1); // 2^35 sectors
    }
    request* take(std::size_t i) {
        request* r = buckets_[i].first;
        buckets_[i].first = r->next;
        (r->next ? r->next->prev : buckets_[i].last) = nullptr;
        if (!r->next)
            used_[i / 64] &= ~(1ull << i % 64);
        at_ = r->key;
        return r;
    }
    std::vector<bucket> buckets_{count};
    std::vector<std::uint64_t> used_ = std::vector<std::uint64_t>(count / 64);
    std::uint64_t at_ = 0;
};

} // namespace

std::vector<sort_subject> std_sort() {
    auto buckets = sort_subject_of<calendar>(
        "calendar", "1024 buckets fixed to the device; one-way sweep only");
    buckets.monotone = true;
    buckets.max_depth = 4096;
    return {sort_subject_of<std_heap>("std-priority-queue", "binary heap in an array"),
            sort_subject_of<std_tree>("std-multimap", "allocates nodes"), buckets};
}

} // namespace lathbench
