// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The standard library's heap and tree, and a calendar queue: the rival to beat on evenly spread
// data.
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

class std_heap {
public:
    using request = item;
    static void set_key(request* r, std::uint64_t key) { r->key = key; }
    static std::uint64_t touch(const request* r) { return r->key; }
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

class std_tree {
public:
    using request = item;
    static void set_key(request* r, std::uint64_t key) { r->key = key; }
    static std::uint64_t touch(const request* r) { return r->key; }
    std_tree(const sort_plan&, request*, std::uint32_t) {}
    void push(request* r) { tree_.emplace(r->key, r); }
    request* pop() {
        request* r = tree_.begin()->second;
        tree_.erase(tree_.begin());
        return r;
    }

private:
    std::multimap<std::uint64_t, request*> tree_;
};

// 1024 buckets over the device, each a sorted list, and a bitmap of those that are not empty. It
// knows the device's size, which the others do not, and is as good as its buckets are even.
class calendar {
public:
    using request = item;
    static void set_key(request* r, std::uint64_t key) { r->key = key; }
    static std::uint64_t touch(const request* r) { return r->key; }
    calendar(const sort_plan&, request*, std::uint32_t) {}

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
                    // a bucket behind the head, or the head's own, may hold the next sweep's
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

void add_std_sort(std::vector<sort_subject>& list) {
    list.push_back({"std-priority-queue", "binary heap in an array", {}, run_sort<std_heap>, {}});
    list.push_back({"std-multimap", "allocates nodes", {}, run_sort<std_tree>, {}});
    list.push_back({"calendar",
                    "1024 buckets fixed to the device; one-way sweep only",
                    {},
                    run_sort<calendar>,
                    {},
                    true,
                    4096});
}

} // namespace lathbench
