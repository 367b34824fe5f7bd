// Training runs of predicted steps, by the engine: what it is asked, and the columns that it finds.
import { wholeParts } from "./figures.js";
import { steps_of_tokens } from "./rules.js";

const INPUTS = 6; // figures of a step that the engine takes

/** How many steps a run has; null where its length is not given. */
function stepsOf({ tokens, steps }, model) {
  if (steps) return steps;
  return tokens ? Number(steps_of_tokens(...[tokens, model.batch_size, model.seq_len].map(BigInt))) : null;
}

/** The request of the engine: the record of the run with the figures of the form. */
function requestOf({ given, record, model, cluster, steps, operations }) {
  const run = {
    ...record, spares: "spares" in given ? given.spares : record.spares,
    store: { ...record.store, total_gbps: given.storage_gbps, node_gbps: given.node_gbps }, facility: { ...record.facility, pue: given.pue },
  };
  return { model, cluster, run, steps, step_flops: operations, price: given.price };
}

/** Writes into `columns` the runs of rows, whose steps stand there. */
class TrainingRuns {
  constructor(find, facts, plans) {
    Object.assign(this, { find, facts, plans });
    this.isCompute = facts.parts.map((name) => facts.compute_parts.includes(name));
  }

  // As `gpu_time_ns` of a study: whole ns of the parts in which an NPU computes.
  computeNs(columns, row) {
    const { parts } = this.facts;
    const whole = wholeParts(parts.map((name) => columns[`part_${name}`][row]), columns.wall_time_ns[row]);
    return whole.reduce((sum, value, index) => sum + (this.isCompute[index] ? value : 0), 0);
  }

  write(columns, rows) {
    const { facts, plans } = this;
    const steps = new Float64Array(rows.length * INPUTS);
    rows.forEach((row, index) => {
      const plan = plans.at(row);
      const times = [columns.wall_time_ns[row], this.computeNs(columns, row), columns.low_ns[row], columns.high_ns[row]];
      steps.set([...times.map((ns) => ns / 1e9), facts.frameworks[plan.framework].memory.optimizer_bytes, plan.dp], index * INPUTS);
    });
    const found = this.find(steps, rows.length);
    const names = facts.run_columns;
    rows.forEach((row, index) => names.forEach((name, place) => { columns[name][row] = found[index * names.length + place]; }));
  }
}

export { requestOf, stepsOf, TrainingRuns };
