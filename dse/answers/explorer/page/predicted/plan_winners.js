// Which plan wins where two figures vary: a grid around the present values, filled from coarse to fine.
import { element, scroll } from "../../../../base/pages/dom.js";
import * as dom from "../../../../base/pages/dom.js";
import { duration } from "../../../../base/pages/numbers.js";
import { Choice } from "../../../../base/pages/choice.js";
import { labelOf } from "./plans.js";

const FACTORS = [0.25, 0.5, 0.707, 1, 1.414, 2, 4];
const INKS = 6;
let [tools, frame, choices, place, button, progress, controller] = [null, null, null, null, null, null, null];

function mount(section, given) {
  tools = given;
  choices = { x: new Choice("across", ["system.tiers.1.nic_gbit_per_s", "system.tiers.1.bandwidth_gbps"], stop), y: new Choice("down", ["system.accelerator.peak_tflops.bf16", "model.batch_size"], stop) };
  button = element("button", { type: "button", class: "plain" }, "Find the winners");
  progress = element("span", { class: "muted", role: "status" });
  place = element("div", {});
  button.addEventListener("click", () => run());
  section.append(element("div", { class: "row" }, choices.x.root, choices.y.root, button, progress), place);
}

function stop() {
  controller?.abort();
  controller = null;
  place.replaceChildren();
  dom.setText(progress, "");
}

function valuesOf(field, present) {
  const found = FACTORS.map((factor) => {
    const value = present * factor;
    const shown = field.is_integer ? Math.max(1, Math.round(value)) : Number(value.toPrecision(4));
    return Math.min(field.most ?? Infinity, Math.max(field.least ?? -Infinity, factor === 1 ? present : shown));
  });
  return [...new Set(found)];
}

async function run() {
  stop();
  controller = new AbortController();
  const { signal } = controller;
  const own = frame;
  const fields = [choices.x, choices.y].map((choice) => tools.data.fields.find(({ key }) => key === choice.value));
  if (fields[0].key === fields[1].key) {
    dom.setText(progress, "Choose two different figures.");
    return;
  }
  const present = ({ key, value }) => own.state.changes[key] ?? value;
  const [xs, ys] = fields.map((field) => valuesOf(field, present(field)));
  const found = new Map();
  const total = xs.length * ys.length;
  for (const [row, y] of ys.entries()) {
    for (const [column, x] of xs.entries()) {
      let winner = null;
      try {
        const { scenario, space } = tools.scenarioWith({ [fields[0].key]: x, [fields[1].key]: y });
        winner = await tools.engine.asked({ type: "winner", scenario, space, facts: tools.facts, cap: own.cap_bytes }, { signal, priority: -1 });
      } catch (error) {
        if (error.kind === "cancelled") return;
        winner = { problem: error.message };
      }
      if (signal.aborted) return;
      found.set(row * xs.length + column, winner);
      dom.setText(progress, `${found.size} of ${total} cells`);
    }
  }
  controller = null;
  dom.setText(progress, `${total} cells`);
  show(fields, xs, ys, found);
}

function show(fields, xs, ys, found) {
  const labels = new Map();
  const name = (cell) => (cell?.plan ? labelOf(frame.axes, cell.plan) : null);
  for (const cell of found.values()) {
    const label = name(cell);
    if (label) labels.set(label, (labels.get(label) ?? 0) + 1);
  }
  const ordered = [...labels].sort((a, b) => b[1] - a[1]).map(([label]) => label);
  const letter = (label) => (ordered.indexOf(label) < 26 ? String.fromCharCode(65 + ordered.indexOf(label)) : String(ordered.indexOf(label) + 1));
  const said = (value) => String(Number(value.toPrecision(4)));
  const cell = (each) => {
    const label = name(each);
    if (!label) return element("td", { class: "empty" }, each?.problem ? element("span", { title: each.problem }, "–") : "nothing fits");
    const ink = Math.min(INKS, ordered.indexOf(label));
    return element("td", { style: `background: var(--h${ink}); color: var(--t${ink})`, title: label }, element("strong", {}, letter(label)), ` ${duration(each.wall_time_ns)}`);
  };
  const title = ({ label, unit }) => (unit ? `${label}, ${unit}` : label);
  place.replaceChildren(scroll("Winners, a table that scrolls", element("table", { class: "heat winners-map" },
    element("caption", {}, `The fastest plan that fits: ${title(fields[1])} (down), ${title(fields[0])} (across)`),
    element("thead", {}, element("tr", {}, element("td", {}), ...xs.map((x) => element("th", { scope: "col" }, said(x))))),
    element("tbody", {}, ...ys.map((y, row) => element("tr", {}, element("th", { scope: "row" }, said(y)), ...xs.map((_, column) => cell(found.get(row * xs.length + column)))))))),
  element("ol", { class: "letters" }, ...ordered.map((label) => element("li", {}, element("strong", {}, letter(label)), ` ${label}`))));
}

function update(now) {
  if (frame && frame.scenario !== now.scenario) stop();
  frame = now;
  const numbers = tools.data.fields.filter(({ kind, value }) => kind === "number" && typeof value === "number" && value > 0);
  const entries = numbers.map(({ key, label }) => [key, label]);
  choices.x.offer(entries);
  choices.y.offer(entries);
}

const view = { name: "winners", title: "What wins where two figures vary", hint: "From a quarter of the present values to four times them; each cell predicts the whole space.", mount, update };

export { view };
