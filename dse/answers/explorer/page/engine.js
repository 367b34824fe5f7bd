// The engine on the main thread: promises, one request at a time in a worker, and rows that are known already.

const PATIENCE_MS = 100; // what a worker has to notice that its request is cancelled: a point may take longer
const KEPT_ROWS = 20_000;

const failure = (kind, message) => Object.assign(new Error(message), { kind });
const CANCELLED = () => failure("cancelled", "it is no longer needed");

/** Rows by scenario and strategy; the scenarios that were used longest ago go first. */
const rowCache = () => {
  const scenarios = new Map();
  let count = 0;
  const used = (key) => {
    const rows = scenarios.get(key) ?? new Map();
    scenarios.delete(key);
    scenarios.set(key, rows);
    return rows;
  };
  return {
    find: (key, name) => scenarios.get(key)?.get(name),
    add(key, name, row) {
      const rows = used(key);
      count += rows.has(name) ? 0 : 1;
      rows.set(name, row);
      for (const [oldest, others] of scenarios) {
        if (count <= KEPT_ROWS || oldest === key) break;
        scenarios.delete(oldest);
        count -= others.size;
      }
    },
  };
};

const cache = rowCache();
const keyOf = (scenario) => JSON.stringify([scenario.model, scenario.system, scenario.divisibility]);
const nameOf = (strategy) => JSON.stringify(Object.entries(strategy).sort());

let make = null; // starts a worker
let worker = null;
let running = null;
let refusal = null; // why the engine did not start: the answer to every request from then on
let lastId = 0;
const queue = [];

const settle = (task, how, value) => {
  task.signal?.removeEventListener("abort", task.onAbort);
  clearTimeout(task.timer);
  if (running === task) running = null;
  if (how === "reject" && task.message.type === "unpack") refuse(value);
  task[how](value);
  next();
};

/** Ends the worker, whatever it is doing; the next request gets a new one. */
const replaceWorker = () => {
  worker?.terminate();
  worker = null;
};

/** An engine that did not start is not used: what waits for it, and all that comes later, gets the reason. */
const refuse = (reason) => {
  refusal = reason;
  make = null;
  replaceWorker();
  for (const task of queue.splice(0)) settle(task, "reject", reason);
};

const heard = ({ data }) => {
  const task = running;
  if (!task || data.id !== task.id) return;
  if (data.type === "progress") task.onProgress?.(task.known + data.done, data.total ?? task.known + task.message.strategies.length);
  else if (data.type === "done") settle(task, "resolve", data.result);
  else settle(task, "reject", failure(data.kind, data.message));
};

const started = () => {
  worker = make();
  worker.onmessage = heard;
  worker.onerror = (event) => {
    event.preventDefault();
    replaceWorker();
    if (running) settle(running, "reject", failure("trap", `the engine's worker stopped: ${event.message}`));
  };
};

const next = () => {
  if (running || queue.length === 0) return;
  const urgent = queue.reduce((best, task) => (task.priority > best.priority ? task : best));
  queue.splice(queue.indexOf(urgent), 1);
  running = urgent;
  try {
    if (!worker) started();
    worker.postMessage({ ...urgent.message, id: urgent.id });
  } catch (error) {
    settle(urgent, "reject", failure("trap", error.message));
  }
};

const abort = (task) => {
  const place = queue.indexOf(task);
  if (place >= 0) {
    queue.splice(place, 1);
    settle(task, "reject", CANCELLED());
  } else if (running === task) {
    worker?.postMessage({ type: "cancel", id: task.id });
    task.timer = setTimeout(() => {
      replaceWorker();
      settle(task, "reject", CANCELLED());
    }, PATIENCE_MS);
  }
};

const asked = (message, { signal, onProgress, priority = 0 } = {}, known = 0) =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(CANCELLED());
      return;
    }
    if (refusal) {
      reject(refusal);
      return;
    }
    const task = { id: (lastId += 1), message, signal, onProgress, priority, known, resolve, reject };
    task.onAbort = () => abort(task);
    signal?.addEventListener("abort", task.onAbort, { once: true });
    queue.push(task);
    next();
  });

/** Starts the worker, which makes the engine ready before it serves others; `workerSource` is the text of host.js and worker.js. */
const start = async ({ packed, workerSource, result_version: wanted }) => {
  const url = URL.createObjectURL(new Blob([workerSource], { type: "text/javascript" }));
  let module = null; // compiled once, for the workers to come
  refusal = null;
  make = () => {
    const created = new Worker(url);
    if (module) created.postMessage({ type: "start", module });
    return created;
  };
  replaceWorker();
  const unpacked = await asked({ type: "unpack", packed, wanted });
  module = unpacked.module;
  return unpacked.versions;
};

/** The rows of strategies in their order; those of this scenario that are known are not computed again. */
const evaluate = async (scenario, strategies, options = {}) => {
  if (options.signal?.aborted) throw CANCELLED();
  const key = keyOf(scenario);
  const names = strategies.map(nameOf);
  const rows = names.map((name) => cache.find(key, name));
  const missing = strategies.filter((_, index) => !rows[index]);
  if (missing.length) {
    const found = await asked(
      { type: "evaluate", scenario, strategies: missing }, options, strategies.length - missing.length,
    );
    let at = 0;
    rows.forEach((row, index) => {
      if (row) return;
      rows[index] = found[at];
      cache.add(key, names[index], found[at]);
      at += 1;
    });
  }
  return rows.map((row) => ({ ...row }));
};

const record = (scenario, strategy, options = {}) => asked({ type: "record", scenario, strategy }, options);

export { start, asked, evaluate, record };
