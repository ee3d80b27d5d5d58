// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A card per node, level by level, and the key space below the leaves.
#include "show/picture.hpp"

#include <algorithm>
#include <cstdio>

namespace lathcli::show {

namespace {

constexpr int page = 960, margin = 16, across = 6, gap = 12;
constexpr int card = (page - 2 * margin - (across - 1) * gap) / across; // its width
constexpr int tall = 82, row = tall + 12;

constexpr const char* light =
    "--page:#fff;--ink:#1f2328;--muted:#59636e;--line:#818b98;--plain:#f6f8fa;--item:#1a7f37;"
    "--dead:#d29922;--guide:#0969da;--key:#54aeff;";
constexpr const char* dark =
    "--page:#0d1117;--ink:#f0f6fc;--muted:#9198a1;--line:#656c76;--plain:#151b23;--item:#3fb950;"
    "--dead:#9a6700;--guide:#4493f8;--key:#1f6feb;";
constexpr const char* style =
    "text{font:11px 'DejaVu Sans',Verdana,sans-serif;fill:var(--ink)}"
    ".t{font-size:14px;font-weight:bold}.m{fill:var(--muted)}.p{fill:var(--page)}"
    ".n{fill:var(--plain);stroke:var(--line)}.i{fill:var(--item)}.d{fill:var(--dead)}"
    ".g{fill:var(--guide)}.k{fill:var(--key)}.o{fill:none;stroke:var(--line)}"
    ".l{fill:none;stroke:var(--line)}";

std::string escaped(const std::string& text) {
    std::string out;
    for (char c : text)
        out += c == '&'                              ? "&amp;"
               : c == '<'                            ? "&lt;"
               : c == '>'                            ? "&gt;"
               : static_cast<unsigned char>(c) < ' ' ? "?"
                                                     : std::string(1, c);
    return out;
}

class canvas {
public:
    explicit canvas(std::ostream& to) : to_(to) {}
    void rect(double x, double y, double w, double h, const char* kind) {
        char text[160];
        std::snprintf(text, sizeof text,
                      "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" class=\"%s\"/>\n",
                      x, y, w, h, kind);
        to_ << text;
    }
    void words(double x, double y, const std::string& what, const char* kind,
               const char* anchor = "start") {
        char text[120];
        std::snprintf(text, sizeof text,
                      "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">", x, y, kind,
                      anchor);
        to_ << text << escaped(what) << "</text>\n";
    }
    void line(double x1, double y1, double x2, double y2) {
        char text[120];
        std::snprintf(text, sizeof text, "<path d=\"M%.1f %.1fL%.1f %.1f\" class=\"l\"/>\n", x1, y1,
                      x2, y2);
        to_ << text;
    }
    // For the pointer.
    void begin(const std::string& about) { to_ << "<g><title>" << escaped(about) << "</title>\n"; }
    void end() { to_ << "</g>\n"; }

private:
    std::ostream& to_;
};

// Where of the width a key is, between the ends of what is drawn.
double place(std::uint64_t key, std::uint64_t first, std::uint64_t last) {
    return last == first ? 0 : static_cast<double>(key - first) / static_cast<double>(last - first);
}

// Items that touch at this width are drawn as one.
void draw_items(canvas& to, const std::vector<node>& leaves, double x, double y, double w, double h,
                std::uint64_t first, std::uint64_t last) {
    double begun = -1, until = -1;
    auto flush = [&] {
        if (begun >= 0)
            to.rect(x + begun, y, std::max(until - begun, 0.6), h, "k");
    };
    for (const node& leaf : leaves) {
        for (const entry& e : leaf.entries) {
            if (!e.live || e.key < first || e.key > last)
                continue;
            double at = place(e.key, first, last) * w;
            double end = place(std::min(last, e.key + e.size), first, last) * w;
            if (begun < 0 || at > until + 0.4) {
                flush();
                begun = at;
            }
            until = std::max(until, std::max(end, at + 0.3));
        }
    }
    flush();
}

void draw_entries(canvas& to, const node& n, double x, double y, double w, double h) {
    double cell = w / n.cap;
    to.rect(x, y, w, h, "o");
    for (std::size_t i = 0; i < n.entries.size();) {
        std::size_t end = i;
        while (end < n.entries.size() && n.entries[end].live == n.entries[i].live)
            end++;
        to.rect(x + cell * static_cast<double>(i), y, cell * static_cast<double>(end - i), h,
                n.entries[i].live ? "i" : "d");
        i = end;
    }
}

// Heads: a column per entry, as high as its head. Pivots: a mark where each is between the fences.
void draw_guides(canvas& to, const node& n, double x, double y, double w, double h) {
    double cell = w / n.cap;
    if (!n.pivoted) {
        for (std::size_t i = 0; i < std::min<std::size_t>(n.entries.size(), n.guides.size()); i++) {
            double high = static_cast<double>(std::min<std::uint64_t>(n.guides[i], 255)) / 255 * h;
            to.rect(x + cell * static_cast<double>(i), y + h - high, cell * 0.8, high, "g");
        }
        return;
    }
    for (std::size_t i = 0; i < n.guides.size() && i * 8 < n.entries.size(); i++)
        to.rect(x + cell * 8 * static_cast<double>(i), y, 1.5, h, "g");
}

std::string about(const node& n) {
    std::string text = "level " + std::to_string(n.level) + ", keys " + key_text(n.low) + " to " +
                       key_text(n.last) + ", " + std::to_string(n.live()) + " of " +
                       std::to_string(n.cap) + " entries, " +
                       std::to_string(n.entries.size() - n.live()) + " free places with keys; " +
                       (n.pivoted ? "pivots" : "heads, shift " + std::to_string(n.shift));
    if (n.room)
        text += "; free run up to " + key_text(*n.room);
    return text + (n.half_dead ? "; half-dead" : "");
}

void draw_card(canvas& to, const node& n, double x, double y) {
    to.begin(about(n));
    to.rect(x, y, card, tall, "n");
    to.words(x + 6, y + 14, key_text(n.low), "");
    to.words(x + card - 6, y + 14, std::to_string(n.live()) + "/" + std::to_string(n.cap), "m",
             "end");
    draw_entries(to, n, x + 6, y + 20, card - 12, 12);
    draw_guides(to, n, x + 6, y + 36, card - 12, 14);
    if (n.level == 0 && !n.entries.empty()) {
        std::uint64_t first = n.entries.front().key, end = first;
        for (const entry& e : n.entries)
            end = std::max(end, e.key + (e.size ? e.size - 1 : 0));
        to.rect(x + 6, y + 54, card - 12, 8, "o");
        draw_items(to, {n}, x + 6, y + 54, card - 12, 8, first, end);
    }
    to.words(x + 6, y + tall - 5,
             n.half_dead ? "half-dead"
             : n.room    ? "free run \xe2\x89\xa4 " + key_text(*n.room)
             : n.pivoted ? "pivots"
                         : "heads",
             "m");
    to.end();
}

int rows_of(std::size_t nodes) { return static_cast<int>((nodes + across - 1) / across); }

void draw_level(canvas& to, const std::vector<node>& level, std::size_t most, int y) {
    std::size_t shown = std::min(most, level.size());
    std::string name = "level " + std::to_string(level.front().level) +
                       (level.front().level ? "" : ": leaves") + ", " +
                       std::to_string(level.size()) + (level.size() == 1 ? " node" : " nodes");
    if (shown < level.size())
        name += ", the first " + std::to_string(shown) + " drawn";
    to.words(margin, y + 14, name, "m");
    for (std::size_t i = 0; i < shown; i++) {
        int x = margin + static_cast<int>(i % across) * (card + gap);
        int top = y + 22 + static_cast<int>(i / across) * row;
        draw_card(to, level[i], x, top);
        if (i % across)
            to.line(x - gap, top + tall / 2.0, x, top + tall / 2.0); // the right link
    }
}

} // namespace

void draw_svg(std::ostream& out, const picture& what, std::size_t most, theme colours) {
    int height = 64;
    for (const auto& level : what.levels)
        height += 30 + rows_of(std::min(most, level.size())) * row;
    height += 96;
    out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << page << "\" height=\"" << height
        << "\" viewBox=\"0 0 " << page << " " << height << "\" role=\"img\">\n<title>"
        << escaped(what.title) << ": " << what.summary() << "</title>\n<style>:root{"
        << (colours == theme::dark ? dark : light) << "}";
    if (colours == theme::automatic)
        out << "@media(prefers-color-scheme:dark){:root{" << dark << "}}";
    out << style << "</style>\n";
    canvas to(out);
    to.rect(0, 0, page, height, "p");
    to.words(margin, 26, what.title, "t");
    to.words(margin, 46, what.summary(), "m");
    int y = 64;
    for (const auto& level : what.levels) {
        draw_level(to, level, most, y);
        y += 30 + rows_of(std::min(most, level.size())) * row;
    }
    if (auto keys = what.extent()) {
        to.words(margin, y + 10,
                 "keys " + key_text(keys->first) + " to " + key_text(keys->second) +
                     ": items blue, holes empty",
                 "m");
        to.rect(margin, y + 18, page - 2 * margin, 20, "o");
        draw_items(to, what.leaves(), margin, y + 18, page - 2 * margin, 20, keys->first,
                   keys->second);
    }
    to.words(
        margin, y + 64,
        "A card is a node: its low fence key and number of entries; entries (green: live, amber: "
        "free places with a key, empty: room);",
        "m");
    to.words(margin, y + 78,
             "key heads as columns or pivots as marks; in leaves, the keys of their items.", "m");
    out << "</svg>\n";
}

} // namespace lathcli::show
