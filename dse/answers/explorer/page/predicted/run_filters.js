// Limits of a training run: plans of more days or cost, or of less goodput, are left out.
import { element } from "../../../../base/pages/dom.js";
import { DAY_S, figuresOf } from "./run_measures.js";

const LIMITS = [
  { name: "run_time_s", label: "days at most", scale: DAY_S, sign: 1 },
  { name: "run_cost", label: "cost at most", scale: 1, sign: 1 },
  { name: "run_goodput_pct", label: "goodput in % at least", scale: 1, sign: -1 },
];

class RunFilters {
  constructor(root, onChange) {
    this.inputs = LIMITS.map(({ name, label }) => {
      const input = element("input", { type: "number", min: "0", step: "any", id: `limit-${name}`, inputmode: "decimal" });
      input.addEventListener("input", () => onChange());
      return element("span", { class: "pick", hidden: true }, element("label", { for: input.id }, label), input);
    });
    root.append(element("div", { class: "row limits" }, ...this.inputs));
  }

  inputOf(index) { return this.inputs[index].querySelector("input"); }

  clear() { LIMITS.forEach((_, index) => { this.inputOf(index).value = ""; }); }

  /** The limits that are given, as [column, sign, bound]: sign times a value must be at most that. */
  limits() {
    return LIMITS.map(({ name, scale, sign }, index) => {
      const value = this.inputOf(index).valueAsNumber;
      return [name, sign, this.inputs[index].hidden || !Number.isFinite(value) ? Infinity : sign * value * scale];
    }).filter(([, , bound]) => bound !== Infinity);
  }

  update(frame) {
    const names = new Set(figuresOf(frame).map(({ name }) => name));
    LIMITS.forEach(({ name }, index) => { this.inputs[index].hidden = !names.has(name); });
  }
}

export { RunFilters };
