// A stacked bar for each of a few points, with the same numbers as a table: time in parts, memory in categories.
import { PART_COLORS, barScales, wrapped } from "../../../base/pages/charts.js";
import { element } from "../../../base/pages/dom.js";
import * as doubts from "./doubts.js";
import { fillTable, inkOn } from "./point.js";

const words = (name) => name.replaceAll("_", " ");
const mark = (doubt) => (doubt ? " ?" : "");

// Shares of a bar that have room for their number, and a dashed line across all bars.
const marks = {
  id: "marks",
  afterDatasetsDraw(chart) {
    const { ctx, chartArea, scales } = chart;
    const { shares, line, tint } = chart.options.plugins.marks;
    ctx.save();
    ctx.font = `600 ${Chart.defaults.font.size - 1}px ${Chart.defaults.font.family}`;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    chart.data.datasets.forEach((set, number) => chart.getDatasetMeta(number).data.forEach((bar, index) => {
      const text = shares[number]?.[index];
      if (!text || Math.abs(bar.x - bar.base) < ctx.measureText(text).width + 10) return;
      ctx.fillStyle = set.backgroundColor[index].length > 7 ? tint.ink : inkOn(set.backgroundColor[index]);
      ctx.fillText(text, (bar.x + bar.base) / 2, bar.y);
    }));
    const x = line ? scales.x.getPixelForValue(line) : NaN;
    if (x >= chartArea.left && x <= chartArea.right) {
      ctx.strokeStyle = tint.bad;
      ctx.lineWidth = 1.5;
      ctx.setLineDash([6, 4]);
      ctx.beginPath();
      ctx.moveTo(x, chartArea.top);
      ctx.lineTo(x, chartArea.bottom);
      ctx.stroke();
    }
    ctx.restore();
  },
};

// `about`: {names, meanings, axis, scale (a function of the largest value), text (a value for people)}.
// show(entries, line): entries are [{row, note, doubt, isGhost, values: {name: value}, total}], `line` is a value to mark; `doubt`
// says what is known against a time.
function mount(section, tools, about) {
  const summary = element("p", "", { class: "hint", "data-summary": "" });
  const plot = element("div", { class: "plot" });
  const canvas = element("canvas", { role: "img", "aria-label": `${about.axis} in parts, not computed yet` });
  const details = element("details");
  const scroll = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${about.axis} as a table` });
  const table = element("table");
  plot.style.position = "relative";
  plot.append(canvas);
  scroll.append(table);
  details.append(element("summary", "As a table"), scroll);
  details.addEventListener("toggle", () => { if (details.open && last) fill(last.entries); });
  section.append(summary, plot, details);
  let [chart, last] = [null, null];

  function setsOf(entries, size) {
    return about.names.map((name) => ({
      label: words(name),
      data: entries.map((entry) => entry.values[name] / size),
      backgroundColor: entries.map((entry) => `${tools.color(PART_COLORS[name])}${entry.isGhost ? "70" : ""}`),
      borderColor: tools.color("page"), borderWidth: { right: 1 }, maxBarThickness: 34,
    }));
  }

  function options(unit) {
    const ink = tools.color("ink");
    return {
      responsive: true, maintainAspectRatio: false, indexAxis: "y",
      animation: tools.isReducedMotion() ? false : { duration: 250 },
      interaction: { mode: "nearest", intersect: true },
      onClick: (event, hits) => { if (hits.length && !last.entries[hits[0].index].isGhost) tools.select(last.entries[hits[0].index].row.label); },
      scales: barScales(tools.color, `${about.axis} (${unit})`, {
        stacked: true, suggestedMax: last.line ? (1.04 * last.line) / about.scale(last.most)[0] : undefined,
      }),
      plugins: {
        legend: {
          position: "bottom", onClick: null,
          labels: {
            color: ink, usePointStyle: true, pointStyle: "rect", boxHeight: 8, padding: 12,
            filter: (item, data) => data.datasets[item.datasetIndex].data.some((value) => value > 0),
            // The first bar may be a ghost's: a legend has the full colour.
            generateLabels: (drawn) => Chart.defaults.plugins.legend.labels.generateLabels(drawn).map((item) => ({
              ...item, fillStyle: tools.color(PART_COLORS[about.names[item.datasetIndex]]), lineWidth: 0,
            })),
          },
        },
        tooltip: {
          filter: (item, index) => index === 0,
          callbacks: {
            title: () => "",
            label: (item) => {
              const { values, total } = last.entries[item.dataIndex];
              const value = values[about.names[item.datasetIndex]];
              return `${item.dataset.label}: ${about.text(value)} (${tools.format.percent((100 * value) / total)})`;
            },
          },
        },
        marks: {
          line: last.line && last.line / about.scale(last.most)[0],
          tint: { ink, bad: tools.color("bad") },
          shares: about.names.map((name) => last.entries.map(({ values, total }) => `${Math.round((100 * values[name]) / total)} %`)),
        },
      },
    };
  }

  function draw() {
    const { entries, most } = last;
    const [size, unit] = about.scale(most);
    const labels = entries.map(({ row, note, doubt }) => [row.label + mark(doubt), `(${note})`].flatMap((text) => wrapped(text, canvas)));
    const lines = labels.reduce((sum, label) => sum + Math.max(2, label.length), 0);
    plot.style.height = `calc(${plot.clientWidth < 500 ? 8.5 : 6.5}rem + ${1.35 * lines}rem)`;
    const data = { labels, datasets: setsOf(entries, size) };
    if (chart) {
      chart.options = options(unit);
      chart.data.labels = labels;
      data.datasets.forEach((set, index) => Object.assign(chart.data.datasets[index], set));
      chart.update();
    } else {
      chart = new Chart(canvas, { type: "bar", data, options: options(unit), plugins: [marks] });
    }
    if (details.open) fill(entries);
  }

  function fill(entries) {
    const named = (name) => {
      const cell = [words(name)];
      if (about.meanings[name]) cell.push(element("br"), element("small", about.meanings[name], { class: "muted" }));
      return cell;
    };
    const share = (value, total) => (value === 0 ? "–" : [about.text(value), element("br"), element("small", tools.format.percent((100 * value) / total))]);
    const rows = about.names.filter((name) => entries.some((entry) => entry.values[name]))
      .map((name) => [named(name), ...entries.map(({ values, total }) => share(values[name], total))]);
    const more = Object.keys(entries[0].more ?? {}).filter((name) => entries.some((entry) => entry.more[name]))
      .map((name) => [named(name), ...entries.map((entry) => (entry.more[name] ? about.text(entry.more[name]) : "–"))]);
    fillTable(table, `${about.axis}, ${about.exact}`, ["", ...entries.map(({ row, note, doubt }) => `${row.label}${mark(doubt)} (${note})`)], [
      ...rows, ["all", ...entries.map((entry) => about.text(entry.total))], ...more,
    ]);
  }

  function show(entries, { line = null, text = "" } = {}) {
    last = { entries, line, most: Math.max(1, ...entries.map((entry) => entry.total)) };
    plot.hidden = details.hidden = false;
    summary.textContent = text;
    canvas.setAttribute("aria-label", `${about.axis} in parts, as bars. ${text}`);
    draw();
  }

  function say(text) {
    plot.hidden = details.hidden = true;
    summary.textContent = text;
  }

  // Made anew: an old chart keeps its colours and its sharpness.
  function redraw() {
    chart?.destroy();
    chart = null;
    if (last && !plot.hidden) draw();
  }

  return { show, say, redraw };
}

// "compute bound 61.2 %, exposed tp 20.1 %": the largest parts.
function largest(values, total, format, most = 3) {
  return Object.entries(values).filter(([, value]) => value > 0.005 * total).sort((a, b) => b[1] - a[1]).slice(0, most)
    .map(([name, value]) => `${words(name)} ${format.percent((100 * value) / total)}`).join(", ");
}

// "exposed tp +1.02 s, recompute −0.3 s": where two differ most; empty where they hardly do.
function changes(from, to, text, most = 3) {
  const total = Object.values(to).reduce((sum, value) => sum + value, 0);
  return Object.keys(to).map((name) => [name, to[name] - from[name]])
    .filter(([, change]) => Math.abs(change) > 0.002 * total)
    .sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, most)
    .map(([name, change]) => `${words(name)} ${change < 0 ? "−" : "+"}${text(Math.abs(change))}`).join(", ");
}

// What the bars say, in words: the largest parts of the first, and what others do otherwise.
function told(entries, about, format) {
  const [first, ...others] = entries;
  const parts = [`${first.row.label} (${first.note}): ${about.text(first.total)}, of which ${largest(first.values, first.total, format)}.`];
  for (const other of others) {
    const differing = changes(other.values, first.values, about.text);
    const against = other.isGhost ? `Before the change ${other.row.label} took ${about.text(other.total)}` : `Against ${other.row.label} (${other.note}, ${about.text(other.total)})`;
    if (differing) parts.push(`${against}${other.isGhost ? "; since then" : ""}: ${differing}.`);
  }
  const doubtful = entries.filter(({ doubt }) => doubt).map(({ row, note, doubt }) => `${row.label} (${note}), ${doubt}`);
  if (doubtful.length) parts.push(`? ${doubts.LEGEND}: ${doubtful.join("; ")}.`);
  return parts.join(" ");
}

export { mount, told, changes, largest };
