// The command lines of a state whose plans are predicted: figures of an accelerator go in as axes with one value.
import { hydra, line, words } from "../commands.js";
import * as format from "../format.js";

const OF_ACCELERATOR = "system.accelerator.";
const OF_SPACE = "space.";
const OF_RUN = "run.";
const isOfRun = (word) => word.startsWith(OF_RUN);

// A run without a length is none.
function withRun(all) {
  const given = all.filter((word) => !word.startsWith(OF_RUN) || !word.endsWith("=null"));
  return given.some((word) => /^run\.(tokens|steps)=/.test(word)) ? given : given.filter((word) => !isOfRun(word));
}

function sorted(state) {
  const changes = Object.entries(state.changes);
  const isOf = (start) => ([key]) => key.startsWith(start);
  return {
    accelerator: changes.filter(isOf(OF_ACCELERATOR)),
    space: changes.filter(isOf(OF_SPACE)),
    others: changes.filter(([key]) => !key.startsWith(OF_ACCELERATOR) && !key.startsWith(OF_SPACE)),
  };
}

function sweep(data, state) {
  const { accelerator, space, others } = sorted(state);
  const all = words(data.command, data, { ...state, changes: Object.fromEntries(others) });
  const kept = all.filter((word) => !space.some(([key]) => word.startsWith(`${key}=`)) && !word.startsWith("memory_cap="));
  const ofSpace = space.map(([key, value]) => `${key}=[${hydra(value)}]`);
  const axes = accelerator.length ? [`space.axes={${accelerator.map(([key, value]) => `${key}:[${hydra(value)}]`).join(",")}}`] : [];
  const isOwnCap = state.cap_bytes !== data.memory_cap_bytes && state.cap_bytes !== null;
  const cap = isOwnCap ? [`memory_cap=${format.size(state.cap_bytes)}`] : all.filter((word) => word.startsWith("memory_cap="));
  return line([...withRun(kept), ...ofSpace, ...axes, ...cap]);
}

// The words of `dse point`.
function pointWords(data, state, plan) {
  const { others } = sorted(state);
  const axes = data.axes.filter(({ name, default: usual }) => name === "dp" || plan[name] !== usual); // no strategy at all means the best
  return [...words(data.point_command, data, { ...state, changes: Object.fromEntries(others) }), ...axes.map(({ name }) => `strategy.${name}=${hydra(plan[name])}`)];
}

const withoutRun = (all) => all.filter((word) => !isOfRun(word));
const point = (data, state, plan) => line(withoutRun(pointWords(data, state, plan)));

// The words of `dse run`, "" where no length is given.
function run(data, state, plan) {
  const [program, , ...rest] = withRun(pointWords(data, state, plan));
  return rest.some(isOfRun) ? line([program, "run", ...rest.map((word) => (isOfRun(word) ? word.slice(OF_RUN.length) : word))]) : "";
}

// In the framework whose steps were predicted, if a launcher knows it.
function launch(data, state, plan) {
  const [program, , ...rest] = withoutRun(pointWords(data, state, plan));
  const own = data.dialects.find(({ constants }) => constants.includes(plan.framework)) ?? data.dialects[0];
  return line([program, "launch", ...rest, `framework=${own.name}`]);
}

// [what it does, the line, a note, what its button says] of each.
function all(data, state, plan) {
  const swept = ["Sweep this space in a terminal", sweep(data, state), "", "Copy"];
  if (sorted(state).accelerator.length) {
    return [swept, ["Evaluate this plan in a terminal", "", "A point takes an accelerator whole: copy its file of conf/accelerator, change it there, and write system.accelerator=FILE.yaml."]];
  }
  const others = `framework= also takes ${data.dialects.map(({ name }) => name).join(", ")}.`;
  const asked = run(data, state, plan);
  return [
    swept,
    ["Evaluate this plan in a terminal", point(data, state, plan), "", "Copy"],
    ["Write the files that start this plan", launch(data, state, plan), others, "Run this"],
    ...(asked ? [["Its training run in a terminal", asked, "", "Copy"]] : []),
  ];
}

export { all, launch, point, run, sweep };
