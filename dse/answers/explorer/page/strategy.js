// The axes of a strategy that traces know, and its label.

const DEGREES = ["dp", "tp", "sp", "pp"];
const OPTIONS = ["weight_sharded", "activation_recompute"];
const FIELDS = [...DEGREES, ...OPTIONS];

// What a row is a row of, without its figures; an axis that is not named is as by default.
const strategyOf = (row) => Object.fromEntries(FIELDS.map((name) => [name, row[name] ?? (OPTIONS.includes(name) ? false : 1)]));

// Such as "dp8 tp1 sp8 pp1 fsdp recompute".
function labelOf(strategy) {
  const words = DEGREES.map((name) => `${name}${strategy[name] ?? 1}`);
  if (strategy.weight_sharded) words.push("fsdp");
  if (strategy.activation_recompute) words.push("recompute");
  return words.join(" ");
}

export { DEGREES, OPTIONS, FIELDS, strategyOf, labelOf };
