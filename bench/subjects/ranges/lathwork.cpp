// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Ours, through the public calls alone, with the default RCU flavour.
#include "map_bench.hpp"
#include "range_bench.hpp"

#include "lathwork/index.h"

#include <array>
#include <new>

namespace lathbench {

namespace {

// An index that is created and destroyed with the object. If it were a member, operator new would
// have to align the object to a cache line, which takes longer.
template <unsigned Flags, lath_layout Layout>
class owned_list {
public:
    owned_list() {
        lath_config config = LATH_CONFIG_INIT;
        config.layout = Layout;
        config.flags = Flags;
        list_ = lath_index_create(&config);
        if (!list_)
            throw std::bad_alloc();
    }
    ~owned_list() { lath_index_destroy(list_, nullptr, nullptr); }
    owned_list(const owned_list&) = delete;
    owned_list& operator=(const owned_list&) = delete;
    operator lath_index*() { return list_; }

private:
    lath_index* list_;
};

// The hook is the extent's own key and size.
static_assert(sizeof(lath_slot) == sizeof(extent) - offsetof(extent, key));

lath_slot* slot_of(extent* item) { return reinterpret_cast<lath_slot*>(&item->key); }

extent* extent_of(lath_slot* slot) {
    return slot ? reinterpret_cast<extent*>(reinterpret_cast<char*>(slot) - offsetof(extent, key))
                : nullptr;
}

template <unsigned Flags>
class lathwork_ranges {
public:
    bool insert(extent* item) { return lath_index_insert(list_, slot_of(item), nullptr) == 0; }
    extent* lookup(u64 point) { return extent_of(lath_index_lookup(list_, point)); }
    extent* erase(u64 point) { return extent_of(lath_index_erase_at(list_, point)); }

private:
    owned_list<Flags, LATH_RANGES> list_;
};

template <unsigned Flags>
class lathwork_index {
public:
    bool insert(u64 key, u64 value) {
        lath_item item = {key, 1, value};
        return lath_index_insert_item(list_, &item, nullptr) == 0;
    }

    bool get(u64 key, u64& value) { return lath_index_get(list_, key, &value); }
    bool update(u64 key, u64 value) {
        return lath_index_replace_item(list_, key, value, nullptr) == 0;
    }
    bool erase(u64 key) { return lath_index_erase_item(list_, key, nullptr) == 0; }

    bool floor(u64 point, u64& key, u64& value) {
        lath_item item;
        if (lath_index_floor_item(list_, point, &item))
            return false;
        key = item.key;
        value = item.value;
        return true;
    }

    void scan(u64 from, std::size_t length, tally& t) {
        std::array<lath_item, batch_size> items;
        u64 next = 0;
        std::size_t count = lath_index_scan(list_, from, ~u64{0}, items.data(),
                                            std::min(length, batch_size), &next);
        for (std::size_t i = 0; i < count; i++)
            t.add(items[i].key, items[i].value);
    }

    void get_batch(const u64* keys, std::size_t n, tally& t) {
        std::array<u64, batch_size> values;
        std::array<std::uint8_t, batch_size> hits;
        lath_index_get_batch(list_, n, keys, values.data(), hits.data());
        for (std::size_t i = 0; i < n; i++)
            if (hits[i])
                t.add(keys[i], values[i]);
    }

    void trim() {
        u64 cursor = 0;
        do
            lath_index_trim(list_, 1000, &cursor);
        while (cursor);
    }

    // nodes are mapped, not malloc'ed
    static u64 memory() { return resident_bytes(); }

    u64 insert_batch(const u64* keys, std::size_t n) {
        std::array<lath_item, batch_size> items;
        for (std::size_t i = 0; i < n; i++)
            items[i] = {keys[i], 1, value_of(keys[i])};
        return lath_index_insert_batch(list_, n, items.data(), nullptr);
    }

private:
    owned_list<Flags, LATH_POINTS> list_;
};

template <unsigned Flags>
range_subject lathwork_with(const char* name) {
    range_subject s;
    s.name = name;
    s.ranges = make_ranges<lathwork_ranges<Flags>>;
    s.map = make_map<lathwork_index<Flags>>;
    return s;
}

} // namespace

range_subject lathwork_subject() { return lathwork_with<0>("lathwork"); }

range_subject lathwork_huge_subject() { return lathwork_with<LATH_HUGE_PAGES>("lathwork-huge"); }

} // namespace lathbench
