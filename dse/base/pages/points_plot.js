// Rows as points: two figures place them, a third colours them; a click or the arrow keys choose one.
import { placeOf } from "./charts.js";
import { Choice } from "./choice.js";
import { breathe, element } from "./dom.js";
import { inksOf, legendOf } from "./inks.js";
import { Canvas, drawAxes, gathered, scaleOf } from "./plot_canvas.js";

const [HEIGHT, NEAR, SLICE_MS] = [380, 14, 8];

// An axis of words or of few values has a place for each.
const axisOf = (measure, rows) => ({ ...measure, scale: scaleOf(measure.places ? [] : gathered(rows, measure.read), measure) });

class PointsPlot {
  // `preferred` has names to begin with for x, y and ink; `choose(row)` is told which row was pressed.
  constructor(root, { label, color, preferred, choose }) {
    const again = () => this.draw();
    this.choices = { x: new Choice("across", preferred.x, again), y: new Choice("up", preferred.y, again), ink: new Choice("colour", preferred.ink, again) };
    Object.assign(this, { color, choose, given: null, points: null, ordered: null, run: 0 });
    this.drawing = new Canvas(label, HEIGHT);
    this.legend = element("div", {});
    this.told = element("p", { class: "hint", "aria-live": "polite", style: "min-height: 1.5em; overflow-wrap: anywhere; max-width: none" });
    root.append(element("div", { class: "row" }, ...Object.values(this.choices).map((choice) => choice.root)), this.drawing.box, this.legend, this.told);
    const { canvas, box } = this.drawing;
    canvas.addEventListener("click", (event) => {
      const row = this.nearest(event);
      if (row !== null) choose(row);
    });
    canvas.addEventListener("mousemove", (event) => {
      const row = this.nearest(event);
      canvas.style.cursor = row === null ? "" : "pointer";
      canvas.title = row === null ? "" : this.given.label(row);
    });
    canvas.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(again).observe(box);
  }

  /** `measures` are {name, title, heading, read(row), places, say(value), sayInk(value)}: `places` are values that stand
   * evenly, `heading` has the unit in which a measure is read. `label(row)` names a row, `selected` is a row or null,
   * `order()` are rows as the arrow keys go, and `line` is {name, value, text} of a limit of a measure. */
  update(given) {
    this.given = given;
    this.ordered = null;
    const entries = given.measures.map(({ name, title }) => [name, title]);
    for (const choice of Object.values(this.choices)) choice.offer(entries);
    this.draw();
  }

  nearest({ offsetX, offsetY }) {
    let [found, least] = [null, NEAR * NEAR];
    for (let index = 0; index < (this.points?.length ?? 0); index += 2) {
      const distance = (this.points[index] - offsetX) ** 2 + (this.points[index + 1] - offsetY) ** 2;
      if (distance < least) [found, least] = [this.given.rows[index / 2], distance];
    }
    return found;
  }

  onKey(event) {
    if (!this.given?.rows.length) return;
    this.ordered ??= this.given.order();
    const to = placeOf(event.key, Math.max(0, this.ordered.indexOf(this.given.selected)), this.ordered.length - 1);
    if (to === undefined) return;
    event.preventDefault();
    this.choose(this.ordered[to]);
  }

  // Points in slices, each ink at a time, so that no task is long; a newer drawing ends an older one.
  async draw() {
    if (!this.given) return;
    this.run += 1;
    const own = this.run;
    const { drawing, color, choices, given: { measures, rows, selected, label, line } } = this;
    const pen = drawing.begin();
    if (!drawing.width || !measures.length) return;
    let until = 0;
    const rest = async () => {
      if (performance.now() < until) return own === this.run;
      await breathe();
      until = performance.now() + SLICE_MS;
      return own === this.run;
    };
    const named = (choice) => measures.find(({ name }) => name === choice.value) ?? measures[0];
    const ink = named(choices.ink);
    const x = axisOf(named(choices.x), rows);
    if (!(await rest())) return;
    const y = axisOf(named(choices.y), rows);
    const at = drawAxes(pen, drawing, color, x, y);
    if (!(await rest())) return;
    const numbers = gathered(rows, ink.read);
    const { inks, of, legend } = inksOf(numbers, ink.sayInk, color);
    this.legend.replaceChildren(element("p", { class: "hint" }, ink.heading), legendOf(legend));
    this.told.textContent = selected === null ? "" : `Circle: ${label(selected)}`;
    const placed = new Float32Array(2 * rows.length);
    for (let index = 0; index < rows.length; index += 1) {
      placed[2 * index] = at.x(x.read(rows[index]));
      placed[2 * index + 1] = at.y(y.read(rows[index]));
      if (index % 1024 === 0 && !(await rest())) return;
    }
    this.points = placed;
    const size = rows.length > 5000 ? 3 : rows.length > 100 ? 5 : 8;
    const width = Math.ceil(drawing.width);
    const drawn = new Int8Array(width * HEIGHT); // the ink of each pixel that has a point: one more of this ink would not be seen
    for (const [number, ground] of inks.entries()) {
      for (let index = 0; index < rows.length; index += 1) {
        if (index % 512 === 0) {
          if (!(await rest())) return;
          pen.fillStyle = ground;
        }
        if (of(numbers[index]) !== ground) continue;
        const [left, top] = [Math.round(placed[2 * index] - size / 2), Math.round(placed[2 * index + 1] - size / 2)];
        const pixel = top * width + left;
        if (drawn[pixel] === number + 1) continue;
        drawn[pixel] = number + 1;
        pen.fillRect(left, top, size, size);
      }
    }
    if (line?.name === choices.x.value) this.limit(pen, at, line);
    if (selected === null) return;
    pen.strokeStyle = color("ink");
    pen.lineWidth = 2;
    pen.beginPath();
    pen.arc(at.x(x.read(selected)), at.y(y.read(selected)), 7, 0, 2 * Math.PI);
    pen.stroke();
  }

  limit(pen, at, { value, text }) {
    const x = at.x(value);
    if (!(x > at.left && x < at.right)) return;
    pen.strokeStyle = this.color("bad");
    pen.lineWidth = 1;
    pen.setLineDash([6, 4]);
    pen.beginPath();
    pen.moveTo(x, at.top);
    pen.lineTo(x, at.bottom);
    pen.stroke();
    pen.setLineDash([]);
    pen.fillStyle = this.color("bad");
    pen.textBaseline = "bottom";
    const isRight = x > this.drawing.width / 2;
    pen.textAlign = isRight ? "right" : "left";
    pen.fillText(text, x + (isRight ? -5 : 5), at.top + 14);
  }
}

export { PointsPlot };
