// The timeline of the selected point: what each node of a rank does when, zoomable, told by hover and keys.
import { PART_COLORS, pixelRatio } from "../../../base/pages/charts.js";
import { partOf } from "./breakdown.js";
import { element } from "../../../base/pages/dom.js";
import { tracksOf, spanAt, nearest } from "./lanes.js";
import { chosen, whyNone, derived, once, whenSeen } from "./point.js";
import { groupsOf, memoryCurve, lastRank, fullestRank, parseName } from "./recording.js";
import * as timelineHands from "./timeline_hands.js";
import { layout, paint, MEMORY } from "./timeline_paint.js";
import { tell, nodeLines, memoryLines, fillTip, fillLongest } from "./timeline_told.js";

const LEAST_NS = 40, TINTS = ["ink", "muted", "accent", "grid", "line", "panel", "page", "bad"];

const tracks = once((recording) => drawable(recording, lastRank(recording)));

let tools = null;
let update = null;
let at = null; // what is drawn: {recording, entry, nodes, placed, curve, peak, cap, end, label, places}
let colors = null;
const view = { from: 0, to: 1, width: 1 };
const now = { selected: null, hovered: null, waited: [], isDirty: false };
const page = {};

async function compute(frame) {
  const row = chosen(frame);
  if (row?.status !== "ok") return say(whyNone(frame));
  try {
    const found = await derived(frame, [{ row, scenario: frame.scenario }], tools.engine, tracks);
    if (!found) return;
    show(found[0].figures, frame.cap_bytes ?? null);
    const doubt = frame.doubt(row);
    page.doubt.hidden = !doubt;
    page.doubt.textContent = `The time of ${row.label} is in doubt: ${doubt}.`;
  } catch (problem) {
    if (problem?.kind !== "cancelled") say(`There is no timeline: ${problem?.message ?? problem}`);
  }
}

function say(text) {
  page.problem.textContent = text;
  page.problem.hidden = false;
  page.body.hidden = true;
  at = null;
}

// All of a rank that is drawn, whatever the width.
function drawable(recording, entry) {
  const curve = memoryCurve(entry.tensors);
  const groups = groupsOf(recording);
  const found = tracksOf(recording, entry);
  return {
    recording, entry, nodes: entry.nodes, curve, peak: curve.reduce((most, [, size]) => Math.max(most, size), 0),
    placed: layout(found, curve.length > 0), places: placesOf(found), end: Math.max(1, recording.row.wall_time_ns),
    label: recording.row.label, parts: Array.from(entry.nodes.name, (_, index) => partOf(entry.nodes, index, groups)),
  };
}

// A cap far from the peak would squeeze the curve.
function show(made, asked) {
  const old = at;
  const isNear = asked !== null && asked <= 2.5 * made.peak && asked >= made.peak / 2.5;
  at = { ...made, asked, cap: isNear ? asked : null };
  const { entry, end } = at;
  page.problem.hidden = true;
  page.body.hidden = false;
  Object.assign(now, { selected: null, hovered: null, waited: [] });
  // Another scenario: the same part of the step stays in sight.
  if (old && old.label === at.label && old.entry.rank === entry.rank) Object.assign(view, { from: (view.from / old.end) * end, to: (view.to / old.end) * end });
  else Object.assign(view, { from: 0, to: end });
  showRanks();
  showLegend();
  describe(null);
  page.canvas.style.height = `${at.placed.height}px`;
  page.canvas.setAttribute("aria-label", `Timeline of rank ${entry.rank} of ${at.label}: ${entry.nodes.name.length} nodes in ${tools.format.duration(end)}, on ${at.placed.tracks.length} tracks`);
  if (page.details.open) showLongest();
  paintSoon();
}

// Where each node is drawn.
function placesOf(tracks) {
  const places = new Map();
  tracks.forEach(({ lanes }, track) => lanes.forEach(({ node }, lane) => node.forEach((index, place) => places.set(index, { track, lane, place }))));
  return places;
}

function showRanks() {
  const { recording, entry } = at;
  const [last, fullest] = [lastRank(recording), fullestRank(recording)];
  page.ranks.hidden = recording.ranks.length < 2;
  page.rank.replaceChildren(...recording.ranks.map((one) => {
    const notes = [one === last && "finishes last", one === fullest && "fills most memory"].filter(Boolean).join(", ");
    const option = element("option", `${one.rank}${notes ? `, ${notes}` : ""}`, { value: String(one.rank) });
    option.selected = one === entry;
    return option;
  }));
}

// Tracks say what communication is; only compute has several colours.
function showLegend() {
  const parts = ["compute_bound", "memory_bound", "recompute", "other_compute"].filter((part) => at.parts.includes(part));
  page.legend.replaceChildren(...parts.map((part) => {
    const entry = element("span");
    const box = element("span", { "aria-hidden": "true" });
    box.style.cssText = `display: inline-block; width: .7em; height: .7em; margin-right: .4em; background: var(--${PART_COLORS[part]}); print-color-adjust: exact`;
    entry.append(box, part.replaceAll("_", " "));
    return entry;
  }));
}

// ---- painting
function tints() {
  const found = Object.fromEntries(TINTS.map((name) => [name, tools.color(name)]));
  for (const [part, name] of Object.entries(PART_COLORS)) found[part] = tools.color(name);
  return found;
}

function paintSoon() {
  if (now.isDirty) return;
  now.isDirty = true;
  requestAnimationFrame(paintNow);
}

function paintNow() {
  now.isDirty = false;
  if (!at || !page.canvas.clientWidth) return;
  const { canvas } = page;
  const ratio = pixelRatio();
  view.width = canvas.clientWidth;
  const [width, height] = [Math.round(view.width * ratio), Math.round(at.placed.height * ratio)];
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const ctx = canvas.getContext("2d");
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.textBaseline = "middle";
  colors ??= tints();
  const family = getComputedStyle(document.body).fontFamily;
  paint(ctx, {
    ...at, ...now, view, colors, format: tools.format, fontOf: (size) => `${size}px ${family}`,
    colorOf: (node) => colors[at.parts[node]], shortOf: (node) => parseName(at.nodes.name[node])?.label ?? at.nodes.kind[node],
  });
  page.whole.disabled = view.from <= 0 && view.to >= at.end;
}

// ---- moving
function look(from, to) {
  const span = Math.max(Math.min(LEAST_NS, at.end), Math.min(at.end, to - from));
  view.from = Math.max(0, Math.min(at.end - span, from));
  view.to = view.from + span;
  paintSoon();
}
const pan = (share) => look(view.from + share * (view.to - view.from), view.to + share * (view.to - view.from));
function zoom(factor, x = view.width / 2) {
  const time = timeAt(x);
  look(time - (time - view.from) * factor, time + (view.to - time) * factor);
}
const timeAt = (x) => view.from + (x / view.width) * (view.to - view.from);

function bring(mark) {
  const lane = at.placed.tracks[mark.track].lanes[mark.lane];
  const [start, end] = [lane.start[mark.place], lane.end[mark.place]];
  const span = view.to - view.from;
  if (start < view.from || end > view.to) look((start + end) / 2 - span / 2, (start + end) / 2 + span / 2);
}

// ---- nodes
const nodeOf = (mark) => at.placed.tracks[mark.track].lanes[mark.lane].node[mark.place];

function hit(x, y) {
  const track = at.placed.tracks.findIndex((one) => y >= one.y && y < one.y + one.laneHeight * one.lanes.length);
  if (track < 0) return null;
  const lane = Math.floor((y - at.placed.tracks[track].y) / at.placed.tracks[track].laneHeight);
  const place = spanAt(at.placed.tracks[track].lanes[lane], timeAt(x), (2 * (view.to - view.from)) / view.width);
  return place < 0 ? null : { track, lane, place };
}

function select(mark) {
  now.selected = mark;
  const parents = mark ? at.nodes.parents[nodeOf(mark)] : [];
  now.waited = parents.map((node) => at.places.get(node)).filter(Boolean);
  if (mark) bring(mark);
  describe(mark);
  paintSoon();
}

const describe = (mark) => tell(page.told, at, mark && nodeOf(mark), tools.format);

// The next node of a lane, or from one track to another the node at about the same time.
function step(by, byTrack = 0) {
  if (!now.selected) return select({ track: 0, lane: 0, place: nearest(at.placed.tracks[0].lanes[0], (view.from + view.to) / 2) });
  const { track, lane, place } = now.selected;
  const lanes = at.placed.tracks[track].lanes;
  if (!byTrack) return select({ track, lane, place: Math.max(0, Math.min(lanes[lane].node.length - 1, place + by)) });
  const all = at.placed.tracks.flatMap((one, number) => one.lanes.map((_, index) => ({ track: number, lane: index })));
  const here = all.findIndex((one) => one.track === track && one.lane === lane);
  const next = all[Math.max(0, Math.min(all.length - 1, here + byTrack))];
  const time = Math.max(view.from, Math.min(view.to, lanes[lane].start[place]));
  select({ ...next, place: nearest(at.placed.tracks[next.track].lanes[next.lane], time) });
}

function zoomTo(mark) {
  const lane = at.placed.tracks[mark.track].lanes[mark.lane];
  const [start, end] = [lane.start[mark.place], lane.end[mark.place]];
  const room = Math.max(LEAST_NS, 1.5 * (end - start));
  look(start - room, end + room);
}

// ---- told under the pointer
function hover(event) {
  now.hovered = event && hit(event.offsetX, event.offsetY);
  const lines = event && linesAt(event);
  page.tip.hidden = !lines;
  if (lines) fillTip(page.tip, lines, event.offsetX, event.offsetY, view.width);
  paintSoon();
}

function linesAt({ offsetX, offsetY }) {
  if (now.hovered) return nodeLines(at, nodeOf(now.hovered), tools.format);
  const { memoryY } = at.placed;
  const isMemory = at.curve.length && offsetY >= memoryY && offsetY <= memoryY + MEMORY;
  return isMemory ? memoryLines(at, timeAt(offsetX), tools.format) : null;
}

function showLongest() {
  if (!at) return;
  fillLongest(page.table, at, tools.format, (node) => {
    select(at.places.get(node));
    zoomTo(now.selected);
    page.canvas.focus();
  });
}

// ---- the page
const acts = {
  pan, zoom, look, step, hover, isReady: () => at !== null, whole: () => look(0, at.end), start: () => look(0, view.to - view.from),
  end: () => look(at.end - (view.to - view.from), at.end), clear: () => select(null), choose: (x, y) => select(hit(x, y)),
  zoomToNode: () => now.selected && zoomTo(now.selected),
};

function toolbar() {
  const bar = timelineHands.buttons(acts);
  page.whole = bar.querySelector("[data-whole]");
  page.ranks = element("label", "Rank ");
  page.rank = element("select");
  page.rank.addEventListener("change", () => show(drawable(at.recording, at.recording.ranks.find((one) => String(one.rank) === page.rank.value)), at.asked));
  page.ranks.append(page.rank);
  bar.append(page.ranks);
  return bar;
}

function mount(section, given) {
  tools = given;
  page.problem = element("p", "", { class: "hint" });
  page.body = element("div");
  page.body.hidden = true;
  const help = element("p", "Drag or ← → to move; + − or the wheel with Ctrl to zoom, two fingers on a touch screen. Shift with ← → goes from "
    + "node to node, ↑ ↓ to another track, Enter zooms to the node, 0 shows the whole step. Thin frames: what the chosen node waited for.", { class: "hint noprint", id: "timeline-help" });
  const box = element("div");
  box.style.cssText = "position: relative";
  page.canvas = element("canvas", { tabindex: "0", role: "application", "aria-roledescription": "timeline", "aria-describedby": "timeline-help" });
  page.canvas.style.cssText = "display: block; width: 100%; touch-action: pan-y; cursor: grab";
  page.doubt = element("p", "", { class: "note" });
  page.legend = element("p", { class: "hint" });
  page.legend.style.cssText = "display: flex; flex-wrap: wrap; gap: 0 1.2rem; margin: .3rem 0";
  page.tip = element("div", { "aria-hidden": "true" });
  page.tip.style.cssText = "position: absolute; left: 0; top: 0; z-index: 1; pointer-events: none; max-width: 20rem; padding: .35rem .6rem; "
    + "font-size: .8rem; line-height: 1.4; background: var(--panel); color: var(--ink); border: 1px solid var(--line); border-radius: .35rem";
  page.tip.hidden = true;
  page.told = element("p", { role: "status", "data-told": "" });
  page.told.style.cssText = "display: flex; flex-wrap: wrap; gap: 0 .9rem; min-height: 3.2em; max-width: none; font-size: .875rem; font-variant-numeric: tabular-nums";
  page.details = element("details", { class: "screen" });
  page.details.addEventListener("toggle", () => page.details.open && showLongest());
  const scroll = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "longest nodes" });
  page.table = element("table");
  scroll.append(page.table);
  page.details.append(element("summary", "The longest nodes as a table"), scroll);
  box.append(page.canvas, page.tip);
  page.body.append(page.doubt, toolbar(), page.legend, box, page.told, help, page.details);
  section.append(page.problem, page.body);
  timelineHands.listen(page.canvas, { ...acts, view });
  new ResizeObserver(paintSoon).observe(page.canvas);
  update = whenSeen(section, compute);
}

const section = {
  name: "timeline", title: "Timeline",
  hint: "What the rank that finishes last does when: compute, the communication of each group, and its memory.",
  mount, update: (frame) => update(frame),
  redraw() {
    colors = null;
    paintNow(); // at once: it may be for paper
  },
};

export { section as view };
