// The training run: which plan is the best by its time, its cost and its energy, beside the fastest step.
import { element, scroll } from "../../../../base/pages/dom.js";
import { duration } from "../../../../base/pages/numbers.js";
import { figuresOf, problemOf, winnersOf } from "./run_measures.js";

let [tools, place] = [null, null];

function mount(section, given) {
  tools = given;
  place = element("div", {});
  section.append(place);
}

function rowOf(frame, figures, title, row) {
  const label = frame.label(row);
  const button = element("button", { type: "button", class: "link", "aria-label": `Show plan ${label}` }, label);
  button.addEventListener("click", () => tools.select(label));
  const cells = figures.map(({ name, said }) => element("td", { class: "number" }, said(frame.columns[name][row])));
  return element("tr", { class: row === frame.selected ? "chosen" : null }, element("th", { scope: "row" }, title), element("td", { class: "number" }, duration(frame.columns.wall_time_ns[row])), ...cells, element("td", {}, button));
}

function update(frame) {
  if (!frame.columns.run_time_s) {
    place.replaceChildren(element("p", { class: "hint" }, "Under Training run, a number of tokens gives every plan its days, effective share, goodput and failures; a price gives its cost."));
    return;
  }
  const figures = figuresOf(frame);
  const fastest = frame.fitting >= 0 ? frame.fitting : frame.best;
  if (fastest < 0) {
    place.replaceChildren(element("p", {}, "No plan passes."));
    return;
  }
  const titles = new Map([[fastest, ["time of a step"]]]); // by row: one plan may be the best by several
  for (const { figure, row } of winnersOf(frame)) titles.set(row, [...(titles.get(row) ?? []), figure.objective.toLowerCase()]);
  if (!titles.has(frame.selected)) titles.set(frame.selected, ["(the chosen plan)"]);
  const heads = ["Best by", "time of a step", ...figures.map(({ title }) => title), "plan"];
  const why = problemOf(frame, frame.selected);
  place.replaceChildren(
    scroll("Winners of the run, a table that scrolls", element("table", { class: "points plans" },
      element("caption", { class: "unseen" }, "The best plans by step, time, cost and energy"),
      element("thead", {}, element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text)))),
      element("tbody", {}, ...[...titles].map(([row, names]) => rowOf(frame, figures, names.join(", "), row))))),
    ...(why ? [element("p", { class: "note" }, `The run of ${frame.label(frame.selected)} ${why}.`)] : []),
  );
}

const view = { name: "run", title: "The training run", hint: "Failures, checkpoints and repairs included; of plans that pass the filters and fit under the cap.", mount, update };

export { view };
