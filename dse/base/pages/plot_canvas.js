// A drawing with axes: as wide as its place, sharp, with ticks and names; points are placed by scales of values.
import { element } from "./dom.js";

const WIDE = 30; // a range of so many times is drawn logarithmically

function ticksOf(low, high, isLog) {
  if (isLog) {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) for (const digit of [1, 2, 5]) found.push(digit * 10 ** power);
    return found.filter((value) => value >= low * 0.999 && value <= high * 1.001);
  }
  const step = 10 ** Math.floor(Math.log10((high - low) / 4 || 1));
  const wide = [1, 2, 5, 10].map((factor) => factor * step).find((each) => (high - low) / each <= 6);
  const found = [];
  for (let value = Math.ceil(low / wide) * wide; value <= high * (1 + 1e-9); value += wide) found.push(Number(value.toPrecision(12)));
  return found;
}

/** The values of a measure at rows. */
function gathered(rows, read) {
  const found = new Float64Array(rows.length);
  for (let index = 0; index < rows.length; index += 1) found[index] = read(rows[index]);
  return found;
}

/** A scale from values to 0 … 1. */
function scaleOf(numbers, { places = null } = {}) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of numbers) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) [low, high] = [0, 1];
  if (places) {
    const index = new Map(places.map((value, at) => [value, at]));
    const last = Math.max(1, places.length - 1);
    return { at: (value) => index.get(value) / last, ticks: places, isLog: false };
  }
  const isLog = low > 0 && high / low > WIDE;
  if (!isLog) {
    const room = (high - low || Math.abs(high) || 1) * 0.04;
    [low, high] = [low - room, high + room];
  } else [low, high] = [low / 1.1, high * 1.1];
  const bend = isLog ? Math.log : (value) => value;
  const [first, span] = [bend(low), bend(high) - bend(low)];
  return { at: (value) => (bend(value) - first) / span, ticks: ticksOf(low, high, isLog), isLog };
}

class Canvas {
  constructor(label, height) {
    this.canvas = element("canvas", { role: "img", tabindex: "0", "aria-label": label, style: "display: block; width: 100%; height: 100%" });
    this.box = element("div", { class: "drawing", style: `height: ${height}px` }, this.canvas);
    this.height = height;
  }

  /** Clears it and returns what to draw with; 0 wide where it is not shown. */
  begin() {
    const ratio = document.documentElement.classList.contains("printing") ? 3 : Math.max(1, globalThis.devicePixelRatio ?? 1);
    this.width = this.box.clientWidth;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    const drawn = this.canvas.getContext("2d");
    drawn.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawn.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    return drawn;
  }
}

/** A text that is at most so wide, cut at its end. */
function fitted(drawn, text, room) {
  let shown = text;
  while (shown.length > 2 && drawn.measureText(shown).width > room) shown = `${shown.slice(0, -2).trimEnd()}…`;
  return shown;
}

/** Draws two axes with their names; returns where points of values lie. */
function drawAxes(drawn, { width, height }, color, x, y) {
  const widest = y.scale.ticks.reduce((most, tick) => Math.max(most, drawn.measureText(y.say(tick)).width), 0);
  const left = Math.max(58, Math.min(widest + 10, 0.35 * width)), right = 14, top = 24, bottom = 42;
  const [w, h] = [width - left - right, height - top - bottom];
  const at = { x: (value) => left + x.scale.at(value) * w, y: (value) => top + (1 - y.scale.at(value)) * h };
  drawn.lineWidth = 1;
  drawn.textBaseline = "middle";
  drawn.textAlign = "right";
  for (const tick of y.scale.ticks) {
    drawn.strokeStyle = color("grid");
    drawn.beginPath();
    drawn.moveTo(left, at.y(tick));
    drawn.lineTo(width - right, at.y(tick));
    drawn.stroke();
    drawn.fillStyle = color("muted");
    drawn.fillText(fitted(drawn, y.say(tick), left - 10), left - 6, at.y(tick));
  }
  drawn.textAlign = "center";
  drawn.textBaseline = "top";
  let lastEnd = -Infinity;
  for (const tick of x.scale.ticks) {
    const place = at.x(tick);
    drawn.strokeStyle = color("grid");
    drawn.beginPath();
    drawn.moveTo(place, top);
    drawn.lineTo(place, height - bottom);
    drawn.stroke();
    const text = x.say(tick);
    const half = drawn.measureText(text).width / 2;
    const middle = Math.max(half, Math.min(place, width - half));
    if (middle - half < lastEnd + 6) continue;
    lastEnd = middle + half;
    drawn.fillStyle = color("muted");
    drawn.fillText(text, middle, height - bottom + 6);
  }
  drawn.fillStyle = color("ink");
  drawn.fillText(x.heading + (x.scale.isLog ? ", logarithmic" : ""), left + w / 2, height - 16);
  drawn.textAlign = "left";
  drawn.fillText(y.heading + (y.scale.isLog ? ", logarithmic" : ""), 4, 2);
  return { ...at, left, right: width - right, top, bottom: height - bottom };
}

export { Canvas, drawAxes, fitted, gathered, scaleOf };
