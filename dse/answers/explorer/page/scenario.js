// The scenario of a state: presets, changed fields, what a field allows, and the strategies of the space.
import { condition } from "./constraints.js";
import { number } from "./format.js";
import { DEGREES, FIELDS, OPTIONS } from "./strategy.js";

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

const listOf = (space, name) => (space.choices[name] === undefined ? [OPTIONS.includes(name) ? false : 1] : space.choices[name]);

// Reads the names of constraints; the axes that pages do not vary have one value each.
function reader(space, scenario, strategy) {
  return (name) => {
    if (name in strategy) return strategy[name];
    if (space.choices[name]?.length === 1) return space.choices[name][0];
    const value = name === "npus" ? npusOf(scenario.system) : at(scenario, name.split("."));
    if (value === undefined || value === null || typeof value === "object") {
      throw inputError(`a constraint needs ${name}, which this page does not know`);
    }
    return value;
  };
}

function strategiesOf(space, scenario) {
  const degrees = DEGREES.map((name) => listOf(space, name));
  const npus = npusOf(scenario.system);
  const constraints = space.constraints.map(condition);
  const options = [...product(OPTIONS.map((name) => listOf(space, name)))];
  const found = [];
  for (const chosen of degrees.includes(null) ? filling(degrees, npus) : product(degrees)) {
    for (const others of options) {
      const strategy = Object.fromEntries(FIELDS.map((name, index) => [name, [...chosen, ...others][index]]));
      const read = reader(space, scenario, strategy);
      if (constraints.every((holds) => holds(read))) found.push(strategy);
    }
  }
  return found;
}

// Why there is no strategy for this many NPUs.
function emptiness(space, scenario) {
  const lists = DEGREES.map((name) => [name, listOf(space, name)]).filter(([, list]) => list !== null);
  const listed = lists.map(([name, list]) => `${name} [${list.join(", ")}]`).join(", ");
  return `no strategy of the space is left for ${npusOf(scenario.system)} NPUs`
    + (lists.length ? `: its degrees are ${listed}` : "") + `, its constraints ${space.constraints.map(({ text }) => text).join("; ") || "none"}`;
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
  at, base, withChanges, allowed, parsed, npusOf, filling, product, strategiesOf, emptiness, inputError, unreadable,
};
