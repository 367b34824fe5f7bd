// A heat map over two axes of strategies: the best point of a cell, over everything else.
import * as answers from "./answers.js";
import { Choice } from "../../../base/pages/choice.js";
import { element } from "../../../base/pages/dom.js";
import { said } from "../../../base/pages/filters.js";
import { HeatMap } from "../../../base/pages/heat_map.js";
import * as doubts from "./doubts.js";
import { FIELDS, strategyOf } from "./strategy.js";

let tools, frame, map, points, doubtful;

function figures() {
  const { bytes, duration, percent } = tools.format;
  return [
    { name: "wall_time_ns", title: "wall time", said: duration },
    { name: "peak_memory_bytes", title: "peak memory", said: bytes },
    { name: "mfu_pct", title: "MFU", said: percent, isHighBetter: true },
  ].map((figure) => ({ ...figure, of: (row) => row[figure.name] ?? null })).filter(({ of }) => frame.ok.some((row) => of(row) !== null));
}

function axes() {
  const inOrder = (a, b) => a - b;
  const strategies = new Map(frame.ok.map((row) => [row, strategyOf(row)]));
  return FIELDS.map((name) => {
    const values = [...new Set([...strategies.values()].map((strategy) => strategy[name]))].sort(inOrder);
    return { name, heading: name.replaceAll("_", " "), values, place: (row) => values.indexOf(strategies.get(row)[name]) };
  }).filter(({ values }) => values.length > 1);
}

function fill() {
  const before = new Map((frame.before?.rows ?? []).map((row) => [row.label, row]));
  const { bytes, duration } = tools.format;
  const label = (row) => {
    const was = before.get(row.label)?.wall_time_ns ?? row.wall_time_ns;
    return `${row.label}: ${duration(row.wall_time_ns)}, ${bytes(row.peak_memory_bytes)}${was === row.wall_time_ns ? "" : `, ${duration(was)} before`}`;
  };
  const rows = points.value === "cap" ? frame.ok.filter((row) => answers.fits(row, frame.cap_bytes)) : frame.ok;
  doubtful.hidden = !rows.some(frame.doubt);
  map.update({ axes: axes(), figures: figures(), rows, said, label, isChosen: (row) => row.label === frame.selected?.label, mark: frame.doubt });
}

const view = {
  name: "heat",
  title: "The best points over two axes",
  hint: "Each cell is the best of the points with these two values, over everything else, and leads to it.",
  mount(section, given) {
    tools = given;
    points = new Choice("points", [], () => fill());
    doubtful = element("p", { class: "hint doubtful", hidden: true }, `? ${doubts.LEGEND}`);
    section.append(element("div", { class: "row" }, points.root));
    map = new HeatMap(section, { preferred: { x: ["tp"], y: ["dp"], of: ["wall_time_ns"] }, choose: (row) => tools.select(row.label) });
    section.append(doubtful);
  },
  update(given) {
    frame = given;
    const { cap_bytes: cap } = frame;
    points.offer([["", "all"], ...(cap === null ? [] : [["cap", `those under ${tools.format.bytes(cap)}`]])]);
    fill();
  },
  redraw() {},
};

export { view };
