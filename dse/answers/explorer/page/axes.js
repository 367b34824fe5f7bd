// What tells points apart, and their figures, for filters and heat maps.
import { bytes, duration, percent } from "../../../base/pages/numbers.js";
import { FIELDS, strategyOf } from "./strategy.js";

const FIGURES = [
  { name: "wall_time_ns", title: "wall time", said: duration },
  { name: "peak_memory_bytes", title: "peak memory", said: bytes },
  { name: "mfu_pct", title: "MFU", said: percent, isHighBetter: true },
].map((figure) => ({ ...figure, heading: figure.title, of: (row) => row[figure.name] ?? null }));

/** The axes of strategies in which rows differ, with their values in ascending order. */
function varyingOf(rows) {
  const strategies = rows.map(strategyOf);
  return FIELDS.map((name) => ({
    name, heading: name.replaceAll("_", " "), values: [...new Set(strategies.map((strategy) => strategy[name]))].sort((a, b) => a - b),
  })).filter(({ values }) => values.length > 1);
}

/** The figures that any of the rows has. */
const figuresOf = (rows) => FIGURES.filter(({ of }) => rows.some((row) => of(row) !== null));

/** The figures in which rows differ, from the least to the largest. */
function rangesOf(rows) {
  return figuresOf(rows).map((figure) => {
    const values = rows.map(figure.of).filter((value) => value !== null);
    return { ...figure, range: [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))] };
  }).filter(({ range: [first, last] }) => first < last);
}

/** What filters read of a row: the value of an axis or of a figure. */
function readOf(row) {
  const strategy = strategyOf(row);
  const figures = new Map(FIGURES.map(({ name, of }) => [name, of]));
  return (name) => (figures.has(name) ? figures.get(name)(row) : strategy[name]);
}

export { varyingOf, figuresOf, rangesOf, readOf };
