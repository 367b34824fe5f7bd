// What the views of one point share: which points they show, colours of parts, and when they compute.
import { breathe, element } from "../../../base/pages/dom.js";
import { recorded } from "./recording.js";

const isOk = (row) => row?.status === "ok";
const chosen = (frame) => [frame.selected, frame.best_under_cap, frame.best].find(Boolean) ?? null;

// The selected point, the one to compare it with (the fastest, or the second beside the fastest itself), and
// what was shown before the last change of the scenario: [{row, scenario, note, isGhost}], none if the
// selected point did not finish.
function shown(frame) {
  const row = chosen(frame);
  if (!isOk(row)) return [];
  const isSame = (other) => other?.label === row.label;
  const isCapped = Boolean(frame.best_under_cap);
  const limit = isCapped && !(frame.best_under_cap.label === frame.best?.label) ? " under the cap" : "";
  const [first, second] = isCapped
    ? [frame.best_under_cap, frame.runner_up_under_cap] : [frame.best, frame.runner_up];
  const entries = [{ row, note: isSame(first) ? `fastest${limit}` : "selected" }];
  const other = isSame(first) ? second : first;
  if (isOk(other) && !isSame(other)) entries.push({ row: other, note: isSame(first) ? `second${limit}` : `fastest${limit}` });
  const { before } = frame;
  const old = before && chosen(before);
  if (isOk(old) && JSON.stringify(before.scenario) !== JSON.stringify(frame.scenario)) {
    entries.push({ row: old, note: "before the change", scenario: before.scenario, isGhost: true });
  }
  return entries.map((entry) => ({ scenario: frame.scenario, isGhost: false, ...entry }));
}

// Why nothing can be shown of the point that is selected.
function whyNone(frame) {
  const row = chosen(frame);
  if (!row) return "No strategy finishes here, so there is no point to look into.";
  return `${row.label} has no wall time (${row.status}): ${row.reason}`;
}

// Record what is shown, and derive figures of it, once for each recording: entries with `recording` and `figures`,
// null once the frame is out of date. The first point must be there, others may fail.
async function derived(frame, entries, engine, derive) {
  const made = await Promise.allSettled(entries.map((entry) => recorded(engine, entry.scenario, entry.row, frame.signal)));
  if (made[0].status === "rejected") throw made[0].reason;
  const found = [];
  for (const [index, { value: recording }] of made.entries()) {
    if (!recording) continue;
    if (!derive.known.has(recording)) await breathe();
    if (frame.signal?.aborted) return null;
    if (!derive.known.has(recording)) derive.known.set(recording, derive(recording));
    found.push({ ...entries[index], recording, figures: derive.known.get(recording) });
  }
  await breathe();
  return frame.signal?.aborted ? null : found;
}
const once = (derive) => Object.assign(derive, { known: new WeakMap() });

// Compute the latest frame once its section is on the screen, or nearly. Until then it is `data-unseen`: what it
// shows is of an earlier frame, or nothing.
function whenSeen(section, compute) {
  let waiting = null;
  let isSeen = false;
  let turns = 0;
  const run = () => {
    if (!isSeen || !waiting) return;
    const frame = waiting;
    waiting = null;
    section.setAttribute("aria-busy", "true");
    const turn = (turns += 1);
    Promise.resolve(compute(frame)).finally(() => {
      if (turn !== turns) return;
      section.removeAttribute("aria-busy");
      if (!waiting) delete section.dataset.unseen;
    });
  };
  const observer = new IntersectionObserver((changes) => {
    isSeen = changes.at(-1).isIntersecting;
    run();
  }, { rootMargin: "240px" });
  observer.observe(section);
  return (frame) => {
    waiting = frame;
    section.dataset.unseen = "";
    run();
  };
}

// Rows of cells as a table; the first cell of a row is its heading, those from `texts` on are numbers.
function fillTable(table, caption, head, rows, texts = 1) {
  const cell = (tag, content, attributes) => {
    const made = element(tag, attributes);
    made.append(...[content].flat());
    return made;
  };
  const title = element("caption", caption);
  const [top, body] = [element("thead"), element("tbody")];
  const heading = element("tr");
  head.forEach((text, index) => heading.append(cell("th", text, { scope: "col", class: index < texts ? "" : "n" })));
  top.append(heading);
  for (const [name, ...values] of rows) {
    const row = element("tr");
    row.append(cell("th", name, { scope: "row" }), ...values.map((value, index) => cell("td", value, { class: index + 1 < texts ? "" : "n" })));
    body.append(row);
  }
  table.replaceChildren(title, top, body);
}

// Black or white, whichever is read better on a colour such as #0a58a8.
function inkOn(hex) {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const value = parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? "#0a1826" : "#ffffff";
}

export { chosen, shown, whyNone, derived, once, whenSeen, fillTable, inkOn };
