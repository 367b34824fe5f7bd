// A heat map of values that add up: lines and columns end with their sum, and colours are parts of the largest value.
import { element, setText } from "./dom.js";
import { HeatMap } from "./heat_map.js";

const sum = (values) => values.reduce((one, other) => one + other, 0);

class SumMap extends HeatMap {
  constructor(root, given) {
    super(root, given);
    setText(this.choices.of.root.querySelector("label"), "figure");
  }

  update(given) {
    super.update({ ...given, figures: given.figures.map((figure) => ({ ...figure, isHighBetter: true, from: 0 })) });
  }

  fill() {
    super.fill();
    const table = this.place.querySelector("table");
    if (!table) return;
    const { axes, figures, rows } = this.given;
    const [across, down, figure] = [[axes, "x"], [axes, "y"], [figures, "of"]].map(([list, choice]) => list.find(({ name }) => name === this.choices[choice].value));
    setText(table.caption, `${figure.title[0].toUpperCase()}${figure.title.slice(1)}: ${down.heading} goes down, ${across.heading} across, and sums are at the ends; a dot: there is none`);
    for (const old of table.querySelectorAll(".sum")) old.remove();
    const all = (kept) => element("td", { class: "n sum" }, figure.said(sum(rows.filter(kept).map(figure.of))));
    const head = (scope) => element("th", { class: "sum", scope }, "all");
    table.tHead.rows[0].append(head("col"));
    [...table.tBodies[0].rows].forEach((line, index) => line.append(all((row) => down.place(row) === index)));
    table.tBodies[0].append(element("tr", { class: "sum" }, head("row"), ...across.values.map((_, index) => all((row) => across.place(row) === index)), all(() => true)));
  }
}

export { SumMap };
