// Wall time against peak memory: all points, the Pareto front, the cap, and where the points were before.
import { capLine, placeOf } from "../../../base/pages/charts.js";
import { element } from "../../../base/pages/dom.js";
import * as doubts from "./doubts.js";
import { KINDS, MOST_GLIDING, kindOf, table, lazyTable, pointButton, most, least, isNear, axis, options, names, describeRow } from "./plots.js";
import { labelOf } from "./strategy.js";

const WIDEST = 3; // the ghost is part of the picture while it makes it at most so many times as wide

let tools, frame, chart, canvas, status, hint, alternative;
let units = null; // of the axes: [[ns, name], [bytes, name]]
let shown = ""; // which strategies the chart has, in their order

const placed = (row) => row !== undefined && row.status === "ok" && row.peak_memory_bytes !== null;
const place = (row) => ({ x: row.wall_time_ns / units[0][0], y: row.peak_memory_bytes / units[1][0], row });

// The range of an axis: of the points, with the ghost if that is not far away.
function range(now, before) {
  const [low, high] = [least(now), most(now)];
  const [lower, higher] = [Math.min(low, least(before)), Math.max(high, most(before))];
  const isFar = before.length > 0 && (higher / lower > WIDEST * (high / low) && higher - lower > WIDEST * (high - low));
  const [from, to] = isFar ? [low, high] : [lower, higher];
  const isWide = to > 12 * Math.max(1, from);
  const room = 0.05 * (to - from || to);
  return { isWide, isFar, ends: isWide ? [from / 1.2, to * 1.2] : [Math.max(0, from - room), to + room] };
}

function ranges() {
  const now = frame.rows.filter(placed);
  const before = (frame.before?.rows ?? []).filter(placed);
  return ["wall_time_ns", "peak_memory_bytes"].map((name) => range(now.map((row) => row[name]), before.map((row) => row[name])));
}

function datasets(showsCap, ends) {
  const { color, format } = tools;
  const rows = new Map(frame.rows.map((row) => [row.label, row]));
  const before = new Map((frame.before?.rows ?? []).map((row) => [row.label, row]));
  const radius = frame.rows.length > 500 ? 2.5 : 5;
  const nowhere = { x: NaN, y: NaN };
  const sets = KINDS.flatMap(([label, name, pointStyle], kind) => {
    const labels = frame.strategies.filter((strategy) => kindOf(strategy) === kind).map(labelOf);
    if (!labels.length) return [];
    const data = (from) => labels.map((key) => (placed(from.get(key)) ? place(from.get(key)) : nowhere)); // each keeps its index, so that it glides
    return [
      {
        label, pointStyle, radius, hoverRadius: radius + 2, hitRadius: 5, order: 3, data: data(rows),
        borderColor: color(name), borderWidth: 1.5, backgroundColor: `${color(name)}80`,
      },
      {
        label: `${label}, before`, isUnnamed: true, isGhost: true, pointStyle, radius: radius / 2 + 0.25, hitRadius: 2, order: 6,
        borderColor: `${color(name)}90`, borderWidth: 1, backgroundColor: "transparent",
        data: data(before).map((entry) => (entry.row && hasMoved(entry.row, rows.get(entry.row.label)) ? entry : nowhere)),
      },
    ];
  });
  const line = { type: "line", radius: 0, hitRadius: 0, pointStyle: "line" };
  const front = (list) => list.filter(placed).map(place);
  sets.push({
    ...line, label: "Pareto front", stepped: "before", order: 4, borderColor: color("muted"), borderWidth: 1.5, backgroundColor: color("muted"),
    data: front([...frame.front].reverse()), animation: false,
  });
  sets.push({
    ...line, label: "Pareto front before", stepped: "before", order: 7, borderColor: `${color("muted")}70`, borderWidth: 1, borderDash: [2, 3],
    backgroundColor: color("muted"), isUnnamed: true, data: front([...(frame.before?.front ?? [])].reverse()), animation: false,
  });
  sets.push(capLine(
    color, showsCap ? `memory cap, ${format.bytes(frame.cap_bytes)}` : "memory cap",
    showsCap ? ends.map((x) => ({ x: x / units[0][0], y: frame.cap_bytes / units[1][0] })) : [],
    { type: "line", isUnnamed: !showsCap, order: 5, animation: false },
  ));
  sets.push({
    label: "selected point", isUnnamed: true, pointStyle: "circle", radius: 10, hitRadius: 0, hoverRadius: 10, order: 1,
    borderColor: color("ink"), borderWidth: 2, backgroundColor: "transparent",
    data: [placed(frame.selected ?? undefined) ? place(frame.selected) : nowhere],
  });
  const isDoubtful = (row) => placed(row) && frame.doubt(row) !== "";
  sets.push({
    label: doubts.LEGEND, isUnnamed: !frame.rows.some(isDoubtful), pointStyle: "crossRot", radius: radius + 4, hoverRadius: radius + 4, hitRadius: 0,
    order: 2, borderColor: color("bad"), borderWidth: 1.5, backgroundColor: color("bad"),
    data: frame.strategies.map((strategy) => rows.get(labelOf(strategy))).map((row) => (isDoubtful(row) ? place(row) : nowhere)),
  });
  return sets;
}

function hasMoved(row, now) {
  return !now || row.wall_time_ns !== now.wall_time_ns || row.peak_memory_bytes !== now.peak_memory_bytes;
}

function marks() {
  const { best, best_under_cap: capped } = frame;
  const isOne = best && capped && best.label === capped.label;
  return [
    [best, isOne && frame.cap_bytes !== null ? "fastest, also under the cap" : "fastest"],
    [isOne ? null : capped, "fastest under the cap"],
  ].filter(([row]) => placed(row ?? undefined)).map(([row, text]) => ({ ...place(row), text }));
}

function draw() {
  const rows = frame.rows.filter(placed);
  canvas.parentElement.hidden = !rows.length;
  hint.textContent = sentence(rows);
  alternative.fill();
  if (!rows.length) return;
  const [x, y] = ranges();
  units = [tools.format.timeScale(x.ends[1]), tools.format.memoryScale(y.ends[1])];
  const showsCap = isNear(frame.cap_bytes, rows.map((row) => row.peak_memory_bytes));
  if (showsCap && !y.isWide) y.ends = [Math.min(y.ends[0], 0.97 * frame.cap_bytes), Math.max(y.ends[1], 1.03 * frame.cap_bytes)];
  const bounds = ({ ends }, [scale]) => ({ min: ends[0] / scale, max: ends[1] / scale });
  const isGliding = frame.rows.length <= MOST_GLIDING;
  const config = {
    type: "scatter",
    data: { datasets: datasets(showsCap, x.ends) },
    options: {
      ...options(tools, { isGliding, describe }),
      scales: {
        x: axis(tools.color, `wall time (${units[0][1]})`, { isWide: x.isWide, ...bounds(x, units[0]) }),
        y: axis(tools.color, `peak memory of a rank (${units[1][1]})`, { isWide: y.isWide, ...bounds(y, units[1]) }),
      },
    },
  };
  show(config);
}

// Points glide only where each of them has a place to come from.
function show(config) {
  const strategies = JSON.stringify([frame.strategies.map(labelOf), units]);
  if (!chart) {
    chart = new Chart(canvas, { ...config, options: { ...config.options, animation: false }, plugins: [names(tools.color, marks)] });
  } else {
    config.data.datasets.forEach((set, index) => {
      const old = chart.data.datasets[index];
      if (old && old.label === set.label) config.data.datasets[index] = Object.assign(old, set);
    });
    chart.data.datasets = config.data.datasets;
    chart.options = config.options;
    chart.update(strategies === shown ? undefined : "none");
  }
  shown = strategies;
}

function describe(format, item) {
  return describeRow(format, item, item.dataset.isGhost ? { then: " before" } : { doubt: frame.doubt });
}

function sentence(rows) {
  if (!frame.ok.length) return "No point is ok.";
  if (!rows.length) return "No point has a peak memory, so there is no plot of time and memory.";
  const { bytes } = tools.format;
  const near = isNear(frame.cap_bytes, rows.map((row) => row.peak_memory_bytes));
  const cap = frame.cap_bytes === null ? "" : near ? ` The dashed line is the cap of ${bytes(frame.cap_bytes)}.`
    : ` The cap of ${bytes(frame.cap_bytes)} is far from all points, and not drawn.`;
  const moved = (frame.before?.rows ?? []).filter((row) => placed(row) && hasMoved(row, frame.rows.find(({ label }) => label === row.label))).length;
  const isFar = ranges().some((one) => one.isFar);
  const ghost = !moved ? "" : ` Small hollow marks are where points were before${isFar ? "; most of them are outside of the picture" : ""}.`;
  return `Down and to the left is better. The line is the Pareto front: no point is both faster and smaller.${cap}${ghost} `
    + "Click on a point, or go through the points with the arrow keys.";
}

function points() {
  const { whole } = tools.format;
  const columns = [["strategy"], ["wall time (ns)", true], ["peak memory (bytes)", true], ["before (ns)", true], ["Pareto front"], [doubts.LEGEND]];
  const before = new Map((frame.before?.rows ?? []).map((row) => [row.label, row]));
  const front = new Set(frame.front.map((row) => row.label));
  return table(columns, frame.ok.map((row) => [
    pointButton(tools, row), whole(row.wall_time_ns), whole(row.peak_memory_bytes),
    whole(before.get(row.label)?.wall_time_ns ?? null), front.has(row.label) ? "on it" : "", frame.doubt(row),
  ]));
}

function onKey(event) {
  const at = frame.ok.findIndex((row) => row.label === frame.selected?.label);
  const last = frame.ok.length - 1;
  const to = placeOf(event.key, at, last);
  if (to === undefined || last < 0) return;
  event.preventDefault();
  const row = frame.ok[to];
  tools.select(row.label);
  status.textContent = `${row.label}: ${tools.format.duration(row.wall_time_ns)}, ${tools.format.bytes(row.peak_memory_bytes)}, `
    + `place ${frame.ok.indexOf(row) + 1} of ${frame.ok.length}${frame.doubt(row) && `, ${frame.doubt(row)}`}`;
}

const view = {
  name: "scatter",
  title: "Time and memory of the points",
  hint: "",
  mount(section, given) {
    tools = given;
    hint = element("p", { class: "hint" });
    const plot = element("div", { class: "plot tall" });
    canvas = element("canvas", {
      tabindex: "0", role: "application", "aria-roledescription": "scatter plot",
      "aria-label": "Wall time and peak memory of the points. Left and right arrow keys go through the points, fastest first; "
        + "the selected point is read out. A table follows.",
    });
    status = element("p", { class: "unseen", role: "status" });
    plot.append(canvas);
    section.append(hint, plot, status);
    alternative = lazyTable(section, "Table of the points", points);
    canvas.addEventListener("keydown", onKey);
  },
  update(given) {
    frame = given;
    draw();
  },
  redraw() {
    chart?.destroy();
    chart = undefined;
    if (frame) draw();
  },
};

export { view };
