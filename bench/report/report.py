#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""report.py [--output DIR] FILE...: report.html, report.md and the pictures for a README, from `lath bench --json`.

Files of `./run simulate --json` may be among them.
"""
import argparse
import json
import os
import sys

try:
    import vl_convert

    import charts
    from page import Markup, Page, definitions, link, table, text
except ImportError as missing:
    sys.exit(f"lath report: {missing}; `lath report --setup` installs what is needed (requirements.txt)")

from data import ENOUGH, OURS, Problem, count, factor, figure, load, number, save
from sections import ABOUT, PICTURE, SECTIONS, section_of

ORDER = list(SECTIONS)
HERE = os.path.dirname(os.path.abspath(__file__))
MARK = {"behind": "▼ lost", "tie": "= tie", "ahead": "ahead", "alone": "no peer"}


def in_order(tables):
    """[(table, its section)] in the order of the page."""
    names = [n for n in ORDER if n in tables] + [n for n in tables if n not in ORDER]
    return [(tables[n], section_of(n, tables[n].info.get("summary", n))) for n in names]


def concrete(t, entries):
    """(title, case, metric) with the largest number in place of *, which the title may name."""
    found = []
    for title, case, metric in entries:
        case, n = t.largest(case, metric)
        found.append((title.format(n=count(n)), case, metric))
    return found


def headlines(tables, names=None, most=None):
    """[(title, comparisons)] of the first `most` headlines of these tables, None: of all."""
    entries = [(title, t.comparisons(case, metric)) for t, section in in_order(tables) if names is None or t.name in names
               for title, case, metric in concrete(t, section["headline"][:most])]
    return [entry for entry in entries if entry[1]]


def picture_entries(tables):
    """The few headlines for a README: one of each table in PICTURE, and the one that lost most."""
    chosen, every = headlines(tables, PICTURE, 1), headlines(tables)
    lost = [entry for entry in every if any(c.verdict == "behind" for c in entry[1])]
    worst = min(lost, key=lambda entry: min(c.value for c in entry[1]), default=None)
    if not chosen:
        return every[:7]
    return chosen + ([worst] if worst and worst[0] not in [title for title, _ in chosen] else [])


def who_is_who(subjects):
    return [(s, ABOUT[s]) for s in dict.fromkeys(subjects) if s in ABOUT]


# --- what must be known before a figure is believed -----------------------------------------


def noise_of(t):
    """How much else the machine did in the meantime."""
    noise = t.info.get("noise")
    if not noise:
        return "measured without a record of the noise"
    others, lost = noise.get("other_programs_percent"), noise.get("loop_lost_percent")
    line = (f"; a cache line goes to another processor in {number(noise['line_least_ns'])} to "
            f"{number(noise['line_most_ns'])} ns" if noise.get("line_most_ns") else "")
    return f"{noise['verdict']}: other programs had {number(others or 0)} % of the processors, a fixed loop lost " \
           f"{number(lost or 0)} % of its time{line}"


def is_noisy(t):
    return t.info.get("noise", {}).get("verdict") == "noisy"


def counts_of(standings):
    return {v: sum(s.verdict == v for s in standings) for v in MARK}


def verdict(tables):
    """One sentence: where lathwork is ahead, and where not."""
    n = counts_of([s for t in tables.values() if t.ours == OURS for s in t.standings])
    alone = f" {n['alone']} have no peer." if n["alone"] else ""
    return f"Of {sum(n.values())} rows lathwork is ahead in {n['ahead']}, tied in {n['tie']} and behind in {n['behind']}.{alone}"


def noise(tables):
    """One sentence about all tables."""
    noisy = [t.name for t in tables.values() if is_noisy(t)]
    shares = [t.info["noise"].get("other_programs_percent") or 0 for t in tables.values() if t.info.get("noise")]
    had = f" Other programs had {number(min(shares))} to {number(max(shares))} % of the processors." if shares else ""
    return f"Noisy: {len(noisy)} of {len(tables)} tables.{had}"


def notices(tables):
    """[(head, text)] of what is missing."""
    found = []
    contexts = list({id(t.context): t.context for t in tables.values()}.values())
    for error in [e for context in contexts for e in context.get("errors", [])]:
        found.append(("Not verified, left out:", error))
    for t in tables.values():
        if not t.info.get("complete", True):
            found.append(("Interrupted:", f"{t.name} was not measured to its end."))
    if any(context.get("only", {}).get("brief") for context in contexts):
        found.append(("Brief:", "some peers were left out; the best peer is the best of those measured."))
    return found


# --- the published table, and the same measured here ---------------------------------------


def here_cells(t, published, case, metric):
    """Ours, the figures of this run in the columns of the published table, and today's best peer."""
    if not t.rows_of(case, metric):
        return None
    base = t.row(case, metric, published["relative_to"]) if published.get("relative_to") else None

    def shown(row):
        if not row:
            return "–"
        if published.get("relative_to"):
            return number(row["median"] / base["median"]) if base else "–"
        return figure(row["median"], row["unit"])

    lost = any(s.verdict == "behind" and (s.row["case"], s.row["metric"]) == (case, metric) for s in t.standings)
    best = t.best_peer(case, metric)
    ours = ("ours lost", shown(t.row(case, metric, t.ours)) + " ▼") if lost else ("ours", shown(t.row(case, metric, t.ours)))
    return [ours, *(shown(t.row(case, metric, c["subject"])) if c["subject"] else "–" for c in published["columns"]),
            f"{shown(best)} {best['subject']}" if best else "–"]


def published_table(t, published):
    head = ["", ("ours", t.ours), *(c["name"] for c in published["columns"]), "best peer today"]
    rows = []
    for entry in published["rows"]:
        unit, metric = entry.get("unit", ""), entry.get("metric", "time")
        then = [figure(v, unit) if unit else number(v) for v in entry["values"]]
        rows.append(("then", [entry["label"], ("ours", ""), *then, ""]))
        case = t.largest(entry.get("case", ""), metric)[0]
        here = here_cells(t, published, case, metric)
        if here:
            rows.append(("here", [f"here: {case}" + ("" if metric == "time" else f" {metric}"), *here]))
    return head, rows


RATIOS = ["verdict", "times faster than the named peer", "than the best peer", "best peer", "n"]


def ratio_rows(t, standings):
    rows = []
    for s in standings:
        by_kind = {c.kind: c for c in s.comparisons}
        named, best = by_kind.get("named"), by_kind.get("best")
        peer = t.best_peer(s.row["case"], s.row["metric"])
        who = "–" if not peer else peer["subject"] + (f" ({peer['case']})" if peer["case"] != s.row["case"] else "")
        same = named and peer and peer["subject"] == named.peer
        lost = " lost" if s.verdict == "behind" else ""
        rows.append(("", [s.name, ("ours" + lost, figure(s.row["median"], s.row["unit"])), (lost.strip(), MARK[s.verdict]),
                          named.text() if named else "–", "the same" if same else best.text() if best else "–", who,
                          str(min((c.n for c in s.comparisons), default=len(s.row["samples"])))]))
    return rows


def ratio_table(t):
    """All rows of a table, the lost ones first."""
    return ["case", ("ours", t.ours), *RATIOS], ratio_rows(t, t.standings)


def lost_table(tables):
    """The lost rows of all tables."""
    rows = [(kind, [f"{t.name}: {cells[0]}", *cells[1:]]) for t, _ in in_order(tables)
            for kind, cells in ratio_rows(t, [s for s in t.standings if s.verdict == "behind"])]
    return ["table: case", ("ours", OURS), *RATIOS], rows


# --- charts ----------------------------------------------------------------------------------


def chart_title(t, title, rows, cases):
    """With the direction, and whether ours lost there. cases: [(what a reader calls it, case)]"""
    word = "higher is better" if rows[0]["better"] == "higher" else "lower is better"
    behind = {s.row["case"]: min(s.comparisons, key=lambda c: c.value).peer for s in t.standings
              if s.verdict == "behind" and s.row["metric"] == rows[0]["metric"]}
    lost = [f"{behind[case]}{' at ' + where if where else ''}" for where, case in cases if case in behind]
    mark = Markup(f' <span class="lost">▼ lost to {text(", ".join(lost))}</span>') if lost else ""
    return Markup(f"{text(f'{title} ({word})')}{mark}")


def drawn(t, case, metric):
    """The rows of a chart: a log axis has no place for 0, and ours in another form is not drawn."""
    return [r for r in t.rows_of(case, metric) if r["median"] > 0 and not t.is_variant(r["subject"])]


def one_scale(rows_of_charts, single=True):
    """Charts that stand beside each other have one scale: of each unit, the least and the largest figure of all of them."""
    units = {}
    for rows in rows_of_charts:
        units.setdefault(rows[0]["unit"], []).extend(rows)
    return {unit: charts.extent(rows, single) for unit, rows in units.items()}


def bar_charts(page, t, asked):
    """asked: {(case, metric): title}"""
    shown = {which: rows for which in asked if len(rows := drawn(t, *which)[:40]) > 1}
    scale = one_scale(shown.values())
    return [page.chart(charts.dots(t, rows, asked[which], scale[rows[0]["unit"]]), chart_title(t, asked[which], rows, [("", which[0])]))
            for which, rows in shown.items()]


def line_charts(page, t, asked):
    """asked: [(title, [(x, case)], what x counts, metric)]"""
    scale = one_scale([[r for _, case in found for r in drawn(t, case, metric)] for _, found, _, metric in asked])
    return [line_chart(page, t, *each, scale) for each in asked]


def line_chart(page, t, title, found, axis, metric, scale):
    series = {}
    for x, case in found:
        for r in drawn(t, case, metric):
            series.setdefault(r["subject"], []).append((x, r))
    unit = drawn(t, found[0][1], metric)[0]["unit"]
    spec, rest = charts.lines(t, series, axis, title, scale[unit])
    note = f"also drawn, in grey: {', '.join(rest)}" if rest else ""
    cases = [(count(x), case) for x, case in found]
    return page.chart(spec, chart_title(t, title, t.rows_of(found[0][1], metric), cases), note)


def distribution_charts(page, t, what, metric, names):
    """All cases of one distribution of the keys, or of one kind of values. what: its name in the title"""
    shown = {}
    for kind, found in t.distributions(names, metric).items():
        if rows := [(name, r) for name, case in found for r in drawn(t, case, metric)]:
            title = f"{what}: {kind}, {count(int(found[0][1].removesuffix('/1').rsplit('/', 1)[1]))}"
            shown[title] = found, rows
    scale = one_scale([[r for _, r in rows] for _, rows in shown.values()], single=False)
    return [page.chart(charts.workloads(t, rows, title, scale[rows[0][1]["unit"]]), chart_title(t, title, [rows[0][1]], found))
            for title, (found, rows) in shown.items()]


def section_charts(page, t, section):
    """A grid of lines, one of bars, and one of the distributions of keys."""
    lines, asked = [], {}
    for title, family, axis, metric in section["lines"]:
        found = [(x, case) for x, case in t.family(family, metric) if drawn(t, case, metric)]
        if len(found) > 2:
            lines.append((title, found, axis, metric))
        else: # a line would only seem to join them
            asked.update({(case, metric): f"{title}, {axis}: {count(x)}" for x, case in found})
    lines = line_charts(page, t, lines)
    asked.update({(case, metric): title for title, case, metric in concrete(t, section["bars"])})
    if not lines and not asked:
        asked = {(c, m): f"{c}{'' if m == 'time' else ' ' + m}" for c, m in largest_cases(t)}
    bars = bar_charts(page, t, asked)
    what, metric, names = section.get("kinds", ("", "", ()))
    keys = distribution_charts(page, t, what, metric, names)
    return "".join(f'<div class="charts">{figures}</div>' for figures in map("".join, (lines, bars, keys)) if figures)


def largest_cases(t, most=6):
    """One case a name, the one with most items and threads."""
    best = {}
    for r in t.rows:
        if r["subject"] == t.ours:
            key = (r["case"].split("/")[0], r["metric"])
            size = (r["n"], r["threads"])
            if key not in best or size >= best[key][0]:
                best[key] = (size, r["case"])
    return [(case, key[1]) for key, (_, case) in list(best.items())[:most]]


def machine_facts(tables):
    context = next(iter(tables.values())).context
    return [(name, context[name]) for name in ("machine", "isa", "cpus", "memory", "kernel", "compiler", "flags", "pages",
                                               "commit", "date") if name in context]


def run_facts(t):
    huge = number(t.info.get("huge_page_bytes", 0) / 2**20)
    return f"This table was {noise_of(t)}; {t.info.get('seconds', 0)} s; at most {huge} MiB in 2 MiB pages."


KEY = ("<p class=\"key\"><span class=\"accent\">●</span> against the structure the table names, the one its source "
       "measured against; <span class=\"accent\">○</span> against the best of today's peers. "
       f"A line is a 95 % interval, drawn of {ENOUGH} repetitions or more; of fewer, each repetition is a small point. A tie "
       "lies within the noise. Left of 1×, <span class=\"lost\">▼ lathwork is slower</span>.</p>")


def badge(t):
    said = t.info.get("noise", {}).get("verdict", "noise unknown")
    return Markup(f'<span class="badge{" warn" if is_noisy(t) else ""}">{text(said)}</span>')


def standing_words(t):
    n = counts_of(t.standings)
    words = [f"{n[v]} {name}" for v, name in (("ahead", "ahead"), ("tie", "tied"), ("behind", "▼ behind"), ("alone", "without a peer")) if n[v]]
    return f"{', '.join(words)}; {t.ours}" if t.ours != OURS else ", ".join(words)


def write_section(page, t, section, published):
    page.add(f'<section id="{text(t.name)}"><h2>{text(section["title"])} {badge(t)}</h2>'
             f'<p class="job">{text(section["job"])}</p><p>{text(section["why"])}</p>')
    page.add(f"<details><summary>{len(t.standings)} rows: {text(standing_words(t))}</summary>" +
             definitions(who_is_who(r["subject"] for r in t.rows)) + section_charts(page, t, section))
    page.add(table(*ratio_table(t), f"{section['title']}: all rows"))
    if published:
        page.add(f"<p class=\"key\">In grey what was published: {text(published['source'])}. {text(published['what'])}. "
                 "Below each line, the same on this machine.</p>" +
                 table(*published_table(t, published), f"{section['title']}: published figures"))
    remarks = t.remarks()
    if remarks:
        page.add("<p>Notes of the run:</p><ul>" + "".join(f"<li>{text(r)}</li>" for r in remarks) + "</ul>")
    page.add(f"<p class=\"key\">{text(run_facts(t))}</p><pre>{text(t.command())}</pre></details></section>")


SIMULATED = ("Simulated, not measured: the real code runs on a model of a machine with its own caches per core. "
             "No figure below is of a machine that exists; ratios of ten say something, ratios of 1.3 do not.")


def simulated_runs(s):
    return "; ".join(f"{name}: {count(items)} items, seed {seed}" for name, (items, seed) in s.runs.items())


def simulated_table(s):
    """Million calls per second: a row per workload and subject, a column per number of cores."""
    def rate(name, subject, cores):
        row = s.row(f"{name}/{cores}", "rate", subject)
        return number(row["median"]) if row else "–"

    pairs = dict.fromkeys((r["case"].split("/")[0], r["subject"]) for r in s.rows)
    rows = [("", [name, subject, *(rate(name, subject, n) for n in s.cores())]) for name, subject in pairs]
    return ["workload", "M calls/s of", *(f"{n} core{'s' if n > 1 else ''}" for n in s.cores())], rows


def write_simulated(page, s):
    section = {"lines": [(f"Simulated: {name}", f"{name}/*", "cores", "rate") for name in s.runs], "bars": []}
    page.add(f'<section id="{s.name}"><h2>Simulated scaling</h2><p class="job">million calls per second on a simulated machine of '
             f'up to {max(s.cores())} cores</p><p class="notice warn">{text(SIMULATED)}</p>')
    page.add("<details><summary>Simulated charts and figures</summary>" + definitions(who_is_who(r["subject"] for r in s.rows)) +
             section_charts(page, s, section) + table(*simulated_table(s), "Simulated scaling"))
    page.add(f"<p class=\"key\">{text(simulated_runs(s))}</p><pre>./run simulate --json</pre></details></section>")


def write_page(path, tables, simulation, published_tables, entries):
    page = Page("lathwork: measured")
    context = next(iter(tables.values())).context
    isa = f"{context['isa']}, " if context.get("isa") else ""
    page.add(f"<header><h1>lathwork, measured</h1><p class=\"job\">{text(context.get('machine', ''))}, "
             f"{text(isa)}{text(context.get('cpus', '?'))} processors, {text(context.get('compiler', ''))}. Every result was checked "
             "before it was timed; peers ran in the same process, alternately.</p></header><main>")
    if entries:
        peers = who_is_who(c.peer for _, comparisons in entries for c in comparisons)
        page.add('<h2>How many times faster</h2><div class="split">' + page.chart(charts.overview(entries)) +
                 f"<div>{KEY}{definitions(peers)}</div></div>")
    lost = lost_table(tables)
    page.add(f'<p class="verdict">{text(verdict(tables))} {link("lost", "The rows that it lost", "lost") if lost[1] else ""}</p>'
             f'<p class="key">{text(noise(tables))}</p>')
    if simulation.rows:
        page.add(f'<p class="key">{link(simulation.name, "Simulated scaling")} is not measured.</p>')
    for head, words in notices(tables):
        page.add(f'<p class="notice warn"><b>{text(head)}</b> {text(words)}</p>')
    for t, section in in_order(tables):
        write_section(page, t, section, published_tables.get(t.name))
    if simulation.rows:
        write_simulated(page, simulation)
    if lost[1]:
        page.add(f'<section><h2>Lost rows</h2><details id="lost"><summary>{len(lost[1])} rows in which lathwork is behind the named or '
                 "the best peer, beyond the noise</summary>" + table(*lost, "Lost rows") + "</details></section>")
    page.add(f"<h2>The machine</h2>{definitions(machine_facts(tables), 'facts')}</main><footer>Made by "
             "<code>lath report</code> from the samples of <code>lath bench</code>.</footer>")
    page.write(path)


# --- Markdown and pictures --------------------------------------------------------------------


def markdown_table(head, rows):
    def plain(cell):
        return str(cell[1] if isinstance(cell, tuple) else cell).replace("|", "\\|")

    lines = [head, ["---"] * len(head)] + [cells for _, cells in rows]
    return "\n".join("| " + " | ".join(map(plain, cells)) + " |" for cells in lines) + "\n"


def write_markdown(path, tables, simulation, published_tables):
    parts = ["# lathwork, measured\n", verdict(tables), noise(tables), ""]
    parts += [f"- **{head}** {words}" for head, words in notices(tables)]
    parts += [f"- {k}: {v}" for k, v in machine_facts(tables)]
    for t, section in in_order(tables):
        published = published_tables.get(t.name)
        parts.append(f"\n## {section['title']}\n\n{section['job']}\n\n    {t.command()}\n\n{standing_words(t)}. {run_facts(t)}\n")
        parts += [f"- {name}: {about}" for name, about in who_is_who(r["subject"] for r in t.rows)]
        parts.append("\n" + markdown_table(*ratio_table(t)))
        if published:
            parts.append(f"\n{published['source']}. {published['what']}. Published figures; below each, the same here.\n")
            parts.append(markdown_table(*published_table(t, published)))
        parts += [f"- {remark}" for remark in t.remarks()]
    if simulation.rows:
        parts.append(f"\n## Simulated scaling\n\n{SIMULATED}\n\n    ./run simulate --json\n\n{simulated_runs(simulation)}\n")
        parts.append(markdown_table(*simulated_table(simulation)))
    lost = lost_table(tables)
    if lost[1]:
        parts.append("\n## Lost rows\n\n" + markdown_table(*lost))
    save(path, "\n".join(parts) + "\n")


def write_pictures(directory, name, spec, below=()):
    """A picture in both themes, as SVG and PNG. below: lines of text under it"""
    if not spec:
        return []
    words = text(spec.pop("description"))
    spec.update(width=620, autosize={"type": "pad"}, padding=12)
    if below:
        spec["title"] = {"text": list(below), "orient": "bottom", "anchor": "start", "fontSize": 11, "lineHeight": 15,
                         "fontWeight": "normal", "color": "$muted", "offset": 14}
    written = []
    for theme in ("light", "dark"):
        drawn = json.dumps(charts.themed(spec, theme))
        base = os.path.join(directory, f"{name}-{theme}")
        svg = vl_convert.vegalite_to_svg(drawn).replace(
            "<svg ", '<svg role="img" aria-labelledby="about" ', 1).replace(">", f'><title id="about">{words}</title>', 1)
        save(base + ".svg", svg)
        save(base + ".png", vl_convert.vegalite_to_png(drawn, scale=2))
        written += [base + ".svg", base + ".png"]
    return written


def picture_notes(tables, entries):
    """What the picture for a README says under itself: how far it may be believed, and who the peers are."""
    notes = [verdict(tables), noise(tables)]
    peers = who_is_who(c.peer for _, comparisons in entries for c in comparisons)
    return notes + [f"{name}: {about}" for name, about in peers]


def summary(entries):
    """The picture in words."""
    lines = [f"{title:<46} {', '.join(charts.against(c) for c in comparisons)}" for title, comparisons in entries]
    return ["lathwork against its peers (above 1× it is faster):", *lines, ""] if lines else []


class writing:
    """Names the file of an OSError that has none (a full device)."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        return self

    def __exit__(self, _kind, error, _trace):
        if isinstance(error, OSError):
            raise Problem(f"cannot write {error.filename or self.path}: {error.strerror}") from error


def check_places(asked, places):
    """No input is written over."""
    for place in places:
        for file in asked.files:
            if os.path.exists(place) and os.path.exists(file) and os.path.samefile(place, file):
                raise Problem(f"cannot write {place}: it is the same file as the input {file}")


def main():
    arguments = argparse.ArgumentParser(prog="lath report", description=__doc__.split(": ", 1)[1])
    arguments.add_argument("--output", default=".", metavar="DIR")
    arguments.add_argument("files", nargs="+", metavar="FILE")
    asked = arguments.parse_args()
    page, notes = os.path.join(asked.output, "report.html"), os.path.join(asked.output, "report.md")
    try:
        check_places(asked, [page, notes])
        with writing(asked.output):
            os.makedirs(asked.output, exist_ok=True)
        tables, simulation = load(asked.files)
        with open(os.path.join(HERE, "published.json"), encoding="utf-8") as file:
            published_tables = json.load(file)
        entries = headlines(tables)
        with writing(page):
            write_page(page, tables, simulation, published_tables, entries)
        with writing(notes):
            write_markdown(notes, tables, simulation, published_tables)
        written = [page, notes]
        with writing(asked.output):
            if entries:
                few = picture_entries(tables)
                written += write_pictures(asked.output, "report", charts.overview(few), picture_notes(tables, few))
        with writing("standard output"):
            sys.stdout.reconfigure(errors="replace")  # it may not know every sign
            print("\n".join(summary(entries) + written), flush=True)
    except Problem as problem:
        sys.stdout = None  # nothing is left to be written at the end
        sys.exit(f"lath report: {problem}")
    except OSError as error:
        sys.exit(f"lath report: cannot read {error.filename}: {error.strerror}")


if __name__ == "__main__":
    main()
