// A cluster and a model as the engine predicts them, from their figures as they stand in the form.
import { lifted, plain } from "../../../../base/pages/python.js";
import { inputError, npusOf } from "./plans.js";
import { predictable } from "./rules.js";

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

const known = new WeakMap(); // a request asks twice

/** What predicts steps of a model: its record as the engine takes it, and the operations of a step. */
function predictableOf(model) {
  if (!known.has(model)) known.set(model, plain(predictable(lifted(model))));
  return known.get(model);
}

export { clusterOf, predictableOf };
