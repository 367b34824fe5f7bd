// What the selected point reacts to: its time at factors of each parameter, and where another strategy begins to win.
import { barScales, wrapped } from "../../../base/pages/charts.js";
import { element, scroll, setText } from "../../../base/pages/dom.js";
import * as doubts from "./doubts.js";
import { FACTORS, applied, parametersOf } from "./parameters.js";
import { table, pointButton, options, sight } from "./plots.js";
import { strategyOf } from "./strategy.js";
import { LIMIT, Candidates, capSwitches, sensitivity, switchAmong, optima } from "./switches.js";

const REST_MS = 250; // after a change: a slider that moves is not disturbed
const NONE_YET = "…";
// The outer bars are wide and pale, the inner ones narrow and full: [factor, colour, its opacity, width]
const BARS = [[0.8, "c3", "", 8], [1.25, "c1", "", 8], [0.5, "c3", "70", 18], [2, "c1", "70", 18]];

let tools, frame, chart, canvas, hint, box, status, progress, signs;
let isVisible = () => false;
let running = null; // the frame that is computed
let timer = 0;
let known = null; // of one scenario and cap: {key, candidates, parameters, switches: key -> switch, following: label -> entries}

const fieldOf = (key) => (frame.fields ?? tools.data.fields).find((field) => field.key === key);
const nameOf = (parameter) => fieldOf(parameter.key)?.label ?? parameter.resource;
const shown = (parameter, value) => tools.format.number(Number(value.toPrecision(4)), fieldOf(parameter.key)?.unit ?? "");

function begin() {
  const key = JSON.stringify([frame.scenario, frame.cap_bytes, frame.rows.map((row) => row.label)]);
  if (known?.key === key) return;
  const ask = (parameter, value, rows) => tools.engine.evaluate(
    applied(frame.scenario, parameter, value), rows.map(strategyOf),
    { signal: running?.signal ?? undefined },
  );
  const candidates = new Candidates(frame.rows, frame.cap_bytes, ask);
  known = { key, candidates, parameters: parametersOf(frame.scenario.system), switches: new Map(), following: new Map() };
  reserve();
}

// The room that bars and table take: parameters and their names are known before their figures, so nothing jumps.
function reserve() {
  box.hidden = !frame.selected || !known.parameters.length;
  const lines = Math.max(1, ...known.parameters.map((parameter) => labelOf(parameter).length));
  canvas.parentElement.style.setProperty("--rows", String(known.parameters.length * Math.max(1.3, lines * 0.9)));
}

const labelOf = (parameter) => wrapped(`${nameOf(parameter)}, ${shown(parameter, parameter.value)}`, canvas);

function schedule() {
  clearTimeout(timer);
  if (!frame || !isVisible()) return;
  const isComplete = known && known.switches.size === known.parameters.length && known.following.get(frame.selected?.label)?.length === known.parameters.length;
  if (!isComplete) timer = setTimeout(run, REST_MS);
}

// Goes on where it was stopped: what is known of the same state is not asked for again.
async function run() {
  const mine = frame;
  const stopped = () => frame !== mine || mine.signal?.aborted;
  if (stopped() || running === mine) return;
  running = mine;
  try {
    const { candidates, parameters, switches, following } = known;
    const label = mine.selected?.label;
    if (candidates.rows.has(label)) {
      const entries = following.get(label) ?? following.set(label, []).get(label);
      while (entries.length < parameters.length) {
        tellProgress(`${entries.length} of ${parameters.length} parameters varied`);
        const entry = await sensitivity(candidates, label, parameters[entries.length], FACTORS);
        if (stopped()) return;
        if (entries.length === parameters.indexOf(entry.parameter)) entries.push(entry);
      }
      draw();
    }
    for (const parameter of candidates.winner ? parameters : []) {
      if (switches.has(parameter.key)) continue;
      tellProgress(`looking for other winners, ${switches.size} of ${parameters.length} parameters`);
      const winners = await optima(candidates, parameter, FACTORS);
      const found = await switchAmong(candidates, parameter);
      if (stopped()) return;
      switches.set(parameter.key, { winners, found });
      drawTable();
    }
    tellProgress("");
    setText(status, spoken());
  } catch (error) {
    if (error?.kind !== "cancelled" && !stopped()) tellProgress(`stopped: ${error?.message ?? error}`);
  } finally {
    if (running === mine) running = null;
    if (frame !== mine) schedule();
  }
}

function tellProgress(text) {
  setText(progress, text ? `… ${text}` : "");
  box.setAttribute("aria-busy", String(Boolean(text)));
}

function spoken() {
  if (!known.candidates.winner) return "";
  const found = [...known.switches.values()].map((each) => each.found).filter(Boolean);
  const which = found.length ? `Another strategy wins where ${found.length} of ${known.parameters.length} parameters change` : "No parameter changes the winner";
  return `${which}; see the table of parameters.`;
}

function draw() {
  const entries = known.following.get(frame.selected?.label) ?? [];
  const spanOf = (entry) => Math.max(...entry.samples.map((sample) => Math.abs((sample.wall_time_ns ?? entry.wall_time_ns) - entry.wall_time_ns)));
  const isComplete = entries.length === known.parameters.length && entries.length > 0;
  const reacting = entries.filter((entry) => spanOf(entry) > 0).sort((a, b) => spanOf(b) - spanOf(a));
  if (isComplete) setText(hint, sentence(entries, reacting));
  else if (!frame.selected) setText(hint, "No point is ok.");
  else if (!chart) setText(hint, "Computed once this part of the page is in sight.");
  canvas.parentElement.style.opacity = isComplete ? "" : "0.55"; // what is drawn is the state before
  if (!isComplete) return drawTable();
  box.hidden = false;
  drawChart([...reacting, ...entries.filter((entry) => !reacting.includes(entry))]);
  drawTable();
}

function sentence(entries, reacting) {
  const without = entries.filter((entry) => !reacting.includes(entry)).map((entry) => nameOf(entry.parameter));
  const winner = known.candidates.winner;
  const isWinner = winner?.label === frame.selected.label;
  return `The wall time of ${frame.selected.label} if one parameter of the system changes and the strategy stays.`
    + (without.length ? ` No effect: ${without.join(", ")}.` : "")
    + (!winner ? " Nothing fits under the cap." : isWinner ? "" : ` It does not win; the last column is about the strategy that does, ${winner.label}.`);
}

function drawChart(entries) {
  const { color, format } = tools;
  const change = (entry, factor) => {
    const { wall_time_ns: wall } = entry.samples.find((sample) => sample.factor === factor);
    return wall === null ? null : (100 * (wall - entry.wall_time_ns)) / entry.wall_time_ns;
  };
  const labels = entries.map(({ parameter }) => labelOf(parameter));
  const datasets = BARS.map(([factor, tint, opacity, width]) => ({
    label: `×${factor}`, backgroundColor: color(tint) + opacity, maxBarThickness: width, grouped: false, factor,
    doubts: entries.map(({ samples }) => doubts.mark(samples.find((sample) => sample.factor === factor).row)),
    data: entries.map((entry) => change(entry, factor)),
  }));
  const config = {
    type: "bar", data: { labels, datasets },
    options: {
      ...options(tools, { describe: (_, item) => {
        const { parameter, samples } = entries[item.dataIndex];
        const sample = samples.find(({ factor }) => factor === item.dataset.factor);
        const doubt = item.dataset.doubts[item.dataIndex];
        const text = `${nameOf(parameter)} ${shown(parameter, sample.value)}: ${format.duration(sample.wall_time_ns)} (${format.signedPercent(item.raw)})`;
        return doubt ? [text, doubt] : text;
      } }),
      indexAxis: "y",
      scales: barScales(color, "change of the wall time (%)"),
    },
  };
  const legend = config.options.plugins.legend.labels;
  legend.pointStyle = "rect";
  legend.sort = (a, b) => datasets[a.datasetIndex].factor - datasets[b.datasetIndex].factor;
  reserve(); // the page may be narrower than before
  chart?.destroy(); // another number of lines in labels is another height
  chart = new Chart(canvas, { ...config, plugins: [questions] });
}

// A mark at the end of each bar whose time is in doubt.
const questions = {
  id: "questions",
  afterDatasetsDraw(drawn) {
    const { ctx } = drawn;
    ctx.save();
    ctx.font = `700 ${Chart.defaults.font.size}px ${Chart.defaults.font.family}`;
    Object.assign(ctx, { textBaseline: "middle", lineWidth: 3, strokeStyle: tools.color("page"), fillStyle: tools.color("bad") });
    drawn.data.datasets.forEach((set, index) => drawn.getDatasetMeta(index).data.forEach(({ x, y, base }, at) => {
      if (!set.doubts[at] || !set.data[at]) return;
      ctx.textAlign = x < base ? "right" : "left";
      for (const way of ["strokeText", "fillText"]) ctx[way]("?", x + (x < base ? -3 : 3), y);
    }));
    ctx.restore();
  },
};

function drawTable() {
  const found = known.following.get(frame.selected?.label) ?? [];
  const isComplete = found.length === known.parameters.length;
  const entries = isComplete ? found : known.parameters.map((parameter) => ({ parameter, samples: [] }));
  const columns = [["parameter"], ["value", true], ["elasticity", true], ...FACTORS.map((factor) => [`×${factor}`, true]), ["another strategy wins"]];
  const rows = entries.map(({ parameter, elasticity, samples }) => {
    const change = known.switches.get(parameter.key);
    const star = (index) => (change && change.winners[index].label !== known.candidates.winner.label ? " *" : "");
    const mark = ({ row }) => doubts.mark(row) && " ?";
    const times = isComplete ? samples.map((sample, index) => tools.format.duration(sample.wall_time_ns) + mark(sample) + star(index)) : FACTORS.map(() => NONE_YET);
    return [
      element("span", { title: parameter.key }, nameOf(parameter)), shown(parameter, parameter.value), isComplete ? signed(elasticity) : NONE_YET, ...times,
      switchCell(parameter, change),
    ];
  });
  const { winner } = known.candidates;
  if (winner && winner.peak_memory_bytes !== null) {
    const cap = frame.cap_bytes === null ? "none" : tools.format.bytes(frame.cap_bytes);
    rows.push(["memory cap", cap, "–", ...FACTORS.map(() => "–"), capCell(capSwitches(known.candidates))]);
  }
  box.querySelector("[data-table]").replaceChildren(table(columns, rows));
  const has = (mark) => rows.some((cells) => cells.some((cell) => typeof cell === "string" && mark.test(cell)));
  const isDoubtful = known.parameters.some((parameter) => isSwitchDoubtful(known.switches.get(parameter.key)?.found));
  setText(signs, [has(/ \*$/) && "* Another strategy wins there.", (isDoubtful || has(/ \?( \*)?$/)) && `? ${doubts.LEGEND}: choose that value to read why.`]
    .filter(Boolean).join(" "));
}

const signed = (value) => (value === null ? "–" : value === 0 ? "0" : `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`);

// As high before its figures are known as afterwards.
const twoLines = (...lines) => element("div", { style: "white-space: nowrap; min-height: 3em" }, ...lines.map((parts) => element("div", {}, ...parts)));

const isSwitchDoubtful = (found) => Boolean(found?.row && doubts.mark(found.row));

function switchCell(parameter, change) {
  if (!change) return twoLines([known.candidates.winner ? NONE_YET : "nothing fits"], []);
  const { found } = change;
  if (!found) return twoLines([`none within a factor of ${LIMIT}`], []);
  const isUp = found.first_value > found.value;
  const exact = { "data-key": parameter.key, "data-value": found.first_value, title: `set it to ${found.first_value}` };
  const set = element("button", { type: "button", class: "link", ...exact },
    `${isUp ? "from" : "down from"} ${shown(parameter, found.first_value)}`);
  set.addEventListener("click", () => tools.setChanges({ [parameter.key]: found.first_value }));
  const cause = { faster: "", fits: " (it fits there)", misfit: " (today's does not fit there)" }[found.cause];
  const mark = isSwitchDoubtful(found) ? " ?" : "";
  return twoLines([set, isUp ? " on" : "", cause], found.row ? [pointButton(tools, found.row), ` wins${mark}`] : ["nothing fits"]);
}

function capCell({ below, above }) {
  const part = (one, words) => (one.row ? [`${words}: `, pointButton(tools, one.row)] : [`${words}: nothing fits`]);
  const { bytes } = tools.format;
  return element("span", { style: "white-space: nowrap" }, ...part(below, `below ${bytes(below.last_value)}`), ...(above ? [element("br"), ...part(above, `from ${bytes(above.first_value)} on`)] : []));
}

const view = {
  name: "tornado",
  title: "What the point reacts to, and where another strategy wins",
  hint: "",
  mount(section, given) {
    tools = given;
    hint = element("p", { class: "hint", style: "min-height: 4.5em" });
    progress = element("p", { class: "hint noprint", style: "min-height: 1.5em" });
    signs = element("p", { class: "hint", style: "max-width: none; min-height: 1.5em" });
    status = element("p", { class: "unseen", role: "status" });
    const plot = element("div", { class: "plot rows" });
    canvas = element("canvas", {
      role: "img", "aria-label": "Bars of the change of the wall time at factors of each parameter, largest first; the table below has the figures.",
    });
    plot.append(canvas);
    const note = "The elasticity is −1 where 1 % more of the parameter makes the point 1 % faster. A value in the last column is a button that sets "
      + "the parameter to it.";
    const rows = scroll("Table of the parameters");
    rows.dataset.table = "";
    box = element("div", { hidden: true }, plot,
      rows, signs, element("p", { class: "hint" }, note));
    section.append(hint, progress, box, status);
    isVisible = sight(section, schedule);
  },
  update(given) {
    frame = given;
    begin();
    draw();
    schedule();
  },
  redraw() {
    chart?.destroy();
    chart = undefined;
    if (frame) draw();
  },
};

export { view };
