// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The client of the kernel's store without a kernel: ioctl() is answered here from a map, as
// lathwork/uapi/llds.h says it is answered there. The kernel's side is tested under qemu.
#include "model.hpp"

#include "lathwork/uapi/llds.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstring>
#include <functional>
#include <utility>
#include <string>
#include <vector>

using namespace storetest;

namespace {

struct record {
    std::string value;
    std::uint64_t version, expires;
};

struct device {
    std::uint32_t abi = LLDS_ABI;
    int fd = -1;
    std::map<std::uint64_t, record> records;
    std::uint64_t versions = 0, limit = 0;
    std::string attached;
    int interrupts = 0; // this many calls are interrupted first
    int fail = 0; // the next call fails so
    unsigned stop_after = UINT_MAX; // batches and iterations stop early
    std::function<void()> before_write; // another program
    unsigned calls = 0;

    template <class T>
    static T& at(std::uint64_t address) {
        return *reinterpret_cast<T*>(address);
    }

    int get(llds_get& g) {
        auto it = records.find(g.key);
        if (it == records.end())
            return -ENOENT;
        const auto& r = it->second;
        g.size = static_cast<std::uint32_t>(r.value.size());
        g.version = r.version;
        g.expires = r.expires;
        std::memcpy(&at<char>(g.value), r.value.data(), std::min(g.size, g.room));
        return g.size > g.room ? -ERANGE : 0;
    }

    int set(llds_set& s) {
        if (s.flags & ~(LLDS_ADD | LLDS_REPLACE | LLDS_IF_VERSION | LLDS_KEEP_EXPIRES))
            return -EINVAL;
        if (s.size > LLDS_VALUE_MAX)
            return -E2BIG;
        auto it = records.find(s.key);
        if (it != records.end() && (s.flags & LLDS_ADD))
            return -EEXIST;
        if (it == records.end() && (s.flags & (LLDS_REPLACE | LLDS_IF_VERSION)))
            return -ENOENT;
        if ((s.flags & LLDS_IF_VERSION) && it->second.version != s.version)
            return -EAGAIN;
        std::string value(s.size ? &at<char>(s.value) : "", s.size);
        records[s.key] = {std::move(value), s.version = ++versions, s.expires};
        return 0;
    }

    int erase(const llds_delete& d) {
        if (d.flags & ~LLDS_IF_VERSION)
            return -EINVAL;
        auto it = records.find(d.key);
        if (it == records.end())
            return -ENOENT;
        if ((d.flags & LLDS_IF_VERSION) && it->second.version != d.version)
            return -EAGAIN;
        records.erase(it);
        return 0;
    }

    template <class T, class Call>
    int batch(llds_batch& b, Call call) {
        if (b.count > LLDS_BATCH_MAX)
            return -E2BIG;
        T* elements = &at<T>(b.elements);
        b.good = 0;
        for (b.done = 0; b.done < std::min(b.count, stop_after); b.done++) {
            elements[b.done].error = call(elements[b.done]);
            b.good += !elements[b.done].error;
        }
        return 0;
    }

    int iterate(llds_iterate& i) {
        bool backward = i.flags & LLDS_BACKWARD;
        unsigned wanted = i.count;
        i.count = i.used = i.more = 0;
        if (stop_after == 0) {
            stop_after = UINT_MAX;
            i.next = i.from;
            i.more = 1;
            return 0;
        }
        auto it = records.lower_bound(i.from);
        if (backward) {
            it = records.upper_bound(i.from);
            if (it == records.begin())
                return 0;
            --it;
        }
        if (it == records.end() || (backward ? it->first < i.last : it->first > i.last))
            return 0;
        CHECK(wanted == 1);
        const auto& r = it->second;
        auto size = static_cast<std::uint32_t>(r.value.size());
        i.used = static_cast<std::uint32_t>(sizeof(llds_record)) + ((size + 7) & ~7u);
        if (i.used > i.room)
            return -ERANGE;
        auto& out = at<llds_record>(i.buffer);
        out = {it->first, r.version, r.expires, size, 0};
        std::memcpy(&out + 1, r.value.data(), size);
        i.count = 1;
        i.more = 1;
        return 0;
    }

    int call(unsigned long request, void* arg) {
        calls++;
        if (fail)
            return std::exchange(fail, 0);
        if ((request == LLDS_SET || request == LLDS_DELETE) && before_write)
            std::exchange(before_write, nullptr)();
        switch (request) {
        case LLDS_GET_ABI:
            *static_cast<std::uint32_t*>(arg) = abi;
            return 0;
        case LLDS_SET_LIMIT:
            limit = *static_cast<std::uint64_t*>(arg);
            return 0;
        case LLDS_ATTACH:
            attached = static_cast<llds_attach*>(arg)->name;
            limit = static_cast<llds_attach*>(arg)->limit;
            return attached == "theirs" ? -EACCES : 0;
        case LLDS_GET:
            return get(*static_cast<llds_get*>(arg));
        case LLDS_SET:
            return set(*static_cast<llds_set*>(arg));
        case LLDS_DELETE:
            return erase(*static_cast<llds_delete*>(arg));
        case LLDS_MGET:
            return batch<llds_get>(*static_cast<llds_batch*>(arg),
                                   [&](llds_get& g) { return get(g); });
        case LLDS_MSET:
            return batch<llds_set>(*static_cast<llds_batch*>(arg),
                                   [&](llds_set& s) { return set(s); });
        case LLDS_MDELETE:
            return batch<llds_delete>(*static_cast<llds_batch*>(arg),
                                      [&](llds_delete& d) { return erase(d); });
        case LLDS_ITERATE:
            return iterate(*static_cast<llds_iterate*>(arg));
        case LLDS_STATS: {
            llds_stats stats{};
            stats.items = records.size();
            stats.bytes = 1000;
            stats.index_bytes = 300;
            *static_cast<llds_stats*>(arg) = stats;
            return 0;
        }
        }
        return -ENOTTY;
    }
};

device* now; // the one that answers

struct fixture {
    device dev;
    std::string path;
    char why[200] = "";
    lath_store_options options = LATH_STORE_OPTIONS_INIT;

    fixture() {
        dev.fd = memfd_create("llds", 0);
        REQUIRE(dev.fd >= 0);
        path = "dev:/proc/self/fd/" + std::to_string(dev.fd);
        options.why = why;
        options.why_size = sizeof why;
        now = &dev;
    }
    ~fixture() {
        lath_rcu_auto.drain(); // copies that were handed out
        now = nullptr;
        close(dev.fd);
    }
    store_ptr open(int error = 0, const std::string& name = "") {
        lath_store* s = nullptr;
        CHECK(lath_store_open(&s, (path + name).c_str(), &options) == error);
        return store_ptr(error ? nullptr : s);
    }
};

std::string text(std::uint64_t n, std::size_t size) {
    return std::string(size, static_cast<char>('a' + n % 26));
}
int set(lath_store* s, std::uint64_t key, const std::string& v) {
    return lath_store_set(s, lath_key_number(key), v.data(), v.size());
}
std::string get(lath_store* s, std::uint64_t key) {
    std::string v(LLDS_VALUE_MAX, '\0');
    auto n = lath_store_get(s, lath_key_number(key), v.data(), v.size());
    return n < 0 ? "error " + std::to_string(n) : v.substr(0, static_cast<std::size_t>(n));
}
std::string_view view_of(const lath_store_ref& ref) {
    return {static_cast<const char*>(ref.data), ref.size};
}

const std::size_t sizes[] = {0, 1, 16, 17, 64, 65, 400, 512, 513, 5000, 70000, LLDS_VALUE_MAX};

} // namespace

extern "C" int ioctl(int, unsigned long request, ...) {
    va_list args;
    va_start(args, request);
    void* arg = va_arg(args, void*);
    va_end(args);
    int ret = !now ? -ENOTTY : now->interrupts-- > 0 ? -EINTR : now->call(request, arg);
    errno = -ret;
    return ret ? -1 : 0;
}

TEST_CASE("opening: what the device must be, names, limits") {
    fixture f;
    f.dev.abi = LLDS_ABI + 1;
    f.open(-ENODEV);
    CHECK(std::strstr(f.why, "version"));
    f.dev.abi = LLDS_ABI;
    f.dev.interrupts = 3;
    f.options.limit = 64 << 20;
    CHECK(f.open());
    CHECK(f.dev.limit == 64 << 20);
    CHECK(f.open(0, "#mine"));
    CHECK(f.dev.attached == "mine");
    f.open(-EACCES, "#theirs");
    CHECK(std::strstr(f.why, "store theirs"));
    f.open(-EINVAL, "#" + std::string(LLDS_NAME_MAX + 1, 'n'));
    CHECK(std::strstr(f.why, "63 characters"));
    f.options.why = nullptr;
    f.open(-EACCES, "#theirs");
    f.options.keys = LATH_STORE_BYTES;
    f.open(-EOPNOTSUPP);
}

TEST_CASE("values of every size, one at a time and many at once") {
    fixture f;
    auto s = f.open();
    std::uint64_t n = 0;
    for (auto size : sizes) {
        CHECK(set(s.get(), n, text(n, size)) == 0);
        CHECK(get(s.get(), n) == text(n, size));
        n++;
    }
    CHECK(set(s.get(), 99, text(0, LLDS_VALUE_MAX + 1)) == -E2BIG);
    CHECK(get(s.get(), 99) == "error " + std::to_string(-ENOENT));
    char little[3];
    CHECK(lath_store_get(s.get(), lath_key_number(6), little, 3) == 400);
    CHECK(std::string(little, 3) == "ggg");
    CHECK(lath_store_get(s.get(), lath_key_bytes("x", 1), little, 3) == -EINVAL);

    for (unsigned stop : {UINT_MAX, 5u, 0u}) {
        lath_store_key keys[16];
        lath_store_ref refs[16];
        for (std::uint64_t i = 0; i < 16; i++)
            keys[i] = lath_key_number(i);
        keys[15] = lath_key_bytes("x", 1);
        f.dev.stop_after = stop;
        lath_store_read_begin(s.get());
        CHECK(lath_store_mget(s.get(), 16, keys, refs) == std::size(sizes));
        for (std::uint64_t i = 0; i < 16; i++) {
            if (i < std::size(sizes))
                CHECK(view_of(refs[i]) == text(i, sizes[i]));
            else
                CHECK(!refs[i].data);
        }
        f.dev.fail = -EFAULT; // the batch: then every key by itself
        CHECK(lath_store_mget(s.get(), 16, keys, refs) == std::size(sizes));
        const std::uint64_t numbers[] = {3, 77, 4};
        CHECK(lath_store_mget_numbers(s.get(), 3, numbers, refs) == 2);
        CHECK(!refs[1].data);
        CHECK(view_of(refs[2]) == text(4, 64));
        lath_store_read_end(s.get());
    }
}

TEST_CASE("batches of writes, interrupted and not") {
    fixture f;
    auto s = f.open();
    std::string value = "value", huge(LLDS_VALUE_MAX + 1, 'h');
    std::vector<lath_store_entry> entries;
    for (std::uint64_t i = 0; i < 200; i++)
        entries.push_back({lath_key_number(i), value.data(), i % 6, 0});
    entries[150] = {lath_key_bytes("x", 1), value.data(), 1, 0};
    entries[151] = {lath_key_number(151), huge.data(), huge.size(), 0};
    f.dev.stop_after = 7;
    int results[200];
    CHECK(lath_store_mset(s.get(), 200, entries.data(), results) == 198);
    CHECK(results[150] == -EINVAL);
    CHECK(results[151] == -E2BIG);
    CHECK(results[199] == 0);
    CHECK(f.dev.records.size() == 198);
    CHECK(get(s.get(), 5) == "value");
    CHECK(lath_store_mset(s.get(), 3, entries.data(), nullptr) == 3);

    std::vector<lath_store_key> keys;
    for (std::uint64_t i = 100; i < 250; i++)
        keys.push_back(lath_key_number(i));
    keys[0] = lath_key_bytes("x", 1);
    CHECK(lath_store_mdel(s.get(), 150, keys.data(), results) == 97);
    CHECK(results[0] == -EINVAL);
    CHECK(results[1] == 0);
    CHECK(results[51] == -ENOENT);
    CHECK(f.dev.records.size() == 101);

    // a call that fails as a whole leaves its error with none of them done
    f.dev.fail = -ENOMEM;
    CHECK(lath_store_mset(s.get(), 2, entries.data(), results) == 0);
    CHECK(results[0] < 0);
    f.dev.stop_after = 0;
    CHECK(lath_store_mdel(s.get(), 2, &keys[1], results) == 0);
    CHECK(results[1] < 0);
}

TEST_CASE("changes that depend on the value, against other programs") {
    fixture f;
    CHECK(lath_store_set_if(f.open().get(), lath_key_number(1), 1, "v", 1) == -EOPNOTSUPP);
    f.options.flags = LATH_STORE_VERSIONS;
    auto s = f.open();
    auto key = lath_key_number(1);
    std::int64_t n;
    CHECK(lath_store_incr(s.get(), key, 5, &n) == 0);
    // another program is faster: looked at again, never lost
    f.dev.before_write = [&] { f.dev.records[1] = {"40", ++f.dev.versions, 0}; };
    CHECK(lath_store_incr(s.get(), key, 2, &n) == 0);
    CHECK(n == 42);
    f.dev.before_write = [&] { f.dev.records.erase(1); };
    CHECK(lath_store_incr(s.get(), key, 2, &n) == 0);
    CHECK(n == 2);
    f.dev.records.clear();
    f.dev.before_write = [&] { f.dev.records[1] = {"7", ++f.dev.versions, 0}; };
    CHECK(lath_store_incr(s.get(), key, 2, &n) == 0);
    CHECK(n == 9);
    CHECK(lath_store_append(s.get(), key, "x", 1) == 2);
    CHECK(get(s.get(), 1) == "9x");
    CHECK(lath_store_append(s.get(), lath_key_number(2), "tail", 4) == 4);
    CHECK(lath_store_incr(s.get(), key, 1, &n) == -EINVAL);
    CHECK(lath_store_cas(s.get(), key, "9x", 2, "y", 1) == 0);
    CHECK(lath_store_cas(s.get(), key, "9x", 2, "z", 1) == -EAGAIN);
    CHECK(lath_store_set_if(s.get(), key, f.dev.records[1].version, "v", 1) == 0);
    CHECK(lath_store_add(s.get(), key, "a", 1) == -EEXIST);
    CHECK(lath_store_replace(s.get(), lath_key_number(3), "a", 1) == -ENOENT);
    CHECK(lath_store_expire(s.get(), key, lath_store_now() + 100000) == 0);
    CHECK(f.dev.records[1].expires > 0);
    CHECK(get(s.get(), 1) == "v");
    CHECK(lath_store_delete(s.get(), key) == 0);
    CHECK(lath_store_delete(s.get(), key) == -ENOENT);
    f.dev.fail = -EIO;
    CHECK(lath_store_delete(s.get(), lath_key_number(2)) == -EIO);
    CHECK(get(s.get(), 2) == "tail");
    auto remove = [](void*, const lath_store_ref*, lath_store_change* change) {
        change->action = LATH_STORE_REMOVE;
        return 0;
    };
    CHECK(lath_store_update(s.get(), lath_key_number(2), remove, nullptr) == 0);
    CHECK(lath_store_update(s.get(), lath_key_number(2), remove, nullptr) == 0);
    CHECK(f.dev.records.empty());
}

TEST_CASE("in order, and the whole") {
    fixture f;
    auto s = f.open();
    std::vector<std::uint64_t> expected = {0, 1, 5, 1000, ~0ull - 1, ~0ull};
    for (std::size_t i = 0; i < expected.size(); i++)
        CHECK(set(s.get(), expected[i], text(i, sizes[2 * i])) == 0);
    f.dev.stop_after = 0; // stops once before it has found anything
    for (int backward : {0, 1}) {
        lath_store_range range{};
        range.backward = backward;
        lath_store_iter* iter;
        REQUIRE(lath_store_iter_begin(s.get(), &range, &iter) == 0);
        auto want = expected;
        if (backward)
            std::reverse(want.begin(), want.end());
        lath_store_key key;
        lath_store_ref ref;
        for (auto k : want) {
            REQUIRE(lath_store_iter_next(iter, &key, &ref) == 1);
            CHECK(key.n == k);
            auto i = static_cast<std::size_t>(std::find(expected.begin(), expected.end(), k) -
                                              expected.begin());
            CHECK(view_of(ref) == text(i, sizes[2 * i]));
        }
        CHECK(lath_store_iter_next(iter, &key, &ref) == 0);
        lath_store_iter_end(iter);
    }
    auto from = lath_key_number(1), to = lath_key_number(1000), beyond = lath_key_number(2000),
         far = lath_key_number(3000);
    lath_store_range range{&from, &to, nullptr, 0}, none{&beyond, &far, nullptr, 0};
    CHECK(lath_store_count(s.get(), &range) == 2);
    CHECK(lath_store_count(s.get(), &none) == 0);
    f.dev.fail = -EIO;
    CHECK(lath_store_count(s.get(), &range) == -EIO);
    CHECK(lath_store_rank(s.get(), to) == 3);

    std::uint64_t keys[10], next;
    lath_store_ref refs[10];
    lath_store_read_begin(s.get());
    CHECK(lath_store_scan_numbers(s.get(), 1, 999, keys, refs, 10, &next) == 2);
    CHECK(next == 0); // or a loop up to there would go on for ever
    CHECK(lath_store_scan_numbers(s.get(), 0, ~0ull, keys, refs, 3, &next) == 3);
    CHECK(next == 6);
    CHECK(lath_store_scan_numbers(s.get(), next, ~0ull, keys, refs, 10, &next) == 3);
    CHECK(keys[2] == ~0ull);
    CHECK(next == 0);
    lath_store_read_end(s.get());

    lath_store_stats stats;
    CHECK(lath_store_get_stats(s.get(), &stats) == 0);
    CHECK(stats.items == expected.size());
    CHECK(lath_store_items(s.get()) == static_cast<std::int64_t>(expected.size()));
    CHECK(stats.committed == 1000);
    CHECK(stats.record_bytes == 700);
    CHECK(lath_store_get_pages(s.get(), &stats) == 0);
    CHECK(stats.resident == 0);
    f.dev.fail = -EIO;
    CHECK(lath_store_get_stats(s.get(), &stats) == -EIO);
    f.dev.fail = -EIO;
    CHECK(lath_store_items(s.get()) == -EIO);
    CHECK(lath_store_save(s.get(), "/tmp/never-written", nullptr, nullptr) == -EOPNOTSUPP);
    CHECK(lath_store_load(s.get(), "/tmp/never-read", nullptr, nullptr) == -EOPNOTSUPP);
    CHECK(lath_store_sync(s.get()) == 0);
}
