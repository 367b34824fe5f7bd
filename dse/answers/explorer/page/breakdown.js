// Where the wall time goes: each nanosecond of the last rank belongs to exactly one part (docs/explain.md).
import { NEVER, parseName, groupsOf, lastRank } from "./recording.js";

const AXES = ["dp", "tp", "sp", "pp", "comm"];

// What counts where several run at once, most important first.
const PRIORITY = [
  "compute_bound", "memory_bound", "recompute", "other_compute",
  "exposed_dp", "exposed_tp", "exposed_sp", "exposed_comm",
  "remote_memory", "exposed_pp", "pipeline_bubble", "finished",
];
const BIT = Object.fromEntries(PRIORITY.map((part, bit) => [part, bit]));

function partOf(nodes, index, groups) {
  if (nodes.kind[index] === "compute") {
    if (parseName(nodes.name[index])?.isRecompute) return "recompute";
    return nodes.bound[index] ? `${nodes.bound[index]}_bound` : "other_compute";
  }
  if (nodes.kind[index] === "send" || nodes.kind[index] === "receive") return "exposed_pp";
  const group = groups[nodes.group[index]]; // none: a memory access, or a node that takes no time
  return group ? `exposed_${group.axis ?? "comm"}` : "remote_memory";
}

// Steps (time, bit, +1 or -1): where parts begin and end.
function stepsOf(nodes, groups) {
  const steps = [];
  const add = (start, end, part) => {
    if (start < end) steps.push([start, BIT[part], 1], [end, BIT[part], -1]);
  };
  for (let index = 0; index < nodes.name.length; index += 1) {
    const [start, end, message] = [nodes.start_ns[index], nodes.end_ns[index], nodes.message_ns[index]];
    if (nodes.kind[index] === "receive" && message !== NEVER) {
      const sent = Math.min(Math.max(start, message), end);
      add(start, sent, "pipeline_bubble");
      add(sent, end, "exposed_pp");
    } else {
      add(start, end, partOf(nodes, index, groups));
    }
  }
  return steps;
}

// How long each set of parts is under way until `until`; a set is a mask of bits.
function timeOfMasks(steps, until) {
  steps.sort((a, b) => a[0] - b[0]);
  const running = new Int32Array(PRIORITY.length);
  const times = new Map();
  let [mask, now] = [0, 0];
  const pass = (time) => {
    if (time !== now) times.set(mask, (times.get(mask) ?? 0) + time - now);
    now = time;
  };
  for (const [time, bit, change] of steps) {
    pass(time);
    running[bit] += change;
    mask = running[bit] ? mask | (1 << bit) : mask & ~(1 << bit);
  }
  pass(until);
  return times;
}

// {rank, wall_time_ns, parts, overlapped} of the rank that finishes last: `parts` has every part
// and sums to the wall time; `overlapped` is how long the communication of an axis runs behind another part.
function breakdown(recording) {
  const { wall_time_ns } = recording.row;
  const { rank, nodes } = lastRank(recording);
  const parts = Object.fromEntries([...PRIORITY, "idle"].map((part) => [part, 0]));
  const overlapped = Object.fromEntries(AXES.map((axis) => [axis, 0]));
  for (const [mask, ns] of timeOfMasks(stepsOf(nodes, groupsOf(recording)), wall_time_ns)) {
    const first = 31 - Math.clz32(mask & -mask); // -1 of none
    parts[first < 0 ? "idle" : PRIORITY[first]] += ns;
    for (const axis of AXES) {
      const bit = BIT[`exposed_${axis}`];
      if ((mask >> bit) & 1 && bit !== first) overlapped[axis] += ns;
    }
  }
  return { rank, wall_time_ns, parts, overlapped };
}

export { partOf, breakdown };
