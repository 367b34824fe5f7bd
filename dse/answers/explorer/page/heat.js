// A heat map over two axes of strategies: the best point of a cell, over everything else.
import { element } from "../../../base/pages/dom.js";
import { said } from "../../../base/pages/filters.js";
import { HeatMap } from "../../../base/pages/heat_map.js";
import { bytes, duration } from "../../../base/pages/numbers.js";
import { figuresOf, varyingOf } from "./axes.js";
import * as doubts from "./doubts.js";
import { strategyOf } from "./strategy.js";

let tools, map, doubtful;

function fill(frame) {
  const before = new Map((frame.before?.rows ?? []).map((row) => [row.label, row]));
  const label = (row) => {
    const was = before.get(row.label)?.wall_time_ns ?? row.wall_time_ns;
    return `${row.label}: ${duration(row.wall_time_ns)}, ${bytes(row.peak_memory_bytes)}${was === row.wall_time_ns ? "" : `, ${duration(was)} before`}`;
  };
  const strategies = new Map(frame.ok.map((row) => [row, strategyOf(row)]));
  const axes = varyingOf(frame.ok).map((axis) => ({ ...axis, place: (row) => axis.values.indexOf(strategies.get(row)[axis.name]) }));
  doubtful.hidden = !frame.ok.some(frame.doubt);
  map.update({ axes, figures: figuresOf(frame.ok), rows: frame.ok, said, label, isChosen: (row) => row.label === frame.selected?.label, mark: frame.doubt });
}

const view = {
  name: "heat",
  title: "The best points over two axes",
  hint: "Each cell is the best of the points with these two values that pass the filters, over everything else, and leads to it.",
  mount(section, given) {
    tools = given;
    doubtful = element("p", { class: "hint doubtful", hidden: true }, `? ${doubts.LEGEND}`);
    map = new HeatMap(section, { preferred: { x: ["tp"], y: ["dp"], of: ["wall_time_ns"] }, choose: (row) => tools.select(row.label) });
    section.append(doubtful);
  },
  update: fill,
  redraw() {},
};

export { view };
