// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Guests in the table store.
#include "loaded.hpp"

#include <dlfcn.h>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

class guest_store final : public store_engine {
public:
    explicit guest_store(const lath_bench_adapter& a)
        : name_(a.name), group_(*a.store), locked_(!(a.store->flags & LATH_BENCH_CONCURRENT)),
          s_(a, group_) {}

    void set(u64 first, u64 last, item_keys keys) override {
        item it;
        for (u64 i = first; i < last; ++i) {
            make_item(i, keys, it);
            if (locked_)
                lock_.write();
            int ret = group_.set(s_, it.key, it.value, static_cast<std::size_t>(it.size));
            if (locked_)
                lock_.done();
            if (ret)
                guest_broke(name_, "store->set() failed");
        }
    }
    u64 get(u64 first, u64 last, item_keys keys) override {
        u64 sum = 0;
        for (u64 i = first; i < last; ++i) {
            char value[sizeof(item::value)];
            sum += find(item_key(i, keys), value) > 0 ? static_cast<unsigned char>(value[0]) : 0;
        }
        return sum;
    }
    bool ordered() const override { return group_.scan; }
    scan_result scan() override {
        seen all;
        group_.scan(s_, see, &all);
        return all.result;
    }
    std::string value(u64 key) override {
        char value[sizeof(item::value)];
        int size = find(key, value);
        return size > 0 && size <= static_cast<int>(sizeof value)
                   ? std::string(value, static_cast<std::size_t>(size))
                   : "";
    }

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
    guest_structure<lath_bench_store> s_;
    one_lock lock_;
};

} // namespace

void add_guest_stores(std::vector<store_subject>& list) {
    for (const auto* a : guests()) {
        Dl_info object; // its file, for the process of its own
        if (!a->store || !dladdr(a, &object))
            continue;
        store_subject subject{};
        subject.name = a->name;
        subject.note = a->note ? a->note : "";
        subject.make = [a] { return std::make_unique<guest_store>(*a); };
        subject.package = "";
        subject.arguments = {"--vs", object.dli_fname};
        list.push_back(subject);
    }
}

} // namespace lathbench
