#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""pages_test.py MAN INCLUDE [--lath LATH] LIBRARY...: the manual pages below MAN/man1, man3 and man7.

They are compared with what others know: the libraries' symbols (nm), the members of the C++ classes (clang's syntax tree), the
options and commands that the program prints for --help; mandoc, man and lexgrog read them without complaint.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys

failures = []


def check(good, what):
    if not good:
        failures.append(what)


def output_of(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)


class Pages:
    def __init__(self, root):
        self.root = root
        self.all = sorted(path for path in root.glob("man[137]/*.[137]"))
        self.aliases = {}
        for path in self.all:
            match = re.fullmatch(r"\.so (man\d/\S+)\n", path.read_text(encoding="utf-8"))
            if match:
                self.aliases[path] = root / match.group(1)
        self.real = [path for path in self.all if path not in self.aliases]
        self.texts = {path: self.render(path) for path in self.real}

    def render(self, path):
        text = output_of("mandoc", "-Tascii", "-O", "width=400", path, cwd=self.root).stdout
        return re.sub(r".\x08", "", text)

    def find(self, name, section):
        """The page a reader gets, and its text; or None."""
        path = self.root / f"man{section}" / f"{name}.{section}"
        path = self.aliases.get(path, path)
        return self.texts.get(path)


def sections_of(text):
    parts = re.split(r"^([A-Z][A-Z &]+)$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def pages_are_clean(pages):
    check(pages.real, f"no pages below {pages.root}")
    for command in (("mandoc", "-Tlint", "-Wwarning"), ("groff", "-man", "-Tutf8", "-ww", "-z")):
        if shutil.which(command[0]):
            told = output_of(*command, *pages.real, cwd=pages.root)
            check(not told.stdout + told.stderr, f"{command[0]}: {told.stdout}{told.stderr}")
    if shutil.which("lexgrog"):
        told = output_of("lexgrog", *pages.real).stdout
        for path in pages.real:
            names = set(re.findall(rf'^{re.escape(str(path))}: "(\S+) - ', told, re.M))
            own = {path.stem} | {alias.stem for alias, to in pages.aliases.items() if to == path}
            check(own <= names, f"{path}: its NAME section lacks {sorted(own - names)}")
    for alias, to in pages.aliases.items():
        check(to in pages.texts, f"{alias} leads to {to}, which is not there")


def references_lead_somewhere(pages):
    for path, text in pages.texts.items():
        for name, section in re.findall(r"([\w-]+)\((\d)\)", sections_of(text).get("SEE ALSO", "")):
            if name.startswith("lath"):
                check(pages.find(name, section), f"{path}: SEE ALSO {name}({section}), which is not there")


def every_symbol_has_a_page(pages, library):
    symbols = [words[2].split("@")[0] for words in map(str.split, output_of("nm", "-D", "--defined-only", library).stdout.splitlines())
               if len(words) == 3 and words[1] != "A"]
    check(symbols, f"{library}: no symbols")
    for symbol in symbols:
        text = pages.find(symbol, 3)
        check(text, f"{symbol} of {library} has no page")
        if text:
            check(re.search(rf"\b{symbol}\b", sections_of(text).get("SYNOPSIS", "")),
                  f"{symbol}(3) is not in the synopsis of the page it leads to")


def calls_have_their_own_errors(pages, include):
    """Each error that a call's comment in the header names is under ERRORS on the call's own page, and no other."""
    seen = 0
    for header in sorted(include.glob("lathwork/*.h")):
        for comment, declaration in re.findall(r"/\*((?:(?!\*/).)*)\*/\n(LATH_API [^;]*;)", header.read_text(encoding="utf-8"), re.S):
            call = re.search(r"\b(lath_\w+)\(", declaration)
            codes = set(re.findall(r"-E[A-Z0-9]+\b", comment))
            if not call or not codes:
                continue
            text = pages.find(call.group(1), 3)
            if not (text or "").lstrip().startswith(call.group(1)):
                check(False, f"{call.group(1)} has no separate page")
            else:
                own = set(re.findall(r"^ +(-E[A-Z0-9]+)(?= |$)", sections_of(text or "").get("ERRORS", ""), re.M))
                check(own == codes, f"{call.group(1)}(3): ERRORS has {sorted(own)}, the header {sorted(codes)}")
                seen += 1
    check(seen > 50, f"only {seen} calls with errors were found")
    overview = pages.find("lathwork", 7) or ""
    for header in sorted(include.glob("lathwork/*.h")):
        check(f"lathwork/{header.name}" in sections_of(overview).get("HEADERS", ""), f"lathwork(7) lacks {header.name}")


# ---- C++ ----

def tree_of(headers, include):
    """[(declaration, its file)] of the namespace, by clang; None without it."""
    if not shutil.which("clang++-19"):
        print("clang++-19 is not there: members are not compared")
        return None
    told = output_of("clang++-19", "-fsyntax-only", "-std=c++20", f"-I{include}", "-Xclang", "-ast-dump=json", "-Xclang",
                     "-ast-dump-filter=lathwork::", "-x", "c++", "-",
                     input="".join(f"#include <{header.relative_to(include)}>\n" for header in headers))
    check(told.returncode == 0, told.stderr)
    decoder, at, where, found = json.JSONDecoder(), 0, "", []

    def visit(node):
        nonlocal where
        if isinstance(node, dict):
            where = node.get("file", where)
            for value in node.values():
                visit(value)
        elif isinstance(node, list):
            for value in node:
                visit(value)

    while told.stdout[at:].strip():
        at += len(told.stdout[at:]) - len(told.stdout[at:].lstrip())
        node, at = decoder.raw_decode(told.stdout, at)
        where = node.get("loc", {}).get("file", where)
        inside = node.get("inner", []) if node["kind"] == "NamespaceDecl" else [node]
        found += [(inner, where) for inner in inside]
        visit(node)
    return found


def members_of(record):
    """[(name, public?)] of a class and the classes in it."""
    access, found = record.get("tagUsed") == "struct", []
    for node in record.get("inner", []):
        if node["kind"] == "AccessSpecDecl":
            access = node["access"] == "public"
        elif node.get("isImplicit") or "name" not in node:
            continue
        elif node["kind"] == "CXXConversionDecl":  # its name has the type behind the alias
            found.append(("operator " + re.sub(r" \(.*", "", node["type"]["qualType"]), access))
        elif node["kind"] in ("CXXMethodDecl", "FunctionTemplateDecl", "FieldDecl", "CXXConstructorDecl", "CXXDestructorDecl",
                              "TypeAliasDecl"):
            found.append((re.sub(r"<.*", "", node["name"]), access))
        elif node["kind"] in ("CXXRecordDecl", "ClassTemplateDecl") and access:
            found += members_of(node)
    return found


def classes_are_shown(pages, header, include, tree):
    page = "lathwork_" + "_".join(header.relative_to(include / "lathwork").with_suffix("").parts)
    text = pages.find(page, 3)
    check(text, f"{header} has no page")
    if not text:
        return
    sections = sections_of(text)
    for wanted in ("NAME", "SYNOPSIS", "DESCRIPTION", "DECLARATIONS", "ERRORS", "EXAMPLES", "SEE ALSO"):
        check(wanted in sections, f"{page}(3) has no section {wanted}")
    check("detail::" not in text and "private:" not in text, f"{page}(3) shows what is private")
    shown = sections.get("SYNOPSIS", "")
    if tree is None:
        return
    seen, bases, hidden_classes = False, set(), {}
    for node, where in tree:
        record = next((n for n in node.get("inner", []) if n["kind"] == "CXXRecordDecl"), node) \
            if node["kind"] == "ClassTemplateDecl" else node
        if record["kind"] != "CXXRecordDecl" or "name" not in record:
            continue
        members = members_of(record)
        public = {name for name, access in members if access}
        if str(include) in str(pathlib.Path(where).resolve()):
            hidden_classes[record["name"]] = hidden_classes.get(record["name"], set()) | public
        if pathlib.Path(where).resolve() != header.resolve():
            continue
        if re.search(rf"\b(class|struct) {record['name']}\b", shown):
            seen = True
            bases |= {base for b in record.get("bases", []) for base in re.findall(r"detail::(\w+)<", b["type"]["qualType"])[:1]}
            for name in public:
                check(name in shown, f"{page}(3) lacks {record['name']}::{name}")
        for name in {name for name, access in members if not access} - public:
            if name.endswith("_"):
                check(not re.search(rf"\b{name}\b", text), f"{page}(3) shows the private {record['name']}::{name}")
    check(seen, f"{page}(3) shows no class of {header}")
    for base in bases:  # a base without a name for the reader: its members are those of the class
        check(hidden_classes.get(base), f"{page}(3): no members of {base} were found")
        for name in hidden_classes.get(base, ()):
            check(name in shown, f"{page}(3) lacks the inherited {name}")


# ---- the program ----

def program_is_described(pages, lath):
    overview = pages.find("lath", 1)
    check(overview, "no lath(1)")
    told = output_of(lath, "--help").stdout
    commands = re.findall(r"^  ([a-z]+)(?:\s{2,}\S|$)", told[told.find("ubcommands:"):], flags=re.M | re.I)
    check(len(commands) > 4, f"lath --help names the commands {commands}")
    for command in commands:
        check(re.search(rf"^ +{command}\b", sections_of(overview or "").get("COMMANDS", ""), re.M), f"lath(1) lacks {command}")
        told = output_of(lath, command, "--help").stdout
        if "not installed" in told:
            continue
        text = pages.find(f"lath-{command}", 1)
        check(text, f"no lath-{command}(1)")
        sections = sections_of(text or "")
        for wanted in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"):
            check(wanted in sections, f"lath-{command}(1) has no section {wanted}")
        options = re.findall(r"^ +((?:-\w,)?--[a-z-]+|-\w)\b", told, flags=re.M)
        check(options, f"lath {command} --help names no options")
        for option in ",".join(options).split(","):
            check(re.search(rf"^ .*(?<![\w-]){option}\b", sections.get("OPTIONS", ""), re.M), f"lath-{command}(1) lacks {option}")
        for choices in re.findall(r":\{([^}]*)\}", told):
            for choice in choices.split(","):
                check(re.search(rf"\b{choice}\b", text or ""), f"lath-{command}(1) lacks the value {choice}")


def store_is_described(pages, lath):
    text = pages.find("lath-store", 1) or ""
    told = output_of(lath, "store", "mem:", "help").stdout
    commands = re.findall(r"^  ([a-z]+) ", told, flags=re.M)
    check(len(commands) > 20, f"lath store mem: help names {commands}")
    for command in commands:
        check(re.search(rf"^ +{command}\b", sections_of(text).get("COMMANDS", ""), re.M), f"lath-store(1) lacks the command {command}")
    for spec in ("mem:", "file:PATH", "shm:NAME", "dev:PATH"):
        check(spec in text, f"lath-store(1) lacks {spec}")


def engines_are_described(pages):
    """Every engine that the queue's page has."""
    queue = pages.find("lathwork_sortq", 3) or ""
    numbers = re.search(r"enum lath_sortq_engine \{(.*?)\}", queue, re.S)
    engines = [name.lower() for name in re.findall(r"\bLATH_SORTQ_([A-Z]+)\b", numbers[1] if numbers else "")]
    check(engines == ["hybrid", "fifo"], f"the engines are {engines}")
    for engine in engines:
        check(re.search(rf"\b{engine}\b", pages.find("lath-replay", 1) or ""), f"lath-replay(1) lacks the engine {engine}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("man", type=pathlib.Path)
    parser.add_argument("include", type=pathlib.Path)
    parser.add_argument("libraries", nargs="+")
    parser.add_argument("--lath")
    asked = parser.parse_args()
    if not shutil.which("mandoc"):
        print("skipped: mandoc is not there")
        return 77
    pages = Pages(asked.man.resolve())
    pages_are_clean(pages)
    references_lead_somewhere(pages)
    for library in asked.libraries:
        every_symbol_has_a_page(pages, library)
    calls_have_their_own_errors(pages, asked.include)
    headers = sorted(asked.include.glob("lathwork/cxx/*.hpp"))
    tree = tree_of(headers, asked.include)
    for header in headers:
        classes_are_shown(pages, header, asked.include, tree)
    if asked.lath:
        program_is_described(pages, asked.lath)
        store_is_described(pages, asked.lath)
        engines_are_described(pages)
    for failure in failures[:50]:
        print(failure.strip(), file=sys.stderr)
    print(f"{len(pages.real)} pages, {len(pages.aliases)} further names, {len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
