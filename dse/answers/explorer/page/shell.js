// The sections of the views: mounted one by one, and updated in turns, so that no task of the page is long.
import * as dom from "../../../base/pages/dom.js";
import { breathe, element } from "../../../base/pages/dom.js";

const WITHOUT_ENGINE = new Set(["best", "scatter", "heat", "caps"]);

class Shell {
  constructor(root, tools, views) {
    this.root = root;
    this.tools = tools;
    this.views = views;
    this.entries = [];
    this.queue = []; // views that have not seen the newest frame, those that wait longest first
    this.frame = null;
    this.isBusy = false;
  }

  // A section above the views, folded until it is asked for.
  fold(title) {
    const details = element("details", { class: "screen" }, element("summary", {}, title));
    this.root.append(element("section", { class: "view", id: `view-${title.toLowerCase()}`, "aria-label": title }, details));
    return details;
  }

  async mount() {
    for (const view of this.views.filter(({ name }) => this.tools.engine || WITHOUT_ENGINE.has(name))) {
      const id = `view-${view.name}`;
      const section = element("section", { class: "view", id, "aria-labelledby": `${id}-title`, "data-waiting": true },
        element("h3", { id: `${id}-title` }, view.title));
      if (view.hint) section.append(element("p", { class: "hint" }, view.hint));
      this.root.append(section);
      const entry = { view, section };
      if (this.guarded(entry, () => view.mount(section, this.tools))) {
        this.entries.push(entry);
        if (this.frame) this.want(entry);
      }
      await breathe();
    }
    this.isMounted = true;
  }

  // Without an engine there are only the views that need none.
  withdraw() {
    const needsNone = ({ view }) => WITHOUT_ENGINE.has(view.name);
    for (const entry of this.entries) if (!needsNone(entry)) entry.section.remove();
    this.entries = this.entries.filter(needsNone);
    this.queue = this.queue.filter(needsNone);
  }

  // A view that fails must not take the others with it.
  guarded(entry, work) {
    try {
      work();
      entry.problem?.remove();
      entry.problem = null;
      return true;
    } catch (error) {
      const text = `This part of the page failed: ${error.message}`;
      entry.problem ??= entry.section.appendChild(dom.element("p", { class: "error", role: "alert" }));
      entry.problem.textContent = text;
      console.error(error);
      return false;
    }
  }

  want(entry) {
    if (!this.queue.includes(entry)) this.queue.push(entry);
    if (!this.isBusy) this.work();
  }

  show(frame) {
    this.frame = frame;
    for (const entry of this.entries) this.want(entry);
  }

  isNear({ section }) {
    const { top, bottom } = section.getBoundingClientRect();
    return bottom > -200 && top < innerHeight + 200;
  }

  async work() {
    this.isBusy = true;
    await breathe(); // what asked for it has been at work already
    while (this.queue.length) {
      const near = this.queue.findIndex((entry) => this.isNear(entry));
      const [entry] = this.queue.splice(Math.max(0, near), 1);
      this.guarded(entry, () => entry.view.update(this.frame));
      delete entry.section.dataset.waiting;
      await breathe();
    }
    this.isBusy = false;
    this.onIdle?.();
  }

  // All at once: for paper.
  updateNow() {
    for (const entry of this.queue.splice(0)) this.guarded(entry, () => entry.view.update(this.frame));
  }

  redraw() {
    for (const entry of this.entries) this.guarded(entry, () => entry.view.redraw?.());
  }
}

export { Shell };
