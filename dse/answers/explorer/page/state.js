// What the user chose: presets, changed figures, the cap, the selected point; with undo, and as text for a link.
(() => {
  "use strict";
  const explorer = (globalThis.explorer ??= {});
  const MERGE_MS = 900; // changes of one figure in quick succession, as by a slider, are one step of undo
  const MOST_STEPS = 200;

  const copyOf = (state) => ({ ...state, preset: { ...state.preset }, changes: { ...state.changes } });
  const textOf = (state) => JSON.stringify([
    state.preset.model, state.preset.system, Object.entries(state.changes).sort(([a], [b]) => (a < b ? -1 : 1)), state.cap_bytes,
  ]);

  let initial = { preset: { model: null, system: null }, changes: {}, cap_bytes: null, selected: null };
  let present = initial;
  let past = [];
  let future = [];
  let revision = 0; // rises with every step of undo: what looks at settled states asks for it
  let last = { key: null, at: -Infinity };
  const listeners = new Set();

  const tell = () => { for (const listener of listeners) listener(get()); };
  const get = () => copyOf(present);

  function start(state) {
    initial = copyOf({ ...initial, ...state });
    present = initial;
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
        revision += 1;
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
    revision += 1;
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

  explorer.state = {
    start, get, set, revert,
    undo: () => travel(past, future),
    redo: () => travel(future, past),
    reset: () => set({ ...copyOf(initial), selected: null }),
    canUndo: () => past.length > 0,
    canRedo: () => future.length > 0,
    isChanged: () => textOf(present) !== textOf(initial),
    initial: () => copyOf(initial),
    revision: () => revision,
    isSame: (a, b) => textOf(a) === textOf(b),
    endGesture: () => { last = { key: null, at: -Infinity }; },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };

  // ---- the fragment of the address: what differs from the page as it was made
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
    const { fields } = explorer.scenario.base(data, state.preset);
    for (const [key, value] of words.filter(([each]) => !each.startsWith("preset."))) {
      if (key === "selected") state.selected = value || null;
      else if (key === "cap") {
        const isCount = /^\d+$/.test(value) && Number.isSafeInteger(Number(value)) && Number(value) > 0;
        const { value: size, problem } = isCount ? { value: Number(value) } : explorer.format.parsedSize(value);
        if (problem) problems.push(`the memory cap ${problem}`);
        else state.cap_bytes = size;
      } else {
        const field = fields.find((each) => each.key === key);
        const { value: typed, problem } = field ? explorer.scenario.parsed(field, value === "null" ? "" : value) : { problem: "no figure of this page" };
        if (problem) problems.push(`${key}: ${problem}`);
        else if (typed !== field.value) state.changes[key] = typed;
      }
    }
    return { state, problems };
  }

  explorer.fragment = { write, read };
})();
