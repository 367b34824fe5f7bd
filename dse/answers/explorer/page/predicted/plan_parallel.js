// Parallel coordinates: a line for each plan through the values of its axes, its time and its memory.
import { breathe, element } from "../../../../base/pages/dom.js";
import { Choice } from "../../../../base/pages/choice.js";
import { inksOf, legendOf, short } from "../../../../base/pages/inks.js";
import { gathered, measuresOf, ofAxis, PEAK, readerOf, TIME, titleOf } from "./measures.js";
import { Canvas, scaleOf } from "./plot_canvas.js";

const [HEIGHT, TOP, BOTTOM, SLICE_MS, LEAST, MOST] = [340, 40, 16, 8, 66, 3000];
let [isSeen, isDue] = [false, true]; // what is far from sight is drawn when it comes near
let [tools, frame, drawing, choice, legend, run] = [null, null, null, null, null, 0];

function mount(section, given) {
  tools = given;
  choice = new Choice("colour", ["wall_time_ns"], () => draw());
  drawing = new Canvas("Plans as lines through their axes", HEIGHT);
  legend = element("div", {});
  section.append(element("div", { class: "row" }, choice.root), element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Plans as lines, a drawing that scrolls" }, drawing.box), legend);
  new ResizeObserver(() => draw()).observe(section);
  new IntersectionObserver(([{ isIntersecting }]) => {
    isSeen = isIntersecting || document.documentElement.classList.contains("printing");
    if (isSeen && isDue) draw();
  }, { rootMargin: "200px" }).observe(section);
}

function axesOf(rows) {
  return [...frame.varying.map(ofAxis), PEAK, TIME].map((measure) => {
    const read = readerOf(measure, frame);
    const isPlaced = measure.isAxis;
    const list = isPlaced && (measure.isNumber ? measure.values : measure.values.map((_, index) => index));
    const scale = isPlaced ? scaleOf([], { places: list }) : scaleOf(gathered(rows, read));
    return { read, scale, title: titleOf(measure), say: (value) => (isPlaced ? measure.said(value) : String(short(value))) };
  });
}

// At most so many lines can be told apart: those of the fastest plans.
function fastest() {
  const { kept, columns: { wall_time_ns: wall } } = frame;
  if (kept.length <= MOST) return kept;
  const last = gathered(kept, (row) => wall[row]).sort()[MOST - 1];
  return kept.filter((row) => wall[row] <= last);
}

async function draw() {
  isDue = !frame || !isSeen;
  if (isDue) return;
  run += 1;
  const own = run;
  await breathe(); // after the task that gave the frame
  if (own !== run) return;
  const rows = fastest();
  const axes = axesOf(rows);
  drawing.box.style.minWidth = `${axes.length * LEAST}px`;
  const pen = drawing.begin();
  if (!drawing.width) return;
  const measure = measuresOf(frame).find(({ name }) => name === choice.value) ?? TIME;
  const colored = readerOf(measure, frame);
  const inks = inksOf(gathered(rows, colored), (value) => (measure.isAxis || measure.isName ? measure.said(value) : `${short(value)}${measure.unit ? ` ${measure.unit}` : ""}`), tools.color);
  legend.replaceChildren(element("p", { class: "muted" }, titleOf(measure)), legendOf(inks.legend));
  const step = (drawing.width - LEAST) / (axes.length - 1);
  const x = (index) => LEAST / 2 + index * step;
  const y = ({ scale }, value) => TOP + (1 - scale.at(value)) * (HEIGHT - TOP - BOTTOM);
  const line = (row) => {
    pen.beginPath();
    axes.forEach((axis, index) => pen.lineTo(x(index), y(axis, axis.read(row))));
    pen.stroke();
  };
  // The slowest first, so that the fastest lie above them.
  const { wall_time_ns: wall } = frame.columns;
  const best = frame.best >= 0 ? wall[frame.best] : 0;
  const bands = [Infinity, 2, 1.3, 1.1, 1.03];
  pen.lineWidth = 1;
  pen.globalAlpha = rows.length > 2000 ? 0.15 : 0.35;
  let until = performance.now() + SLICE_MS;
  for (let band = 0; band < bands.length; band += 1) {
    for (const row of rows) {
      const slower = wall[row] / best;
      if (slower > bands[band] || slower <= (bands[band + 1] ?? 0)) continue;
      pen.strokeStyle = inks.of(colored(row));
      line(row);
      if (performance.now() < until) continue;
      await breathe();
      if (own !== run) return;
      until = performance.now() + SLICE_MS;
    }
  }
  pen.globalAlpha = 1;
  if (frame.selected >= 0) {
    pen.strokeStyle = tools.color("ink");
    pen.lineWidth = 2.5;
    line(frame.selected);
  }
  names(pen, axes, x, y);
}

function names(pen, axes, x, y) {
  axes.forEach((axis, index) => {
    pen.strokeStyle = tools.color("line");
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(x(index), TOP);
    pen.lineTo(x(index), HEIGHT - BOTTOM);
    pen.stroke();
    pen.textAlign = "center";
    pen.textBaseline = "top";
    pen.fillStyle = tools.color("ink");
    const words = axis.title.split(" ");
    const half = Math.ceil(words.length / 2);
    [words.slice(0, half).join(" "), words.slice(half).join(" ")].forEach((text, at) => pen.fillText(text, x(index), 2 + 14 * at));
    pen.textBaseline = "middle";
    for (const tick of axis.scale.ticks) {
      const text = axis.say(tick);
      pen.lineWidth = 3;
      pen.strokeStyle = tools.color("page");
      pen.strokeText(text, x(index), y(axis, tick));
      pen.fillStyle = tools.color("muted");
      pen.fillText(text, x(index), y(axis, tick));
    }
  });
}

function update(now) {
  frame = now;
  choice.offer(measuresOf(frame).map(({ name, title }) => [name, title]));
  draw();
}

const view = { name: "parallel", title: "Choices that go together", hint: "A line is a plan, of the 3,000 fastest; the fastest lie on top, and the dark one is the plan above.", mount, update, redraw: draw };

export { view };
