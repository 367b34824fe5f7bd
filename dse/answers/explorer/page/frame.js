// One evaluated state as views see it: the rows that pass the filters, of all; the answers to them; the settled state before.
import { finished, firstTwo, front } from "./answers.js";
import { mark } from "./doubts.js";
import { strategyOf } from "./strategy.js";

function make({ scenario, rows, all, state, fields, before = null, signal = null }) {
  const [best, second] = firstTwo(rows);
  const [capped, cappedSecond] = state.cap_bytes === null ? [null, null] : firstTwo(rows, state.cap_bytes);
  const ok = finished(rows);
  const chosen = ok.find((row) => row.label === state.selected);
  return {
    scenario, strategies: rows.map(strategyOf), rows, all, ok, cap_bytes: state.cap_bytes,
    best, runner_up: second, best_under_cap: capped, runner_up_under_cap: cappedSecond, front: front(rows),
    selected: chosen ?? capped ?? best, is_chosen: Boolean(chosen),
    before, signal, state, fields, doubt: mark,
  };
}

// The ghost: the last frame of another step of undo than this one. A slider that moves keeps the same.
function ghostOf(last, revision) {
  if (!last) return null;
  return last.revision === revision ? last.before : { ...last, before: null };
}

export { make, ghostOf };
