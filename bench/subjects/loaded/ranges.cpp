// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Loaded subjects in tables `ranges` and `index`.
#include "loaded.hpp"

#include "subjects/ranges/map_bench.hpp"
#include "subjects/ranges/range_bench.hpp"

#include <array>

namespace lathbench {

namespace {

template <class Lock>
class loaded_extents {
public:
    static constexpr bool exact_keys = false;
    explicit loaded_extents(const lath_bench_subject& s)
        : group_(*s.ranges), s_(s.name, *s.ranges) {}
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
    loaded_structure<lath_bench_ranges> s_;
    [[no_unique_address]] Lock lock_;
};

template <class Lock>
class loaded_map {
public:
    explicit loaded_map(const lath_bench_subject& s) : group_(*s.map), s_(s.name, *s.map) {}
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
    loaded_structure<lath_bench_map> s_;
    [[no_unique_address]] Lock lock_;
};

// Which functions a subject has is known when it is loaded, not when this is compiled.
template <class Lock>
class loaded_map_bench final : public map_bench_of<loaded_map<Lock>> {
public:
    explicit loaded_map_bench(const lath_bench_subject& s)
        : map_bench_of<loaded_map<Lock>>(s), group_(*s.map) {}
    map_abilities abilities() const override {
        return {group_.floor != nullptr, group_.scan != nullptr, group_.erase != nullptr,
                group_.get_batch != nullptr, group_.insert_batch != nullptr};
    }

private:
    const lath_bench_map& group_;
};

template <class Lock>
class loaded_range_bench final : public range_bench_of<loaded_extents<Lock>> {
public:
    explicit loaded_range_bench(const lath_bench_subject& s)
        : range_bench_of<loaded_extents<Lock>>(s), group_(*s.ranges) {}
    bool can_erase() const override { return group_.erase != nullptr; }

private:
    const lath_bench_ranges& group_;
};

} // namespace

std::vector<range_subject> loaded_ranges() {
    std::vector<range_subject> list;
    for (const auto* loaded : loaded_subjects()) {
        range_subject s{describe(*loaded), {}, {}, {}, {}};
        if (loaded->ranges)
            s.ranges = [loaded]() -> std::unique_ptr<range_bench> {
                if (loaded->ranges->flags & LATH_BENCH_CONCURRENT)
                    return std::make_unique<loaded_range_bench<no_lock>>(*loaded);
                return std::make_unique<loaded_range_bench<spin_lock>>(*loaded);
            };
        if (loaded->map)
            s.map = [loaded](bool concurrent) -> std::unique_ptr<map_bench> {
                if (concurrent && !(loaded->map->flags & LATH_BENCH_CONCURRENT))
                    return std::make_unique<loaded_map_bench<spin_lock>>(*loaded);
                return std::make_unique<loaded_map_bench<no_lock>>(*loaded);
            };
        if (s.map || s.ranges)
            list.push_back(std::move(s));
    }
    return list;
}

} // namespace lathbench
