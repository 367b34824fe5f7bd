// The page: reads its data and the address, starts the engine, and keeps form, views and address at one state.
import { lookFor } from "../../../base/pages/charts.js";
import * as answers from "./answers.js";
import { rangesOf, readOf, varyingOf } from "./axes.js";
import * as dom from "../../../base/pages/dom.js";
import { breathe } from "../../../base/pages/dom.js";
import { Controls } from "./controls.js";
import * as doubts from "./doubts.js";
import * as engines from "./engine.js";
import { Form } from "./fields.js";
import { Filters } from "../../../base/pages/filters.js";
import * as format from "./format.js";
import * as frames from "./frame.js";
import { Runs } from "./runs.js";
import * as scenarios from "./scenario.js";
import { Shell } from "./shell.js";
import * as state from "./state.js";
import { Status } from "./status.js";
import { strategyOf } from "./strategy.js";
import { views } from "./views.js";
import * as words from "./words.js";

const root = document.documentElement;
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

let engine = null;
let isRefused = false; // the engine did not start
let base = scenarios.base(data, { model: null, system: null });
let frame = null; // what the views show
let good = null; // the last state that could be evaluated
let frameEnd = new AbortController();

// ---- what views may use: the data of the page follow the presets
const live = Object.defineProperties(Object.create(data), {
  fields: { get: () => base.fields }, scenario: { get: () => base.scenario },
});
const tools = {
  data: live, format, answers: answers,
  get engine() { return data.live && !isRefused ? engines : null; },
  color: (name) => getComputedStyle(root).getPropertyValue(`--${name.replace(/^--/, "")}`).trim(),
  select: (label) => state.set({ selected: label }),
  setChanges: (changes) => state.set({ changes: { ...state.get().changes, ...changes } }),
  scenarioWith: (changes) => {
    const { changes: present } = state.get();
    const made = scenarios.withChanges(base.scenario, base.fields, { ...present, ...changes });
    return { scenario: made, strategies: strategiesFor(made) };
  },
  isReducedMotion: () => matchMedia("(prefers-reduced-motion: reduce)").matches,
};

// ---- the space
let unreadable = "";
const strategiesFor = (made) => (unreadable ? data.rows.map(strategyOf) : scenarios.strategiesOf(data.space, made));

// ---- parts of the page
const status = new Status(byId("status"));
const shell = new Shell(byId("views"), tools, views);
let form = null;
let filters = null;

async function evaluated(made, strategies, signal) {
  if (!strategies.length) throw scenarios.inputError(unreadable || scenarios.emptiness(data.space, scenarios.npusOf(made.system)));
  const rows = await engine.evaluate(made, strategies, { signal, onProgress: (done, total) => status.progress(done, total) });
  return rows;
}

function passes(row, cap) {
  return (!filters.fits.checked || answers.fits(row, cap)) && filters.passes(readOf(row));
}

// Other points pass: the views get another frame of the same state.
function filtered() {
  if (frame) settle(frame.scenario, frame.all, frame.state, frame.isLive);
}

// Shows rows of a state: the views get a frame of those that pass, whose signal says when it is out of date.
function settle(made, all, present, isLive = false) {
  frameEnd.abort();
  frameEnd = new AbortController();
  const before = frames.ghostOf(frame, state.revision());
  const rows = all.filter((row) => passes(row, present.cap_bytes));
  frame = frames.make({ scenario: made, rows, all, state: present, fields: base.fields, before, signal: frameEnd.signal });
  frame.isLive = isLive;
  filters.update({ varying: [...varyingOf(all), ...rangesOf(all)], kept: rows, count: all.length }, "points");
  const own = { model: data.scenario?.model.name, system: data.scenario?.system.name };
  frame.reasons = before ? words.differences(before.state, present, base.fields, own) : [];
  frame.revision = state.revision();
  const isOwn = !present.preset.model && !present.preset.system;
  const title = isOwn ? data.title : `${made.model.name} on ${made.system.name}`;
  dom.setText(document.querySelector("h1"), title);
  document.title = `${title}: explorer`;
  shell.show(frame);
  status.show(frame);
  const said = words.winners(before, frame, frame.reasons);
  const best = frame.best ? `Fastest: ${frame.best.label}, ${format.duration(frame.best.wall_time_ns)}` : "No point finishes";
  const doubt = frame.best ? doubts.mark(frame.best) : "";
  status.say([...said, doubt ? `${best}, but ${doubt}` : best].join(". "));
}

async function work(signal) {
  const present = state.get();
  try {
    const { scenario: made, strategies } = tools.scenarioWith({});
    const isSame = frame?.isLive && JSON.stringify(made) === JSON.stringify(frame.scenario);
    const start = performance.now();
    const rows = isSame ? frame.all : await evaluated(made, strategies, signal);
    good = present;
    settle(made, rows, present, true);
    if (!isSame) status.ended(`${rows.length} points in ${Math.round(performance.now() - start)} ms`);
    compareWithStudy(present, rows);
    form.update(state.get(), base.fields);
  } catch (error) {
    failed(error, present);
  }
}

// What was refused stays in the form with its reason; everything else goes back to the last good state.
function failed(error, present) {
  const message = error?.message ?? String(error);
  if (error?.kind === "cancelled") return;
  status.ended("");
  if (error?.kind !== "input") {
    status.warn(`${message} (the figures below are those of the state before)`);
    return;
  }
  const refused = Object.fromEntries(Object.entries(present.changes).filter(([key, value]) => good.changes[key] !== value));
  if (!state.isSame(state.get(), present)) return; // another state is on its way already
  if (!state.isSame(present, good)) state.revert(good);
  // The change that came last may do without the refused ones before it.
  const { [form.tried]: value, ...others } = refused;
  const isAlone = value === undefined || !Object.keys(others).length;
  if (!form.refuse(isAlone ? refused : others, message)) status.warn(message);
  if (!isAlone) state.set({ changes: { ...good.changes, [form.tried]: value } });
  status.say(message);
}

// The rows of the study were evaluated elsewhere: that the engine of this page says the same is worth a line.
let isCompared = false;
function compareWithStudy(present, rows) {
  if (isCompared || !data.rows.length || !state.isSame(present, state.initial())) return;
  isCompared = true;
  const known = new Map(rows.map((row) => [row.label, row]));
  const both = data.rows.filter((row) => known.has(row.label));
  const other = both.filter((row) => ["status", "wall_time_ns", "peak_memory_bytes"].some((name) => known.get(row.label)[name] !== row[name]));
  byId("evidence").textContent = other.length
    ? `The engine of this page differs from the study in ${other.length} of ${both.length} points: make the page again.`
    : `The engine of this page says the same as the study, to the nanosecond and the byte, for all ${both.length} of its points.`;
  byId("evidence").classList.toggle("error", other.length > 0);
}

const runs = new Runs(work);

// ---- the state: form, buttons and address follow at once, the engine when it can
const controls = new Controls({
  data, status, shell, get form() { return form; }, get fields() { return base.fields; },
});

function onState(present) {
  base = scenarios.base(data, present.preset);
  form?.update(present, base.fields);
  status.warn("");
  controls.follow();
  if (!data.live) return frame && settle(frame.scenario, frame.all, present);
  if (isRefused) return showStored(present);
  if (frame && !state.isSame(present, frame.state)) frameEnd.abort();
  return engine && runs.want();
}

// Where the engine did not start: the rows of the study, and none of what a link changed.
function showStored({ cap_bytes, selected }) {
  if (frame) settle(frame.scenario, frame.all, { ...state.initial(), cap_bytes, selected });
}

// ---- the engine
function becomeStatic(why) {
  root.classList.add("static");
  byId("static").hidden = false;
  byId("why").textContent = why;
}

async function startEngine() {
  try {
    await engines.start({
      packed: byId("wasm").textContent.trim(), workerSource: byId("worker").textContent, result_version: data.result_version,
    });
  } catch (error) {
    isRefused = true;
    status.ended("");
    becomeStatic(`The engine does not start: ${error?.message ?? error}`);
  }
}

// In steps, between which the browser may paint: the engine unpacks meanwhile.
async function start() {
  await breathe();
  lookFor(false);
  if (data.live) unreadable = scenarios.unreadable(data.space, data.scenario);
  state.start({ cap_bytes: data.memory_cap_bytes });
  good = state.initial();
  byId("panel").open = !matchMedia("(max-width: 62rem)").matches; // on a small screen results come first
  controls.listen();
  if (!data.live) becomeStatic(data.why_static);
  const engineStarts = data.live ? startEngine() : null;
  filters = new Filters(shell.fold("Filters"), filtered);
  await breathe();
  // The rows of the study are there at once, also where nothing can be computed.
  if (data.rows.length) settle(data.scenario, data.rows, state.get());
  await breathe();
  if (data.live) form = new Form(byId("form"), data, (partial, merge) => state.set(partial, { merge }));
  state.subscribe(onState);
  onState(state.get());
  controls.readAddress();
  if (unreadable) form?.disable(base.fields.map(({ key }) => key).filter((key) => key.endsWith(".npus")), `The number of NPUs is fixed here: ${unreadable}.`);
  await breathe();
  await shell.mount();
  await engineStarts;
  engine = tools.engine;
  if (engine) return runs.want();
  shell.withdraw();
  return showStored(state.get());
}

// For tests and for the curious: the frame that is shown, and whether anything is under way.
const page = { get frame() { return frame; }, get isIdle() { return runs.isIdle && !shell.isBusy; }, tools };
start();

export { page };
