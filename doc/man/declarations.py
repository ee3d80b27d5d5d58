# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""What a public header declares, with its comments: for C and for C++.

read(text, cxx) returns a Header. It reads tokens, not types: a declaration ends at its semicolon or at its body, a comment belongs to
the declarations that follow it up to an empty line. Conditional text is taken as a user-space program sees it. Private members,
the namespace `detail`, function bodies and attributes are left out.
"""
import re
from dataclasses import dataclass, field

TOKEN = re.compile(r"""
    (?P<comment>/\*.*?\*/|//[^\n]*)
  | (?P<directive>(?<![^\n])[ \t]*\#(?:/\*.*?\*/|\\\n|[^\n])*)
  | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
  | (?P<word>[A-Za-z_]\w*|\d(?:'?[\w.])*)
  | (?P<space>\s+)
  | (?P<mark>::|.)
""", re.X | re.S)
OPEN, CLOSE = "([{", ")]}"
HIDDEN = "detail"


@dataclass
class Token:
    kind: str
    text: str


@dataclass
class Item:
    kind: str  # function, variable, type, macro, class, prose
    name: str
    text: str = ""  # as it is shown
    words: list = field(default_factory=list)  # lines of its comment
    access: str = "public"
    members: list = field(default_factory=list)  # of a class
    bases: list = field(default_factory=list)  # names of a class's bases in the hidden namespace
    follows: bool = False  # documented by the comment of the item before


@dataclass
class Header:
    intro: list  # lines of the leading comment
    includes: list  # of the project's own headers
    items: list
    hidden: dict  # classes of the hidden namespace by name


def comment_lines(text):
    """What a comment says, without its frame."""
    lines = []
    for line in text.splitlines():
        line = re.sub(r"^\s*(/\*+|\*/|\*|//)? ?", "", line, count=1).rstrip()
        lines.append(re.sub(r"\s*\*/$", "", line).expandtabs(8))
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def holds(condition, known):
    """Whether a preprocessor condition holds when exactly the macros of `known` are defined, with these values."""
    text = re.sub(r"/\*.*?\*/|//.*", "", condition)
    text = re.sub(r"\bdefined\s*\(?\s*(\w+)\s*\)?", lambda m: str(int(m.group(1) in known)), text)
    text = re.sub(r"\b(\d+)[uUlL]+\b", r"\1", text)
    text = re.sub(r"\b[A-Za-z_]\w*(\s*\(.*?\))?", lambda m: str(known.get(m.group(0), 0)), text)
    text = re.sub(r"!(?!=)", " not ", text).replace("&&", " and ").replace("||", " or ")
    try:
        return bool(eval(text))  # numbers and operators alone are left
    except (SyntaxError, TypeError) as error:
        raise SystemExit(f"pages.py: a condition it cannot read: #if {condition}") from error


class Preprocessor:
    """Leaves what a user-space program sees, and the macros that stand for values."""

    def __init__(self, cxx, annotations):
        self.known = {"__GNUC__": 14} | ({"__cplusplus": 202002} if cxx else {})
        self.annotations = annotations
        self.includes = []
        self.stack = []  # (this branch is taken, some branch was)
        self.out = []

    def directive(self, text):
        """A macro to show, or None."""
        name, _, rest = text.strip()[1:].strip().partition(" ")
        rest = rest.strip()
        if name in ("if", "ifdef", "ifndef"):
            told = {"if": rest, "ifdef": f"defined({rest})", "ifndef": f"!defined({rest})"}[name]
            taken = holds(told, self.known)
            self.stack.append((taken, taken))
        elif name in ("elif", "else"):
            _, before = self.stack.pop()
            taken = not before and (name == "else" or holds(rest, self.known))
            self.stack.append((taken, before or taken))
        elif name == "endif":
            self.stack.pop()
        elif self.active() and name == "include":
            match = re.match(r'["<](lathwork/.*)[">]', rest)
            self.includes += [match.group(1)] if match else []
        elif self.active() and name == "define":
            macro, parameters, value = re.match(r"(\w+)(\(.*?\))?\s*(.*)", rest, re.S).groups()
            bare = re.sub(r"/\*.*?\*/", "", value, flags=re.S).strip()
            self.known[macro] = int(bare) if bare.isdigit() else 0
            if not parameters and (not bare or bare.startswith(("__attribute__", "[["))):
                self.annotations.add(macro)
                while self.out and self.out[-1].kind in ("space", "comment"):  # and what is said of it
                    last = self.out.pop()
                    if last.kind == "comment" or last.text.count("\n") > 1:
                        break
            elif not parameters or not re.fullmatch(r"\(\(void\)0\)", bare):
                return Item("macro", macro, re.sub(r"[ \t]+(?=\\\n|/\*)", " ", f"#define {rest}"))
        return None

    def active(self):
        return all(taken for taken, _ in self.stack)

    def run(self, text):
        dropped = False
        for match in TOKEN.finditer(text):
            kind, piece = match.lastgroup, match.group(0)
            if kind == "directive":
                item = self.directive(piece)
                dropped = item is None
                if item:
                    self.out.append(Token("macro", item))
                continue
            if not self.active():
                continue
            if dropped and kind == "space":
                piece = piece.replace("\n", "", 1)
            dropped = False
            if piece and not (kind == "word" and piece in self.annotations):
                self.out.append(Token(kind, piece))
        return self.out


class Reader:
    def __init__(self, tokens, cxx):
        self.tokens, self.at, self.cxx = tokens, 0, cxx
        self.hidden = {}

    def peek(self, ahead=0):
        """The next token that is neither space nor comment."""
        i = self.at
        while i < len(self.tokens):
            if self.tokens[i].kind not in ("space", "comment"):
                if not ahead:
                    return self.tokens[i]
                ahead -= 1
            i += 1
        return Token("end", "")

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def balanced(self):
        """The text from an opening bracket to its partner; the next token is the opening one."""
        depth, text = 0, ""
        while self.at < len(self.tokens):
            token = self.take()
            text += token.text
            if token.kind == "mark":
                depth += (token.text in OPEN) - (token.text in CLOSE)
            if not depth:
                break
        return text

    def scope(self, access="public"):
        """The items up to the scope's closing brace or the end."""
        items, words, fresh, lines = [], [], False, 0
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.kind == "space":
                lines = token.text.count("\n")
                if lines > 1:  # what stands before an empty line is a paragraph
                    if words and fresh:
                        items.append(Item("prose", "", "", words, access))
                    words, fresh = [], False
                self.at += 1
            elif token.kind == "comment":
                if items and not lines and not fresh and items[-1].kind != "prose":
                    items[-1].words = items[-1].words + comment_lines(self.take().text)  # behind the declaration, on its line
                    continue
                text = self.comment()
                if words and fresh:
                    items.append(Item("prose", "", "", words, access))
                words, fresh, lines = text, True, 1
            elif token.text == "}":
                self.at += 1
                break
            elif token.kind == "word" and token.text in ("public", "protected", "private") and self.peek(1).text == ":":
                access, words, fresh = token.text, [], False
                self.at += 1
                while self.take().text != ":":
                    pass
            elif (inside := self.namespace()) is not None:
                items += inside
                words, fresh = [], False
            else:
                found = self.declaration(token)
                for item in found:
                    item.access = item.access if access == "public" else access
                    if item.words != words:
                        item.words = words + item.words if fresh else item.words
                    item.follows = bool(words) and not fresh and not item.words
                    items.append(item)
                if found:
                    fresh, lines = False, 0
                elif token.text != ";":
                    words, fresh = [], False
        return items

    def comment(self):
        """A block comment, or // lines that follow one another."""
        text = self.take().text
        while text.startswith("//") and self.at + 1 < len(self.tokens) and self.tokens[self.at].kind == "space" and \
                self.tokens[self.at].text.count("\n") == 1 and self.tokens[self.at + 1].text.startswith("//"):
            self.at += 1
            text += "\n" + self.take().text
        return comment_lines(text)

    def namespace(self):
        """The items of a namespace or of extern "C"; None: it is neither."""
        first, second, third = self.peek(), self.peek(1), self.peek(2)
        if first.text == "extern" and second.kind == "string" and third.text == "{":
            name = ""
        elif first.text == "namespace" and third.text in ("{", "::"):
            name = second.text
        else:
            return None
        while (word := self.take()).text != "{":
            name = word.text if word.kind == "word" and word.text != "namespace" else name
        items = self.scope()
        while self.at < len(self.tokens) and "\n" not in self.tokens[self.at].text and self.tokens[self.at].kind in ("space", "comment"):
            self.at += 1  # "// namespace ..."
        if name != HIDDEN:
            return items
        self.hidden.update((item.name, item) for item in items if item.kind == "class")
        return []

    def declaration(self, first):
        if first.kind == "macro":
            return [self.take().text]
        if first.text == ";":
            self.at += 1
            return []
        text, words, lists, brackets, equals, angles = "", [], False, False, False, 0
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.text == "operator":  # a name that may look like anything
                name = self.take().text
                while self.peek().text != "(":
                    name += self.take().text
                if self.peek(1).text == ")" and name == "operator":
                    name += self.take().text + self.take().text
                text, words = text + name, words + [name.replace("operator ", "operator\0")]
                continue
            if token.text in ("(", "["):
                if token.text == "(":
                    brackets = brackets or bool(words) and not angles and words[-1] != "__attribute__"
                piece = self.balanced()
                if words and words[-1] == "__attribute__":
                    words.pop()
                    text = text[: -len("__attribute__")].rstrip()
                elif piece.startswith("[["):
                    pass
                else:
                    text += piece
                    words.append(piece)
                continue
            if token.text == "{":
                head = [w for w in words if w != "typedef"]
                if self.type_head(head) and not brackets and not equals:
                    if self.cxx and "enum" not in head[:1]:
                        return self.class_body(text, words)
                    text += self.balanced()
                    words.append("{")
                    continue
                if equals or not brackets:
                    text += self.balanced()
                    words.append("{")
                    continue
                self.balanced()
                break
            if token.text == ":" and brackets and not equals:
                self.initialisers()
                break
            self.at += 1
            if token.text == ";":
                break
            angles += (token.text == "<") - (token.text == ">")
            equals = equals or token.text == "=" and not angles
            lists = lists or token.text == ","
            if token.kind == "comment" and self.type_head(words):
                text += token.text
            elif token.kind != "comment":
                text += token.text
                if token.kind != "space":
                    words.append(token.text)
        return self.item(text, words, brackets, equals)

    @staticmethod
    def type_head(words):
        """Whether the words begin a class, struct, union or enum, behind a template's parameters."""
        return Reader.without_template(words)[:1] and Reader.without_template(words)[0] in ("class", "struct", "union", "enum")

    @staticmethod
    def without_template(words):
        while words[:1] == ["template"]:
            depth = 0
            for i, word in enumerate(words[1:], 1):
                depth += (word == "<") - (word == ">")
                if not depth:
                    words = words[i + 1:]
                    break
            else:
                return []
        return words

    def initialisers(self):
        """Skip a constructor's initialisers and its body."""
        before = ""
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.text in OPEN:
                body = token.text == "{" and before in (")", "}", "]")
                self.balanced()
                if body:
                    return
                before = ")"
                continue
            self.at += 1
            if token.kind not in ("space", "comment"):
                before = token.text

    def class_body(self, text, words):
        head = self.without_template(words)
        key = head[0]
        rest = head[1:]
        cut = next((i for i, w in enumerate(rest) if w == ":"), len(rest))
        name = "".join(re.sub(r"\s+", " ", w) for w in rest[:cut] if w != "final")
        name = re.sub(r"<.*?>(?=::)", "", name)
        bases = "".join(w + (" " if w in ("public", "private") else "") for w in rest[cut + 1:])
        self.balanced_open()
        members = self.scope("public" if key == "struct" else "private")
        while self.at < len(self.tokens) and self.take().text != ";":
            pass
        hidden = re.findall(HIDDEN + r"::(\w+)", bases)
        head_text = shown(text.split(":", 1)[0] if cut < len(rest) and "::" not in text.split("{")[0].split(":", 1)[0] else text)
        if bases:
            head_text = shown(re.split(r"(?<!:):(?!:)", text, maxsplit=1)[0])
            if not hidden:
                head_text += " : " + shown(re.split(r"(?<!:):(?!:)", text, maxsplit=1)[1])
        return [Item("class", name, head_text, members=members, bases=hidden)]

    def balanced_open(self):
        while self.take().text != "{":
            pass

    def item(self, text, words, brackets, equals):
        """The item of a declaration, or none: nothing of it is for the reader of a page."""
        words = self.without_template(words)
        if not words or words[0] in ("static_assert", "friend") and "operator" not in " ".join(words):
            return []
        if words[0] == "friend" and words[1:2] in (["class"], ["struct"]):
            return []
        if words[0] == "using":
            return [Item("type", words[1], shown(text))] if equals else []
        if words[0] == "typedef":
            match = re.search(r"\(\s*\*\s*(\w+)\s*\)", text)
            return [Item("type", match.group(1) if match else words[-1], body(text) if "{" in words else shown(text))]
        if words[0] == "concept":
            return [Item("type", words[1], shown(text))]
        if self.type_head(words) and not brackets:
            if "{" not in words:  # of a forward declaration nothing is to be said but that it is opaque
                return [] if self.cxx or len(words) != 2 else [Item("type", words[1], shown(text))]
            return [Item("type", next((w for w in words[1:] if w not in ("class", "struct", "{")), ""), body(text))]
        if brackets and (not equals or words[-1] in ("default", "delete", "0")) or any(w.startswith("operator") for w in words):
            at = next((i for i, w in enumerate(words[1:], 1) if w.startswith("(") and words[i - 1] not in ("decltype", "requires")), 0)
            pointer = re.match(r"\(\s*\*\s*(\w+)", words[at])
            if pointer:
                return [Item("variable", pointer.group(1), shown(text))]
            if at > 1 and words[at - 2] == "::" and self.cxx:
                return []  # the definition of a member
            ends = re.sub(r"\s*=\s*default\s*$", "", shown(text))
            name = words[at - 1].replace("\0", " ")
            return [Item("function", "~" + name if at > 1 and words[at - 2] == "~" else name, ends)]
        names = [w for w in words[: words.index("=")] if w] if "=" in words else [w for w in words if w != "{" and w[0] not in "(["]
        if ">" in names[-1:] or len(names) > 1 and names[-2] == "::" and equals:
            return []  # a specialisation of something else
        return [Item("variable", names[-1], shown(text))]


def shown(text):
    """A declaration on its own lines choice, without what only the compiler wants."""
    text = re.sub(r"^(static inline|inline) ", "", text.strip())
    text = re.sub(r"\n\s*(requires\b[^\n]*)\n?", "\v\\1\v", text)
    text = re.sub(r"\s*[ \t]*\n\s*", " ", text)
    text = unspecified(re.sub(r"[ \t]+", " ", text))
    lines = []
    for line in text.split("\v"):
        while line:
            template, rest = split_template(line.strip())
            lines.append(template or rest)
            line = rest if template else ""
    return "\n".join(lines)


def split_template(line):
    """(template <...>, the rest): each is on a line by itself."""
    if not line.startswith("template"):
        return "", line
    depth = 0
    for i, c in enumerate(line):
        depth += (c == "<") - (c == ">")
        if c == ">" and not depth:
            return line[: i + 1], line[i + 1:].strip()
    return "", line


def unspecified(text):
    """Types of the hidden namespace have no name for the reader."""
    while True:
        match = re.search(rf"\b{HIDDEN}::\w+", text)
        if not match:
            return text
        end, depth = match.end(), 0
        if text[end: end + 1] == "<":
            while True:
                depth += (text[end] == "<") - (text[end] == ">")
                end += 1
                if not depth:
                    break
        text = text[: match.start()] + "unspecified" + text[end:]


def body(text):
    """A struct or enum as it is written, without tabs and attributes."""
    lines = [re.sub(r"\s+;", ";", line.expandtabs(8)).rstrip() for line in text.strip().splitlines()]
    return "\n".join(line for line in lines if line)


def read(text, cxx, annotations):
    """The header; annotations: macros that mean nothing to a reader, those of the headers read before, and of this one afterwards."""
    text = re.sub(r"\A(/\*|//) SPDX.*\n(//\s*\n)?", "", text)
    intro = re.match(r"\s*(/\*.*?\*/|(?://[^\n]*\n)+)", text, re.S)
    before = Preprocessor(cxx, annotations)
    reader = Reader(before.run(text[intro.end():]), cxx)
    items = reader.scope()
    whole = {item.name for item in items if item.kind == "type" and "{" in item.text}
    items = [item for item in items if item.kind != "type" or "{" in item.text or "typedef" in item.text or item.name not in whole]
    return Header(comment_lines(intro.group(1)), before.includes, items, reader.hidden)
