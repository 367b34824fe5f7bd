// The figures by which plots and tables place, colour and sort plans: axes that vary, and what was predicted.
import { said } from "../../../../base/pages/filters.js";
import { short } from "../../../../base/pages/inks.js";
import { bytes, count, duration, percent } from "../../../../base/pages/numbers.js";
import { figuresOf } from "./run_measures.js";

const PART_WORDS = {
  matrix_products: "matrix products", attention: "attention", memory_bound: "memory-bound kernels", launches: "launches",
  tp: "tensor parallelism", cp: "context parallelism", ep: "expert parallelism", pp_bubble: "pipeline bubble", p2p: "messages between stages",
  dp: "data parallelism", optimizer: "optimizer",
};

const column = (name, title, said, more = {}) => ({ name, title, said, at: (frame) => { const values = frame.columns[name]; return (row) => values[row]; }, ...more });

const TIME = column("wall_time_ns", "time of a step", duration, { unit: "s", scale: 1e-9 });
const PEAK = column("peak_memory_bytes", "peak memory", bytes, { unit: "GB", scale: 1e-9 });
const OTHERS = [
  { name: "headroom", title: "headroom", said: (value) => (value < 0 ? `−${bytes(-value)}` : bytes(value)), unit: "GB", scale: 1e-9, at: (frame) => (row) => frame.headroom(row) },
  column("low_ns", "80 % from", duration, { unit: "s", scale: 1e-9 }),
  column("high_ns", "80 % to", duration, { unit: "s", scale: 1e-9 }),
  column("tokens_per_s", "tokens per s", count, { unit: "", scale: 1, isHighBetter: true }),
  column("mfu_pct", "MFU", percent, { unit: "%", scale: 1, isHighBetter: true }),
  column("bubble_share", "share of the bubble", (value) => percent(Math.max(0, 100 * value)), { unit: "%", scale: 100 }),
];

const partOf = (name) => column(`part_${name}`, `time of ${PART_WORDS[name] ?? name}`, duration, { unit: "s", scale: 1e-9 });
const BINDS = {
  name: "binds", title: "what binds", unit: "", scale: 1, isName: true,
  at: (frame) => (row) => frame.bindingPart(row),
};

/** An axis as a measure: its place among the values where they are words, else its number. */
function ofAxis(axis) {
  const isNumber = axis.values.every((value) => typeof value === "number");
  const places = new Map(axis.values.map((value, index) => [value, index]));
  return {
    name: axis.name, title: axis.heading, unit: "", scale: 1, isAxis: true, values: axis.values, axis, isNumber,
    said: (value) => (isNumber ? String(value) : said(axis.values[value])),
    at: (frame) => (row) => { const value = frame.value(row, axis); return isNumber ? value : places.get(value); },
  };
}

function measuresOf(frame) {
  const parts = frame.data.parts.map(partOf);
  const binds = { ...BINDS, said: (value) => PART_WORDS[frame.data.parts[value]] ?? "–", names: frame.data.parts };
  const ofRun = figuresOf(frame).map(({ name, title, said: say, ...more }) => column(name, title, say, more));
  return [TIME, ...ofRun, PEAK, ...frame.varying.map(ofAxis), ...OTHERS, binds, ...parts];
}

/** The measures as plots take them; words and axes have a place for each value. */
function plottedOf(frame) {
  return measuresOf(frame).map((measure) => {
    const { name, title, unit, scale, said: say, isAxis, isName, isNumber, values, names } = measure;
    const list = isName ? names : isAxis ? values : null;
    const places = list && (isNumber ? list : list.map((_, index) => index));
    const at = measure.at(frame);
    const written = (value) => `${short(value)}${unit ? ` ${unit}` : ""}`;
    return {
      name, title, heading: unit ? `${title}, ${unit}` : title, places,
      read: (row) => at(row) * scale, say: places ? say : (value) => String(short(value)), sayInk: places ? say : written,
    };
  });
}

export { TIME, PEAK, PART_WORDS, measuresOf, plottedOf };
