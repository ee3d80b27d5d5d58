// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Loaded subjects in table `store`.
#include "loaded.hpp"

#include "subjects/store/store_subject.hpp"

#include <dlfcn.h>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

class loaded_map {
public:
    explicit loaded_map(const lath_bench_subject& s)
        : is_ordered(s.store->scan != nullptr), name_(s.name), group_(*s.store),
          locked_(!(s.store->flags & LATH_BENCH_CONCURRENT)), s_(name_, group_) {}

    void set(u64 key, const char* value, int size) {
        if (locked_)
            lock_.write();
        int ret = group_.set(s_, key, value, static_cast<std::size_t>(size));
        if (locked_)
            lock_.done();
        if (ret)
            fail_loaded(name_, "store->set() failed");
    }
    u64 get(u64 key) {
        char value[sizeof(item::value)];
        return find(key, value) > 0 ? static_cast<unsigned char>(value[0]) : 0;
    }
    scan_result scan() {
        seen all;
        group_.scan(s_, see, &all);
        return all.result;
    }
    std::string value(u64 key, int) {
        char value[sizeof(item::value)];
        int size = find(key, value);
        return size > 0 && size <= static_cast<int>(sizeof value)
                   ? std::string(value, static_cast<std::size_t>(size))
                   : "";
    }

    const bool is_ordered;

private:
    struct seen {
        scan_result result;
        u64 last = 0;
    };

    static void see(void* context, u64 key, const void* value, std::size_t) {
        auto& all = *static_cast<seen*>(context);
        all.result.ordered = all.result.ordered && (all.result.count == 0 || key > all.last);
        all.result.sum += key + *static_cast<const unsigned char*>(value);
        ++all.result.count;
        all.last = key;
    }

    int find(u64 key, char* value) {
        if (locked_)
            lock_.read();
        int size = group_.get(s_, key, value, sizeof(item::value));
        if (locked_)
            lock_.done();
        return size;
    }

    const char* name_;
    const lath_bench_store& group_;
    bool locked_;
    loaded_structure<lath_bench_store> s_;
    one_lock lock_;
};

} // namespace

std::vector<store_subject> loaded_store() {
    std::vector<store_subject> list;
    for (const auto* loaded : loaded_subjects()) {
        Dl_info object; // its file, which the process that measures it loads as well
        if (!loaded->store || !dladdr(loaded, &object))
            continue;
        store_subject s;
        static_cast<subject&>(s) = describe(*loaded);
        s.make = [loaded] { return std::make_unique<store_bench_of<loaded_map>>(*loaded); };
        s.arguments = {"--vs", object.dli_fname};
        list.push_back(std::move(s));
    }
    return list;
}

} // namespace lathbench
