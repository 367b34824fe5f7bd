// What a timeline says in words: the chosen node, what is under the pointer, and the longest nodes as a table.
import { element } from "../../../base/pages/dom.js";
import { facts, titleOf } from "./lanes.js";
import { fillTable } from "./point.js";

const LONGEST = 20;

// `node` is an index, null of none.
function tell(target, { recording, entry, nodes }, node, format) {
  if (node === null) {
    target.replaceChildren(element("span", "Point at a node, or choose one with the keys.", { class: "muted" }));
    return;
  }
  const parts = [element("strong", titleOf(nodes, node))];
  for (const [name, value] of facts(recording, entry, node, format)) {
    const pair = element("span");
    pair.append(element("span", `${name} `, { class: "muted" }), value);
    parts.push(" ", pair);
  }
  target.replaceChildren(...parts);
}

const nodeLines = ({ recording, entry, nodes }, node, format) => {
  const { kind, starts, takes, bytes } = Object.fromEntries(facts(recording, entry, node, format));
  return [titleOf(nodes, node), kind, `starts at ${starts}`, `takes ${takes}`, bytes];
};

function memoryLines({ curve }, time, format) {
  const size = curve.findLast((step) => step[0] <= time)?.[1] ?? 0;
  return [format.bytes(size), `at ${format.duration(Math.round(time))}`];
}

// The first line is the heading.
function fillTip(tip, lines, x, y, width) {
  tip.replaceChildren(...lines.flatMap((line, index) => (index ? [element("br"), line] : [element("strong", line)])));
  tip.style.transform = `translate(${Math.max(0, Math.min(x + 12, width - tip.offsetWidth))}px, ${y + 16}px)`;
}

// `choose` is called with the node whose button is pressed.
function fillLongest(table, { nodes, placed, entry, end, label }, format, choose) {
  const spans = placed.tracks.flatMap(({ title, lanes }) => lanes.flatMap((lane) => Array.from(lane.node, (node, place) => ({
    node, title, start: lane.start[place], length: lane.end[place] - lane.start[place],
  })))).sort((a, b) => b.length - a.length || a.start - b.start).slice(0, LONGEST);
  const button = ({ node }) => {
    const made = element("button", titleOf(nodes, node), { type: "button", class: "link" });
    made.addEventListener("click", () => choose(node));
    return made;
  };
  fillTable(
    table, `The ${spans.length} longest of ${nodes.name.length} nodes of rank ${entry.rank} of ${label}`,
    ["node", "track", "starts", "takes", "of the step", "bytes"],
    spans.map((span) => [
      button(span), span.title, format.duration(span.start), format.duration(span.length),
      format.percent((100 * span.length) / end), format.bytes(nodes.bytes[span.node]),
    ]), 2,
  );
}

export { tell, nodeLines, memoryLines, fillTip, fillLongest };
