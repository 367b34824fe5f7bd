// The worker's side: evaluates in slices, so that between them a request can be cancelled.
import { breath, host, serve, stopIfCancelled } from "./worker_parts.js";

const SLICE_MS = 20;

const evaluate = async ({ id, scenario, strategies }) => {
  const session = host().open(scenario, strategies);
  const rows = [];
  try {
    while (rows.length < strategies.length) {
      const until = performance.now() + SLICE_MS;
      do rows.push(session.row(rows.length));
      while (rows.length < strategies.length && performance.now() < until);
      postMessage({ id, type: "progress", done: rows.length });
      await breath();
      stopIfCancelled(id);
    }
  } finally {
    session.close();
  }
  return { result: rows };
};

serve({ evaluate, record: ({ scenario, strategy }) => ({ result: host().record(scenario, strategy) }) });
