# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""For mkdocs (../../mkdocs.yml): the pages have no programs and no sources of the manual pages; CONTRIBUTING.md is a page too, and
so is play.html, which ../play/make.py makes."""
import pathlib
import re
import subprocess
import sys
import tempfile

from mkdocs.structure.files import File

LEFT_OUT = (".py", ".txt")


def on_files(files, config):
    for file in list(files):
        if file.src_path.endswith(LEFT_OUT) or file.src_path.startswith(("man/", "play/")):
            files.remove(file)
    text = (pathlib.Path(config.docs_dir).parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "contributing.md", content=re.sub(r"\]\(doc/", "](", text)))
    with tempfile.TemporaryDirectory() as work:
        made = pathlib.Path(work, "play.html")
        subprocess.run([sys.executable, "-B", pathlib.Path(config.docs_dir, "play/make.py"), made], check=True)
        files.append(File.generated(config, "play.html", content=made.read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown, **_):
    markdown = re.sub(r"\[([^]]*)\]\(\.\./(notes/[^)#]*)[^)]*\)", r"\1 (`\2`)", markdown)  # not in the book
    return markdown.replace("](../CONTRIBUTING.md", "](contributing.md")
