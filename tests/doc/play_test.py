#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""play_test.py [--keep DIR]: the page that doc/play/make.py makes works in a browser without a network; its index has the items
that a dict has, and two calls that meet give the results of one order, wherever they meet."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/bench"))
from browser import Browser  # noqa: E402

READY = "Boolean(document.body && document.body.dataset.drawn)"
# What the board shows: live items and keys of erased ones by their text, nodes, and what lies outside of the board.
BOARD = """(limit => ({at: Number(document.body.dataset.drawn), said: document.getElementById('said').textContent, nodes: document.querySelectorAll(".card").length,
  live: [...document.querySelectorAll(".live + text")].map(t => t.textContent),
  dead: [...document.querySelectorAll("[data-name^=e] .dead + text")].map(t => t.textContent),
  inner: document.querySelectorAll(".inner").length, strip: document.querySelectorAll(".item").length,
  outside: [...document.querySelectorAll("[data-name]")].filter(g => { const t = g.style.transform.match(/-?[0-9.]+/g).map(Number);
    return !(t[0] >= 0 && t[0] <= limit && t[1] >= 0 && t[1] <= 400); }).length}))(document.querySelector("#board svg").viewBox.baseVal.width - 30)"""
wrong = []


def check(right, what):
    if not right:
        wrong.append(what)


def press(browser, key, code=None):
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key,
                     **({"text": key} if kind == "keyDown" and len(key) == 1 else {}))


def model(story):
    """The items after each call, as {key: size}, by a dict and a search of all keys; None where a result is wrong."""
    items, keys = {}, 10000
    for step in story:
        call, key, size, result = (step[name] for name in ("call", "key", "size", "result"))
        free = sorted(items.items())
        holes = [(a + b, c) for (a, b), (c, _) in zip([(0, 0), *free], [*free, (keys, 0)]) if a + b < c]
        hit = any(a <= key < a + b for a, b in free)
        right = True
        if call == "insert":
            overlap = any(a < key + size and key < a + b for a, b in free)
            right = (result == 0) != overlap
            items |= {} if overlap else {key: size}
        elif call == "erase":
            right = (result == 0) == (key in items)
            items.pop(key, None)
        elif call == "lookup":
            right = (result == 0) == hit
        elif call != "start":
            align = step["align"]
            fit = [(-(-a // align) * align, b) for a, b in holes if -(-a // align) * align + size <= b]
            lengths = {a: b - a for a, b in holes}
            right = (result == 0) == bool(fit)
            if result == 0:
                right = right and any(a <= key and key + size <= b for a, b in fit) and key % align == 0
                if call == "first":
                    right = right and key == fit[0][0]
                elif call == "last":
                    right = right and key == (fit[-1][1] - size) // align * align
                elif right and align == 1:
                    right = min(lengths[a] for a, b in holes if b - a >= size) == next(b - a for a, b in holes if a <= key < b)
                items[key] = size
        yield dict(items) if right else None


def wanted(frame):
    entries = [e for node in frame["nodes"] if node["level"] == 0 for e in node["entries"]]
    return {"live": sorted(f"{key} +{size}" for key, size, live in entries if live),
            "dead": sorted(str(key) for key, _, live in entries if not live), "nodes": len(frame["nodes"]),
            "inner": sum(bool(e[2]) for node in frame["nodes"] if node["level"] for e in node["entries"])}


def each_step(browser, frames):
    """Every step, back and then forward, shows the index after the call, and this one has the items that it must have."""
    there = {}
    for n, items in enumerate(model(frames)):
        live = {e[0]: e[1] for node in frames[n]["nodes"] if node["level"] == 0 for e in node["entries"] if e[2]}
        check(items == live, f"step {n}, {frames[n]['call']} {frames[n]['key']}: {live}, expected {items}")
    for n in [*range(len(frames) - 1, -1, -1), *range(1, len(frames))]:
        browser.evaluate(f"go({n})")
        board = browser.evaluate(BOARD)
        check(board["at"] == n, f"step {n}: {board['at']} is drawn")
        check(board["said"] and board["said"] == there.setdefault(n, board["said"]), f"step {n}: says {board['said']}")
        want = wanted(frames[n])
        have = {"live": sorted(board["live"]), "dead": sorted(board["dead"]), "nodes": board["nodes"], "inner": board["inner"]}
        check(have == want, f"step {n}: {have}, expected {want}")
        check(board["strip"] == len(want["live"]) and not board["outside"], f"step {n}: {board['strip']} in the strip, {board['outside']} outside")
    return there


def stories(frames, said):
    """Each kind of step is there, and is told."""
    for words in ("one level taller", "move to a new leaf", "refused", "Found: ", "No item covers", "The key stays", "merge with their siblings",
                  "one level lower", "the lowest place", "the highest place", "the shortest hole", "aligned to 256"):
        check(any(words in text for text in said.values()), f"no step says: {words}")
    check([frame["looked"] for frame in frames if frame["part"] == "Find a hole"].count(0) == 0, "a hole search looked at nothing")


def at(browser):
    return browser.evaluate("Number(document.body.dataset.drawn)")


def controls(browser, frames):
    last = len(frames) - 1
    check(frames[at(browser)]["part"] == "Look up", "the page does not begin with a full tree")
    for key, place in (("End", last), ("ArrowLeft", last - 1), ("ArrowRight", last), ("Home", 0), ("ArrowLeft", 0), ("ArrowRight", 1)):
        press(browser, key)
        check(at(browser) == place, f"{key}: {at(browser)}, expected {place}")
    press(browser, " ", "Space")
    check(browser.evaluate("play.textContent") == "Pause" and at(browser) == 2, "space does not play")
    browser.wait("Number(document.body.dataset.drawn) >= 4")
    press(browser, " ", "Space")
    stopped = at(browser)
    time.sleep(1.2)
    check(browser.evaluate("play.textContent") == "Play" and at(browser) == stopped, "space does not pause")
    browser.evaluate("$('place').value = 30; $('place').dispatchEvent(new Event('input'))")
    check(at(browser) == 30, "the slider")
    for part in dict.fromkeys(frame["part"] for frame in frames):
        browser.evaluate(f"[...parts.children].find(b => b.textContent === {json.dumps(part)}).click()")
        check(frames[at(browser)]["part"] == part and browser.evaluate("parts.querySelector('[aria-current=true]').textContent") == part,
              f"the button {part}")
    browser.evaluate(f"go({last - 1}); document.getElementById('play').click()")
    check(at(browser) == last and browser.evaluate("play.textContent") == "Play", "playing ends at the last step")


def yours(browser):
    """Calls of the reader's are steps, the first of them behind the step that was shown."""
    def do(call, key, size, words):
        browser.evaluate(f"$('call').value = '{call}'; $('call').onchange(); $('key').value = {key}; $('size').value = {size}; "
                         "$('yours').requestSubmit()")
        said = browser.evaluate("$('said').textContent")
        check(words in said, f"{call} {key}: says {said}")

    browser.evaluate("begin(); go(1)")
    do("insert", 4000, 10, "Insert 4000 to 4009.")
    check(at(browser) == 2 and browser.evaluate("frames.length") == 3, "a call of the reader's is not the next step")
    do("insert", 4005, 10, "refused, because 4000 to 4009 is there")
    do("lookup", 4005, 1, "Found: 4000 to 4009")
    do("first", 0, 100, "the lowest place")
    do("best", 0, 10000, "no hole is that long")
    do("erase", 4001, 1, "no item begins there")
    do("erase", 4000, 1, "one bit of the leaf is cleared")
    for key in range(5000, 6000, 10):
        do("insert", key, 3, f"Insert {key} to {key + 2}.")
    frames = browser.evaluate("frames")
    each_step(browser, frames)
    browser.evaluate("[...parts.children].find(b => b.textContent === 'Begin again').click()")
    check(browser.evaluate("frames.length") == len(lesson_frames(browser)) and at(browser) > 1, "Begin again")


def lesson_frames(browser):
    return browser.evaluate("run(lesson())")


def meetings(browser):
    """B inside A after each of its steps: both results are those of one order, and the index is as its invariants say."""
    browser.evaluate("begin()")
    rows = browser.evaluate("[...document.querySelectorAll('#meeting td[data-thread]')].map(cell => cell.dataset.thread + ' ' + cell.textContent)")
    again = [row.startswith("A") and "begins again" in row and "void" in row for row in rows]
    check(any(again) and any(row.startswith("A Remembers the lockword of the leaf") for row in rows[again.index(True):]) and any(row.startswith("B Locks the leaf") for row in rows) and
          rows[-1].startswith("A Done: found"), f"the first meeting is {rows}")
    browser.evaluate("$('a').value = 'insert'; $('akey').value = 955; $('b').value = 'lookup'; $('bkey').value = 955; $('a').onchange(); "
                     "$('akey').value = 955; $('bkey').value = 955; showMeeting()")
    rows = browser.evaluate("[...document.querySelectorAll('#meeting td[data-thread]')].map(cell => cell.dataset.thread + ' ' + cell.textContent)")
    check("B Waits. It begins again when the lock is free." in rows and "B Done: found an item that covers 955." in rows, f"a reader that waits: {rows}")
    for calls in (("lookup", 955, "insert", 955), ("insert", 955, "lookup", 955), ("insert", 955, "insert", 955), ("lookup", 860, "erase", 860),
                  ("insert", 955, "erase", 860), ("lookup", 992, "insert", 955), ("lookup", 1336, "erase", 1164)):
        found = browser.evaluate(f"""(() => {{ const [a, akey, b, bkey] = {json.dumps(calls)}, base = story.slice(0, at + 1), out = [];
          for (let when = 0, most = 1; when <= most; when++) {{
            const met = meet(base, {{call: a, key: akey, size: 1}}, {{call: b, key: bkey, size: 1}}, when), done = met.steps.filter(s => s.kind === "done");
            most = met.length;
            const of = thread => done.filter(s => s.thread === thread).map(s => s.frame.result);
            out.push([met.right, of("A"), of("B"), met.steps.some(s => s.kind === "waits")]); }}
          return out; }})()""")
        check(len(found) > 15, f"{calls}: {len(found)} places")
        allowed = {(0, 0)} if calls[1] in (992, 1336) else {("lookup", "insert"): {(-2, 0), (0, 0)}, ("insert", "lookup"): {(0, -2), (0, 0)}, ("insert", "insert"): {(0, -17), (-17, 0)},
                   ("lookup", "erase"): {(0, 0), (-2, 0)}, ("insert", "erase"): {(0, 0)}}[calls[0], calls[2]]
        seen = set()
        for right, a, b, _ in found:
            check(right and len(a) == len(b) == 1 and (a[0], b[0]) in allowed, f"{calls}: {right} {a} {b}")
            seen.add((a[0], b[0]))
        check(len(seen) == len(allowed), f"{calls}: only {seen}")


def look(browser, page, width, dark, keep):
    where = f"{width} px, {'dark' if dark else 'light'}"
    browser.look(width, dark)
    browser.open(page.as_uri(), READY)
    check(browser.evaluate("document.documentElement.scrollWidth") <= width, f"{where}: wider than the window")
    paper = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    check((paper == "rgb(255, 255, 255)") != dark, f"{where}: the paper is {paper}")
    check(not browser.complaints, f"{where}: the console says {browser.complaints}")
    check(not [url for url in browser.requests if not url.startswith("file:")], f"{where}: asks for {browser.requests}")
    if keep:
        pathlib.Path(keep, f"play-{width}-{'dark' if dark else 'light'}.png").write_bytes(browser.picture())


def main():
    keep = sys.argv[2] if sys.argv[1:2] == ["--keep"] else None
    program = shutil.which("chromium")
    for tool in ("chromium", "clang-19", "wasm-ld-19"):
        if not shutil.which(tool):
            print(f"skipped: {tool} not found")
            sys.exit(77)
    with tempfile.TemporaryDirectory() as work, Browser(program) as browser:
        page = pathlib.Path(work, "play.html")
        subprocess.run([sys.executable, "-B", ROOT / "doc/play/make.py", page], check=True)
        for width in (400, 1180):
            for dark in (False, True):
                look(browser, page, width, dark, keep)
        frames = browser.evaluate("frames")
        controls(browser, frames)
        stories(frames, each_step(browser, frames))
        yours(browser)
        meetings(browser)
        check(not browser.complaints, f"the console says {browser.complaints}")
    sys.exit("\n".join(wrong[:20]) if wrong else 0)


main()
