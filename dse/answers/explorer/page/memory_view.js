// The view of the fullest rank's memory: what fills it at its peak, and how it comes and goes.
import { PART_COLORS } from "../../../base/pages/charts.js";
import * as barCharts from "./bars.js";
import { element } from "../../../base/pages/dom.js";
import { atPeak, largestOperators, overTime } from "./memory.js";
import { shown, whyNone, derived, once, whenSeen, fillTable } from "./point.js";

const OPERATORS = 12;
const figures = once(atPeak);
const curves = once((recording) => overTime(recording));
let [bars, tools, update, about, chart, last] = [null, null, null, null, null, null];
const page = {};

const isNear = (cap, peak) => cap !== null && cap !== undefined && cap <= 2.5 * peak;

async function compute(frame) {
  const entries = shown(frame);
  if (!entries.length) return say(whyNone(frame));
  if (entries[0].row.peak_memory_bytes === null) return say("Memory is not tracked on this system: set system.track_local_memory.");
  try {
    const found = await derived(frame, entries, tools.engine, figures);
    if (!found) return;
    const drawn = found.filter((entry) => entry.figures)
      .map((entry) => ({ ...entry, peak: entry.figures, values: entry.figures.categories, total: entry.figures.peak_memory_bytes }));
    showBars(drawn, frame.cap_bytes ?? null);
    const curve = await derived(frame, entries.slice(0, 1), tools.engine, curves); // a task of its own
    if (curve) showCurve(drawn[0], curve[0].figures, frame.cap_bytes ?? null);
  } catch (problem) {
    if (problem?.kind !== "cancelled") say(`What fills the memory is not known: ${problem?.message ?? problem}`);
  }
}

function showBars(drawn, cap) {
  const { format } = tools;
  const line = isNear(cap, Math.max(...drawn.map((entry) => entry.total))) ? cap : null;
  const marked = line === null ? "" : ` The dashed line is the cap of ${format.bytes(cap)}.`;
  bars.show(drawn, { line, text: `${barCharts.told(drawn, about, format)}${marked}` });
}

function showCurve({ peak, recording }, curve, cap) {
  const { format } = tools;
  last = { curve, line: isNear(cap, peak.peak_memory_bytes) ? cap : null, recording, peak };
  const during = peak.operator ? `, during ${peak.operator}` : "";
  page.when.textContent = `Rank ${peak.rank} of ${recording.row.label} first reaches its peak of ${format.bytes(peak.peak_memory_bytes)} `
    + `at ${format.duration(peak.at_ns)}${during}.`;
  page.over.hidden = false;
  drawCurve();
  if (page.details.open) fillOperators();
}

function fillOperators() {
  const { format } = tools;
  const { peak, recording } = last;
  fillTable(
    page.table, `The largest operators at the peak of ${recording.row.label}`, ["operator", "category", "memory", "of the peak"],
    largestOperators(peak.items, OPERATORS).map(({ category, operator, bytes, layers }) => [
      `${operator}${layers ? ` of ${layers} layer${layers > 1 ? "s" : ""}` : ""}`, category.replaceAll("_", " "),
      format.bytes(bytes), format.percent((100 * bytes) / peak.peak_memory_bytes),
    ]), 2,
  );
}

function say(text) {
  bars.say(text);
  page.over.hidden = true;
}

// The areas of the categories one on the other, in steps: exact at each point, the fullest moment of a pixel or two.
function drawCurve() {
  const { format } = tools;
  const { curve, line, recording, peak } = last;
  const [tick, unit] = format.timeScale(recording.row.wall_time_ns);
  const [size, sizeUnit] = format.memoryScale(peak.peak_memory_bytes);
  const end = recording.row.wall_time_ns / tick;
  const names = Object.keys(tools.data.categories).filter((name) => curve.categories[name].some((value) => value > 0));
  const below = curve.time_ns.map(() => 0);
  const sets = names.map((name, number) => {
    const data = curve.categories[name].map((value, index) => ({ x: curve.time_ns[index] / tick, y: (below[index] += value) / size, value }));
    data.push({ ...data.at(-1), x: end });
    const tint = tools.color(PART_COLORS[name]);
    return {
      label: name.replaceAll("_", " "), data, stepped: "before", fill: number ? "-1" : "origin", radius: 0, hitRadius: 0,
      borderWidth: 0, borderColor: tint, backgroundColor: tint, pointStyle: "rect",
    };
  });
  // A step holds its value until the next: Chart.js calls that "before".
  if (line !== null) {
    sets.push({
      label: `memory cap, ${format.bytes(line)}`, data: [{ x: 0, y: line / size }, { x: end, y: line / size }], fill: false, order: -1,
      radius: 0, hitRadius: 0, borderColor: tools.color("bad"), backgroundColor: tools.color("bad"), borderDash: [6, 4], borderWidth: 1.5, pointStyle: "line",
    });
  }
  const ink = tools.color("ink");
  const axis = (text) => ({
    type: "linear", title: { display: true, text, color: ink }, grid: { color: tools.color("grid") }, border: { color: tools.color("line") },
    ticks: { color: tools.color("muted"), includeBounds: false },
  });
  const options = {
    animation: false, responsive: true, maintainAspectRatio: false, parsing: false, normalized: true,
    interaction: { mode: "index", intersect: false, axis: "x" },
    scales: { x: { ...axis(`time (${unit})`), min: 0, max: end }, y: { ...axis(`memory of rank ${peak.rank} (${sizeUnit})`), min: 0 } },
    plugins: {
      legend: { position: "bottom", onClick: null, labels: { color: ink, usePointStyle: true, boxHeight: 8, padding: 12 } },
      tooltip: {
        filter: (item) => item.raw.value > 0,
        itemSort: (a, b) => b.datasetIndex - a.datasetIndex,
        callbacks: {
          title: (items) => (items.length ? `at ${format.duration(Math.round(items[0].raw.x * tick))}` : ""),
          label: (item) => `${item.dataset.label}: ${format.bytes(item.raw.value)}`,
          footer: (items) => `all: ${format.bytes(items.reduce((sum, item) => sum + item.raw.value, 0))}`,
        },
      },
    },
  };
  page.canvas.setAttribute("aria-label", `Memory over time. ${page.when.textContent}`);
  if (chart) {
    chart.options = options;
    chart.data.datasets = sets;
    chart.update("none");
  } else {
    chart = new Chart(page.canvas, { type: "line", data: { datasets: sets }, options });
  }
}

const view = {
  name: "memory", title: "What fills the memory",
  hint: "The tensors that are alive when the memory of the fullest rank first reaches its peak, and what it holds over time.",
  mount(section, given) {
    tools = given;
    about = {
      names: Object.keys(tools.data.categories), meanings: tools.data.categories, axis: "peak memory of a rank", exact: "of the fullest rank",
      scale: tools.format.memoryScale, text: tools.format.bytes,
    };
    bars = barCharts.mount(section, tools, about);
    page.over = element("div");
    page.over.hidden = true;
    page.when = element("p", "", { class: "hint" });
    page.canvas = element("canvas", { role: "img", "aria-label": "Memory over time, not computed yet" });
    page.table = element("table");
    const plot = element("div", { class: "plot medium" });
    plot.style.cssText = "position: relative; height: 19rem";
    const details = element("details", { class: "screen" });
    page.details = details;
    details.addEventListener("toggle", () => { if (details.open && last) fillOperators(); });
    const scroll = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "largest operators" });
    plot.append(page.canvas);
    scroll.append(page.table);
    details.append(element("summary", "The largest operators at the peak"), scroll);
    page.over.append(element("h4", "Over time"), page.when, plot, details);
    section.append(page.over);
    update = whenSeen(section, compute);
  },
  update: (frame) => update(frame),
  redraw() {
    bars.redraw();
    chart?.destroy();
    chart = null;
    if (last && !page.over.hidden) drawCurve();
  },
};

export { view };
