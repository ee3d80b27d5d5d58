# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Histories of calls of several clients on one key, and whether an order of the calls explains all replies.

The models answer a command as the chapter on the module says, from a state that is a sorted tuple. Replies are compared as
`plain()` makes them: strings, None, tuples; an error is "!" and its first word."""
import math

LIMIT = 400000  # states, after which a search gives up: Undecided


class Undecided(Exception):
    """The search was too long."""


class Call:
    """words: as the client sent them, with the name first and without the key. reply: None before the answer; `returned` is
    infinite for a call whose answer was lost: it may have taken place at any time after `called`, or never."""

    def __init__(self, client, words, called):
        self.client, self.words, self.called = client, words, called
        self.returned, self.reply, self.node = math.inf, None, None

    @property
    def lost(self):
        return self.returned == math.inf

    def row(self):
        return {"client": self.client, "words": self.words, "called": round(self.called, 6), "node": self.node,
                "returned": None if self.lost else round(self.returned, 6), "reply": self.reply}


def plain(reply):
    """A reply of a server, as the models give it."""
    if isinstance(reply, Exception):
        return f"!{str(reply).split(' ', maxsplit=1)[0]}"
    if isinstance(reply, (list, tuple)):
        return tuple(plain(part) for part in reply)
    if isinstance(reply, bytes):
        return reply.decode("utf-8", "replace")
    return reply if reply is None else str(reply)


# ---- models: state, words -> state, reply ----

def flat(pairs):
    return tuple(str(word) for pair in pairs for word in pair)


def map_range(items, name, words):
    if name == "RANGE":
        return flat(items)
    if name == "LEN":
        return str(len(items))
    if name == "FLOOR":
        found = [item for item in items if item[0] <= int(words[0])]
        return flat(found[-1:]) or None
    if name == "RANK":
        keys = [key for key, _ in items]
        return str(keys.index(int(words[0]))) if int(words[0]) in keys else None
    at = int(words[0])  # SELECT
    return flat([items[at]]) if -len(items) <= at < len(items) else None


def map_model(state, words):
    name, words = words[0].rpartition(".")[2], words[1:]
    there = dict(state)
    if name in ("RANGE", "LEN", "FLOOR", "RANK", "SELECT"):
        return state, map_range(state, name, words)
    if name == "GET":
        return state, there.get(int(words[0]))
    if name == "MGET":
        return state, tuple(there.get(int(word)) for word in words)
    if name == "POP":
        pop = state[:1] if words[0] == "MIN" else state[-1:]
        return tuple(item for item in state if item not in pop), flat(pop)
    if name == "DEL":
        gone = {int(word) for word in words} & there.keys()
        return tuple(item for item in state if item[0] not in gone), str(len(gone))
    if name == "MSET":
        new = dict(zip(map(int, words[::2]), words[1::2]))
        reply = str(len(new.keys() - there.keys()))
        return tuple(sorted({**there, **new}.items())), reply
    key = int(words[0])
    if name == "INCR":
        value = reply = str(int(there.get(key, 0)) + int(words[1]))
    elif name == "CAS":
        if there.get(key) != words[1]:
            return state, "0"
        value, reply = words[2], "1"
    else:  # SET
        if words[2:] and (key in there) != (words[2] == "XX"):
            return state, None
        value, reply = words[1], str(int(key not in there))
    there[key] = value
    return tuple(sorted(there.items())), reply


POOL = 48  # numbers of a pool


def holes(state):
    at, found = 0, []
    for first, size, _ in state:
        if first > at:
            found.append((at, first - at))
        at = first + size
    return found + [(at, POOL - at)] * (at < POOL)


def shown(span):
    return (str(span[0]), str(span[1]), span[2], None)


def pool_alloc(state, size, options):
    owner, align = options.get("OWNER"), int(options.get("ALIGN", 1))
    mine = [span for span in state if owner and span[2] == owner]
    if mine:
        return state, str(mine[0][0]) if mine[0][1] == size else "!OWNERBUSY"
    for at, length in holes(state):
        first = -(-at // align) * align
        if first + size <= at + length:
            return tuple(sorted((*state, (first, size, owner)))), str(first)
    return state, None


def pool_model(state, words):
    name, words = words[0].rpartition(".")[2], words[1:]
    if name == "ALLOC":
        return pool_alloc(state, int(words[0]), dict(zip(words[1::2], words[2::2])))
    if name == "FREE":
        gone = [span for span in state if (span[2] == words[1] if words[0] == "OWNER" else span[0] == int(words[0]))]
        if words[0] != "OWNER" and gone and gone[0][2]:
            return state, "!OWNED"
        return tuple(span for span in state if span not in gone), str(len(gone))
    if name == "RESERVE":
        span = (int(words[0]), int(words[1]), words[3])
        mine = [other for other in state if other[2] == span[2]]
        if mine:
            return state, str(span[0]) if mine == [span] else "!OWNERBUSY"
        if any(first <= span[0] and span[0] + span[1] <= first + size for first, size in holes(state)):
            return tuple(sorted((*state, span))), str(span[0])
        return state, None
    if name == "RANGES":
        return state, tuple(shown(span) for span in state)
    if name == "HOLES":
        return state, tuple((str(first), str(size)) for first, size in holes(state))
    found = [span for span in state if (span[0] <= int(words[0]) < span[0] + span[1] if name == "FIND" else span[2] == words[0])]
    return state, shown(found[0]) if found else None


def interval_model(state, words):
    name, words = words[0].rpartition(".")[2], words[1:]
    if name == "LEN":
        return state, str(len(state))
    low, high = int(words[0]), int(words[0] if name == "STAB" else words[1])
    over = [span for span in state if span[0] <= high and low <= span[1]]
    if name in ("STAB", "OVERLAPS"):
        return state, tuple((str(first), str(last), value) for first, last, value in over)
    if name == "COUNT":
        return state, str(len(over))
    span = (low, high, words[2])
    if name == "REM":
        return tuple(other for other in state if other != span), str(int(span in state))
    if span in state or (name == "ADDNX" and over):
        return state, "0"
    return tuple(sorted((*state, span))), "1"


MODELS = {"MAP": map_model, "POOL": pool_model, "INTERVAL": interval_model}


def model_of(words):
    return MODELS[words[0].split(".")[1]]


# ---- the search ----

READS = {"GET", "MGET", "RANGE", "LEN", "FLOOR", "RANK", "SELECT", "RANGES", "HOLES", "FIND", "OWNER", "STAB", "OVERLAPS", "COUNT"}


def explain(calls, starts=((),), everything=False):
    """Is there an order of the calls, which keeps "returned before the other was called" and in which the model gives each reply,
    from one of the states `starts`? Returns whether, and the states that the search came to: with `everything`, each state that
    the calls made so far can have led to at any moment. The search is that of Wing and Gong (1993) with Lowe's memory (2017), as
    in tests/base/calls.hpp; a call without an answer may be left out."""
    calls = sorted((call for call in calls if not (call.lost and call.words[0].rpartition(".")[2] in READS)), key=lambda c: c.called)
    needed = sum(1 << i for i, call in enumerate(calls) if not call.lost)
    tried, seen, good = set(), set(starts), False
    stack = [(0, state) for state in starts]
    while stack:
        place = stack.pop()
        if place in tried:
            continue
        tried.add(place)
        if place[0] & needed == needed:
            good = True
            if not everything:
                break
        if len(tried) > LIMIT:
            raise Undecided
        stack += steps(calls, *place)
        seen.add(place[1])
    return good, seen


def changed_nothing(call):
    """Whether the reply alone says that the call changed nothing, whenever it took place. ALLOC and RESERVE for an owner who has
    the range already reply as those that give it."""
    name, reply = call.words[0].rpartition(".")[2], call.reply
    return name in READS or reply in (None, ()) or reply[0] == "!" or \
        (reply == "0" and name not in ("SET", "MSET", "INCR", "ALLOC", "RESERVE"))


def steps(calls, done, state):
    """Where the search goes from here, best last: each call that may be the next one. A call that changes nothing whenever it
    takes place, and whose reply is right, is taken at once, since it keeps no other one from being right."""
    first_return, found = math.inf, []
    begin = (~done & (done + 1)).bit_length() - 1  # all before it are done
    for i in range(begin, len(calls)):
        call = calls[i]
        if call.called > first_return:
            break
        if done >> i & 1:
            continue
        after, reply = model_of(call.words)(state, call.words)
        first_return = min(first_return, call.returned)
        if call.lost and after == state:
            continue  # now or later or never: it makes no difference here
        if call.lost or reply == call.reply:
            if after == state and changed_nothing(call):
                return [(done | 1 << i, state)]
            found.append((call.returned, done | 1 << i, after))
    found.sort(key=lambda step: -step[0])
    return [(done, after) for _, done, after in found]
