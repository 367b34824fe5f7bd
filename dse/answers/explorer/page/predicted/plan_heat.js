// A heat map over two axes that vary: in each cell the best plan of all that have these two values.
import { element, scroll } from "../../../../base/pages/dom.js";
import { Choice } from "../../../../base/pages/choice.js";
import { said } from "../../../../base/pages/filters.js";
import { measuresOf } from "./measures.js";

const STEPS = 7;
let [tools, frame, choices, place] = [null, null, null, null];

function mount(section, given) {
  tools = given;
  const again = () => fill();
  choices = { x: new Choice("across", ["tp", "pp"], again), y: new Choice("down", ["dp", "pp"], again), of: new Choice("the best", ["wall_time_ns"], again) };
  place = element("div", {});
  section.append(element("div", { class: "row" }, choices.x.root, choices.y.root, choices.of.root), place);
}

function cells(across, down, measure) {
  const read = measure.at(frame);
  const found = new Map();
  for (const row of frame.kept) {
    const key = frame.codes[down.index][row] * 65536 + frame.codes[across.index][row];
    const known = found.get(key);
    if (known === undefined || (measure.isHighBetter ? read(row) > read(known) : read(row) < read(known))) found.set(key, row);
  }
  return (one, other) => found.get(frame.values[down.index].indexOf(other) * 65536 + frame.values[across.index].indexOf(one));
}

function fill() {
  const axis = (choice) => frame.varying.find(({ name }) => name === choice.value);
  const [across, down] = [axis(choices.x), axis(choices.y)];
  const measure = measuresOf(frame).find(({ name }) => name === choices.of.value);
  if (!across || !down || !measure) {
    place.replaceChildren(element("p", { class: "muted" }, "Fewer than two axes vary."));
    return;
  }
  const at = cells(across, down, measure);
  const read = measure.at(frame);
  const rows = down.values.flatMap((other) => across.values.map((one) => at(one, other))).filter((row) => row !== undefined);
  const figures = rows.map(read).filter(Number.isFinite).sort((a, b) => a - b);
  const [low, high] = [figures[0], figures.at(-1)];
  const bend = low > 0 ? Math.log : (value) => value;
  const step = (value) => {
    const share = high > low ? (bend(value) - bend(low)) / (bend(high) - bend(low)) : 0;
    const index = Math.min(STEPS - 1, Math.floor(share * STEPS));
    return measure.isHighBetter ? STEPS - 1 - index : index;
  };
  const cell = (one, other) => {
    const row = at(one, other);
    if (row === undefined) return element("td", { class: "empty", title: "no plan" }, "–");
    const index = step(read(row));
    const button = element("button", { type: "button", class: row === frame.selected ? "chosen" : null, title: frame.label(row), style: `background: var(--h${index}); color: var(--t${index})` }, measure.said(read(row)));
    button.addEventListener("click", () => tools.select(frame.label(row)));
    return element("td", {}, button);
  };
  place.replaceChildren(scroll("A heat map that scrolls", element("table", { class: "heat cells" },
    element("caption", {}, `${measure.isHighBetter ? "Highest" : "Least"} ${measure.title} by ${down.heading} (down) and ${across.heading} (across)`),
    element("thead", {}, element("tr", {}, element("td", {}), ...across.values.map((value) => element("th", { scope: "col" }, `${across.heading} ${said(value)}`)))),
    element("tbody", {}, ...down.values.map((other) => element("tr", {}, element("th", { scope: "row" }, `${down.heading} ${said(other)}`), ...across.values.map((one) => cell(one, other))))))));
}

function update(now) {
  frame = now;
  const axes = frame.varying.map(({ name, heading }) => [name, heading]);
  choices.x.offer(axes);
  choices.y.offer(axes);
  if (choices.x.value === choices.y.value && axes.length > 1) choices.y.select.value = axes.find(([name]) => name !== choices.x.value)[0];
  choices.of.offer(measuresOf(frame).filter(({ isAxis, isName }) => !isAxis && !isName).map(({ name, title }) => [name, title]));
  fill();
}

const view = { name: "heat", title: "Heat map", hint: "A cell shows the best of all plans with these two values, and leads to it.", mount, update };

export { view };
