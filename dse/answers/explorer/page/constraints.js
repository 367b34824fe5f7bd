// The language of constraints (dse.base.expressions) over one strategy, model and system: a parser and an evaluator.
import * as format from "./format.js";

const KEYWORDS = new Set(["and", "or", "not", "in", "is", "null", "between", "true", "false"]);
const SIGNS = { "=": "==", "==": "==", "<>": "!=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=" };
const FUNCTIONS = { min: [2, Infinity], max: [2, Infinity], abs: [1, 1], log2: [1, 1] };
const TOKEN = new RegExp(
  "\\s*(?:(?<text>'(?:[^']|'')*')"
  + "|(?<size>(?:\\d+(?:\\.\\d*)?|\\.\\d+)[kKMGT]i?B\\b)"
  + "|(?<number>(?:\\d+(?:\\.\\d*)?|\\.\\d+)(?:[eE][+-]?\\d+)?(?![\\w.]))"
  + "|(?<name>[A-Za-z_]\\w*(?:\\.\\w+)*)"
  + "|(?<sign>\\*\\*|\\/\\/|<>|<=|>=|==|!=|[-+*\\/%()<>=,])"
  + "|(?<end>$))", "y",
);

function fail(problem) {
  const error = new Error(problem);
  error.kind = "input";
  throw error;
}

function tokensOf(text) {
  const tokens = [];
  TOKEN.lastIndex = 0;
  for (;;) {
    const found = TOKEN.exec(text);
    if (!found) fail(`constraint '${text}' has something that this page cannot read`);
    const [kind, word] = Object.entries(found.groups).find(([, value]) => value !== undefined);
    const lower = word.toLowerCase();
    tokens.push(kind === "name" && KEYWORDS.has(lower) ? { kind: "keyword", word: lower } : { kind, word });
    if (kind === "end") return tokens;
  }
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

class Parser {
  constructor(text) {
    this.text = text;
    this.tokens = tokensOf(text);
    this.at = 0;
    this.names = new Set();
  }

  get token() { return this.tokens[this.at]; }
  is(...words) { return (this.token.kind === "keyword" || this.token.kind === "sign") && words.includes(this.token.word); }
  take(...words) {
    const found = this.is(...words);
    if (found) this.at += 1;
    return found;
  }
  expect(word) { if (!this.take(word)) fail(`constraint '${this.text}' needs '${word}' where '${this.token.word}' stands`); }

  whole() {
    const node = this.or();
    if (this.token.kind !== "end") fail(`constraint '${this.text}': '${this.token.word}' is not expected there`);
    return node;
  }

  or() {
    const all = [this.and()];
    while (this.take("or")) all.push(this.and());
    return all.length === 1 ? all[0] : (values) => all.some((each) => Boolean(each(values)));
  }

  and() {
    const all = [this.not()];
    while (this.take("and")) all.push(this.not());
    return all.length === 1 ? all[0] : (values) => all.every((each) => Boolean(each(values)));
  }

  not() {
    if (!this.take("not")) return this.test();
    const operand = this.not();
    return (values) => !operand(values);
  }

  test() {
    const left = this.sum();
    const isNegated = this.take("not");
    const given = (test) => (isNegated ? (values) => !test(values) : test);
    if (this.take("in")) {
      this.expect("(");
      const options = [];
      do options.push(this.unary()); while (this.take(","));
      this.expect(")");
      return given((values) => options.some((option) => equal(left(values), option(values))));
    }
    if (this.take("between")) {
      const low = this.sum();
      this.expect("and");
      const high = this.sum();
      return given((values) => low(values) <= left(values) && left(values) <= high(values));
    }
    if (isNegated || this.is("is")) fail(`constraint '${this.text}': only numbers and texts can be compared`);
    const signs = [];
    const operands = [left];
    while (this.token.kind === "sign" && this.token.word in SIGNS) {
      signs.push(COMPARE[SIGNS[this.token.word]]);
      this.at += 1;
      operands.push(this.sum());
    }
    if (!signs.length) return left;
    return (values) => signs.every((compare, index) => compare(operands[index](values), operands[index + 1](values)));
  }

  applied(name, operands) {
    const apply = OPERATORS[name];
    return (values) => exact(apply(...operands.map((operand) => operand(values))));
  }

  chain(next, ...signs) {
    let left = this[next]();
    while (this.is(...signs)) {
      const sign = this.token.word;
      this.at += 1;
      left = this.applied(sign, [left, this[next]()]);
    }
    return left;
  }

  sum() { return this.chain("product", "+", "-"); }
  product() { return this.chain("unary", "*", "/", "//", "%"); }

  unary() {
    if (this.take("+")) return this.unary();
    if (this.take("-")) return this.applied("negate", [this.unary()]);
    const base = this.atom();
    return this.take("**") ? this.applied("**", [base, this.unary()]) : base;
  }

  atom() {
    if (this.take("(")) {
      const node = this.or();
      this.expect(")");
      return node;
    }
    const { kind, word } = this.token;
    this.at += 1;
    if (kind === "name") return this.is("(") ? this.call(word) : this.named(word);
    const constant = this.constant(kind, word);
    return () => constant;
  }

  named(name) {
    this.names.add(name);
    return (values) => values(name);
  }

  call(name) {
    const [least, most] = FUNCTIONS[name] ?? fail(`constraint '${this.text}': '${name}(…)' is not known`);
    this.expect("(");
    const operands = this.is(")") ? [] : [this.or()];
    while (this.take(",")) operands.push(this.or());
    this.expect(")");
    if (operands.length < least || operands.length > most) fail(`constraint '${this.text}': wrong number of arguments of ${name}`);
    return this.applied(name, operands);
  }

  constant(kind, word) {
    if (kind === "number") return exact(Number(word));
    if (kind === "text") return word.slice(1, -1).replaceAll("''", "'");
    if (kind === "size") return format.parsedSize(word).value;
    if (kind === "keyword" && (word === "true" || word === "false")) return word === "true";
    return fail(`constraint '${this.text}': '${word || "its end"}' is not expected there`);
  }
}

// {text, names, holds(values)}: `values` maps a name to its number, text, true or false.
function parse(text) {
  const parser = new Parser(text.trim().replace(/\s+/g, " "));
  const evaluate = parser.whole();
  return {
    text: parser.text,
    names: [...parser.names],
    holds(values) {
      const result = evaluate(values);
      return typeof result === "boolean" ? result : fail(`constraint '${parser.text}' yields ${result}; it must yield true or false`);
    },
  };
}

export { parse };
