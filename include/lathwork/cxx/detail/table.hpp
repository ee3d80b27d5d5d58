// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/detail/table.hpp - what the containers keep their entries in: an index of words
// (lathwork/index.h), of points or of ranges, or a set of byte strings (lathwork/bytes.h), with the
// same members.
//
// index.hpp and point_map.hpp include it; a program has no reason to do so itself.
//
//   lathwork::detail::table_of<int, int, std::less<>>::type t(lathwork::default_config());
//   auto made = t.make(1, 10);
//   int error = t.insert(made);
//
// Errors: members return 0 or a negative errno, as the C calls do.
#ifndef LATHWORK_CXX_DETAIL_TABLE_HPP
#define LATHWORK_CXX_DETAIL_TABLE_HPP

#include "lathwork/bytes.h"
#include "lathwork/cxx/items.hpp"
#include "lathwork/cxx/key_code.hpp"

#include <algorithm>
#include <span>
#include <string_view>

namespace lathwork::detail {

// What a search finds. Good in the section of the search. Of bytes it is the word alone.
template <typename Word>
struct found_entry {
    std::uint64_t code, size;
    Word word;
};

// A box of a point_map. Code: the bytes of the key, if the key does not have them itself.
struct no_code {};
template <typename K, typename V, typename Code>
struct record {
    std::pair<const K, V> entry;
    [[no_unique_address]] Code code{};
    template <typename... Args>
    explicit record(Args&&... args) : entry(std::forward<Args>(args)...) {
        if constexpr (!std::is_same_v<Code, no_code>)
            code = key_code<K>::encode(entry.first);
    }
};

template <typename K, typename V, typename Code>
inline constexpr bool is_plain<record<K, V, Code>> = is_plain<K> && is_plain<V>;

// What the tables have in common: Words are of values, or of the boxes of values or entries.
template <typename Words>
class table_base {
public:
    using words = Words;
    using word = typename Words::word_type;
    using found = found_entry<word>;
    static constexpr bool in_boxes = !Words::direct;

    explicit table_base(const config& how)
        : values_(how), rcu_(how.rcu ? how.rcu : &lath_rcu_auto) {}
    table_base(const table_base&) = delete;
    table_base& operator=(const table_base&) = delete;
    // Of the construction: nothing else may be called if it is not 0.
    int error() const { return error_; }
    const lath_rcu* rcu() const { return rcu_; }
    Words& values() { return values_; }
    // The lines of a box, as far as an entry has its own.
    static void prefetch(const word& of) {
        for (std::size_t at = 0; at < std::min<std::size_t>(sizeof(*Words::box_of(of)), 128);
             at += 64)
            __builtin_prefetch(reinterpret_cast<const char*>(of) + at, 1);
    }
    // An iterator shows the box, or does not any more.
    static void hold(const word& of) { Words::box_of(of)->hold(); }
    static void release(const word& of) { Words::box_of(of)->release(); }

protected:
    ~table_base() = default;
    // What the C library calls for each item, with the address of the values; nullptr: no boxes.
    template <void (Words::*Call)(const word&), typename Item>
    static constexpr auto on_each =
        in_boxes
            ? [](void* values, Item item) { (static_cast<Words*>(values)->*Call)(Words::in(item)); }
            : static_cast<void (*)(void*, Item)>(nullptr);
    // The end; fini(), which is not locked, calls on_each<&Words::end>.
    void finish(auto fini) {
        if (error_)
            return;
        uncancelled end;
        values_.drain();
        fini();
        values_.end({});
    }
    Words values_;
    const lath_rcu* rcu_;
    int error_ = -ENOMEM;
};

// An index. Ranges: its items have sizes. Chunk: how many items a scan copies.
template <typename Words, bool Ranges, std::size_t Chunk>
class index_table : public table_base<Words> {
    using base = table_base<Words>;
    using base::error_;

protected:
    using base::values_;

public:
    using code = std::uint64_t;
    using base::in_boxes;
    using typename base::found;
    using typename base::word;

    explicit index_table(config how, lath_index* copied = nullptr) : base(how) {
        how.layout = Ranges ? LATH_RANGES : LATH_POINTS;
        how.value_size = sizeof(word);
        if (values_.ready())
            error_ =
                copied ? lath_index_clone(native(), copied, &how) : lath_index_init(native(), &how);
    }
    ~index_table() {
        this->finish([&] { lath_index_fini(native(), each_item<&Words::end>, &values_); });
    }
    lath_index* native() const { return &list_; }
    static code code_in(const found& f) { return f.code; }
    static bool precedes(code a, code b) { return a < b; }

    // A call that fills in an item: its result.
    template <typename Call>
    int item(Call call, code at, found& f) const {
        taken_item<word> to;
        const int error = call(native(), at, &to.item);
        f = {to.item.key, to.item.size, to.value()};
        return error;
    }
    // The first entry at *from, or behind it, or before it; from NULL: of all.
    bool seek(const code* from, bool back, bool behind, found& f) const {
        code at;
        return from_code(from, back, behind, at) &&
               item(back ? lath_index_floor_item : lath_index_ceiling_item, at, f) == 0;
    }
    // Entries of a scan, in columns.
    struct run {
        static constexpr std::size_t most = Chunk;
        std::array<std::uint64_t, most> codes;
        [[no_unique_address]] std::array<std::uint64_t, Ranges ? most : 0> sizes;
        std::array<word, most> words;
        found at(std::size_t i) const {
            if constexpr (Ranges)
                return {codes[i], sizes[i], words[i]};
            else
                return {codes[i], 1, words[i]};
        }
        void put(std::size_t i, const found& f) {
            codes[i] = f.code, words[i] = f.word;
            if constexpr (Ranges)
                sizes[i] = f.size;
        }
        void copy(const run& from, std::size_t n) {
            for (std::size_t i = 0; i < n; i++)
                put(i, from.at(i));
        }
    };
    // In order: at most n entries at or behind *from and before *stop; `back`: the last of those at
    // or before *from and not before *stop. Returns how many.
    std::size_t scan(const code* from, bool back, bool behind, const code* stop, run& to,
                     std::size_t n) const {
        code at;
        if (!from_code(from, back, behind, at) || (!back && stop && *stop == 0))
            return 0;
        const code limit = back ? (stop ? *stop : 0) : (stop ? *stop : 0) - 1;
        if constexpr (!Ranges)
            if (!back)
                return lath_index_scan_values(native(), at, limit, to.codes.data(),
                                              words_of(to.words[0]), n, nullptr);
        taken_items<word, Chunk> got;
        n = (back ? lath_index_scan_back : lath_index_scan)(native(), at, limit, got.items.data(),
                                                            n, nullptr);
        for (std::size_t i = 0; i < n; i++) {
            const lath_item& each = got.items[i];
            to.put(back ? n - 1 - i : i, {each.key, each.size, Words::in(&each)});
        }
        return n;
    }
    // If the entry is still `old`: 0 | -ENOENT | -ENOMEM
    int replace_if(const found& old, auto& by) {
        return by.value.taken(lath_index_replace_if(native(), old.code, given(old.word),
                                                    given(by.value.word()), nullptr));
    }
    int erase_if(const found& old) {
        return lath_index_erase_if(native(), old.code, given(old.word), nullptr);
    }
    // Erases what overlaps [first, first + size), retiring the values. Returns how many.
    std::uint64_t erase_sized(code first, std::uint64_t size) {
        return static_cast<std::uint64_t>(
            lath_index_erase_range(native(), first, size, each_item<&Words::retire>, &values_));
    }
    std::uint64_t erase_all() {
        return static_cast<std::uint64_t>(
            lath_index_clear(native(), each_item<&Words::retire>, &values_));
    }
    // Excludes all other calls.
    void clear() {
        lath_index_clear(native(), each_item<&Words::keep>, &values_);
        values_.destroy_all();
    }
    std::uint64_t count() const { return lath_index_count(native()); }
    // How many entries are before at: with LATH_RANKS, else -EINVAL.
    std::int64_t rank(code at) const { return lath_index_rank(native(), at); }
    bool select(std::uint64_t rank, found& f) const {
        return item(lath_index_select, rank, f) == 0;
    }
    int verify() const { return lath_index_verify(native(), 6, nullptr, 0); }

    static constexpr std::size_t step = 256; // elements of a batch per call of the index

private:
    // The first code that may be there; false: none.
    static bool from_code(const code* from, bool back, bool behind, code& at) {
        const code last = back ? 0 : ~code{0};
        at = from ? *from : ~last;
        if (!from || !behind)
            return true;
        if (at == last)
            return false;
        at += back ? ~code{0} : 1;
        return true;
    }
    template <void (Words::*Call)(const word&)>
    static constexpr lath_item_fn each_item = base::template on_each<Call, const lath_item*>;

    mutable lath_index list_;
};

// Of a range_map. Boxes are copied in the section.
template <typename T>
using range_words = value_words<T, stored_in_leaf<T>>;
template <typename T>
class range_table : public index_table<range_words<T>, true, stored_in_leaf<T> ? 16 : 1> {
    using base = index_table<range_words<T>, true, stored_in_leaf<T> ? 16 : 1>;

public:
    using typename base::found;
    using key_type = std::uint64_t;
    using key_arg = std::uint64_t;
    using entry = lathwork::entry<T>;
    using mapped_type = T;
    using gone = removed<T, T, base::words::direct>;
    using reference = const entry; // const: it->value = x would change a copy
    static constexpr bool direct = base::words::direct, copies = true;
    using base::base;

    static std::uint64_t code_of(std::uint64_t key) { return key; }
    static decltype(auto) value_of(const typename base::word& of) { return base::words::show(of); }
    struct made {
        typename base::words::made value{};
        explicit operator bool() const { return static_cast<bool>(value); }
    };
    // In place of `old`.
    template <typename... Args>
    made remake(const found& /*old*/, Args&&... args) {
        return {this->values_.make(std::forward<Args>(args)...)};
    }
    // What covers a key, in a section.
    bool get(std::uint64_t point, found& f) const {
        return this->item(lath_index_lookup_item_rcu, point, f) == 0;
    }
    static void copy_entry(const found& f, std::optional<entry>& to) {
        to.emplace(entry{range::sized(f.code, f.size), T(range_words<T>::show(f.word))});
    }
    static std::optional<entry> one(bool any, const found& f) {
        std::optional<entry> copy;
        if (any)
            copy_entry(f, copy);
        return copy;
    }
};

// What the tables of a point_map have in common.
template <typename K, typename V, typename Table>
class point_entries {
public:
    using key_type = K;
    using mapped_type = V;
    using key_arg = typename looked_up<K>::type;
    using entry = std::pair<const K, V>;
    // An entry in place of `old`, with another value.
    auto remake(const auto& old, auto&& value) {
        return Table::with_entry(old, [&](const K& key, const V&) {
            return static_cast<Table*>(this)->make(
                std::piecewise_construct, std::forward_as_tuple(key),
                std::forward_as_tuple(std::forward<decltype(value)>(value)));
        });
    }
    template <typename Found>
    static std::optional<entry> one(bool any, const Found& f) {
        if (!any)
            return std::nullopt;
        return Table::with_entry(f, [](const K& key, const V& value) {
            return std::optional<entry>(std::in_place, key, value);
        });
    }
};

template <typename K, typename V>
using words_of_points =
    value_words<std::conditional_t<stored_in_leaf<V>, V, record<K, V, no_code>>, stored_in_leaf<V>>;
template <typename K, typename V>
using index_of_points =
    index_table<words_of_points<K, V>, false,
                stored_in_leaf<V> && sizeof(typename words_of_points<K, V>::word_type) <= 16 ? 32
                                                                                             : 16>;

// Keys are words. Down: in descending order.
template <typename K, typename V, bool Down>
class word_table : public index_of_points<K, V>,
                   public point_entries<K, V, word_table<K, V, Down>> {
    using words = words_of_points<K, V>;
    using base = index_of_points<K, V>;
    using points = point_entries<K, V, word_table>;
    using base::values_;

public:
    using typename base::code;
    using typename base::found;
    using typename base::word;
    using typename points::entry;
    using typename points::key_arg;
    static constexpr bool direct = words::direct;
    static constexpr bool copies = direct;
    // Of what it has copied a copy, as it may be a temporary; const: it->second = x is wrong.
    using reference = std::conditional_t<direct, const entry, const entry&>;
    using gone = removed<V, std::conditional_t<direct, V, record<K, V, no_code>>, direct>;
    // A section, if what is found in it lies in boxes.
    struct no_section {
        explicit no_section(const lath_rcu* /*rcu*/) {}
    };
    using reader = std::conditional_t<direct, no_section, detail::reader>;
    using base::base;
    using base::native;
    using base::step;

    static code code_of(key_arg key) {
        return Down ? ~key_code<K>::encode(key) : key_code<K>::encode(key);
    }
    static void copy_entry(const found& f, std::optional<entry>& to) {
        to.emplace(key_code<K>::decode(Down ? ~f.code : f.code), words::show(f.word));
    }
    static const entry& entry_of(const found& f) { return words::show(f.word).entry; }
    static decltype(auto) value_of(const word& of) {
        if constexpr (direct)
            return words::show(of);
        else
            return (words::show(of).entry.second);
    }
    // fn(const K&, const V&)
    template <typename Fn>
    static decltype(auto) with_entry(const found& f, Fn&& fn) {
        if constexpr (direct)
            return fn(key_code<K>::decode(Down ? ~f.code : f.code), words::show(f.word));
        else
            return fn(words::show(f.word).entry.first, words::show(f.word).entry.second);
    }

    // An entry that the table does not have yet.
    struct made {
        typename words::made value{};
        code at = 0;
        explicit operator bool() const { return static_cast<bool>(value); }
        found shown() const { return {at, 1, value.word()}; }
    };
    // Of the arguments of a pair.
    template <typename... Args>
    made make(Args&&... args) {
        if constexpr (direct) {
            const std::pair<K, V> of(std::forward<Args>(args)...);
            return {values_.make(of.second), code_of(of.first)};
        } else {
            made fresh{values_.make(std::forward<Args>(args)...)};
            if (fresh)
                fresh.at = code_of(words::show(fresh.value.word()).entry.first);
            return fresh;
        }
    }
    // In a section, if it is to look at the value.
    bool get(code at, found& to) const {
        if constexpr (!direct)
            return this->item(lath_index_lookup_item_rcu, at, to) == 0;
        to.code = at;
        return lath_index_get(native(), at, words_of(to.word)) != 0;
    }
    template <typename Each>
    void get_batch(std::span<const K> keys, Each each) const {
        std::array<code, step> codes;
        std::array<word, step> found_words{};
        std::array<std::uint8_t, step> hits;
        std::transform(keys.begin(), keys.end(), codes.begin(), code_of);
        lath_index_get_batch(native(), keys.size(), codes.data(), words_of(found_words[0]),
                             hits.data());
        for (std::size_t i = 0; i < keys.size(); i++)
            each(i, hits[i] != 0, found_words[i]);
    }
    int insert(made& of) {
        lath_item item{of.at, 1, given(of.value.word())};
        return of.value.taken(lath_index_insert_item(native(), &item, nullptr));
    }
    // At most `step` elements. Return how many went in, or out; codes[i] as the single calls.
    std::size_t insert_batch(std::span<const std::pair<K, V>> entries, int* codes) {
        std::array<lath_item, step> items;
        std::array<word, step> packed;
        for (std::size_t i = 0; i < entries.size(); i++) {
            packed[i] = pack(entries[i].second);
            items[i] = {code_of(entries[i].first), 1, given(packed[i])};
        }
        return lath_index_insert_batch(native(), entries.size(), items.data(), codes);
    }
    int replace(made& by, word& old) {
        taken_item<word> was;
        int error = lath_index_replace_item(native(), by.at, given(by.value.word()), &was.item);
        old = was.value();
        return by.value.taken(error);
    }
    int erase(code at, word& old) {
        found was;
        const int error = this->item(lath_index_erase_item, at, was);
        old = was.word;
        return error;
    }
    // Erases what is at or behind `first` and before *end. Returns how many.
    std::uint64_t erase_range(code first, const code* end) {
        if (end && *end <= first)
            return 0;
        return first || end ? this->erase_sized(first, (end ? *end : 0) - first)
                            : this->erase_all();
    }
};

// Keys are bytes, which the boxes have.
template <typename K>
using bytes_code = decltype(key_code<K>::encode(std::declval<typename looked_up<K>::type>()));
template <typename K, typename V>
using bytes_record = record<
    K, V,
    std::conditional_t<std::is_same_v<bytes_code<K>, std::string_view>, no_code, bytes_code<K>>>;

template <typename K, typename V, bool Down>
class byte_table : public table_base<value_words<bytes_record<K, V>, false>>,
                   public point_entries<K, V, byte_table<K, V, Down>> {
    using stored = bytes_record<K, V>;
    using words = value_words<stored, false>;
    using base = table_base<words>;
    using points = point_entries<K, V, byte_table>;
    using base::error_;
    using base::rcu_;
    using base::values_;

public:
    using typename base::found;
    using typename base::word;
    using typename points::entry;
    using typename points::key_arg;
    using code = bytes_code<K>;
    using gone = removed<V, stored, false>;
    using reader = detail::reader;
    static constexpr bool direct = false, copies = false;
    using reference = const entry&;

    explicit byte_table(const config& how) : base(how) {
        const lath_bytes_records records{key_of_box, nullptr, 0};
        if (values_.ready())
            error_ = lath_bytes_init(native(), &records, &how);
    }
    ~byte_table() {
        this->finish([&] {
            lath_bytes_fini(native(), base::template on_each<&words::end, word>, &values_);
        });
    }
    lath_bytes* native() const { return &set_; }

    static code code_of(key_arg key) { return key_code<K>::encode(key); }
    static bool precedes(const code& a, const code& b) {
        return Down ? view_of(b) < view_of(a) : view_of(a) < view_of(b);
    }
    static const entry& entry_of(const found& f) { return words::show(f.word).entry; }
    static decltype(auto) code_in(const found& f) { return bytes_in(f.word); }
    static const V& value_of(word of) { return words::show(of).entry.second; }
    template <typename Fn>
    static decltype(auto) with_entry(const found& f, Fn&& fn) {
        return fn(entry_of(f).first, entry_of(f).second);
    }

    struct made {
        typename words::made value;
        explicit operator bool() const { return static_cast<bool>(value); }
        found shown() const { return {0, 0, value.word()}; }
    };
    template <typename... Args>
    made make(Args&&... args) {
        return {values_.make(std::forward<Args>(args)...)};
    }
    bool get(const code& at, found& to) const {
        lath_bytes_key key = bytes_of(at);
        return lath_bytes_get(native(), &key, &to.word) != 0;
    }
    template <typename Each>
    void get_batch(std::span<const K> keys, Each each) const {
        std::array<std::optional<code>, step> codes;
        std::array<lath_bytes_key, step> bytes{};
        std::array<std::uint64_t, step> found_words{};
        for (std::size_t i = 0; i < keys.size(); i++)
            bytes[i] = bytes_of(codes[i].emplace(code_of(keys[i])));
        lath_bytes_get_batch(native(), keys.size(), bytes.data(), found_words.data());
        for (std::size_t i = 0; i < keys.size(); i++)
            each(i, found_words[i] != 0, found_words[i]);
    }
    bool seek(const code* from, bool back, bool behind, found& f) const {
        return scan_words(from, back, behind, &f.word, 1) == 1;
    }
    struct run {
        static constexpr std::size_t most = 16;
        std::array<word, most> words;
        found at(std::size_t i) const { return {0, 0, words[i]}; }
        void put(std::size_t i, const found& f) { words[i] = f.word; }
        void copy(const run& from, std::size_t n) {
            std::copy_n(from.words.begin(), n, words.begin());
        }
    };
    std::size_t scan(const code* from, bool back, bool behind, const code* stop, run& to,
                     std::size_t n) const {
        n = scan_words(from, back, behind, to.words.data(), n);
        while (stop && n && precedes(code_in(to.at(n - 1)), *stop) == back)
            n--;
        if (back)
            std::reverse(to.words.begin(), to.words.begin() + static_cast<std::ptrdiff_t>(n));
        return n;
    }

    int insert(made& of) {
        return of.value.taken(lath_bytes_insert(native(), of.value.word(), nullptr));
    }
    int replace(made& by, std::uint64_t& old) {
        return by.value.taken(lath_bytes_replace(native(), by.value.word(), &old));
    }
    int replace_if(const found& old, made& by) {
        return by.value.taken(lath_bytes_replace_if(native(), old.word, by.value.word(), nullptr));
    }
    int erase(const code& at, std::uint64_t& old) {
        lath_bytes_key key = bytes_of(at);
        return lath_bytes_erase(native(), &key, &old);
    }
    int erase_if(const found& old) { return lath_bytes_erase_if(native(), old.word, nullptr); }
    std::uint64_t erase_range(const code& first, const code* end) {
        std::uint64_t n = 0;
        reader inside(rcu_); // what has been found is not freed before it is erased
        for (found f; seek(&first, false, false, f) && (!end || precedes(code_in(f), *end));)
            if (erase_if(f) == 0) {
                values_.retire(f.word);
                n++;
            }
        return n;
    }
    void clear() {
        lath_bytes_clear(native(), base::template on_each<&words::keep, word>, &values_);
        values_.destroy_all();
    }
    std::uint64_t count() const { return lath_bytes_count(native()); }
    std::int64_t rank(const code& at) const {
        lath_bytes_key key = bytes_of(at);
        std::int64_t below = lath_bytes_rank(native(), &key, Down * unsigned{LATH_BYTES_BEHIND});
        return Down && below >= 0 ? static_cast<std::int64_t>(count()) - below : below;
    }
    bool select(std::uint64_t rank, found& f) const {
        if constexpr (Down) {
            std::uint64_t n = count();
            if (rank >= n)
                return false;
            rank = n - 1 - rank;
        }
        return lath_bytes_select(native(), rank, &f.word) == 0;
    }
    int verify() const { return lath_bytes_verify(native(), nullptr, 0); }

    static constexpr std::size_t step = 64;

private:
    std::size_t scan_words(const code* from, bool back, bool behind, word* to,
                           std::size_t n) const {
        lath_bytes_key key{};
        if (from)
            key = bytes_of(*from);
        const unsigned flags = (back != Down ? unsigned{LATH_BYTES_BACK} : 0) |
                               (from && behind ? unsigned{LATH_BYTES_BEHIND} : 0);
        return lath_bytes_scan(native(), from ? &key : nullptr, flags, to, n);
    }
    template <typename Bytes>
    static lath_bytes_key bytes_of(const Bytes& bytes) {
        return {std::data(bytes), std::size(bytes), 0};
    }
    static std::string_view view_of(const auto& bytes) {
        return {std::data(bytes), std::size(bytes)};
    }
    static decltype(auto) bytes_in(std::uint64_t box) {
        if constexpr (std::is_same_v<code, std::string_view>)
            return code_of(words::show(box).entry.first);
        else
            return (words::show(box).code);
    }
    static void key_of_box(void* /*ctx*/, std::uint64_t box, lath_bytes_key* key) {
        *key = bytes_of(bytes_in(box));
    }
    mutable lath_bytes set_;
};

template <typename K, typename V, typename Compare>
struct table_of {
    static_assert(map_key<K>,
                  "lathwork: this key type has no code: specialise lathwork::key_code<K> "
                  "(lathwork/cxx/key_code.hpp)");
    static_assert(ascending<Compare, K> || descending<Compare, K>,
                  "lathwork: keys are ordered by their codes: Compare is std::less or "
                  "std::greater; for another order specialise lathwork::key_code<K>");
    static_assert(std::is_object_v<V>,
                  "lathwork: a value is an object; for references use pointers");
    static constexpr bool down = descending<Compare, K>;
    using type = std::conditional_t<word_key<K>, std::type_identity<word_table<K, V, down>>,
                                    std::type_identity<byte_table<K, V, down>>>::type;
};

} // namespace lathwork::detail

#endif // LATHWORK_CXX_DETAIL_TABLE_HPP
