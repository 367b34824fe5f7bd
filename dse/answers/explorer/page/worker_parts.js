// What the workers of pages share: the engine made ready, breath between slices, and requests that can be cancelled.
import { create, EngineError } from "./host.js";

const cancelled = new Set();
let module = null;
let made = null;
const host = () => (made ??= create(module));

/** Lets messages in. Timers would wait 4 ms each. */
const breath = (() => {
  const { port1, port2 } = new MessageChannel();
  const waiting = [];
  port1.onmessage = () => waiting.shift()();
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      port2.postMessage(null);
    });
})();

/** Compiles the engine as it stands in a page: base64 of gzip. */
const compiled = async (packed) => {
  if (typeof DecompressionStream === "undefined") throw new Error("it has no DecompressionStream");
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
};

/** Makes the engine ready; one that is not of this page is refused. */
const unpack = async ({ packed, wanted }) => {
  try {
    module = await compiled(packed);
  } catch (error) {
    throw new Error(`this browser cannot run the engine: ${error.message}`);
  }
  const versions = host().versions();
  if (wanted === undefined || versions.result_version === wanted) return { result: { module, versions } };
  throw new EngineError(
    "input",
    `this page was written for results of version ${wanted}, but its engine gives version ` +
      `${versions.result_version}: build it again (make wasm)`,
  );
};

/** Ends a request that is no longer needed. */
const stopIfCancelled = (id) => {
  if (cancelled.has(id)) throw new EngineError("cancelled", "it is no longer needed");
};

/** Answers messages by their type; `tasks` are functions of a message. */
const serve = (tasks) => {
  const all = { unpack, ...tasks };
  self.onmessage = async ({ data }) => {
    if (data.type === "start") module = data.module;
    if (data.type === "cancel") cancelled.add(data.id);
    if (!all[data.type]) return;
    try {
      const { result, transferred = [] } = await all[data.type](data);
      postMessage({ id: data.id, type: "done", result }, transferred);
    } catch (error) {
      postMessage({ id: data.id, type: "failed", kind: error.kind ?? "trap", message: error.message });
    }
    cancelled.delete(data.id);
  };
};

/** Other workers of this script that answer questions beside this one; none where the browser starts none. */
const helpers = (count) => {
  const found = [];
  for (let index = 0; index < count; index += 1) {
    try {
      const worker = new Worker(self.location.href);
      worker.postMessage({ type: "start", module });
      let last = 0;
      const waiting = new Map();
      worker.onmessage = ({ data }) => {
        const { resolve, reject } = waiting.get(data.id);
        waiting.delete(data.id);
        if (data.type === "done") resolve(data.result);
        else reject(new EngineError(data.kind, data.message));
      };
      found.push((message, transferred = []) => new Promise((resolve, reject) => {
        waiting.set(last += 1, { resolve, reject });
        worker.postMessage({ ...message, id: last }, transferred);
      }));
    } catch {
      break;
    }
  }
  return found;
};

export { breath, helpers, host, serve, stopIfCancelled };
