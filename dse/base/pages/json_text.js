// JSON texts as json_data of dse.base.plain_data reads them: whole numbers are exact, and 1.0 is none.
import { Dict, InputError } from "./python.js";

const MOST_DEPTH = 100;
const MOST_CHARACTERS = 250; // of a number
const TOKEN = /[ \t\n\r]*(?:([{}[\],:])|("(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)|(true|false|null|NaN|-?Infinity))/y;
const WORDS = { true: true, false: false, null: null, NaN, Infinity, "-Infinity": -Infinity };

/** What a text holds: groups as Dict, whole numbers as BigInt; `where` is how messages call it. */
function jsonData(text, where) {
  let at = 0;
  const fail = (problem) => { throw new InputError(`${where}: ${problem}`); };
  const malformed = (place) => {
    const lines = text.slice(0, place + text.slice(place).search(/[^ \t\n\r]|$/)).split("\n");
    fail(`malformed JSON at line ${lines.length}, column ${lines.at(-1).length + 1}`);
  };
  const next = () => {
    TOKEN.lastIndex = at;
    const [whole, sign, string, number, word] = TOKEN.exec(text) ?? malformed(at);
    at = TOKEN.lastIndex;
    return { sign, string, number, word, place: at - whole.trimStart().length };
  };
  const numberOf = (digits) => {
    const line = `line ${text.slice(0, at).split("\n").length}`;
    if (digits.length > MOST_CHARACTERS) fail(`${line}: the number ${digits.slice(0, 20)}… has ${digits.length} characters; at most ${MOST_CHARACTERS} are allowed`);
    if (!Number.isFinite(Number(digits))) fail(`${line}: ${digits} is too large; numbers must be finite, below 1.8e308`);
    return /[.eE]/.test(digits) ? Number(digits) : BigInt(digits);
  };
  // Entries up to a sign that closes them.
  const entries = (closing, depth, take) => {
    if (depth > MOST_DEPTH) fail(`is nested deeper than ${MOST_DEPTH} levels, the most allowed`);
    let token = next();
    while (token.sign !== closing || token.isAfterComma) {
      take(token);
      const after = next();
      if (after.sign !== "," && after.sign !== closing) malformed(after.place);
      token = after.sign === "," ? { ...next(), isAfterComma: true } : after;
    }
  };
  const valueOf = ({ sign, string, number, word, place }, depth) => {
    if (string) return JSON.parse(string);
    if (number) return numberOf(number);
    if (word) return WORDS[word];
    const found = sign === "{" ? new Dict() : sign === "[" ? [] : malformed(place);
    if (sign === "[") entries("]", depth, (token) => found.push(valueOf(token, depth + 1)));
    else {
      entries("}", depth, (token) => {
        if (!token.string) malformed(token.place);
        const key = JSON.parse(token.string);
        const colon = next();
        if (colon.sign !== ":") malformed(colon.place);
        if (found.has(key)) fail(`${key} occurs twice; every key is allowed once`);
        found.set(key, valueOf(next(), depth + 1));
      });
    }
    return found;
  };
  const found = valueOf(next(), 1);
  if (text.slice(at).trim()) malformed(at);
  return found;
}

export { jsonData };
