# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Files of `lath bench --json`: reading, choosing, figures as people write them."""
import json
import re

OURS = "lathwork"
# bounds, not structures: no peer to be faster than
BOUNDS = ("off",)
NS = {"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}


class Problem(Exception):
    """What is wrong with the input, in words that name it."""


class Table:
    """The rows and ratios of one table, and the circumstances of its run."""

    def __init__(self, name, info, context):
        self.name, self.info, self.context = name, info, context
        self.rows, self.ratios = [], []
        self.named_peer = info.get("named_peer", "")

    def row(self, case, metric, subject):
        return next((r for r in self.rows if r["case"] == case and r["metric"] == metric and r["subject"] == subject),
                    None)

    def rows_of(self, case, metric):
        return [r for r in self.rows if r["case"] == case and r["metric"] == metric]

    def ratio(self, case, metric, peer):
        return next((q for q in self.ratios if q["case"] == case and q["metric"] == metric and q["peer"] == peer), None)

    def best_peer(self, case, metric):
        """The row of the fastest subject that is not ours, of the case that the ratios compare with."""
        peer_case = next((q["peer_case"] for q in self.ratios if q["case"] == case and q["metric"] == metric), case)
        peers = [r for r in self.rows_of(peer_case, metric)
                 if not r["subject"].startswith(OURS) and r["subject"] not in BOUNDS]
        if not peers:
            return None
        return (max if peers[0]["better"] == "higher" else min)(peers, key=lambda r: r["median"])

    def family(self, pattern, metric):
        """Cases of a pattern with one *, the number in its place: [(number, case)]."""
        form = re.compile(re.escape(pattern).replace(r"\*", r"(\d+)") + "$")
        found = {}
        for r in self.rows:
            match = form.match(r["case"])
            if match and r["metric"] == metric:
                found[int(match.group(1))] = r["case"]
        return sorted(found.items())

    def largest(self, case, metric):
        """A case with * in place of a number: the case with the largest one, and that number."""
        if "*" not in case:
            return case, 0
        found = self.family(case, metric)
        return (found[-1][1], found[-1][0]) if found else (case, 0)

    def command(self):
        only, words = self.context.get("only", {}), ["lath bench", self.name]
        if self.context.get("effort") in ("quick", "full"):
            words.append("--" + self.context["effort"])
        if only.get("brief"):
            words.append("--brief")
        for option in ("n", "threads", "subjects", "cases"):
            if only.get(option):
                words.append(f"--{option} " + ",".join(str(v) for v in only[option]))
        if only.get("reps"):
            words.append(f"--reps {only['reps']}")
        if self.context.get("seed", 1) != 1:
            words.append(f"--seed {self.context['seed']}")
        declared = self.info.get("parameters", [])
        for name, value in (self.context.get("parameters") or {}).items():
            if name in declared:
                words.append(f"--parameter {name}={value}")
        return " ".join(words)


def load(paths):
    """name -> Table; a table that several files hold is taken from the last."""
    tables = {}
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                document = json.load(file)
            infos = {t["name"]: t for t in document["context"].get("tables", [])}
            mine = {}
            for row in document["rows"]:
                name = row["table"]
                if name not in mine:
                    mine[name] = Table(name, infos.get(name, {"name": name}), document["context"])
                mine[name].rows.append({**row, "median": row["median"] + 0.0})
            for ratio in document.get("ratios", []):
                mine[ratio["table"]].ratios.append(ratio)
        except OSError as error:
            raise Problem(f"{path}: {error.strerror}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise Problem(f"{path}: not a file of `lath bench --json`: {error!r}") from error
        tables.update(mine)
    if not tables:
        raise Problem(f"{', '.join(paths)}: no rows of any table")
    return tables


def number(x):
    """Three digits that matter."""
    if x == 0:
        return "0"
    if abs(x) >= 1000:
        return f"{x:,.0f}"
    digits = 0 if abs(x) >= 100 else 1 if abs(x) >= 10 else 2 if abs(x) >= 0.1 else 3
    return f"{x:.{digits}f}"


def figure(value, unit):
    """With the unit that makes it short: 0.0000012 s -> 1.20 µs."""
    if unit in NS:
        ns = value * NS[unit]
        for limit, name, scale in ((1e3, "ns", 1), (1e6, "µs", 1e3), (1e9, "ms", 1e6), (float("inf"), "s", 1e9)):
            if ns < limit:
                return f"{number(ns / scale)} {name}"
    return f"{number(value)} {unit}".rstrip()


def count(n):
    """1000000 -> 10⁶, 100000 -> 100 k"""
    if n >= 1000000 and n % 1000000 == 0:
        return f"{n // 1000000} M"
    if n >= 1000 and n % 1000 == 0:
        return f"{n // 1000} k"
    return str(n)


def times(ratio, better):
    """How many times better ours is, with its interval: ours/theirs turned so that more is better."""
    value, low, high = ratio["ratio"], ratio["low"], ratio["high"]
    if better == "higher":
        return value, low, high
    return 1 / max(value, 1e-9), 1 / max(high, 1e-9), 1 / max(low, 1e-9)


def verdict(ratio, better):
    if ratio["tie"]:
        return "tie"
    return "ahead" if times(ratio, better)[0] > 1 else "behind"
