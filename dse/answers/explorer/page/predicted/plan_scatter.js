// Every plan as a point: its time and its memory, or any two figures.
import { PointsPlot } from "../../../../base/pages/points_plot.js";
import { PEAK, plottedOf } from "./measures.js";

let [plot, frame] = [null, null];

function mount(section, { color, select }) {
  plot = new PointsPlot(section, {
    label: "Plans as points; the arrow keys go from plan to plan in the order of their times", color,
    preferred: { x: ["peak_memory_bytes"], y: ["wall_time_ns"], ink: ["tp", "dp"] }, choose: (row) => select(frame.label(row)),
  });
}

function update(now) {
  frame = now;
  const { kept, columns: { wall_time_ns: wall }, cap_bytes: cap } = frame;
  plot.update({
    measures: plottedOf(frame), rows: kept, selected: frame.selected >= 0 ? frame.selected : null, label: (row) => now.label(row),
    order: () => kept.slice().sort((a, b) => wall[a] - wall[b]), line: cap === null ? null : { name: PEAK.name, value: cap * PEAK.scale, text: "memory cap" },
  });
}

const view = { name: "scatter", title: "Time and memory of every plan", mount, update, redraw: () => plot.draw() };

export { view };
