# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""For mkdocs (../../mkdocs.yml): the pages have no programs and no sources of the manual pages and of play.html; CONTRIBUTING.md
is a page too."""
import pathlib
import re

from mkdocs.structure.files import File

LEFT_OUT = (".py", ".txt")


def on_files(files, config):
    for file in list(files):
        if file.src_path.endswith(LEFT_OUT) or file.src_path.startswith(("man/", "play/")):
            files.remove(file)
    text = (pathlib.Path(config.docs_dir).parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "contributing.md", content=re.sub(r"\]\(doc/", "](", text)))
    return files


def on_page_markdown(markdown, **_):
    return markdown.replace("](../CONTRIBUTING.md", "](contributing.md")
