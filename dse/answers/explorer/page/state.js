// What the user chose: presets, changed figures, the cap, the selected point; with undo, and as text for a link.

const MERGE_MS = 900; // changes of one figure in quick succession, as by a slider, are one step of undo
const MOST_STEPS = 200;

const copyOf = (state) => ({ ...state, preset: { ...state.preset }, changes: { ...state.changes } });
const textOf = (state) => JSON.stringify([
  state.preset.model, state.preset.system, Object.entries(state.changes).sort(([a], [b]) => (a < b ? -1 : 1)), state.cap_bytes,
]);

let begun = { preset: { model: null, system: null }, changes: {}, cap_bytes: null, selected: null };
let present = begun;
let past = [];
let future = [];
let steps = 0; // rises with every step of undo: what looks at settled states asks for it
let last = { key: null, at: -Infinity };
const listeners = new Set();

const tell = () => { for (const listener of listeners) listener(get()); };
const get = () => copyOf(present);

function start(state) {
  begun = copyOf({ ...begun, ...state });
  present = begun;
  [past, future, last] = [[], [], { key: null, at: -Infinity }];
}

// `merge` names what is changed: a step of undo is kept only for the first of several such changes.
function set(partial, { merge = null, now = Date.now() } = {}) {
  const next = copyOf({ ...present, ...partial, preset: { ...present.preset, ...partial.preset } });
  const isStep = textOf(next) !== textOf(present);
  if (!isStep && next.selected === present.selected) return;
  if (isStep) {
    if (merge === null || merge !== last.key || now - last.at > MERGE_MS) {
      past = [...past, present].slice(-MOST_STEPS);
      steps += 1;
    }
    future = [];
    last = { key: merge, at: now };
  }
  present = next;
  tell();
}

function travel(from, to) {
  if (!from.length) return false;
  to.push(present);
  present = { ...from.pop(), selected: present.selected };
  steps += 1;
  last = { key: null, at: -Infinity };
  tell();
  return true;
}

// Back to a state that worked: it is as if the steps since then had not been.
function revert(state) {
  const index = past.findLastIndex((each) => textOf(each) === textOf(state));
  if (index >= 0) past = past.slice(0, index);
  present = copyOf(state);
  last = { key: null, at: -Infinity };
  tell();
}

const undo = () => travel(past, future);
const redo = () => travel(future, past);
const reset = () => set({ ...copyOf(begun), selected: null });
const canUndo = () => past.length > 0;
const canRedo = () => future.length > 0;
const isChanged = () => textOf(present) !== textOf(begun);
const initial = () => copyOf(begun);
const revision = () => steps;
const isSame = (a, b) => textOf(a) === textOf(b);
const endGesture = () => { last = { key: null, at: -Infinity }; };

function subscribe(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export {
  copyOf, start, get, set, revert, undo, redo, reset, canUndo, canRedo, isChanged, initial, revision, isSame, endGesture, subscribe,
};
