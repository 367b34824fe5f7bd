// The plan that is chosen: its time and memory in parts, what binds, how much room is left, and its command lines.
import { copyButton, element } from "../../../../base/pages/dom.js";
import { bytes, count, duration, percent } from "../../../../base/pages/numbers.js";
import { PART_COLORS } from "../../../../base/pages/charts.js";
import { wholeParts } from "./figures.js";
import { PART_WORDS } from "./measures.js";
import { figuresOf } from "./run_measures.js";
import * as lines from "./plan_commands.js";

let [tools, place] = [null, null];

function mount(section, given) {
  tools = given;
  place = element("div", {});
  section.append(element("details", { open: true }, element("summary", {}, "Time, memory and commands of the plan"), place));
}

// Shares of a whole as bars and in words.
function bars(title, entries, say) {
  const whole = entries.reduce((sum, { value }) => sum + value, 0);
  const shown = entries.filter(({ value }) => value > 0).sort((a, b) => b.value - a.value);
  return element("div", { class: "parts" }, element("h4", {}, title),
    element("div", { class: "stack", "aria-hidden": "true" }, ...shown.map(({ name, value }) => element("i", { style: `width: ${(100 * value) / whole}%; background: var(--${PART_COLORS[name] ?? "c11"})` }))),
    element("table", {}, element("tbody", {}, ...shown.map(({ name, words, value }) => element("tr", {},
      element("th", { scope: "row" }, element("i", { class: "ink", style: `background: var(--${PART_COLORS[name] ?? "c11"})` }), words),
      element("td", { class: "number" }, say(value)), element("td", { class: "number" }, percent((100 * value) / whole)))))));
}

function binding(frame, row, parts) {
  const wall = frame.columns.wall_time_ns[row];
  const [first, second] = [...parts].sort((a, b) => b.value - a.value);
  const share = (part) => `${part.words} (${percent((100 * part.value) / wall)})`;
  const head = `Most of the step is ${share(first)}, then ${share(second)}.`;
  const room = frame.headroom(row);
  if (!Number.isFinite(room)) return head;
  const margin = percent(100 * frame.margin(frame.planAt(row).framework));
  return `${head} ${room >= 0 ? `Headroom under the cap is ${bytes(room)}` : `The peak is ${bytes(-room)} over the cap`}: it ${frame.verdict(row)}, as predicted peaks are off by up to ${margin}.`;
}

function figures(frame, row) {
  const { columns } = frame;
  const [low, high] = [columns.low_ns[row], columns.high_ns[row]];
  const ties = frame.kept.reduce((sum, each) => sum + (columns.wall_time_ns[each] <= columns.wall_time_ns[frame.best] * (1 + frame.data.tie_gap) ? 1 : 0), 0);
  const entries = [
    ["time of a step", duration(columns.wall_time_ns[row])],
    ["80 % of such steps", Number.isFinite(low) ? `${duration(low)} to ${duration(high)}` : "nothing of this kind was measured"],
    ["peak memory", bytes(columns.peak_memory_bytes[row])],
    ["tokens per s", count(columns.tokens_per_s[row])],
    ["MFU", percent(columns.mfu_pct[row])],
    ["share of the bubble", percent(Math.max(0, 100 * columns.bubble_share[row]))],
    ...figuresOf(frame).map(({ name, title, said }) => [title, said(columns[name][row])]),
    ["plans tied with the fastest", `${ties} within ${percent(100 * frame.data.tie_gap)}`],
  ];
  return element("dl", { class: "figures" }, ...entries.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]));
}

function update(frame) {
  const row = frame.selected;
  if (row < 0) {
    const why = frame.reasons[0] ?? "";
    place.replaceChildren(element("p", { class: "alert" }, frame.count ? `No plan passes. ${why}` : "The space has no plan."));
    return;
  }
  const { data, columns } = frame;
  const whole = wholeParts(data.parts.map((name) => columns[`part_${name}`][row]), columns.wall_time_ns[row]);
  const parts = data.parts.map((name, index) => ({ name, words: PART_WORDS[name] ?? name, value: whole[index] }));
  const sizes = data.categories.map((name) => ({ name: name === "optimizer" ? "optimizer_state" : name, words: name, value: columns[`memory_${name}`][row] }));
  place.replaceChildren(
    element("p", { class: "winners" }, frame.isChosen ? "Chosen: " : frame.fitting === row ? "Fastest that fits: " : "Fastest: ", element("strong", {}, frame.label(row))),
    element("p", {}, binding(frame, row, parts)),
    element("div", { class: "columns" }, figures(frame, row), bars("Time", parts, duration), bars("Memory", sizes, bytes)),
    element("div", { class: "commands" }, ...lines.all(data, frame.state, frame.planAt(row)).map(([name, text, note, button]) => {
      const pre = element("pre", { tabindex: "0" }, element("code", {}, text));
      return element("div", { class: "command" }, element("div", { class: "head" }, element("span", {}, name), text ? copyButton(pre, button, `the command: ${name}`) : null), text ? pre : null, note ? element("p", { class: "hint" }, note) : null);
    })),
  );
}

const view = { name: "point", title: "The plan", mount, update };

export { view };
