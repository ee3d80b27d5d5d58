// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A set of byte keys: the points of the checker are keys in order, many of which agree in their
// first eight or sixteen bytes, so that arrays and further trees are made of them; half of the time
// several are versions of one key. A record is freed a grace period after it has left the set: the
// heap sees a look at it afterwards.
#include "program.hpp"
#include "recorder.hpp"

#include "lathwork/bytes.h"

#include <algorithm>

using namespace lin;

namespace schedtest {

namespace {

struct record {
    lath_rcu_head rcu;
    unsigned point, number;
};

record* record_at(std::uint64_t value) {
    auto* r = reinterpret_cast<record*>(value);
    if (sched_self() >= 0)
        sched_access(r, sizeof(*r), SCHED_READ, nullptr);
    return r;
}

enum class act : std::uint8_t {
    insert,
    erase,
    replace,
    erase_if,
    replace_if,
    get,
    get_batch,
    ceiling,
    floor,
    walk,
    versions,
    count,
    all
};

constexpr const char* names[] = {"insert",     "erase", "replace",   "erase_if",
                                 "replace_if", "get",   "get_batch", "ceiling",
                                 "floor",      "walk",  "versions",  "count"};

struct tagged {
    std::string text;
    std::uint64_t tag;
    bool operator==(const tagged& other) const { return text == other.text && tag == other.tag; }
    bool operator<(const tagged& other) const {
        return text != other.text ? text < other.text : tag < other.tag;
    }
};

struct planned {
    act what;
    unsigned key, number;
};

class bytes_scenarios : public program {
public:
    const char* name() const override { return "bytes"; }

    unsigned draw(random_source random) override {
        random_ = random;
        config_ = LATH_CONFIG_INIT;
        if (random_.below(2))
            config_.flags |= LATH_NODE_EACH;
        if (random_.one_in(3))
            config_.flags |= LATH_GAPPED;
        if (random_.below(2))
            config_.flags |= LATH_RANKS;
        draw_keys();
        number_ = 0;
        loaded_.clear();
        if (random_.one_in(12))
            return draw_empty_tree();
        for (unsigned i = 0, n = random_.below(2 * used_); i < n; i++)
            loaded_.push_back(
                {random_.below(3) ? act::insert : act::erase, random_.below(used_), ++number_});
        unsigned n = 2 + random_.below(2), recorded = 0;
        std::array<unsigned, static_cast<std::size_t>(act::all)> weight{};
        unsigned sum = 0;
        for (unsigned i = 0; i < weight.size(); i++)
            sum += weight[i] = (i < 2) + random_.below(5) * random_.below(2);
        for (unsigned f = 0; f < plan_.size(); f++) {
            plan_[f].clear();
            for (unsigned i = 0, calls = 1 + random_.below(4); f < n && i < calls; i++) {
                unsigned x = random_.below(sum), what = 0;
                while (x >= weight[what])
                    x -= weight[what++];
                planned p{static_cast<act>(what), random_.below(used_), ++number_};
                bool many = p.what == act::ceiling || p.what == act::floor || p.what == act::walk ||
                            p.what == act::versions;
                recorded += many ? used_ : 3;
                if (recorded <= 60)
                    plan_[f].push_back(p);
            }
        }
        return n;
    }

    void build() override {
        set_ = static_cast<lath_bytes*>(sched_alloc(sizeof(lath_bytes), 64, 0));
        lath_bytes_records records = {key_of_record, this, 0};
        if (lath_bytes_init(set_, &records, &config_))
            sched_fail("lath_bytes_init failed", nullptr, nullptr);
        for (const planned& p : loaded_)
            make(p, 0);
        calls_.before = content();
        begin();
    }

    void begin() override { calls_.begin(); }

    void run(unsigned fiber) override {
        for (const planned& p : plan_[fiber])
            make(p, fiber);
    }

    std::string check() override {
        char report[200] = "";
        if (lath_bytes_verify(set_, report, sizeof(report)))
            return std::string("verify: ") + report;
        state after = content();
        std::uint64_t n = entries_of(after);
        if (lath_bytes_count(set_) != n)
            return "the count differs from the number of records";
        if (!calls_.linearizable(after, checked))
            return "not linearizable";
        lath_bytes_fini(
            set_, [](void*, std::uint64_t value) { sched_free(record_at(value)); }, nullptr);
        sched_free(set_);
        if (sched_live_blocks())
            return "blocks of memory that were not freed: " + std::to_string(sched_live_blocks());
        return "";
    }

    void print(std::FILE* out) const override {
        std::fprintf(out, "flags 0x%x, keys:", config_.flags);
        for (unsigned p = 0; p < used_; p++)
            std::fprintf(out, " %u:%s/%u%s", p, keys_[p].text.c_str(),
                         static_cast<unsigned>(keys_[p].tag),
                         value_at(calls_.before, p) ? "*" : "");
        std::fputc('\n', out);
        for (unsigned f = 0; f < plan_.size(); f++) {
            for (const planned& p : plan_[f])
                std::fprintf(out, "fiber %u: %s key %u number %u\n", f,
                             names[static_cast<unsigned>(p.what)], p.key, p.number);
            calls_.print(out, f);
        }
    }

private:
    // A tree below the root has no record: keys were there that agree in their first bytes. One
    // fiber inserts a key, others erase it and count.
    unsigned draw_empty_tree() {
        config_.flags |= LATH_RANKS;
        keys_.clear();
        for (used_ = 0; used_ < points; used_++)
            keys_.push_back({std::string("sameeigh") + static_cast<char>('a' + used_), 0});
        for (act what : {act::insert, act::erase})
            for (unsigned p = 0; p < used_; p++)
                loaded_.push_back({what, p, ++number_});
        unsigned key = random_.below(used_);
        plan_[0] = {{act::insert, key, ++number_}};
        plan_[1] = {{act::erase, key, ++number_}, {act::count, used_ - 1, ++number_}};
        plan_[2] = {{act::count, used_ - 1, ++number_}};
        return 3;
    }

    void draw_keys() {
        static constexpr const char* beginnings[] = {"", "a", "sameeigh", "sameeighttwoeight",
                                                     "sameeighttwoeighz"};
        used_ = 4 + random_.below(points - 3);
        keys_.clear();
        unsigned kinds = 1 + random_.below(4);
        bool versions = random_.below(2);
        while (keys_.size() < used_) {
            tagged key = {beginnings[random_.below(kinds) + random_.below(2)], 0};
            key.text += static_cast<char>('a' + random_.below(versions ? 2 : 26));
            key.tag = versions ? random_.below(8) : 0;
            if (std::find(keys_.begin(), keys_.end(), key) == keys_.end())
                keys_.push_back(key);
        }
        std::sort(keys_.begin(), keys_.end());
    }

    static void key_of_record(void* me, std::uint64_t value, lath_bytes_key* key) {
        *key = static_cast<bytes_scenarios*>(me)->key_at(record_at(value)->point);
    }

    lath_bytes_key key_at(unsigned point) const {
        return {keys_[point].text.data(), keys_[point].text.size(), keys_[point].tag};
    }

    static void retire(std::uint64_t value) {
        lath_rcu_auto.call(&record_at(value)->rcu, [](lath_rcu_head* head) { sched_free(head); });
    }

    void make(const planned& p, unsigned fiber) {
        switch (p.what) {
        case act::insert:
        case act::replace:
        case act::replace_if:
            return put(p, fiber);
        case act::erase: {
            lath_bytes_key key = key_at(p.key);
            std::uint64_t called = sched_now(), old = 0;
            int ret = lath_bytes_erase(set_, &key, &old);
            calls_.note(fiber, op::erase, p.key, 0, called, ret, ret ? 0 : record_at(old)->number);
            if (!ret)
                retire(old);
            return;
        }
        case act::erase_if:
            return erase_if(p, fiber);
        case act::get:
        case act::get_batch:
            return get(p, fiber);
        case act::count: // what else a count makes valid is verified at the end
            if (lath_bytes_count(set_) > used_)
                sched_fail("lath_bytes_count counts more than there are keys", nullptr, nullptr);
            if (config_.flags & LATH_RANKS)
                ask_ranks(p);
            return;
        default:
            return walk(p, fiber);
        }
    }

    void ask_ranks(const planned& p) {
        lath_bytes_key key = key_at(p.key);
        std::uint64_t value;
        std::int64_t rank = lath_bytes_rank(set_, &key, 0);
        if (rank < 0 || rank > p.key)
            sched_fail("lath_bytes_rank counts more keys than are before, or fails", nullptr,
                       nullptr);
        lath_bytes_select(set_, p.number % used_, &value);
    }

    void put(const planned& p, unsigned fiber) {
        auto* fresh = static_cast<record*>(sched_alloc(sizeof(record), 16, 0));
        if (!fresh)
            return;
        fresh->point = p.key;
        fresh->number = p.number;
        auto value = reinterpret_cast<std::uint64_t>(fresh);
        std::uint64_t old = 0, called;
        int ret;
        if (p.what == act::insert) {
            called = sched_now();
            if (p.number % 2)
                lath_bytes_insert_batch(set_, 1, &value, &ret);
            else
                ret = lath_bytes_insert(set_, value, nullptr);
            calls_.note(fiber, op::insert, p.key, p.number, called, ret, 0);
        } else if (p.what == act::replace) {
            called = sched_now();
            ret = lath_bytes_replace(set_, value, &old);
            calls_.note(fiber, op::replace, p.key, p.number, called, ret,
                        ret ? 0 : record_at(old)->number);
        } else {
            lath_rcu_auto.read_lock();
            std::uint64_t expected = find(p.key, fiber), there = 0;
            ret = -ENOENT;
            if (expected) {
                unsigned number = record_at(expected)->number;
                called = sched_now();
                ret = lath_bytes_replace_if(set_, expected, value, &there);
                calls_.note(fiber, op::replace_if, p.key, p.number, called, ret,
                            ret == -EAGAIN ? record_at(there)->number
                            : ret          ? 0
                                           : number,
                            number);
                old = expected;
            }
            lath_rcu_auto.read_unlock();
        }
        if (ret)
            sched_free(fresh);
        else if (old)
            retire(old);
    }

    // In a section.
    std::uint64_t find(unsigned point, unsigned fiber) {
        lath_bytes_key key = key_at(point);
        std::uint64_t value = 0, called = sched_now();
        int found = lath_bytes_get(set_, &key, &value);
        calls_.note(fiber, op::value, point, 0, called, found ? 0 : -ENOENT,
                    found ? record_at(value)->number : 0);
        return found ? value : 0;
    }

    void erase_if(const planned& p, unsigned fiber) {
        lath_rcu_auto.read_lock();
        std::uint64_t expected = find(p.key, fiber), there = 0;
        if (expected) {
            unsigned number = record_at(expected)->number;
            std::uint64_t called = sched_now();
            int ret = lath_bytes_erase_if(set_, expected, &there);
            calls_.note(fiber, op::erase_if, p.key, 0, called, ret,
                        ret == -EAGAIN ? record_at(there)->number
                        : ret          ? 0
                                       : number,
                        number);
            if (!ret)
                retire(expected);
        }
        lath_rcu_auto.read_unlock();
    }

    void get(const planned& p, unsigned fiber) {
        lath_rcu_auto.read_lock();
        if (p.what == act::get) {
            find(p.key, fiber);
        } else {
            std::array<lath_bytes_key, 2> keys = {key_at(p.key), key_at((p.key + 1) % used_)};
            std::array<std::uint64_t, 2> values{};
            std::uint64_t called = sched_now();
            if (p.number % 2)
                lath_bytes_get_batch(set_, 2, keys.data(), values.data());
            else
                first_batch(keys, values);
            for (unsigned i = 0; i < 2; i++)
                calls_.note(fiber, op::value, (p.key + i) % used_, 0, called, 0,
                            values[i] ? record_at(values[i])->number : 0);
        }
        lath_rcu_auto.read_unlock();
    }

    // What is the first version at or behind the tag is the one with the tag, or that one is
    // absent.
    void first_batch(const std::array<lath_bytes_key, 2>& keys,
                     std::array<std::uint64_t, 2>& values) {
        lath_bytes_first_batch(set_, 2, keys.data(), 0, values.data());
        for (unsigned i = 0; i < 2; i++)
            if (values[i] && key_at(record_at(values[i])->point).tag != keys[i].tag)
                values[i] = 0;
    }

    // Ceiling, floor, cursors and versions: each record that they found was there, and those that
    // they passed were absent, each at some moment of the call.
    void walk(const planned& p, unsigned fiber) {
        lath_bytes_key key = key_at(p.key);
        std::uint64_t value = 0, called = sched_now();
        unsigned from = p.key, to = used_ - 1;
        std::array<unsigned, points> seen{};
        lath_rcu_auto.read_lock();
        if (p.what == act::ceiling) {
            if (!lath_bytes_ceiling(set_, &key, &value))
                to = found(value, seen);
        } else if (p.what == act::floor) {
            to = p.key;
            from = 0;
            if (!lath_bytes_floor(set_, &key, &value))
                from = found(value, seen);
        } else if (p.what == act::versions) {
            bool back = p.number % 2;
            std::array<std::uint64_t, points> values{};
            std::size_t n = lath_bytes_scan(
                set_, &key, LATH_BYTES_SAME | (back ? unsigned{LATH_BYTES_BACK} : 0u),
                values.data(), points);
            while (n--)
                found(values[n], seen);
            to = back ? p.key : last_version(p.key, 1);
            from = back ? last_version(p.key, -1) : p.key;
        } else {
            lath_bytes_cursor cursor;
            lath_bytes_cursor_init(&cursor, set_);
            int ok = lath_bytes_cursor_seek(&cursor, &key, &value);
            for (unsigned steps = 0; ok; ok = lath_bytes_cursor_next(&cursor, &value)) {
                unsigned at = found(value, seen);
                if (++steps == 6) {
                    to = at;
                    break;
                }
            }
        }
        lath_rcu_auto.read_unlock();
        std::uint64_t returned = sched_now();
        for (unsigned i = from; i <= to && i < used_; i++) {
            calls_.note(fiber, op::value, i, 0, called, 0, seen[i]);
            calls_.returned(fiber, returned);
        }
    }

    // The last one, in this direction, of the points that are versions of this one's key.
    unsigned last_version(unsigned point, int step) const {
        for (unsigned next = point + step; next < used_; next += step) {
            if (keys_[next].text != keys_[point].text)
                break;
            point = next;
        }
        return point;
    }

    static unsigned found(std::uint64_t value, std::array<unsigned, points>& seen) {
        const record* r = record_at(value);
        seen[r->point] = r->number;
        return r->point;
    }

    state content() {
        state s{};
        lath_bytes_cursor cursor;
        std::uint64_t value;
        lath_bytes_cursor_init(&cursor, set_);
        while (lath_bytes_cursor_next(&cursor, &value))
            lin::put(s, record_at(value)->point, 1, record_at(value)->number);
        return s;
    }

    random_source random_{};
    lath_config config_ = LATH_CONFIG_INIT;
    unsigned used_ = 0, number_ = 0;
    std::vector<tagged> keys_;
    std::vector<planned> loaded_;
    std::array<std::vector<planned>, 3> plan_;
    recorder calls_;
    lath_bytes* set_ = nullptr;
};

} // namespace

std::unique_ptr<program> bytes_program() { return std::make_unique<bytes_scenarios>(); }

} // namespace schedtest
