// The view of the best points: what won since when, cards, commands, the table of all points, and what failed.
import { Cards, Command } from "./cards.js";
import * as commands from "./commands.js";
import * as dom from "../../../base/pages/dom.js";
import { element, scroll, setText } from "../../../base/pages/dom.js";
import * as doubts from "./doubts.js";
import * as download from "./download.js";
import * as words from "./words.js";
import { change } from "./words.js";

const FEW = 15;
const COLUMNS = ["", "strategy", "wall time", "slower by", "peak memory", "exposed\ncomm.", "compute\nutil.", "MFU", "tokens/s"];

const lines = (name) => name.split("\n").flatMap((line, index) => (index ? [element("br"), line] : [line]));

class Best {
  mount(section, tools) {
    this.tools = tools;
    this.isLong = false;
    this.cards = new Cards(tools);
    this.changes = element("p", { class: "winners", hidden: true });
    this.doubts = element("div", { class: "doubts" });
    this.sweep = new Command("Command line of this state");
    this.sweep.text.dataset.command = "sweep";
    this.point = new Command("Command line of the selected point");
    this.point.text.dataset.command = "point";
    this.lines = [];
    this.body = element("tbody");
    const head = element("tr", {}, ...COLUMNS.map((name, index) => (
      index ? element("th", { scope: "col", class: index > 1 ? "n" : null }, ...lines(name)) : element("th", { scope: "col", class: "n" }, element("span", { class: "unseen" }, "place"), element("span", { "aria-hidden": "true" }, "#")))));
    const table = element("table", { class: "points" }, element("thead", {}, head), this.body);
    this.more = element("button", { type: "button", class: "plain noprint" });
    this.more.addEventListener("click", () => {
      this.isLong = !this.isLong;
      this.fill(this.frame);
    });
    this.counted = element("p", { class: "hint" });
    this.failures = element("div");
    section.append(
      this.changes, this.cards.root, this.doubts,
      element("div", { class: "commands" }, this.sweep.root, this.point.root),
      scroll("Table of the points", table), this.counted,
      element("div", { class: "row noprint" }, this.more, ...this.downloads()),
      this.failures,
    );
  }

  downloads() {
    const { columns } = this.tools.data;
    const kinds = {
      CSV: ["text/csv", (frame) => download.csv(frame.rows, frame.scenario, columns)],
      JSON: ["application/json", (frame, about) => download.json(frame.rows, frame.scenario, columns, about)],
      Parquet: ["application/vnd.apache.parquet", (frame, about) => download.parquet(frame.rows, frame.scenario, columns, about)],
    };
    return Object.entries(kinds).map(([name, [type, make]]) => {
      const button = element("button", { type: "button", class: "plain", "data-download": name.toLowerCase() }, `Download ${name}`);
      button.addEventListener("click", () => {
        const { scenario } = this.frame;
        dom.save(`${scenario.model.name}-${scenario.system.name}.${name.toLowerCase()}`, make(this.frame, this.about()), type);
      });
      return button;
    });
  }

  about() {
    const { version, result_version: resultVersion } = this.tools.data;
    const cap = this.frame.cap_bytes;
    return { version, result_version: resultVersion, command: this.commandOf(this.frame), memory_cap_bytes: cap, at: location.hash };
  }

  commandOf(frame) { return commands.sweep(this.tools.data, frame.state); }

  update(frame) {
    this.frame = frame;
    const said = words.winners(frame.before, frame, frame.reasons ?? []);
    this.changes.hidden = !said.length;
    this.changes.replaceChildren(...said.map((text) => element("span", `${text}. `)));
    this.cards.update(frame);
    this.doubt(frame);
    this.sweep.fill(this.commandOf(frame));
    this.point.fill(frame.selected ? commands.point(this.tools.data, frame.state, frame.selected) : "");
    this.fill(frame);
    setText(this.counted, this.convention(frame));
    this.fail(frame);
  }

  redraw() {}

  // The point that was chosen, perhaps by a link, where it has no time here.
  missing(frame) {
    const { selected: label } = frame.state;
    if (label === null || frame.is_chosen) return "";
    const row = frame.all.find((each) => each.label === label);
    if (row && !frame.rows.includes(row)) return `The filters leave out the chosen ${label}`;
    return row ? `The chosen ${label} does not finish here (${row.status}: ${row.reason})` : `The chosen ${label} is not in this space`;
  }

  // What is known against the times of the points: a line for each kind, as under a sweep.
  doubt(frame) {
    const texts = [this.missing(frame), ...doubts.summary(frame.ok)].filter(Boolean);
    if (this.doubted === (this.doubted = texts.join("\n"))) return;
    this.doubts.replaceChildren(...texts.map((text) => element("p", { class: "note" }, `${text}.`)));
  }

  // What MFU counts, in the words of the terminal.
  convention({ ok, scenario: { model } }) {
    const { mfu_notes: notes, live } = this.tools.data;
    if (!ok.some((row) => (row.mfu_pct ?? null) !== null)) return "";
    if (!live) return notes.stored.join("; ");
    return (model.repairs?.multiply_add_as_two ?? model.fidelity === "realistic") ? notes.multiply_add_as_two : notes.multiply_add_as_one;
  }

  fill(frame) {
    const shown = this.isLong ? frame.ok : frame.ok.slice(0, FEW);
    const places = new Map(frame.before?.ok.map((row, index) => [row.label, [index + 1, row]]));
    while (this.lines.length > shown.length) this.lines.pop().root.remove();
    while (this.lines.length < shown.length) {
      const line = this.line();
      this.lines.push(line);
      this.body.append(line.root);
    }
    shown.forEach((row, index) => this.fillLine(this.lines[index], row, index + 1, frame, places.get(row.label)));
    this.more.hidden = frame.ok.length <= FEW;
    setText(this.more, this.isLong ? `Show the first ${FEW}` : `Show all ${frame.ok.length} points`);
  }

  line() {
    const button = element("button", { type: "button", class: "link" });
    const line = { button, cells: COLUMNS.map((_, index) => element("td", { class: index === 1 ? null : "n" })) };
    button.addEventListener("click", () => this.tools.select(line.label));
    line.texts = line.cells.map((cell, index) => {
      const text = index === 1 ? button : element("span");
      const small = element("small");
      cell.append(text, " ", small);
      return [text, small];
    });
    line.root = element("tr", {}, ...line.cells);
    return line;
  }

  fillLine(line, row, place, frame, [oldPlace, old] = []) {
    const { duration, bytes, percent, count, signedPercent } = this.tools.format;
    const slower = change(frame.best.wall_time_ns, row.wall_time_ns);
    const share = row.exposed_comm_ns === null ? NaN : (100 * row.exposed_comm_ns) / row.wall_time_ns;
    const isOver = row.peak_memory_bytes !== null && !this.tools.answers.fits(row, frame.cap_bytes);
    const isOther = old && old.wall_time_ns !== row.wall_time_ns;
    line.label = row.label;
    const texts = [
      [String(place), oldPlace && oldPlace !== place ? `was ${oldPlace}` : ""],
      [row.label, doubts.mark(row)],
      [duration(row.wall_time_ns), isOther ? signedPercent(change(old.wall_time_ns, row.wall_time_ns)) : ""],
      [percent(slower), ""],
      [bytes(row.peak_memory_bytes), isOver ? "over cap" : ""],
      [percent(share), ""],
      [percent(row.compute_utilization_pct ?? NaN), ""],
      [percent(row.mfu_pct ?? NaN), ""],
      [count(row.tokens_per_s), ""],
    ];
    texts.forEach((pair, index) => pair.forEach((text, part) => setText(line.texts[index][part], text)));
    line.root.classList.toggle("over", isOver);
    line.root.classList.toggle("chosen", row === frame.selected);
    line.button.setAttribute("aria-pressed", String(row === frame.selected));
  }

  fail(frame) {
    const groups = this.tools.answers.failures(frame.rows);
    const text = JSON.stringify(groups);
    if (text === this.failed) return;
    this.failed = text;
    if (!groups.length) return this.failures.replaceChildren();
    const rows = groups.map(({ status, example, count }) => element("tr", {},
      element("td", {}, status), element("td", { class: "n" }, String(count)),
      element("td", {}, example.reason || "–"), element("td", {}, example.label)));
    const head = element("tr", {}, ...["status", "points", "reason", "for example"].map((name, index) => element("th", { scope: "col", class: index === 1 ? "n" : null }, name)));
    const total = groups.reduce((sum, { count }) => sum + count, 0);
    this.failures.replaceChildren(element("details", {},
      element("summary", {}, `${total} ${total === 1 ? "point does" : "points do"} not finish`),
      scroll("Points that do not finish", element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)))));
    return undefined;
  }
}

const best = new Best();
const view = {
  name: "best", title: "The best strategies",
  hint: "Small figures compare with the state before the last change. Choose a strategy to look into it.",
  mount: (section, tools) => best.mount(section, tools),
  update: (frame) => best.update(frame),
  redraw: () => best.redraw(),
};

export { view };
