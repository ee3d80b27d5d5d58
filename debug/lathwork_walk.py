# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Reads indexes, spaces and stores in the memory of another process or of a core file: for lathwork_gdb.py and
lathwork_drgn.py. Nothing is called in that process, and nothing is written.

A `memory` has read(address, n), offset(struct, member) and size(struct), of the library's structs in src/: the last two
come from its debug information.
"""
import json

KEY_MAX = 2**64 - 1
LOCKED, ALIVE, HALF_DEAD, VERSION, PIVOTED = 1, 2, 4, 8, 64
LONG, SIZES = 64, 128  # in `level` of leaves
CODE_MAX = 0x7FFF  # of a length that is not known
SUMMARY = 80  # bytes


class Broken(Exception):
    """What was read is not an index."""


def code_bound(code):
    """The longest run of keys that has this code (src/tree/watch/gap.h)."""
    if code == 0 or code >= CODE_MAX:
        return KEY_MAX if code else 0
    k, fraction = (code - 1) >> 9, (code - 1) & 511
    return (512 + fraction) >> (9 - k) if k < 9 else ((513 + fraction) << (k - 9)) - 1


class Struct:
    """A struct in memory, read at once; [name] is an unsigned number of this many bytes as fields says."""

    def __init__(self, memory, kind, address, size=None):
        self.memory, self.kind, self.address = memory, kind, address
        size = memory.size(kind) if size is None else size
        try:
            self.bytes = memory.read(address, size)
        except Exception as error:  # the debuggers' own
            raise Broken(f"no memory at {address:#x} (core files do not have the memory of stores): {error}") from error

    def number(self, at, size=8):
        return int.from_bytes(self.bytes[at:at + size], "little")

    def get(self, name, size=8):
        return self.number(self.memory.offset(self.kind, name), size)


class Node:
    def __init__(self, index, address):
        memory = index.memory
        pairs = memory.offset("node", "pair")
        head = Struct(memory, "node", address, pairs)
        self.address = address
        self.lockword, self.low, self.last = head.get("lockword"), head.get("low"), head.get("last")
        self.right, self.live = head.get("right"), head.get("live")
        self.level, self.cap = head.get("level", 1) & (LONG - 1), head.get("cap", 1)
        self.shift, self.used = head.get("shift", 1), head.get("used", 1)
        self.base = head.get("base")
        if not 0 < self.cap <= index.node_cap or self.used > self.cap:
            raise Broken(f"{address:#x} is not a node: {self.used} of {self.cap} entries")
        at = memory.offset("node", "head")
        self.heads = list(head.bytes[at:at + self.used])
        self.pivots = [head.number(at + 8 * i) for i in range(8)]
        self.pivoted = self.level > 0 or self.shift == PIVOTED
        words = Struct(memory, "node", address + pairs, 16 * self.used)
        self.keys = [words.number(16 * i) for i in range(self.used)]
        self.values = [words.number(16 * i + 8) for i in range(self.used)]
        side = address + memory.size("node")
        if self.level:
            self.sizes = [0] * self.used
        elif index.ranges:
            sizes = Struct(memory, "node", side, 8 * self.used)
            self.sizes = [sizes.number(8 * i) for i in range(self.used)]
        else:
            self.sizes = [1] * self.used
        self.room = None
        if index.holes:
            own = side + index.node_cap * (SUMMARY if self.level else 8)
            self.room = code_bound(int.from_bytes(memory.read(own, 2), "little"))

    def is_live(self, i):
        return self.live >> i & 1

    def entries(self):
        """The live ones: (key, size, value)."""
        return [(self.keys[i], self.sizes[i], self.values[i]) for i in range(self.used) if self.is_live(i)]

    def children(self):
        return [value for _, _, value in self.entries()]

    def json(self):
        """A line as lath_index_dump() has it."""
        told = {"node": self.address, "right": self.right, "level": self.level,
                "state": "half-dead" if self.lockword & HALF_DEAD else "alive", "low": self.low, "last": self.last,
                "version": self.lockword // VERSION, "cap": self.cap, "used": self.used, "shift": self.shift,
                "base": self.base}
        if self.room is not None:
            told["room"] = self.room
        told["pivots" if self.pivoted else "heads"] = self.pivots if self.pivoted else self.heads
        told["entries"] = [[self.keys[i], self.sizes[i], self.values[i], self.is_live(i)] for i in range(self.used)]
        return json.dumps(told, separators=(",", ":"))


class Index:
    def __init__(self, memory, address):
        self.memory, self.address = memory, address
        self.tree = Struct(memory, "tree", address)
        self.root = self.tree.get("root")
        self.ranges, self.holes = bool(self.tree.get("leaf_level", 1) & SIZES), self.tree.get("holes", 1)
        self.node_cap = (memory.size("node") - memory.offset("node", "pair")) // 16
        if not self.root:
            raise Broken(f"the index at {address:#x} is not initialised")

    def chain(self, address, most=10**8):
        while address:
            node = Node(self, address)
            yield node
            address, most = node.right, most - 1
            if most < 0:
                raise Broken("a chain of nodes does not end")

    def levels(self):
        """The nodes of each level, the root's first."""
        address = self.root
        while address:
            level = list(self.chain(address))
            yield level
            first = level[0].children()
            address = first[0] if level[0].level and first else 0

    def leftmost(self):
        node = Node(self, self.root)
        while node.level:
            children = node.children()
            if not children:
                raise Broken(f"the inner node {node.address:#x} has no child")
            node = Node(self, children[0])
        return node.address

    def items(self):
        for leaf in self.chain(self.leftmost()):
            yield from leaf.entries()

    def bytes(self):
        at, step = self.memory.offset("tree", "pool"), self.memory.size("pool")
        return sum(self.tree.number(at + i * step + self.memory.offset("pool", "bytes")) for i in range(2))

    def counts(self):
        """Splits and so on: the tree's own, and those of its stripes."""
        memory, at = self.memory, [self.address + self.memory.offset("tree", "counts")]
        stripe = self.tree.get("stripe")
        if stripe:
            step, offset = memory.size("stripe"), memory.offset("stripe", "counts")
            at += [stripe + i * step + offset for i in range(self.tree.get("stripe_mask", 1) + 1)]
        parts = [Struct(memory, "counts", address) for address in at]
        return {name: sum(part.get(name) for part in parts) for name in ("splits", "merges", "restarts", "lock_falls")}

    def summary(self):
        levels = list(self.levels())
        items = sum(len(leaf.entries()) for leaf in levels[-1])
        room = sum(leaf.cap for leaf in levels[-1])
        flags = [name for name in ("holes", "ranks") if self.tree.get(name, 1)]
        counts = ", ".join(f"{number} {name}" for name, number in self.counts().items())
        return (f"{items} {'ranges' if self.ranges else 'points'}{''.join(', ' + f for f in flags)}; {len(levels)} "
                f"level{'s' * (len(levels) > 1)}, {sum(map(len, levels[:-1]))} inner nodes, {len(levels[-1])} leaves, "
                f"{items * 100 // room} % full, {self.bytes()} bytes; {counts}")

    def json(self):
        for level in self.levels():
            for node in level:
                yield node.json()

    def dump(self):
        for level in self.levels():
            for node in level:
                yield (f"level {node.level}{' half-dead' if node.lockword & HALF_DEAD else ''}"
                       f"{' LOCKED' if node.lockword & LOCKED else ''} [{node.low:#x}, {node.last:#x}] "
                       f"{len(node.entries())} entries, {node.used} used, "
                       f"{'pivots' if node.pivoted else f'heads, shift {node.shift}'}, "
                       f"version {node.lockword // VERSION}, at {node.address:#x}")
                if not node.level:
                    for key, size, value in node.entries():
                        yield f"    [{key:#x}, +{size:#x}) -> {value:#x}"

    def verify(self):
        """Sentences on invariants (doc/range-index.md) that do not hold: I1 to I8, and I10 of nodes. A process that was
        stopped within a change may have locked nodes, and nodes that no parent knows yet: no faults."""
        above = None
        for level in self.levels():
            for node in level:
                yield from self.verify_node(node)
            live = [node for node in level if not node.lockword & HALF_DEAD]
            ends = [(left.last + 1, right.low) for left, right in zip(live, live[1:])]
            if live[0].low or live[-1].last != KEY_MAX or any(end != low for end, low in ends):
                yield f"I2: level {live[0].level} does not cover the key space: {[e for e in ends if e[0] != e[1]][:3]}"
            if above is not None:
                unknown = set(above) - {node.address for node in level}
                if unknown:
                    yield f"I8: no node of level {live[0].level}: {', '.join(map(hex, sorted(unknown)[:3]))}"
            above = [child for node in live for child in node.children()] if live[0].level else None

    def verify_node(self, node):
        where = f"node {node.address:#x}: "
        if not node.lockword & ALIVE:
            yield f"I1: {where}not alive"
        if node.live >> node.used:
            yield f"I3: {where}live entries from {node.used} on"
        if any(a > b for a, b in zip(node.keys, node.keys[1:])):
            yield f"I3: {where}keys do not ascend"
        entries = node.entries()
        if not node.level:
            if any(size == 0 or key + size - 1 > KEY_MAX for key, size, _ in entries):
                yield f"I4: {where}an empty range, or one that wraps"
            if any(a[0] + a[1] > b[0] for a, b in zip(entries, entries[1:])):
                yield f"I4: {where}ranges overlap"
            if entries and (entries[0][0] < node.low or entries[-1][0] + entries[-1][1] - 1 > node.last):
                yield f"I5: {where}an item crosses a fence"
        if node.lockword & LOCKED:
            return
        if node.pivoted:
            expected = (node.keys[::8] + [KEY_MAX] * 8)[:8]
            if node.pivots != expected:
                yield f"I6: {where}pivots differ from the keys"
        elif node.heads != [min(255, (k - node.base) >> node.shift) if k >= node.base else 0 for k in node.keys]:
            yield f"I6: {where}heads differ from the keys"
        if node.level and entries and entries[0][0] != node.low:
            yield f"I7: {where}the first separator is not the low fence"


class Parts:
    """A struct with indexes in it: (what, Index)."""

    def indexes(self):
        raise NotImplementedError

    def lines(self, call):
        for what, index in self.indexes():
            for line in call(index):
                yield line if what is None else f"{what}: {line}"

    def dump(self):
        yield self.summary()
        yield from self.lines(Index.dump)

    def verify(self):
        yield from self.lines(Index.verify)

    def json(self):
        for _, index in self.indexes():
            yield from index.json()
            return

    def summary(self):
        raise NotImplementedError


class Space(Parts):
    def __init__(self, memory, address):
        self.memory, self.data = memory, Struct(memory, "lath_space", address)

    def indexes(self):
        for what in ("index", "arenas"):
            if self.data.get(what):
                yield what, Index(self.memory, self.data.get(what))

    def summary(self):
        config = Struct(self.memory, "lath_space_config", self.data.address + self.memory.offset("lath_space", "config"))
        high = config.get("high") or 2**64
        parts = "".join(f"\n  {what}: {index.summary()}" for what, index in self.indexes())
        get = self.data.get
        return (f"[{config.get('low'):#x}, {high:#x}) in units of {config.get('unit')}: {get('ranges')} ranges in the index, "
                f"{get('in_use')} arenas in use and {get('empty')} empty, {get('bytes')} bytes, "
                f"{get('bad_frees')} bad frees{parts}")


class Bytes(Parts):
    """A set of byte keys: the tree of their first bytes, and those of further bytes."""

    def __init__(self, memory, address):
        self.memory, self.data = memory, Struct(memory, "bytes_set", address)

    def indexes(self):
        at = self.data.address + self.memory.offset("bytes_set", "root")
        further, number = self.data.get("layers"), 0
        while at:
            yield f"tree {number}", Index(self.memory, at + self.memory.offset("layer", "index"))
            at = further
            further = Struct(self.memory, "layer", at).get("next") if at else 0
            number += 1

    def summary(self):
        first = next(self.indexes())[1]
        return f"byte keys in {self.data.get('trees')} trees; of the first bytes: {first.summary()}"


class Store(Parts):
    """Of a store in shared memory, what the process has mapped. Stores keep their memory out of core files."""

    def __init__(self, memory, address):
        self.memory, self.data = memory, Struct(memory, "lath_store", address)
        inner = self.data.get("inside")
        if inner:
            self.data = Struct(memory, "lath_store", inner)
        self.numbers = self.data.get("keys", 4) == 0

    def part(self, member):
        return self.data.address + self.memory.offset("lath_store", member)

    def indexes(self):
        if self.numbers:
            yield None, Index(self.memory, self.part("numbers"))
        else:
            yield from Bytes(self.memory, self.part("set")).indexes()

    def summary(self):
        get = self.data.get
        keys = Index(self.memory, self.part("numbers")) if self.numbers else Bytes(self.memory, self.part("set"))
        return (f"keys are {'numbers' if self.numbers else 'bytes'}, limit {get('limit') or 'none'}, {get('committed')} bytes "
                f"committed, {get('evicted')} evicted, {get('expired')} expired\n  index: {keys.summary()}")
