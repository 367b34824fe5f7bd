// Which cells of a map have a winner whose time is in doubt, and dots for them.
import * as doubts from "./doubts.js";
import * as parameters from "./parameters.js";
import { inkOn } from "./point.js";
import { SIDE, CAP } from "./winners.js";

class MapDoubts {
  constructor(scenario) {
    this.scenario = scenario;
    this.known = new Map(); // numbers of the scenario and label -> why, in few words
  }

  /** Why the time of the winner at a cell is not that of a machine; empty: nothing is known against it. */
  at({ map, axes }, x, y) {
    const row = map.isAllowed(x, y) ? map.nearest(x, y)?.row : null;
    if (!row) return "";
    const values = axes.map((axis, index) => [axis.key, map.values[index][index ? y : x]]).filter(([name]) => name !== CAP);
    const key = `${values.join(" ")} ${row.label}`;
    if (!this.known.has(key)) {
      const there = values.reduce((made, [name, value]) => parameters.applied(made, name, value), this.scenario);
      this.known.set(key, doubts.mark(row, doubts.elsewhere(row, there)));
    }
    return this.known.get(key);
  }

  /** For each cell, in rows of ascending y. */
  all(source) {
    return Array.from({ length: SIDE }, (_, y) => Array.from({ length: SIDE }, (_, x) => this.at(source, x, y) !== ""));
  }
}

function dots(ctx, { labels, colors, doubtful }, cell) {
  doubtful.forEach((row, y) => row.forEach((isDoubtful, x) => {
    if (!isDoubtful || !labels[y][x]) return;
    const [cx, cy, w, h] = cell(x, y);
    ctx.fillStyle = inkOn(colors.get(labels[y][x]));
    ctx.fillRect(Math.round(cx + w / 2) - 1, Math.round(cy + h / 2) - 1, 2, 2);
  }));
}

export { MapDoubts, dots };
