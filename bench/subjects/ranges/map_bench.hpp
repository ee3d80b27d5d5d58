// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The timed loops of table `index` over one structure: a class that maps u64 to u64 and has
//
//   bool insert(u64 key, u64 value);          false: the key is there already
//   bool get(u64 key, u64 &value);            false: no such key
//   bool update(u64 key, u64 value);          false: no such key
//
// and as many of these as it can do; the cases of the others become "n/a":
//
//   bool erase(u64 key);                      false: no such key
//   bool floor(u64 point, u64 &key, u64 &value);        the last key <= point; false: none
//   void scan(u64 from, size_t length, tally &);        up to `length` entries with keys >= from
//   void get_batch(const u64 *keys, size_t n, tally &); n <= batch_size
//   u64 insert_batch(const u64 *keys, size_t n);        returns how many were new; n <= batch_size
//
//   void enter(), leave();                    each thread calls them first and last
//   void trim();                              gives memory back that is not needed
//
//   static u64 memory();                      bytes in use, when they do not come from malloc()
#pragma once

#include "range_subject.hpp"

#include "harness/memory.hpp"
#include "subjects/lock.hpp"

#include <algorithm>
#include <utility>

namespace lathbench {

using u64 = std::uint64_t;

// Keys that a caller hands over in one call.
constexpr std::size_t batch_size = 256;

template <class Structure>
class map_bench_of : public map_bench {
    static constexpr bool has_erase = requires(Structure a, u64 k) { a.erase(k); };
    static constexpr bool has_floor = requires(Structure a, u64 k) { a.floor(k, k, k); };
    static constexpr bool has_scan =
        requires(Structure a, tally t) { a.scan(u64{}, std::size_t{}, t); };
    static constexpr bool has_get_batch =
        requires(Structure a, const u64* k, tally t) { a.get_batch(k, 1, t); };
    static constexpr bool has_insert_batch =
        requires(Structure a, const u64* k) { a.insert_batch(k, 1); };

public:
    template <class... A>
    explicit map_bench_of(A&&... arguments) : map_(std::forward<A>(arguments)...) {}
    void enter() override {
        if constexpr (requires { map_.enter(); })
            map_.enter();
    }
    void leave() override {
        if constexpr (requires { map_.leave(); })
            map_.leave();
    }

    map_abilities abilities() const override {
        return {has_floor, has_scan, has_erase, has_get_batch, has_insert_batch};
    }

    u64 memory() const override {
        if constexpr (requires { Structure::memory(); })
            return Structure::memory();
        return heap_bytes();
    }

    u64 insert(const u64* keys, std::size_t n) override {
        u64 done = 0;
        for (std::size_t i = 0; i < n; i++)
            done += map_.insert(keys[i], value_of(keys[i]));
        return done;
    }

    u64 insert_batch([[maybe_unused]] const u64* keys, [[maybe_unused]] std::size_t n) override {
        u64 done = 0;
        if constexpr (has_insert_batch)
            for (std::size_t i = 0; i < n; i += batch_size)
                done += map_.insert_batch(keys + i, std::min(batch_size, n - i));
        return done;
    }

    // Independent lookups: the processor may overlap them.
    tally lookup(const u64* keys, std::size_t n) override {
        tally t;
        for (std::size_t i = 0; i < n; i++)
            look_up(keys[i], t);
        return t;
    }

    // The next key is known only when the last value is: true latency.
    tally lookup_dependent(const u64* keys, std::size_t n) override {
        tally t;
        u64 nothing = 0;
        for (std::size_t i = 0; i < n; i++) {
            u64 key = keys[i] ^ nothing, value = 0;
            if (map_.get(key, value))
                t.add(key, value);
            nothing = value;
            asm volatile("" : "+r"(nothing)); // hides that the difference below is zero
            nothing -= value;
        }
        return t;
    }

    tally lookup_batch([[maybe_unused]] const u64* keys, [[maybe_unused]] std::size_t n) override {
        tally t;
        if constexpr (has_get_batch)
            for (std::size_t i = 0; i < n; i += batch_size)
                map_.get_batch(keys + i, std::min(batch_size, n - i), t);
        return t;
    }

    tally floor([[maybe_unused]] const u64* points, [[maybe_unused]] std::size_t n) override {
        tally t;
        if constexpr (has_floor) {
            for (std::size_t i = 0; i < n; i++) {
                u64 key = 0, value = 0;
                if (map_.floor(points[i], key, value))
                    t.add(key, value);
            }
        }
        return t;
    }

    tally scan([[maybe_unused]] const u64* from, [[maybe_unused]] std::size_t n,
               [[maybe_unused]] std::size_t length) override {
        tally t;
        if constexpr (has_scan)
            for (std::size_t i = 0; i < n; i++)
                map_.scan(from[i], length, t);
        return t;
    }

    u64 erase([[maybe_unused]] const u64* keys, [[maybe_unused]] std::size_t n) override {
        u64 done = 0;
        if constexpr (has_erase)
            for (std::size_t i = 0; i < n; i++)
                done += map_.erase(keys[i]);
        return done;
    }

    void trim() override {
        if constexpr (requires { map_.trim(); })
            map_.trim();
    }

    tally mix(const step* steps, std::size_t n, u64& done) override {
        tally t;
        u64 changed = 0;
        for (std::size_t i = 0; i < n; i++) {
            const step& s = steps[i];
            switch (s.what) {
            case op::lookup:
                look_up(s.key, t);
                break;
            case op::update:
                changed += map_.update(s.key, value_of(s.key));
                break;
            case op::insert:
                changed += map_.insert(s.key, value_of(s.key));
                break;
            case op::erase:
                if constexpr (has_erase)
                    changed += map_.erase(s.key);
                break;
            case op::scan:
                if constexpr (has_scan)
                    map_.scan(s.key, s.length, t);
                break;
            }
        }
        done = changed;
        return t;
    }

    u64 meet(const meet_call* calls, std::size_t n) override {
        u64 right = 0;
        for (std::size_t i = 0; i < n; i++) {
            const meet_call& c = calls[i];
            u64 value = 0;
            right += c.update ? map_.update(c.key, c.value)
                              : map_.get(c.key, value) && same_key(value, c.value);
        }
        return right;
    }

private:
    void look_up(u64 key, tally& t) {
        u64 value = 0;
        if (map_.get(key, value))
            t.add(key, value);
    }

    Structure map_;
};

// For range_subject::map. One thread uses an Alone, several threads use a Shared.
template <class Alone, class Shared = Alone>
std::unique_ptr<map_bench> make_map(bool concurrent) {
    if (concurrent)
        return std::make_unique<map_bench_of<Shared>>();
    return std::make_unique<map_bench_of<Alone>>();
}

} // namespace lathbench
