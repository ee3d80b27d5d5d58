// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/store.hpp - the key-value store for C++.
//
//   lathwork::byte_store store; // or number_store; ("file:/tmp/db", options)
//   store.set("apple", "red");
//   std::optional<std::string> v = store.get("apple");
//   for (auto [key, value] : store.range({.prefix = "ap"}))
//       use(key, value); // string_views, valid until the next step
//
// Threads, costs and meanings as in lathwork/store.h.
//
// Errors: calls with one expected failure return bool. Others are thrown as std::system_error with
// the errno of lathwork/store.h. The destructor does not throw; close() throws if a file: could not
// be written. After close(), and after a move from it, a store is closed: is_open() is false, and
// every other call but close() and get_handle() throws EBADF.
#pragma once

#include "lathwork/cxx/detail/calls.hpp"
#include "lathwork/store.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace lathwork {

// What a function given to update() decides about an entry.
class change {
public:
    // Gives the key this value, which is copied when the function has returned.
    void put(std::string value) {
        value_ = std::move(value);
        put_ = true;
        remove_ = false;
    }
    // Removes the key.
    void remove() {
        put_ = false;
        remove_ = true;
    }
    // With put(): the time of expiry in ms since 1970; 0: never. Without: as before.
    void expire(std::uint64_t when) { expires_ = when; }

private:
    template <class>
    friend class basic_store;
    std::string value_;
    bool put_ = false, remove_ = false;
    std::optional<std::uint64_t> expires_;
};

// The fields of lath_store_options by name.
struct store_options {
    std::uint64_t limit = 0;
    bool evict = false;
    bool versions = false;
    lath_store_pages pages = LATH_PAGES_HUGE;
    std::uint64_t reserve = 0;
    std::uint64_t prefault = 0;
    const char* numa = nullptr;
    const lath_rcu* rcu = nullptr;
    bool read_only = false; // may open a file: concurrently with its writer
    bool existing = false; // open fails if there is nothing to open
    bool foreign = false; // shm: trust an object of another user
};

// Key: std::uint64_t or std::string_view.
template <class Key>
class basic_store {
    static constexpr bool numbers = std::is_same_v<Key, std::uint64_t>;
    static_assert(numbers || std::is_same_v<Key, std::string_view>,
                  "lathwork::basic_store: Key is std::uint64_t or std::string_view");

public:
    using key_type = Key;

    explicit basic_store(const std::string& spec = "mem:", const store_options& options = {}) {
        lath_store_options o = LATH_STORE_OPTIONS_INIT;
        o.keys = numbers ? LATH_STORE_NUMBERS : LATH_STORE_BYTES;
        o.pages = options.pages;
        auto flag = [&](bool wanted, unsigned bit) { o.flags |= wanted ? bit : 0; };
        flag(options.evict, LATH_STORE_EVICT);
        flag(options.versions, LATH_STORE_VERSIONS);
        flag(options.read_only, LATH_STORE_READ_ONLY);
        flag(options.existing, LATH_STORE_EXISTING);
        flag(options.foreign, LATH_STORE_FOREIGN);
        o.limit = options.limit;
        o.reserve = options.reserve;
        o.prefault = options.prefault;
        o.numa = options.numa;
        o.rcu = options.rcu;
        lath_store* s = nullptr;
        check_whole(lath_store_open(&s, spec.c_str(), &o));
        store_.reset(s);
    }

    // References taken in a section are valid until it ends. Sections nest. A section belongs to
    // one thread.
    class section {
    public:
        explicit section(const basic_store& s) : store_(s.handle()) {
            lath_store_read_begin(store_);
        }
        section(const section&) = delete;
        section& operator=(const section&) = delete;
        ~section() { lath_store_read_end(store_); }

    private:
        lath_store* store_;
    };

    // Returns a copy of the value; empty: the key is absent.
    std::optional<std::string> get(Key key) const {
        std::optional<std::string> value;
        visit(key, [&](const lath_store_ref& ref) { value.emplace(view(ref)); });
        return value;
    }
    // Calls fn(const lath_store_ref&) with the value in place, in a section. Returns whether the
    // key is present.
    template <class Fn>
    bool visit(Key key, Fn&& fn) const {
        section inside(*this);
        lath_store_ref ref;
        if (!check(lath_store_get_ref(handle(), to_key(key), &ref), -ENOENT))
            return false;
        std::forward<Fn>(fn)(std::as_const(ref));
        return true;
    }

    bool contains(Key key) const {
        return visit(key, [](const lath_store_ref&) {});
    }
    // Returns one element per key; empty where the key is absent.
    std::vector<std::optional<std::string>> get_all(std::span<const Key> keys) const {
        std::vector<lath_store_key> wanted = to_keys(keys);
        std::vector<lath_store_ref> refs(keys.size());
        std::vector<std::optional<std::string>> values(keys.size());
        section inside(*this);
        lath_store_mget(handle(), wanted.size(), wanted.data(), refs.data());
        for (std::size_t i = 0; i < refs.size(); ++i)
            if (refs[i].data)
                values[i].emplace(view(refs[i]));
        return values;
    }

    // Sets the value of a key, present or not.
    void set(Key key, std::string_view value) {
        check(lath_store_set(handle(), to_key(key), value.data(), value.size()), 0);
    }
    // Sets it if the key is absent. False: it is present.
    bool add(Key key, std::string_view value) {
        return check(lath_store_add(handle(), to_key(key), value.data(), value.size()), -EEXIST);
    }
    // Sets it if the key is present. False: it is absent.
    bool replace(Key key, std::string_view value) {
        return check(lath_store_replace(handle(), to_key(key), value.data(), value.size()),
                     -ENOENT);
    }
    // Removes the key. False: it was absent.
    bool erase(Key key) { return check(lath_store_delete(handle(), to_key(key)), -ENOENT); }
    // Sets the value if the present one is `expected`. False: it is another one, or the key is
    // absent.
    bool compare_exchange(Key key, std::string_view expected, std::string_view value) {
        int ret = lath_store_cas(handle(), to_key(key), expected.data(), expected.size(),
                                 value.data(), value.size());
        return ret != -ENOENT && check(ret, -EAGAIN);
    }
    // Sets the value if its version (lath_store_ref::version, see visit()) is this one; for stores
    // opened with `versions`. False: it is another one, or the key is absent.
    bool set_if(Key key, std::uint64_t version, std::string_view value) {
        int ret = lath_store_set_if(handle(), to_key(key), version, value.data(), value.size());
        return ret != -ENOENT && check(ret, -EAGAIN);
    }
    // Changes a value by fn(const lath_store_ref* old, change& to) at one moment; old is nullptr if
    // the key is absent. fn may be called several times, and the last call's decision counts. It
    // must not call the store. What fn throws leaves update(), and nothing is changed.
    template <class Fn>
    void update(Key key, Fn&& fn) {
        change to;
        auto decide = [&](const lath_store_ref* old, lath_store_change* out) {
            to = {};
            fn(old, to);
            if (to.remove_)
                out->action = LATH_STORE_REMOVE;
            if (to.put_) {
                out->action = LATH_STORE_PUT;
                out->value = to.value_.data();
                out->size = to.value_.size();
            }
            if (to.expires_)
                out->expires = *to.expires_;
            return 0;
        };
        detail::guarded call(decide, -ECANCELED);
        int ret = lath_store_update(handle(), to_key(key), call, &call);
        call.rethrow();
        check(ret, 0);
    }
    // Adds to a decimal number, 0 if the key is absent. Returns the sum.
    std::int64_t increment(Key key, std::int64_t by = 1) {
        std::int64_t now = 0;
        check(lath_store_incr(handle(), to_key(key), by, &now), 0);
        return now;
    }
    // Sets the time at which the entry expires, in ms since 1970 (lath_store_now() + ...); 0:
    // never. False: the key is absent.
    bool expire(Key key, std::uint64_t when) {
        return check(lath_store_expire(handle(), to_key(key), when), -ENOENT);
    }
    // Sets the time at which the entry expires: this long from now. False: the key is absent.
    template <typename Rep, typename Period>
    bool expire_after(Key key, std::chrono::duration<Rep, Period> time) {
        std::uint64_t now = lath_store_now();
        auto ms = detail::saturated<std::chrono::milliseconds>(time).count();
        // at 1, long ago, at the earliest: 0 is never
        auto least = 1 - static_cast<decltype(ms)>(now);
        return expire(key, now + static_cast<std::uint64_t>(ms < least ? least : ms));
    }
    // Sets all entries. Throws the error of the first that failed; the others are set.
    void set_all(std::span<const std::pair<Key, std::string_view>> entries) {
        std::vector<lath_store_entry> all;
        std::vector<int> results(entries.size());
        all.reserve(entries.size());
        for (const auto& [key, value] : entries)
            all.push_back({to_key(key), value.data(), value.size(), 0});
        lath_store_mset(handle(), all.size(), all.data(), results.data());
        for (int ret : results)
            check(ret, 0);
    }

    struct bounds {
        std::optional<Key> from = std::nullopt; // keys from this one on
        std::optional<Key> to = std::nullopt; // keys before this one
        std::optional<Key> prefix = std::nullopt; // byte keys: only keys with this prefix
        bool backward = false;
    };

    struct entry {
        Key key;
        std::string_view value;
    };

private:
    // Bounds as C has them; they point into this struct.
    struct c_bounds {
        explicit c_bounds(const bounds& b) {
            range.from = put(b.from, keys[0]);
            range.to = put(b.to, keys[1]);
            range.prefix = put(b.prefix, keys[2]);
            range.backward = b.backward;
        }
        c_bounds(const c_bounds&) = delete;
        c_bounds& operator=(const c_bounds&) = delete;
        static lath_store_key* put(const std::optional<Key>& from, lath_store_key& k) {
            return from ? (k = to_key(*from), &k) : nullptr;
        }
        lath_store_key keys[3];
        lath_store_range range{};
    };

public:
    // An input range in key order: for one pass.
    class view_range {
    public:
        class iterator {
        public:
            using iterator_concept = std::input_iterator_tag;
            using value_type = entry;
            using difference_type = std::ptrdiff_t;
            const entry& operator*() const { return range_->now_; }
            iterator& operator++() {
                range_->step();
                return *this;
            }
            void operator++(int) { range_->step(); }
            bool operator==(std::default_sentinel_t) const { return range_->end_; }

        private:
            friend class view_range;
            explicit iterator(view_range* r) : range_(r) {}
            view_range* range_;
        };
        iterator begin() {
            step();
            return iterator(this);
        }
        std::default_sentinel_t end() const { return {}; }

    private:
        friend class basic_store;
        view_range(lath_store* s, const bounds& b) {
            c_bounds in(b);
            lath_store_iter* iter = nullptr;
            check(lath_store_iter_begin(s, &in.range, &iter), 0);
            iter_.reset(iter);
        }
        void step() {
            lath_store_key key;
            int ret = lath_store_iter_next(iter_.get(), &key, &ref_);
            end_ = ret == 0;
            check(ret < 0 ? ret : 0, 0);
            if (end_)
                return;
            if constexpr (numbers)
                now_.key = key.n;
            else
                now_.key = {static_cast<const char*>(key.data), key.n};
            now_.value = view(ref_);
        }
        struct closer {
            void operator()(lath_store_iter* i) const { lath_store_iter_end(i); }
        };
        std::unique_ptr<lath_store_iter, closer> iter_;
        lath_store_ref ref_{};
        entry now_{};
        bool end_ = false;
    };

    // Returns the entries within bounds, in order.
    view_range range(const bounds& b = {}) const { return view_range(handle(), b); }

    // Returns how many entries are within bounds; expired ones count.
    std::uint64_t count(const bounds& b = {}) const {
        c_bounds in(b);
        return number(lath_store_count(handle(), &in.range));
    }
    // The number of all entries, which the store keeps.
    std::uint64_t size() const { return number(lath_store_items(handle())); }

    // pages: sets `resident` and `huge` too, which takes a millisecond per GiB of the process.
    lath_store_stats stats(bool pages = false) const {
        lath_store_stats s;
        check(lath_store_get_stats(handle(), &s), 0);
        if (pages)
            check(lath_store_get_pages(handle(), &s), 0);
        return s;
    }
    // save: writes a snapshot. load: reads one into the empty store. sync: writes a file: now.
    void save(const std::string& path) const {
        check_whole(lath_store_save(handle(), path.c_str(), nullptr, nullptr));
    }
    void load(const std::string& path) {
        check_whole(lath_store_load(handle(), path.c_str(), nullptr, nullptr));
    }
    void sync() { check_whole(lath_store_sync(handle())); }
    // As the destructor, but throws if a file: could not be written; the store is closed then too.
    void close() { check_whole(lath_store_close(store_.release())); }
    bool is_open() const { return store_ != nullptr; }

    // For the other calls of lathwork/store.h. nullptr: closed.
    lath_store* get_handle() const { return store_.get(); }

private:
    static lath_store_key to_key(Key key) {
        if constexpr (numbers)
            return lath_key_number(key);
        else
            return lath_key_bytes(key.data(), key.size());
    }
    static std::vector<lath_store_key> to_keys(std::span<const Key> keys) {
        std::vector<lath_store_key> all(keys.size());
        std::transform(keys.begin(), keys.end(), all.begin(), to_key);
        return all;
    }
    static std::uint64_t number(std::int64_t ret) {
        check(ret < 0 ? static_cast<int>(ret) : 0, 0);
        return static_cast<std::uint64_t>(ret);
    }
    static std::string_view view(const lath_store_ref& ref) {
        return {static_cast<const char*>(ref.data), ref.size};
    }
    // true: done; false: the expected failure; throws the others
    static bool check(int ret, int no) {
        if (ret == 0)
            return true;
        if (ret == no)
            return false;
        throw std::system_error(-ret, std::generic_category(), "lathwork::basic_store");
    }
    // Throws the error of a call on the whole store with its reason, which names the file.
    static void check_whole(int ret) {
        if (ret)
            throw std::system_error(-ret, std::generic_category(),
                                    std::string("lathwork::basic_store: ") + lath_store_reason());
    }
    lath_store* handle() const {
        if (!store_)
            throw std::system_error(EBADF, std::generic_category(),
                                    "lathwork::basic_store: the store is closed");
        return store_.get();
    }

    struct closer {
        void operator()(lath_store* s) const {
            detail::uncancelled end;
            lath_store_close(s);
        }
    };
    std::unique_ptr<lath_store, closer> store_;
};

using number_store = basic_store<std::uint64_t>;
using byte_store = basic_store<std::string_view>;

} // namespace lathwork
