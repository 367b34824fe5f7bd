// The numbers of a system that can vary around a point, as dse.answers.whatif.parameters, and how a time follows one of them.
import { rounded } from "../../../base/pages/numbers.js";

const FACTORS = [0.5, 0.8, 1.25, 2];
const STEP = 0.01; // relative step of the central difference of elasticities
const LOG_BITS = 128n;

// What can vary, in the order of the command: a figure that is 0 or has no effect is left out.
function parametersOf(system) {
  const found = [];
  const add = (key, value, resource, more = {}) => {
    if (value > 0) found.push({ key: `system.${key}`, value, resource, is_integer: false, computes: false, ...more });
  };
  if (system.roofline_enabled && !system.replay_only) {
    add("peak_tflops", system.peak_tflops, "compute", { computes: true });
    add("memory_bandwidth_gbps", system.memory_bandwidth_gbps, "memory bandwidth", { computes: true });
  }
  for (const [name, what] of [["bandwidth_gbps", "bandwidth"], ["latency_ns", "latency"]]) {
    system.network.forEach((dimension, index) => {
      if ((dimension.file ?? null) !== null) return; // it stands in the file
      add(`network.${index}.${name}`, dimension[name], `${what} of network dimension ${index}`);
    });
  }
  if (system.injection_scale > 0) {
    add("endpoint_delay_ns", system.endpoint_delay_ns, "endpoint delay", { is_integer: true });
  }
  return found;
}

// The value times a factor; an integer is rounded, and at least 1.
function scaled(parameter, factor) {
  const value = parameter.value * factor;
  return parameter.is_integer ? Math.max(1, rounded(value)) : value;
}

// The values of the central difference: 1 % away; of an integer at least 1 away, and above 0.
function neighbours({ value, is_integer: isInteger }) {
  if (!isInteger) return [value * (1 - STEP), value * (1 + STEP)];
  const away = Math.max(1, rounded(value * STEP));
  return [Math.max(1, value - away), value + away];
}

// A scenario with another value of one key, such as "system.network.0.bandwidth_gbps".
function applied(scenario, key, value) {
  const replaced = (whole, [first, ...rest]) => {
    const copy = Array.isArray(whole) ? [...whole] : { ...whole };
    copy[first] = rest.length ? replaced(whole[first], rest) : value;
    return copy;
  };
  return replaced(scenario, key.split("."));
}

// The logarithm of a positive number, rounded correctly: Math.log of a browser may be a last bit beside that of Python.
function exactLog(value) {
  const exponent = Math.round(Math.log2(value));
  const mantissa = value / 2 ** exponent; // in [0.7, 1.5], exact
  const one = 1n << LOG_BITS;
  const fixed = BigInt(mantissa * 2 ** 60) << (LOG_BITS - 60n);
  const sum = exponent ? BigInt(exponent) * atanhTwice(one / 3n, one) : 0n; // ln 2 = 2 atanh(1/3)
  return Number(sum + atanhTwice(((fixed - one) << LOG_BITS) / (fixed + one), one)) / Number(one);
}

// 2 atanh(z) by its series, in fixed point.
function atanhTwice(z, one) {
  const square = (z * z) / one;
  let sum = 0n;
  for (let power = z, odd = 1n; power !== 0n && power !== -1n; power = (power * square) / one, odd += 2n) sum += power / odd;
  return 2n * sum;
}

// d ln(wall time) / d ln(parameter) between two values; null where a time is missing.
function elasticity([below, above], [timeBelow, timeAbove]) {
  if (!timeBelow || !timeAbove) return null;
  return (exactLog(timeAbove) - exactLog(timeBelow)) / (exactLog(above) - exactLog(below));
}

export { FACTORS, parametersOf, scaled, neighbours, applied, exactLog, elasticity };
