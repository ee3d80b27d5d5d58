// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// long_values.hpp - the calls of an index under the names of `index_api`, for items whose values
// are numbers, whatever the index's value_size is: a long value is its number, and numbers made of
// it.
#pragma once

#include "base/calls.hpp"

#include "lathwork/cursor.h"
#include "lathwork/hole.h"
#include "lathwork/index.h"

#include <array>
#include <tuple>

namespace calls {

inline unsigned value_words = 1; // of the index that is tested

struct long_value {
    std::array<word, 8> words{};

    long_value() = default;
    explicit long_value(word number) {
        for (unsigned k = 0; k < words.size(); k++)
            words[k] = nth(number, k);
    }
    // The number, or another one if the words do not belong together.
    word number() const { return of(words.data()); }
    static word of(const word* words) {
        for (unsigned k = 1; k < value_words; k++)
            if (words[k] != nth(words[0], k))
                return ~words[0];
        return words[0];
    }
    word address() const { return reinterpret_cast<word>(words.data()); }

private:
    static word nth(word number, unsigned k) {
        return k ? (number + k) * 0x9e3779b97f4a7c15u : number;
    }
};

inline word number_at(word address) {
    return value_words == 1 ? address : long_value::of(reinterpret_cast<const word*>(address));
}

// Items that a call reads or fills in, n of them; nullptr: none.
class long_items {
public:
    long_items(const lath_item* in, std::size_t n) : from_(in), n_(in ? n : 0) {
        if (value_words == 1)
            return;
        items_.assign(in, in + n_);
        values_.resize(n_);
        for (std::size_t i = 0; i < n_; i++) {
            values_[i] = long_value(in[i].value);
            items_[i].value = values_[i].address();
        }
    }
    const lath_item* in() { return value_words == 1 || !n_ ? from_ : items_.data(); }
    lath_item* out() { return const_cast<lath_item*>(in()); }
    // What the call has filled in.
    void give(lath_item* to) {
        for (std::size_t i = 0; value_words > 1 && i < n_; i++)
            to[i] = {items_[i].key, items_[i].size, values_[i].number()};
    }

private:
    const lath_item* from_;
    std::size_t n_;
    std::vector<lath_item> items_;
    std::vector<long_value> values_;
};

// An argument of a call, as the index wants it.
template <class T>
struct argument {
    T value;
    explicit argument(T it) : value(it) {}
    T pass() { return value; }
};
template <>
struct argument<const lath_item*> {
    long_items items;
    explicit argument(const lath_item* it) : items(it, 1) {}
    const lath_item* pass() { return items.in(); }
};
template <>
struct argument<lath_item*> {
    lath_item* to;
    long_items items;
    explicit argument(lath_item* it) : to(it), items(it, 1) {}
    ~argument() { items.give(to); }
    lath_item* pass() { return items.out(); }
};

// A call with items, one by one: shown, or filled in.
template <auto call>
struct of_items;
template <class R, class... A, R (*call)(A...)>
struct of_items<call> {
    static R make(A... a) {
        std::tuple<argument<A>...> all{a...};
        return std::apply([](auto&... one) { return call(one.pass()...); }, all);
    }
};

// A callback that is told items.
struct told {
    lath_item_fn each;
    void* arg;
    static void tell(void* arg, const lath_item* item) {
        const auto* to = static_cast<const told*>(arg);
        const lath_item shown{item->key, item->size, number_at(item->value)};
        to->each(to->arg, &shown);
    }
    lath_item_fn fn() const { return each ? tell : nullptr; }
};

struct index_api {
#define INDEX_CALL(name) static constexpr auto name = lath_index_##name;
    INDEX_CALL(resize)
    INDEX_CALL(count_range)
    INDEX_CALL(count)
    INDEX_CALL(find_hole)
    INDEX_CALL(insert_hole)
    INDEX_CALL(hole_stats)
#undef INDEX_CALL
#define INDEX_CALL(name) static constexpr auto name = of_items<lath_index_##name>::make;
    INDEX_CALL(insert_item)
    INDEX_CALL(insert_preloaded)
    INDEX_CALL(erase_item)
    INDEX_CALL(erase_item_at)
    INDEX_CALL(erase_sized)
    INDEX_CALL(erase_part)
    INDEX_CALL(lookup_item)
    INDEX_CALL(lookup_item_rcu)
    INDEX_CALL(lookup_pin)
    INDEX_CALL(overlap_item)
    INDEX_CALL(ceiling_item)
    INDEX_CALL(floor_item)
    INDEX_CALL(select)
#undef INDEX_CALL
#define CURSOR_CALL(name) static constexpr auto cursor_##name = of_items<lath_cursor_##name>::make;
    CURSOR_CALL(seek)
    CURSOR_CALL(seek_floor)
    CURSOR_CALL(next)
    CURSOR_CALL(prev)
    CURSOR_CALL(locked_floor)
    CURSOR_CALL(insert)
    CURSOR_CALL(erase)
#undef CURSOR_CALL

    // A value by itself.
    static word by_itself(word number, const long_value& value) {
        return value_words == 1 ? number : value.address();
    }
    static int replace_item(lath_index* it, word key, word value, lath_item* old) {
        return of_items<lath_index_replace_item>::make(it, key, by_itself(value, long_value(value)),
                                                       old);
    }
    static int replace_if(lath_index* it, word key, word expected, word value, lath_item* there) {
        return of_items<lath_index_replace_if>::make(it, key,
                                                     by_itself(expected, long_value(expected)),
                                                     by_itself(value, long_value(value)), there);
    }
    static int erase_if(lath_index* it, word key, word expected, lath_item* there) {
        return of_items<lath_index_erase_if>::make(
            it, key, by_itself(expected, long_value(expected)), there);
    }
    static int split(lath_index* it, word at, word value) {
        return lath_index_split(it, at, by_itself(value, long_value(value)));
    }
    static int get(lath_index* it, word point, word* value) {
        long_value there;
        const int ret = lath_index_get(it, point, there.words.data());
        *value = ret ? there.number() : *value;
        return ret;
    }

    // Many.
    static std::size_t insert_batch(lath_index* it, std::size_t n, const lath_item* items,
                                    int* results) {
        return lath_index_insert_batch(it, n, long_items(items, n).in(), results);
    }
    static int load_sorted(lath_index* it, std::size_t n, const lath_item* items,
                           std::size_t* bad) {
        return lath_index_load_sorted(it, n, long_items(items, n).in(), bad);
    }
    static void numbers(const std::vector<word>& words, word* to, std::size_t n) {
        for (std::size_t i = 0; i < n; i++)
            to[i] = long_value::of(&words[i * value_words]);
    }
    static std::size_t get_batch(lath_index* it, std::size_t n, const word* points, word* values,
                                 std::uint8_t* hits) {
        std::vector<word> words(n * value_words + 1);
        const std::size_t ret = lath_index_get_batch(it, n, points, words.data(), hits);
        numbers(words, values, n);
        return ret;
    }
    static std::size_t scan_values(lath_index* it, word from, word last, word* keys, word* values,
                                   std::size_t max, word* next) {
        std::vector<word> words(max * value_words + 1);
        const std::size_t n = lath_index_scan_values(it, from, last, keys, words.data(), max, next);
        numbers(words, values, n);
        return n;
    }
    static int visit_values(lath_index* it, word from, word last, std::size_t expected,
                            lath_visit_fn visit, void* arg) {
        std::pair<lath_visit_fn, void*> to{visit, arg};
        auto each = [](void* with, const word* keys, const word* values, std::size_t n) {
            const auto* by = static_cast<const std::pair<lath_visit_fn, void*>*>(with);
            std::vector<word> shown(n);
            numbers({values, values + n * value_words}, shown.data(), n);
            return by->first(by->second, keys, shown.data(), n);
        };
        return lath_index_visit_values(it, from, last, expected, each, &to);
    }
    template <auto call>
    static std::size_t scan_by(lath_index* it, word from, word last, lath_item* items,
                               std::size_t max, word* next) {
        long_items all(items, max);
        const std::size_t n = call(it, from, last, all.out(), max, next);
        all.give(items);
        return n;
    }
    static constexpr auto scan = scan_by<lath_index_scan>,
                          scan_back = scan_by<lath_index_scan_back>;

    // Those that tell what they erase.
    static std::int64_t erase_range(lath_index* it, word key, word size, lath_item_fn each,
                                    void* arg) {
        told to{each, arg};
        return lath_index_erase_range(it, key, size, to.fn(), &to);
    }
    static std::int64_t clear(lath_index* it, lath_item_fn each, void* arg) {
        told to{each, arg};
        return lath_index_clear(it, to.fn(), &to);
    }
    static int store_range(lath_index* it, const lath_item* item, lath_item_fn each, void* arg) {
        told to{each, arg};
        return lath_index_store_range(it, long_items(item, 1).in(), to.fn(), &to);
    }
    static void fini(lath_index* it, lath_item_fn each, void* arg) {
        told to{each, arg};
        lath_index_fini(it, to.fn(), &to);
    }
    using join_fn = int (*)(void*, const lath_item*, const lath_item*);
    static int join(lath_index* it, word at, join_fn may, void* arg, lath_item* gone) {
        std::pair<join_fn, void*> to{may, arg};
        auto ask = [](void* with, const lath_item* left, const lath_item* right) {
            const auto* by = static_cast<const std::pair<join_fn, void*>*>(with);
            const lath_item both[] = {{left->key, left->size, number_at(left->value)},
                                      {right->key, right->size, number_at(right->value)}};
            return by->first(by->second, &both[0], &both[1]);
        };
        return of_items<lath_index_join>::make(it, at, ask, &to, gone);
    }
};

} // namespace calls
