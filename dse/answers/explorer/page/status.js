// What stays in sight: the winner now, progress, messages of the engine, and what is read out.
import * as dom from "../../../base/pages/dom.js";
import { element } from "../../../base/pages/dom.js";
import * as doubts from "./doubts.js";
import { duration, signedPercent, size } from "./format.js";
import * as words from "./words.js";

const QUIET_MS = 700; // what is read out waits until nothing has changed for so long

class Status {
  constructor(root) {
    this.bar = element("div", { class: "bar", role: "progressbar", "aria-label": "Points evaluated", "aria-valuemin": "0", "aria-valuemax": "100" });
    this.fill = element("div");
    this.bar.append(this.fill);
    this.now = element("p", { class: "winner-now" });
    this.work = element("p", { class: "work" });
    this.spoken = element("p", { class: "unseen", role: "status", "aria-live": "polite" });
    root.append(this.bar, element("div", { class: "line" }, this.now, this.work), this.spoken);
    this.alert = document.getElementById("alert");
  }

  progress(done, total) {
    const share = total ? Math.round((100 * done) / total) : 0;
    this.bar.classList.add("busy");
    this.bar.setAttribute("aria-valuenow", String(share));
    this.fill.style.width = `${share}%`;
    dom.setText(this.work, `${done} of ${total}`);
  }

  ended(text) {
    this.bar.classList.remove("busy");
    this.bar.setAttribute("aria-valuenow", "100");
    this.fill.style.width = "100%";
    dom.setText(this.work, text);
  }

  // One line: the fastest point and that under the cap, with what the last change did to them.
  show(frame) {
    const said = (row, old) => {
      const by = old && old.wall_time_ns !== row.wall_time_ns ? ` ${signedPercent(words.change(old.wall_time_ns, row.wall_time_ns))}` : "";
      const doubt = doubts.mark(row);
      return [
        element("strong", {}, row.label), ` ${duration(row.wall_time_ns)}`, by ? element("small", {}, by) : null,
        doubt ? element("small", { class: "doubt" }, ` (${doubt})`) : null,
      ];
    };
    const parts = frame.best ? said(frame.best, frame.before?.best) : ["No point finishes"];
    const capped = frame.best_under_cap;
    if (frame.cap_bytes !== null && capped?.label !== frame.best?.label) {
      const under = element("span", { class: "under" }, `under ${size(frame.cap_bytes)} `);
      under.append(...(capped ? said(capped, frame.before?.best_under_cap).filter(Boolean) : ["nothing fits"]));
      parts.push(element("span", { class: "dot", "aria-hidden": "true" }, " · "), under);
    }
    this.now.replaceChildren(element("span", { class: "lead" }, "Fastest "), ...parts.filter(Boolean));
  }

  say(text) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { this.spoken.textContent = text; }, QUIET_MS);
  }

  warn(text) {
    this.alert.hidden = !text;
    dom.setText(this.alert, text);
  }
}

export { Status };
