// What surrounds the form of a live page: undo and redo, the address, links, saved pages, and paper.
import { lookFor } from "../../../base/pages/charts.js";
import * as dom from "../../../base/pages/dom.js";
import * as fragment from "./fragment.js";
import * as state from "./state.js";

const ADDRESS_MS = 250;
const root = document.documentElement;
const asMade = root.outerHTML; // before anything is filled in: what "Save page" saves
const byId = (id) => document.getElementById(id);

class Controls {
  // `page` has the data, the form once it is there, the fields of the present state, a status and a shell.
  constructor(page) {
    this.page = page;
    this.opened = [];
    this.timer = null;
  }

  // A page that was saved with a state needs a word for the one that it was made with: no fragment is the saved one.
  addressText() {
    const text = fragment.write(state.get(), state.initial());
    return text || !byId("state").textContent.trim() ? text : "preset.model=";
  }

  writeAddress() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const text = this.addressText();
      if (text === location.hash.slice(1)) return;
      history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
    }, ADDRESS_MS);
  }

  readAddress() {
    const text = location.hash.length > 1 ? location.hash : byId("state").textContent.trim();
    const { state: read, problems } = fragment.read(text, this.page.data, state.initial());
    state.set(read);
    if (problems.length) this.page.status.warn(`Not all of the link could be read: ${problems.join("; ")}`);
  }

  // What every change of the state asks of the buttons and the address.
  follow() {
    byId("undo").disabled = !state.canUndo();
    byId("redo").disabled = !state.canRedo();
    byId("reset").disabled = !state.isChanged();
    this.writeAddress();
  }

  button(id, action) {
    byId(id).addEventListener("click", (event) => {
      this.page.form?.clear();
      action(event.currentTarget);
      this.page.form?.update(state.get(), this.page.fields);
    });
  }

  listen() {
    this.button("undo", state.undo);
    this.button("redo", state.redo);
    this.button("reset", state.reset);
    byId("link").addEventListener("click", ({ currentTarget }) => {
      const text = this.addressText();
      dom.copied(`${location.href.split("#")[0]}${text && `#${text}`}`, currentTarget);
    });
    byId("save").addEventListener("click", () => {
      const text = fragment.write(state.get(), state.initial());
      const page = asMade.replace(/(<script[^>]*id="state"[^>]*>)[^<]*/, (_, tag) => tag + text);
      dom.save(`${this.page.data.title.replace(/[^\w.-]+/g, "-")}.html`, `<!doctype html>\n${page}`, "text/html");
    });
    addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || !["z", "y"].includes(event.key.toLowerCase())) return;
      if (event.target.matches?.("input[type=text]") && event.target.value !== event.target.dataset.shown) return; // undoes typing
      event.preventDefault();
      byId(event.key.toLowerCase() === "y" || event.shiftKey ? "redo" : "undo").click();
    });
    // The address belongs to the state: a fragment for a jump would be read as one.
    document.querySelector(".skip").addEventListener("click", (event) => {
      event.preventDefault();
      byId("views").focus();
    });
    addEventListener("hashchange", () => {
      if (location.hash.slice(1) !== this.addressText()) this.readAddress();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.page.shell.redraw());
    addEventListener("beforeprint", () => this.print());
    addEventListener("afterprint", () => this.printed());
  }

  // On paper: light, sharp, with what is folded open.
  print() {
    root.classList.add("light", "printing");
    lookFor(true);
    this.page.shell.updateNow();
    for (const details of document.querySelectorAll("#views details:not(.screen):not([open])")) {
      details.open = true;
      this.opened.push(details);
    }
    this.page.shell.redraw();
  }

  printed() {
    root.classList.remove("light", "printing");
    lookFor(false);
    for (const details of this.opened.splice(0)) details.open = false;
    this.page.shell.redraw();
  }
}

export { Controls };
