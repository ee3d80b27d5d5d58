// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// store_keys.hpp - a store under test, in each place that it may have, and its calls on one key
// (store_calls.hpp).
#pragma once

#include "scratch.hpp"
#include "store_model.hpp"

#include <memory>

extern "C" bool (*lath_store_refuse)(void);

namespace calls {

class store_calls {
public:
    using model = store_model;
    using domain = store_setup;
    using setup = store_setup;
    using call = store_call;

    static const std::vector<described<store_calls>> kinds;

    // With an allocator it is asked whether there is memory, whenever the store wants some.
    store_calls(const setup& how, const host& where) : of_(how) {
        if (!how.together)
            dir_ = std::make_unique<scratch_dir>();
        spec_ = how.where == place::mem    ? "mem:"
                : how.where == place::file ? "file:" + path("store")
                : how.where == place::shm  ? "shm:lath-calls-" + std::to_string(getpid())
                                           : std::getenv("LATH_STORE_SPEC");
        asked = where.allocator;
        refuse(true);
        if (lath_store_open(&store_, spec_.c_str(), &of_.options))
            store_ = nullptr;
        if (!store_)
            finish();
    }

    bool failed() const { return !store_; }
    std::string verify(bool) {
        const quiet now(*this);
        lath_store_stats stats;
        const bool right = !lath_store_get_stats(store_, &stats) &&
                           lath_store_items(store_) == static_cast<std::int64_t>(stats.items);
        return right ? "" : "lath_store_get_stats().items";
    }
    void contents(model& m) {
        const quiet now(*this);
        m.items = read(store_);
    }
    // Removes all. Returns what is left of it then.
    std::string left() {
        const quiet now(*this);
        lath_store_stats stats{};
        for (const stored& it : read(store_))
            lath_store_delete(store_, key(it.key));
        if (of_.where != place::dev)
            lath_store_sweep(store_);
        for (unsigned i = 0; i < 100 && (!i || stats.pending_bytes); i++) {
            if (!of_.together)
                lath_rcu_auto.drain();
            lath_store_compact(store_);
            lath_store_get_stats(store_, &stats);
        }
        if (of_.where == place::dev) // the kernel's figures are other ones
            stats.record_bytes = 0;
        if (stats.items || stats.pending_bytes || stats.record_bytes > stats.lost_bytes ||
            (!asked && !of_.together && stats.lost_bytes))
            return "an empty store has " + std::to_string(stats.items) + " items, " +
                   std::to_string(stats.record_bytes) + " bytes of records, pending " +
                   std::to_string(stats.pending_bytes) + ", lost " +
                   std::to_string(stats.lost_bytes);
        return "";
    }
    bool end(const model* m) {
        const std::string wrong = m ? left() : "";
        if (!wrong.empty())
            std::fprintf(stderr, "tape: %s\n", wrong.c_str());
        refuse(false);
        const int ret = lath_store_close(store_);
        finish();
        return wrong.empty() && !ret;
    }

    bool failing() const { return asked; }
    lath_store* store() { return store_; }
    const setup& of() const { return of_; }
    const std::string& spec() const { return spec_; }
    std::string path(const char* name) const { return dir_->path(name); }
    lath_store_key key(const std::string& text) const {
        return of_.bytes() ? lath_key_bytes(text.data(), text.size())
                           : lath_key_number(storetest::text_number(text));
    }
    std::string text(const lath_store_key& k) const {
        return k.data ? std::string(static_cast<const char*>(k.data), k.n)
                      : storetest::number_text(k.n);
    }
    // The entries of a store of this kind, in order.
    std::vector<stored> read(lath_store* store) const {
        std::vector<stored> all;
        lath_store_iter* iter = nullptr;
        lath_store_key k;
        lath_store_ref ref;
        if (lath_store_iter_begin(store, nullptr, &iter))
            return {{"no iterator", "", 0}};
        while (lath_store_iter_next(iter, &k, &ref) == 1)
            all.push_back({text(k), std::string(storetest::view(ref)), ref.expires});
        lath_store_iter_end(iter);
        return all;
    }
    // Closes and opens it. 0 | -ENOMEM: nothing was done | -EFAULT
    std::int64_t again() {
        const int ret = lath_store_sync(store_);
        if (ret)
            return ret;
        const quiet now(*this);
        const bool closed = !lath_store_leave(store_) && !lath_store_close(store_);
        used.clear();
        if (lath_store_open(&store_, spec_.c_str(), &of_.options) || !closed)
            std::abort();
        return lath_store_kind(store_) == of_.options.keys ? 0 : -EFAULT;
    }
    static void draw_loaded(setup& s, source& from, std::vector<call>& loaded);
    static unsigned most_steps(const setup& s, const call& c);
    // A number may be what it was before.
    static bool may_change(const call& c);

    std::map<std::string, std::set<word>> used; // versions of keys

    // As long as there is one no memory is refused.
    class quiet {
    public:
        explicit quiet(store_calls& it) : it_(it) { it_.refuse(false); }
        ~quiet() { it_.refuse(true); }
        quiet(const quiet&) = delete;
        quiet& operator=(const quiet&) = delete;

    private:
        store_calls& it_;
    };

private:
    static inline const lath_allocator* asked = nullptr;

    void refuse(bool may) {
        if (!asked) // as when threads share it
            return;
        lath_store_refuse = nullptr;
        if (may)
            lath_store_refuse = [] {
                void* block = asked->alloc(asked->ctx, 64, 64);
                if (block)
                    asked->free(asked->ctx, block, 64);
                return !block;
            };
    }
    void finish() {
        refuse(false);
        if (of_.where == place::shm)
            lath_store_remove(spec_.c_str(), nullptr, 0);
        dir_.reset();
    }

    setup of_;
    std::unique_ptr<scratch_dir> dir_;
    std::string spec_;
    lath_store* store_ = nullptr;
};

// A section of the calling thread.
class store_section {
public:
    explicit store_section(store_calls& it) : store_(it.store()) { lath_store_read_begin(store_); }
    ~store_section() { lath_store_read_end(store_); }
    store_section(const store_section&) = delete;
    store_section& operator=(const store_section&) = delete;

private:
    lath_store* store_;
};

// ---- arguments ----

inline bool at_home(const store_setup& s) { return s.where != place::dev; }

inline void draw_store_key(store_setup& s, source& from, store_call& c) {
    c.key = s.key(from);
    c.how = from.byte();
}
inline void draw_value(store_setup& s, source& from, store_call& c) {
    static constexpr word times[] = {0, 1, 2, far_off, far_off + 1};
    draw_store_key(s, from, c);
    c.value = s.value(from);
    c.number = s.together || !at_home(s) ? far_off * from.below(2) : from.pick(times);
}
inline void draw_two(store_setup& s, source& from, store_call& c) {
    draw_value(s, from, c);
    c.other = s.value(from);
}
inline void draw_number(store_setup& s, source& from, store_call& c) {
    static constexpr std::int64_t numbers[] = {
        0, 1, -1, 5, -7, 1000, INT64_MAX, INT64_MIN, std::int64_t{1} << 62};
    draw_store_key(s, from, c);
    c.by = from.pick(numbers);
}
inline void draw_batch(store_setup& s, source& from, store_call& c) {
    c.how = from.byte();
    const unsigned n = s.together ? 2 : c.how % 8 ? from.below(20) : from.below(150);
    for (unsigned i = 0; i < n; i++)
        c.batch.push_back({s.key(from), "", 0});
}
inline void draw_entries(store_setup& s, source& from, store_call& c) {
    static constexpr word times[] = {0, 0, 0, 0, 0, 0, 1, far_off};
    draw_batch(s, from, c);
    for (stored& it : c.batch) {
        it.value = s.value(from);
        it.expires = s.together || s.where == place::dev ? 0 : from.pick(times);
    }
}
inline void draw_range(store_setup& s, source& from, store_call& c) {
    draw_store_key(s, from, c);
    c.other = s.key(from);
    c.value = s.key(from);
    c.value.resize(from.below(static_cast<unsigned>(c.value.size()) + 1));
    c.many = from.one_in(4) && !s.together ? from.below(60) : 100000;
    c.how = s.together ? 16 : c.how;
}

// ---- changes of one key ----

// A change that returns `error` of these contents, or changes them.
template <class Apply>
bool changes(const store_call& c, int error, std::int64_t length, Apply apply) {
    const std::int64_t want = error ? error : c.large() ? -E2BIG : length;
    if (want >= 0)
        apply();
    return c.ret == want;
}

inline void set(store_calls& it, store_call& c) {
    c.ret = lath_store_set(it.store(), it.key(c.key), c.value.data(), c.size());
}
inline bool set_agrees(store_model& m, const store_call& c) {
    return changes(c, 0, 0, [&] { m.put(c.key, c.value, 0); });
}
inline void add(store_calls& it, store_call& c) {
    c.ret = lath_store_add(it.store(), it.key(c.key), c.value.data(), c.size());
}
inline bool add_agrees(store_model& m, const store_call& c) {
    return changes(c, m.find(c.key) ? -EEXIST : 0, 0, [&] { m.put(c.key, c.value, 0); });
}
inline void replace(store_calls& it, store_call& c) {
    c.ret = lath_store_replace(it.store(), it.key(c.key), c.value.data(), c.size());
}
inline bool replace_agrees(store_model& m, const store_call& c) {
    return changes(c, m.find(c.key) ? 0 : -ENOENT, 0, [&] { m.put(c.key, c.value, 0); });
}
inline void remove(store_calls& it, store_call& c) {
    c.ret = lath_store_delete(it.store(), it.key(c.key));
}
inline bool remove_agrees(store_model& m, const store_call& c) {
    const bool there = m.find(c.key);
    m.drop(c.key);
    return c.ret == (there ? 0 : -ENOENT);
}

// What is there, into c.
inline std::int64_t look(store_calls& it, store_call& c, word* version = nullptr) {
    const store_section inside(it);
    lath_store_ref ref;
    const int ret = lath_store_get_ref(it.store(), it.key(c.key), &ref);
    c.found = !ret;
    c.got = c.found ? std::string(storetest::view(ref)) : "";
    c.number = c.found ? ref.expires : 0;
    if (version)
        *version = c.found ? ref.version : 5;
    return c.found && it.of().versions() && !ref.version ? -EFAULT : ret;
}
inline bool shows(const stored* there, const store_call& c) {
    return c.found == !!there && c.got == (there ? there->value : "");
}

inline void cas(store_calls& it, store_call& c) {
    if (c.how % 2) {
        const store_calls::quiet looks(it);
        store_call seen = c;
        look(it, seen);
        c.other = seen.found ? seen.got : c.other;
    }
    c.ret = lath_store_cas(it.store(), it.key(c.key), c.other.data(), c.other.size(),
                           c.value.data(), c.size());
}
inline bool cas_agrees(store_model& m, const store_call& c) {
    stored* there = m.find(c.key);
    return changes(c,
                   !there                    ? -ENOENT
                   : there->value != c.other ? -EAGAIN
                                             : 0,
                   0, [&] { there->value = c.value; });
}

// With the version of what is there (by 0), or another one (1, -1); or it is written again before
// (2), or the store is compacted (3), or it is deleted and written again (4).
inline void set_if(store_calls& it, store_call& c) {
    static constexpr std::int64_t forms[] = {0, 0, 0, 0, -1, 1, 2, 3, 4};
    word version = 0, now = 0;
    c.by = c.of->together || it.failing() ? 0 : forms[c.how % 9];
    {
        const store_calls::quiet looks(it);
        c.ret = look(it, c, &version);
        if (c.by == 4 && c.found)
            c.ret = lath_store_delete(it.store(), it.key(c.key));
        if ((c.by == 2 || c.by == 4) && c.found)
            c.ret = lath_store_set(it.store(), it.key(c.key), c.got.data(), c.got.size());
        if (c.by == 3 && lath_store_compact(it.store()) < 0)
            c.ret = -EFAULT;
        if (c.ret && c.ret != -ENOENT)
            return;
    }
    c.ret = lath_store_set_if(it.store(), it.key(c.key),
                              version + (c.by == 1 || c.by == -1 ? static_cast<word>(c.by) : 0),
                              c.value.data(), c.size());
    if (c.ret || c.of->together)
        return;
    const store_calls::quiet looks(it);
    store_call after = c;
    look(it, after, &now);
    it.used[c.key].insert(version);
    if (it.used[c.key].contains(now) || after.got != c.value)
        c.ret = -EFAULT;
}
inline bool set_if_agrees(store_model& m, const store_call& c) {
    stored* there = m.find(c.key);
    if (!shows(there, c))
        return false;
    if ((c.by == 2 || c.by == 4) && there)
        there->expires = 0;
    return changes(c,
                   !c.of->versions()   ? -EOPNOTSUPP
                   : !there            ? -ENOENT
                   : c.by && c.by != 3 ? -EAGAIN
                                       : 0,
                   0, [&] { there->value = c.value; });
}
inline store_call step_of(const store_call& c, const char* kind, const std::string& key,
                          std::int64_t ret) {
    store_call step(*c.of);
    step.kind = kind_of<store_calls>(kind);
    step.key = key;
    step.ret = ret;
    return step;
}
inline store_call look_step(const store_call& c, const std::string& key, bool found,
                            const std::string& got) {
    store_call step = step_of(c, "get_ref", key, found ? 0 : -ENOENT);
    step.found = found;
    step.got = got;
    return step;
}
inline void set_if_steps(const store_call& c, std::vector<store_call>& steps) {
    steps.push_back(look_step(c, c.key, c.found, c.got));
    if (c.ret)
        return;
    steps.push_back(step_of(c, "cas", c.key, 0));
    steps.back().other = c.got;
    steps.back().value = c.value;
}

// 0 and the number that a value is | -EINVAL | -ERANGE. Of more than 20 digits it may be either.
inline int parsed(const std::string& value, std::int64_t& number, bool& either) {
    std::string digits = value;
    if (!digits.empty() && !digits.back())
        digits.pop_back();
    either = digits.size() > 20;
    const bool minus = digits[0] == '-';
    digits.erase(0, minus);
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos)
        return -EINVAL;
    __int128 n = 0;
    for (const char digit : digits)
        if ((n = n * 10 + (digit - '0')) >> 64)
            return -ERANGE;
    n = minus ? -n : n;
    number = static_cast<std::int64_t>(n);
    return n == number ? 0 : -ERANGE;
}
template <int (*call)(lath_store*, lath_store_key, std::int64_t, std::int64_t*)>
void arithmetic(store_calls& it, store_call& c) {
    c.now = 12345;
    c.ret = call(it.store(), it.key(c.key), c.by, c.how % 4 ? &c.now : nullptr);
}
template <char what>
bool arithmetic_agrees(store_model& m, const store_call& c) {
    stored* there = m.find(c.key);
    std::int64_t old = 0, now = c.by;
    bool either = false;
    int want = there ? parsed(there->value, old, either) : 0;
    if (!want && what == '+' && __builtin_add_overflow(old, c.by, &now))
        want = -ERANGE;
    if (want)
        return c.now == 12345 && (c.ret == want || (either && c.ret == -EINVAL));
    if (what != '+' && there)
        now = what == '<' ? std::min(old, c.by) : std::max(old, c.by);
    if (!there)
        m.put(c.key, std::to_string(now), 0);
    else if (what == '+' || now != old)
        there->value =
            std::to_string(now) + std::string(!there->value.empty() && !there->value.back(), '\0');
    return !c.ret && c.now == (c.how % 4 ? now : 12345);
}

inline void append(store_calls& it, store_call& c) {
    c.ret = lath_store_append(it.store(), it.key(c.key), c.value.data(), c.size());
}
inline bool append_agrees(store_model& m, const store_call& c) {
    const stored* there = m.find(c.key);
    const std::string now = (there ? there->value : "") + c.value;
    const word expires = there ? there->expires : 0;
    return changes(c, 0, static_cast<std::int64_t>(now.size()),
                   [&] { m.put(c.key, now, expires); });
}

inline void expire(store_calls& it, store_call& c) {
    c.ret = lath_store_expire(it.store(), it.key(c.key), c.number);
}
inline bool expire_agrees(store_model& m, const store_call& c) {
    const stored* there = m.find(c.key);
    if (there)
        m.put(c.key, std::string(there->value), c.number);
    return c.ret == (there ? 0 : -ENOENT);
}

// A function that keeps the value (0), puts one (1), removes it (2), puts one with a tail (3) or
// fails (4), and leaves the time of expiry or not.
inline int decide(void* arg, const lath_store_ref* old, lath_store_change* change) {
    auto* c = static_cast<store_call*>(arg);
    const unsigned what = c->how % 5;
    c->found = old;
    c->got = old ? std::string(storetest::view(*old)) : "";
    c->by = change->action == LATH_STORE_KEEP && change->expires == (old ? old->expires : 0);
    change->action = what % 2 ? LATH_STORE_PUT : what ? LATH_STORE_REMOVE : LATH_STORE_KEEP;
    change->value = c->value.data();
    change->size = c->value.size();
    change->tail = c->other.data();
    change->tail_size = what == 3 ? c->other.size() : 0;
    if (c->how & 64)
        change->expires = c->number;
    return what == 4 ? -EAGAIN : 0;
}
inline void update(store_calls& it, store_call& c) {
    c.ret = lath_store_update(it.store(), it.key(c.key), decide, &c);
}
inline bool update_agrees(store_model& m, const store_call& c) {
    const stored* there = m.find(c.key);
    const unsigned what = c.how % 5;
    if (!shows(there, c) || !c.by || c.ret != (what == 4 ? -EAGAIN : 0))
        return false;
    if (what % 2)
        m.put(c.key, c.value + (what == 3 ? c.other : ""),
              c.how & 64 ? c.number
              : there    ? there->expires
                         : 0);
    else if (what == 2)
        m.drop(c.key);
    return true;
}

// ---- reads of one key ----

inline void get(store_calls& it, store_call& c) {
    const std::size_t room = c.how % 4 || c.of->together ? 400000 : c.how / 4;
    std::string buffer(c.of->together ? 64 : room + 8, '~');
    c.many = static_cast<unsigned>(c.of->together ? 64 : room);
    c.ret = lath_store_get(it.store(), it.key(c.key), buffer.data(), c.many);
    c.found = c.ret >= 0;
    const std::size_t n =
        c.found ? std::min<std::size_t>(static_cast<std::size_t>(c.ret), c.many) : 0;
    c.got = buffer.substr(0, n);
    if (buffer.find_first_not_of('~', n) != std::string::npos)
        c.ret = -EFAULT;
}
inline bool get_agrees(store_model& m, const store_call& c) {
    const stored* there = m.find(c.key);
    return c.ret == (there ? static_cast<std::int64_t>(there->value.size()) : -ENOENT) &&
           c.got == (there ? there->value.substr(0, c.many) : "");
}
inline bool get_ref_agrees(store_model& m, const store_call& c) {
    const stored* there = m.find(c.key);
    return c.ret == (there ? 0 : -ENOENT) && shows(there, c) &&
           (c.of->together || c.number == (there ? there->expires : 0));
}

} // namespace calls
