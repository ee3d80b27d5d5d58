// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Guests in the tables ranges and index.
#include "loaded.hpp"

#include "subjects/ranges/map_bench.hpp"
#include "subjects/ranges/range_bench.hpp"

#include <array>

namespace lathbench {

namespace {

template <class Lock>
class guest_ranges {
public:
    static constexpr bool exact_keys = false;
    explicit guest_ranges(const lath_bench_adapter& a) : group_(*a.ranges), s_(a, *a.ranges) {}
    void enter() {}
    void leave() {}
    bool insert(extent* item) {
        guard g(lock_);
        return group_.insert(s_, item->key, item->size, item) == 0;
    }
    extent* lookup(u64 point) {
        guard g(lock_);
        return static_cast<extent*>(group_.lookup(s_, point));
    }
    extent* erase(u64 point) {
        guard g(lock_);
        return static_cast<extent*>(group_.erase(s_, point));
    }

private:
    const lath_bench_ranges& group_;
    guest_structure<lath_bench_ranges> s_;
    [[no_unique_address]] Lock lock_;
};

template <class Lock>
class guest_map {
public:
    explicit guest_map(const lath_bench_adapter& a) : group_(*a.map), s_(a, *a.map) {}
    void enter() {}
    void leave() {}
    bool insert(u64 key, u64 value) {
        guard g(lock_);
        return group_.insert(s_, key, value) == 0;
    }
    bool get(u64 key, u64& value) {
        guard g(lock_);
        return group_.get(s_, key, &value) != 0;
    }
    bool update(u64 key, u64 value) {
        guard g(lock_);
        return group_.update(s_, key, value) != 0;
    }
    bool erase(u64 key) {
        guard g(lock_);
        return group_.erase(s_, key) != 0;
    }
    bool floor(u64 point, u64& key, u64& value) {
        guard g(lock_);
        return group_.floor(s_, point, &key, &value) != 0;
    }
    void scan(u64 from, std::size_t length, tally& t) {
        std::array<u64, batch_size> keys, values;
        guard g(lock_);
        std::size_t n =
            group_.scan(s_, from, std::min(length, batch_size), keys.data(), values.data());
        for (std::size_t i = 0; i < std::min(n, batch_size); i++)
            t.add(keys[i], values[i]);
    }
    void get_batch(const u64* keys, std::size_t n, tally& t) {
        std::array<u64, batch_size> values;
        std::array<std::uint8_t, batch_size> hits = {};
        guard g(lock_);
        group_.get_batch(s_, n, keys, values.data(), hits.data());
        for (std::size_t i = 0; i < n; i++)
            if (hits[i])
                t.add(keys[i], values[i]);
    }
    u64 insert_batch(const u64* keys, std::size_t n) {
        std::array<u64, batch_size> values;
        for (std::size_t i = 0; i < n; i++)
            values[i] = value_of(keys[i]);
        guard g(lock_);
        return group_.insert_batch(s_, n, keys, values.data());
    }

private:
    const lath_bench_map& group_;
    guest_structure<lath_bench_map> s_;
    [[no_unique_address]] Lock lock_;
};

// What a guest can do is known when it is loaded, not when this is compiled.
template <class Lock>
class guest_map_bench final : public map_bench_of<guest_map<Lock>> {
public:
    explicit guest_map_bench(const lath_bench_adapter& a)
        : map_bench_of<guest_map<Lock>>(a), group_(*a.map) {}
    map_abilities abilities() const override {
        return {group_.floor != nullptr, group_.scan != nullptr, group_.erase != nullptr,
                group_.get_batch != nullptr, group_.insert_batch != nullptr};
    }

private:
    const lath_bench_map& group_;
};

template <class Lock>
class guest_range_bench final : public range_bench_of<guest_ranges<Lock>> {
public:
    explicit guest_range_bench(const lath_bench_adapter& a)
        : range_bench_of<guest_ranges<Lock>>(a), group_(*a.ranges) {}
    bool can_erase() const override { return group_.erase != nullptr; }

private:
    const lath_bench_ranges& group_;
};

} // namespace

void add_guest_peers(std::vector<peer>& list) {
    for (const auto* a : guests()) {
        peer p;
        p.name = a->name;
        p.note = a->note ? a->note : "";
        if (a->ranges)
            p.ranges = [a]() -> std::unique_ptr<range_bench> {
                if (a->ranges->flags & LATH_BENCH_CONCURRENT)
                    return std::make_unique<guest_range_bench<no_lock>>(*a);
                return std::make_unique<guest_range_bench<spin_lock>>(*a);
            };
        if (a->map)
            p.map = [a](bool concurrent) -> std::unique_ptr<map_bench> {
                if (concurrent && !(a->map->flags & LATH_BENCH_CONCURRENT))
                    return std::make_unique<guest_map_bench<spin_lock>>(*a);
                return std::make_unique<guest_map_bench<no_lock>>(*a);
            };
        if (p.map || p.ranges)
            list.push_back(std::move(p));
    }
}

} // namespace lathbench
