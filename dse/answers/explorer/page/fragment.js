// The state as the fragment of an address: how it differs from the page as it was made.
import { parsedSize } from "./format.js";
import * as scenarios from "./scenario.js";
import { copyOf } from "./state.js";

function write(state, initially) {
  const words = [];
  const add = (key, value) => words.push(`${encodeURIComponent(key)}=${encodeURIComponent(value)}`);
  for (const group of ["model", "system"]) {
    if (state.preset[group] !== initially.preset[group]) add(`preset.${group}`, state.preset[group] ?? "");
  }
  for (const [key, value] of Object.entries(state.changes)) add(key, value === null ? "null" : String(value));
  if (state.cap_bytes !== initially.cap_bytes) add("cap", state.cap_bytes ?? "none");
  if (state.selected !== null) add("selected", state.selected);
  return words.join("&");
}

// {state, problems}: what cannot be read is left out, and said.
function read(text, data, initially) {
  const state = copyOf(initially);
  const problems = [];
  const words = text.replace(/^#+/, "").split("&").filter(Boolean).map((word) => {
    const [key, ...rest] = word.split("=");
    try {
      return [decodeURIComponent(key), decodeURIComponent(rest.join("="))];
    } catch {
      return [key, rest.join("=")];
    }
  });
  for (const [key, value] of words) {
    const group = ["model", "system"].find((each) => key === `preset.${each}`);
    if (!group) {
      if (key.startsWith("preset.")) problems.push(`${key}: no choice of this page`);
      continue;
    }
    const isKnown = value === "" || data.presets[`${group}s`].some(({ name }) => name === value);
    if (isKnown) state.preset[group] = value || null;
    else problems.push(`this page has no ${group} ${value}`);
  }
  const { fields } = scenarios.base(data, state.preset);
  for (const [key, value] of words.filter(([each]) => !each.startsWith("preset."))) {
    if (key === "selected") state.selected = value || null;
    else if (key === "cap") {
      const isCount = /^\d+$/.test(value) && Number.isSafeInteger(Number(value)) && Number(value) > 0;
      const { value: size, problem } = isCount ? { value: Number(value) } : parsedSize(value);
      if (problem) problems.push(`the memory cap ${problem}`);
      else state.cap_bytes = size;
    } else {
      const field = fields.find((each) => each.key === key);
      const { value: typed, problem } = field ? scenarios.parsed(field, value === "null" ? "" : value) : { problem: "no figure of this page" };
      if (problem) problems.push(`${key}: ${problem}`);
      else if (typed !== field.value) state.changes[key] = typed;
    }
  }
  return { state, problems };
}

export { write, read };
