// Nodes of a rank as spans on tracks; lanes where they overlap; what of a lane is visible, in pixels.
import { NEVER, parseName, groupsOf } from "./recording.js";

const ORDER = ["compute", "cpu compute", "dp", "tp", "sp", "comm", "send", "receive", "remote memory"];

// {title, kind} of the track of a node; `kind` is one of ORDER.
function trackOf(nodes, index, groups) {
  const kind = nodes.kind[index];
  const group = groups[nodes.group[index]];
  if (kind === "compute") {
    const name = nodes.on_cpu[index] ? "cpu compute" : "compute";
    return { title: name, kind: name };
  }
  if (group) return { title: group.title, kind: group.axis ?? "comm" };
  if (kind === "send") return { title: `send to rank ${nodes.peer[index]}`, kind };
  if (kind === "receive") return { title: `receive from rank ${nodes.peer[index]}`, kind };
  return { title: "remote memory", kind: "remote memory" };
}

// Spans in ascending order over as few lanes as they need to never overlap.
function lanesOf(spans) {
  spans.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
  const lanes = [];
  for (const span of spans) {
    const free = lanes.find((lane) => lane.at(-1)[1] <= span[0]);
    if (free) free.push(span);
    else lanes.push([span]);
  }
  return lanes.map((lane) => ({
    start: Float64Array.from(lane, (span) => span[0]), end: Float64Array.from(lane, (span) => span[1]),
    node: Uint32Array.from(lane, (span) => span[2]),
  }));
}

// [{title, kind, lanes: [{start, end, node}]}]. Receives are posted as soon as they can be, often at 0: they
// are drawn while their message is under way. What never ends lasts as long as the point.
function tracksOf(recording, { nodes }) {
  const groups = groupsOf(recording);
  const tracks = new Map();
  for (let index = 0; index < nodes.name.length; index += 1) {
    const track = trackOf(nodes, index, groups);
    if (!tracks.has(track.title)) tracks.set(track.title, { ...track, spans: [] });
    const start = nodes.start_ns[index];
    const ended = nodes.end_ns[index];
    const end = ended === NEVER ? Math.max(recording.row.wall_time_ns, start) : ended;
    tracks.get(track.title).spans.push([Math.min(Math.max(start, nodes.message_ns[index]), end), end, index]);
  }
  const order = (track) => ORDER.indexOf(track.kind);
  return [...tracks.values()]
    .sort((a, b) => order(a) - order(b) || a.title.localeCompare(b.title, "en", { numeric: true }))
    .map(({ title, kind, spans }) => ({ title, kind, lanes: lanesOf(spans) }));
}

// The first place of an ascending list whose value is above `value`.
function above(list, value) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

// [first, last) of the spans of a lane that overlap (from, to).
function visible(lane, from, to) {
  const first = above(lane.end, from);
  let [low, high] = [first, lane.start.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.start[middle] >= to) high = middle;
    else low = middle + 1;
  }
  return [first, low];
}

const LEAST = 2; // pixels of a span that is drawn by itself
const TICK = 0.25; // of a column is covered at least, so that what takes no time is seen

// What to draw of a lane: spans of some pixels, and for others the columns that they fill: the
// colour that covers most and the share that they cover. [{x, width, color, share, node (-1 of a column)}]
function cells(lane, { from, to, width }, colorOf) {
  const scale = width / (to - from);
  const found = [];
  let [column, covered] = [-1, new Map()];
  const flush = () => {
    if (!covered.size) return;
    let [color, most, sum] = ["", -1, 0];
    for (const [name, size] of covered) {
      sum += size;
      if (size > most) [color, most] = [name, size];
    }
    found.push({ x: column, width: 1, color, share: Math.max(TICK, Math.min(1, sum)), node: -1 });
    covered = new Map();
  };
  const [first, last] = visible(lane, from, to);
  for (let index = first; index < last; index += 1) {
    const left = Math.max(0, (lane.start[index] - from) * scale);
    const right = Math.min(width, (lane.end[index] - from) * scale);
    const node = lane.node[index];
    if (right - left >= LEAST) {
      flush();
      found.push({ x: left, width: right - left, color: colorOf(node), share: 1, node });
      continue;
    }
    for (let x = Math.floor(left); x < Math.max(right, Math.floor(left) + 1e-9); x += 1) {
      if (x !== column) flush();
      column = x;
      const size = Math.max(0, Math.min(right, x + 1) - Math.max(left, x));
      covered.set(colorOf(node), (covered.get(colorOf(node)) ?? 0) + size);
    }
  }
  flush();
  return found;
}

// The place in a lane of the span at a time, or of the longest one within `reach` of it; -1 of none.
function spanAt(lane, time, reach) {
  const [first, last] = visible(lane, time - reach, time + reach);
  let found = -1;
  const size = (index) => lane.end[index] - lane.start[index];
  for (let index = first; index < last; index += 1) {
    if (lane.start[index] <= time && time < lane.end[index] && size(index) > reach) return index;
    if (found < 0 || size(index) > size(found)) found = index;
  }
  return found;
}

// Where a lane has the span of a node, or the one that is nearest to a time.
function nearest(lane, time) {
  const place = Math.min(above(lane.end, time), lane.start.length - 1);
  const away = (index) => Math.max(0, lane.start[index] - time, time - lane.end[index]);
  return place > 0 && away(place - 1) < away(place) ? place - 1 : place;
}

// What is worth knowing of a node: [name, value] for people.
function facts(recording, { nodes }, index, format) {
  const group = groupsOf(recording)[nodes.group[index]];
  const [start, end] = [nodes.start_ns[index], nodes.end_ns[index]];
  const sent = Math.min(Math.max(start, nodes.message_ns[index]), end === NEVER ? start : end);
  const takes = end === NEVER ? "never ends" : `${format.duration(end - sent)} (${format.whole(end - sent)} ns)`;
  const kind = nodes.bound[index] ? `compute, bound by ${nodes.bound[index]}` : nodes.kind[index];
  const parents = nodes.parents[index].filter((parent) => parent < nodes.name.length);
  const last = parents.reduce((a, b) => (a < 0 || nodes.end_ns[b] > nodes.end_ns[a] ? b : a), -1);
  return [
    ["kind", kind],
    ["starts", `${format.duration(sent)} (${format.whole(sent)} ns)`],
    ["takes", takes],
    ["bytes", format.bytes(nodes.bytes[index])],
    ["operations", nodes.num_ops[index] > 0 ? nodes.num_ops[index].toPrecision(4) : ""],
    ["group", group?.title ?? ""],
    ["other rank", nodes.peer[index] >= 0 ? String(nodes.peer[index]) : ""],
    ["posted", sent > start ? `${format.whole(start)} ns` : ""],
    ["waited for", last < 0 ? "" : titleOf(nodes, last)],
  ].filter(([, value]) => value !== "");
}

function titleOf(nodes, index) {
  const title = parseName(nodes.name[index])?.title ?? nodes.name[index];
  return nodes.kind[index] === "compute" ? title : `${nodes.kind[index]}: ${title}`;
}

export { tracksOf, visible, cells, spanAt, nearest, facts, titleOf };
