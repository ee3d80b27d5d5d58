// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The commands of `lath store`, the same from the command line, a pipe and the interactive shell.
#pragma once

#include "base/input_file.hpp"

#include "lathwork/store.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lathcli {

// Ends an iterator that a std::unique_ptr or a std::shared_ptr owns.
struct iter_closer {
    void operator()(lath_store_iter* i) const { lath_store_iter_end(i); }
};

struct store_command {
    const char* name;
    const char* arguments;
    const char* summary;
    bool changes; // the store
    std::size_t names; // this many of its words, from the first on, are keys, files and such
};

class store_session {
public:
    store_session(lath_store* store, std::string spec) : store_(store), spec_(std::move(spec)) {}

    static const std::vector<store_command>& commands();

    enum class outcome { done, negative, quit }; // negative: said so: no such key, another value
    // Throws std::runtime_error with what is wrong: usage_error for the words themselves,
    // output_error. After a signal (base/stop_on_signal.hpp) it returns early; what is done is
    // done.
    // A word that begins with - stands for itself behind --; numbers and values may begin so.
    outcome run(std::vector<std::string> words);
    // Whether a command that can change the store has been run.
    bool may_have_changed() const { return may_have_changed_; }
    bool raw_values = false; // get writes values as they are, with nothing between or behind them

    // The file a spec names; "": none.
    static std::string file_of(const std::string& spec);
    // Commands and the entries of `load -` come from here.
    static line_reader& standard_input();

    // For completion: up to max keys that begin so.
    std::vector<std::string> keys_like(const std::string& prefix, std::size_t max) const;

private:
    using arguments = const std::vector<std::string>&;
    class loader;

    lath_store_key key(const std::string& text) const;
    std::string text(const lath_store_key& key) const;
    outcome answer(int status, const std::string& key) const;

    // Refuses what looks like an option where a name belongs, unless -- is before it; takes the --
    // out of the words.
    static void take_marks(std::vector<std::string>& words, std::size_t names);
    // Throws usage_error when there is no such command, output_error when its changes could not be
    // saved.
    const store_command* allow(const std::string& what);
    outcome get(arguments words);
    outcome put(arguments words);
    outcome remove(arguments words);
    outcome number(arguments words);
    outcome cas(arguments words);
    outcome expire(arguments words);
    outcome scan(arguments words);
    outcome load(arguments words);
    outcome dump(arguments words);
    outcome rank(arguments words);
    outcome snapshot(arguments words);
    outcome stats();
    outcome bench(arguments words);

    lath_store* store_;
    std::string spec_;
    bool may_write_ = false; // looked at once
    bool may_have_changed_ = false;
};

// The state of a long command for a status line: this many entries, and `bytes` of `of` (0:
// unknown) in percent.
std::string progress_text(const std::string& what, std::uint64_t items, std::uint64_t bytes,
                          std::uint64_t of);

// Measures set, get, mget and scan of its own store with keys of that kind, and prints the
// figures. A signal ends it early. Throws std::runtime_error when an answer is wrong.
void bench_store(lath_store_keys kind, std::uint64_t items, unsigned threads);

// Read commands until they end or a signal comes: with history ("": none) and completion on a
// terminal, else line by line; errors name the line. Returns the exit code. Throws output_error
// when answers are not taken.
int store_shell(store_session& session, const std::string& history_file);

} // namespace lathcli
