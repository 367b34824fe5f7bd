// Why a time is not that of a real machine, as dse.inputs.strategies.divisibility and dse.simulation.simulators.understated know it.
import { npusOf } from "./scenario.js";

const LEGEND = "time in doubt"; // what plots call a point that a table marks
const BYTES_PER_NS = 2 ** 30 / 1e9; // of a network GB/s

const repaired = ({ fidelity, repairs }, name) => repairs?.[name] ?? fidelity === "realistic";

function microBatches(model, { dp, pp }) {
  if (model.micro_batches !== null) return model.micro_batches;
  if (model.fidelity === "stage" || pp === 1 || !repaired(model, "contiguous_stages")) return 1;
  const batch = model.batch_size % dp === 0 ? model.batch_size / dp : model.batch_size;
  let count = 4 * pp;
  while (batch % count !== 0) count -= 1;
  return count;
}

// ---- sequences, tokens and heads that no program can split
function impossibleSplit(model, strategy) {
  const { dp, tp, sp } = strategy;
  const count = microBatches(model, strategy);
  const heads = repaired(model, "block_shapes") ? model.num_kv_heads || model.num_heads : model.num_heads;
  const conditions = [
    [count === 1 ? "dp" : "dp*micro_batches", dp * count, "batch_size", model.batch_size],
    ["sp", sp, "seq_len", model.seq_len],
    ["tp", tp, "num_heads", model.num_heads],
    ["num_heads", model.num_heads, "d_model", model.d_model],
    ...(heads === model.num_heads ? [] : [["tp", tp, "num_kv_heads", heads]]),
  ];
  const texts = conditions.filter(([, divisor, , size]) => size % divisor !== 0).map(([name, divisor, what, size]) => {
    const below = size - (size % divisor);
    return `${name} ${divisor} does not divide ${what} ${size} (nearest multiples of ${divisor}: ${below ? `${below}, ` : ""}${below + divisor})`;
  });
  return texts.join("; ") || null;
}

// ---- messages that cross slower dimensions than the one that they are charged for
const crossings = new Map();

// Pairs "low high" of the dimension that is charged and one that is crossed too, of neighbours in groups of
// `degree` ranks, `stride` apart; a rank's neighbour is the next one, the first of the last.
function crossingsOf(shape, stride, degree, isRing) {
  const name = [shape, stride, degree, isRing].join(" ");
  if (crossings.has(name)) return crossings.get(name);
  const pairs = new Set();
  const npus = shape.reduce((product, size) => product * size, 1);
  for (let rank = 0; rank < npus; rank += 1) {
    const isLast = Math.floor(rank / stride) % degree === degree - 1;
    if (isLast && !isRing) continue;
    let [source, target, low] = [rank, isLast ? rank - (degree - 1) * stride : rank + stride, null];
    shape.forEach((size, dimension) => {
      const differs = source % size !== target % size;
      if (differs && low !== null) pairs.add(`${low} ${dimension}`);
      if (differs) low ??= dimension;
      [source, target] = [Math.floor(source / size), Math.floor(target / size)];
    });
  }
  if (crossings.size > 2000) crossings.clear();
  crossings.set(name, pairs);
  return pairs;
}

function slowerPairs(network) {
  const found = new Set();
  network.forEach((low, index) => network.forEach((high, other) => {
    const isSlower = high.bandwidth_gbps * BYTES_PER_NS < low.bandwidth_gbps * BYTES_PER_NS || high.latency_ns > low.latency_ns;
    if (other > index && isSlower) found.add(`${index} ${other}`);
  }));
  return found;
}

function neighbours(model, strategy, system) {
  const names = Object.values(system.collectives).flat();
  const hasLogicalRing = names.some((name) => name.startsWith("one"));
  const npus = npusOf(system);
  const found = [];
  let stride = 1;
  for (const axis of ["dp", "tp", "sp"]) {
    const degree = strategy[axis];
    if (degree > 1 && (degree < npus || hasLogicalRing)) found.push([axis, degree, stride, true]);
    stride *= degree;
  }
  const { pp } = strategy;
  if (pp > 1) found.push(["pp", pp, stride, !repaired(model, "contiguous_stages") && model.num_layers + 2 > pp]);
  return found;
}

const listed = (pairs, side) => [...new Set(pairs.map((pair) => Number(pair.split(" ")[side])))].sort((a, b) => a - b).join(" and ");

function understatedComm(model, strategy, system) {
  if (system.network_model !== "congestion_unaware" || system.replay_only || system.network.length === 1) return null;
  const slower = slowerPairs(system.network);
  if (!slower.size) return null;
  const shape = system.network.map(({ npus }) => npus);
  const texts = neighbours(model, strategy, system).flatMap(([axis, degree, stride, isRing]) => {
    const pairs = [...crossingsOf(shape, stride, degree, isRing)].filter((pair) => slower.has(pair));
    return pairs.length ? [`${axis} ${degree} is charged for dimension ${listed(pairs, 0)}, not for ${listed(pairs, 1)}`] : [];
  });
  return texts.join("; ") || null;
}

// The columns of a row; rows of a study have them. Points without a trace have none.
function of(row, { model, system }) {
  if (row.impossible_split !== undefined) return { understated_comm: row.understated_comm, impossible_split: row.impossible_split };
  if (!["ok", "deadlock"].includes(row.status)) return { understated_comm: null, impossible_split: null };
  return { understated_comm: understatedComm(model, row, system), impossible_split: impossibleSplit(model, row) };
}

// The same of a strategy in another scenario than that of its row.
const elsewhere = ({ understated_comm: _, impossible_split: __, ...row }, scenario) => of(row, scenario);

const parts = (text) => (text ? text.split("; ") : []);

// An entry of the column in plain words.
const crossing = (text) =>
  text.replace(/^(\w+ \d+) is charged for dimension (.+), not for (.+)$/, "$1 crosses dimension $3 but is timed on dimension $2, as in ASTRA-sim");

// The warnings of a point, one sentence each.
function warnings({ understated_comm: understated, impossible_split: split }) {
  return [
    ...parts(split).map((text) => `No program can split this: ${text}`),
    ...parts(understated).map((text) => `Slower links are not in this time: ${crossing(text)}`),
  ];
}

// In few words, for a table.
const mark = (row, { understated_comm: understated, impossible_split: split }) => [
  split ? "impossible split" : row.fractional ? "shards are cut" : "", understated ? "slower links left out" : "",
].filter(Boolean).join(", ");

// How many of the points that finish cannot be believed, and why.
function summary(rows, doubts) {
  const all = rows.map((row) => [row, doubts(row)]);
  const impossible = all.filter(([, { impossible_split: split }]) => split).length;
  const understated = all.filter(([, { understated_comm: text }]) => text).length;
  const cut = all.filter(([row, { impossible_split: split }]) => row.fractional && !split).length;
  const has = (count, text, texts) => (count === 1 ? `1 of ${all.length} points ${text}` : `${count} of ${all.length} points ${texts}`);
  return [
    impossible && `${has(impossible, "splits", "split")} sequences, tokens or heads, which no program can: workload.divisibility=whole makes them infeasible`,
    understated && `${has(understated, "has", "have")} messages that cross slower links than they are charged for, as in the reference: the real time is longer`,
    cut && `${has(cut, "has", "have")} widths of matrices that do not divide, and are cut by less than one row of a shard, where programs pad`,
  ].filter(Boolean);
}

export { LEGEND, of, elsewhere, warnings, mark, summary, repaired };
