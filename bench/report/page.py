# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The HTML page: one file, nothing fetched when it is read."""
import html
import json

import vl_convert

from charts import THEMES
from data import save

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
.lost { color: var(--lost); font-weight: 600; }
.badge { font-size: 12px; font-weight: 500; border: 1px solid var(--faint); border-radius: 9px; padding: 1px 8px; color: var(--muted);
  vertical-align: middle; letter-spacing: 0; }
.badge.warn { border-color: var(--lost); color: var(--lost); }
.verdict { font-size: 18px; }
.notice { border-left: 4px solid var(--faint); padding: 2px 0 2px 12px; margin: 12px 0; }
.notice.warn { border-color: var(--lost); }
a { color: inherit; text-underline-offset: 2px; }
.charts { display: grid; gap: 26px 36px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 400px), 1fr));
  margin: 20px 0; }
/* no row is half empty: what is alone in its row takes all of it */
.charts > figure:last-child:nth-child(odd) { grid-column: 1 / -1; }
figure { margin: 0; min-width: 0; }
.split { display: grid; gap: 20px 36px; }
@media (min-width: 900px) { .split { grid-template-columns: 640px 1fr; } }
.chart { width: 100%; min-width: 0; }
.chart svg { display: block; max-width: 100%; }
figcaption { color: var(--muted); font-size: 13px; }
.scroll { overflow-x: auto; margin: 16px 0; }
.scroll.wide::before { content: "more columns to the right →"; position: sticky; left: 0; color: var(--muted); font-size: 13px; }
table { border-collapse: separate; border-spacing: 0; font-size: 14px; font-variant-numeric: tabular-nums; min-width: 100%; }
th, td { padding: 4px 12px 4px 0; text-align: right; white-space: nowrap; vertical-align: top; }
th { color: var(--muted); font-weight: 500; border-bottom: 1px solid var(--grid); }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--paper) padding-box; }
tr.here td { border-bottom: 1px solid var(--grid); padding-bottom: 8px; }
tr.then td { color: var(--muted); padding-top: 8px; }
.ours { color: var(--accent); font-weight: 600; background: var(--paper) padding-box; }
td.lost { color: var(--lost); }
pre, code { font: 13px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
pre { background: var(--grid); padding: 10px 12px; border-radius: 6px; white-space: pre-wrap; overflow-wrap: anywhere; margin: 12px 0; }
details { margin: 12px 0; } summary { cursor: pointer; color: var(--muted); font-size: 14px; }
dl { font-size: 14px; margin: 12px 0; display: grid; gap: 2px 36px; align-content: start;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 340px), 1fr)); }
dl.facts { grid-template-columns: 1fr; }
dt { display: inline; font-weight: 600; } dt::after { content: ": "; }
dd { display: inline; margin: 0; color: var(--muted); overflow-wrap: anywhere; }
footer { color: var(--muted); font-size: 14px; padding: 40px 20px; }
/* the case and our figure stay in sight while the rest scrolls */
@media (max-width: 700px) { th:first-child, td:first-child { min-width: 118px; max-width: 118px; white-space: normal; overflow-wrap: anywhere; }
  th.ours, td.ours { position: sticky; left: 118px; } }
@media (max-width: 520px) { main, header, footer { padding-left: 14px; padding-right: 14px; } h1 { font-size: 25px; } }
"""

# Draws every chart in the colours of the day, and again when the day changes. The words that stand in its place until
# then become its text alternative.
SCRIPT = """
const charts = JSON.parse(document.getElementById('charts').textContent);
const themes = JSON.parse(document.getElementById('themes').textContent);
const dark = matchMedia('(prefers-color-scheme: dark)');
// Draws the charts that are in the open; `again`: also those that are drawn already, in other colours.
async function draw(again) {
  const theme = themes[dark.matches ? 'dark' : 'light'];
  for (const [id, spec] of Object.entries(charts)) {
    const place = document.getElementById(id);
    const words = place.dataset.words ??= place.textContent;
    if (place.closest('details:not([open])')) {
      if (again) place.textContent = words;
      continue;
    }
    if (!again && place.querySelector('svg')) continue;
    const text = JSON.stringify(spec).replace(/[$](?:accent|ink|muted|faint|grid|paper|lost)/g, name => theme[name]);
    await vegaEmbed(place, JSON.parse(text), {renderer: 'svg', actions: false});
    const svg = place.querySelector('svg');
    svg.setAttribute('role', 'img');
    svg.setAttribute('aria-label', words);
  }
  document.body.dataset.drawn = Object.keys(charts).length;
}
function hint() {
  for (const e of document.querySelectorAll('.scroll')) e.classList.toggle('wide', e.scrollWidth > e.clientWidth);
}
// A link to what is folded up unfolds it.
function unfold() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  for (let e = target; e; e = e.parentElement) if (e.tagName === 'DETAILS') e.open = true;
  if (target) target.scrollIntoView();
}
document.addEventListener('toggle', () => { hint(); draw(false); }, true);
addEventListener('hashchange', unfold);
unfold();
addEventListener('resize', hint);
hint();
dark.addEventListener('change', () => draw(true));
draw(true);
"""


def colours(theme):
    return " ".join(f"--{name[1:]}: {value};" for name, value in THEMES[theme].items())


def script_json(value):
    """JSON that cannot end the script element it stands in."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")


class Markup(str):
    """What is HTML already."""


def text(value):
    return value if isinstance(value, Markup) else html.escape(str(value))


def link(target, words, kind=""):
    return Markup(f'<a href="#{text(target)}"{f" class={kind}" if kind else ""}>{text(words)}</a>')


class Page:
    """Collects the body; charts get an id and are drawn by the script."""

    def __init__(self, title):
        self.title, self.parts, self.charts = title, [], {}

    def add(self, markup):
        self.parts.append(markup)

    def chart(self, spec, title="", note=""):
        name = f"chart{len(self.charts) + 1}"
        words = spec.pop("description")
        self.charts[name] = spec
        head = f"<h3>{text(title)}</h3>" if title else ""
        foot = f"<figcaption>{text(note)}</figcaption>" if note else ""
        return f'<figure>{head}<div class="chart" id="{name}">{text(words)}</div>{foot}</figure>'

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
<noscript><p>The charts are drawn by a script in this file; without it their figures stand in their places.</p></noscript>
<script type="application/json" id="charts">{script_json(self.charts)}</script>
<script type="application/json" id="themes">{script_json(THEMES)}</script>
<script>{library}</script>
<script>{SCRIPT}</script>
</body>
</html>
"""
        save(path, page)


def table(head, rows, label):
    """rows: (class, cells); a cell, of the head too, is text, or (class, text)"""
    def cell(tag, value):
        kind, shown = value if isinstance(value, tuple) else ("", value)
        return f'<{tag}{f" class={chr(34)}{kind}{chr(34)}" if kind else ""}>{text(shown)}</{tag}>'

    lines = ["<tr>" + "".join(cell("th", h) for h in head) + "</tr>"]
    for kind, cells in rows:
        lines.append((f'<tr class="{kind}">' if kind else "<tr>") + "".join(cell("td", c) for c in cells) + "</tr>")
    return (f'<div class="scroll" role="region" tabindex="0" aria-label="{text(label)}"><table>' + "\n".join(lines) +
            "</table></div>")


def definitions(pairs, kind=""):
    items = "".join(f"<div><dt>{text(k)}</dt><dd>{text(v)}</dd></div>" for k, v in pairs)
    return f'<dl class="{kind}">{items}</dl>'
