// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Structures of which it is known how they scale: the simulated machine has to agree.
//
//   counter, private   all cores add to one word, or each to its own
//   ticket, mcs        a critical section of four lines that all write, and as much time outside
//                      it. Boyd-Wickizer and others, "Non-scalable locks are dangerous" (Linux
//                      Symposium 2012): with a ticket lock the rate of all cores falls, with an MCS
//                      lock it stays.
//   rwlock, lock-free  readers of 8 lines that nobody writes, behind a reader-writer lock or
//                      without. Clements and others, "Scalable address spaces using RCU balanced
//                      trees" (ASPLOS 2012): the readers of the lock do not get faster together,
//                      those without it get faster by their number.
#include "load.hpp"

#include <array>
#include <new>

namespace simulate {

u64 take_number(u64& from) { return __atomic_fetch_add(&from, 1, __ATOMIC_RELAXED); }

namespace {

constexpr unsigned threads = 128;

struct alignas(64) word {
    u64 n;
};

template <class T>
T* make_in_machine() {
    return new (memory(64, sizeof(T))) T{};
}

void relax() { __builtin_ia32_pause(); }

u64 load(const u64& from) { return __atomic_load_n(&from, __ATOMIC_ACQUIRE); }
void store(u64& to, u64 n) { __atomic_store_n(&to, n, __ATOMIC_RELEASE); }
u64 add(u64& to, u64 n) { return __atomic_fetch_add(&to, n, __ATOMIC_ACQ_REL); }

class words : public structure {
protected:
    std::array<word, threads>& word_ = *make_in_machine<std::array<word, threads>>();
    std::array<word, threads>& own_ = *make_in_machine<std::array<word, threads>>();
    // Work on lines of the caller's own.
    void work(unsigned core, unsigned times) {
        for (unsigned i = 0; i < times; i++)
            store(own_[core].n, load(own_[core].n) + 1);
    }
};

class counter : public words {
public:
    void step(unsigned) override { add(word_[0].n, 1); }
};

class own_counters : public words {
public:
    void step(unsigned core) override { add(word_[core].n, 1); }
};

template <class Lock>
class critical : public words {
public:
    void step(unsigned core) override {
        lock_.lock(core);
        for (unsigned i = 0; i < 4; i++)
            store(word_[i].n, load(word_[i].n) + 1);
        lock_.unlock(core);
        work(core, 100);
    }

private:
    Lock& lock_ = *make_in_machine<Lock>();
};

struct ticket_lock {
    alignas(64) u64 next; // both in one line, as in Linux then
    u64 served;
    void lock(unsigned) {
        u64 mine = add(next, 1);
        while (load(served) != mine)
            relax();
    }
    void unlock(unsigned) { store(served, served + 1); }
};

struct mcs_lock {
    struct alignas(64) place {
        u64 next, waits;
    };
    alignas(64) u64 last;
    std::array<place, threads> at;
    void lock(unsigned core) {
        place& mine = at[core];
        store(mine.next, 0);
        store(mine.waits, 1);
        u64 before = __atomic_exchange_n(&last, reinterpret_cast<u64>(&mine), __ATOMIC_ACQ_REL);
        if (!before)
            return;
        store(reinterpret_cast<place*>(before)->next, reinterpret_cast<u64>(&mine));
        while (load(mine.waits))
            relax();
    }
    void unlock(unsigned core) {
        place& mine = at[core];
        auto me = reinterpret_cast<u64>(&mine);
        if (!load(mine.next)) {
            if (__atomic_compare_exchange_n(&last, &me, u64{0}, false, __ATOMIC_ACQ_REL,
                                            __ATOMIC_RELAXED))
                return;
            while (!load(mine.next))
                relax();
        }
        store(reinterpret_cast<place*>(mine.next)->waits, 0);
    }
};

class readers : public words {
protected:
    void look() {
        for (unsigned round = 0; round < 10; round++)
            for (unsigned i = 8; i < 16; i++)
                load(word_[i].n);
    }
};

class rwlock : public readers {
public:
    void step(unsigned) override {
        add(word_[0].n, 1); // no writer is there
        look();
        add(word_[0].n, ~u64{0});
    }
};

class lock_free : public readers {
public:
    void step(unsigned) override { look(); }
};

template <class Structure>
std::unique_ptr<structure> make() {
    return std::make_unique<Structure>();
}

subject known(const char* name, const char* about, std::unique_ptr<structure> (*make)()) {
    return {name, about, nullptr, nullptr, nullptr, make};
}

} // namespace

std::vector<subject> known_subjects() {
    return {known("counter", "all add to one word", make<counter>),
            known("private", "each adds to its own word", make<own_counters>),
            known("ticket", "a short critical section, ticket lock", make<critical<ticket_lock>>),
            known("mcs", "the same, MCS lock", make<critical<mcs_lock>>),
            known("rwlock", "readers behind a reader-writer lock", make<rwlock>),
            known("lock-free", "readers without a lock", make<lock_free>)};
}

} // namespace simulate
