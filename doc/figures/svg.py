# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""A canvas for the figures of the book: boxes, rows of cells, nodes, arrows, text. Colours follow the
reader's light or dark scheme. Coordinates are pixels from the upper left corner."""
import html

STYLE = """
text { font: 13px "DejaVu Sans", Verdana, sans-serif; fill: var(--ink); white-space: pre; }
.small { font-size: 11px; } .muted { fill: var(--muted); } .code { font-family: "DejaVu Sans Mono", monospace; }
.title { font-weight: bold; } .box { fill: var(--plain); stroke: var(--line); }
.blue { fill: var(--blue); stroke: var(--blueline); } .green { fill: var(--green); stroke: var(--greenline); }
.red { fill: var(--red); stroke: var(--redline); } .amber { fill: var(--amber); stroke: var(--amberline); }
.none { fill: none; stroke: var(--line); stroke-dasharray: 4 3; } .page { fill: var(--page); }
.arrow { fill: none; stroke: var(--ink); marker-end: url(#head); } .dash { stroke-dasharray: 5 4; }
.accent { stroke: var(--blueline); stroke-width: 2; marker-end: url(#bluehead); }
.curve { fill: none; stroke: var(--redline); stroke-width: 2; } .ours { stroke: var(--blueline); }
.grid { stroke: var(--line); stroke-width: .5; }
#head path { fill: var(--ink); } #bluehead path { fill: var(--blueline); }
"""
LIGHT = {"page": "#ffffff", "ink": "#1f2328", "muted": "#59636e", "line": "#818b98", "plain": "#f6f8fa",
         "blue": "#ddf4ff", "blueline": "#0969da", "green": "#dafbe1", "greenline": "#1a7f37",
         "red": "#ffebe9", "redline": "#cf222e", "amber": "#fff8c5", "amberline": "#9a6700"}
DARK = {"page": "#0d1117", "ink": "#f0f6fc", "muted": "#9198a1", "line": "#656c76", "plain": "#151b23",
        "blue": "#12284c", "blueline": "#4493f8", "green": "#12301d", "greenline": "#3fb950",
        "red": "#3c1618", "redline": "#f85149", "amber": "#362a0c", "amberline": "#d29922"}
MARKER = ('<marker id="{}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
          'orient="auto-start-reverse"><path d="M0 0 8 4 0 8z"/></marker>')


def scheme(colours):
    return ":root { " + " ".join(f"--{name}: {value};" for name, value in colours.items()) + " }"


class Canvas:
    def __init__(self, width, height, title):
        self.size, self.title, self.parts = (width, height), title, []

    def add(self, element):
        self.parts.append(element)

    def text(self, x, y, words, kind="", anchor="start"):
        for i, line in enumerate(words.split("\n")):
            self.add(f'<text x="{x}" y="{y + 16 * i}" text-anchor="{anchor}" class="{kind}">{html.escape(line)}</text>')

    def box(self, x, y, w, h, words="", kind="box", style="", note=""):
        """A box with centred text, and a note in smaller letters under it."""
        self.add(f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="3" class="{kind}"/>')
        lines = words.split("\n") if words else []
        top = y + h / 2 + 4.5 - 8 * (len(lines) - 1)
        for i, line in enumerate(lines):
            self.text(x + w / 2, round(top + 16 * i, 1), line, style, "middle")
        if note:
            self.text(x + w / 2, y + h + 15, note, "small muted", "middle")

    def cells(self, x, y, h, cells):
        """A row of boxes: (width, text, kind, style), left to right."""
        for width, words, kind, style in cells:
            self.box(x, y, width, h, words, kind, style)
            x += width

    def line(self, points, kind=""):
        self.add('<path d="M' + " L".join(f"{x} {y}" for x, y in points) + f'" class="curve {kind}"/>')

    def arrow(self, points, kind="", words="", at=None, anchor="middle"):
        path = "M" + " L".join(f"{x} {y}" for x, y in points)
        self.add(f'<path d="{path}" class="arrow {kind}"/>')
        if words:
            self.text(*at, words, "small muted", anchor)

    def node(self, x, y, w, fences, words, kind="box", state=""):
        """A node of the tree: entries in the box, fence keys below it, state above it."""
        self.box(x, y, w, 30, words, kind, "code small")
        self.text(x + w / 2, y + 44, fences, "small muted code", "middle")
        if state:
            self.text(x + w / 2, y - 6, state, "small", "middle")

    def svg(self):
        width, height = self.size
        return "\n".join([
            "<!-- SPDX-License-Identifier: MIT OR GPL-2.0-only. Drawn by doc/figures/draw.py. -->",
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img">',
            f"<title>{html.escape(self.title)}</title>",
            f"<style>{scheme(LIGHT)}\n@media (prefers-color-scheme: dark) {{ {scheme(DARK)} }}{STYLE}</style>",
            f'<defs>{MARKER.format("head")}{MARKER.format("bluehead")}</defs>',
            f'<rect width="{width}" height="{height}" class="page"/>', *self.parts, "</svg>", ""])
