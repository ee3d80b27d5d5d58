# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The four kinds of picture. Colours are names ($accent, $ink, ...) that themed() replaces."""
import json
import math

import altair as alt

from data import NS, count, factor, figure

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
THEMES = {
    "light": {"$accent": "#d6450b", "$ink": "#1c2230", "$muted": "#626b7a", "$faint": "#a9b1bd", "$grid": "#e6e8ec",
              "$paper": "#ffffff", "$lost": "#a3005c"},
    "dark": {"$accent": "#ff8b4d", "$ink": "#e9ebef", "$muted": "#a3acb9", "$faint": "#6b7482", "$grid": "#2b313b",
             "$paper": "#14171c", "$lost": "#ff7ab8"},
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
    """Round numbers of a log axis, at least two of them: powers of ten, or 1, 2, 5 of each; where the axis is short, multiples of
    one such number."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3)):
        found = [step * 10.0 ** e for e in decades for step in steps if low <= step * 10.0 ** e <= high]
        if 2 <= len(found) <= most:
            return found
    for apart in range(1, len(decades)):
        found = [10.0 ** e for e in decades if e % apart == 0 and low <= 10.0 ** e <= high]
        if 2 <= len(found) <= most:
            return found
    for step in sorted(step * 10.0 ** e for e in range(decades[0] - 2, decades[-1] + 1) for step in (1, 2, 5)):
        first, last = math.ceil(low / step), math.floor(high / step)
        if 1 <= last - first <= most:
            return [float(f"{n * step:.6g}") for n in range(first, last + 1)]
    return [low, high]


def finish(chart, description, height):
    """Fills its container; one look for all. The description has the figures: it stands for the picture."""
    chart = chart.properties(width="container", height=height, description=description,
                             autosize=alt.AutoSizeParams(type="fit-x", contains="padding"), padding=4)
    return chart.configure(font=FONT, background="$paper", aria=False).configure_view(stroke=None).configure_axis(
        labelColor="$muted", titleColor="$muted", gridColor="$grid", domain=False, ticks=False, labelFontSize=11,
        titleFontSize=11, titleFontWeight="normal", labelPadding=5,
    ).configure_text(font=FONT, fontSize=11, color="$ink").to_dict()


def log_scale(low, high, room):
    """A log scale along x that leaves room at its right for labels, in pixels."""
    return alt.Scale(type="log", domain=[low, high], nice=False, range=[0, {"expr": f"width - {room}"}])


def extent(rows, single=True):
    """The least and the largest figure of rows that have one unit, of each repetition or of the medians."""
    values = [plain(v, r["unit"]) for r in rows for v in (r["samples"] if single else [r["median"]]) if v > 0]
    return min(values), max(values)


def log_x(bounds, unit, room=70):
    """The axis of figures along x, with room for labels in pixels."""
    low, high = bounds[0] / 1.15, bounds[1] * 1.05
    if high / low < 3:
        low, high = low / 1.3, high * 1.3
    return alt.X("value:Q", title="log scale", scale=log_scale(low, high, room),
                 axis=alt.Axis(values=ticks(low, high, 4), labelExpr=label_of(unit), grid=True, tickCount=4))


def role(table, subject):
    return "ours" if subject == table.ours else "named" if subject == table.named_peer else "peer"


def by_role(peers):
    return alt.Color("role:N", legend=None, scale=alt.Scale(domain=["ours", "named", "peer"],
                                                            range=["$accent", "$ink", peers]))


def repetitions(rows):
    """How many repetitions the rows have: "3 repetitions", "1 to 3 repetitions"."""
    counts = sorted({len(r["samples"]) for r in rows})
    return f"{' to '.join(map(str, counts[:1] + counts[1:][-1:]))} repetition{'s' if counts[-1] > 1 else ''}"


def origin(table, rows):
    """Where the figures come from."""
    return "simulated" if table.simulated else f"medians of {repetitions(rows)}"


def samples_layer(table, places, unit, **encoding):
    """Every repetition, small and faint, under the medians. places: [(x, row)]"""
    single = [{"subject": r["subject"], "role": role(table, r["subject"]), "x": x, "value": plain(s, unit)}
              for x, r in places for s in r["samples"] if s > 0]
    return alt.Chart(alt.Data(values=single)).mark_point(filled=True, size=12, opacity=0.4).encode(
        color=by_role("$faint"), **encoding)


def dots(table, rows, title, bounds):
    """All subjects of one case, the best on top: the medians, and each repetition as a small point. bounds: of the axis"""
    unit, higher = rows[0]["unit"], rows[0]["better"] == "higher"
    rows = sorted(rows, key=lambda r: r["median"], reverse=higher)
    values = [{"subject": r["subject"], "role": role(table, r["subject"]), "value": plain(r["median"], unit),
               "end": plain(max(r["samples"]), unit), "label": figure(r["median"], unit)}
              for r in rows]
    words = f"{title}, {origin(table, rows)}, best first: " + \
        ", ".join(f"{v['subject']} {v['label']}" for v in values)
    ours_or = lambda yes, no: {"condition": {"test": f"datum.value === '{table.ours}'", "value": yes}, "value": no}
    y = alt.Y("subject:N", sort=[v["subject"] for v in values], title=None, scale=alt.Scale(paddingOuter=0.3),
              axis=alt.Axis(labelColor=ours_or("$accent", "$ink"), labelFontWeight=ours_or("bold", "normal"),
                            labelLimit=130))
    x = log_x(bounds, unit)
    single = samples_layer(table, [(0, r) for r in rows], unit, x=x, y=y)
    base = alt.Chart(alt.Data(values=values)).encode(
        y=y, tooltip=[alt.Tooltip("subject:N", title="structure"), alt.Tooltip("label:N", title=title)])
    dot = base.mark_point(filled=True, size=64, opacity=1).encode(x=x, color=by_role("$faint"))
    text = base.mark_text(align="left", dx=8).encode(x=alt.X("end:Q"), text="label:N", color=by_role("$muted"))
    return finish(alt.layer(single, dot, text).resolve_scale(color="independent"), words, 18 * len(values) + 8)


def workloads(table, rows, title, bounds):
    """Several cases below each other, a dot for each subject; the figure of ours and of the best peer.

    rows: [(name of the case, its row)], all with one unit, the cases in the order in which they are drawn.
    """
    unit = rows[0][1]["unit"]
    values = [{"work": name, "subject": r["subject"], "role": role(table, r["subject"]), "value": plain(r["median"], unit),
               "label": figure(r["median"], unit)} for name, r in rows]
    names = list(dict.fromkeys(name for name, _ in rows))
    # ours last, above the others
    values.sort(key=lambda v: ("peer", "named", "ours").index(v["role"]))
    notes, words = [], []
    for name in names:
        mine = sorted((v for v in values if v["work"] == name), key=lambda v: v["value"])
        shown = [v for v in mine if v["role"] == "ours"] + [v for v in mine if v["role"] != "ours"][:1]
        notes.append({"work": name, "end": mine[-1]["value"],
                      "label": ", ".join(v["label"] if v["role"] == "ours" else f"{v['label']} {v['subject']}" for v in shown)})
        words.append(f"{name} " + ", ".join(f"{v['subject']} {v['label']}" for v in mine))
    words = f"{title}, medians of {repetitions([r for _, r in rows])}, best first: " + "; ".join(words)
    x = log_x(bounds, unit, 140)
    y = alt.Y("work:N", sort=names, title=None, scale=alt.Scale(paddingOuter=0.3), axis=alt.Axis(labelColor="$ink", labelLimit=130))
    dot = alt.Chart(alt.Data(values=values)).mark_point(filled=True, size=64, opacity=1).encode(
        x=x, y=y, color=by_role("$faint"),
        tooltip=[alt.Tooltip("work:N", title="case"), alt.Tooltip("subject:N", title="structure"),
                 alt.Tooltip("label:N", title=title)])
    text = alt.Chart(alt.Data(values=notes)).mark_text(align="left", dx=8, color="$ink").encode(
        x=alt.X("end:Q"), y=y, text="label:N")
    return finish(alt.layer(dot, text), words, 22 * len(names) + 8)


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


def shown_lines(table, series, higher, most=6):
    """Ours and its named peer always; then the best at the far end."""
    ends = {s: rows[-1][1]["median"] for s, rows in series.items()}
    peers = sorted((s for s in ends if s not in (table.ours, table.named_peer)), key=ends.get, reverse=higher)
    labelled = [s for s in (table.ours, table.named_peer) if s in ends]
    return labelled + peers[:most - len(labelled)], peers[most - len(labelled):]


def lines(table, series, axis, title, bounds):
    """Cost over a size, log against log, labelled at the ends. series: subject -> [(x, row)]; bounds: of the cost"""
    rows = [r for points in series.values() for _, r in points]
    unit, height = rows[0]["unit"], 250
    labelled, rest = shown_lines(table, series, rows[0]["better"] == "higher")
    thick = {"ours": 3, "named": 2}
    values = [{"subject": s, "role": role(table, s), "thick": thick.get(role(table, s), 1.25), "x": x,
               "value": plain(r["median"], unit), "label": figure(r["median"], unit)}
              for s in labelled + rest for x, r in series[s]]
    words = f"{title}, {origin(table, rows)} by number of {axis}: " + "; ".join(
        f"{s} " + ", ".join(f"{figure(r['median'], unit)} at {count(x)}" for x, r in series[s]) for s in labelled + rest)
    xs = sorted({v["x"] for v in values})
    low, high = bounds[0] / 1.25, bounds[1] * 1.25
    if high / low < 4:
        low, high = low / 1.6, high * 1.6
    at = spread_labels({s: plain(series[s][-1][1]["median"], unit) for s in labelled}, low, high, height)
    notes = [{"subject": s, "role": role(table, s), "x": series[s][-1][0], "value": at[s],
              "label": f"{s} {figure(series[s][-1][1]['median'], unit)}"} for s in labelled]
    x = alt.X("x:Q", title=f"{axis}, log scale",
              scale=log_scale(xs[0] / (xs[-1] / xs[0]) ** 0.04, xs[-1], 150),
              axis=alt.Axis(values=xs, labelExpr=COUNT_LABEL, grid=False))
    y = alt.Y("value:Q", title="log scale", scale=alt.Scale(type="log", domain=[low, high], nice=False),
              axis=alt.Axis(values=ticks(low, high, 6), labelExpr=label_of(unit), grid=True))
    single = samples_layer(table, [point for s in labelled for point in series[s]], unit, x=x, y=y)
    base = alt.Chart(alt.Data(values=values)).encode(
        x=x, y=y, detail="subject:N", color=by_role("$faint"),
        tooltip=[alt.Tooltip("subject:N", title="structure"), alt.Tooltip("x:Q", title=axis),
                 alt.Tooltip("label:N", title=title)])
    line = base.mark_line(opacity=0.9).encode(size=alt.Size("thick:Q", scale=None, legend=None))
    dot = base.mark_point(filled=True, opacity=1, size=30)
    text = alt.Chart(alt.Data(values=notes)).mark_text(align="left", dx=7).encode(
        x=x, y=y, text="label:N", color=by_role("$muted"))
    return finish(alt.layer(single, line, dot, text).resolve_scale(color="independent"), words, height), rest


def against(c):
    """The label of a comparison; what is not a win says so."""
    word = {"tie": " (tie)", "behind": " ▼ slower"}.get(c.verdict, "")
    return f"{factor(c.value)} {c.peer}{word}"


def overview(entries):
    """How many times faster: a filled dot against the structure of the published table, a ring against the best of today.

    entries: [(title, comparisons)]. The interval is drawn where there is one, else the single repetitions.
    """
    step, values, titles, single = 20, [], [], []
    at = 0
    for title, comparisons in entries:
        titles.append({"y": at, "label": title})
        at += step * 0.95
        for c in comparisons:
            reach = [c.low, c.high] if c.has_interval else c.points or [c.value]
            kind = "behind" if c.verdict == "behind" else "fine"
            values.append({"y": at, "value": c.value, "low": min(reach), "high": max(reach), "kind": c.kind,
                           "verdict": kind, "label": against(c), "title": title})
            if c.has_interval:
                single += [{"y": at, "value": c.low, "end": c.high, "verdict": kind}]
            else:
                single += [{"y": at, "value": p, "end": p, "verdict": kind} for p in c.points]
            at += step * 0.85
        at += step * 0.55
    words = "lathwork against its peers, above 1 it is faster: " + "; ".join(
        f"{title}: " + ", ".join(against(c) for c in comparisons) for title, comparisons in entries)
    lowest, highest = min(v["low"] for v in values), max(v["high"] for v in values)
    low, high = min(lowest / 1.1, 0.6), max(highest * 1.1, 4)
    for t in titles:
        t["value"] = low
    x = alt.X("value:Q", title="times faster, log scale", scale=log_scale(low, high, 140),
              axis=alt.Axis(values=[v for v in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if low <= v <= high],
                            labelExpr="format(datum.value, '~g') + '×'", grid=True, orient="top", labelOverlap="greedy"))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-12, at - 6], reverse=True, nice=False))
    colours = {"legend": None, "scale": alt.Scale(domain=["fine", "behind"], range=["$accent", "$lost"])}
    base = alt.Chart(alt.Data(values=values)).encode(y=y, tooltip=[
        alt.Tooltip("title:N", title="job"), alt.Tooltip("label:N", title="lathwork is faster by")])
    even = alt.Chart(alt.Data(values=[{"value": 1}])).mark_rule(color="$muted", strokeDash=[3, 3]).encode(x=x)
    few = alt.Chart(alt.Data(values=single)).encode(x=x, y=y)
    span = few.mark_rule(opacity=0.45, strokeWidth=2).encode(x2="end:Q", color=alt.Color("verdict:N", **colours))
    point = few.transform_filter("datum.value === datum.end").mark_point(filled=True, size=14, opacity=0.5).encode(
        color=alt.Color("verdict:N", **colours))
    dot = base.mark_point(size=75, opacity=1, strokeWidth=2).encode(
        x=x, stroke=alt.Stroke("verdict:N", **colours),
        fill=alt.condition("datum.kind === 'best'", alt.value("$paper"), alt.Fill("verdict:N", **colours)))
    text = base.mark_text(align="left", dx=10, fontSize=11).encode(
        x=alt.X("high:Q"), text="label:N",
        color=alt.condition("datum.verdict === 'behind'", alt.value("$lost"), alt.value("$ink")))
    head = alt.Chart(alt.Data(values=titles)).encode(x=x, y=y, text="label:N")
    look = {"align": "left", "fontWeight": "bold", "fontSize": 12, "dx": 2}
    # the grid does not run through the letters
    halo = head.mark_text(stroke="$paper", strokeWidth=5, strokeJoin="round", color="$paper", **look)
    layers = alt.layer(even, halo, span, point, dot, text, head.mark_text(color="$ink", **look))
    return finish(layers.resolve_scale(color="independent", stroke="independent", fill="independent"), words, at)
