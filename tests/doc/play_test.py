#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""play_test.py [--keep DIR]: doc/play.html is what doc/play/make.py makes, and works in a browser without a network."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/bench"))
from browser import Browser  # noqa: E402

PAGE = ROOT / "doc/play.html"
READY = "Boolean(document.body && document.body.dataset.drawn)"
# What the board shows: live items and keys of erased ones by their text, nodes, and what lies outside of the board.
BOARD = """({at: Number(document.body.dataset.drawn), said: document.getElementById('said').textContent, nodes: document.querySelectorAll(".card").length,
  live: [...document.querySelectorAll(".live + text")].map(t => t.textContent),
  dead: [...document.querySelectorAll("[data-name^=e] .dead + text")].map(t => t.textContent),
  inner: document.querySelectorAll(".inner").length, strip: document.querySelectorAll(".item").length,
  outside: [...document.querySelectorAll("[data-name]")].filter(g => { const t = g.style.transform.match(/-?[0-9.]+/g).map(Number);
    return !(t[0] >= 0 && t[0] <= 1060 && t[1] >= 0 && t[1] <= 360); }).length})"""
wrong = []


def check(right, what):
    if not right:
        wrong.append(what)


def press(browser, key, code=None):
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key,
                     **({"text": key} if kind == "keyDown" and len(key) == 1 else {}))


def wanted(trace, n):
    nodes = [trace["states"][i] for i in trace["frames"][n]["nodes"]]
    entries = [e for node in nodes if node["level"] == 0 for e in node["entries"]]
    return {"live": sorted(f"{key} +{size}" for key, size, live in entries if live),
            "dead": sorted(str(key) for key, _, live in entries if not live), "nodes": len(nodes),
            "inner": sum(e[2] for node in nodes if node["level"] for e in node["entries"])}


def each_step(browser, trace):
    """Every step, forward and then back, shows the index that was recorded."""
    there = {}
    last = len(trace["frames"]) - 1
    for n in [*range(last + 1), *range(last - 1, -1, -1)]:
        board = browser.evaluate(BOARD)
        check(board["at"] == n, f"step {n}: {board['at']} is drawn")
        check(board["said"] and board["said"] == there.setdefault(n, board["said"]), f"step {n}: says {board['said']}")
        want = wanted(trace, n)
        have = {"live": sorted(board["live"]), "dead": sorted(board["dead"]), "nodes": board["nodes"], "inner": board["inner"]}
        check(have == want, f"step {n}: {have}, expected {want}")
        check(board["strip"] == len(want["live"]) and not board["outside"], f"step {n}: {board['strip']} in the strip, {board['outside']} outside")
        browser.evaluate("document.getElementById(" + ("'forward'" if n == board["at"] and len(there) <= last else "'back'") + ").click()")
    return there


def stories(trace, said):
    """Each kind of step is there, and is told."""
    for words in ("one level taller", "move to a new leaf", "refused", "Found: ", "No item covers", "The key stays", "merge with their siblings",
                  "one level lower", "the lowest place", "the highest place", "the shortest hole", "aligned to 256"):
        check(any(words in text for text in said.values()), f"no step says: {words}")
    check([frame["looked"] for frame in trace["frames"] if frame["part"] == "Find a hole"].count(0) == 0, "a hole search looked at nothing")


def controls(browser, trace):
    last = len(trace["frames"]) - 1

    def at():
        return browser.evaluate("Number(document.body.dataset.drawn)")

    for key, place in (("End", last), ("ArrowLeft", last - 1), ("ArrowRight", last), ("Home", 0), ("ArrowLeft", 0), ("ArrowRight", 1)):
        press(browser, key)
        check(at() == place, f"{key}: {at()}, expected {place}")
    press(browser, " ", "Space")
    check(browser.evaluate("play.textContent") == "Pause" and at() == 2, "space does not play")
    browser.wait("Number(document.body.dataset.drawn) >= 4")
    press(browser, " ", "Space")
    stopped = at()
    time.sleep(1.2)
    check(browser.evaluate("play.textContent") == "Play" and at() == stopped, "space does not pause")
    browser.evaluate("place.value = 30; place.dispatchEvent(new Event('input'))")
    check(at() == 30, "the slider")
    for part in dict.fromkeys(frame["part"] for frame in trace["frames"]):
        browser.evaluate(f"[...parts.children].find(b => b.textContent === {json.dumps(part)}).click()")
        check(trace["frames"][at()]["part"] == part and browser.evaluate("parts.querySelector('[aria-current=true]').textContent") == part,
              f"the button {part}")
    browser.evaluate(f"go({last - 1}); document.getElementById('play').click()")
    check(at() == last and browser.evaluate("play.textContent") == "Play", "playing ends at the last step")


def look(browser, width, dark, keep):
    where = f"{width} px, {'dark' if dark else 'light'}"
    browser.look(width, dark)
    browser.open(PAGE.as_uri(), READY)
    check(browser.evaluate("document.documentElement.scrollWidth") <= width, f"{where}: wider than the window")
    paper = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    check((paper == "rgb(255, 255, 255)") != dark, f"{where}: the paper is {paper}")
    check(not browser.complaints, f"{where}: the console says {browser.complaints}")
    check(not [url for url in browser.requests if not url.startswith("file:")], f"{where}: asks for {browser.requests}")
    if keep:
        pathlib.Path(keep, f"play-{width}-{'dark' if dark else 'light'}.png").write_bytes(browser.picture())


def main():
    keep = sys.argv[2] if sys.argv[1:2] == ["--keep"] else None
    subprocess.run([sys.executable, "-B", ROOT / "doc/play/make.py", "--check"], check=True)
    program = shutil.which("chromium")
    if not program:
        print("skipped: the page in a browser: chromium not found")
        sys.exit(77)
    trace = json.loads(re.search(r'id="trace">(.*?)</script>', PAGE.read_text(), re.S)[1])
    with Browser(program) as browser:
        for width in (400, 1180):
            for dark in (False, True):
                look(browser, width, dark, keep)
        stories(trace, each_step(browser, trace))
        controls(browser, trace)
        check(not browser.complaints, f"the console says {browser.complaints}")
    sys.exit("\n".join(wrong[:20]) if wrong else 0)


main()
