// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/detail/table.hpp - what a point_map keeps its entries in: an index of words
// (lathwork/index.h) or a set of byte strings (lathwork/bytes.h), with the same members.
//
// point_map.hpp includes it; a program has no reason to do so itself.
//
//   lathwork::detail::table_of<int, int, false> t(lathwork::default_config());
//   auto value = t.make(1, 10);
//   if (t.insert(t.code_of(1), value) == 0)
//       value.taken();
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

// What a search finds. Good in the section of the search.
template <typename Word>
struct found_entry {
    std::uint64_t code; // of words
    Word word;
};

// Keys are words. Down: in descending order.
template <typename K, typename V, bool Down>
class word_table {
    using words = value_words<V, stored_in_leaf<V>>;

public:
    using key_arg = typename looked_up<K>::type;
    using code = std::uint64_t;
    using word = typename words::word_type;
    using found = found_entry<word>;
    using made = typename words::made;
    using gone = removed<V, V, words::direct>;
    using native_type = lath_index;
    static constexpr bool direct = words::direct;
    static constexpr std::size_t chunk = direct ? (sizeof(word) <= 16 ? 32 : 16) : 1;

    explicit word_table(config how) : values_(how), rcu_(how.rcu ? how.rcu : &lath_rcu_auto) {
        how.layout = LATH_POINTS;
        how.value_size = sizeof(word);
        error_ = values_.ready() ? lath_index_init(native(), &how) : -ENOMEM;
    }
    // A copy of `other`, which is read as an iterator does.
    word_table(const word_table& other, config how)
        requires direct
        : values_(how), rcu_(other.rcu_) {
        how.layout = LATH_POINTS;
        how.value_size = sizeof(word);
        error_ = lath_index_clone(native(), other.native(), &how);
    }
    word_table(const word_table&) = delete;
    word_table& operator=(const word_table&) = delete;
    ~word_table() {
        if (error_)
            return;
        uncancelled end;
        lath_index_fini(native(), direct ? nullptr : keep_each, this);
        values_.drain(); // when the index is gone: ~V may end another map
    }
    // Of the construction: nothing else may be called if it is not 0.
    int error() const { return error_; }
    const lath_rcu* rcu() const { return rcu_; }
    lath_index* native() const { return &list_; }

    static code code_of(key_arg key) {
        return Down ? ~key_code<K>::encode(key) : key_code<K>::encode(key);
    }
    static bool precedes(key_arg a, key_arg b) { return code_of(a) < code_of(b); }
    static K key_of(const found& f) { return key_code<K>::decode(Down ? ~f.code : f.code); }
    static K key_in(const found& f) { return key_of(f); }
    static decltype(auto) value_of(const word& of) { return words::show(of); }

    template <typename... Args>
    made make(key_arg /*key*/, Args&&... args) {
        return values_.make(std::forward<Args>(args)...);
    }
    // In a section, if it is to look at the value.
    bool get(code at, word& to) const {
        if constexpr (direct) {
            return lath_index_get(native(), at, words_of(to)) != 0;
        } else {
            lath_item item;
            if (lath_index_lookup_item_rcu(native(), at, &item) != 0)
                return false;
            to = item.value;
            return true;
        }
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
    // The first entry at *from, or behind it, or before it; from NULL: of all.
    bool seek(const code* from, bool back, bool behind, found& f) const {
        const std::uint64_t last = back ? 0 : UINT64_MAX;
        std::uint64_t at = from ? *from : ~last;
        if (behind) {
            if (at == last)
                return false;
            at = back ? at - 1 : at + 1;
        }
        taken_item<word> to;
        if ((back ? lath_index_floor_item : lath_index_ceiling_item)(native(), at, &to.item) != 0)
            return false;
        f = {to.item.key, to.value()};
        return true;
    }
    // Entries of a scan, in columns.
    struct run {
        static constexpr std::size_t most = direct ? chunk : 16;
        std::array<std::uint64_t, most> codes;
        std::array<word, most> words;
        found at(std::size_t i) const { return {codes[i], words[i]}; }
    };
    // At most n entries at or behind *from and before *end, in order. Returns how many.
    std::size_t scan(const code* from, bool behind, const code* end, run& to, std::size_t n) const {
        std::uint64_t at = from ? *from : 0;
        if ((behind && at == UINT64_MAX) || (end && *end == 0))
            return 0;
        return lath_index_scan_values(native(), at + behind, end ? *end - 1 : UINT64_MAX,
                                      to.codes.data(), words_of(to.words[0]), n, nullptr);
    }

    int insert(code at, const made& value) {
        lath_item item{at, 1, given(value.word())};
        return lath_index_insert_item(native(), &item, nullptr);
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
    std::size_t erase_batch(std::span<const K> keys, int* codes) {
        std::array<code, step> at;
        std::transform(keys.begin(), keys.end(), at.begin(), code_of);
        return lath_index_erase_batch(native(), keys.size(), at.data(), codes);
    }
    int replace(code at, const made& value, word& old) {
        taken_item<word> was;
        int error = lath_index_replace_item(native(), at, given(value.word()), &was.item);
        old = was.value();
        return error;
    }
    int replace_if(code at, const word& expected, const made& value) {
        return lath_index_replace_if(native(), at, given(expected), given(value.word()), nullptr);
    }
    int erase(code at, word& old) {
        taken_item<word> was;
        int error = lath_index_erase_item(native(), at, &was.item);
        old = was.value();
        return error;
    }
    int erase_if(code at, const word& expected) {
        return lath_index_erase_if(native(), at, given(expected), nullptr);
    }
    // Erases what is at or behind `first` and before *end. Returns how many.
    std::uint64_t erase_range(code first, const code* end) {
        if (end && *end <= first)
            return 0;
        lath_item_fn each = direct ? nullptr : retire_each;
        if (first == 0 && !end)
            return static_cast<std::uint64_t>(lath_index_clear(native(), each, this));
        std::uint64_t size = (end ? *end : 0) - first;
        return static_cast<std::uint64_t>(
            lath_index_erase_range(native(), first, size, each, this));
    }
    // Excludes all other calls.
    void clear() {
        lath_index_clear(native(), direct ? nullptr : keep_each, this);
        values_.destroy_all();
    }
    std::uint64_t count() const { return lath_index_count(native()); }
    // How many entries are before at: with LATH_RANKS, else -EINVAL.
    std::int64_t rank(code at) const { return lath_index_rank(native(), at); }
    bool select(std::uint64_t rank, found& f) const {
        taken_item<word> to;
        if (lath_index_select(native(), rank, &to.item) != 0)
            return false;
        f = {to.item.key, to.value()};
        return true;
    }
    int verify() const { return lath_index_verify(native(), 6, nullptr, 0); }

    words& values() { return values_; }

    static constexpr std::size_t step = 256; // elements of a batch per call of the index

private:
    static void retire_each(void* self, const lath_item* item) {
        if constexpr (!direct)
            static_cast<word_table*>(self)->values_.retire(item->value);
    }
    static void keep_each(void* self, const lath_item* item) {
        if constexpr (!direct)
            static_cast<word_table*>(self)->values_.keep(item->value);
    }

    words values_;
    const lath_rcu* rcu_;
    int error_;
    mutable lath_index list_;
};

// What a byte_table keeps per entry, in a box.
template <typename Kept, typename V>
struct key_and_value {
    Kept key;
    V value;
    template <typename Code, typename... Args>
    explicit key_and_value(const Code& code, Args&&... args)
        : key(code), value(std::forward<Args>(args)...) {}
};

// Keys are bytes, which the boxes have.
template <typename K, typename V, bool Down>
class byte_table {
    using kept = typename key_code<K>::kept;
    using stored = key_and_value<kept, V>;
    using words = value_words<stored, false>;

public:
    using key_arg = typename looked_up<K>::type;
    using code = decltype(key_code<K>::encode(std::declval<key_arg>()));
    using word = std::uint64_t;
    using found = found_entry<word>;
    using made = typename words::made;
    using gone = removed<V, stored, false>;
    using native_type = lath_bytes;
    static constexpr bool direct = false;
    static constexpr std::size_t chunk = 1;

    explicit byte_table(const config& how)
        : values_(how), rcu_(how.rcu ? how.rcu : &lath_rcu_auto) {
        const lath_bytes_records records{key_of_box, nullptr, 0};
        error_ = values_.ready() ? lath_bytes_init(native(), &records, &how) : -ENOMEM;
    }
    byte_table(const byte_table&) = delete;
    byte_table& operator=(const byte_table&) = delete;
    ~byte_table() {
        if (error_)
            return;
        uncancelled end;
        lath_bytes_fini(native(), keep_each, this);
        values_.drain();
    }
    // Of the construction: nothing else may be called if it is not 0.
    int error() const { return error_; }
    const lath_rcu* rcu() const { return rcu_; }
    lath_bytes* native() const { return &set_; }

    static code code_of(key_arg key) { return key_code<K>::encode(key); }
    static bool precedes(key_arg a, key_arg b) {
        const code first = code_of(a), second = code_of(b);
        return precedes_bytes(view_of(first), view_of(second));
    }
    static K key_of(const found& f) { return key_code<K>::decode(words::show(f.word).key); }
    // In place, if the box has a K.
    static decltype(auto) key_in(const found& f) {
        if constexpr (std::is_same_v<kept, K>)
            return (words::show(f.word).key);
        else
            return key_of(f);
    }
    static const V& value_of(word of) { return words::show(of).value; }

    template <typename... Args>
    made make(key_arg key, Args&&... args) {
        return values_.make(code_of(key), std::forward<Args>(args)...);
    }
    bool get(const code& at, word& to) const {
        lath_bytes_key key = bytes_of(at);
        return lath_bytes_get(native(), &key, &to) != 0;
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
        lath_bytes_key key{};
        if (from)
            key = bytes_of(*from);
        unsigned flags = 0;
        if (back != Down)
            flags |= LATH_BYTES_BACK;
        if (behind)
            flags |= LATH_BYTES_BEHIND;
        return lath_bytes_scan(native(), from ? &key : nullptr, flags, &f.word, 1) == 1;
    }
    struct run {
        static constexpr std::size_t most = 16;
        std::array<word, most> words;
        found at(std::size_t i) const { return {0, words[i]}; }
    };
    std::size_t scan(const code* from, bool behind, const code* end, run& to, std::size_t n) const {
        lath_bytes_key key{};
        if (from)
            key = bytes_of(*from);
        const unsigned flags =
            (Down ? unsigned{LATH_BYTES_BACK} : 0) | (behind ? unsigned{LATH_BYTES_BEHIND} : 0);
        n = lath_bytes_scan(native(), from ? &key : nullptr, flags, to.words.data(), n);
        while (end && n && !before(to.at(n - 1), *end))
            n--;
        return n;
    }

    int insert(const code& /*at*/, const made& value) {
        return lath_bytes_insert(native(), value.word(), nullptr);
    }
    int replace(const code& /*at*/, const made& value, std::uint64_t& old) {
        return lath_bytes_replace(native(), value.word(), &old);
    }
    int replace_if(const code& /*at*/, std::uint64_t expected, const made& value) {
        return lath_bytes_replace_if(native(), expected, value.word(), nullptr);
    }
    int erase(const code& at, std::uint64_t& old) {
        lath_bytes_key key = bytes_of(at);
        return lath_bytes_erase(native(), &key, &old);
    }
    int erase_if(const code& /*at*/, std::uint64_t expected) {
        return lath_bytes_erase_if(native(), expected, nullptr);
    }
    std::uint64_t erase_range(const code& first, const code* end) {
        std::uint64_t n = 0;
        reader inside(rcu_); // what has been found is not freed before it is erased
        for (found f; seek(&first, false, false, f) && (!end || before(f, *end));)
            if (lath_bytes_erase_if(native(), f.word, nullptr) == 0) {
                values_.retire(f.word);
                n++;
            }
        return n;
    }
    void clear() {
        lath_bytes_clear(native(), keep_each, this);
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

    words& values() { return values_; }

    static constexpr std::size_t step = 64;

private:
    template <typename Bytes>
    static lath_bytes_key bytes_of(const Bytes& bytes) {
        return {std::data(bytes), std::size(bytes), 0};
    }
    static std::string_view view_of(const auto& bytes) {
        return {std::data(bytes), std::size(bytes)};
    }
    static bool before(const found& f, const code& end) {
        return precedes_bytes(view_of(words::show(f.word).key), view_of(end));
    }
    static bool precedes_bytes(std::string_view a, std::string_view b) {
        return Down ? b < a : a < b;
    }
    static void key_of_box(void* /*ctx*/, std::uint64_t box, lath_bytes_key* key) {
        *key = bytes_of(words::show(box).key);
    }
    static void keep_each(void* self, std::uint64_t box) {
        static_cast<byte_table*>(self)->values_.keep(box);
    }

    words values_;
    const lath_rcu* rcu_;
    int error_;
    mutable lath_bytes set_;
};

template <typename K, typename V, bool Down>
using table_of = std::conditional_t<word_key<K>, std::type_identity<word_table<K, V, Down>>,
                                    std::type_identity<byte_table<K, V, Down>>>::type;

} // namespace lathwork::detail

#endif // LATHWORK_CXX_DETAIL_TABLE_HPP
