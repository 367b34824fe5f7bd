// The picture of the map: cells in the colour of their strategy, borders, letters, axes.
import { pixelRatio } from "../../../base/pages/charts.js";
import * as dom from "../../../base/pages/dom.js";
import * as mapDoubts from "./map_doubts.js";
import { inkOn } from "./point.js";
import { SIDE, MIDDLE, places } from "./winners.js";

const TINTS = ["c1", "c3", "c5", "c8", "c6", "c9", "c2", "c7", "c4"];
const MARKS = [[0, "¼"], [8, "½"], [16, ""], [24, "2"], [32, "4"]];
const ROOM = { left: 66, right: 14, top: 8, bottom: 46 };
let hatching = null; // a tile of lines

/** The colour and the letter of each strategy; they stay with it. */
class Inks {
  constructor(tools) {
    this.tools = tools;
    this.numbers = new Map();
  }

  numberOf(label) {
    if (!this.numbers.has(label)) this.numbers.set(label, this.numbers.size);
    return this.numbers.get(label);
  }

  tint(label) {
    return this.tools.color(TINTS[this.numberOf(label) % TINTS.length]);
  }

  /** The colours are used up. */
  isHatched(label) {
    return this.numberOf(label) >= TINTS.length;
  }

  letter(label) {
    const number = this.numberOf(label);
    return String.fromCharCode(65 + (number % 26)) + (number >= 26 ? Math.floor(number / 26) : "");
  }
}

const figure = (tools, { size = 1 }, value) => tools.format.number(Number((value / size).toPrecision(4)));

/** Draws; `labels[y][x]` is null where nothing fits, and undefined where nothing is allowed; `doubtful[y][x]` gets a dot. */
function paint({ canvas, plot, inks, labels, doubtful, axes, cursor, isOld }, tools) {
  const size = sized(canvas, plot);
  const { ctx, left, top, width, height } = size;
  const cell = (x, y) => [left + (x * width) / SIDE, top + ((SIDE - 1 - y) * height) / SIDE, width / SIDE, height / SIDE];
  const colors = new Map();
  ctx.globalAlpha = isOld ? 0.4 : 1;
  labels.forEach((row, y) => row.forEach((label, x) => {
    if (!label) return;
    if (!colors.has(label)) colors.set(label, inks.tint(label));
    ctx.fillStyle = colors.get(label);
    const [cx, cy, w, h] = cell(x, y).map(Math.floor);
    const [nx, ny] = [Math.floor(cell(x + 1, y)[0]), Math.floor(cell(x, y - 1)[1])];
    const area = [cx, cy, Math.max(w, nx - cx), Math.max(h, ny - cy)];
    ctx.fillRect(...area);
    if (inks.isHatched(label)) hatch(ctx, area);
  }));
  mapDoubts.dots(ctx, { labels, colors, doubtful }, cell);
  borders(ctx, tools, labels, cell);
  letters(ctx, tools, { inks, labels, colors }, cell);
  ctx.globalAlpha = 1;
  axesAround(size, tools, axes, cell);
  ring(ctx, tools, cell(MIDDLE, MIDDLE));
  if (cursor) outline(ctx, tools, cell(...cursor));
}

function hatch(ctx, area) {
  if (!hatching) {
    hatching = dom.element("canvas", { width: 8, height: 8 });
    const lines = hatching.getContext("2d");
    lines.strokeStyle = "#ffffffa0";
    lines.lineWidth = 1.5;
    for (const from of [-8, 0, 8]) {
      lines.moveTo(from, 8);
      lines.lineTo(from + 8, 0);
    }
    lines.stroke();
  }
  ctx.fillStyle = ctx.createPattern(hatching, "repeat");
  ctx.fillRect(...area);
}

function sized(canvas, plot) {
  const ratio = pixelRatio();
  const [wide, high] = [plot.clientWidth, plot.clientHeight];
  if (canvas.width !== Math.round(wide * ratio) || canvas.height !== Math.round(high * ratio)) {
    [canvas.width, canvas.height] = [Math.round(wide * ratio), Math.round(high * ratio)];
  }
  const ctx = canvas.getContext("2d");
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, wide, high);
  ctx.font = `${Chart.defaults.font.size}px ${Chart.defaults.font.family}`;
  return { ctx, left: ROOM.left, top: ROOM.top, width: wide - ROOM.left - ROOM.right, height: high - ROOM.top - ROOM.bottom };
}

// Lines between regions: colours alone do not tell them apart.
function borders(ctx, tools, labels, cell) {
  ctx.strokeStyle = tools.color("page");
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  labels.forEach((row, y) => row.forEach((label, x) => {
    const [cx, cy, w, h] = cell(x, y);
    if (x + 1 < SIDE && row[x + 1] !== label) { ctx.moveTo(cx + w, cy); ctx.lineTo(cx + w, cy + h); }
    if (y + 1 < SIDE && labels[y + 1][x] !== label) { ctx.moveTo(cx, cy); ctx.lineTo(cx + w, cy); }
  }));
  ctx.stroke();
}

function letters(ctx, tools, { inks, labels, colors }, cell) {
  ctx.save();
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  for (const { x, y, label, isThin } of places(labels)) {
    const [cx, cy, w, h] = cell(x, y);
    const size = isThin ? Math.min(Chart.defaults.font.size - 1, h - 1) : Chart.defaults.font.size + 1;
    if (isThin && (size < 8 || w < size * 0.8)) continue;
    ctx.font = `600 ${size}px ${Chart.defaults.font.family}`;
    ctx.fillStyle = label === null ? tools.color("muted") : inkOn(colors.get(label));
    if (label !== null) ctx.fillText(inks.letter(label), cx + w / 2, cy + h / 2 + 0.5);
    else if (!isThin) ctx.fillText("nothing fits", cx + w / 2, cy + h / 2);
  }
  ctx.restore();
}

function axesAround({ ctx, left, top, width, height }, tools, [across, up], cell) {
  ctx.fillStyle = tools.color("muted");
  ctx.strokeStyle = tools.color("line");
  ctx.lineWidth = 1;
  ctx.strokeRect(left + 0.5, top + 0.5, width - 1, height - 1);
  const isNarrow = width < 420;
  for (const [index, factor] of MARKS) {
    if (isNarrow && factor.length === 1 && "½2".includes(factor)) continue;
    const text = (axis, value, more = "") => (value === null ? "" : figure(tools, axis, value) + more);
    const [x, , w] = cell(index, 0);
    ctx.textAlign = index === 0 ? "left" : index === SIDE - 1 ? "right" : "center";
    ctx.textBaseline = "top";
    ctx.fillText(text(across, across.values[index], isNarrow || !factor ? "" : ` (×${factor})`), index === 0 ? left : index === SIDE - 1 ? left + width : x + w / 2, top + height + 6);
    const [, y, , h] = cell(0, index);
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    ctx.fillText(text(up, up.values[index]), left - 6, y + h / 2);
  }
  ctx.fillStyle = tools.color("ink");
  ctx.textAlign = "center";
  ctx.textBaseline = "bottom";
  ctx.fillText(titled(across), left + width / 2, top + height + ROOM.bottom - 6);
  ctx.save();
  ctx.translate(2, top + height / 2);
  ctx.rotate(-Math.PI / 2);
  ctx.textBaseline = "top";
  ctx.fillText(titled(up), 0, 0);
  ctx.restore();
}

const titled = ({ name, unit }) => (unit ? `${name} (${unit})` : name);

function ring(ctx, tools, [x, y, w, h]) {
  for (const [color, width] of [["page", 5], ["ink", 2]]) {
    ctx.beginPath();
    ctx.arc(x + w / 2, y + h / 2, 9, 0, 2 * Math.PI);
    ctx.strokeStyle = tools.color(color);
    ctx.lineWidth = width;
    ctx.stroke();
  }
}

function outline(ctx, tools, [x, y, w, h]) {
  for (const [color, width] of [["page", 5], ["ink", 2.5]]) {
    ctx.strokeStyle = tools.color(color);
    ctx.lineWidth = width;
    ctx.strokeRect(x - 1, y - 1, w + 2, h + 2);
  }
}

export { ROOM, Inks, figure, paint };
