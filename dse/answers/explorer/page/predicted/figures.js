// Columns of figures from what the engine predicts: times in whole ns, sizes in bytes, shares, intervals.
import { rounded } from "../../../../base/pages/numbers.js";

const NONE = NaN;

/** Looks up `[low, high]` of a kind of steps, null where nothing was measured; `kind` has its six features. */
function intervalOf(tree, measured, kind) {
  let node = tree;
  for (const name of ["framework", "blocks", "accelerator", "bits", "context", "scale"]) {
    const below = node[String(kind[name])];
    node = below ?? node["*"];
    if (!below) break;
  }
  return measured.includes(kind.accelerator) ? node.known : node.unknown;
}

/** The figures of one plan from the engine's: parts in seconds, memory in bytes, and what follows from them. */
class Figures {
  constructor({ parts, categories, facts }) {
    this.parts = parts;
    this.categories = categories;
    this.partNames = parts.map((name) => `part_${name}`);
    this.memoryNames = categories.map((name) => `memory_${name}`);
    this.facts = facts; // tokens, operations, peak in operations per ns, npus
  }

  static names(parts, categories) {
    return ["wall_time_ns", "low_ns", "high_ns", "peak_memory_bytes", "mfu_pct", "tokens_per_s", "bubble_share",
      ...parts.map((name) => `part_${name}`), ...categories.map((name) => `memory_${name}`)];
  }

  /** Writes into `columns` (arrays by name) at a row from `raw` at an offset. */
  write(columns, row, raw, offset, interval) {
    const { parts, categories, partNames, memoryNames, facts } = this;
    let stepS = 0;
    for (let index = 0; index < parts.length; index += 1) {
      const seconds = raw[offset + index];
      stepS += seconds;
      columns[partNames[index]][row] = seconds * 1e9;
    }
    let peak = 0;
    for (let index = 0; index < categories.length; index += 1) {
      const size = rounded(raw[offset + parts.length + index]);
      columns[memoryNames[index]][row] = size;
      peak += size;
    }
    const wall = rounded(stepS * 1e9);
    columns.wall_time_ns[row] = wall;
    columns.low_ns[row] = interval ? rounded(stepS * interval[0] * 1e9) : NONE;
    columns.high_ns[row] = interval ? rounded(stepS * interval[1] * 1e9) : NONE;
    columns.peak_memory_bytes[row] = peak;
    columns.bubble_share[row] = raw[offset + parts.length + categories.length];
    columns.tokens_per_s[row] = wall ? (facts.tokens * 1e9) / wall : NONE;
    const possible = facts.peak_tflops * 1e3 * wall * facts.npus;
    columns.mfu_pct[row] = possible ? (100 * facts.operations) / possible : NONE;
  }
}

/** The parts of a time in whole ns, which sum to it exactly: what rounding loses goes to those that lost most. */
function wholeParts(exactNs, wall) {
  const found = exactNs.map(Math.floor);
  const missing = wall - found.reduce((sum, each) => sum + each, 0);
  const byLoss = exactNs.map((_, index) => index).sort((a, b) => found[a] - exactNs[a] - (found[b] - exactNs[b]));
  for (let place = 0; place < Math.abs(missing); place += 1) found[byLoss[place % byLoss.length]] += missing > 0 ? 1 : -1;
  return found;
}

export { Figures, intervalOf, wholeParts };
