// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lath store: a store by its spec, and one command or a shell on it.
#include "base/output.hpp"
#include "base/status_line.hpp"
#include "base/stop_on_signal.hpp"
#include "base/text.hpp"
#include "base/usage.hpp"
#include "commands.hpp"
#include "describe.hpp"
#include "options.hpp"
#include "store/session.hpp"

#include "lathwork/store.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/stat.h>

namespace lathcli::store {

namespace {

struct request {
    std::string spec, keys = "bytes", pages = "huge", numa;
    std::uint64_t limit = 0, prefault = 0;
    bool evict = false, versions = false, read_only = false, foreign = false, remove = false,
         raw = false;
    std::vector<std::string> command;
};

std::string history_file() {
    if (const char* named = std::getenv("LATH_HISTORY"))
        return named;
    const char* state = std::getenv("XDG_STATE_HOME");
    const char* home = std::getenv("HOME");
    if (state && *state)
        return std::string(state) + "/lath_history";
    return home && *home ? std::string(home) + "/.lath_history" : "";
}

// Options may stand behind SPEC too, before the command; what follows the command is its own.
void take_options(CLI::App& sub, std::vector<std::string>& words) {
    while (!words.empty() && is_option_like(words[0])) {
        if (words[0] == "--") { // no options follow
            words.erase(words.begin());
            return;
        }
        std::string name = words[0].substr(0, words[0].find('='));
        std::size_t used = 1;
        CLI::Option* option = sub.get_option_no_throw(name);
        if (!option)
            throw usage_error("store: no option " + printable(name));
        if (option == sub.get_help_ptr())
            throw CLI::CallForHelp();
        if (option->get_expected_min() == 0) {
            option->add_result("true");
        } else if (name.size() < words[0].size()) {
            option->add_result(words[0].substr(name.size() + 1));
        } else {
            if (words.size() < 2)
                throw usage_error("store: " + name + " needs a value");
            option->add_result(words[1]);
            used = 2;
        }
        option->run_callback();
        words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(used));
    }
}

// A command that only reads makes nothing, waits for no writer, and needs no right to write.
bool only_reads(const request& asked) {
    static const char* const readers[] = {"get", "scan", "count", "rank", "dump", "save", "stats"};
    return !asked.command.empty() &&
           std::find(std::begin(readers), std::end(readers), asked.command[0]) != std::end(readers);
}

// What can be told from the words alone.
void check(const request& asked) {
    std::string kind = asked.spec.substr(0, asked.spec.find(':') + 1);
    if (!asked.spec.empty() && kind != "mem:" && kind != "file:" && kind != "shm:" &&
        kind != "dev:")
        throw usage_error("store: '" + printable(asked.spec) +
                          "' is not a store: use mem:, file:PATH, shm:NAME or dev:PATH");
    if (asked.remove && !asked.command.empty())
        throw usage_error("store: --remove takes no command");
    if (asked.remove && kind != "shm:")
        throw usage_error("store: --remove: only shm:NAME can be removed");
    if (asked.raw && !asked.command.empty() && asked.command[0] != "get" &&
        asked.command[0] != "shell")
        throw usage_error("store: --raw is for get");
    if (asked.evict && !asked.limit)
        throw usage_error("store: --evict needs --limit");
    if (kind == "shm:" && (asked.spec.size() == 4 || asked.spec.find('/') != std::string::npos))
        throw usage_error("store: " + printable(asked.spec) +
                          ": a name has 1 to 200 characters, none of them '/'");
}

void remove(const request& asked) {
    if (lath_store_remove(asked.spec.c_str(), nullptr, 0))
        throw std::runtime_error(lath_store_reason());
}

lath_store* open(const request& asked) {
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    options.keys = asked.keys == "numbers" ? LATH_STORE_NUMBERS : LATH_STORE_BYTES;
    options.pages = asked.pages == "small"     ? LATH_PAGES_SMALL
                    : asked.pages == "hugetlb" ? LATH_PAGES_HUGETLB
                                               : LATH_PAGES_HUGE;
    if (asked.evict)
        options.flags |= LATH_STORE_EVICT;
    if (asked.versions)
        options.flags |= LATH_STORE_VERSIONS;
    options.limit = asked.limit;
    options.prefault = asked.prefault;
    if (asked.read_only || only_reads(asked))
        options.flags |= LATH_STORE_READ_ONLY;
    if (asked.foreign)
        options.flags |= LATH_STORE_FOREIGN;
    options.numa = asked.numa.empty() ? nullptr : asked.numa.c_str();
    lath_store* store = nullptr;
    if (lath_store_open(&store, asked.spec.c_str(), &options))
        throw std::runtime_error(lath_store_reason());
    return store;
}

int work(const request& asked, store_session& session) {
    if (asked.command.empty() || asked.command[0] == "shell")
        return store_shell(session, history_file());
    int code = session.run(asked.command) == store_session::outcome::negative ? 1 : 0;
    check_standard_output();
    return code;
}

// The file of a file: store, as far as it tells whether it was replaced.
struct file_state {
    bool there = false;
    ino_t number = 0;
    timespec written{};

    explicit file_state(const std::string& path) {
        struct stat found{};
        there = !path.empty() && stat(path.c_str(), &found) == 0;
        number = found.st_ino;
        written = found.st_mtim;
    }
    bool operator==(const file_state& other) const {
        return there == other.there && number == other.number &&
               written.tv_sec == other.written.tv_sec && written.tv_nsec == other.written.tv_nsec;
    }
};

// What an interrupted command has left: only what is so.
std::string what_is_left(const request& asked, const store_session& session,
                         const file_state& before) {
    if (!session.may_have_changed())
        return "";
    if (!asked.spec.starts_with("file:"))
        return std::string("; what was done until then is ") +
               (asked.spec.starts_with("mem:") ? "gone with " : "in ") + asked.spec;
    file_state now(store_session::file_of(asked.spec));
    if (!(now == before))
        return "; what was done until then is in " + asked.spec;
    return "; " + (now.there ? asked.spec + " is as it was" : "nothing was done, no file was made");
}

// What was done is saved, however the work ended: by its end, a failure, a signal, or an output
// nobody takes.
void run(const request& asked) {
    check(asked);
    if (asked.remove)
        return remove(asked);
    stop_on_signal stop;
    file_state before(asked.spec.starts_with("file:") ? store_session::file_of(asked.spec) : "");
    lath_store* store = open(asked);
    store_session session(store, asked.spec);
    session.raw_values = asked.raw;
    int code = 0;
    std::exception_ptr failure;
    try {
        code = work(asked, session);
    } catch (const std::runtime_error&) {
        failure = std::current_exception();
    }
    bool interrupted = stop_asked && !failure;
    if (lath_store_close(store))
        throw std::runtime_error(lath_store_reason()); // it says whether the changes are saved
    if (stop_asked && failure) {
        try {
            std::rethrow_exception(failure);
        } catch (const std::runtime_error& e) {
            message(std::string("lath: ") + e.what());
        }
        interrupted = true;
    }
    if (interrupted) {
        message("lath: interrupted" + what_is_left(asked, session, before));
        throw CLI::RuntimeError(stop_on_signal::exit_code);
    }
    if (failure)
        std::rethrow_exception(failure);
    if (code)
        throw CLI::RuntimeError(code);
}

} // namespace

void add(CLI::App& app) {
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
        ->check(one_of({"bytes", "numbers"}))
        ->capture_default_str();
    sub->add_option("--limit", asked->limit, "most memory that the store may take (512M, 4G)")
        ->type_name("BYTES")
        ->transform(whole_number(8u << 20));
    sub->add_flag("--evict", asked->evict,
                  "at the limit, drop old entries instead of refusing new ones");
    sub->add_flag("--versions", asked->versions, "numbers: keep a version with each value");
    sub->add_option("--pages", asked->pages, "huge, hugetlb or small")
        ->check(one_of({"huge", "hugetlb", "small"}))
        ->capture_default_str();
    sub->add_option("--prefault", asked->prefault,
                    "take so much memory from the machine before the command runs")
        ->type_name("BYTES")
        ->transform(whole_number());
    sub->add_option("--numa", asked->numa, "local, interleave[:NODES] or bind:NODES");
    sub->add_flag("--raw", asked->raw, "get: the bytes of the value as they are, and nothing else");
    sub->add_flag(
        "--read-only", asked->read_only,
        "change nothing: a file: that another process writes can be read so. get, scan, count, "
        "rank, dump, save and stats do it always");
    sub->add_flag(
        "--foreign", asked->foreign,
        "shm: open an object that another user owns; that user can take over this program");
    sub->add_flag("--remove", asked->remove,
                  "shm: remove the name; processes that have the store open keep it");
    sub->positionals_at_end();
    std::vector<word_text> commands;
    for (const auto& c : store_session::commands())
        commands.push_back({c.name, c.arguments, c.summary});
    tell_commands(*sub, std::move(commands));
    sub->footer(
        "Options may also stand between SPEC and the command. Behind -- a key or file may begin "
        "with -.\n"
        " An interrupt ends the work; what was "
        "done\n"
        "until then is saved. The shell keeps its lines in ~/.lath_history (mode 0600), in\n"
        "$XDG_STATE_HOME/lath_history, or where LATH_HISTORY says; LATH_HISTORY= keeps none.\n"
        "Exit codes: 0 done, 1 error, key not found, or value not the expected one, 130 "
        "interrupted, 100 and "
        "above\n"
        "wrong usage.");
    sub->callback([asked, sub] {
        take_options(*sub, asked->command);
        run(*asked);
    });
}

} // namespace lathcli::store
