// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Tables of calls with arguments that a header calls invalid, and the comparison of such a table
// with its header: each function has a row, and each error that its comment names.
#pragma once

#include "lathwork/config.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace arguments {

// A configuration of an index or a set, which need not be a good one.
inline lath_config config(unsigned flags, int layout = LATH_RANGES,
                          std::size_t size = sizeof(lath_config)) {
    lath_config made = LATH_CONFIG_INIT;
    made.flags = flags;
    made.layout = static_cast<lath_layout>(layout);
    made.size = size;
    return made;
}

// A call with a bad argument, and what it returns.
template <class Fixture>
struct row {
    const char* function;
    const char* argument;
    std::int64_t expected;
    std::int64_t (*call)(Fixture&);
};

// A function without a row, or an error that no argument leads to: which, and why.
struct exempt {
    const char* function;
    const char* what; // "" : the whole function; else the error, "-EIO"
    const char* why;
};

struct declared {
    std::set<std::string> errors; // those that the comment before it names
};

// The functions that a header declares or defines inline.
inline std::map<std::string, declared> read_header(const std::string& path) {
    std::ifstream file(path);
    REQUIRE_MESSAGE(file, path);
    std::map<std::string, declared> found;
    std::string line, comment, text;
    const std::regex error("-E[A-Z0-9]+"), name(R"((\w+)\()");
    bool in_comment = false, in_text = false;
    while (std::getline(file, line)) {
        if (!in_text && (in_comment || line.starts_with("/*"))) {
            if (!in_comment)
                comment.clear();
            comment += line + '\n';
            in_comment = line.find("*/") == std::string::npos;
            continue;
        }
        if (line.empty())
            comment.clear();
        if (line.starts_with("LATH_API ") || line.starts_with("static inline "))
            in_text = true;
        if (!in_text)
            continue;
        text += line + ' ';
        std::smatch match;
        if (line.find_first_of(";{") == std::string::npos)
            continue;
        if (std::regex_search(text, match, name)) {
            auto& function = found[match[1]];
            for (std::sregex_iterator i(comment.begin(), comment.end(), error), end; i != end; ++i)
                function.errors.insert(i->str());
        }
        text.clear();
        in_text = false;
    }
    return found;
}

inline const std::map<int, std::string>& error_names() {
    static const std::map<int, std::string> names = {
#define LATH_ERROR(e) {-(e), "-" #e}
        LATH_ERROR(EACCES),      LATH_ERROR(EAGAIN),    LATH_ERROR(EBADMSG), LATH_ERROR(EBUSY),
        LATH_ERROR(ECANCELED),   LATH_ERROR(E2BIG),     LATH_ERROR(EEXIST),  LATH_ERROR(EINVAL),
        LATH_ERROR(EIO),         LATH_ERROR(EINTR),     LATH_ERROR(ENODEV),  LATH_ERROR(ENOENT),
        LATH_ERROR(ENOMEM),      LATH_ERROR(ENOSPC),    LATH_ERROR(ERANGE),  LATH_ERROR(EROFS),
        LATH_ERROR(EOPNOTSUPP),  LATH_ERROR(ENOTEMPTY), LATH_ERROR(EDEADLK), LATH_ERROR(ENOTDIR),
        LATH_ERROR(ENAMETOOLONG)
#undef LATH_ERROR
    };
    return names;
}

// Each function of the header has a row or is exempt, each error that its comment names has one too
// (but -ENOMEM, which no argument leads to: see the tests *_oom), and no row is of another
// function.
template <class Fixture>
void compare_with_header(const std::string& path, const std::vector<row<Fixture>>& rows,
                         const std::vector<exempt>& exempts) {
    auto header = read_header(path);
    REQUIRE(header.size() > 1);
    std::map<std::string, std::set<std::string>> shown;
    std::set<std::string> without_row;
    for (const auto& r : rows) {
        CHECK_MESSAGE(header.count(r.function), std::string(r.function), " is not in ", path);
        auto name = error_names().find(static_cast<int>(r.expected));
        shown[r.function].insert(name == error_names().end() ? "" : name->second);
    }
    for (const auto& e : exempts) {
        CHECK_MESSAGE(header.count(e.function), std::string(e.function), " is not in ", path);
        if (!*e.what) {
            CHECK_MESSAGE(!shown.count(e.function), std::string(e.function),
                          " is exempt and has a row");
            without_row.insert(e.function);
        } else
            CHECK_MESSAGE(header[e.function].errors.count(e.what), std::string(e.function),
                          " never names ", std::string(e.what));
        CHECK(std::strlen(e.why) > 8);
        shown[e.function].insert(e.what);
    }
    for (const auto& [function, is] : header) {
        CHECK_MESSAGE(shown.count(function), path, ": ", function, " has no row");
        const auto& there = shown[function];
        for (const auto& error : is.errors)
            CHECK_MESSAGE((error == "-ENOMEM" || there.count(error) || without_row.count(function)),
                          path, ": ", function, ": no row shows ", error);
    }
}

// Makes each call on its own fixture, twice: the result is the expected one both times, and
// nothing else changes.
template <class Fixture>
void make_calls(const std::vector<row<Fixture>>& rows) {
    for (const auto& r : rows) {
        CAPTURE(std::string(r.function));
        CAPTURE(std::string(r.argument));
        Fixture f;
        auto before = f.state();
        for (int i = 0; i < 2; ++i) {
            CHECK(r.call(f) == r.expected);
            CHECK(f.state() == before);
        }
    }
}

} // namespace arguments
