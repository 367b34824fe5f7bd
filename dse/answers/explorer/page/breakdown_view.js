// The view that shows where the time of the last rank goes, for the selected point and two others.
import * as barCharts from "./bars.js";
import { breakdown } from "./breakdown.js";
import * as doubts from "./doubts.js";
import { shown, whyNone, derived, once, whenSeen } from "./point.js";

const figures = once(breakdown);

let [bars, tools, update, about] = [null, null, null, null];

async function compute(frame) {
  const entries = shown(frame);
  if (!entries.length) return bars.say(whyNone(frame));
  try {
    const found = await derived(frame, entries, tools.engine, figures);
    if (!found) return;
    const drawn = found.map((entry) => {
      const { parts, overlapped, wall_time_ns } = entry.figures;
      const more = Object.fromEntries(Object.entries(overlapped).map(([axis, ns]) => [`overlapped ${axis} (no part of the sum)`, ns]));
      const doubt = doubts.mark(entry.row);
      return { ...entry, doubt, values: parts, total: wall_time_ns, more };
    });
    bars.show(drawn, { text: barCharts.told(drawn, about, tools.format) });
  } catch (problem) {
    if (problem?.kind !== "cancelled") bars.say(`The time in parts is not known: ${problem?.message ?? problem}`);
  }
}

const view = {
  name: "breakdown", title: "Where the time goes",
  hint: "Each nanosecond of the rank that finishes last belongs to exactly one part, as dse explain says it.",
  mount(section, given) {
    tools = given;
    about = {
      names: Object.keys(tools.data.parts), meanings: tools.data.parts, axis: "wall time", exact: "as the rank that finishes last spends it",
      scale: tools.format.timeScale, text: tools.format.duration,
    };
    bars = barCharts.mount(section, tools, about);
    update = whenSeen(section, compute);
  },
  update: (frame) => update(frame),
  redraw: () => bars.redraw(),
};

export { view };
