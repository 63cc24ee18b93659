"use strict";
// The data is made in xir/explore/document.py, which says what it holds. All of it is shown as text, never as markup:
// it comes from files that nobody vouches for.

const SVG = "http://www.w3.org/2000/svg";
const CHUNK = 200; // lines; the browser lays out those chunks alone that are in sight
const CONTEXT = 3; // unchanged lines around a change
const KINDS = [
  ["matrix", "light-dark(#cfe3ff, #1f4475)", /conv|linear|fully_connected|matrix|attention|^(add|b|)b?mm$|matmul/],
  ["reduction", "light-dark(#e6d8fb, #46306b)", /pool|mean|sum|reduce|norm|softmax|^arg|^a?max$|^a?min$|^var/],
  ["conversion", "light-dark(#ffe7c2, #5f4416)", /convert|quanti|^qd$|qparams|to_copy|^to$/],
  ["movement", "light-dark(#d9f2dc, #1e4d2b)",
    /reshape|view|transpose|permute|slice|cat|pad|expand|squeeze|select|copy|clone|resize|upsample|flatten|split|index/],
  ["input or output", "light-dark(#e9ebee, #333a44)", /^input$|^return$|^yield$|^signature$/],
  ["other", "light-dark(#fdf6d8, #4d4516)", /./],
];

const VIEWS = ["graph", "text", "changes", "remarks", "charts"];

const $ = (id) => document.getElementById(id);
const state = { stage: 0, op: -1, view: "graph", query: "", hits: [], scale: 1, x: 0, y: 0 };
let data;

// --- Elements ---------------------------------------------------------------------------------------------------------

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function draw(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// --- Data -------------------------------------------------------------------------------------------------------------

async function unpack() {
  const packed = Uint8Array.from(atob($("data").textContent.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

const text = (number) => data.strings[number];

/** What follows from a stage's data, worked out when the stage is first shown. */
function prepared(stage) {
  if (stage.users) return stage;
  stage.users = stage.ops.map(() => []);
  stage.owner = new Array(stage.lines.length).fill(-1);
  stage.ops.forEach((op, index) => {
    for (const producer of new Set(op.operands.map(([owner]) => owner))) {
      if (producer >= 0) stage.users[producer].push(index);
    }
    if (text(op.name) === "block argument") return;
    for (let line = op.span[0]; line <= op.span[1]; line++) stage.owner[line] = index;
  });
  stage.changed = new Set();
  for (const [, , from, to] of stage.diff ?? []) {
    for (let line = from; line < to; line++) {
      const op = stage.owner[line];
      if (op >= 0 && stage.ops[op].span[0] === line) stage.changed.add(op);
    }
  }
  stage.byPlace = new Map();
  stage.ops.forEach((op, index) => {
    for (const place of op.places) {
      if (!stage.byPlace.has(place)) stage.byPlace.set(place, []);
      stage.byPlace.get(place).push(index);
    }
  });
  stage.node = new Map(stage.graph.nodes.map((node) => [node.op, node]));
  return stage;
}

const current = () => prepared(data.stages[state.stage]);
const isLast = (stage) => stage === data.stages[data.stages.length - 1];

/** The ops of a stage that come from one of these places. */
function opsAt(stage, places) {
  return [...new Set(places.flatMap((place) => prepared(stage).byPlace.get(place) ?? []))];
}

function timeOf(stage, op) {
  return isLast(stage) ? data.times.get(op) : undefined;
}

function nameOf(op) {
  const results = op.results.map(([name]) => text(name)).filter(Boolean).join(", ");
  const label = text(op.label);
  return results && results !== label ? `${results} = ${label}` : label;
}

function placeText(place) {
  const [file, line, module, op, name] = data.places[place];
  const where = file ? `${file}:${line}` : "";
  return [where, module, op, name].filter(Boolean).join("  ·  ");
}

function microseconds(time) {
  if (time > 0 && time < 1) return `${Math.max(Math.round(time * 1000), 1)} ns`;
  return time >= 1000 ? `${(time / 1000).toFixed(2)} ms` : `${time.toFixed(time < 10 ? 1 : 0)} µs`;
}

function count(number) {
  for (const [size, letter] of [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1e3, " k"]]) {
    if (number >= size) return `${(number / size).toPrecision(3)}${letter}`;
  }
  return `${number}`;
}

// --- Stages -----------------------------------------------------------------------------------------------------------

function showStages() {
  $("stages").replaceChildren(
    ...data.stages.flatMap((stage, index) => {
      let removed = 0, added = 0;
      for (const [a, b, c, d] of stage.diff ?? []) {
        removed += b - a;
        added += d - c;
      }
      const size = stage.diff ? `+${added} −${removed}` : `${stage.lines.length} lines`;
      const button = make("button", { onclick: () => go({ stage: index }), title: stage.summary },
        make("small", {}, size), stage.name);
      if (!stage.idle.length) return [button];
      const passes = stage.idle.length === 1 ? "1 pass" : `${stage.idle.length} passes`;
      return [button, make("details", {}, make("summary", {}, `${passes} changed nothing`),
        ...stage.idle.map((name) => make("div", {}, name)))];
    }),
  );
}

// --- Graph ------------------------------------------------------------------------------------------------------------

function curve(path) {
  let d = `M${path[0]} ${path[1]}`;
  for (let i = 2; i < path.length; i += 2) {
    const middle = (path[i - 1] + path[i + 1]) / 2;
    d += path[i - 2] === path[i]
      ? `L${path[i]} ${path[i + 1]}`
      : `C${path[i - 2]} ${middle} ${path[i]} ${middle} ${path[i]} ${path[i + 1]}`;
  }
  return d;
}

function showGraph() {
  const stage = current();
  const nodes = stage.graph.nodes.map((node) => {
    const [x, y, width, height] = node.at;
    const group = draw("g", { class: node.box ? "node box" : "node", transform: `translate(${x} ${y})`, "data-op": node.op },
      draw("rect", { width, height }),
      ...node.text.map((line, index) => {
        const place = node.box
          ? { x: 10 + (index ? 7.5 * text(node.text[0]).length + 12 * index : 0), y: 19 }
          : { x: width / 2, y: 18 + 15 * index, "text-anchor": "middle" };
        return draw("text", place, text(line));
      }));
    node.group = group;
    return group;
  });
  const edges = stage.graph.edges.map((edge) => {
    edge.line = draw("path", { d: curve(edge.path) }, draw("title", {}, text(edge.type)));
    return edge.line;
  });
  const boxes = nodes.filter((_, index) => stage.graph.nodes[index].box);
  const others = nodes.filter((_, index) => !stage.graph.nodes[index].box);
  $("scene").replaceChildren(...boxes, ...edges, ...others);
  colour();
}

function kindOf(stage, op) {
  if (text(op.name) === "block argument") return KINDS[4];
  const node = stage.node.get(stage.ops.indexOf(op));
  const label = node ? text(node.text[0]) : text(op.label);
  return KINDS.find(([, , pattern]) => pattern.test(label));
}

function colour() {
  const stage = current();
  const by = $("colours").value;
  const measure = { time: (op) => timeOf(stage, op)?.time, macs: (op) => stage.ops[op].macs, bytes: (op) => stage.ops[op].bytes }[by];
  const values = stage.graph.nodes.map((node) => (measure && !node.box ? measure(node.op) ?? 0 : 0));
  const most = values.reduce((a, b) => Math.max(a, b), 0);
  stage.graph.nodes.forEach((node, index) => {
    if (node.box) return;
    let fill = "var(--paper)";
    if (by === "kind") fill = kindOf(stage, stage.ops[node.op])[1];
    else if (by === "changes" && stage.changed.has(node.op)) fill = "var(--added)";
    // By the square root, or one large node would leave all others white.
    else if (values[index]) fill = `color-mix(in srgb, #e2571e ${Math.round(85 * Math.sqrt(values[index] / most)) + 5}%, var(--paper))`;
    node.group.firstChild.style.fill = fill;
  });
}

function move() {
  $("scene").setAttribute("transform", `translate(${state.x} ${state.y}) scale(${state.scale})`);
}

/** Show a rectangle of the picture as large as it gets, up to `largest` times. */
function zoomTo([x, y, width, height], largest = 1) {
  const frame = $("graph").getBoundingClientRect();
  state.scale = Math.min(largest, (frame.width - 40) / width, (frame.height - 40) / height);
  state.x = frame.width / 2 - state.scale * (x + width / 2);
  state.y = frame.height / 2 - state.scale * (y + height / 2);
  move();
}

function showTop() {
  const [width, height] = current().graph.size;
  const frame = $("graph").getBoundingClientRect();
  // A graph that is too long to be read as a whole begins at its upper end.
  zoomTo([0, 0, width, Math.min(height, frame.height / Math.min(1, (frame.width - 40) / width))]);
}

function centre(op) {
  const node = current().node.get(op);
  if (!node) return;
  const [x, y, width, height] = node.at;
  const frame = $("graph").getBoundingClientRect();
  if (node.box) return zoomTo(node.at);
  state.scale = Math.max(state.scale, 0.6);
  state.x = frame.width / 2 - state.scale * (x + width / 2);
  state.y = frame.height / 2 - state.scale * (y + height / 2);
  move();
}

function handlePointer() {
  const graph = $("graph");
  let from = null;
  graph.addEventListener("pointerdown", (event) => {
    from = { x: event.clientX, y: event.clientY, moved: false };
  });
  graph.addEventListener("pointermove", (event) => {
    if (!from || !event.buttons) return;
    const dx = event.clientX - from.x, dy = event.clientY - from.y;
    if (!from.moved && Math.hypot(dx, dy) < 4) return;
    if (!from.moved) graph.setPointerCapture(event.pointerId);
    from = { x: event.clientX, y: event.clientY, moved: true };
    state.x += dx;
    state.y += dy;
    move();
  });
  graph.addEventListener("click", (event) => {
    if (from?.moved) return;
    const node = event.target.closest(".node");
    choose(node ? Number(node.dataset.op) : -1);
  });
  graph.addEventListener("dblclick", (event) => {
    const node = event.target.closest(".node");
    if (node) centre(Number(node.dataset.op));
  });
  graph.addEventListener("wheel", (event) => {
    event.preventDefault();
    const frame = graph.getBoundingClientRect();
    const x = event.clientX - frame.left, y = event.clientY - frame.top;
    const scale = Math.min(4, Math.max(0.01, state.scale * Math.exp(-event.deltaY * 0.0015)));
    state.x = x - ((x - state.x) * scale) / state.scale;
    state.y = y - ((y - state.y) * scale) / state.scale;
    state.scale = scale;
    move();
  }, { passive: false });
}

// --- Text -------------------------------------------------------------------------------------------------------------

const TOKEN = new RegExp(
  [
    /(?<comment>\/\/.*$)/, /(?<string>"(?:[^"\\]|\\.)*")/, /(?<value>%[\w$.#-]+)/,
    /(?<type>\btensor<[^<>]*(?:<[^<>]*>[^<>]*)*>|![\w.]+|\b(?:[su]?i\d+|b?f\d+|index)\b)/, /(?<op>\b[a-z]\w*\.\w[\w.]*)/,
  ].map((part) => part.source).join("|"), "g");

function coloured(line) {
  const parts = [];
  let end = 0;
  for (const match of line.matchAll(TOKEN)) {
    if (match.index > end) parts.push(line.slice(end, match.index));
    const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    parts.push(make("span", { class: `t-${kind}` }, match[0]));
    end = match.index + match[0].length;
  }
  parts.push(line.slice(end));
  return parts;
}

function row(stage, line) {
  const op = stage.owner[line];
  const element = make("div", { class: "row", "data-number": line + 1 }, ...coloured(data.lines[stage.lines[line]]));
  if (op >= 0) {
    element.dataset.op = op;
    element.addEventListener("click", () => {
      if (getSelection().isCollapsed) choose(op);
    });
  }
  return element;
}

function chunked(rows) {
  const chunks = [];
  for (let start = 0; start < rows.length; start += CHUNK) {
    const part = rows.slice(start, start + CHUNK);
    chunks.push(make("div", { class: "chunk", style: `contain-intrinsic-size: auto ${18 * part.length}px` }, ...part));
  }
  return chunks;
}

function showText() {
  const stage = current();
  $("text").replaceChildren(...chunked(stage.lines.map((_, line) => row(stage, line))));
}

function showChanges() {
  const stage = current();
  if (!stage.diff) {
    $("changes").replaceChildren(make("p", { class: "skipped" }, "This is the first stage: there is nothing to compare it with."));
    return;
  }
  const before = data.stages[state.stage - 1];
  const rows = [];
  let next = 0;
  const unchanged = (to, first, last) => {
    const head = first ? next : Math.min(to, next + CONTEXT), tail = last ? to : Math.max(head, to - CONTEXT);
    for (; next < head; next++) rows.push(row(stage, next));
    if (tail > head) {
      const from = head;
      const skipped = make("div", { class: "skipped" }, `⋯ ${tail - from} equal lines`);
      skipped.addEventListener("click", () => {
        const lines = [];
        for (let line = from; line < tail; line++) lines.push(row(stage, line));
        skipped.replaceWith(...lines);
      });
      rows.push(skipped);
    }
    for (next = Math.max(tail, next); next < to; next++) rows.push(row(stage, next));
  };
  stage.diff.forEach(([a, b, c, d], index) => {
    unchanged(c, index === 0, false);
    for (let line = a; line < b; line++) {
      rows.push(make("div", { class: "row removed", "data-number": "−" }, ...coloured(data.lines[before.lines[line]])));
    }
    for (; next < d; next++) {
      const added = row(stage, next);
      added.classList.add("added");
      rows.push(added);
    }
  });
  unchanged(stage.lines.length, stage.diff.length === 0, true);
  $("changes").replaceChildren(...rows);
}

// --- Remarks ----------------------------------------------------------------------------------------------------------

function remarkItem(remark) {
  const at = data.stages.findIndex((stage) => opsAt(stage, remark.places).length);
  const link = make("a", {}, remark.where);
  if (at >= 0) {
    link.addEventListener("click", () => {
      const stage = opsAt(current(), remark.places).length ? state.stage : at;
      go({ stage, op: opsAt(data.stages[stage], remark.places)[0], view: "graph" });
    });
  }
  return make("li", {}, make("span", { class: remark.severity }, `${remark.severity}: `),
    `${remark.message} — `, at >= 0 ? link : remark.where,
    ...remark.notes.map((note) => make("div", { class: "faint" }, note)));
}

function showRemarks() {
  const list = data.remarks.length
    ? make("ul", {}, ...data.remarks.map(remarkItem))
    : make("p", { class: "faint" }, "No pass had anything to say.");
  $("remarks").replaceChildren(list);
}

// --- Details ----------------------------------------------------------------------------------------------------------

function section(title, ...children) {
  return children.length ? [make("h3", {}, title), ...children] : [];
}

function link(stage, op) {
  return make("a", { onclick: () => go({ stage: data.stages.indexOf(stage), op }) }, nameOf(stage.ops[op]));
}

function items(children) {
  return children.length ? [make("ul", {}, ...children.map((child) => make("li", {}, ...child)))] : [];
}

function related(stage, title, op) {
  if (stage === current()) return [];
  const found = opsAt(stage, op.places).slice(0, 20);
  return section(title, ...items(found.map((other) => {
    const took = timeOf(stage, other);
    return [link(stage, other), ...(took ? [` ${microseconds(took.time)}`] : [])];
  })));
}

function bar(share) {
  return make("div", { class: "bar" }, make("i", { style: `width: ${(100 * share).toFixed(1)}%` }));
}

/** How far the layers that an op comes from are from the float program. */
function errorsOf(op) {
  const names = [...new Set(op.places.map((place) => data.places[place][4]))].filter((name) => data.errors[name]);
  const decibels = (ratio) => (ratio === null ? "exact" : `${ratio.toFixed(1)} dB`);
  return names.flatMap((name) => {
    const [own, sqnr, outputs] = data.errors[name].map(decibels);
    const layer = data.charts?.layers.find((each) => each.name === name);
    return [make("p", {}, `${name}: ${sqnr} from the float program`,
      make("span", { class: "faint" }, `, ${own} on exact operands; outputs ${outputs} with its noise alone`)),
    ...(layer?.histogram.length ? [histogram(layer, 300, 90)] : [])];
  });
}

function opDetails(stage, index) {
  const op = stage.ops[index];
  const took = timeOf(stage, index);
  const [first, last] = op.span;
  const lines = stage.lines.slice(first, Math.min(last + 1, first + 5)).map((line) => data.lines[line]);
  const indent = Math.min(...lines.map((line) => line.search(/\S|$/)));
  const remarks = data.remarks.filter((remark) => remark.places.some((place) => op.places.includes(place)));
  const around = op.parent >= 0 ? section("Inside", make("p", {}, link(stage, op.parent))) : [];
  return [
    make("h2", {}, nameOf(op)),
    make("p", { class: "faint" }, `${text(op.name)}, line ${first + 1}`),
    make("pre", {}, make("code", {}, ...coloured(lines.map((line) => line.slice(indent)).join("\n") + (last > first + 4 ? "\n…" : "")))),
    ...section("Source", ...op.places.map((place) => make("p", {}, placeText(place)))),
    ...(took ? section("Time", make("p", {},
      `${microseconds(took.time)}, ${((100 * took.time) / data.profile.total).toFixed(1)} % of an execution`),
      bar(took.time / data.profile.total), ...took.operators.map((name) => make("p", { class: "faint" }, name))) : []),
    ...(op.macs || op.bytes ? section("Cost",
      ...(op.macs ? [make("p", {}, `${count(op.macs)} multiply-adds`)] : []),
      ...(op.bytes ? [make("p", {}, `${count(op.bytes).replace(/[\d.]$/, "$& ")}B in and out`)] : []),
      ...(op.macs && took?.time ? [make("p", {}, `${(op.macs / took.time / 1000).toFixed(1)} G multiply-adds a second`)] : [])) : []),
    ...section("After quantisation", ...errorsOf(op)),
    ...section("Remarks", ...items(remarks.map((remark) => [make("span", { class: remark.severity }, `${remark.severity}: `), remark.message]))),
    ...section("Results", ...items(op.results.map(([name, type]) => [`${text(name)} `, make("code", { class: "t-type" }, text(type))]))),
    ...section("Operands", ...items(op.operands.map(([owner, name, type]) => [
      owner >= 0 ? link(stage, owner) : text(name), " ", make("code", { class: "t-type" }, text(type))]))),
    ...section("Users", ...items(stage.users[index].map((user) => [link(stage, user)]))),
    ...related(data.stages[0], "Comes from, in the first stage", op),
    ...related(data.stages[data.stages.length - 1], "Becomes, in the last stage", op),
    ...around,
  ];
}

function legend(stage) {
  const by = $("colours").value;
  const entry = (fill, name) => make("p", { class: "legend" }, make("i", { style: `background: ${fill}` }), name);
  if (by === "kind") return KINDS.map(([name, fill]) => entry(fill, name));
  if (by === "changes") return [entry("var(--added)", stage.diff ? "new or changed by the pass" : "nothing: this is the first stage")];
  if (by === "time" && !isLast(stage)) return [make("p", {}, "Times are those of the last stage.")];
  return [entry("#e2571e", `the most ${{ time: "time", macs: "multiply-adds", bytes: "bytes" }[by]}`), entry("var(--paper)", "none")];
}

function stageDetails(stage) {
  const groups = new Map();
  for (const node of stage.graph.nodes) {
    if (node.box) continue;
    const label = text(node.text[0]);
    const group = groups.get(label) ?? { ops: [], time: 0, macs: 0 };
    group.ops.push(node.op);
    group.time += timeOf(stage, node.op)?.time ?? 0;
    group.macs += stage.ops[node.op].macs ?? 0;
    groups.set(label, group);
  }
  const sorted = [...groups].sort(([, a], [, b]) => b.time - a.time || b.macs - a.macs || b.ops.length - a.ops.length);
  const profile = isLast(stage) && data.profile;
  return [
    make("h2", {}, stage.name), make("p", {}, stage.summary),
    ...section("Colours", ...legend(stage)),
    ...(profile ? section("Profile",
      make("p", {}, `${microseconds(profile.total)} an execution, on average of ${profile.executions}`),
      ...(profile.unexplained ? [make("p", { class: "faint" },
        `${microseconds(profile.unexplained)} in operators that no one node explains`)] : [])) : []),
    ...section("Ops", ...items(sorted.map(([label, group]) => [
      make("a", { onclick: () => find(label) }, `${group.ops.length} × ${label}`),
      ...(group.time ? [` ${microseconds(group.time)}`] : group.macs ? [` ${count(group.macs)} multiply-adds`] : []),
      ...(group.time ? [bar(group.time / data.profile.total)] : []),
    ]))),
  ];
}

function showDetails() {
  const stage = current();
  $("details").replaceChildren(...(state.op >= 0 ? opDetails(stage, state.op) : stageDetails(stage)));
  $("details").scrollTop = 0;
}

// --- Search -----------------------------------------------------------------------------------------------------------

function searched(stage, op) {
  op.searched ??= [text(op.name), text(op.label), ...op.results.flat().map(text), ...op.places.map(placeText),
    data.lines[stage.lines[op.span[0]]]].join("\n").toLowerCase();
  return op.searched;
}

/** Find the ops with all words of the query; boxes and constants are found as well. */
function search() {
  const stage = current();
  const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
  state.hits = words.length
    ? stage.ops.flatMap((op, index) => (op.parent >= 0 && words.every((word) => searched(stage, op).includes(word)) ? [index] : []))
    : [];
  mark();
}

function find(query) {
  $("search").value = state.query = query;
  search();
  step(1);
}

function step(by) {
  if (!state.hits.length) return;
  const at = state.hits.indexOf(state.op);
  const next = at < 0 ? (by > 0 ? 0 : state.hits.length - 1) : (at + by + state.hits.length) % state.hits.length;
  choose(state.hits[next], true);
}

// --- What is chosen ---------------------------------------------------------------------------------------------------

/** The node that shows an op: its own, or that of the first op that reads a constant. */
function shownAs(stage, op) {
  if (op < 0 || stage.node.has(op)) return op;
  return stage.users[op].find((user) => stage.node.has(user)) ?? op;
}

function mark() {
  const stage = current();
  const hits = new Set(state.hits), shown = shownAs(stage, state.op);
  const hitNodes = new Set(state.hits.map((op) => shownAs(stage, op)));
  const beside = new Set();
  for (const edge of stage.graph.edges) {
    const touches = state.op >= 0 && (edge.from === shown || edge.to === shown);
    edge.line?.classList.toggle("beside", touches);
    if (touches) beside.add(edge.from).add(edge.to);
  }
  for (const node of stage.graph.nodes) {
    node.group?.classList.toggle("chosen", state.op >= 0 && node.op === shown);
    node.group?.classList.toggle("beside", beside.has(node.op));
    node.group?.classList.toggle("found", hitNodes.has(node.op));
  }
  for (const element of document.querySelectorAll(".code .row[data-op]")) {
    const op = Number(element.dataset.op);
    element.classList.toggle("chosen", op === state.op);
    element.classList.toggle("found", hits.has(op));
  }
  const at = state.hits.indexOf(state.op);
  $("found").textContent = !state.query ? "" : `${at >= 0 ? `${at + 1} of ` : ""}${state.hits.length} found`;
}

function reveal() {
  if (state.op < 0) return;
  if (state.view === "graph") centre(shownAs(current(), state.op));
  else $(state.view).querySelector(".row.chosen, .layer.chosen")?.scrollIntoView({ block: "nearest" });
}

function choose(op, revealed = false) {
  state.op = op;
  showDetails();
  mark();
  if (revealed) reveal();
  note();
}

/** Show a stage, a view of it, or an op. */
function go({ stage = state.stage, op, view = state.view }) {
  const places = op === undefined && stage !== state.stage && state.op >= 0 ? current().ops[state.op].places : [];
  const isNew = stage !== state.stage || !current().shown;
  state.stage = stage;
  state.view = view;
  if (isNew) {
    for (const each of data.stages) each.shown = false;
    current().shown = true;
    state.op = op ?? opsAt(current(), places)[0] ?? -1;
    [...$("stages").querySelectorAll("button")].forEach((button, index) => button.setAttribute("aria-current", index === stage));
    $("about").textContent = current().summary;
    for (const id of ["text", "changes"]) $(id).replaceChildren();
    showGraph();
  } else if (op !== undefined) state.op = op;
  for (const button of $("views").querySelectorAll("[data-view]")) button.setAttribute("aria-selected", button.dataset.view === view);
  for (const id of VIEWS) $(id).toggleAttribute("hidden", id !== view);
  $("fit").hidden = view !== "graph";
  // Texts are made when they are looked at: a large one takes a moment.
  if (view === "text" && !$("text").firstChild) showText();
  if (view === "changes" && !$("changes").firstChild) showChanges();
  if (isNew) {
    search();
    if (state.op < 0 && view === "graph") showTop();
  }
  choose(state.op, true);
}

// --- The address ------------------------------------------------------------------------------------------------------

function note() {
  const parts = [`stage=${state.stage}`, `view=${state.view}`, ...(state.op >= 0 ? [`op=${state.op}`] : [])];
  history.replaceState(null, "", `#${parts.join("&")}`);
}

function noted() {
  const address = new URLSearchParams(location.hash.slice(1));
  const number = (name, below) => {
    const value = Number(address.get(name) ?? NaN);
    return Number.isInteger(value) && value >= 0 && value < below ? value : undefined;
  };
  const stage = number("stage", data.stages.length) ?? data.stages.length - 1;
  const view = VIEWS.find((name) => name === address.get("view") && (name !== "charts" || data.charts));
  return { stage, view: view ?? "graph", op: number("op", data.stages[stage].ops.length) };
}

// --- The beginning ----------------------------------------------------------------------------------------------------

function handleKeys(event) {
  if (event.key === "Escape") {
    if (document.activeElement === $("search")) $("search").blur();
    else choose(-1);
  }
  if (/^(INPUT|SELECT)$/.test(document.activeElement.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    event.preventDefault();
    $("search").select();
  } else if (event.key === "n" || event.key === "N") step(event.key === "n" ? 1 : -1);
  else if (event.key === "[" && state.stage > 0) go({ stage: state.stage - 1 });
  else if (event.key === "]" && state.stage + 1 < data.stages.length) go({ stage: state.stage + 1 });
}

async function start() {
  data = await unpack();
  data.times = new Map((data.profile?.ops ?? []).map(([op, time, operators]) => [op, { time, operators }]));
  $("title").textContent = data.title;
  const remarks = data.remarks.length === 1 ? "1 remark" : `${data.remarks.length} remarks`;
  $("totals").textContent = [`${data.stages.length === 1 ? "1 stage" : `${data.stages.length} stages`}`, remarks,
    ...(data.profile ? [`${microseconds(data.profile.total)} an execution`] : [])].join(", ");
  for (const option of $("colours").options) option.disabled = option.value === "time" && !data.profile;
  if (data.profile) $("colours").value = "time";
  showStages();
  showRemarks();
  showCharts();
  handlePointer();
  document.addEventListener("keydown", handleKeys);
  $("colours").addEventListener("change", () => {
    colour();
    showDetails();
  });
  $("fit").addEventListener("click", () => zoomTo([0, 0, ...current().graph.size]));
  for (const button of $("views").querySelectorAll("[data-view]")) button.addEventListener("click", () => go({ view: button.dataset.view }));
  $("search").addEventListener("input", () => {
    state.query = $("search").value;
    search();
  });
  $("search").addEventListener("keydown", (event) => {
    if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
  });
  const first = noted();
  state.stage = first.stage;
  go(first);
  document.body.dataset.ready = "yes";
}

start().catch((error) => {
  document.body.textContent = `This page needs a browser of 2024 or later: ${error}`;
  throw error;
});
