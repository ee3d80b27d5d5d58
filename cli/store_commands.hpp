// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The commands of `lath store`, the same from the command line, a pipe and the interactive shell.
#pragma once

#include "lathwork/store.h"

#include <string>
#include <vector>

namespace lathcli {

struct store_command {
    const char* name;
    const char* arguments;
    const char* summary;
};

class store_session {
public:
    store_session(lath_store* store, std::string spec) : store_(store), spec_(std::move(spec)) {}

    static const std::vector<store_command>& commands();

    enum class outcome { done, negative, quit }; // negative: said so: no such key, another value
    // Throws std::runtime_error with what is wrong.
    outcome run(const std::vector<std::string>& words);

    // For completion: up to max keys that begin so.
    std::vector<std::string> keys_like(const std::string& prefix, std::size_t max) const;

private:
    using arguments = const std::vector<std::string>&;

    lath_store_key key(const std::string& text) const;
    std::string text(const lath_store_key& key) const;
    outcome answer(int status, const std::string& key) const;

    outcome get(arguments words);
    outcome put(arguments words);
    outcome remove(arguments words);
    outcome number(arguments words);
    outcome cas(arguments words);
    outcome expire(arguments words);
    outcome scan(arguments words);
    outcome load(arguments words);
    outcome dump(arguments words);
    outcome stats();
    outcome bench(arguments words);

    lath_store* store_;
    std::string spec_;
};

// Read commands: with history and completion on a terminal, else line by line; errors name the line.
// Returns the exit code.
int store_shell(store_session& session, const std::string& history_file);

} // namespace lathcli
