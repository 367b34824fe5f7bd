// Parallel coordinates: a line for each plan through the values of its axes, its time and its memory.
import { LinesPlot } from "../../../../base/pages/lines_plot.js";
import { PEAK, plottedOf, TIME } from "./measures.js";

let plot = null;

function mount(section, { color }) {
  plot = new LinesPlot(section, { label: "Plans as lines through their axes", color, preferred: { ink: ["wall_time_ns"] } });
}

function update(frame) {
  const measures = plottedOf(frame);
  const names = [...frame.varying.map(({ name }) => name), PEAK.name, TIME.name];
  const axes = names.map((name) => measures.find((measure) => measure.name === name));
  const { wall_time_ns: wall } = frame.columns;
  plot.update({ measures, axes, rows: frame.kept, selected: frame.selected >= 0 ? frame.selected : null, cost: (row) => wall[row] });
}

const view = { name: "parallel", title: "Choices that go together", hint: "A line is a plan, of the 3,000 fastest; the fastest lie on top, and the dark one is the plan above.", mount, update, redraw: () => plot.draw() };

export { view };
