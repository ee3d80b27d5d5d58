#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""pages.py OUT VERSION DATE INCLUDE [LATH]: the manual pages.

lathwork_NAME(3) of each public header, from its comments and declarations; lath(1) from doc/man/lath.md and from what
the program LATH says of its own options. Nothing is written by hand twice.
"""
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent


def escape(text):
    """A line of text for roff; a dot or quote at its beginning is no request."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha").replace("`", "\\(ga")
    text = "".join(c if ord(c) < 128 else f"\\[u{ord(c):04X}]" for c in text)
    return "\\&" + text if text[:1] in (".", "'") else text


def example(lines):
    return [".PP", ".in +4n", ".EX", *(escape(line.expandtabs(8)) for line in lines), ".EE", ".in"]


def prose(lines):
    """Paragraphs; indented lines are kept as they are."""
    out, block, kind = [], [], None

    def flush():
        nonlocal block
        while block and not block[-1].strip():
            block.pop()
        if block and kind == "text":
            out.extend([".PP", *(escape(line.strip()) for line in block)])
        elif block:
            short = min(len(line) - len(line.lstrip()) for line in block if line.strip())
            out.extend(example([line[short:] for line in block]))
        block = []

    for line in (line.expandtabs(8) for line in lines):
        if kind == "text" and re.match(r"[A-Z][\w ]{2,20}: ", line):
            flush()
        now = "text" if line[:1] not in (" ", "") else "kept"
        if not line.strip():
            if kind == "kept":
                block.append("")
            else:
                flush()
            continue
        if now != kind:
            flush()
            kind = now
        block.append(line.rstrip())
    flush()
    return out


def comment_lines(text):
    """What a comment says, without its frame."""
    lines = []
    for line in text.splitlines():
        line = re.sub(r"^\s*(/\*+|\*/|\*|//)? ?", "", line, count=1).rstrip()
        lines.append(re.sub(r"\s*\*/$", "", line))
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def split_header(text):
    """The leading comment, and the rest."""
    text = re.sub(r"^(/\*|//) SPDX.*\n", "", text)
    match = re.match(r"(?:\s*//\s*\n)?\s*(/\*.*?\*/|(?://.*\n)+)", text, re.S)
    return match.group(1), text[match.end():]


def without_guards(code):
    """Declarations alone: no include guards, no C++ frames, no includes, no marks for the linker."""
    code = re.sub(r"^(LATH_API|extern LATH_BENCH_EXPORT) ", "", code, flags=re.M)
    code = re.sub(r"#ifdef __cplusplus\n.*?#endif\n", "", code, flags=re.S)
    code = re.sub(r"#ifdef __KERNEL__\n(?:#include.*\n)+(?:#else\n(?:#include.*\n)+)?#endif\n", "", code)
    code = re.sub(r"^#(include|ifndef LATHWORK_\w+_H|define LATHWORK_\w+_H|endif\s*(/\*.*)?$).*\n?", "", code, flags=re.M)
    return code


def declarations(code):
    """[(comment lines, code lines)] in order: a block ends at an empty line outside braces."""
    parts, words, lines, depth = [], [], [], 0

    def flush():
        nonlocal words, lines
        if words or lines:
            parts.append((words, lines))
        words, lines = [], []

    rest = code
    while rest:
        match = re.match(r"/\*.*?\*/[ \t]*\n", rest, re.S) if depth == 0 else None
        if match:
            flush()
            words = comment_lines(match.group(0))
            rest = rest[match.end():]
            continue
        line, _, rest = rest.partition("\n")
        depth += line.count("{") - line.count("}")
        if line.strip() or depth:
            lines.append(line.rstrip())
        elif depth == 0:
            flush()
    flush()
    return parts


def name_of(path, root):
    parts = path.relative_to(root / "lathwork").with_suffix("").parts
    return "lathwork_" + "_".join(parts)


def summary_of(lines):
    match = re.match(r"(?:\S+) - (.*)", " ".join(lines[:3]))
    text = match.group(1) if match else lines[0]
    return text.split(". ")[0].split("  ")[0].rstrip(".")


def page_start(name, section, version, summary):
    version, date = version
    return [f'.TH {name} {section} {date} "lathwork {version}" "lathwork"', ".ad l", ".nh", ".SH NAME",
            f"{name} \\- {escape(summary)}"]


def header_page(path, root, version, others):
    head, code = split_header(path.read_text(encoding="utf-8"))
    lines = comment_lines(head)
    first = next((i for i, line in enumerate(lines) if not line.strip()), len(lines))
    include = path.relative_to(root)
    out = page_start(name_of(path, root), 3, version, summary_of(lines))
    out += [".SH SYNOPSIS", ".EX", f"#include <{escape(str(include))}>", ".EE"]
    if path.suffix == ".h":
        out += [".PP", "Link with", ".BR \\-llathwork ;", "see pkg\\-config lathwork."]
    out += [".SH DESCRIPTION", *prose(lines[first:] or lines)]
    parts = declarations(without_guards(code)) if path.suffix == ".h" else []
    if any(code for _, code in parts):
        out.append(".SH DECLARATIONS")
    for words, body in parts:
        out += prose(words) if words else []
        out += example(body) if body else []
    near = [n for n in others if n != name_of(path, root)][:12]
    out += [".SH SEE ALSO", *(f".BR {n} (3){',' if n != near[-1] else ''}" for n in near)]
    return tidy(out)


def tidy(lines):
    """No paragraph right behind a heading, none twice."""
    kept = []
    for line in lines:
        if line == ".PP" and kept and (kept[-1].startswith(".SH") or kept[-1].startswith(".SS") or kept[-1] == ".PP"):
            continue
        kept.append(line)
    return "\n".join(kept) + "\n"


def bold(text):
    return re.sub(r"\*\*(.+?)\*\*", r"\\fB\1\\fR", escape(text))


def option_lines(option):
    names = ", ".join(f"\\fB{escape(n)}\\fR" for n in option["names"])
    argument = f" \\fI{escape(option['argument'])}\\fR" if option["argument"] else ""
    return [".TP", names + argument, escape(option["description"]) or "\\&"]


def command_page(told, version):
    text = (HERE / "lath.md").read_text(encoding="utf-8")
    sections = re.split(r"^# (.*)\n", text, flags=re.M)[1:]
    prose_of = dict(zip(sections[::2], sections[1::2]))
    out = page_start("lath", 1, version, told["summary"])
    out += [".SH SYNOPSIS", ".B lath", "\\fICOMMAND\\fR [\\fIOPTION\\fR...] [\\fIARGUMENT\\fR...]"]

    def add(title):
        out.append(f".SH {title}")
        for block in prose_of[title].strip().split("\n\n"):
            lines = block.splitlines()
            if lines[0].startswith("    "):
                out.extend(example([line[4:] for line in lines]))
            elif all(": " in line for line in lines):
                for line in lines:
                    term, meaning = line.split(": ", 1)
                    out.extend([".TP", bold(term), bold(meaning)])
            else:
                out.extend([".PP", *(bold(line) for line in lines)])

    add("DESCRIPTION")
    out.append(".SH COMMANDS")
    for command in told["commands"]:
        arguments = " ".join(f"[\\fI{escape(p['names'][0].upper())}\\fR...]" for p in command["positionals"])
        out += [f".SS lath {escape(command['name'])} [\\fIOPTION\\fR...] {arguments}".rstrip(),
                escape(command["description"][:1].upper() + command["description"][1:]) + "."]
        for option in command["options"]:
            out += option_lines(option)
    for title in ("EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES"):
        add(title)
    out += [".SH SEE ALSO", ".BR lathwork_index (3)"]
    return tidy(out)


def main():
    out, version, root = pathlib.Path(sys.argv[1]), sys.argv[2:4], pathlib.Path(sys.argv[4])
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("lath*.[13]"):
        old.unlink()
    headers = sorted((root / "lathwork").rglob("*.h")) + sorted((root / "lathwork").rglob("*.hpp"))
    names = [name_of(h, root) for h in headers]
    if len(set(names)) != len(names):
        sys.exit(f"pages.py: two headers of one name: {sorted(n for n in names if names.count(n) > 1)}")
    for header in headers:
        page = out / (name_of(header, root) + ".3")
        page.write_text(header_page(header, root, version, names), encoding="utf-8")
    if len(sys.argv) > 5:
        told = json.loads(subprocess.run([sys.argv[5], "completion", "json"], check=True, capture_output=True).stdout)
        (out / "lath.1").write_text(command_page(told, version), encoding="utf-8")


main()
