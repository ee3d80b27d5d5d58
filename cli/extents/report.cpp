// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "extents/report.hpp"

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "base/usage.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ostream>

namespace lathcli {

namespace {

std::string with_unit(std::uint64_t bytes) {
    constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    for (; value >= 1024 && unit + 1 < units.size(); unit++)
        value /= 1024;
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return text.data();
}

std::string grouped(std::uint64_t n) {
    std::string digits = std::to_string(n);
    for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
        digits.insert(static_cast<std::size_t>(at), 1, ',');
    return digits;
}

std::string right(const std::string& text, std::size_t width) {
    return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.2f %%",
                  whole ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0);
    return text.data();
}

class text_report {
public:
    text_report(std::ostream& out, const scan_result& scan, const answers& a, bool colour)
        : out_(out), scan_(scan), a_(a), colour_(colour) {}
    void summary();
    void fragmented();
    void gaps();
    void shared();
    void queries();

private:
    void heading(const std::string& text) {
        out_ << '\n' << (colour_ ? "\033[1m" : "") << text << (colour_ ? "\033[0m" : "") << '\n';
    }
    // Which device, where there are several.
    std::string device_prefix(unsigned number) const {
        if (scan_.devices.size() < 2)
            return "";
        const device& d = scan_.devices[number];
        return printable(d.source.empty() ? d.file_system : d.source) + ": ";
    }
    // What weakens an answer that nobody owns it: compressed extents are somewhere too.
    std::string left_out() const {
        auto n = scan_.skipped_extents.total();
        return n ? "; " + grouped(n) + " extents without a known place were left out" : "";
    }
    void segment_lines(const segment& s);

    std::ostream& out_;
    const scan_result& scan_;
    const answers& a_;
    bool colour_;
};

void text_report::summary() {
    for (const device& d : scan_.devices)
        out_ << (d.source.empty() ? "device" : printable(d.source)) << ": " << d.file_system
             << ", blocks of " << d.block_size << " bytes"
             << (d.own.empty()
                     ? ""
                     : "; addresses are its own logical ones, not offsets of a device: " + d.own)
             << '\n';
    out_ << grouped(a_.files) << " files with " << grouped(a_.extents) << " extents, "
         << with_unit(a_.bytes) << ", read in ";
    std::array<char, 32> seconds{};
    std::snprintf(seconds.data(), seconds.size(), "%.2f s\n", scan_.seconds);
    out_ << seconds.data();
    auto stats = scan_.map.stats();
    out_ << "index: " << grouped(scan_.map.segments()) << " ranges in " << with_unit(stats.bytes)
         << '\n';
    for (const auto& [why, count] : scan_.skipped_files)
        out_ << "skipped " << grouped(count) << ": " << why << '\n';
    const extent_skips& skips = scan_.skipped_extents;
    for (auto [count, why] : {std::pair{skips.inlined, "data inside the inode"},
                              {skips.delayed, "not yet written to a place (--sync writes it)"},
                              {skips.unknown, "place not known"},
                              {skips.encoded, "compressed, length on the device not known"},
                              {skips.invalid, "no length, or beyond the end of the device"},
                              {skips.moved, "in no known chunk of btrfs, or on a device that is "
                                            "missing"}})
        if (count)
            out_ << "skipped " << grouped(count) << " extents: " << why << '\n';
}

void text_report::fragmented() {
    heading("fragmentation");
    out_ << "in one piece: " << grouped(a_.in_one_piece) << " of " << grouped(a_.files)
         << " files (" << percent(a_.in_one_piece, a_.files) << "), ";
    std::array<char, 64> mean{};
    std::snprintf(mean.data(), mean.size(), "%.3f fragments per file\n",
                  a_.files ? static_cast<double>(a_.fragments) / static_cast<double>(a_.files) : 0);
    out_ << mean.data();
    if (a_.worst.empty())
        return;
    out_ << "  fragments    extents        size  file\n";
    for (const fragmentation& f : a_.worst)
        out_ << right(grouped(f.fragments), 11) << right(grouped(f.extents), 11)
             << right(with_unit(f.bytes), 12) << "  " << printable(scan_.files[f.file].path)
             << '\n';
}

void text_report::gaps() {
    heading("largest gaps (bytes between extents that no file read here owns)");
    if (a_.gaps.empty())
        out_ << "none\n";
    for (const gap& g : a_.gaps)
        out_ << right(with_unit(g.length), 12) << "  " << device_prefix(g.device) << g.physical
             << '-' << g.physical + g.length << '\n';
}

void text_report::segment_lines(const segment& s) {
    out_ << "  " << device_prefix(s.device) << s.physical << '-' << s.physical + s.length << "  "
         << with_unit(s.length) << '\n';
    for (owner who : s.owners) {
        const file_record& file = scan_.files[who.file];
        const extent& e = file.extents[who.extent];
        out_ << "    " << printable(file.path) << " at " << e.logical + (s.physical - e.physical);
        for (const auto& name : flag_names(e.flags))
            out_ << ", " << name;
        if (e.copy)
            out_ << ", copy " << e.copy;
        out_ << '\n';
        for (const auto& link : file.links)
            out_ << "      also named " << printable(link) << '\n';
    }
}

void text_report::shared() {
    heading("shared extents");
    out_ << grouped(a_.shared_segments) << " ranges with several owners, "
         << with_unit(a_.shared_bytes) << " on the device\n";
    for (const segment& s : a_.shared)
        segment_lines(s);
}

void text_report::queries() {
    for (const auto& q : a_.at) {
        heading("at " + q.text);
        for (const segment& s : q.found)
            segment_lines(s);
        if (q.found.empty())
            out_ << "  no file read here owns it" << left_out() << '\n';
    }
    for (const auto& q : a_.overlap) {
        heading("overlap " + q.text);
        for (const segment& s : q.found)
            segment_lines(s);
        if (q.found.empty())
            out_ << "  no file read here owns any of it" << left_out() << '\n';
    }
}

template <typename T, typename Worse>
void keep_top(std::vector<T>& all, std::size_t n, Worse worse) {
    auto middle = all.begin() + static_cast<std::ptrdiff_t>(std::min(n, all.size()));
    std::ranges::partial_sort(all, middle, worse);
    all.erase(middle, all.end());
}

void sum_up(const scan_result& scan, const report_options& options, answers& a) {
    for (std::uint32_t i = 0; i < scan.files.size(); i++) {
        const file_record& file = scan.files[i];
        if (file.extents.empty())
            continue;
        fragmentation f{i, file.told_extents, file.told_fragments, file.told_bytes};
        a.files++;
        a.extents += f.extents;
        a.fragments += f.fragments;
        a.bytes += f.bytes;
        if (f.fragments == 1)
            a.in_one_piece++;
        else
            a.worst.push_back(f);
    }
    keep_top(a.worst, options.top, [](const fragmentation& x, const fragmentation& y) {
        return x.fragments != y.fragments ? x.fragments > y.fragments : x.file < y.file;
    });
}

} // namespace

std::uint64_t place::bytes(std::uint64_t block_size) const {
    std::uint64_t unit = blocks ? block_size : 1;
    return number > UINT64_MAX / unit ? UINT64_MAX : number * unit;
}

place parse_place(const std::string& text) {
    bool blocks = text.ends_with('b') && !text.starts_with("0x");
    auto number = parse_number(blocks ? text.substr(0, text.size() - 1) : text);
    if (!number)
        throw usage_error(
            "'" + text +
            "' is not an offset below 2^64 (4096, 0x1000, 4Ki, 2G, or 123b for a block)");
    return {text, *number, blocks};
}

std::pair<place, place> parse_span(const std::string& text) {
    auto dash = text.find('-');
    if (dash == std::string::npos)
        throw usage_error("'" + text + "': not a span (A-B: from A up to, not including, B)");
    auto span = std::pair{parse_place(text.substr(0, dash)), parse_place(text.substr(dash + 1))};
    if (span.first.blocks == span.second.blocks && span.first.number >= span.second.number)
        throw usage_error("'" + text + "': empty, B must be greater than A");
    return span;
}

bool answers::complete() const {
    auto some = [](const query& q) { return !q.found.empty(); };
    return std::ranges::all_of(at, some) && std::ranges::all_of(overlap, some);
}

answers answer(const scan_result& scan, const report_options& options) {
    answers a;
    sum_up(scan, options, a);
    a.gaps = scan.map.largest_gaps(options.gaps);
    scan.map.each_shared([&](segment s) {
        a.shared_segments++;
        a.shared_bytes += s.length;
        a.shared.push_back(std::move(s));
    });
    a.device_bytes = scan.map.bytes();
    keep_top(a.shared, options.top, [](const segment& x, const segment& y) {
        return x.length != y.length ? x.length > y.length : x.physical < y.physical;
    });
    auto ask = [&](const std::string& text, const place& from, const place* to) {
        answers::query q{text, {}};
        for (unsigned d = 0; d < scan.devices.size(); d++) {
            std::uint64_t first = from.bytes(scan.devices[d].block_size);
            std::uint64_t end = to                   ? to->bytes(scan.devices[d].block_size)
                                : first < UINT64_MAX ? first + 1
                                                     : first;
            for (segment& s : scan.map.overlap(d, first, end))
                q.found.push_back(std::move(s));
        }
        return q;
    };
    for (const place& p : options.at)
        a.at.push_back(ask(p.text, p, nullptr));
    for (const auto& [from, to] : options.overlap)
        a.overlap.push_back(ask(from.text + "-" + to.text, from, &to));
    return a;
}

void print_text(std::ostream& out, const scan_result& scan, const answers& a,
                const report_options& options) {
    text_report report(out, scan, a, options.colour);
    report.summary();
    report.queries();
    if (!a.at.empty() || !a.overlap.empty()) // a question was asked: answer that
        return;
    report.fragmented();
    report.gaps();
    report.shared();
}

} // namespace lathcli
