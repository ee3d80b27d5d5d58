// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Filling an empty container, level by level, without an insert per item.
#include "held.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

namespace lathpy {

namespace {

// Objects are looked at in the order of their keys, in which they do not lie: the cache lines of
// those this many places ahead are loaded.
constexpr size_t ahead = 16;

// The order of two texts, which runs no code of theirs: a stable sort relies on an order.
bool before(const Item& a, const Item& b) {
    char *left, *right;
    Py_ssize_t left_size, right_size;

    if (PyUnicode_Check(a.order()))
        return PyUnicode_Compare(a.order(), b.order()) < 0;
    if (PyBytes_AsStringAndSize(a.order(), &left, &left_size) ||
        PyBytes_AsStringAndSize(b.order(), &right, &right_size))
        throw nb::python_error();
    return std::string_view(left, static_cast<size_t>(left_size)) <
           std::string_view(right, static_cast<size_t>(right_size));
}

// Sorts texts that have more than `depth` bytes and agree in those before; equal ones stay in their
// order. Most are told apart by the next bytes, without a comparison of texts.
void sort_texts(Kind kind, size_t depth, Item* items, size_t n) {
    if (n < 16) { // not worth the codes
        std::stable_sort(items, items + n, before);
        return;
    }
    std::vector<Item> from(items, items + n);
    std::vector<lath_item> order;

    order.reserve(n);
    for (size_t i = 0; i < n; i++)
        order.push_back({encode(kind, KeyView(from[i].order()), depth).code, 1, i});
    sort_by_code(order);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && order[end].key == order[i].key; end++)
            items[end] = from[order[end].value];
        std::stable_sort(items + i, items + end, before);
    }
}

} // namespace

void free_words(const std::vector<lath_item>& words) {
    auto each = [](void*, const lath_item* item) { free_words({*item}); };

    for (const lath_item& item : words) {
        free_block(item.value);
        if (tag_of(item.value) == Tag::level) {
            level_of(item.value)->close(each, nullptr);
            delete level_of(item.value);
        }
    }
}

void sort_by_code(std::vector<lath_item>& items) {
    constexpr unsigned bits = 11, digits = (64 + bits - 1) / bits;
    if (items.size() < 1u << bits) { // not worth the counters
        std::stable_sort(items.begin(), items.end(),
                         [](auto& a, auto& b) { return a.key < b.key; });
        return;
    }
    std::vector<std::array<size_t, 1u << bits>> counts(digits);
    std::vector<lath_item> other(items.size());

    for (const lath_item& item : items)
        for (unsigned digit = 0; digit < digits; digit++)
            counts[digit][item.key >> digit * bits & ((1u << bits) - 1)]++;
    for (unsigned digit = 0; digit < digits; digit++) {
        auto place = [=](uint64_t key) { return key >> digit * bits & ((1u << bits) - 1); };
        if (items.empty() || counts[digit][place(items[0].key)] == items.size())
            continue; // all have the same digit
        size_t sum = 0;
        for (size_t& count : counts[digit])
            sum += std::exchange(count, sum);
        for (const lath_item& item : items)
            other[counts[digit][place(item.key)]++] = item;
        items.swap(other);
    }
}

// A bucket of n equal keys without values, given their code.
static Word equal_keys(Kind kind, uint64_t code, size_t n) {
    nb::object key = decode(kind, code);
    std::vector<Item> items(n, Item{nullptr, key.ptr(), nullptr});
    Word word = word_of(Bucket::make(items.data(), n), Tag::bucket);

    for (size_t i = 0; i < n; i++)
        Py_INCREF(key.ptr());
    return word;
}

// Fills the empty root with sorted words of `count` items. taken: references of buckets among them.
void Sorted::load_words(Kind with, const std::vector<lath_item>& words, uint64_t count,
                        uint64_t taken) {
    conceal();
    must(LATH_CORE(lath_index_load_sorted(&root->index, words.size(), words.data(), nullptr)),
         "lath_index_load_sorted");
    kind = with;
    root->count = count;
    version++;
    held = taken;
    for (const lath_item& item : words)
        held += tag_of(item.value) == Tag::object;
    reveal();
}

void Sorted::load(Kind with, OwnedItems& items) {
    auto same = [](const lath_item& a, const lath_item& b) { return a.key == b.key; };

    sort_by_code(items);
    if (std::adjacent_find(items.begin(), items.end(), same) == items.end()) {
        load_words(with, items, items.size(), 0);
        items.clear(); // the index owns the references now
    } else {
        load_equal(with, items);
    }
}

// load() of sorted items some of which have equal keys.
void Sorted::load_equal(Kind with, OwnedItems& items) {
    std::vector<lath_item> words;
    OwnedItems replaced; // by a later value of the same key
    uint64_t taken = 0;

    try {
        words.reserve(items.size());
        replaced.reserve(items.size());
        for (size_t i = 0, end; i < items.size(); i = end) {
            for (end = i + 1; end < items.size() && items[end].key == items[i].key; end++)
                ;
            words.push_back(items[end - 1]);
            if (twins && end - i > 1) {
                words.back().value = equal_keys(with, items[i].key, end - i);
                taken += end - i;
                root->extras.add(items[i].key, static_cast<int64_t>(end - i) - 1);
            }
        }
        load_words(with, words, twins ? items.size() : words.size(), taken);
    } catch (...) {
        root->extras.clear();
        for (const lath_item& item : words)
            if (tag_of(item.value) == Tag::bucket) {
                bucket_of(item.value)->each([](const Item& equal) {
                    Py_DECREF(equal.key);
                    return 0;
                });
                bucket_of(item.value)->free();
            }
        throw;
    }
    for (size_t i = 0; i + 1 < items.size(); i++)
        if (items[i].key == items[i + 1].key)
            replaced.push_back(items[i]);
    items.clear(); // the index owns the references now
}

// The word of *n > 0 items of one code. Of equal keys that must not be there twice one stays, with
// the last value: *n is then less. The reference of what is not kept is added to *gone, which has
// room for it. chosen: the items are in order, and all to be kept.
Word Sorted::build_word(uint64_t code, size_t depth, Item* items, size_t* n, bool chosen,
                        std::vector<PyObject*>* gone) {
    bool whole = ends_here(code); // all texts are equal
    auto value_word = [=] { // has the item's reference, or the number
        Word word = pack(items->value);
        if (tag_of(word) == Tag::object)
            Py_DECREF(items->value);
        else
            gone->push_back(items->value);
        return word;
    };

    if (!whole && !chosen)
        sort_texts(kind, depth + level_bytes, items, *n);
    if (!twins && plain && !chosen) {
        size_t used = 0;
        for (size_t i = 1; i < *n; i++) {
            if (before(items[used], items[i])) {
                items[++used] = items[i];
                continue;
            }
            gone->push_back(items[i].key);
            if (values)
                gone->push_back(std::exchange(items[used].value, items[i].value));
        }
        *n = used + 1;
    }
    if (*n == 1 && whole && depth == 0 && plain) {
        gone->push_back(items->key);
        return values ? value_word() : no_value;
    }
    if (*n == 1 && has_lone_keys() && values) {
        Word word = make_entry(items->key, no_value);
        entry_of(word)->value = value_word();
        return word;
    }
    if (*n == 1 && has_lone_keys())
        return word_of(items->key, Tag::object);
    if (*n > nest_at && !whole && (kind > Kind::object || before(items[0], items[*n - 1])))
        return word_of(build(depth + level_bytes, items, *n, true, gone), Tag::level);
    return word_of(Bucket::make(items, *n), Tag::bucket);
}

// A level of texts, in any order. It takes their references over, but those in *gone; none if it
// throws std::bad_alloc.
Level* Sorted::build(size_t depth, const Item* items, size_t n, bool chosen,
                     std::vector<PyObject*>* gone) {
    std::vector<lath_item> order, words;
    std::vector<Item> sorted;
    Level* level = new Level(depth);

    try {
        order.reserve(n);
        sorted.reserve(n);
        for (size_t i = 0; i < n; i++)
            order.push_back({encode(kind, KeyView(items[i].order()), depth).code, 1, i});
        sort_by_code(order);
        for (const lath_item& item : order)
            sorted.push_back(items[item.value]);
        for (size_t i = 0, next; i < n; i = next) {
            if (i + ahead < n && sorted[i + ahead].value) // whether it is a small int is asked
                __builtin_prefetch(sorted[i + ahead].value);
            for (next = i + 1; next < n && order[next].key == order[i].key; next++)
                ;
            size_t here = next - i;
            words.push_back({order[i].key, 1, no_value});
            words.back().value = build_word(order[i].key, depth, &sorted[i], &here, chosen, gone);
            level->extras.add(order[i].key, static_cast<int64_t>(here) - 1);
            level->count += here;
        }
        must(LATH_CORE(lath_index_load_sorted(&level->index, words.size(), words.data(), nullptr)),
             "lath_index_load_sorted");
    } catch (...) {
        free_words(words);
        delete level;
        throw;
    }
    return level;
}

void Sorted::load_texts(Kind with, std::vector<Item>& items) {
    std::vector<PyObject*> gone;
    uint64_t taken = 0;

    gone.reserve(2 * items.size());
    conceal();
    kind = with;
    Level* level = build(0, items.data(), items.size(), false, &gone);
    delete std::exchange(root, level);
    version++;
    for (const Item& item : items)
        taken += references(item);
    items.clear();
    held = taken - gone.size();
    reveal();
    for (size_t i = 0; i < gone.size(); i++) {
        if (i + ahead < gone.size())
            __builtin_prefetch(gone[i + ahead]);
        release(gone[i]);
    }
}

} // namespace lathpy
