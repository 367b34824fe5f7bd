// The engine's module behind plain calls: requests in, rows out; what goes wrong is an error with a kind.
import { labelOf, strategyOf } from "./strategy.js";

const STATUSES = ["ok", "infeasible", "deadlock", "failed"];
const FIGURES = [
  "wall_time_ns", "gpu_time_ns", "comm_time_ns", "exposed_comm_ns", "compute_bound_pct",
  "compute_utilization_pct", "memory_utilization_pct", "operation_intensity", "peak_memory_bytes",
  "rank0_wall_time_ns", "rank0_peak_memory_bytes", "last_rank", "rank_classes", "mfu_pct", "tokens_per_s",
];
const FRACTIONAL = FIGURES.length + 1;
const TEXTS = 3; // of a row: its reason, and two doubts
const FAILED = [STATUSES.indexOf("failed"), ...FIGURES.map(() => NaN), 0];
const PROBLEMS = ["", "input", "simulation", "memory", "trap"];
const LARGE_BYTES = 768 * 2 ** 20; // memory never shrinks: an instance that took so much makes room for a new one
const NO_ACCESS = 8; // of WASI: there are no files

class EngineError extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

// `doubts` are the lines of dse_doubts: of links, then of splits.
const rowOf = (strategy, figures, reason, doubts = "\n") => {
  const [understated, split] = doubts.split("\n");
  const row = { ...strategy, label: labelOf(strategy), status: STATUSES[figures[0]], reason };
  FIGURES.forEach((name, index) => {
    row[name] = Number.isNaN(figures[index + 1]) ? null : figures[index + 1];
  });
  row.fractional = figures[FRACTIONAL] === 1;
  row.understated_comm = understated || null;
  row.impossible_split = split || null;
  return row;
};

/** What the module asks its surroundings for; `said` collects what it prints before it stops. */
const surroundings = (module, memory, said) => {
  const view = () => new DataView(memory().buffer);
  const functions = {
    fd_write(_file, parts, count, written) {
      let total = 0;
      for (let part = 0; part < count; part += 1) {
        const begin = view().getUint32(parts + 8 * part, true);
        const length = view().getUint32(parts + 8 * part + 4, true);
        said.text += new TextDecoder().decode(new Uint8Array(memory().buffer, begin, length));
        total += length;
      }
      view().setUint32(written, total, true);
      return 0;
    },
    clock_time_get(_clock, _precision, result) {
      view().setBigUint64(result, BigInt(Math.round(performance.now() * 1e6)), true);
      return 0;
    },
    proc_exit(code) {
      throw new Error(`it ended with code ${code}`);
    },
  };
  const imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    (imports[from] ??= {})[name] = functions[name] ?? (() => NO_ACCESS);
  }
  return imports;
};

/** The engine of a compiled module, or of its bytes; everything is synchronous. */
const create = (wasm) => {
  const module = wasm instanceof WebAssembly.Module ? wasm : new WebAssembly.Module(wasm);
  const said = { text: "" };
  let engine = null; // the exports of the instance that is in use

  const started = () => {
    if (engine) return engine;
    const imports = surroundings(module, () => engine.memory, said);
    engine = new WebAssembly.Instance(module, imports).exports;
    engine._initialize();
    return engine;
  };

  const text = () =>
    new TextDecoder().decode(new Uint8Array(engine.memory.buffer, engine.dse_text(), engine.dse_text_length()));

  const doubts = () => {
    engine.dse_doubts();
    return text();
  };

  /** Calls the engine; one that stopped is replaced by a new one. */
  const called = (use) => {
    let result;
    try {
      said.text = "";
      result = use(started());
    } catch (error) {
      engine = null;
      const memory = error instanceof RangeError && /memory/i.test(error.message);
      const why = said.text.trim() || error.message;
      throw new EngineError(memory ? "memory" : "trap", `the engine stopped and was started again: ${why}`);
    }
    const problem = engine.dse_problem();
    if (problem) throw new EngineError(PROBLEMS[problem], text());
    return result;
  };

  /** Hands a request, as JSON, to a function of the engine that opens it. */
  const hand = (name, request) => called((exports) => {
    const bytes = new TextEncoder().encode(JSON.stringify(request));
    const pointer = exports.dse_allocate(bytes.length);
    if (!pointer) throw new RangeError("no memory for a request");
    new Uint8Array(exports.memory.buffer, pointer, bytes.length).set(bytes);
    exports[name](pointer, bytes.length);
    exports.dse_free(pointer);
  });

  const opened = (scenario, strategies, method) => {
    hand("dse_open", {
      model: scenario.model,
      system: scenario.system,
      divisibility: scenario.divisibility ?? null,
      strategies,
      method,
    });
  };

  const figuresAt = (pointer) => new Float64Array(engine.memory.buffer, pointer, FRACTIONAL + 1).slice();

  const release = () => {
    if (engine && engine.memory.buffer.byteLength > LARGE_BYTES) engine = null;
  };

  /** Reads one row after the other: `row(index)`; `close()` when no more are wanted. */
  const open = (scenario, strategies, method = "auto") => {
    const own = strategies.map(strategyOf);
    opened(scenario, own, method);
    const row = (index) => {
      if (!engine) opened(scenario, own, method); // the last point stopped it
      try {
        const pointer = called((exports) => exports.dse_point(index));
        return rowOf(own[index], figuresAt(pointer), text(), doubts());
      } catch (error) {
        if (engine) throw error;
        return rowOf(own[index], FAILED, error.message); // a point that stops the engine is a row, too
      }
    };
    return { count: own.length, row, close: release };
  };

  const evaluate = (scenario, strategies, method = "auto") => {
    const session = open(scenario, strategies, method);
    try {
      return strategies.map((_, index) => session.row(index));
    } finally {
      session.close();
    }
  };

  const record = (scenario, strategy, method = "auto") => {
    const own = strategyOf(strategy);
    opened(scenario, [own], method);
    try {
      const pointer = called((exports) => exports.dse_record(0));
      const recording = JSON.parse(text());
      const figures = figuresAt(pointer);
      engine.dse_reason();
      return { row: rowOf(own, figures, text(), doubts()), ...recording };
    } finally {
      release();
    }
  };

  /** Reads a model and a cluster; `predict(rows, count)` then gives figures of plans, and reasons why some cannot run. */
  const openPlans = (request, columns, figures) => {
    hand("dse_open_plans", request);
    const predict = (rows, count) => {
      const room = count * columns;
      const pointer = engine.dse_allocate(8 * room);
      const words = new Int32Array(engine.memory.buffer, pointer, 2 * room); // integers of 64 bits, none of them negative
      for (let index = 0; index < room; index += 1) {
        words[2 * index] = rows[index];
        words[2 * index + 1] = 0;
      }
      const found = called((exports) => exports.dse_predict(pointer, count));
      engine.dse_free(pointer);
      return { raw: new Float64Array(engine.memory.buffer, found, count * figures), reasons: text().split("\n").slice(0, -1) };
    };
    return { predict };
  };

  /** Reads what is asked of a training run; the function that comes back gives rows of `columns` figures for steps. */
  const openRuns = (request, columns) => {
    hand("dse_open_runs", request);
    return (steps, count) => {
      const pointer = engine.dse_allocate(steps.byteLength);
      new Float64Array(engine.memory.buffer, pointer, steps.length).set(steps);
      const found = called((exports) => exports.dse_runs(pointer, count));
      engine.dse_free(pointer);
      return new Float64Array(engine.memory.buffer, found, count * columns);
    };
  };

  const versions = () => {
    called((exports) => exports.dse_versions());
    const { figures, texts, ...found } = JSON.parse(text());
    if (figures !== FRACTIONAL + 1 || texts !== TEXTS) throw new EngineError("input", "the engine is older than this page: build it again (make wasm)");
    return found;
  };

  const memoryBytes = () => (engine ? engine.memory.buffer.byteLength : 0);

  return { open, evaluate, record, openPlans, openRuns, versions, memoryBytes };
};

export { create, EngineError };
