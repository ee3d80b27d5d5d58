#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""compare.py LAST NEW...: files of `lath bench --json`; has a row of NEW fallen against LAST by more than the noise of both?
compare.py --record LEDGER RUN...: writes what of the runs later comparisons need, without samples, to LEDGER.

Several runs count as one: of each ratio the median, with an interval that holds those of all runs. Where memory and threads
come to lie differs from run to run, and costs more than what differs within one.

A row is a case of a table, measured in one metric. Both runs have measured it beside peers, and it is the ratio to a peer of
the same run that is compared: what slows the whole machine down slows the peer down too. Against one peer the row has
fallen if the two 95 % intervals of the ratio do not overlap, and the medians of the ratio are apart by more than a margin
(--margin percent). It has fallen if that is so against more than half of its peers, since a peer too may have changed.
A table during which the machine was "noisy", by the file's own verdict, is not judged and not recorded.

Exit code: 0 no row has fallen, 1 some have (they are printed), 2 the files cannot be compared.
"""

import argparse
import collections
import json
import statistics
import sys


KEPT = ("ratio", "low", "high")


def read(path):
    """The file's context, and the ratios and the direction of each row: {(table, case, metric): {peer: ratio}}."""
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        for *key, better, peers in content.pop("ledger", ()):
            row = dict(zip(("table", "case", "metric"), key))
            content.setdefault("rows", []).append({**row, "better": better})
            content.setdefault("ratios", []).extend({**row, "peer": peer, **dict(zip(KEPT, of))} for peer, of in peers.items())
        rows = collections.defaultdict(dict)
        better = {(r["table"], r["case"], r["metric"]): r["better"] for r in content["rows"]}
        noisy = {t["name"] for t in content["context"]["tables"] if t["noise"]["verdict"] == "noisy"}
        for name in sorted(noisy):
            print(f"{path}: the machine was noisy during table {name}, which is left out", file=sys.stderr)
        for ratio in content["ratios"]:
            if ratio["table"] in noisy:
                continue
            rows[ratio["table"], ratio["case"], ratio["metric"]][ratio["peer"]] = ratio
        return content["context"], rows, better
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"{path}: not a file of lath bench --json: {error!r}", file=sys.stderr)
        raise SystemExit(2) from error


def read_all(paths):
    """Several runs as one: what read() returns, of the rows that are in all of them."""
    parts = [read(path) for path in paths]
    context, rows, better = parts[0]
    for path, (other, _, _) in zip(paths[1:], parts[1:]):
        check_comparable(paths[0], context, path, other)
    together = {}
    for key, peers in rows.items():
        of_peer = {p: [part[1].get(key, {}).get(p) for part in parts] for p in peers}
        merged = {p: spread(ratios) for p, ratios in of_peer.items() if all(ratios)}
        if merged:
            together[key] = merged
    return context, together, better


def spread(ratios):
    """One ratio for several: the median, and an interval that holds all intervals."""
    return {**ratios[0], "ratio": statistics.median(r["ratio"] for r in ratios), "low": min(r["low"] for r in ratios),
            "high": max(r["high"] for r in ratios)}


def check_comparable(first_path, first, path, context):
    """Ends the program if two runs are not of one processor, or not of the same sizes."""
    for name in ("machine", "effort", "isa", "only"):
        if first.get(name) != context.get(name):
            print(f"{name}: {first.get(name)} in {first_path}, {context.get(name)} in {path}", file=sys.stderr)
            if name == "machine":
                print("ratios to peers differ between processors: check that release out, './run bench ledger --record VERSION' "
                      "there, and compare with the file it writes", file=sys.stderr)
            raise SystemExit(2)


def has_fallen(last, new, better, margin):
    """Against one peer, whether the ratio ours/peer is worse beyond both intervals, and by more than the margin."""
    if better == "higher":
        return new["high"] < last["low"] and new["ratio"] < last["ratio"] / margin
    return new["low"] > last["high"] and new["ratio"] > last["ratio"] * margin


def record(context, rows, better, path):
    """Writes the parts of a run that read() asks for: a line per row."""
    names = {table for table, _, _ in rows}
    tables = [t for t in context["tables"] if t["name"] in names]
    context = {name: context[name] for name in context if name not in ("not_available", "remarks")} | {"tables": tables}
    lines = [json.dumps([*key, better[key], {peer: [float(f"{ratios[peer][name]:.5g}") for name in KEPT] for peer in sorted(ratios)}])
             for key, ratios in sorted(rows.items())]
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"context": %s,\n"ledger": [\n%s\n]}\n' % (json.dumps(context), ",\n".join(lines)))



def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("last")
    parser.add_argument("new", nargs="+")
    parser.add_argument("--margin", type=float, default=10, help="percent that is never called a fall (default 10)")
    parser.add_argument("--record", action="store_true", help="the first file is the ledger to write, the others are runs")
    asked = parser.parse_args()
    if asked.record:
        context, rows, better = read_all(asked.new)
        if not rows:
            print("nothing to record", file=sys.stderr)
            return 2
        record(context, rows, better, asked.last)
        return 0
    then, last, _ = read(asked.last)
    now, new, better = read_all(asked.new)
    check_comparable(asked.last, then, asked.new[0], now)
    common, fallen = 0, []
    for key, peers in sorted(new.items()):
        both = sorted(set(peers) & set(last.get(key, {})))
        if not both:
            continue
        common += 1
        worse = [p for p in both if has_fallen(last[key][p], peers[p], better[key], 1 + asked.margin / 100)]
        if 2 * len(worse) > len(both):
            fallen.append((key, worse, len(both)))
    if not common:
        print("no row of a quiet table is in both files", file=sys.stderr)
        return 2
    for key, worse, count in fallen:
        changes = ", ".join(f"{p} {last[key][p]['ratio']:.2f} -> {new[key][p]['ratio']:.2f}" for p in worse)
        print(f"{'/'.join(key)}: fallen against {len(worse)} of {count} peers: {changes}")
    print(f"{common} rows compared, {len(fallen)} fallen")
    return 1 if fallen else 0


if __name__ == "__main__":
    sys.exit(main())
