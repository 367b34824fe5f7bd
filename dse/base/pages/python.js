// Python as far as translated.py needs it: whole numbers are BigInt, so that 1 and 1.0 differ and no size is rounded.

class InputError extends Error {
  constructor(message) {
    super(message);
    this.kind = "input";
  }
}

class ValueError extends Error {}

/** The arguments of a call that have names; they stand last. */
class Keywords {
  constructor(pairs) {
    this.values = new Dict(pairs);
  }
}

const slot = (key) => (Array.isArray(key) ? JSON.stringify(key) : key);

class Dict {
  constructor(pairs = []) {
    this.slots = new Map();
    for (const [key, value] of pairs) this.set(key, value);
  }
  set(key, value) { this.slots.set(slot(key), [key, value]); }
  has(key) { return this.slots.has(slot(key)); }
  get(key, usual = null) { return this.has(key) ? this.slots.get(slot(key))[1] : usual; }
  setdefault(key, value) {
    if (!this.has(key)) this.set(key, value);
    return this.get(key);
  }
  take(key) {
    const value = this.get(key);
    this.slots.delete(slot(key));
    return value;
  }
  keys() { return [...this]; }
  items() { return [...this.slots.values()]; }
  values() { return this.items().map(([, value]) => value); }
  * [Symbol.iterator]() { for (const [key] of this.slots.values()) yield key; }
}

/** A dataclass or a named tuple; `fields` of a class are [name, default or null, what reads plain data or null]. */
class Record {
  constructor(...given) {
    const { fields } = this.constructor;
    const defaults = Object.fromEntries(fields.filter(([, make]) => make));
    bind(given, fields.map(([name]) => name).join(" "), { defaults }).forEach((value, index) => { this[fields[index][0]] = value; });
    this.__post_init__?.();
  }
  * [Symbol.iterator]() { for (const [name] of this.constructor.fields) yield this[name]; }
}

/** The values of the parameters of a function: `names`, then the rest of the places, `keys`, then other names. */
function bind(given, names, { keys = [], rest = false, others = false, defaults = {} } = {}) {
  const named = given.at(-1) instanceof Keywords ? given.pop().values : new Dict();
  const take = (name, index) => {
    if (index < given.length) return given[index];
    if (named.has(name)) return named.take(name);
    if (name in defaults) return defaults[name]();
    throw new TypeError(`no value for ${name}`);
  };
  const placed = names ? names.split(" ") : [];
  const values = placed.map(take);
  if (rest) values.push(given.slice(placed.length));
  values.push(...keys.map((name) => take(name, Infinity)));
  if (others) values.push(named);
  else if (named.slots.size) throw new TypeError(`unknown arguments ${named.keys()}`);
  return values;
}

// ---- values
const isNumber = (value) => ["bigint", "number", "boolean"].includes(typeof value);
const whole = (value) => (typeof value === "boolean" ? BigInt(value) : value);

function truth(value) {
  if (Array.isArray(value)) return value.length > 0;
  if (value instanceof Dict) return value.slots.size > 0;
  return value instanceof Set ? value.size > 0 : Boolean(value) || Number.isNaN(value);
}

function equal(a, b) {
  if (isNumber(a) && isNumber(b)) return a == b;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((value, index) => equal(value, b[index]));
  if (a instanceof Dict && b instanceof Dict) return a.slots.size === b.slots.size && a.items().every(([key, value]) => b.has(key) && equal(value, b.get(key)));
  if (a instanceof Record && a.constructor === b?.constructor) return equal([...a], [...b]);
  return a === b;
}

function within(value, all) {
  if (typeof all === "string") return all.includes(value);
  return all instanceof Dict ? all.has(value) : [...all].some((each) => equal(value, each));
}

const both = (action) => (a, b) => {
  [a, b] = [whole(a), whole(b)];
  return typeof a === typeof b ? action(a, b) : action(Number(a), Number(b));
};
const add = (a, b) => (Array.isArray(a) ? [...a, ...b] : typeof a === "string" ? a + b : both((x, y) => x + y)(a, b));
const sub = (a, b) => (a instanceof Set ? new Set([...a].filter((each) => !b.has(each))) : both((x, y) => x - y)(a, b));
const mul = (a, b) => (Array.isArray(a) ? Array.from({ length: Number(b) }, () => a).flat() : both((x, y) => x * y)(a, b));
const div = (a, b) => Number(a) / Number(b);
const pow = both((a, b) => a ** b);
const mod = both((a, b) => ((a % b) + b) % b);
const floordiv = both((a, b) => (typeof a === "bigint" ? (a - mod(a, b)) / b : Math.floor(a / b)));
const divmod = (a, b) => [floordiv(a, b), mod(a, b)];
const or = (a, b) => (truth(a) ? a : b());
const and = (a, b) => (truth(a) ? b() : a);

const TYPES = {
  int: (value) => typeof value === "bigint" || typeof value === "boolean", float: (value) => typeof value === "number",
  bool: (value) => typeof value === "boolean", str: (value) => typeof value === "string",
  list: (value) => Array.isArray(value), dict: (value) => value instanceof Dict,
};
const isinstance = (value, types) => types.some((type) => (typeof type === "string" ? TYPES[type](value) : value instanceof type));

// ---- texts
function repr(value) {
  if (typeof value !== "string") return str(value);
  const mark = value.includes("'") && !value.includes('"') ? '"' : "'";
  const escaped = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", [mark]: `\\${mark}` };
  return mark + [...value].map((each) => escaped[each] ?? (isprintable(each) ? each : code(each.codePointAt(0)))).join("") + mark;
}
function code(point) {
  const [letter, digits] = point < 0x100 ? ["x", 2] : point < 0x10000 ? ["u", 4] : ["U", 8];
  return `\\${letter}${point.toString(16).padStart(digits, "0")}`;
}
const isprintable = (text) => !/[^ \P{Z}]|\p{C}/u.test(text);

function str(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number") return floatText(value);
  if (Array.isArray(value)) return `[${value.map(repr).join(", ")}]`;
  if (value instanceof Dict) return `{${value.items().map(([key, each]) => `${repr(key)}: ${repr(each)}`).join(", ")}}`;
  return String(value);
}
function floatText(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  const [digits, power] = value.toExponential().split("e");
  if (value && (Number(power) < -4 || Number(power) > 15)) return `${digits}e${power[0]}${power.slice(1).padStart(2, "0")}`;
  const text = Object.is(value, -0) ? "-0" : value.toString().includes("e") ? value.toFixed(-Number(power) + digits.length) : value.toString();
  return text.includes(".") ? text : `${text}.0`;
}
/** A number with so many digits, as `.3g` writes it. */
function general(value, digits) {
  const [figures, power] = Number(value).toExponential(digits - 1).split("e");
  const plain = -4 <= power && power < digits ? Number(value).toPrecision(digits) : figures;
  const short = plain.includes(".") ? plain.replace(/\.?0+$/, "") : plain;
  return plain === figures && Number(power) !== 0 ? `${short}e${power[0]}${power.slice(1).padStart(2, "0")}` : short;
}

// ---- what lists and texts can do; all else has methods of its own
const METHODS = {
  append: (list, value) => { list.push(value); return null; },
  index: (list, value) => BigInt(list.findIndex((each) => equal(each, value))),
  count: (list, value) => (typeof list === "string" ? BigInt(list.split(value).length - 1) : BigInt(list.filter((each) => equal(each, value)).length)),
  join: (text, parts) => [...parts].join(text), lower: (text) => text.toLowerCase(), isprintable,
  split: (text, by) => text.split(by), format: (text, value) => text.replace("{}", str(value)),
  rsplit: (text, by, most) => {
    const parts = text.split(by);
    const kept = Math.max(0, parts.length - Number(most) - 1);
    return [parts.slice(0, kept + 1).join(by), ...parts.slice(kept + 1)];
  },
};
const call = (target, name, ...given) => (Array.isArray(target) || typeof target === "string" ? METHODS[name](target, ...given) : target[name](...given));

function item(all, key) {
  if (!(all instanceof Dict)) return all.at(Number(key));
  if (!all.has(key)) throw new TypeError(`no ${str(key)}`);
  return all.get(key);
}
const slice = (all, from, to) => all.slice(from === null ? 0 : Number(from), to === null ? undefined : Number(to));
const put = (all, key, value) => (Array.isArray(all) ? (all[Number(key)] = value) : all.set(key, value));

// ---- functions that are built in or of the standard library
const len = (all) => BigInt(typeof all === "string" ? [...all].length : all.length ?? all.size ?? all.slots.size);
function range(...ends) {
  const [from, to, step] = ends.length === 1 ? [0n, ends[0], 1n] : [...ends, 1n];
  const found = [];
  for (let at = from; step > 0n ? at < to : at > to; at += step) found.push(at);
  return found;
}
const list = (all = []) => [...all];
const set = (all = []) => new Set(all);
const dict = (all = new Dict()) => new Dict(all instanceof Dict ? all.items() : all);
const fromkeys = (keys, value = null) => new Dict([...keys].map((key) => [key, value]));
const zip = (...all) => {
  const lists = all.filter((each) => !(each instanceof Keywords)).map((each) => [...each]);
  return lists[0].map((_, index) => lists.map((each) => each[index]));
};
const enumerate = (values) => [...values].map((value, index) => [BigInt(index), value]);
const real = Number;
const sum = (all) => [...all].reduce(add, 0n);
const prod = (all) => [...all].reduce(mul, 1n);
const any = (all) => [...all].some(truth);
const all = (values) => [...values].every(truth);
const least = (...given) => (given.length > 1 ? given : [...given[0]]).reduce((a, b) => (b < a ? b : a));
const most = (...given) => (given.length > 1 ? given : [...given[0]]).reduce((a, b) => (b > a ? b : a));
const sorted = (values) => [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
function groupby(values, key = (value) => value) {
  const runs = [];
  for (const value of values) {
    const own = key(value);
    if (runs.length && equal(runs.at(-1)[0], own)) runs.at(-1)[1].push(value);
    else runs.push([own, [value]]);
  }
  return runs;
}

const pairwise = (values) => values.slice(1).map((value, index) => [values[index], value]);

/** Plain data as a record: groups are the records that its fields are, and real numbers are no BigInt. */
function converted(value, record) {
  if (value === null || value instanceof Record) return value;
  const reads = new Map(record.fields.map(([name, , read]) => [name, read]));
  return new record(new Keywords(value.items().map(([name, each]) => [name, each === null ? null : (reads.get(name) ?? ((same) => same))(each)])));
}

/** The nearest of some words by the share of letters that both have in the same order, from 0.6; as difflib. */
function nearest(word, known) {
  const common = (a, b) => {
    let [size, left, right] = [0, 0, 0];
    for (let i = 0; i < a.length; i += 1) {
      for (let j = 0; j < b.length; j += 1) {
        let same = 0;
        while (i + same < a.length && j + same < b.length && a[i + same] === b[j + same]) same += 1;
        if (same > size) [size, left, right] = [same, i, j];
      }
    }
    return size ? size + common(a.slice(0, left), b.slice(0, right)) + common(a.slice(left + size), b.slice(right + size)) : 0;
  };
  const shares = known.map((each) => [each.length + word.length ? (2 * common(each, word)) / (each.length + word.length) : 1, each]);
  return shares.filter(([share]) => share >= 0.6).sort(([a, one], [b, other]) => b - a || (one < other ? 1 : -1)).slice(0, 1).map(([, each]) => each);
}

// ---- to and from JSON
/** What a value is as plain JSON; whole numbers that JavaScript would round are refused. */
function plain(value) {
  if (typeof value === "bigint") {
    if (!Number.isSafeInteger(Number(value))) throw new InputError(`the number ${value} is too large for this page`);
    return Number(value);
  }
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Dict) return Object.fromEntries(value.items().map(([key, each]) => [key, plain(each)]));
  if (value instanceof Record) return Object.fromEntries(value.constructor.fields.map(([name]) => [name, plain(value[name])]));
  return value;
}

/** Plain JSON as values here; its whole numbers are those that are safe. */
function lifted(value) {
  if (Number.isSafeInteger(value)) return BigInt(value);
  if (Array.isArray(value)) return value.map(lifted);
  const isPlain = value && typeof value === "object" && !(value instanceof Record);
  return isPlain ? new Dict(Object.entries(value).map(([key, each]) => [key, lifted(each)])) : value;
}

export {
  Dict, InputError, Keywords, Record, ValueError, add, all, and, any, bind, call, converted, dict, div, divmod, enumerate, equal, floordiv, fromkeys, general, groupby, isinstance, item,
  least, len, lifted, list, mod, most, mul, nearest, or, pairwise, plain, pow, prod, put, range, real, repr, set, slice, sorted, str, sub, sum, truth, within, zip,
};
