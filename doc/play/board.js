// SPDX-License-Identifier: MIT OR GPL-2.0-only
// What the page shows of the frames, and its controls.
const LEAF = 92, GAP = 7, ROW = 17, CELL = 43;
const $ = id => document.getElementById(id);
let story = [], frames = [], at = 0, timer = 0;

const keyText = key => key < 0 ? "max" : String(key);
const covers = (node, key) => node.low <= key && (node.last < 0 || key <= node.last);
const byId = frame => new Map(frame.nodes.map(node => [node.id, node]));
const leavesOf = frame => frame.nodes.filter(node => node.level === 0);
const rangeText = (key, size) => size === 1 ? String(key) : `${key} to ${key + size - 1}`;

/* The nodes from the root to the leaf that covers key. */
function pathTo(frame, key) {
  const nodes = byId(frame), path = [];
  for (let node = frame.nodes[0]; node;) {
    path.push(node.id);
    if (node.level === 0) break;
    let child = null;
    for (const [low, id, live] of node.entries) if (live && low <= key) child = id;
    node = nodes.get(child);
    while (node && !covers(node, key)) node = frame.nodes[frame.nodes.indexOf(node) + 1];
  }
  return path;
}

/* What a step changed: which leaf each live item was in and is in, and which nodes came and went. */
function changes(n) {
  const now = frames[n], before = frames[Math.max(0, n - 1)], home = frame =>
    new Map(leavesOf(frame).flatMap(leaf => leaf.entries.filter(e => e[2]).map(e => [e[0], leaf.id])));
  const was = home(before), is = home(now), ids = frame => new Set(frame.nodes.map(node => node.id));
  const old = ids(before), current = ids(now);
  return {
    moved: new Set([...is].filter(([key, leaf]) => was.has(key) && was.get(key) !== leaf).map(([key]) => key)),
    added: new Set([...is.keys()].filter(key => !was.has(key))),
    came: now.nodes.filter(node => !old.has(node.id)), went: [...old].filter(id => !current.has(id)).length,
    taller: now.nodes[0].level - before.nodes[0].level,
  };
}

function said(n) {
  const frame = frames[n], {key, size} = frame, change = changes(n), words = [];
  const items = leavesOf(frame).flatMap(leaf => leaf.entries).filter(e => e[2]);
  const policy = {first: "the lowest place", last: "the highest place", best: "the shortest hole"}[frame.call];
  if (frame.call === "start") return "An empty index: one leaf, which covers all keys.";
  if (frame.result === ENOMEM) return "The page has no memory left for another node.";
  if (frame.result === ENOSPC) return `Find room for ${size} keys, ${policy}: no hole is that long.`;
  if (frame.call === "erase" && frame.result === ENOENT) return `Erase ${key}: no item begins there. Nothing changes.`;
  if (frame.call === "insert" && frame.result === EEXIST) {
    const other = items.find(e => e[0] < key + size && key < e[0] + e[1]);
    return `Insert ${rangeText(key, size)}: refused, because ${rangeText(other[0], other[1])} is there. Nothing changes.`;
  }
  if (frame.call === "lookup") {
    const found = items.find(e => e[0] <= key && key < e[0] + e[1]);
    return `Look up ${key}: one leaf covers the key and answers alone. ` + (found ? `Found: ${rangeText(found[0], found[1])}.`
      : "No item covers it.");
  }
  if (policy)
    words.push(`Find room for ${size} keys` + (frame.align > 1 ? `, aligned to ${frame.align}` : "") + `, ${policy}, and take it: ` +
      `${rangeText(key, size)}. The search looked at ${frame.looked} nodes. Pale leaves had no run between two of their items ` +
      `that is long enough.`);
  else if (frame.call === "insert")
    words.push(`Insert ${rangeText(key, size)}.`);
  else
    words.push(`Erase ${rangeText(key, size)}: one bit of the leaf is cleared.` +
      (change.went ? "" : " The key stays, and nothing is moved."));
  const leaves = change.came.filter(node => node.level === 0).length;
  if (leaves)
    words.push((change.moved.size ? `The leaf was full: ${change.moved.size} of its items move to a new leaf at its right`
      : "The leaf was full, and the key is behind all of its items: it gets a new leaf") + ", and the parent gets a downlink.");
  else if (change.moved.size && frame.call !== "erase")
    words.push(`The leaf was full: ${change.moved.size} items move to a sibling that has room, and the fence between them moves.`);
  if (change.taller > 0)
    words.push("A new root makes the tree one level taller.");
  if (change.went)
    words.push(`Sparse nodes merge with their siblings: ${change.went} go, with the keys of erased items.`);
  if (change.taller < 0)
    words.push("The tree is one level lower.");
  return words.join(" ");
}

/* What is on the board, by name: {x, y, classes, make}. */
function layout(n) {
  const LEAVES = 12 + 84 * frames[n].nodes[0].level, WIDTH = width(n);
  const frame = frames[n], before = frames[Math.max(0, n - 1)], change = changes(n), shapes = new Map(), links = [], centre = new Map();
  const hole = ["first", "last", "best"].includes(frame.call);
  const path = new Set(frame.call === "start" ? [] : pathTo(hole ? frame : before, frame.key)), rooms = byId(before);
  const came = new Set(change.came.map(node => node.id)), leaves = leavesOf(frame), seen = new Map();
  const classes = node => ["moving", path.has(node.id) && "path", came.has(node.id) && "new",
    hole && node.level === 0 && rooms.has(node.id) && rooms.get(node.id).room >= 0 && rooms.get(node.id).room < frame.size &&
    "short"].filter(Boolean).join(" ");
  leaves.forEach((leaf, i) => {
    const x = (WIDTH - leaves.length * (LEAF + GAP)) / 2 + i * (LEAF + GAP);
    centre.set(leaf.id, x + LEAF / 2);
    shapes.set(`n${leaf.id}`, {x, y: LEAVES, to: "nodes", classes: classes(leaf), draw:
      `<rect class="card" width="${LEAF}" height="${38 + 8 * ROW}" rx="5"/><text x="5" y="14">${leaf.low}</text>` +
      `<text x="${LEAF - 5}" y="14" text-anchor="end">${keyText(leaf.last)}</text>` +
      `<text class="note" x="5" y="28">room ${leaf.room < 0 ? "?" : leaf.room}</text>`});
    if (i) links.push(`M${x - GAP} ${LEAVES + 10}h${GAP}`);
    leaf.entries.forEach(([key, size, live], row) => {
      const times = seen.get(key) || 0;
      seen.set(key, times + 1);
      const fresh = live && (change.added.has(key) || change.moved.has(key));
      const asked = frame.call !== "start" && live && key <= frame.key && frame.key < key + size;
      shapes.set(`e${key}.${times}`, {x: x + 3, y: LEAVES + 34 + row * ROW, to: "entries", classes: classes(leaf).replace(/path|new/g, ""),
        draw: `<rect class="${live ? "live" : "dead"}${fresh ? " fresh" : ""}${asked ? " asked" : ""}" width="${LEAF - 6}" ` +
          `height="${ROW - 2}" rx="3"/><text x="5" y="11.5">${key}${live ? ` +${size}` : ""}</text>`});
    });
  });
  for (let level = 1; level <= frame.nodes[0].level; level++) {
    const y = LEAVES - 84 * level;
    for (const node of frame.nodes.filter(each => each.level === level)) {
      const children = node.entries.filter(e => e[2] && centre.has(e[1])), broad = Math.max(1, node.entries.length) * CELL + 6;
      const middle = children.reduce((sum, e) => sum + centre.get(e[1]), 0) / Math.max(1, children.length);
      const x = Math.min(WIDTH - broad - 2, Math.max(2, middle - broad / 2));
      centre.set(node.id, x + broad / 2);
      shapes.set(`n${node.id}`, {x, y, to: "nodes", classes: classes(node), draw:
        `<rect class="card" width="${broad}" height="42" rx="5"/><text class="note" x="5" y="13">${node.low} to ${keyText(node.last)}</text>`});
      node.entries.forEach(([key, child, live], i) => {
        shapes.set(`s${node.id}.${key}`, {x: x + 3 + i * CELL, y: y + 18, to: "entries", classes: "moving", draw:
          `<rect class="${live ? "inner" : "dead"}" width="${CELL - 2}" height="20" rx="3"/><text x="${(CELL - 2) / 2}" y="14" ` +
          `text-anchor="middle">${key}</text>`});
        if (live && centre.has(child)) {
          const under = level === 1 ? LEAVES : LEAVES - 84 * (level - 1), from = x + 3 + i * CELL + CELL / 2 - 1;
          links.push(`M${from} ${y + 38}C${from} ${y + 62} ${centre.get(child)} ${under - 24} ${centre.get(child)} ${under}`);
        }
      });
    }
  }
  const asked = leaves.find(leaf => path.has(leaf.id));
  return {shapes, links, change, middle: asked ? centre.get(asked.id) : WIDTH / 2, strip: LEAVES + 198, wide: WIDTH};
}

// The board is as wide as the leaves, and never narrower than eight.
const width = n => Math.max(8, leavesOf(frames[n]).length) * (LEAF + GAP) + 20;

function draw() {
  const frame = frames[at], {shapes, links, change, middle, strip, wide} = layout(at), board = $("board"), scale = (wide - 20) / KEYS;
  const svg = board.firstElementChild, STRIP = strip;
  svg.setAttribute("viewBox", `0 0 ${wide} ${strip + 46}`);
  svg.style.minWidth = `${Math.round(wide * .7)}px`;
  const there = new Map([...document.querySelectorAll("[data-name]")].map(element => [element.dataset.name, element]));
  for (const [name, shape] of shapes) {
    let group = there.get(name);
    const place = `translate(${shape.x}px,${shape.y}px)`;
    if (!group) {
      group = document.createElementNS("http://www.w3.org/2000/svg", "g");
      group.dataset.name = name;
      $(shape.to).append(group);
    }
    there.delete(name);
    group.setAttribute("class", shape.classes);
    group.innerHTML = shape.draw;
    group.style.transform = place;
  }
  for (const group of there.values()) group.remove();
  $("links").innerHTML = links.map(d => `<path class="link" d="${d}"/>`).join("");
  const items = leavesOf(frame).flatMap(leaf => leaf.entries).filter(e => e[2]);
  $("strip").innerHTML = `<rect class="cell" x="10" y="${STRIP}" width="${KEYS * scale}" height="20"/>` +
    items.map(([key, size]) => `<rect class="item${change.added.has(key) ? " fresh" : ""}" x="${10 + key * scale}" y="${STRIP + 2}" ` +
      `width="${size * scale}" height="16"/>`).join("") +
    [0, 2000, 4000, 6000, 8000, 10000].map(key => `<text class="note" x="${10 + key * scale}" y="${STRIP + 36}" text-anchor="` +
      `${key === 0 ? "start" : key === KEYS ? "end" : "middle"}">${key}</text>`).join("");
  board.scrollLeft = middle / wide * board.scrollWidth - board.clientWidth / 2; // where it does not fit
  $("said").textContent = said(at);
  $("place").value = at;
  $("count").textContent = `${at} of ${frames.length - 1}`;
  for (const button of $("parts").children)
    button.setAttribute("aria-current", button.textContent === frame.part);
  $("back").disabled = $("first").disabled = at === 0;
  $("forward").disabled = $("last").disabled = at === frames.length - 1;
  proposeMeeting();
  document.body.dataset.drawn = at;
}

function go(to) {
  at = Math.min(frames.length - 1, Math.max(0, to));
  if (at === frames.length - 1) pause();
  draw();
}

function pause() {
  clearInterval(timer);
  timer = 0;
  $("play").textContent = "Play";
  $("play").setAttribute("aria-label", "Play");
}

function toggle() {
  if (timer) return pause();
  if (at === frames.length - 1) at = -1;
  timer = setInterval(() => go(at + 1), 900);
  $("play").textContent = "Pause";
  $("play").setAttribute("aria-label", "Pause");
  go(at + 1);
}


// The parts of the story, one button each.
function tell(calls, to) {
  story = calls;
  frames = run(story);
  $("place").max = frames.length - 1;
  $("parts").replaceChildren(...[...new Set(frames.map(frame => frame.part))].map(part => {
    const button = document.createElement("button");
    button.textContent = part;
    button.onclick = () => { pause(); go(frames.findIndex(frame => frame.part === part)); };
    return button;
  }));
  if (story.some(step => step.part === "Yours")) {
    const button = document.createElement("button");
    button.textContent = "Begin again";
    button.onclick = begin;
    $("parts").append(button);
  }
  go(to);
}

function begin() {
  pause();
  const calls = lesson();
  tell(calls, calls.findIndex(step => step.part === "Look up"));
}

const whole = (id, least, most) => Math.min(most, Math.max(least, Math.floor(Number($(id).value)) || 0));

$("yours").onsubmit = event => {
  event.preventDefault();
  pause();
  const call = $("call").value, step = {part: "Yours", call, key: whole("key", 0, KEYS - 1), size: whole("size", 1, KEYS), align: 1};
  step.size = call === "erase" || call === "lookup" ? 1 : Math.min(step.size, call === "insert" ? KEYS - step.key : KEYS);
  tell([...story.slice(0, at + 1), step], at + 1);
};
$("call").onchange = () => {
  const call = $("call").value;
  $("keybox").hidden = call in POLICIES;
  $("sizebox").hidden = call === "erase" || call === "lookup";
};

/* ---- two threads ---- */

const place = step => step.level ? (step.low || step.level < frames[at].nodes[0].level ? `the inner node from ${step.low}` : "the root")
  : `the leaf from ${step.low}`;
const version = value => `version ${Math.floor(value / 8)}` + (value & 1 ? ", locked" : "");

function result({call, key, size, result}) {
  if (call === "lookup") return result ? `no item covers ${key}` : `found an item that covers ${key}`;
  if (call === "insert") return result === EEXIST ? `refused: an item is in ${rangeText(key, size)}` : result ? "no memory" : `inserted ${rangeText(key, size)}`;
  return result ? `no item begins at ${key}` : `erased the item at ${key}`;
}

/* Rows of the table. Reads between two looks at a lockword are one row, and so is the way down to the leaf, unless a node on it
   has changed. A thread's first look at a lockword remembers it, the next one compares it. */
function rowsOf(steps) {
  const rows = [], seen = {A: new Map(), B: new Map()}, held = {};
  for (const step of steps) {
    const {thread, kind, node, field, value, level} = step, mine = seen[thread], last = rows.at(-1);
    const row = {thread, node, text: "", mood: ""};
    if (kind === "done" || kind === "waits") {
      mine.clear();
      Object.assign(row, kind === "done" ? {text: `Done: ${result(step.frame)}.`, mood: "good"}
        : {text: "Waits. It begins again when the lock is free.", mood: "again"});
    } else if (field !== "lockword") {
      if (level && kind === "reads") continue;
      if (last && last.node === node && last.thread === thread && last.fields) {
        last[kind === "reads" ? "fields" : "written"].add(field);
        continue;
      }
      Object.assign(row, {fields: new Set(), written: new Set(), where: place(step)})[kind === "reads" ? "fields" : "written"].add(field);
    } else {
      const where = place(step);
      row.lock = value;
      if (kind === "locks") {
        row.text = `Locks ${where}, which has not changed.`;
        held[thread] = node;
      } else if (kind === "writes") {
        row.text = `Unlocks ${where}. The version has changed.`;
        held[thread] = null;
        mine.delete(node);
      } else if (held[thread] === node) continue; // its own lock
      else if (value & 1) Object.assign(row, {text: `Finds ${where} locked.`, mood: "again"});
      else if (!mine.has(node)) {
        mine.set(node, value);
        if (level && last && last.thread === thread && last.way) {
          last.way.push(where);
          last.lock = value;
          continue;
        }
        Object.assign(row, level ? {way: [where]} : {text: `Remembers the lockword of ${where}.`});
      } else if (mine.get(node) === value) {
        if (level) continue;
        Object.assign(row, {text: `Compares the lockword of ${where}: unchanged, so what was read is right.`, mood: "good"});
      } else {
        Object.assign(row, {text: `Compares the lockword of ${where}: ${version(value)}, not ${version(mine.get(node))}. What was read is void: ` +
          "begins again.", mood: "again"});
        mine.clear();
      }
    }
    rows.push(row);
  }
  const list = set => [...set].join(", ");
  return rows.filter(row => !row.fields || row.written.size || list(row.fields) !== "header").map(row =>
    ({...row, text: row.way ? `Goes down by ${row.way.join(" and ")}.` : !row.fields ? row.text
      : row.written.size ? `Changes ${row.where}: ${list(row.written)}.` : `Reads ${row.where}: ${list(row.fields)}.`}));
}

// The leaf that covers A's key, and its first item.
const leafAt = key => leavesOf(frames[at]).find(leaf => covers(leaf, key));

function showMeeting() {
  const call = name => ({call: $(name).value, key: whole(`${name}key`, 0, KEYS - 1), size: 1});
  const a = call("a"), b = call("b"), base = story.slice(0, at + 1);
  let met;
  try {
    met = meet(base, a, b, Number($("when").value));
  } catch (error) {
    if (!(error instanceof Waits)) throw error;
    $("met").textContent = "Each of them waits for the other here, which the page cannot show: a call that began inside another one cannot wait for it.";
    $("meeting").replaceChildren();
    return;
  }
  $("when").max = met.length;
  const when = Number($("when").value), rows = rowsOf(met.steps), again = rows.filter(row => row.mood === "again").length;
  $("whentext").textContent = when >= met.length ? "when A has ended" : `${when + 1} of ${met.length}`;
  $("met").textContent = met.right ? again ? "They meet: one of them begins again or waits, and both results are right."
    : "They do not disturb each other here, and both results are right." : "The index is not as its invariants say.";
  const table = document.createElement("table");
  table.innerHTML = "<tr><th>thread A</th><th>lockword there</th><th>thread B</th></tr>" + rows.map(row => {
    const text = `<td class="${row.mood}" data-thread="${row.thread}">${row.text}</td>`, lock = row.lock === undefined ? "" : version(row.lock);
    return `<tr>${row.thread === "A" ? text : "<td></td>"}<td class="lock${row.lock & 1 ? " held" : ""}">${lock}</td>` +
      `${row.thread === "B" ? text : "<td></td>"}</tr>`;
  }).join("");
  $("meeting").replaceChildren(table);
}

// A looks up the first item of the leaf that the step shown is about; B inserts behind it, while A reads the leaf.
function proposeMeeting() {
  const leaf = leafAt(frames[at].key) || leavesOf(frames[at])[0], item = leaf.entries.find(e => e[2]);
  $("akey").value = item ? item[0] : leaf.low;
  $("bkey").value = item ? item[0] + item[1] : leaf.low + 1;
  const {steps, length} = meet(story.slice(0, at + 1), {call: $("a").value, key: whole("akey", 0, KEYS - 1), size: 1}, {call: "lookup", key: 0, size: 1}, 1e9);
  $("when").max = length;
  const mine = steps.filter(step => step.thread === "A" && step.field), first = mine.findIndex(step => !step.level && step.field === "lockword");
  const held = mine.findIndex(step => !step.level && step.kind === "locks");
  $("when").value = held < 0 ? first + 2 : held + 2;
  showMeeting();
}

for (const id of ["b", "akey", "bkey"]) $(id).onchange = showMeeting;
$("a").onchange = proposeMeeting;
$("when").oninput = showMeeting;
$("threads").onsubmit = event => event.preventDefault();

$("place").oninput = event => { pause(); go(Number(event.target.value)); };
for (const [id, to] of [["first", () => 0], ["back", () => at - 1], ["forward", () => at + 1], ["last", () => frames.length - 1]])
  $(id).onclick = () => { pause(); go(to()); };
$("play").onclick = toggle;
document.addEventListener("keydown", event => {
  const to = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: frames.length - 1}[event.key];
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.type === "range" || ["INPUT", "SELECT"].includes(event.target.tagName)) return;
  if (event.key === " " && event.target.tagName !== "BUTTON") toggle();
  else if (to !== undefined) { pause(); go(to); }
  else return;
  event.preventDefault();
});

load($("code").textContent).then(begin, error => {
  $("said").textContent = `This browser cannot run the page (${error.message}): it needs WebAssembly and DecompressionStream.`;
});
