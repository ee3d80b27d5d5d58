// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/store.h: every call with each argument that its comment calls invalid, on a store in the
// process and on one in shared memory, of numbers and of byte keys.
#include "arguments.hpp"

#include "store/scratch.hpp"

#include "lathwork/store.h"

#include <array>
#include <functional>
#include <string>
#include <unistd.h>

namespace {

using R = std::int64_t;
using u64 = std::uint64_t;
constexpr u64 key_max = ~u64{0};

const char* spec_now = "mem:";
lath_store_keys keys_now = LATH_STORE_NUMBERS;
unsigned flags_now = 0;

const std::string long_key(65536, 'k');
std::array<char, 70000> zeros{};

lath_store_options with(lath_store_keys keys, unsigned flags = 0, u64 limit = 0) {
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    options.keys = keys;
    options.flags = flags;
    options.limit = limit;
    options.reserve = 64 << 20;
    return options;
}

std::string name_of(const char* what) {
    return "shm:lath-arguments-" + std::to_string(getpid()) + "-" + what;
}

// A store of key 5 with the value "five" and key 6 with "6"; of byte keys: "5" and "6".
struct store_fixture {
    store_fixture() {
        auto options = with(keys_now, flags_now);
        std::string spec = spec_now == std::string("shm:") ? name_of("f") : spec_now;
        REQUIRE(lath_store_open(&store, spec.c_str(), &options) == 0);
        if (spec != spec_now)
            REQUIRE(lath_store_remove(spec.c_str(), nullptr, 0) == 0);
        REQUIRE(lath_store_set(store, key(5), "five", 4) == 0);
        REQUIRE(lath_store_set(store, key(6), "6", 1) == 0);
    }
    ~store_fixture() { lath_store_close(store); }
    store_fixture(const store_fixture&) = delete;
    store_fixture& operator=(const store_fixture&) = delete;

    // A key of the store's kind; of the other kind; too long, or of the other kind.
    lath_store_key key(unsigned digit) const {
        return keys_now == LATH_STORE_NUMBERS ? lath_key_number(digit)
                                              : lath_key_bytes(&"0123456789"[digit], 1);
    }
    lath_store_key wrong() const {
        return keys_now == LATH_STORE_NUMBERS ? lath_key_bytes("5", 1) : lath_key_number(5);
    }
    std::string state() const {
        std::string all;
        lath_store_iter* iter = nullptr;
        lath_store_key k;
        lath_store_ref value;
        lath_store_stats stats;
        REQUIRE(lath_store_iter_begin(store, nullptr, &iter) == 0);
        while (lath_store_iter_next(iter, &k, &value) == 1) {
            all +=
                k.data ? std::string(static_cast<const char*>(k.data), k.n) : std::to_string(k.n);
            all += "=" + std::string(static_cast<const char*>(value.data), value.size) + "@" +
                   std::to_string(value.expires) + " ";
        }
        lath_store_iter_end(iter);
        REQUIRE(lath_store_get_stats(store, &stats) == 0);
        return all + std::to_string(stats.items) + " " + std::to_string(now);
    }

    lath_store* store = nullptr;
    std::int64_t now = 12345; // what a counter may return
};

using f = store_fixture;

int keep(void*, const lath_store_ref*, lath_store_change*) { return 0; }
int put_nothing(void*, const lath_store_ref*, lath_store_change* change) {
    change->action = LATH_STORE_PUT;
    return 0;
}
int refuse(void*, const lath_store_ref*, lath_store_change* change) {
    change->action = LATH_STORE_REMOVE;
    return -EIO;
}

// Every call on one key, with a key that cannot be.
struct single {
    const char* function;
    R (*call)(f&, lath_store_key);
};
const std::vector<single> singles = {
    {"lath_store_get",
     [](f& t, lath_store_key k) -> R { return lath_store_get(t.store, k, nullptr, 0); }},
    {"lath_store_get_ref",
     [](f& t, lath_store_key k) -> R {
         lath_store_ref ref;
         lath_store_read_begin(t.store);
         int ret = lath_store_get_ref(t.store, k, &ref);
         lath_store_read_end(t.store);
         return ret;
     }},
    {"lath_store_set",
     [](f& t, lath_store_key k) -> R { return lath_store_set(t.store, k, "x", 1); }},
    {"lath_store_add",
     [](f& t, lath_store_key k) -> R { return lath_store_add(t.store, k, "x", 1); }},
    {"lath_store_replace",
     [](f& t, lath_store_key k) -> R { return lath_store_replace(t.store, k, "x", 1); }},
    {"lath_store_delete",
     [](f& t, lath_store_key k) -> R { return lath_store_delete(t.store, k); }},
    {"lath_store_get_or_set",
     [](f& t, lath_store_key k) -> R {
         int added = 7;
         R ret = lath_store_get_or_set(t.store, k, "x", 1, nullptr, 0, &added);
         CHECK(added == 7);
         return ret;
     }},
    {"lath_store_cas",
     [](f& t, lath_store_key k) -> R { return lath_store_cas(t.store, k, "five", 4, "x", 1); }},
    {"lath_store_incr",
     [](f& t, lath_store_key k) -> R { return lath_store_incr(t.store, k, 1, &t.now); }},
    {"lath_store_min",
     [](f& t, lath_store_key k) -> R { return lath_store_min(t.store, k, 1, &t.now); }},
    {"lath_store_max",
     [](f& t, lath_store_key k) -> R { return lath_store_max(t.store, k, 1, &t.now); }},
    {"lath_store_append",
     [](f& t, lath_store_key k) -> R { return lath_store_append(t.store, k, "x", 1); }},
    {"lath_store_expire",
     [](f& t, lath_store_key k) -> R { return lath_store_expire(t.store, k, 1); }},
    {"lath_store_update",
     [](f& t, lath_store_key k) -> R {
         return lath_store_update(t.store, k, put_nothing, nullptr);
     }},
    {"lath_store_mset",
     [](f& t, lath_store_key k) -> R {
         lath_store_entry entry{k, "x", 1, 0};
         int result = 7;
         CHECK(lath_store_mset(t.store, 1, &entry, nullptr) == 0);
         CHECK(lath_store_mset(t.store, 1, &entry, &result) == 0);
         return result;
     }},
    {"lath_store_mdel",
     [](f& t, lath_store_key k) -> R {
         int result = 7;
         CHECK(lath_store_mdel(t.store, 1, &k, nullptr) == 0);
         CHECK(lath_store_mdel(t.store, 1, &k, &result) == 0);
         return result;
     }},
};
// These read only.
const std::vector<single> readers = {
    {"lath_store_rank", [](f& t, lath_store_key k) -> R { return lath_store_rank(t.store, k); }},
    {"lath_store_count",
     [](f& t, lath_store_key k) -> R {
         lath_store_range from{}, to{};
         from.from = &k;
         to.to = &k;
         R ret = lath_store_count(t.store, &from);
         CHECK(lath_store_count(t.store, &to) == ret);
         return ret;
     }},
    {"lath_store_iter_begin",
     [](f& t, lath_store_key k) -> R {
         lath_store_iter* iter = nullptr;
         int ret = 0, last = 1;
         for (int backward : {0, 1})
             for (int which : {0, 1, 2}) {
                 lath_store_range range{};
                 (which == 0 ? range.from : which == 1 ? range.to : range.prefix) = &k;
                 range.backward = backward;
                 ret = lath_store_iter_begin(t.store, &range, &iter);
                 CHECK((last == 1 || ret == last));
                 last = ret;
                 if (!ret)
                     lath_store_iter_end(iter);
             }
         return ret;
     }},
};

int open(const char* spec, const lath_store_options& options) {
    lath_store* store = nullptr;
    char why[200] = "";
    auto copy = options;
    copy.why = why;
    copy.why_size = sizeof(why);
    int ret = lath_store_open(&store, spec, &copy);
    if (!ret)
        lath_store_close(store);
    else if (copy.size == sizeof(copy))
        CHECK(std::strlen(why) > 8);
    CHECK(!store == !!ret);
    return ret;
}

int open_changed(const std::function<void(lath_store_options&)>& change,
                 const char* spec = "mem:") {
    auto options = with(LATH_STORE_NUMBERS);
    change(options);
    return open(spec, options);
}

scratch_dir& files() {
    static scratch_dir dir;
    return dir;
}

void write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

// A snapshot of a store with keys of this kind.
std::string snapshot(lath_store_keys keys) {
    std::string path = files().path(keys == LATH_STORE_NUMBERS ? "numbers" : "bytes");
    auto options = with(keys);
    lath_store* store = nullptr;
    REQUIRE(lath_store_open(&store, "mem:", &options) == 0);
    REQUIRE(lath_store_set(store,
                           keys == LATH_STORE_NUMBERS ? lath_key_number(1) : lath_key_bytes("1", 1),
                           "x", 1) == 0);
    REQUIRE(lath_store_save(store, path.c_str(), nullptr, nullptr) == 0);
    lath_store_close(store);
    return path;
}

// Loads into an empty store like the fixture's.
R load(const std::string& path, lath_store_progress_fn progress = nullptr) {
    auto options = with(keys_now);
    std::string spec = spec_now == std::string("shm:") ? name_of("l") : spec_now;
    lath_store* store = nullptr;
    REQUIRE(lath_store_open(&store, spec.c_str(), &options) == 0);
    if (spec != spec_now)
        REQUIRE(lath_store_remove(spec.c_str(), nullptr, 0) == 0);
    int ret = lath_store_load(store, path.c_str(), progress, nullptr);
    CHECK(std::strlen(lath_store_reason()) > 8);
    CHECK(lath_store_count(store, nullptr) == 0);
    lath_store_close(store);
    return ret;
}

R save(f& t, const std::string& path) {
    int ret = lath_store_save(t.store, path.c_str(), nullptr, nullptr);
    CHECK(std::strlen(lath_store_reason()) > 8);
    return ret;
}

// A counter's call on values that are no 64-bit numbers.
R with_large(f& t, int (*call)(lath_store*, lath_store_key, std::int64_t, std::int64_t*)) {
    int ret = 0;
    for (std::string v : {"99999999999999999999", "9223372036854775808", "-9223372036854775809",
                          "18446744073709551616"}) {
        REQUIRE(lath_store_set(t.store, t.key(7), v.data(), v.size()) == 0);
        ret = call(t.store, t.key(7), -1, &t.now);
        CHECK(ret == -ERANGE);
    }
    REQUIRE(lath_store_delete(t.store, t.key(7)) == 0);
    return ret;
}

int stop(void*, u64, u64) { return 1; }

const std::vector<arguments::row<f>> rows = {
    {"lath_store_open", "options of size 0", -EINVAL,
     [](f&) -> R { return open_changed([](auto& o) { o.size = 0; }); }},
    {"lath_store_open", "options too small", -EINVAL,
     [](f&) -> R {
         return open_changed([](auto& o) { o.size = offsetof(lath_store_options, pages) - 1; });
     }},
    {"lath_store_open", "options too large", -EINVAL,
     [](f&) -> R { return open_changed([](auto& o) { o.size++; }); }},
    {"lath_store_open", "options of size 2^64 - 1", -EINVAL,
     [](f&) -> R { return open_changed([](auto& o) { o.size = SIZE_MAX; }); }},
    {"lath_store_open", "unknown kind of keys", -EINVAL,
     [](f&) -> R {
         return open_changed([](auto& o) { o.keys = static_cast<lath_store_keys>(2); });
     }},
    {"lath_store_open", "kind of keys -1", -EINVAL,
     [](f&) -> R {
         return open_changed([](auto& o) { o.keys = static_cast<lath_store_keys>(-1); });
     }},
    {"lath_store_open", "unknown kind of pages", -EINVAL,
     [](f&) -> R {
         return open_changed([](auto& o) { o.pages = static_cast<lath_store_pages>(3); });
     }},
    {"lath_store_open", "kind of pages -1", -EINVAL,
     [](f&) -> R {
         return open_changed([](auto& o) { o.pages = static_cast<lath_store_pages>(-1); });
     }},
    {"lath_store_open", "unknown flag", -EINVAL,
     [](f&) -> R { return open_changed([](auto& o) { o.flags = LATH_STORE_FOREIGN << 1; }); }},
    {"lath_store_open", "highest flag", -EINVAL,
     [](f&) -> R { return open_changed([](auto& o) { o.flags = 1u << 31; }); }},
    {"lath_store_open", "limit 1", -EINVAL,
     [](f&) -> R { return open_changed([](auto& o) { o.limit = 1; }); }},
    {"lath_store_open", "limit below 8 MiB", -EINVAL,
     [](f&) -> R { return open_changed([](auto& o) { o.limit = (8 << 20) - 1; }); }},
    {"lath_store_open", "eviction without a limit", -EINVAL,
     [](f&) -> R { return open_changed([](auto& o) { o.flags = LATH_STORE_EVICT; }); }},
    {"lath_store_open", "no memory policy", -EINVAL,
     [](f&) -> R { return open_changed([](auto& o) { o.numa = "nowhere"; }); }},
    {"lath_store_open", "an empty memory policy", -EINVAL,
     [](f&) -> R { return open_changed([](auto& o) { o.numa = ""; }); }},
    {"lath_store_open", "a node that no machine has", -EINVAL,
     [](f&) -> R {
         return open_changed([](auto& o) { o.numa = "bind:1023,18446744073709551616"; });
     }},
    {"lath_store_open", "prefault above the limit", -ENOSPC,
     [](f&) -> R {
         return open_changed([](auto& o) { o.limit = 8 << 20, o.prefault = (8 << 20) + 1; });
     }},
    {"lath_store_open", "prefault of 2^64 - 1 bytes", -ENOMEM,
     [](f&) -> R { return open_changed([](auto& o) { o.prefault = key_max; }); }},
    {"lath_store_open", "no scheme", -EINVAL,
     [](f&) -> R { return open("nothing", with(LATH_STORE_NUMBERS)); }},
    {"lath_store_open", "mem: with a name", -EINVAL,
     [](f&) -> R { return open("mem:x", with(LATH_STORE_NUMBERS)); }},
    {"lath_store_open", "file: without a path", -EINVAL,
     [](f&) -> R { return open("file:", with(LATH_STORE_NUMBERS)); }},
    {"lath_store_open", "file: a directory", -EINVAL,
     [](f&) -> R { return open("file:/", with(LATH_STORE_NUMBERS)); }},
    {"lath_store_open", "file: that must exist", -ENOENT,
     [](f&) -> R {
         return open(("file:" + files().path("none")).c_str(),
                     with(LATH_STORE_NUMBERS, LATH_STORE_EXISTING));
     }},
    {"lath_store_open", "file: damaged", -EBADMSG,
     [](f&) -> R {
         write(files().path("damaged"), std::string(200, 'x'));
         return open(("file:" + files().path("damaged")).c_str(), with(LATH_STORE_NUMBERS));
     }},
    {"lath_store_open", "file: of another kind of keys", -EINVAL,
     [](f&) -> R {
         return open(("file:" + snapshot(LATH_STORE_BYTES)).c_str(), with(LATH_STORE_NUMBERS));
     }},
    {"lath_store_open", "file: that is open", -EBUSY,
     [](f&) -> R {
         std::string spec = "file:" + files().path("open");
         lath_store* store = nullptr;
         auto options = with(LATH_STORE_NUMBERS);
         REQUIRE(lath_store_open(&store, spec.c_str(), &options) == 0);
         int ret = open(spec.c_str(), options);
         lath_store_close(store);
         return ret;
     }},
    {"lath_store_open", "dev: no device", -ENODEV,
     [](f&) -> R { return open("dev:/no/such/device", with(LATH_STORE_NUMBERS)); }},
    {"lath_store_open", "dev: byte keys", -EOPNOTSUPP,
     [](f&) -> R { return open("dev:/no/such/device", with(LATH_STORE_BYTES)); }},
    {"lath_store_open", "dev: eviction", -EOPNOTSUPP,
     [](f&) -> R {
         return open("dev:/no/such/device", with(LATH_STORE_NUMBERS, LATH_STORE_EVICT, 8 << 20));
     }},
    {"lath_store_open", "shm: without a name", -EINVAL,
     [](f&) -> R { return open("shm:", with(LATH_STORE_NUMBERS)); }},
    {"lath_store_open", "shm: a name with a slash", -EINVAL,
     [](f&) -> R { return open("shm:a/b", with(LATH_STORE_NUMBERS)); }},
    {"lath_store_open", "shm: dots", -EINVAL,
     [](f&) -> R { return open("shm:..", with(LATH_STORE_NUMBERS)); }},
    {"lath_store_open", "shm: a long name", -EINVAL,
     [](f&) -> R {
         return open(("shm:" + std::string(201, 'n')).c_str(), with(LATH_STORE_NUMBERS));
     }},
    {"lath_store_open", "shm: hugetlb pages", -EOPNOTSUPP,
     [](f&) -> R { return open_changed([](auto& o) { o.pages = LATH_PAGES_HUGETLB; }, "shm:x"); }},
    {"lath_store_open", "shm: a flavour of the caller's", -EOPNOTSUPP,
     [](f&) -> R { return open_changed([](auto& o) { o.rcu = &lath_rcu_single; }, "shm:x"); }},
    {"lath_store_open", "shm: that must exist", -ENOENT,
     [](f&) -> R {
         return open(name_of("none").c_str(), with(LATH_STORE_NUMBERS, LATH_STORE_EXISTING));
     }},
    {"lath_store_open", "shm: of another kind of keys", -EINVAL,
     [](f&) -> R {
         lath_store* store = nullptr;
         auto options = with(LATH_STORE_BYTES);
         std::string spec = name_of("kind");
         REQUIRE(lath_store_open(&store, spec.c_str(), &options) == 0);
         int ret = open(spec.c_str(), with(LATH_STORE_NUMBERS));
         lath_store_close(store);
         REQUIRE(lath_store_remove(spec.c_str(), nullptr, 0) == 0);
         return ret;
     }},
    {"lath_store_remove", "no shm:", -EINVAL,
     [](f&) -> R { return lath_store_remove("mem:", nullptr, 0); }},
    {"lath_store_remove", "an empty text", -EINVAL,
     [](f&) -> R { return lath_store_remove("", nullptr, 0); }},
    {"lath_store_remove", "no name", -EINVAL,
     [](f&) -> R { return lath_store_remove("shm:", nullptr, 0); }},
    {"lath_store_remove", "a name with a slash", -EINVAL,
     [](f&) -> R { return lath_store_remove("shm:a/b", nullptr, 0); }},
    {"lath_store_remove", "a long name", -EINVAL,
     [](f&) -> R {
         return lath_store_remove(("shm:" + std::string(201, 'n')).c_str(), nullptr, 0);
     }},
    {"lath_store_remove", "absent", -ENOENT,
     [](f&) -> R { return lath_store_remove(name_of("none").c_str(), nullptr, 0); }},

    {"lath_store_get", "absent", -ENOENT,
     [](f& t) -> R { return lath_store_get(t.store, t.key(7), nullptr, 0); }},
    {"lath_store_get_ref", "absent", -ENOENT,
     [](f& t) -> R { return singles[1].call(t, t.key(7)); }},
    {"lath_store_mget", "keys that cannot be", 0,
     [](f& t) -> R {
         lath_store_key keys[] = {t.wrong(), t.key(7), lath_key_bytes(long_key.data(), 65536)};
         lath_store_ref refs[3];
         lath_store_read_begin(t.store);
         R n = static_cast<R>(lath_store_mget(t.store, 3, keys, refs));
         for (const auto& ref : refs)
             CHECK(!ref.data);
         n += static_cast<R>(lath_store_mget(t.store, 0, nullptr, nullptr));
         lath_store_read_end(t.store);
         return n;
     }},
    {"lath_store_mget_numbers", "absent, or byte keys", 0,
     [](f& t) -> R {
         u64 keys[] = {7, key_max};
         lath_store_ref refs[2];
         lath_store_read_begin(t.store);
         R n = static_cast<R>(lath_store_mget_numbers(t.store, 2, keys, refs));
         CHECK(!refs[0].data);
         CHECK(!refs[1].data);
         lath_store_read_end(t.store);
         return n;
     }},
    {"lath_store_set", "a value of 2^40 bytes", -E2BIG,
     [](f& t) -> R { return lath_store_set(t.store, t.key(5), zeros.data(), u64{1} << 40); }},
    {"lath_store_set", "a value of 2^64 - 1 bytes", -E2BIG,
     [](f& t) -> R { return lath_store_set(t.store, t.key(5), zeros.data(), key_max); }},
    {"lath_store_append", "2^64 - 1 bytes", -E2BIG,
     [](f& t) -> R { return lath_store_append(t.store, t.key(5), zeros.data(), key_max); }},
    {"lath_store_append", "2^40 bytes", -E2BIG,
     [](f& t) -> R { return lath_store_append(t.store, t.key(7), zeros.data(), u64{1} << 40); }},
    {"lath_store_mset", "a value of 2^40 bytes", -E2BIG,
     [](f& t) -> R {
         lath_store_entry entries[] = {{t.key(5), zeros.data(), u64{1} << 40, 0},
                                       {t.wrong(), "x", 1, 0}};
         int results[2];
         CHECK(lath_store_mset(t.store, 2, entries, results) == 0);
         CHECK(results[1] == -EINVAL);
         CHECK(lath_store_mset(t.store, 0, nullptr, nullptr) == 0);
         return results[0];
     }},
    {"lath_store_add", "present", -EEXIST,
     [](f& t) -> R { return lath_store_add(t.store, t.key(5), "x", 1); }},
    {"lath_store_replace", "absent", -ENOENT,
     [](f& t) -> R { return lath_store_replace(t.store, t.key(7), "x", 1); }},
    {"lath_store_delete", "absent", -ENOENT,
     [](f& t) -> R { return lath_store_delete(t.store, t.key(7)); }},
    {"lath_store_mdel", "absent", -ENOENT,
     [](f& t) -> R { return singles.back().call(t, t.key(7)); }},
    {"lath_store_cas", "absent", -ENOENT,
     [](f& t) -> R { return lath_store_cas(t.store, t.key(7), "five", 4, "x", 1); }},
    {"lath_store_cas", "another value", -EAGAIN,
     [](f& t) -> R { return lath_store_cas(t.store, t.key(5), "fivf", 4, "x", 1); }},
    {"lath_store_cas", "an empty value", -EAGAIN,
     [](f& t) -> R { return lath_store_cas(t.store, t.key(5), nullptr, 0, "x", 1); }},
    {"lath_store_incr", "no number", -EINVAL,
     [](f& t) -> R { return lath_store_incr(t.store, t.key(5), 1, &t.now); }},
    {"lath_store_incr", "above 2^63 - 1", -ERANGE,
     [](f& t) -> R { return lath_store_incr(t.store, t.key(6), INT64_MAX - 5, &t.now); }},
    {"lath_store_min", "no number", -EINVAL,
     [](f& t) -> R { return lath_store_min(t.store, t.key(5), 1, &t.now); }},
    {"lath_store_max", "no number", -EINVAL,
     [](f& t) -> R { return lath_store_max(t.store, t.key(5), 1, &t.now); }},
    {"lath_store_incr", "a value above 2^64", -ERANGE,
     [](f& t) { return with_large(t, lath_store_incr); }},
    {"lath_store_min", "a value above 2^64", -ERANGE,
     [](f& t) { return with_large(t, lath_store_min); }},
    {"lath_store_max", "a value above 2^64", -ERANGE,
     [](f& t) { return with_large(t, lath_store_max); }},
    {"lath_store_expire", "absent", -ENOENT,
     [](f& t) -> R { return lath_store_expire(t.store, t.key(7), 1); }},
    {"lath_store_update", "the function refuses", -EIO,
     [](f& t) -> R { return lath_store_update(t.store, t.key(5), refuse, nullptr); }},
    {"lath_store_update", "the function keeps", 0,
     [](f& t) -> R { return lath_store_update(t.store, t.key(5), keep, nullptr); }},
    {"lath_store_scan_numbers", "from above last, no room, or byte keys", 0,
     [](f& t) -> R {
         u64 keys[2], next = 99;
         lath_store_ref refs[2];
         lath_store_read_begin(t.store);
         R n = static_cast<R>(lath_store_scan_numbers(t.store, 6, 5, keys, refs, 2, &next));
         CHECK(next == 0);
         n += static_cast<R>(lath_store_scan_numbers(t.store, 7, key_max, keys, refs, 2, &next));
         CHECK(next == 0);
         next = 99;
         n += static_cast<R>(lath_store_scan_numbers(t.store, 0, key_max, keys, refs, 0, &next));
         CHECK(next <= 5);
         next = 99;
         n += static_cast<R>(
             lath_store_scan_numbers(t.store, key_max, key_max, keys, refs, 2, &next));
         CHECK(next == 0);
         n += static_cast<R>(lath_store_scan_numbers(t.store, key_max, 0, keys, refs, 2, nullptr));
         lath_store_read_end(t.store);
         return n;
     }},
    {"lath_store_iter_next", "nothing in the range", 0,
     [](f& t) -> R {
         lath_store_key low = t.key(6), high = t.key(5), key;
         lath_store_iter* iter = nullptr;
         lath_store_ref value;
         R sum = 0;
         for (int backward : {0, 1}) {
             lath_store_range range{&low, &high, nullptr, backward};
             REQUIRE(lath_store_iter_begin(t.store, &range, &iter) == 0);
             sum += lath_store_iter_next(iter, &key, &value);
             lath_store_iter_end(iter);
             sum += lath_store_count(t.store, &range);
         }
         return sum;
     }},
    {"lath_store_prefault", "2^64 - 1 bytes", 0,
     [](f& t) -> R {
         int ret = lath_store_prefault(t.store, key_max);
         CHECK(std::strlen(lath_store_reason()) > 8);
         return ret - (spec_now == std::string("shm:") ? -EOPNOTSUPP : -ENOMEM);
     }},
    {"lath_store_prefault", "shm:", -EOPNOTSUPP,
     [](f& t) -> R {
         return spec_now == std::string("shm:") ? lath_store_prefault(t.store, 1) : -EOPNOTSUPP;
     }},
    {"lath_store_prefault", "above the limit", -ENOSPC,
     [](f&) -> R {
         lath_store* store = nullptr;
         auto options = with(keys_now, 0, 8 << 20);
         REQUIRE(lath_store_open(&store, "mem:", &options) == 0);
         int ret = lath_store_prefault(store, (8 << 20) + 1);
         CHECK(lath_store_prefault(store, key_max) == ret);
         CHECK(lath_store_prefault(store, 0) == 0);
         lath_store_close(store);
         return ret;
     }},
    {"lath_store_save", "no path", -EINVAL, [](f& t) { return save(t, ""); }},
    {"lath_store_save", "a directory", -EINVAL, [](f& t) { return save(t, "/"); }},
    {"lath_store_save", "a device", -EINVAL, [](f& t) { return save(t, "/dev/null"); }},
    {"lath_store_save", "in no directory", -ENOENT, [](f& t) { return save(t, "/no/such/dir/s"); }},
    {"lath_store_save", "a long path", -ENAMETOOLONG,
     [](f& t) { return save(t, files().path("") + std::string(5000, 'p')); }},
    {"lath_store_save", "a long name", -ENAMETOOLONG,
     [](f& t) { return save(t, files().path("") + std::string(245, 'p')); }},
    {"lath_store_save", "a file that is open", -EBUSY,
     [](f& t) {
         std::string path = files().path("held");
         lath_store* store = nullptr;
         REQUIRE(lath_store_open(&store, ("file:" + path).c_str(), nullptr) == 0);
         R ret = save(t, path);
         lath_store_close(store);
         return ret;
     }},
    {"lath_store_load", "not empty", -ENOTEMPTY,
     [](f& t) -> R {
         return lath_store_load(t.store, snapshot(keys_now).c_str(), nullptr, nullptr);
     }},
    {"lath_store_load", "no path", -EINVAL, [](f&) { return load(""); }},
    {"lath_store_load", "a directory", -EINVAL, [](f&) { return load("/"); }},
    {"lath_store_load", "a device", -EINVAL, [](f&) { return load("/dev/null"); }},
    {"lath_store_load", "absent", -ENOENT, [](f&) { return load(files().path("none")); }},
    {"lath_store_load", "an empty file", -EBADMSG,
     [](f&) {
         write(files().path("empty"), "");
         return load(files().path("empty"));
     }},
    {"lath_store_load", "no snapshot", -EBADMSG,
     [](f&) {
         write(files().path("text"), std::string(5000, 't'));
         return load(files().path("text"));
     }},
    {"lath_store_load", "another kind of keys", -EINVAL,
     [](f&) {
         return load(
             snapshot(keys_now == LATH_STORE_NUMBERS ? LATH_STORE_BYTES : LATH_STORE_NUMBERS));
     }},
    {"lath_store_load", "progress stops it", -EINTR,
     [](f&) { return load(snapshot(keys_now), stop); }},
};

const std::vector<arguments::exempt> exempts = {
    {"lath_key_number", "", "each number is valid"},
    {"lath_key_bytes", "", "lengths are checked by the calls"},
    {"lath_store_close", "", "no argument but the store; NULL is not a store"},
    {"lath_store_sync", "", "no argument but the store; store_writers"},
    {"lath_store_read_begin", "", "no argument but the store"},
    {"lath_store_read_end", "", "no argument but the store"},
    {"lath_store_iter_end", "", "no argument but the iterator; NULL is not an iterator"},
    {"lath_store_iter_next", "-EINVAL", "an error of iter_begin, whose comment is the same"},
    {"lath_store_iter_next", "-E2BIG", "an error of iter_begin, whose comment is the same"},
    {"lath_store_items", "", "no argument but the store"},
    {"lath_store_get_stats", "", "no argument but the store"},
    {"lath_store_sweep", "", "no argument but the store"},
    {"lath_store_compact", "", "no argument but the store"},
    {"lath_store_save", "-EINTR", "progress is called for many entries: store_snapshot"},
    {"lath_store_load", "-ENOSPC", "store_refusals"},
    {"lath_store_add", "-ENOENT", "an error of replace, whose comment is the same"},
    {"lath_store_replace", "-EEXIST", "an error of add, whose comment is the same"},
    {"lath_store_cas", "-EOPNOTSUPP", "an error of set_if, whose comment is the same"},
    {"lath_store_load", "-EBUSY", "an error of save, whose comment is the same"},
    {"lath_store_save", "-EBADMSG", "an error of load, whose comment is the same"},
    {"lath_store_save", "-ENOSPC", "an error of load, whose comment is the same"},
    {"lath_store_save", "-ENOTEMPTY", "an error of load, whose comment is the same"},
    {"lath_store_reason", "", "it has no argument"},
    {"lath_store_kind", "", "no argument but the store"},
    {"lath_store_now", "", "it has no argument"},
};

void each_store(const std::function<void()>& body) {
    for (const char* spec : {"mem:", "shm:"})
        for (auto keys : {LATH_STORE_NUMBERS, LATH_STORE_BYTES})
            for (unsigned flags : {0u, unsigned{LATH_STORE_VERSIONS}}) {
                if (flags && (keys == LATH_STORE_BYTES || *spec == 's'))
                    continue; // they have versions
                spec_now = spec;
                keys_now = keys;
                flags_now = flags;
                CAPTURE(std::string(spec));
                CAPTURE(keys);
                CAPTURE(flags);
                body();
            }
}

} // namespace

TEST_CASE("lathwork/store.h: each function is in the table") {
    auto all = rows;
    for (const auto* table : {&singles, &readers})
        for (const auto& s : *table)
            for (R error : {-EINVAL, -E2BIG})
                all.push_back({s.function, "a key that cannot be", error, nullptr});
    for (R error : {-EOPNOTSUPP, -EAGAIN, -ENOENT}) // see below
        all.push_back({"lath_store_set_if", "a version", error, nullptr});
    arguments::compare_with_header(LATH_HEADERS "/store.h", all, exempts);
}

TEST_CASE("lathwork/store.h: each bad argument is refused and changes nothing") {
    each_store([] { arguments::make_calls(rows); });
    CHECK(lath_store_close(nullptr) == 0);
    lath_store_iter_end(nullptr);
}

TEST_CASE("keys that cannot be are refused alike by all calls") {
    each_store([] {
        f t;
        auto before = t.state();
        for (const auto* table : {&singles, &readers})
            for (const auto& s : *table) {
                CAPTURE(std::string(s.function));
                CHECK(s.call(t, t.wrong()) == -EINVAL);
                auto much = lath_key_bytes(long_key.data(), long_key.size());
                CHECK(s.call(t, much) == (keys_now == LATH_STORE_NUMBERS ? -EINVAL : -E2BIG));
                much.n = key_max;
                CHECK(s.call(t, much) == (keys_now == LATH_STORE_NUMBERS ? -EINVAL : -E2BIG));
                CHECK(t.state() == before);
            }
    });
}

TEST_CASE("set_if: a store without versions, another version, no entry") {
    each_store([] {
        f t;
        lath_store_ref ref;
        auto before = t.state();
        bool versions = keys_now == LATH_STORE_BYTES || flags_now || *spec_now == 's';
        lath_store_read_begin(t.store);
        REQUIRE(lath_store_get_ref(t.store, t.key(5), &ref) == 0);
        CHECK(!ref.version == !versions);
        u64 version = ref.version;
        lath_store_read_end(t.store);
        for (u64 other : {u64{0}, version - 1, version + 1, key_max})
            if (!versions || other != version)
                CHECK(lath_store_set_if(t.store, t.key(5), other, "x", 1) ==
                      (versions ? -EAGAIN : -EOPNOTSUPP));
        CHECK(lath_store_set_if(t.store, t.key(7), version, "x", 1) ==
              (versions ? -ENOENT : -EOPNOTSUPP));
        if (versions) {
            CHECK(lath_store_set_if(t.store, t.wrong(), version, "x", 1) == -EINVAL);
            CHECK(lath_store_set_if(t.store, t.key(5), version, zeros.data(), u64{1} << 40) ==
                  -E2BIG);
        }
        CHECK(t.state() == before);
    });
}

TEST_CASE("a handle that is read only refuses all that writes") {
    for (bool shared : {false, true}) {
        CAPTURE(shared);
        spec_now = "mem:"; // what the table's calls ask for
        keys_now = LATH_STORE_NUMBERS;
        std::string spec = shared ? name_of("r") : "file:" + files().path("r");
        auto options = with(LATH_STORE_NUMBERS);
        lath_store* writer = nullptr;
        REQUIRE(lath_store_open(&writer, spec.c_str(), &options) == 0);
        REQUIRE(lath_store_set(writer, lath_key_number(5), "five", 4) == 0);
        REQUIRE(lath_store_set(writer, lath_key_number(6), "6", 1) == 0);
        REQUIRE(lath_store_sync(writer) == 0);
        f t;
        lath_store_close(t.store);
        options.flags = LATH_STORE_READ_ONLY;
        REQUIRE(lath_store_open(&t.store, spec.c_str(), &options) == 0);
        auto before = t.state();
        for (std::size_t i = 2; i < singles.size(); ++i) { // the first two read
            CAPTURE(std::string(singles[i].function));
            CHECK(singles[i].call(t, t.key(5)) == -EROFS);
            CHECK(singles[i].call(t, t.key(7)) == -EROFS);
        }
        CHECK(lath_store_sweep(t.store) == -EROFS);
        CHECK(lath_store_sync(t.store) == -EROFS);
        CHECK(lath_store_load(t.store, snapshot(LATH_STORE_NUMBERS).c_str(), nullptr, nullptr) ==
              -EROFS);
        CHECK(t.state() == before);
        lath_store_close(writer);
        if (shared)
            CHECK(lath_store_remove(spec.c_str(), nullptr, 0) == 0);
    }
}
