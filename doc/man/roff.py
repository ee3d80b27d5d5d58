# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Text for man(7): comments of headers, and the markup of doc/man/*.md."""
import re


def escape(text):
    """A line of text for roff; a dot or quote at its beginning is not a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha").replace("`", "\\(ga")
    text = "".join(c if ord(c) < 128 else f"\\[u{ord(c):04X}]" for c in text)
    return "\\&" + text if text[:1] in (".", "'") else text


def example(lines):
    return [".PP", ".in +4n", ".EX", *(escape(line.expandtabs(8)) for line in lines), ".EE", ".in"]


def is_code(lines):
    """Statements; not a picture or a table."""
    return any(re.search(r"(\)\s*;|[{])\s*((//|/\*).*)?$", line) for line in lines) or all(line.endswith(";") for line in lines)


def blocks(lines):
    """[(indented?, lines)] of a comment: a block ends at an empty line or where the indentation begins or ends."""
    found, now = [], []

    def flush():
        nonlocal now
        if now:
            short = min(len(line) - len(line.lstrip()) for line in now)
            found.append((short > 0, [line[short:] for line in now]))
        now = []

    for line in (line.expandtabs(8).rstrip() for line in lines):
        kept = line[:1] == " "
        if not line or now and kept != (now[0][:1] == " ") or re.match(r"[A-Z][\w -]{2,20}: ", line):
            flush()
        if line:
            now.append(line)
    flush()
    joined = []  # an empty line inside of code or a list does not end it
    for kept, text in found:
        if kept and joined and joined[-1][0] and is_code(text) == is_code(joined[-1][1]) and follows(lines, text[0]):
            joined[-1][1].extend(["", *text])
        else:
            joined.append((kept, text))
    return joined


def follows(lines, first):
    """Whether the block that begins with `first` stands behind an empty line."""
    at = next((i for i, line in enumerate(lines) if line.strip() == first.strip()), 0)
    return at > 0 and not lines[at - 1].strip()


def prose(found):
    out = []
    for kept, lines in found:
        out += example(lines) if kept else [".PP", *(escape(line) for line in lines)]
    return out


def inline(text):
    """**bold** and *italic*."""
    text = re.sub(r"\*\*(.+?)\*\*", "\001\\1\002", text)
    text = re.sub(r"\*([^*\s](?:[^*]*[^*\s])?)\*", "\003\\1\002", text)
    return escape(text).replace("\001", "\\fB").replace("\002", "\\fR").replace("\003", "\\fI")


def paragraph(lines):
    return [inline(line) for line in lines]


def markdown(lines):
    """Paragraphs; examples indented by four; "TERM" and ": what it means" on their own lines; "## Subsection"."""
    out, at = [], 0
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
        elif line.startswith("## "):
            out.append(f".SS {inline(line[3:])}")
            at += 1
        elif line.startswith("    "):
            end = at
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            kept = [text[4:] for text in lines[at:end]]
            while not kept[-1]:
                kept.pop()
            out += example(kept)
            at = end
        else:
            end = at
            while end < len(lines) and lines[end].strip() and not lines[end].startswith(("    ", "#")):
                end += 1
            text = lines[at:end]
            if len(text) > 1 and text[1].startswith(": "):
                out += [".TP", inline(text[0]), inline(text[1][2:]), *paragraph(part.strip() for part in text[2:])]
            else:
                out += [".PP", *paragraph(text)]
            at = end
    return out


def tidy(lines):
    """No paragraph right behind a heading, none twice."""
    kept = []
    for line in lines:
        if line == ".PP" and kept and (kept[-1].startswith((".SH", ".SS")) or kept[-1] in (".PP", ".RS 4")):
            continue
        kept.append(line)
    return "\n".join(kept) + "\n"
