# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Files of `lath bench --json` and `./run simulate --json`: reading, choosing, figures as people write them."""
import functools
import json
import re

OURS = "lathwork"
# bounds, not structures: no peer to be faster than
BOUNDS = ("off",)
# fewer repetitions than this give no 95 % interval of a median: the chance that all lie on one side is 2 / 2^n
ENOUGH = 6
NS = {"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}


class Problem(Exception):
    """What is wrong with the input, in words that name it."""


class Table:
    """The rows and ratios of one table, and the circumstances of its run."""

    simulated = False

    def __init__(self, name, info, context):
        self.name, self.info, self.context = name, info, context
        self.rows, self.ratios = [], []
        self.ours, self.named_peer = info.get("ours", OURS), info.get("named_peer", "")

    def row(self, case, metric, subject):
        return next((r for r in self.rows if r["case"] == case and r["metric"] == metric and r["subject"] == subject),
                    None)

    def rows_of(self, case, metric):
        return [r for r in self.rows if r["case"] == case and r["metric"] == metric]

    def ratio(self, case, metric, peer):
        return next((q for q in self.ratios if q["case"] == case and q["metric"] == metric and q["peer"] == peer), None)

    def is_variant(self, subject):
        """Ours in another form: neither the product nor a peer."""
        return subject != self.ours and subject.startswith(OURS)

    def peer_case(self, case, metric):
        """The case of the peers that the ratios compare with: another one where no peer has this."""
        return next((q["peer_case"] for q in self.ratios if q["case"] == case and q["metric"] == metric), case)

    def best_peer(self, case, metric):
        """The row of the fastest subject that is not ours."""
        peers = [r for r in self.rows_of(self.peer_case(case, metric), metric)
                 if r["subject"] != self.ours and not self.is_variant(r["subject"]) and r["subject"] not in BOUNDS]
        if not peers:
            return None
        return (max if peers[0]["better"] == "higher" else min)(peers, key=lambda r: r["median"])

    def comparisons(self, case, metric):
        """Ours against the named peer, and against the best one when that is another."""
        ours, best = self.row(case, metric, self.ours), self.best_peer(case, metric)
        peers = {self.named_peer: "named"}
        if best:
            peers.setdefault(best["subject"], "best")
        found = []
        for peer, kind in peers.items():
            theirs = self.row(self.peer_case(case, metric), metric, peer)
            ratio = self.ratio(case, metric, peer)
            if ours and theirs and ratio:
                found.append(Comparison(kind, ours, theirs, ratio))
        return found

    @functools.cached_property
    def standings(self):
        """Every figure of ours with its comparisons: lost ones first, the worst on top; then ties, then the rest."""
        order = ("behind", "tie", "ahead", "alone")
        # cycles are the same measurement as the time
        found = [Standing(r, self.comparisons(r["case"], r["metric"]))
                 for r in self.rows if r["subject"] == self.ours and r["metric"] != "cycles"]
        return sorted(found, key=lambda s: (order.index(s.verdict), s.worst if s.verdict == "behind" else 0))

    def family(self, pattern, metric):
        """Cases of a pattern with one *, the number in its place: [(number, case)]."""
        form = re.compile(re.escape(pattern).replace(r"\*", r"(\d+)") + "$")
        found = {}
        for r in self.rows:
            match = form.match(r["case"])
            if match and r["metric"] == metric:
                found[int(match.group(1))] = r["case"]
        return sorted(found.items())

    def distributions(self, names, metric):
        """Cases NAME/KIND/N[/1] of one thread, for these names: {KIND: [(NAME, case with the largest N)]} in the order of names."""
        form = re.compile(r"([a-z0-9+-]+)/([a-z][a-z0-9+-]*)/(\d+)(?:/1)?$")
        found = {}
        for r in self.rows:
            match = form.match(r["case"])
            if match and match.group(1) in names and r["metric"] == metric:
                best = found.setdefault(match.group(2), {})
                best[match.group(1)] = max(best.get(match.group(1), (0, "")), (int(match.group(3)), r["case"]))
        return {keys: [(name, best[name][1]) for name in names if name in best] for keys, best in found.items()}

    def largest(self, case, metric):
        """A case with * in place of a number: the case with the largest one, and that number."""
        if "*" not in case:
            return case, 0
        found = self.family(case, metric)
        return (found[-1][1], found[-1][0]) if found else (case, 0)

    def remarks(self):
        """What the run noted of this table."""
        start = self.name + ": "
        return [r[len(start):] for r in self.context.get("remarks", []) if r.startswith(start)]

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


class Simulation(Table):
    """Calls per second on a simulated machine, as the rows of a table without ratios: a case is WORKLOAD/CORES."""

    simulated = True

    def __init__(self):
        super().__init__("simulated", {}, {})
        self.runs = {}  # workload -> the file's items and seed

    def add(self, document):
        """Takes the points of a file; a workload that another file had is replaced."""
        require("the file", document, {"items": int, "seed": int, "points": list})
        for i, point in enumerate(document["points"]):
            require(f"point {i}", point, {"subject": str, "workload": str, "cores": int, "mops": NUMBER})
            if point["mops"] <= 0 or point["cores"] < 1:
                raise ValueError(f"point {i} has no rate, or no cores")
        new = {p["workload"]: (document["items"], document["seed"]) for p in document["points"]}
        self.rows = [r for r in self.rows if r["case"].split("/")[0] not in new]
        self.rows += [{"table": self.name, "case": f"{p['workload']}/{p['cores']}", "subject": p["subject"], "metric": "rate",
                       "unit": "M/s", "better": "higher", "median": p["mops"], "samples": [p["mops"]], "n": document["items"],
                       "threads": p["cores"]} for p in document["points"]]
        self.runs.update(new)

    def cores(self):
        return sorted({r["threads"] for r in self.rows})


class Comparison:
    """One figure of ours against one peer. Above 1 is better for ours, whatever the unit."""

    def __init__(self, kind, ours, theirs, ratio):
        self.kind, self.ours, self.theirs, self.peer = kind, ours, theirs, theirs["subject"]
        higher = ours["better"] == "higher"
        value, low, high = (max(ratio[name], 1e-9) for name in ("ratio", "low", "high"))
        self.value, self.low, self.high = (value, low, high) if higher else (1 / value, 1 / high, 1 / low)
        self.verdict = "tie" if ratio["tie"] else "ahead" if self.value > 1 else "behind"
        a, b = ours["samples"], theirs["samples"]
        self.n = min(len(a), len(b))
        # sample i of both is from the same round when there are as many of each
        pairs = zip(a, b if len(a) == len(b) else [theirs["median"]] * len(a))
        self.points = sorted(x / y if higher else y / x for x, y in pairs if x > 0 and y > 0)

    @property
    def has_interval(self):
        return self.n >= ENOUGH and self.low < self.high

    def text(self):
        """The ratio with its interval or, of few repetitions, with the single ones."""
        if self.has_interval:
            return f"{factor(self.value)} ({number(self.low)} – {number(self.high)})"
        if len(set(self.points)) > 1 and self.n < ENOUGH:
            return f"{factor(self.value)} ({', '.join(number(p) for p in self.points)})"
        return factor(self.value)


class Standing:
    """A figure of ours, its comparisons, and the verdict: behind when it is behind any of them."""

    def __init__(self, row, comparisons):
        self.row, self.comparisons = row, comparisons
        self.name = row["case"] if row["metric"] == "time" else f"{row['case']} {row['metric']}"
        verdicts = {c.verdict for c in comparisons}
        self.verdict = next((v for v in ("behind", "tie", "ahead") if v in verdicts), "alone")
        self.worst = min((c.value for c in comparisons), default=1)


# what is read of a row and of a ratio
NUMBER = (int, float)
ROW = {"table": str, "case": str, "subject": str, "metric": str, "unit": str, "better": str, "median": NUMBER,
       "samples": list, "n": int, "threads": int}
RATIO = {"table": str, "case": str, "metric": str, "peer": str, "peer_case": str, "ratio": NUMBER, "low": NUMBER,
         "high": NUMBER, "tie": bool}


def require(what, value, kinds):
    """Throws ValueError when a field of the object is missing or of another kind."""
    for name, kind in kinds.items():
        if not isinstance(value, dict) or not isinstance(value.get(name), kind):
            raise ValueError(f"{what} has no {name}, or one of another kind")


def no_constant(name):
    raise ValueError(f"{name} is not a figure")


def read(path, simulation):
    """The tables of one file; what was simulated goes to `simulation`."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file, parse_constant=no_constant)
    if isinstance(document, dict) and document.get("simulated") is True:
        simulation.add(document)
        return {}
    require("the file", document, {"context": dict, "rows": list})
    context, ratios = document["context"], document.get("ratios", [])
    for info in context.get("tables", []):
        require("a table of the context", info, {"name": str})
    infos, mine = {t["name"]: t for t in context.get("tables", [])}, {}
    for i, row in enumerate(document["rows"]):
        require(f"row {i}", row, ROW)
        if not row["samples"] or not all(isinstance(x, NUMBER) for x in row["samples"]):
            raise ValueError(f"row {i} has samples that are no figures")
        name = row["table"]
        if name not in mine:
            mine[name] = Table(name, infos.get(name, {"name": name}), context)
        mine[name].rows.append({**row, "median": row["median"] + 0.0})
    for i, ratio in enumerate(ratios):
        require(f"ratio {i}", ratio, RATIO)
        if ratio["table"] not in mine:
            raise ValueError(f"ratio {i} is of a table without rows")
        mine[ratio["table"]].ratios.append(ratio)
    return mine


def load(paths):
    """(name -> Table, Simulation); a table, or a simulated workload, that several files hold is taken from the last."""
    tables, simulation = {}, Simulation()
    for path in paths:
        try:
            tables.update(read(path, simulation))
        except OSError as error:
            raise Problem(f"cannot read {path}: {error.strerror}") from error
        except json.JSONDecodeError as error:
            raise Problem(f"{path}: not a file of `lath bench --json`: line {error.lineno}, "
                          f"column {error.colno}: {error.msg}") from error
        except UnicodeDecodeError as error:
            raise Problem(f"{path}: not a file of `lath bench --json`: "
                          f"byte {error.start} is not UTF-8") from error
        except ValueError as error:
            raise Problem(f"{path}: not a file of `lath bench --json`: {error}") from error
    if not tables:
        raise Problem(f"{', '.join(paths)}: no rows of any table")
    return tables, simulation


def save(path, content):
    """Writes text, or bytes, to a file."""
    data = content.encode() if isinstance(content, str) else content
    try:
        with open(path, "wb") as file:
            file.write(data)
    except OSError as error:
        raise Problem(f"cannot write {path}: {error.strerror}") from error


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


def factor(x):
    """How many times; what is near 1 shows on which side."""
    return f"{x:.3f}×" if 0.95 < x < 1.05 and x != 1 else f"{number(x)}×"


def count(n):
    """1000000 -> 10⁶, 100000 -> 100 k"""
    if n >= 1000000 and n % 1000000 == 0:
        return f"{n // 1000000} M"
    if n >= 1000 and n % 1000 == 0:
        return f"{n // 1000} k"
    return str(n)
