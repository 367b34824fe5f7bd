// The plans as a table: every column always, sorted by any of them, a page of rows at a time.
import { element, scroll } from "../../../../base/pages/dom.js";
import * as dom from "../../../../base/pages/dom.js";
import { gathered } from "../../../../base/pages/plot_canvas.js";
import { measuresOf } from "./measures.js";

const ROWS = 20;

let [root, tools, frame, sorted, page, by] = [null, null, null, null, 0, { name: "wall_time_ns", descending: false }];
const parts = {};

function columns() {
  return measuresOf(frame).filter(({ name }) => !name.startsWith("part_") || frame.data.parts.includes(name.slice(5)));
}

function mount(section, given) {
  [root, tools] = [section, given];
  parts.head = element("tr", {});
  parts.body = element("tbody", {});
  parts.table = element("table", { class: "points plans" }, element("caption", { class: "unseen" }, "Plans"), element("thead", {}, parts.head), parts.body);
  parts.said = element("span", { class: "muted", "aria-live": "polite" });
  const turn = (text, by_) => {
    const button = element("button", { type: "button", class: "plain" }, text);
    button.addEventListener("click", () => { page = by_(page); fill(); });
    return button;
  };
  parts.first = turn("First", () => 0);
  parts.back = turn("Back", (at) => at - 1);
  parts.next = turn("Next", (at) => at + 1);
  parts.last = turn("Last", () => pages() - 1);
  root.append(scroll("Plans, a table that scrolls", parts.table), element("div", { class: "row noprint" }, parts.first, parts.back, parts.next, parts.last, parts.said));
}

const pages = () => Math.max(1, Math.ceil((sorted?.length ?? 0) / ROWS));

async function sort() {
  const measure = columns().find(({ name }) => name === by.name) ?? columns()[0];
  const at = measure.at(frame);
  const { kept } = frame;
  const values = gathered(kept, at);
  const own = frame;
  const order = await tools.engine.asked({ type: "order", values, descending: by.descending }, { priority: 2 });
  if (own !== frame || kept !== frame.kept) return;
  sorted = order;
  for (let index = 0; index < order.length; index += 1) order[index] = kept[order[index]];
  fill();
}

function fill() {
  page = Math.min(Math.max(0, page), pages() - 1);
  const shown = columns();
  const readers = shown.map((measure) => measure.at(frame));
  parts.body.replaceChildren(...[...(sorted ?? []).subarray?.(page * ROWS, (page + 1) * ROWS) ?? []].map((row, index) => {
    const button = element("button", { type: "button", class: "link", "aria-label": `Show plan ${frame.label(row)}` }, String(page * ROWS + index + 1));
    button.addEventListener("click", () => tools.select(frame.label(row)));
    const isOver = frame.cap_bytes !== null && frame.columns.peak_memory_bytes[row] > frame.cap_bytes;
    return element("tr", { class: [row === frame.selected ? "chosen" : "", isOver ? "over" : ""].join(" ").trim() || null },
      element("td", {}, button), ...shown.map((measure, place) => element("td", { class: measure.isAxis && !measure.isNumber || measure.isName ? null : "number" }, measure.said(readers[place](row)))));
  }));
  dom.setText(parts.said, sorted?.length ? `${page * ROWS + 1} to ${Math.min(sorted.length, (page + 1) * ROWS)} of ${sorted.length}` : "no plan passes the filters");
  parts.first.disabled = parts.back.disabled = page === 0;
  parts.next.disabled = parts.last.disabled = page >= pages() - 1;
}

let headed = "";
function head() {
  const shown = columns();
  const text = JSON.stringify([shown.map(({ name }) => name), by]);
  if (text === headed) return;
  headed = text;
  parts.head.replaceChildren(element("th", { scope: "col" }, "Rank"), ...shown.map((measure) => {
    const isBy = measure.name === by.name;
    const button = element("button", { type: "button", class: "link" }, measure.title);
    button.addEventListener("click", () => {
      by = { name: measure.name, descending: isBy ? !by.descending : Boolean(measure.isHighBetter) };
      page = 0;
      head();
      parts.head.querySelector(`[data-name="${measure.name}"] button`)?.focus();
      sort().catch(() => {});
    });
    return element("th", { scope: "col", "data-name": measure.name, "aria-sort": isBy ? (by.descending ? "descending" : "ascending") : null }, button);
  }));
}

function update(now) {
  frame = now;
  head();
  if (now.sortedFor === by.name + by.descending + now.filterText) return fill();
  now.sortedFor = by.name + by.descending + now.filterText;
  return sort().catch((error) => { if (error.kind !== "cancelled") throw error; });
}

const view = { name: "plans", title: "Plans", hint: "A heading sorts; a number shows the plan above. Plans over the cap are grey.", mount, update };

export { view };
