// The figures of a training run as people read them, and which plan is the best by each.
import { count, duration, percent } from "../../../../base/pages/numbers.js";

const DAY_S = 86400;
const PROBLEMS = [
  "", "shall shrink, and the loss of a node leaves no replica", "has checkpoints that are nearer to each other than a step, or than one is written",
  "makes no progress: it hardly ever lives until a checkpoint",
];

function days(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  const found = seconds / DAY_S;
  return found < 1 ? duration(seconds * 1e9) : `${found < 1000 ? Number(found.toPrecision(4)) : Math.round(found)} d`;
}

const known = (say) => (value) => (Number.isFinite(value) ? say(value) : "–");
const FIGURES = [
  { name: "run_time_s", title: "days of the run", said: days, unit: "d", scale: 1 / DAY_S, objective: "Expected time" },
  { name: "run_time_low_s", title: "80 % of runs from", said: days, unit: "d", scale: 1 / DAY_S },
  { name: "run_time_high_s", title: "80 % of runs to", said: days, unit: "d", scale: 1 / DAY_S },
  { name: "run_effective_pct", title: "effective", said: percent, unit: "%", scale: 1, isHighBetter: true },
  { name: "run_goodput_pct", title: "goodput", said: percent, unit: "%", scale: 1, isHighBetter: true },
  { name: "run_failures", title: "failures", said: known(count), unit: "", scale: 1 },
  { name: "run_cost", title: "cost", said: known(count), unit: "", scale: 1, objective: "Cost" },
  { name: "run_energy_mwh", title: "energy", said: known((value) => `${count(value)} MWh`), unit: "MWh", scale: 1, objective: "Energy" },
];

/** The figures that some plan of a frame has. */
const figuresOf = (frame) => (frame.figuresOfRun ??= FIGURES.filter(({ name }) => frame.columns[name]?.some(Number.isFinite)));

/** The best of the plans that pass and fit by each objective: [{figure, row}]. */
function winnersOf(frame) {
  const { kept, columns } = frame;
  return figuresOf(frame).filter(({ objective }) => objective).map((figure) => {
    const values = columns[figure.name];
    let best = -1;
    for (const row of kept) if (frame.fits(row) && Number.isFinite(values[row]) && (best < 0 || values[row] < values[best])) best = row;
    return { figure, row: best };
  }).filter(({ row }) => row >= 0);
}

/** Why the run of a row has no figures, or "". */
const problemOf = (frame, row) => PROBLEMS[frame.columns.problem?.[row]] ?? "";

export { days, figuresOf, problemOf, winnersOf };
