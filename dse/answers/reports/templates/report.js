// Draws the plots of a report, and shows the point that is chosen in any of them or in a table.
import {
  PART_COLORS, axis, barScales, capLine, choosable, isNear, least, lookFor, most, names, placeOf, wrapped,
} from "../../../base/pages/charts.js";
import { Choice } from "../../../base/pages/choice.js";
import { measureOf } from "../../../base/pages/column_measures.js";
import { copies, copyButton, element, save } from "../../../base/pages/dom.js";
import { Filters, said } from "../../../base/pages/filters.js";
import { HeatMap } from "../../../base/pages/heat_map.js";
import { inksOf, short } from "../../../base/pages/inks.js";
import { LinesPlot } from "../../../base/pages/lines_plot.js";
import { bytes, duration, whole, percent, timeScale, memoryScale } from "../../../base/pages/numbers.js";
import { compared } from "../../../base/pages/tables.js";

const report = JSON.parse(document.getElementById("data").textContent);
const root = document.documentElement;
const color = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
// A kind of points for each set of flags; of three flags or more some sets look alike.
const LOOKS = [["plain", "circle"], ["recompute", "triangle"], ["fsdp", "rect"], ["both", "rectRot"]];
const kindOf = (point) => report.flags.reduce((kind, [name]) => 2 * kind + (point[name] ? 1 : 0), 0);
const KINDS = Array.from({ length: 2 ** report.flags.length }, (_, kind) => {
  const words = report.flags.map(([, word]) => word);
  const set = words.filter((_, index) => (kind >> (words.length - 1 - index)) & 1);
  return [set.join(" and ") || `neither ${words.join(" nor ")}`, ...LOOKS[kind % LOOKS.length]];
});
const ANSWERS = {
  best: "fastest", runner_up: "second",
  best_under_cap: "fastest under the cap", runner_up_under_cap: "second under the cap",
};
const perSecond = (value) => whole(value === null ? null : Math.round(value));
const override = (value) => (typeof value === "string" && !/^[A-Za-z]/.test(value) ? `"'${value}'"` : value);

// ---- points
function pointsOf(group) {
  const points = group.points.map((entry) => {
    const point = { ...report.alike, rank: entry[0], origin: group.origins[entry[1]] };
    report.point_fields.forEach((name, index) => { point[name] = entry[index + 2]; });
    point.command = `${point.origin.command} `
      + report.strategy_fields.map((name) => `strategy.${name}=${override(point[name])}`).join(" ");
    point.kind = kindOf(point);
    return point;
  });
  return points;
}

// The axes in which points differ, with their values in ascending order.
function varyingOf(points) {
  const inOrder = (a, b) => (typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b);
  return report.strategy_fields
    .map((name) => ({ name, heading: name.replaceAll("_", " "), values: [...new Set(points.map((point) => point[name]))].sort(inOrder) }))
    .filter(({ values }) => values.length > 1);
}

const exposedShare = (point) => (point.exposed_comm_ns === null ? null : (100 * point.exposed_comm_ns) / point.wall_time_ns);
// Figures that colour points, and columns of the table: [name, title, value of a point, how it is said].
const FIGURES = [
  ["wall_time_ns", "wall time", (point) => point.wall_time_ns, duration],
  ["peak_memory_bytes", "peak memory", (point) => point.peak_memory_bytes, bytes],
  ["exposed", "exposed comm.", exposedShare, (value) => percent(value ?? NaN)],
  ["mfu_pct", "MFU", (point) => point.mfu_pct, (value) => percent(value ?? NaN)],
  ["tokens_per_s", "tokens per s", (point) => point.tokens_per_s, perSecond],
  ["compute_utilization_pct", "compute utilis.", (point) => point.compute_utilization_pct, (value) => percent(value ?? NaN)],
  ...report.run_figures.map(([name, title]) => [name, title, (point) => point[name], perSecond]),
];

const HIGH_IS_BETTER = new Set(["mfu_pct", "tokens_per_s", "compute_utilization_pct", "run_effective_pct", "run_goodput_pct"]);
const LINE_FIGURES = ["peak_memory_bytes", "wall_time_ns"];
const CAPS_SHOWN = 3; // an axis of memory ends at so many times the cap

// ---- one question of the report
class Question {
  constructor(section) {
    this.section = section;
    this.group = report.groups[Number(section.dataset.group)];
    this.points = pointsOf(this.group);
    this.byRank = new Map(this.points.map((point) => [point.rank, point]));
    const cap = this.group.memory_cap_bytes;
    const sizes = this.points.map((point) => point.peak_memory_bytes).filter((size) => size !== null);
    this.showsCap = isNear(cap, sizes);
    for (const note of section.querySelectorAll("[data-cap]")) note.hidden = (note.dataset.cap === "near") !== this.showsCap;
    this.front = new Set(this.group.cap_curve.map((step) => step.rank));
    this.charts = {};
    this.selected = null;
    const sheet = section.querySelector("[data-sheet]");
    if (sheet && matchMedia("(max-width: 62rem)").matches) sheet.open = false; // there it lies over the page
    section.addEventListener("click", (event) => {
      const button = event.target.closest("[data-rank]");
      if (!button) return;
      this.select(Number(button.dataset.rank));
      if (sheet) sheet.open = true;
    });
    this.varying = varyingOf(this.points);
    this.shown = this.points;
    this.by = { index: -1, descending: false };
    this.addHands();
    const details = section.querySelector("details.points");
    details?.addEventListener("toggle", () => this.fillTable());
    const scatter = section.querySelector('[data-plot="scatter"]');
    scatter?.addEventListener("keydown", (event) => this.onKey(event));
    this.draw();
    const { best, best_under_cap: capped } = this.group.answers;
    if (best !== null) this.select(capped ?? best);
  }

  // Filters over the axes that vary, and the choice of what colours points.
  addHands() {
    const [fold, row, map, lines] = ["filters", "ink", "heat", "lines"].map((name) => this.section.querySelector(`[data-${name}]`));
    if (map) this.heat = new HeatMap(map, { preferred: { x: ["tp", "pp"], y: ["dp", "pp"], of: ["wall_time_ns"] }, choose: (point) => this.select(point.rank) });
    if (lines) this.lines = new LinesPlot(lines, { label: "Points as lines through their axes", color, preferred: { ink: ["wall_time_ns"] } });
    if (!fold) return;
    this.filters = new Filters(fold, () => this.filter());
    this.tellFilters();
    if (!row) return;
    this.ink = new Choice("colour", ["flags"], () => this.draw());
    const figures = FIGURES.filter(([, , valueOf]) => this.points.some((point) => valueOf(point) !== null)).map(([name, title]) => [name, title]);
    this.ink.offer([["flags", report.flags.map(([, word]) => word).join(" and ") || "none"], ...this.varying.map(({ name, heading }) => [name, heading]), ...figures]);
    row.append(this.ink.root);
  }

  // Figures of the points that have one.
  figures() {
    return FIGURES.filter(([, , valueOf]) => this.points.some((point) => valueOf(point) !== null))
      .map(([name, title, of, said]) => ({ name, title, heading: title, of, said, isHighBetter: HIGH_IS_BETTER.has(name) }));
  }

  tellFilters() {
    const ranges = this.figures().map((figure) => {
      const values = this.points.map(figure.of).filter((value) => value !== null);
      return { ...figure, range: [least(values), most(values)] };
    }).filter(({ range: [first, last] }) => first < last);
    this.filters.update({ varying: [...this.varying, ...ranges], kept: this.shown, count: this.points.length }, "points");
  }

  filter() {
    const cap = this.group.memory_cap_bytes ?? Infinity;
    const figures = new Map(this.figures().map(({ name, of }) => [name, of]));
    this.shown = this.points.filter((point) => (!this.filters.fits.checked || point.peak_memory_bytes <= cap)
      && this.filters.passes((name) => (figures.get(name) ?? ((each) => each[name]))(point)));
    this.tellFilters();
    this.draw();
    this.fillTable(true);
    this.fillHeat();
  }

  fillHeat() {
    const axes = this.varying.map((axis) => ({ ...axis, place: (point) => axis.values.indexOf(point[axis.name]) }));
    this.heat?.update({ axes, figures: this.figures(), rows: this.shown, said, label: (point) => point.label, isChosen: (point) => point.rank === this.selected });
  }

  // A line for each point through its axes, and two figures.
  fillLines() {
    const axes = this.varying.map((axis) => ({ ...axis, said, isAxis: true, isNumber: typeof axis.values[0] === "number", at: (point) => point[axis.name] }));
    const figures = this.figures().map((figure) => ({ ...figure, isNumber: true, at: figure.of, values: [most(this.points.map(figure.of))] }));
    const measures = [...axes, ...figures].map(measureOf);
    const through = measures.filter(({ name, places }) => places || LINE_FIGURES.includes(name));
    const selected = this.shown.find(({ rank }) => rank === this.selected) ?? null;
    this.lines?.update({ measures, axes: through, rows: this.shown, selected, cost: (point) => point.wall_time_ns });
  }

  // Points in sets of one colour each, by what was chosen; undefined: by flags.
  inkSets(points, radius) {
    const chosen = this.ink?.value ?? "flags";
    const axisOf = this.varying.find(({ name }) => name === chosen);
    const figure = FIGURES.find(([name]) => name === chosen);
    if (!axisOf && !figure) return undefined;
    const valueOf = axisOf ? (point) => axisOf.values.indexOf(point[chosen]) : (point) => figure[2](point) ?? NaN;
    const say = axisOf ? (index) => `${axisOf.heading} ${said(axisOf.values[index])}` : (value) => figure[3](figure[0].endsWith("_per_s") ? short(value) : value);
    const { of, legend } = inksOf(points.map(valueOf), say, color);
    return legend.map(({ color: ink, text }) => ({
      label: text, role: "points", pointStyle: "circle", radius, hoverRadius: radius + 2, hitRadius: 5, order: 3,
      borderColor: ink, borderWidth: 1.5, backgroundColor: `${ink}80`,
      data: points.filter((point) => of(valueOf(point)) === ink).map((point) => this.place(point)),
    })).filter((set) => set.data.length);
  }

  onKey(event) {
    const at = this.shown.findIndex((point) => point.rank === this.selected);
    const to = placeOf(event.key, at, this.shown.length - 1);
    if (to === undefined || !this.shown.length) return;
    event.preventDefault();
    this.select(this.shown[to].rank);
  }

  select(rank) {
    const point = this.byRank.get(rank);
    if (!point) return;
    this.selected = rank;
    this.showSelected(point);
    this.fillHeat();
    this.fillLines();
    const { scatter } = this.charts;
    if (scatter) {
      scatter.data.datasets.find((set) => set.role === "selected").data = [this.place(point)];
      scatter.update("none");
    }
  }

  showSelected(point) {
    const panel = this.section.querySelector("[data-selected]");
    const cap = this.group.memory_cap_bytes;
    const best = this.byRank.get(this.group.answers.best);
    const tags = element("div");
    for (const [name, title] of Object.entries(ANSWERS)) {
      if (this.group.answers[name] === point.rank) tags.append(element("span", title, { class: "tag good" }));
    }
    if (this.front.has(point.rank)) tags.append(element("span", "on the Pareto front", { class: "tag" }));
    if (cap !== null && point.peak_memory_bytes !== null) {
      const fits = point.peak_memory_bytes <= cap;
      tags.append(element("span", fits ? "fits under the cap" : "over the cap", { class: `tag ${fits ? "" : "bad"}` }));
    }
    if (point.fractional) tags.append(element("span", "fractional shards are cut", { class: "tag" }));
    const slower = (100 * (point.wall_time_ns - best.wall_time_ns)) / best.wall_time_ns;
    const exposed = point.exposed_comm_ns === null ? null : (100 * point.exposed_comm_ns) / point.wall_time_ns;
    const rows = [
      ["wall time", duration(point.wall_time_ns), `${whole(point.wall_time_ns)} ns`],
      ...(point.wall_time_low_ns === null ? [] : [["80 % of such steps", `${duration(point.wall_time_low_ns)} to ${duration(point.wall_time_high_ns)}`]]),
      ["slower than fastest", percent(slower)],
      ["peak memory", bytes(point.peak_memory_bytes), `${whole(point.peak_memory_bytes)} bytes`],
      ["GPU time", duration(point.gpu_time_ns)],
      ["communication", duration(point.comm_time_ns)],
      ["exposed comm.", duration(point.exposed_comm_ns), percent(exposed)],
      ["compute utilis.", percent(point.compute_utilization_pct)],
      ["MFU", percent(point.mfu_pct ?? NaN)],
      ["tokens per s", perSecond(point.tokens_per_s)],
      ["tokens per s and NPU", perSecond(point.tokens_per_s_per_npu)],
      ...report.run_figures.map(([name, title]) => [title, perSecond(point[name])]),
      ["memory utilis.", percent(point.memory_utilization_pct)],
      ["compute-bound", percent(point.compute_bound_pct)],
      ["operations per byte", point.operation_intensity === null ? "–" : String(point.operation_intensity)],
      ["place", `${whole(point.rank + 1)} of ${whole(this.group.finished)}`],
    ].filter(([, value]) => value !== "–");
    const body = element("tbody");
    for (const [name, value, exact] of rows) {
      const row = element("tr");
      const cell = element("td", value, { class: "n" });
      if (exact) cell.append(element("small", exact));
      row.append(element("th", name, { scope: "row" }), cell);
      body.append(row);
    }
    const table = element("table");
    table.append(body);
    const copy = element("button", "Copy", { type: "button", class: "plain" });
    const head = element("div", undefined, { class: "head" });
    head.append(element("strong", "Command line"), copy);
    const command = element("pre", point.command, { "data-command": "", tabindex: "0" });
    copies(copy, command);
    panel.replaceChildren(element("p", point.label, { class: "strategy" }), tags);
    if (point.origin.variant) panel.append(element("p", `with ${point.origin.variant}`, { class: "hint" }));
    panel.append(head, command);
    if (point.origin.note) panel.append(element("p", point.origin.note, { class: "hint" }));
    panel.append(table);
    this.section.querySelector("[data-status]").textContent = `${point.label}: ${duration(point.wall_time_ns)}, `
      + `${bytes(point.peak_memory_bytes)}, place ${point.rank + 1} of ${this.group.finished}`;
  }

  // Every axis that varies and every figure is a column; a heading sorts.
  fillTable(isAgain = false) {
    const table = this.section.querySelector('[data-table="points"]');
    if (!table || (isAgain ? !table.rows.length : table.rows.length)) return;
    const columns = [
      ...this.varying.map(({ name, heading }) => [name, heading, (point) => point[name], said]),
      ...FIGURES.filter(([, , valueOf]) => this.points.some((point) => valueOf(point) !== null)),
    ];
    const { index: by, descending } = this.by;
    const head = element("tr", {}, element("th", "strategy", { scope: "col" }));
    columns.forEach(([, title], index) => {
      const isBy = index === by;
      const button = element("button", { type: "button", class: "link" }, title);
      button.addEventListener("click", () => {
        this.by = { index, descending: isBy && !descending };
        this.fillTable(true);
        table.tHead.querySelectorAll("button")[index].focus();
      });
      head.append(element("th", { scope: "col", class: "n", "aria-sort": isBy ? (descending ? "descending" : "ascending") : null }, button));
    });
    const valueOf = columns[by]?.[2];
    const points = valueOf ? [...this.shown].sort((a, b) => compared(valueOf(a), valueOf(b), descending ? -1 : 1)) : this.shown;
    table.replaceChildren(element("thead", {}, head), element("tbody", {}, ...points.map((point) => {
      const cell = element("td", {}, element("button", point.label, { type: "button", class: "link", "data-rank": point.rank }));
      if (point.origin.variant) cell.append(element("br"), element("small", point.origin.variant));
      return element("tr", {}, cell, ...columns.map(([, , read, say]) => element("td", say(read(point)), { class: "n" })));
    })));
  }

  // ---- plots
  draw() {
    for (const chart of Object.values(this.charts)) chart.destroy();
    this.charts = {};
    for (const canvas of this.section.querySelectorAll("canvas[data-plot]")) {
      const name = canvas.dataset.plot;
      this.charts[name] = new Chart(canvas, this[name](canvas));
    }
    if (this.selected === null) this.fillLines();
    else this.select(this.selected);
  }

  place(point) {
    return { x: point.wall_time_ns / this.timeUnit[0], y: point.peak_memory_bytes / this.memoryUnit[0], rank: point.rank };
  }

  scatter() {
    const all = this.points.filter((point) => point.peak_memory_bytes !== null);
    const points = this.shown.filter((point) => point.peak_memory_bytes !== null);
    const cap = this.group.memory_cap_bytes;
    const walls = all.map((point) => point.wall_time_ns);
    const sizes = all.map((point) => point.peak_memory_bytes);
    this.timeUnit = timeScale(most(walls));
    this.memoryUnit = memoryScale(most(sizes));
    const front = this.group.cap_curve.map((step) => this.byRank.get(step.rank)).reverse();
    const radius = points.length > 500 ? 2.5 : 5;
    const sets = this.inkSets(points, radius) ?? KINDS.map(([label, name, style], kind) => ({
      label, role: "points", pointStyle: style, radius, hoverRadius: radius + 2, hitRadius: 5, order: 3,
      borderColor: color(name), borderWidth: 1.5, backgroundColor: `${color(name)}80`,
      data: points.filter((point) => point.kind === kind).map((point) => this.place(point)),
    })).filter((set) => set.data.length);
    sets.push({
      label: "Pareto front", role: "front", type: "line", stepped: "before", radius: 0, hitRadius: 0, order: 4,
      borderColor: color("muted"), borderWidth: 1.5, backgroundColor: color("muted"), pointStyle: "line",
      data: front.map((point) => this.place(point)),
    });
    const { best, best_under_cap: capped } = this.group.answers;
    const marked = (best === capped
      ? [[best, "fastest, also under the cap"]] : [[best, "fastest"], [capped, "fastest under the cap"]])
      .map(([rank, label]) => [this.byRank.get(rank), label]).filter(([point]) => point);
    const ends = this.xRange(walls);
    if (this.showsCap) {
      const line = ends.map((x) => ({ x, y: cap / this.memoryUnit[0] }));
      sets.push(capLine(color, `memory cap, ${bytes(cap)}`, line, { role: "cap", type: "line", order: 5 }));
    }
    sets.push({
      label: "selected point", role: "selected", pointStyle: "circle", radius: 10, hitRadius: 0, hoverRadius: 10,
      order: 1, borderColor: color("ink"), borderWidth: 2, backgroundColor: "transparent", data: [],
    });
    return {
      type: "scatter",
      data: { datasets: sets },
      options: {
        ...this.options((hit) => hit.raw.rank),
        scales: {
          x: { ...this.axis(`wall time (${this.timeUnit[1]})`, walls), min: ends[0], max: ends[1] },
          y: this.axis(`peak memory of a rank (${this.memoryUnit[1]})`, sizes),
        },
      },
      plugins: [names(color, () => marked.map(([point, text]) => ({ ...this.place(point), text })))],
    };
  }

  xRange(walls) {
    const [first, last] = [walls[0], most(walls)];
    const room = 0.04 * (last - first || last);
    const ends = this.isWide(walls) ? [first / 1.15, last * 1.15] : [Math.max(0, first - room), last + room];
    return ends.map((value) => value / this.timeUnit[0]);
  }

  isWide(values) {
    return most(values) > 12 * Math.max(1, least(values));
  }

  axis(text, values) {
    const isWide = this.isWide(values);
    return axis(color, text, isWide ? { isWide } : { beginAtZero: false });
  }

  options(rankOf) {
    return choosable(color, {
      choose: (chart, hits) => this.onHit(chart, hits, rankOf),
      describe: (item) => this.describe(rankOf(item), item), isNamed: (set) => set.role !== "selected",
    });
  }

  onHit(chart, hits, rankOf) {
    const { datasetIndex, index } = hits[0];
    const set = chart.data.datasets[datasetIndex];
    const rank = rankOf({ raw: set.data[index], dataIndex: index });
    if (rank !== undefined) this.select(rank);
  }

  describe(rank, item) {
    const point = this.byRank.get(rank);
    if (!point) return item.dataset.label;
    return [point.label, `${duration(point.wall_time_ns)}, ${bytes(point.peak_memory_bytes)}`, point.origin.variant].filter(Boolean);
  }

  // Stacked bars of the best points; `parts` are values of all of them by name.
  bars(canvas, parts, scale, title) {
    const { points } = this.group.bars;
    const labels = points.map((rank) => {
      const names = Object.keys(ANSWERS).filter((name) => this.group.answers[name] === rank);
      const answers = `(${names.map((name) => ANSWERS[name]).join(", ")})`;
      return [this.byRank.get(rank).label, answers].flatMap((text) => wrapped(text, canvas));
    });
    this.heighten(canvas, labels);
    const sets = Object.entries(parts).map(([name, values]) => ({
      label: name.replaceAll("_", " "), data: values.map((value) => value / scale[0]),
      backgroundColor: color(PART_COLORS[name] ?? "c11"), borderColor: color("page"), borderWidth: { right: 1 }, maxBarThickness: 34,
    }));
    const options = this.options((item) => points[item.dataIndex]);
    options.plugins.legend.labels.pointStyle = "rect";
    options.plugins.tooltip.callbacks.label = (item) => {
      const total = Object.values(parts).reduce((sum, values) => sum + values[item.dataIndex], 0);
      const value = item.raw * scale[0];
      return `${item.dataset.label}: ${scale[2](value)} (${percent((100 * value) / total)})`;
    };
    return {
      type: "bar", data: { labels, datasets: sets },
      options: {
        ...options, indexAxis: "y",
        scales: barScales(color, `${title} (${scale[1]})`, { stacked: true }),
      },
    };
  }

  // Room for labels of several lines.
  heighten(canvas, labels) {
    const lines = Math.max(2, ...labels.map((label) => label.length));
    canvas.parentElement.style.setProperty("--rows", String(lines * labels.length));
  }

  mostOfBars(figure) {
    return most(this.group.bars.points.map((rank) => this.byRank.get(rank)[figure]));
  }

  time(canvas) {
    return this.bars(canvas, this.group.bars.time, [...timeScale(this.mostOfBars("wall_time_ns")), duration], "wall time");
  }

  // Where an axis of memory ends: points far above the cap would hide those that fit.
  memoryEnd(largest) {
    const cap = this.group.memory_cap_bytes;
    const fits = cap !== null && this.group.answers.best_under_cap !== null;
    return fits ? Math.min(largest, CAPS_SHOWN * cap) : largest;
  }

  memory(canvas) {
    const largest = this.mostOfBars("peak_memory_bytes");
    const end = this.memoryEnd(largest);
    const scale = memoryScale(end);
    const cut = end < largest ? `, bars end at ${bytes(end)}` : "";
    const chart = this.bars(canvas, this.group.bars.memory, [...scale, bytes], `peak memory of a rank${cut}`);
    if (cut) chart.options.scales.x.max = end / scale[0];
    return chart;
  }

  caps() {
    const steps = this.group.cap_curve.map((step) => ({ cap: step.memory_cap_bytes, point: this.byRank.get(step.rank) }));
    const last = this.memoryEnd(steps.at(-1).cap);
    const [size, unit] = memoryScale(last);
    const [tick, timeUnit] = timeScale(steps[0].point.wall_time_ns);
    const data = steps.map(({ cap, point }) => ({ x: cap / size, y: point.wall_time_ns / tick, rank: point.rank }));
    const cap = this.group.memory_cap_bytes;
    const ys = data.map((entry) => entry.y);
    const end = { x: Math.max((1.1 * last) / size, this.showsCap ? (1.1 * cap) / size : 0), y: data.at(-1).y };
    const sets = [{
      label: "fastest point that fits", role: "caps", stepped: "before", borderColor: color("accent"), borderWidth: 2,
      backgroundColor: color("accent"), pointStyle: "circle", radius: [...data.map(() => 4), 0], hitRadius: 6,
      data: [...data, end],
    }];
    if (this.showsCap) {
      const line = [least(ys), most(ys)].map((y) => ({ x: cap / size, y }));
      sets.push(capLine(color, `memory cap, ${bytes(cap)}`, line, { role: "cap" }));
    }
    return {
      type: "line", data: { datasets: sets },
      options: {
        ...this.options((item) => item.raw.rank),
        scales: { x: axis(color, `memory cap (${unit})`, { min: 0, max: end.x }), y: axis(color, `wall time (${timeUnit})`, { grace: "5%" }) },
      },
    };
  }

  tornado(canvas) {
    const entries = this.group.sensitivity.filter((entry) => entry.span_ns);
    const change = (entry, name) => (entry[name] === null ? null : (100 * (entry[name] - entry.base_wall_time_ns)) / entry.base_wall_time_ns);
    const set = (name, label, tint) => ({
      label, backgroundColor: color(tint), data: entries.map((entry) => change(entry, name)), maxBarThickness: 18, grouped: false,
    });
    const labels = entries.map((entry) => wrapped(`${entry.label}, ${entry.value} ${entry.unit}`, canvas));
    if (labels.some((label) => label.length > 1)) this.heighten(canvas, labels);
    const options = this.options(() => undefined);
    options.plugins.legend.labels.pointStyle = "rect";
    options.plugins.tooltip.callbacks.label = (item) => {
      const entry = entries[item.dataIndex];
      const [name, factor] = item.datasetIndex ? ["high_wall_time_ns", entry.high_factor] : ["low_wall_time_ns", entry.low_factor];
      return `${entry.label} ${entry.value * factor} ${entry.unit}: ${duration(entry[name])} (${item.raw > 0 ? "+" : ""}${percent(item.raw)})`;
    };
    return {
      type: "bar",
      data: {
        labels,
        datasets: [set("low_wall_time_ns", "halved", "c3"), set("high_wall_time_ns", "doubled", "c1")],
      },
      options: {
        ...options, indexAxis: "y", scales: barScales(color, "change of the wall time (%)"),
      },
    };
  }
}
lookFor(false);
// ---- the optimum against a numeric axis: a line for each combination of the other axes
function axisPlot(canvas) {
  const study = report.axis_studies[Number(canvas.dataset.axes)];
  const values = (index) => study.settings.map((setting) => setting.values[index]);
  const x = study.numeric_axis;
  const [size, unit] = timeScale(Math.max(...study.settings.flatMap((setting) => [setting.best, setting.best_under_cap]
    .filter(Boolean).map((point) => point.wall_time_ns))));
  const tints = ["c1", "c3", "c5", "c6", "c8", "c9"];
  const sets = [];
  for (const [which, dash, suffix] of [["best", [], ""], ["best_under_cap", [6, 4], ", under the cap"]]) {
    if (which === "best_under_cap" && !study.cap_binds) continue;
    const lines = new Map();
    for (const setting of study.settings) {
      if (!setting[which]) continue;
      const others = study.short_axes.map((name, index) => [name, index]).filter(([, index]) => index !== x)
        .map(([name, index]) => `${name}=${setting.shown[index]}`).join(" ");
      if (!lines.has(others)) lines.set(others, []);
      lines.get(others).push({ x: setting.values[x], y: setting[which].wall_time_ns / size, point: setting[which] });
    }
    [...lines].forEach(([others, data], index) => sets.push({
      label: (others || "optimum") + suffix, data, borderDash: dash, borderWidth: 2, radius: 4, hitRadius: 6,
      borderColor: color(tints[index % tints.length]), backgroundColor: color(tints[index % tints.length]),
    }));
  }
  const isWide = Math.min(...values(x)) > 0 && Math.max(...values(x)) >= 8 * Math.min(...values(x));
  // The strategy at the first point of a line and wherever it changes, where there is room for it.
  const labels = {
    id: "strategies",
    afterDatasetsDraw(chart) {
      const { ctx, chartArea } = chart;
      const taken = [];
      ctx.save();
      ctx.font = `600 ${Chart.defaults.font.size - 1}px ${Chart.defaults.font.family}`;
      ctx.textBaseline = "bottom";
      chart.data.datasets.forEach((set, number) => set.data.forEach((entry, index) => {
        if (index && set.data[index - 1].point.label === entry.point.label) return;
        const at = chart.getDatasetMeta(number).data[index];
        const { width } = ctx.measureText(entry.point.label);
        const left = Math.max(chartArea.left + 2, Math.min(at.x - width / 2, chartArea.right - width - 2));
        const top = Math.max(chartArea.top + 14, at.y - 6);
        if (taken.some(([a, b, w]) => Math.abs(b - top) < 14 && a < left + width && left < a + w)) return;
        taken.push([left, top, width]);
        ctx.lineWidth = 4;
        ctx.strokeStyle = color("page");
        ctx.strokeText(entry.point.label, left, top);
        ctx.fillStyle = color("ink");
        ctx.fillText(entry.point.label, left, top);
      }));
      ctx.restore();
    },
  };
  return new Chart(canvas, {
    type: "line", data: { datasets: sets },
    options: {
      animation: false, responsive: true, maintainAspectRatio: false,
      scales: {
        x: { ...axis(color, study.axes[x]), type: isWide ? "logarithmic" : "linear", grace: "4%" },
        y: axis(color, `wall time of the optimum (${unit})`, { grace: "12%" }),
      },
      plugins: {
        legend: { position: "bottom", onClick: null, display: sets.length > 1, labels: { color: color("ink"), usePointStyle: true, pointStyle: "line" } },
        tooltip: { callbacks: { title: () => "", label: ({ raw }) => [raw.point.label, `${duration(raw.point.wall_time_ns)}, ${bytes(raw.point.peak_memory_bytes)}`] } },
      },
    },
    plugins: [labels],
  });
}

// ---- files that run a point: copied, or saved under their names
for (const file of document.querySelectorAll("pre[data-file]")) {
  const { file: name } = file.dataset;
  const saving = element("button", { type: "button", class: "plain", "aria-label": `Download ${name}` }, "Download");
  saving.addEventListener("click", () => save(name, file.textContent, "text/plain"));
  file.before(element("div", { class: "head" }, element("strong", {}, name), copyButton(file, "Copy", name), saving));
}

const axisCharts = new Map();
function drawAxes() {
  for (const canvas of document.querySelectorAll("canvas[data-axes]")) {
    axisCharts.get(canvas)?.destroy();
    axisCharts.set(canvas, axisPlot(canvas));
  }
}
drawAxes();

const questions = [...document.querySelectorAll("section[data-group]")].map((section) => new Question(section));
const redraw = () => {
  questions.forEach((question) => question.draw());
  drawAxes();
};
let drawnWidth = innerWidth; // another width breaks the labels of bars elsewhere
addEventListener("resize", () => {
  if (innerWidth === drawnWidth || root.classList.contains("printing")) return;
  drawnWidth = innerWidth;
  requestAnimationFrame(redraw);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

// On paper: light, sharp, as wide as the page, with the tables open.
const opened = [];
addEventListener("beforeprint", () => {
  root.classList.add("light", "printing");
  for (const details of document.querySelectorAll("details:not(.screen):not([open])")) {
    details.open = true;
    opened.push(details);
  }
  questions.forEach((question) => { if (!question.section.querySelector("details.points.screen")) question.fillTable(); });
  lookFor(true);
  redraw();
});
addEventListener("afterprint", () => {
  root.classList.remove("light", "printing");
  for (const details of opened.splice(0)) details.open = false;
  lookFor(false);
  redraw();
});
