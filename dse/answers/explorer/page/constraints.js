// Constraints over one strategy, model and system: evaluates the trees into which dse.base.expressions parses them.

function fail(problem) {
  throw Object.assign(new Error(problem), { kind: "input" });
}

// ---- arithmetic is Python's, as far as numbers of this page are exact
const exact = (value) => (Number.isInteger(value) && !Number.isSafeInteger(value) ? fail("a number is too large for this page") : value);
const modulo = (a, b) => {
  if (Number(b) === 0) fail("division by zero");
  const rest = a % b;
  return rest !== 0 && rest < 0 !== b < 0 ? rest + Number(b) : rest;
};
function power(base, exponent) {
  if (Number(base) === 0 && exponent < 0) fail("division by zero");
  const result = Number(base) ** Number(exponent);
  return Number.isFinite(result) ? result : fail("a power is no number of this page");
}
const picked = (values, isBetter) => values.reduce((best, value) => (isBetter(value, best) ? value : best));
const OPERATORS = {
  "+": (a, b) => Number(a) + Number(b), "-": (a, b) => a - b, "*": (a, b) => a * b,
  "/": (a, b) => (Number(b) === 0 ? fail("division by zero") : a / b),
  "//": (a, b) => Math.round((a - modulo(a, b)) / b), "%": modulo, "**": power,
  negate: (a) => -a,
  min: (...all) => picked(all, (a, b) => a < b), max: (...all) => picked(all, (a, b) => a > b),
  abs: (a) => Math.abs(a), log2: (a) => (a > 0 ? Math.log2(a) : fail("logarithm of a number that is not positive")),
};
const isText = (value) => typeof value === "string";
const equal = (a, b) => (isText(a) || isText(b) ? a === b : Number(a) === Number(b));
const COMPARE = {
  "==": equal, "!=": (a, b) => !equal(a, b),
  "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b,
};

// A function of `values`, which maps a name to its number, text, true or false.
function evaluator({ constant, name, do: action, of = [], signs }) {
  if (name !== undefined) return (values) => values(name);
  if (action === undefined) return () => exact(constant);
  const operands = of.map(evaluator);
  const [first, ...options] = operands;
  if (action === "not") return (values) => !first(values);
  if (action === "and") return (values) => operands.every((each) => Boolean(each(values)));
  if (action === "or") return (values) => operands.some((each) => Boolean(each(values)));
  if (action === "in") return (values) => options.some((option) => equal(first(values), option(values)));
  if (action === "compare") {
    return (values) => signs.every((sign, index) => COMPARE[sign](operands[index](values), operands[index + 1](values)));
  }
  const apply = OPERATORS[action] ?? fail(`this page cannot evaluate '${action}'`);
  return (values) => exact(apply(...operands.map((operand) => operand(values))));
}

// Whether a constraint holds: a function of `values`, as those of its tree.
function condition({ text, tree }) {
  const evaluate = evaluator(tree);
  return (values) => {
    const result = evaluate(values);
    return typeof result === "boolean" ? result : fail(`constraint '${text}' yields ${result}; it must yield true or false`);
  };
}

export { condition };
