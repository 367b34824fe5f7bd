// Draws a schedule at a chosen time: the graph, the links over time, and what is still missing.
import { AXIS, paintTimes, redraws, sharp } from "../../../base/pages/canvas.js";
import { Choice } from "../../../base/pages/choice.js";
import { element } from "../../../base/pages/dom.js";
import { inksOf, legendOf } from "../../../base/pages/inks.js";
import { duration as durationOf } from "../../../base/pages/numbers.js";

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const sends = data.sends;
const total = Math.max(data.time_ps, 1);
const critical = new Set(data.critical);
const STEPS = 1000;

const duration = (ps) => durationOf(ps / 1000);

// ---- colours: of sends by one of their figures, or of links by how busy they are
const BUSY = "busy";
const ranges = 6;
const busyInk = (per_cent) => color(`r${Math.min(ranges - 1, Math.floor((per_cent * ranges) / 100))}`);
const busyLegend = () => Array.from({ length: ranges }, (_, step) => ({ color: color(`r${step}`), text: `${Math.round((100 * step) / ranges)} to ${Math.round((100 * (step + 1)) / ranges)} %` }));

// How long a chunk lies at the source of each send before it goes on.
function waits() {
  const chunks = Math.max(1, data.chunks);
  const isSum = sends.reduce.some(Boolean);
  const ends = new Map();
  sends.link.forEach((link, i) => {
    const key = data.destinations[link] * chunks + sends.chunk[i];
    if (!ends.has(key)) ends.set(key, []);
    ends.get(key).push(sends.end[i]);
  });
  return sends.link.map((link, i) => {
    const come = (ends.get(data.sources[link] * chunks + sends.chunk[i]) ?? []).filter((end) => end <= sends.start[i]);
    return sends.start[i] - (come.length ? (isSum ? Math.max : Math.min)(...come) : 0);
  });
}
const FIGURES = sends ? [
  ["chunk", "chunk", sends.chunk, (value) => `chunk ${value}`], ["waits", "wait before it goes on", waits(), duration],
  ["held", "time on its link", sends.held, duration], ["start", "start", sends.start, duration],
] : [];
const offered = [...FIGURES.map(([name, title]) => [name, title]), ...(data.use ? [[BUSY, "how busy a link is"]] : [])];
const chosen = new Choice("colour", ["chunk", BUSY], () => { inks = null; lanesPicture = null; draw(); });
chosen.offer(offered);
const legend = element("div", {});
if (offered.length) byId("state").before(element("div", { class: "row" }, chosen.root, legend));
let inks = null;
function hue(send) {
  if (chosen.value === BUSY) return color("ink");
  const [, , values, say] = FIGURES.find(([name]) => name === chosen.value) ?? FIGURES[0];
  inks ??= inksOf(values, say, color);
  return inks.of(values[send]);
}
function tellColours() {
  if (!offered.length) return;
  if (chosen.value !== BUSY) hue(0);
  legend.replaceChildren(legendOf(chosen.value === BUSY ? busyLegend() : inks.legend));
}

const state = { time: 0, timer: null, chunk: null };
const now = () => Math.round((state.time / STEPS) * total);

// ---- the graph
const graph = byId("graph");
const twoWay = new Set(data.sources.map((source, i) => `${source} ${data.destinations[i]}`));
let spots = [];
let frame = [0, 0];

function place(width, height) {
  const margin = 44;
  frame = [width, height];
  const scale = Math.min(width - 2 * margin, height - 2 * margin);
  const left = (width - scale) / 2;
  spots = data.places.map(([x, y]) => [left + x * scale, margin + y * scale]);
  // What lies flat in the square gets the width of the page.
  const low = Math.min(...data.places.map(([, y]) => y));
  const high = Math.max(...data.places.map(([, y]) => y));
  if (high - low < 0.5) spots = data.places.map(([x, y]) => [margin + x * (width - 2 * margin), margin + ((y - low) / Math.max(high - low, 0.01)) * (height - 2 * margin)]);
}

// Links of both directions run side by side; those along a row of nodes bend round the nodes between.
function curve(link) {
  const [x1, y1] = spots[data.sources[link]];
  const [x2, y2] = spots[data.destinations[link]];
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const both = twoWay.has(`${data.destinations[link]} ${data.sources[link]}`);
  const bend = (both ? 3 : 0) + (length > 1.5 * spacing ? 0.08 * length : 0);
  const cx = (x1 + x2) / 2 - ((y2 - y1) / length) * bend;
  const cy = (y1 + y2) / 2 + ((x2 - x1) / length) * bend;
  return [x1, y1, inFrame(cx, x1 + x2, frame[0]), inFrame(cy, y1 + y2, frame[1]), x2, y2];
}
// The middle of a curve is at (ends + 2 c) / 4: it stays on the canvas.
function inFrame(c, ends, size) {
  const rim = 6;
  return Math.min(Math.max(c, (4 * rim - ends) / 2), (4 * (size - rim) - ends) / 2);
}
let spacing = 1;
function along([x1, y1, cx, cy, x2, y2], t) {
  const u = 1 - t;
  return [u * u * x1 + 2 * u * t * cx + t * t * x2, u * u * y1 + 2 * u * t * cy + t * t * y2];
}
function stroke(pen, [x1, y1, cx, cy, x2, y2]) {
  pen.beginPath();
  pen.moveTo(x1, y1);
  pen.quadraticCurveTo(cx, cy, x2, y2);
  pen.stroke();
}

function nearestSpacing() {
  let least = Infinity;
  for (let i = 0; i < data.sources.length; i += Math.max(1, Math.floor(data.sources.length / 5000))) {
    const [a, b] = [spots[data.sources[i]], spots[data.destinations[i]]];
    least = Math.min(least, Math.hypot(a[0] - b[0], a[1] - b[1]));
  }
  return Number.isFinite(least) ? Math.max(least, 1) : 1;
}

function underway(time) {
  const found = [];
  for (let i = 0; i < sends.start.length && sends.start[i] <= time; i += 1) {
    if (sends.end[i] > time && (state.chunk === null || sends.chunk[i] === state.chunk)) found.push(i);
  }
  return found;
}

// What every node has at a time, or of one chunk whether it has it.
function held(time) {
  const has = data.places.map(() => new Set());
  data.at_first[0].forEach((node, i) => has[node].add(data.at_first[1][i]));
  for (let i = 0; i < sends.start.length && sends.start[i] <= time; i += 1) {
    if (sends.end[i] <= time) has[data.destinations[sends.link[i]]].add(sends.chunk[i]);
  }
  return has;
}

function drawGraph() {
  const { pen, width, height } = sharp(graph, Math.min(620, Math.max(320, window.innerHeight - 260), Math.max(240, graph.clientWidth)));
  place(width, height);
  spacing = nearestSpacing();
  const time = now();
  const size = Math.max(1.5, Math.min(9, spacing / 4));
  pen.lineWidth = Math.max(0.4, Math.min(1.2, spacing / 20));
  pen.strokeStyle = color("line");
  const bin = Math.min(199, Math.floor((time / total) * 200));
  if (data.sources.length <= 20000) {
    data.sources.forEach((_, link) => {
      if (chosen.value === BUSY) pen.strokeStyle = data.use[link][bin] ? busyInk(data.use[link][bin]) : color("line");
      stroke(pen, curve(link));
    });
  }
  const has = sends ? held(time) : null;
  const moving = sends ? underway(time) : [];
  pen.lineWidth = Math.max(1, Math.min(2.4, spacing / 12));
  for (const i of chosen.value === BUSY ? [] : moving) {
    pen.strokeStyle = hue(i);
    stroke(pen, curve(sends.link[i]));
  }
  spots.forEach(([x, y], node) => drawNode(pen, x, y, node, size, has, time));
  for (const i of moving) {
    const [x, y] = along(curve(sends.link[i]), (time - sends.start[i]) / Math.max(1, sends.end[i] - sends.start[i]));
    pen.fillStyle = hue(i);
    pen.beginPath();
    pen.arc(x, y, Math.max(2, size * 0.55), 0, 7);
    pen.fill();
  }
}

function drawNode(pen, x, y, node, size, has, time) {
  const done = node < data.npus && data.done_ps[node] <= time;
  pen.fillStyle = done ? color("accent") : color("page");
  if (state.chunk !== null && has) pen.fillStyle = has[node].has(state.chunk) ? color("accent") : color("page");
  pen.strokeStyle = color("ink");
  pen.lineWidth = 1;
  pen.beginPath();
  if (node < data.npus) pen.arc(x, y, size, 0, 7);
  else pen.rect(x - size, y - size, 2 * size, 2 * size);
  pen.fill();
  pen.stroke();
  if (spacing < 12) return; // numbers would run into each other
  pen.font = "9px system-ui, sans-serif";
  pen.textBaseline = "middle";
  if (size >= 7) {
    pen.fillStyle = done || (state.chunk !== null && has && has[node].has(state.chunk)) ? color("page") : color("ink");
    pen.textAlign = "center";
    pen.fillText(String(node), x, y);
  } else {
    pen.fillStyle = color("muted");
    pen.textAlign = "left";
    const wide = pen.measureText(String(node)).width;
    pen.fillText(String(node), Math.min(x + size + 1, frame[0] - wide - 1), Math.max(y - size - 3, 6));
  }
}

graph.addEventListener("pointermove", (event) => {
  const box = graph.getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  let best = -1;
  let least = 20;
  spots.forEach(([px, py], node) => {
    const away = Math.hypot(px - x, py - y);
    if (away < least) { least = away; best = node; }
  });
  if (best >= 0) byId("node").textContent = describe(best);
});

function describe(node) {
  const kind = node < data.npus ? "NPU" : "switch";
  if (!sends) return node < data.npus ? `NPU ${node} has all it wants at ${duration(data.done_ps[node])}` : `switch ${node}`;
  const has = [...held(now())[node]].sort((a, b) => a - b);
  const shown = has.slice(0, 40).join(", ") + (has.length > 40 ? " …" : "");
  const wants = node < data.npus ? `; all it wants at ${duration(data.done_ps[node])}` : "";
  return `${kind} ${node} has received or holds ${has.length} chunks${has.length ? `: ${shown}` : ""}${wants}`;
}

const nodeName = (node) => `${node < data.npus ? "NPU" : "switch"} ${node}`;

// ---- links over time: a row per link, or per node where there are too many
const lanes = byId("lanes");
const perLink = sends && data.sources.length <= 800;
let lanesPicture = null;

function rows() {
  if (perLink || (data.use && data.use.length <= 800)) return data.use.map((use, link) => [`${nodeName(data.sources[link])} to ${nodeName(data.destinations[link])}`, use, link]);
  if (!data.use) return [];
  const sums = data.places.map(() => [0, new Array(200).fill(0)]);
  data.use.forEach((use, link) => {
    const sum = sums[data.sources[link]];
    sum[0] += 1;
    use.forEach((value, bin) => { sum[1][bin] += value; });
  });
  const merged = sums.map(([count, use], node) => [`links out of ${nodeName(node)}`, use.map((value) => value / Math.max(count, 1)), -1]);
  const most = 800;
  const step = Math.ceil(merged.length / most);
  return merged.filter((_, index) => index % step === 0);
}
const allRows = data.use ? rows() : [];
const rowHeight = Math.max(3, Math.min(14, Math.floor(1600 / Math.max(1, allRows.length))));
const GUTTER = 118; // to the left of the rows, for their labels
const RIGHT = 8;

function drawLanes() {
  const { pen, width, height } = sharp(lanes, AXIS + Math.max(20, allRows.length * rowHeight + 2));
  if (lanesPicture && lanesPicture.width === lanes.width && lanesPicture.height === lanes.height) {
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.drawImage(lanesPicture, 0, 0);
  } else {
    paintAxes(pen, width, height);
    pen.save();
    pen.translate(GUTTER, AXIS);
    paintLanes(pen, width - GUTTER - RIGHT);
    pen.restore();
    lanesPicture = document.createElement("canvas");
    lanesPicture.width = lanes.width;
    lanesPicture.height = lanes.height;
    lanesPicture.getContext("2d").drawImage(lanes, 0, 0);
  }
  const ratio = window.devicePixelRatio || 1;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.strokeStyle = color("ink");
  pen.lineWidth = 1;
  const x = GUTTER + (now() / total) * (width - GUTTER - RIGHT);
  pen.beginPath();
  pen.moveTo(x, AXIS);
  pen.lineTo(x, height);
  pen.stroke();
}

function paintAxes(pen, width, height) {
  paintTimes({ pen, width, height }, total / 1000, { left: GUTTER, right: RIGHT, color });
  pen.textAlign = "right";
  const every = Math.ceil(11 / rowHeight);
  allRows.forEach(([name], row) => {
    if (row % every === 0) pen.fillText(name.replace("links ", ""), GUTTER - 6, AXIS + (row + 0.5) * rowHeight + 1, GUTTER - 8);
  });
}

function paintLanes(pen, width) {
  const inner = Math.max(1, rowHeight - 1);
  if (!perLink || chosen.value === BUSY) {
    allRows.forEach(([, use], row) => use.forEach((value, bin) => {
      if (value < 1) return;
      pen.fillStyle = busyInk(value);
      pen.fillRect((bin / 200) * width, row * rowHeight + 1, width / 200 + 0.5, inner);
    }));
    return;
  }
  for (let i = 0; i < sends.start.length; i += 1) {
    const left = (sends.start[i] / total) * width;
    const wide = Math.max(0.5, (sends.held[i] / total) * width - 0.5);
    const top = sends.link[i] * rowHeight + 1;
    pen.fillStyle = hue(i);
    pen.globalAlpha = state.chunk === null || sends.chunk[i] === state.chunk ? 1 : 0.15;
    pen.fillRect(left, top, wide, inner);
    pen.globalAlpha = 1;
    if (critical.has(i)) {
      pen.strokeStyle = color("recompute");
      pen.lineWidth = 2;
      pen.strokeRect(left + 0.5, top, Math.max(1, wide - 1), inner);
    }
  }
}

lanes.addEventListener("pointermove", (event) => {
  const box = lanes.getBoundingClientRect();
  const row = allRows[Math.floor((event.clientY - box.top - AXIS) / rowHeight)];
  if (!row) return;
  const busy = row[1].reduce((sum, value) => sum + value, 0) / 200;
  const at = ((event.clientX - box.left - GUTTER) / (box.width - GUTTER - RIGHT)) * total;
  let text = `${row[0]}: busy ${busy.toFixed(1)} %, idle ${duration((1 - busy / 100) * total)}`;
  if (perLink) {
    const i = sends.link.findIndex((link, n) => link === row[2] && sends.start[n] <= at && at < sends.start[n] + sends.held[n]);
    text += i < 0 ? "; idle here" : `; chunk ${sends.chunk[i]}${sends.reduce[i] ? " (adds)" : ""}, ${duration(sends.start[i])} to ${duration(sends.end[i])}`;
  }
  byId("lane").textContent = text;
});

// ---- what is missing
function drawMissing() {
  const { pen, width, height } = sharp(byId("missing"), 130);
  paintTimes({ pen, width, height }, total / 1000, { left: GUTTER, right: RIGHT, color });
  const most = Math.max(1, ...data.missing);
  const across = width - GUTTER - RIGHT;
  pen.textAlign = "right";
  pen.fillText(String(most), GUTTER - 6, AXIS + 5, GUTTER - 8);
  pen.fillText("0 chunks", GUTTER - 6, height - 6, GUTTER - 8);
  pen.fillStyle = color("accent");
  data.missing.forEach((count, bin) => {
    const high = (count / most) * (height - AXIS);
    pen.fillRect(GUTTER + (bin / 200) * across, height - high, across / 200 - 0.3, high);
  });
  pen.strokeStyle = color("ink");
  const x = GUTTER + (now() / total) * across;
  pen.beginPath();
  pen.moveTo(x, AXIS);
  pen.lineTo(x, height);
  pen.stroke();
}

function fillLate() {
  const body = byId("late").tBodies[0];
  const [npus, chunks, times] = data.late;
  for (let i = 0; i < npus.length; i += 1) {
    const row = body.insertRow();
    for (const [text, name] of [[`NPU ${npus[i]}`, ""], [chunks[i], "n"], [duration(times[i]), "n"]]) {
      const cell = row.insertCell();
      cell.textContent = text;
      cell.className = name;
    }
    row.firstChild.dataset.of = npus[i];
    row.lastChild.dataset.of = times[i];
  }
}

function words() {
  const time = now();
  const complete = data.done_ps.filter((done) => done <= time).length;
  const bin = Math.min(199, Math.max(0, Math.ceil((time / total) * 200) - 1));
  const missing = time >= total ? 0 : data.missing[bin];
  const moving = sends ? `${underway(time).length} chunks on their way, ` : "";
  let text = `${moving}${complete} of ${data.npus} NPUs have all they want, ${missing} chunks missing.`;
  const [npus, chunks, times] = data.late;
  const waiting = npus.map((npu, i) => [npu, chunks[i], times[i]]).filter(([, , at]) => at > time);
  if (waiting.length && waiting.length <= 12 && waiting.length < npus.length + 1) {
    text += ` Waiting: ${waiting.map(([npu, chunk]) => `NPU ${npu} for chunk ${chunk}`).join(", ")}.`;
  }
  return text;
}

function draw() {
  if (!graph.clientWidth) return; // the page is not laid out
  tellColours();
  byId("now").textContent = `${duration(now())} of ${duration(data.time_ps)}`;
  byId("state").textContent = words();
  drawGraph();
  drawLanes();
  drawMissing();
}

// ---- controls
function stop() {
  clearInterval(state.timer);
  state.timer = null;
  byId("play").textContent = "Play";
  byId("play").setAttribute("aria-pressed", "false");
}
byId("play").addEventListener("click", () => {
  if (state.timer !== null) { stop(); return; }
  if (state.time >= STEPS) state.time = 0;
  byId("play").textContent = "Pause";
  byId("play").setAttribute("aria-pressed", "true");
  let before = performance.now();
  state.timer = setInterval(() => {
    const after = performance.now();
    state.time = Math.min(STEPS, state.time + ((after - before) / 1000) * (STEPS / Number(byId("speed").value)));
    before = after;
    byId("time").value = state.time;
    if (state.time >= STEPS) stop();
    draw();
  }, 33);
});
byId("time").addEventListener("input", () => { state.time = Number(byId("time").value); draw(); });
if (byId("chunk")) {
  byId("chunk").addEventListener("input", () => {
    const text = byId("chunk").value;
    state.chunk = text === "" ? null : Number(text);
    lanesPicture = null;
    draw();
  });
}
window.addEventListener("resize", () => { lanesPicture = null; draw(); });
redraws(() => { inks = null; lanesPicture = null; draw(); });
byId("rows").textContent = perLink
  ? `A row per link (${data.sources.length}), coloured while it is held; the critical path is outlined.`
  : allRows.length ? "A row per link, or per node where there are many links." : "There are too many links to draw each over time.";
if (data.use && data.use.length) {
  const busy = data.use.map((use) => use.reduce((sum, value) => sum + value, 0) / 200);
  const name = (link) => `${data.sources[link]} to ${data.destinations[link]} (${busy[link].toFixed(1)} %)`;
  const order = busy.map((_, link) => link).sort((a, b) => busy[b] - busy[a]);
  const never = busy.filter((value) => value === 0).length;
  byId("rows").textContent += ` Busiest: ${name(order[0])}; least: ${name(order.at(-1))}; ${never} links are never used.`;
}
fillLate();
draw();
