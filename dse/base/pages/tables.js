// Tables of class "sorts": a heading sorts the rows, by the figure in data-of of a cell, else by its text.
// Tables of several rows get filters, and a choice of the column that colours rows and their marks on the page.
import { Choice } from "./choice.js";
import { element } from "./dom.js";
import { Filters, writtenAs } from "./filters.js";
import { inkOn, inksOf, legendOf } from "./inks.js";

const LEAST_ROWS = 3;
const FEW = 12; // values of a column that can be an axis
const root = document.documentElement;
const color = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();

const valueOf = (cell) => {
  if (!cell) return null; // a cell before it spans several columns
  const { of } = cell.dataset;
  if (of !== undefined) return of === "" ? null : Number(of);
  return cell.textContent.trim();
};

// Rows without a figure come last, whichever way the others go.
function compared(one, other, sign = 1) {
  if (one === null || other === null) return (one === null) - (other === null);
  return sign * (typeof one === "string" ? one.localeCompare(other, "en", { numeric: true }) : one - other);
}

function makeSortable(table, heads) {
  heads.forEach((head, column) => {
    if (head.querySelector(".unseen")) return; // nothing to press
    const button = element("button", { type: "button", class: "link" }, ...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") === "ascending";
      for (const each of heads) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const body = table.tBodies[0];
      const rows = [...body.rows].map((row) => [valueOf(row.cells[column]), row]);
      rows.sort(([one], [other]) => compared(one, other, descending ? -1 : 1));
      body.append(...rows.map(([, row]) => row));
    });
  });
}

// Columns whose rows differ: {name, heading, values, isNumber, isAxis, isText, at(row), said(value)}.
// An axis has few values; times, sizes and shares are no axes however few they are.
function columnsOf(rows, heads) {
  return heads.map((head, index) => {
    const texts = rows.map((row) => row.cells[index]?.textContent.trim() ?? "");
    const raw = rows.map((row) => valueOf(row.cells[index]));
    const isNumber = raw.every((value) => value === null || (value !== "" && Number.isFinite(Number(value))));
    const found = isNumber ? raw.map((value) => (value === null ? null : Number(value))) : texts;
    const [of, words] = [new Map(rows.map((row, place) => [row, found[place]])), new Map(found.map((value, place) => [value, texts[place]]))];
    const values = [...new Set(found)].filter((value) => value !== null).sort(compared);
    const heading = head.textContent.trim();
    const isFigure = isNumber && (values.some((value) => !Number.isInteger(value)) || rows.some((row) => row.cells[index]?.dataset.of));
    const isAxis = !isFigure && values.length <= FEW && values.length < rows.length;
    const written = isNumber && values.length ? writtenAs(values.at(-1), words.get(values.at(-1))) : String;
    return { name: heading, heading, values, isNumber, isAxis, isText: !isNumber && !isAxis, at: (row) => of.get(row), said: (value) => words.get(value) ?? written(value), isUnseen: Boolean(head.querySelector(".unseen")), isHighBetter: head.dataset.high !== undefined };
  }).filter(({ values, isUnseen }) => values.length > 1 && !isUnseen);
}

class Hands {
  constructor(table, heads) {
    this.table = table;
    this.rows = [...table.tBodies[0].rows];
    this.columns = columnsOf(this.rows, heads);
    const what = table.closest("[aria-label]")?.getAttribute("aria-label") ?? "the table";
    const fold = element("details", { class: "screen" }, element("summary", {}, "Filters ", element("span", { class: "unseen" }, `of ${what}`)));
    this.ink = new Choice("colour", [], () => this.paint());
    this.ink.offer([["", "as it is"], ...this.columns.filter(({ isText }) => !isText).map(({ name, heading }) => [name, heading])]);
    this.legend = element("div", {});
    this.filters = new Filters(fold, () => this.filter(), { hasCap: false });
    (table.closest(".scroll") ?? table).before(fold, element("div", { class: "row noprint" }, this.ink.root, this.legend));
    this.followers = []; // they are given this when other rows are shown or another one is chosen
    this.chosen = null;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
    this.filter();
  }

  filter() {
    const of = new Map(this.columns.map((column) => [column.name, column]));
    const kept = this.rows.filter((row) => this.filters.passes((name) => of.get(name).at(row)));
    for (const row of this.rows) row.hidden = true;
    for (const row of kept) row.hidden = false;
    const varying = this.columns.map((column) => (column.isNumber && !column.isAxis ? { ...column, range: [column.values[0], column.values.at(-1)] } : column));
    this.filters.update({ varying, kept, count: this.rows.length }, "rows");
    this.kept = kept;
    this.tell();
  }

  follow(follower) {
    this.followers.push(follower);
    follower(this);
  }

  tell() {
    for (const follower of this.followers) follower(this);
  }

  choose(row, { scrolls = true } = {}) {
    this.chosen?.removeAttribute("aria-current");
    row.setAttribute("aria-current", "true");
    if (scrolls) row.scrollIntoView({ block: "nearest" });
    this.chosen = row;
    row.dispatchEvent(new CustomEvent("chosen", { bubbles: true }));
    this.tell();
  }

  // Rows get the colours, and what has the data-mark of a row reads them as --mark-MARK, with --on-MARK for text on it.
  paint() {
    const column = this.columns.find(({ name }) => name === this.ink.value);
    const numberOf = column && (column.isNumber ? column.at : (row) => column.values.indexOf(column.at(row)));
    const said = column && (column.isNumber ? column.said : (place) => column.values[place]);
    const inks = column && inksOf(this.rows.map((row) => numberOf(row) ?? NaN), said, color);
    for (const row of this.rows) {
      const ink = inks?.of(numberOf(row) ?? NaN) ?? "";
      row.classList.toggle("inked", Boolean(ink));
      row.style.setProperty("--ink-of", ink);
      if (row.dataset.mark === undefined) continue;
      root.style.setProperty(`--mark-${row.dataset.mark}`, ink);
      root.style.setProperty(`--on-${row.dataset.mark}`, ink && inkOn(ink));
    }
    this.legend.replaceChildren(...(inks ? [legendOf(inks.legend)] : []));
    this.table.dispatchEvent(new CustomEvent("inked", { bubbles: true }));
  }
}

const hands = [...document.querySelectorAll("table.sorts")].map((table) => {
  const heads = [...table.tHead.rows[0].cells];
  const found = table.tBodies[0].rows.length < LEAST_ROWS ? null : new Hands(table, heads);
  makeSortable(table, heads);
  return found;
}).filter(Boolean);

export { color, compared, hands };
