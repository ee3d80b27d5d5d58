// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/detail/table.hpp - what a point_map keeps its entries in: an index of words
// (lathwork/index.h) or a set of byte strings (lathwork/bytes.h), with the same members.
//
// point_map.hpp includes it; a program has no reason to do so itself.
//
//   lathwork::detail::table_of<int, int, false> t(lathwork::default_config());
//   auto made = t.make(1, 10);
//   if (t.insert(made) == 0)
//       made.value.taken();
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

// A box of a table. Code: the bytes of the key, if the key does not have them itself.
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
// What the tables have in common: Words are of the entry itself, or of its box.
template <typename K, typename V, typename Words>
class table_base {
public:
    using key_type = K;
    using entry = std::pair<const K, V>;
    using key_arg = typename looked_up<K>::type;
    using word = typename Words::word_type;
    using found = found_entry<word>;
    static constexpr bool direct = Words::direct;
    // A section, if what is found in it lies in boxes.
    struct no_section {
        explicit no_section(const lath_rcu* /*rcu*/) {}
    };
    using reader = std::conditional_t<direct, no_section, detail::reader>;

    explicit table_base(const config& how)
        : values_(how), rcu_(how.rcu ? how.rcu : &lath_rcu_auto) {}
    // Of the construction: nothing else may be called if it is not 0.
    int error() const { return error_; }
    const lath_rcu* rcu() const { return rcu_; }
    Words& values() { return values_; }
    static const entry& entry_of(const found& f)
        requires(!direct)
    {
        return Words::show(f.word).entry;
    }
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
    Words values_;
    const lath_rcu* rcu_;
    int error_ = -ENOMEM;
};
template <typename K, typename V>
using words_of_table =
    value_words<std::conditional_t<stored_in_leaf<V>, V, record<K, V, no_code>>, stored_in_leaf<V>>;

// Keys are words. Down: in descending order.
template <typename K, typename V, bool Down>
class word_table : public table_base<K, V, words_of_table<K, V>> {
    using words = words_of_table<K, V>;
    using base = table_base<K, V, words>;
    using base::error_;
    using base::values_;

public:
    using typename base::entry;
    using typename base::found;
    using typename base::key_arg;
    using typename base::word;
    using code = std::uint64_t;
    using gone =
        removed<V, std::conditional_t<words::direct, V, record<K, V, no_code>>, words::direct>;
    using base::direct;
    static constexpr std::size_t chunk = direct ? (sizeof(word) <= 16 ? 32 : 16) : 16;

    explicit word_table(config how) : base(how) {
        how.layout = LATH_POINTS;
        how.value_size = sizeof(word);
        if (values_.ready())
            error_ = lath_index_init(native(), &how);
    }
    // A copy of `other`, which is read as an iterator does.
    word_table(const word_table& other, config how)
        requires direct
        : base(how) {
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
        values_.drain();
        lath_index_fini(native(), direct ? nullptr : end_each, this); // not locked then
        values_.end({});
    }
    lath_index* native() const { return &list_; }

    static code code_of(key_arg key) {
        return Down ? ~key_code<K>::encode(key) : key_code<K>::encode(key);
    }
    static bool precedes(key_arg a, key_arg b) { return code_of(a) < code_of(b); }
    static void copy_entry(const found& f, std::optional<entry>& to) {
        to.emplace(key_code<K>::decode(Down ? ~f.code : f.code), words::show(f.word));
    }
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
        typename words::made value;
        code at = 0;
        made() = default;
        template <typename... Args>
        explicit made(words& to, Args&&... args)
            requires(!direct)
            : value(to.make(std::forward<Args>(args)...)) {
            if (value)
                at = code_of(words::show(value.word()).entry.first);
        }
        explicit made(words& to, const std::pair<K, V>& of)
            requires direct
            : value(to.make(of.second)), at(code_of(of.first)) {}
        explicit operator bool() const { return static_cast<bool>(value); }
        found shown() const { return {at, value.word()}; }
    };
    // Of the arguments of a pair.
    template <typename... Args>
    made make(Args&&... args) {
        if constexpr (direct)
            return made(values_, std::pair<K, V>(std::forward<Args>(args)...));
        else
            return made(values_, std::forward<Args>(args)...);
    }
    static code code_in(const made& entry) { return entry.at; }
    // In a section, if it is to look at the value.
    bool get(code at, found& to) const {
        to.code = at;
        if constexpr (direct) {
            return lath_index_get(native(), at, words_of(to.word)) != 0;
        } else {
            lath_item item;
            if (lath_index_lookup_item_rcu(native(), at, &item) != 0)
                return false;
            to.word = item.value;
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
        static constexpr std::size_t most = chunk;
        std::array<std::uint64_t, most> codes;
        std::array<word, most> words;
        found at(std::size_t i) const { return {codes[i], words[i]}; }
        void put(const found& f) { codes[0] = f.code, words[0] = f.word; }
        void copy(const run& from, std::size_t n) {
            std::copy_n(from.codes.begin(), n, codes.begin());
            std::copy_n(from.words.begin(), n, words.begin());
        }
    };
    // In order: at most n entries at or behind *from and before *stop; `back`: the last of those at
    // or before *from and not before *stop. Returns how many.
    std::size_t scan(const code* from, bool back, bool behind, const code* stop, run& to,
                     std::size_t n) const {
        if (!back) {
            const std::uint64_t at = from ? *from : 0;
            if ((behind && at == UINT64_MAX) || (stop && *stop == 0))
                return 0;
            return lath_index_scan_values(native(), at + (from && behind),
                                          stop ? *stop - 1 : UINT64_MAX, to.codes.data(),
                                          words_of(to.words[0]), n, nullptr);
        }
        if (from && behind && *from == 0)
            return 0;
        taken_items<word, chunk> items;
        n = lath_index_scan_back(native(), from ? *from - behind : UINT64_MAX, stop ? *stop : 0,
                                 items.items.data(), n, nullptr);
        for (std::size_t i = 0; i < n; i++) {
            to.codes[n - 1 - i] = items.items[i].key;
            to.words[n - 1 - i] = words::in(items.items[i]);
        }
        return n;
    }

    int insert(const made& of) {
        lath_item item{of.at, 1, given(of.value.word())};
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
    int replace(const made& by, word& old) {
        taken_item<word> was;
        int error = lath_index_replace_item(native(), by.at, given(by.value.word()), &was.item);
        old = was.value();
        return error;
    }
    int replace_if(const word& expected, const made& by) {
        return lath_index_replace_if(native(), by.at, given(expected), given(by.value.word()),
                                     nullptr);
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
    static void end_each(void* self, const lath_item* item) {
        if constexpr (!direct)
            static_cast<word_table*>(self)->values_.end(item->value);
    }

    mutable lath_index list_;
};

// Keys are bytes, which the boxes have.
template <typename K>
using bytes_code = decltype(key_code<K>::encode(std::declval<typename looked_up<K>::type>()));
template <typename K, typename V>
using bytes_record = record<
    K, V,
    std::conditional_t<std::is_same_v<bytes_code<K>, std::string_view>, no_code, bytes_code<K>>>;

template <typename K, typename V, bool Down>
class byte_table : public table_base<K, V, value_words<bytes_record<K, V>, false>> {
    using stored = bytes_record<K, V>;
    using words = value_words<stored, false>;
    using base = table_base<K, V, words>;
    using base::error_;
    using base::rcu_;
    using base::values_;

public:
    using base::entry_of;
    using typename base::found;
    using typename base::key_arg;
    using typename base::word;
    using code = bytes_code<K>;
    using gone = removed<V, stored, false>;

    explicit byte_table(const config& how) : base(how) {
        const lath_bytes_records records{key_of_box, nullptr, 0};
        if (values_.ready())
            error_ = lath_bytes_init(native(), &records, &how);
    }
    byte_table(const byte_table&) = delete;
    byte_table& operator=(const byte_table&) = delete;
    ~byte_table() {
        if (error_)
            return;
        uncancelled end;
        values_.drain();
        lath_bytes_fini(native(), end_each, this);
        values_.end(0);
    }
    lath_bytes* native() const { return &set_; }

    static code code_of(key_arg key) { return key_code<K>::encode(key); }
    static bool precedes(key_arg a, key_arg b) {
        const code first = code_of(a), second = code_of(b);
        return precedes_bytes(view_of(first), view_of(second));
    }
    static const V& value_of(word of) { return words::show(of).entry.second; }
    template <typename Fn>
    static decltype(auto) with_entry(const found& f, Fn&& fn) {
        return fn(entry_of(f).first, entry_of(f).second);
    }

    struct made {
        typename words::made value;
        explicit operator bool() const { return static_cast<bool>(value); }
        found shown() const { return {0, value.word()}; }
    };
    template <typename... Args>
    made make(Args&&... args) {
        return {values_.make(std::forward<Args>(args)...)};
    }
    static code code_in(const made& entry) { return code_of(entry_of(entry.shown()).first); }
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
        void put(const found& f) { words[0] = f.word; }
        void copy(const run& from, std::size_t n) {
            std::copy_n(from.words.begin(), n, words.begin());
        }
    };
    std::size_t scan(const code* from, bool back, bool behind, const code* stop, run& to,
                     std::size_t n) const {
        lath_bytes_key key{};
        if (from)
            key = bytes_of(*from);
        const unsigned flags = (back != Down ? unsigned{LATH_BYTES_BACK} : 0) |
                               (from && behind ? unsigned{LATH_BYTES_BEHIND} : 0);
        n = lath_bytes_scan(native(), from ? &key : nullptr, flags, to.words.data(), n);
        while (stop && n && before(to.at(n - 1), *stop) == back)
            n--;
        if (back)
            std::reverse(to.words.begin(), to.words.begin() + static_cast<std::ptrdiff_t>(n));
        return n;
    }

    int insert(const made& of) { return lath_bytes_insert(native(), of.value.word(), nullptr); }
    int replace(const made& by, std::uint64_t& old) {
        return lath_bytes_replace(native(), by.value.word(), &old);
    }
    int replace_if(std::uint64_t expected, const made& by) {
        return lath_bytes_replace_if(native(), expected, by.value.word(), nullptr);
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

    static constexpr std::size_t step = 64;

private:
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
    static bool before(const found& f, const code& end) {
        return precedes_bytes(view_of(bytes_in(f.word)), view_of(end));
    }
    static bool precedes_bytes(std::string_view a, std::string_view b) {
        return Down ? b < a : a < b;
    }
    static void key_of_box(void* /*ctx*/, std::uint64_t box, lath_bytes_key* key) {
        *key = bytes_of(bytes_in(box));
    }
    static void keep_each(void* self, std::uint64_t box) {
        static_cast<byte_table*>(self)->values_.keep(box);
    }
    static void end_each(void* self, std::uint64_t box) {
        static_cast<byte_table*>(self)->values_.end(box);
    }

    mutable lath_bytes set_;
};

template <typename K, typename V, bool Down>
using table_of = std::conditional_t<word_key<K>, std::type_identity<word_table<K, V, Down>>,
                                    std::type_identity<byte_table<K, V, Down>>>::type;

} // namespace lathwork::detail

#endif // LATHWORK_CXX_DETAIL_TABLE_HPP
