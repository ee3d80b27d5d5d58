# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Which outcomes of a litmus test a memory model allows.

A test is written in the subset of C that the litmus tests of Linux use, so herd7 reads it too:

    C NAME
    { x=1; }
    P0(int *x, int *y) { r0 = smp_load_acquire(x); if (r0 == 1) { WRITE_ONCE(*y, 1); } }
    exists (0:r0=1 /\\ y=1)

Statements: READ_ONCE, WRITE_ONCE, smp_load_acquire, smp_store_release, cmpxchg_relaxed, cmpxchg_acquire, xchg_relaxed, xchg_acquire,
xchg_release, atomic_fetch_add_relaxed, atomic_fetch_add_acquire, atomic_fetch_add_release, smp_rmb, smp_wmb, smp_mb, spin_lock, spin_unlock,
rcu_read_lock, rcu_read_unlock, synchronize_rcu, assignments of registers, if and else. All values are numbers, so there are no
address dependencies.

outcomes() builds all candidate executions (what each read reads from, in which order the writes of a place are) and asks the
model which are consistent:

    lkmm     the Linux kernel memory model: Alglave, Maranget, McKenney, Parri, Stern, "Frightening small children and
             disconcerting grown-ups", ASPLOS 2018, without plain accesses and SRCU
    rc11     C11 as repaired by Lahav, Vafeiadis, Kang, Hur, Dreyer, PLDI 2017, with release sequences of C++20; the statements
             as src/sys/user.h defines them
    c11      the same without the rule that forbids values out of thin air, and load buffering with them: what the standard says
    checked  c11 for builds with ThreadSanitizer: loads acquire, stores release, the two barriers are nothing
    tso      x86: Owens, Sarkar, Sewell, TPHOLs 2009; smp_rmb and smp_wmb are nothing
"""
import itertools
import re

MODELS = ("lkmm", "rc11", "c11", "checked", "tso")

# --- relations over events 0..n-1: one mask of successors per event ---------------------------


class Rel:
    def __init__(self, rows):
        self.rows = rows

    @classmethod
    def of(cls, n, pairs):
        rows = [0] * n
        for a, b in pairs:
            rows[a] |= 1 << b
        return cls(rows)

    def __or__(self, other):
        return Rel([a | b for a, b in zip(self.rows, other.rows)])

    def __and__(self, other):
        return Rel([a & b for a, b in zip(self.rows, other.rows)])

    def __sub__(self, other):
        return Rel([a & ~b for a, b in zip(self.rows, other.rows)])

    def __rshift__(self, other):  # composition
        rows = []
        for row in self.rows:
            out = 0
            while row:
                low = row & -row
                out |= other.rows[low.bit_length() - 1]
                row ^= low
            rows.append(out)
        return Rel(rows)

    def inverse(self):
        return Rel.of(len(self.rows), [(b, a) for a, row in enumerate(self.rows) for b in range(len(self.rows)) if row >> b & 1])

    def plus(self):
        rows = list(self.rows)
        for k, _ in enumerate(rows):
            for i, row in enumerate(rows):
                if row >> k & 1:
                    rows[i] |= rows[k]
        return Rel(rows)

    def opt(self):
        return Rel([row | 1 << i for i, row in enumerate(self.rows)])

    def star(self):
        return self.plus().opt()

    def irreflexive(self):
        return not any(row >> i & 1 for i, row in enumerate(self.rows))

    def acyclic(self):
        return self.plus().irreflexive()

    def empty(self):
        return not any(self.rows)


# --- tests ------------------------------------------------------------------------------------

STATEMENT = re.compile(r"""(?:(\w+)\s*=\s*)?(READ_ONCE|WRITE_ONCE|smp_load_acquire|smp_store_release|cmpxchg_relaxed|cmpxchg_acquire|
    xchg_relaxed|xchg_acquire|xchg_release|atomic_fetch_add_relaxed|atomic_fetch_add_acquire|atomic_fetch_add_release|smp_rmb|smp_wmb|smp_mb|spin_lock|
    spin_unlock|rcu_read_lock|rcu_read_unlock|synchronize_rcu)\s*\((.*)\)$""", re.X | re.S)
# What is left of a statement when its order is taken away.
WEAKER = {"smp_load_acquire": "READ_ONCE", "smp_store_release": "WRITE_ONCE", "cmpxchg_acquire": "cmpxchg_relaxed",
          "xchg_acquire": "xchg_relaxed", "xchg_release": "xchg_relaxed", "atomic_fetch_add_acquire": "atomic_fetch_add_relaxed", "atomic_fetch_add_release": "atomic_fetch_add_relaxed",
          "smp_rmb": None, "smp_wmb": None, "smp_mb": None, "synchronize_rcu": None, "rcu_read_lock": None, "spin_lock": None}


class Statement:
    """One call, or an assignment of registers (call is None); `anchors`: the words of the comment behind it."""

    def __init__(self, target, call, places, anchors):
        self.target, self.call, self.places, self.anchors = target, call, places, anchors


class Branch:
    def __init__(self, condition, yes, no):
        self.condition, self.yes, self.no = condition, yes, no


class Test:
    def __init__(self, text, where):
        self.where = where
        head = re.match(r"\s*C\s+(\S+)\s*(.*?)\{(.*?)\}(.*?)\bexists\b(.*)$", text, re.S)
        if not head:
            raise ValueError(f"{where}: no litmus test")
        self.name, self.comment, first, body, self.exists = head.groups()
        self.comment = re.sub(r"^\(\*|\*\)$", "", self.comment.strip(), flags=re.M).strip()
        self.start = {name: int(value) for name, value in re.findall(r"(\w+)\s*=\s*(-?\d+)", first)}
        self.threads = []
        for thread in re.split(r"^P\d+\([^)]*\) \{", body, flags=re.M)[1:]:
            block, left = self.block(thread)
            if left.strip():
                raise ValueError(f"{where}: {left.strip()}: not read")
            self.threads.append(block)
        self.condition = self.read_condition(self.exists)

    def block(self, text):
        """Statements up to the closing brace, and the text after it."""
        found = []
        while True:
            text = text.lstrip()
            if not text:
                raise ValueError(f"{self.where}: a brace is missing")
            if text.startswith("}"):
                return found, text[1:]
            if comment := re.match(r"/\*(.*?)\*/", text, re.S):
                if found and isinstance(found[-1], Statement):
                    found[-1].anchors += re.findall(r"\w+", comment[1])
                text = text[comment.end():]
            elif branch := re.match(r"if\s*\(", text):
                depth, end = 1, branch.end()
                while depth:
                    depth += {"(": 1, ")": -1}.get(text[end], 0)
                    end += 1
                condition = self.expression(text[branch.end():end - 1])
                yes, text = self.block(text[end:].lstrip()[1:])
                no = []
                if other := re.match(r"\s*else\s*\{", text):
                    no, text = self.block(text[other.end():])
                found.append(Branch(condition, yes, no))
            else:
                words, text = text.split(";", 1)
                found.append(self.statement(words.strip()))

    def statement(self, words):
        if call := STATEMENT.match(words):
            target, name, places = call.groups()
            places = [p.strip() for p in places.split(",")] if places.strip() else []
            if name.startswith("atomic_fetch_add"):
                places.reverse()
            if places:
                places = [places[0].lstrip("*&"), *map(self.expression, places[1:])]
            return Statement(target, name, places, [])
        if assignment := re.match(r"(\w+)\s*=(.*)$", words, re.S):
            return Statement(assignment[1], None, [self.expression(assignment[2])], [])
        raise ValueError(f"{self.where}: {words}: not read")

    @staticmethod
    def expression(text):
        """Compiled, with the registers that it uses."""
        text = re.sub(r"!(?!=)", " not ", text.replace("&&", " and ").replace("||", " or "))
        return compile(text.strip(), "litmus", "eval"), tuple(set(re.findall(r"\br\d+\b", text)))

    @staticmethod
    def read_condition(text):
        text = re.sub(r"(\d+):(\w+)\s*=\s*(-?\d+)", r'(register[\1].get("\2", 0) @ \3)', text)
        text = re.sub(r"\[?\b([a-z]\w*)\b\]?\s*=\s*(-?\d+)", r'(memory["\1"] @ \2)', text)
        text = text.replace("@", "==").replace("/\\", " and ").replace("\\/", " or ").replace("~", " not ")
        return compile(" ".join(text.split()), "exists", "eval")

    def statements(self):
        """(thread, statement) of each call, in order."""
        def walk(block):
            for s in block:
                if isinstance(s, Branch):
                    yield from walk(s.yes)
                    yield from walk(s.no)
                elif s.call:
                    yield s
        for number, block in enumerate(self.threads):
            for s in walk(block):
                yield number, s


def read(path):
    """All tests of a file."""
    text = path.read_text(encoding="utf-8")
    return [Test(part, f"{path.name}") for part in re.split(r"^(?=C \S+$)", text, flags=re.M)[1:]]


# --- executions of one thread -----------------------------------------------------------------


class Event:
    """kind R, W or F; order: once, acquire, release, or the name of a fence; data and ctrl: the reads (by their number within the
    thread) that it depends on; rmw: the number of the read whose write this is; lock: LKR, LKW or UL."""

    def __init__(self, kind, place, value, order, data=(), ctrl=(), rmw=None, lock=None):
        self.kind, self.place, self.value, self.order = kind, place, value, order
        self.data, self.ctrl, self.rmw, self.lock = frozenset(data), frozenset(ctrl), rmw, lock


def written_by(call, value, operands):
    """What a call that reads this value writes, or None."""
    if call.startswith("cmpxchg"):
        return operands[1] if value == operands[0] else None
    if call.startswith("xchg"):
        return operands[0]
    if call.startswith("atomic_fetch_add"):
        return value + operands[0]
    return 1 if call == "spin_lock" else None


def runs(block, values, weakened):
    """All (events, registers) of a thread whose reads return any of values[place]. weakened: a statement whose order is taken away."""
    out = []

    def go(todo, events, registers, taint, ctrl):
        # todo: statements and ends of branches, innermost last
        while todo:
            item, todo = todo[0], todo[1:]
            if isinstance(item, frozenset):
                ctrl = item
                continue
            if isinstance(item, Branch):
                code, used = item.condition
                taken = item.yes if eval(code, {}, registers) else item.no
                return go([*taken, ctrl, *todo], events, registers, taint, ctrl.union(*(taint.get(r, frozenset()) for r in used)))
            call = item.call
            if item is weakened:
                call = WEAKER[call]
                if call is None:
                    continue
            if call is None:
                code, used = item.places[0]
                registers = {**registers, item.target: int(eval(code, {}, registers))}
                taint = {**taint, item.target: frozenset().union(*(taint.get(r, frozenset()) for r in used))}
                continue
            if not item.places:
                events = [*events, Event("F", None, None, call, ctrl=ctrl)]
                continue
            place = item.places[0]
            operands = [int(eval(code, {}, registers)) for code, _ in item.places[1:]]
            data = frozenset().union(*(taint.get(r, frozenset()) for _, used in item.places[1:] for r in used))
            order = "acquire" if "acquire" in call or call == "spin_lock" else "release" if "release" in call or call == "spin_unlock" \
                else "once"
            if call in ("WRITE_ONCE", "smp_store_release", "spin_unlock"):
                events = [*events, Event("W", place, operands[0] if operands else 0, order, data, ctrl,
                                         lock="UL" if call == "spin_unlock" else None)]
                continue
            for value in sorted(values[place]):
                if call == "spin_lock" and value:
                    continue  # it waits
                read, written = len(events), written_by(call, value, operands)
                lock = "LKR" if call == "spin_lock" else None
                # a compare-and-swap that fails orders nothing
                new = [Event("R", place, value, order if order == "acquire" and (written is not None or call == "smp_load_acquire")
                             else "once", (), ctrl, lock=lock)]
                if written is not None:
                    own = data | ({read} if call.startswith("atomic_fetch_add") else frozenset())
                    new.append(Event("W", place, written, "release" if order == "release" else "once", own, ctrl, read,
                                     "LKW" if lock else None))
                go(todo, [*events, *new], {**registers, item.target: value} if item.target else registers,
                   {**taint, item.target: frozenset({read})} if item.target else taint, ctrl)
            return None
        out.append((events, registers))
        return None

    go(list(block), [], {}, {}, frozenset())
    return out


def all_runs(test, weakened):
    places = {s.places[0] for _, s in test.statements() if s.places} | set(test.start)
    values = {place: {test.start.get(place, 0)} for place in places}
    count = sum(1 for _ in test.statements())
    for _ in range(count + 1):
        threads = [runs(block, values, weakened) for block in test.threads]
        more = {place: set(v) for place, v in values.items()}
        for thread in threads:
            for events, _ in thread:
                for e in events:
                    if e.kind == "W":
                        more[e.place].add(e.value)
        if more == values:
            break
        values = more
    return threads, sorted(places)


# --- candidate executions ---------------------------------------------------------------------


class Execution:
    """The events of all threads, their relations. Events of the start come first, one per place."""

    def __init__(self, test, places, threads):
        self.events, self.thread, self.po = [], [], []
        for place in places:
            self.add(Event("W", place, test.start.get(place, 0), "once"), -1)
        data, ctrl, rmw = [], [], []
        for number, events in enumerate(threads):
            base = len(self.events)
            for i, e in enumerate(events):
                self.add(e, number)
                self.po += [(base + j, base + i) for j in range(i)]
                data += [(base + j, base + i) for j in e.data]
                ctrl += [(base + j, base + i) for j in e.ctrl]
                if e.rmw is not None:
                    rmw.append((base + e.rmw, base + i))
        n = self.n = len(self.events)
        self.po, self.data, self.ctrl, self.rmw = (Rel.of(n, pairs) for pairs in (self.po, data, ctrl, rmw))
        pairs = [(a, b) for a in range(n) for b in range(n)]
        self.int = Rel.of(n, [(a, b) for a, b in pairs if self.thread[a] == self.thread[b] >= 0])
        self.ext = Rel.of(n, [(a, b) for a, b in pairs if self.thread[a] != self.thread[b]])
        self.loc = Rel.of(n, [(a, b) for a, b in pairs if self.events[a].place and self.events[a].place == self.events[b].place])
        self.id = Rel.of(n, [(a, a) for a in range(n)])
        self.po_loc = self.po & self.loc

    def add(self, event, thread):
        self.events.append(event)
        self.thread.append(thread)

    def where(self, condition):
        """The identity on the events for which it is true."""
        return Rel([1 << i if condition(e) else 0 for i, e in enumerate(self.events)])

    def candidates(self):
        """(rf, co, last value per place), all of them."""
        writes, sources = {}, []
        for i, e in enumerate(self.events):
            if e.kind == "W":
                writes.setdefault(e.place, []).append(i)
        for i, e in enumerate(self.events):
            if e.kind == "R":
                sources.append([(w, i) for w in writes[e.place] if self.events[w].value == e.value and not self.po.rows[i] >> w & 1])
        orders = []
        for ws in writes.values():
            first, rest = ws[0], ws[1:]
            orders.append([(first, *p) for p in itertools.permutations(rest)
                           if not any(self.po.rows[b] >> a & 1 for a, b in itertools.combinations(p, 2))])
        for chosen in itertools.product(*orders):
            co = Rel.of(self.n, [pair for order in chosen for pair in itertools.combinations(order, 2)])
            memory = {self.events[order[-1]].place: self.events[order[-1]].value for order in chosen}
            for rf in itertools.product(*sources):
                yield Rel.of(self.n, rf), co, memory


# --- models -----------------------------------------------------------------------------------


def coherent(x, rf, co, fr):
    return (x.po_loc | rf | co | fr).acyclic() and (x.rmw & ((fr & x.ext) >> (co & x.ext))).empty()


def lkmm(x, rf, co):
    fr = rf.inverse() >> co
    if not coherent(x, rf, co, fr):
        return False
    is_w, is_r, is_m = (x.where(lambda e, k=k: e.kind in k) for k in ("W", "R", "RW"))

    def fence(name):
        return x.po >> x.where(lambda e: e.order == name) >> x.po

    po, rfe, rfi = x.po, rf & x.ext, rf & x.int
    locked, unlocks = x.where(lambda e: e.lock == "LKR"), x.where(lambda e: e.lock == "UL")
    acq_po = x.where(lambda e: e.order == "acquire") >> po >> is_m
    po_rel = is_m >> po >> x.where(lambda e: e.order == "release" and e.kind == "W")
    handover = po >> unlocks >> (po | rf) >> locked >> po
    rmb, wmb = is_r >> fence("smp_rmb") >> is_r, is_w >> fence("smp_wmb") >> is_w
    period = x.where(lambda e: e.order == "synchronize_rcu")
    strong = is_m >> (fence("smp_mb") | (po >> period >> po.opt())) >> is_m
    overwrite = co | fr
    to_w = ((x.data | x.ctrl) >> is_w) | (overwrite & x.int)
    ppo = to_w | (x.data >> rfi) | strong | po_rel | acq_po | wmb | rmb | (handover & x.int)
    cumul = (((rfe.opt() >> (strong | po_rel)) | wmb | handover) & (is_m >> full(x) >> is_m)) >> (rf >> x.rmw).star()
    prop = is_m >> (overwrite & x.ext).opt() >> cumul.star() >> rfe.opt() >> is_m
    hb = is_m >> (ppo | rfe | ((prop - x.id) & x.int)) >> is_m
    if not hb.acyclic():
        return False
    pb = prop >> strong >> hb.star()
    if not pb.acyclic():
        return False
    if period.empty():
        return True
    ends = []  # rcu_read_lock and its rcu_read_unlock; they are not nested here
    for i, e in enumerate(x.events):
        if e.order == "rcu_read_lock":
            ends.append((next(j for j in range(i, x.n) if x.events[j].order == "rcu_read_unlock" and x.thread[j] == x.thread[i]), i))
    section = Rel.of(x.n, ends)
    link = po.opt() >> hb.star() >> pb.star() >> prop >> po
    order = period
    while True:
        more = order | (period >> link >> section) | (section >> link >> period) | (period >> link >> order >> link >> section) | \
            (section >> link >> order >> link >> period) | (order >> link >> order)
        if more.rows == order.rows:
            break
        order = more
    return (prop >> po >> order >> po.opt() >> hb.star() >> pb.star()).irreflexive()


def full(x):
    return Rel([(1 << x.n) - 1] * x.n)


def consistent(x, rf, co, acquires, releases, fences, thin_air):
    """acquires, releases: orders of accesses that do; fences: what smp_rmb, smp_wmb and smp_mb are: letters a, r, s (both, and SC).
    thin_air: may the order of a thread and of what it reads have circles?"""
    fr = rf.inverse() >> co
    if not coherent(x, rf, co, fr):
        return False
    po, same = x.po, x.loc
    is_w, is_r = x.where(lambda e: e.kind == "W"), x.where(lambda e: e.kind == "R")
    acq = x.where(lambda e: e.kind == "R" and e.order in acquires)
    rel = x.where(lambda e: e.kind == "W" and e.order in releases)
    fence_acq, fence_rel, fence_sc = (x.where(lambda e, k=k: e.kind == "F" and fences.get(e.order, "-") in k) for k in ("as", "rs", "s"))
    sequence = is_w >> (rf >> x.rmw).star()
    sw = (rel | (fence_rel >> po)) >> sequence >> rf >> is_r >> (acq | (po >> fence_acq))
    first = Rel([((1 << x.n) - 1) & ~sum(1 << j for j in range(x.n) if x.thread[j] < 0) if x.thread[i] < 0 else 0 for i in range(x.n)])
    hb = (po | sw | first).plus()
    eco = (rf | co | fr).plus()
    if not (hb >> eco.opt()).irreflexive() or not (thin_air or (po | rf).acyclic()):
        return False
    if fence_sc.empty():
        return True
    elsewhere = po - same
    scb = po | (elsewhere >> hb >> elsewhere) | (hb & same) | co | fr
    base = fence_sc >> hb.opt() >> scb >> hb.opt() >> fence_sc
    return (base | (fence_sc >> (hb | (hb >> eco >> hb)) >> fence_sc)).acyclic()


def rc11(x, rf, co, thin_air=False):
    return consistent(x, rf, co, ("acquire",), ("release",), {"smp_rmb": "a", "smp_wmb": "r", "smp_mb": "s"}, thin_air)


def c11(x, rf, co):
    return rc11(x, rf, co, thin_air=True)


def checked(x, rf, co):
    return consistent(x, rf, co, ("acquire", "once"), ("release", "once"), {"smp_mb": "s"}, True)


def tso(x, rf, co):
    fr = rf.inverse() >> co
    if not coherent(x, rf, co, fr):
        return False
    is_w, is_r, is_m = (x.where(lambda e, k=k: e.kind in k) for k in ("W", "R", "RW"))
    atomic = Rel([1 << i if row else 0 for i, row in enumerate(x.rmw.rows)])
    atomic |= Rel([1 << i if row else 0 for i, row in enumerate(x.rmw.inverse().rows)])
    kept = (is_m >> x.po >> is_m) - (is_w >> x.po >> is_r)
    fenced = (x.po >> x.where(lambda e: e.order == "smp_mb") >> x.po) | (x.po >> atomic) | (atomic >> x.po)
    return (kept | fenced | (rf & x.ext) | co | fr).acyclic()


CHECKS = {"lkmm": lkmm, "rc11": rc11, "c11": c11, "checked": checked, "tso": tso}


def allowed(test, model, weakened=None):
    """Does the model allow an execution that ends as the test asks? weakened: one statement without its order."""
    threads, places = all_runs(test, weakened)
    for chosen in itertools.product(*threads):
        register = {number: run[1] for number, run in enumerate(chosen)}
        x = None
        try:
            if not eval(test.condition, {}, {"register": register, "memory": Anything()}):
                continue
        except RuntimeError:
            pass
        x = Execution(test, places, [run[0] for run in chosen])
        for rf, co, memory in x.candidates():
            if eval(test.condition, {}, {"register": register, "memory": memory}) and CHECKS[model](x, rf, co):
                return True
    return False


class Anything:
    """Stands for memory while only the registers are known."""

    def __getitem__(self, name):
        raise RuntimeError(name)
