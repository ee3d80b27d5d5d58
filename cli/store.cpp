// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lath store: a store by its spec, and one command or a shell on it.
#include "stop_on_signal.hpp"
#include "commands.hpp"
#include "store_commands.hpp"
#include "store_text.hpp"

#include "lathwork/error.h"
#include "lathwork/store.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <unistd.h>

namespace lathcli {

namespace {

struct request {
    std::string spec, keys = "bytes", pages = "huge", limit, prefault, numa;
    bool evict = false, versions = false, remove = false;
    std::vector<std::string> command;
};

std::uint64_t bytes_option(const char* name, const std::string& text) {
    if (text.empty())
        return 0;
    auto n = parse_bytes(text);
    if (!n)
        throw std::runtime_error(std::string(name) + " " + text +
                                 ": not a number of bytes (512M, 4G)");
    return *n;
}

std::string history_file() {
    const char* state = std::getenv("XDG_STATE_HOME");
    const char* home = std::getenv("HOME");
    if (state && *state)
        return std::string(state) + "/lath_history";
    return home && *home ? std::string(home) + "/.lath_history" : "";
}

void remove(const request& asked) {
    char why[256] = "";
    if (!asked.command.empty())
        throw std::runtime_error("--remove takes no command");
    if (int ret = lath_store_remove(asked.spec.c_str(), why, sizeof why))
        throw std::runtime_error("cannot remove " + asked.spec + ": " +
                                 (*why ? why : lath_strerror(ret)));
}

void run(const request& asked) {
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    char why[256] = "";
    options.keys = asked.keys == "numbers" ? LATH_STORE_NUMBERS : LATH_STORE_BYTES;
    options.pages = asked.pages == "small"     ? LATH_PAGES_SMALL
                    : asked.pages == "hugetlb" ? LATH_PAGES_HUGETLB
                                               : LATH_PAGES_HUGE;
    if (asked.evict)
        options.flags |= LATH_STORE_EVICT;
    if (asked.versions)
        options.flags |= LATH_STORE_VERSIONS;
    options.limit = bytes_option("--limit", asked.limit);
    options.prefault = bytes_option("--prefault", asked.prefault);
    options.numa = asked.numa.empty() ? nullptr : asked.numa.c_str();
    options.why = why;
    options.why_size = sizeof why;
    lath_store* store = nullptr;
    if (int ret = lath_store_open(&store, asked.spec.c_str(), &options))
        throw std::runtime_error("cannot open " + asked.spec + ": " +
                                 (*why ? why : lath_strerror(ret)));
    int code = 0;
    std::string failure;
    {
        stop_on_signal stop;
        store_session session(store, asked.spec);
        try {
            if (asked.command.empty() || asked.command[0] == "shell")
                code = store_shell(session, history_file());
            else if (session.run(asked.command) == store_session::outcome::negative)
                code = 1;
        } catch (const std::exception& e) {
            failure = e.what();
        }
        // what was interrupted is not written: the file stays as it was
        if (stop_asked) {
            std::fflush(stdout);
            std::fprintf(stderr, "lath: %s\n", failure.empty() ? "interrupted" : failure.c_str());
            _exit(130);
        }
    }
    if (int ret = lath_store_close(store))
        throw std::runtime_error(asked.spec + " could not be written: " + std::strerror(-ret));
    if (!failure.empty())
        throw std::runtime_error(failure);
    if (code)
        throw CLI::RuntimeError(code);
}

} // namespace

void add_store(CLI::App& app) {
    auto asked = std::make_shared<request>();
    CLI::App* sub =
        app.add_subcommand("store", "an ordered key-value store: one command, or a shell");
    sub->add_option("spec", asked->spec,
                    "mem:, file:PATH (a snapshot: read, and written back when changed), shm:NAME "
                    "(shared by processes, stays until --remove), dev:PATH")
        ->required();
    sub->add_option(
        "command", asked->command,
        "get, set, del, incr, cas, scan, count, load, dump, stats, bench, ... (help names "
        "all); none: a shell, or commands from standard input");
    sub->add_option("--keys", asked->keys, "bytes or numbers")
        ->check(CLI::IsMember({"bytes", "numbers"}))
        ->capture_default_str();
    sub->add_option("--limit", asked->limit, "at most so many bytes of memory (512M, 4G)");
    sub->add_flag("--evict", asked->evict,
                  "at the limit, drop old entries instead of refusing new ones");
    sub->add_flag("--versions", asked->versions, "numbers: keep a version with each value");
    sub->add_option("--pages", asked->pages, "huge, hugetlb or small")
        ->check(CLI::IsMember({"huge", "hugetlb", "small"}))
        ->capture_default_str();
    sub->add_option("--prefault", asked->prefault, "touch so many bytes at the start");
    sub->add_option("--numa", asked->numa, "local, interleave[:NODES] or bind:NODES");
    sub->add_flag("--remove", asked->remove, "shm: give the name up; who is attached goes on");
    sub->positionals_at_end();
    sub->callback([asked] { asked->remove ? remove(*asked) : run(*asked); });
}

} // namespace lathcli
