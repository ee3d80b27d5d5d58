#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""report_test.py LATH [--keep DIR]: a report of a tiny run, opened in a browser without a network.

At 400 and 1200 pixels, light and dark: no complaint on the console, nothing requested, every chart drawn and not
empty, nothing wider than the screen. Then the Markdown and the pictures, and what wrong input is answered.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree

from browser import Browser

SMALL = ["--quick", "--reps", "3", "--n", "2000,8000", "--threads", "1,2", "--parameter", "window_ms=5",
         "--parameter", "fill_ms=20", "--parameter", "io_pages=500"]
READY = "document.body && document.body.dataset.drawn !== undefined"

# id, marks that are drawn (paths and texts with a place and a size), and how far the chart reaches
CHARTS = """[...document.querySelectorAll('.chart')].map(e => {
  const svg = e.querySelector('svg'), box = svg && svg.getBoundingClientRect();
  const shown = [...e.querySelectorAll('.mark-symbol path, .mark-line path')].filter(p => p.getTotalLength() > 0);
  const labels = [...e.querySelectorAll('.mark-text text')].map(t => t.textContent).filter(t => t.trim());
  const broken = /NaN|Infinity|undefined/.test(e.innerHTML);
  return {id: e.id, marks: shown.length, labels: labels.length, broken, width: box ? box.width : 0,
          height: box ? box.height : 0, right: box ? box.right : 0};
})"""

problems = []


def check(true, what):
    if not true:
        problems.append(what)


def run(*command, code=0):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != code:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}, expected {code}\n{done.stdout}{done.stderr}")
    return done


def look_at(browser, page, width, dark, keep):
    where = f"{width} px, {'dark' if dark else 'light'}"
    browser.look(width, dark)
    browser.open("file://" + page, READY)
    charts = browser.evaluate(CHARTS)
    check(len(charts) >= 6, f"{where}: only {len(charts)} charts")
    for chart in charts:
        check(chart["marks"] > 0 and chart["labels"] > 0 and not chart["broken"], f"{where}: an empty chart: {chart}")
        check(chart["width"] > 200 and chart["height"] > 40, f"{where}: a chart without size: {chart}")
        check(chart["right"] <= width + 1, f"{where}: a chart beyond the edge: {chart}")
    wide = browser.evaluate("document.documentElement.scrollWidth")
    check(wide <= width, f"{where}: the page is {wide} pixels wide")
    paper = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    check((paper == "rgb(255, 255, 255)") != dark, f"{where}: the paper is {paper}")
    check(not browser.complaints, f"{where}: the console says {browser.complaints}")
    outside = [url for url in browser.requests if not url.startswith(("file://", "data:", "blob:"))]
    check(not outside, f"{where}: asks the network for {outside}")
    if keep:
        with open(os.path.join(keep, f"report-{width}-{'dark' if dark else 'light'}.png"), "wb") as file:
            file.write(browser.picture())


def check_browser(program, page, keep):
    with Browser(program) as browser:
        for width in (400, 1200):
            for dark in (False, True):
                look_at(browser, page, width, dark, keep)
        # the day ends while the page is open
        browser.evaluate("document.body.removeAttribute('data-drawn')")
        browser.look(1200, False)
        browser.wait(READY)
        check(not browser.complaints, f"after a change of colours the console says {browser.complaints}")


def check_files(directory, document):
    with open(os.path.join(directory, "report.md"), encoding="utf-8") as file:
        text = file.read()
    for table in {row["table"] for row in document["rows"]}:
        check(f"lath bench {table}" in text, f"report.md: no command for {table}")
    check("37.0 ms" in text and "LWN" in text, "report.md: the published figures of ranges are missing")
    for name in ("report-light", "report-dark", "pages-light", "pages-dark"):
        picture = tree.parse(os.path.join(directory, f"{name}.svg")).getroot()
        check(len(list(picture.iter())) > 30, f"{name}.svg: nearly empty")
        with open(os.path.join(directory, f"{name}.png"), "rb") as file:
            check(file.read(8) == b"\x89PNG\r\n\x1a\n", f"{name}.png: not a PNG")


def check_wrong_input(lath, scratch):
    broken = os.path.join(scratch, "broken.json")
    for content, word in (("{", "not a file"), ('{"context":{},"rows":[]}', "no rows"),
                          ('{"context":{},"rows":[{"table":"x"}]}', "not a file")):
        with open(broken, "w", encoding="utf-8") as file:
            file.write(content)
        said = run(lath, "report", broken, "-o", scratch, code=1).stderr
        check(broken in said and word in said, f"{content}: answered by {said!r}")
    missing = os.path.join(scratch, "none.json")
    check(missing in run(lath, "report", missing, code=1).stderr, "a missing file is not named")


def main():
    lath = sys.argv[1]
    keep = sys.argv[3] if sys.argv[2:3] == ["--keep"] else None
    ready = subprocess.run([lath, "report", "--setup"], capture_output=True, text=True)
    if ready.returncode:
        print(f"skipped: packages for lath report cannot be installed: {ready.stderr.strip()[-200:]}")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as scratch:
        samples = os.path.join(scratch, "samples.json")
        run(lath, "bench", "all", *SMALL, "--json", samples)
        run(lath, "report", samples, "--output", scratch)
        with open(samples, encoding="utf-8") as file:
            check_files(scratch, json.load(file))
        check_wrong_input(lath, scratch)
        program = shutil.which("chromium")
        if program:
            check_browser(program, os.path.join(scratch, "report.html"), keep)
    if problems:
        sys.exit("\n".join(problems[:20]))
    if not program:
        print("skipped: no chromium to look at the page with")
        sys.exit(77)
    print("drawn at 400 and 1200 pixels, light and dark")


main()
