// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// calls_tape.hpp - a description (calls.hpp) as a tape (tape.h): calls that the bytes choose, each
// beside the model.
#pragma once

#include <atomic>
#include <bitset>
#include <cstdio>
#include <memory>

#include "base/calls.hpp"

namespace calls {

// Memory that checks the sizes that it is given back, and has an end when it is told so.
struct checked_memory {
    lath_allocator calls{alloc, free, this};
    bool none = false;
    std::atomic<long> blocks{0}; // reclamation frees in its own thread

    static void* alloc(void* arg, std::size_t size, std::size_t align) {
        auto* memory = static_cast<checked_memory*>(arg);
        const std::size_t before = std::max<std::size_t>(align, 64);
        auto* block = memory->none ? nullptr
                                   : static_cast<char*>(std::aligned_alloc(
                                         before, before + (size + before - 1) / before * before));
        if (!block)
            return nullptr;
        memory->blocks++;
        std::memcpy(block + before - 8, &size, 8);
        std::memcpy(block + before - 16, &before, 8);
        return block + before;
    }
    static void free(void* arg, void* block, std::size_t size) {
        std::size_t had[2];
        std::memcpy(had, static_cast<char*>(block) - 16, 16);
        if (had[1] != size) {
            std::fprintf(stderr, "tape: %zu bytes are given back of a block of %zu\n", size,
                         had[1]);
            std::abort();
        }
        static_cast<checked_memory*>(arg)->blocks--;
        std::free(static_cast<char*>(block) - had[0]);
    }
};

// Which errors the calls of this process have returned.
template <class C>
std::vector<std::bitset<256>>& errors_seen() {
    static std::vector<std::bitset<256>> seen(C::kinds.size());
    return seen;
}

template <class C>
int differs(const typename C::setup& setup, const typename C::call& c) {
    std::fprintf(stderr, "tape: not what the model says: %s", C::kinds[c.kind].name);
    show(stderr, c);
    show(stderr, setup);
    return -1;
}

// One call on both. 0, or -1 if they differ.
template <class C>
int play(tape& t, C& it, typename C::model& model, typename C::setup& setup, source& from) {
    auto c = draw<C>(setup, from);
    const described<C>& kind = C::kinds[c.kind];
    t.call = kind.name;
    if (kind.make)
        kind.make(it, c);
    std::vector<typename C::call> made{c};
    if (kind.steps && !kind.agrees)
        made = steps_of<C>(c);
    for (const auto& one : made)
        if (-one.ret > 0 && -one.ret < 256)
            errors_seen<C>()[one.kind][static_cast<std::size_t>(-one.ret)] = true;
    for (const auto& one : made)
        if (one.ret == -ENOMEM && !t.may_fail)
            return differs<C>(setup, c);
    return agrees<C>(model, c) ? 0 : differs<C>(setup, c);
}

template <class C>
int check(tape& t, C& it, const typename C::model& model) {
    typename C::model there;
    const std::string wrong = it.verify(t.may_fail);
    if (!wrong.empty())
        std::fprintf(stderr, "tape: verify after %s: %s\n", t.call, wrong.c_str());
    it.contents(there);
    if (wrong.empty() && !(there == model))
        std::fprintf(stderr, "tape: after %s it has other items than the model\n", t.call);
    return wrong.empty() && there == model ? 0 : -1;
}

template <class C>
int run_tape(tape& t) {
    source from(t);
    typename C::setup setup(from);
    setup.memory_ends = t.may_fail;
    checked_memory memory;
    host where;
    where.allocator = t.allocator ? t.allocator : setup.memory ? &memory.calls : nullptr;
    where.none = &memory.none;
    auto it = std::make_unique<C>(setup, where);
    typename C::model model;
    t.call = "init";
    if (it->failed())
        return t.may_fail ? 0 : -1;
    it->contents(model);
    int ret = 0;
    for (unsigned n = 1; !ret && from.more(); n++) {
        ret = play<C>(t, *it, model, setup, from);
        if (!ret && n % t.verify_every == 0)
            ret = check<C>(t, *it, model);
    }
    ret = ret ? ret : check<C>(t, *it, model);
    return it->end(&model) && !memory.blocks ? ret : -1;
}

// After all tapes: 0 if each error that the description names has occurred, but for ENOMEM. list:
// prints the calls, their errors, and whether they may be made beside others, for tests/headers,
// which compares them with the comments of the header, and tests/doc.
template <class C>
int all_errors_seen(bool list) {
    int missing = 0;
    for (unsigned i = 0; i < C::kinds.size(); i++) {
        if (!C::kinds[i].weight)
            continue;
        if (list)
            std::printf("%s:", C::kinds[i].name);
        for (int error : C::kinds[i].errors) {
            const bool seen = error == ENOMEM || errors_seen<C>()[i][static_cast<unsigned>(error)];
            if (list)
                std::printf(" %d", error);
            else if (!seen)
                std::fprintf(stderr, "tape: %s never returned \"%s\"\n", C::kinds[i].name,
                             std::strerror(error));
            missing += !seen;
        }
        if (list)
            std::printf(";%s\n", C::kinds[i].effect == effect::alone ? " alone" : "");
    }
    return missing && !list ? -1 : 0;
}

} // namespace calls
