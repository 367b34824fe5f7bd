// Filters: a fold for each axis that varies, with a box for each of its values; what is left out stays so after changes.
import { element } from "../../../../base/pages/dom.js";
import * as dom from "../../../../base/pages/dom.js";
import { said } from "./measures.js";

class Filters {
  // `onChange()` is told when something else passes.
  constructor(root, onChange) {
    this.hidden = new Map(); // axis name -> texts of values that are left out
    this.onChange = onChange;
    this.fits = element("input", { type: "checkbox", id: "fits-only" });
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
      element("div", { class: "row" }, element("span", {}, this.fits, " ", element("label", { for: "fits-only" }, "only what fits under the cap")), this.clear, this.counted),
      this.boxes,
    );
  }

  /** Follows a frame: the axes that vary now, and how many plans pass. */
  update(frame) {
    const names = JSON.stringify(frame.varying.map(({ name, values }) => [name, values]));
    if (names !== this.names) this.build(frame.varying);
    this.names = names;
    dom.setText(this.counted, `${frame.kept.length} of ${frame.count} plans are shown`);
    this.clear.disabled = !this.hidden.size && !this.fits.checked;
  }

  build(varying) {
    this.boxes.replaceChildren(...varying.map((axis, index) => this.boxOf(axis, index)));
  }

  boxOf({ name, heading, values }, index) {
    const hidden = this.hidden.get(name) ?? new Set();
    return element("fieldset", {}, element("legend", {}, heading), ...values.map((value, place) => {
      const id = `filter-${index}-${place}`;
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

export { Filters };
