// Draws the levels of a partition, what runs when, and what is chosen in them.
import { AXIS, paintTimes, redraws, sharp } from "../../../base/pages/canvas.js";
import { inkOn } from "../../../base/pages/inks.js";
import { bytes as size, duration } from "../../../base/pages/numbers.js";

const data = JSON.parse(document.getElementById("data").textContent);
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
// The colour of a device: by the column of the table that was chosen, else one of a few in their order.
const colour = device => css(`--mark-${device}`) || css(`--r${device % 6}`);

const canvas = document.getElementById("graph"), what = document.getElementById("what"), hint = what.textContent;
const WIDE = 150, HIGH = 26, STEP_X = 210, STEP_Y = 19;
let level, view = { x: 0, y: 0, zoom: 1 }, only = "", wanted = "", between = null, ends = new Set(); // two devices, and the boxes that one sends from and the other receives at
const box = n => { const [layer, row] = level.places[n]; return [layer * STEP_X, row * STEP_Y, WIDE, HIGH]; };

function choose(number) {
  level = data.levels[number];
  level.on = level.shares.map(shares => new Set(shares.map(share => share[0])));
  show(between);
  whole();
}

function whole() {
  const xs = level.places.map(place => place[0] * STEP_X), ys = level.places.map(place => place[1] * STEP_Y);
  const least = values => values.reduce((a, b) => Math.min(a, b)), most = values => values.reduce((a, b) => Math.max(a, b));
  const width = most(xs) - least(xs) + WIDE, height = most(ys) - least(ys) + HIGH;
  const zoom = Math.min(1.2, (canvas.clientWidth - 30) / width, (canvas.clientHeight - 30) / height);
  view = { zoom, x: (canvas.clientWidth - width * zoom) / 2 - least(xs) * zoom, y: (canvas.clientHeight - height * zoom) / 2 - least(ys) * zoom };
  draw();
}

const sends = ([a, b, , , cut]) => cut && level.on[a].has(between[0]) && level.on[b].has(between[1]);
function show(pair) {
  between = pair;
  ends = new Set(between ? level.edges.filter(sends).flatMap(([a, b]) => [a, b]) : []);
}

function isDim(n) {
  return (between && !ends.has(n)) || (only !== "" && !level.on[n].has(Number(only))) || (wanted && !level.names[n].toLowerCase().includes(wanted));
}

function draw() {
  const { pen } = sharp(canvas), bad = css("--bad"), muted = css("--muted");
  pen.translate(view.x, view.y);
  pen.scale(view.zoom, view.zoom);
  for (const crossing of [false, true]) {
    for (const edge of level.edges) {
      const [a, b, , , cut] = edge;
      if (Boolean(cut) !== crossing) continue;
      const [ax, ay] = box(a), [bx, by] = box(b), from = ax + WIDE, middle = (from + bx) / 2;
      pen.strokeStyle = crossing ? bad : muted;
      pen.globalAlpha = (between ? !sends(edge) : isDim(a) && isDim(b)) ? 0.06 : crossing ? 0.9 : 0.35;
      pen.lineWidth = (crossing ? 1.6 : 1) / Math.max(0.4, Math.min(1, view.zoom));
      pen.beginPath();
      pen.moveTo(from, ay + HIGH / 2);
      pen.bezierCurveTo(middle, ay + HIGH / 2, middle, by + HIGH / 2, bx, by + HIGH / 2);
      pen.stroke();
    }
  }
  pen.textBaseline = "middle";
  pen.font = "12px system-ui, sans-serif";
  for (let n = 0; n < level.names.length; n += 1) {
    const [x, y] = box(n), screen = x * view.zoom + view.x;
    if (screen > canvas.clientWidth || screen + WIDE * view.zoom < 0) continue;
    pen.globalAlpha = isDim(n) ? 0.12 : 1;
    const total = level.shares[n].reduce((sum, share) => sum + share[1], 0);
    let at = x;
    for (const [device, count] of level.shares[n]) {
      pen.fillStyle = colour(device);
      pen.fillRect(at, y, WIDE * count / total + 0.5, HIGH);
      at += WIDE * count / total;
    }
    if (view.zoom > 0.45) {
      const name = level.names[n];
      pen.fillStyle = colour(level.shares[n][0][0]);
      pen.fillStyle = inkOn(pen.fillStyle);
      pen.fillText(name.length > 22 ? `${name.slice(0, 10)}…${name.slice(-11)}` : name, x + 6, y + HIGH / 2 + 1);
    }
  }
  pen.globalAlpha = 1;
}

function under(event) {
  const area = canvas.getBoundingClientRect();
  const x = (event.clientX - area.left - view.x) / view.zoom, y = (event.clientY - area.top - view.y) / view.zoom;
  return level.names.findIndex((_, n) => { const [left, top] = box(n); return x >= left && x <= left + WIDE && y >= top && y <= top + HIGH; });
}

function zoomed(factor, x, y) {
  view.x = x - (x - view.x) * factor;
  view.y = y - (y - view.y) * factor;
  view.zoom *= factor;
  draw();
}

let held = null;
canvas.addEventListener("pointerdown", event => { held = { x: event.clientX - view.x, y: event.clientY - view.y }; canvas.setPointerCapture(event.pointerId); });
canvas.addEventListener("pointerup", () => { held = null; });
canvas.addEventListener("pointermove", event => {
  if (held) { view.x = event.clientX - held.x; view.y = event.clientY - held.y; draw(); return; }
  const n = under(event);
  if (n < 0) { what.textContent = hint; return; }
  const shares = level.shares[n].map(([device, count, weight]) => `${data.devices[device]}: ${count} nodes, weight ${weight.toPrecision(4)}`);
  const sum = (end, column) => level.edges.filter(edge => edge[end] === n && edge[4]).reduce((all, edge) => all + edge[column], 0);
  what.textContent = `${level.names[n]} – ${shares.join("; ")}. Edges that cross devices: ${sum(1, 4)} in, ${sum(0, 4)} out (edges of these boxes carry ${size(sum(1, 3))} in, ${size(sum(0, 3))} out).`;
});
canvas.addEventListener("wheel", event => {
  event.preventDefault();
  const area = canvas.getBoundingClientRect();
  zoomed(event.deltaY < 0 ? 1.15 : 1 / 1.15, event.clientX - area.left, event.clientY - area.top);
}, { passive: false });
canvas.addEventListener("keydown", event => {
  const moves = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
  if (moves[event.key]) { event.preventDefault(); view.x += moves[event.key][0]; view.y += moves[event.key][1]; draw(); }
  if (event.key === "+" || event.key === "-") zoomed(event.key === "+" ? 1.2 : 1 / 1.2, canvas.clientWidth / 2, canvas.clientHeight / 2);
});
document.getElementById("level").addEventListener("change", event => choose(Number(event.target.value)));
document.getElementById("only").addEventListener("change", event => { only = event.target.value; draw(); });
document.getElementById("find").addEventListener("input", event => { wanted = event.target.value.toLowerCase(); draw(); });
document.getElementById("reset").addEventListener("click", () => { show(null); whole(); });
document.addEventListener("chosen", event => { show(event.target.dataset.pair?.split(" ").map(Number) ?? null); draw(); });

const step = document.getElementById("step"), ROW = 24;
function drawStep() {
  if (!step) return;
  const end = Math.max(...data.bars.map(row => Math.max(...row[1].map(bar => bar[1]))));
  const drawing = sharp(step, AXIS + data.bars.length * ROW + 6), { pen, width } = drawing;
  pen.font = "12px system-ui, sans-serif";
  const names = data.bars.map(([device]) => data.devices[device]), isNarrow = width < 500;
  const named = name => isNarrow && name.length > 9 ? `${name.slice(0, 9)}…` : name;
  const left = 12 + Math.min(160, Math.max(...names.map(name => pen.measureText(named(name)).width)));
  const scale = (width - left - 10) / end;
  paintTimes(drawing, end, { left, right: 10, color: name => css(`--${name}`) });
  pen.font = "12px system-ui, sans-serif";
  pen.textAlign = "left";
  data.bars.forEach(([device, bars], n) => {
    pen.fillStyle = css("--ink");
    pen.fillText(named(data.devices[device]), 4, AXIS + n * ROW + ROW / 2, left - 10);
    pen.fillStyle = colour(device);
    for (const [from, to, name] of bars) {
      pen.globalAlpha = name.startsWith("backward") ? 1 : name.startsWith("forward") ? 0.6 : 0.3;
      pen.fillRect(left + from * scale, AXIS + n * ROW + 2, Math.max(0.6, (to - from) * scale - 0.6), ROW - 5);
    }
    pen.globalAlpha = 1;
  });
  step.onpointermove = event => {
    const area = step.getBoundingClientRect(), row = data.bars[Math.floor((event.clientY - area.top - AXIS) / ROW)];
    const at = (event.clientX - area.left - left) / scale, bar = row && row[1].find(bar => at >= bar[0] && at <= bar[1]);
    document.getElementById("pass").textContent = bar ? `${data.devices[row[0]]}: ${bar[2]}, from ${duration(bar[0])} to ${duration(bar[1])}` : "Waiting.";
  };
}
function drawAll() {
  draw();
  drawStep();
}
addEventListener("resize", drawAll);
document.addEventListener("inked", drawAll);
redraws(drawAll);
choose(data.level);
drawAll();
