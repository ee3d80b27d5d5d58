// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A list of the held ranges, sorted by their first keys and changed without a lock: built from the
// description of Kogan, Dice and Issa, "Scalable range locks for scalable address spaces and
// beyond" (EuroSys 2020), with its shortcut for an empty list and its pools of nodes.
//
// Lock inserts a node behind all ranges that lie before it, and waits for each one that it meets
// and may not share its keys with. Unlock marks the node's `next`; who passes a marked node unlinks
// it. Shared ranges may stand in each other's way in the order of the list, so an insertion is
// followed by a second look: a shared range waits for exclusive ones behind it, an exclusive one
// that finds a shared one in front of it gives up its place and begins again.
//
// A node that was unlinked is used again after a moment in which no thread walked the list that did
// so when it was unlinked. The wait for it is inside lock, so a thread that holds a range while it
// locks another may wait for ever; no case of the table does that beside other threads.
#include "locks_subject.hpp"

#include "../spin.h"

#include <atomic>
#include <mutex>

#include <sched.h>

namespace lathbench {

namespace {

using word = std::uintptr_t;
constexpr word mark = 1; // in a node's next: it was unlocked. In the head: taken by the shortcut
constexpr std::size_t pool_size = 128;

struct alignas(64) node {
    std::uint64_t first, last;
    bool exclusive;
    std::atomic<word> next;
};

node* node_of(word w) { return reinterpret_cast<node*>(w & ~mark); }
word word_of(node* n) { return reinterpret_cast<word>(n); }

// The state that one thread keeps for one list.
struct alignas(64) worker {
    std::atomic<std::uint64_t> walks = 0; // odd: in the list
    std::vector<node*> free, unlinked;
};

void spin(unsigned& rounds) {
    bench_spin_pause();
    if (++rounds % 128 == 0)
        sched_yield();
}

class list : public range_locks {
public:
    void lock(range_hold& hold, std::uint64_t first, std::uint64_t last, bool exclusive) override {
        worker& self = this_thread();
        for (;;) {
            node* n = take(self);
            n->first = first;
            n->last = last;
            n->exclusive = exclusive;
            n->next.store(0, std::memory_order_relaxed);
            hold.as<node*>() = n;
            word empty = 0;
            if (head_.load(std::memory_order_relaxed) == 0 &&
                head_.compare_exchange_strong(empty, word_of(n) | mark))
                return;
            // seq_cst: before the reads of the list; pairs with the loads in
            // wait_for_walks()
            self.walks.exchange(self.walks.load(std::memory_order_relaxed) + 1);
            insert(self, n);
            bool held = exclusive ? none_before(self, n) : none_behind(self, n);
            self.walks.store(self.walks.load(std::memory_order_relaxed) + 1,
                             std::memory_order_release);
            if (held)
                return;
        }
    }

    void unlock(range_hold& hold) override {
        node* n = hold.as<node*>();
        word quick = word_of(n) | mark;
        if (head_.load(std::memory_order_relaxed) == quick &&
            head_.compare_exchange_strong(quick, 0))
            this_thread().free.push_back(n); // nobody follows a marked head
        else
            n->next.fetch_or(mark, std::memory_order_release);
    }

private:
    // Where `a`, in the list, stands to `n`, to be inserted: -1 before, 1 behind, 0 in its way.
    static int compare(const node* a, const node* n) {
        if (!a->exclusive && !n->exclusive)
            return a->first <= n->first ? -1 : 1;
        return a->last < n->first ? -1 : n->last < a->first ? 1 : 0;
    }

    // The first word of the list, which any thread may follow afterwards.
    word begin() {
        word w = head_.load(std::memory_order_acquire);
        while (w & mark)
            if (head_.compare_exchange_weak(w, w & ~mark))
                return w & ~mark;
        return w;
    }

    // Takes the unlocked node out of the list, if `link` still leads to it. Returns what it led
    // to.
    static word unlink(worker& self, std::atomic<word>& link, node* n) {
        word expected = word_of(n), next = n->next.load(std::memory_order_acquire) & ~mark;
        if (link.compare_exchange_strong(expected, next))
            self.unlinked.push_back(n);
        return next;
    }

    static void wait_until_unlocked(const node* n) {
        unsigned rounds = 0;
        while (!(n->next.load(std::memory_order_acquire) & mark))
            spin(rounds);
    }

    void insert(worker& self, node* n) {
        std::atomic<word>* link = &head_;
        word w = begin();
        for (;;) {
            if (w & mark) { // the node whose link this is was unlocked
                link = &head_;
                w = begin();
                continue;
            }
            node* at = node_of(w);
            if (at && at->next.load(std::memory_order_acquire) & mark) {
                unlink(self, *link, at);
                w = link == &head_ ? begin() : link->load(std::memory_order_acquire);
                continue;
            }
            int side = at ? compare(at, n) : 1;
            if (side < 0) {
                link = &at->next;
                w = link->load(std::memory_order_acquire);
            } else if (side == 0) {
                wait_until_unlocked(at);
            } else {
                n->next.store(w, std::memory_order_relaxed);
                if (link->compare_exchange_strong(w, word_of(n)))
                    return;
            }
        }
    }

    // Second look of a shared range: waits for exclusive ones behind it.
    static bool none_behind(worker& self, node* n) {
        std::atomic<word>* link = &n->next;
        node* at = node_of(link->load());
        while (at && at->first <= n->last) {
            if (at->next.load() & mark) {
                at = node_of(unlink(self, *link, at));
            } else if (at->exclusive) {
                wait_until_unlocked(at);
            } else {
                link = &at->next;
                at = node_of(link->load());
            }
        }
        return true;
    }

    // Second look of an exclusive range: gives up its place if there is one in its way before
    // it.
    bool none_before(worker& self, node* n) {
        std::atomic<word>* link = &head_;
        node* at = node_of(begin());
        while (at != n) {
            if (at->next.load() & mark) {
                at = node_of(unlink(self, *link, at));
            } else if (at->first <= n->last && n->first <= at->last) {
                n->next.fetch_or(mark, std::memory_order_release);
                return false;
            } else {
                link = &at->next;
                at = node_of(link->load());
            }
        }
        return true;
    }

    // Waits until every other thread that walks the list now has left it.
    void wait_for_walks(const worker& self) {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        std::lock_guard guard(workers_lock_);
        for (auto& other : workers_) {
            std::uint64_t walk = other->walks.load();
            unsigned rounds = 0;
            while (other.get() != &self && walk % 2 && other->walks.load() == walk)
                spin(rounds);
        }
    }

    node* take(worker& self) {
        if (self.free.empty()) {
            if (!self.unlinked.empty()) {
                wait_for_walks(self);
                self.free.swap(self.unlinked);
            }
            if (self.free.size() < pool_size / 2) {
                auto block = std::make_unique<node[]>(pool_size);
                for (std::size_t i = 0; i < pool_size; i++)
                    self.free.push_back(&block[i]);
                std::lock_guard guard(workers_lock_);
                blocks_.push_back(std::move(block));
            }
        }
        node* n = self.free.back();
        self.free.pop_back();
        return n;
    }

    worker& this_thread() {
        struct last_used {
            std::uint64_t list = 0;
            worker* self = nullptr;
        };
        static thread_local last_used last;
        if (last.list != number_) {
            std::lock_guard guard(workers_lock_);
            workers_.push_back(std::make_unique<worker>());
            last = {number_, workers_.back().get()};
        }
        return *last.self;
    }

    alignas(64) std::atomic<word> head_ = 0;
    alignas(64) std::mutex workers_lock_; // of what follows
    std::vector<std::unique_ptr<worker>> workers_;
    std::vector<std::unique_ptr<node[]>> blocks_;
    static inline std::atomic<std::uint64_t> lists = 0;
    std::uint64_t number_ = ++lists;
};

} // namespace

locks_subject list_2020() {
    return {{"list-2020", "built from its paper", ""}, [] { return std::make_unique<list>(); }};
}

} // namespace lathbench
