#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""report_test.py LATH [--keep DIR]: reports of a tiny run and of made up samples, opened in a browser without a network.

At 400 and 1280 pixels, light and dark: no complaint on the console, nothing requested, every chart drawn and not
empty, nothing wider than the screen; and of the made up samples what a page must say, and where (POINTS). Then the
Markdown and the pictures, and what wrong input is answered.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree

import made_up
from browser import Browser

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "report"))
from data import Problem, load
from sections import ABOUT

SMALL = ["--quick", "--brief", "--reps", "2", "--n", "2000,8000", "--threads", "1,2", "--parameter", "window_ms=5",
         "--parameter", "fill_ms=20", "--parameter", "io_pages=500",
         "--parameter", "aging_requests=1000"]
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

# What a reader must find on the page of made_up.py: (name, widths, expression that is true then, or names what is wrong)
TOP = """const top = [...document.querySelectorAll('main > p')].map(e => e.innerText).join(' ');"""
POINTS = [
    ("the picture comes first", (400, 1280),
     "const first = document.querySelector('main').children[1]; first.classList.contains('split') || first.outerHTML.slice(0, 200)"),
    ("the verdict and the noise are told under it", (400, 1280),
     TOP + "/Of 24 rows lathwork is ahead in .*behind in 4[.]/.test(top) && /Noisy: 1 of 5/.test(top) && /49/.test(top) || top"),
    ("rows left out and tables cut short are told before the tables", (1280,),
     TOP + "/2 of 100 extents/.test(top) && /ranges was not measured to its end/.test(top) || top"),
    ("each table tells its noise and its verdict", (400, 1280),
     """const heads = [...document.querySelectorAll('section:not(#simulated):not(:last-of-type)')];
     heads.length === 5 && heads.every(e => e.querySelector('h2 .badge') && /[0-9]+ rows: /.test(e.querySelector('summary').innerText)) ||
     heads.map(e => e.innerText.slice(0, 80)).join()"""),
    ("all lost rows are in one list", (400, 1280),
     """const rows = document.querySelectorAll('#lost tr'), marks = [...document.querySelectorAll('section td')].filter(e => /▼ lost/.test(e.textContent));
     rows.length === 1 + 4 && marks.length === 2 * 4 || rows.length + ' ' + marks.length"""),
    ("lost rows come first in their table", (400, 1280),
     """const rows = [...document.querySelectorAll('#ranges tr')].map(r => r.innerText).filter(r => /lost|tie|ahead/.test(r) && !/verdict/.test(r));
     /▼/.test(rows[0]) && /▼/.test(rows[1]) && !/▼/.test(rows[2]) || rows.join()"""),
    ("a lost row has its own mark and colour", (1280,),
     """const colour = e => getComputedStyle(e).color, lost = document.querySelector('#ranges td.lost'),
     won = document.querySelector('#ranges td.ours:not(.lost)');
     !!lost && /▼ lost/.test(lost.parentElement.innerText) && colour(lost) !== colour(won)"""),
    ("a chart says that it is lost, and to which peer", (1280,),
     "/▼ lost to design-2013/.test([...document.querySelectorAll('h3')].find(e => e.innerText.startsWith('fill')).innerText)"),
    ("a loss in the top picture has a mark", (1280,),
     "[...document.querySelectorAll('#chart1 text')].some(e => /0.80× design-2013 ▼/.test(e.textContent))"),
    ("peers are explained beside the top picture", (400, 1280),
     """const known = e => [...e.querySelectorAll('dt')].map(d => d.innerText.replace(':', ''));
     const split = document.querySelector('.split');
     !!split && ['linux-rbtree', 'design-2013', 'absl-btree'].every(x => known(split).includes(x)) || 'not explained'"""),
    ("peers are explained before they appear in a section", (400, 1280),
     """const late = [];
     for (const dt of document.querySelectorAll('section dt'))
       for (const e of dt.closest('section').querySelectorAll('figure text, td'))
         if (e.textContent.includes(dt.textContent) && e.compareDocumentPosition(dt) & Node.DOCUMENT_POSITION_FOLLOWING)
           late.push(dt.textContent);
     document.querySelectorAll('section dt').length >= 8 && !late.length || 'late: ' + late"""),
    ("every chart has its figures in words", (400, 1280),
     """const bad = [];
     for (const svg of document.querySelectorAll('.chart svg')) {
       const words = svg.getAttribute('aria-label') || '';
       for (const t of svg.querySelectorAll('.mark-text.role-mark text'))
         for (const figure of t.textContent.match(/[0-9.]+/g) || [])
           if (!words.includes(figure)) bad.push(t.textContent);
       if (svg.getAttribute('role') !== 'img' || words.length < 30) bad.push(words);
     }
     !bad.length || 'no words for ' + bad"""),
    ("without the script the figures are there", (1280,),
     """const page = new DOMParser().parseFromString(window.source, 'text/html');
     [...page.querySelectorAll('.chart')].every(e => /[0-9]/.test(e.textContent))"""),
    ("our column stays in sight while a table scrolls", (400,),
     """const out = [];
     for (const scroll of document.querySelectorAll('main .scroll')) {
       for (let e = scroll; e; e = e.parentElement) if (e.tagName === 'DETAILS') e.open = true;
       scroll.scrollLeft = 0;
       for (const left of [0, 10000]) {
         scroll.scrollLeft = left;
         for (const td of scroll.querySelectorAll('td.ours')) {
           const box = td.getBoundingClientRect(), name = td.parentElement.firstChild.getBoundingClientRect();
           if (box.left < 0 || box.right > innerWidth || name.left < 0 || name.right > box.left + 1)
             out.push(td.parentElement.innerText);
         }
       }
     }
     document.querySelectorAll('td.ours').length > 10 && !out.length || 'out of sight: ' + out[0]"""),
    ("a table that scrolls says so, and only that one", (400, 1280),
     """const wrong = [...document.querySelectorAll('.scroll')].filter(e => e.clientWidth &&
       (e.scrollWidth > e.clientWidth) !== /columns/.test(getComputedStyle(e, '::before').content));
     !wrong.length && (innerWidth > 500 || !!document.querySelector('.scroll.wide')) || wrong[0].innerText"""),
    ("no row of the page is half empty", (1280,),
     """const empty = [], right = document.querySelector('main').getBoundingClientRect().right - 20;
     for (const figure of document.querySelectorAll('figure')) {
       const box = figure.getBoundingClientRect(), middle = box.top + 30;
       const reach = [...figure.parentElement.children].map(e => e.getBoundingClientRect())
         .filter(b => b.top <= middle && b.bottom >= middle).map(b => b.right);
       if (Math.max(...reach) < right - 10) empty.push(figure.innerText.slice(0, 40));
     }
     !empty.length || 'beside ' + empty"""),
    ("log axes are named", (1280,),
     "[...document.querySelectorAll('.chart svg')].every(e => /log scale/.test(e.textContent))"),
    ("every axis has two ticks", (400, 1280),
     """const one = [...document.querySelectorAll('.role-axis-label')].filter(e =>
       [...e.querySelectorAll('text')].filter(t => t.getAttribute('opacity') !== '0' && t.textContent).length < 2);
     !one.length || one.map(e => e.textContent)"""),
    ("two cases are not joined by a line", (1280,),
     """[...document.querySelectorAll('.mark-line path')].every(p => p.getAttribute('d').match(/[ML]/g).length > 2) &&
     document.querySelectorAll('.mark-line path').length === 3 + 2"""),
    ("few repetitions: their number and each of them instead of an interval", (1280,),
     """const rows = [...document.querySelectorAll('#ranges tr')].map(r => [...r.children].map(c => c.textContent));
     const few = rows.find(r => r[0] === 'fill' && r.length > 6), many = rows.find(r => r[0] === 'check' && r.length > 6);
     few[6] === '3' && /[(].+, .+, .+[)]/.test(few[4]) && many[6] === '12' && / – /.test(many[3]) || String(few)"""),
    ("each repetition is a point", (1280,),
     """const chart = [...document.querySelectorAll('figure')].find(f => f.innerText.startsWith('fill'));
     chart.querySelectorAll('.mark-symbol path').length === 3 * (3 + 1)"""),
    ("one chart for each distribution of the keys, at its largest size, in the order of the cases", (400, 1280),
     """const all = [...document.querySelectorAll('#index figure')].filter(f => f.innerText.startsWith('Keys: '));
     const words = all.map(f => f.querySelector('svg').getAttribute('aria-label'));
     all.length === 2 && /^Keys: clustered, 100 k/.test(words[0]) && /^Keys: osm, 100 k/.test(words[1]) &&
     /insert lathwork 300 ns.*; lookup judy 370 ns.*; miss-batch lathwork 121 ns$/.test(words[0]) &&
     all[0].querySelectorAll('.mark-symbol path').length === 3 + 3 + 1 || String(words)"""),
    ("one chart for each kind of items of a store", (1280,),
     """const words = [...document.querySelectorAll('#store figure svg')].map(e => e.getAttribute('aria-label'));
     const all = words.filter(w => w.startsWith('Items: '));
     all.length === 2 && /^Items: binary8, 100 k.*set[+]get lathwork 400 ns.*; scan lathwork 6[.]00 ns/.test(all[0]) &&
     /^Items: binary16[+]osm, .*set[+]get lathwork 500 ns/.test(all[1]) || String(words)"""),
    ("a chart of several cases says which of them are lost", (1280,),
     """const title = [...document.querySelectorAll('#index h3')].find(e => e.innerText.startsWith('Keys: clustered'));
     /▼ lost to judy at lookup$/.test(title.innerText.trim()) || title.innerText"""),
    ("the processor has its vector code beside it", (1280,),
     "/made up, avx2, 2 processors/.test(document.querySelector('header').innerText)"),
    ("simulated figures are marked, in their section, their charts and the words for these", (400, 1280),
     """const part = document.querySelector('#simulated'), heads = [...part.querySelectorAll('h3')].map(e => e.innerText);
     const words = [...part.querySelectorAll('svg')].map(e => e.getAttribute('aria-label'));
     /Simulated, not measured/.test(part.querySelector('.notice.warn').innerText) && heads.length === 2 &&
     heads.every(h => /^Simulated: /.test(h)) && words.every(w => /^Simulated: .*, simulated/.test(w)) &&
     /lathwork 34[.]7 M.s at 1, 272 M.s at 8, 3,961 M.s at 128; maple 8[.]40/.test(words[0]) &&
     ![...document.querySelectorAll('section:not(#simulated) .chart')].some(e => /imulated/.test(e.innerHTML)) &&
     !!document.querySelector('main > p a[href="#simulated"]') || heads + words"""),
]

def check(true, what):
    if not true:
        problems.append(what)


def run(*command, code=0):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != code:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}, expected {code}\n{done.stdout}{done.stderr}")
    return done


def unfold(browser):
    browser.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true })")
    browser.wait("[...document.querySelectorAll('.chart')].every(e => e.querySelector('svg'))")


def look_at(browser, page, width, dark, keep):
    where = f"{width} px, {'dark' if dark else 'light'}"
    browser.look(width, dark)
    browser.open("file://" + page, READY)
    tall = browser.evaluate("document.documentElement.scrollHeight")
    check(tall < (8000 if width > 1000 else 14000), f"{where}: the page is {tall} pixels tall before anything is opened")
    unfold(browser)
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


def check_points(browser, page):
    with open(page, encoding="utf-8") as file:
        source = json.dumps(file.read().split('<script type="application/json"')[0])
    for width in (400, 1280):
        browser.look(width, False)
        browser.open("file://" + page, READY)
        check(browser.evaluate("!document.querySelector('#ranges details').open"), f"{width} px: a table is unfolded")
        browser.evaluate("document.querySelector('a[href=\"#lost\"]').click()")
        browser.wait("document.querySelector('#lost').open")
        unfold(browser)
        browser.evaluate(f"window.source = {source}; 0")
        for name, widths, expression in POINTS:
            if width not in widths:
                continue
            try:
                found = browser.evaluate("{" + expression + "}")
            except RuntimeError as error:
                found = str(error)[-300:]
            check(found is True, f"{width} px: not so: {name}: {found}")


def check_browser(program, page, made, keep):
    with Browser(program) as browser:
        for width in (400, 1280):
            for dark in (False, True):
                look_at(browser, page, width, dark, keep)
        # the day ends while the page is open
        browser.evaluate("document.body.removeAttribute('data-drawn')")
        browser.look(1280, False)
        browser.wait(READY)
        check(not browser.complaints, f"after a change of colours the console says {browser.complaints}")
        check_points(browser, made)


def check_files(directory, document):
    with open(os.path.join(directory, "report.md"), encoding="utf-8") as file:
        text = file.read()
    for table in {row["table"] for row in document["rows"]}:
        check(f"lath bench {table}" in text, f"report.md: no command for {table}")
    check("37.0 ms" in text and "LWN" in text, "report.md: the published figures of ranges are missing")
    for name in ("report-light", "report-dark"):
        picture = tree.parse(os.path.join(directory, f"{name}.svg")).getroot()
        check(len(list(picture.iter())) > 30, f"{name}.svg: nearly empty")
        title = picture.findtext("{http://www.w3.org/2000/svg}title") or ""
        check(picture.get("role") == "img" and any(c.isdigit() for c in title), f"{name}.svg: no figures in words")
        with open(os.path.join(directory, f"{name}.png"), "rb") as file:
            check(file.read(8) == b"\x89PNG\r\n\x1a\n", f"{name}.png: not a PNG")


def check_made_up(lath, scratch):
    """The page of made_up.py; its words, and the Markdown's, are looked at here"""
    samples = os.path.join(scratch, "made_up.json")
    with open(samples, "w", encoding="utf-8") as file:
        json.dump(made_up.DOCUMENT, file)
    simulated = []
    for i, document in enumerate(made_up.SIMULATED):
        simulated.append(os.path.join(scratch, f"simulated{i}.json"))
        with open(simulated[-1], "w", encoding="utf-8") as file:
            json.dump(document, file)
    said = run(lath, "report", samples, *simulated, "--output", scratch).stdout
    check("is faster by" not in said and "0.80× design-2013 ▼ slower" in said, f"the summary names no loss: {said}")
    with open(os.path.join(scratch, "report.md"), encoding="utf-8") as file:
        text = file.read()
    marks = ["behind in 4.", "Noisy: 1 of 5", "## Range index", "2 ▼ behind", "| fill | 8.30 ms | ▼ lost |",
             "| check |", "## Simulated scaling", "Simulated, not measured", "lookups: 200 k items, seed 1",
             "| lookups | lathwork | 34.7 | 272 | 3,961 |", "| iova | maple | 3.00 | – | – |", "## Lost rows", "| ranges: fill |"]
    places = [text.find(mark) for mark in marks]
    check(-1 not in places and places == sorted(places), f"report.md: not in this order: {list(zip(marks, places))}")
    with open(os.path.join(scratch, "report-light.svg"), encoding="utf-8") as file:
        picture = file.read()
    for words in ("behind in 4.", "Noisy: 1 of 5", "the skiplist of the 2013 patches"):
        check(words in picture, f"report-light.svg: does not say {words!r}")
    return os.path.join(scratch, "report.html")


def check_subjects(lath):
    """No subject of any table is without a word on what it is"""
    for line in run(lath, "bench", "--list").stdout.splitlines():
        words = line.split()
        if words[0] in ("subjects:", "parameters:"):
            section = words[0]
        elif line.startswith("    ") and section == "subjects:" and not words[0].startswith("lathwork"):
            check(words[0] in ABOUT, f"{words[0]}: not in ABOUT of sections.py")


def check_wrong_input(lath, scratch):
    broken = os.path.join(scratch, "broken.json")
    row = made_up.DOCUMENT["rows"][0]
    wrong = [("{", "not a file"), ("[]", "the file has no context"), ('{"context":{},"rows":[]}', "no rows"),
             ('{"context":{},"rows":[{"table":"x"}]}', "row 0 has no case"), (b"\xff\xfe", "not a file"),
             ('{"context":{"tables":[7]},"rows":[]}', "a table of the context has no name"),
             (json.dumps({"context": {}, "rows": [row | {"samples": ["x"]}]}), "row 0 has samples that are no figures"),
             (json.dumps({"context": {}, "rows": [row | {"median": float("nan")}]}), "NaN is not a figure"),
             (json.dumps({"context": {}, "rows": [row], "ratios": [{}]}), "ratio 0 has no table"),
             (json.dumps(made_up.SIMULATED[0]), "no rows of any table"),
             (json.dumps(made_up.SIMULATED[0] | {"points": [{}]}), "point 0 has no subject"),
             (json.dumps(made_up.simulated("lookups", {"lathwork": {1: 0}})), "point 0 has no rate")]
    for i, (content, word) in enumerate(wrong):
        with open(broken, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        if not i:
            said = run(lath, "report", broken, "-o", scratch, code=1).stderr
        else:  # what the program says; to start it takes longer than to read
            try:
                load([broken])
                said = "nothing"
            except Problem as problem:
                said = str(problem)
        check(broken in said and word in said and "Error" not in said, f"{content}: answered by {said!r}")
    samples = os.path.join(scratch, "made_up.json")
    with open(samples, "w", encoding="utf-8") as file:
        json.dump(made_up.DOCUMENT, file)
    # a picture that cannot be written is named with the reason
    taken = os.path.join(scratch, "taken")
    os.makedirs(os.path.join(taken, "report.md"))
    said = run(lath, "report", samples, "-o", taken, code=1).stderr
    check("report.md: Is a directory" in said and "Error" not in said, f"a file that cannot be written: {said!r}")
    other = os.path.join(scratch, "other")
    # a terminal that knows Latin-1 only
    done = subprocess.run([lath, "report", samples, "-o", other], capture_output=True,
                          env=os.environ | {"PYTHONIOENCODING": "latin-1"})
    check(done.returncode == 0 and b"report.html" in done.stdout, f"a Latin-1 terminal: {done.stderr!r}")
    missing = os.path.join(scratch, "none.json")
    check(missing in run(lath, "report", missing, code=1).stderr, "a missing file is not named")
    check_outputs(lath, scratch)


def check_outputs(lath, scratch):
    """What cannot be written is named, and no input is written over."""
    samples, onto = os.path.join(scratch, "made_up.json"), os.path.join(scratch, "report.md")
    shutil.copy(samples, onto)
    said = run(lath, "report", onto, "-o", scratch, code=1).stderr
    check("same file" in said and onto in said, f"a report onto its input: {said!r}")
    said = run(lath, "report", samples, "-o", os.path.join(samples, "x"), code=1).stderr
    check("cannot write" in said and samples in said, f"a report into no directory: {said!r}")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([lath, "report", samples, "-o", scratch], stdout=full, stderr=subprocess.PIPE, text=True)
    check(done.returncode == 1 and "cannot write standard output: No space left" in done.stderr and "Traceback" not in done.stderr,
          f"a report >/dev/full: {done.returncode} {done.stderr!r}")


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
        other = os.path.join(scratch, "made_up")
        os.mkdir(other)
        made = check_made_up(lath, other)
        check_wrong_input(lath, scratch)
        check_subjects(lath)
        program = shutil.which("chromium")
        if program:
            check_browser(program, os.path.join(scratch, "report.html"), made, keep)
    if problems:
        sys.exit("\n".join(problems[:40]))
    if not program:
        print("skipped: no chromium to look at the page with")
        sys.exit(77)
    print("drawn at 400 and 1280 pixels, light and dark")


main()
