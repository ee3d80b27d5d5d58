// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "base/text.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace lathcli {

namespace {

// How many bytes the character at text[at] has; 0: it is none.
std::size_t character(std::string_view text, std::size_t at) {
    auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
    unsigned first = byte(0);
    std::size_t size = first < 0x80                    ? 1
                       : first >= 0xc2 && first < 0xe0 ? 2
                       : first >= 0xe0 && first < 0xf0 ? 3
                       : first >= 0xf0 && first < 0xf5 ? 4
                                                       : 0;
    if (size < 2 || text.size() - at < size)
        return size == 1;
    std::uint32_t code = first & (0x7fu >> size);
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xc0u) != 0x80)
            return 0;
        code = code << 6 | (byte(i) & 0x3fu);
    }
    if (size == 3 && (code < 0x800 || (code >= 0xd800 && code < 0xe000)))
        return 0;
    return size == 4 && (code < 0x10000 || code > 0x10ffff) ? 0 : size;
}

// Insertions, deletions, exchanges of one letter or of two neighbours.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
    std::iota(last.begin(), last.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        now[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = std::min(now[j], before[j - 2] + 1);
        }
        std::swap(before, last);
        std::swap(last, now);
    }
    return last[b.size()];
}

} // namespace

bool is_utf8(std::string_view bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
        std::size_t size = character(bytes, at);
        if (!size)
            return false;
        at += size;
    }
    return true;
}

std::string to_hex(std::string_view bytes) {
    static const char digits[] = "0123456789abcdef";
    std::string out;
    for (char c : bytes) {
        out += digits[static_cast<unsigned char>(c) >> 4];
        out += digits[static_cast<unsigned char>(c) & 15];
    }
    return out;
}

std::string printable(std::string_view bytes) {
    std::string out;
    for (std::size_t at = 0; at < bytes.size();) {
        std::size_t size = character(bytes, at);
        char c = bytes[at];
        auto letter = std::string_view("\t\n\r\\").find(c);
        if (letter != std::string_view::npos)
            (out += '\\') += "tnr\\"[letter];
        else if (size > 1 || (size == 1 && c >= ' ' && c != 0x7f))
            out += bytes.substr(at, size);
        else
            (out += "\\x") += to_hex(bytes.substr(at, 1));
        at += size ? size : 1;
    }
    return out;
}

std::string join(const std::vector<std::string>& words, std::string_view between) {
    std::string line;
    for (const auto& word : words)
        line += (line.empty() ? "" : std::string(between)) + word;
    return line;
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known) {
    std::optional<std::string> best;
    std::size_t least = SIZE_MAX;
    for (const auto& k : known) {
        std::size_t d = distance(word, k);
        bool begins = word.size() > 1 && k.starts_with(word);
        if ((begins || 3 * d <= std::max(word.size(), k.size())) && d < least) {
            least = d;
            best = k;
        }
    }
    return best;
}

std::string no_such(std::string_view what, std::string_view word,
                    const std::vector<std::string>& known) {
    std::string text = "no " + std::string(what) + " '" + printable(word) + "'";
    if (auto meant = nearest(word, known))
        text += "; do you mean " + *meant + "?";
    else
        text += ".";
    return text + " There are: " + join(known);
}

bool is_option_like(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

std::string human(std::uint64_t bytes) {
    static const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double n = static_cast<double>(bytes);
    std::size_t u = 0;
    for (; n >= 1024 && u < 4; ++u)
        n /= 1024;
    char buf[32];
    std::snprintf(buf, sizeof buf, u ? "%.1f %s" : "%.0f %s", n, units[u]);
    return buf;
}

} // namespace lathcli
