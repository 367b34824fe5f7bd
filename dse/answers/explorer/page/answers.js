// Which rows a question means: the order, the best points and the Pareto front of dse.answers.
import { bytes, duration } from "../../../base/pages/numbers.js";

const RANKING = [
  "wall_time_ns", "peak_memory_bytes", "dp", "tp", "sp", "pp", "weight_sharded", "activation_recompute",
];

// Ascending, a column breaking the ties of those before it; nulls last.
function order(a, b) {
  for (const name of RANKING) {
    const [left, right] = [a[name] ?? null, b[name] ?? null];
    if (left === right) continue;
    if (left === null) return 1;
    if (right === null) return -1;
    if (left < right) return -1;
    if (left > right) return 1;
  }
  return 0;
}

const finished = (rows) => rows.filter((row) => row.status === "ok" && row.wall_time_ns !== null).sort(order);
const fits = (row, capBytes) => capBytes === null || (row.peak_memory_bytes !== null && row.peak_memory_bytes <= capBytes);

// What a table prints of the time and memory of a point.
function printed({ wall_time_ns: ns, peak_memory_bytes: size }) {
  return `${duration(ns)} ${bytes(size)}`;
}

// The first of the ranking, those over the cap aside, and the next that is not printed alike; null for none.
function firstTwo(rows, capBytes = null) {
  const [first = null, ...others] = finished(rows).filter((row) => fits(row, capBytes));
  return [first, others.find((row) => printed(row) !== printed(first)) ?? null];
}
const best = (rows, capBytes = null) => firstTwo(rows, capBytes)[0];

// No other point is as fast and as small: fastest first; of equal points the first of the ranking.
function front(rows) {
  let least = Infinity;
  return finished(rows).filter((row) => {
    if (row.peak_memory_bytes === null || row.peak_memory_bytes >= least) return false;
    least = row.peak_memory_bytes;
    return true;
  });
}

// Points that did not finish, by reason: figures and ranks in reasons differ from point to point.
function failures(rows) {
  const groups = new Map();
  for (const row of rows.filter((each) => each.status !== "ok")) {
    const reason = (row.reason || "no reason is known").replace(/\b\d+\b/g, "N");
    const key = `${row.status} ${reason}`;
    const group = groups.get(key) ?? { status: row.status, example: row, count: 0 };
    groups.set(key, { ...group, count: group.count + 1 });
  }
  return [...groups.values()].sort((a, b) => b.count - a.count);
}

const smallestPeak = (rows) =>
  finished(rows).reduce((least, row) => (row.peak_memory_bytes === null ? least : Math.min(least, row.peak_memory_bytes)), Infinity);

export { order, finished, fits, firstTwo, best, front, failures, smallestPeak };
