// The worker of a page that predicts: enumerates a space, predicts its plans in slices, and keeps what it found for sorting.
import { breath, helpers, host, serve, stopIfCancelled } from "../worker_parts.js";
import { clusterOf, predictableOf } from "./clusters.js";
import { Figures, intervalOf } from "./figures.js";
import { requestOf, stepsOf, TrainingRuns } from "./training_runs.js";
import { enumerate, valuesRead } from "../scenario.js";
import { npusOf, Plans, ruled } from "./plans.js";

const SLICE_MS = 20;
const BATCH = 64; // plans that are prepared between two looks at the clock
const CHUNK = 256; // plans between two looks at other messages
const FEW = 4; // chunks that one worker predicts alone
const MOST_HELPERS = 3;

/** Runs a generator in slices. */
async function sliced(id, steps, tell = () => {}) {
  let until = performance.now() + SLICE_MS;
  for (const _ of steps) {
    if (performance.now() < until) continue;
    tell();
    await breath();
    stopIfCancelled(id);
    until = performance.now() + SLICE_MS;
  }
}

/** What stays as long as only figures of time change: plans, their rows for the engine, why some are none, their kinds. */
class Space {
  constructor(plans, names) {
    this.plans = plans;
    this.rows = new Int32Array(plans.count * names.length);
    this.texts = new Map(); // texts of axes, with their numbers for the engine
    this.problems = []; // by row: why it is no plan, or ""
    this.kinds = new Uint32Array(plans.count);
    this.byKind = [];
  }
}

function* prepared(space, { scenario, facts }) {
  const { plans, rows, texts } = space;
  const { refusals, filled, kindOf } = ruled(plans, scenario);
  const numberOf = (text) => texts.get(text) ?? texts.set(text, texts.size).get(text);
  const columns = facts.plan_columns.map((name, place) => {
    const of = filled.get(name) ?? plans.reader(name);
    return place < facts.plan_numbers ? (row) => Number(of(row)) : (row) => numberOf(of(row));
  });
  const known = new Map();
  for (let row = 0; row < plans.count; row += 1) {
    space.problems[row] = refusals.reduce((said, of) => said || of(row), "");
    columns.forEach((of, column) => { rows[row * columns.length + column] = of(row); });
    const kind = kindOf(row);
    if (!known.has(kind)) known.set(kind, space.byKind.push(intervalOf(facts.intervals, facts.measured, kind)) - 1);
    space.kinds[row] = known.get(kind);
    if (row % BATCH === 0) yield;
  }
}

const spaces = new Map(); // the newest few, by what they depend on
const KEPT = 4;

async function spaceOf(message) {
  const { id, scenario, space, facts } = message;
  const { model, system } = scenario;
  const key = JSON.stringify([space.choices, model, system.name, system.nodes, system.npus_per_node, system.accelerator.name, [...valuesRead(facts.axes, space, scenario, npusOf(system))]]);
  if (spaces.has(key)) return spaces.get(key);
  const plans = new Plans(facts.axes);
  await sliced(id, enumerate(facts.axes, space, scenario, npusOf(system), (values) => plans.add(values)));
  const made = new Space(plans, facts.plan_columns);
  await sliced(id, prepared(made, message));
  spaces.set(key, made);
  if (spaces.size > KEPT) spaces.delete(spaces.keys().next().value);
  return made;
}

let opened = { text: "", engine: null }; // the model and the cluster that the engine has

/** Figures of rows of plans by the engine of this worker, and the reasons why some cannot run, by number. */
function figuresOf({ request, text, rows, width, stride }) {
  if (opened.text !== text) opened = { text, engine: host().openPlans(request, width, stride) };
  const { raw, reasons } = opened.engine.predict(rows, rows.length / width);
  return { figures: raw.slice(), reasons };
}

let openedRuns = { id: null, find: null }; // of the request that is answered

/** What finds the runs of steps; null where no length is given. */
function runsOf(id, { scenario, facts }, plans) {
  const { model, system, run: given } = scenario;
  const steps = stepsOf(given, model);
  if (steps === null) return null;
  const { record, operations } = predictableOf(model);
  const request = requestOf({ given, record: facts.run, model: record, cluster: clusterOf(system).record, steps, operations });
  const find = (...asked) => {
    if (openedRuns.id !== id) openedRuns = { id, find: host().openRuns(request, facts.run_columns.length) };
    return openedRuns.find(...asked);
  };
  return new TrainingRuns(find, facts, plans);
}

let beside = null; // further workers, once a space is large

/** Predicts plans in chunks, which this worker and its helpers take one after the other. */
async function predicting(id, space, { scenario, facts }, found, runs, tell) {
  const { model, system } = scenario;
  const { plans, rows, texts } = space;
  const { columns, reasonOf, reasons } = found;
  const width = facts.plan_columns.length;
  const stride = facts.parts.length + facts.categories.length + 2;
  const known = new Map();
  const numberOf = (reason) => {
    if (!known.has(reason)) known.set(reason, reasons.push(reason) - 1);
    return known.get(reason);
  };
  const { record, operations } = predictableOf(model);
  const { record: cluster, peak_tflops } = clusterOf(system);
  const request = { model: record, cluster, frameworks: facts.frameworks, precisions: facts.precisions, texts: [...texts.keys()] };
  const text = JSON.stringify([id, model, system]);
  const figures = new Figures({
    parts: facts.parts, categories: facts.categories,
    facts: { tokens: model.batch_size * model.seq_len, operations, peak_tflops, npus: npusOf(system) },
  });
  const chunks = [];
  for (let row = 0; row < plans.count; row += 1) {
    if (space.problems[row]) reasonOf[row] = numberOf(space.problems[row]);
    else if (!chunks.length || chunks.at(-1).length === CHUNK) chunks.push([row]);
    else chunks.at(-1).push(row);
  }
  const asked = (chunk) => {
    const own = new Int32Array(chunk.length * width);
    chunk.forEach((row, index) => own.set(rows.subarray(row * width, (row + 1) * width), index * width));
    return { request, text, rows: own, width, stride };
  };
  const took = (chunk, { figures: raw, reasons: said }) => {
    chunk.forEach((row, index) => {
      const reason = raw[(index + 1) * stride - 1];
      if (reason >= 0) reasonOf[row] = numberOf(said[reason]);
      else figures.write(columns, row, raw, index * stride, space.byKind[space.kinds[row]]);
    });
    runs?.write(columns, chunk.filter((row) => reasonOf[row] < 0));
    found.done += chunk.length;
  };
  if (chunks.length > FEW) beside ??= helpers(Math.min(MOST_HELPERS, (navigator.hardwareConcurrency ?? 1) - 1));
  let next = 0;
  const theirs = (chunks.length > FEW ? beside : []).map(async (ask) => {
    while (next < chunks.length) {
      const chunk = chunks[next];
      next += 1;
      took(chunk, await ask({ type: "figures", ...asked(chunk) }));
      stopIfCancelled(id);
    }
  });
  const own = async () => {
    while (next < chunks.length) {
      const chunk = chunks[next];
      next += 1;
      took(chunk, figuresOf(asked(chunk)));
      tell();
      await breath();
      stopIfCancelled(id);
    }
  };
  try {
    await Promise.all([own(), ...theirs]);
  } finally {
    next = chunks.length;
  }
}

async function evaluated(message, tell = () => {}, needsRuns = true) {
  const space = await spaceOf(message);
  const { plans } = space;
  const { facts } = message;
  const runs = needsRuns ? runsOf(message.id, message, plans) : null;
  const names = [...Figures.names(facts.parts, facts.categories), ...(runs ? facts.run_columns : [])];
  const columns = Object.fromEntries(names.map((name) => [name, new Float64Array(plans.count).fill(NaN)]));
  const found = { plans, columns, reasonOf: new Int32Array(plans.count).fill(-1), reasons: [], done: 0 };
  if (plans.count) await predicting(message.id, space, message, found, runs, () => tell(found.done, plans.count));
  return found;
}

async function predict(message) {
  const { id } = message;
  const { plans, columns, reasonOf, reasons } = await evaluated(message, (done, total) => postMessage({ id, type: "progress", done, total }));
  const codes = plans.codes.map((each) => Uint16Array.from(each));
  return {
    result: { count: plans.count, values: plans.values, codes, columns, reasonOf, reasons },
    transferred: [...codes, ...Object.values(columns), reasonOf].map(({ buffer }) => buffer),
  };
}

/** The fastest plan under a cap: its row, or -1. */
function fastest({ columns, reasonOf }, cap) {
  const { wall_time_ns: wall, peak_memory_bytes: peak } = columns;
  const isBetter = (row, other) => other < 0 || wall[row] < wall[other] || (wall[row] === wall[other] && peak[row] < peak[other]);
  return reasonOf.reduce((best, reason, row) => (reason < 0 && peak[row] <= cap && isBetter(row, best) ? row : best), -1);
}

/** The winner of one scenario under a cap: its plan and its time, or null. */
async function winner(message) {
  const found = await evaluated(message, () => {}, false);
  const fitting = fastest(found, message.cap ?? Infinity);
  if (fitting < 0) return { result: null };
  return { result: { plan: found.plans.at(fitting), wall_time_ns: found.columns.wall_time_ns[fitting] } };
}

/** Rows in the order of a column; those without a figure come last. */
function order({ values, descending }) {
  const rows = Uint32Array.from(values, (_, row) => row);
  const sign = descending ? -1 : 1;
  rows.sort((a, b) => {
    const [one, other] = [values[a], values[b]];
    if (Number.isNaN(one) || Number.isNaN(other)) return Number.isNaN(one) - Number.isNaN(other) || a - b;
    return sign * (one - other) || a - b;
  });
  return { result: rows, transferred: [rows.buffer] };
}

const asHelper = (message) => {
  const result = figuresOf(message);
  return { result, transferred: [result.figures.buffer] };
};

serve({ predict, winner, order, figures: asHelper });

export { evaluated };
