// Which strategy wins where numbers of a scenario have other values: no row is asked for twice, and none that cannot win.
import * as answers from "./answers.js";

const SLICE = 16; // strategies asked for at once, before the slower ones are left out

// Those that may win somewhere, by their labels.
const competing = (rows) => new Map(rows.filter(({ status }) => status === "ok" || status === "deadlock").map((row) => [row.label, row]));

function fits(row, cap) {
  if (row.status !== "ok" || row.wall_time_ns === null) return false;
  return cap === null || (row.peak_memory_bytes !== null && row.peak_memory_bytes <= cap);
}

// The best row in the order of the ranking, the first of equal ones; null of none.
function firstOf(rows) {
  return rows.reduce((best, row) => (best === null || answers.order(row, best) < 0 ? row : best), null);
}

function entry(map, key, make) {
  if (!map.has(key)) map.set(key, make());
  return map.get(key);
}

// Numbers are [{key, value, computes}], always the same keys; `computes`: compute times depend on it.
class Contest {
  // `rows` are those at `present`; `ask([[key, value], …], rows)` promises rows of the same strategies elsewhere.
  constructor(rows, present, ask) {
    this.rows = competing(rows);
    this.ask = ask;
    this.evaluated = new Map(); // values of the numbers -> label -> row
    this.computing = new Map(); // those of them that compute times depend on -> {values, times: label -> ns}
    this.keep(present, [...this.rows.values()]);
  }

  // The rows that are known at some values, with those that are added.
  keep(numbers, rows = []) {
    const known = entry(this.evaluated, numbers.map(({ value }) => value).join(" "), () => new Map());
    const values = numbers.filter(({ computes }) => computes).map(({ value }) => value);
    const { times } = entry(this.computing, values.join(" "), () => ({ values, times: new Map() }));
    for (const row of rows) {
      known.set(row.label, row);
      times.set(row.label, row.gpu_time_ns ?? 0);
    }
    return known;
  }

  async rowsAt(numbers, labels) {
    const known = this.keep(numbers);
    const missing = labels.filter((label) => !known.has(label));
    if (missing.length) {
      this.keep(numbers, await this.ask(numbers.map(({ key, value }) => [key, value]), missing.map((label) => this.rows.get(label))));
    }
    return labels.map((label) => known.get(label));
  }

  // Lower bounds of wall times: compute times do not depend on the network, and fall as a rate of the NPU rises.
  bounds(numbers, labels) {
    const here = numbers.filter(({ computes }) => computes).map(({ value }) => value);
    const above = [...this.computing.values()].filter(({ values }) => values.every((value, index) => here[index] <= value));
    const bound = (label) => above.reduce((most, { times }) => Math.max(most, times.get(label) ?? 0), 0);
    return new Map(labels.map((label) => [label, bound(label)]));
  }

  // Exactly as if all were evaluated: left out is only what computes longer than the best takes in all. The `likely`
  // come first. Null if nothing fits.
  async winnerAt(numbers, cap, likely, among = [...this.rows.keys()]) {
    const bounds = this.bounds(numbers, among);
    let open = [...among].sort((a, b) => likely.has(b) - likely.has(a) || bounds.get(a) - bounds.get(b));
    let winner = null;
    for (let count = Math.max(1, likely.size); open.length; count = SLICE) {
      const rows = await this.rowsAt(numbers, open.slice(0, count));
      winner = firstOf([winner, ...rows].filter((row) => row && fits(row, cap)));
      open = open.slice(count).filter((label) => winner === null || bounds.get(label) <= winner.wall_time_ns);
    }
    return winner;
  }
}

export { competing, fits, firstOf, entry, Contest };
