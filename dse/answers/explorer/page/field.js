// One field of the form: a slider and a number field, a choice, or a flag; its reset and its message.
import * as dom from "../../../base/pages/dom.js";
import { element } from "../../../base/pages/dom.js";
import * as format from "./format.js";
import * as scales from "./scales.js";
import * as scenario from "./scenario.js";

const ABSENT = { auto: "automatic" }; // as it is read out
let count = 0;

// `onChange(value)` gets values that are allowed; texts that are not stay in the field, with a message.
class Field {
  constructor(field, onChange, onEnd) {
    this.onChange = onChange;
    this.onEnd = onEnd;
    this.isBad = false;
    count += 1;
    this.id = `field-${count}`;
    this.error = element("p", { class: "error", id: `${this.id}-error`, hidden: true });
    this.reset = element("button", { type: "button", class: "link reset", hidden: true });
    this.reset.addEventListener("click", () => {
      this.clear();
      this.onChange(this.field.value);
      this.onEnd();
      this.input.focus();
    });
    this.unit = element("span", { class: "unit" });
    const name = element("div", { class: "name" });
    const label = element("label", { for: this.id }, field.short_label ?? field.label);
    const inputs = this.inputsOf(field);
    if (field.kind === "flag") name.append(...inputs, label, this.reset);
    else name.append(label, this.unit, this.reset);
    this.root = element("div", { class: `field ${field.kind}`, "data-key": field.key }, name);
    if (field.kind !== "flag") this.root.append(element("div", { class: "inputs" }, ...inputs));
    this.root.append(this.error);
    this.become(field);
  }

  inputsOf(field) {
    if (field.kind === "flag") {
      this.input = element("input", { type: "checkbox", id: this.id });
      this.input.addEventListener("change", () => this.changed(this.input.checked));
      return [this.input];
    }
    if (field.kind === "choice") {
      this.input = element("select", { id: this.id }, ...field.choices.map((choice) => element("option", { value: choice }, choice)));
      this.input.addEventListener("change", () => this.changed(this.input.value));
      return [this.input];
    }
    this.input = element("input", {
      type: "text", inputmode: "decimal", id: this.id, autocomplete: "off", spellcheck: "false", "aria-describedby": this.error.id,
    });
    this.input.addEventListener("change", () => this.typed());
    this.input.addEventListener("keydown", (event) => this.onKey(event));
    this.slider = element("input", { type: "range", min: "0", step: "1", "aria-label": `${field.label}, slider` });
    this.slider.addEventListener("input", () => this.slid());
    this.slider.addEventListener("change", () => this.onEnd());
    return [this.slider, this.input];
  }

  // Takes over a description: of the same key, perhaps with other values.
  become(field) {
    this.field = field;
    dom.setText(this.unit, field.unit ?? "");
    if (!this.slider) return;
    this.stops = this.stopsOf(field);
    this.slider.max = String(this.stops.length - 1);
  }

  stopsOf(field) { return scales.stopsOf(field); }
  parsed(text) { return scenario.parsed(this.field, text); }
  // 15e12 reads more easily than its zeros, and is the same number.
  textOf(value) { return value === null ? "" : value >= 1e12 && value % 1e9 === 0 ? `${value / 1e12}e12` : String(value); }

  changed(value) {
    this.clear();
    this.onChange(value);
    this.onEnd();
  }

  slid() {
    const value = this.stops[Number(this.slider.value)];
    this.clear();
    this.input.value = this.textOf(value);
    this.onChange(value);
  }

  typed() {
    const { value, problem } = this.parsed(this.input.value);
    if (problem) this.fail(problem);
    else this.changed(value);
  }

  // Up and down go to the next stop of the slider; Enter takes the text.
  onKey(event) {
    if (event.key === "Enter") this.typed();
    const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const { value, problem } = this.parsed(this.input.value);
    if (problem || value === null) return;
    const next = by > 0 ? this.stops.find((stop) => stop > value) : this.stops.findLast((stop) => stop < value);
    if (next === undefined) return;
    this.input.value = this.textOf(next);
    this.typed();
  }

  fail(problem) {
    this.isBad = true;
    this.error.textContent = /^[\w]+\./.test(problem) ? problem : problem[0].toUpperCase() + problem.slice(1);
    this.error.hidden = false;
    this.error.setAttribute("role", "alert");
    this.input.setAttribute("aria-invalid", "true");
  }

  clear() {
    this.isBad = false;
    this.error.hidden = true;
    this.error.textContent = "";
    this.input.removeAttribute("aria-invalid");
  }

  // Shows a value, unless a text that is not allowed waits for its user.
  show(value) {
    const isChanged = value !== this.field.value;
    this.root.classList.toggle("changed", isChanged);
    this.reset.hidden = !isChanged && !this.isBad;
    const base = this.field.value === null ? ABSENT[this.field.absent] ?? this.field.absent : this.textOf(this.field.value);
    dom.setText(this.reset, `reset to ${base}`);
    this.reset.setAttribute("aria-label", `reset to ${base}: ${this.field.label}`);
    if (this.isBad) return;
    if (this.field.kind === "flag") this.input.checked = value === true;
    else if (document.activeElement !== this.input || this.parsed(this.input.value).value !== value) this.input.value = this.textOf(value);
    if (!this.slider) return;
    this.input.dataset.shown = this.input.value;
    this.input.placeholder = value === null ? this.field.absent ?? "auto" : "";
    this.slider.value = String(scales.nearest(this.stops, value ?? this.stops[0]));
    this.slider.setAttribute("aria-valuetext", value === null ? ABSENT[this.field.absent] ?? this.field.absent : format.number(value, this.field.unit ?? ""));
  }

  disable(why) {
    this.input.disabled = true;
    if (this.slider) this.slider.disabled = true;
    this.error.textContent = why;
    this.error.hidden = false;
  }
}

// The memory cap: a size with its unit, or nothing.
class Cap extends Field {
  stopsOf(field) { return scales.capStops(field.value); }
  parsed(text) { return format.parsedSize(text); }
  textOf(value) { return format.size(value); }
  show(value) {
    super.show(value);
    this.input.placeholder = value === null ? "none" : "";
    if (this.field.value === null) {
      dom.setText(this.reset, "no cap");
      this.reset.setAttribute("aria-label", "no cap");
    }
    this.slider.setAttribute("aria-valuetext", value === null ? "no cap" : format.bytes(value));
  }
}

export { Field, Cap as CapField };
