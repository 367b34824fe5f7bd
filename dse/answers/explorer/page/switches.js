// The smallest change of one number at which another strategy wins: dse.answers.whatif.switch on rows that come asynchronously.
import * as answers from "./answers.js";
import { Contest, competing, entry, fits, firstOf } from "./contest.js";
import * as parameters from "./parameters.js";
import { scaled, exactLog, neighbours, elasticity } from "./parameters.js";

const LIMIT = 64;
const GRID = [1.1, 1.25, 1.5, 2, 4, 8, 16, 32, 64]; // factors, and their inverses, that are tried before bisection
const WIDTH = 1e-6; // relative width of the bracket of a switch

// The strategies that compete, and what was evaluated of them. `ask(key, value, rows)` promises rows of the same strategies
// where the number `key` of the scenario is `value`.
class Candidates {
  constructor(rows, cap, ask) {
    this.cap = cap;
    this.contests = new Map(); // by the key of the number that varies
    this.of = ({ key, value, computes }) => entry(this.contests, key, () => (
      new Contest(rows, [{ key, value, computes }], ([[, other]], some) => ask(key, other, some))));
    this.rows = competing(rows);
    this.winner = firstOf([...this.rows.values()].filter((row) => fits(row, cap)));
  }

  async rowAt(parameter, value, label) {
    return (await this.of(parameter).rowsAt([{ ...parameter, value }], [label]))[0];
  }

  winnerAt(parameter, value, among) {
    return this.of(parameter).winnerAt([{ ...parameter, value }], this.cap, new Set([this.winner.label]), among);
  }
}

// Where another strategy begins to win, nearest to the present value; null if none does within the limit. All are
// compared on the grid from the present value outwards, up and down in turn; the step before a change is bisected.
// {key, value, last_value, first_value, factor, row, label, wall_time_ns, old_wall_time_ns, cause}
async function switchAmong(candidates, parameter, limit = LIMIT) {
  const last = { up: parameter.value, down: parameter.value };
  for (const factor of gridTo(limit)) {
    const found = [];
    for (const [direction, by] of [["up", factor], ["down", 1 / factor]]) {
      const [before, value] = [last[direction], scaled(parameter, by)];
      if (value === before) continue; // an integer that rounds to what was tried
      const row = await candidates.winnerAt(parameter, value);
      if (row?.label !== candidates.winner.label) found.push(await bisected(candidates, parameter, before, value));
      last[direction] = value;
    }
    const away = (one) => Math.abs(exactLog(one.first_value / parameter.value));
    if (found.length) return found.reduce((one, other) => (away(other) < away(one) ? other : one));
  }
  return null;
}

// Bisection compares the winner only with one challenger, the winner at `first`; then all are compared at the
// bracket, and if a third one wins there already, that is the next challenger.
async function bisected(candidates, parameter, last, first) {
  const present = candidates.winner.label;
  for (;;) {
    const challenger = await candidates.winnerAt(parameter, first);
    const pair = challenger === null ? [present] : [present, challenger.label];
    const keeps = async (value) => (await candidates.winnerAt(parameter, value, pair))?.label === present;
    const [below, above] = await narrowed(keeps, last, first, parameter.is_integer);
    if ((await candidates.winnerAt(parameter, below))?.label === present) {
      return changeAt(candidates, parameter, below, above);
    }
    first = below;
  }
}

async function changeAt(candidates, parameter, last, first) {
  const row = await candidates.winnerAt(parameter, first);
  const old = await candidates.rowAt(parameter, first, candidates.winner.label);
  let cause = "misfit";
  if (row !== null && fits(old, candidates.cap)) {
    cause = fits(candidates.rows.get(row.label), candidates.cap) ? "faster" : "fits";
  }
  return {
    key: parameter.key, value: parameter.value, last_value: last, first_value: first, factor: first / parameter.value,
    row, label: row?.label ?? null, wall_time_ns: row?.wall_time_ns ?? null, old_wall_time_ns: old.wall_time_ns, cause,
  };
}

// Bisect until the values are neighbours; `keeps` holds at `last` and not at `first`.
async function narrowed(keeps, last, first, isInteger) {
  for (;;) {
    const width = Math.abs(first - last);
    if (width <= (isInteger ? 1 : WIDTH * Math.min(first, last))) return [last, first];
    const middle = isInteger ? Math.floor((last + first) / 2) : Math.sqrt(last * first);
    if (await keeps(middle)) last = middle;
    else first = middle;
  }
}

function gridTo(limit) {
  const factors = GRID.filter((factor) => factor < limit);
  while (factors.length && factors.at(-1) * 2 < limit) factors.push(factors.at(-1) * 2);
  return [...factors, limit];
}

// The largest cap below and the smallest cap above at which another strategy wins, exact from the rows alone.
// Without a cap there is none above; {below: null, above: null} where the winner has no peak memory.
function capSwitches({ rows, winner, cap }) {
  if (winner.peak_memory_bytes === null) return { below: null, above: null };
  const finished = [...rows.values()].filter((row) => row.status === "ok");
  const at = (last, first) => {
    const row = firstOf(finished.filter((other) => fits(other, first)));
    return {
      key: "memory_cap_bytes", value: cap, last_value: last, first_value: first, factor: cap === null ? null : first / cap,
      row, label: row?.label ?? null, wall_time_ns: row?.wall_time_ns ?? null, old_wall_time_ns: winner.wall_time_ns,
      cause: fits(winner, first) ? "fits" : "misfit",
    };
  };
  const below = at(winner.peak_memory_bytes, winner.peak_memory_bytes - 1);
  if (cap === null) return { below, above: null };
  const faster = finished.filter((row) => answers.order(row, winner) < 0).map((row) => row.peak_memory_bytes);
  const next = faster.filter((size) => size !== null).reduce((a, b) => Math.min(a, b), Infinity);
  return { below, above: next === Infinity ? null : at(next - 1, next) };
}

// How one point follows one parameter: {parameter, wall_time_ns, elasticity, samples: [{factor, value, row, wall_time_ns}]}
async function sensitivity(candidates, label, parameter, factors = parameters.FACTORS) {
  const rowAt = (value) => candidates.rowAt(parameter, value, label);
  const samples = await Promise.all(factors.map(async (factor) => {
    const value = scaled(parameter, factor);
    const row = await rowAt(value);
    return { factor, value, row, wall_time_ns: row.wall_time_ns };
  }));
  const values = neighbours(parameter);
  const slope = elasticity(values, (await Promise.all(values.map(rowAt))).map((row) => row.wall_time_ns));
  return { parameter, wall_time_ns: candidates.rows.get(label).wall_time_ns, elasticity: slope, samples };
}

// Which strategy wins at each factor: [{factor, value, label (null if nothing fits), wall_time_ns}]
async function optima(candidates, parameter, factors = parameters.FACTORS) {
  const found = [];
  for (const factor of factors) {
    const value = parameters.scaled(parameter, factor);
    const row = await candidates.winnerAt(parameter, value);
    found.push({ factor, value, label: row?.label ?? null, wall_time_ns: row?.wall_time_ns ?? null });
  }
  return found;
}

export { LIMIT, Candidates, switchAmong, capSwitches, sensitivity, optima };
