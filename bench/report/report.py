#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""report.py [--output DIR] FILE...: report.html, report.md and the pictures for a README, from `lath bench --json`."""
import argparse
import json
import os
import sys

try:
    import vl_convert

    import charts
    from page import Page, table, text
except ImportError as missing:
    sys.exit(f"lath report: {missing}; `lath report --setup` installs what is needed (requirements.txt)")

from data import OURS, Problem, count, figure, load, number, times, verdict
from sections import ABOUT, SECTIONS, section_of

ORDER = list(SECTIONS)
HERE = os.path.dirname(os.path.abspath(__file__))


def comparisons(t, case, metric):
    """[(kind, ratio, better)]: against the named peer and, when it is another, the best one."""
    ours = t.row(case, metric, OURS)
    if not ours:
        return []
    best = t.best_peer(case, metric)
    found = []
    for kind, peer in (("seed", t.named_peer), ("best", best["subject"] if best else "")):
        ratio = t.ratio(case, metric, peer)
        if ratio and peer not in [r["peer"] for r in found]:
            found.append({**ratio, "kind": kind, "better": ours["better"]})
    return found


def overview_entries(tables):
    entries = []
    for name in ORDER:
        if name not in tables:
            continue
        t = tables[name]
        for title, case, metric in headline_of(t):
            ratios = comparisons(t, case, metric)
            if ratios:
                entries.append({"title": title, "ratios": ratios, "better": ratios[0]["better"]})
    return entries


def concrete(t, entries):
    """(title, case, metric) with the largest number in place of *, which the title may name."""
    found = []
    for title, case, metric in entries:
        case, n = t.largest(case, metric)
        found.append((title.format(n=count(n)), case, metric))
    return found


def headline_of(t):
    section = section_of(t.name, t.info.get("summary", t.name))
    if section["headline"]:
        return concrete(t, section["headline"])
    # a table we know nothing about: its cases that are furthest from its named peer, both ways
    named = sorted((q for q in t.ratios if q["peer"] == t.named_peer), key=lambda q: q["ratio"])
    picks = named[:1] + named[-1:] if len(named) > 1 else named
    return [(f"{section['title']}: {q['case']}", q["case"], q["metric"]) for q in picks]


def interval(ratio, better):
    value, low, high = times(ratio, better)
    return f"{number(value)}×" if low == high else f"{number(value)}× ({number(low)} – {number(high)})"


# --- the seed's own table, and the same measured here ---------------------------------------


def here_cells(t, seed, entry):
    """The figures of this run in the seed's columns, ours, and today's best peer."""
    metric = entry.get("metric", "time")
    case = t.largest(entry.get("case", ""), metric)[0]
    if not case or not t.rows_of(case, metric):
        return None
    base = t.row(case, metric, seed["relative_to"]) if seed.get("relative_to") else None

    def shown(row):
        if not row:
            return "–"
        if seed.get("relative_to"):
            return number(row["median"] / base["median"]) if base else "–"
        return figure(row["median"], row["unit"])

    cells = [shown(t.row(case, metric, c["subject"])) if c["subject"] else "–" for c in seed["columns"]]
    best = t.best_peer(case, metric)
    return cells + [("ours", shown(t.row(case, metric, OURS))), f"{shown(best)} {best['subject']}" if best else "–"]


def seed_table(t, seed):
    head = [""] + [c["name"] for c in seed["columns"]] + ["lathwork", "best peer today"]
    rows = []
    for entry in seed["rows"]:
        unit = entry.get("unit", "")
        then = [figure(v, unit) if unit else number(v) for v in entry["values"]]
        rows.append(("then", [entry["label"], *then, "", ""]))
        here = here_cells(t, seed, entry)
        if here:
            metric = entry.get("metric", "time")
            case = t.largest(entry["case"], metric)[0]
            rows.append(("here", [f"here: {case}" + ("" if metric == "time" else f" {metric}"), *here]))
    return head, rows


def ratio_table(t):
    head = ["case", "lathwork", "against " + t.named_peer, "", "against the best peer", "", ""]
    rows = []
    seen = set()
    for r in t.rows:
        key = (r["case"], r["metric"])
        if r["subject"] != OURS or key in seen or r["metric"] == "cycles":
            continue
        seen.add(key)
        best = t.best_peer(*key)
        cells = [r["case"] if r["metric"] == "time" else f"{r['case']} {r['metric']}",
                 ("ours", figure(r["median"], r["unit"]))]
        for peer in (t.named_peer, best["subject"] if best else ""):
            q = t.ratio(*key, peer)
            cells += [interval(q, r["better"]), verdict(q, r["better"])] if q else ["–", ""]
        q = best and t.ratio(*key, best["subject"])
        against = q["peer"] + (f" ({q['peer_case']})" if q["peer_case"] != r["case"] else "") if q else "no peer has it"
        rows.append(("", cells + [against]))
    return head, rows


# --- charts ----------------------------------------------------------------------------------


def line_chart(t, title, family, axis, metric):
    found = t.family(family, metric)
    if len(found) < 2:
        return None
    series, unit, better = {}, "", "lower"
    for x, case in found:
        for r in t.rows_of(case, metric):
            series.setdefault(r["subject"], []).append((x, r["median"]))
            unit, better = r["unit"], r["better"]
    series = {s: p for s, p in series.items() if len(p) == len(found)}
    if not series:
        return None
    spec, rest = charts.lines({s: p for s, p in series.items() if s == OURS or not s.startswith(OURS)}, unit,
                              t.named_peer, axis, title, better)
    note = f"also drawn, in grey: {', '.join(rest)}" if rest else ""
    return spec, f"{title} ({'higher' if better == 'higher' else 'lower'} is better)", note


def section_charts(page, t, section):
    figures = []
    for entry in section["lines"]:
        drawn = line_chart(t, *entry)
        if drawn:
            figures.append(page.chart(*drawn))
    bars = concrete(t, section["bars"])
    if not figures and not bars:
        bars = [(f"{c}{'' if m == 'time' else ' ' + m}", c, m) for c, m in largest_cases(t)]
    for title, case, metric in bars:
        rows = t.rows_of(case, metric)
        if len(rows) > 1:
            rows = [r for r in rows if r["subject"] == OURS or not r["subject"].startswith(OURS)][:40]
            word = "higher is better" if rows[0]["better"] == "higher" else "lower is better"
            figures.append(page.chart(charts.dots(rows, t.named_peer, title), f"{title} ({word})"))
    return figures


def largest_cases(t, most=6):
    """One case a name, the one with most items and threads."""
    best = {}
    for r in t.rows:
        if r["subject"] == OURS:
            key = (r["case"].split("/")[0], r["metric"])
            size = (r["n"], r["threads"])
            if key not in best or size >= best[key][0]:
                best[key] = (size, r["case"])
    return [(case, key[1]) for key, (_, case) in list(best.items())[:most]]


def machine_facts(tables):
    context = next(iter(tables.values())).context
    facts = [(name, context[name]) for name in ("machine", "cpus", "memory", "kernel", "compiler", "flags", "pages",
                                                "commit", "date") if name in context]
    for t in tables.values():
        noise = t.info.get("noise")
        if noise:
            others = noise.get("other_programs_percent")
            line = (f"; a line goes to another processor in {number(noise['line_least_ns'])} to "
                    f"{number(noise['line_most_ns'])} ns" if noise.get("line_most_ns") else "")
            facts.append((f"{t.name} was {noise['verdict']}",
                          f"other programs had {number(others or 0)} % of the processors, a fixed loop lost "
                          f"{number(noise['loop_lost_percent'] or 0)} %; {t.info.get('seconds', 0)} s; at most "
                          f"{number(t.info.get('huge_page_bytes', 0) / 2**20)} MiB in 2 MiB pages{line}"))
    return facts


KEY = ("<p class=\"key\"><span class=\"accent\">●</span> against the structure the table names, the one its source "
       "measured against; <span class=\"accent\">○</span> against the best of today's peers. Lines are 95 % intervals; a tie "
       "lies within the noise. Left of 1×, lathwork is slower.</p>")


def write_page(path, tables, seeds, entries):
    page = Page("lathwork: measured")
    context = next(iter(tables.values())).context
    page.add(f"<header><h1>lathwork, measured</h1><p class=\"job\">{text(context.get('machine', ''))}, "
             f"{text(context.get('cpus', '?'))} processors, {text(context.get('compiler', ''))}. Every result was checked "
             "before it was timed; peers ran in the same process, in turns.</p></header><main>")
    if entries:
        page.add("<h2>How many times faster</h2>" + KEY + page.chart(charts.overview(entries), kind="narrow"))
    for name in [n for n in ORDER if n in tables] + [n for n in tables if n not in ORDER]:
        t = tables[name]
        section, seed = section_of(name, t.info.get("summary", name)), seeds.get(name)
        page.add(f"<h2 id=\"{text(name)}\">{text(section['title'])}</h2><p class=\"job\">{text(section['job'])}</p>"
                 f"<p>{text(section['why'])}</p>")
        figures = section_charts(page, t, section)
        if figures:
            page.add("<div class=\"charts\">" + "".join(figures) + "</div>")
        named = [f"{s} is {ABOUT[s]}" for s in dict.fromkeys(r["subject"] for r in t.rows) if s in ABOUT]
        if named:
            page.add(f"<p class=\"key\">{text('; '.join(named))}.</p>")
        if seed:
            page.add(f"<p class=\"key\">In grey what was published: {text(seed['source'])}. {text(seed['what'])}. "
                     "Below each line, the same on this machine.</p>" + table(*seed_table(t, seed)))
        page.add("<details><summary>All cases, ratios with their intervals</summary>" + table(*ratio_table(t)) +
                 f"</details><pre>{text(t.command())}</pre>")
    facts = "".join(f"<dt>{text(k)}</dt><dd>{text(v)}</dd>" for k, v in machine_facts(tables))
    page.add(f"<h2>The machine and the run</h2><dl>{facts}</dl></main><footer>Made by <code>lath report</code> from the "
             "samples of <code>lath bench</code>.</footer>")
    page.write(path)
    return page


# --- Markdown and pictures --------------------------------------------------------------------


def markdown_table(head, rows):
    def plain(cell):
        return str(cell[1] if isinstance(cell, tuple) else cell).replace("|", "\\|")

    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(plain(c) for c in cells) + " |" for _, cells in rows]
    return "\n".join(lines)


def write_markdown(path, tables, seeds):
    parts = ["# lathwork, measured\n"]
    parts += [f"- {k}: {v}" for k, v in machine_facts(tables)]
    for name, t in tables.items():
        section, seed = section_of(name, t.info.get("summary", name)), seeds.get(name)
        parts.append(f"\n## {section['title']}\n\n{section['job']}\n\n    {t.command()}\n")
        if seed:
            parts.append(f"{seed['source']}. {seed['what']}. Published figures; below each, the same here.\n")
            parts.append(markdown_table(*seed_table(t, seed)) + "\n")
        parts.append(markdown_table(*ratio_table(t)))
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(parts) + "\n")


def write_pictures(directory, name, spec):
    """A picture in both themes, as SVG and PNG."""
    if not spec:
        return []
    spec.update(width=620, autosize={"type": "pad"}, padding=12)
    written = []
    for theme in ("light", "dark"):
        drawn = json.dumps(charts.themed(spec, theme))
        base = os.path.join(directory, f"{name}-{theme}")
        with open(base + ".svg", "w", encoding="utf-8") as file:
            file.write(vl_convert.vegalite_to_svg(drawn))
        with open(base + ".png", "wb") as file:
            file.write(vl_convert.vegalite_to_png(drawn, scale=2))
        written += [base + ".svg", base + ".png"]
    return written


def summary(entries):
    """The picture in words."""
    lines = []
    for entry in entries:
        parts = [f"{number(times(q, entry['better'])[0])}x {q['peer']}" + (" (tie)" if q["tie"] else "")
                 for q in entry["ratios"]]
        lines.append(f"{entry['title']:<46} {', '.join(parts)}")
    return ["lathwork is faster by (above 1x):", *lines, ""] if lines else []


def main():
    arguments = argparse.ArgumentParser(prog="lath report", description=__doc__.split(": ", 1)[1])
    arguments.add_argument("--output", default=".", metavar="DIR")
    arguments.add_argument("files", nargs="+", metavar="FILE")
    asked = arguments.parse_args()
    try:
        tables = load(asked.files)
        with open(os.path.join(HERE, "seeds.json"), encoding="utf-8") as file:
            seeds = json.load(file)
        os.makedirs(asked.output, exist_ok=True)
        entries = overview_entries(tables)
        page, notes = os.path.join(asked.output, "report.html"), os.path.join(asked.output, "report.md")
        write_page(page, tables, seeds, entries)
        write_markdown(notes, tables, seeds)
        written = [page, notes]
        if entries:
            written += write_pictures(asked.output, "report", charts.overview(entries))
        if "pages" in tables:
            written += write_pictures(asked.output, "pages", charts.pages(tables["pages"].rows))
    except Problem as problem:
        sys.exit(f"lath report: {problem}")
    except OSError as error:
        sys.exit(f"lath report: {error.filename}: {error.strerror}")
    print("\n".join(summary(entries) + written))


if __name__ == "__main__":
    main()
