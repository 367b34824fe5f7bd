// What was predicted, as views see it: columns by name, axes that vary, what passes the filters, the fastest.
import { labelOf } from "./plans.js";
import { verdict } from "./rules.js";

const rank = (value) => (typeof value === "boolean" ? Number(value) : value);
const byValue = (a, b) => (typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : rank(a) - rank(b));

class Frame {
  // `result` is that of the worker; `before` the frame of the state before, or null.
  constructor(data, scenario, state, result, before) {
    Object.assign(this, { data, scenario, state, before, ...result });
    this.cap_bytes = state.cap_bytes;
    this.margin = (framework) => data.margins[framework];
    this.axes = data.axes.map((axis, index) => ({ ...axis, index, values: [...this.values[index]].sort(byValue) }));
    this.varying = this.axes.filter(({ values }) => values.length > 1);
    // Looked up once: a table sorts 100,000 rows by what binds.
    this.binding = data.parts.map((name, index) => ({ name, index, times: this.columns[`part_${name}`] }))
      .filter(({ name }) => name !== "matrix_products" && name !== "attention");
    this.kept = new Uint32Array(0);
    this.order = null; // rows by time
  }

  value(row, axis) {
    return this.values[axis.index][this.codes[axis.index][row]];
  }

  planAt(row) {
    return Object.fromEntries(this.axes.map((axis) => [axis.name, this.value(row, axis)]));
  }

  label(row) {
    return labelOf(this.axes, this.planAt(row));
  }

  isOk(row) {
    return this.reasonOf[row] < 0;
  }

  /** The row of a plan, -1 where there is none. */
  rowOf(plan) {
    const wanted = [];
    for (const { name, index } of this.axes) {
      const code = this.values[index].indexOf(plan[name]);
      if (code < 0) return -1;
      if (this.values[index].length > 1) wanted.push([this.codes[index], code]);
    }
    for (let row = 0; row < this.count; row += 1) if (wanted.every(([codes, code]) => codes[row] === code)) return row;
    return -1;
  }

  /** The row of a label, -1 where none has it: words are looked up among those of the axes. */
  rowOfLabel(label) {
    if (!label) return -1;
    const plan = Object.fromEntries(this.axes.map(({ name, default: usual }) => [name, usual]));
    const words = new Map();
    for (const axis of this.axes) for (const value of axis.values) words.set(labelOf([axis], { [axis.name]: value }), [axis.name, value]);
    for (const word of label.split(" ")) {
      const found = words.get(word);
      if (found) [, plan[found[0]]] = found;
    }
    const row = this.rowOf(plan);
    return row >= 0 && this.label(row) === label ? row : -1;
  }

  fits(row) {
    return this.columns.peak_memory_bytes[row] <= (this.cap_bytes ?? Infinity);
  }

  /** Keeps the rows that pass: `hidden` has values by axis name that are left out, `limits` are [column, [least, most]]. */
  filter(hidden, fitsOnly, limits = []) {
    const tests = this.varying.map((axis) => [axis, hidden.get(axis.name)]).filter(([, set]) => set?.size)
      .map(([axis, set]) => ({ codes: this.codes[axis.index], isHidden: this.values[axis.index].map((value) => set.has(String(value))) }));
    const bounds = limits.map(([name, [least, most]]) => [this.columns[name], least, most]);
    const passes = (row) => {
      for (const { codes, isHidden } of tests) if (isHidden[codes[row]]) return false;
      for (const [values, least, most] of bounds) if (!(values[row] >= least && values[row] <= most)) return false;
      return true;
    };
    const { peak_memory_bytes: peak, wall_time_ns: wall } = this.columns;
    const cap = this.cap_bytes ?? Infinity;
    const kept = new Uint32Array(this.count);
    let count = 0;
    let [best, fitting, runnerUp] = [-1, -1, -1];
    const isFaster = (row, other) => other < 0 || wall[row] < wall[other] || (wall[row] === wall[other] && peak[row] < peak[other]);
    for (let row = 0; row < this.count; row += 1) {
      if (this.reasonOf[row] >= 0 || (fitsOnly && peak[row] > cap)) continue;
      if (!passes(row)) continue;
      kept[count] = row;
      count += 1;
      if (isFaster(row, best)) best = row;
      if (peak[row] <= cap) {
        if (isFaster(row, fitting)) [fitting, runnerUp] = [row, fitting];
        else if (isFaster(row, runnerUp)) runnerUp = row;
      }
    }
    this.kept = kept.subarray(0, count);
    Object.assign(this, { best, fitting, runnerUp });
    const chosen = this.rowOfLabel(this.state.selected);
    this.isChosen = chosen >= 0 && this.isOk(chosen);
    this.selected = this.isChosen ? chosen : fitting >= 0 ? fitting : best;
  }

  /** The largest part of the time of a row but products with weights and attention: its number. */
  bindingPart(row) {
    let [most, longest] = [-1, -Infinity];
    for (const { index, times } of this.binding) if (most < 0 || times[row] > longest) [most, longest] = [index, times[row]];
    return most;
  }

  headroom(row) {
    return this.cap_bytes === null ? NaN : this.cap_bytes - this.columns.peak_memory_bytes[row];
  }

  /** Whether a peak fits under the cap, where predictions are off by up to the margin of the framework. */
  verdict(row) {
    return verdict(this.columns.peak_memory_bytes[row], this.cap_bytes, this.margin(this.planAt(row).framework));
  }
}

export { Frame };
