// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Lines of TSV, JSON and commands: any bytes give an entry or an error inside the line, and what is
// an entry is read back the same after it was written.
#include "base/numbers.hpp"
#include "store/text.hpp"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace lathcli;
    std::string_view line(reinterpret_cast<const char*>(data), size);
    if (line.find('\n') != std::string_view::npos)
        return 0;
    for (auto format : {text_format::tsv, text_format::jsonl}) {
        text_entry entry, again;
        if (auto bad = parse_entry(line, format, entry)) {
            if (bad->column < 1 || bad->column > size + 2 || bad->what.empty())
                std::abort();
            continue;
        }
        for (auto out : {text_format::tsv, text_format::jsonl}) {
            std::string text = format_entry(entry, out);
            if (text.find('\n') != std::string::npos || parse_entry(text, out, again) ||
                again.key != entry.key || again.value != entry.value)
                std::abort();
        }
    }
    std::vector<std::string> words;
    if (auto bad = parse_words(line, words); bad && (bad->column < 1 || bad->column > size + 1))
        std::abort();
    printable(line);
    parse_number(line);
    return 0;
}
