// A labelled choice above a plot, which keeps what was chosen where the list changes.
import { element } from "./dom.js";

let count = 0;

class Choice {
  // `preferred` are names to begin with, the first that there is.
  constructor(label, preferred, onChange) {
    count += 1;
    const id = `choice-${count}`;
    this.preferred = preferred;
    this.select = element("select", { id });
    this.root = element("span", { class: "pick" }, element("label", { for: id }, label), this.select);
    this.select.addEventListener("change", () => onChange());
    this.names = "";
  }

  /** Sets the list of [name, text]; the chosen one stays if it is still there. */
  offer(entries) {
    const names = JSON.stringify(entries);
    if (names === this.names) return;
    this.names = names;
    const chosen = this.select.value;
    this.select.replaceChildren(...entries.map(([name, text]) => element("option", { value: name }, text)));
    const wanted = [chosen, ...this.preferred].find((name) => entries.some(([each]) => each === name));
    if (wanted !== undefined) this.select.value = wanted;
  }

  get value() { return this.select.value; }
}

export { Choice };
