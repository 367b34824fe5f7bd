// The plans of a space as columns, and the rules of the package for them.
import { lifted, plain } from "../../../../base/pages/python.js";
import { label_word, needed, planned } from "./rules.js";

const npusOf = (system) => system.nodes * system.npus_per_node;

/** The columns of plans: values of axes as numbers of `values`, which each axis has. */
class Plans {
  constructor(axes) {
    this.axes = axes;
    this.count = 0;
    this.codes = axes.map(() => []);
    this.values = axes.map(() => []);
    this.known = axes.map(() => new Map());
  }

  add(plan) {
    for (let axis = 0; axis < plan.length; axis += 1) {
      let code = this.known[axis].get(plan[axis]);
      if (code === undefined) {
        code = this.values[axis].push(plan[axis]) - 1;
        this.known[axis].set(plan[axis], code);
      }
      this.codes[axis].push(code);
    }
    this.count += 1;
  }

  /** A function of rows: their values of an axis. */
  reader(name) {
    const axis = this.axes.findIndex((each) => each.name === name);
    const [values, codes] = [this.values[axis], this.codes[axis]];
    return (row) => values[codes[row]];
  }

  at(row) {
    const plan = {};
    this.axes.forEach(({ name }, axis) => { plan[name] = this.values[axis][this.codes[axis][row]]; });
    return plan;
  }
}

/** What a rule of the package says of plans by row: it is asked once for each combination of values that it reads. */
function asked(plans, [names, say], given) {
  const axes = names.map((name) => plans.axes.findIndex((axis) => axis.name === name));
  const varied = axes.filter((axis) => plans.values[axis]?.length > 1);
  const read = names.map((name, place) => (axes[place] < 0 ? () => given.get(name) : plans.reader(name)));
  const known = new Map();
  return (row) => {
    let key = 0;
    for (const axis of varied) key = key * plans.values[axis].length + plans.codes[axis][row];
    if (!known.has(key)) known.set(key, plain(say(...read.map((of) => lifted(of(row))))));
    return known.get(key);
  };
}

/** Why plans do not fill a system, by row, or "". */
function unfilled(plans, system) {
  const degrees = plans.axes.filter(({ kind }) => kind === "degree");
  const values = degrees.map(({ name }) => plans.reader(name));
  const npus = npusOf(system);
  return (row) => {
    if (values.reduce((all, of) => all * of(row), 1) === npus) return "";
    const plan = plans.at(row);
    const counted = degrees.filter((axis) => labelOf([axis], plan)).map(({ name }) => [name, plan[name]]);
    return needed(labelOf(plans.axes, plan), lifted(Object.fromEntries(counted)), system.name, BigInt(npus));
  };
}

/** The rules of plans for a scenario as functions of rows: refusals, what is filled in by name, the kind of a step. */
function ruled(plans, { model, system }) {
  const rules = planned(lifted(model), lifted(system));
  const ask = (rule) => asked(plans, rule, rules.get("given"));
  return {
    refusals: [unfilled(plans, system), ...rules.get("refusals").map(ask)],
    filled: new Map(rules.get("filled").items().map(([name, rule]) => [name, ask(rule)])), kindOf: ask(rules.get("kind")),
  };
}

const words = new Map();

/** A short name: the words that the package has for the values of axes. */
function labelOf(axes, plan) {
  return axes.map(({ name, kind, word, default: usual, since }) => {
    const key = `${name} ${plan[name]}`;
    if (!words.has(key)) words.set(key, label_word(...[kind, word, usual, since, plan[name]].map(lifted)));
    return words.get(key);
  }).filter(Boolean).join(" ");
}

export { Plans, ruled, labelOf, npusOf };
