# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The HTML page: one file, nothing fetched when it is read."""
import html
import json

import vl_convert

from charts import THEMES

STYLE = """
:root { color-scheme: light dark; LIGHT }
@media (prefers-color-scheme: dark) { :root { DARK } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main, header, footer { max-width: 1080px; margin: 0 auto; padding: 0 20px; }
header { padding-top: 40px; }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 6px; letter-spacing: -0.02em; }
h2 { font-size: 22px; margin: 56px 0 2px; letter-spacing: -0.01em; }
h3 { font-size: 14px; margin: 0 0 2px; font-weight: 600; }
p { margin: 8px 0; max-width: 46em; }
.job { color: var(--muted); margin-top: 0; }
.key { color: var(--muted); font-size: 14px; }
.accent { color: var(--accent); font-weight: 600; }
.charts { display: grid; gap: 26px 36px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 400px), 1fr));
  margin: 20px 0; }
figure { margin: 0; min-width: 0; } figure.narrow { max-width: 680px; }
.chart { width: 100%; min-width: 0; }
.chart svg { display: block; max-width: 100%; }
figcaption { color: var(--muted); font-size: 13px; }
.scroll { overflow-x: auto; margin: 16px 0; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; min-width: 100%; }
th, td { padding: 4px 12px 4px 0; text-align: right; white-space: nowrap; vertical-align: top; }
th { color: var(--muted); font-weight: 500; border-bottom: 1px solid var(--grid); }
th:first-child, td:first-child { text-align: left; }
tr.here td { border-bottom: 1px solid var(--grid); padding-bottom: 8px; }
tr.then td { color: var(--muted); padding-top: 8px; }
td.ours { color: var(--accent); font-weight: 600; }
pre, code { font: 13px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
pre { background: var(--grid); padding: 10px 12px; border-radius: 6px; overflow-x: auto; margin: 12px 0; }
details { margin: 12px 0; } summary { cursor: pointer; color: var(--muted); font-size: 14px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; font-size: 14px; }
dt { color: var(--muted); } dd { margin: 0; overflow-wrap: anywhere; }
footer { color: var(--muted); font-size: 14px; padding: 40px 20px; }
@media (max-width: 520px) { main, header, footer { padding-left: 14px; padding-right: 14px; } h1 { font-size: 25px; }
  dl { grid-template-columns: 1fr; } dt { margin-top: 6px; } }
"""

# Draws every chart in the colours of the day, and again when the day changes.
SCRIPT = """
const charts = JSON.parse(document.getElementById('charts').textContent);
const themes = JSON.parse(document.getElementById('themes').textContent);
const dark = matchMedia('(prefers-color-scheme: dark)');
async function draw() {
  const theme = themes[dark.matches ? 'dark' : 'light'];
  for (const [id, spec] of Object.entries(charts)) {
    const text = JSON.stringify(spec).replace(/[$](?:accent|ink|muted|faint|grid|paper)/g, name => theme[name]);
    await vegaEmbed('#' + id, JSON.parse(text), {renderer: 'svg', actions: false});
  }
  document.body.dataset.drawn = Object.keys(charts).length;
}
dark.addEventListener('change', draw);
draw();
"""


def colours(theme):
    return " ".join(f"--{name[1:]}: {value};" for name, value in THEMES[theme].items())


def script_json(value):
    """JSON that cannot end the script element it stands in."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")


def text(value):
    return html.escape(str(value))


class Page:
    """Collects the body; charts get an id and are drawn by the script."""

    def __init__(self, title):
        self.title, self.parts, self.charts = title, [], {}

    def add(self, markup):
        self.parts.append(markup)

    def chart(self, spec, title="", note="", kind=""):
        name = f"chart{len(self.charts) + 1}"
        self.charts[name] = spec
        head = f"<h3>{text(title)}</h3>" if title else ""
        foot = f"<figcaption>{text(note)}</figcaption>" if note else ""
        return f'<figure class="{kind}">{head}<div class="chart" id="{name}"></div>{foot}</figure>'

    def write(self, path):
        style = STYLE.replace("LIGHT", colours("light")).replace("DARK", colours("dark"))
        body, end = "\n".join(self.parts), "</script"
        library = vl_convert.javascript_bundle().replace(end, "<\\/script")
        page = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{text(self.title)}</title>
<style>{style}</style>
<body>
{body}
<noscript><p>The charts are drawn by a script in this file; the tables hold the same figures.</p></noscript>
<script type="application/json" id="charts">{script_json(self.charts)}</script>
<script type="application/json" id="themes">{script_json(THEMES)}</script>
<script>{library}</script>
<script>{SCRIPT}</script>
</body>
</html>
"""
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)


def table(head, rows):
    """rows: (class, cells); a cell is text, or (class, text)"""
    def cell(value):
        kind, shown = value if isinstance(value, tuple) else ("", value)
        return f'<td class="{kind}">{text(shown)}</td>' if kind else f"<td>{text(shown)}</td>"

    lines = ["<tr>" + "".join(f"<th>{text(h)}</th>" for h in head) + "</tr>"]
    for kind, cells in rows:
        lines.append((f'<tr class="{kind}">' if kind else "<tr>") + "".join(map(cell, cells)) + "</tr>")
    return '<div class="scroll"><table>' + "\n".join(lines) + "</table></div>"
