// SPDX-License-Identifier: MIT OR GPL-2.0-only
// The library in the page: a story (a list of calls) is run on a new index, and gives a frame per call: the index after it.
"use strict";
const KEYS = 10000, POLICIES = {first: 0, last: 1, best: 2}, ENOSPC = -28, EEXIST = -17, ENOENT = -2, ENOMEM = -12;
let compiled = null;

async function load(text) {
  const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const whole = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  compiled = await WebAssembly.compile(await new Response(whole).arrayBuffer());
}

class Waits extends Error {}

class Index {
  constructor() {
    this.read = null;
    this.on = () => {};
    const page = {
      node: (at, level, low, last, room) => this.read.push({at, level, low, last, room, entries: []}),
      entry: (key, more, live) => this.read.at(-1).entries.push([key, more, live]),
      saw: (kind, place, value) => this.on(kind, place, value),
      wait: () => { throw new Waits(); },
    };
    const {exports} = new WebAssembly.Instance(compiled, {page});
    this.code = exports;
    if (exports.start()) throw new Error("no memory for an index");
  }

  nodes() {
    this.read = [];
    this.code.dump();
    return this.read;
  }

  // Makes the call; returns its frame without the nodes.
  make({part, call, key = 0, size = 1, align = 1}, thread = 0) {
    const code = this.code, frame = {part, call, key, size, align, looked: 0, result: 0};
    if (call === "insert") frame.result = code.insert(thread, key, size);
    else if (call === "erase") {
      frame.result = code.erase(thread, key);
      if (!frame.result) frame.size = code.answer_size();
    } else if (call === "lookup") frame.result = code.lookup(thread, key);
    else if (call in POLICIES) {
      frame.result = code.hole(POLICIES[call], size, align, KEYS);
      frame.key = code.answer_key();
      frame.looked = code.answer_looked();
    }
    return frame;
  }
}

// The frames of a story. Addresses of nodes become numbers in the order in which they appear.
function run(story) {
  const index = new Index(), names = new Map(), name = at => names.get(at) ?? (names.set(at, names.size), names.size - 1);
  return story.map(step => {
    const frame = index.make(step);
    if (index.code.verify()) throw new Error(`the index is not as its invariants say, after ${step.call} ${step.key}`);
    frame.nodes = index.nodes().map(({at, level, low, last, room, entries}) => ({id: name(at), level, low, last, room,
      entries: entries.map(([key, more, live]) => [key, level ? name(more) : more, live])}));
    return frame;
  });
}

// The story that the page begins with. Each slot of 165 keys has its range, at another place and of another length.
function lesson() {
  const story = [], place = slot => slot * 165 + slot * 7 % 40, slots = [...Array(60).keys()];
  let seed = 20n, part = "Insert";
  const add = (call, key, size, align) => story.push({part, call, key, size, align});
  add("start");
  for (let i = 0; i < slots.length; i++) { // in random order
    seed = BigInt.asUintN(64, seed * 6364136223846793005n + 1442695040888963407n);
    const other = i + Number(seed >> 33n) % (slots.length - i), slot = slots[other];
    slots[other] = slots[i];
    if (i === 8) part = "Split";
    add("insert", place(slot), 50 + slot * 37 % 70);
  }
  part = "Look up";
  add("insert", 1000, 150);
  add("lookup", 5000);
  add("lookup", 9400);
  part = "Erase";
  for (let slot = 20; slot < 24; slot++) add("erase", place(slot));
  part = "Merge";
  for (let slot = 2; slot < 59; slot++)
    if (slot % 4 && (slot < 20 || slot > 23)) add("erase", place(slot));
  part = "Find a hole";
  for (const [call, size, align] of [["first", 400, 1], ["last", 400, 1], ["best", 100, 1], ["first", 256, 256], ["best", 900, 1]])
    add(call, 0, size, align);
  return story;
}

/* Two calls that meet. A step is a group of accesses in a row to one field of one node; B begins after the first access of A's step
   number `when`, and ends before A goes on. If B has to wait for a lock, it begins again when A has ended. Returns the steps
   {thread, kind, node, low, level, field, value}; "done" has a frame instead, "waits" nothing. */
const FIELDS = ["lockword", "bounds", "bounds", "sibling", "header", "heads", "keys", "values", "sizes", ""];
const KINDS = ["reads", "writes", "locks", "misses"];

function meet(story, a, b, when) {
  const index = new Index(), steps = [];
  for (const step of story) index.make(step);
  const bytes = index.code.node_bytes(), nodes = index.nodes().sort((one, two) => two.at - one.at);
  let thread = "A", length = 0, begun = false, waiting = false, open = null;

  function other() {
    begun = true;
    open = null;
    thread = "B";
    try {
      steps.push({thread, kind: "done", frame: index.make(b, 1)});
      waiting = false;
    } catch (error) {
      if (!(error instanceof Waits)) throw error;
      steps.push({thread, kind: "waits"});
      waiting = true;
    }
    open = null;
    thread = "A";
  }

  index.on = (access, place, value) => {
    const node = nodes.find(each => each.at <= place && place < each.at + bytes), kind = KINDS[access];
    const field = node && FIELDS[index.code.field(place - node.at) % 100];
    if (!field) return;
    if (open && field !== "lockword" && open.node === node.at && open.field === field && open.kind === kind) return;
    open = {thread, kind, node: node.at, low: node.low, level: node.level, field, value: Number(value)};
    steps.push(open);
    if (thread === "A" && length++ === when) other();
  };
  index.code.tell(true);
  steps.push({thread, kind: "done", frame: index.make(a, 0)});
  if (!begun || waiting) other();
  index.code.tell(false);
  return {steps, length, right: !index.code.verify()};
}
