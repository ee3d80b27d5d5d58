#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""book_test.py PAGES [--keep DIR]: the pages that `./run doc` makes, in a browser without a network, on a wide screen and on a
phone, light and dark: no complaint, no request to elsewhere, nothing wider than the window; menu, search and colours work when
they are clicked."""
import argparse
import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/bench"))
from browser import Browser  # noqa: E402

READY = "document.readyState == 'complete' && Boolean(document.querySelector('h1'))"
CLICK = "document.querySelector({!r}).click()"
SCHEME = "document.body.dataset.mdColorScheme"
DRAWER = "getComputedStyle(document.querySelector('.md-sidebar--primary')).transform"
RESULTS = "[...document.querySelectorAll('.md-search-result__link')].map(a => a.href)"
wrong = []


def check(right, what):
    if not right:
        wrong.append(what)


def quiet(browser, where):
    check(not browser.complaints, f"{where}: the console says {browser.complaints}")
    check(not [url for url in browser.requests if not url.startswith(("file:", "data:", "blob:"))], f"{where}: asks for {browser.requests}")


def look(browser, pages, width, dark):
    browser.look(width, dark)
    browser.open(pages[0].as_uri(), READY)
    browser.evaluate("localStorage.clear()")  # the colours that an earlier look had
    for page in pages:
        where = f"{page.name}, {width} px, {'dark' if dark else 'light'}"
        browser.open(page.as_uri(), READY)
        check(browser.evaluate("document.documentElement.scrollWidth") <= width, f"{where}: wider than the window")
        check(browser.evaluate(SCHEME) == ("slate" if dark else "default"), f"{where}: colours are {browser.evaluate(SCHEME)}")
        quiet(browser, where)


def click(browser, home):
    browser.look(400, False)
    browser.open(home.as_uri(), READY)
    closed = browser.evaluate(DRAWER)
    browser.evaluate(CLICK.format("label.md-header__button[for=__drawer]"))
    browser.wait(f"{DRAWER} != {closed!r}")
    browser.evaluate(CLICK.format("label[for=__palette_1]"))
    browser.wait(f"{SCHEME} == 'slate'")
    browser.look(1280, False)
    browser.open(home.as_uri(), READY)
    browser.evaluate(CLICK.format("label[for=__search]"))
    browser.evaluate("""{ const input = document.querySelector('.md-search__input'); input.focus(); input.value = 'grace period';
        input.dispatchEvent(new KeyboardEvent('keyup', { bubbles: true })); input.dispatchEvent(new Event('input', { bubbles: true })) }""")
    browser.wait(f"{RESULTS}.length > 3")
    first = browser.evaluate(RESULTS)[0]
    browser.open(first, READY)
    check("grace period" in browser.evaluate("document.body.innerText").lower(), f"{first} does not have what was searched for")
    quiet(browser, "search")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pages", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path, help="pictures go there")
    asked = parser.parse_args()
    program = shutil.which("chromium")
    if not program:
        print("skipped: the book in a browser: chromium not found")
        return 0
    pages = [page.resolve() for page in sorted(asked.pages.glob("*.html")) if page.name not in ("404.html", "play.html")]
    home = asked.pages.resolve() / "index.html"
    with Browser(program) as browser:
        for width in (400, 1280):
            look(browser, pages, width, dark=False)
            look(browser, [home], width, dark=True)
            if asked.keep:
                (asked.keep / f"book-{width}.png").write_bytes(browser.picture())
        click(browser, home)
    for what in wrong[:20]:
        print(what, file=sys.stderr)
    print(f"book: {len(pages)} pages\n{len(pages) - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong else 0


sys.exit(main())
