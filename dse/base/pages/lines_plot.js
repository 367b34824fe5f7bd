// Parallel coordinates: a line for each row through its values on axes that stand next to each other.
import { Choice } from "./choice.js";
import { breathe, element, scroll } from "./dom.js";
import { inksOf, legendOf } from "./inks.js";
import { Canvas, fitted, gathered, scaleOf } from "./plot_canvas.js";

const [HEIGHT, TOP, BOTTOM, SLICE_MS, LEAST] = [340, 40, 16, 8, 66];
const MANY = 100; // lines from which they are thin, and drawn when they come near
const MOST = 3000; // lines that can be told apart

class LinesPlot {
  // `preferred.ink` are names to begin with.
  constructor(root, { label, color, preferred }) {
    Object.assign(this, { color, given: null, run: 0, isSeen: false, isDue: true });
    this.choice = new Choice("colour", preferred.ink, () => this.draw());
    this.drawing = new Canvas(label, HEIGHT);
    this.legend = element("div", {});
    root.append(element("div", { class: "row" }, this.choice.root), scroll(`${label}, a drawing that scrolls`, this.drawing.box), this.legend);
    new ResizeObserver(() => this.draw()).observe(root);
    new IntersectionObserver(([{ isIntersecting }]) => {
      this.isSeen = isIntersecting || document.documentElement.classList.contains("printing");
      if (this.isSeen && this.isDue) this.draw();
    }, { rootMargin: "200px" }).observe(root);
  }

  /** Takes measures as points do. Lines go through `axes`, some of the measures; `cost(row)` is least of the best rows,
   * which lie on top, and of many only the best are drawn. */
  update(given) {
    this.given = given;
    this.choice.offer(given.measures.map(({ name, title }) => [name, title]));
    this.draw();
  }

  // The worst first, so that the best lie above them.
  best() {
    const { rows, cost } = this.given;
    const costs = gathered(rows, cost);
    const last = rows.length > MOST ? costs.slice().sort()[MOST - 1] : Infinity;
    return rows.filter((row) => cost(row) <= last).sort((one, other) => cost(other) - cost(one));
  }

  async draw() {
    this.isDue = !this.given || !(this.isSeen || this.given.rows.length < MANY);
    if (this.isDue) return;
    this.run += 1;
    const own = this.run;
    await breathe(); // after the task that gave the rows
    if (own !== this.run) return;
    const { drawing, color, given: { measures, selected } } = this;
    const rows = this.best();
    const axes = this.given.axes.map((axis) => ({ ...axis, scale: scaleOf(axis.places ? [] : gathered(rows, axis.read), axis) }));
    drawing.box.style.minWidth = `${axes.length * LEAST}px`;
    const pen = drawing.begin();
    if (!drawing.width || axes.length < 2) return;
    const ink = measures.find(({ name }) => name === this.choice.value) ?? measures[0];
    const { of, legend } = inksOf(gathered(rows, ink.read), ink.sayInk, color);
    this.legend.replaceChildren(element("p", { class: "hint" }, ink.heading), legendOf(legend));
    const step = (drawing.width - LEAST) / (axes.length - 1);
    const x = (index) => LEAST / 2 + index * step;
    const y = ({ scale }, value) => TOP + (1 - scale.at(value)) * (HEIGHT - TOP - BOTTOM);
    const line = (row) => {
      pen.beginPath();
      axes.forEach((axis, index) => pen.lineTo(x(index), y(axis, axis.read(row))));
      pen.stroke();
    };
    pen.lineWidth = rows.length < MANY ? 2 : 1;
    pen.globalAlpha = rows.length < MANY ? 0.8 : rows.length > 2000 ? 0.15 : 0.35;
    let until = performance.now() + SLICE_MS;
    for (const row of rows) {
      pen.strokeStyle = of(ink.read(row));
      line(row);
      if (performance.now() < until) continue;
      await breathe();
      if (own !== this.run) return;
      until = performance.now() + SLICE_MS;
    }
    pen.globalAlpha = 1;
    if (selected !== null) {
      pen.strokeStyle = color("ink");
      pen.lineWidth = 2.5;
      line(selected);
    }
    this.names(pen, axes, x, y, step - 6);
  }

  names(pen, axes, x, y, room) {
    const { color } = this;
    const write = (draw, text, index, top) => {
      const shown = fitted(pen, text, room);
      const half = pen.measureText(shown).width / 2;
      draw.call(pen, shown, Math.max(half, Math.min(x(index), this.drawing.width - half)), top);
    };
    axes.forEach((axis, index) => {
      pen.strokeStyle = color("line");
      pen.lineWidth = 1;
      pen.beginPath();
      pen.moveTo(x(index), TOP);
      pen.lineTo(x(index), HEIGHT - BOTTOM);
      pen.stroke();
      pen.textAlign = "center";
      pen.textBaseline = "top";
      pen.fillStyle = color("ink");
      const words = axis.heading.split(" ");
      const half = Math.ceil(words.length / 2);
      [words.slice(0, half).join(" "), words.slice(half).join(" ")].forEach((text, at) => write(pen.fillText, text, index, 2 + 14 * at));
      pen.textBaseline = "middle";
      for (const tick of axis.scale.ticks) {
        const text = axis.say(tick);
        pen.lineWidth = 3;
        pen.strokeStyle = color("page");
        write(pen.strokeText, text, index, y(axis, tick));
        pen.fillStyle = color("muted");
        write(pen.fillText, text, index, y(axis, tick));
      }
    });
  }
}

export { LinesPlot };
