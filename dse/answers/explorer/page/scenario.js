// The scenario of a state: presets, changed fields, what a field allows, and the strategies of the space.
import { condition } from "./constraints.js";
import { number } from "./format.js";
import { DEGREES, FIELDS, OPTIONS } from "./strategy.js";

const SLICE = 64; // combinations of degrees between two looks at the clock

const at = (value, path) => path.reduce((inside, part) => (inside === null || inside === undefined ? undefined : inside[part]), value);

function inputError(message) {
  const error = new Error(message);
  error.kind = "input";
  return error;
}

// ---- presets
// A field as it is with another value: its slider goes around that.
function ofPreset(field, value) {
  if (field.kind !== "number" || value === null || !field.value) return { ...field, value };
  const round = (each) => (field.is_integer ? Math.max(field.least ?? 1, Math.round(each)) : each);
  const moved = (end, bound) => (typeof end === "number" ? round(Math.max(field.least ?? end, Math.min(bound ?? Infinity, (end * value) / field.value))) : end);
  return { ...field, value, slider_least: moved(field.slider_least), slider_most: moved(field.slider_most, field.most) };
}

function base(data, preset) {
  const model = preset.model && data.presets.models.find(({ name }) => name === preset.model);
  const system = preset.system && data.presets.systems.find(({ name }) => name === preset.system);
  const scenario = {
    ...data.scenario, model: model ? model.spec : data.scenario.model, system: system ? system.spec : data.scenario.system,
  };
  const ofModel = data.fields.filter(({ key }) => key.startsWith("model."));
  const ofSystem = system ? system.fields : data.fields.filter(({ key }) => !key.startsWith("model."));
  const fields = [...ofModel.map((field) => (model ? ofPreset(field, at(scenario, field.path) ?? null) : field)), ...ofSystem];
  return { scenario, fields };
}

function replaced(value, path, changed) {
  if (!path.length) return changed;
  const [part, ...below] = path;
  const copy = Array.isArray(value) ? [...value] : { ...value };
  copy[part] = replaced(copy[part], below, changed);
  return copy;
}

function withChanges(scenario, fields, changes) {
  const byKey = new Map(fields.map((field) => [field.key, field]));
  return Object.entries(changes).reduce((changed, [key, value]) => {
    const field = byKey.get(key);
    return field ? replaced(changed, field.path, value) : changed;
  }, scenario);
}

// ---- what a field allows
function allowed(field) {
  if (field.allowed) return field.allowed;
  if (field.kind === "flag") return "true or false";
  if (field.kind === "choice") return `one of ${field.choices.join(", ")}`;
  const [least, most] = [field.least ?? null, field.most ?? null];
  const range = least !== null && most !== null ? ` from ${number(least)} to ${number(most)}`
    : least !== null ? ` of at least ${number(least)}` : most !== null ? ` of at most ${number(most)}` : "";
  return `${field.is_integer ? "an integer" : "a number"}${range}${field.unit ? ` (${field.unit})` : ""}`;
}

const isOptional = (field) => field.is_optional || field.value === null;

function problemOf(field, value) {
  const says = `must be ${allowed(field)}`;
  if (field.kind === "flag") return typeof value === "boolean" ? "" : says;
  if (field.kind === "choice") return field.choices.includes(value) ? "" : says;
  if (value === null) return isOptional(field) ? "" : says;
  const isOut = value < (field.least ?? -Infinity) || value > (field.most ?? Infinity);
  const isBad = typeof value !== "number" || !Number.isFinite(value) || (field.is_integer && !Number.isSafeInteger(value));
  return isBad || isOut ? says : "";
}

// What a text stands for: {value} or {problem}.
function parsed(field, text) {
  const trimmed = text.trim();
  let value = trimmed;
  if (field.kind === "flag") value = trimmed === "true" ? true : trimmed === "false" ? false : trimmed;
  if (field.kind === "choice") value = field.choices.find((choice) => String(choice) === trimmed) ?? trimmed;
  if (field.kind === "number") {
    const plain = trimmed.replace(/[\s_\u202f]/g, "");
    if (plain === "" && isOptional(field)) return { value: null };
    value = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) ? Number(plain) : NaN;
  }
  const problem = problemOf(field, value);
  return problem ? { problem: `${trimmed === "" ? "nothing" : `'${trimmed}'`} is not possible: it ${problem}` } : { value };
}

// ---- the space, enumerated as dse.studies.space does
const npusOf = (system) => system.network.reduce((product, dimension) => product * dimension.npus, 1);

function divisors(number) {
  const found = new Set();
  for (let divisor = 1; divisor * divisor <= number; divisor += 1) {
    if (number % divisor === 0) found.add(divisor).add(number / divisor);
  }
  return [...found].sort((a, b) => a - b);
}

function* product(lists) {
  if (!lists.length) {
    yield [];
    return;
  }
  for (const first of lists[0]) for (const rest of product(lists.slice(1))) yield [first, ...rest];
}

function* filling(lists, npus) {
  if (!lists.length) {
    if (npus === 1) yield [];
    return;
  }
  const [first, ...others] = lists;
  for (const degree of first ?? (others.length ? divisors(npus) : [npus])) {
    if (npus % degree === 0) for (const rest of filling(others, npus / degree)) yield [degree, ...rest];
  }
}

function namesIn({ name, of = [] }) {
  return name === undefined ? of.flatMap(namesIn) : [name];
}

/** Reads a name that is not of the strategy. */
function valueOf(name, scenario, npus) {
  const value = name === "npus" ? npus : at(scenario, name.split("."));
  if (value === undefined || value === null || typeof value === "object") {
    throw inputError(`a constraint needs ${name}, which this page does not know`);
  }
  return value;
}

/** The values that constraints read of model and system, by name. */
function valuesRead(axes, { constraints }, scenario, npus) {
  const names = constraints.flatMap(({ tree }) => namesIn(tree)).filter((name) => !axes.some((axis) => axis.name === name));
  return new Map(names.map((name) => [name, valueOf(name, scenario, npus)]));
}

/** Calls `add(values)` for each plan, values of axes in their order; yields now and then, so that others may run. */
function* enumerate(axes, space, scenario, npus, add) {
  const lists = new Map(axes.map(({ name, default: usual }) => [name, space.choices[name] === undefined ? [usual] : space.choices[name]]));
  const degrees = axes.filter(({ kind }) => kind === "degree").map(({ name }) => name);
  const options = axes.filter(({ kind }) => kind !== "degree").map(({ name }) => name);
  const isOpen = degrees.some((name) => lists.get(name) === null);
  const place = new Map(axes.map(({ name }, index) => [name, index]));
  const values = axes.map(({ name }) => lists.get(name)?.[0]);
  const varied = options.filter((name) => lists.get(name).length !== 1);
  const constraints = space.constraints.map((each) => ({ names: [...new Set(namesIn(each.tree))], holds: condition(each) }));
  const outer = valuesRead(axes, space, scenario, npus);
  const read = (name) => (place.has(name) ? values[place.get(name)] : outer.get(name));
  const asked = Array.from({ length: varied.length + 1 }, () => []);
  for (const { names, holds } of constraints) {
    const isOfStrategy = names.some((name) => place.has(name));
    if (!isOfStrategy) {
      if (!holds(read)) return;
      continue;
    }
    asked[Math.max(0, ...varied.map((field, index) => (names.includes(field) ? index + 1 : 0)))].push(holds);
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
  for (const chosen of isOpen ? filling(all, npus) : product(all)) {
    chosen.forEach((value, index) => { values[place.get(degrees[index])] = value; });
    walk(0);
    count += 1;
    if (count % SLICE === 0) yield;
  }
}

const AXES = FIELDS.map((name) => ({ name, kind: DEGREES.includes(name) ? "degree" : "flag", default: OPTIONS.includes(name) ? false : 1 }));

function strategiesOf(space, scenario) {
  const found = [];
  const add = (values) => found.push(Object.fromEntries(FIELDS.map((name, index) => [name, values[index]])));
  for (const _ of enumerate(AXES, space, scenario, npusOf(scenario.system), add)); // at once
  return found;
}

// Why there is no strategy for this many NPUs.
function emptiness({ choices, constraints }, npus) {
  const listed = DEGREES.filter((name) => choices[name] !== null).map((name) => `${name} [${(choices[name] ?? [1]).join(", ")}]`).join(", ");
  return `no strategy of the space is left for ${npus} NPUs`
    + (listed ? `: its degrees are ${listed}` : "") + `, its constraints ${constraints.map(({ text }) => text).join("; ") || "none"}`;
}

// Why strategies cannot be enumerated here, or "".
function unreadable(space, scenario) {
  try {
    strategiesOf(space, scenario);
    return "";
  } catch (error) {
    return error.message;
  }
}

export {
  base, withChanges, allowed, parsed, npusOf, enumerate, valuesRead, strategiesOf, emptiness, inputError, unreadable,
};
