// The page that predicts: reads its data and the address, and keeps form, filters, views and address at one state.
import * as dom from "../../../../base/pages/dom.js";
import { breathe, element } from "../../../../base/pages/dom.js";
import { bytes, duration } from "../../../../base/pages/numbers.js";
import { Controls } from "../controls.js";
import * as engines from "../engine.js";
import { Form } from "../fields.js";
import { Runs } from "../runs.js";
import * as scenarios from "../scenario.js";
import { Shell } from "../shell.js";
import * as state from "../state.js";
import { Status } from "../status.js";
import { Filters } from "../../../../base/pages/filters.js";
import { measuresOf } from "./measures.js";
import { modelOf } from "./model_files.js";
import { Frame } from "./plan_frame.js";
import { npusOf } from "./plans.js";
import { winnersOf } from "./run_measures.js";
import { view as heat } from "./plan_heat.js";
import { view as parallel } from "./plan_parallel.js";
import { view as point } from "./plan_point.js";
import { view as run } from "./plan_run.js";
import { view as scatter } from "./plan_scatter.js";
import { view as table } from "./plan_table.js";
import { view as winners } from "./plan_winners.js";

const root = document.documentElement;
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

let isReady = false;
let base = scenarios.base(data, { model: null, system: null });
let frame = null;
let good = null;
let filters = null;
let form = null;

const live = Object.defineProperties(Object.create(data), { fields: { get: () => base.fields }, scenario: { get: () => base.scenario } });
const facts = Object.fromEntries(["axes", "plan_columns", "plan_numbers", "precisions", "frameworks", "intervals", "measured", "parts", "categories", "run", "run_columns", "compute_parts"].map((name) => [name, data[name]]));

// The scenario of a state, and its space: choices that all plans share go into the space.
function asked(changes) {
  const made = scenarios.withChanges(base.scenario, base.fields, changes);
  const choices = { ...data.space.choices };
  for (const [name, value] of Object.entries(made.choices)) choices[name] = [value];
  for (const field of base.fields) {
    if (field.path[0] === "choices" && !(field.path[1] in made.choices)) choices[field.path[1]] = [field.value];
  }
  const run = Object.fromEntries(base.fields.filter(({ path }) => path[0] === "run").map(({ key, path, value }) => [path[1], key in changes ? changes[key] : value]));
  return { scenario: { model: made.model, system: made.system, run }, space: { choices, constraints: data.space.constraints } };
}

const tools = {
  data: live, engine: engines, facts,
  color: (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim(),
  select: (label) => state.set({ selected: label }),
  scenarioWith: (changes) => asked({ ...state.get().changes, ...changes }),
};

const status = new Status(byId("status"));
const shell = new Shell(byId("views"), tools, [point, run, table, scatter, parallel, heat, winners]);
const controls = new Controls({ data, status, shell, get form() { return form; }, get fields() { return base.fields; } });

function filtered() {
  const ranges = measuresOf(frame).filter(({ name, isAxis }) => !isAxis && frame.columns[name] && !name.startsWith("part_"))
    .map(({ title, ...more }) => ({ ...more, heading: title, range: [null, null] }));
  const given = [...filters.limits].filter(([name]) => ranges.some((range) => range.name === name));
  frame.filter(filters.hidden, filters.fits.checked, given);
  frame.filterText = JSON.stringify([[...filters.hidden].map(([name, set]) => [name, [...set]]), filters.fits.checked, given, frame.cap_bytes]);
  filters.update({ varying: [...frame.varying, ...ranges], kept: frame.kept, count: frame.count });
  shell.show(frame);
  say();
}

function say() {
  const dot = () => element("span", { class: "dot", "aria-hidden": "true" }, " · ");
  const one = (row) => [element("strong", {}, frame.label(row)), ` ${duration(frame.columns.wall_time_ns[row])}`];
  const [fastest, fits] = [frame.best, frame.fitting];
  const parts = fastest < 0 ? ["No plan is left"] : one(fastest);
  if (frame.cap_bytes !== null && fits !== fastest) {
    const under = element("span", { class: "under" }, `under ${bytes(frame.cap_bytes)} `);
    under.append(...(fits < 0 ? ["nothing fits"] : one(fits)));
    parts.push(dot(), under);
  }
  const ofRun = winnersOf(frame).flatMap(({ figure, row }, index) => [
    ...(index ? [" · "] : []), `${figure.objective} `, ...(row === fits ? [] : [element("strong", {}, frame.label(row)), " "]), figure.said(frame.columns[figure.name][row]),
  ]);
  if (ofRun.length) parts.push(dot(), element("span", { class: "under" }, ...ofRun));
  status.now.replaceChildren(element("span", { class: "lead" }, "Fastest "), ...parts);
  status.say(fits >= 0 ? `Fastest that fits: ${frame.label(fits)}, ${duration(frame.columns.wall_time_ns[fits])}` : "No plan fits");
}

function settle(scenario, result, present) {
  frame = new Frame(data, scenario, present, result, frame);
  frame.before = null; // the columns of an old state are large
  const title = `${scenario.model.name} on ${scenario.system.name}`;
  dom.setText(document.querySelector("h1"), title);
  document.title = `${title}: explorer`;
  filtered();
}

let last = { text: "", result: null, scenario: null };
async function work(signal) {
  const present = state.get();
  try {
    const message = asked(present.changes);
    const text = JSON.stringify([message.scenario, message.space.choices]);
    if (text !== last.text) {
      const start = performance.now();
      const result = await engines.asked({ type: "predict", ...message, facts }, { signal, onProgress: (done, total) => status.progress(done, total) });
      if (!result.count) throw scenarios.inputError(scenarios.emptiness(data.space, npusOf(message.scenario.system)));
      last = { text, result, scenario: message.scenario };
      status.ended(`${result.count} plans in ${Math.round(performance.now() - start)} ms`);
    }
    good = present;
    settle(last.scenario, last.result, present);
    form.update(state.get(), base.fields);
  } catch (error) {
    failed(error, present);
  }
}

// What was refused stays in the form with its reason; everything else goes back to the last good state.
function failed(error, present) {
  if (error?.kind === "cancelled") return;
  status.ended("");
  const message = error?.message ?? String(error);
  if (error?.kind !== "input" || !good || !state.isSame(state.get(), present)) {
    status.warn(message);
    return;
  }
  const refused = Object.fromEntries(Object.entries(present.changes).filter(([key, value]) => good.changes[key] !== value));
  if (!state.isSame(present, good)) state.revert(good);
  if (!form.refuse(refused, message)) status.warn(message);
  status.say(message);
}

const runs = new Runs(work);

// ---- a config.json that is dropped onto the page, or chosen: one more model
function take(text, fileName) {
  const stem = fileName.replace(/\.json$/, "");
  const name = stem === "config" ? "config.json" : stem;
  const { spec, notes } = modelOf(text, name);
  if (spec.experts && data.space.choices.ep?.every((degree) => degree === 1)) notes.push(`plans here have no expert parallelism; those of dse explore model.file=${fileName} have`);
  data.presets.models = [...data.presets.models.filter((each) => each.name !== name), { name, spec, words: [`model.file=${fileName}`] }];
  form.addPreset("model", name);
  form.choose("model", name);
  status.warn(notes.join("; "));
}

async function takeFile(file) {
  try {
    take(await file.text(), file.name);
  } catch (error) {
    status.warn(error.message);
    status.say(error.message);
  }
}

function acceptFiles() {
  const input = element("input", { type: "file", accept: ".json", id: "model-file" });
  input.addEventListener("change", () => { if (input.files.length) takeFile(input.files[0]); });
  byId("form").querySelector(".presets").after(element("div", { class: "preset" }, element("label", { for: "model-file" }, "or a config.json, which may be dropped onto the page"), input));
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    const [file] = event.dataTransfer?.files ?? [];
    if (file) takeFile(file);
  });
}

function onState(present) {
  base = scenarios.base(data, present.preset);
  form?.update(present, base.fields);
  status.warn("");
  controls.follow();
  if (isReady) runs.want();
}

async function start() {
  await breathe();
  state.start({ cap_bytes: data.memory_cap_bytes });
  good = state.initial();
  byId("panel").open = !matchMedia("(max-width: 62rem)").matches; // on a small screen results come first
  controls.listen();
  const engineStarts = engines.start({ packed: byId("wasm").textContent.trim(), workerSource: byId("worker").textContent, result_version: data.result_version });
  await breathe();
  form = new Form(byId("form"), data, (partial, merge) => state.set(partial, { merge }));
  acceptFiles();
  filters = new Filters(shell.fold("Filters"), () => { if (frame) filtered(); });
  state.subscribe(onState);
  onState(state.get());
  controls.readAddress();
  await breathe();
  await shell.mount();
  try {
    await engineStarts;
  } catch (error) {
    root.classList.add("static");
    byId("static").hidden = false;
    byId("why").textContent = `The engine does not start: ${error?.message ?? error}`;
    return;
  }
  isReady = true;
  runs.want();
}

// For tests and for the curious.
const page = { get frame() { return frame; }, get isIdle() { return isReady && runs.isIdle && !shell.isBusy; }, tools, takeFile };
start();

export { page };
