// The command lines that reproduce a state in a terminal, as exact overrides of the configuration.
import * as format from "./format.js";

const BARE = /^[A-Za-z_][A-Za-z0-9_./+-]*$/;
const WORDS = new Set(["null", "true", "false", "nan", "inf"]);

// A value in the grammar of Hydra's overrides. JavaScript writes numbers as short as they read back, as Python.
function hydra(value) {
  if (value === null) return "null";
  if (typeof value !== "string") return String(value);
  if (BARE.test(value) && !WORDS.has(value.toLowerCase())) return value;
  return `'${value.replace(/(\\*)('|$)/g, (_, slashes, end) => slashes + slashes + (end ? `\\${end}` : ""))}'`;
}

// As shlex.quote.
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);
const keyOf = (word) => (word.includes("=") ? word.slice(0, word.indexOf("=")) : "");

// The words of a command line as shlex.join writes it, without their quotes.
function shellWords(text) {
  const found = text.match(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g) ?? [];
  return found.map((word) => word.replace(/'([^']*)'|"([^"]*)"/g, (_, single, double) => single ?? double));
}

// The words that lead from conf/ to a state: presets and changes take the place of what the page began with.
function words(command, data, state) {
  let all = shellWords(command);
  for (const group of ["model", "system"]) {
    const name = state.preset[group];
    const preset = name !== null && data.presets[`${group}s`].find((each) => each.name === name);
    if (!preset) continue;
    const isOfGroup = (word) => keyOf(word) === group || keyOf(word).startsWith(`${group}.`);
    const index = all.findIndex(isOfGroup);
    const before = all.slice(0, index < 0 ? all.length : index).filter((word) => !isOfGroup(word));
    const after = all.slice(before.length).filter((word) => !isOfGroup(word));
    all = [...before, ...(preset.words ?? [`${group}=${hydra(name)}`]), ...after];
  }
  const changes = Object.entries(state.changes).map(([key, value]) => `${key}=${hydra(value)}`);
  return [...all.filter((word) => !(keyOf(word) in state.changes)), ...changes];
}

const line = (all) => `python -m ${all.map(quoted).join(" ")}`;

// A cap changes no row, only which of them is the best: none is not said.
function sweep(data, state) {
  const all = words(data.command, data, state);
  const isAsBefore = state.cap_bytes === data.memory_cap_bytes && state.preset.system === null;
  if (isAsBefore || state.cap_bytes === null) return line(all);
  return line([...all.filter((word) => keyOf(word) !== "memory_cap"), `memory_cap=${format.size(state.cap_bytes)}`]);
}

function point(data, state, strategy) {
  const axes = data.strategy_fields.filter((name) => name in strategy);
  return line([...words(data.point_command, data, state), ...axes.map((name) => `strategy.${name}=${hydra(strategy[name])}`)]);
}

export { hydra, line, point, sweep, words };
