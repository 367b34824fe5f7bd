// The cards of the best points and of the selected one, and the commands that reproduce them.
// A card whose parts are filled again and again: focus and selection of text survive.
import { element, setText, copyButton } from "../../../base/pages/dom.js";
import * as doubts from "./doubts.js";
import { duration, bytes, percent, whole } from "./format.js";
import * as words from "./words.js";
import { margin } from "./words.js";

class Card {
  constructor(what, onSelect) {
    this.what = element("div", { class: "what" }, what);
    this.strategy = element("button", { type: "button", class: "link strategy" });
    this.strategy.addEventListener("click", () => onSelect(this.label));
    this.big = element("div", { class: "big" });
    this.ghost = element("div", { class: "ghost" });
    this.note = element("div", { class: "hint" });
    this.tags = element("div", { class: "tags" });
    this.figures = element("dl", { class: "figures" });
    this.warnings = element("ul", { class: "warnings", "aria-label": "Warnings" });
    this.root = element("div", { class: "card" }, this.what, this.strategy, this.big, this.ghost, this.note, this.tags, this.warnings, this.figures);
  }

  // Why the time above is not that of a real machine.
  warn(texts) {
    this.warnings.hidden = !texts.length;
    this.warnings.replaceChildren(...texts.map((text) => element("li", text)));
  }

  fill(row, { before = null, note = "", nothing = "none", place = "" }) {
    this.label = row?.label ?? null;
    this.strategy.hidden = !row;
    setText(this.strategy, row?.label ?? "");
    setText(this.big, row ? duration(row.wall_time_ns) : nothing);
    this.big.classList.toggle("none", !row);
    setText(this.ghost, row && before ? words.was(before.wall_time_ns, row.wall_time_ns, duration) : "");
    this.ghost.classList.toggle("worse", Boolean(row && before) && row.wall_time_ns > before.wall_time_ns);
    this.ghost.classList.toggle("better", Boolean(row && before) && row.wall_time_ns < before.wall_time_ns);
    setText(this.note, note);
    const share = row && row.exposed_comm_ns !== null ? (100 * row.exposed_comm_ns) / row.wall_time_ns : NaN;
    const figures = row ? [
      ["peak memory", bytes(row.peak_memory_bytes), before ? words.was(before.peak_memory_bytes, row.peak_memory_bytes, bytes) : ""],
      ["wall time", `${whole(row.wall_time_ns)} ns`, ""],
      ["exposed communication", percent(share), ""],
      ["compute utilisation", percent(row.compute_utilization_pct ?? NaN), ""],
      ["MFU", percent(row.mfu_pct ?? NaN), ""],
      ["tokens per s", whole(Math.round(row.tokens_per_s ?? NaN) || null), ""],
      ["place", place, ""],
    ].filter(([, value]) => value) : [];
    this.figures.replaceChildren(...figures.flatMap(([name, value, was]) => [
      element("dt", name), element("dd", value, was ? element("small", ` ${was}`) : null)]));
  }
}

class Cards {
  constructor(tools) {
    this.tools = tools;
    const select = (label) => tools.select(label);
    this.best = new Card("Fastest", select);
    this.capped = new Card("Fastest under the cap", select);
    this.selected = new Card("Selected point", select);
    this.root = element("div", { class: "cards" }, this.best.root, this.capped.root, this.selected.root);
  }

  // The card of the selected point is there only where no other card is about it.
  update(frame) {
    const { format, answers } = this.tools;
    const { before, cap_bytes: cap, selected } = frame;
    this.best.fill(frame.best, { before: before?.best, note: margin(frame.best, frame.runner_up), nothing: "no point" });
    this.capped.root.hidden = cap === null;
    if (cap !== null) {
      setText(this.capped.what, `Fastest under ${format.size(cap)}`);
      const least = answers.smallestPeak(frame.rows);
      const why = Number.isFinite(least) ? `the smallest peak is ${format.bytes(least)}` : "no point has a peak memory";
      const note = frame.best_under_cap ? margin(frame.best_under_cap, frame.runner_up_under_cap) : why;
      this.capped.fill(frame.best_under_cap, { before: before?.best_under_cap, note, nothing: "nothing fits" });
    }
    const isOther = selected !== null && selected !== frame.best && selected !== frame.best_under_cap;
    this.selected.root.hidden = !isOther;
    if (isOther) {
      const old = before?.ok.find(({ label }) => label === selected.label) ?? null;
      const slower = words.change(frame.best.wall_time_ns, selected.wall_time_ns);
      this.selected.fill(selected, {
        before: old, place: `${frame.ok.indexOf(selected) + 1} of ${frame.ok.length}`, note: `${format.percent(slower)} slower than the fastest`,
      });
    }
    for (const [card, row] of [[this.best, frame.best], [this.capped, frame.best_under_cap], [this.selected, selected]]) {
      const isSelected = row !== null && row === selected;
      card.root.classList.toggle("selected", isSelected);
      card.strategy.setAttribute("aria-pressed", String(isSelected));
      card.warn(row ? doubts.warnings(row) : []);
      const tags = row ? this.tagsOf(row, frame, isSelected) : [];
      card.tags.replaceChildren(...tags.map(([text, kind]) => element("span", { class: `tag ${kind}` }, text)));
    }
  }

  tagsOf(row, frame, isSelected) {
    const tags = [];
    if (isSelected) tags.push(["selected", "accent"]);
    if (frame.front.includes(row)) tags.push(["on the Pareto front", ""]);
    if (frame.cap_bytes !== null && row.peak_memory_bytes !== null && !this.tools.answers.fits(row, frame.cap_bytes)) tags.push(["over the cap", "bad"]);
    if (row.fractional) tags.push(["fractional shards are cut", ""]);
    return tags;
  }
}

// A command line with its title and a button that copies it.
class Command {
  constructor(title) {
    this.text = element("pre", { tabindex: "0", role: "group", "aria-label": title });
    const copy = copyButton(this.text, "Copy", title);
    this.root = element("div", { class: "command" }, element("div", { class: "head" }, element("strong", {}, title), copy), this.text);
  }

  fill(text) {
    this.root.hidden = text === "";
    setText(this.text, text);
  }
}

export { Cards, Command };
