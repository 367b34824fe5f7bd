// A heat map over two chosen axes: in each cell the best row of all that have these two values, in a few ordered colours.
import { Choice } from "./choice.js";
import { element, scroll } from "./dom.js";
import * as dom from "./dom.js";

const LIMITS = [1.02, 1.05, 1.1, 1.25, 1.5, 2]; // of the best value: a colour ends at each
const WORDS = ["2 %", "5 %", "10 %", "25 %", "50 %", "100 %", "more"];

/** {of(value), title, legend}: 0 is the colour of the best. Values of both signs, or 0, go by equal parts of their range,
 * which begins at `from` or at the least of them. */
function levelsOf(values, { isHighBetter = false, said = String, from = Infinity }) {
  const [low, high] = values.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [from, -Infinity]);
  if (low > 0) {
    const isPast = isHighBetter ? (value, limit) => high >= limit * value : (value, limit) => value >= limit * low;
    const title = isHighBetter ? "the highest of these is above by less than" : "above the least of these by less than";
    return { of: (value) => LIMITS.filter((limit) => isPast(value, limit)).length, title, legend: WORDS };
  }
  const part = (high - low) / WORDS.length;
  const place = (value) => (part > 0 ? Math.min(WORDS.length - 1, Math.floor((value - low) / part)) : 0);
  const ends = WORDS.map((_, index) => `${said(low + index * part)} to ${said(low + (index + 1) * part)}`);
  const of = (value) => (isHighBetter ? WORDS.length - 1 - place(value) : place(value));
  return { of, title: "", legend: isHighBetter ? ends.reverse() : ends };
}

/** The best row of each pair of values, by place of the value down and place across; rows without a figure do not count. */
function bestOf(rows, down, across, figure) {
  const found = new Map();
  for (const row of rows) {
    const value = figure.of(row);
    if (value === null || !Number.isFinite(value)) continue;
    const key = down.place(row) * across.values.length + across.place(row);
    const known = found.get(key);
    if (known === undefined || (figure.isHighBetter ? value > known.value : value < known.value)) found.set(key, { row, value });
  }
  return (y, x) => found.get(y * across.values.length + x);
}

class HeatMap {
  // `preferred` has names to begin with for x, y and of; `choose(row)` is told which cell was pressed.
  constructor(root, { preferred, choose }) {
    const again = () => this.fill();
    this.choices = { x: new Choice("across", preferred.x, again), y: new Choice("down", preferred.y, again), of: new Choice("the best", preferred.of, again) };
    this.choose = choose;
    this.place = element("div", {});
    this.scale = element("div", { class: "scale" });
    this.shape = "";
    root.append(element("div", { class: "row" }, ...Object.values(this.choices).map((choice) => choice.root)), this.place, this.scale);
  }

  /** `axes` are {name, heading, values, place(row)}, `figures` {name, title, said, of(row), isHighBetter}.
   * `label(row)` names a row, `isChosen(row)` marks one, `mark(row)` is written after its figure. */
  update(given) {
    this.given = { mark: () => "", isChosen: () => false, said: String, ...given };
    const axes = given.axes.map(({ name, heading }) => [name, heading]);
    for (const name of ["x", "y"]) this.choices[name].offer(axes);
    this.choices.of.offer(given.figures.map(({ name, title }) => [name, title]));
    this.fill();
  }

  fill() {
    const { axes, figures, rows } = this.given;
    const { x, y, of } = this.choices;
    if (x.value === y.value) y.select.value = axes.find(({ name }) => name !== x.value)?.name ?? "";
    const named = (list, choice) => list.find(({ name }) => name === choice.value);
    const [across, down, figure] = [named(axes, x), named(axes, y), named(figures, of)];
    const isEmpty = !across || !down || !figure;
    for (const choice of Object.values(this.choices)) choice.root.hidden = isEmpty;
    this.scale.hidden = isEmpty;
    if (isEmpty) {
      this.shape = "";
      this.place.replaceChildren(element("p", { class: "muted" }, "Fewer than two axes vary."));
      return;
    }
    const at = bestOf(rows, down, across, figure);
    const cells = down.values.map((_, row) => across.values.map((__, column) => at(row, column)));
    const shape = JSON.stringify([x.value, y.value, down.values, across.values, cells.map((line) => line.map(Boolean))]);
    if (shape !== this.shape) this.build(down, across, cells);
    this.shape = shape; // a cell keeps the focus while its figures change
    const found = cells.flat().filter(Boolean);
    const levels = levelsOf(found.map(({ value }) => value), figure);
    dom.setText(this.place.querySelector("caption"), `${figure.isHighBetter ? "Highest" : "Least"} ${figure.title} by ${down.heading} (down) and ${across.heading} (across); a dot: there is none`);
    [...this.place.querySelectorAll("button")].forEach((button, index) => this.show(button, found[index], levels.of(found[index].value), figure));
    this.scale.replaceChildren(`${levels.title || figure.title} `, ...levels.legend.map((text, index) => element("span", { class: `l${index}` }, text)));
  }

  build(down, across, cells) {
    const { said } = this.given;
    const head = (axis, value, scope) => element("th", { scope }, `${axis.heading} ${said(value)}`);
    this.place.replaceChildren(scroll("Heat map", element("table", { class: "heat" }, element("caption", {}),
      element("thead", {}, element("tr", {}, element("td", {}), ...across.values.map((value) => head(across, value, "col")))),
      element("tbody", {}, ...cells.map((line, index) => element("tr", {}, head(down, down.values[index], "row"),
        ...line.map((cell) => element("td", {}, cell ? element("button", { type: "button" }) : element("span", { class: "none", role: "img", "aria-label": "none" }, "·")))))))));
    this.place.querySelectorAll("button").forEach((button) => button.addEventListener("click", () => this.choose(this.shown.get(button))));
    this.shown = new WeakMap();
  }

  show(button, { row, value }, level, figure) {
    const { label, isChosen, mark } = this.given;
    const text = `${label(row)}: ${figure.said(value)}${mark(row) && `, ${mark(row)}`}`;
    this.shown.set(button, row);
    button.className = `l${level}`;
    button.title = text;
    button.setAttribute("aria-label", text);
    button.setAttribute("aria-pressed", String(isChosen(row)));
    dom.setText(button, figure.said(value) + (mark(row) && "?"));
  }
}

export { HeatMap, bestOf, levelsOf };
