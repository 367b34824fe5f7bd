// What the plots of every page share: fonts, paper, axes, names beside points, and labels that break.

// Colours of the parts of a time and of the categories of a memory.
const PART_COLORS = {
  compute_bound: "c1", memory_bound: "c2", recompute: "c3", other_compute: "c4", exposed_dp: "c5", exposed_tp: "c6",
  exposed_sp: "c7", exposed_pp: "c8", exposed_comm: "c9", remote_memory: "c9", pipeline_bubble: "c10", idle: "c11",
  finished: "c11", weights: "c1", gradients: "c2", optimizer_state: "c5", activations: "c3",
  activation_gradients: "c7", buffers: "c6", inputs: "c10", other: "c11",
  matrix_products: "c1", attention: "c4", launches: "c10", optimizer: "c3", dp: "c5", tp: "c6", cp: "c7", p2p: "c8",
  ep: "c9", pp_bubble: "c11", communication: "c6", workspace: "c10", reserve: "c11",
};

// Text of plots on the screen, or on paper: there smaller and sharp. What is drawn already must be drawn again.
function lookFor(isPaper) {
  if (typeof Chart === "undefined") return; // a page that draws without the library
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = isPaper ? 11 : 12;
  Chart.defaults.devicePixelRatio = isPaper ? 3 : undefined;
}

// For what is drawn without the library.
const pixelRatio = () => {
  const { devicePixelRatio: asked } = Chart.defaults; // a number on paper, else a function or nothing
  return Number.isFinite(asked) ? asked : Math.max(1, globalThis.devicePixelRatio ?? 1);
};

const most = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);

// A cap far from the points would squeeze them into a corner: it is said in words instead.
const isNear = (cap, sizes) => cap !== null && sizes.length > 0 && cap <= 2 * most(sizes) && cap >= least(sizes) / 2;

function tick(isWide) {
  return (value) => {
    const short = Number(Number(value).toPrecision(6));
    return isWide && !/^[125]e/.test(short.toExponential()) ? "" : String(short);
  };
}

function axis(color, text, { isWide = false, ...more } = {}) {
  return {
    type: isWide ? "logarithmic" : "linear",
    title: { display: true, text: isWide ? `${text}, logarithmic` : text, color: color("ink") },
    grid: { color: color("grid") }, border: { color: color("line") },
    ticks: { color: color("muted"), includeBounds: false, callback: tick(isWide) },
    ...more,
  };
}

// Of bars that lie: values across, a label of each up.
const barScales = (color, title, more = {}) => ({
  x: { title: { display: true, text: title, color: color("ink") }, grid: { color: color("grid") }, ticks: { color: color("muted") }, ...more },
  y: { stacked: more.stacked ?? false, grid: { display: false }, ticks: { color: color("ink"), autoSkip: false } },
});

// Options of a plot whose points can be chosen: `choose(chart, hits)` after a click, `describe(item)` under the pointer.
const choosable = (color, { choose, describe, isNamed = () => true, animation = false }) => ({
  animation, responsive: true, maintainAspectRatio: false,
  interaction: { mode: "nearest", intersect: true },
  onClick: (event, hits) => { if (hits.length) choose(event.chart, hits); },
  onHover: (event, hits) => { event.native.target.style.cursor = hits.length ? "pointer" : ""; },
  plugins: {
    legend: {
      position: "bottom", onClick: null,
      labels: {
        filter: (item, data) => isNamed(data.datasets[item.datasetIndex]),
        color: color("ink"), usePointStyle: true, boxHeight: 8, padding: 14,
      },
    },
    tooltip: { filter: (item, index) => index === 0, animation: false, callbacks: { title: () => "", label: describe } },
  },
});

// The line of a memory cap.
const capLine = (color, label, data, more = {}) => ({
  label, data, borderColor: color("bad"), borderDash: [6, 4], borderWidth: 1.5, backgroundColor: color("bad"),
  radius: 0, hitRadius: 0, pointStyle: "line", ...more,
});

// Where a key leads among points in the order of the ranking; undefined for other keys.
function placeOf(key, at, last) {
  const to = {
    ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1,
    PageDown: at + 10, PageUp: at - 10, Home: 0, End: last,
  }[key];
  return to === undefined ? undefined : Math.min(last, Math.max(0, to));
}

// Labels of bars take at most about half of a plot: on a narrow one they break into lines.
function wrapped(text, canvas) {
  const room = Math.max(14, Math.floor(canvas.parentElement.clientWidth / 15));
  const lines = [];
  for (const word of text.split(" ")) {
    const last = lines.length - 1;
    if (last >= 0 && lines[last].length + 1 + word.length <= room) lines[last] += ` ${word}`;
    else lines.push(word);
  }
  return lines;
}

// Names beside marked points: `marks()` gives [{x, y, text}] in values of the axes.
function names(color, marks) {
  return {
    id: "names",
    afterDatasetsDraw({ ctx, scales, chartArea }) {
      ctx.save();
      ctx.font = `600 ${Chart.defaults.font.size}px ${Chart.defaults.font.family}`;
      ctx.textBaseline = "bottom";
      ctx.textAlign = "left";
      for (const mark of marks()) {
        const [x, y] = [scales.x.getPixelForValue(mark.x), scales.y.getPixelForValue(mark.y)];
        const { width } = ctx.measureText(mark.text);
        const isRight = x + 14 + width > chartArea.right;
        const left = Math.max(chartArea.left + 2, Math.min(isRight ? x - 10 - width : x + 10, chartArea.right - width - 2));
        const top = Math.max(chartArea.top + 16, y - 7);
        ctx.lineWidth = 4;
        ctx.strokeStyle = color("page");
        ctx.strokeText(mark.text, left, top);
        ctx.fillStyle = color("ink");
        ctx.fillText(mark.text, left, top);
      }
      ctx.restore();
    },
  };
}

export {
  PART_COLORS, lookFor, pixelRatio, most, least, isNear, axis, barScales, choosable, capLine, placeOf, wrapped, names,
};
