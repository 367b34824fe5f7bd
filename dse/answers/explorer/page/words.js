// What changed, in words: figures against the previous ones, other winners, and since when.
import * as format from "./format.js";

const change = (before, now) => (100 * (now - before)) / before;

// "was 12.3 s, −8.0 %"; nothing where nothing changed.
function was(before, now, text) {
  if (before === null || before === undefined || now === null || before === now) return "";
  return `was ${text(before)}, ${format.signedPercent(change(before, now))}`;
}

const groupOf = (field) => (field.key.startsWith("model.") ? "model" : "system");
const valueOf = (state, field) => (field.key in state.changes ? state.changes[field.key] : field.value);

// What a state has that the one before had not: "system.network.0.bandwidth_gbps is 180", "the system is system2".
function differences(before, now, fields, own = {}) {
  const isOther = (group) => before.preset[group] !== now.preset[group];
  const found = ["model", "system"].filter(isOther).map((group) => `the ${group} is ${now.preset[group] ?? own[group]}`);
  for (const field of fields) {
    const isNew = isOther(groupOf(field)) ? field.key in now.changes : valueOf(before, field) !== valueOf(now, field);
    if (isNew) found.push(`${field.key} is ${valueOf(now, field)}`);
  }
  return found;
}

const listed = (texts, most = 3) =>
  texts.length <= most ? texts.join(" and ") : `${texts.slice(0, most - 1).join(", ")} and ${texts.length - most + 1} more`;

function sentence(old, now, where, reasons) {
  if (old?.label === now?.label) return "";
  const since = reasons.length ? ` since ${listed(reasons)}` : "";
  if (!now) return `${where ? `No point fits ${where}` : "No point finishes"}${since}`;
  return `${old ? `${old.label} → ` : ""}${now.label} wins${where && ` ${where}`}${since}`;
}

// Sentences on winners that are others than before; that under a cap only where the cap matters.
function winners(before, now, reasons) {
  if (!before) return [];
  const said = [sentence(before.best, now.best, "", reasons)];
  const isCapped = ({ best, best_under_cap: capped }) => best?.label !== capped?.label;
  if (now.cap_bytes !== null && (isCapped(before) || isCapped(now))) {
    const size = format.size(now.cap_bytes);
    const cap = before.cap_bytes === now.cap_bytes ? [] : [`the cap is ${size}`];
    said.push(sentence(before.best_under_cap, now.best_under_cap, `under ${size}`, [...reasons, ...cap]));
  }
  return said.filter(Boolean);
}

// "second: dp8 tp1 sp8 pp1, 3.1 % slower".
function margin(first, second) {
  if (!first) return "";
  if (!second) return "no other point";
  const slower = change(first.wall_time_ns, second.wall_time_ns);
  const by = slower === 0 ? "as fast" : slower < 0.05 ? "less than 0.1 % slower" : `${slower.toFixed(1)} % slower`;
  return `second: ${second.label}, ${by}`;
}

export { was, differences, winners, margin, listed, change };
