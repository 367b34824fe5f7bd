// A heat map over two axes that vary: in each cell the best plan of all that have these two values.
import { said } from "../../../../base/pages/filters.js";
import { HeatMap } from "../../../../base/pages/heat_map.js";
import { measuresOf } from "./measures.js";

let [map, now] = [null, null];

function mount(section, tools) {
  map = new HeatMap(section, { preferred: { x: ["tp", "pp"], y: ["dp", "pp"], of: ["wall_time_ns"] }, choose: (row) => tools.select(now.label(row)) });
}

// Rows are numbers in a frame.
function update(frame) {
  now = frame;
  const axes = frame.varying.map((axis) => {
    const places = frame.values[axis.index].map((value) => axis.values.indexOf(value));
    const codes = frame.codes[axis.index];
    return { ...axis, place: (row) => places[codes[row]] };
  });
  const figures = measuresOf(frame).filter(({ isAxis, isName }) => !isAxis && !isName).map((measure) => ({ ...measure, of: measure.at(frame) }));
  map.update({ axes, figures, rows: frame.kept, said, label: (row) => frame.label(row), isChosen: (row) => row === frame.selected });
}

const view = { name: "heat", title: "Heat map", hint: "A cell shows the best of all plans with these two values, and leads to it.", mount, update };

export { view };
