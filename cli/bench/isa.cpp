// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "bench/isa.hpp"

#include "harness/self.hpp"
#include "lathwork/sortq.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <unistd.h>

namespace lathcli {

namespace {

struct released {
    void operator()(void* memory) const { std::free(memory); }
};

// The name of the form that a queue has when it asks for this one; "": it cannot have it.
std::string form_of(lath_simd simd) {
    lath_request request = {};
    lath_request_pool pool = {};
    lath_sortq queue;
    lath_sortq_config config = LATH_SORTQ_CONFIG_INIT;
    config.simd = simd;
    lath_request_pool_init(&pool, &request, sizeof(request), 1);
    std::unique_ptr<void, released> memory(
        std::aligned_alloc(64, lath_sortq_memsize(&config, &pool)));
    if (!memory)
        throw std::bad_alloc();
    if (lath_sortq_init(&queue, &config, &pool, memory.get()))
        return "";
    return lath_sortq_simd_name(&queue);
}

bool available(const std::string& name) {
    return form_of(LATH_SIMD_NONE) == name || form_of(LATH_SIMD_AVX2) == name;
}

} // namespace

const std::vector<std::string>& isa_names() {
    static const std::vector<std::string> names = {"scalar", "avx2", "neon"};
    return names;
}

std::string isa_in_use() { return form_of(LATH_SIMD_BEST); }

void use_isa(const std::string& name, char** argv) {
    const char* set = std::getenv("LATH_ISA");
    if (set ? set == name : isa_in_use() == name) {
        if (isa_in_use() != name)
            throw std::runtime_error("--isa: the library uses " + isa_in_use() + ", not " + name);
        return;
    }
    if (!available(name))
        throw std::runtime_error("--isa: '" + name +
                                 "' is not in this processor or build, which have " + isa_in_use());
    auto words = lathbench::self_words();
    std::vector<char*> command;
    for (auto& word : words)
        command.push_back(word.data());
    for (char** word = argv + 1; *word; ++word)
        command.push_back(*word);
    command.push_back(nullptr);
    if (setenv("LATH_ISA", name.c_str(), 1) == 0)
        execv("/proc/self/exe", command.data());
    throw std::runtime_error("--isa: cannot start this program anew: " +
                             std::string(std::strerror(errno)));
}

} // namespace lathcli
