// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A store of numbers or of byte keys: values of a few bytes, which are in the index, and long ones,
// which are records. Its pages are mapped anew for each schedule, so accesses to them are switch
// points but not checked.
#include "program.hpp"
#include "recorder.hpp"

#include "lathwork/store.h"

#include <cstring>

// src/store/memory/arena.h: the calling thread takes memory of this shard
extern "C" unsigned lath_arena_borrow_shard(unsigned number);

namespace schedtest {

namespace {

enum class act : std::uint8_t {
    set,
    add,
    replace,
    remove,
    cas,
    update,
    mset,
    mdel,
    get,
    get_ref,
    mget,
    scan,
    count,
    all
};
constexpr const char* names[] = {"set",  "add", "replace", "delete", "cas",  "update", "mset",
                                 "mdel", "get", "get_ref", "mget",   "scan", "count"};

struct planned {
    act what;
    unsigned key, number, expected;
};

class store_scenarios : public program {
public:
    const char* name() const override { return "store"; }
    bool kept() const override { return false; }
    unsigned schedules() const override { return 10; }

    unsigned draw(random_source random) override {
        random_ = random;
        options_ = LATH_STORE_OPTIONS_INIT;
        options_.keys = random_.below(2) ? LATH_STORE_BYTES : LATH_STORE_NUMBERS;
        options_.pages = LATH_PAGES_SMALL;
        options_.reserve = 64ull << 20;
        if (random_.one_in(4))
            options_.flags = LATH_STORE_VERSIONS;
        used_ = 4 + random_.below(keys::most - 3);
        length_ = random_.below(3);
        number_ = 0;
        loaded_.clear();
        for (unsigned i = 0, n = random_.below(2 * used_); i < n; i++)
            loaded_.push_back(
                {random_.below(3) ? act::set : act::remove, random_.below(used_), ++number_, 0});
        unsigned n = 2 + random_.below(2), recorded = 0;
        for (unsigned f = 0; f < plan_.size(); f++) {
            plan_[f].clear();
            for (unsigned i = 0, calls = 1 + random_.below(4); f < n && i < calls; i++) {
                planned p{static_cast<act>(random_.below(static_cast<unsigned>(act::all))),
                          random_.below(used_), number_ + 1, 1 + random_.below(number_ + 1)};
                number_ += 2;
                for (const planned& l : loaded_)
                    if (l.key == p.key && random_.below(2))
                        p.expected = l.number;
                recorded += p.what == act::scan ? used_ : 2;
                if (recorded <= 60)
                    plan_[f].push_back(p);
            }
        }
        return n;
    }

    void build() override {
        if (lath_store_open(&store_, "mem:", &options_))
            sched_fail("lath_store_open failed", nullptr, nullptr);
        lath_arena_borrow_shard(0);
        for (const planned& p : loaded_)
            make(p, 0);
        calls_.before = content();
        begin();
    }

    void begin() override { calls_.begin(); }

    void run(unsigned fiber) override {
        lath_arena_borrow_shard(fiber);
        for (const planned& p : plan_[fiber])
            make(p, fiber);
    }

    std::string check() override {
        const keys after = content();
        lath_store_stats stats;
        lath_store_get_stats(store_, &stats);
        if (stats.items != after.count())
            return "stats.items differs from the number of entries";
        if (!calls_.explained(after, checked))
            return "not linearizable";
        for (unsigned p = 0; p < used_; p++)
            lath_store_delete(store_, key_at(p));
        lath_store_compact(store_);
        lath_store_get_stats(store_, &stats);
        if (stats.record_bytes > stats.lost_bytes || stats.pending_bytes)
            return "an empty store has records: " + std::to_string(stats.record_bytes) +
                   " bytes, pending " + std::to_string(stats.pending_bytes) + ", lost " +
                   std::to_string(stats.lost_bytes);
        lath_store_close(store_);
        if (sched_live_blocks())
            return "blocks of memory that were not freed: " + std::to_string(sched_live_blocks());
        return "";
    }

    void print(std::FILE* out) const override {
        std::fprintf(out, "keys %d, flags 0x%x, length %u, before:", options_.keys, options_.flags,
                     length_);
        for (unsigned p = 0; p < used_; p++)
            std::fprintf(out, " %u", calls_.before.at[p]);
        std::fputc('\n', out);
        for (unsigned f = 0; f < plan_.size(); f++) {
            for (const planned& p : plan_[f])
                std::fprintf(out, "fiber %u: %s key %u number %u expected %u\n", f,
                             names[static_cast<unsigned>(p.what)], p.key, p.number, p.expected);
            calls_.print(out, f);
        }
    }

private:
    struct text {
        std::array<char, 48> bytes{};
        std::size_t size = 0;
    };

    // Four digits; one number in two, or all, are followed by more.
    text value_of(unsigned number) const {
        text t;
        t.size =
            static_cast<std::size_t>(std::snprintf(t.bytes.data(), t.bytes.size(), "%04u", number));
        if (length_ == 2 || (length_ == 1 && number % 2)) {
            std::memset(t.bytes.data() + 4, 'a' + static_cast<int>(number % 26), 40);
            t.size = 44;
        }
        return t;
    }

    // The number of a value; a value that is not whole ends the program.
    unsigned number_of(const void* data, std::size_t size) const {
        std::array<char, 5> digits{};
        if (size < 4)
            sched_fail("a value is too short", data, nullptr);
        std::memcpy(digits.data(), data, 4);
        auto number = static_cast<unsigned>(std::strtoul(digits.data(), nullptr, 10));
        text t = value_of(number);
        if (t.size != size || std::memcmp(t.bytes.data(), data, size) != 0)
            sched_fail("a value is torn", data, nullptr);
        return number;
    }

    lath_store_key key_at(unsigned point) const {
        static constexpr const char* texts[keys::most] = {
            "a",          "b",          "bb",         "common1",    "common10",   "common11",
            "common12",   "common13",   "common14",   "common15",   "common16",   "common17",
            "common18",   "common2",    "common3",    "commonlon1", "commonlon2", "commonlon3",
            "commonlon4", "commonlon5", "commonlon6", "commonlon7", "commonlon8", "z"};
        return options_.keys == LATH_STORE_NUMBERS
                   ? lath_key_number(point)
                   : lath_key_bytes(texts[point], std::strlen(texts[point]));
    }

    void make(const planned& p, unsigned fiber) {
        text value = value_of(p.number);
        std::uint64_t called = sched_now();
        switch (p.what) {
        case act::set:
            return calls_.note(
                fiber, op::store, p.key, p.number, called,
                lath_store_set(store_, key_at(p.key), value.bytes.data(), value.size));
        case act::add:
            return calls_.note(
                fiber, op::insert, p.key, p.number, called,
                lath_store_add(store_, key_at(p.key), value.bytes.data(), value.size));
        case act::replace:
            return calls_.note(
                fiber, op::replace, p.key, p.number, called,
                lath_store_replace(store_, key_at(p.key), value.bytes.data(), value.size));
        case act::remove:
            return calls_.note(fiber, op::erase, p.key, 0, called,
                               lath_store_delete(store_, key_at(p.key)));
        case act::cas: {
            text expected = value_of(p.expected);
            return calls_.note(fiber, op::replace_if, p.key, p.number, called,
                               lath_store_cas(store_, key_at(p.key), expected.bytes.data(),
                                              expected.size, value.bytes.data(), value.size),
                               0, p.expected);
        }
        case act::update:
            return update(p, fiber);
        case act::mset:
        case act::mdel:
            return many(p, fiber);
        case act::count:
            lath_store_count(store_, nullptr);
            return;
        default:
            return read(p, fiber);
        }
    }

    // Puts a value if there is none, else removes it: told by what it saw in the end.
    void update(const planned& p, unsigned fiber) {
        struct seen {
            const store_scenarios* me;
            text fresh;
            unsigned old;
        } s{this, value_of(p.number), 0};
        std::uint64_t called = sched_now();
        int ret = lath_store_update(
            store_, key_at(p.key),
            [](void* arg, const lath_store_ref* old, lath_store_change* change) {
                auto* mine = static_cast<seen*>(arg);
                mine->old = old ? mine->me->number_of(old->data, old->size) : 0;
                change->action = old ? LATH_STORE_REMOVE : LATH_STORE_PUT;
                change->value = mine->fresh.bytes.data();
                change->size = mine->fresh.size;
                return 0;
            },
            &s);
        calls_.note(fiber, s.old ? op::erase_if : op::insert, p.key, p.number, called, ret, 0,
                    s.old);
    }

    void many(const planned& p, unsigned fiber) {
        std::array<unsigned, 2> at = {p.key, (p.key + 1) % used_};
        std::array<text, 2> values = {value_of(p.number), value_of(p.number + 1)};
        std::array<lath_store_entry, 2> entries{};
        std::array<lath_store_key, 2> two = {key_at(at[0]), key_at(at[1])};
        std::array<int, 2> results{};
        for (unsigned i = 0; i < 2; i++)
            entries[i] = {two[i], values[i].bytes.data(), values[i].size, 0};
        std::uint64_t called = sched_now();
        if (p.what == act::mset)
            lath_store_mset(store_, 2, entries.data(), results.data());
        else
            lath_store_mdel(store_, 2, two.data(), results.data());
        for (unsigned i = 0; i < 2; i++)
            calls_.note(fiber, p.what == act::mset ? op::store : op::erase, at[i], p.number + i,
                        called, results[i]);
    }

    void read(const planned& p, unsigned fiber) {
        std::array<char, 64> room;
        std::uint64_t called = sched_now();
        if (p.what == act::get) {
            std::int64_t n = lath_store_get(store_, key_at(p.key), room.data(), room.size());
            unsigned got = n < 0 ? 0 : number_of(room.data(), static_cast<std::size_t>(n));
            return calls_.note(fiber, op::value, p.key, 0, called, 0, got);
        }
        lath_store_read_begin(store_);
        if (p.what == act::get_ref) {
            lath_store_ref ref;
            int ret = lath_store_get_ref(store_, key_at(p.key), &ref);
            calls_.note(fiber, op::value, p.key, 0, called, 0,
                        ret ? 0 : number_of(ref.data, ref.size));
        } else if (p.what == act::mget) {
            std::array<lath_store_key, 2> two = {key_at(p.key), key_at((p.key + 1) % used_)};
            std::array<lath_store_ref, 2> refs;
            lath_store_mget(store_, 2, two.data(), refs.data());
            for (unsigned i = 0; i < 2; i++)
                calls_.note(fiber, op::value, (p.key + i) % used_, 0, called, 0,
                            refs[i].data ? number_of(refs[i].data, refs[i].size) : 0);
        } else {
            scan(fiber, called);
        }
        lath_store_read_end(store_);
    }

    // Each key with one of the values that it had in the meantime, or not at all.
    void scan(unsigned fiber, std::uint64_t called) {
        std::array<unsigned, keys::most> seen{};
        if (!walk(seen))
            return;
        std::uint64_t returned = sched_now();
        for (unsigned p = 0; p < used_; p++) {
            calls_.note(fiber, op::value, p, 0, called, 0, seen[p]);
            calls_.returned(fiber, returned);
        }
    }

    // False: no memory.
    bool walk(std::array<unsigned, keys::most>& seen) {
        lath_store_iter* iter;
        lath_store_key key;
        lath_store_ref ref;
        int ret = lath_store_iter_begin(store_, nullptr, &iter);
        if (ret)
            return false;
        while ((ret = lath_store_iter_next(iter, &key, &ref)) > 0)
            for (unsigned p = 0; p < used_; p++) {
                lath_store_key mine = key_at(p);
                if (mine.n == key.n && (!mine.data || !std::memcmp(mine.data, key.data, key.n)))
                    seen[p] = number_of(ref.data, ref.size);
            }
        lath_store_iter_end(iter);
        return !ret;
    }

    keys content() {
        keys all;
        walk(all.at);
        return all;
    }

    random_source random_{};
    lath_store_options options_ = LATH_STORE_OPTIONS_INIT;
    unsigned used_ = 0, number_ = 0, length_ = 0;
    std::vector<planned> loaded_;
    std::array<std::vector<planned>, 3> plan_;
    recorder calls_;
    lath_store* store_ = nullptr;
};

} // namespace

std::unique_ptr<program> store_program() { return std::make_unique<store_scenarios>(); }

} // namespace schedtest
