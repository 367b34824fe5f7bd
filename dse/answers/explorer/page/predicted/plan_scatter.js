// Every plan as a point: two figures place it, a third colours it; a click or the arrow keys choose one.
import { breathe, element } from "../../../../base/pages/dom.js";
import { placeOf } from "../../../../base/pages/charts.js";
import { Choice } from "../../../../base/pages/choice.js";
import { inksOf, legendOf, short } from "../../../../base/pages/inks.js";
import { gathered, measuresOf, readerOf, titleOf } from "./measures.js";
import { Canvas, drawAxes, scaleOf } from "./plot_canvas.js";

const [HEIGHT, NEAR, SLICE_MS] = [380, 14, 8];
let run = 0;
let [tools, frame, drawing, choices, legend, told, places, byTime] = [null, null, null, null, null, null, null, null];

function mount(section, given) {
  tools = given;
  const again = () => draw();
  choices = {
    x: new Choice("across", ["peak_memory_bytes"], again), y: new Choice("up", ["wall_time_ns"], again), ink: new Choice("colour", ["tp", "dp"], again),
  };
  drawing = new Canvas("Plans as points; the arrow keys go from plan to plan in the order of their times", HEIGHT);
  legend = element("div", {});
  told = element("p", { class: "told", "aria-live": "polite" });
  section.append(element("div", { class: "row" }, choices.x.root, choices.y.root, choices.ink.root), drawing.box, legend, told);
  drawing.canvas.addEventListener("click", (event) => {
    const row = nearest(event);
    if (row >= 0) tools.select(frame.label(row));
  });
  drawing.canvas.addEventListener("mousemove", (event) => {
    const row = nearest(event);
    drawing.canvas.style.cursor = row >= 0 ? "pointer" : "";
    drawing.canvas.title = row >= 0 ? frame.label(row) : "";
  });
  drawing.canvas.addEventListener("keydown", (event) => {
    if (!frame?.kept.length) return;
    byTime ??= frame.kept.slice().sort((a, b) => frame.columns.wall_time_ns[a] - frame.columns.wall_time_ns[b]);
    const to = placeOf(event.key, Math.max(0, byTime.indexOf(frame.selected)), byTime.length - 1);
    if (to === undefined) return;
    event.preventDefault();
    tools.select(frame.label(byTime[to]));
  });
  new ResizeObserver(() => draw()).observe(drawing.box);
}

function nearest({ offsetX, offsetY }) {
  let [found, least] = [-1, NEAR * NEAR];
  for (let index = 0; index < (places?.length ?? 0); index += 2) {
    const distance = (places[index] - offsetX) ** 2 + (places[index + 1] - offsetY) ** 2;
    if (distance < least) [found, least] = [frame.kept[index / 2], distance];
  }
  return found;
}

// An axis of words has a place for each.
function axisOf(measure) {
  const read = readerOf(measure, frame);
  if (measure.isName) {
    const names = frame.data.parts;
    return { read, scale: scaleOf([], { places: names.map((_, index) => index) }), say: (value) => measure.said(value), title: titleOf(measure) };
  }
  if (measure.isAxis) {
    const list = measure.isNumber ? measure.values : measure.values.map((_, index) => index);
    return { read, scale: scaleOf([], { places: list }), say: (value) => measure.said(value), title: titleOf(measure) };
  }
  return { read, scale: scaleOf(gathered(frame.kept, read)), say: (value) => String(short(value)), title: titleOf(measure) };
}

// Points in slices, each ink at a time, so that no task is long; a newer drawing ends an older one.
async function draw() {
  if (!frame) return;
  run += 1;
  const own = run;
  const pen = drawing.begin();
  if (!drawing.width) return;
  let until = 0;
  const rest = async () => {
    if (performance.now() < until) return own === run;
    await breathe();
    until = performance.now() + SLICE_MS;
    return own === run;
  };
  const measures = measuresOf(frame);
  const named = (choice) => measures.find(({ name }) => name === choice.value) ?? measures[0];
  const ink = named(choices.ink);
  const x = axisOf(named(choices.x));
  if (!(await rest())) return;
  const y = axisOf(named(choices.y));
  const at = drawAxes(pen, drawing, tools.color, x, y);
  if (!(await rest())) return;
  const { kept } = frame;
  const numbers = gathered(kept, readerOf(ink, frame));
  const { inks, of, legend: entries } = inksOf(numbers, (value) => (ink.isAxis || ink.isName ? ink.said(value) : `${short(value)}${ink.unit ? ` ${ink.unit}` : ""}`), tools.color);
  legend.replaceChildren(element("p", { class: "muted" }, titleOf(ink)), legendOf(entries));
  told.textContent = frame.selected >= 0 ? `Circle: ${frame.label(frame.selected)}` : "";
  const placed = new Float32Array(2 * kept.length);
  for (let index = 0; index < kept.length; index += 1) {
    placed[2 * index] = at.x(x.read(kept[index]));
    placed[2 * index + 1] = at.y(y.read(kept[index]));
    if (index % 1024 === 0 && !(await rest())) return;
  }
  places = placed;
  const size = kept.length > 5000 ? 3 : 5;
  const width = Math.ceil(drawing.width);
  const drawn = new Int8Array(width * HEIGHT); // the ink of each pixel that has a point: one more of this ink would not be seen
  for (const [number, color] of inks.entries()) {
    for (let index = 0; index < kept.length; index += 1) {
      if (index % 512 === 0) {
        if (!(await rest())) return;
        pen.fillStyle = color;
      }
      if (of(numbers[index]) !== color) continue;
      const [left, top] = [Math.round(placed[2 * index] - size / 2), Math.round(placed[2 * index + 1] - size / 2)];
      const pixel = top * width + left;
      if (drawn[pixel] === number + 1) continue;
      drawn[pixel] = number + 1;
      pen.fillRect(left, top, size, size);
    }
  }
  drawCap(pen, at);
  if (frame.selected < 0) return;
  pen.strokeStyle = tools.color("ink");
  pen.lineWidth = 2;
  pen.beginPath();
  pen.arc(at.x(x.read(frame.selected)), at.y(y.read(frame.selected)), 7, 0, 2 * Math.PI);
  pen.stroke();
}

function drawCap(pen, at) {
  const isMemory = choices.x.value === "peak_memory_bytes" && frame.cap_bytes !== null;
  const x = isMemory ? at.x(frame.cap_bytes * 1e-9) : NaN;
  if (!(x > at.left && x < at.right)) return;
  pen.strokeStyle = tools.color("bad");
  pen.lineWidth = 1;
  pen.setLineDash([6, 4]);
  pen.beginPath();
  pen.moveTo(x, at.top);
  pen.lineTo(x, at.bottom);
  pen.stroke();
  pen.setLineDash([]);
  pen.fillStyle = tools.color("bad");
  pen.textBaseline = "bottom";
  pen.textAlign = x > drawing.width / 2 ? "right" : "left";
  pen.fillText("memory cap", x + (x > drawing.width / 2 ? -5 : 5), at.top + 14);
}

function update(now) {
  frame = now;
  byTime = null;
  const entries = measuresOf(frame).map(({ name, title }) => [name, title]);
  for (const choice of Object.values(choices)) choice.offer(entries);
  draw();
}

const view = { name: "scatter", title: "Time and memory of every plan", mount, update, redraw: draw };

export { view };
