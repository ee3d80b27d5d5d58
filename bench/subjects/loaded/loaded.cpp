// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Loads shared objects. Whatever is wrong with one is reported before anything is measured.
#include "loaded.hpp"

#include <cctype>
#include <cstdlib>
#include <dlfcn.h>
#include <stdexcept>

namespace lathbench {

namespace {

std::vector<const lath_bench_subject*>& list() {
    static std::vector<const lath_bench_subject*> loaded;
    return loaded;
}

class checker {
public:
    explicit checker(const std::string& path) : path_(path) {}

    [[noreturn]] void fail(const std::string& what) const {
        throw std::runtime_error("--vs " + path_ + ": " + what);
    }
    void need(const char* group, const char* function, bool there) const {
        if (!there)
            fail(std::string(group) + "->" + function + " is NULL, but the table needs it");
    }
    void check(const lath_bench_subject& s) const {
        if (s.abi != LATH_BENCH_ABI)
            fail("made for version " + std::to_string(s.abi) +
                 " of bench_subject.h; this is version " + std::to_string(LATH_BENCH_ABI));
        if (s.size < sizeof(s))
            fail("its size member is " + std::to_string(s.size) +
                 ", not sizeof(struct lath_bench_subject), " + std::to_string(sizeof(s)));
        check_name(s.name);
        if (!s.ranges && !s.map && !s.queue && !s.sorter && !s.holes && !s.store)
            fail("all its groups are NULL: there is nothing to measure");
        check_groups(s);
    }

private:
    void check_name(const char* text) const {
        std::string name = text ? text : "";
        if (name.empty() || name.size() > 32)
            fail("its name must have 1 to 32 characters");
        for (char c : name)
            if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.')
                fail("its name '" + name + "' may hold letters, digits, - _ . only");
        if (name.compare(0, 8, "lathwork") == 0)
            fail("its name '" + name + "' is ours: another one, please");
        for (const auto* other : list())
            if (name == other->name)
                fail("another --vs is called '" + name + "' too");
    }
    void check_groups(const lath_bench_subject& s) const {
        if (const auto* g = s.ranges) {
            need("ranges", "create", g->create);
            need("ranges", "destroy", g->destroy);
            need("ranges", "insert", g->insert);
            need("ranges", "lookup", g->lookup);
        }
        if (const auto* g = s.map) {
            need("map", "create", g->create);
            need("map", "destroy", g->destroy);
            need("map", "insert", g->insert);
            need("map", "get", g->get);
            need("map", "update", g->update);
        }
        if (const auto* g = s.queue) {
            need("queue", "create", g->create);
            need("queue", "destroy", g->destroy);
            need("queue", "push_back", g->push_back);
            need("queue", "push_front", g->push_front);
            need("queue", "pop_front", g->pop_front);
            need("queue", "scan", g->scan);
        }
        if (const auto* g = s.sorter) {
            need("sorter", "create", g->create);
            need("sorter", "destroy", g->destroy);
            need("sorter", "push", g->push);
            need("sorter", "pop", g->pop);
        }
        if (const auto* g = s.holes) {
            need("holes", "create", g->create);
            need("holes", "destroy", g->destroy);
            need("holes", "alloc", g->alloc);
            need("holes", "free", g->free);
        }
        if (const auto* g = s.store) {
            need("store", "create", g->create);
            need("store", "destroy", g->destroy);
            need("store", "set", g->set);
            need("store", "get", g->get);
        }
    }

    std::string path_;
};

} // namespace

void load_subject(const std::string& path) {
    checker check(path);
    // the loader looks up names without a slash in the system's directories
    std::string file = path.find('/') == std::string::npos ? "./" + path : path;
    void* object = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!object)
        check.fail(dlerror());
    const auto* loaded = static_cast<const lath_bench_subject*>(dlsym(object, "lath_bench_loaded"));
    if (!loaded)
        check.fail("does not export lath_bench_loaded (see bench_subject.h)");
    check.check(*loaded);
    list().push_back(loaded);
}

const std::vector<const lath_bench_subject*>& loaded_subjects() { return list(); }

void fail_loaded(const char* name, const char* what) {
    throw contract_broken(std::string("--vs: ") + name + ": " + what);
}

} // namespace lathbench
