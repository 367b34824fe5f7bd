// The plans of a space, enumerated as dse.studies.space does, as rows of numbers that the engine takes.
import { condition } from "../constraints.js";
import { at, filling, inputError, product } from "../scenario.js";

const SLICE = 4096; // combinations between two looks at the clock
const SHORT = ["input_dim", "output_dim", "d_model", "d_ff", "num_heads", "seq_len", "batch_size", "num_layers"];
const FIXED_CHUNKS = { "1f1b": 1, gpipe: 1, "zb-h1": 1, "zb-v": 2, "v-half": 2, "v-min": 2 };

const npusOf = (system) => system.nodes * system.npus_per_node;

function namesIn({ name, of = [] }) {
  return name === undefined ? of.flatMap(namesIn) : [name];
}

/** Reads a name that is not of the strategy. */
function valueOf(name, scenario) {
  const path = name.split(".");
  const value = name === "npus" ? npusOf(scenario.system) : SHORT.includes(name) ? scenario.model[name] : at(scenario, path);
  if (value === undefined || value === null || typeof value === "object") {
    throw inputError(`a constraint needs ${name}, which this page does not know`);
  }
  return value;
}

/** Calls `add(values)` for each plan, values of axes in their order; yields now and then, so that others may run. */
function* enumerate(axes, space, scenario, add) {
  const lists = new Map(axes.map(({ name, default: usual }) => [name, space.choices[name] === undefined ? [usual] : space.choices[name]]));
  const degrees = axes.filter(({ kind }) => kind === "degree").map(({ name }) => name);
  const options = axes.filter(({ kind }) => kind !== "degree").map(({ name }) => name);
  const isOpen = degrees.some((name) => lists.get(name) === null);
  const place = new Map(axes.map(({ name }, index) => [name, index]));
  const values = axes.map(({ name }) => lists.get(name)?.[0]);
  const varied = options.filter((name) => lists.get(name).length !== 1);
  const constraints = space.constraints.map((each) => ({ names: [...new Set(namesIn(each.tree))], holds: condition(each) }));
  const outer = new Map();
  const fieldOf = (name) => name.replace(/^strategy\./, "");
  for (const name of constraints.flatMap(({ names }) => names)) if (!place.has(fieldOf(name))) outer.set(name, valueOf(name, scenario));
  const slots = new Map(constraints.flatMap(({ names }) => names).map((name) => [name, place.get(fieldOf(name))]));
  const read = (name) => (slots.get(name) === undefined ? outer.get(name) : values[slots.get(name)]);
  const asked = Array.from({ length: varied.length + 1 }, () => []);
  for (const { names, holds } of constraints) {
    const isOfStrategy = names.some((name) => slots.get(name) !== undefined);
    if (!isOfStrategy) {
      if (!holds(read)) return;
      continue;
    }
    const fields = names.map(fieldOf);
    asked[Math.max(0, ...varied.map((field, index) => (fields.includes(field) ? index + 1 : 0)))].push(holds);
  }
  const places = varied.map((name) => place.get(name));
  const choices = varied.map((name) => lists.get(name));
  function walk(depth) {
    for (const holds of asked[depth]) if (!holds(read)) return;
    if (depth === varied.length) {
      add(values);
      return;
    }
    for (const value of choices[depth]) {
      values[places[depth]] = value;
      walk(depth + 1);
    }
  }
  const all = degrees.map((name) => lists.get(name));
  let count = 0;
  for (const chosen of isOpen ? filling(all, npusOf(scenario.system)) : product(all)) {
    chosen.forEach((value, index) => { values[place.get(degrees[index])] = value; });
    walk(0);
    count += 1;
    if (count % (SLICE >> 6) === 0) yield;
  }
}

/** Texts of axes as numbers, shared by all plans of a request. */
class Texts {
  constructor() {
    this.list = [];
    this.numbers = new Map();
  }

  number(text) {
    let found = this.numbers.get(text);
    if (found === undefined) {
      found = this.list.length;
      this.numbers.set(text, found);
      this.list.push(text);
    }
    return found;
  }
}

/** Why nothing follows from a value of a plan, in the words of dse/prediction/steps/strategies.py; or "". */
function idle(plan) {
  let what = "";
  if (plan.sp > 1) {
    return `strategy.sp is ${plan.sp}, which is STAGE's sequence parallelism; write strategy.cp=${plan.sp} for context `
      + "parallelism, or strategy.sequence_parallel=true for that of Megatron";
  }
  const fixed = FIXED_CHUNKS[plan.schedule];
  if (plan.weight_sharded && plan.zero !== 1) what = `zero=${plan.zero}: with weight_sharded it is 3`;
  else if (plan.shard_ranks && !plan.weight_sharded) what = `shard_ranks=${plan.shard_ranks}: weights are not sharded`;
  else if (plan.chunks > 1 && fixed) what = `chunks=${plan.chunks}: schedule=${plan.schedule} has ${fixed === 1 ? "one" : fixed}`;
  else if (plan.pp === 1 && plan.schedule !== "1f1b") what = `schedule=${plan.schedule}: pp is 1`;
  else if (plan.pp === 1 && plan.stages !== "even") what = `stages=${plan.stages}: pp is 1`;
  else if (plan.tp === 1 && (plan.sequence_parallel || plan.overlap_tp)) what = `${plan.sequence_parallel ? "sequence_parallel" : "overlap_tp"}=true: tp is 1`;
  else if (plan.cp === 1 && plan.context !== "ring") what = `context=${plan.context}: cp is 1`;
  else if (plan.recompute_layers && plan.recompute === "none" && !plan.activation_recompute) what = `recompute_layers=${plan.recompute_layers}: nothing is recomputed`;
  return what && `nothing follows from strategy.${what}`;
}

/** The columns that the engine takes of a plan, by name. */
function columnsOf(plan, model) {
  const { micro_batches: count = null } = model;
  const microBatch = count === null ? plan.micro_batch || 1 : Math.floor(model.batch_size / (plan.dp * count));
  return { ...plan, chunks: FIXED_CHUNKS[plan.schedule] ?? plan.chunks, micro_batch: microBatch, activation_recompute: false };
}

/** Why micro-batches of the model do not come out, or "". */
function batchProblem(plan, model) {
  const { micro_batches: count = null } = model;
  if (count === null) return "";
  if (model.batch_size % (plan.dp * count)) return `dp*micro_batches ${plan.dp * count} does not divide batch_size ${model.batch_size}`;
  const size = model.batch_size / (plan.dp * count);
  if (plan.micro_batch === 0 || plan.micro_batch === size) return "";
  return `strategy.micro_batch is ${plan.micro_batch}, but model.micro_batches=${count} makes it ${size}: leave one of them out`;
}

/** A short name, as dse.inputs.strategies writes it. */
function labelOf(axes, plan) {
  const words = [];
  for (const { name, kind, word, default: usual, since } of axes) {
    const value = plan[name];
    if (value === usual && (since > 1 || kind === "flag")) continue;
    words.push(kind === "choice" ? word.replace("{}", value) : kind === "flag" ? word : `${word}${value}`);
  }
  return words.filter(Boolean).join(" ");
}

export { enumerate, Texts, idle, batchProblem, columnsOf, labelOf, npusOf, inputError };
