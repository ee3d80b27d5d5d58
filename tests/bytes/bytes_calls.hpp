// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// bytes_calls.hpp - a set of byte keys (lathwork/bytes.h) described once (base/calls.hpp). The
// model is a sorted array of keys, each with the number of its record; a record is freed a grace
// period after it has left the set.
#pragma once

#include "bytes_model.hpp"

#include <array>
#include <cstdlib>
#include <string>

namespace calls {

class bytes_calls : public placed<lath_bytes> {
public:
    using model = byte_keys;
    using domain = bytes_setup;
    using setup = bytes_setup;
    using call = bytes_call;

    struct record {
        lath_rcu_head rcu;
        void (*leave)(void* at);
        word number, tag, size;
        std::array<char, 64> text;
    };

    static const std::vector<described<bytes_calls>> kinds;

    bytes_calls(const setup& how, const host& where) : placed(where) {
        lath_config config = how.config;
        config.allocator = where.allocator;
        lath_bytes_records records = {key_of, this,
                                      how.descending ? unsigned{LATH_BYTES_DESCENDING} : 0u};
        place([&](lath_bytes* at) { return lath_bytes_init(at, &records, &config); });
    }

    std::string verify(bool) {
        char report[200] = "";
        lath_bytes_stats stats;
        if (lath_bytes_verify(set_, report, sizeof(report)))
            return report;
        lath_bytes_get_stats(set_, &stats);
        const bool right = stats.items == lath_bytes_count(set_) &&
                           stats.trees == lath_bytes_trees(set_) &&
                           stats.bytes >= sizeof(lath_bytes);
        return right ? "" : "the figures of lath_bytes_get_stats()";
    }
    void contents(model& m) {
        lath_bytes_cursor cursor;
        word value;
        m.items.clear();
        lath_bytes_cursor_init(&cursor, set_);
        while (lath_bytes_cursor_next(&cursor, &value))
            m.items.push_back(key_at(value));
    }
    bool end(const model* m) {
        std::pair<bytes_calls*, std::vector<word>> gone{this, {}};
        lath_bytes_fini(set_, note_and_free, &gone);
        leave(set_);
        return !m || numbers(gone.second) == numbers(*m);
    }

    // A record with this key and number. 0: no memory.
    word make(const byte_key& key) {
        auto* r = static_cast<record*>(take(sizeof(record)));
        if (!r)
            return 0;
        *r = {{}, where_.leave ? where_.leave : std::free, key.number, key.tag, key.text.size(),
              {}};
        std::copy(key.text.begin(), key.text.end(), r->text.begin());
        return reinterpret_cast<word>(r);
    }
    void drop(word value) {
        if (value)
            leave(reinterpret_cast<record*>(value));
    }
    void retire(word value) {
        lath_rcu_auto.call(&at(value)->rcu, [](lath_rcu_head* head) {
            auto* r = reinterpret_cast<record*>(head);
            r->leave(r);
        });
    }
    record* at(word value) const {
        auto* r = reinterpret_cast<record*>(value);
        if (where_.look)
            where_.look(r, sizeof(*r));
        return r;
    }
    word number(word value) const { return value ? at(value)->number : 0; }
    byte_key key_at(word value) const {
        const record* r = at(value);
        return {std::string(r->text.data(), r->size), r->tag, r->number};
    }
    static lath_bytes_key as_key(const byte_key& key) {
        return {key.text.data(), key.text.size(), key.tag};
    }

    static std::vector<word> numbers(std::vector<word> of) {
        std::sort(of.begin(), of.end());
        return of;
    }
    static std::vector<word> numbers(const model& m) {
        std::vector<word> all;
        for (const byte_key& it : m.items)
            all.push_back(it.number);
        return numbers(all);
    }
    static void note_and_free(void* arg, word value) {
        auto* gone = static_cast<std::pair<bytes_calls*, std::vector<word>>*>(arg);
        gone->second.push_back(gone->first->number(value));
        gone->first->leave(reinterpret_cast<void*>(value));
    }

    static void draw_loaded(setup& s, source& from, std::vector<call>& loaded);
    static unsigned most_steps(const setup& s, const call& c);

private:
    static void key_of(void* me, word value, lath_bytes_key* key) {
        const record* r = static_cast<bytes_calls*>(me)->at(value);
        *key = {r->text.data(), r->size, r->tag};
    }
};

// A section of a thread that looks at records.
class section {
public:
    section() { lath_rcu_auto.read_lock(); }
    ~section() { lath_rcu_auto.read_unlock(); }
    section(const section&) = delete;
    section& operator=(const section&) = delete;
};

// ---- arguments ----

inline void draw_byte_key(bytes_setup& s, source& from, bytes_call& c) {
    c.key = s.old(from);
    c.key.number = ++s.numbers;
    c.how = from.byte();
    c.how = s.together && c.bad() ? 0 : c.how;
    c.other = from.one_in(4) ? from.below(2000) : from.below(70);
}
inline void draw_new_key(bytes_setup& s, source& from, bytes_call& c) {
    draw_byte_key(s, from, c);
    if (!s.together) {
        const word number = c.key.number;
        c.key = s.fresh(from);
        c.key.number = number;
    }
}
// Some in a row: tags or last bytes that go up or down; or any keys.
inline void draw_keys(bytes_setup& s, source& from, bytes_call& c) {
    const unsigned n = s.together ? 1 + from.below(2) : from.below(71);
    c.how = from.byte();
    byte_key key = s.old(from);
    for (unsigned i = 0; i < n; i++) {
        if (s.together || c.how % 4 == 0)
            key = s.old(from);
        else if (s.tags > 3)
            key.tag += c.how & 1 ? 1 : ~word{0};
        else if (!key.text.empty())
            key.text.back() = static_cast<char>(key.text.back() + (c.how & 1 ? 1 : -1));
        key.number = ++s.numbers;
        c.batch.push_back(key);
    }
}

// ---- what the model says ----

inline bool shows(const byte_key* there, const bytes_call& c) {
    return c.ret == (there ? 0 : -ENOENT) &&
           (c.blind() ? !c.got : c.got == (there ? there->number : 0));
}
inline bool insert_agrees(byte_keys& m, const bytes_call& c) {
    if (c.bad())
        return c.ret == -EINVAL;
    const byte_key* there = m.exact(*c.of, c.key);
    if (there)
        return c.ret == -EEXIST && (c.blind() ? !c.got : c.got == there->number);
    m.items.insert(m.items.begin() + static_cast<std::ptrdiff_t>(m.place(*c.of, c.key)), c.key);
    return !c.ret && !c.got;
}
inline bool erase_agrees(byte_keys& m, const bytes_call& c) {
    const byte_key* there = m.exact(*c.of, c.key);
    const bool right = shows(there, c);
    if (there)
        m.items.erase(m.items.begin() + (there - m.items.data()));
    return right;
}
inline bool replace_agrees(byte_keys& m, const bytes_call& c) {
    if (c.bad())
        return c.ret == -EINVAL;
    byte_key* there = m.exact(*c.of, c.key);
    const bool right = shows(there, c);
    if (there)
        there->number = c.key.number;
    return right;
}
// The call expected a record. changes: it is the one.
inline bool asks(const byte_key* there, const bytes_call& c, bool& changes) {
    changes = there && there->number == c.other;
    return c.ret == (!there    ? -ENOENT
                     : changes ? 0
                               : -EAGAIN) &&
           (c.ret != -EAGAIN || c.blind() || c.got == there->number);
}
inline bool erase_if_agrees(byte_keys& m, const bytes_call& c) {
    bool changes;
    const byte_key* there = m.exact(*c.of, c.key);
    if (c.bad() || !asks(there, c, changes))
        return c.bad() && c.ret == -EINVAL;
    if (changes)
        m.items.erase(m.items.begin() + (there - m.items.data()));
    return true;
}
inline bool replace_if_agrees(byte_keys& m, const bytes_call& c) {
    bool changes;
    byte_key* there = m.exact(*c.of, c.key);
    if (c.bad() || !asks(there, c, changes))
        return c.bad() && c.ret == -EINVAL;
    if (changes)
        there->number = c.key.number;
    return true;
}

// The records that a scan from this key on shows, as many as there are.
inline std::vector<byte_key> scanned(byte_keys& m, const bytes_setup& s, const byte_key* from,
                                     unsigned flags) {
    const std::size_t at = !from ? (flags & back ? m.items.size() : 0)
                                 : m.place(s, *from, !(flags & back) == !!(flags & behind));
    std::vector<byte_key> want(
        flags & back ? m.items.begin() : m.items.begin() + static_cast<std::ptrdiff_t>(at),
        flags & back ? m.items.begin() + static_cast<std::ptrdiff_t>(at) : m.items.end());
    if (flags & back)
        std::reverse(want.begin(), want.end());
    if (from && flags & same)
        want.resize(static_cast<std::size_t>(
            std::find_if(want.begin(), want.end(),
                         [&](const byte_key& it) { return it.text != from->text; }) -
            want.begin()));
    return want;
}

inline bytes_call step_of(const bytes_call& c, const char* kind, const byte_key& key,
                          std::int64_t ret, word got) {
    bytes_call step(*c.of);
    step.kind = kind_of<bytes_calls>(kind);
    step.key = key;
    step.ret = ret;
    step.got = got;
    return step;
}
// Of the keys of [from, to] in the order of the set, those that the walk has shown were there at
// some moment, and the others away.
inline void look_steps(const bytes_call& c, std::size_t from, std::size_t to,
                       std::vector<bytes_call>& steps) {
    for (std::size_t i = from; i <= to && i < c.of->known.size(); i++) {
        word number = 0;
        for (const byte_key& it : c.items)
            if (it.same(c.of->known[i]))
                number = it.number;
        steps.push_back(step_of(c, "get", c.of->known[i], number != 0, number));
    }
}
inline std::size_t known_at(const bytes_call& c, const byte_key& key) {
    for (std::size_t i = 0; i < c.of->known.size(); i++)
        if (c.of->known[i].same(key))
            return i;
    std::abort();
}

// ---- the calls ----

// Brings a record, which leaves again if the call fails; what it replaces is retired.
template <class Call>
void bring(bytes_calls& it, bytes_call& c, Call call) {
    const section inside;
    word old = 0;
    const word value = it.make(c.key);
    c.ret = value ? call(c.bad() ? 2 + (c.how & 64 ? 1 : 0) : value, c.blind() ? nullptr : &old)
                  : -ENOMEM;
    c.got = it.number(old);
    if (c.ret)
        it.drop(value);
}

inline void erase(bytes_calls& it, bytes_call& c) {
    const lath_bytes_key key = bytes_calls::as_key(c.key);
    const section inside;
    word old = 0;
    c.how = 0; // it must be known to be freed
    c.ret = lath_bytes_erase(it.set(), &key, &old);
    c.got = it.number(old);
    if (!c.ret)
        it.retire(old);
}

inline void replace(bytes_calls& it, bytes_call& c) {
    c.how = c.bad() ? c.how : 0;
    word gone = 0;
    const section inside;
    bring(it, c, [&](word value, word* old) {
        const int ret = lath_bytes_replace(it.set(), value, old);
        gone = ret ? 0 : *old;
        return ret;
    });
    if (gone)
        it.retire(gone);
}

// The record with the key, or (how % 4 == 0) another one that has it. In a section.
inline word expected(bytes_calls& it, bytes_call& c, word other) {
    const lath_bytes_key key = bytes_calls::as_key(c.key);
    word value = 0;
    if (c.how % 4 == 0 || !lath_bytes_get(it.set(), &key, &value))
        value = other;
    c.other = it.number(value);
    return value;
}

inline void erase_if(bytes_calls& it, bytes_call& c) {
    const section inside;
    const word other = it.make(c.key), value = other ? expected(it, c, other) : 0;
    word there = 0;
    c.ret = other ? lath_bytes_erase_if(it.set(), c.bad() ? c.how & 64 ? 0 : 7 : value,
                                        c.blind() ? nullptr : &there)
                  : -ENOMEM;
    c.got = c.ret == -EAGAIN ? it.number(there) : 0;
    it.drop(other);
    if (!c.ret)
        it.retire(value);
}

inline void replace_if(bytes_calls& it, bytes_call& c) {
    const section inside;
    const word fresh = it.make(c.key), value = fresh ? expected(it, c, fresh) : 0;
    word there = 0;
    c.ret = fresh ? lath_bytes_replace_if(it.set(), c.bad() ? 7 : value, fresh,
                                          c.blind() ? nullptr : &there)
                  : -ENOMEM;
    c.got = c.ret == -EAGAIN ? it.number(there) : 0;
    if (c.ret)
        it.drop(fresh);
    else
        it.retire(value);
}

inline void insert_batch(bytes_calls& it, bytes_call& c) {
    std::vector<word> values;
    std::vector<int> rets(c.batch.size() + 1, 1);
    for (const byte_key& key : c.batch)
        values.push_back(!c.of->together && values.size() == 35 ? 0 : it.make(key));
    values.push_back(0);
    const std::size_t n =
        lath_bytes_insert_batch(it.set(), c.batch.size(), values.data(), rets.data());
    c.rets.assign(rets.begin(), rets.end() - 1);
    for (std::size_t i = 0; c.of->together && i < c.rets.size(); i++)
        c.rets[i] = values[i] ? c.rets[i] : -ENOMEM;
    for (std::size_t i = 0; i < c.rets.size(); i++)
        if (c.rets[i])
            it.drop(values[i]);
    c.ret =
        n == static_cast<std::size_t>(std::count(c.rets.begin(), c.rets.end(), 0)) ? 0 : -EFAULT;
}
// Of equal keys any one may be inserted: those that were come first.
inline void insert_batch_steps(const bytes_call& c, std::vector<bytes_call>& steps) {
    for (bool inserted : {true, false})
        for (std::size_t i = 0; i < c.batch.size(); i++)
            if (!c.rets[i] == inserted) {
                steps.push_back(step_of(c, "insert", c.batch[i], c.rets[i], 0));
                steps.back().how = !c.of->together && i == 35 ? 33 : 7;
            }
}

// A look, and the change that follows; again from the same look, which must say that something
// changed.
inline void find_put(bytes_calls& it, bytes_call& c) {
    const lath_bytes_key key = bytes_calls::as_key(c.key);
    const section inside;
    const word fresh = it.make(c.key);
    lath_bytes_place place;
    const bool found = lath_bytes_find(it.set(), &key, &place), erases = c.how % 2;
    c.got = it.number(place.value);
    c.other = erases;
    c.ret = !fresh                        ? -ENOMEM
            : found != (place.value != 0) ? -EFAULT
                                          : lath_bytes_put(it.set(), &place, erases ? 0 : fresh);
    if (!c.ret && !c.of->together)
        c.rets.push_back(lath_bytes_put(it.set(), &place, erases ? 0 : fresh));
    if (c.ret || erases)
        it.drop(fresh);
    if (!c.ret && place.value)
        it.retire(place.value);
}
inline bool find_put_agrees(byte_keys& m, const bytes_call& c) {
    byte_key* there = m.exact(*c.of, c.key);
    if (c.got != (there ? there->number : 0))
        return false;
    if (c.other && !there)
        return c.ret == -EINVAL;
    bytes_call step = step_of(c, c.other ? "erase" : there ? "replace" : "insert", c.key, 0, c.got);
    const bool again =
        c.rets.empty() || c.rets[0] == -EAGAIN || (c.rets[0] == -ENOMEM && c.of->memory_ends);
    return !c.ret && again && agrees<bytes_calls>(m, step);
}
inline void find_put_steps(const bytes_call& c, std::vector<bytes_call>& steps) {
    if (c.ret || (c.other && !c.got)) // only the look is known
        steps.push_back(step_of(c, "get", c.key, c.got != 0, c.got));
    else
        steps.push_back(step_of(c,
                                c.other ? "erase"
                                : c.got ? "replace"
                                        : "insert",
                                c.key, 0, c.got));
}

inline void get_batch(bytes_calls& it, bytes_call& c) {
    std::vector<lath_bytes_key> keys(1);
    std::vector<word> values(c.batch.size() + 1);
    const section inside;
    keys.clear();
    for (const byte_key& key : c.batch)
        keys.push_back(bytes_calls::as_key(key));
    keys.push_back({});
    std::size_t n = lath_bytes_get_batch(it.set(), c.batch.size(), keys.data(), values.data());
    for (std::size_t i = 0; i < c.batch.size(); i++) {
        c.rets.push_back(static_cast<std::int64_t>(it.number(values[i])));
        n -= values[i] != 0;
    }
    c.ret = n ? -EFAULT : 0;
}

// The first version of each of these keys.
inline void first_batch(bytes_calls& it, bytes_call& c) {
    std::vector<lath_bytes_key> keys;
    std::vector<word> values(c.batch.size() + 1);
    const section inside;
    for (const byte_key& key : c.batch)
        keys.push_back(bytes_calls::as_key(key));
    keys.push_back({});
    std::size_t n =
        lath_bytes_first_batch(it.set(), c.batch.size(), keys.data(), c.how % 4, values.data());
    for (std::size_t i = 0; i < c.batch.size(); i++) {
        c.rets.push_back(static_cast<std::int64_t>(it.number(values[i])));
        n -= values[i] != 0;
    }
    c.ret = n ? -EFAULT : 0;
}
inline bool first_batch_agrees(byte_keys& m, const bytes_call& c) {
    for (std::size_t i = 0; i < c.batch.size(); i++) {
        const auto want = scanned(m, *c.of, &c.batch[i], c.how % 4 | same);
        if (static_cast<word>(c.rets[i]) != (want.empty() ? 0 : want[0].number))
            return false;
    }
    return !c.ret;
}

inline bool scans_all(const bytes_call& c) { return c.how / 8 % 4 == 3 && !c.of->together; }
inline unsigned scan_flags_of(const bytes_call& c) {
    return scans_all(c) ? c.how & back : c.of->together ? (c.how & 7) | same : c.how & 7;
}

inline void scan(bytes_calls& it, bytes_call& c) {
    const lath_bytes_key key = bytes_calls::as_key(c.key);
    const section inside;
    c.other = c.of->together ? 100 : c.other;
    std::vector<word> values(c.other + 1);
    const std::size_t n = lath_bytes_scan(it.set(), scans_all(c) ? nullptr : &key, scan_flags_of(c),
                                          values.data(), c.other);
    for (std::size_t i = 0; i < n; i++)
        c.items.push_back(it.key_at(values[i]));
}
inline bool scan_agrees(byte_keys& m, const bytes_call& c) {
    auto want = scanned(m, *c.of, scans_all(c) ? nullptr : &c.key, scan_flags_of(c));
    want.resize(std::min<std::size_t>(want.size(), c.other));
    return c.items == want;
}
inline void scan_steps(const bytes_call& c, std::vector<bytes_call>& steps) {
    const std::size_t at = known_at(c, c.key);
    for (std::size_t i = 0; i < c.of->known.size(); i++)
        if (c.of->known[i].text == c.key.text && (c.how & back ? i <= at : i >= at) &&
            !(c.how & behind && i == at))
            look_steps(c, i, i, steps);
}

// Steps of a cursor, of all keys or of those with a prefix.
inline void walk(bytes_calls& it, bytes_call& c) {
    const section inside;
    lath_bytes_cursor cursor;
    const std::string prefix =
        c.how % 2 && !c.of->together ? c.key.text.substr(0, c.key.text.size() / 2) : "";
    const lath_bytes_key key = bytes_calls::as_key(c.key);
    word value = 0, most = c.of->together ? 6 : c.other;
    const bool up = c.how / 2 % 2 || c.of->together, seeks = c.how / 4 % 2 || c.of->together;
    lath_bytes_cursor_init_prefix(&cursor, it.set(), prefix.data(), prefix.size());
    int ok = 1;
    for (word i = 0; ok && i < most; i++) {
        ok = seeks && !i ? up ? lath_bytes_cursor_seek(&cursor, &key, &value)
                              : lath_bytes_cursor_seek_floor(&cursor, &key, &value)
             : up ? lath_bytes_cursor_next(&cursor, &value)
                         : lath_bytes_cursor_prev(&cursor, &value);
        if (ok)
            c.items.push_back(it.key_at(value));
    }
    // and back again by one
    if (!c.of->together && c.items.size() > 1) {
        ok = up ? lath_bytes_cursor_prev(&cursor, &value) : lath_bytes_cursor_next(&cursor, &value);
        c.ret = ok && it.number(value) == c.items[c.items.size() - 2].number ? 0 : -EFAULT;
    }
}
inline bool walk_agrees(byte_keys& m, const bytes_call& c) {
    const std::string prefix = c.how % 2 ? c.key.text.substr(0, c.key.text.size() / 2) : "";
    auto want = scanned(m, *c.of, c.how / 4 % 2 ? &c.key : nullptr, c.how / 2 % 2 ? 0 : back);
    std::erase_if(want, [&](const byte_key& it) { return !it.text.starts_with(prefix); });
    want.resize(std::min<std::size_t>(want.size(), c.other));
    return !c.ret && c.items == want;
}
inline void walk_steps(const bytes_call& c, std::vector<bytes_call>& steps) {
    look_steps(c, known_at(c, c.key),
               c.items.size() == 6 ? known_at(c, c.items.back()) : c.of->known.size() - 1, steps);
}

template <class Find>
void find_one(bytes_calls& it, bytes_call& c, Find find) {
    const lath_bytes_key key = bytes_calls::as_key(c.key);
    const section inside;
    word value = 0;
    c.ret = find(it.set(), &key, &value);
    if (value)
        c.items = {it.key_at(value)};
}
inline bool near_agrees(byte_keys& m, const bytes_call& c, unsigned flags) {
    auto want = scanned(m, *c.of, &c.key, flags);
    want.resize(std::min<std::size_t>(want.size(), 1));
    return c.ret == (want.empty() ? -ENOENT : 0) && c.items == want;
}

// clang-format off
inline const std::vector<described<bytes_calls>> bytes_changes = {
    {"insert", 90, effect::once, {EEXIST, ENOMEM, EINVAL}, nullptr, draw_new_key,
     [](bytes_calls& it, bytes_call& c) {
         bring(it, c,
               [&](word value, word* there) { return lath_bytes_insert(it.set(), value, there); });
     }, insert_agrees},
    {"insert_batch", 14, effect::apart, {}, nullptr, draw_keys, insert_batch, nullptr,
     insert_batch_steps},
    {"erase", 40, effect::once, {ENOENT}, nullptr, draw_byte_key, erase, erase_agrees},
    {"replace", 10, effect::once, {ENOENT, EINVAL}, nullptr, draw_byte_key, replace,
     replace_agrees},
    {"erase_if", 10, effect::once, {ENOENT, EAGAIN, EINVAL}, nullptr, draw_byte_key, erase_if,
     erase_if_agrees},
    {"replace_if", 10, effect::once, {ENOENT, EAGAIN, EINVAL}, nullptr, draw_byte_key, replace_if,
     replace_if_agrees},
    {"put, find", 14, effect::apart, {EINVAL, ENOMEM}, nullptr, draw_byte_key, find_put,
     find_put_agrees, find_put_steps},
    {"clear, trees", 1, effect::alone, {}, nullptr, nullptr,
     [](bytes_calls& it, bytes_call& c) {
         std::pair<bytes_calls*, std::vector<word>> gone{&it, {}};
         lath_bytes_clear(it.set(), bytes_calls::note_and_free, &gone);
         for (word number : bytes_calls::numbers(gone.second))
             c.items.push_back({"", 0, number});
         c.ret = lath_bytes_trees(it.set()) == 1 ? 0 : -EFAULT;
     },
     [](byte_keys& m, const bytes_call& c) {
         byte_keys gone;
         gone.items = c.items;
         const bool right = !c.ret && bytes_calls::numbers(gone) == bytes_calls::numbers(m);
         m.items.clear();
         return right;
     }},
};
// clang-format on

// clang-format off
inline const std::vector<described<bytes_calls>> bytes_looks = {
    {"get", 10, effect::once, {}, nullptr, draw_byte_key,
     [](bytes_calls& it, bytes_call& c) {
         const lath_bytes_key key = bytes_calls::as_key(c.key);
         const section inside;
         word value = 0;
         c.ret = lath_bytes_get(it.set(), &key, &value);
         c.got = it.number(value);
     },
     [](byte_keys& m, const bytes_call& c) {
         const byte_key* there = m.exact(*c.of, c.key);
         return c.ret == !!there && c.got == (there ? there->number : 0);
     }},
    {"get_batch", 6, effect::apart, {}, nullptr, draw_keys, get_batch, nullptr,
     [](const bytes_call& c, std::vector<bytes_call>& steps) {
         for (std::size_t i = 0; i < c.batch.size(); i++)
             steps.push_back(
                 step_of(c, "get", c.batch[i], c.rets[i] != 0, static_cast<word>(c.rets[i])));
     }},
    {"first_batch", 5, effect::none, {}, nullptr, draw_keys, first_batch, first_batch_agrees},
    {"ceiling", 7, effect::apart, {ENOENT}, nullptr, draw_byte_key,
     [](bytes_calls& it, bytes_call& c) { find_one(it, c, lath_bytes_ceiling); },
     [](byte_keys& m, const bytes_call& c) { return near_agrees(m, c, 0); },
     [](const bytes_call& c, std::vector<bytes_call>& steps) {
         look_steps(c, known_at(c, c.key), c.ret ? c.of->known.size() - 1 : known_at(c, c.items[0]),
                    steps);
     }},
    {"floor", 7, effect::apart, {ENOENT}, nullptr, draw_byte_key,
     [](bytes_calls& it, bytes_call& c) { find_one(it, c, lath_bytes_floor); },
     [](byte_keys& m, const bytes_call& c) { return near_agrees(m, c, back); },
     [](const bytes_call& c, std::vector<bytes_call>& steps) {
         look_steps(c, c.ret ? 0 : known_at(c, c.items[0]), known_at(c, c.key), steps);
     }},
    {"scan", 12, effect::apart, {}, nullptr, draw_byte_key, scan, scan_agrees, scan_steps},
    {"cursor_next, cursor_prev, cursor_seek, cursor_seek_floor, cursor_init_prefix", 20,
     effect::apart, {}, nullptr, draw_byte_key, walk, walk_agrees, walk_steps},
    {"rank", 5, effect::none, {EINVAL}, nullptr, draw_byte_key,
     [](bytes_calls& it, bytes_call& c) {
         const lath_bytes_key key = bytes_calls::as_key(c.key);
         c.ret = lath_bytes_rank(it.set(), &key, c.how % 4 == 3 ? back : c.how % 2 ? behind : 0);
     },
     [](byte_keys& m, const bytes_call& c) {
         if (!c.of->ranks || c.how % 4 == 3)
             return c.ret == -EINVAL;
         return c.ret == static_cast<std::int64_t>(m.place(*c.of, c.key, c.how % 2));
     }},
    {"select", 5, effect::none, {ENOENT, EINVAL}, nullptr, draw_byte_key,
     [](bytes_calls& it, bytes_call& c) {
         const section inside;
         word value = 0;
         c.how = 0;
         c.ret = lath_bytes_select(it.set(), c.other, &value);
         c.got = it.number(value);
     },
     [](byte_keys& m, const bytes_call& c) {
         if (!c.of->ranks)
             return c.ret == -EINVAL && !c.got;
         return shows(c.other < m.items.size() ? &m.items[c.other] : nullptr, c);
     }},
    {"count, get_stats, verify", 4, effect::none, {}, nullptr, nullptr,
     [](bytes_calls& it, bytes_call& c) {
         c.ret = static_cast<std::int64_t>(lath_bytes_count(it.set()));
     },
     [](byte_keys& m, const bytes_call& c) {
         return static_cast<std::size_t>(c.ret) == m.items.size();
     }},
};
// clang-format on

inline const std::vector<described<bytes_calls>> bytes_calls::kinds =
    joined({bytes_changes, bytes_looks});

inline void bytes_calls::draw_loaded(setup& s, source& from, std::vector<call>& loaded) {
    for (unsigned i = 0, n = from.below(2 * static_cast<unsigned>(s.known.size())); i < n; i++) {
        call c(s);
        c.kind = kind_of<bytes_calls>(from.below(3) ? "insert" : "erase");
        draw_byte_key(s, from, c);
        loaded.push_back(c);
    }
}

inline unsigned bytes_calls::most_steps(const setup& s, const call& c) {
    if (kinds[c.kind].effect == effect::once)
        return 1;
    return c.batch.empty() ? static_cast<unsigned>(s.known.size())
                           : static_cast<unsigned>(c.batch.size());
}

} // namespace calls
