// Heat maps of the wall time over each pair of degrees: the fastest point of a cell, over everything else.
import * as answers from "./answers.js";
import { element } from "../../../base/pages/dom.js";
import * as doubts from "./doubts.js";

const GROUPED = ["dp", "tp", "sp"]; // degrees whose ranks form communicator groups
const LIMITS = [1.02, 1.05, 1.1, 1.25, 1.5, 2];
const STEPS = ["2 %", "5 %", "10 %", "25 %", "50 %", "100 %", "more"];

let tools, frame, box, hint, choice, choiceText, scale, doubtful;
let isCapped = false;
let shape = ""; // of the tables that are on the page

const level = (wall, fastest) => LIMITS.filter((limit) => wall >= limit * fastest).length;

// For each pair of degrees {rows, columns, row_values, column_values, cells}; `ranked` is in the order of the ranking,
// cells are rows or null. A pair of degrees that both have one value is left out.
function heatMaps(ranked) {
  const pairs = GROUPED.flatMap((down, index) => GROUPED.slice(index + 1).map((across) => [down, across]));
  return pairs.map(([down, across]) => {
    const best = new Map();
    for (const row of ranked) {
      const key = `${row[down]} ${row[across]}`;
      if (!best.has(key)) best.set(key, row);
    }
    const values = (name) => [...new Set(ranked.map((row) => row[name]))].sort((a, b) => a - b);
    const [rowValues, columnValues] = [values(down), values(across)];
    const cells = rowValues.map((row) => columnValues.map((column) => best.get(`${row} ${column}`) ?? null));
    return { rows: down, columns: across, row_values: rowValues, column_values: columnValues, cells };
  }).filter((map) => map.row_values.length > 1 || map.column_values.length > 1);
}

function build(maps) {
  box.replaceChildren(...maps.map((map) => {
    const made = element("table", { class: "heat" });
    made.append(element("caption", {}, `${map.rows} (down) × ${map.columns} (across)`));
    const head = element("tr");
    head.append(element("td"), ...map.column_values.map((value) => element("th", { scope: "col" }, value)));
    made.createTHead().append(head);
    const body = made.createTBody();
    map.cells.forEach((cells, index) => {
      const row = body.insertRow();
      row.append(element("th", { scope: "row" }, map.row_values[index]));
      for (const cell of cells) {
        const made = row.insertCell();
        if (cell === null) made.append(element("span", { class: "none", role: "img", "aria-label": "no point" }, "·"));
        else made.append(element("button", { type: "button" }));
      }
    });
    return made;
  }));
}

// The tables stay while their shape does, so that a cell keeps the focus while its figures change.
function draw() {
  const ranked = isCapped ? frame.ok.filter((row) => answers.fits(row, frame.cap_bytes)) : frame.ok;
  const maps = heatMaps(ranked);
  const nextShape = JSON.stringify(maps.map((map) => [map.row_values, map.column_values, map.cells.map((row) => row.map(Boolean))]));
  if (nextShape !== shape) build(maps);
  shape = nextShape;
  scale.hidden = !maps.length;
  if (!maps.length) {
    hint.textContent = !ranked.length ? (isCapped ? "No point fits under the cap." : "No point is ok.") : "All points have the same degrees.";
    return;
  }
  const fastest = ranked[0].wall_time_ns;
  const [size, unit] = tools.format.timeScale(fastest);
  const digits = fastest / size < 10 ? 2 : fastest / size < 100 ? 1 : 0;
  hint.textContent = `Each cell is the wall time in ${unit} of the fastest point with these two degrees, over everything else.`;
  const before = new Map((frame.before?.rows ?? []).map((row) => [row.label, row]));
  const cells = maps.flatMap((map) => map.cells.flat()).filter(Boolean);
  doubtful.hidden = !cells.some(frame.doubt);
  [...box.querySelectorAll("button")].forEach((button, index) => {
    const row = cells[index];
    const was = before.get(row.label)?.wall_time_ns ?? row.wall_time_ns;
    const text = `${row.label}: ${tools.format.duration(row.wall_time_ns)}, ${tools.format.bytes(row.peak_memory_bytes)}`
      + (was === row.wall_time_ns ? "" : `, ${tools.format.duration(was)} before`) + (frame.doubt(row) && `, ${frame.doubt(row)}`);
    button.className = `l${level(row.wall_time_ns, fastest)}`;
    button.textContent = (row.wall_time_ns / size).toFixed(digits) + (frame.doubt(row) && "?");
    button.title = text;
    button.dataset.label = row.label;
    button.setAttribute("aria-label", text);
    button.setAttribute("aria-pressed", String(row.label === frame.selected?.label));
  });
}

function showChoice() {
  const { cap_bytes: cap } = frame;
  choice.hidden = cap === null;
  if (cap === null) isCapped = false;
  else choiceText.textContent = ` those under ${tools.format.bytes(cap)}`;
  for (const radio of choice.querySelectorAll("input")) radio.checked = (radio.value === "1") === isCapped;
}

function makeChoice() {
  choice = element("fieldset", { class: "noprint" });
  choice.append(element("legend", {}, "Points"));
  for (const value of ["0", "1"]) {
    const label = element("label");
    const radio = element("input", { type: "radio", name: "explorer-heat", value });
    const text = element("span", {}, " all");
    if (value === "1") choiceText = text;
    radio.addEventListener("change", () => { isCapped = radio.value === "1"; draw(); });
    label.append(radio, text);
    choice.append(label);
  }
  return choice;
}

export { heatMaps, level };
const view = {
  name: "heat",
  title: `Wall time over ${GROUPED.slice(0, -1).join(", ")} and ${GROUPED.at(-1)}`,
  hint: "",
  mount(section, given) {
    tools = given;
    hint = element("p", { class: "hint" });
    box = element("div", { class: "heatmaps", role: "group", "aria-label": "Heat maps of the wall time" });
    box.addEventListener("click", (event) => {
      const button = event.target.closest("[data-label]");
      if (button) tools.select(button.dataset.label);
    });
    scale = element("div", { class: "scale" }, "slower than the fastest of these by less than ");
    STEPS.forEach((text, index) => scale.append(element("span", { class: `l${index}` }, text)));
    doubtful = element("span", { hidden: true }, `? ${doubts.LEGEND}`);
    scale.append(doubtful);
    section.append(hint, makeChoice(), box, scale);
  },
  update(given) {
    frame = given;
    showChoice();
    draw();
  },
  redraw() {},
};

export { view };
