// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// design-2013: the skip list of leaves that was described in 2013, written anew from the
// description, to compare it with its successors. A leaf has 32 keys and 32 slot pointers, which
// are kept in order by shifting. Heights are drawn with P = 0.5; a new leaf that is not taller than
// its left neighbour gets height 1. Each node has a spinlock. Readers take no lock: under RCU they
// walk down the levels and scan the leaf while writers may shift it. The last leaf is cached for
// appending, and an empty leaf is unlinked at once.
//
// Locks are taken from right to left (descending `low`), so that no cycle can form: a split holds
// its leaf and then takes the predecessors on upper levels; an unlink holds the dead leaf and then
// takes its predecessors.
//
// A range belongs to the leaf of its start. One that reached over the end of its leaf would not be
// found behind it, neither here nor by the original; no table has such ranges.
//
// As in the original, the caller checks a hit, but a reader that scans while an erase shifts can
// pass over an entry that is there: beside writers a miss may be wrong. Calls that must find an
// entry (the check, all erases) run alone or lock the leaf, so that no figure depends on it. Where
// a lookup beside writers must be right (table index with several threads), lookup_locked() is
// used.
#include "map_bench.hpp"
#include "range_bench.hpp"

#define _LGPL_SOURCE
#include <urcu/urcu-memb.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <new>

namespace lathbench {

namespace {

constexpr unsigned leaf_keys = 32;
constexpr unsigned max_height = 32;

// An entry of the list: the part of the user's object that has the extent.
struct slot {
    u64 key, size;
};

struct leaf {
    u64 low = 0; // keys here are >= low; never changes
    bench_spin lock = {};
    std::atomic<bool> dead{false};
    std::atomic<unsigned> count{0};
    unsigned height = 1;
    rcu_head retired = {};
    std::array<std::atomic<u64>, leaf_keys> keys = {};
    std::array<std::atomic<slot*>, leaf_keys> slots = {};
    std::atomic<leaf*> next[1]; // height of them

    u64 key(unsigned i) const { return keys[i].load(std::memory_order_relaxed); }
    slot* at(unsigned i) const { return slots[i].load(std::memory_order_relaxed); }
    unsigned size() const { return count.load(std::memory_order_relaxed); }

    void put(unsigned i, u64 k, slot* s) {
        slots[i].store(s, std::memory_order_relaxed);
        keys[i].store(k, std::memory_order_release); // pairs with the acquire in scan()
    }
};

leaf* new_leaf(u64 low, unsigned height) {
    void* block =
        std::aligned_alloc(64, (sizeof(leaf) + (height - 1) * sizeof(leaf*) + 63) / 64 * 64);
    if (!block)
        throw std::bad_alloc();
    auto* l = new (block) leaf;
    l->low = low;
    l->height = height;
    for (unsigned i = 0; i < height; i++)
        new (&l->next[i]) std::atomic<leaf*>(nullptr);
    return l;
}

void free_retired(rcu_head* head) {
    std::free(reinterpret_cast<char*>(head) - offsetof(leaf, retired));
}

unsigned coin_height() {
    thread_local u64 state = reinterpret_cast<u64>(&state) | 1;
    auto heads = static_cast<unsigned>(std::countr_one(next_random(state)));
    return std::min(1 + heads, max_height);
}

using path = std::array<leaf*, max_height>;

class skiplist_2013 {
public:
    skiplist_2013() : head_(new_leaf(0, max_height)), last_(head_) {}

    ~skiplist_2013() {
        for (leaf *l = head_, *next; l; l = next) {
            next = l->next[0].load();
            std::free(l);
        }
    }

    bool insert(slot* s) {
        urcu_memb_read_lock();
        leaf* l = find_and_lock(s->key, true);
        unsigned i = rank(l, s->key);
        bool fits = !overlaps(l, i, s);
        if (fits) {
            if (l->size() == leaf_keys)
                split_and_put(l, i, s);
            else
                put(l, i, s);
        }
        bench_spin_unlock(&l->lock);
        urcu_memb_read_unlock();
        return fits;
    }

    slot* lookup(u64 point) {
        urcu_memb_read_lock();
        slot* s = scan(find(point), point);
        urcu_memb_read_unlock();
        return s;
    }

    slot* lookup_locked(u64 point) {
        urcu_memb_read_lock();
        leaf* l = find_and_lock(point, false);
        unsigned i = rank(l, point + 1);
        slot* s = i && covers(l->at(i - 1), point) ? l->at(i - 1) : nullptr;
        bench_spin_unlock(&l->lock);
        urcu_memb_read_unlock();
        return s;
    }

    slot* erase(u64 point) {
        urcu_memb_read_lock();
        leaf* l = find_and_lock(point, false);
        unsigned i = rank(l, point + 1);
        slot* s = i && covers(l->at(i - 1), point) ? l->at(i - 1) : nullptr;
        if (s) {
            remove(l, i - 1);
            if (l->size() == 0 && l != head_)
                unlink(l);
        }
        bench_spin_unlock(&l->lock);
        urcu_memb_read_unlock();
        return s;
    }

    // Visits the slots with keys >= from in order, each leaf under its lock, until visit returns
    // false.
    template <class Visit>
    void each_from(u64 from, const Visit& visit) {
        urcu_memb_read_lock();
        for (leaf* l = find(from); l; l = l->next[0].load(std::memory_order_acquire)) {
            bench_spin_lock(&l->lock);
            bool more = true;
            for (unsigned i = rank(l, from); more && i < l->size(); i++)
                more = visit(l->at(i));
            bench_spin_unlock(&l->lock);
            if (!more)
                break;
        }
        urcu_memb_read_unlock();
    }

    // Calls use() with the last slot whose key is <= point; returns whether there is one. Of all
    // leaves only the first may be empty.
    template <class Use>
    bool floor(u64 point, const Use& use) {
        urcu_memb_read_lock();
        leaf* l = find_and_lock(point, false);
        unsigned i = rank(l, point + 1);
        while (i == 0 && l != head_) {
            u64 before = l->low - 1;
            bench_spin_unlock(&l->lock);
            l = find_and_lock(before, false);
            i = rank(l, before + 1);
        }
        if (i)
            use(l->at(i - 1));
        bench_spin_unlock(&l->lock);
        urcu_memb_read_unlock();
        return i != 0;
    }

private:
    static bool covers(const slot* s, u64 point) { return point - s->key < s->size; }

    leaf* find(u64 key) const {
        leaf* l = head_;
        for (unsigned level = max_height; level-- > 0;)
            for (leaf* n; (n = l->next[level].load(std::memory_order_acquire)) && n->low <= key;)
                l = n;
        return l;
    }

    leaf* find_and_lock(u64 key, bool appending) const {
        leaf* l = appending ? last_.load(std::memory_order_acquire) : head_;
        if (l->low > key || l == head_)
            l = find(key);
        for (;;) {
            bench_spin_lock(&l->lock);
            leaf* n = l->next[0].load(std::memory_order_acquire);
            if (!l->dead.load(std::memory_order_relaxed) && !(n && n->low <= key))
                return l;
            bench_spin_unlock(&l->lock);
            l = find(key);
        }
    }

    // Returns the first index whose key is >= key. The leaf is locked.
    static unsigned rank(const leaf* l, u64 key) {
        unsigned low = 0, high = l->size();
        while (low < high) {
            unsigned middle = (low + high) / 2;
            if (l->key(middle) < key)
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }

    static bool overlaps(const leaf* l, unsigned i, const slot* s) {
        if (i && covers(l->at(i - 1), s->key))
            return true;
        return i < l->size() && l->key(i) - s->key < s->size;
    }

    // Looks at each slot in turn, without a lock. Finds every entry that nobody moves at that time.
    static slot* scan(const leaf* l, u64 point) {
        for (;;) {
            unsigned n = l->count.load(std::memory_order_acquire);
            for (unsigned i = 0; i < n; i++) {
                if (l->keys[i].load(std::memory_order_acquire) > point)
                    break;
                slot* s = l->at(i);
                if (s && covers(s, point))
                    return s;
            }
            // a split may have taken it to the right in the meantime
            leaf* next = l->next[0].load(std::memory_order_acquire);
            if (!next || next->low > point)
                return nullptr;
            l = next;
        }
    }

    static void put(leaf* l, unsigned i, slot* s) {
        unsigned n = l->size();
        for (unsigned j = n; j > i; j--)
            l->put(j, l->key(j - 1), l->at(j - 1));
        l->put(i, s->key, s);
        l->count.store(n + 1, std::memory_order_release);
    }

    static void remove(leaf* l, unsigned i) {
        unsigned n = l->size();
        for (unsigned j = i; j + 1 < n; j++)
            l->put(j, l->key(j + 1), l->at(j + 1));
        l->count.store(n - 1, std::memory_order_release);
    }

    // Splits a full leaf: its upper half goes to a new leaf on its right. When appending, the new
    // slot alone goes there.
    void split_and_put(leaf* l, unsigned i, slot* s) {
        bool append = i == leaf_keys;
        unsigned from = append ? leaf_keys : leaf_keys / 2;
        unsigned height = coin_height();
        if (height <= l->height)
            height = 1;
        leaf* right = new_leaf(append ? s->key : l->key(from), height);
        bench_spin_lock(&right->lock);
        for (unsigned j = from; j < leaf_keys; j++)
            right->put(j - from, l->key(j), l->at(j));
        right->count.store(leaf_keys - from, std::memory_order_relaxed);
        if (append || s->key >= right->low)
            put(right, i - from, s);
        link(l, right);
        l->count.store(from, std::memory_order_release);
        if (!append && s->key < right->low)
            put(l, i, s);
        bench_spin_unlock(&right->lock);
    }

    // Links right behind l, which is locked and is its predecessor on level 0.
    void link(leaf* l, leaf* right) {
        path before, locked;
        unsigned count;
        do
            count = lock_predecessors(right->low, l, 1, right->height, before, locked, nullptr);
        while (count == failed);
        before[0] = l;
        for (unsigned level = 0; level < right->height; level++) {
            right->next[level].store(before[level]->next[level].load(), std::memory_order_relaxed);
            before[level]->next[level].store(right, std::memory_order_release);
        }
        if (!right->next[0].load())
            last_.store(right, std::memory_order_release);
        unlock(locked, count);
    }

    void unlink(leaf* l) {
        l->dead.store(true, std::memory_order_relaxed);
        path before, locked;
        unsigned count;
        do
            count = lock_predecessors(l->low, l, 0, l->height, before, locked, l);
        while (count == failed);
        for (unsigned level = l->height; level-- > 0;)
            before[level]->next[level].store(l->next[level].load(), std::memory_order_release);
        leaf* expected = l;
        last_.compare_exchange_strong(expected, before[0]);
        unlock(locked, count);
        urcu_memb_call_rcu(&l->retired, free_retired);
    }

    static constexpr unsigned failed = ~0u;

    // Locks the nodes in front of `low` on levels [from, to), from right to left; `held` is locked
    // already. target: the node that must follow each of them, or null for any. Returns how many
    // nodes it locked, or `failed`, with none locked, if the list has changed.
    unsigned lock_predecessors(u64 low, const leaf* held, unsigned from, unsigned to, path& before,
                               path& locked, const leaf* target) const {
        leaf* l = head_;
        for (unsigned level = max_height; level-- > from;) {
            for (leaf* n; (n = l->next[level].load(std::memory_order_acquire)) && n->low < low;)
                l = n;
            if (level < to)
                before[level] = l;
        }
        unsigned count = 0;
        const leaf* previous = held;
        for (unsigned level = from; level < to; level++) {
            l = before[level];
            if (l != previous) {
                bench_spin_lock(&l->lock);
                locked[count++] = l;
                previous = l;
            }
            leaf* n = l->next[level].load(std::memory_order_acquire);
            bool fine = target ? n == target : !n || n->low >= low;
            if (!fine || (l != held && l->dead.load(std::memory_order_relaxed))) {
                unlock(locked, count);
                sched_yield();
                return failed;
            }
        }
        return count;
    }

    static void unlock(const path& locked, unsigned count) {
        while (count)
            bench_spin_unlock(&locked[--count]->lock);
    }

    leaf* head_;
    std::atomic<leaf*> last_;
};

void enter_rcu() { urcu_memb_register_thread(); }
void leave_rcu() { urcu_memb_unregister_thread(); }

static_assert(sizeof(slot) == sizeof(extent) - offsetof(extent, key));

class ranges_2013 {
public:
    void enter() { enter_rcu(); }
    void leave() { leave_rcu(); }
    bool insert(extent* item) { return list_.insert(reinterpret_cast<slot*>(&item->key)); }
    extent* lookup(u64 point) { return from(list_.lookup(point)); }
    extent* erase(u64 point) { return from(list_.erase(point)); }

private:
    static extent* from(slot* s) {
        return s ? reinterpret_cast<extent*>(reinterpret_cast<char*>(s) - offsetof(extent, key))
                 : nullptr;
    }
    skiplist_2013 list_;
};

struct pair_slot {
    slot range; // first
    std::atomic<u64> value;
    rcu_head retired;
};

pair_slot* pair_of(slot* s) { return reinterpret_cast<pair_slot*>(s); }

void free_pair(rcu_head* head) {
    std::free(reinterpret_cast<char*>(head) - offsetof(pair_slot, retired));
}

// Here a miss must be right too. Beside: there are writers beside readers.
template <bool Beside>
class index_2013 {
public:
    ~index_2013() {
        enter_rcu();
        list_.each_from(0, [](slot* s) {
            std::free(pair_of(s));
            return true;
        });
        leave_rcu();
        urcu_memb_barrier();
    }
    void enter() { enter_rcu(); }
    void leave() { leave_rcu(); }

    bool insert(u64 key, u64 value) {
        auto* pair = static_cast<pair_slot*>(std::malloc(sizeof(pair_slot)));
        if (!pair)
            throw std::bad_alloc();
        pair->range = {key, 1};
        pair->value.store(value, std::memory_order_relaxed);
        if (list_.insert(&pair->range))
            return true;
        std::free(pair);
        return false;
    }

    // The read-side section keeps the slot in memory.
    bool get(u64 key, u64& value) {
        urcu_memb_read_lock();
        slot* s = find(key);
        if (s)
            value = pair_of(s)->value.load(std::memory_order_relaxed);
        urcu_memb_read_unlock();
        return s != nullptr;
    }

    bool update(u64 key, u64 value) {
        urcu_memb_read_lock();
        slot* s = find(key);
        if (s)
            pair_of(s)->value.store(value, std::memory_order_relaxed);
        urcu_memb_read_unlock();
        return s != nullptr;
    }

    bool erase(u64 key) {
        slot* s = list_.erase(key);
        if (s)
            urcu_memb_call_rcu(&pair_of(s)->retired, free_pair);
        return s != nullptr;
    }

    bool floor(u64 point, u64& key, u64& value) {
        return list_.floor(point, [&](slot* s) {
            key = s->key;
            value = pair_of(s)->value.load(std::memory_order_relaxed);
        });
    }

    void scan(u64 from, std::size_t length, tally& t) {
        list_.each_from(from, [&](slot* s) {
            t.add(s->key, pair_of(s)->value.load(std::memory_order_relaxed));
            return --length > 0;
        });
    }

private:
    slot* find(u64 key) { return Beside ? list_.lookup_locked(key) : list_.lookup(key); }
    skiplist_2013 list_;
};

} // namespace

range_subject design_2013_subject() {
    range_subject s;
    s.name = "design-2013";
    s.ranges = make_ranges<ranges_2013>;
    s.ranges_note = "a lookup beside writers may miss an entry that is there";
    s.map = make_map<index_2013<false>, index_2013<true>>;
    s.map_note = "several threads: lookups lock the leaf";
    return s;
}

} // namespace lathbench
