// Which cells of a map have a winner whose time is in doubt, and dots for them.
import { mark } from "./doubts.js";
import { inkOn } from "./point.js";
import { SIDE } from "./winners.js";

// Why the time of the winner at a cell is not that of a machine; empty: nothing is known against it.
function doubtAt(map, x, y) {
  const row = map.isAllowed(x, y) ? map.nearest(x, y)?.row : null;
  return row ? mark(row) : "";
}

// For each cell, in rows of ascending y.
const doubtfulCells = (map) =>
  Array.from({ length: SIDE }, (_, y) => Array.from({ length: SIDE }, (_, x) => doubtAt(map, x, y) !== ""));

function dots(ctx, { labels, colors, doubtful }, cell) {
  doubtful.forEach((row, y) => row.forEach((isDoubtful, x) => {
    if (!isDoubtful || !labels[y][x]) return;
    const [cx, cy, w, h] = cell(x, y);
    ctx.fillStyle = inkOn(colors.get(labels[y][x]));
    ctx.fillRect(Math.round(cx + w / 2) - 1, Math.round(cy + h / 2) - 1, 2, 2);
  }));
}

export { doubtAt, doubtfulCells, dots };
