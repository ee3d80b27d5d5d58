// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "store/session.hpp"

#include "base/output.hpp"
#include "base/status_line.hpp"
#include "base/stop_on_signal.hpp"
#include "store/text.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef LATH_HAVE_EDITLINE
#include <editline/readline.h>
#endif

namespace lathcli {

namespace {

#ifdef LATH_HAVE_EDITLINE
store_session* completing;

// Commands as the first word, keys after it.
char* complete(const char* text, int state) {
    static std::vector<std::string> found;
    static std::size_t next;
    if (!state) {
        next = 0;
        std::string begun(text);
        bool first = std::string(rl_line_buffer).find(' ') == std::string::npos;
        found = first ? std::vector<std::string>() : completing->keys_like(begun, 50);
        if (first)
            for (const auto& c : store_session::commands())
                if (std::string_view(c.name).substr(0, begun.size()) == begun)
                    found.emplace_back(c.name);
    }
    return next < found.size() ? strdup(found[next++].c_str()) : nullptr;
}

class terminal_lines {
public:
    terminal_lines(store_session& session, std::string history) : history_(std::move(history)) {
        completing = &session;
        rl_readline_name = const_cast<char*>("lath");
        rl_initialize();
        rl_completion_entry_function = complete;
        using_history();
        if (!history_.empty())
            read_history(history_.c_str());
    }
    ~terminal_lines() {
        if (!history_.empty())
            save_history();
    }
    bool next(std::string& line) {
        char* got = readline("store> ");
        if (!got)
            return false;
        line = got;
        std::free(got);
        if (!line.empty())
            add_history(line.c_str());
        return true;
    }

private:
    // Lines have values in them: for their owner alone, also where the file was made by an older
    // version.
    void save_history() {
        int fd = open(history_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
        int error = fd < 0 || fchmod(fd, 0600) != 0 ? errno : write_history(history_.c_str());
        if (fd >= 0)
            close(fd);
        if (error)
            message(output_error(history_, error).what());
    }
    std::string history_;
};
#else
class terminal_lines {
public:
    terminal_lines(store_session&, const std::string&) {}
    bool next(std::string& line) {
        std::fputs("store> ", stdout);
        std::fflush(stdout);
        return store_session::standard_input().next(line);
    }
};
#endif

enum class step { good, bad, quit };

step one(store_session& session, const std::string& line, const std::string& where) {
    std::vector<std::string> words;
    if (auto error = parse_words(line, words)) {
        message(where + "column " + std::to_string(error->column) + ": " + error->what);
        return step::bad;
    }
    if (words.empty() || words[0][0] == '#')
        return step::good;
    try {
        auto outcome = session.run(words);
        return outcome == store_session::outcome::quit       ? step::quit
               : outcome == store_session::outcome::negative ? step::bad
                                                             : step::good;
    } catch (const std::runtime_error& e) {
        if (std::ferror(stdout))
            throw; // nobody reads on
        message(where + e.what());
        return step::bad;
    }
}

} // namespace

int store_shell(store_session& session, const std::string& history_file) {
    std::string line;
    if (isatty(STDIN_FILENO)) {
        terminal_lines lines(session, history_file);
        std::printf("help names the commands; quit or ctrl-D leaves\n");
        if (!history_file.empty())
            std::printf("lines are kept in %s (LATH_HISTORY= keeps none)\n", history_file.c_str());
        while (lines.next(line)) {
            if (stop_signal == SIGTERM || stop_signal == SIGHUP)
                break;
            stop_on_signal::forget(); // ctrl-C ends a command or a line, not the shell
            if (one(session, line, "") == step::quit)
                break;
            if (stop_asked)
                message("interrupted");
        }
        std::printf("\n");
        return 0;
    }
    bool bad = false;
    std::uint64_t number = 0;
    while (!stop_asked && store_session::standard_input().next(line)) {
        ++number;
        step s = one(session, line, "line " + std::to_string(number) + ": ");
        bad |= s == step::bad;
        if (std::ferror(stdout))
            check_standard_output();
        if (s == step::quit)
            break;
    }
    if (stop_asked)
        message("interrupted after line " + std::to_string(number));
    return bad ? 1 : 0;
}

} // namespace lathcli
