// Which strategy wins where two numbers vary: a grid of factors around the present values, filled from coarse to fine.
import { breathe } from "../../../base/pages/dom.js";
import { Contest, fits, firstOf } from "./contest.js";

const SIDE = 33; // values of each number, the present one in the middle
const MIDDLE = 16;
const REACH = 4; // factors from 1/4 to 4
const STEPS = [8, 4, 2, 1]; // between the cells of a level: 5 x 5 of them, then 9 x 9, 17 x 17, 33 x 33
const CAP = "memory_cap";
const LEAST_CELLS = 3; // of a region that is named
const SLICE_MS = 12; // of cells whose rows are all known: they come without a pause

// The values of an axis {key, value, is_integer, least, most}; null where the number may not be that.
function valuesOf({ value, is_integer: isInteger, least = null, most = null }) {
  return Array.from({ length: SIDE }, (_, index) => {
    if (index === MIDDLE) return value;
    const written = Number((value * REACH ** ((index - MIDDLE) / MIDDLE)).toPrecision(4)); // as it goes into the field
    const short = isInteger ? Math.max(1, Math.round(written)) : written;
    return (least !== null && short < least) || (most !== null && short > most) ? null : short;
  });
}

const inside = (place) => Math.min(SIDE - 1, Math.max(0, place));

class Winners {
  // `rows` are those of the present state; `ask([[key, value], …], rows)` promises rows of the same strategies elsewhere.
  constructor(rows, cap, axes, ask) {
    this.cap = cap;
    this.axes = axes;
    this.values = axes.map(valuesOf);
    this.contest = new Contest(rows, this.scenarioAt(MIDDLE, MIDDLE), ask);
    this.rows = this.contest.rows;
    this.cells = new Map(); // number of a cell -> {row: the winner, or null}
    this.level = SIDE; // the step of the last level that is complete
    const present = [...this.rows.values()].filter((row) => fits(row, this.capAt(MIDDLE, MIDDLE)));
    this.cells.set(MIDDLE * SIDE + MIDDLE, { row: firstOf(present) });
  }

  isAllowed(x, y) {
    return this.values[0][x] !== null && this.values[1][y] !== null;
  }

  at(x, y) {
    return this.cells.get(y * SIDE + x);
  }

  capAt(x, y) {
    const index = this.axes.findIndex(({ key }) => key === CAP);
    return index < 0 ? this.cap : this.values[index][index ? y : x];
  }

  // The values of the numbers of the scenario; a cap is none of them.
  scenarioAt(x, y) {
    return [[0, x], [1, y]].filter(([axis]) => this.axes[axis].key !== CAP)
      .map(([axis, place]) => ({ key: this.axes[axis].key, computes: Boolean(this.axes[axis].computes), value: this.values[axis][place] }));
  }

  winnerAt(x, y) {
    return this.contest.winnerAt(this.scenarioAt(x, y), this.capAt(x, y), this.likely(x, y));
  }

  // Winners of cells nearby: evaluated first, their times leave out most of the others.
  likely(x, y) {
    const near = [8, 4, 2, 1].flatMap((step) => [[-step, 0], [step, 0], [0, -step], [0, step], [-step, -step], [step, step], [-step, step], [step, -step]])
      .map(([dx, dy]) => this.nearest(inside(x + dx), inside(y + dy)));
    return new Set(near.map((cell) => cell?.row?.label).filter(Boolean));
  }

  // The cell that is shown at a place: itself, or the nearest of the finest level that is there.
  nearest(x, y) {
    for (const step of [1, 2, 4, 8]) {
      const cell = this.at(Math.round(x / step) * step, Math.round(y / step) * step);
      if (cell) return cell;
    }
    return this.at(MIDDLE, MIDDLE);
  }

  // The cells of a level that are not known, those between different winners first.
  missing(step) {
    const found = [];
    for (let y = 0; y < SIDE; y += step) {
      for (let x = 0; x < SIDE; x += step) {
        if (this.isAllowed(x, y) && !this.at(x, y)) found.push([x, y]);
      }
    }
    const isEdge = ([x, y]) => new Set([[-1, -1], [1, -1], [-1, 1], [1, 1]].map(([dx, dy]) => {
      const cell = this.nearest(inside(x + dx * step), inside(y + dy * step));
      return cell?.row?.label ?? "";
    })).size > 1;
    const edges = new Map(found.map((place) => [place, isEdge(place)]));
    return found.sort((a, b) => edges.get(b) - edges.get(a));
  }

  // Fills the cells; goes on where it was stopped. `mayStart(step, cells)` may refuse a level; `tell()` after every cell.
  async run({ signal, mayStart = () => true, tell = () => {} }) {
    tell();
    let paused = performance.now();
    for (const step of STEPS) {
      const places = this.missing(step);
      if (places.length && !mayStart(step, places.length)) return false;
      for (const [x, y] of places) {
        const row = await this.winnerAt(x, y);
        if (signal?.aborted) return false;
        this.cells.set(y * SIDE + x, { row });
        tell();
        if (performance.now() - paused < SLICE_MS) continue;
        await breathe();
        paused = performance.now();
      }
      this.level = step;
    }
    return true;
  }

  // What wins in the cells that are shown: [{label, cells}], the one with most cells first; a label is null where nothing fits.
  shares() {
    const counts = new Map();
    for (let y = 0; y < SIDE; y += 1) {
      for (let x = 0; x < SIDE; x += 1) {
        if (!this.isAllowed(x, y)) continue;
        const label = this.nearest(x, y)?.row?.label ?? null;
        counts.set(label, (counts.get(label) ?? 0) + 1);
      }
    }
    return [...counts].map(([label, cells]) => ({ label, cells })).sort((a, b) => b.cells - a.cells);
  }
}

// Where a name is written into each region of equal labels: [{x, y, label, isThin}], at a cell that is farthest from other
// regions. `labels` has a row of SIDE labels for each y; undefined is no part of the map.
function places(labels) {
  const depth = labels.map((row) => row.map(() => 0));
  const same = (x, y, label) => x >= 0 && y >= 0 && x < SIDE && y < SIDE && labels[y][x] === label;
  const sides = [[-1, 0], [1, 0], [0, -1], [0, 1]];
  for (let round = 1, isNew = true; isNew; round += 1) {
    isNew = false;
    labels.forEach((row, y) => row.forEach((label, x) => {
      if (depth[y][x] !== round - 1 || label === undefined) return;
      if (sides.every(([dx, dy]) => same(x + dx, y + dy, label) && depth[y + dy][x + dx] >= round - 1)) {
        depth[y][x] = round;
        isNew = true;
      }
    }));
  }
  const seen = new Set();
  const found = [];
  for (let start = 0; start < SIDE * SIDE; start += 1) {
    const label = labels[Math.floor(start / SIDE)][start % SIDE];
    if (seen.has(start) || label === undefined) continue;
    const queue = [start];
    seen.add(start);
    for (const cell of queue) {
      const [x, y] = [cell % SIDE, Math.floor(cell / SIDE)];
      for (const [dx, dy] of sides) {
        const next = (y + dy) * SIDE + x + dx;
        if (!same(x + dx, y + dy, label) || seen.has(next)) continue;
        seen.add(next);
        queue.push(next);
      }
    }
    if (queue.length < LEAST_CELLS) continue;
    const region = queue.map((cell) => [cell % SIDE, Math.floor(cell / SIDE)]);
    const deepest = region.reduce((most, [x, y]) => Math.max(most, depth[y][x]), 0);
    const middle = [0, 1].map((axis) => region.reduce((sum, place) => sum + place[axis], 0) / region.length);
    const away = ([x, y]) => (x - middle[0]) ** 2 + (y - middle[1]) ** 2;
    const [x, y] = region.filter((place) => depth[place[1]][place[0]] === deepest).reduce((a, b) => (away(b) < away(a) ? b : a));
    found.push({ x, y, label, isThin: deepest === 0 });
  }
  return found;
}

export { places, SIDE, MIDDLE, CAP, Winners };
