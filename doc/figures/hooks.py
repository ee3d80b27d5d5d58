# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""For mkdocs (../../mkdocs.yml): the pages contain neither programs nor the sources of the manual pages and of play.html."""


def on_files(files, config):  # pylint: disable=unused-argument
    for file in list(files):
        if file.src_path.endswith(".py") or file.src_path.startswith(("man/", "play/")):
            files.remove(file)
    return files
