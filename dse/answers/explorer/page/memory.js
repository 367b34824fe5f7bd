// What fills the memory of the fullest rank, at its peak and over time (docs/explain.md).
import { NEVER, parseName, memoryCurve, fullestRank } from "./recording.js";

const CATEGORY_OF_ROLE = {
  weight: "weights", optimizer_state: "optimizer_state", gathered: "buffers", gradient: "gradients",
  activation: "activations", activation_gradient: "activation_gradients", received: "buffers",
};
const CATEGORIES = new Set([...Object.values(CATEGORY_OF_ROLE), "inputs", "other"]);
const noBytes = () => Object.fromEntries([...CATEGORIES].map((name) => [name, 0]));

function classify(text, isExternal) {
  const name = parseName(text);
  if (!name) return { category: isExternal ? "inputs" : "other", layer: null, operator: text };
  let category = CATEGORY_OF_ROLE[name.role];
  if (isExternal && category !== "weights" && category !== "optimizer_state") category = "inputs";
  return { category, layer: name.layer, operator: `${name.block} ${name.label}` };
}

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
function largestFirst(a, b) {
  return b.bytes - a.bytes || compare(a.category, b.category) || (a.layer ?? -1) - (b.layer ?? -1)
    || compare(a.operator, b.operator);
}

// The compute node that runs at a time, or else another node that does, or has been sent to the rank.
function runningAt(nodes, time) {
  const order = (kind) => ({ compute: 0, receive: 2 })[kind] ?? 1;
  let found = null;
  for (let index = 0; index < nodes.name.length; index += 1) {
    const end = nodes.end_ns[index];
    if (nodes.start_ns[index] > time || (end >= 0 && end <= time)) continue;
    if (found === null || order(nodes.kind[index]) < order(nodes.kind[found])) found = index;
  }
  return found;
}

// {rank, peak_memory_bytes, at_ns, node, operator, categories, items} when the fullest rank first reaches
// its peak; null where memory is not tracked. `items` are {category, layer, operator, bytes}, largest first.
function atPeak(recording) {
  if (recording.row.peak_memory_bytes === null) return null;
  const { rank, nodes, tensors } = fullestRank(recording);
  let [at, peak] = [0, 0];
  for (const [time, size] of memoryCurve(tensors)) if (size > peak) [at, peak] = [time, size];
  const categories = noBytes();
  const items = new Map();
  for (let index = 0; index < tensors.name.length; index += 1) {
    const death = tensors.death_ns[index];
    if (tensors.birth_ns[index] > at || (death !== NEVER && at >= death)) continue;
    const kind = classify(tensors.name[index], tensors.external[index]);
    const key = `${kind.category}\n${kind.layer}\n${kind.operator}`;
    categories[kind.category] += tensors.bytes[index];
    if (!items.has(key)) items.set(key, { ...kind, bytes: 0 });
    items.get(key).bytes += tensors.bytes[index];
  }
  const running = runningAt(nodes, at);
  const node = running === null ? null : nodes.name[running];
  return {
    rank, peak_memory_bytes: peak, at_ns: at, node, operator: node && (parseName(node)?.title ?? node),
    categories, items: [...items.values()].sort(largestFirst),
  };
}

// The operators that hold most, over all layers: {category, operator, bytes, layers}.
function largestOperators(items, most) {
  const found = new Map();
  for (const { category, layer, operator, bytes } of items) {
    const key = `${category}\n${operator}`;
    if (!found.has(key)) found.set(key, { category, operator, bytes: 0, layers: 0 });
    found.get(key).bytes += bytes;
    found.get(key).layers += layer === null ? 0 : 1;
  }
  return [...found.values()].sort((a, b) => b.bytes - a.bytes).slice(0, most);
}

// The memory of the fullest rank over time, by category, in `most` stretches at most: of each the fullest
// moment and, after it, the last. {time_ns: [], total: [], categories: {name: []}}
function overTime(recording, most = 400) {
  const { tensors } = fullestRank(recording);
  const changes = [];
  for (let index = 0; index < tensors.name.length; index += 1) {
    const { category } = classify(tensors.name[index], tensors.external[index]);
    changes.push([tensors.birth_ns[index], category, tensors.bytes[index]]);
    if (tensors.death_ns[index] !== NEVER) changes.push([tensors.death_ns[index], category, -tensors.bytes[index]]);
  }
  changes.sort((a, b) => a[0] - b[0]);
  const stretch = Math.max(1, recording.row.wall_time_ns / most);
  const stretchOf = (time) => (time > changes[0][0] ? Math.floor(time / stretch) : -1); // the first step stays
  const now = noBytes();
  const curve = { time_ns: [], total: [], categories: Object.fromEntries(Object.keys(now).map((name) => [name, []])) };
  const put = (at, time) => {
    curve.time_ns[at] = time;
    curve.total[at] = total;
    for (const name of Object.keys(now)) curve.categories[name][at] = now[name];
  };
  let [total, place, fullest] = [0, -2, -1];
  changes.forEach(([time, category, change], index) => {
    now[category] += change;
    total += change;
    if (index + 1 < changes.length && changes[index + 1][0] === time) return;
    if (stretchOf(time) !== place) fullest = curve.total.length;
    else if (total > curve.total[fullest]) for (const list of [curve.time_ns, curve.total, ...Object.values(curve.categories)]) list.length = fullest;
    place = stretchOf(time);
    put(Math.min(fullest + 1, curve.total.length), time);
  });
  return curve;
}

export { atPeak, largestOperators, overTime };
