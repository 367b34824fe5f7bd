// Which strategy wins over two numbers: a map that is filled from coarse to fine, and read with pointer or keys.
import { element, setText } from "../../../base/pages/dom.js";
import * as doubts from "./doubts.js";
import { doubtAt, doubtfulCells } from "./map_doubts.js";
import { ROOM, Inks, figure, paint } from "./map_paint.js";
import * as parameters from "./parameters.js";
import * as plots from "./plots.js";
import { table, lazyTable, pointButton, sight } from "./plots.js";
import { inkOn } from "./point.js";
import * as states from "./state.js";
import { strategyOf } from "./strategy.js";
import { SIDE, MIDDLE, CAP, Winners } from "./winners.js";

const REST_MS = 300; // after a change: a slider that moves is not disturbed
const PATIENCE_MS = 60000; // a level that takes longer is computed when asked for

let tools, frame, canvas, plot, hint, progress, reading, status, legend, dotted, alternative, more;
let selects = [];
let chosen = [null, null]; // keys of the axes; null: the default
let known = null; // {key, map, axes}
let old = null; // the map before, shown until the new one has its first level
let running = null;
let timer = 0;
let isPatient = false;
let drawing = 0;
let cursor = null; // [x, y]
let isVisible = () => false;
let inks = null; // colours and letters stay with strategies

// ---- the axes
function axesOf() {
  const fields = frame.fields ?? tools.data.fields;
  const axes = parameters.parametersOf(frame.scenario.system).map((parameter) => {
    const { label, unit = "", least = null, most = null } = fields.find(({ key }) => key === parameter.key) ?? {};
    return { ...parameter, name: label ?? parameter.resource, unit, least, most };
  });
  const cap = frame.cap_bytes ?? frame.best?.peak_memory_bytes ?? null;
  if (cap !== null && frame.rows.some((row) => row.peak_memory_bytes !== null)) {
    const [size, unit] = tools.format.memoryScale(cap);
    axes.push({ key: CAP, value: cap, is_integer: true, computes: false, name: "memory cap", unit, size, least: 1, most: null });
  }
  return axes;
}

const shown = (axis, value) => `${figure(tools, axis, value)}${axis.unit && ` ${axis.unit}`}`;

// By default the bandwidth of the last dimension, and the cap where it is near the points, or else compute.
function defaults(axes) {
  const sizes = frame.ok.map((row) => row.peak_memory_bytes).filter((size) => size !== null);
  const hasCap = axes.at(-1)?.key === CAP && (frame.cap_bytes === null || plots.isNear(frame.cap_bytes, sizes));
  const across = axes.filter(({ key }) => key.endsWith(".bandwidth_gbps")).at(-1) ?? axes[0];
  const up = (hasCap ? axes.at(-1) : null) ?? axes.find((axis) => axis !== across);
  return [across?.key, up?.key];
}

function chooseAxes() {
  const axes = axesOf();
  const usual = defaults(axes);
  const keys = chosen.map((key, index) => (axes.some((axis) => axis.key === key) ? key : usual[index]));
  if (keys[0] === keys[1]) keys[1] = axes.find(({ key }) => key !== keys[0])?.key;
  selects.forEach((select, index) => {
    const signature = axes.map(({ key, name }) => `${key} ${name}`).join("\n");
    if (select.dataset.signature !== signature) {
      select.replaceChildren(...axes.map(({ key, name }) => element("option", { value: key }, name)));
      select.dataset.signature = signature;
    }
    select.value = keys[index];
    for (const option of select.options) option.disabled = option.value === keys[1 - index];
  });
  return keys.map((key) => axes.find((axis) => axis.key === key));
}

// ---- the computation
function begin() {
  const axes = chooseAxes();
  if (axes.some((axis) => !axis) || !frame.ok.length) {
    showNothing(frame.ok.length ? "The system has no two numbers that vary." : "No point is ok.");
    return;
  }
  for (const part of [plot, legend, progress]) part.hidden = false;
  const key = JSON.stringify([frame.scenario, frame.cap_bytes, frame.rows.map((row) => row.label), axes.map((axis) => axis.key)]);
  if (known?.key === key) return;
  const isSameKind = known?.axes.every((axis, index) => axis.key === axes[index].key);
  if (known && known.map.level <= 8) old = known;
  if (!isSameKind) old = null;
  isPatient = false;
  const ask = (changes, rows) => tools.engine.evaluate(
    changes.reduce((scenario, [path, value]) => parameters.applied(scenario, path, value), frame.scenario),
    rows.map(strategyOf), { signal: running?.signal ?? undefined },
  );
  known = { key, axes, map: new Winners(frame.rows, frame.cap_bytes, axes, ask), spent_ms: 0, cells: 0 };
  setText(hint, `Each cell is coloured by the strategy that wins there${frame.cap_bytes === null ? "" : " under the cap"}; the ring is the present state. `
    + "Click on a cell, or go to it with the arrow keys and press Enter, to set both numbers to its values.");
  canvas.setAttribute("aria-label", `Which strategy wins over ${axes[0].name} (across) and ${axes[1].name} (up). Arrow keys go through the cells, `
    + "each is read out; Enter sets both numbers. A table follows.");
}

// Nothing of another state may stay.
function showNothing(why) {
  known = null;
  old = null;
  setText(hint, why);
  for (const part of [plot, legend, progress, dotted, more]) part.hidden = true;
  for (const part of [progress, status]) setText(part, "");
  moveTo(null);
  delete legend.dataset.signature;
  legend.replaceChildren();
  alternative.fill();
}

function schedule() {
  clearTimeout(timer);
  if (frame && known && isVisible() && known.map.level > 1) timer = setTimeout(run, REST_MS);
}

// Goes on where it was stopped.
async function run() {
  const [mine, state] = [frame, known];
  const stopped = () => frame !== mine || known !== state || mine.signal?.aborted || !isVisible();
  if (stopped() || running === mine) return;
  running = mine;
  more.hidden = true;
  let last = performance.now();
  try {
    const isComplete = await state.map.run({
      signal: { get aborted() { return stopped(); } },
      mayStart: (step, cells) => step === 8 || isPatient || mayRefine(state, cells),
      tell: () => {
        const now = performance.now();
        state.spent_ms += now - last;
        state.cells += 1;
        last = now;
        if (!stopped()) drawSoon();
      },
    });
    if (!stopped()) finish(isComplete);
  } catch (error) {
    if (error?.kind !== "cancelled" && error?.name !== "AbortError" && !stopped()) setText(progress, `stopped: ${error?.message ?? error}`);
  } finally {
    if (running === mine) running = null;
    if (frame !== mine || known !== state) schedule();
  }
}

function mayRefine(state, cells) {
  const expected = (state.spent_ms / Math.max(1, state.cells)) * cells;
  if (expected <= PATIENCE_MS) return true;
  more.hidden = false;
  setText(more, `Refine (about ${Math.ceil(expected / 60000)} min)`);
  return false;
}

function finish(isComplete) {
  drawSoon();
  alternative.fill();
  const [first, ...others] = known.map.shares();
  if (isComplete) setText(status, `The map is complete: ${first.label ?? "nothing"} wins in most of it, ${others.length} others elsewhere.`);
}

// ---- the picture
function drawSoon() {
  if (!drawing) drawing = requestAnimationFrame(() => { drawing = 0; if (known && isVisible()) draw(); });
}

function draw() {
  const source = known.map.level > 8 && old ? old : known;
  for (const { label } of source.map.shares()) if (label) inks.numberOf(label); // the largest get the first colours
  const labels = Array.from({ length: SIDE }, (_, y) => Array.from({ length: SIDE }, (_, x) => (
    source.map.isAllowed(x, y) ? source.map.nearest(x, y)?.row?.label ?? null : undefined)));
  const axes = known.axes.map((axis, index) => ({ ...axis, values: known.map.values[index] }));
  const doubtful = doubtfulCells(source.map);
  dotted.hidden = !doubtful.some((row) => row.includes(true));
  paint({ canvas, plot, inks, labels, doubtful, axes, cursor, isOld: source !== known }, tools);
  drawLegend(source);
  tellProgress();
}

function tellProgress() {
  const total = known.map.values.map((values) => values.filter((value) => value !== null).length).reduce((a, b) => a * b);
  const { size } = known.map.cells;
  const isWorking = known.map.level > 1 && isVisible() && more.hidden;
  setText(progress, known.map.level === 1 ? `All of ${tools.format.whole(total)} cells are computed.`
    : `${isWorking ? "… " : ""}${tools.format.whole(size)} of ${tools.format.whole(total)} cells are computed; the others show the nearest of them.`);
  canvas.parentElement.setAttribute("aria-busy", String(isWorking));
}

function drawLegend(source) {
  const shares = source.map.shares();
  const total = shares.reduce((sum, { cells }) => sum + cells, 0);
  const signature = JSON.stringify(shares.map(({ label }) => label));
  if (legend.dataset.signature !== signature) {
    legend.replaceChildren(...shares.map(({ label }) => entry(label)));
    legend.dataset.signature = signature;
  }
  shares.forEach(({ label, cells }, index) => {
    const item = legend.children[index];
    const swatch = item.querySelector("[data-swatch]");
    const lines = label && inks.isHatched(label) ? "repeating-linear-gradient(135deg, #ffffffa0 0 1.5px, transparent 1.5px 5.6px), " : "";
    if (label) Object.assign(swatch.style, { background: lines + inks.tint(label), color: inkOn(inks.tint(label)) });
    setText(item.querySelector("small"), `${((100 * cells) / total).toFixed(cells < total / 100 ? 1 : 0)} %`);
  });
}

function entry(label) {
  const swatch = element("span", {
    "data-swatch": "", "aria-hidden": "true",
    style: "display: inline-block; min-width: 1.5em; text-align: center; font-weight: 600; margin-right: .5em; border-radius: .2rem; print-color-adjust: exact",
  }, label ? inks.letter(label) : "–");
  const row = known.map.rows.get(label);
  return element("li", { style: "margin: .1rem 0; break-inside: avoid" }, swatch, row ? pointButton(tools, row) : label ?? "nothing fits", " ", element("small", { class: "muted" }));
}

// ---- reading and choosing cells
function describe(x, y) {
  const { map, axes } = known;
  if (!map.isAllowed(x, y)) return "outside of what is allowed";
  const at = axes.map((axis, index) => `${axis.name} ${shown(axis, map.values[index][index ? y : x])}`).join(", ");
  const own = map.at(x, y);
  const row = (own ?? map.nearest(x, y))?.row;
  const what = row ? `${inks.letter(row.label)}, ${row.label} wins${own ? `, ${tools.format.duration(row.wall_time_ns)}` : ""}` : "nothing fits";
  const doubt = doubtAt(map, x, y);
  return `${at}: ${what}${doubt && `, ${doubt}`}${own ? "" : " (of the nearest computed cell)"}`;
}

function moveTo(place) {
  cursor = place;
  if (known && place) setText(reading, describe(...place));
  else setText(reading, "\u00a0");
  drawSoon();
}

function drillIn() {
  if (!known || !cursor || !known.map.isAllowed(...cursor)) return;
  const values = known.axes.map((axis, index) => [axis.key, known.map.values[index][cursor[index]]]);
  const changes = Object.fromEntries(values.filter(([key]) => key !== CAP));
  const cap = values.find(([key]) => key === CAP);
  setText(status, `Set to ${describe(...cursor)}`);
  cursor = [MIDDLE, MIDDLE]; // where the cell will be
  if (!cap) tools.setChanges(changes);
  else states.set({ cap_bytes: cap[1], changes: { ...states.get().changes, ...changes } });
}

function cellUnder(event) {
  const { left, top, width, height } = canvas.getBoundingClientRect();
  const x = Math.floor(((event.clientX - left - ROOM.left) / (width - ROOM.left - ROOM.right)) * SIDE);
  const y = SIDE - 1 - Math.floor(((event.clientY - top - ROOM.top) / (height - ROOM.top - ROOM.bottom)) * SIDE);
  return x >= 0 && y >= 0 && x < SIDE && y < SIDE ? [x, y] : null;
}

function onKey(event) {
  const [x, y] = cursor ?? [MIDDLE, MIDDLE];
  const to = {
    ArrowLeft: [x - 1, y], ArrowRight: [x + 1, y], ArrowUp: [x, y + 1], ArrowDown: [x, y - 1],
    Home: [0, y], End: [SIDE - 1, y], PageUp: [x, SIDE - 1], PageDown: [x, 0], Escape: [MIDDLE, MIDDLE],
  }[event.key];
  if (to) moveTo(to.map((place) => Math.min(SIDE - 1, Math.max(0, place))));
  else if (event.key === "Enter" || event.key === " ") drillIn();
  else return;
  event.preventDefault();
}

function cells() {
  if (!known) return null;
  const { map, axes } = known;
  const steps = [0, 8, 16, 24, 32];
  const columns = [[`${axes[1].name} (down), ${axes[0].name} (across)`], ...steps.map((x) => [map.values[0][x] === null ? "–" : shown(axes[0], map.values[0][x])])];
  return table(columns, [...steps].reverse().map((y) => [
    map.values[1][y] === null ? "–" : shown(axes[1], map.values[1][y]),
    ...steps.map((x) => {
      const cell = map.isAllowed(x, y) ? map.at(x, y) : null;
      const mark = doubtAt(map, x, y) && " ?";
      return !cell ? "–" : cell.row ? `${cell.row.label}, ${tools.format.duration(cell.row.wall_time_ns)}${mark}` : "nothing fits";
    }),
  ]));
}

function chooser(index, text) {
  const id = `explorer-map-${index}`;
  const select = element("select", { id, style: "width: auto; max-width: 100%" });
  select.addEventListener("change", () => {
    chosen = selects.map((each) => each.value);
    update();
  });
  selects.push(select);
  return element("div", { style: "display: flex; flex-wrap: wrap; gap: .1rem .5rem; align-items: baseline" }, element("label", { for: id, class: "hint" }, text), select);
}

function update() {
  begin();
  if (known) drawSoon();
  schedule();
}

const view = {
  name: "map",
  title: "Which strategy wins over two numbers",
  hint: "",
  mount(section, given) {
    tools = given;
    inks = new Inks(tools);
    hint = element("p", { class: "hint" });
    const choosers = element("div", { class: "noprint", style: "display: flex; flex-wrap: wrap; gap: .3rem 1.5rem; margin: .4rem 0" }, chooser(0, "across"), chooser(1, "up"));
    canvas = element("canvas", { tabindex: "0", role: "application", "aria-roledescription": "map", style: "width: 100%; height: 100%; display: block; touch-action: manipulation; cursor: pointer" });
    plot = element("div", { class: "plot tall", style: "flex: 1 1 22rem; min-width: 0; max-width: 56rem; margin: .3rem 0" }, canvas);
    legend = element("ul", { "aria-label": "Strategies that win", style: "list-style: none; padding: 0; margin: .3rem 0; min-height: 15rem; flex: 0 1 auto; font-size: .875rem; max-width: 100%" });
    reading = element("p", { class: "hint", "aria-live": "polite", style: "max-width: none; min-height: 1.5em" }, "\u00a0");
    progress = element("p", { class: "hint", style: "max-width: none; margin: 0; min-height: 1.5em" });
    dotted = element("p", { class: "hint", hidden: true, style: "margin: 0" }, `Dotted, and ? in the table: ${doubts.LEGEND}.`);
    status = element("p", { class: "unseen", role: "status" });
    more = element("button", { type: "button", class: "plain", hidden: true });
    more.addEventListener("click", () => { isPatient = true; run(); });
    section.append(hint, choosers, element("div", { style: "display: flex; flex-wrap: wrap; gap: 0 1.5rem; align-items: flex-start" }, plot, legend), dotted, reading, progress, more, status);
    alternative = lazyTable(section, "Table of every eighth value", cells);
    canvas.addEventListener("pointermove", (event) => moveTo(cellUnder(event)));
    canvas.addEventListener("pointerleave", () => { if (document.activeElement !== canvas) moveTo(null); });
    canvas.addEventListener("focus", () => { if (!cursor && canvas.matches(":focus-visible")) moveTo([MIDDLE, MIDDLE]); });
    canvas.addEventListener("blur", () => moveTo(null));
    canvas.addEventListener("click", (event) => { cursor = cellUnder(event) ?? cursor; if (cellUnder(event)) drillIn(); });
    canvas.addEventListener("keydown", onKey);
    new ResizeObserver(drawSoon).observe(plot);
    isVisible = sight(section, () => { drawSoon(); schedule(); });
  },
  update(given) {
    frame = given;
    update();
  },
  redraw() {
    if (known) draw();
  },
};

export { view };
