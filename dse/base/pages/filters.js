// Filters: a fold for each axis that varies, with a box for each of its values; what is left out stays so after changes.
import { element } from "./dom.js";
import * as dom from "./dom.js";

const said = (value) => (typeof value === "boolean" ? (value ? "yes" : "no") : String(value));
let count = 0;

class Filters {
  // `onChange()` is told when something else passes.
  constructor(root, onChange) {
    count += 1;
    this.id = `filters-${count}`;
    this.hidden = new Map(); // axis name -> texts of values that are left out
    this.onChange = onChange;
    this.fits = element("input", { type: "checkbox", id: `${this.id}-fits` });
    this.fits.addEventListener("change", () => onChange());
    this.counted = element("span", { class: "muted" });
    this.clear = element("button", { type: "button", class: "plain" }, "Show all");
    this.clear.addEventListener("click", () => {
      this.hidden.clear();
      this.fits.checked = false;
      this.names = "";
      onChange();
    });
    this.boxes = element("div", { class: "filters" });
    this.names = "";
    root.append(
      element("div", { class: "row" }, element("span", {}, this.fits, " ", element("label", { for: this.fits.id }, "only what fits under the cap")), this.clear, this.counted),
      this.boxes,
    );
  }

  /** Follows what is shown: axes that vary, {name, heading, values}, and how many of all pass. */
  update({ varying, kept, count: all }, what = "plans") {
    const names = JSON.stringify(varying.map(({ name, values }) => [name, values]));
    if (names !== this.names) this.build(varying);
    this.names = names;
    dom.setText(this.counted, `${kept.length} of ${all} ${what} are shown`);
    this.clear.disabled = !this.hidden.size && !this.fits.checked;
  }

  build(varying) {
    this.boxes.replaceChildren(...varying.map((axis, index) => this.boxOf(axis, index)));
  }

  boxOf({ name, heading, values }, index) {
    const hidden = this.hidden.get(name) ?? new Set();
    return element("fieldset", {}, element("legend", {}, heading), ...values.map((value, place) => {
      const id = `${this.id}-${index}-${place}`;
      const box = element("input", { type: "checkbox", id, checked: !hidden.has(String(value)) });
      box.addEventListener("change", () => this.toggle(name, String(value), !box.checked));
      return element("span", { class: "chip" }, box, element("label", { for: id }, said(value)));
    }));
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

export { Filters, said };
