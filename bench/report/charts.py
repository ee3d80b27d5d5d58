# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The four kinds of picture. Colours are names ($accent, $ink, ...) that themed() replaces."""
import json
import math

import altair as alt

from data import NS, OURS, figure, number, times

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
THEMES = {
    "light": {"$accent": "#d6450b", "$ink": "#1c2230", "$muted": "#626b7a", "$faint": "#a9b1bd", "$grid": "#e6e8ec",
              "$paper": "#ffffff"},
    "dark": {"$accent": "#ff8b4d", "$ink": "#e9ebef", "$muted": "#a3acb9", "$faint": "#6b7482", "$grid": "#2b313b",
             "$paper": "#14171c"},
}
TIME_LABEL = ("datum.value >= 1e9 ? format(datum.value / 1e9, '~g') + ' s' : "
              "datum.value >= 1e6 ? format(datum.value / 1e6, '~g') + ' ms' : "
              "datum.value >= 1e3 ? format(datum.value / 1e3, '~g') + ' µs' : format(datum.value, '~g') + ' ns'")
COUNT_LABEL = ("(datum.value >= 1e9 ? format(datum.value / 1e9, '~g') + ' G' : "
               "datum.value >= 1e6 ? format(datum.value / 1e6, '~g') + ' M' : "
               "datum.value >= 1e3 ? format(datum.value / 1e3, '~g') + ' k' : format(datum.value, '~g'))")


def themed(spec, theme):
    text = json.dumps(spec)
    for name, colour in THEMES[theme].items():
        text = text.replace(name, colour)
    return json.loads(text)


def label_of(unit):
    return TIME_LABEL if unit in NS else f"{COUNT_LABEL} + ' {unit}'"


def plain(value, unit):
    """Times in ns, so that one axis label fits all."""
    return value * NS.get(unit, 1)


def ticks(low, high, most=5):
    """Round numbers of a log axis: 1, 2, 5 or powers of ten, a few of them."""
    for steps in ((1, 2, 5), (1, 3), (1,)):
        found = [step * 10.0 ** e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
                 for step in steps if low <= step * 10.0 ** e <= high]
        if len(found) <= most:
            break
    else:
        found = found[::math.ceil(len(found) / most)]
    return found or [low]


def finish(chart, description, height):
    """Fills its container; one look for all."""
    chart = chart.properties(width="container", height=height, description=description,
                             autosize=alt.AutoSizeParams(type="fit-x", contains="padding"), padding=4)
    return chart.configure(font=FONT, background="$paper").configure_view(stroke=None).configure_axis(
        labelColor="$muted", titleColor="$muted", gridColor="$grid", domain=False, ticks=False, labelFontSize=11,
        titleFontSize=11, titleFontWeight="normal", labelPadding=5,
    ).configure_text(font=FONT, fontSize=11, color="$ink").to_dict()


def log_x(values, room, unit, title=None):
    """A log axis with room at its right for labels (share of the width)."""
    low, high = min(values) / 1.15, max(values) * 1.05
    if high / low < 3:
        low, high = low / 1.3, high * 1.3
    end = high * (high / low) ** (room / (1 - room))
    return alt.X("value:Q", title=title, scale=alt.Scale(type="log", domain=[low, end], nice=False),
                 axis=alt.Axis(values=ticks(low, high, 4), labelExpr=label_of(unit), grid=True, tickCount=4))


def role(subject, named):
    if subject == OURS:
        return "ours"
    if subject == named:
        return "named"
    return "variant" if subject.startswith(OURS) else "peer"


ROLE_COLOUR = alt.Color("role:N", legend=None, scale=alt.Scale(
    domain=["ours", "variant", "named", "peer"], range=["$accent", "$accent", "$ink", "$faint"]))


def dots(rows, named, title):
    """All subjects of one case, the best on top; the line is the range of the samples."""
    unit, higher = rows[0]["unit"], rows[0]["better"] == "higher"
    values = []
    for r in sorted(rows, key=lambda r: r["median"], reverse=higher):
        values.append({"subject": r["subject"], "role": role(r["subject"], named), "value": plain(r["median"], unit),
                       "low": plain(min(r["samples"]), unit), "high": plain(max(r["samples"]), unit),
                       "label": figure(r["median"], unit)})
    values = [v for v in values if v["low"] > 0]
    order = [v["subject"] for v in values]
    ours_or = lambda yes, no: {"condition": {"test": f"datum.value === '{OURS}'", "value": yes}, "value": no}
    base = alt.Chart(alt.Data(values=values)).encode(
        y=alt.Y("subject:N", sort=order, title=None, scale=alt.Scale(paddingOuter=0.3),
                axis=alt.Axis(labelColor=ours_or("$accent", "$ink"), labelFontWeight=ours_or("bold", "normal"),
                              labelLimit=130)),
        color=ROLE_COLOUR,
        tooltip=[alt.Tooltip("subject:N", title="structure"), alt.Tooltip("label:N", title=title)])
    x = log_x([v["low"] for v in values] + [v["high"] for v in values], 0.24, unit)
    span = base.mark_rule(strokeWidth=1.5, opacity=0.55).encode(x=alt.X("low:Q"), x2="high:Q")
    dot = base.mark_point(filled=True, size=64, opacity=1).encode(x=x)
    text = base.mark_text(align="left", dx=8, fontSize=11).encode(x=alt.X("high:Q"), text="label:N",
                                                               color=text_colour())
    return finish(alt.layer(span, dot, text).resolve_scale(color="independent"), title, 18 * len(values) + 8)


def text_colour():
    return alt.Color("role:N", legend=None, scale=alt.Scale(
        domain=["ours", "variant", "named", "peer"], range=["$accent", "$accent", "$ink", "$muted"]))


def spread_labels(ends, low, high, height, gap=14):
    """Positions (data values) of end labels, none nearer than gap pixels to the next; log axis."""
    scale = height / math.log(high / low)
    placed, last = {}, None
    for subject, value in sorted(ends.items(), key=lambda item: item[1]):
        at = math.log(value / low) * scale
        at = at if last is None else max(at, last + gap)
        placed[subject], last = at, at
    # too high: push down from the top
    limit = height - 4
    for subject in sorted(placed, key=placed.get, reverse=True):
        placed[subject] = min(placed[subject], limit)
        limit = placed[subject] - gap
    return {subject: low * math.exp(at / scale) for subject, at in placed.items()}


def shown_lines(series, named, higher, most=6):
    """Ours and its named peer always; then the best at the far end."""
    ends = {s: points[-1][1] for s, points in series.items()}
    peers = sorted((s for s in ends if not s.startswith(OURS) and s != named), key=ends.get, reverse=higher)
    labelled = [s for s in (OURS, named) if s in ends]
    return labelled + peers[:most - len(labelled)], peers[most - len(labelled):]


def lines(series, unit, named, axis, title, better):
    """Cost over a size, log against log, labelled at the ends. series: subject -> [(x, value)]"""
    height, higher = 250, better == "higher"
    labelled, rest = shown_lines(series, named, higher)
    thick = {"ours": 3, "named": 2}
    values = [{"subject": s, "role": role(s, named), "thick": thick.get(role(s, named), 1.25), "x": x,
               "value": plain(v, unit), "label": figure(v, unit)}
              for s in labelled + rest for x, v in series[s] if v > 0]
    xs = sorted({v["x"] for v in values})
    ys = [v["value"] for v in values]
    low, high = min(ys) / 1.25, max(ys) * 1.25
    if high / low < 4:
        low, high = low / 1.6, high * 1.6
    ends = {s: plain(series[s][-1][1], unit) for s in labelled}
    at = spread_labels(ends, low, high, height)
    notes = [{"subject": s, "role": role(s, named), "x": series[s][-1][0], "value": at[s],
              "label": f"{s} {figure(series[s][-1][1], unit)}"} for s in labelled]
    first, last = xs[0], xs[-1]
    reach = last / first if last > first else 2
    x = alt.X("x:Q", title={"n": "items", "threads": "threads", "depth": "requests in the queue"}.get(axis, axis),
              scale=alt.Scale(type="log", domain=[first / reach ** 0.04, last * reach ** 0.7], nice=False),
              axis=alt.Axis(values=xs, labelExpr=COUNT_LABEL, grid=False))
    y = alt.Y("value:Q", title=None, scale=alt.Scale(type="log", domain=[low, high], nice=False),
              axis=alt.Axis(values=ticks(low, high, 6), labelExpr=label_of(unit), grid=True))
    base = alt.Chart(alt.Data(values=values)).encode(
        x=x, y=y, detail="subject:N", color=ROLE_COLOUR,
        tooltip=[alt.Tooltip("subject:N", title="structure"), alt.Tooltip("x:Q", title=axis),
                 alt.Tooltip("label:N", title=title)])
    line = base.mark_line(opacity=0.9).encode(size=alt.Size("thick:Q", scale=None, legend=None))
    dot = base.mark_point(filled=True, opacity=1, size=30)
    text = alt.Chart(alt.Data(values=notes)).mark_text(align="left", dx=7, fontSize=11).encode(
        x=x, y=y, text="label:N", color=text_colour())
    return finish(alt.layer(line, dot, text).resolve_scale(color="independent"), title, height), rest


def overview(entries):
    """How many times faster: a filled dot against the structure of the seed, a ring against the best of today."""
    step, values, titles = 20, [], []
    at = 0
    for entry in entries:
        titles.append({"y": at, "label": entry["title"]})
        at += step * 0.95
        for q in entry["ratios"]:
            word = " (tie)" if q["tie"] else ""
            value, low, high = times(q, entry["better"])
            values.append({"y": at, "value": value, "low": low, "high": high, "kind": q["kind"], "peer": q["peer"],
                           "label": f"{number(value)}× {q['peer']}{word}", "title": entry["title"]})
            at += step * 0.85
        at += step * 0.55
    lowest, highest = min(v["low"] for v in values), max(v["high"] for v in values)
    low, high = min(lowest / 1.1, 0.6), max(highest * 1.1, 4)
    end = high * (high / low) ** 0.5
    for t in titles:
        t["value"] = low
    x = alt.X("value:Q", title=None, scale=alt.Scale(type="log", domain=[low, end], nice=False),
              axis=alt.Axis(values=[v for v in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if low <= v <= high],
                            labelExpr="format(datum.value, '~g') + '×'", grid=True, orient="top", labelOverlap="greedy"))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-12, at - 6], reverse=True, nice=False))
    base = alt.Chart(alt.Data(values=values)).encode(y=y, tooltip=[
        alt.Tooltip("title:N", title="job"), alt.Tooltip("label:N", title="lathwork is faster by")])
    even = alt.Chart(alt.Data(values=[{"value": 1}])).mark_rule(color="$muted", strokeDash=[3, 3]).encode(x=x)
    span = base.mark_rule(color="$accent", opacity=0.45, strokeWidth=2).encode(x=alt.X("low:Q"), x2="high:Q")
    dot = base.mark_point(size=75, opacity=1, strokeWidth=2, stroke="$accent").encode(
        x=x, fill=alt.Fill("kind:N", legend=None, scale=alt.Scale(domain=["seed", "best"], range=["$accent", "$paper"])))
    text = base.mark_text(align="left", dx=10, color="$ink", fontSize=11).encode(x=alt.X("high:Q"), text="label:N")
    head = alt.Chart(alt.Data(values=titles)).encode(x=x, y=y, text="label:N")
    look = {"align": "left", "fontWeight": "bold", "fontSize": 12, "dx": 2}
    # the grid does not run through the letters
    halo = head.mark_text(stroke="$paper", strokeWidth=5, strokeJoin="round", color="$paper", **look)
    return finish(alt.layer(even, halo, span, dot, text, head.mark_text(color="$ink", **look)), "lathwork against its peers, times faster", at)


def pages(rows):
    """Reads of memory on small and large pages: a dot each, and the way from one to the other."""
    names = {"4k": "small", "lathwork": "large"}
    cases = {}
    for r in rows:
        if r["subject"] in names and r["metric"] == "cpu" and not r["case"].startswith("touch/"):
            cases.setdefault(r["case"], {})[names[r["subject"]]] = plain(r["median"], r["unit"])
    values = []
    for case, found in cases.items():
        pattern, count, chains = case.split("/")
        size = int(count) * 4096 // 2**20
        if len(found) == 2:
            values.append({"case": f"{'random' if pattern == 'chain' else 'in order'}, {chains} at a time, "
                                   f"{f'{size // 1024} GiB' if size >= 1024 else f'{size} MiB'}", **found,
                           "label": f"{found['small']:.3g} → {found['large']:.3g} ns"})
    if not values:
        return None
    low, high = min(v["large"] for v in values) / 1.3, max(max(v["small"], v["large"]) for v in values) * 1.1
    x = alt.X("large:Q", title="ns a read: ring 4 KiB pages, dot 2 MiB pages",
              scale=alt.Scale(type="log", domain=[low, high * (high / low) ** 0.3], nice=False),
              axis=alt.Axis(values=ticks(low, high, 6), grid=True))
    base = alt.Chart(alt.Data(values=values)).encode(
        y=alt.Y("case:N", sort=[v["case"] for v in values], title=None,
                axis=alt.Axis(labelColor="$ink", labelLimit=220)),
        tooltip=[alt.Tooltip("case:N", title="reads"), alt.Tooltip("label:N", title="4 KiB → 2 MiB pages")])
    span = base.mark_rule(color="$accent", opacity=0.45, strokeWidth=2).encode(x=x, x2="small:Q")
    dot = base.mark_point(filled=True, size=64, opacity=1, color="$accent").encode(x=x)
    ring = base.mark_point(size=64, opacity=1, stroke="$muted", fill="$paper").encode(x=alt.X("small:Q"))
    text = base.transform_calculate(end="max(datum.small, datum.large)").mark_text(
        align="left", dx=9, color="$ink").encode(x=alt.X("end:Q"), text="label:N")
    return finish(alt.layer(span, ring, dot, text), "what a read costs by page size", 20 * len(values) + 8)
