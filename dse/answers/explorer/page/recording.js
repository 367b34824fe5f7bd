// Reads a recording of one point: its decisive ranks, the axes of its groups, the names of its operators.
import { DEGREES, strategyOf } from "./strategy.js";

const NEVER = -1; // the end of a node that does not end, the death of a tensor that nobody reads

// ---- names of operators, as the generator of workloads writes them
const NAME = new RegExp(
  "^(?<shadow>shadow_)?(?:batch_(?<batch>\\d+)_)?"
  + "(?:(?<embedding>in_emb|out_emb)|stack_(?<layer>\\d+)_(?<half>mha|ffn))"
  + "_(?<operator>\\w+)@(?<version>[01])(?<rest>.*)$",
);
const TITLES = { in_emb: "input embedding", out_emb: "output embedding", mha: "attention", ffn: "mlp" };
const ROLES = [
  [/^w[qkvo123]?$/, "weight"],
  [/^w[qkvo123]?_state$/, "optimizer_state"],
  [/^d_?w[qkvo123]?(_reduced|_shard|_sum)?$/, "gradient"],
  [/^\w+_(all|again)$/, "gathered"],
  [/^drop(_recomp)?$/, "activation"], // begins with d although it is no gradient
];

function roleOf(operator, isShadow) {
  if (isShadow) return "received";
  const found = ROLES.find(([pattern]) => pattern.test(operator));
  return found ? found[1] : operator.startsWith("d") ? "activation_gradient" : "activation";
}

function readName(text) {
  const match = NAME.exec(text);
  if (!match) return null;
  const { shadow, batch, embedding, layer: digits, half, operator, version } = match.groups;
  const layer = digits === undefined ? null : Number(digits);
  const block = TITLES[embedding ?? half];
  const label = version === "1" ? `${operator} update` : operator;
  return {
    layer, block, label, title: `${layer === null ? block : `layer ${layer} ${block}`} ${label}`,
    micro_batch: batch === undefined ? null : Number(batch),
    isRecompute: operator.endsWith("_recomp"), role: roleOf(operator, shadow !== undefined),
  };
}

const names = new Map(); // all points of a model share their names
function parseName(text) {
  let name = names.get(text);
  if (name === undefined) {
    if (names.size >= 65536) names.clear();
    names.set(text, (name = readName(text)));
  }
  return name;
}

// ---- groups
const npusOf = (strategy) => DEGREES.reduce((product, axis) => product * strategy[axis], 1);

// The groups of a recording with all their members and a title; none are listed where all ranks are members.
function groupsOf({ row, groups }) {
  return groups.map((group) => {
    if (group.by_dimension) return { ...group, title: "comm over network dimensions" };
    const members = group.members.length ? [...group.members] : Array.from({ length: npusOf(row) }, (_, rank) => rank);
    const shown = members.length > 8 ? [...members.slice(0, 6), "…", members.at(-1)] : members;
    return { ...group, members, title: `${group.axis ?? "comm"} group {${shown.join(",")}}` };
  });
}

// ---- ranks
// (time_ns, bytes) after the births and deaths of each tick that has any.
function memoryCurve({ bytes, birth_ns, death_ns }) {
  const changes = [];
  for (let index = 0; index < bytes.length; index += 1) {
    changes.push([birth_ns[index], bytes[index]]);
    if (death_ns[index] !== NEVER) changes.push([death_ns[index], -bytes[index]]);
  }
  changes.sort((a, b) => a[0] - b[0]);
  const curve = [];
  let total = 0;
  changes.forEach(([time, change], index) => {
    total += change;
    if (index + 1 === changes.length || changes[index + 1][0] !== time) curve.push([time, total]);
  });
  return curve;
}

const peakOf = (entry) => memoryCurve(entry.tensors).reduce((most, [, size]) => Math.max(most, size), 0);

// The rank whose time a row tells, and the one with the largest peak, the lowest on ties.
const lastRank = ({ row, ranks }) => ranks.find((entry) => entry.rank === row.last_rank) ?? ranks[0];
function fullestRank({ ranks }) {
  if (ranks.length === 1) return ranks[0];
  const peaks = ranks.map(peakOf);
  return ranks[peaks.indexOf(Math.max(...peaks))];
}

// ---- recordings are made once and shared by the views of a point
const KEPT = 6;
function cache() {
  const kept = new Map();
  return function recorded(engine, scenario, row, signal) {
    const key = `${row.label} ${JSON.stringify(scenario)}`;
    let entry = kept.get(key);
    kept.delete(key); // and set again: the latest asked for is the last
    if (!entry || (!entry.isDone && entry.signal?.aborted)) {
      const made = { signal, isDone: false };
      made.promise = engine.record(scenario, strategyOf(row), { signal }).then(
        (recording) => { made.isDone = true; return recording; },
        (problem) => { if (kept.get(key) === made) kept.delete(key); throw problem; },
      );
      entry = made;
    }
    kept.set(key, entry);
    for (const old of kept.keys()) if (kept.size > KEPT) kept.delete(old);
    return entry.promise;
  };
}

const recorded = cache();

export { NEVER, parseName, groupsOf, memoryCurve, lastRank, fullestRank, cache, recorded };
