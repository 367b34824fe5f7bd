// A cluster and a model as the engine predicts them, from their figures as they stand in the form.
import { inputError, npusOf } from "./plans.js";

function nicsOf(tier, index, npusPerNode) {
  let each = Math.ceil(npusPerNode / tier.nics_per_node);
  while (npusPerNode % each) each += 1;
  return { tier: index, npus_each: each, bandwidth_gbps: (tier.nics_per_node * tier.nic_gbit_per_s) / 8 / npusPerNode };
}

/** The record of a system, as dse.inputs.accelerators.cluster makes it. */
function clusterOf(system) {
  const { npus_per_node: each, accelerator } = system;
  const total = npusOf(system);
  const tiers = [];
  let rate = null;
  let nics = null;
  for (const [index, spec] of system.tiers.entries()) {
    const isLast = index === system.tiers.length - 1;
    const joined = spec.npus ?? (isLast && index ? total : each);
    const given = spec.bandwidth_gbps ?? (spec.nics_per_node != null ? (spec.nics_per_node * spec.nic_gbit_per_s) / 8 / each : rate);
    rate = given / (spec.oversubscription ?? 1);
    if (tiers.length && tiers.at(-1).npus >= total) break;
    if (index && nics === null && spec.nics_per_node != null) nics = nicsOf(spec, index, each);
    tiers.push({
      name: spec.name, npus: Math.min(joined, total), bandwidth_gbps: rate, latency_us: spec.latency_us,
      in_switch_efficiency: spec.in_switch_efficiency ?? null,
    });
  }
  const last = tiers.at(-1);
  if (last.npus < total) throw inputError(`cluster ${system.name} has ${total} NPUs, but its last tier, ${last.name}, joins ${last.npus}`);
  tiers.forEach((tier, index) => {
    const below = tiers[index - 1];
    if (below && (tier.npus < below.npus || (tier.npus % below.npus && tier !== last))) {
      throw inputError(`tier ${tier.name} of cluster ${system.name} joins ${tier.npus} NPUs; it must be a multiple of the ${below.npus} that ${below.name} joins`);
    }
  });
  const { efficiency = {} } = accelerator; // what is as by default stands in the record only
  return {
    name: system.name,
    tensor_algorithm: system.group_algorithms?.tp ?? "auto", data_algorithm: system.group_algorithms?.dp ?? "auto",
    accelerator: {
      ...system.record, peak_tflops: accelerator.peak_tflops, memory_bandwidth_gbps: accelerator.memory_bandwidth_gbps, ...efficiency,
      matrix_4bit: efficiency.matrix_4bit ?? efficiency.matrix_8bit ?? system.record.matrix_4bit,
    },
    tiers, nics,
  };
}

const recordOf = (model) => ({ ...model.record, batch_size: model.batch_size, seq_len: model.seq_len });

// As dse.inputs.models.mixers counts the keys of a token.
function meanKeys(kind, tokens) {
  const most = kind.latest_keys;
  if (most === null) return tokens / 2;
  if (kind.is_chunked) {
    const rest = tokens % most;
    return (((tokens - rest) / most) * most ** 2 + rest ** 2) / (2 * tokens);
  }
  const seen = Math.min(most, tokens);
  return seen - seen ** 2 / (2 * tokens);
}

/** The operations of a step, as dse.inputs.models.flops counts them. */
function operationsOf(model) {
  const { record, seq_len: tokens } = model;
  const mixed = (kind) => {
    if (kind.mixer === 3) return 6 * kind.state_elements;
    if (kind.mixer === 0) return 0;
    const found = 2 * meanKeys(kind, tokens) * record.num_heads * (record.key_width + record.value_width);
    return found + (record.sparse ? 2 * (tokens / 2) * record.sparse.heads * record.sparse.head_dim : 0);
  };
  const scores = 3 * record.runs.reduce((sum, { kind, count }) => sum + count * mixed(record.kinds[kind]), 0);
  return (record.flops.matrix_products + scores + record.flops.logits) * tokens * model.batch_size;
}

export { clusterOf, recordOf, operationsOf };
