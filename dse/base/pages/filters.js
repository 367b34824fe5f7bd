// Filters: a box for each value of what has few, a range of numbers, a part of texts; what is left out stays so.
import { element } from "./dom.js";
import * as dom from "./dom.js";

const said = (value) => (typeof value === "boolean" ? (value ? "yes" : "no") : String(value));
let count = 0;

const STEPS = [60, 3600, 86400]; // seconds of a minute, an hour and a day; other units are powers of ten

/** The unit in which a value was written, what one of it is, and whether it is a suffix: 2.5 ms of 2500000 ns gives
 * ["ms", 1000000, false], 2.5k of 2500 gives ["k", 1000, true]. */
function unitOf(value, text) {
  const [, number, space, unit] = /^([\d.]+)(\s*)(.*)$/.exec(text.replace(/[\u202f,]/g, "")) ?? [];
  if (!(Number(number) > 0) || !(value > 0)) return ["", 1, false];
  const ratio = value / Number(number);
  const one = STEPS.find((step) => Math.abs(ratio / step - 1) < 0.06) ?? 10 ** Math.round(Math.log10(ratio));
  return [unit, one, space === ""];
}

/** How any value is written in the unit in which one of them was. */
function writtenAs(value, text) {
  const [unit, one, isSuffix] = unitOf(value, text);
  return (other) => `${Number((other / one).toPrecision(4))}${isSuffix || !unit ? "" : " "}${unit}`;
}

class Filters {
  // `onChange()` is told when something else passes.
  constructor(root, onChange, { hasCap = true } = {}) {
    count += 1;
    this.id = `filters-${count}`;
    this.hidden = new Map(); // axis name -> texts of values that are left out
    this.limits = new Map(); // name -> [least, most] that passes
    this.parts = new Map(); // name -> text that what passes has in it
    this.onChange = onChange;
    this.fits = element("input", { type: "checkbox", id: `${this.id}-fits` });
    this.fits.addEventListener("change", () => onChange());
    this.counted = element("span", { class: "muted", role: "status" });
    this.clear = element("button", { type: "button", class: "plain" }, "Show all");
    this.clear.addEventListener("click", () => {
      this.hidden.clear();
      this.limits.clear();
      this.parts.clear();
      this.fits.checked = false;
      this.names = "";
      onChange();
    });
    this.boxes = element("div", { class: "filters" });
    this.names = "";
    const cap = hasCap ? element("span", {}, this.fits, " ", element("label", { for: this.fits.id }, "only what fits under the cap")) : null;
    root.append(element("div", { class: "row" }, cap, this.clear, this.counted), this.boxes);
  }

  /** Whether what `read(name)` reads passes; without a figure nothing is in a range. */
  passes(read) {
    for (const [name, texts] of this.hidden) if (texts.has(String(read(name)))) return false;
    for (const [name, [least, most]] of this.limits) {
      const value = read(name);
      if (value === null || !(value >= least && value <= most)) return false;
    }
    for (const [name, part] of this.parts) if (!String(read(name)).toLowerCase().includes(part)) return false;
    return true;
  }

  /** Follows what is shown: what varies, {name, heading} and values, or range and said, or isText, and how many of all pass. */
  update({ varying, kept, count: all }, what = "plans") {
    const names = JSON.stringify(varying.map(({ name, values, range }) => [name, range ? "" : values]));
    if (names !== this.names) this.build(varying);
    this.names = names;
    dom.setText(this.counted, `${kept.length} of ${all} ${what} are shown`);
    this.clear.disabled = !this.hidden.size && !this.limits.size && !this.parts.size && !this.fits.checked;
  }

  build(varying) {
    this.boxes.replaceChildren(...varying.map((axis, index) => (axis.range ? this.rangeOf(axis, index) : axis.isText ? this.partOf(axis, index) : this.boxOf(axis, index))));
  }

  boxOf({ name, heading, values, said: say = said }, index) {
    const hidden = this.hidden.get(name) ?? new Set();
    return element("fieldset", {}, element("legend", {}, heading), ...values.map((value, place) => {
      const id = `${this.id}-${index}-${place}`;
      const box = element("input", { type: "checkbox", id, checked: !hidden.has(String(value)) });
      box.addEventListener("change", () => this.toggle(name, String(value), !box.checked));
      return element("span", { class: "chip" }, box, element("label", { for: id }, say(value)));
    }));
  }

  // A range in a unit that is given, one of which is 1 / scale, or in the unit of the largest value.
  rangeOf({ name, heading, range, said: say, unit: known, scale: factor }, index) {
    const [unit, scale] = known === undefined ? unitOf(range[1], say(range[1])) : [known, 1 / factor];
    const given = this.limits.get(name) ?? [-Infinity, Infinity];
    const shown = (value) => String(Number((value / scale).toPrecision(4)));
    const inputs = ["from", "to"].map((word, end) => {
      const id = `${this.id}-${index}-${word}`;
      const value = Number.isFinite(given[end]) ? shown(given[end]) : null;
      const input = element("input", { type: "number", step: "any", id, inputmode: "decimal", name: `${name}-${word}`, placeholder: range[end] === null ? null : shown(range[end]), value });
      input.addEventListener("input", () => this.limit(name, inputs.map((each, place) => {
        const number = each.querySelector("input").valueAsNumber;
        return Number.isFinite(number) ? number * scale : [-Infinity, Infinity][place];
      })));
      return element("span", { class: "pick" }, element("label", { for: id }, word), input);
    });
    return element("fieldset", { class: "range" }, element("legend", {}, unit ? `${heading}, ${unit}` : heading), ...inputs);
  }

  partOf({ name, heading }, index) {
    const id = `${this.id}-${index}`;
    const input = element("input", { type: "search", id, name, value: this.parts.get(name) });
    input.addEventListener("input", () => {
      this.parts.delete(name);
      if (input.value) this.parts.set(name, input.value.toLowerCase());
      this.onChange();
    });
    return element("fieldset", {}, element("legend", {}, heading), element("span", { class: "pick" }, element("label", { for: id }, "has"), input));
  }

  limit(name, [least, most]) {
    if (least === -Infinity && most === Infinity) this.limits.delete(name);
    else this.limits.set(name, [least, most]);
    this.onChange();
  }

  toggle(name, text, isHidden) {
    const set = this.hidden.get(name) ?? new Set();
    if (isHidden) set.add(text);
    else set.delete(text);
    if (set.size) this.hidden.set(name, set);
    else this.hidden.delete(name);
    this.onChange();
  }
}

export { Filters, said, unitOf, writtenAs };
