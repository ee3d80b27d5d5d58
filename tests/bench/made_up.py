# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""A file of `lath bench --json` made up so that the report has to say everything it can say."""

ABOUT = {
    "machine": "made up", "isa": "avx2", "cpus": "2", "compiler": "none", "effort": "quick", "seed": 1, "only": {"brief": True},
    "remarks": ["ranges: fill: half of the space was full"], "not_available": [],
    "errors": ["ranges delete std-map: 2 of 100 extents are missing"],
}


def table_of(name, named_peer, verdict, others, ours="lathwork", complete=True):
    return {"name": name, "ours": ours, "named_peer": named_peer, "summary": name, "complete": complete, "seconds": 1.5,
            "parameters": [], "huge_page_bytes": 0,
            "noise": {"verdict": verdict, "other_programs_percent": others, "loop_lost_percent": 1.0}}


TABLES = [
    table_of("ranges", "linux-rbtree", "noisy", 49.0, complete=False), table_of("index", "absl-btree", "quiet", 0.5),
    table_of("iova", "maple", "quiet", 0.7),
    table_of("store", "rbtree-malloc-4k", "quiet", 0.4), table_of("own", "other", "fair", 0.9),
]


def repeated(value, n):
    return [value * (1 + 0.02 * (i - (n - 1) / 2) / n) for i in range(n)]


def case(table, name, metric, unit, better, figures, n=3):
    """Rows of one case and the ratios of the first subject to the others."""
    rows, ratios = [], []
    for subject, value in figures.items():
        samples = repeated(value, n)
        rows.append({"table": table, "case": name, "subject": subject, "n": 1000, "threads": 1, "metric": metric,
                     "unit": unit, "better": better, "median": value, "min": min(samples), "mad": 0.01 * value,
                     "samples": samples, "verified": True})
    (ours, value), *peers = figures.items()
    for peer, theirs in peers:
        if not value or not theirs:
            continue
        ratio = value / theirs
        ratios.append({"table": table, "case": name, "metric": metric, "peer": peer, "peer_case": name, "ratio": ratio,
                       "low": ratio * 0.98, "high": ratio * 1.02, "tie": abs(ratio - 1) < 0.02})
    return rows, ratios


CASES = [
    # lost to the best peer, not to the named one; few repetitions
    case("ranges", "fill", "time", "ms", "lower", {"lathwork": 8.3, "linux-rbtree": 20, "design-2013": 6.85}),
    case("ranges", "check", "time", "ms", "lower", {"lathwork": 3, "linux-rbtree": 9, "design-2013": 12}, n=12),
    case("ranges", "delete", "time", "ms", "lower", {"lathwork": 5, "linux-rbtree": 5.02, "design-2013": 7}),
    # two sizes only: nothing lies between them
    case("ranges", "thread/1", "time", "s", "lower", {"lathwork": 0.4, "linux-rbtree": 1, "design-2013": 1.1}),
    case("ranges", "thread/4", "time", "s", "lower", {"lathwork": 1.5, "linux-rbtree": 5, "design-2013": 1.2}),
    case("index", "lookup/1000", "time", "ns", "lower", {"lathwork": 20, "absl-btree": 22, "judy": 40}),
    case("index", "lookup/10000", "time", "ns", "lower", {"lathwork": 40, "absl-btree": 60, "judy": 90}),
    case("index", "lookup/100000", "time", "ns", "lower", {"lathwork": 60, "absl-btree": 120, "judy": 140}),
    # an axis with one round number
    case("index", "bytes/100000", "bytes", "B", "lower", {"lathwork": 21.5, "absl-btree": 22.7, "judy": 18.8}, n=1),
    # keys of two distributions, the smaller size is not drawn
    case("index", "insert/clustered/1000", "time", "ns", "lower", {"lathwork": 90, "absl-btree": 91.5, "judy": 180}),
    case("index", "insert/clustered/100000", "time", "ns", "lower", {"lathwork": 300, "absl-btree": 330, "judy": 410}),
    case("index", "lookup/clustered/100000", "time", "ns", "lower", {"lathwork": 555, "absl-btree": 580, "judy": 370}),
    case("index", "miss-batch/clustered/100000", "time", "ns", "lower", {"lathwork": 121}),
    case("index", "insert/osm/100000", "time", "ns", "lower", {"lathwork": 540, "absl-btree": 816, "judy": 962}),
    case("index", "lookup/osm/100000", "time", "ns", "lower", {"lathwork": 628, "absl-btree": 700, "judy": 1120}),
    # values of two kinds, one with a distribution of the keys; two threads are not drawn
    case("store", "set+get/binary8/100000/1", "cpu", "ns", "lower", {"lathwork": 400, "judy-thp": 600}),
    case("store", "set+get/binary8/100000/2", "wall", "ns", "lower", {"lathwork": 200, "judy-thp": 700}),
    case("store", "scan/binary8/100000/1", "cpu", "ns", "lower", {"lathwork": 6, "judy-thp": 90}),
    case("store", "set+get/binary16+osm/100000/1", "cpu", "ns", "lower", {"lathwork": 500, "judy-thp": 900}),
    case("store", "scan/binary16+osm/100000/1", "cpu", "ns", "lower", {"lathwork": 7, "judy-thp": 95}),
    case("iova", "mix/16", "gbps", "GB/s", "higher", {"lathwork": 27, "maple": 2, "rbtree-2013": 1, "off": 28}),
    case("iova", "mix/16", "rate", "M/s", "higher", {"lathwork": 17, "maple": 0.4, "rbtree-2013": 1.5}),
    # a table that the report knows nothing of, and figures without a place on a log axis
    case("own", "wait/10", "time", "ns", "lower", {"lathwork": 10, "other": 30}),
    case("own", "failed", "failed", "%", "lower", {"lathwork": 0, "other": 0}),
]


def simulated(workload, rates, items=200000):
    """A file of `./run simulate --json`. rates: subject -> {cores: million calls per second}"""
    points = [{"subject": subject, "workload": workload, "cores": cores, "mops": mops, "ns": 1.0, "accesses": 1.0, "misses": 0.0,
               "lines": []} for subject, found in rates.items() for cores, mops in found.items()]
    return {"simulated": True, "items": items, "seed": 1, "points": points}


# the second takes the place of the first; the third has too few points for a line
SIMULATED = [
    simulated("lookups", {"lathwork": {1: 7, 8: 56}}, items=1000),
    simulated("lookups", {"lathwork": {1: 34.7, 8: 272, 128: 3961}, "maple": {1: 8.4, 8: 6.3, 128: 4.7}}),
    simulated("iova", {"lathwork": {1: 51.7, 128: 262}, "maple": {1: 3.0}}),
]
DOCUMENT = {"context": {**ABOUT, "tables": TABLES}, "rows": [r for rows, _ in CASES for r in rows],
            "ratios": [q for _, ratios in CASES for q in ratios]}
