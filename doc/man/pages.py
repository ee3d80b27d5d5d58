#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""pages.py OUT VERSION DATE INCLUDE [LATH]: the manual pages, in OUT/man1, OUT/man3 and OUT/man7.

lathwork_NAME(3) of each public header, from its comments and declarations (declarations.py); a page of each C call that has a comment,
with the errors that the comment names; and for each other public function, variable and class a page that leads to its header's.
lathwork(7) is doc/man/lathwork.md, with a list of the headers in place of "# HEADERS". lath(1) and lath-COMMAND(1): the text from doc/man/PAGE.md, the options and commands from what the
program LATH says of itself.

PAGE.md: "# SECTION" headings and the markup of roff.markdown. "# OPTIONS" and "# COMMANDS" say where these lists stand. What they hold
themselves, "NAME" and ": text", is said of an option in addition, and of a command in place of its summary; a name the program does not know is an
error.
"""
import json
import pathlib
import re
import subprocess
import sys
import textwrap

import declarations
from roff import blocks, escape, example, inline, is_code, markdown, prose, tidy

HERE = pathlib.Path(__file__).parent
WIDTH = 74


def page_name(path, root):
    return "lathwork_" + "_".join(path.relative_to(root / "lathwork").with_suffix("").parts)


def page_start(name, section, version, names, summary):
    version, date = version
    listed = [f"{escape(n)}," for n in names[:-1]] + [escape(names[-1])]
    return [f'.TH {escape(name)} {section} {date} "lathwork {version}" "lathwork"', ".ad l", ".nh", ".SH NAME",
            *textwrap.wrap(" ".join(listed) + " \\- " + escape(summary), 100, break_long_words=False, break_on_hyphens=False)]


def see_also(names):
    return [".SH SEE ALSO", *(f".BR {escape(n)} ({s}){',' if (n, s) != names[-1] else ''}" for n, s in names)] if names else []


def summary_of(lines):
    match = re.match(r"(?:\S+) - (.*)", " ".join(lines[:3]))
    text = match.group(1) if match else lines[0]
    return text.split(". ")[0].split("  ")[0].rstrip(".")


# ---- headers ----

def wrapped(text, indent=""):
    """A declaration with its semicolon, broken behind commas."""
    lines = []
    for number, line in enumerate(text.split("\n")):
        last = number == text.count("\n")
        line += ";" if last and not line.endswith(":") else ""
        pieces, now = re.split(r"(?<=,) ", line), indent
        for i, piece in enumerate(pieces):
            if i and len(now) + 1 + len(piece) > WIDTH:
                lines.append(now)
                now = indent + "        " + piece
            else:
                now += (" " if i else "") + piece
        lines.append(now)
    return lines


def c_text(item):
    """An item as C shows it."""
    if item.kind == "macro":
        return item.text.replace("\t", "    ").split("\n")
    if item.kind == "type" and "{" in item.text:
        return [*(item.text + ";").split("\n")]
    return wrapped(item.text)


def public(items):
    return [item for item in items if item.access == "public" and item.kind != "prose"]


def note(item):
    """A comment short enough for the end of its line."""
    return f" // {item.words[0]}" if item.kind in ("variable", "type") and len(item.words) == 1 else ""


def class_text(item, indent=""):
    lines = wrapped(item.text + " {:", indent)
    lines[-1] = lines[-1].rstrip(":")
    struct = re.search(r"\bstruct\b", item.text.split("\n")[-1])
    inside = [] if struct else [indent + "public:"]
    for member in public(item.members):
        if member.kind == "class":
            inside += class_text(member, indent + "    ")
        else:
            text = wrapped(member.text, indent + "    ")
            if note(member) and len(text[-1]) + len(note(member)) > WIDTH + 14:
                text.insert(0, indent + "    " + note(member).strip())
            else:
                text[-1] += note(member)
            inside += text
    return [*lines, *inside, indent + "};"]


def shared_members(header, items):
    """Hidden base -> the classes that have its public members, through other hidden bases too."""
    shared = {}
    for item in items:
        todo = list(item.bases)
        seen = []
        while todo:
            base = todo.pop(0)
            if base in seen or base not in header.hidden:
                continue
            seen.append(base)
            behind = re.split(r"(?<!:):(?!:)", header.hidden[base].text, maxsplit=1)[1:]
            todo += re.findall(r"\w+", behind[0]) if behind else []
        for base in seen:
            if public(header.hidden[base].members):
                shared.setdefault(base, []).append(item.name)
    return shared


def cxx_synopsis(header):
    out = ["namespace lathwork {", ""]
    for item in public(header.items):
        if item.kind == "class":
            out += class_text(item) + [""]
        else:
            out += (item.text + ";").split("\n") if "{" in item.text else wrapped(item.text)
            if out[-1] != "":
                out.append("")
    for base, users in shared_members(header, [i for i in public(header.items) if i.kind == "class"]).items():
        members = public(header.hidden[base].members)
        common = declarations.Item("class", "", f"/* public members of {listed(users)} */ struct", members=members)
        out += [f"// public members of {listed(users)} as well"]
        out += [line[4:] for line in class_text(common)[1:-1]] + [""]
    return [*out, "} // namespace lathwork"]


def listed(names):
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]


def groups(items):
    """[(items that share a comment, its lines)]"""
    found = []
    for item in items:
        if item.follows and found and found[-1][1]:
            found[-1][0].append(item)
        else:
            found.append(([item], item.words))
    return found


def described(items, cxx):
    """What has a comment: the declarations, and indented what is said of them."""
    out = []
    for members, words in groups(items):
        first = members[0]
        if first.kind == "prose":
            title = re.fullmatch(r"-+ (.*?) -+", words[0])
            out += [f".SS {escape(title.group(1)[:1].upper() + title.group(1)[1:])}"] if title else prose(blocks(words))
        elif (words and not (cxx and note(first))) or (not cxx and first.kind in ("type", "macro")):
            text = [line for member in members for line in (wrapped(member.text) if cxx and "{" not in member.text else c_text(member))]
            out += [".PP", ".EX", *(escape(line) for line in text), ".EE"]
            if words:
                out += [".RS 4", *prose(blocks(words)), ".RE"]
    return out


def classes(items, prefix=""):
    """[(its qualified name, class)], the ones inside others behind them."""
    for item in public(items):
        if item.kind == "class":
            yield prefix + item.name, item
            yield from classes(item.members, prefix + item.name + "::")


def cxx_described(header):
    out = described([item for item in header.items if item.kind != "class"], True)
    for name, item in classes(header.items):
        inside = described([m for m in item.members if m.access == "public" and m.kind != "class"], True)
        if item.words or inside:
            out += [f".SS {escape(name)}", *prose(blocks(item.words)), *inside]
    for base, users in shared_members(header, [item for _, item in classes(header.items)]).items():
        inside = described(public(header.hidden[base].members), True)
        out += [f".SS {escape('Members of ' + listed(users))}", *inside] if inside else []
    return out


def names_of(header, cxx):
    """What is found under its own name."""
    if cxx:  # classes, and other names for them
        own = [item.name for item in public(header.items) if item.kind == "class" and "::" not in item.name]
        same = [item.name for item in public(header.items) if re.search(r"^using \w+ = (\w+)<", item.text) and
                re.search(r"= (\w+)<", item.text).group(1) in own]
        return ["lathwork::" + name for name in own + same]
    return list(dict.fromkeys(item.name for item in public(header.items) if item.kind in ("function", "variable")))


def split_intro(lines):
    """(description, errors, examples) of a header's leading comment."""
    description, errors, examples = [], [], []
    to = description
    first = next((i for i, line in enumerate(lines) if not line.strip()), len(lines))
    for kept, text in blocks(lines[first:] or lines):
        if kept and is_code(text):
            examples.append((kept, text))
            continue
        if not kept and text == ["Example:"]:
            continue
        if not kept and text[0].startswith("Errors: "):
            to, begin = errors, text[0][len("Errors: "):]
            text = [begin[:1].upper() + begin[1:], *text[1:]]
        elif not kept:
            to = description
        to.append((kept, text))  # a list stays with what it is announced by
    return description, errors, examples


def header_page(path, root, version, header, related, apart=()):
    """apart: calls with their own page."""
    cxx = path.suffix == ".hpp"
    name = page_name(path, root)
    description, errors, examples = split_intro(header.intro)
    own = names_of(header, True) if cxx else [n for n in names_of(header, False) if n not in apart]
    out = page_start(name, 3, version, [name, *own], summary_of(header.intro))
    include = [f"#include <{path.relative_to(root)}>", ""]
    if cxx:
        shown = include + cxx_synopsis(header)
    else:
        shown = include + [line for item in public(header.items) if item.kind in ("function", "variable") for line in wrapped(item.text)]
    out += [".SH SYNOPSIS", ".EX", *(escape(line) for line in shown), ".EE"]
    out += [".PP", "Link with", ".BR \\-llathwork ;", "see pkg\\-config lathwork."] if path.suffix == ".h" else []
    out += [".SH DESCRIPTION", *prose(description)]
    more = cxx_described(header) if cxx else described(header.items, False)
    out += [".SH DECLARATIONS", *more] if more else []
    out += [".SH ERRORS", *prose(errors)] if errors else []
    out += [".SH EXAMPLES", *prose(examples)] if examples else []
    return tidy(out + see_also([*((n, 3) for n in related), ("lathwork", 7)]))


def meanings():
    """-ENAME -> what lath_strerror() says of it."""
    text = (HERE / "../../src/sys/error.c").read_text(encoding="utf-8")
    return {f"-{name}": meaning for name, meaning in re.findall(r'\[(E\w+)\] = "(.*?)",', text)}


def call_pages(path, root, version, header, strerror):
    """(name, page) of each comment of a C header that is about calls, and of the further calls that it is about."""
    home = page_name(path, root)
    for members, words in groups(header.items):
        calls = [item for item in members if item.kind == "function"]
        if not calls or not words:
            continue
        names = list(dict.fromkeys(item.name for item in calls))
        summary = re.split(r"[:|]| - |(?<=\w)\. ", " ".join(line.strip() for line in words if line.strip()))[0].rstrip(".")
        out = page_start(names[0], 3, version, names, summary[:1].lower() + summary[1:])
        shown = [f"#include <{path.relative_to(root)}>", "", *(line for item in members for line in c_text(item))]
        out += [".SH SYNOPSIS", ".EX", *(escape(line) for line in shown), ".EE"]
        out += [".SH DESCRIPTION", *prose(blocks(words))]
        codes = list(dict.fromkeys(re.findall(r"-E[A-Z0-9]+\b", " ".join(words))))
        if codes:
            out.append(".SH ERRORS")
            for code in codes:
                out += [".TP", f"\\fB{escape(code)}\\fR", escape(sentence(strerror.get(code, "the system's error of this name")))]
        yield names[0], tidy(out + see_also([(home, 3), ("lathwork", 7)]))
        for other in names[1:]:
            yield other, f".so man3/{names[0]}.3\n"


def overview_page(headers, root, version):
    """lathwork(7)."""
    text = re.sub(r"\A<!--.*?-->\s*", "", (HERE / "lathwork.md").read_text(encoding="utf-8"), flags=re.S)
    sections = re.split(r"^# (.*)\n", text, flags=re.M)[1:]
    out = page_start("lathwork", 7, version, ["lathwork"], "ordered maps that threads share, ranges, holes, queues and a store")
    for title, body in zip(sections[::2], sections[1::2]):
        out += [f".SH {title}", *markdown(body.split("\n"))]
        if title == "HEADERS":
            for path, header in headers.items():
                out += [".TP", f"\\fB{escape(str(path.relative_to(root)))}\\fR", escape(sentence(summary_of(header.intro))), "See",
                        f".BR {escape(page_name(path, root))} (3)."]
    command = [("lath", 1)] if len(sys.argv) > 5 else []
    return tidy(out + see_also([*command, ("lathwork_index", 3), ("lathwork_error", 3), ("lathwork_config", 3)]))


def header_pages(out, root, version):
    paths = sorted((root / "lathwork").rglob("*.h")) + sorted((root / "lathwork").rglob("*.hpp"))
    annotations = set()
    for path in paths:  # once for the macros that mean nothing to a reader
        declarations.read(path.read_text(encoding="utf-8"), path.suffix == ".hpp", annotations)
    headers = {path: declarations.read(path.read_text(encoding="utf-8"), path.suffix == ".hpp", annotations) for path in paths}
    for path, header in headers.items():  # a class may have bases of the headers it includes
        for other in paths:
            if str(other.relative_to(root)) in header.includes:
                header.hidden = headers[other].hidden | header.hidden
    detail = {str(path.relative_to(root)): header for path, header in headers.items() if "detail" in path.parts}
    headers = {path: header for path, header in headers.items() if "detail" not in path.parts}
    for header in headers.values():  # those have no page: what they include stands for them
        header.includes = [name for own in header.includes for name in (detail[own].includes if own in detail else [own])]
    paths = list(headers)
    pages, strerror = {}, meanings()

    def add(name, text):
        if name in pages:
            sys.exit(f"pages.py: two pages of the name {name}(3)")
        pages[name] = text

    for path, header in headers.items():
        name = page_name(path, root)
        own = str(path.relative_to(root))
        near = [p for p in paths if p != path and (str(p.relative_to(root)) in header.includes or own in headers[p].includes or
                                                   p.stem == path.stem)]
        calls = dict(call_pages(path, root, version, header, strerror)) if path.suffix == ".h" else {}
        add(name, header_page(path, root, version, header, [page_name(p, root) for p in near], calls))
        for call, page in calls.items():
            add(call, page)
        for alias in names_of(header, path.suffix == ".hpp"):
            if path.suffix == ".hpp" or alias not in pages:
                add(alias, f".so man3/{name}.3\n")
    for name, text in pages.items():
        (out / "man3" / f"{name}.3").write_text(text, encoding="utf-8")
    (out / "man7" / "lathwork.7").write_text(overview_page(headers, root, version), encoding="utf-8")


# ---- programs ----

def sentence(text):
    """With a capital and a full stop, unless it begins with a list of values."""
    begins = re.match(r"[a-z]+ ", text + " ")
    return (text[:1].upper() if begins else text[:1]) + text[1:] + ("" if text.endswith((".", "?")) else ".")


def option_lines(option, more):
    names = ", ".join(f"\\fB{escape(n)}\\fR" for n in option["names"])
    argument = f" \\fI{escape(option['argument'])}\\fR" if option["argument"] and option["names"][0][0] == "-" else ""
    lines = [".TP", names + argument]
    if not option["choices"] or not all(choice in option["description"] for choice in option["choices"]):
        lines.append(escape(sentence(option["description"])))
    if option["choices"]:
        lines.append("One of " + listed([f"\\fB{escape(c)}\\fR" for c in option["choices"]]).replace(" and ", " or ") + ".")
    if option["default"] not in ("", "[]", "false", '""'):
        lines.append(f"Default: \\fB{escape(option['default'].strip('[]'))}\\fR.")
    return lines + more


def word_lines(word, text):
    name = f"\\fB{escape(word['name'])}\\fR" + (f" \\fI{escape(word['arguments'])}\\fR" if word["arguments"] else "")
    return [".TP", name, *(text or [escape(sentence(word["summary"]))])]


def extra(lines, known, page):
    """(what stands before, {name: more lines}) of a section whose names are the program's."""
    names, before = {}, []
    for block in re.split(r"\n\s*\n", "\n".join(lines).strip()):
        text = block.split("\n")
        if len(text) < 2 or not text[1].startswith(": "):
            before += [*text, ""]
        elif text[0] not in known:
            sys.exit(f"{page}.md: {text[0]!r} is not an option or command of the program")
        else:
            names[text[0]] = [inline(text[1][2:]), *(inline(line.strip()) for line in text[2:])]
    return before, names


def command_page(page, command, version, pages):
    source = HERE / f"{page}.md"
    if not source.exists():
        sys.exit(f"pages.py: {source} is missing: the program describes {page}(1)")
    text = re.sub(r"\A<!--.*?-->\s*", "", source.read_text(encoding="utf-8"), flags=re.S)
    sections = re.split(r"^# (.*)\n", text, flags=re.M)[1:]
    out = page_start(page, 1, version, [page], command["description"])
    for title, body in zip(sections[::2], sections[1::2]):
        lines = body.split("\n")
        if title == "SEE ALSO":
            continue
        out.append(f".SH {title}")
        if title == "SYNOPSIS":
            lines = [inline(line) for line in lines if line]
            out += [part for line in lines for part in (line, ".br")][:-1]
            continue
        if title == "OPTIONS":
            before, terms = extra(lines, {n for o in command["options"] for n in o["names"]}, page)
            out += markdown(before)
            for option in command["options"]:
                out += option_lines(option, [m for n in option["names"] for m in terms.get(n, [])])
        elif title == "COMMANDS":
            before, terms = extra(lines, {c["name"] for c in command["commands"]}, page)
            out += markdown(before)
            for own in command["commands"]:
                there = f"{page}-{own['name']}"
                out += word_lines(own, terms.get(own["name"], []))
                out += ["See", f".BR {escape(there)} (1)."] if there in pages else []
        else:
            out += markdown(lines)
    refs = re.findall(r"\*\*([\w-]+)\*\*\((\d)\)", dict(zip(sections[::2], sections[1::2])).get("SEE ALSO", ""))
    there = [(n, int(s)) for n, s in refs if n in pages or not n.startswith("lath-")]  # a build may lack a program
    return tidy(out + see_also(there))


def command_pages(out, version, lath):
    told = json.loads(subprocess.run([lath, "completion", "json"], check=True, capture_output=True).stdout)
    # a command whose program is not there has nothing to say but --help
    commands = [c for c in told["commands"] if c["positionals"] or len(c["options"]) > 1]
    listed_there = [{"name": c["name"], "arguments": "", "summary": c["description"]} for c in told["commands"]]
    pages = {f"lath-{command['name']}": command for command in commands}
    pages["lath"] = {"description": told["summary"], "options": [], "commands": listed_there}
    for page, command in pages.items():
        (out / f"{page}.1").write_text(command_page(page, command, version, pages), encoding="utf-8")


def main():
    out, version, root = pathlib.Path(sys.argv[1]), sys.argv[2:4], pathlib.Path(sys.argv[4])
    for section in ("man1", "man3", "man7"):
        (out / section).mkdir(parents=True, exist_ok=True)
        for old in (out / section).iterdir():
            old.unlink()
    header_pages(out, root, version)
    if len(sys.argv) > 5:
        command_pages(out / "man1", version, sys.argv[5])


main()
