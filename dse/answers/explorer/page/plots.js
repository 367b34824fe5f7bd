// What the views over many points share: elements, axes and options of charts, and when a section is in sight.
// A kind of points for each pair of flags: name, colour and shape, as in the report.
import { most, least, isNear, axis, choosable, names } from "../../../base/pages/charts.js";
import { element, scroll } from "../../../base/pages/dom.js";

const KINDS = [
  ["neither fsdp nor recompute", "plain", "circle"], ["recompute", "recompute", "triangle"],
  ["fsdp", "fsdp", "rect"], ["fsdp and recompute", "both", "rectRot"],
];
const kindOf = (row) => 2 * Number(row.weight_sharded) + Number(row.activation_recompute);
const GLIDE_MS = 320;
const MOST_GLIDING = 600; // of more points, moving each of them every frame is too slow

// A table in a box that scrolls: `columns` are [heading, is a number]; cells are texts or elements.
function table(columns, rows, caption) {
  const made = element("table");
  if (caption) made.append(element("caption", {}, caption));
  const head = element("tr");
  for (const [heading, isNumber] of columns) head.append(element("th", { scope: "col", class: isNumber && "n" }, heading));
  made.createTHead().append(head);
  const body = made.createTBody();
  for (const cells of rows) {
    const row = body.insertRow();
    cells.forEach((cell, index) => {
      const isHead = index === 0 && !columns[index][1];
      row.append(element(isHead ? "th" : "td", { scope: isHead && "row", class: columns[index][1] && "n" }, cell));
    });
  }
  return made;
}

// A table that is made when it is opened, and again when the points change while it is open.
function lazyTable(section, summary, make) {
  const details = element("details");
  const box = scroll(summary);
  details.append(element("summary", {}, summary), box);
  section.append(details);
  const fill = () => { if (details.open) box.replaceChildren(make() ?? ""); };
  details.addEventListener("toggle", fill);
  return { details, fill };
}

function pointButton(tools, row) {
  const button = element("button", { type: "button", class: "link" }, row.label);
  button.addEventListener("click", () => tools.select(row.label));
  return button;
}

// Options of a chart whose points are strategies: entries of its data have a `row`, and a click chooses it.
function options(tools, { isGliding = false, describe = describeRow } = {}) {
  const { color, format } = tools;
  return choosable(color, {
    animation: isGliding && !tools.isReducedMotion() ? { duration: GLIDE_MS, easing: "easeOutCubic" } : false,
    choose: (chart, hits) => {
      const row = hits.map(({ datasetIndex, index }) => chart.data.datasets[datasetIndex].data[index]?.row).find(Boolean);
      if (row) tools.select(row.label);
    },
    describe: (item) => describe(format, item), isNamed: (set) => !set.isUnnamed,
  });
}

// `doubt` says in few words what is known against the time of a row.
function describeRow(format, { raw: { row }, dataset }, { then = "", doubt = () => "" } = {}) {
  if (!row) return dataset.label;
  return [row.label + then, `${format.duration(row.wall_time_ns)}, ${format.bytes(row.peak_memory_bytes)}`, doubt(row)].filter(Boolean);
}

// Calls `enter` when a section comes into sight; `isVisible()` says whether it is.
function sight(section, enter) {
  let isVisible = false;
  new IntersectionObserver((entries) => {
    isVisible = entries.at(-1).isIntersecting;
    if (isVisible) enter();
  }, { rootMargin: "100px" }).observe(section);
  return () => isVisible;
}

export {
  KINDS, MOST_GLIDING, kindOf, table, lazyTable, pointButton, most, least, isNear, axis, options, describeRow, names, sight,
};
