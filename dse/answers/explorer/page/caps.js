// The fastest point under every memory cap: steps from the Pareto front, and those of the state before.
import { capLine } from "../../../base/pages/charts.js";
import { element } from "../../../base/pages/dom.js";
import * as doubts from "./doubts.js";
import { table, lazyTable, pointButton, most, least, isNear, axis, options, describeRow } from "./plots.js";

let tools, frame, chart, canvas, hint, alternative;

// By ascending cap: from `memory_cap_bytes` on, up to that of the next step, this row is the fastest.
const capCurve = (front) => [...front].reverse().map((row) => ({ memory_cap_bytes: row.peak_memory_bytes, row }));

function draw() {
  const steps = capCurve(frame.front);
  canvas.parentElement.hidden = !steps.length;
  hint.textContent = steps.length
    ? `Below ${tools.format.bytes(steps[0].memory_cap_bytes)} nothing fits; each step is another strategy; above the last step more memory `
      + `buys no time.${isMoved(steps) ? " The thin line is the state before." : ""}`
    : frame.ok.length ? "No point has a peak memory." : "No point is ok.";
  alternative.fill();
  if (!steps.length) return;
  const before = isMoved(steps) ? capCurve(frame.before.front) : [];
  const config = configOf(steps, before);
  if (!chart) chart = new Chart(canvas, config);
  else {
    chart.data.datasets = config.data.datasets;
    chart.options = config.options;
    chart.update("none");
  }
}

function isMoved(steps) {
  const before = frame.before?.front ?? [];
  const key = (row) => `${row.peak_memory_bytes} ${row.wall_time_ns}`;
  return before.length > 0 && before.map(key).reverse().join() !== steps.map(({ row }) => key(row)).join();
}

function configOf(steps, before) {
  const { color, format } = tools;
  const [size, unit] = format.memoryScale(steps.at(-1).memory_cap_bytes);
  const [tick, timeUnit] = format.timeScale(steps[0].row.wall_time_ns);
  const cap = frame.cap_bytes;
  const showsCap = isNear(cap, steps.map((step) => step.memory_cap_bytes));
  const sizes = [...steps, ...before].map((step) => step.memory_cap_bytes);
  const end = Math.max(1.08 * most(sizes), showsCap ? 1.08 * cap : 0);
  const line = (list) => [
    ...list.map(({ memory_cap_bytes: x, row }) => ({ x: x / size, y: row.wall_time_ns / tick, row })),
    ...(list.length ? [{ x: end / size, y: list.at(-1).row.wall_time_ns / tick }] : []),
  ];
  const data = line(steps);
  const ghost = line(before);
  const ys = [...data, ...ghost].map((entry) => entry.y);
  const isDoubtful = ({ row }) => row !== undefined && frame.doubt(row) !== "";
  const doubtful = data.filter(isDoubtful);
  const sets = [{
    label: "fastest point that fits", stepped: "before", borderColor: color("accent"), borderWidth: 2, order: 1,
    backgroundColor: color("accent"), pointStyle: "circle", radius: [...steps.map(() => 4), 0], hitRadius: 6, data,
  }, {
    label: doubts.LEGEND, isUnnamed: !doubtful.length, showLine: false, order: 0, pointStyle: "crossRot", radius: 9, hitRadius: 0,
    borderColor: color("bad"), borderWidth: 1.5, backgroundColor: color("bad"), data: doubtful,
  }, {
    label: "before", isUnnamed: !ghost.length, stepped: "before", borderColor: color("muted"), borderWidth: 1, borderDash: [2, 3], order: 3,
    backgroundColor: color("muted"), pointStyle: "line", radius: 0, hitRadius: 0, data: ghost,
  }];
  if (showsCap) {
    sets.push(capLine(color, `memory cap, ${format.bytes(cap)}`, [least(ys), most(ys)].map((y) => ({ x: cap / size, y })), { order: 2 }));
  }
  return {
    type: "line", data: { datasets: sets },
    options: {
      ...options(tools, { describe }),
      scales: {
        x: axis(color, `memory cap (${unit})`, { min: 0, max: end / size }),
        y: axis(color, `wall time (${timeUnit})`, { isWide: most(ys) > 12 * least(ys), grace: "5%" }),
      },
    },
  };
}

const describe = (format, item) => describeRow(format, item, { doubt: frame.doubt });

function stepsTable() {
  const { bytes, duration, whole } = tools.format;
  const columns = [["from a cap of", true], ["bytes", true], ["fastest"], ["wall time", true], ["wall time (ns)", true], [doubts.LEGEND]];
  return table(columns, capCurve(frame.front).map(({ memory_cap_bytes: cap, row }) => [
    bytes(cap), whole(cap), pointButton(tools, row), duration(row.wall_time_ns), whole(row.wall_time_ns), frame.doubt(row),
  ]));
}

export { capCurve };
const view = {
  name: "caps",
  title: "The fastest point under every memory cap",
  hint: "",
  mount(section, given) {
    tools = given;
    hint = element("p", { class: "hint" });
    const plot = element("div", { class: "plot medium" });
    canvas = element("canvas", {
      role: "img", "aria-label": "Steps of the wall time of the fastest point over the memory cap; the table below has the figures.",
    });
    plot.append(canvas);
    section.append(hint, plot);
    alternative = lazyTable(section, "Table of the steps", stepsTable);
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
