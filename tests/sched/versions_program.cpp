// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A set with snapshots: the points of the checker are keys in order. What a snapshot shows is a
// read of all of them at one moment of the call that took it, whenever it is looked at. A record is
// freed when the set hands it back: the heap sees a look at it afterwards.
#include "program.hpp"
#include "recorder.hpp"

#include "lathwork/versions.h"

#include <cstddef>
#include <deque>
#include <string>

using namespace lin;

namespace schedtest {

namespace {

struct record {
    lath_version version;
    unsigned point, number;
};

record* record_at(void* address) {
    auto* r = static_cast<record*>(address);
    if (sched_self() >= 0)
        sched_access(r, sizeof(*r), SCHED_READ, nullptr);
    return r;
}

enum class act : std::uint8_t {
    insert,
    erase,
    put,
    replace,
    erase_if,
    replace_if,
    get,
    walk,
    take,
    look,
    release,
    all
};

constexpr const char* names[] = {"insert", "erase", "put",  "replace", "erase_if", "replace_if",
                                 "get",    "walk",  "take", "look",    "release"};

struct planned {
    act what;
    unsigned key, number;
};

// A snapshot that a fiber holds, and what it showed.
struct held {
    lath_snapshot snapshot;
    std::uint64_t called, returned;
    bool taken;
    state* shown; // nullptr: not looked at yet
};

class versions_scenarios : public program {
public:
    const char* name() const override { return "versions"; }

    unsigned draw(random_source random) override {
        random_ = random;
        config_ = LATH_CONFIG_INIT;
        if (random_.below(2))
            config_.flags |= LATH_NODE_EACH;
        used_ = 1 + random_.below(5);
        together_ = random_.below(2);
        number_ = 0;
        loaded_.clear();
        for (unsigned i = 0, n = random_.below(2 * used_ + 1); i < n; i++)
            loaded_.push_back(draw_one(static_cast<act>(random_.below(3))));
        held_before_ = random_.below(3);
        unsigned n = 2 + random_.below(2);
        std::array<unsigned, static_cast<std::size_t>(act::all)> weight{};
        unsigned sum = 0;
        for (unsigned i = 0; i < weight.size(); i++)
            sum += weight[i] = (i == 1 || i == 2 || i > 7) + random_.below(4) * random_.below(2);
        for (unsigned f = 0; f < plan_.size(); f++) {
            plan_[f].clear();
            for (unsigned i = 0, calls = 1 + random_.below(5); f < n && i < calls; i++) {
                unsigned x = random_.below(sum), what = 0;
                while (x >= weight[what])
                    x -= weight[what++];
                plan_[f].push_back(draw_one(static_cast<act>(what)));
            }
        }
        return n;
    }

    void build() override {
        set_ = static_cast<lath_versions*>(sched_alloc(sizeof(lath_versions), 64, 0));
        lath_versions_records records = {key_of_record, [](void*, void* r) { sched_free(r); }, this,
                                         offsetof(record, version), 0};
        if (lath_versions_init(set_, &records, &config_))
            sched_fail("lath_versions_init failed", nullptr, nullptr);
        calls_.begin();
        held_ = {};
        std::size_t half = loaded_.size() / 2;
        for (std::size_t i = 0; i < loaded_.size(); i++) {
            if (i == half)
                for (unsigned k = 0; k < held_before_; k++)
                    take(held_[k]);
            make(loaded_[i], 0);
        }
        calls_.before = content(nullptr);
        for (unsigned k = 0; k < held_before_; k++)
            if (!held_[k].taken) // nothing was loaded
                take(held_[k]);
        for (held& h : held_)
            h.called = 0;
        begun_ = held_;
        begin();
    }

    // The structure is kept from one schedule to the next, and with it the snapshots that were
    // taken when it was made.
    void begin() override {
        calls_.begin();
        shown_.clear();
        held_ = begun_;
    }

    void run(unsigned fiber) override {
        for (const planned& p : plan_[fiber])
            make(p, fiber);
        release(fiber);
    }

    std::string check() override {
        char report[200] = "";
        if (lath_versions_verify(set_, report, sizeof(report)))
            return std::string("verify: ") + report;
        state after = content(nullptr);
        if (!calls_.linearizable(after, checked))
            return "not linearizable";
        for (held& h : held_)
            if (h.taken)
                lath_snapshot_release(set_, &h.snapshot);
        lath_versions_fini(set_);
        sched_free(set_);
        if (sched_live_blocks())
            return "blocks of memory that were not freed: " + std::to_string(sched_live_blocks());
        return "";
    }

    void print(std::FILE* out) const override {
        std::fprintf(out, "flags 0x%x, %u keys%s, %u snapshots held before\n", config_.flags, used_,
                     together_ ? " of one beginning" : "", held_before_);
        for (unsigned f = 0; f < plan_.size(); f++) {
            for (const planned& p : plan_[f])
                std::fprintf(out, "fiber %u: %s key %u number %u\n", f,
                             names[static_cast<unsigned>(p.what)], p.key, p.number);
            calls_.print(out, f);
        }
    }

private:
    planned draw_one(act what) { return {what, random_.below(used_), ++number_}; }

    static void key_of_record(void* me, std::uint64_t value, lath_bytes_key* key) {
        auto* r = record_at(reinterpret_cast<void*>(value)); // NOLINT(performance-no-int-to-ptr)
        *key = static_cast<versions_scenarios*>(me)->key_at(r->point);
    }

    // Keys that agree in eight bytes are together in an array.
    lath_bytes_key key_at(unsigned point) const {
        static constexpr const char* apart[] = {"a", "b", "c", "d", "e"};
        static constexpr const char* together[] = {"sameeigha", "sameeighb", "sameeighc",
                                                   "sameeighd", "sameeighe"};
        return {together_ ? together[point] : apart[point], together_ ? 9u : 1u, 0};
    }

    void make(const planned& p, unsigned fiber) {
        switch (p.what) {
        case act::insert:
        case act::put:
        case act::replace:
        case act::replace_if:
            return put(p, fiber);
        case act::erase: {
            lath_bytes_key key = key_at(p.key);
            void* old = nullptr;
            lath_rcu_auto.read_lock();
            std::uint64_t called = sched_now();
            int ret = lath_versions_erase(set_, &key, &old);
            calls_.note(fiber, op::erase, p.key, 0, called, ret, ret ? 0 : record_at(old)->number);
            lath_rcu_auto.read_unlock();
            return;
        }
        case act::erase_if:
            return erase_if(p, fiber);
        case act::get:
            lath_rcu_auto.read_lock();
            find(p.key, fiber);
            lath_rcu_auto.read_unlock();
            return;
        case act::walk:
            return walk(fiber);
        case act::take:
            release(fiber);
            return take(held_[fiber]);
        case act::look:
            if (held_[fiber].taken)
                look(fiber, p.number);
            return;
        default:
            return release(fiber);
        }
    }

    void put(const planned& p, unsigned fiber) {
        auto* fresh = static_cast<record*>(sched_alloc(sizeof(record), 16, 0));
        if (!fresh)
            return;
        fresh->point = p.key;
        fresh->number = p.number;
        void* old = nullptr;
        lath_rcu_auto.read_lock();
        std::uint64_t called = sched_now();
        int ret = -ENOENT;
        if (p.what == act::insert) {
            ret = lath_versions_insert(set_, fresh, nullptr);
            calls_.note(fiber, op::insert, p.key, p.number, called, ret, 0);
        } else if (p.what == act::put) {
            ret = lath_versions_put(set_, fresh, &old);
            calls_.note(fiber, op::store, p.key, p.number, called, ret, 0);
        } else if (p.what == act::replace) {
            ret = lath_versions_replace(set_, fresh, &old);
            calls_.note(fiber, op::replace, p.key, p.number, called, ret,
                        ret ? 0 : record_at(old)->number);
        } else if (record* expected = find(p.key, fiber)) {
            unsigned number = expected->number;
            called = sched_now();
            ret = lath_versions_replace_if(set_, expected, fresh, &old);
            calls_.note(fiber, op::replace_if, p.key, p.number, called, ret,
                        ret == -ENOENT ? 0 : record_at(old)->number, number);
        }
        lath_rcu_auto.read_unlock();
        if (ret)
            sched_free(fresh);
    }

    // In a section.
    record* find(unsigned point, unsigned fiber) {
        lath_bytes_key key = key_at(point);
        void* found = nullptr;
        std::uint64_t called = sched_now();
        lath_versions_get(set_, nullptr, &key, &found);
        calls_.note(fiber, op::value, point, 0, called, found ? 0 : -ENOENT,
                    found ? record_at(found)->number : 0);
        return static_cast<record*>(found);
    }

    void erase_if(const planned& p, unsigned fiber) {
        lath_rcu_auto.read_lock();
        if (record* expected = find(p.key, fiber)) {
            unsigned number = expected->number;
            void* there = nullptr;
            std::uint64_t called = sched_now();
            int ret = lath_versions_erase_if(set_, expected, &there);
            calls_.note(fiber, op::erase_if, p.key, 0, called, ret,
                        ret == -ENOENT ? 0 : record_at(there)->number, number);
        }
        lath_rcu_auto.read_unlock();
    }

    // Of the present: each key is read at some moment of the walk.
    void walk(unsigned fiber) {
        lath_rcu_auto.read_lock();
        std::uint64_t called = sched_now();
        state s = content(nullptr);
        std::uint64_t returned = sched_now();
        lath_rcu_auto.read_unlock();
        for (unsigned i = 0; i < used_; i++) {
            calls_.note(fiber, op::value, i, 0, called, 0, value_at(s, i));
            calls_.returned(fiber, returned);
        }
    }

    void take(held& h) {
        h = {};
        h.called = sched_now();
        lath_snapshot_take(set_, &h.snapshot);
        h.returned = sched_now();
        h.taken = true;
    }

    // Looks at all keys at the snapshot of a fiber, in one of two ways. It shows always the same.
    void look(unsigned fiber, unsigned number) {
        held& h = held_[fiber];
        state s{};
        if (number % 2) {
            s = content(&h.snapshot);
        } else {
            for (unsigned i = used_; i-- > 0;) {
                lath_bytes_key key = key_at(i);
                void* found;
                if (lath_versions_get(set_, &h.snapshot, &key, &found))
                    lin::put(s, i, 1, record_at(found)->number);
            }
        }
        if (h.shown) {
            if (*h.shown != s)
                sched_fail("a snapshot shows something else than before", nullptr, nullptr);
            return;
        }
        shown_.push_back(s);
        h.shown = &shown_.back();
        if (!h.called) // before the calls of the fibers
            return;
        call& c = calls_.add(fiber, op::whole, 0, 0, h.called, 0, 0);
        c.all = h.shown;
        calls_.returned(fiber, h.returned);
    }

    void release(unsigned fiber) {
        if (!held_[fiber].taken)
            return;
        look(fiber, fiber);
        held_[fiber].taken = false;
        lath_snapshot_release(set_, &held_[fiber].snapshot);
    }

    state content(const lath_snapshot* at) {
        state s{};
        lath_versions_cursor cursor;
        void* found;
        lath_versions_cursor_init(&cursor, set_, at);
        while (lath_versions_cursor_next(&cursor, &found))
            lin::put(s, record_at(found)->point, 1, record_at(found)->number);
        return s;
    }

    random_source random_{};
    lath_config config_ = LATH_CONFIG_INIT;
    unsigned used_ = 0, number_ = 0, held_before_ = 0;
    bool together_ = false;
    std::vector<planned> loaded_;
    std::array<std::vector<planned>, 3> plan_;
    std::array<held, 3> held_{}, begun_{};
    std::deque<state> shown_;
    recorder calls_;
    lath_versions* set_ = nullptr;
};

} // namespace

std::unique_ptr<program> versions_program() { return std::make_unique<versions_scenarios>(); }

} // namespace schedtest
